//! Storages of a program's own: what they report by the kind of an error.

use std::any::Any;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use persist::history::History;
use persist::storage::{Memory, NewFile, SlotFolder, SlotStore, Storage, StoredFile};
use persist::{ErrorKind, Persist, SaveOptions, Saves, Session};

use super::{Game, SAVE, game, path};

/// Files in memory, some of which are damaged, and calls that fail a number of times.
#[derive(Clone, Default)]
pub(crate) struct Own {
    files: Memory,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    /// The call that fails, how often, and by which kind.
    fails: Option<(&'static str, usize, io::ErrorKind)>,
    /// Files that this call finds damaged.
    damaged: Option<(&'static str, Vec<PathBuf>)>,
    has_one_name: bool,
    calls: Vec<(&'static str, PathBuf)>,
}

impl Own {
    pub(crate) fn with_one_name(has_one_name: bool) -> Self {
        let own = Self::default();
        own.script.lock().unwrap().has_one_name = has_one_name;
        own
    }

    fn fail(&self, call: &'static str, times: usize, kind: io::ErrorKind) {
        let mut script = self.script.lock().unwrap();
        script.fails = Some((call, times, kind));
        script.calls.clear();
    }

    fn damage(&self, call: &'static str, names: &[&str]) {
        let names = names.iter().map(PathBuf::from).collect();
        self.script.lock().unwrap().damaged = Some((call, names));
    }

    fn calls(&self, call: &str) -> usize {
        self.script.lock().unwrap().calls.iter().filter(|(name, _)| *name == call).count()
    }

    fn step(&self, call: &'static str, path: &Path) -> io::Result<()> {
        let mut script = self.script.lock().unwrap();
        script.calls.push((call, path.to_owned()));
        if let Some((name, times, kind)) = &mut script.fails
            && *name == call
            && *times > 0
        {
            *times -= 1;
            return Err((*kind).into());
        }
        let is_damaged = script
            .damaged
            .as_ref()
            .is_some_and(|(name, files)| *name == call && files.iter().any(|file| file == path));
        if is_damaged {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the seal is broken"))
        } else {
            Ok(())
        }
    }

    fn names(&self) -> Vec<String> {
        let names = self.files.list(Path::new(".")).unwrap().into_iter();
        names.map(|name| name.display().to_string()).collect()
    }
}

struct OwnFile<F>(Own, PathBuf, F);

impl Read for OwnFile<Box<dyn StoredFile>> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.step("read", &self.1)?;
        self.2.read(into)
    }
}

impl Seek for OwnFile<Box<dyn StoredFile>> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.step("seek", &self.1)?;
        self.2.seek(to)
    }
}

impl Write for OwnFile<Box<dyn NewFile>> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.step("write", &self.1)?;
        self.2.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for OwnFile<Box<dyn NewFile>> {
    fn sync(&mut self) -> io::Result<()> {
        self.0.step("sync", &self.1)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.step("truncate", &self.1)?;
        self.2.truncate(length)
    }
}

