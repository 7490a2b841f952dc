//! The documents and examples against the code that they describe.

mod format;
mod history;
mod quest;
mod reliability;
mod speed_picture;
