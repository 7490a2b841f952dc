//! Texts of other crates: a length and UTF-8, like a `String`.

use crate::codec::{Decoder, Fail};
use crate::types::text::decode_len;

/// Implements `Persist` for texts of other crates, which copy a `&str`.
#[allow(unused_macros, reason = "`arrayvec` alone does without")]
macro_rules! foreign_texts {
    ($($ty:ty = $from:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl $crate::codec::Persist for $ty {
            $crate::types::text::text_items!();

            fn persist_empty(_: &$crate::codec::Prototypes<'_>) -> $crate::Result<Self> {
                Ok(Self::default())
            }

            #[inline]
            fn __decode(
                head: &[u8],
                input: &mut $crate::codec::Decoder<'_>,
            ) -> Result<Self, $crate::codec::Fail> {
                $crate::types::foreign::text::decode_str(head[0], input).map($from)
            }
        }

        #[diagnostic::do_not_recommend]
        impl $crate::codec::Pointee for $ty {
            type As = Self;
        }
    )*};
}
#[allow(unused_imports, reason = "`arrayvec` alone does without")]
pub(super) use foreign_texts;

/// Reads a text, for the caller to copy.
pub(super) fn decode_str<'a>(head: u8, input: &mut Decoder<'a>) -> Result<&'a str, Fail> {
    let len = decode_len(&[head], input)?;
    std::str::from_utf8(input.take(len)?).map_err(|_| Fail::Text)
}
