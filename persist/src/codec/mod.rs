//! One value to bytes and back, without a file around it, and what an `impl Persist` by hand needs.
//!
//! [`Buffer`], [`decode`] and [`decode_into`] are the bare codec: the bytes of one value, with no header, schema or
//! checksum around them. Use them for messages between two builds of one program; use [`save`](crate::save()) or
//! [`to_vec`](crate::to_vec) for what another version of the program must read.
//!
//! ```
//! use persist::Persist;
//! use persist::codec::{Buffer, decode};
//!
//! #[derive(Persist, Debug, PartialEq)]
//! struct Move { unit: u32, to: (i16, i16) }
//!
//! let order = Move { unit: 7, to: (3, -4) };
//! let mut buffer = Buffer::new();
//! let bytes = buffer.encode(&order)?;
//! assert_eq!(bytes.len(), 8);
//! assert_eq!(decode::<Move>(bytes)?, order);
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! | for an `impl Persist` by hand | |
//! | --- | --- |
//! | [`Persist`] | the trait; its page has a complete example |
//! | [`Encoder`], [`Stop`] | writes values; an error ends the encode |
//! | [`Decoder`], [`Fail`] | reads values; an error ends the decode |
//! | [`Prototypes`] | makes empty values |
//! | [`Parts`] | lists the values inside |
//! | [`Pointee`] | lets a shared pointer lead to the type itself: `Rc<Colour>` |
//!
//! [`Reflect`] gives the tables of a type that derives `Persist`; [`reflect`](crate::reflect) says what is in them.

#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod boxed;
mod buffer;
pub(crate) mod class;
pub(crate) mod compact;
pub(crate) mod content;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod decoder;
pub(crate) mod encoder;
mod fail;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod field;
mod foreign;
pub(crate) mod index;
mod links;
mod lock;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod object;
mod parts;
pub(crate) mod persist;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod pod;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod pointer;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod row;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod skip;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod text;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod trait_object;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod type_set;
pub(crate) mod unknown;
mod value;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod visitor;
mod weight;
mod windows;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod with;

pub use buffer::{Buffer, decode, decode_into};
pub use class::Reflect;
pub use decoder::Decoder;
pub use encoder::{Encoder, Stop};
pub use fail::Fail;
pub use links::Prototypes;
pub use pointer::Pointee;
pub use type_set::Parts;

// The root shows it.
#[doc(hidden)]
pub use persist::Persist;

pub(crate) use boxed::{apart, boxed_with, is_bulky, on_stack, unboxed};
pub(crate) use buffer::{encode_parts, left_over};
pub(crate) use content::{BoxOf, CellContent};
pub(crate) use convert::CONVERTED;
pub(crate) use decoder::{
    FailedElement, Implementor, KeyLinks, Linked, LoadLinks, NoLinks, Pointing, Remapped,
    SkippingField, is_of_value,
};
pub(crate) use encoder::SaveLinks;
pub(crate) use field::{FieldAccess, FieldNames, FieldStep, ListAccess, MapAccess, is_same_name};
pub(crate) use links::{
    Factory, Link, Pointed, PrototypeTable, ReferenceSlot, Referent, Within, charge_empty,
};
pub(crate) use lock::LockCell;
pub(crate) use object::{AnyObject, Shared, WeakShared, give, shared};
#[allow(unused_imports, reason = "lists of other crates need it")]
pub(crate) use persist::extend_fixed;
pub(crate) use persist::{bad_part, decode_vec};
pub(crate) use pointer::{
    ArcFamily, AsCell, AsLengthy, Family, Lengthy, OpenCell, PointTo, RcFamily, Unsized,
};
pub(crate) use text::{decode_text, decode_text_into};
pub(crate) use trait_object::{
    AsTrait, Caster, Implements, Portable, TraitObject, not_registered, not_registered_yet,
    reach_holder, trait_name,
};
pub(crate) use type_set::{ClassAccess, LoadedObject, ObjectType, StandInClass, TypeSet};
pub(crate) use unknown::{
    ForeignClass, ForeignPart, ForeignPartKind, KeptTarget, Unknown, UnknownPiece,
};
pub(crate) use visitor::{Phase, VisitLinks, Visitor};
pub(crate) use weight::is_light_box;
pub(crate) use with::ADAPTED;
