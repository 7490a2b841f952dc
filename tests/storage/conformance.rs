//! The test of a storage against its contract: the project's own storages pass, and broken ones are found.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use persist::storage::{FileStamp, Files, Memory, NewFile, Storage, StoredFile, conformance};
use tempfile::TempDir;

use super::{Disk, Image, Profile};

/// What a broken storage does wrong. Anything else is done by files in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    CreateReplaces,
    CreateChecksFirst,
    MissingIsDenied,
    OpenCreates,
    FlushLies,
    ReadIsShort,
    ReadEndsEarly,
    SeekIgnoresTheEnd,
    PositionIsShared,
    ReaderSeesTheNewFile,
    RenameCopies,
    RenameRefusesATakenName,
    RenameLeavesTheWriter,
    FailedRenameRemoves,
    LinkReplaces,
    RemoveDoesNothing,
    ListHasTheFolder,
    ListHasAllFolders,
    AppendKeepsTheRest,
    TruncateDoesNothing,
    LockExcludesNobody,
    LockIsNeverReleased,
    LockOfAKilledProgramHolds,
    FileLockIsOfTheName,
    ResolveDependsOnTheFile,
    StampNeverChanges,
    StampAlwaysChanges,
    NamesAreCut,
    NamesAreAscii,
    FilesAreSmall,
    LargeFilesAreDamaged,
    FolderCannotBeFlushed,
    /// Breaks no rule that is tested by itself.
    ABackupIsHidden,
}

/// The faults, and the rule that each breaks; 0 for saves.
const BROKEN: [(Fault, usize); 33] = [
    (Fault::CreateReplaces, 1),
    (Fault::CreateChecksFirst, 23),
    (Fault::MissingIsDenied, 2),
    (Fault::OpenCreates, 2),
    (Fault::FlushLies, 4),
    (Fault::ReadIsShort, 5),
    (Fault::ReadEndsEarly, 5),
    (Fault::SeekIgnoresTheEnd, 6),
    (Fault::PositionIsShared, 7),
    (Fault::ReaderSeesTheNewFile, 8),
    (Fault::RenameCopies, 9),
    (Fault::RenameRefusesATakenName, 9),
    (Fault::RenameLeavesTheWriter, 10),
    (Fault::FailedRenameRemoves, 11),
    (Fault::LinkReplaces, 12),
    (Fault::RemoveDoesNothing, 13),
    (Fault::ListHasTheFolder, 14),
    (Fault::ListHasAllFolders, 14),
    (Fault::AppendKeepsTheRest, 15),
    (Fault::TruncateDoesNothing, 16),
    (Fault::LockExcludesNobody, 17),
    (Fault::LockIsNeverReleased, 17),
    (Fault::LockOfAKilledProgramHolds, 17),
    (Fault::FileLockIsOfTheName, 18),
    (Fault::ResolveDependsOnTheFile, 19),
    (Fault::StampNeverChanges, 20),
    (Fault::StampAlwaysChanges, 20),
    (Fault::NamesAreCut, 21),
    (Fault::NamesAreAscii, 21),
    (Fault::FilesAreSmall, 22),
    (Fault::LargeFilesAreDamaged, 24),
    (Fault::FolderCannotBeFlushed, 25),
    (Fault::ABackupIsHidden, 0),
];

#[derive(Clone)]
struct Broken {
    fault: Fault,
    files: Arc<dyn Storage>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    folders: BTreeSet<PathBuf>,
    locked: BTreeSet<PathBuf>,
    opened: Option<(PathBuf, Weak<Content>)>,
    stamps: u64,
}

impl Broken {
    fn new(fault: Fault) -> Self {
        Self { fault, files: Arc::new(Memory::default()), state: Arc::default() }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// The name under which a file is stored.
    fn at(&self, path: &Path) -> PathBuf {
        let name = path.to_str().unwrap();
        match self.fault {
            Fault::NamesAreCut => name.chars().take(64).collect::<String>().into(),
            Fault::NamesAreAscii => name.replace(|c: char| !c.is_ascii(), "_").into(),
            _ => path.to_owned(),
        }
    }

    fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.files.open(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The bytes of an open file, and the position in them.
type Content = Mutex<Cursor<Vec<u8>>>;

struct BrokenReader {
    storage: Broken,
    path: PathBuf,
    file: Arc<Content>,
    reads: usize,
}

impl Read for BrokenReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        let mut file = self.file.lock().unwrap();
        match self.storage.fault {
            Fault::ReadEndsEarly if self.reads.is_multiple_of(3) => return Ok(0),
            Fault::ReaderSeesTheNewFile => *file.get_mut() = self.storage.bytes(&self.path)?,
            _ => {}
        }
        file.read(into)
    }
}

impl Seek for BrokenReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::End(_) if self.storage.has(Fault::SeekIgnoresTheEnd) => SeekFrom::Start(0),
            to => to,
        };
        self.file.lock().unwrap().seek(to)
    }
}

