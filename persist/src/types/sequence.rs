//! Sequences: a count, then the elements.

use std::borrow::Cow;
use std::collections::{BinaryHeap, LinkedList, VecDeque};
use std::mem::take;

use super::{compact_items, counted_items, skipping_items};
use crate::Result;
use crate::codec::compact::Compact;
use crate::codec::skip::Skipping;
use crate::codec::with::{Adapter, Same, Usual};
use crate::codec::{
    Decoder, Encoder, Fail, Generic, Layout, Persist, Prototypes, Stop, TypeSet, Visitor, count,
    decode_vec,
};
use crate::codec::{EditableItems, EditableList, ListSplice};
use crate::reflect::{Kind, TypeCode};

/// Writes the elements of a list or an ordered set after its head, each by the adapter.
pub(super) fn encode_elements<'t, A: Adapter<T>, T: 'static>(
    items: impl ExactSizeIterator<Item = &'t T>,
    leaf: bool,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let mut items = items;
    out.elements::<T>(items.len(), A::MIN, leaf, |out| {
        out.fork(|out| items.try_for_each(|item| A::encode(item, out)))
    })
}

/// Reads the parts of a container after its head: elements, or entries of a map as tuples. `reserve` makes room for all
/// of them, and `part` reads each. Parts that are no leaves are nested.
#[inline(always)]
pub(super) fn decode_parts<A: Adapter<T>, T: 'static, C>(
    head: u8,
    leaf: bool,
    input: &mut Decoder<'_>,
    reserve: impl FnOnce(usize) -> Option<C>,
    mut part: impl FnMut(&mut C, usize, &mut Decoder<'_>) -> Result<(), Fail>,
) -> Result<C, Fail> {
    let count = input.elements_with::<T>(head, A::MIN)?;
    let mut container = reserve(count).ok_or(Fail::Limit)?;
    let mut parts = |input: &mut Decoder<'_>| {
        let field = if A::SKIPS { input.take_skipping() } else { None };
        for at in 0..count {
            let start = (input.rest(), if A::SKIPS { input.links().pending() } else { 0 });
            match part(&mut container, at, input) {
                Ok(()) => {}
                Err(fail) if A::SKIPS && field.is_some() => {
                    input.skip_failed(fail, field, Some(at), start)?;
                }
                Err(fail) if A::IS_ADAPTER => return Err(input.failed_element(fail, at)),
                Err(fail) => return Err(fail),
            }
        }
        Ok(())
    };
    if leaf {
        parts(input)?;
    } else {
        input.nested_in::<T, _>(parts)?;
    }
    Ok(container)
}

/// Reads the elements of a list after its head, each by the adapter.
pub(super) fn decode_lifted<A: Adapter<T>, T: 'static>(
    head: u8,
    input: &mut Decoder<'_>,
) -> Result<Vec<T>, Fail> {
    let reserve = |count| {
        let mut list = Vec::new();
        list.try_reserve_exact(count).is_ok().then_some(list)
    };
    decode_parts::<A, T, _>(head, A::LEAF, input, reserve, |list: &mut Vec<T>, _, input| {
        // This never happens. It lets the compiler leave out the growth in `push`.
        if list.len() == list.capacity() {
            return Err(Fail::Count);
        }
        list.push(A::decode(input)?);
        Ok(())
    })
}

