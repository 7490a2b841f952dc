use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::{self, Rc};
use std::sync::{self, Arc, Mutex, RwLock};
use std::time::Duration;

use super::{AsTrait, Caster, TraitObject};
use crate::Result;
use crate::codec::lock::Lock;
use crate::codec::{Content, Encoder, Pointee, Shared, Stop, Unsized, Visitor};
use crate::reflect::Cell;

/// A `dyn Trait`, or a cell around one.
pub trait TraitCell: Unsized {
    /// The `dyn Trait`.
    type Trait: ?Sized + TraitObject;

    #[doc(hidden)]
    fn __rc(caster: &Caster<Self::Trait>, shared: &Shared) -> Option<Rc<Self>>;

    #[doc(hidden)]
    fn __arc(caster: &Caster<Self::Trait>, shared: &Shared) -> Option<Arc<Self>>;

    #[doc(hidden)]
    fn __gone_rc(caster: &Caster<Self::Trait>) -> rc::Weak<Self>;

    #[doc(hidden)]
    fn __gone_arc(caster: &Caster<Self::Trait>) -> sync::Weak<Self>;
}

macro_rules! pointers {
    ($field:ident) => {
        fn __rc(caster: &Caster<D>, shared: &Shared) -> Option<Rc<Self>> {
            (caster.$field.rc)(shared)
        }

        fn __arc(caster: &Caster<D>, shared: &Shared) -> Option<Arc<Self>> {
            (caster.$field.arc)(shared)
        }

        fn __gone_rc(caster: &Caster<D>) -> rc::Weak<Self> {
            (caster.$field.gone_rc)()
        }

        fn __gone_arc(caster: &Caster<D>) -> sync::Weak<Self> {
            (caster.$field.gone_arc)()
        }
    };
}

impl<D: ?Sized + TraitObject + Pointee> Unsized for D {
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        self.portable().encode(out)
    }

    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.portable().visit_shared(visitor)
    }

    fn look(&self, _: Duration, look: &mut dyn FnMut(&dyn Any)) {
        look(self.portable());
    }

    fn pointee(&self, _: Duration) -> Result<TypeId> {
        Ok(self.portable().in_cell(Cell::None))
    }

    fn class_name(&self) -> Option<String> {
        Some(self.portable().class_name())
    }
}

impl<D: ?Sized + TraitObject + Pointee> TraitCell for D {
    type Trait = D;

    pointers! { bare }
}

macro_rules! trait_cells {
    ($($cell:ident $field:ident)*) => {$(
        impl<D: ?Sized + TraitObject + Content<As = AsTrait>> Unsized for $cell<D> {
            fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                match self.open(out.limits().lock_wait) {
                    Ok(value) => value.portable().encode(out),
                    Err(error) => Err(out.refuse(error)),
                }
            }

            fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                self.open_mut(visitor.limits().lock_wait)?.portable_mut().visit(visitor)
            }

            fn look(&self, wait: Duration, look: &mut dyn FnMut(&dyn Any)) {
                if let Ok(value) = self.open(wait) {
                    look(value.portable());
                }
            }

            fn pointee(&self, wait: Duration) -> Result<TypeId> {
                match self.open(wait) {
                    Ok(value) => Ok(value.portable().in_cell(Cell::$cell)),
                    // More of its class is not known.
                    Err(error) => Err(error.in_class(format!("dyn {}", D::NAME))),
                }
            }

            fn class_name(&self) -> Option<String> {
                let value = self.open(Duration::ZERO).ok()?;
                Some(value.portable().class_name())
            }
        }

        impl<D: ?Sized + TraitObject + Content<As = AsTrait>> TraitCell for $cell<D> {
            type Trait = D;

            pointers! { $field }
        }
    )*};
}

trait_cells! { RefCell ref_cell  Mutex mutex  RwLock rw_lock }
