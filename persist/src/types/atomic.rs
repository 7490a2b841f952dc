//! Atomics: the number.

use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use super::number::fixed_items;
use crate::Result;
use crate::codec::{Decoder, Fail, Persist, Prototypes};
use crate::reflect::Kind;

macro_rules! atomics {
    ($($atomic:ident $number:ident)*) => {$(
        impl Persist for $atomic {
            const HEAD: usize = <$number as Persist>::HEAD;

            fixed_items!();

            fn kind() -> Kind {
                <$number as Persist>::kind()
            }

            fn name() -> String {
                String::from(stringify!($atomic))
            }

            fn prototype(_: &Prototypes<'_>) -> Result<Self> {
                Ok(Self::default())
            }

            #[inline(always)]
            fn encode_head(&self, head: &mut [u8]) {
                self.load(Ordering::Relaxed).encode_head(head);
            }

            #[inline(always)]
            fn decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                Self::new($number::decode_fixed(head, bad))
            }
        }
    )*};
}

atomics! {
    AtomicBool bool
    AtomicU8 u8  AtomicU16 u16  AtomicU32 u32  AtomicU64 u64  AtomicUsize usize
    AtomicI8 i8  AtomicI16 i16  AtomicI32 i32  AtomicI64 i64  AtomicIsize isize
}
