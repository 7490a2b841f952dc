//! Laws of `docs/reference/laws.md` that hold for worlds of hecs as they do for worlds of the library.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use persist::save::Slot;
use persist::storage::{FileStamp, Memory, NewFile, Storage, StoredFile};
use persist::{Error, ErrorKind, Limits, Result, Saves};
use persist_hecs::WorldSaves;
use persist_tools::{Document, usage};

use crate::saves::{Health, Mana, health, worlds};

/// The classes of one release, of a component that has one name in all of them.
fn release<T: hecs::Component + persist::Component + Clone>() -> WorldSaves {
    let mut worlds = WorldSaves::new();
    worlds.register::<T>().unwrap();
    worlds
}

/// A save of a world that has one entity with this component.
fn save_of<T: hecs::Component + persist::Component + Clone>(component: T) -> Vec<u8> {
    let mut world = hecs::World::new();
    world.spawn((component,));
    release::<T>().to_vec(&world).unwrap()
}

/// The component of the one entity of a save.
fn load<T: hecs::Component + persist::Component + Clone>(save: &[u8]) -> Result<T> {
    let mut world = hecs::World::new();
    release::<T>().from_slice(&mut world, save)?;
    let mut query = world.query::<&T>();
    Ok(query.iter().next().unwrap().clone())
}

/// A storage that a program uses until it is killed: after some calls, none does anything.
#[derive(Clone)]
struct Killed {
    disk: Arc<Memory>,
    /// The calls that are left.
    left: Arc<AtomicUsize>,
    /// The path that cannot be read at the moment, if any.
    unread: Option<PathBuf>,
}

impl Killed {
    fn after(calls: usize, disk: &Arc<Memory>) -> Self {
        Self { disk: disk.clone(), left: Arc::new(AtomicUsize::new(calls)), unread: None }
    }

    fn call<T>(&self, call: impl FnOnce(&Memory) -> io::Result<T>) -> io::Result<T> {
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| io::Error::other("the program was killed"))?;
        call(&self.disk)
    }
}

/// A file whose writes are calls, too.
struct KilledFile(Killed, Box<dyn NewFile>);

impl io::Write for KilledFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A write may be torn in its middle.
        let half = bytes.len().div_ceil(2);
        self.0.call(|_| self.1.write(&bytes[..half]))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.flush()
    }
}

impl NewFile for KilledFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.call(|_| self.1.sync())
    }
}

