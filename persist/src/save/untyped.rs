//! The values of a save, read by the schema in it: what a salvage mends, and tools show and edit.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::pages::{LostParts, WholePages};
use super::record_writer::RecordWriter;
use super::{Output, SaveOutcome};
use crate::codec::Buffer;
use crate::env::Env;
use crate::format::{Compression, Definition, Header, Plain, RecordLocation, Scan, Sealer};
use crate::reflect::Holder;
use crate::schema::{ClassSchema, KindSchema, Reader, Stored, StoredPointer, Strict};
use crate::{Limits, ObjectId, Result, Value};

/// The objects of a save as values, with their classes.
pub struct UntypedSave {
    /// The header of the save.
    pub header: Header,
    /// The compression with which the save is written.
    pub compression: Compression,
    /// The limits of reading and writing.
    pub limits: Limits,
    /// The classes of the save.
    pub stored: Stored,
    /// The number of records before the definition of each class.
    pub defined: Vec<usize>,
    /// The records in the order of the save; `None` for a removed one.
    pub entries: Vec<Option<Entry>>,
    /// For each object its place among the entries.
    pub places: HashMap<ObjectId, usize>,
}

/// Replaces a file atomically by what `write` writes, which gets the header that follows the one of the old save.
///
/// # Errors
///
/// Returns the errors of `write`, and those of a file that cannot be written.
pub fn write_file(
    path: &Path,
    limits: &Limits,
    header: &Header,
    write: &mut dyn FnMut(&mut dyn Write, Header) -> Result<()>,
) -> Result<SaveOutcome> {
    let output = Output { limits: *limits, ..Output::default() };
    output.write_file(path, 0, header, None, write)
}

impl UntypedSave {
    /// Reads the records that a scan has found, but for those that cannot be read. Worlds get the objects of the pages
    /// that are whole; the others are added to `lost`.
    pub(super) fn from_scan(
        save: Plain<'_>,
        scan: Scan<'_>,
        classes: Vec<ClassSchema>,
        limits: &Limits,
        lost: &mut LostParts,
    ) -> Self {
        let Plain { bytes: save, weight, compression } = save;
        let preceding = |definition: &Definition<'_>| scan.records.count_until(definition.at);
        let defined = scan.definitions.iter().map(preceding).collect();
        let mut document = Self {
            header: scan.header,
            compression,
            limits: *limits,
            stored: Stored::new(classes),
            defined,
            entries: Vec::with_capacity(scan.records.len()),
            places: HashMap::with_capacity(scan.records.len()),
        };
        let mut reader = Reader::new(limits, weight);
        let names: Vec<_> = document.stored.iter().map(|class| (&*class.name).into()).collect();
        let mut pages = WholePages::default();
        for record in scan.records.iter() {
            if record.is_page() {
                pages.add(&record);
                continue;
            }
            let class_name = names.get(record.class as usize).cloned().unwrap_or_default();
            let Some(mut entry) = document.read(&record, class_name, save, &mut reader) else {
                continue;
            };
            if !entry.is_kept() {
                let value = (entry.id, &mut entry.value);
                pages.put(value, (&document.stored, limits), save, &mut reader, lost);
            }
            if !entry.is_kept() {
                document.places.insert(entry.id, document.entries.len());
            }
            document.entries.push(Some(entry));
        }
        if document.entries.is_empty() {
            let world = pages.without_head((&document.stored, limits), save, &mut reader, lost);
            if let Some((id, class, value)) = world {
                let class_name = names.get(class).cloned().unwrap_or_default();
                let (holder, added) = (Holder::VALUE, true);
                document.places.insert(id, document.entries.len());
                document.entries.push(Some(Entry { id, class, class_name, holder, added, value }));
            }
        }
        document
    }

    /// Reads a record; `None` if another one has its id, or its bytes are no value of its class.
    fn read(
        &self,
        record: &RecordLocation,
        class_name: Arc<str>,
        save: &[u8],
        reader: &mut Reader,
    ) -> Option<Entry> {
        let is_free = |id: &ObjectId| record.is_kept() || !self.places.contains_key(id);
        let id = ObjectId::new(record.id).filter(is_free)?;
        let class = record.class as usize;
        let value = reader.payload(&self.stored, class, record.payload(save), &self.limits).ok()?;
        let (holder, added) = (record.holder, record.added);
        Some(Entry { id, class, class_name, holder, added, value })
    }

