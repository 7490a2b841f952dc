//! A whole save without its types.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::SaveOutcome;
use super::output::Output;
use crate::codec::Buffer;
use crate::env::Env;
use crate::format::{
    Compression, Definition, Header, Plain, RecordLocation, Records, Scan, Sealer, Writer, scan,
    unpacked,
};
use crate::reflect::{ClassId, Holder};
use crate::schema::{
    ClassSchema, KindSchema, LocalValue, Reader, Stored, StoredPointer, Strict, locate,
    same_classes, write_value,
};
use crate::storage::FILES;
use crate::value::{NameOf, write_name};
use crate::{Error, ErrorKind, Limits, ObjectId, Result, Value, storage};

/// A save read by the schema that it holds, with every object as a [`Value`]: for
/// tools that look into saves and change them, without the program that wrote them.
///
/// One that is not changed is written byte by byte as the library wrote it, but for a level of
/// [`Compression`] other than 3. The classes stay
/// as they are: a value that does not fit its field is an error when it is written.
///
/// # Example
///
/// ```
/// use persist::{Document, Persist, Value};
///
/// #[derive(Persist)]
/// struct Game { level: u32, name: String }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("game.sav");
/// persist::save(&path, &Game { level: 3, name: "Ada".into() })?;
///
/// // Another program, which does not know the type.
/// let mut save = Document::open(&path)?;
/// let game = save.root_mut().and_then(Value::as_record_mut).unwrap();
/// assert_eq!(game.get("name"), Some(&Value::from("Ada")));
/// game.set("level", 9_u32);
/// save.save(&path)?;
///
/// assert_eq!(persist::load::<Game>(&path)?.level, 9);
/// # Ok::<(), persist::Error>(())
/// ```
pub struct Document {
    header: Header,
    compression: Compression,
    limits: Limits,
    stored: Stored,
    /// How many records stood before the definition of each class.
    defined: Vec<usize>,
    /// By their places in the save; `None` where one was removed.
    entries: Vec<Option<Entry>>,
    places: HashMap<ObjectId, usize>,
}

/// The classes of a save, and those that values of others bring. The save gets them at the end: each new one costs no pass
/// over those before.
pub(crate) struct Adoption {
    classes: Vec<ClassSchema>,
    /// The first class of each id.
    by_id: HashMap<ClassId, usize>,
}

impl Adoption {
    pub(crate) fn of(save: &Document) -> Self {
        let mut this = Self { classes: save.stored.to_vec(), by_id: HashMap::new() };
        for (index, class) in this.classes.iter().enumerate() {
            this.by_id.entry(class.id).or_insert(index);
        }
        this
    }