struct BrokenWriter {
    storage: Broken,
    path: PathBuf,
    file: Box<dyn NewFile>,
    buffer: Vec<u8>,
    length: usize,
}

impl Write for BrokenWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length += bytes.len();
        match self.storage.fault {
            Fault::FilesAreSmall if self.length > 1 << 20 => {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Fault::FlushLies => {
                self.buffer.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            Fault::RenameLeavesTheWriter => {
                let length = self.storage.bytes(&self.path)?.len();
                self.file = self.storage.files.append(&self.path, length as u64)?;
            }
            _ => {}
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl NewFile for BrokenWriter {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        if self.storage.has(Fault::TruncateDoesNothing) {
            return Ok(());
        }
        self.file.truncate(length)
    }
}

impl Drop for BrokenWriter {
    fn drop(&mut self) {
        self.file.write_all(&self.buffer).unwrap();
    }
}

/// A lock of a name in the state of a broken storage.
struct NameLock(Broken, PathBuf);

impl Drop for NameLock {
    fn drop(&mut self) {
        self.0.state.lock().unwrap().locked.remove(&self.1);
    }
}

impl Storage for Broken {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        let path = &*self.at(path);
        if self.has(Fault::OpenCreates) {
            let _ = self.files.create(path, path);
        }
        let mut bytes = self.bytes(path).map_err(|error| {
            let is_denied = self.has(Fault::MissingIsDenied);
            if is_denied { io::ErrorKind::PermissionDenied.into() } else { error }
        })?;
        if self.has(Fault::LargeFilesAreDamaged) && bytes.len() > 1 << 20 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if self.has(Fault::ReadIsShort) {
            bytes.pop();
        }
        let mut state = self.state.lock().unwrap();
        let opened = state.opened.take().filter(|(of, _)| of == path);
        let opened = opened.and_then(|(_, file)| file.upgrade());
        let shared = opened.filter(|_| self.has(Fault::PositionIsShared));
        let file = shared.unwrap_or_else(|| Arc::new(Mutex::new(Cursor::new(bytes))));
        state.opened = Some((path.to_owned(), Arc::downgrade(&file)));
        drop(state);
        Ok(Box::new(BrokenReader { storage: self.clone(), path: path.to_owned(), file, reads: 0 }))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        let path = &*self.at(path);
        if self.has(Fault::CreateReplaces) {
            let _ = self.files.remove(path);
        }
        if self.has(Fault::CreateChecksFirst) && self.files.open(path).is_err() {
            thread::sleep(Duration::from_millis(1));
            let _ = self.files.remove(path);
        }
        let file = self.files.create(path, like)?;
        let folder = path.parent().unwrap().to_owned();
        self.state.lock().unwrap().folders.insert(folder);
        let (storage, path) = (self.clone(), path.to_owned());
        Ok(Box::new(BrokenWriter { storage, path, file, buffer: Vec::new(), length: 0 }))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        let path = &*self.at(path);
        if self.has(Fault::AppendKeepsTheRest) {
            return self.files.append(path, self.bytes(path)?.len() as u64);
        }
        self.files.append(path, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (&*self.at(from), &*self.at(to));
        match self.fault {
            Fault::RenameCopies => {
                let bytes = self.bytes(from)?;
                let _ = self.files.remove(to);
                return self.files.create(to, to)?.write_all(&bytes);
            }
            Fault::RenameRefusesATakenName if self.files.open(to).is_ok() => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Fault::FailedRenameRemoves if self.files.open(from).is_err() => {
                let _ = self.files.remove(to);
            }
            _ => {}
        }
        self.files.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (&*self.at(from), &*self.at(to));
        if self.has(Fault::LinkReplaces) && self.files.open(from).is_ok() {
            let _ = self.files.remove(to);
        }
        self.files.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let path = &*self.at(path);
        if self.has(Fault::RemoveDoesNothing) {
            return self.files.open(path).map(drop);
        }
        self.files.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        if self.has(Fault::FolderCannotBeFlushed) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.files.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut names = self.files.list(folder)?;
        match self.fault {
            Fault::ListHasTheFolder => {
                names.iter_mut().for_each(|name| *name = folder.join(&*name));
            }
            Fault::ListHasAllFolders => {
                for other in &self.state.lock().unwrap().folders {
                    if !other.as_os_str().is_empty() && other != folder {
                        names.extend(self.files.list(other)?);
                    }
                }
            }
            Fault::ABackupIsHidden => names.retain(|name| name != Path::new("quick.sav.bak")),
            _ => {}
        }
        Ok(names)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        match self.fault {
            Fault::LockExcludesNobody => Ok(Some(Box::new(()))),
            Fault::LockIsNeverReleased => {
                let lock = self.files.lock(path)?;
                Ok(lock.map(|lock| {
                    std::mem::forget(lock);
                    Box::new(()) as Box<dyn Any + Send>
                }))
            }
            Fault::LockOfAKilledProgramHolds if self.files.open(path).is_ok() => Ok(None),
            _ => self.files.lock(path),
        }
    }

    fn lock_file(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        if !self.has(Fault::FileLockIsOfTheName) {
            return self.files.lock_file(path);
        }
        self.files.open(path)?;
        let is_free = self.state.lock().unwrap().locked.insert(path.to_owned());
        let lock = || Box::new(NameLock(self.clone(), path.to_owned())) as Box<dyn Any + Send>;
        Ok(is_free.then(lock))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        if self.has(Fault::ResolveDependsOnTheFile) && self.files.open(path).is_err() {
            return Ok(Path::new("missing").join(path));
        }
        self.files.resolve(path)
    }

    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        let stamp = self.files.stamp(&self.at(path));
        match self.fault {
            Fault::StampNeverChanges => stamp.map(|_| FileStamp::from_bytes(b"")),
            Fault::StampAlwaysChanges => stamp.map(|_| {
                let mut state = self.state.lock().unwrap();
                state.stamps += 1;
                FileStamp::from_bytes(&state.stamps.to_le_bytes())
            }),
            Fault::MissingIsDenied => stamp.map_err(|_| io::ErrorKind::PermissionDenied.into()),
            _ => stamp,
        }
    }
}

/// Files of the system, in a folder that is removed with it.
struct Below {
    folder: TempDir,
    files: Files,
}

impl Below {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), files: Files }
    }

    fn at(&self, path: &Path) -> PathBuf {
        self.folder.path().join(path)
    }
}

