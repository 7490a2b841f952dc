//! Fields of components by their paths.

mod paths;
mod thing;