    /// Makes a value of another save one of this, with the classes that this one does not have. `known` has the indices
    /// here of those that were looked for before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if a class is another one here; no class is added then.
    pub(crate) fn adopt(
        &mut self,
        value: &mut Value,
        classes: &[ClassSchema],
        known: &mut HashMap<usize, usize>,
    ) -> Result<()> {
        let mut next = Vec::new();
        value.each_mut(&mut |value| {
            next.extend(value.as_record().and_then(|record| record.origin));
        });
        let (mut found, mut added) = (Vec::new(), Vec::new());
        while let Some(index) = next.pop() {
            let is_known = known.contains_key(&index);
            let Some(class) = classes.get(index).filter(|_| !is_known) else { continue };
            let Some(own) = self.by_id.get(&class.id) else {
                known.insert(index, self.classes.len() + added.len());
                found.push(index);
                added.push(class);
                class.kinds().for_each(|kind| {
                    kind.visit(&mut |kind| match kind {
                        KindSchema::Class(class) | KindSchema::Reference { class, .. } => {
                            next.push(*class);
                        }
                        _ => {}
                    });
                });
                continue;
            };
            // What is known to be the same is not compared for each class that leads there.
            let mut is_new = |own: usize, index: usize| match known.entry(index) {
                MapEntry::Occupied(known) => (*known.get() == own).then_some(false),
                MapEntry::Vacant(new) => {
                    new.insert(own);
                    found.push(index);
                    Some(true)
                }
            };
            if !same_classes((&self.classes, *own), (classes, index), &mut is_new) {
                found.iter().for_each(|index| _ = known.remove(index));
                let message = format!(
                    "the save has another form of class {}; let its program replay the journal",
                    class.name
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        let index = |class: usize| known.get(&class).copied().unwrap_or(class);
        for class in added {
            self.by_id.entry(class.id).or_insert(self.classes.len());
            self.classes.push(class.renumbered(&index));
        }
        value.each_mut(&mut |value| {
            if let Some(record) = value.as_record_mut() {
                record.origin = record.origin.map(index);
            }
        });
        Ok(())
    }

    /// Gives a save the classes.
    pub(crate) fn end(self, save: &mut Document) {
        if self.classes.len() > save.stored.len() {
            // Before the first record, as any may have them now.
            save.defined = vec![0; self.classes.len()];
            save.stored = Stored::new(self.classes);
        }
    }
}

/// Shows a whole save as text, for people.
///
/// # Errors
///
/// Those of [`Document::open`].
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("game.sav");
/// persist::save(&path, &(3_u8, String::from("Ada")))?;
/// let text = persist::save::dump(&path)?;
/// assert!(text.ends_with("(3u8, \"Ada\")\n"));
/// # Ok::<(), persist::Error>(())
/// ```
#[cfg(feature = "tools")]
pub fn dump(path: impl AsRef<Path>) -> Result<String> {
    Ok(Document::open(path)?.to_string())
}

impl Document {
    /// Reads a save from a file.
    ///
    /// # Errors
    ///
    /// Those of [`from_slice`](Self::from_slice), and [`ErrorKind::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let is_of_content =
            |error: &Error| error.is_damage() || error.kind() == ErrorKind::TooLarge;
        let save = storage::read_save(&FILES, path, &Limits::DEFAULT)
            .map_err(|error| if is_of_content(&error) { error.in_file(path) } else { error })?;
        Self::from_slice(&save).map_err(|error| error.in_file(path))
    }

    /// Reads a save from memory.
    ///
    /// # Errors
    ///
    /// Whatever is not a whole, true save, references that lead to no object or to another one than
    /// their kind says included; [`ErrorKind::TooDeep`] for values nested over four times
    /// [`Limits::depth`]; [`ErrorKind::TooLarge`] if the trees would take over four times what
    /// [`Limits::expansion`] allows for objects.
    pub fn from_slice(save: &[u8]) -> Result<Self> {
        Self::within(save, &Limits::DEFAULT)
    }

    /// Reads a save from memory, within other limits than the default ones; they hold
    /// when it is written, too.
    ///
    /// # Errors
    ///
    /// Those of [`from_slice`](Self::from_slice).
    pub fn within(save: &[u8], limits: &Limits) -> Result<Self> {
        unpacked(save, limits, |save| {
            let (scan, classes) = scan(save.bytes, limits)?;
            let (bytes, records) = (save.bytes, scan.records.clone());
            // Of a salvage it is not asked: what a reference leads to may be lost.
            let document = Self::of_scan(save, scan, classes, limits, Err)?;
            document.check_kept(&records)?;
            document.check_references(&records, bytes)?;
            Ok(document)
        })
    }

    fn check_kept(&self, records: &Records) -> Result<()> {
        for record in records.iter().filter(RecordLocation::is_kept) {
            let owner = ObjectId::new(record.id).and_then(|id| self.places.get(&id));
            self.stored[record.class as usize]
                .check_kept(record.id, owner.is_some())
                .map_err(|error| error.at(record.start as u64))?;
        }
        Ok(())
    }

    /// Reads the records that a scan has found; `fault` says what becomes of one that cannot be read.
    pub(super) fn of_scan(
        save: Plain<'_>,
        scan: Scan<'_>,
        classes: Vec<ClassSchema>,
        limits: &Limits,
        mut fault: impl FnMut(Error) -> Result<()>,
    ) -> Result<Self> {
        let Plain { bytes: save, weight, compression } = save;
        let before = |definition: &Definition<'_>| scan.records.count_until(definition.at);
        let defined = scan.definitions.iter().map(before).collect();
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
        for record in scan.records.iter() {
            let class_name = names.get(record.class as usize).cloned().unwrap_or_default();
            let entry = match document.read(&record, class_name, save, &mut reader) {
                Ok(entry) => entry,
                Err(error) => {
                    let name = &*document.stored[record.class as usize].name;
                    fault(error.in_object(record.id).in_class(name))?;
                    continue;
                }
            };
            if !entry.is_kept() {
                document.places.insert(entry.id, document.entries.len());
            }
            document.entries.push(Some(entry));
        }
        Ok(document)
    }

    /// One of these entries, unless the ids of two are the same; writing it says so.
    pub(super) fn of_parts(
        (header, compression): (Header, Compression),
        (stored, defined): (Stored, Vec<usize>),
        entries: Vec<Entry>,
        limits: &Limits,
    ) -> Self {
        let places = entries.iter().enumerate().filter(|(_, entry)| !entry.is_kept());
        let places = places.map(|(place, entry)| (entry.id, place)).collect();
        let entries = entries.into_iter().map(Some).collect();
        Self { header, compression, limits: *limits, stored, defined, entries, places }
    }

    fn read(
        &self,
        record: &RecordLocation,
        class_name: Arc<str>,
        save: &[u8],
        reader: &mut Reader,
    ) -> Result<Entry> {
        let start = record.start as u64;
        let is_free = |id: &ObjectId| record.is_kept() || !self.places.contains_key(id);
        let id = ObjectId::new(record.id).filter(is_free);
        let Some(id) = id else {
            return Err(error!(
                ErrorKind::DuplicateId,
                "two records have this id; restore a backup"
            )
            .at(start));
        };
        let class = record.class as usize;
        let value = reader
            .payload(&self.stored, class, record.payload(save), &self.limits)
            .map_err(|error| {
                let offset = error.offset().unwrap_or_default();
                error.moved_to(start + offset)
            })?;
        let (holder, added) = (record.holder, record.added);
        Ok(Entry { id, class, class_name, holder, added, value })
    }

    /// What the save says of itself.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The classes that the save defines, in the order of their definitions.
    #[must_use]
    pub fn classes(&self) -> &[ClassSchema] {
        &self.stored
    }

    /// How the blocks of the save are compressed; Zstandard is at level 3, since no save says at which it was written.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Sets how the blocks are compressed when the save is written.
    pub fn set_compression(&mut self, compression: Compression) {
        self.compression = compression;
    }

    pub(super) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// How many records stood before the definition of each class.
    pub(super) fn defined(&self) -> &[usize] {
        &self.defined
    }

    /// The objects, as they stand in the save.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// The objects, to be changed.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut().flatten()
    }

    /// The object with this id.
    #[must_use]
    pub fn entry(&self, id: ObjectId) -> Option<&Entry> {
        self.entries[*self.places.get(&id)?].as_ref()
    }

    /// The object with this id, to be changed.
    pub fn entry_mut(&mut self, id: ObjectId) -> Option<&mut Entry> {
        self.entries[*self.places.get(&id)?].as_mut()
    }

    /// The value of a save of one value, as [`persist::save`](crate::save()) writes it.
    #[must_use]
    pub fn root(&self) -> Option<&Value> {
        self.entries().find(|entry| entry.is_root()).map(|entry| &entry.value)
    }

    /// The value of a save of one value, to be changed.
    pub fn root_mut(&mut self) -> Option<&mut Value> {
        let entry = self.entries_mut().find(|entry| entry.is_root())?;
        Some(&mut entry.value)
    }

    /// The objects with the indices of their classes, last first, to be changed.
    pub(super) fn last_first(&mut self) -> impl Iterator<Item = (usize, &mut Option<Entry>)> {
        self.entries.iter_mut().rev().map(|entry| (entry.as_ref().map_or(0, |e| e.class), entry))
    }

    /// Takes out all objects.
    pub(super) fn take_entries(&mut self) -> impl Iterator<Item = Entry> + use<> {
        self.places.clear();
        std::mem::take(&mut self.entries).into_iter().flatten()
    }

    /// Takes out what is not of these objects.
    pub(super) fn retain(&mut self, alive: &HashSet<ObjectId>) {
        self.places.retain(|id, _| alive.contains(id));
        for entry in &mut self.entries {
            entry.take_if(|entry| !alive.contains(&entry.id));
        }
    }

    /// Takes an object out, and what was kept of it. What leads to it strongly must be changed
    /// before the document is written.
    pub fn remove(&mut self, id: ObjectId) -> Option<Entry> {
        let removed = self.entries[self.places.remove(&id)?].take();
        for entry in &mut self.entries {
            if entry.as_ref().is_some_and(|entry| entry.id == id) {
                *entry = None;
            }
        }
        removed
    }

    /// Writes the save into a file, which is replaced whole; the old one stays as a backup.
    ///
    /// # Errors
    ///
    /// Those of [`to_vec`](Self::to_vec), and [`ErrorKind::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<SaveOutcome> {
        let output = Output { limits: self.limits, ..Output::default() };
        output.replace(path.as_ref(), 0, &self.header, &mut |out, header| self.write(out, &header))
    }

