//! What a list of slots says.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use persist::save::{Health, SlotEntry, SlotInfo};
use persist::storage::{Memory, NewFile, Storage, StoredFile};
use persist::{ErrorKind, Limits, Saves};

use crate::slots::{FOLDER, Game, Shown, load, read, write};
use persist_tests::support::forge::Forged;

#[test]
fn a_slot_says_what_its_header_says() {
    let game = Game::new();
    game.save("bob", 20);
    game.save("ada", 90);
    game.save("ada", 95);
    let slots = game.slots.list().unwrap();
    let [ada, bob] = &slots[..] else { panic!("{slots:?}") };
    assert_eq!((&*ada.name, &*bob.name), ("ada", "bob"));
    assert_eq!(ada.path, Path::new(FOLDER).join("ada.sav"));
    assert_eq!(ada.size, read(&game.disk, "ada.sav").len() as u64);
    assert_eq!(ada.health, Health::Whole);
    assert_eq!((ada.header.generation, bob.header.generation), (2, 1));
    assert_eq!(ada.header.application.as_deref(), Some("Quest"));
    assert_eq!(ada.header.application_version.as_deref(), Some("1.0"));
    assert_eq!((&*ada.info.title, &*bob.info.title), ("ADA", "BOB"));
    assert_eq!(ada.info, ada.header.info());
    assert!(ada.info.saved_at >= bob.info.saved_at && bob.info.saved_at.is_some());
    let shown = ada.info.get::<Shown>().unwrap().unwrap();
    assert_eq!(shown, Shown { title: "ADA".into(), minutes: 95 });
    assert_eq!(ada.backups, [Path::new(FOLDER).join("ada.sav.bak")]);
    assert!(bob.backups.is_empty() && ada.damaged.is_empty());
    assert_eq!(game.load("ada").unwrap(), 95);
}

#[test]
fn what_is_no_save_is_no_slot() {
    let game = Game::new();
    game.save("ada", 1);
    let save = read(&game.disk, "ada.sav");
    for name in [
        ".hidden.sav",
        ".sav",
        "notes.txt",
        "ada.sav.tmp",
        "x.sav.bak",
        "x.sav.bak2",
        "x.sav.bak0",
        "x.sav.bak1",
        "x.sav.bak+2",
        "x.sav.damaged",
        "copy.save",
        "upper.SAV",
    ] {
        write(&game.disk, name, &save);
    }
    write(&game.disk, "a picture.sav", b"\x89PNG\r\n\x1a\n and more");
    write(&game.disk, "a text.sav", b"Dear diary");
    assert_eq!(game.names(), ["ada"]);
}

#[test]
fn damaged_saves_are_slots_that_say_so() {
    let game = Game::new();
    for name in ["cut", "empty", "header", "newer", "zeros"] {
        game.save(name, 1);
    }
    let save = read(&game.disk, "cut.sav");
    write(&game.disk, "cut.sav", &save[..save.len() - 1]);
    write(&game.disk, "empty.sav", b"");
    write(&game.disk, "zeros.sav", &[0; 5000]);
    let mut changed = save.clone();
    changed[20] ^= 1;
    write(&game.disk, "header.sav", &changed);
    changed[8] = 2;
    write(&game.disk, "newer.sav", &changed);
    let slots = game.slots.list().unwrap();
    let health = |name: &str| {
        let slot = slots.iter().find(|slot| slot.name == name).unwrap();
        assert_eq!(slot.good_backup, None);
        slot.health.clone()
    };
    assert!(matches!(health("cut"), Health::Truncated(why) if why.contains("cut short")));
    assert!(matches!(health("empty"), Health::Damaged(why) if why.contains("empty")));
    assert!(matches!(health("zeros"), Health::Damaged(why) if why.contains("zeros")));
    assert!(matches!(health("header"), Health::Damaged(why) if why.contains("header is damaged")));
    assert!(matches!(health("newer"), Health::Newer(why) if why.contains("format 2")));
    // What of a header can be read is there.
    let cut = slots.iter().find(|slot| slot.name == "cut").unwrap();
    assert_eq!(cut.info.title, "CUT");
}

/// What is at its end, or beside it, says that it was a save.
#[test]
fn a_save_whose_first_bytes_are_damaged_is_a_slot() {
    let game = Game::new();
    game.save("ada", 1);
    let mut save = read(&game.disk, "ada.sav");
    for byte in 0..8 {
        save[byte] ^= 0x55;
        write(&game.disk, "ada.sav", &save);
        let slot = game.slots.list().unwrap().remove(0);
        assert!(matches!(slot.health, Health::Damaged(_)), "byte {byte}: {:?}", slot.health);
    }
    save.pop();
    write(&game.disk, "ada.sav", &save);
    assert!(game.names().is_empty());
    write(&game.disk, "ada.sav.damaged", b"");
    assert_eq!(game.names(), ["ada"]);
}

