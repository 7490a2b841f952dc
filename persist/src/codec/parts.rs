use super::{Persist, TypeSet, Visitor};
use crate::Result;

/// Goes to the values inside a value, in the order in which they are decoded.
///
/// [`Persist::persist_parts`] lists them once; what registration, loading and hooks need is made of that list.
pub struct Parts<'p, T>(Walk<'p, T>);

enum Walk<'p, T> {
    /// Over types, without a value.
    Types(&'p mut TypeSet),
    Exclusive(&'p mut T, Visitor<'p>),
    Shared(&'p T, Visitor<'p>),
}

impl<'p, T> Parts<'p, T> {
    pub(super) fn types(types: &'p mut TypeSet) -> Self {
        Self(Walk::Types(types))
    }

    pub(super) fn exclusive(value: &'p mut T, visitor: &'p mut Visitor<'_>) -> Self {
        Self(Walk::Exclusive(value, visitor.reborrow()))
    }

    pub(super) fn shared(value: &'p T, visitor: &'p mut Visitor<'_>) -> Self {
        Self(Walk::Shared(value, visitor.reborrow()))
    }

    /// Goes to one value inside; `name` is for errors.
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
            Walk::Types(types) => P::__reach(types),
            Walk::Exclusive(value, visitor) => {
                return exclusive(value).__visit_field(name, visitor);
            }
            Walk::Shared(value, visitor) => {
                return shared(value).__visit_field_shared(name, visitor);
            }
        }
        Ok(())
    }

    /// Goes to each of many values inside; errors name them by their index.
    ///
    /// ```
    /// # use persist::codec::Parts;
    /// # use persist::{Persist, Result};
    /// # struct Ring<T>(Vec<T>);
    /// # impl<T: Persist> Ring<T> {
    /// fn persist_parts(parts: &mut Parts<'_, Self>) -> Result<()> {
    ///     parts.each::<T>(
    ///         |ring, visit| ring.0.iter().try_for_each(visit),
    ///         |ring, visit| ring.0.iter_mut().try_for_each(visit),
    ///     )
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns what [`part`](Self::part) returns.
    pub fn each<P: Persist>(
        &mut self,
        shared: impl FnOnce(&T, &mut dyn FnMut(&P) -> Result<()>) -> Result<()>,
        exclusive: impl FnOnce(&mut T, &mut dyn FnMut(&mut P) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let mut index = 0;
        let mut name = || {
            index += 1;
            format!("[{}]", index - 1)
        };
        match &mut self.0 {
            Walk::Types(types) => {
                P::__reach(types);
                Ok(())
            }
            _ if P::__LEAF => Ok(()),
            Walk::Exclusive(value, visitor) => visitor.nested(|visitor| {
                exclusive(value, &mut |part| part.__visit_field(&name(), visitor))
            }),
            Walk::Shared(value, visitor) => visitor.nested(|visitor| {
                shared(value, &mut |part| part.__visit_field_shared(&name(), visitor))
            }),
        }
    }
}
