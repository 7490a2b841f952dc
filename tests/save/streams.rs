//! A save goes out in blocks: no more than a block and the largest record is held.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use persist::Saves;
use persist::storage::{Memory, NewFile, Storage, StoredFile};

/// Remembers the most that it was given at once, and how much that was together.
#[derive(Clone, Default)]
struct Pieces {
    files: Memory,
    largest: Arc<AtomicUsize>,
    whole: Arc<AtomicUsize>,
}

struct InPieces(Box<dyn NewFile>, Pieces);

impl Write for InPieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.largest.fetch_max(bytes.len(), Ordering::Relaxed);
        self.1.whole.fetch_add(bytes.len(), Ordering::Relaxed);
        self.0.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl NewFile for InPieces {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }
}

impl Storage for Pieces {
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        Ok(Box::new(InPieces(self.files.create(path, like)?, self.clone())))
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.files.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files.remove(path)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.files.sync_folder(folder)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.files.list(folder)
    }
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn std::any::Any + Send>>> {
        self.files.lock(path)
    }
}

#[test]
fn a_save_is_streamed_in_blocks() {
    let pieces = Pieces::default();
    let mut manager = Saves::new().storage(pieces.clone()).manager();
    for i in 0..1000 {
        manager.add(&Rc::new(RefCell::new(vec![i; 100]))).unwrap();
    }
    manager.save("game.sav").unwrap();
    let [largest, whole] = [&pieces.largest, &pieces.whole].map(|n| n.load(Ordering::Relaxed));
    assert!(whole > 400_000 && largest < 70_000, "{whole}, {largest}");
    assert_eq!(manager.load("game.sav").unwrap().len(), 1000);
}
