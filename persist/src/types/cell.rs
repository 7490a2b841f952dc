//! Cells and locks, stored as their content.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use super::{compact_items, whole_items};
use crate::Result;
use crate::codec::{
    AsCell, CellContent, Decoder, Encoder, Fail, Generic, Layout, LockCell, OpenCell, Persist,
    Phase, Pointee, Prototypes, Stop, TypeSet, Visitor, Within, boxed_with, on_stack,
};
use crate::reflect::{self, Kind, TypeCode};

impl<T: Persist + Copy> Persist for Cell<T> {
    const __LAYOUT: Layout = Layout { nullable: false, ..T::__LAYOUT.wrapped::<Self>() };
    const __CODE: &'static TypeCode = T::__CODE;

    whole_items!();

    fn persist_kind() -> Kind {
        T::persist_kind()
    }

    fn persist_name() -> String {
        format!("Cell<{}>", T::persist_name())
    }

    fn __reach(types: &mut TypeSet) {
        types.interior_mutability();
        T::__reach(types);
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
        T::persist_empty(prototypes).map(Cell::new)
    }

    compact_items!(min: T::__COMPACT, T::__compact_kind();
        this, out => this.get().__encode_compact(out);
        input => T::__decode_compact(input).map(Cell::new));

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        self.get().__encode_head(head);
    }

    #[inline(always)]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        self.get().__encode_tail(out)
    }

    #[inline(always)]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        T::__decode(head, input).map(Cell::new)
    }

    fn __decode_boxed(head: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
        T::__decode_boxed(head, input).map(|value| boxed_with(value, Cell::new))
    }

    #[inline(always)]
    fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
        Cell::new(T::__decode_fixed(head, bad))
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        if visitor.leaves_cells() { Ok(()) } else { self.get_mut().__visit(visitor) }
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        if T::LEAF {
            return Ok(());
        }
        // A hook may change the value. A `Copy` value holds no references, and no pages.
        let mut value = self.get();
        value.__visit(visitor)?;
        self.set(value);
        Ok(())
    }
}

impl<T: Persist + Copy> Pointee for Cell<T> {
    const CELL: reflect::Cell = reflect::Cell::Cell;

    type As = AsCell;
}

impl<T: Persist + Copy> OpenCell for Cell<T> {
    type Value = T;

    fn hold(value: T) -> Self {
        Cell::new(value)
    }

    fn fill(&self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        let mut value = self.get();
        input.value_into(&mut value)?;
        self.set(value);
        Ok(())
    }

    fn inspect(&self, _: Duration, inspect: &mut dyn FnMut(&dyn Any)) {
        inspect(&self.get());
    }
}

/// Expands to the impls of a lock or `RefCell`, whose content may be borrowed or locked.
macro_rules! guarded {
    ($($cell:ident, $get_mut:expr;)*) => {$(
        impl<T: Persist> Persist for $cell<T> {
            const __LAYOUT: Layout = Layout {
                min: T::MIN,
                leaf: T::LEAF,
                on_stack: on_stack::<Self>(&[T::ON_STACK]),
                ..Layout::new::<Self>()
            };
            const __CODE: &'static TypeCode = T::__CODE;

            fn persist_kind() -> Kind {
                T::persist_kind()
            }

            fn persist_name() -> String {
                format!(concat!(stringify!($cell), "<{}>"), T::persist_name())
            }

            fn __reach(types: &mut TypeSet) {
                types.interior_mutability();
                T::__reach(types);
            }

            fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
                T::persist_empty(prototypes).map($cell::new)
            }

            #[inline]
            fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                match self.open(out.limits().lock_wait) {
                    Ok(value) => out.in_cell::<T>(Within::Cell, |out| out.value(&*value)),
                    Err(error) => Err(out.refuse(error)),
                }
            }

            #[inline]
            fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
                input.in_cell::<T, _>(Within::Cell, |input| input.value()).map($cell::new)
            }

            fn __decode_boxed(_: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
                let value = input.in_cell::<T, _>(Within::Cell, Decoder::boxed::<T>)?;
                Ok(boxed_with(value, $cell::new))
            }

            #[inline]
            fn __decode_into(&mut self, _: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
                let get_mut: fn(&mut Self) -> &mut T = $get_mut;
                input.in_cell::<T, _>(Within::Cell, |input| input.value_into(get_mut(self)))
            }

            #[inline]
            fn __keep_skipped(&mut self, old: &mut Self) {
                let get_mut: fn(&mut Self) -> &mut T = $get_mut;
                get_mut(self).__keep_skipped(get_mut(old));
            }

            fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                let get_mut: fn(&mut Self) -> &mut T = $get_mut;
                if visitor.leaves_cells() { Ok(()) } else { get_mut(self).__visit(visitor) }
            }

            fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                if T::LEAF {
                    return Ok(());
                }
                if visitor.phase() == Phase::Pages && <Self as LockCell<T>>::IS_LOCK {
                    return Ok(());
                }
                if matches!(visitor.phase(), Phase::Validate | Phase::Pages) {
                    // These only read, so the program may read at the same time.
                    let value = self.open(visitor.limits().lock_wait)?;
                    return visitor.inside(Within::Cell, |visitor| value.__visit_shared(visitor));
                }
                if visitor.phase() == Phase::Dismantle {
                    // After this, nobody inspects the state that a panicked hook has left.
                    LockCell::clear(self);
                }
                let mut value = self.open_mut(visitor.limits().lock_wait)?;
                if visitor.phase() != Phase::Dismantle {
                    return value.__visit(visitor);
                }
                let empty = visitor.prototypes().object()?;
                let old = std::mem::replace(&mut *value, empty);
                // Dropped after the borrow of this cell ends, because a `Drop` of the program may access the cell.
                drop(value);
                drop(old);
                Ok(())
            }
        }

        impl<C: ?Sized + CellContent> Pointee for $cell<C> {
            const CELL: reflect::Cell = reflect::Cell::$cell;

            type As = C::As;
        }

        impl<T: Persist> OpenCell for $cell<T> {
            type Value = T;

            fn hold(value: T) -> Self {
                $cell::new(value)
            }

            fn fill(&self, input: &mut Decoder<'_>) -> Result<(), Fail> {
                match self.open_mut(input.limits().lock_wait) {
                    Ok(mut value) => input.value_into(&mut *value),
                    Err(error) => Err(input.refuse(error)),
                }
            }

            fn inspect(&self, wait: Duration, inspect: &mut dyn FnMut(&dyn Any)) {
                if let Ok(value) = self.open(wait) {
                    inspect(&*value);
                }
            }
        }
    )*};
}

