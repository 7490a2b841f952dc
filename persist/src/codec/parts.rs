//! The list of the values inside a value, which registration, loading and hooks share.

use super::persist::Generic;
use super::persist::Persist;
use super::{Parts, PartsWalk};
use crate::Result;

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
                return P::__FIELD.visit(exclusive(value), name, visitor);
            }
            PartsWalk::Shared(value, visitor) => {
                return P::__FIELD.visit_shared(shared(value), name, visitor);
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
            _ if P::LEAF => Ok(()),
            PartsWalk::Exclusive(value, visitor) => visitor.nested(|visitor| {
                exclusive(value, &mut |part| P::__FIELD.visit(part, &name(), visitor))
            }),
            PartsWalk::Shared(value, visitor) => visitor.nested(|visitor| {
                shared(value, &mut |part| P::__FIELD.visit_shared(part, &name(), visitor))
            }),
        }
    }
}
