//! Atomics: the number.

use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use super::number::fixed_items;
use crate::Result;
use crate::codec::{Decoder, Fail, Generic, Layout, Persist, Prototypes, TypeSet};
use crate::reflect::Kind;

macro_rules! atomics {
    ($($atomic:ident $number:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Persist for $atomic {
            const __LAYOUT: Layout = Layout::number::<Self>($number::HEAD);

            fixed_items!();

            fn persist_kind() -> Kind {
                <$number as Persist>::persist_kind()
            }

            fn persist_name() -> String {
                String::from(stringify!($atomic))
            }

            fn __reach(types: &mut TypeSet) {
                types.interior_mutability();
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok(Self::default())
            }

            #[inline(always)]
            fn __encode_head(&self, head: &mut [u8]) {
                self.load(Ordering::Relaxed).__encode_head(head);
            }

            #[inline(always)]
            fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
                Self::new($number::__decode_fixed(head, bad))
            }
        }
    )*};
}

atomics! {
    AtomicBool bool
    AtomicU8 u8  AtomicU16 u16  AtomicU32 u32  AtomicU64 u64  AtomicUsize usize
    AtomicI8 i8  AtomicI16 i16  AtomicI32 i32  AtomicI64 i64  AtomicIsize isize
}
