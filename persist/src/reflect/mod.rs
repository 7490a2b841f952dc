//! Describes a type by tables: its class, its fields and their kinds. Nothing here reads or writes a value.
//!
//! The derive fills the tables at compile time; [`Reflect`](crate::codec::Reflect) gives them.
//!
//! ```
//! use persist::Persist;
//! use persist::codec::Reflect;
//!
//! #[derive(Persist)]
//! struct Hero { name: String, #[persist(default = 1)] level: u32 }
//!
//! let fields: Vec<_> = Hero::FIELDS.iter().map(|field| format!("{}: {}", field.name, field.kind())).collect();
//! assert_eq!(fields, ["name: String", "level: u32"]);
//! assert!(Hero::FIELDS[1].has_default);
//! println!("{}", Hero::CLASS); // the whole table, with offsets and sizes
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`Class`], [`ClassId`] | a struct or an enum, and the number by which a save knows it |
//! | [`FieldRecord`] | one field: name, aliases, size, offset, kind |
//! | [`EditorHints`] | how an editor shows a field: label, help, range |
//! | [`VariantRecord`] | one variant of an enum |
//! | [`Kind`] | what the bytes of a field mean |
//! | [`Holder`] | the pointer and the cell that hold an object |
//! | [`HandleValue`] | a handle, where a value is read without its type |

pub(crate) mod class;
mod class_id;
mod hints;
pub(crate) mod holder;
pub(crate) mod integer;

pub use class::{Class, FieldRecord, Kind, VariantRecord};
pub use class_id::ClassId;
pub use hints::EditorHints;
pub use holder::Holder;

pub use crate::value::HandleValue;

pub(crate) use class::{
    Argument, Body, KindFn, MigrationSteps, OldKind, Prototype, Reference, Target, TraitName,
    TypeCode,
};
pub(crate) use holder::{Cell, Pointer};
pub(crate) use integer::Integer;
