//! Strings and paths.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use super::whole_items;
use crate::codec::{
    Decoder, Encoder, Fail, Layout, Persist, Prototypes, Stop, count, decode_text, decode_text_into,
};
use crate::reflect::Kind;
use crate::{ErrorKind, Result};

#[inline(always)]
pub(super) fn encode_head(text: &str, head: &mut [u8]) {
    head[0] = count::head(text.len() as u64);
}

#[inline(always)]
pub(super) fn encode_tail(text: &str, out: &mut Encoder<'_>) -> Result<(), Stop> {
    let len = text.len() as u64;
    if len > count::SHORT {
        out.check_text(text.len())?;
        count::encode_tail(len, out)?;
    }
    out.bytes(text.as_bytes())
}

/// Writes a text whole.
pub(crate) fn encode(text: &str, out: &mut Encoder<'_>) -> Result<(), Stop> {
    encode_head(text, out.take(1)?);
    encode_tail(text, out)
}

/// Reads the bytes of a text without checking them.
#[cfg(feature = "world")]
pub(crate) fn decode_bytes<'a>(input: &mut Decoder<'a>) -> Result<&'a [u8], Fail> {
    let head = input.take(1)?;
    let len = decode_len(head, input)?;
    input.take(len)
}

#[inline(always)]
pub(super) fn decode_len(head: &[u8], input: &mut Decoder<'_>) -> Result<usize, Fail> {
    let len = input.elements::<u8>(head)?;
    if len as u64 > count::SHORT && len > input.limits().text { Err(Fail::Limit) } else { Ok(len) }
}

#[diagnostic::do_not_recommend]
impl Persist for String {
    const __LAYOUT: Layout = Layout::text::<Self>();

    whole_items!();

    fn persist_kind() -> Kind {
        Kind::Text
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(String::new())
    }

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        encode_head(self, head);
    }

    #[inline(always)]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_tail(self, out)
    }

    #[inline(always)]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode(head[0], input)
    }

    #[inline(always)]
    fn __decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        decode_into(self, head[0], input)
    }
}

// Called, not inlined: most fields of most structs are texts, and each is an allocation anyway.

#[inline(never)]
fn decode(head: u8, input: &mut Decoder<'_>) -> Result<String, Fail> {
    let len = decode_len(&[head], input)?;
    let text = decode_text(input.rest(), len)?;
    input.take(len)?;
    Ok(text)
}

#[inline(never)]
fn decode_into(text: &mut String, head: u8, input: &mut Decoder<'_>) -> Result<(), Fail> {
    let len = decode_len(&[head], input)?;
    decode_text_into(text, input.rest(), len)?;
    input.take(len)?;
    Ok(())
}

/// Expands to the items of a type that is stored as text and gives a `&str`, except for those that read it.
macro_rules! text_items {
    () => {
        const __LAYOUT: $crate::codec::Layout = $crate::codec::Layout::text::<Self>();

        $crate::types::whole_items!();

        fn persist_kind() -> $crate::reflect::Kind {
            $crate::reflect::Kind::Text
        }

        #[inline(always)]
        fn __encode_head(&self, head: &mut [u8]) {
            $crate::types::text::encode_head(self, head);
        }

        #[inline(always)]
        fn __encode_tail(
            &self,
            out: &mut $crate::codec::Encoder<'_>,
        ) -> Result<(), $crate::codec::Stop> {
            $crate::types::text::encode_tail(self, out)
        }
    };
}
#[allow(unused_imports, reason = "texts of other crates need it")]
pub(super) use text_items;

macro_rules! like_string {
    ($($ty:ty, $name:literal;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Persist for $ty {
            text_items!();

            fn persist_name() -> String {
                String::from($name)
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok(Self::from(""))
            }

            #[inline]
            fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                String::__decode(head, input).map(Self::from)
            }
        }
    )*};
}

like_string! {
    Box<str>, "Box<str>";
    Cow<'static, str>, "Cow<str>";
}

/// Expands to the impls of the system's text types, which refuse to be saved if they are not UTF-8.
macro_rules! texts_of_the_system {
    ($($ty:ty, $name:literal, $what:literal, $to_str:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Persist for $ty {
            const __LAYOUT: Layout = Layout { leaf: true, ..Layout::new::<Self>() };

            fn persist_kind() -> Kind {
                Kind::Text
            }

            fn persist_name() -> String {
                String::from($name)
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok(String::new().into())
            }

            fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                let to_str: fn(&$ty) -> Option<&str> = $to_str;
                match to_str(self) {
                    Some(text) => encode(text, out),
                    None => Err(not_utf8($what, &self.to_string_lossy(), out)),
                }
            }

            fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
                input.value::<String>().map(Self::from)
            }
        }
    )*};
}

// Paths have the separators of the machine that saved them.
texts_of_the_system! {
    PathBuf, "PathBuf", "path", |path| path.to_str();
    OsString, "OsString", "text", |text| text.to_str();
}

#[cold]
fn not_utf8(what: &str, text: &str, out: &mut Encoder<'_>) -> Stop {
    out.refuse(error!(
        ErrorKind::InvalidValue,
        "the {what} {text} is not UTF-8; rename it, or store its bytes"
    ))
}
