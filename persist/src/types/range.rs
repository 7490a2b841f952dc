//! Ranges: their bounds.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::number::fixed_items;
use crate::codec::{Decoder, Encoder, Fail, Persist, Prototypes, Stop, TypeSet};
use crate::reflect::Kind;
use crate::{Error, ErrorKind, Result};

macro_rules! ranges {
    ($($range:ident { $($bound:ident),+ } $name:literal)*) => {$(
        impl<T: Persist> Persist for $range<T> {
            const __MIN: usize = 0 $(+ { let _ = stringify!($bound); T::__MIN })+;
            const __LEAF: bool = true;

            fn persist_kind() -> Kind {
                Kind::Tuple(const { &[$({ let _ = stringify!($bound); T::persist_kind as fn() -> Kind }),+] })
            }

            fn persist_name() -> String {
                format!(concat!($name, "<{}>"), T::persist_name())
            }

            fn __reach(types: &mut TypeSet) {
                T::__reach(types);
                types.unvisited("the bound of a range", T::persist_kind, T::persist_name);
            }

            fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
                Ok(Self { $($bound: T::persist_empty(prototypes)?),+ })
            }

            #[inline]
            fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                $(out.value(&self.$bound)?;)+
                Ok(())
            }

            #[inline]
            fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
                $(let $bound = input.value()?;)+
                Ok(Self { $($bound),+ })
            }
        }
    )*};
}

ranges! {
    Range { start, end } "Range"
    RangeFrom { start } "RangeFrom"
    RangeTo { end } "RangeTo"
    RangeToInclusive { end } "RangeToInclusive"
}

#[diagnostic::do_not_recommend]
impl Persist for RangeFull {
    fixed_items!();

    fn persist_kind() -> Kind {
        Kind::Unit
    }

    fn persist_name() -> String {
        String::from("RangeFull")
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(..)
    }

    fn __decode_fixed(_: &[u8], _: &mut bool) -> Self {
        ..
    }
}

/// A range that was iterated to its end refuses to be saved: its bounds do not
/// say that it is empty.
impl<T: Persist + PartialOrd> Persist for RangeInclusive<T> {
    const __MIN: usize = 2 * T::__MIN;
    const __LEAF: bool = true;

    fn persist_kind() -> Kind {
        Kind::Tuple(const { &[T::persist_kind as fn() -> Kind, T::persist_kind] })
    }

    fn persist_name() -> String {
        format!("RangeInclusive<{}>", T::persist_name())
    }

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
        types.unvisited("the bound of a range", T::persist_kind, T::persist_name);
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
        Ok(T::persist_empty(prototypes)?..=T::persist_empty(prototypes)?)
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        if self.is_empty() && self.start() <= self.end() {
            return Err(out.refuse(Error::new(
                ErrorKind::InvalidValue,
                "an inclusive range was iterated to its end and cannot be saved; store its bounds",
            )));
        }
        out.value(self.start())?;
        out.value(self.end())
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Ok(input.value()?..=input.value()?)
    }
}
