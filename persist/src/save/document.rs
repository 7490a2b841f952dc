//! [`Document`]: a whole save, read without its Rust types.

#![cfg_attr(
    not(feature = "tools"),
    allow(unreachable_pub, reason = "public with the feature `tools`")
)]

#[cfg(feature = "tools")]
use std::collections::hash_map::Entry as MapEntry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Write;
#[cfg(feature = "tools")]
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "tools")]
use super::SaveOutcome;
#[cfg(feature = "tools")]
use super::output::Output;
use crate::codec::Buffer;
use crate::env::Env;
use crate::format::{Compression, Definition, Header, Plain, RecordLocation, Scan, Sealer, Writer};
#[cfg(feature = "tools")]
use crate::format::{Records, scan, unpacked};
#[cfg(feature = "tools")]
use crate::reflect::ClassId;
use crate::reflect::Holder;
use crate::schema::{ClassSchema, KindSchema, Reader, Stored, StoredPointer, Strict, write_value};
#[cfg(feature = "tools")]
use crate::schema::{LocalValue, locate, same_classes};
#[cfg(feature = "tools")]
use crate::storage;
#[cfg(feature = "tools")]
use crate::storage::FILES;
#[cfg(feature = "tools")]
use crate::value::{NameOf, write_name};
use crate::{Error, ErrorKind, Limits, ObjectId, Result, Value};

/// A save that was read by the schema in it, with every object as a [`Value`].
///
/// It is for tools that inspect and edit saves without the program that wrote them. The classes cannot be changed: if a
/// value does not fit its field, writing the document returns an error. An unchanged document is written with the same
/// bytes as the original save, unless that was compressed by Zstandard at a level other than 3.
///
/// # Example
///
#[cfg_attr(feature = "tools", doc = "```")]
#[cfg_attr(not(feature = "tools"), doc = "```ignore")]
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
    /// The number of records before the definition of each class.
    defined: Vec<usize>,
    /// The records in the order of the save; `None` for a removed one.
    entries: Vec<Option<Entry>>,
    places: HashMap<ObjectId, usize>,
}

/// The classes of a save, while values of other saves are added with their classes.
///
/// The save gets all new classes at the end, by [`end`](Self::end). Adding them one by one would cost a pass over all
/// classes for each.
#[cfg(feature = "tools")]
pub(crate) struct Adoption {
    classes: Vec<ClassSchema>,
    /// The first class of each id.
    by_id: HashMap<ClassId, usize>,
}

#[cfg(feature = "tools")]
impl Adoption {
    pub(crate) fn from_document(save: &Document) -> Self {
        let mut this = Self { classes: save.stored.to_vec(), by_id: HashMap::new() };
        for (index, class) in this.classes.iter().enumerate() {
            this.by_id.entry(class.id).or_insert(index);
        }
        this
    }

    /// Converts a value of another save to a value of this save, and adds the classes that it needs. `known` maps the
    /// indices of the other save's classes to indices here, for classes that earlier calls have found.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Unsupported`] if a class has the same id but another definition here. No class is added
    /// then.
    pub(crate) fn adopt(
        &mut self,
        value: &mut Value,
        classes: &[ClassSchema],
        known: &mut HashMap<usize, usize>,
    ) -> Result<()> {
        let mut next = Vec::new();
        value.each_mut(&mut |value| {
            next.extend(value.as_record().and_then(crate::Record::origin));
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
            // Pairs that are known to be equal are not compared again for each class that refers to them.
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
                record.set_origin(record.origin().map(index));
            }
        });
        Ok(())
    }

    /// Sets the classes of the save.
    pub(crate) fn end(self, save: &mut Document) {
        if self.classes.len() > save.stored.len() {
            // All classes are now defined before the first record, since any record may use the new ones.
            save.defined = vec![0; self.classes.len()];
            save.stored = Stored::new(self.classes);
        }
    }
}