/// A list judges as a load does.
#[test]
fn what_is_over_a_limit_or_cannot_be_read_is_not_damaged() {
    let game = Game::new();
    let slot = game.slots.slot("ada").info(SlotInfo::new("x".repeat(5_000)));
    slot.save(&game.manager).unwrap();
    slot.save(&game.manager).unwrap();
    let metadata = info_length(&read(&game.disk, "ada.sav"));
    let within =
        |metadata| game.saves().clone().limits(Limits::new().metadata(metadata)).slots(FOLDER);
    for (limit, fits) in [(metadata, true), (metadata - 1, false), (0, false)] {
        let slots = within(limit);
        let slot = slots.list().unwrap().remove(0);
        assert_eq!(slot.health == Health::Whole, fits, "{limit}");
        match (load(&slots, "ada"), slot.health) {
            (Ok(_), health) => assert_eq!(health, Health::Whole),
            (Err(error), Health::TooLarge(why)) => {
                assert_eq!(error.kind(), ErrorKind::TooLarge);
                let file = Path::new(FOLDER).join("ada.sav").display().to_string();
                let kept = format!("the file is kept as {file}.refused");
                assert_eq!(error.to_string(), format!("{file}: {why}; {kept}"));
            }
            (Err(error), health) => panic!("{error}, {health:?}"),
        }
        assert_eq!(slot.good_backup, None);
    }
    // Far over it the header is not read at all.
    let long = SlotInfo::new("x".repeat(500_000));
    game.slots.slot("ada").info(long).save(&game.manager).unwrap();
    let slot = within(100).list().unwrap().remove(0);
    assert!(matches!(slot.health, Health::TooLarge(why) if why.contains("limit of 100")));
}

/// Bytes of the info, which is a field of the header.
fn info_length(save: &[u8]) -> u32 {
    let fields = Forged::parse(save).header_fields;
    let length = |at: usize| u32::from_le_bytes(fields[at..at + 4].try_into().unwrap());
    let mut at = 0;
    while fields[at] != 3 {
        at += 5 + length(at + 1) as usize;
    }
    length(at + 1)
}

#[test]
fn a_list_begins_with_what_was_saved_last_if_that_is_asked_for() {
    let game = Game::new();
    for name in ["bob", "ada", "eve"] {
        game.save(name, 1);
        // Longer than the clock's steps.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let plain = game.saves().to_vec(&game.manager).unwrap();
    write(&game.disk, "no time.sav", &plain);
    write(&game.disk, "a time.sav", &plain);
    game.save("bob", 2);
    let names = |slots: Vec<SlotEntry>| slots.into_iter().map(|slot| slot.name).collect::<Vec<_>>();
    let newest_first = names(game.slots.list_newest_first().unwrap());
    assert_eq!(newest_first, ["bob", "eve", "ada", "a time", "no time"]);
    assert_eq!(names(game.slots.list().unwrap()), ["a time", "ada", "bob", "eve", "no time"]);
}

#[test]
fn a_slot_is_shown_as_a_line() {
    let disk = Memory::default();
    let game = Game::with(Saves::new().storage(At(disk.clone())), disk);
    let played = |seconds| SlotInfo::new("The Mill").play_time(Duration::from_secs(seconds));
    for (name, info) in [
        ("all", played(5_400)),
        ("cut", played(3_599)),
        ("damaged", SlotInfo::new("The Mill")),
        ("newer", SlotInfo::default()),
        ("time", SlotInfo::default()),
    ] {
        (0..2).for_each(|_| drop(game.slots.slot(name).info(info.clone()).save(&game.manager)));
    }
    write(&game.disk, "plain.sav", &game.saves().to_vec(&game.manager).unwrap());
    let cut = read(&game.disk, "cut.sav");
    write(&game.disk, "cut.sav", &cut[..cut.len() - 1]);
    game.disk.remove(&Path::new(FOLDER).join("cut.sav.bak")).unwrap();
    write(&game.disk, "damaged.sav", &[0; 5_000]);
    let mut newer = cut.clone();
    (newer[8], newer[20]) = (2, newer[20] ^ 1);
    write(&game.disk, "newer.sav", &newer);
    let lines = game.slots.list().unwrap().into_iter().map(|slot| slot.to_string() + "\n");
    insta::assert_snapshot!(lines.collect::<String>());
}

/// Memory whose clock stands.
struct At(Memory);

impl Storage for At {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.0.open(path)
    }
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.0.create(path, like)
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
    fn now(&self) -> Option<SystemTime> {
        Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_829_340))
    }
}

