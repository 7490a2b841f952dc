//! `arrayvec`: a list or a text that exceeds the capacity is refused.

use arrayvec::{ArrayString, ArrayVec};

use super::{Room, slice_list};
use crate::codec::{Decoder, Fail, Persist, Pointee, Prototypes};
use crate::types::text::text_items;

slice_list!(
    {T: Persist, const CAP: usize} ArrayVec<T, CAP>, T, |_| ArrayVec::new(),
    room: "ArrayVec", CAP
);

#[diagnostic::do_not_recommend]
impl<const CAP: usize> Persist for ArrayString<CAP> {
    text_items!();

    fn persist_empty(_: &Prototypes<'_>) -> crate::Result<Self> {
        Ok(Self::new())
    }

    #[inline]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Room::new("bytes", "ArrayString", CAP).check(head[0], input)?;
        let text = crate::types::foreign::text::decode_str(head[0], input)?;
        Self::from(text).map_err(|_| Fail::Value)
    }
}

impl<const CAP: usize> Pointee for ArrayString<CAP> {
    type As = Self;
}