impl Storage for Killed {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        if self.unread.as_deref() == Some(path) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.call(|disk| disk.open(path))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        let file = self.call(|disk| disk.create(path, like))?;
        Ok(Box::new(KilledFile(self.clone(), file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(|disk| disk.rename(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(|disk| disk.link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call(|disk| disk.remove(path))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.call(|disk| disk.sync_folder(folder))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.call(|disk| disk.list(folder))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.call(|disk| disk.lock(path))
    }

    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        self.call(|disk| disk.stamp(path))
    }
}

/// A program whose storage is this one, and its slot.
struct Program {
    worlds: WorldSaves,
    slot: Slot,
}

impl Program {
    fn on(storage: impl Storage + 'static) -> Self {
        let mut worlds = WorldSaves::with(Saves::new().storage(storage));
        worlds.register::<Health>().unwrap();
        let slot = worlds.saves().slots("saves").slot("main");
        Self { worlds, slot }
    }

    fn save(&mut self, points: u32) -> Result<()> {
        let mut world = hecs::World::new();
        world.spawn((Health(points),));
        self.worlds.save(&world, &self.slot).map(drop)
    }

    fn load(&mut self) -> Result<Vec<u32>> {
        let mut world = hecs::World::new();
        self.worlds.load(&mut world, &self.slot)?;
        Ok(health(&world))
    }
}

#[test]
fn a_kill_at_any_call_leaves_the_old_world_or_the_new_one() {
    let mut results = [0; 3];
    for calls in 0.. {
        let disk = Arc::new(Memory::default());
        Program::on(Killed::after(usize::MAX, &disk)).save(1).unwrap();
        let killed = Killed::after(calls, &disk);
        let result = Program::on(killed.clone()).save(2);
        let mut next = Program::on(Killed::after(usize::MAX, &disk));
        let found = next.load().unwrap();
        match (&result, found.as_slice()) {
            (Err(_), [1]) => results[0] += 1,
            // It was killed after the commit.
            (Err(_), [2]) => results[1] += 1,
            (Ok(()), [2]) => results[2] += 1,
            _ => panic!("{found:?} after {calls} calls and {result:?}"),
        }
        // The next program saves as if nothing had happened.
        next.save(3).unwrap();
        assert_eq!(next.load().unwrap(), [3]);
        if result.is_ok() && killed.left.load(Ordering::Relaxed) > 0 {
            break;
        }
    }
    assert!(results[0] > 5 && results[2] > 0, "{results:?}");
}

#[test]
fn a_save_that_cannot_be_read_at_the_moment_does_not_give_way_to_its_backup() {
    let disk = Arc::new(Memory::default());
    let mut storage = Killed::after(usize::MAX, &disk);
    let mut program = Program::on(storage.clone());
    program.save(1).unwrap();
    program.save(2).unwrap();
    let before = disk.list(Path::new("saves")).unwrap();
    assert!(before.len() > 1, "there is no backup in {before:?}");
    storage.unread = Some(program.slot.path().unwrap());
    let error = Program::on(storage).load().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(disk.list(Path::new("saves")).unwrap(), before);
    assert_eq!(program.load().unwrap(), [2]);
}

/// A save whose blocks have true checksums again.
fn sealed(mut save: Vec<u8>, blocks: &[u64]) -> Vec<u8> {
    for at in blocks {
        let at = usize::try_from(*at).unwrap();
        let Some(length) = save.get(at + 1..at + 5) else { continue };
        let length = u32::from_le_bytes(length.try_into().unwrap());
        let end = at + 5 + usize::try_from(length).unwrap();
        if end + 4 <= save.len() {
            let crc = crc32fast::hash(&save[at..end]);
            save[end..end + 4].copy_from_slice(&crc.to_le_bytes());
        }
    }
    save
}

#[test]
fn any_bytes_are_a_world_or_an_error() {
    let mut world = hecs::World::new();
    let rat = world.spawn((Health(1),));
    world.spawn((Health(2), Mana { points: 3, source: rat }));
    let save = worlds().to_vec(&world).unwrap();
    let found = usage(io::Cursor::new(&save), &Limits::DEFAULT).unwrap();
    let blocks: Vec<u64> = found.blocks.iter().map(|block| block.offset).collect();
    let (mut worlds_of_bytes, mut errors) = (0, 0);
    let mut check = |bytes: &[u8]| {
        let mut other = hecs::World::new();
        other.spawn((Health(7),));
        match worlds().from_slice(&mut other, bytes) {
            Ok(_) => worlds_of_bytes += 1,
            Err(error) => {
                errors += 1;
                assert!(!error.message().is_empty());
                // The world of the program is as before.
                assert_eq!(health(&other), [7]);
            }
        }
    };
    for at in 0..save.len() {
        check(&save[..at]);
        for bit in 0..8 {
            let mut changed = save.clone();
            changed[at] ^= 1 << bit;
            check(&changed);
            check(&sealed(changed, &blocks));
        }
    }
    // A changed number is a world, too.
    assert!(worlds_of_bytes > 20 && errors > 1000, "{worlds_of_bytes} and {errors}");
}

#[test]
fn a_save_is_read_and_changed_without_the_game() {
    let save = save_of(Health(5));
    let mut document = Document::from_slice(&save).unwrap();
    assert!(document.classes().iter().any(|class| class.name == "Health"));
    let text = document.root().unwrap().to_string();
    let health = text.find("`Health`").or_else(|| text.find("Health")).unwrap();
    let five = health + text[health..].find('5').unwrap();
    let changed = format!("{}9{}", &text[..five], &text[five + 1..]);
    *document.root_mut().unwrap() = changed.parse().unwrap();
    assert_eq!(load::<Health>(&document.to_vec().unwrap()).unwrap().0, 9);
}

/// Three releases: cents, gold of 100 cents, and gold under another name and in more bits.
mod cents {
    #[derive(persist::Persist, Clone, Debug, PartialEq)]
    #[persist(component, class = "Purse")]
    pub(super) struct Purse {
        pub(super) money: u64,
    }
}

mod gold {
    #[derive(persist::Persist, Clone, Debug, PartialEq)]
    #[persist(component, class = "Purse", version = 2, since = 2)]
    pub(super) struct Purse {
        #[persist(convert(1 = to_gold))]
        pub(super) money: u32,
    }

    fn to_gold(cents: u64) -> u32 {
        u32::try_from(cents / 100).unwrap_or(u32::MAX)
    }
}

mod renamed {
    #[derive(persist::Persist, Clone, Debug, PartialEq)]
    #[persist(component, class = "Purse", version = 3, since = 2)]
    pub(super) struct Purse {
        #[persist(alias = "money", convert(1 = to_gold, as u32))]
        pub(super) gold: u64,
    }

    fn to_gold(cents: u64) -> u64 {
        cents / 100
    }
}

/// Gold again, of a release that has forgotten what a `u64` was.
mod wide {
    #[derive(persist::Persist, Clone, Debug, PartialEq)]
    #[persist(component, class = "Purse", version = 2, since = 2)]
    pub(super) struct Purse {
        #[persist(convert = to_gold)]
        pub(super) money: i64,
    }

    fn to_gold(cents: u64) -> i64 {
        i64::try_from(cents / 100).unwrap_or(i64::MAX)
    }
}

#[test]
fn a_component_goes_from_1_to_3_as_by_way_of_2() {
    let first = save_of(cents::Purse { money: 2500 });
    let by_way_of_2 = save_of(load::<gold::Purse>(&first).unwrap());
    let [straight, other]: [renamed::Purse; 2] =
        [&first, &by_way_of_2].map(|save| load(save).unwrap());
    assert_eq!(straight, other);
    assert_eq!(straight, renamed::Purse { gold: 25 });
}

fn message(error: &Error) -> String {
    format!("{:?}: {error}", error.kind())
}

#[test]
fn a_number_of_another_meaning_is_refused_by_name() {
    // The `u32` of release 2 is gold, and the function takes cents.
    let error = load::<wide::Purse>(&save_of(gold::Purse { money: 25 })).unwrap_err();
    let text = message(&error);
    assert!(
        text.starts_with("KindMismatch") && text.contains("convert(to_gold, as u32)"),
        "{text}"
    );
    assert_eq!(error.field().unwrap(), "objects[0].components[0].money");
    assert_eq!(load::<wide::Purse>(&save_of(cents::Purse { money: 2500 })).unwrap().money, 25);
}

#[test]
fn an_older_program_refuses_a_component_and_does_not_guess() {
    let save = save_of(gold::Purse { money: 25 });
    let text = message(&load::<cents::Purse>(&save).unwrap_err());
    assert!(text.contains("Purse") && text.contains("2"), "{text}");
    assert!(text.starts_with("Newer"), "{text}");
}
