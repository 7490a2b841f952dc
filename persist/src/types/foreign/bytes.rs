//! `bytes`: as a `Vec<u8>`.

use bytes::{Bytes, BytesMut};

use crate::codec::{Decoder, Encoder, Fail, Layout, Persist, Pointee, Prototypes, Stop, count};
use crate::reflect::Kind;
use crate::types::sequence::encode_slice;
use crate::types::whole_items;

macro_rules! bytes {
    ($($ty:ty = $from:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Persist for $ty {
            const __LAYOUT: Layout = Layout { leaf: true, ..Layout::collection::<Self>() };

            whole_items!();

            fn persist_kind() -> Kind {
                Kind::List(u8::persist_kind)
            }

            fn persist_empty(_: &Prototypes<'_>) -> crate::Result<Self> {
                Ok(Self::new())
            }

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                head[0] = count::head(self.len() as u64);
            }

            #[inline]
            fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                encode_slice::<u8>(self, out)
            }

            #[inline]
            fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                let len = input.elements::<u8>(head)?;
                input.take(len).map($from)
            }
        }

        #[diagnostic::do_not_recommend]
        impl Pointee for $ty {
            type As = Self;
        }
    )*};
}

bytes! {
    Bytes = Bytes::copy_from_slice;
    BytesMut = BytesMut::from;
}
