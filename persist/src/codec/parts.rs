//! The list of the values inside a value, which registration, loading and hooks share.

use std::fmt;

use super::persist::Persist;
use super::type_set::TypeSet;
use super::visitor::Visitor;
use crate::Result;

/// Visits the values inside a value, in the order in which they are decoded.
///
/// [`Persist::persist_parts`](super::Persist::persist_parts) lists them once. Registration, loading and hooks all use
/// that list.
pub struct Parts<'p, T>(PartsWalk<'p, T>);

// One list for all three. Connecting relies on the order in which a decode has read the references, which two lists
// would not keep.
enum PartsWalk<'p, T> {
    /// Lists the types, without a value.
    Types(&'p mut TypeSet),
    /// Visits the values through `&mut`.
    Exclusive(&'p mut T, Visitor<'p>),
    /// Visits the values through `&`.
    Shared(&'p T, Visitor<'p>),
}

impl<'p, T> Parts<'p, T> {
    pub(super) fn types(types: &'p mut TypeSet) -> Self {
        Self(PartsWalk::Types(types))
    }

    pub(super) fn exclusive(value: &'p mut T, visitor: &'p mut Visitor<'_>) -> Self {
        Self(PartsWalk::Exclusive(value, visitor.reborrow()))
    }

    pub(super) fn shared(value: &'p T, visitor: &'p mut Visitor<'_>) -> Self {
        Self(PartsWalk::Shared(value, visitor.reborrow()))
    }
}

impl<T> fmt::Debug for Parts<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl<T> Parts<'_, T> {
    /// Visits one value inside; `name` is for errors.
    ///
    /// # Errors
    ///
    /// Returns an error if a reference inside cannot be connected, or a hook refuses.
    pub fn part<P: Persist>(
        &mut self,
        name: &str,
        shared: impl FnOnce(&T) -> &P,
        exclusive: impl FnOnce(&mut T) -> &mut P,
    ) -> Result<()> {
        match &mut self.0 {
            PartsWalk::Types(types) => P::__reach(types),
            PartsWalk::Exclusive(value, visitor) => {
                return exclusive(value).__visit_field(name, visitor);
            }
            PartsWalk::Shared(value, visitor) => {
                return shared(value).__visit_field_shared(name, visitor);
            }
        }
        Ok(())
    }

    /// Visits each of many values inside. Errors name them by `name` and their index, as in `items[3]`. An empty name
    /// is for a type that is a list itself.
    ///
    /// ```
    /// # use persist::codec::Parts;
    /// # use persist::{Persist, Result};
    /// # struct Ring<T>(Vec<T>);
    /// # impl<T: Persist> Ring<T> {
    /// fn persist_parts(parts: &mut Parts<'_, Self>) -> Result<()> {
    ///     parts.each::<T>(
    ///         "",
    ///         |ring, visit| ring.0.iter().try_for_each(visit),
    ///         |ring, visit| ring.0.iter_mut().try_for_each(visit),
    ///     )
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`part`](Self::part).
    pub fn each<P: Persist>(
        &mut self,
        name: &str,
        shared: impl FnOnce(&T, &mut dyn FnMut(&P) -> Result<()>) -> Result<()>,
        exclusive: impl FnOnce(&mut T, &mut dyn FnMut(&mut P) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let mut index = 0;
        let mut name = || {
            index += 1;
            format!("{name}[{}]", index - 1)
        };
        match &mut self.0 {
            PartsWalk::Types(types) => {
                P::__reach(types);
                Ok(())
            }
            _ if P::__LEAF => Ok(()),
            PartsWalk::Exclusive(value, visitor) => visitor.nested(|visitor| {
                exclusive(value, &mut |part| part.__visit_field(&name(), visitor))
            }),
            PartsWalk::Shared(value, visitor) => visitor.nested(|visitor| {
                shared(value, &mut |part| part.__visit_field_shared(&name(), visitor))
            }),
        }
    }
}
