//! Gives new ids to the handles of a load.

use std::any::TypeId;

use super::outcome::Tally;
use crate::codec::{Fail, Remapped};
use crate::schema::LoadEvent;
use crate::types::Renumber;
use crate::{Error, ErrorKind, Result};

/// The renumbering of handles in a load, and what it has changed so far.
pub(super) struct Handles<'l> {
    remap: Option<&'l mut dyn Renumber>,
    /// True if a handle of the current record was changed.
    changed: bool,
    /// Arena and bits of the handle whose refusal ended a decode.
    pub(super) refused: Option<(&'static str, u64)>,
    /// Number of handles that got new ids.
    pub(super) remapped: u64,
}

impl<'l> Handles<'l> {
    pub(super) fn new(remap: Option<&'l mut dyn Renumber>) -> Self {
        Self { remap, changed: false, refused: None, remapped: 0 }
    }

    /// Resets the state of the record before the next one is decoded.
    pub(super) fn begin(&mut self) {
        self.changed = false;
        self.refused = None;
    }

    /// Returns the arena of this name, if its handles may get new ids.
    pub(super) fn arena(&self, name: &str) -> Option<(TypeId, &'static str)> {
        self.remap.as_ref()?.arena(name)
    }

    /// Renumbers a handle in a record, given by class and object id, and counts what happened to it.
    pub(super) fn find(
        &mut self,
        arena: TypeId,
        bits: u64,
        record: (u32, u64),
        tally: &mut Tally,
    ) -> Result<Remapped> {
        let (class, object) = record;
        let Some(remap) = &mut self.remap else { return Ok(Remapped::Live(bits)) };
        let Some(found) = remap.renumber(arena, bits)? else { return Ok(Remapped::Live(bits)) };
        match found {
            Remapped::Live(_) => self.remapped += 1,
            Remapped::Null => tally.add(LoadEvent::Nulled, class, object),
            Remapped::Dead => tally.add(LoadEvent::Dead, class, object),
        }
        self.changed = true;
        Ok(found)
    }

    /// Returns the error for a record that failed to decode. If the remap made two handles equal, the error says so.
    #[cold]
    pub(super) fn explain(&self, fail: Fail) -> Error {
        let error = Error::from(fail);
        if fail != Fail::Duplicate || !self.changed {
            return error;
        }
        error!(
            ErrorKind::InvalidValue,
            "{}, since the remap made two handles equal; give each a new id of its own, and those without one `UnmappedHandle::Dead`",
            error.message()
        )
    }
}