#[test]
fn a_save_that_may_not_be_read_says_so() {
    /// Refuses to open one.
    struct Closed(Memory);
    impl Storage for Closed {
        fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
            if path.ends_with("ada.sav") {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            self.0.open(path)
        }
        fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
            self.0.create(path, like)
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
    let game = Game::new();
    game.save("ada", 1);
    game.save("ada", 2);
    let saves = Saves::new().storage(Closed(game.disk.clone()));
    let slot = saves.slots(FOLDER).list().unwrap().remove(0);
    assert!(matches!(slot.health, Health::Unread(why) if why.contains("permission denied")));
    // No load takes its backup, whose header it shows.
    assert_eq!((slot.good_backup, slot.header.generation), (None, 1));
    assert_eq!(load(&saves.slots(FOLDER), "ada").unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn a_damaged_save_shows_its_good_backup() {
    let disk = Memory::default();
    let options = persist::SaveOptions::new().backups(3);
    let game = Game::with(Saves::new().storage(disk.clone()).save_options(options), disk);
    for level in 1..=4 {
        game.save("ada", level);
    }
    write(&game.disk, "ada.sav", b"no save at all");
    let newest = read(&game.disk, "ada.sav.bak");
    write(&game.disk, "ada.sav.bak", &newest[..newest.len() - 3]);
    let slot = game.slots.list().unwrap().remove(0);
    assert!(matches!(slot.health, Health::Damaged(_)));
    assert_eq!(slot.backups.len(), 3);
    assert_eq!(slot.good_backup.as_deref(), Some(&*Path::new(FOLDER).join("ada.sav.bak2")));
    assert_eq!(slot.info.get::<Shown>().unwrap().unwrap().minutes, 2);
    // It is what a load takes.
    assert_eq!(game.load("ada").unwrap(), 2);
    let slot = game.slots.list().unwrap().remove(0);
    // Itself and the newest backup, which is damaged, too.
    assert_eq!((slot.health, slot.damaged.len()), (Health::Whole, 2));
}

#[test]
fn a_save_that_was_killed_between_two_renames_is_a_slot() {
    let game = Game::new();
    game.save("ada", 7);
    let save = read(&game.disk, "ada.sav");
    game.disk.remove(&Path::new(FOLDER).join("ada.sav")).unwrap();
    write(&game.disk, "ada.sav.bak", &save);
    assert!(game.names().is_empty());
    write(&game.disk, ".ada.sav.tmp", b"new");
    assert!(game.names().is_empty());
    write(&game.disk, ".ada.sav.old", &save);
    let slot = game.slots.list().unwrap().remove(0);
    assert!(matches!(slot.health, Health::Damaged(_)) && slot.good_backup.is_some());
    assert_eq!(game.load("ada").unwrap(), 7);
}

#[test]
fn a_folder_that_is_not_there_has_no_slots() {
    assert!(Saves::new().slots("/no/such/folder").list().unwrap().is_empty());
    assert!(Game::new().names().is_empty());
}

/// Counts what is read.
#[derive(Clone, Default)]
struct Counting(Memory, Arc<[AtomicU64; 3]>);

struct CountedFile(Box<dyn StoredFile>, Arc<[AtomicU64; 3]>);

impl Read for CountedFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(out)?;
        self.1[1].fetch_add(1, Ordering::Relaxed);
        self.1[2].fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Seek for CountedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl Storage for Counting {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.1[0].fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(CountedFile(self.0.open(path)?, self.1.clone())))
    }
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.0.create(path, like)
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
fn ten_thousand_saves_are_listed_by_their_ends_alone() {
    const SLOTS: u64 = 10_000;
    let disk = Counting::default();
    let saves = Saves::new().storage(disk.clone());
    let shown = Shown { title: "The Mill".into(), minutes: 90 };
    let info = SlotInfo::new("The Mill").value(&shown).unwrap();
    saves.slots(FOLDER).slot("first").info(info).save(&vec![7_u8; 3000]).unwrap();
    let save = read(&disk, "first.sav");
    saves.slots(FOLDER).slot("first").delete().unwrap();
    disk.1.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    for number in 0..SLOTS {
        write(&disk, &format!("{number:05}.sav"), &save);
        write(&disk, &format!("{number:05}.sav.bak"), &save);
    }
    let slots = saves.slots(FOLDER).list().unwrap();
    assert_eq!(slots.len() as u64, SLOTS);
    assert!(slots.iter().all(|slot| slot.health == Health::Whole && slot.backups.len() == 1));
    assert!(slots.iter().all(|slot| slot.info.get().unwrap() == Some(shown.clone())));
    let [opens, reads, bytes] = [0, 1, 2].map(|i| disk.1[i].load(Ordering::Relaxed));
    let header = save.len() as u64 - 3000;
    assert_eq!(opens, SLOTS);
    assert!(reads <= 6 * SLOTS, "{reads} reads");
    assert!(bytes <= header * SLOTS, "{bytes} bytes");
}
