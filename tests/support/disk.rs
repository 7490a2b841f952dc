//! A disk in memory that can fail at any operation and be cut off after any.
//!
//! What it assumes of a real one is in its [`Profile`]. On each of them, data of a file reaches the disk in any order, in
//! sectors, and surely only when it is synced.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use persist::storage::{NewFile, Storage, StoredFile};

/// The system's number of an error of a device: EIO, or `ERROR_IO_DEVICE`. Reads are tried again after it.
pub const DEVICE_FAILS: i32 = if cfg!(windows) { 1117 } else { 5 };

/// Stands for a refusal that does not pass, such as EACCES. It is no number of a system: that of Windows is also that of
/// a file that another program has open.
pub const REFUSED: i32 = -1;

/// The system's number of too many open files: EMFILE, or `ERROR_TOO_MANY_OPEN_FILES`.
pub const TOO_MANY_FILES: i32 = if cfg!(windows) { 4 } else { 24 };

/// Bytes that reach a disk whole or not at all.
pub const SECTOR: usize = 512;

/// What a disk is like. Where the documentation of a file system leaves something open, it is the worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// A journal of names, which change in order and whole. The flush of a folder makes them last.
    #[default]
    Ext4,
    /// A journal of names. The flush of a folder does nothing, and that of a file makes last what its journal has up to
    /// there. Another program holds a file for a moment at every third change, and one that was removed.
    Ntfs,
    /// Names last in any order, until the flush of a folder.
    Apfs,
    /// Names last in any order, a file has one of them, and a rename over a file first removes that.
    Fat,
    /// A drive of another machine: no locks, one name for a file, no flush of a folder. Names last in any order. What
    /// another machine has written is seen at the second look.
    Network,
}

impl Profile {
    pub const ALL: [Self; 5] = [Self::Ext4, Self::Ntfs, Self::Apfs, Self::Fat, Self::Network];

    pub fn has_links(self) -> bool {
        !matches!(self, Self::Fat | Self::Network)
    }

    pub fn keeps_order(self) -> bool {
        matches!(self, Self::Ext4 | Self::Ntfs)
    }

    pub fn flushes_folders(self) -> bool {
        !matches!(self, Self::Ntfs | Self::Network)
    }
}

/// The files of a disk by name.
pub type Image = BTreeMap<PathBuf, Vec<u8>>;

/// What goes wrong at an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The operation fails once.
    Once(io::ErrorKind),
    /// It and all later ones fail, as if the program were killed there or the disk gone.
    Ever(io::ErrorKind),
    /// From it on every call of these names fails, and everything else is done: a disk whose driver has given up.
    Calls(&'static [&'static str], io::ErrorKind),
    /// From it on so many calls of these names fail: the system is short of something for a moment.
    Moment(&'static [&'static str], usize, io::ErrorKind),
    /// The next step of this description from it on, such as `rename to game.sav`, is done and fails all the same: the answer
    /// of a network drive is lost.
    Unanswered(&'static str, io::ErrorKind),
    /// A write takes some of its bytes, or is interrupted before it takes any.
    Short,
    /// It and all later ones are interrupted, then take one byte or half of theirs.
    EverShort,
}

#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    profile: Profile,
    /// The content of each file as programs see it, and as it surely is on the disk.
    files: Vec<(Vec<u8>, Vec<u8>)>,
    names: BTreeMap<PathBuf, usize>,
    /// The names as they surely are on the disk.
    lasting: BTreeMap<PathBuf, usize>,
    /// What may have reached the disk since: the names after each change, and the changes.
    name_steps: Vec<BTreeMap<PathBuf, usize>>,
    name_changes: Vec<NameChange>,
    writes: Vec<Written>,
    locked: BTreeSet<PathBuf>,
    operations: usize,
    fault: Option<(usize, Fault)>,
    has_fired: bool,
    was_interrupted: bool,
    /// The last change was refused, since another program held the file.
    was_held: bool,
    /// Files that were removed while another program held them: their names are free a moment later.
    pending: BTreeSet<PathBuf>,
    /// The content that a file had before another machine wrote it, for the next look.
    stale: BTreeMap<PathBuf, Vec<u8>>,
    has_no_links: bool,
    has_no_locks: bool,
    /// Bytes that may still be written, if there is a limit.
    room: Option<usize>,
    /// How often opens of a file still fail, with which number of the system.
    unreadable: BTreeMap<PathBuf, (usize, i32)>,
    /// Reads of a file that is open fail with this number of the system.
    unread: BTreeMap<PathBuf, i32>,
    /// What another program puts there after a step.
    meanwhile: Option<(String, PathBuf, Vec<u8>)>,
    is_read_only: bool,
    /// Taken after each operation, if they are wanted.
    cuts: Option<Vec<Cut>>,
    log: Vec<String>,
}

