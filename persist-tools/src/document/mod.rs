//! [`Document`]: a whole save, read without its Rust types.

mod adoption;
mod as_value;
mod orphans;
mod whole;

use std::fmt;
use std::io::{Cursor, Read, Seek};
use std::path::Path;

use persist::__tools::{
    ClassSchema, Entry, FILES, NameOf, Stored, UntypedSave, is_damaged, read_save, salvaged,
    write_file, write_name,
};
use persist::reflect::Holder;
use persist::save::{Compression, Header, Salvage, SaveOutcome, SlotInfo};
use persist::{Error, ErrorKind, Limits, ObjectId, Record, Result, Value};

use crate::records::RecordReader;

pub(crate) use adoption::Adoption;
pub use as_value::{Feed, ObjectNames, TakeObjects, write_values};
pub use whole::WholeObjects;

/// A save that was read by the schema in it, with every object as a [`Value`].
///
/// It is for tools that inspect and edit saves without the program that wrote them. The classes cannot be changed: if a
/// value does not fit its field, writing the document returns an error. An unchanged document is written with the same
/// bytes as the original save, unless that was compressed by Zstandard at a level other than 3, or has a large world
/// in a `Mutex` or `RwLock`.
///
/// # Example
///
/// ```
/// use persist::{Persist, Value};
/// use persist_tools::Document;
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
    save: UntypedSave,
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
/// let text = persist_tools::dump(&path)?;
/// assert!(text.ends_with("(3u8, \"Ada\")\n"));
/// # Ok::<(), persist::Error>(())
/// ```
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
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let is_of_content =
            |error: &Error| error.is_damage() || error.kind() == ErrorKind::TooLarge;
        let save = read_save(&FILES, path, &Limits::DEFAULT)
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
    pub fn within(save: &[u8], limits: &Limits) -> Result<Self> {
        Self::from_records(RecordReader::open(Cursor::new(save), limits)?)
    }

    /// Reads the records of a save that is read part by part.
    #[doc(hidden)]
    pub fn from_records<R: Read + Seek>(mut records: RecordReader<R>) -> Result<Self> {
        let limits = *records.limits();
        let found = records.counts();
        let count = usize::try_from(found.objects + found.kept).unwrap_or(0);
        let mut entries = Vec::with_capacity(count);
        while records.next_record()?.is_some() {
            entries.extend(records.entry_to_keep()?);
        }
        let header = (records.header().clone(), records.compression());
        let stored = Stored::new(records.classes().to_vec());
        Ok(Self::of_parts(header, (stored, records.defined().to_vec()), entries, &limits))
    }

    /// Reads the intact objects of a damaged save.
    ///
    /// It rescues the same objects as a load under [`LoadPolicy::Salvage`](persist::save::LoadPolicy::Salvage). The
    /// second value says what was lost; it is `None` if the save is not damaged.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Damaged`](ErrorKind::Damaged) if no object is intact, and the same errors as
    /// [`from_slice`](Self::from_slice) that are not about damage.
    ///
    /// # Example
    ///
    /// ```
    /// let mut save = persist::to_vec(&7_u32)?;
    /// save.truncate(save.len() - 1);
    /// assert!(persist_tools::Document::from_slice(&save).is_err());
    /// let (document, salvage) = persist_tools::Document::salvage(&save)?;
    /// assert_eq!(document.root(), Some(&7_u32.into()));
    /// assert_eq!(salvage.unwrap().objects, 1);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn salvage(save: &[u8]) -> Result<(Self, Option<Salvage>)> {
        Self::salvage_with(save, &mut |_| 0)
    }

    /// Reads the intact objects of a damaged save, and gathers those whose parent is lost below a new object.
    ///
    /// It does the same as [`salvage`](Self::salvage), but for the objects of a world whose parent is lost: `salvage`
    /// leaves them without a parent, among all others at the top. Here, each world that has such objects gets an object
    /// of this name, and they become its children, in the order of their ids. If another object has the name, the new
    /// one gets a number, as in `World::spawn`. The number of such objects is [`Salvage::orphans`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`salvage`](Self::salvage).
    ///
    /// # Example
    ///
    /// ```
    /// # let save = persist::to_vec(&persist::World::new())?;
    /// let (document, salvage) = persist_tools::Document::salvage_under(&save, "Recovered")?;
    /// if let Some(salvage) = salvage {
    ///     println!("look below `Recovered`: {} objects have lost their parent", salvage.orphans);
    /// }
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn salvage_under(save: &[u8], name: &str) -> Result<(Self, Option<Salvage>)> {
        Self::salvage_with(save, &mut |world| orphans::gather(world, name).unwrap_or(0))
    }

    fn salvage_with(
        save: &[u8],
        adopt: &mut dyn FnMut(&mut Record) -> u64,
    ) -> Result<(Self, Option<Salvage>)> {
        let limits = &Limits::DEFAULT;
        if !is_damaged(save, limits) {
            return Ok((Self::from_slice(save)?, None));
        }
        let mut read = |zeros_numbers| {
            let (document, found) = salvaged(save, zeros_numbers, limits, adopt)?;
            // All pointers to lost objects are removed, so the result must pass the checks of an intact save. Zeros
            // may not: a set may have one already.
            Ok((Self::from_slice(&document.to_vec()?)?, Some(found)))
        };
        read(true).or_else(|_| read(false))
    }

    /// Reads the program's own value in the info of a save without its Rust type; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`from_slice`](Self::from_slice).
    pub fn from_info(info: &SlotInfo) -> Result<Option<Self>> {
        let value = Some(info.value_bytes()).filter(|value| !value.is_empty());
        value.map(Self::from_slice).transpose()
    }

    /// Creates a document of these entries. Duplicate ids are not checked here: writing the document returns the error.
    fn of_parts(
        (header, compression): (Header, Compression),
        (stored, defined): (Stored, Vec<usize>),
        entries: Vec<Entry>,
        limits: &Limits,
    ) -> Self {
        let places = entries.iter().enumerate().filter(|(_, entry)| !entry.is_kept());
        let places = places.map(|(place, entry)| (entry.id(), place)).collect();
        let entries = entries.into_iter().map(Some).collect();
        let limits = *limits;
        let save = UntypedSave { header, compression, limits, stored, defined, entries, places };
        Self { save }
    }

    /// Returns the header of the save.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.save.header
    }

    /// Returns the classes that the save defines, in the order of their definitions.
    #[must_use]
    pub fn classes(&self) -> &[ClassSchema] {
        &self.save.stored
    }

    /// Returns the compression of the save's blocks.
    ///
    /// For Zstandard the level is always 3, since a save does not record the level that it was written with.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.save.compression
    }

    /// Sets the compression for when the save is written.
    pub fn set_compression(&mut self, compression: Compression) {
        self.save.compression = compression;
    }

    fn stored(&self) -> &Stored {
        &self.save.stored
    }

    /// Returns the number of records before the definition of each class.
    fn defined(&self) -> &[usize] {
        &self.save.defined
    }

    /// Iterates over the objects, in the order of the save.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.save.entries()
    }

    /// Iterates over the objects like [`entries`](Self::entries), to change them.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.save.entries.iter_mut().flatten()
    }

    /// Returns the object with this id; `None` if there is none.
    #[must_use]
    pub fn entry(&self, id: ObjectId) -> Option<&Entry> {
        self.save.entry(id)
    }

    /// Returns the object with this id, to change it; `None` if there is none.
    pub fn entry_mut(&mut self, id: ObjectId) -> Option<&mut Entry> {
        self.save.entries[*self.save.places.get(&id)?].as_mut()
    }

    /// Returns the value of a save of one value, as [`persist::save`](persist::save()) writes it.
    ///
    /// It is `None` for a save of a list of objects.
    #[must_use]
    pub fn root(&self) -> Option<&Value> {
        self.entries().find(|entry| entry.is_root()).map(|entry| &entry.value)
    }

    /// Returns the value of a save of one value, to change it; `None` for a save of a list of objects.
    pub fn root_mut(&mut self) -> Option<&mut Value> {
        let entry = self.entries_mut().find(|entry| entry.is_root())?;
        Some(&mut entry.value)
    }

    /// Removes and returns all objects.
    fn take_entries(&mut self) -> impl Iterator<Item = Entry> + use<> {
        self.save.places.clear();
        std::mem::take(&mut self.save.entries).into_iter().flatten()
    }

    /// Removes the object with this id, with its unknown content, and returns it; `None` if there is none.
    ///
    /// Change all strong references to the object before you write the document. A reference that leads to no object is
    /// an error then.
    pub fn remove(&mut self, id: ObjectId) -> Option<Entry> {
        let removed = self.save.entries[self.save.places.remove(&id)?].take();
        for entry in &mut self.save.entries {
            if entry.as_ref().is_some_and(|entry| entry.id() == id) {
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
    pub fn save(&self, path: impl AsRef<Path>) -> Result<SaveOutcome> {
        let UntypedSave { header, limits, .. } = &self.save;
        write_file(path.as_ref(), limits, header, &mut |out, header| self.save.write(out, &header))
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
        self.save.to_vec()
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<&Entry> = self.entries().collect();
        f.debug_struct("Document")
            .field("header", &self.save.header)
            .field("entries", &entries)
            .finish_non_exhaustive()
    }
}

/// Shows the save as text for people: header and metadata, and then each object with its value.
impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "save of format {}", self.save.header.format)?;
        if let Some(application) = &self.save.header.application {
            write!(f, ", by {application:?}")?;
        }
        if let Some(version) = &self.save.header.application_version {
            write!(f, ", its version {version:?}")?;
        }
        let (objects, classes) = (self.save.places.len(), self.save.stored.len());
        writeln!(f, ", objects: {objects}, classes: {classes}")?;
        let info = self.save.header.info();
        let shown = info.to_string();
        if !shown.is_empty() {
            writeln!(f, "{shown}")?;
        }
        if !info.thumbnail.is_empty() {
            writeln!(f, "thumbnail of {} bytes", info.thumbnail.len())?;
        }
        if let Ok(Some(metadata)) = Self::from_info(&info)
            && let Some(value) = metadata.root()
        {
            writeln!(f, "metadata {value:#}")?;
        }
        for entry in self.entries() {
            write!(f, "\n{} ", entry.id())?;
            if entry.is_kept() {
                f.write_str("has kept ")?;
            }
            write_name(entry.class(), NameOf::Class, f)?;
            if entry.held_by() != Holder::VALUE {
                write!(f, " in {}", entry.holder())?;
            }
            f.write_str(if entry.is_added() { ", added\n" } else { "\n" })?;
            writeln!(f, "{:#}", entry.value)?;
        }
        Ok(())
    }
}
