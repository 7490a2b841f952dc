//! Sequences: a count, then the elements.

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BinaryHeap, LinkedList, VecDeque};
use std::marker::PhantomData;

use super::{compact_items, counted_items, skipping_items};
use crate::Result;
use crate::codec::compact::Compact;
use crate::codec::persist::Inline;
use crate::codec::skip::Skipping;
use crate::codec::with::{Adapter, Same};
use crate::codec::{
    Decoder, Encoder, Fail, Persist, Prototypes, Stop, TypeSet, Visitor, count, decode_vec,
};
use crate::codec::{FieldAccess, ListAccess};
use crate::reflect::{Kind, TypeCode};

/// Writes the elements of a sequence, after its head.
#[inline(always)]
fn encode_tail<C: Adapter<T>, T: Persist>(
    len: usize,
    out: &mut Encoder<'_>,
    elements: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    count::encode_tail(len as u64, out)?;
    out.count_elements::<T>(len, C::MIN);
    if T::__LEAF {
        return elements(out);
    }
    out.filled(len, C::MIN, |out| out.nested_in::<T>(elements))
}

/// Writes a sequence whose elements are compact.
pub(super) fn encode_compact<'t, T: Persist>(
    items: impl ExactSizeIterator<Item = &'t T>,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let mut items = items;
    out.take(1)?[0] = count::head(items.len() as u64);
    encode_tail::<Compact, T>(items.len(), out, |out| {
        out.fork(|out| items.try_for_each(|item| item.__encode_compact(out)))
    })
}

/// Reads a sequence whose elements are compact.
fn decode_compact<T: Persist>(input: &mut Decoder<'_>) -> Result<Vec<T>, Fail> {
    let head = input.take(1)?[0];
    decode_compact_tail(head, input)
}

/// Reads the elements of a sequence with compact elements, after its head.
pub(super) fn decode_compact_tail<T: Persist>(
    head: u8,
    input: &mut Decoder<'_>,
) -> Result<Vec<T>, Fail> {
    let count = input.elements_with::<T>(head, T::__COMPACT_MIN)?;
    let elements = |input: &mut Decoder<'_>| {
        let mut items = Vec::new();
        items.try_reserve_exact(count).map_err(|_| Fail::Limit)?;
        for _ in 0..count {
            // This never happens. It lets the compiler leave out the growth in `push`.
            if items.len() == items.capacity() {
                return Err(Fail::Count);
            }
            items.push(T::__decode_compact(input)?);
        }
        Ok(items)
    };
    if T::__LEAF { elements(input) } else { input.nested_in::<T, _>(elements) }
}

#[inline(always)]
fn encode_rest<T: Persist>(items: &[T], out: &mut Encoder<'_>) -> Result<(), Stop> {
    encode_tail::<Same, T>(items.len(), out, |out| T::__encode_slice(items, out))
}

/// Writes the elements of a list, after its head. Compiled once for each type of element, however many lists of it
/// there are.
#[inline(never)]
fn encode_called<T: Persist>(items: &[T], out: &mut Encoder<'_>) -> Result<(), Stop> {
    encode_rest(items, out)
}

/// Writes a sequence whole.
pub(crate) fn encode<T: Persist>(items: &[T], out: &mut Encoder<'_>) -> Result<(), Stop> {
    out.take(1)?[0] = count::head(items.len() as u64);
    encode_rest(items, out)
}

/// Writes the elements of a list from a slice, after its head.
pub(super) fn encode_slice_tail<T: Persist>(
    items: &[T],
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    encode_tail::<Same, T>(items.len(), out, |out| T::__encode_slice(items, out))
}

/// Visits the elements, each named by its index in an error.
pub(super) fn visit_each<'t, T: Persist>(
    items: impl IntoIterator<Item = &'t mut T>,
    visitor: &mut Visitor<'_>,
) -> Result<()> {
    if T::__LEAF {
        return Ok(());
    }
    let mut items = items.into_iter();
    visitor.each(&mut |visitor| Some(items.next()?.__visit(visitor)))
}

/// Visits each element through shared pointers.
pub(super) fn visit_each_shared<'t, T: Persist>(
    items: impl IntoIterator<Item = &'t T>,
    visitor: &mut Visitor<'_>,
) -> Result<()> {
    if T::__LEAF {
        return Ok(());
    }
    let mut items = items.into_iter();
    visitor.each(&mut |visitor| Some(items.next()?.__visit_shared(visitor)))
}

