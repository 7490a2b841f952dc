//! Arrays of any length: the elements, without a count.

use super::lift::collect;
use super::{Items, compact_items, whole_items};
use crate::codec::compact::Compact;
use crate::codec::persist::checked;
use crate::codec::{
    Decoder, EditableItems, Encoder, Fail, Generic, Layout, Persist, Prototypes, Stop, TypeSet,
    Visitor, bad_part, is_bulky, on_stack, unboxed,
};
use crate::reflect::{Kind, TypeCode};
use crate::{Error, ErrorKind, Result};

#[cold]
fn incomplete() -> Error {
    error!(ErrorKind::Unsupported, "an element has no empty value")
}

#[diagnostic::do_not_recommend]
impl<T: Persist, const N: usize> Persist for [T; N] {
    const __LAYOUT: Layout = Layout {
        head: N * if T::PLACED_FIXED { T::HEAD } else { 0 },
        fixed: T::PLACED_FIXED,
        min: N * T::MIN,
        leaf: T::LEAF,
        cost: 2 + T::PLACED_COST,
        on_stack: on_stack::<Self>(&[T::ON_STACK]),
        pod: T::__LAYOUT.pod,
        ..Layout::new::<Self>().with_items(EditableItems::elements::<Self, T, false>())
    };
    const __CODE: &'static TypeCode = T::__CODE;

    whole_items!();

    fn persist_kind() -> Kind {
        Kind::Array(T::persist_kind, N)
    }

    fn persist_name() -> String {
        format!("[{}; {N}]", T::persist_name())
    }

    fn __reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
        if const { is_bulky::<Self>() } {
            return unboxed(Self::__empty_boxed(prototypes));
        }
        let items: [Option<T>; N] = std::array::from_fn(|_| T::persist_empty(prototypes).ok());
        match items.iter().position(Option::is_none) {
            // Called once more for the reason.
            Some(_) => Err(T::persist_empty(prototypes).err().unwrap_or_else(incomplete)),
            None => Ok(items.map(|item| item.unwrap_or_else(|| unreachable!("all are there")))),
        }
    }

    compact_items!(T::COMPACT, Items<Compact>);

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        if const { T::PLACED_FIXED && T::HEAD > 0 } {
            for (item, head) in self.iter().zip(head.chunks_exact_mut(T::HEAD)) {
                item.__encode_head(head);
            }
        }
    }

    #[inline]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        if T::PLACED_FIXED { Ok(()) } else { T::__encode_slice(self, out) }
    }

    #[inline(always)]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        if T::PLACED_FIXED {
            return checked(head).map_err(|_| bad_part::<T>(head, input));
        }
        // `__decode_list` returns `N` elements or an error.
        T::__decode_list(N, input)?.try_into().map_err(|_| Fail::Count)
    }

    #[inline(never)]
    fn __decode_boxed(head: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
        if T::PLACED_FIXED {
            let (mut bad, parts) = (false, &head[..N * T::HEAD]);
            let part = |i| T::__decode_fixed(&parts[i * T::HEAD..][..T::HEAD], &mut bad);
            let items: Vec<T> = (0..N).map(part).collect();
            if bad {
                return Err(bad_part::<T>(head, input));
            }
            return items.try_into().map_err(|_| Fail::Count);
        }
        T::__decode_list(N, input)?.try_into().map_err(|_| Fail::Count)
    }

    fn __empty_boxed(prototypes: &Prototypes<'_>) -> Result<Box<Self>> {
        collect((0..N).map(|_| T::persist_empty(prototypes)), incomplete)
    }

    #[inline(always)]
    fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
        let mut rest = head;
        std::array::from_fn(|_| {
            let (item, after) = rest.split_at(T::HEAD);
            rest = after;
            T::__decode_fixed(item, bad)
        })
    }

    #[inline]
    fn __decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        if T::PLACED_FIXED {
            if const { !is_bulky::<Self>() } {
                *self = Self::__decode(head, input)?;
                return Ok(());
            }
            let (mut bad, parts) = (false, &head[..N * T::HEAD]);
            for (i, item) in self.iter_mut().enumerate() {
                *item = T::__decode_fixed(&parts[i * T::HEAD..][..T::HEAD], &mut bad);
            }
            return if bad { Err(bad_part::<T>(head, input)) } else { Ok(()) };
        }
        self.iter_mut().try_for_each(|item| input.value_into(item))
    }

    #[inline]
    fn __keep_skipped(&mut self, old: &mut Self) {
        for (new, old) in self.iter_mut().zip(old) {
            new.__keep_skipped(old);
        }
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        super::sequence::visit_each(self, visitor)
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        super::sequence::visit_each_shared(self, visitor)
    }
}
