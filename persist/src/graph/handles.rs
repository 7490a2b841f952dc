use std::any::TypeId;
use std::collections::HashMap;

use crate::codec::{Fail, Remapped};
use crate::format::RecordPlace;
use crate::types::Renumber;
use crate::{Error, ErrorKind, Result};

/// What a load makes of the handles that it meets.
pub(super) struct Handles<'l> {
    remap: Option<&'l mut dyn Renumber>,
    /// Class and id of the record that is being filled.
    record: (u32, u64),
    /// True if a handle of that record is not as it was.
    changed: bool,
    /// Arena and bits of the handle that ended its decode.
    pub(super) refused: Option<(&'static str, u64)>,
    /// Handles that got new ids.
    pub(super) remapped: u64,
    /// Handles that became null, and the first object that holds one, by its class.
    pub(super) nulled: HashMap<u32, (u64, u64)>,
    /// The handles that became dead.
    pub(super) dead: HashMap<u32, (u64, u64)>,
}

impl<'l> Handles<'l> {
    pub(super) fn new(remap: Option<&'l mut dyn Renumber>) -> Self {
        Self {
            remap,
            record: (0, 0),
            changed: false,
            refused: None,
            remapped: 0,
            nulled: HashMap::new(),
            dead: HashMap::new(),
        }
    }

    /// Says whose handles follow.
    pub(super) fn enter(&mut self, record: &RecordPlace) {
        self.record = (record.class, record.id);
        self.changed = false;
        self.refused = None;
    }

    /// The arena of this name, if its handles may be given new ids.
    pub(super) fn arena(&self, name: &str) -> Option<(TypeId, &'static str)> {
        self.remap.as_ref()?.arena(name)
    }

    pub(super) fn find(&mut self, arena: TypeId, bits: u64) -> Result<Remapped> {
        let Some(remap) = &mut self.remap else { return Ok(Remapped::Live(bits)) };
        let Some(found) = remap.renumber(arena, bits)? else { return Ok(Remapped::Live(bits)) };
        let (class, id) = self.record;
        match found {
            Remapped::Live(_) => self.remapped += 1,
            Remapped::Null => self.nulled.entry(class).or_insert((0, id)).0 += 1,
            Remapped::Dead => self.dead.entry(class).or_insert((0, id)).0 += 1,
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
        Error::new(
            ErrorKind::InvalidValue,
            format!(
                "{}, since the remap made two handles equal; give each a new id of its own, and those without one `Missing::Dead`",
                error.message()
            ),
        )
    }
}
