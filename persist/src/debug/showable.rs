//! Saves live values in memory, and reads them without their types.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::{Buffer, Persist};
use crate::format::{Compression, Header, Sealer, scan};
use crate::save::objects::content::{Sink, WriteContent};
use crate::save::untyped::Entry;
use crate::save::{Loaded, Prepared, SaveManager, Saves};
use crate::schema::{Reader, Stored, missing_page, objects_in_page, put_objects};
use crate::world::{Prefab, World};
use crate::{Limits, ObjectId, Result};

/// The values that are shown: those that derive [`Persist`], also when loaded, lists of objects, and prefabs.
pub trait Showable {
    /// Writes a save of the value.
    fn encode(&self, saves: &Saves, to: &mut Vec<u8>) -> Result<()>;

    /// Returns the objects of a save of the value.
    fn entries(&self, saves: Saves) -> Result<Vec<Entry>> {
        // A value in memory has no limits, except those of the stack and of elements without bytes.
        let (bytes, objects, expansion, text) = (u64::MAX, u64::MAX, u64::MAX, usize::MAX);
        let limits = Limits { bytes, objects, expansion, text, ..*saves.bounds() };
        let mut save = Vec::new();
        self.encode(&saves.limits(limits), &mut save)?;
        let (scan, classes) = scan(&save, &limits)?;
        let stored = Stored::new(classes);
        let names: Vec<Arc<str>> = stored.iter().map(|class| (&*class.name).into()).collect();
        let mut reader = Reader::new(&limits, save.len() as u64);
        let (pages, records): (Vec<_>, Vec<_>) = scan.records.iter().partition(|it| it.is_page());
        // Two pages of a record with one digest have the same bytes.
        let mut by_digest = HashMap::new();
        for page in pages {
            by_digest.insert((page.id, page.page_digest(&save)), page);
        }
        let mut entries = Vec::with_capacity(records.len());
        for record in records {
            let class = record.class as usize;
            let mut value = reader.payload(&stored, class, record.payload(&save), &limits)?;
            put_objects(&mut value, &stored, &mut |index| {
                let missing = || missing_page(index).in_object(record.id);
                let page = by_digest.get(&(record.id, Some(index.digest))).ok_or_else(missing)?;
                let (class, payload) = (page.class as usize, page.payload(&save));
                Ok(objects_in_page(reader.payload(&stored, class, payload, &limits)?))
            })?;
            let (id, holder) = (ObjectId::new(record.id).unwrap_or(ObjectId::NULL), record.holder);
            let class = (class, names[class].clone());
            entries.push(Entry::new((id, value), class, (holder, record.added)));
        }
        Ok(entries)
    }
}

fn encode(
    mut content: impl WriteContent,
    prepared: &Prepared,
    saves: &Saves,
    to: &mut Vec<u8>,
) -> Result<()> {
    let (mut buffer, header) = (Buffer::new(), Header::default());
    let mut out = Sealer::new(to, Compression::None, saves.bounds());
    content
        .write(prepared, &mut Sink { saves, header: &header, out: &mut out, buffer: &mut buffer })
}

impl<T: Persist> Showable for T {
    fn encode(&self, saves: &Saves, to: &mut Vec<u8>) -> Result<()> {
        encode(self, &saves.register_value(self)?, saves, to)
    }
}

impl<T: Persist> Showable for Loaded<T> {
    fn encode(&self, saves: &Saves, to: &mut Vec<u8>) -> Result<()> {
        encode(self, &saves.register_value(&**self)?, saves, to)
    }
}

impl Showable for SaveManager {
    fn encode(&self, saves: &Saves, to: &mut Vec<u8>) -> Result<()> {
        let prepared = Prepared { registry: self.saves().registry(), class: 0 };
        encode(self, &prepared, saves, to)
    }
}

impl Showable for Loaded<SaveManager> {
    fn encode(&self, saves: &Saves, to: &mut Vec<u8>) -> Result<()> {
        (**self).encode(saves, to)
    }
}

impl Showable for Prefab {
    fn encode(&self, saves: &Saves, to: &mut Vec<u8>) -> Result<()> {
        encode(self, &saves.register_type::<World>()?, saves, to)
    }
}
