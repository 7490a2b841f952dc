#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod entities;
mod form;
mod ids;
mod mirror;
mod target;

pub use entities::{restore, store};
pub use form::{As, Form, Itself};
pub use ids::{Entity, Ids};
pub use mirror::{Copies, Lost, Mirror, outward};
pub use target::{Recorded, Target};
