#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod edited;
mod history;
mod inspector;

pub use edited::Edited;
pub use history::{history_panel, history_window, recovered_banner, title};
pub use inspector::{Inspector, inspect, inspect_value};