/// A name that a file gets, and one that it or another loses.
#[derive(Clone)]
struct NameChange {
    given: Option<(PathBuf, usize)>,
    taken: Option<PathBuf>,
}

#[derive(Clone)]
struct Written {
    file: usize,
    at: usize,
    bytes: Vec<u8>,
}

/// A moment at which the power may go.
#[derive(Clone)]
pub struct Cut {
    files: Vec<Vec<u8>>,
    names: Vec<BTreeMap<PathBuf, usize>>,
    name_changes: Vec<NameChange>,
    writes: Vec<Written>,
    profile: Profile,
    /// What was done last.
    pub after: String,
}

impl Disk {
    pub fn new(image: Image) -> Self {
        let disk = Self::default();
        let mut state = disk.state();
        for (name, bytes) in image {
            let file = state.files.len();
            state.files.push((bytes.clone(), bytes));
            state.names.insert(name.clone(), file);
            state.lasting.insert(name, file);
        }
        drop(state);
        disk
    }

    pub fn like(profile: Profile, image: Image) -> Self {
        let disk = Self::new(image);
        let mut state = disk.state();
        state.profile = profile;
        state.has_no_links = !profile.has_links();
        state.has_no_locks = profile == Profile::Network;
        drop(state);
        disk
    }

    pub fn profile(&self) -> Profile {
        self.state().profile
    }

