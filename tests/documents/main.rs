//! The documents and examples against the code that they describe.

mod attributes;
mod conversions;
mod format;
mod history;
mod links;
mod moving_from_serde;
mod quest;
mod reliability;
mod repository;
mod speed_picture;
mod words;
