use std::any::TypeId;

use super::outcome::Tally;
use crate::codec::{Fail, Remapped};
use crate::schema::LoadEvent;
use crate::types::Renumber;
use crate::{Error, ErrorKind, Result};

/// What a load makes of the handles that it meets.
pub(super) struct Handles<'l> {
    remap: Option<&'l mut dyn Renumber>,
    /// True if a handle of the record that is being filled is not as it was.
    changed: bool,
    /// Arena and bits of the handle that ended its decode.
    pub(super) refused: Option<(&'static str, u64)>,
    /// Handles that got new ids.
    pub(super) remapped: u64,
}

impl<'l> Handles<'l> {
    pub(super) fn new(remap: Option<&'l mut dyn Renumber>) -> Self {
        Self { remap, changed: false, refused: None, remapped: 0 }
    }

    /// Says that the handles of another record follow.
    pub(super) fn begin(&mut self) {
        self.changed = false;
        self.refused = None;
    }

    /// The arena of this name, if its handles may be given new ids.
    pub(super) fn arena(&self, name: &str) -> Option<(TypeId, &'static str)> {
        self.remap.as_ref()?.arena(name)
    }

    /// What becomes of a handle in a record, of this class and id.
    pub(super) fn find(
        &mut self,
        arena: TypeId,
        bits: u64,
        (class, object): (u32, u64),
        tally: &mut Tally,
    ) -> Result<Remapped> {
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

    /// The error for a decode of the record that failed.
    #[cold]
    pub(super) fn explain(&self, fail: Fail) -> Error {
        let error = Error::from(fail);
        if fail != Fail::Duplicate || !self.changed {
            return error;
        }
        error!(
            ErrorKind::InvalidValue,
            "{}, since the remap made two handles equal; give each a new id of its own, and those without one `Missing::Dead`",
            error.message()
        )
    }
}