impl Storage for Below {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.files.open(&self.at(path))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.files.create(&self.at(path), &self.at(like))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        self.files.append(&self.at(path), length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(&self.at(from), &self.at(to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.link(&self.at(from), &self.at(to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files.remove(&self.at(path))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.files.sync_folder(&self.at(folder))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.files.list(&self.at(folder))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.files.lock(&self.at(path))
    }

    fn lock_file(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.files.lock_file(&self.at(path))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.resolve(&self.at(path))
    }

    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        self.files.stamp(&self.at(path))
    }
}

#[test]
fn files_keep_the_contract() {
    conformance(Below::new);
}

#[test]
fn files_in_folders_keep_the_contract() {
    conformance(|| {
        let below = Below::new();
        std::fs::create_dir(below.at(Path::new("folder"))).unwrap();
        below
    });
}

#[test]
fn memory_keeps_the_contract_which_takes_no_time() {
    let start = Instant::now();
    conformance(Memory::default);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_storage_that_passes_all_calls_on_keeps_the_contract() {
    conformance(|| Broken::new(Fault::None));
}

#[test]
fn the_disks_of_the_tests_keep_the_contract() {
    for profile in Profile::ALL {
        conformance(|| Disk::like(profile, Image::new()));
    }
}

/// What the test says about a broken storage.
fn report(fault: Fault) -> String {
    let run = || conformance(|| Broken::new(fault));
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn broken_storages_are_found_with_the_rule_that_they_break() {
    let mut found = String::new();
    for (fault, rule) in BROKEN {
        let report = report(fault);
        let start = if rule == 0 { String::from("saves, ") } else { format!("rule {rule}: ") };
        let part = report.split("\n\n").find(|part| part.starts_with(&start));
        let part = part.unwrap_or_else(|| panic!("{fault:?}: {report}"));
        let _ = writeln!(found, "{fault:?}\n{part}\n");
    }
    insta::assert_snapshot!(found);
}

#[test]
fn a_report_lists_all_broken_rules_unless_files_cannot_be_read_and_written() {
    insta::assert_snapshot!("some_rules", report(Fault::RenameRefusesATakenName));
    insta::assert_snapshot!("a_basic_rule", report(Fault::ReadIsShort));
}