    /// Writes the save into memory.
    ///
    /// # Errors
    ///
    /// For a value that does not fit its class, with object, class and field:
    /// [`ErrorKind::KindMismatch`], [`ErrorKind::MissingField`], [`ErrorKind::NotFound`] for a
    /// field, variant or class that there is not, [`ErrorKind::InvalidValue`] for a key
    /// that stands twice; [`ErrorKind::MissingObject`] or [`ErrorKind::WrongClass`] for a
    /// reference that leads to no such object; [`ErrorKind::TooLarge`], [`ErrorKind::TooDeep`].
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut save = Vec::new();
        self.write(&mut save, &self.header)?;
        Ok(save)
    }

    fn write(&self, out: &mut dyn Write, header: &Header) -> Result<()> {
        let mut buffer = Buffer::new();
        let mut sealer = Sealer::new(out, self.compression, &self.limits);
        let env = Env::bare(&self.limits);
        let mut writer = Writer::new(&mut sealer, header, &env, &mut buffer)?;
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
        let mut payload = Vec::new();
        let mut defined = 0;
        for (place, entry) in self.entries.iter().enumerate() {
            let Some(entry) = entry else { continue };
            payload.clear();
            let (number, id) = (entry.class as u64 + 1, entry.id.get());
            target.highest = number;
            write_value(&mut target, &self.stored, entry.class, &entry.value, &mut payload)
                .map_err(|error| error.in_object(id).in_class(entry.class()))?;
            // Those that were before it, and those that it needs now.
            while defined < self.stored.len()
                && (self.defined[defined] <= place || (defined as u64) < target.highest)
            {
                writer.definition(&self.stored[defined])?;
                defined += 1;
            }
            writer
                .payload(number, (entry.holder, entry.added), id, &payload)
                .map_err(|error| error.in_object(id).in_class(entry.class()))?;
        }
        for class in &self.stored[defined..] {
            writer.definition(class)?;
        }
        writer.finish(0).map(drop)
    }

    /// Checks the references of a save that was read, as a load does.
    fn check_references(&self, records: &Records, save: &[u8]) -> Result<()> {
        if !self.stored.refers() {
            return Ok(());
        }
        for record in records.iter() {
            let mut wrong = None;
            let mut meet = |met: LocalValue<'_>, _: usize, _: usize| {
                let LocalValue::Reference { id, weak, class, holder } = met else { return true };
                wrong = self.check_reference((holder, weak, class), ObjectId::new(id)).err();
                wrong.is_none()
            };
            let class = record.class as usize;
            let payload = record.payload(save);
            let found = locate(class, &self.stored, payload, &self.limits, &mut meet);
            if let Some((place, offset)) = found {
                let field = place.field().unwrap_or_default().to_owned();
                let error = wrong.unwrap_or(place).in_field(&field);
                return Err(error
                    .at((record.start + offset) as u64)
                    .in_object(record.id)
                    .in_class(&*self.stored[class].name));
            }
        }
        Ok(())
    }

    /// Checks that a reference leads to an object of its class and holder.
    fn check_reference(&self, pointer: StoredPointer, id: Option<ObjectId>) -> Result<()> {
        let found = id.and_then(|id| self.entry(id)).map(|entry| (entry.holder, entry.class));
        self.stored.check_reference(pointer, id, found)
    }
}

