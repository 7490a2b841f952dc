//! The calls of [`Saves`] that save and load: by path, by slot and in memory.

use std::mem;
use std::path::Path;
use std::sync::Arc;

use super::objects::content::{Content, Loadable, Sink, WriteContent, decode};
use super::slot::Slot;
use super::slots::Slots;
use super::source::SaveSource;
use super::{Loaded, SaveManager, SaveOutcome, Saves, Scratch};
use crate::Result;
use crate::codec::{Buffer, Persist, unboxed};
use crate::format::{Compression, Header, Sealer};
use crate::storage::{Past, SlotStore};
use crate::types::Remap;

/// Saves in memory of at least this many bytes are encoded into the buffer that is returned. Smaller saves are copied
/// out of the reused buffer, which is cheap while they are in the cache.
const LARGE: usize = 64 << 10;

/// These methods return places for saves, and save and load in memory.
impl Saves {
    /// Returns a handle of the save at this path. Nothing is read or written yet.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("level.sav");
    /// let saves = persist::Saves::new();
    /// saves.file(&path).save(&7_u32)?;
    /// assert_eq!(*saves.file(&path).load::<u32>()?, 7);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn file(&self, path: impl AsRef<Path>) -> Slot {
        Slot::from_file(self, path.as_ref())
    }

    /// Returns the slots of a folder, to save, load, list and rename them by name.
    ///
    /// Nothing is read yet. The folder is never created: create it before the first save.
    pub fn slots(&self, folder: impl AsRef<Path>) -> Slots {
        Slots::of_folder(self, folder.as_ref())
    }

    /// Returns the slots of a store, such as a service that keeps the saves of many players.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use persist::Saves;
    /// use persist::storage::{Memory, SlotFolder};
    ///
    /// let store = Arc::new(SlotFolder::new(Memory::default(), "saves"));
    /// let slots = Saves::new().store(store);
    /// slots.slot("Ada").save(&7_u32)?;
    /// assert_eq!(*slots.slot("Ada").load::<u32>()?, 7);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn store(&self, store: Arc<dyn SlotStore>) -> Slots {
        Slots::of_store(self, store)
    }

    /// Creates an empty list of objects, which is saved and loaded with these classes and settings.
    #[must_use]
    pub fn manager(&self) -> SaveManager {
        SaveManager::with(self.clone())
    }

    /// Saves into memory.
    ///
    /// The save has no metadata and no time, so that equal states give equal bytes.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::save`], except file errors.
    pub fn to_vec(&self, mut content: impl Content) -> Result<Vec<u8>> {
        self.encode(&mut content, self.header())
    }

    /// Saves into memory, with a header that continues the previous save.
    ///
    /// Use it to keep slots in a place of your own, such as a database. `before` is the header of the save that you
    /// replace; pass `None` for the first save of a slot. The new header has the next generation, and if a
    /// [device](Self::device) is set, one more save is counted for it.
    ///
    /// ```
    /// use persist::Saves;
    /// use persist::save::{Header, Lineage};
    ///
    /// let saves = Saves::new();
    /// let first = Header::read(&saves.to_vec_after(&1_u32, None)?)?;
    /// let second = Header::read(&saves.to_vec_after(&2_u32, Some(&first))?)?;
    /// assert_eq!(second.compare(&first), Lineage::Newer);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`to_vec`](Self::to_vec).
    pub fn to_vec_after(
        &self,
        mut content: impl Content,
        previous: Option<&Header>,
    ) -> Result<Vec<u8>> {
        let device = self.output().device.as_deref();
        let header = Past::new(previous.cloned()).lead_to(self.header().clone(), device, 0);
        self.encode(&mut content, &header)
    }

    /// Loads a value or a list of objects from a save in memory.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::load`], except file errors.
    pub fn from_slice<T: Loadable>(&self, save: &[u8]) -> Result<Loaded<T>> {
        self.load(SaveSource::Memory(save), None)
    }

    /// Waits until all saves in the background are done.
    ///
    /// # Errors
    ///
    /// Returns the first error since the last call that no [`BackgroundSave::wait`](super::BackgroundSave::wait) has
    /// returned.
    pub fn wait(&self) -> Result<()> {
        self.worker().wait_for_all().map_or(Ok(()), Err)
    }
}