guarded! {
    RefCell, RefCell::get_mut;
    Mutex, |cell| cell.get_mut().unwrap_or_else(PoisonError::into_inner);
    RwLock, |cell| cell.get_mut().unwrap_or_else(PoisonError::into_inner);
}

/// Expands to the impls of cells that can be set once, stored as an `Option`.
///
/// If only `&` reaches such a cell, its content is set aside before the cell is shared. It is put back after its
/// references are connected.
macro_rules! once {
    ($($cell:ident)*) => {$(
        impl<T: Persist> Persist for $cell<T> {
            const __LAYOUT: Layout = Layout {
                head: 1,
                leaf: T::LEAF,
                on_stack: on_stack::<Self>(&[T::ON_STACK]),
                ..Layout::new::<Self>()
            };
            const __CODE: &'static TypeCode = T::__CODE;

            whole_items!();

            fn persist_kind() -> Kind {
                Kind::Option(T::persist_kind)
            }

            fn persist_name() -> String {
                format!(concat!(stringify!($cell), "<{}>"), T::persist_name())
            }

            fn __reach(types: &mut TypeSet) {
                types.interior_mutability();
                T::__reach(types);
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok($cell::new())
            }

            #[inline]
            fn __encode_head(&self, head: &mut [u8]) {
                head[0] = u8::from(self.get().is_some());
            }

            fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                match self.get() {
                    Some(value) => out.in_cell::<T>(Within::Once, |out| out.value(value)),
                    None => Ok(()),
                }
            }

            fn __decode_boxed(head: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
                match head[0] {
                    0 => Ok(Box::new($cell::new())),
                    1 => {
                        let value = input.in_cell::<T, _>(Within::Once, Decoder::boxed::<T>)?;
                        Ok(boxed_with(value, <Self as From<T>>::from))
                    }
                    _ => Err(Fail::Value),
                }
            }

            fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                let value = match head[0] {
                    0 => None,
                    1 => input.in_cell::<T, _>(Within::Once, T::__decode_some)?,
                    _ => return Err(Fail::Value),
                };
                let cell = $cell::new();
                value.is_none_or(|value| cell.set(value).is_ok()).then_some(cell).ok_or(Fail::Value)
            }

            fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                if T::LEAF {
                    return Ok(());
                }
                if !visitor.leaves_cells() {
                    return self.get_mut().map_or(Ok(()), |value| value.__visit(visitor));
                }
                if visitor.phase() == Phase::Connect {
                    let value = self.take().map(|value| Box::new(value) as Box<dyn Any>);
                    visitor.defer(value);
                }
                Ok(())
            }

            fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                if T::LEAF {
                    return Ok(());
                }
                let value = match visitor.phase() {
                    Phase::Connect => match visitor.next_deferred::<T>() {
                        Some(value) => visitor.finish_once(value, T::__visit)?,
                        None => {
                            visitor.defer(None);
                            None
                        }
                    },
                    Phase::Seal => visitor.next_deferred(),
                    // Its hooks ran before the cell was set.
                    Phase::AfterLoad => None,
                    _ => {
                        return self.get().map_or(Ok(()), |value| {
                            visitor.inside(Within::Once, |visitor| value.__visit_shared(visitor))
                        });
                    }
                };
                if let Some(value) = value {
                    // The cell is empty, because it was emptied before it was shared. If a hook has set it since, the
                    // hook's value stays.
                    let _ = self.set(value);
                }
                Ok(())
            }
        }

        impl<T: Persist> Pointee for $cell<T> {
            const CELL: reflect::Cell = reflect::Cell::$cell;

            type As = Self;
        }
    )*};
}

once! { OnceCell OnceLock }
