#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod entity;
mod saves;

pub use saves::Saves;
