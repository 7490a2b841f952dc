//! What a type looks like, as plain data: kinds, field records, classes.
//!
//! Nothing in this room reads or writes a value; it only describes. The derive
//! fills these tables at compile time.

mod class;
mod field;
mod holder;
mod kind;

pub use class::{Argument, Body, Class, ClassId, Migrate, Migration, Prototype, VariantRecord};
pub use field::{FieldFlags, FieldRecord};
pub use holder::{Cell, Holder, Pointer};
pub use kind::{Inner, Kind, Reference, Target, TraitName};

// A handle in a tree of values.
pub use crate::value::HandleValue;