    /// Iterates over the objects, in the order of the save.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Returns the object with this id; `None` if there is none.
    pub fn entry(&self, id: ObjectId) -> Option<&Entry> {
        self.entries[*self.places.get(&id)?].as_ref()
    }

    /// Iterates over the objects from last to first, with the indices of their classes, to change them.
    pub fn last_first(&mut self) -> impl Iterator<Item = (usize, &mut Option<Entry>)> {
        self.entries.iter_mut().rev().map(|entry| (entry.as_ref().map_or(0, |e| e.class), entry))
    }

    /// Keeps only these objects and their unknown content.
    pub fn retain(&mut self, alive: &HashSet<ObjectId>) {
        self.places.retain(|id, _| alive.contains(id));
        for entry in &mut self.entries {
            entry.take_if(|entry| !alive.contains(&entry.id));
        }
    }

    /// Writes the save into memory.
    ///
    /// # Errors
    ///
    /// Returns an error, with object, class and field, if a value does not fit its class, or exceeds a limit.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut save = Vec::new();
        self.write(&mut save, &self.header)?;
        Ok(save)
    }

    /// Writes the save with this header.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`to_vec`](Self::to_vec), and those of the output.
    pub fn write(&self, out: &mut dyn Write, header: &Header) -> Result<()> {
        let mut buffer = Buffer::new();
        let mut sealer = Sealer::new(out, self.compression, &self.limits);
        let env = Env::bare(&self.limits);
        let classes = (&self.stored, &self.defined[..]);
        let mut writer = RecordWriter::new(&mut sealer, header, classes, (&env, &mut buffer))?;
        let check_reference = |kind: &KindSchema, id: Option<ObjectId>| match *kind {
            KindSchema::Reference { holder, weak, class } => {
                self.check_reference((holder, weak, Some(class)), id)
            }
            KindSchema::TraitReference { holder, weak, .. } => {
                self.check_reference((holder, weak, None), id)
            }
            _ => Ok(()),
        };
        let mut target = Strict::new(&self.stored, &self.limits, &check_reference);
        for entry in &self.entries {
            let Some(entry) = entry else {
                writer.skip();
                continue;
            };
            let head = (entry.class, entry.holder, entry.added, entry.id.get());
            writer.value(head, &entry.value, &mut target)?;
        }
        writer.finish()
    }

    /// Checks that a reference leads to an object of its class and holder.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not.
    pub fn check_reference(&self, pointer: StoredPointer, id: Option<ObjectId>) -> Result<()> {
        let found = id.and_then(|id| self.entry(id)).map(|entry| (entry.holder, entry.class));
        self.stored.check_reference(pointer, id, found)
    }
}

/// An object of a `Document`.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    id: ObjectId,
    class: usize,
    class_name: Arc<str>,
    holder: Holder,
    added: bool,
    /// The value of the object.
    pub value: Value,
}

impl Entry {
    /// Creates an object of this class.
    #[doc(hidden)]
    #[must_use]
    pub fn new(
        (id, value): (ObjectId, Value),
        (class, class_name): (usize, Arc<str>),
        (holder, added): (Holder, bool),
    ) -> Self {
        Self { id, class, class_name, holder, added, value }
    }

    /// Returns the index of the object's class.
    #[doc(hidden)]
    #[must_use]
    pub fn class_index(&self) -> usize {
        self.class
    }

    /// Returns the pointer and cell that held the object.
    #[doc(hidden)]
    #[must_use]
    pub fn held_by(&self) -> Holder {
        self.holder
    }

    /// Returns the id of the object in the save.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Returns the name of the object's class.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.class_name
    }

    /// Returns the pointer and cell that held the object, such as `Rc<RefCell<_>>`.
    ///
    /// It is `_` for a value that was saved on its own.
    #[must_use]
    pub fn holder(&self) -> String {
        self.holder.type_name(false, "_")
    }

    /// Returns true if the program added the object itself, and false if the save reached it through a pointer.
    #[must_use]
    pub fn is_added(&self) -> bool {
        self.added
    }

    /// Returns true if the entry is not an object but unknown content of the object with its id.
    ///
    /// A program that did not know some fields of the object kept them in such an entry.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.holder == Holder::VALUE && !self.added
    }

    /// Returns true for the value of a save of one value.
    #[doc(hidden)]
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.holder == Holder::VALUE && self.added
    }
}
