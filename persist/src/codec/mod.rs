//! Values to bytes and back: the cursors, the [`Persist`] trait and what a
//! type's own code asks of its surroundings.
//!
//! [`Buffer`], [`decode`], [`decode_into`] and [`convert`](convert()) are the bare codec: the
//! bytes of one value, with no header, schema or checksum around them.

mod buffer;
mod content;
mod convert;
mod copy;
pub(crate) mod count;
mod decoder;
mod dynamic;
mod encoder;
mod field;
mod field_names;
pub(crate) mod index;
mod links;
mod list;
mod lock;
mod object;
mod parts;
mod persist;
mod pointee;
mod prototypes;
pub(crate) mod row;
mod text;
mod type_set;
mod visitor;
mod windows;

pub use buffer::{Buffer, decode, decode_into};
pub use content::{BoxOf, Content};
pub(crate) use convert::CONVERTED;
pub use convert::convert;
#[doc(hidden)]
pub use convert::{Conversion, Converted};
#[doc(hidden)]
pub use decoder::restored;
pub use decoder::{Decoder, Fail};
#[doc(no_inline)]
pub use dynamic::Unknown;
pub use dynamic::{
    ArcTo, AsTrait, Caster, Dynamic, Implements, Portable, RcTo, StandIn, TraitCell, TraitObject,
};
pub use encoder::{Encoder, Stop};
pub use field::{FieldAccess, replaced};
#[doc(hidden)]
pub use field_names::{FieldNames, FieldStep};
pub(crate) use links::charge_empty;
pub use links::{
    Implementor, Linked, LoadLinks, NoLinks, Note, Pointed, Pointing, Remapped, SaveLinks, Slot,
    Within,
};
pub(crate) use list::decode_vec;
pub(crate) use object::WeakShared;
pub use object::{Object, Shared};
pub use parts::Parts;
#[doc(no_inline)]
pub use persist::Persist;
pub use persist::{Reflect, kind_of_class};
pub use pointee::{AsCell, AsLengthy, AsValue, Lengthy, OpenCell, PointTo, Pointee, Unsized};
pub(crate) use prototypes::PrototypeTable;
pub use prototypes::Prototypes;
pub use type_set::{ClassAccess, Draft, Factory, Look, Made, ObjectType, TypeSet};
pub(crate) use visitor::{NoVisitLinks, VisitLinks, Visits};
pub use visitor::{Outcome, Phase, Visitor};

pub(crate) use buffer::left_over;
pub(crate) use copy::copy;
pub(crate) use dynamic::{
    ForeignClass, Part, Piece, StandInClass, UnknownContent, not_registered, not_registered_yet,
    reach_holder, trait_name,
};
pub(crate) use list::encode_each;
pub(crate) use lock::Lock;
pub(crate) use text::{decode_text, decode_text_into};
