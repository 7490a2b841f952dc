//! Stores types of serde in saves, and saved types in documents of serde.
//!
//! - A field with `#[persist(serde)]` stores any type that implements `Serialize` and `DeserializeOwned`, as a value
//!   that describes itself. Such a type changes by the rules of serde: `#[serde(default)]`, `#[serde(alias)]` and so
//!   on.
//! - [`Saved`] stores a type that derives `Persist` as a field of a document of serde, such as JSON.

mod read;
mod saved;
mod write;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::with::Adapter;
use crate::codec::{Decoder, Encoder, Fail, Persist, Stop, TypeSet};
use crate::reflect::Kind;
use crate::{Error, ErrorKind};

pub use saved::Saved;

/// A value of serde's data model, as a save holds it.
///
/// It has no kinds for the widths of numbers. So a `u8` may become a `u32` in a later version of a type, as in JSON.
///
/// [`write`] and [`read`] convert between values and its bytes directly. As a value in
/// memory it would own the name of every field.
#[derive(crate::Persist, Clone, Debug, Default)]
#[persist(crate = crate, class = "persist.Any")]
enum Any {
    #[default]
    Unit,
    Bool(bool),
    /// An integer of 0 or more.
    Unsigned(#[persist(compact)] u64),
    /// An integer below 0.
    Negative(#[persist(compact)] i64),
    /// An integer that no other variant holds.
    Wide(i128),
    Huge(u128),
    F32(f32),
    F64(f64),
    Char(char),
    Text(String),
    Bytes(Vec<u8>),
    None,
    Some(Box<Any>),
    /// A list, a tuple or a tuple struct.
    List(Vec<Any>),
    /// A map, in the order in which the type gave its entries.
    Map(Vec<(Any, Any)>),
    /// A struct: names and values of its fields.
    Struct(Vec<(String, Any)>),
    /// A variant of an enum without content.
    Variant(String),
    /// A variant with content: its value, a list of several or a struct.
    Content(String, Box<Any>),
}

/// The first byte of each variant of [`Any`].
struct Tag;

impl Tag {
    const UNIT: u8 = 0;
    const BOOL: u8 = 1;
    const UNSIGNED: u8 = 2;
    const NEGATIVE: u8 = 3;
    const WIDE: u8 = 4;
    const HUGE: u8 = 5;
    const F32: u8 = 6;
    const F64: u8 = 7;
    const CHAR: u8 = 8;
    const TEXT: u8 = 9;
    const BYTES: u8 = 10;
    const NONE: u8 = 11;
    const SOME: u8 = 12;
    const LIST: u8 = 13;
    const MAP: u8 = 14;
    const STRUCT: u8 = 15;
    const VARIANT: u8 = 16;
    const CONTENT: u8 = 17;
}

/// Stores a type that implements serde's traits.
#[doc(hidden)]
pub enum Serde {}

impl<T: Serialize + DeserializeOwned + 'static> Adapter<T> for Serde {
    const MIN: usize = 1;

    fn kind() -> Kind {
        Any::persist_kind()
    }

    fn name() -> String {
        Any::persist_name()
    }

    fn reach(types: &mut TypeSet) {
        Any::__reach(types);
    }

    fn encode(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let depth = out.env_inside::<()>().limits.depth;
        let mut pass_on = |bytes: &[u8]| out.bytes(bytes).is_ok();
        let mut output = write::AnyBytes::new(&mut pass_on);
        let written = value.serialize(write::AnyWriter::new(&mut output, depth));
        match written.and_then(|()| output.finish()) {
            Ok(longest_text) => out.check_text(longest_text),
            // If the bytes were refused, that error came first and is reported.
            Err(why) => Err(out.refuse(why.into_error("saved"))),
        }
    }

    fn decode(input: &mut Decoder<'_>) -> Result<T, Fail> {
        let result = read::Reading::new(input).read();
        result?.map_err(|why| input.refuse(why.into_error("loaded")))
    }
}

/// Says why serde refused a value. It is one word, because every value that is read or written returns in a `Result`
/// beside it.
#[derive(Debug)]
struct SerdeError(Box<Reason>);

#[derive(Debug)]
struct Reason(String);

impl SerdeError {
    #[cold]
    fn new(why: &dyn fmt::Display) -> Self {
        Self(Box::new(Reason(why.to_string())))
    }

    fn into_error(self, what: &str) -> Error {
        error!(ErrorKind::Refused, "serde says why it cannot be {what}: {self}")
    }
}

impl fmt::Display for SerdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.0)
    }
}

impl std::error::Error for SerdeError {}

impl serde::ser::Error for SerdeError {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::new(&why)
    }
}

impl serde::de::Error for SerdeError {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::new(&why)
    }
}
