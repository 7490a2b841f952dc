//! Values to bytes and back: the cursors, the [`Persist`] trait and what a
//! type's own code asks of its surroundings.
//!
//! [`Buffer`], [`decode`] and [`decode_into`] are the bare codec: the bytes of
//! one value, with no header, schema or checksum around them.

mod buffer;
mod copy;
pub(crate) mod count;
mod decoder;
mod encoder;
pub(crate) mod layout;
mod list;
mod object;
mod persist;
mod text;
mod type_set;
mod visitor;

pub use buffer::{Buffer, decode, decode_into};
#[doc(hidden)]
pub use decoder::restored;
pub use decoder::{Decoder, Fail};
pub use encoder::{Encoder, Stop};
pub(crate) use object::WeakShared;
pub use object::{LoadLinks, NoLinks, Object, SaveLinks, Shared, Slot};
pub use persist::{Persist, Reflect};
pub use type_set::{ClassAccess, Factory, ObjectType, TypeSet};
pub use visitor::{Outcome, Phase, Visitor};

pub(crate) use buffer::left_over;
pub(crate) use list::encode_each;
pub(crate) use text::{decode_text, decode_text_into};
