//! What a type looks like, as plain data: kinds, field records, classes.
//!
//! Nothing in this room reads or writes a value; it only describes. The derive
//! fills these tables at compile time.

mod class;
mod field;
mod kind;

pub use class::{Argument, Body, Class, ClassId, Prototype, VariantRecord};
pub use field::{FieldFlags, FieldRecord};
pub use kind::{Holder, Inner, Kind, Reference};
