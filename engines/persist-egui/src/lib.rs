#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod button;
mod change;
mod color;
mod edited;
mod empty;
mod field;
mod history;
mod inspector;
mod list;
mod object;
mod objects;
mod picker;
mod scalar;
mod search;

pub use edited::Edited;
pub use history::{history_panel, history_window, recovered_banner, title};
pub use inspector::{Inspector, inspect, inspect_value};

/// The page of the guide, included so that its code is tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/13-inspector.md")]
mod guide {}
