//! Encodes one value to bytes and decodes it, without a file around it.
//!
//! [`Buffer`], [`decode`] and [`decode_into`] are the bare codec: the bytes of one value, with no header, schema or
//! checksum around them. Use them for messages between two builds of one program. Use [`save`](crate::save()) or
//! [`to_vec`](crate::to_vec) for bytes that another version of the program must read.
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
//! | [`Prototypes`] | creates empty values |
//! | [`Parts`] | lists the values inside |
//! | [`Pointee`] | allows shared pointers to the type: `Rc<Colour>` |
//!
//! [`Reflect`] gives the tables of a type that derives `Persist`; [`reflect`](crate::reflect) describes them.
//!
//! # Map
//!
//! This section is for those who change the module. Names without links are private.
//!
//! | files | part |
//! | --- | --- |
//! | `persist`, `layout` | the trait, and the constants of a type, by which its values are placed |
//! | `row`, `index`, `field`, `value` | rows of fields, the code of a field, whole values in place or by a call |
//! | `buffer`, `windows`, `encoder` | memory that grows by windows, and the cursor that writes to it |
//! | `decoder`, `fail`, `boxed`, `weight` | the cursor that reads; values too large for the stack; limits of memory |
//! | `count`, `compact`, `text`, `pod` | counts, small integers, strings and blocks as bytes |
//! | `class`, `field_access`, `type_set`, `parts` | fields at run time; the types that a registration collects |
//! | `with`, `convert`, `skip` | adapters, older types of a field, elements that cannot be loaded |
//! | `object`, `pointer`, `content`, `trait_object`, `lock` | shared objects, boxes, trait objects, cells |
//! | `class_holder` | values that hold classes which their type does not name, as worlds do |
//! | `links`, `visitor` | the interface to a save and a load; the walk that connects pointers and runs hooks |
//! | `unknown`, `unknown_codec` | data that the program lacks, and its bytes |
//!
//! **Encode.** Derived code writes the fields of a *row* one after the other. The heads of neighbours lie in one
//! *segment*, which takes one bounds check. A field with a tail ends the segment. So this class has two segments:
//!
//! ```text
//! struct Hero { level: u32, name: String, hp: u16, luck: f32 }
//!
//!   first segment, 5 bytes             tail of name       second segment, 6 bytes
//! +-----------------+---------------+------------------+---------------+----------------+
//! | head of level   | head of name  | 41 64 61         | head of hp    | head of luck   |
//! | 03 00 00 00     | 03            | "Ada"            | 14 00         | 00 00 00 3f    |
//! +-----------------+---------------+------------------+---------------+----------------+
//!   put_head<_0>      put_head<_1>    put_rest<_1>       put_rest<_2>    put_rest<_3>
//! ```
//!
//! The head of a class is its first segment, so a class is itself a field with head and tail in the row around it.
//! A field whose code exceeds `BUDGET` has no head: it is encoded by a call. `Decoder` reads in the same order.
//!
//! **Links.** A shared pointer asks the `SaveLinks` of the save for the id of its target, and writes the id. The save
//! encodes each new target as an object of its own. In a load, the pointer passes the id to `LoadLinks` and gets a
//! placeholder of the right type. When all objects are decoded, a `Visitor` walks through them in the same order and
//! sets each pointer (a `ReferenceSlot`) to its target. Further walks run `validate` and `after_load`. The bare codec
//! has `NoLinks`, which refuses pointers.
//!
//! | trait | what it does |
//! | --- | --- |
//! | [`Pointee`] | marks a type that `Rc`, `Arc` and `Weak` may point at; `As` names the type that converts |
//! | `PointTo` | converts such pointers; implemented by `T` itself, `AsCell`, `AsLengthy` and `AsTrait` |
//! | `CellContent`, `BoxOf` | the same two roles for the content of a `Box` or of a cell |
//! | `Family` | covers the differences of `Rc` and `Arc` |
//! | `AnyObject` | an object without its type; a `Shared` is a counted pointer to one |
//! | `Unsized` | a pointee without a size: `str`, `[T]`, `dyn Trait`; its pointer is boxed as an `AnyObject` |
//! | `Lengthy` | `str` and `[T]`, with the growable type that a load fills |
//! | `OpenCell` | a cell whose value a load can still replace while it is shared |
//! | `Draft` | an object without such a cell: it is filled first and shared afterwards |
//! | `TraitObject`, `TraitCell` | a `dyn Trait` with its name in saves; that or a cell around one |
//! | `Dynamic`, `Portable` | the supertrait of dynamic traits, and the value's codec as a trait object |
//! | `Implements<T>` | turns a `T` into the trait object; a `Caster` is that for the registry |
//!
//! | word | meaning |
//! | --- | --- |
//! | row | the stored fields of a struct or of a variant |
//! | head, tail | the bytes of a value whose number its type fixes, and the other bytes |
//! | window | a piece of a buffer's memory; a value continues in the next one |
//! | read over | to decode into an existing value, which keeps its allocations |
//! | reach | to list the types that a type holds, without a value |
//! | visit | to walk through a value, for a phase such as connecting pointers |
//! | adapter | a type that stores a field as another type, for `with` and `via` |
//! | holder | the pointer and the cell around an object: `Rc<RefCell<_>>` |