/// An object of a [`Document`].
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    id: ObjectId,
    class: usize,
    class_name: Arc<str>,
    holder: Holder,
    added: bool,
    /// What is in it.
    pub value: Value,
}

impl Entry {
    pub(super) fn new(
        (id, value): (ObjectId, Value),
        (class, name): (usize, &str),
        (holder, added): (Holder, bool),
    ) -> Self {
        Self { id, class, class_name: name.into(), holder, added, value }
    }

    /// The index of its class.
    pub(super) fn class_index(&self) -> usize {
        self.class
    }

    pub(super) fn held_by(&self) -> Holder {
        self.holder
    }

    /// The number by which the save knows it.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Name of its class.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.class_name
    }

    /// The pointer and the cell that held it, as in `Rc<RefCell<_>>`; `_` for a value that was saved on its own.
    #[must_use]
    pub fn holder(&self) -> String {
        self.holder.around(false, "_")
    }

    /// True if the program added it itself, false if it was met through a pointer.
    #[must_use]
    pub fn is_added(&self) -> bool {
        self.added
    }

    /// True if it is no object, but what a program did not know of the one with its id.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.holder == Holder::VALUE && !self.added
    }

    fn is_root(&self) -> bool {
        self.holder == Holder::VALUE && self.added
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<&Entry> = self.entries().collect();
        f.debug_struct("Document")
            .field("header", &self.header)
            .field("entries", &entries)
            .finish_non_exhaustive()
    }
}