    /// Puts a file there, as another program does.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut state = self.state();
        if state.profile == Profile::Network
            && let Some(file) = state.names.get(Path::new(name)).copied()
        {
            let old = state.files[file].0.clone();
            state.stale.insert(PathBuf::from(name), old);
        }
        let file = state.files.len();
        state.files.push((bytes.to_vec(), bytes.to_vec()));
        state.names.insert(PathBuf::from(name), file);
        state.lasting.insert(PathBuf::from(name), file);
    }

    /// One on which a file has one name.
    pub fn without_links(image: Image) -> Self {
        let disk = Self::new(image);
        disk.state().has_no_links = true;
        disk
    }

    /// Lets this many opens of a file fail with an error number of the system.
    pub fn fail_opens(&self, name: &str, times: usize, code: i32) {
        self.state().unreadable.insert(PathBuf::from(name), (times, code));
    }

    /// Lets all reads of a file fail, which can be opened.
    pub fn fail_reads(&self, name: &str, code: i32) {
        self.state().unread.insert(PathBuf::from(name), code);
    }

    /// Lets another program put a file there after a step, such as `sync game.sav`.
    pub fn put_after(&self, step: &str, name: &str, bytes: &[u8]) {
        let put = (step.to_owned(), PathBuf::from(name), bytes.to_vec());
        self.state().meanwhile = Some(put);
    }

    /// Leaves room for this many more bytes; one that is cut off or removed gives none back.
    pub fn leave_room(&self, bytes: usize) {
        self.state().room = Some(bytes);
    }

    /// Has no locks, as some network drives.
    pub fn never_lock(&self) {
        self.state().has_no_locks = true;
    }

    /// Refuses all but reading from now on.
    pub fn never_write(&self) {
        self.state().is_read_only = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics while it holds it")
    }

    /// Fails the operation of this number, counted from 1 and from now.
    pub fn fail(&self, number: usize, fault: Fault) {
        let mut state = self.state();
        state.operations = 0;
        state.log.clear();
        state.has_fired = false;
        state.fault = Some((number, fault));
    }

    /// Ends the faults; true if there was one.
    pub fn end_faults(&self) -> bool {
        let mut state = self.state();
        state.fault = None;
        // A lock does not outlive its program.
        state.locked.clear();
        state.has_fired
    }

    /// Frees the locks of a program that was killed.
    pub fn end_locks(&self) {
        self.state().locked.clear();
    }

    /// The same while the program goes on.
    pub fn end_faults_keeping_locks(&self) -> bool {
        let mut state = self.state();
        state.fault = None;
        state.has_fired
    }

    /// Notes from now on every moment at which the power may go.
    pub fn note_cuts(&self) {
        let mut state = self.state();
        state.cuts = Some(Vec::new());
        let cut = state.cut("start");
        state.cuts.iter_mut().for_each(|cuts| cuts.push(cut.clone()));
    }

    pub fn cuts(&self) -> Vec<Cut> {
        self.state().cuts.take().unwrap_or_default()
    }

    /// The files as programs see them.
    pub fn image(&self) -> Image {
        let state = self.state();
        state
            .names
            .iter()
            .map(|(name, file)| (name.clone(), state.files[*file].0.clone()))
            .collect()
    }

    /// What was done, and did not fail, since a fault was asked for.
    pub fn log(&self) -> Vec<String> {
        self.state().log.clone()
    }

    pub fn names(&self) -> Vec<String> {
        self.state().names.keys().map(|name| name.display().to_string()).collect()
    }

    fn step<T>(
        &self,
        what: &str,
        path: &Path,
        act: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.state();
        state.operations += 1;
        let fires = match state.fault {
            Some((number, Fault::Once(kind))) if number == state.operations => Some(kind),
            Some((number, Fault::Ever(kind))) if number <= state.operations => Some(kind),
            Some((number, Fault::Calls(names, kind)))
                if number <= state.operations && names.contains(&what) =>
            {
                Some(kind)
            }
            Some((number, Fault::Moment(names, calls, kind)))
                if number <= state.operations && names.contains(&what) =>
            {
                let left = calls.saturating_sub(1);
                state.fault = (left > 0).then_some((number, Fault::Moment(names, left, kind)));
                Some(kind)
            }
            _ => None,
        };
        if let Some(kind) = fires {
            state.has_fired = true;
            return Err(kind.into());
        }
        if state.is_read_only && !["open", "list"].contains(&what) {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        let changes = ["create", "append to", "rename to", "link", "remove"].contains(&what);
        if changes && state.profile == Profile::Ntfs && state.is_held(what, path) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let result = act(&mut state)?;
        let after = format!("{what} {}", path.display());
        let cut = state.cuts.is_some().then(|| state.cut(&after));
        if let (Some(cuts), Some(cut)) = (&mut state.cuts, cut) {
            cuts.push(cut);
        }
        state.log.push(after.clone());
        if let Some((number, Fault::Unanswered(step, kind))) = state.fault
            && number <= state.operations
            && step == after
        {
            (state.has_fired, state.fault) = (true, None);
            return Err(kind.into());
        }
        let meanwhile = state.meanwhile.take_if(|(step, ..)| *step == after);
        drop(state);
        if let Some((_, name, bytes)) = meanwhile {
            self.put(&name.to_string_lossy(), &bytes);
        }
        Ok(result)
    }

    fn rename_or_link(&self, from: &Path, to: &Path, links: bool) -> io::Result<()> {
        self.step(if links { "link" } else { "rename to" }, to, |state| {
            if links && state.has_no_links {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let file = *state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
            if links && state.names.contains_key(to) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            // As POSIX has it: two names of one file are left alone.
            if state.names.get(to) != Some(&file) {
                state.stale.remove(to);
                if state.profile == Profile::Fat && state.names.remove(to).is_some() {
                    state.change_names(None, Some(to.to_owned()));
                }
                state.names.insert(to.to_owned(), file);
                if !links {
                    state.names.remove(from);
                }
                let taken = (!links).then(|| from.to_owned());
                state.change_names(Some((to.to_owned(), file)), taken);
            }
            Ok(())
        })
    }
}

impl State {
    /// Cuts off the end of a file. The disk may keep it until the next sync: what was written there may have reached it.
    fn truncate(&mut self, file: usize, length: usize) {
        self.files[file].0.truncate(length);
    }

    /// True if another program has this file open at the moment.
    fn is_held(&mut self, what: &str, path: &Path) -> bool {
        let is_there = self.names.contains_key(path);
        if what != "remove" && self.pending.remove(path) {
            return true;
        }
        let is_turn = !self.was_held && self.operations.is_multiple_of(3);
        self.was_held = is_turn && is_there;
        self.was_held
    }

    fn make_names_last(&mut self) {
        self.lasting = self.names.clone();
        self.name_steps.clear();
        self.name_changes.clear();
    }

    /// Notes a change of names that was made.
    fn change_names(&mut self, given: Option<(PathBuf, usize)>, taken: Option<PathBuf>) {
        self.name_steps.push(self.names.clone());
        self.name_changes.push(NameChange { given, taken });
    }

    fn cut(&self, after: &str) -> Cut {
        let lasting = std::iter::once(&self.lasting);
        Cut {
            files: self.files.iter().map(|(_, lasting)| lasting.clone()).collect(),
            names: lasting.chain(&self.name_steps).cloned().collect(),
            name_changes: self.name_changes.clone(),
            writes: self.writes.clone(),
            profile: self.profile,
            after: after.to_owned(),
        }
    }
}

impl Cut {
    /// How many states the disk may be in.
    pub fn pieces(&self) -> usize {
        self.sectors().len()
    }

    fn sectors(&self) -> Vec<Written> {
        let mut sectors = Vec::new();
        for write in &self.writes {
            let mut at = write.at;
            let mut bytes = &write.bytes[..];
            while !bytes.is_empty() {
                let end = (SECTOR - at % SECTOR).min(bytes.len());
                sectors.push(Written { file: write.file, at, bytes: bytes[..end].to_vec() });
                (at, bytes) = (at + end, &bytes[end..]);
            }
        }
        sectors
    }

    /// The disk with so many of the changes of names, and with these sectors of what was not
    /// synced: by bits, or all of them from a seed.
    pub fn images(&self, kept: impl Fn(usize) -> bool) -> Vec<Image> {
        let files = self.contents(kept);
        self.names.iter().map(|names| image(names, &files)).collect()
    }

    /// As the profile of the disk has it.
    pub fn images_of_profile(&self, kept: impl Fn(usize) -> bool) -> Vec<Image> {
        match self.profile.keeps_order() {
            true => self.images(kept),
            false => self.images_in_any_order(kept),
        }
    }

    /// The same on a disk that makes changes of names last in any order: with any set of them.
    pub fn images_in_any_order(&self, kept: impl Fn(usize) -> bool) -> Vec<Image> {
        let files = self.contents(kept);
        let sets = 0_u32..1 << self.name_changes.len();
        let lasting = |set: u32| {
            let mut names = self.names[0].clone();
            for (i, NameChange { given, taken }) in self.name_changes.iter().enumerate() {
                if set & (1 << i) != 0 {
                    names.retain(|name, _| taken.as_ref() != Some(name));
                    names.extend(given.clone());
                }
            }
            image(&names, &files)
        };
        sets.map(lasting).collect()
    }

    /// The content of each file with these sectors.
    fn contents(&self, kept: impl Fn(usize) -> bool) -> Vec<Vec<u8>> {
        let mut files = self.files.clone();
        for (i, sector) in self.sectors().into_iter().enumerate() {
            let file = &mut files[sector.file];
            let end = sector.at + sector.bytes.len();
            // The length of a file comes with its names, what is in it need not.
            if file.len() < end {
                file.resize(end, 0);
            }
            if kept(i) {
                file[sector.at..end].copy_from_slice(&sector.bytes);
            }
        }
        files
    }
}

fn image(names: &BTreeMap<PathBuf, usize>, files: &[Vec<u8>]) -> Image {
    names.iter().map(|(name, file)| (name.clone(), files[*file].clone())).collect()
}

struct DiskFile {
    disk: Disk,
    file: usize,
    path: PathBuf,
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = {
            let mut state = self.disk.state();
            let was_interrupted = std::mem::take(&mut state.was_interrupted);
            match state.fault {
                Some((number, Fault::Short)) if number == state.operations + 1 => {
                    state.has_fired = true;
                    state.fault = None;
                    if bytes.len() < 2 {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    bytes.len() / 2
                }
                Some((number, Fault::EverShort)) if number <= state.operations + 1 => {
                    state.has_fired = true;
                    if !was_interrupted {
                        state.was_interrupted = true;
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    bytes.len().div_ceil(2)
                }
                _ => bytes.len(),
            }
        };
        let (file, bytes) = (self.file, &bytes[..length]);
        self.disk.step("write", &self.path, |state| {
            if let Some(room) = &mut state.room {
                let Some(left) = room.checked_sub(length) else {
                    return Err(io::ErrorKind::StorageFull.into());
                };
                *room = left;
            }
            let at = state.files[file].0.len();
            state.files[file].0.extend_from_slice(bytes);
            state.writes.push(Written { file, at, bytes: bytes.to_vec() });
            Ok(length)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for DiskFile {
    fn sync(&mut self) -> io::Result<()> {
        let file = self.file;
        self.disk.step("sync", &self.path, |state| {
            state.files[file].1 = state.files[file].0.clone();
            state.writes.retain(|write| write.file != file);
            if state.profile == Profile::Ntfs {
                state.make_names_last();
            }
            Ok(())
        })
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let (file, length) = (self.file, usize::try_from(length).expect("small files"));
        self.disk.step("truncate", &self.path, |state| {
            state.truncate(file, length);
            Ok(())
        })
    }
}

fn error_of(code: i32) -> io::Error {
    match code {
        REFUSED => io::ErrorKind::PermissionDenied.into(),
        code => io::Error::from_raw_os_error(code),
    }
}

struct Unread(i32);

impl Read for Unread {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(error_of(self.0))
    }
}

impl Seek for Unread {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Ok(0)
    }
}

struct DiskLock(Disk, PathBuf);

impl Drop for DiskLock {
    fn drop(&mut self) {
        self.0.state().locked.remove(&self.1);
    }
}

impl Storage for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.step("open", path, |state| {
            let is_there = state.names.contains_key(path);
            if let Some((times, code)) = state.unreadable.get_mut(path)
                && *times > 0
                && is_there
            {
                *times -= 1;
                return Err(error_of(*code));
            }
            if state.locked.contains(path) {
                // The file of a lock, which is there as long as that is held.
                return Ok(Box::new(Cursor::new(Vec::new())) as Box<dyn StoredFile>);
            }
            let file = *state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
            if let Some(old) = state.stale.remove(path) {
                return Ok(Box::new(Cursor::new(old)) as Box<dyn StoredFile>);
            }
            if let Some(code) = state.unread.get(path) {
                return Ok(Box::new(Unread(*code)) as Box<dyn StoredFile>);
            }
            Ok(Box::new(Cursor::new(state.files[file].0.clone())) as Box<dyn StoredFile>)
        })
    }

    fn create(&self, path: &Path, _: &Path) -> io::Result<Box<dyn NewFile>> {
        let file = self.step("create", path, |state| {
            if state.names.contains_key(path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let file = state.files.len();
            state.files.push((Vec::new(), Vec::new()));
            state.names.insert(path.to_owned(), file);
            state.change_names(Some((path.to_owned(), file)), None);
            Ok(file)
        })?;
        Ok(Box::new(DiskFile { disk: self.clone(), file, path: path.to_owned() }))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        let length = usize::try_from(length).expect("small files");
        let file = self.step("append to", path, |state| {
            let file = *state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
            if state.files[file].0.len() < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            state.truncate(file, length);
            Ok(file)
        })?;
        Ok(Box::new(DiskFile { disk: self.clone(), file, path: path.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.rename_or_link(from, to, false)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.rename_or_link(from, to, true)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step("remove", path, |state| {
            state.names.remove(path).ok_or(io::ErrorKind::NotFound)?;
            state.change_names(None, Some(path.to_owned()));
            if state.profile == Profile::Ntfs {
                state.pending.insert(path.to_owned());
            }
            Ok(())
        })
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step("sync folder", folder, |state| {
            if state.profile.flushes_folders() {
                state.make_names_last();
            }
            Ok(())
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let is_in = |name: &Path| match name.parent() {
            // The folder of a name without one, which is also written as `./name`.
            Some(parent) if folder == Path::new(".") => {
                parent == Path::new("") || parent == Path::new(".")
            }
            parent => parent == Some(folder),
        };
        self.step("list", folder, |state| {
            let names = state.names.keys().filter(|name| is_in(name));
            Ok(names.filter_map(|name| name.file_name()).map(PathBuf::from).collect())
        })
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn std::any::Any + Send>>> {
        if self.state().has_no_locks {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.step("lock", path, |state| {
            let is_free = state.locked.insert(path.to_owned());
            if is_free {
                // The file of a program that was killed is taken over, and ends with this lock.
                state.names.remove(path);
            }
            Ok(is_free)
        })
        .map(|is_free| {
            is_free.then(|| {
                Box::new(DiskLock(self.clone(), path.to_owned())) as Box<dyn std::any::Any + Send>
            })
        })
    }

    /// It has no clock, so that equal saves have equal bytes.
    fn now(&self) -> Option<SystemTime> {
        None
    }
}
