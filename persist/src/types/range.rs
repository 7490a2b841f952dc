//! Ranges: their bounds.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::number::fixed_items;
use crate::codec::{Decoder, Encoder, Fail, Persist, Prototypes, Stop, TypeSet};
use crate::reflect::Kind;
use crate::{Error, ErrorKind, Result};

macro_rules! ranges {
    ($($range:ident { $($bound:ident),+ } $name:literal)*) => {$(
        impl<T: Persist> Persist for $range<T> {
            const MIN: usize = 0 $(+ { let _ = stringify!($bound); T::MIN })+;
            const LEAF: bool = true;

            fn kind() -> Kind {
                Kind::Tuple(const { &[$({ let _ = stringify!($bound); T::kind as fn() -> Kind }),+] })
            }

            fn name() -> String {
                format!(concat!($name, "<{}>"), T::name())
            }

            fn reach(types: &mut TypeSet) {
                T::reach(types);
                types.unvisited("the bound of a range", T::kind, T::name);
            }

            fn prototype(prototypes: &Prototypes<'_>) -> Result<Self> {
                Ok(Self { $($bound: T::prototype(prototypes)?),+ })
            }

            #[inline]
            fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                $(out.value(&self.$bound)?;)+
                Ok(())
            }

            #[inline]
            fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
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

impl Persist for RangeFull {
    fixed_items!();

    fn kind() -> Kind {
        Kind::Unit
    }

    fn name() -> String {
        String::from("RangeFull")
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(..)
    }

    fn decode_fixed(_: &[u8], _: &mut bool) -> Self {
        ..
    }
}

/// A range that was iterated to its end refuses to be saved: its bounds do not
/// say that it is empty.
impl<T: Persist + PartialOrd> Persist for RangeInclusive<T> {
    const MIN: usize = 2 * T::MIN;

    fn kind() -> Kind {
        Kind::Tuple(const { &[T::kind as fn() -> Kind, T::kind] })
    }

    fn name() -> String {
        format!("RangeInclusive<{}>", T::name())
    }

    fn reach(types: &mut TypeSet) {
        T::reach(types);
        types.unvisited("the bound of a range", T::kind, T::name);
    }

    fn prototype(prototypes: &Prototypes<'_>) -> Result<Self> {
        Ok(T::prototype(prototypes)?..=T::prototype(prototypes)?)
    }

    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        if self.is_empty() && self.start() <= self.end() {
            return Err(out.refuse(Error::new(
                ErrorKind::InvalidValue,
                "an inclusive range was iterated to its end and cannot be saved; store its bounds",
            )));
        }
        out.value(self.start())?;
        out.value(self.end())
    }

    fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Ok(input.value()?..=input.value()?)
    }
}
