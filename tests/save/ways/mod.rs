//! Laws that hold in every way to save: now and in the background, at a path, in a slot, a rotation and a store, by a
//! storage of the program's own.

mod content;
mod events;
mod info;
mod no_content;
mod parts;
mod shapes;
mod unknown;
mod validated;

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use persist::save::{Content, Slot, SlotInfo};
use persist::storage::{Memory, NewFile, SlotFolder, Storage, StoredFile};
use persist::{Error, Result, Saves};

/// A storage of the program's own, which counts the calls that change something.
#[derive(Clone, Default)]
struct Counting {
    files: Memory,
    changes: Arc<AtomicUsize>,
}

impl Counting {
    fn changes(&self) -> usize {
        self.changes.load(Ordering::SeqCst)
    }

    fn count(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The bytes of every file.
    fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let names = self.files.list(Path::new("saves")).expect("a folder").into_iter();
        let read = |name: PathBuf| {
            let mut bytes = Vec::new();
            let mut file = self.files.open(&Path::new("saves").join(&name)).expect("a file");
            file.read_to_end(&mut bytes).expect("it is in memory");
            (name, bytes)
        };
        names.map(read).collect()
    }
}

impl Storage for Counting {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.files.open(path)
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.count();
        self.files.create(path, like)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.count();
        self.files.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.count();
        self.files.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.count();
        self.files.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.files.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.files.list(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.files.lock(path)
    }
}

/// The places of one storage, each with a good save and a backup.
fn places(saves: &Saves, storage: &Counting) -> Vec<(&'static str, Slot)> {
    let store = SlotFolder::new(storage.clone(), "saves");
    let places = vec![
        ("a path", saves.file("saves/path.sav")),
        ("a slot", saves.slots("saves").slot("Ada's farm")),
        ("a rotation", saves.slots("saves").auto(1)),
        ("a store", saves.store(Arc::new(store)).slot("stored")),
    ];
    for (name, place) in &places {
        for number in [1_u32, 2] {
            place.save(&number).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    places
}

/// Refuses to save content in every way, and changes nothing.
///
/// Returns the errors.
fn refused<C: Content>(
    saves: &Saves,
    storage: &Counting,
    touches_nothing: bool,
    mut content: impl FnMut() -> C,
) -> Vec<Error> {
    let places = places(saves, storage);
    let (before, mut errors) = (storage.snapshot(), Vec::new());
    let changes = storage.changes();
    for (name, place) in &places {
        let named = place.clone().info(SlotInfo::new("another title")).backups(0);
        let ways: [(&str, Result<()>); 3] = [
            ("now", place.save(content()).map(drop)),
            ("with an info", named.save(content()).map(drop)),
            ("in the background", place.save_in_background(content()).map(drop)),
        ];
        for (way, result) in ways {
            errors.push(result.err().unwrap_or_else(|| panic!("{name}, {way}: it was saved")));
        }
    }
    saves.wait().expect("nothing was to be written");
    errors.push(saves.to_vec(content()).expect_err("it was saved in memory"));
    errors.push(persist::to_vec(content()).expect_err("it was saved by the function"));
    assert_eq!(storage.snapshot(), before, "a file has changed");
    if touches_nothing {
        assert_eq!(storage.changes(), changes, "a file was touched");
    }
    for (name, place) in &places {
        assert_eq!(*place.load::<u32>().unwrap_or_else(|error| panic!("{name}: {error}")), 2);
    }
    errors
}