#[inline(always)]
fn encode_rest<T: Persist>(items: &[T], out: &mut Encoder<'_>) -> Result<(), Stop> {
    out.elements::<T>(items.len(), T::MIN, T::LEAF, |out| T::__encode_slice(items, out))
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
#[inline(always)]
pub(super) fn encode_slice<T: Persist>(items: &[T], out: &mut Encoder<'_>) -> Result<(), Stop> {
    if T::PLACED_FIXED { encode_rest(items, out) } else { encode_called(items, out) }
}

/// Visits the elements, each named by its index in an error.
pub(super) fn visit_each<'t, T: Persist>(
    items: impl IntoIterator<Item = &'t mut T>,
    visitor: &mut Visitor<'_>,
) -> Result<()> {
    if T::LEAF {
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
    if T::LEAF {
        return Ok(());
    }
    let mut items = items.into_iter();
    visitor.each(&mut |visitor| Some(items.next()?.__visit_shared(visitor)))
}

impl<T: Persist> Persist for Vec<T> {
    counted_items!(Kind::List(T::persist_kind), "Vec<{}>", T::persist_name());
    const __LAYOUT: Layout = Layout {
        cost: 6,
        skips: true,
        ..Layout::collection::<Self>().with_items(EditableItems::list::<Self>())
    };
    const __CODE: &'static TypeCode = T::__CODE;
    skipping_items!(Vec<Skipping<Same>>);

    compact_items!(T::COMPACT, Vec<Compact>);

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Vec::new())
    }

    #[inline(always)]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_slice(self, out)
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
        if const { T::PLACED_FIXED && T::HEAD > 0 } {
            return T::__decode_list_into(self, count, input);
        }
        let mut elements = |input: &mut Decoder<'_>| {
            self.truncate(count);
            for item in self.iter_mut() {
                if T::IN_LIST {
                    item.__decode_into(input.take(T::HEAD)?, input)?;
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
        if T::LEAF { elements(input) } else { input.nested_in::<T, _>(elements) }
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
    const __LAYOUT: Layout = Layout::collection::<Self>();
    const __CODE: &'static TypeCode = T::__CODE;

    compact_items!(T::COMPACT, Kind::List(T::__compact_kind);
        this, out => encode_elements::<Compact, T>(this.iter(), T::LEAF, out);
        head, input => decode_lifted::<Compact, T>(head[0], input).map(Vec::into_boxed_slice));

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Box::new([]))
    }

    #[inline]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_slice(self, out)
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
    const __LAYOUT: Layout = Layout {
        skips: true,
        ..Layout::collection::<Self>().with_items(EditableItems::list::<Self>())
    };
    const __CODE: &'static TypeCode = T::__CODE;
    skipping_items!(VecDeque<Skipping<Same>>);

    compact_items!(T::COMPACT, VecDeque<Compact>);

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(VecDeque::new())
    }

    #[inline]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let (front, back) = self.as_slices();
        out.elements::<T>(self.len(), T::MIN, T::LEAF, |out| {
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
    const __LAYOUT: Layout = Layout::collection::<Self>();
    const __CODE: &'static TypeCode = T::__CODE;

    compact_items!(T::COMPACT, Kind::List(T::__compact_kind);
        this, out => encode_elements::<Compact, T>(this.iter(), T::LEAF, out);
        head, input => decode_lifted::<Compact, T>(head[0], input).map(Cow::Owned));

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Cow::Borrowed(&[]))
    }

    #[inline]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_slice(self, out)
    }

    #[inline]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Cow::Owned)
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        if T::LEAF { Ok(()) } else { visit_each(self.to_mut(), visitor) }
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self.iter(), visitor)
    }
}

impl<T: Persist> Persist for LinkedList<T> {
    counted_items!(Kind::List(T::persist_kind), "LinkedList<{}>", T::persist_name());
    const __LAYOUT: Layout = Layout { skips: true, ..Layout::collection::<Self>() };
    const __CODE: &'static TypeCode = T::__CODE;
    skipping_items!(LinkedList<Skipping<Same>>);

    compact_items!(T::COMPACT, LinkedList<Compact>);

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(LinkedList::new())
    }

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_elements::<Usual, T>(self.iter(), T::LEAF, out)
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
    const __LAYOUT: Layout = Layout::collection::<Self>();
    const __CODE: &'static TypeCode = T::__CODE;

    compact_items!(T::COMPACT, Kind::List(T::__compact_kind);
        this, out => encode_elements::<Compact, T>(in_order(this).into_iter(), T::LEAF, out);
        head, input => decode_lifted::<Compact, T>(head[0], input).map(Self::from));

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
        types.unvisited("a `BinaryHeap`", T::persist_kind, T::persist_name);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(BinaryHeap::new())
    }

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_elements::<Usual, T>(in_order(self).into_iter(), T::LEAF, out)
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_vec(head, input).map(Self::from)
    }
}

macro_rules! editable_lists {
    ($($list:ident: $rotate:expr;)+) => {
        $(impl<T: Persist> EditableList for $list<T> {
            type Element = T;

            fn persist_len(&self) -> usize {
                self.len()
            }

            fn persist_get(&self, index: usize) -> Option<&T> {
                self.get(index)
            }

            fn persist_get_mut(&mut self, index: usize) -> Option<&mut T> {
                self.get_mut(index)
            }

            fn persist_insert(&mut self, index: usize, element: T) -> Result<()> {
                self.insert(index, element);
                Ok(())
            }

            fn persist_remove(&mut self, index: usize) -> Option<T> {
                (index < self.len()).then(|| self.remove(index).into())?
            }

            fn persist_shift(&mut self, from: usize, to: usize) -> Result<()> {
                ($rotate)(self, from, to);
                Ok(())
            }

            fn __splice(&mut self, new: &mut Self, edits: &[ListSplice]) -> Option<()> {
                let (mut olds, mut news) = (take(self).into_iter(), take(new).into_iter());
                let mut at = 0;
                for edit in edits {
                    let (ListSplice::Remove(index) | ListSplice::Insert(index)) = *edit;
                    self.extend(olds.by_ref().take(index - at));
                    at = index;
                    match edit {
                        ListSplice::Insert(_) => self.extend(news.next()),
                        ListSplice::Remove(_) => {
                            new.extend(olds.next());
                            at += 1;
                        }
                    }
                }
                self.extend(olds);
                Some(())
            }

            fn __empty() -> Option<Self> {
                Some(Self::new())
            }
        })+
    };
}

editable_lists! {
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
