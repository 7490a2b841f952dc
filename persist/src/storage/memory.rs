use std::collections::HashMap;
use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{NewFile, Storage, StorageLock, StoredFile, folder_of};
use crate::platform::held;
use crate::sorting::sort;

/// Files in memory, for tests and for platforms without files. Clones share them.
///
/// # Example
///
/// ```
/// use persist::SaveManager;
/// use persist::storage::Memory;
///
/// let mut saves = SaveManager::new();
/// saves.set_storage(Memory::default());
/// saves.save_value("game.sav", &7_u32)?;
/// assert_eq!(saves.load_value::<u32>("game.sav")?.0, 7);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<MemoryState>>);

#[derive(Debug, Default)]
struct MemoryState {
    files: HashMap<PathBuf, Arc<Mutex<Vec<u8>>>>,
    locked: Vec<PathBuf>,
}

impl Memory {
    fn file(&self, path: &Path) -> io::Result<Arc<Mutex<Vec<u8>>>> {
        held(&self.0).files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        held(&self.0).extend_from_slice(bytes);
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
        held(&self.0).truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }
}

struct MemoryLock(Memory, PathBuf);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        held(&self.0.0).locked.retain(|path| *path != self.1);
    }
}

impl Storage for Memory {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        let bytes = held(&*self.file(path)?).clone();
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn create(&self, path: &Path, _: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut inner = held(&self.0);
        if inner.files.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let bytes = Arc::default();
        inner.files.insert(path.to_owned(), Arc::clone(&bytes));
        Ok(Box::new(MemoryFile(bytes)))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        let mut file = MemoryFile(self.file(path)?);
        if (held(&file.0).len() as u64) < length {
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
        let locked = &mut held(&self.0).locked;
        if locked.iter().any(|other| other == path) {
            return Ok(None);
        }
        locked.push(path.to_owned());
        Ok(Some(Box::new(MemoryLock(self.clone(), path.to_owned()))))
    }
}
