//! A buffered writer swallowed what it could not write when it was dropped.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use persist::storage::{Memory, NewFile, Storage, StoredFile};
use persist::{ErrorKind, Saves};

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file whose `sync` leaves the flush to those who write.
struct Buffered(BufWriter<Full>);

impl Write for Buffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl NewFile for Buffered {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct FullDisk(Memory);

impl Storage for FullDisk {
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        drop(self.0.create(path, like)?);
        Ok(Box::new(Buffered(BufWriter::with_capacity(1 << 20, Full))))
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.0.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.0.sync_folder(folder)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list(folder)
    }
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn std::any::Any + Send>>> {
        self.0.lock(path)
    }
}

#[test]
fn what_a_buffered_writer_cannot_write_is_an_error() {
    let saves = Saves::new().storage(FullDisk(Memory::default()));
    let error = saves.file("game.sav").save(&7_u8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
}
