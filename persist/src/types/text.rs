//! Strings and paths.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::codec::{
    Decoder, Encoder, Fail, Order, Persist, Prototypes, Stop, count, decode_text, decode_text_into,
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

impl Persist for String {
    const HEAD: usize = 1;

    fn kind() -> Kind {
        Kind::Text
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(String::new())
    }

    #[inline(always)]
    fn encode_head(&self, head: &mut [u8]) {
        encode_head(self, head);
    }

    #[inline(always)]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_tail(self, out)
    }

    #[inline(always)]
    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let len = decode_len(head, input)?;
        let text = decode_text(input.rest(), len)?;
        input.take(len)?;
        Ok(text)
    }

    #[inline(always)]
    fn decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        let len = decode_len(head, input)?;
        decode_text_into(self, input.rest(), len)?;
        input.take(len)?;
        Ok(())
    }

    #[inline(always)]
    fn decode_ordered(_: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.value()
    }
}

macro_rules! like_string {
    ($($ty:ty, $name:literal;)*) => {$(
        impl Persist for $ty {
            const HEAD: usize = 1;

            fn kind() -> Kind {
                Kind::Text
            }

            fn name() -> String {
                String::from($name)
            }

            fn prototype(_: &Prototypes<'_>) -> Result<Self> {
                Ok(Self::from(""))
            }

            #[inline(always)]
            fn encode_head(&self, head: &mut [u8]) {
                encode_head(self, head);
            }

            #[inline(always)]
            fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                encode_tail(self, out)
            }

            #[inline]
            fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                String::decode(head, input).map(Self::from)
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
impl Persist for PathBuf {
    const MIN: usize = 1;

    fn kind() -> Kind {
        Kind::Text
    }

    fn name() -> String {
        String::from("PathBuf")
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(PathBuf::new())
    }

    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let Some(text) = self.to_str() else {
            return Err(out.refuse(Error::new(
                ErrorKind::InvalidValue,
                format!("the path {} is not UTF-8; rename it, or store its bytes", self.display()),
            )));
        };
        encode(text, out)
    }

    fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.value::<String>().map(Self::from)
    }
}