impl<T: Persist> Persist for Vec<T> {
    counted_items!(Kind::List(T::persist_kind), "Vec<{}>", T::persist_name());
    const __CODE: &'static TypeCode = T::__CODE;
    skipping_items!(Vec<Skipping<Same>>);

    compact_items!(T::__COMPACT, Kind::List(T::__compact_kind);
        this, out => encode_compact(this.iter(), out);
        input => decode_compact(input));

    const __COST: usize = 6;
    const __LIST: Option<&'static dyn ListAccess> = Some(&ListOf::<Self>(PhantomData));

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Vec::new())
    }

    #[inline(always)]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        if Inline::<T>::FIXED { encode_rest(self, out) } else { encode_called(self, out) }
    }

    #[inline(always)]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input)
    }

    #[inline]
    fn __decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        if self.capacity() == 0 {
            *self = decode_vec(head, input)?;
            return Ok(());
        }
        let count = input.elements::<T>(head)?;
        if const { Inline::<T>::FIXED && T::__HEAD > 0 } {
            return T::__decode_list_into(self, count, input);
        }
        let mut elements = |input: &mut Decoder<'_>| {
            self.truncate(count);
            for item in self.iter_mut() {
                if Inline::<T>::IN_LIST {
                    item.__decode_into(input.take(T::__HEAD)?, input)?;
                } else {
                    input.value_into(item)?;
                }
            }
            self.try_reserve(count - self.len()).map_err(|_| Fail::Limit)?;
            while self.len() < count {
                self.push(input.value()?);
            }
            Ok(())
        };
        if T::__LEAF { elements(input) } else { input.nested_in::<T, _>(elements) }
    }

    #[inline]
    fn __keep_skipped(&mut self, old: &mut Self) {
        for (new, old) in self.iter_mut().zip(old) {
            new.__keep_skipped(old);
        }
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self, visitor)
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self, visitor)
    }
}

impl<T: Persist> Persist for Box<[T]> {
    counted_items!(Kind::List(T::persist_kind), "Box<[{}]>", T::persist_name());
    const __CODE: &'static TypeCode = T::__CODE;

    compact_items!(T::__COMPACT, Kind::List(T::__compact_kind);
        this, out => encode_compact(this.iter(), out);
        input => decode_compact(input).map(Vec::into_boxed_slice));

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Box::new([]))
    }

    #[inline]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_slice_tail(self, out)
    }

    #[inline]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Vec::into_boxed_slice)
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self.iter_mut(), visitor)
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self.iter(), visitor)
    }
}

impl<T: Persist> Persist for VecDeque<T> {
    counted_items!(Kind::List(T::persist_kind), "VecDeque<{}>", T::persist_name());
    const __CODE: &'static TypeCode = T::__CODE;
    skipping_items!(VecDeque<Skipping<Same>>);

    compact_items!(T::__COMPACT, Kind::List(T::__compact_kind);
        this, out => encode_compact(this.iter(), out);
        input => decode_compact(input).map(Self::from));

    const __LIST: Option<&'static dyn ListAccess> = Some(&ListOf::<Self>(PhantomData));

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(VecDeque::new())
    }

    #[inline]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let (front, back) = self.as_slices();
        encode_tail::<Same, T>(self.len(), out, |out| {
            T::__encode_slice(front, out)?;
            T::__encode_slice(back, out)
        })
    }

    #[inline]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Self::from)
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self, visitor)
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self, visitor)
    }
}

/// A load returns an owned value.
impl<T: Persist + Clone> Persist for Cow<'static, [T]> {
    counted_items!(Kind::List(T::persist_kind), "Cow<[{}]>", T::persist_name());
    const __CODE: &'static TypeCode = T::__CODE;

    compact_items!(T::__COMPACT, Kind::List(T::__compact_kind);
        this, out => encode_compact(this.iter(), out);
        input => decode_compact(input).map(Cow::Owned));

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Cow::Borrowed(&[]))
    }

    #[inline]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_slice_tail(self, out)
    }

    #[inline]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Cow::Owned)
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        if T::__LEAF { Ok(()) } else { visit_each(self.to_mut(), visitor) }
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self.iter(), visitor)
    }
}

