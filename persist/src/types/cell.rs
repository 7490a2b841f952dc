//! Cells that a value owns, stored as what they hold, and atomics.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::sync::{Mutex, PoisonError, RwLock, TryLockError};

use super::number::fixed_items;
use crate::codec::{Decoder, Encoder, Fail, Persist, Stop, TypeSet, Visitor};
use crate::reflect::Kind;
use crate::{Error, ErrorKind, Result};

impl<T: Persist + Copy> Persist for Cell<T> {
    const HEAD: usize = T::HEAD;
    const FIXED: bool = T::FIXED;
    const MIN: usize = T::MIN;
    const LEAF: bool = T::LEAF;

    fn kind() -> Kind {
        T::kind()
    }

    fn name() -> String {
        format!("Cell<{}>", T::name())
    }

    fn reach(types: &mut TypeSet) {
        T::reach(types);
    }

    fn prototype() -> Self {
        Cell::new(T::prototype())
    }

    #[inline(always)]
    fn encode_head(&self, head: &mut [u8]) {
        self.get().encode_head(head);
    }

    #[inline(always)]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        self.get().encode_tail(out)
    }

    #[inline(always)]
    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        T::decode(head, input).map(Cell::new)
    }

    #[inline(always)]
    fn decode_fixed(head: &[u8], bad: &mut bool) -> Self {
        Cell::new(T::decode_fixed(head, bad))
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.get_mut().visit(visitor)
    }
}

/// The items of a lock or `RefCell`, whose content can be out of reach.
macro_rules! guarded {
    ($($cell:ident, $try:ident, $get_mut:expr;)*) => {$(
        impl<T: Persist> Persist for $cell<T> {
            const MIN: usize = T::MIN;
            const LEAF: bool = T::LEAF;

            fn kind() -> Kind {
                T::kind()
            }

            fn name() -> String {
                format!(concat!(stringify!($cell), "<{}>"), T::name())
            }

            fn reach(types: &mut TypeSet) {
                T::reach(types);
            }

            fn prototype() -> Self {
                $cell::new(T::prototype())
            }

            #[inline]
            fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                match self.$try() {
                    Ok(value) => out.value(&*value),
                    Err(error) => Err(out.refuse(blocked(stringify!($cell), &error))),
                }
            }

            #[inline]
            fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                input.value().map($cell::new)
            }

            #[inline]
            fn decode_into(&mut self, _: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
                let get_mut: fn(&mut Self) -> &mut T = $get_mut;
                input.value_into(get_mut(self))
            }

            fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                let get_mut: fn(&mut Self) -> &mut T = $get_mut;
                get_mut(self).visit(visitor)
            }
        }
    )*};
}

guarded! {
    RefCell, try_borrow, RefCell::get_mut;
    Mutex, try_lock, |cell| cell.get_mut().unwrap_or_else(PoisonError::into_inner);
    RwLock, try_read, |cell| cell.get_mut().unwrap_or_else(PoisonError::into_inner);
}

/// Why a cell cannot be read now.
trait Blocked {
    fn reason(&self) -> &'static str;
}

impl Blocked for std::cell::BorrowError {
    fn reason(&self) -> &'static str {
        "is mutably borrowed; end the borrow before saving"
    }
}

impl<G> Blocked for TryLockError<G> {
    fn reason(&self) -> &'static str {
        match self {
            Self::Poisoned(_) => {
                "is poisoned, a thread panicked while it held the lock; clear the poison before saving"
            }
            Self::WouldBlock => "is locked by another thread; release it before saving",
        }
    }
}

#[cold]
fn blocked(cell: &str, error: &dyn Blocked) -> Error {
    Error::new(ErrorKind::Borrowed, format!("a `{cell}` {}", error.reason()))
}

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

            fn prototype() -> Self {
                Self::default()
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
