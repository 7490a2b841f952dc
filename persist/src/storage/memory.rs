//! [`Memory`]: files in memory, for tests.

use std::collections::HashMap;
use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{FileStamp, NewFile, Storage, StorageLock, StoredFile, folder_of};
use crate::platform::held;
use crate::sorting::sort;

/// Files in memory, for tests and for platforms without files. Clones share their files.
///
/// # Example
///
/// ```
/// use persist::Saves;
/// use persist::storage::Memory;
///
/// let saves = Saves::new().storage(Memory::default());
/// saves.file("game.sav").save(&7_u32)?;
/// assert_eq!(*saves.file("game.sav").load::<u32>()?, 7);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<MemoryState>>);

#[derive(Debug, Default)]
struct MemoryState {
    files: HashMap<PathBuf, Arc<Mutex<MemoryContent>>>,
    locked: Vec<PathBuf>,
    /// The number of the last file that was created.
    last: u64,
}

#[derive(Debug, Default)]
struct MemoryContent {
    bytes: Vec<u8>,
    /// Identifies the file: each file has its own number.
    number: u64,
    /// Number of changes of the bytes.
    changes: u64,
}

impl MemoryState {
    /// Creates an empty file.
    fn create(&mut self, path: &Path) -> Arc<Mutex<MemoryContent>> {
        self.last += 1;
        let file = MemoryContent { number: self.last, ..MemoryContent::default() };
        let file = Arc::new(Mutex::new(file));
        self.files.insert(path.to_owned(), Arc::clone(&file));
        file
    }
}

impl Memory {
    fn file(&self, path: &Path) -> io::Result<Arc<Mutex<MemoryContent>>> {
        held(&self.0).files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

struct MemoryFile(Arc<Mutex<MemoryContent>>);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut content = held(&self.0);
        content.bytes.extend_from_slice(bytes);
        content.changes += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut content = held(&self.0);
        content.bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        content.changes += 1;
        Ok(())
    }
}

struct MemoryLock(Memory, PathBuf);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut state = held(&self.0.0);
        state.locked.retain(|path| *path != self.1);
        state.files.remove(&self.1);
    }
}

impl Storage for Memory {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        let bytes = held(&*self.file(path)?).bytes.clone();
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn create(&self, path: &Path, _: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut inner = held(&self.0);
        if inner.files.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(Box::new(MemoryFile(inner.create(path))))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        let mut file = MemoryFile(self.file(path)?);
        if (held(&file.0).bytes.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.truncate(length)?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = held(&self.0);
        let file = inner.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        inner.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let file = self.file(from)?;
        let mut inner = held(&self.0);
        if inner.files.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        inner.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        held(&self.0).files.remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let inner = held(&self.0);
        let inside = inner.files.keys().filter(|path| folder_of(path) == folder);
        let mut names: Vec<_> =
            inside.filter_map(|path| path.file_name()).map(PathBuf::from).collect();
        sort(&mut names);
        Ok(names)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<StorageLock>> {
        let mut state = held(&self.0);
        if state.locked.iter().any(|other| other == path) {
            return Ok(None);
        }
        state.locked.push(path.to_owned());
        state.create(path);
        drop(state);
        Ok(Some(Box::new(MemoryLock(self.clone(), path.to_owned()))))
    }

    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        let file = self.file(path)?;
        let content = held(&file);
        let known = [content.number, content.changes].map(u64::to_le_bytes);
        Ok(FileStamp::from_bytes(known.as_flattened()))
    }
}