impl Storage for Own {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        let file = self.files.open(path)?;
        self.step("open", path)?;
        Ok(Box::new(OwnFile(self.clone(), path.to_owned(), file)))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.step("create", path)?;
        let file = self.files.create(path, like)?;
        Ok(Box::new(OwnFile(self.clone(), path.to_owned(), file)))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        self.step("append", path)?;
        let file = self.files.append(path, length)?;
        Ok(Box::new(OwnFile(self.clone(), path.to_owned(), file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename", to)?;
        self.files.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.script.lock().unwrap().has_one_name {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.step("link", to)?;
        self.files.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step("remove", path)?;
        self.files.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step("sync_folder", folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.step("list", folder)?;
        self.files.list(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.step("lock", path)?;
        self.files.lock(path)
    }

    fn lock_file(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.step("lock_file", path)?;
        self.files.lock_file(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.step("resolve", path)?;
        Ok(path.to_owned())
    }
}

fn saves(storage: &Own) -> Saves {
    Saves::new().storage(storage.clone())
}

#[test]
fn a_file_that_the_storage_calls_damaged_is_kept_and_replaced_by_its_backup() {
    for call in ["open", "read", "seek"] {
        for has_one_name in [false, true] {
            let what = format!("{call}, one name: {has_one_name}");
            let own = Own::with_one_name(has_one_name);
            for level in 1..=2 {
                saves(&own).file(SAVE).save(&game(level)).unwrap();
            }
            own.damage(call, &[SAVE]);
            let loaded = saves(&own).file(SAVE).load::<Game>().unwrap();
            assert_eq!(*loaded, game(1), "{what}");
            let recovery = loaded.report().recovery().unwrap();
            assert_eq!(recovery.damaged, Some(path("game.sav.damaged")), "{what}");
            assert!(recovery.cause.contains("the seal is broken"), "{what}: {}", recovery.cause);
            own.damage(call, &[]);
            assert_eq!(own.names(), ["game.sav", "game.sav.bak", "game.sav.damaged"], "{what}");
            let kept = saves(&own).file("game.sav.damaged").load::<Game>().unwrap().into_inner();
            assert_eq!(kept, game(2), "{what}");
            assert_eq!(
                saves(&own).file(SAVE).load::<Game>().unwrap().into_inner(),
                game(1),
                "{what}"
            );
        }
    }
}

#[test]
fn a_save_in_the_place_of_a_file_that_the_storage_calls_damaged_keeps_it() {
    for has_one_name in [false, true] {
        let own = Own::with_one_name(has_one_name);
        saves(&own).file(SAVE).save(&game(1)).unwrap();
        own.damage("open", &[SAVE, ".game.sav.old"]);
        saves(&own).file(SAVE).save(&game(2)).unwrap();
        own.damage("open", &[]);
        assert_eq!(own.names(), ["game.sav", "game.sav.damaged"]);
        assert_eq!(saves(&own).file(SAVE).load::<Game>().unwrap().into_inner(), game(2));
    }
}

#[test]
fn a_slot_that_the_storage_calls_damaged_is_listed_with_its_backup_and_got() {
    let own = Own::default();
    for level in 1..=2 {
        saves(&own).slots(".").slot("a").save(&game(level)).unwrap();
    }
    own.damage("open", &["./a.sav"]);
    let list = saves(&own).slots(".").list().unwrap();
    assert!(matches!(&list[0].health, persist::save::Health::Damaged(_)), "{:?}", list[0].health);
    assert_eq!(list[0].good_backup, Some(path("./a.sav.bak")));
    let (save, _) = SlotFolder::new(own, ".").get("a").unwrap().unwrap();
    assert_eq!(persist::from_slice::<Game>(&save).unwrap(), game(1));
}

#[test]
fn a_file_that_the_storage_calls_damaged_and_has_no_backup_is_named() {
    let own = Own::default();
    saves(&own).file(SAVE).save(&game(1)).unwrap();
    own.damage("read", &[SAVE]);
    let error = saves(&own).file(SAVE).load::<Game>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    insta::assert_snapshot!(error, @"game.sav cannot be loaded, cannot read game.sav: the seal is broken; it has no backup");
    // Nobody who writes can know that.
    own.damage("create", &[".game.sav.tmp"]);
    let error = saves(&own).file(SAVE).save(&game(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    insta::assert_snapshot!(error, @"cannot create a temporary file beside game.sav: the seal is broken");
}

#[derive(Persist, Default)]
struct Count {
    steps: u32,
}

/// Every call of a storage that a session with its saves and slots makes.
fn play(own: &Own) -> persist::Result<u32> {
    let program = saves(own);
    let slots = program.slots(".");
    for level in 1..=3 {
        slots.slot("a").save(&game(level))?;
    }
    slots.rename("a", "b")?;
    let found = slots.slot("b").load::<Game>()?.into_inner();
    assert_eq!(found, game(3));
    slots.list()?;
    slots.slot("b").delete()?;
    let open = || Session::<Count>::with(saves(own), History::new(8)).open("p.sav", "p.journal");
    let (mut session, _) = open()?;
    session.edit("one", |count| {
        count.steps += 1;
        Ok(())
    })?;
    session.save()?;
    session.edit("two", |count| {
        count.steps += 1;
        Ok(())
    })?;
    drop(session);
    let (mut session, _) = open()?;
    session.edit("three", |count| {
        count.steps += 1;
        Ok(())
    })?;
    Ok(session.target().steps)
}

/// Of those, the calls that must not fail.
const CALLS: [&str; 13] = [
    "open",
    "read",
    "seek",
    "list",
    "resolve",
    "create",
    "append",
    "write",
    "rename",
    "remove",
    "lock",
    "lock_file",
    "sync_folder",
];

const TRY_AGAIN: [io::ErrorKind; 3] =
    [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut, io::ErrorKind::StaleNetworkFileHandle];

#[test]
fn every_call_that_says_try_again_is_repeated_three_times() {
    for (call, kind) in CALLS.iter().zip(TRY_AGAIN.iter().cycle()) {
        let own = Own::default();
        own.fail(call, 3, *kind);
        assert_eq!(play(&own).unwrap_or_else(|error| panic!("{call}, {kind}: {error}")), 3);
        assert!(own.calls(call) > 3, "{call} was not called");
    }
    for kind in TRY_AGAIN {
        let own = Own::default();
        own.fail("create", 3, kind);
        saves(&own).file(SAVE).save(&game(1)).unwrap();
        own.fail("create", 4, kind);
        let error = saves(&own).file(SAVE).save(&game(2)).unwrap_err();
        assert_eq!((error.kind(), own.calls("create")), (ErrorKind::Io, 4), "{kind}");
        assert_eq!(saves(&own).file(SAVE).load::<Game>().unwrap().into_inner(), game(1));
    }
}

/// A virus scanner holds a fresh file for longer than a disk fails for a moment.
#[test]
fn a_call_on_a_file_that_is_held_is_repeated_for_as_long_as_a_save_may_wait() {
    for call in CALLS {
        let own = Own::default();
        own.fail(call, 8, io::ErrorKind::ResourceBusy);
        assert_eq!(play(&own).unwrap_or_else(|error| panic!("{call}: {error}")), 3);
        assert!(own.calls(call) > 8, "{call} was not called");
    }
    for (wait, calls) in [(0, 1), (30, 6)] {
        let own = Own::default();
        let options = SaveOptions::DEFAULT.wait(Duration::from_millis(wait));
        let saves = saves(&own).save_options(options);
        saves.file(SAVE).save(&game(1)).unwrap();
        own.fail("create", usize::MAX, io::ErrorKind::ResourceBusy);
        let error = saves.file(SAVE).save(&game(2)).unwrap_err();
        assert_eq!((error.kind(), own.calls("create")), (ErrorKind::Io, calls), "{wait} ms");
        own.fail("create", 0, io::ErrorKind::ResourceBusy);
        assert_eq!(saves.file(SAVE).load::<Game>().unwrap().into_inner(), game(1));
        // The options of a store of slots count as well.
        let slots = SlotFolder::new(own.clone(), "saves").options(options);
        own.fail("create", usize::MAX, io::ErrorKind::ResourceBusy);
        let save = persist::to_vec(&game(1)).unwrap();
        assert_eq!(slots.put_if("Ada", None, &save).unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(own.calls("create"), calls, "{wait} ms");
    }
}

#[test]
fn a_link_that_says_try_again_is_repeated_so_that_the_save_is_never_without_a_name() {
    let own = Own::default();
    saves(&own).file(SAVE).save(&game(1)).unwrap();
    own.fail("link", 3, io::ErrorKind::TimedOut);
    saves(&own).file(SAVE).save(&game(2)).unwrap();
    assert_eq!(own.calls("link"), 4);
}

#[test]
fn a_flush_is_not_repeated_whatever_it_says() {
    for kind in TRY_AGAIN.into_iter().chain([io::ErrorKind::Interrupted]) {
        let own = Own::default();
        saves(&own).file(SAVE).save(&game(1)).unwrap();
        own.fail("sync", 1, kind);
        let error = saves(&own).file(SAVE).save(&game(2)).unwrap_err();
        assert_eq!((error.kind(), own.calls("sync")), (ErrorKind::Io, 1), "{kind}");
        assert_eq!(own.names(), [SAVE]);
    }
}

#[test]
fn an_error_of_the_programs_own_reading_has_the_kind_that_the_library_gives_it() {
    let kind = |kind: io::ErrorKind| persist::Error::from(io::Error::from(kind)).kind();
    assert_eq!(kind(io::ErrorKind::StorageFull), ErrorKind::NoSpace);
    assert_eq!(kind(io::ErrorKind::InvalidData), ErrorKind::Damaged);
    assert_eq!(kind(io::ErrorKind::NotFound), ErrorKind::NotFound);
    assert_eq!(kind(io::ErrorKind::PermissionDenied), ErrorKind::Io);
    let damage = [ErrorKind::NotASave, ErrorKind::Truncated, ErrorKind::Damaged];
    assert!(damage.iter().all(|kind| kind.is_damage()) && !ErrorKind::Io.is_damage());
}

#[test]
fn the_clock_of_a_storage_is_that_of_the_system_by_default() {
    let before = std::time::SystemTime::now();
    assert!(Own::default().now().unwrap() >= before);
    assert!(Memory::default().now().unwrap() >= before);
}

/// A stamp is asked for before every edit of a session.
fn stamps(storage: &dyn Storage, folder: &Path) {
    let [file, second, third] = ["a", "b", "c"].map(|name| folder.join(name));
    let write = |path: &Path, bytes: &[u8]| {
        let mut new = storage.create(path, path).unwrap();
        new.write_all(bytes).unwrap();
        new.sync().unwrap();
    };
    assert_eq!(storage.stamp(&file).unwrap_err().kind(), io::ErrorKind::NotFound);
    write(&file, b"one");
    let first = storage.stamp(&file).unwrap();
    assert_eq!(storage.stamp(&file).unwrap(), first);
    // A backup is a second name of the file.
    storage.link(&file, &second).unwrap();
    assert_eq!(storage.stamp(&file).unwrap(), first);
    write(&third, b"two");
    let next = storage.stamp(&third).unwrap();
    storage.rename(&third, &file).unwrap();
    assert_eq!(storage.stamp(&file).unwrap(), next);
    assert_ne!(next, first);
    storage.append(&file, 3).unwrap().write_all(b"and more").unwrap();
    assert_ne!(storage.stamp(&file).unwrap(), next);
}

#[test]
fn a_stamp_changes_with_the_file_and_not_with_its_names() {
    let folder = tempfile::tempdir().unwrap();
    stamps(&persist::storage::Files, folder.path());
    stamps(&Memory::default(), Path::new("saves"));
    stamps(&Own::default(), Path::new("saves"));
    stamps(&super::Disk::new(super::Image::new()), Path::new("saves"));
}