impl<T: Persist> Persist for LinkedList<T> {
    counted_items!(Kind::List(T::persist_kind), "LinkedList<{}>", T::persist_name());
    const __CODE: &'static TypeCode = T::__CODE;
    skipping_items!(LinkedList<Skipping<Same>>);

    compact_items!(T::__COMPACT, Kind::List(T::__compact_kind);
        this, out => encode_compact(this.iter(), out);
        input => decode_compact(input).map(Self::from_iter));

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(LinkedList::new())
    }

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_tail::<Same, T>(self.len(), out, |out| {
            self.iter().try_for_each(|item| out.value(item))
        })
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Self::from_iter)
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self.iter_mut(), visitor)
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self.iter(), visitor)
    }
}

fn in_order<T: Ord>(heap: &BinaryHeap<T>) -> Vec<&T> {
    let mut items: Vec<&T> = heap.iter().collect();
    items.sort();
    items
}

/// Stored in ascending order, so that equal heaps have equal bytes whatever their history. Elements that compare equal
/// keep their order in the heap.
impl<T: Persist + Ord> Persist for BinaryHeap<T> {
    counted_items!(Kind::List(T::persist_kind), "BinaryHeap<{}>", T::persist_name());
    const __CODE: &'static TypeCode = T::__CODE;

    compact_items!(T::__COMPACT, Kind::List(T::__compact_kind);
        this, out => encode_compact(in_order(this).into_iter(), out);
        input => decode_compact(input).map(Self::from));

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
        types.unvisited("a `BinaryHeap`", T::persist_kind, T::persist_name);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(BinaryHeap::new())
    }

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let items = in_order(self);
        encode_tail::<Same, T>(items.len(), out, |out| {
            items.iter().try_for_each(|item| out.value(*item))
        })
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Self::from)
    }
}

/// Accesses lists of type `L`.
struct ListOf<L>(PhantomData<fn() -> L>);

macro_rules! list_access {
    ($($list:ident: $rotate:expr;)+) => {
        $(impl<T: Persist> ListAccess for ListOf<$list<T>> {
            fn len(&self, list: &dyn Any) -> Option<usize> {
                Some(list.downcast_ref::<$list<T>>()?.len())
            }

            fn get<'v>(&self, list: &'v dyn Any, index: usize) -> Option<&'v dyn Any> {
                Some(list.downcast_ref::<$list<T>>()?.get(index)?)
            }

            fn get_mut<'v>(&self, list: &'v mut dyn Any, index: usize) -> Option<&'v mut dyn Any> {
                Some(list.downcast_mut::<$list<T>>()?.get_mut(index)?)
            }

            fn element(&self) -> &'static FieldAccess {
                const { &FieldAccess::of::<T>() }
            }

            fn insert(
                &self,
                list: &mut dyn Any,
                index: usize,
                input: &mut Decoder<'_>,
            ) -> Result<(), Fail> {
                let Some(list) = list.downcast_mut::<$list<T>>() else { return Err(Fail::Value) };
                if index > list.len() {
                    return Err(Fail::Value);
                }
                let element = T::persist_decode(input)?;
                list.insert(index, element);
                Ok(())
            }

            fn remove(&self, list: &mut dyn Any, index: usize) -> Option<()> {
                let list = list.downcast_mut::<$list<T>>()?;
                if index < list.len() {
                    drop(list.remove(index));
                    return Some(());
                }
                None
            }

            fn shift(&self, list: &mut dyn Any, from: usize, to: usize) -> Option<()> {
                let list = list.downcast_mut::<$list<T>>()?;
                if from >= list.len() || to >= list.len() {
                    return None;
                }
                ($rotate)(list, from, to);
                Some(())
            }
        })+
    };
}

list_access! {
    Vec: |list: &mut Vec<T>, from: usize, to: usize| match from < to {
        true => (from..to).for_each(|at| list.swap(at, at + 1)),
        false => (to..from).rev().for_each(|at| list.swap(at, at + 1)),
    };
    VecDeque: |list: &mut VecDeque<T>, from: usize, to: usize| {
        if let Some(element) = list.remove(from) {
            list.insert(to, element);
        }
    };
}