/// Reads a save from a file, and returns it as text for people.
///
/// # Errors
///
/// Returns the same errors as [`Document::open`].
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
    /// Returns the same errors as [`from_slice`](Self::from_slice), and [`ErrorKind::Io`] or [`ErrorKind::NotFound`] if
    /// the file cannot be read.
    #[cfg(feature = "tools")]
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
    /// Returns an error if the bytes are not an intact save, or if a reference leads to no object or to an object of
    /// another class. Returns [`ErrorKind::TooDeep`] if values are nested deeper than four times [`Limits::depth`], and
    /// [`ErrorKind::TooLarge`] if the values would take more than four times the memory that [`Limits::expansion`]
    /// allows for objects.
    #[cfg(feature = "tools")]
    pub fn from_slice(save: &[u8]) -> Result<Self> {
        Self::within(save, &Limits::DEFAULT)
    }

    /// Reads a save from memory like [`from_slice`](Self::from_slice), with limits other than the default.
    ///
    /// The limits apply when the document is written, too.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`from_slice`](Self::from_slice).
    #[cfg(feature = "tools")]
    pub fn within(save: &[u8], limits: &Limits) -> Result<Self> {
        unpacked(save, limits, |save| {
            let (scan, classes) = scan(save.bytes, limits)?;
            let (bytes, records) = (save.bytes, scan.records.clone());
            // A salvage calls `from_scan` without these checks, since the targets of references may be lost.
            let document = Self::from_scan(save, scan, classes, limits, Err)?;
            document.check_unknown(&records)?;
            document.check_references(&records, bytes)?;
            Ok(document)
        })
    }

    /// Checks that every record of unknown content belongs to an object, and that its class is one for unknown content.
    #[cfg(feature = "tools")]
    fn check_unknown(&self, records: &Records) -> Result<()> {
        for record in records.iter().filter(RecordLocation::is_kept) {
            let owner = ObjectId::new(record.id).and_then(|id| self.places.get(&id));
            self.stored[record.class as usize]
                .check_unknown(record.id, owner.is_some())
                .map_err(|error| error.at(record.start as u64))?;
        }
        Ok(())
    }

    /// Reads the records that a scan has found. `fault` is called for a record that cannot be read: it returns `Ok` to
    /// skip the record, or the error to stop.
    pub(super) fn from_scan(
        save: Plain<'_>,
        scan: Scan<'_>,
        classes: Vec<ClassSchema>,
        limits: &Limits,
        mut fault: impl FnMut(Error) -> Result<()>,
    ) -> Result<Self> {
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

    /// Creates a document of these entries. Duplicate ids are not checked here: writing the document returns the error.
    #[cfg(feature = "tools")]
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

    /// Returns the header of the save.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the classes that the save defines, in the order of their definitions.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn classes(&self) -> &[ClassSchema] {
        &self.stored
    }

    /// Returns the compression of the save's blocks.
    ///
    /// For Zstandard the level is always 3, since a save does not record the level that it was written with.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Sets the compression for when the save is written.
    #[cfg(feature = "tools")]
    pub fn set_compression(&mut self, compression: Compression) {
        self.compression = compression;
    }

    #[cfg(feature = "tools")]
    pub(super) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Returns the number of records before the definition of each class.
    #[cfg(feature = "tools")]
    pub(super) fn defined(&self) -> &[usize] {
        &self.defined
    }

    /// Iterates over the objects, in the order of the save.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Iterates over the objects like [`entries`](Self::entries), to change them.
    #[cfg(feature = "tools")]
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut().flatten()
    }

    /// Returns the object with this id; `None` if there is none.
    #[must_use]
    pub fn entry(&self, id: ObjectId) -> Option<&Entry> {
        self.entries[*self.places.get(&id)?].as_ref()
    }

    /// Returns the object with this id, to change it; `None` if there is none.
    #[cfg(feature = "tools")]
    pub fn entry_mut(&mut self, id: ObjectId) -> Option<&mut Entry> {
        self.entries[*self.places.get(&id)?].as_mut()
    }

    /// Returns the value of a save of one value, as [`persist::save`](crate::save()) writes it.
    ///
    /// It is `None` for a save of a list of objects.
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn root(&self) -> Option<&Value> {
        self.entries().find(|entry| entry.is_root()).map(|entry| &entry.value)
    }

    /// Returns the value of a save of one value, to change it; `None` for a save of a list of objects.
    #[cfg(feature = "tools")]
    pub fn root_mut(&mut self) -> Option<&mut Value> {
        let entry = self.entries_mut().find(|entry| entry.is_root())?;
        Some(&mut entry.value)
    }

    /// Iterates over the objects from last to first, with the indices of their classes, to change them.
    pub(super) fn last_first(&mut self) -> impl Iterator<Item = (usize, &mut Option<Entry>)> {
        self.entries.iter_mut().rev().map(|entry| (entry.as_ref().map_or(0, |e| e.class), entry))
    }

    /// Removes and returns all objects.
    #[cfg(feature = "tools")]
    pub(super) fn take_entries(&mut self) -> impl Iterator<Item = Entry> + use<> {
        self.places.clear();
        std::mem::take(&mut self.entries).into_iter().flatten()
    }

    /// Keeps only these objects and their unknown content.
    pub(super) fn retain(&mut self, alive: &HashSet<ObjectId>) {
        self.places.retain(|id, _| alive.contains(id));
        for entry in &mut self.entries {
            entry.take_if(|entry| !alive.contains(&entry.id));
        }
    }

    /// Removes the object with this id, with its unknown content, and returns it; `None` if there is none.
    ///
    /// Change all strong references to the object before you write the document. A reference that leads to no object is
    /// an error then.
    #[cfg(feature = "tools")]
    pub fn remove(&mut self, id: ObjectId) -> Option<Entry> {
        let removed = self.entries[self.places.remove(&id)?].take();
        for entry in &mut self.entries {
            if entry.as_ref().is_some_and(|entry| entry.id == id) {
                *entry = None;
            }
        }
        removed
    }

    /// Writes the save to a file, which is replaced atomically. The old save becomes a backup.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`to_vec`](Self::to_vec), and [`ErrorKind::Io`] or [`ErrorKind::NoSpace`] if the file
    /// cannot be written.
    #[cfg(feature = "tools")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<SaveOutcome> {
        let output = Output { limits: self.limits, ..Output::default() };
        output.write_file(path.as_ref(), 0, &self.header, None, &mut |out, header| {
            self.write(out, &header)
        })
    }

    /// Writes the save into memory.
    ///
    /// # Errors
    ///
    /// Returns an error, with object, class and field, if a value does not fit its class:
    ///
    /// - [`ErrorKind::KindMismatch`] if a value has another kind than its field;
    /// - [`ErrorKind::MissingField`] if a field is missing;
    /// - [`ErrorKind::NotFound`] if the class has no such field or variant, or the save no such class;
    /// - [`ErrorKind::InvalidValue`] for a duplicate key in a set or map;
    /// - [`ErrorKind::MissingObject`] or [`ErrorKind::WrongClass`] if a reference leads to no object, or to an object
    ///   of another class;
    /// - [`ErrorKind::TooLarge`] or [`ErrorKind::TooDeep`] if a limit is exceeded.
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
            // Definitions that came before this record in the save, and definitions that its new value needs.
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
    #[cfg(feature = "tools")]
    fn check_references(&self, records: &Records, save: &[u8]) -> Result<()> {
        if !self.stored.refers() {
            return Ok(());
        }
        for record in records.iter() {
            let mut wrong = None;
            let mut visit = |value: LocalValue<'_>, _: usize, _: usize| {
                let LocalValue::Reference { id, weak, class, holder } = value else { return true };
                wrong = self.check_reference((holder, weak, class), ObjectId::new(id)).err();
                wrong.is_none()
            };
            let class = record.class as usize;
            let payload = record.payload(save);
            let found = locate(class, &self.stored, payload, &self.limits, &mut visit);
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
    /// The value of the object.
    pub value: Value,
}

impl Entry {
    #[cfg(feature = "tools")]
    pub(super) fn new(
        (id, value): (ObjectId, Value),
        (class, name): (usize, &str),
        (holder, added): (Holder, bool),
    ) -> Self {
        Self { id, class, class_name: name.into(), holder, added, value }
    }

    /// Returns the index of the object's class.
    #[cfg(feature = "tools")]
    pub(super) fn class_index(&self) -> usize {
        self.class
    }

    #[cfg(feature = "tools")]
    pub(super) fn held_by(&self) -> Holder {
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
    #[cfg(feature = "tools")]
    #[must_use]
    pub fn holder(&self) -> String {
        self.holder.type_name(false, "_")
    }

    /// Returns true if the program added the object itself, and false if the save reached it through a pointer.
    #[cfg(feature = "tools")]
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

    #[cfg(feature = "tools")]
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

/// Shows the save as text for people: header and metadata, and then each object with its value.
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
                write!(f, " in {}", entry.holder.type_name(false, "_"))?;
            }
            f.write_str(if entry.added { ", added\n" } else { "\n" })?;
            writeln!(f, "{:#}", entry.value)?;
        }
        Ok(())
    }
}
