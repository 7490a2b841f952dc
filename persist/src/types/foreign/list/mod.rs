//! Lists of other crates: a count, then the elements, like a `Vec`.
#[cfg(feature = "arrayvec-0_7")]
mod arrayvec;
#[cfg(feature = "smallvec")]
mod smallvec;
#[cfg(feature = "thin-vec-0_2")]
mod thin_vec;
#[cfg(feature = "tinyvec")]
mod tinyvec;

use crate::codec::{Decoder, Fail, Generic, Persist, count, extend_fixed};
use crate::{Error, ErrorKind};

/// Implements `Persist` for a list of another crate whose elements lie in a slice, by the crate's functions `clear`,
/// `truncate` and `extend`. `room` is the capacity of a list that does not grow, and the name of such a list in errors.
macro_rules! slice_list {
    (
        {$($generics:tt)*} $list:ty, $item:ty, $with_capacity:expr
        $(, room: $name:literal, $room:expr)?
    ) => {
        const _: () = {
            use $crate::codec::compact::Compact;
            use $crate::codec::{
                Decoder, Encoder, Fail, Generic, Layout, Persist, Pointee, Prototypes, Stop,
                TypeSet, Visitor,
            };
            use $crate::reflect::Kind;
            use $crate::types::foreign::list;
            use $crate::types::sequence;

            #[diagnostic::do_not_recommend]
            impl<$($generics)*> Persist for $list {
                $crate::types::counted_items!(Kind::List(<$item>::persist_kind));
                const __LAYOUT: Layout = Layout::collection::<Self>();
                const __CODE: &'static $crate::reflect::TypeCode = <$item>::__CODE;

                $crate::types::compact_items!(
                    <$item>::COMPACT, Kind::List(<$item>::__compact_kind);
                    this, out => {
                        sequence::encode_elements::<Compact, $item>(this.iter(), <$item>::LEAF, out)
                    };
                    head, input => {
                        $(list::Room::new("elements", $name, $room).check(head[0], input)?;)?
                        let items = sequence::decode_lifted::<Compact, $item>(head[0], input)?;
                        Ok(items.into_iter().collect())
                    }
                );

                fn __reach(types: &mut TypeSet) {
                    <$item>::__reach(types);
                }

                fn persist_empty(_: &Prototypes<'_>) -> $crate::Result<Self> {
                    Ok(Self::default())
                }

                #[inline]
                fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                    sequence::encode_slice::<$item>(self, out)
                }

                #[inline]
                fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                    $(list::Room::new("elements", $name, $room).check(head[0], input)?;)?
                    let count = input.elements::<$item>(head)?;
                    let mut list = $with_capacity(count);
                    list::nested::<$item>(input, |input| list::extend(&mut list, count, input))?;
                    Ok(list)
                }

                #[inline]
                fn __decode_into(
                    &mut self,
                    head: &[u8],
                    input: &mut Decoder<'_>,
                ) -> Result<(), Fail> {
                    $(list::Room::new("elements", $name, $room).check(head[0], input)?;)?
                    let count = input.elements::<$item>(head)?;
                    if <$item>::PLACED_FIXED {
                        self.clear();
                        return list::extend(self, count, input);
                    }
                    list::nested::<$item>(input, |input| {
                        self.truncate(count);
                        self.iter_mut().try_for_each(|item| input.value_into(item))?;
                        list::extend(self, count - self.len(), input)
                    })
                }

                #[inline]
                fn __keep_skipped(&mut self, old: &mut Self) {
                    for (new, old) in self.iter_mut().zip(old.iter_mut()) {
                        new.__keep_skipped(old);
                    }
                }

                fn __visit(&mut self, visitor: &mut Visitor<'_>) -> $crate::Result<()> {
                    sequence::visit_each(self.iter_mut(), visitor)
                }

                fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> $crate::Result<()> {
                    sequence::visit_each_shared(self.iter(), visitor)
                }
            }

            impl<$($generics)*> Pointee for $list {
                type As = Self;
            }
        };
    };
}
use slice_list;

/// Reads elements, one level of nesting further in if they can hold nested values.
fn nested<T: Persist>(
    input: &mut Decoder<'_>,
    elements: impl FnOnce(&mut Decoder<'_>) -> Result<(), Fail>,
) -> Result<(), Fail> {
    if T::LEAF { elements(input) } else { input.nested_in::<T, _>(elements) }
}

/// The capacity of a type that does not grow, in elements or bytes.
#[allow(dead_code, reason = "most lists grow")]
struct Room {
    of: &'static str,
    name: &'static str,
    capacity: usize,
}

#[allow(dead_code, reason = "most lists grow")]
impl Room {
    /// Creates a capacity in elements or bytes.
    fn new(of: &'static str, name: &'static str, capacity: usize) -> Self {
        Self { of, name, capacity }
    }

    /// Checks that the count which begins with `head` fits the capacity, before an element is read.
    #[inline]
    fn check(&self, head: u8, input: &mut Decoder<'_>) -> Result<(), Fail> {
        let start = input.rest();
        let count = count::decode_tail(head, input)?;
        if count > self.capacity as u64 {
            return Err(self.refuse(count, input));
        }
        input.go_back(start);
        Ok(())
    }

    #[cold]
    fn refuse(&self, count: u64, input: &mut Decoder<'_>) -> Fail {
        let Self { of, name, capacity } = self;
        let message = format!(
            "{count} {of} do not fit into an `{name}` with room for {capacity}; give it more room, or use a type that grows"
        );
        input.refuse(Error::new(ErrorKind::InvalidValue, message))
    }
}

/// Reads `count` items to the end of a list of any type. The caller has checked that enough bytes are left.
#[inline]
fn extend<T: Persist>(
    items: &mut impl Extend<T>,
    count: usize,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    if const { T::PLACED_FIXED && T::HEAD > 0 } {
        return extend_fixed(items, count, input);
    }
    let mut fail = None;
    let mut next = || input.value().map_err(|why| fail = Some(why)).ok();
    items.extend((0..count).map_while(|_| next()));
    fail.map_or(Ok(()), Err)
}