/// Parts that the public calls share.
impl Saves {
    /// Encodes a save in memory under a header.
    fn encode(&self, content: &mut dyn WriteContent, header: &Header) -> Result<Vec<u8>> {
        let prepared = content.prepare(self)?;
        let (compression, limits) = (self.output().options.compression, self.bounds());
        let Scratch { mut buffer, last_sizes: [last, previous] } = self.take_scratch();
        if compression != Compression::None {
            let mut save = Vec::new();
            let mut out = Sealer::new(&mut save, compression, limits);
            let mut sink = Sink { saves: self, header, out: &mut out, buffer: &mut buffer };
            content.write(&prepared, &mut sink)?;
            self.put_scratch(Scratch { buffer, last_sizes: [last, previous] });
            return Ok(save);
        }
        // The smaller of the last two sizes: a single large save does not make later ones reserve its memory.
        let size = last.min(previous);
        if size >= LARGE {
            buffer = Buffer::with_size(size + size / 64);
        }
        let mut out = Sealer::in_place(limits);
        let mut sink = Sink { saves: self, header, out: &mut out, buffer: &mut buffer };
        content.write(&prepared, &mut sink)?;
        let len = buffer.len();
        let (mut save, cleared) = match buffer.take_run() {
            Some(taken) => taken,
            None if len >= LARGE => (mem::take(&mut buffer).into_bytes(), len),
            None => (buffer.pieces(0..len).collect::<Vec<_>>().concat(), len),
        };
        if save.capacity() / 4 > save.len() {
            save.shrink_to_fit();
        }
        self.put_scratch(Scratch { buffer, last_sizes: [cleared, last] });
        Ok(save)
    }

    pub(super) fn load<T: Loadable>(
        &self,
        from: SaveSource<'_>,
        mut remap: Option<&mut Remap<'_>>,
    ) -> Result<Loaded<T>> {
        if let Some(path) = from.path() {
            self.settle(path);
        }
        let read = |save: &[u8]| T::read(self, save, remap.as_deref_mut());
        let (loaded, rescue) = from.read(self.output(), self.loading().policy, read)?;
        let loaded = loaded.rescued(rescue);
        loaded.report().trace(from.path());
        Ok(loaded)
    }

    /// Loads one value without its unknown content and its report, which the caller would not return.
    fn load_value<T: Persist>(&self, from: SaveSource<'_>) -> Result<Box<T>> {
        let read = |save: &[u8]| {
            let prepared = self.register_type::<T>()?;
            Ok(decode(self, &prepared, save, None, false)?.0)
        };
        let (value, rescue) = from.read(self.output(), self.loading().policy, read)?;
        rescue.trace(from.path());
        Ok(value)
    }
}

/// Saves one value to a file, with every object that it points to.
///
/// ```
/// use persist::Persist;
///
/// #[derive(Persist, Debug, PartialEq)]
/// struct Game { level: u32, name: String }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("game.sav");
/// let game = Game { level: 3, name: "Ada".into() };
/// persist::save(&path, &game)?;
/// assert_eq!(persist::load::<Game>(&path)?, game);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// The file is replaced atomically: a crash leaves the old save or the new one. The returned outcome says whether the
/// file was locked against other programs. The save has no metadata and no time; use [`Saves::file`] for these.
///
/// # Errors
///
/// Returns the same errors as [`Slot::save`].
pub fn save(path: impl AsRef<Path>, content: impl Content) -> Result<SaveOutcome> {
    Saves::new().file(path).plain().save(content)
}

/// Loads one value from a file.
///
/// If the file is damaged, its newest good backup is loaded and takes its place, as in [`Slot::load`]. This function
/// does not report that, nor what the load converts or drops. For a report, use [`Saves::file`] and [`Slot::load`].
///
/// # Errors
///
/// Returns the same errors as [`Slot::load`].
pub fn load<T: Persist>(path: impl AsRef<Path>) -> Result<T> {
    unboxed(Saves::new().load_value(SaveSource::File(path.as_ref(), &[])))
}

/// Saves one value or a list of objects into memory.
///
/// # Errors
///
/// Returns the same errors as [`Saves::to_vec`].
pub fn to_vec(content: impl Content) -> Result<Vec<u8>> {
    Saves::new().to_vec(content)
}

/// Loads one value from a save in memory.
///
/// # Errors
///
/// Returns the same errors as [`Saves::from_slice`].
pub fn from_slice<T: Persist>(save: &[u8]) -> Result<T> {
    unboxed(Saves::new().load_value(SaveSource::Memory(save)))
}
