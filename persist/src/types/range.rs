//! Ranges: their bounds.

use std::any::Any;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::number::fixed_items;
use super::struct_tables;
use crate::codec::{
    Decoder, Encoder, Fail, Generic, Layout, Persist, Prototypes, Reflect, Stop, TypeSet,
};
use crate::reflect::{Kind, TypeCode};
use crate::{ErrorKind, Result};

macro_rules! ranges {
    ($($range:ident { $($bound:ident $field:literal),+ } $name:literal)*) => {$(
        impl<T: Persist> Reflect for $range<T> {
            struct_tables!($name [T] $($field: T),+);

            fn persist_field(&self, field: usize) -> Option<&dyn Any> {
                let bounds: &[&dyn Any] = &[$(&self.$bound),+];
                bounds.get(field).copied()
            }

            fn persist_field_mut(&mut self, field: usize) -> Option<&mut dyn Any> {
                let bounds: [&mut dyn Any; _] = [$(&mut self.$bound),+];
                bounds.into_iter().nth(field)
            }
        }

        impl<T: Persist> Persist for $range<T> {
            const __LAYOUT: Layout = Layout {
                min: 0 $(+ { let _ = stringify!($bound); T::MIN })+,
                leaf: true,
                ..Layout::new::<Self>()
            };
            const __CODE: &'static TypeCode = T::__CODE;

            fn persist_kind() -> Kind {
                Kind::Class(|| Self::CLASS)
            }

            fn __reach(types: &mut TypeSet) {
                reach::<T, Self>(types);
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
    Range { start "start", end "end" } "Range"
    RangeFrom { start "start" } "RangeFrom"
    RangeTo { end "end" } "RangeTo"
    RangeToInclusive { end "end" } "RangeToInclusive"
}

fn reach<T: Persist, R: Reflect>(types: &mut TypeSet) {
    if types.class::<R>() {
        T::__reach(types);
        types.unvisited("the bound of a range", T::persist_kind, T::persist_name);
    }
}

#[diagnostic::do_not_recommend]
impl Persist for RangeFull {
    const __LAYOUT: Layout = Layout::number::<Self>(0);

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

/// The bounds cannot be changed separately.
impl<T: Persist + PartialOrd> Reflect for RangeInclusive<T> {
    struct_tables!("RangeInclusive" [T] "start": T, "end": T);

    fn persist_field(&self, _: usize) -> Option<&dyn Any> {
        None
    }

    fn persist_field_mut(&mut self, _: usize) -> Option<&mut dyn Any> {
        None
    }
}

/// A range that was iterated to its end refuses to be saved, because its bounds do not show that it is empty.
impl<T: Persist + PartialOrd> Persist for RangeInclusive<T> {
    const __LAYOUT: Layout = Layout { min: 2 * T::MIN, leaf: true, ..Layout::new::<Self>() };
    const __CODE: &'static TypeCode = T::__CODE;

    fn persist_kind() -> Kind {
        Kind::Class(|| Self::CLASS)
    }

    fn __reach(types: &mut TypeSet) {
        reach::<T, Self>(types);
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
        Ok(T::persist_empty(prototypes)?..=T::persist_empty(prototypes)?)
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        if self.is_empty() && self.start() <= self.end() {
            return Err(out.refuse(error!(
                ErrorKind::InvalidValue,
                "an inclusive range was iterated to its end and cannot be saved; store its bounds"
            )));
        }
        out.value(self.start())?;
        out.value(self.end())
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Ok(input.value()?..=input.value()?)
    }
}