#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod boxed;
mod buffer;
pub(crate) mod class;
pub(crate) mod class_holder;
pub(crate) mod compact;
pub(crate) mod content;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod decoder;
pub(crate) mod encoder;
mod fail;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
mod field;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod field_access;
pub(crate) mod index;
pub(crate) mod layout;
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
mod unknown_codec;
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

// The root of the crate documents it.
#[doc(hidden)]
pub use persist::Persist;

pub(crate) use boxed::{boxed_with, is_bulky, on_stack, out_of_line, unboxed};
#[cfg(feature = "world")]
pub(crate) use buffer::encode_parts;
pub(crate) use buffer::left_over;
#[cfg(feature = "world")]
pub(crate) use content::BoxOf;
pub(crate) use content::CellContent;
pub(crate) use convert::CONVERTED;
pub(crate) use decoder::{
    FailedElement, Implementor, KeyLinks, Linked, LoadLinks, NoLinks, Pointing, Remapped,
    SkippingField, is_of_value,
};
pub(crate) use encoder::SaveLinks;
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) use field_access::is_same_name;
pub(crate) use field_access::{FieldAccess, FieldNames, FieldStep, ListAccess, MapAccess};
pub(crate) use layout::Layout;
pub(crate) use links::{
    Factory, Link, Pointed, PrototypeTable, ReferenceSlot, Referent, Within, charge_empty,
};
pub(crate) use lock::LockCell;
pub(crate) use object::{AnyObject, Shared, WeakShared, put_shared, shared};
#[allow(unused_imports, reason = "lists of other crates need it")]
pub(crate) use persist::extend_fixed;
pub(crate) use persist::{Generic, bad_part, decode_vec};
pub(crate) use pointer::{
    ArcFamily, AsCell, AsLengthy, Family, Lengthy, OpenCell, PointTo, RcFamily, Unsized,
};
pub(crate) use text::{decode_text, decode_text_into};
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) use trait_object::Portable;
#[cfg(feature = "world")]
pub(crate) use trait_object::{AsTrait, TraitObject};
pub(crate) use trait_object::{
    Caster, Implements, not_registered, not_registered_yet, reach_holder, trait_name,
};
pub(crate) use type_set::{ClassAccess, LoadedObject, ObjectType, StandInClass, TypeSet};
pub(crate) use unknown::{
    Unknown, UnknownClass, UnknownPart, UnknownPartKind, UnknownPiece, UnknownTarget,
};
pub(crate) use visitor::{Phase, VisitLinks, Visitor};
#[cfg(feature = "world")]
pub(crate) use weight::is_light_box;
pub(crate) use with::ADAPTED;