/// The dump: what the save says of itself, then each object and its value.
#[cfg(feature = "tools")]
impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "save of format {}", self.header.format)?;
        if let Some(application) = &self.header.application {
            write!(f, ", by {application:?}")?;
        }
        if let Some(version) = &self.header.application_version {
            write!(f, ", its version {version:?}")?;
        }
        let (objects, classes) = (self.places.len(), self.stored.len());
        writeln!(f, ", objects: {objects}, classes: {classes}")?;
        let info = self.header.info();
        let shown = info.to_string();
        if !shown.is_empty() {
            writeln!(f, "{shown}")?;
        }
        if !info.thumbnail.is_empty() {
            writeln!(f, "thumbnail of {} bytes", info.thumbnail.len())?;
        }
        if let Ok(Some(metadata)) = info.value_document()
            && let Some(value) = metadata.root()
        {
            writeln!(f, "metadata {value:#}")?;
        }
        for entry in self.entries() {
            write!(f, "\n{} ", entry.id)?;
            if entry.is_kept() {
                f.write_str("has kept ")?;
            }
            write_name(entry.class(), NameOf::Class, f)?;
            if entry.holder != Holder::VALUE {
                write!(f, " in {}", entry.holder.around(false, "_"))?;
            }
            f.write_str(if entry.added { ", added\n" } else { "\n" })?;
            writeln!(f, "{:#}", entry.value)?;
        }
        Ok(())
    }
}
