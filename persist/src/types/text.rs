//! Strings and paths.

use std::borrow::Cow;
use std::path::PathBuf;

use super::whole_items;
use crate::codec::{
    Decoder, Encoder, Fail, Persist, Prototypes, Stop, count, decode_text, decode_text_into,
};
use crate::reflect::Kind;
use crate::{Error, ErrorKind, Result};

#[inline(always)]
fn encode_head(text: &str, head: &mut [u8]) {
    head[0] = count::head(text.len() as u64);
}

#[inline(always)]
fn encode_tail(text: &str, out: &mut Encoder<'_>) -> Result<(), Stop> {
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

#[inline(always)]
fn decode_len(head: &[u8], input: &mut Decoder<'_>) -> Result<usize, Fail> {
    let len = input.elements::<u8>(head)?;
    if len as u64 > count::SHORT && len > input.limits().text { Err(Fail::Limit) } else { Ok(len) }
}

#[diagnostic::do_not_recommend]
impl Persist for String {
    const __HEAD: usize = 1;
    const __LEAF: bool = true;
    const __COST: usize = 3;

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

// Called, not inlined: texts are what most structs have most of, and each is an allocation anyway.

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

macro_rules! like_string {
    ($($ty:ty, $name:literal;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Persist for $ty {
            const __HEAD: usize = 1;
    const __LEAF: bool = true;
    const __COST: usize = 3;

    whole_items!();

            fn persist_kind() -> Kind {
                Kind::Text
            }

            fn persist_name() -> String {
                String::from($name)
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok(Self::from(""))
            }

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                encode_head(self, head);
            }

            #[inline(always)]
            fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                encode_tail(self, out)
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

/// Stored as text, with the separators of the machine that saved it.
///
/// A path that is not UTF-8 refuses to be saved.
#[diagnostic::do_not_recommend]
impl Persist for PathBuf {
    const __LEAF: bool = true;

    fn persist_kind() -> Kind {
        Kind::Text
    }

    fn persist_name() -> String {
        String::from("PathBuf")
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(PathBuf::new())
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let Some(text) = self.to_str() else {
            return Err(out.refuse(Error::new(
                ErrorKind::InvalidValue,
                format!("the path {} is not UTF-8; rename it, or store its bytes", self.display()),
            )));
        };
        encode(text, out)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.value::<String>().map(Self::from)
    }
}
