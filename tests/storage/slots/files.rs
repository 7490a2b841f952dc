//! Slots are copied, renamed and deleted with all that belongs to them.

use std::path::Path;

use persist::storage::{Memory, Storage};
use persist::{ErrorKind, SaveManager, SaveOptions, Saves};

use crate::slots::{FOLDER, Game, read, write};

/// A slot with a backup and a damaged save.
fn game() -> Game {
    let disk = Memory::default();
    let saves = Saves::new().storage(disk.clone()).save_options(SaveOptions::new().backups(2));
    let game = Game::with(saves, disk);
    for level in 1..=3 {
        game.save("ada", level);
    }
    write(&game.disk, "ada.sav", b"");
    assert_eq!(game.load("ada").unwrap(), 2);
    game.save("ada", 4);
    game.save("ada2", 9);
    game
}

#[test]
fn a_renamed_slot_takes_its_files_along() {
    let game = game();
    let before: Vec<_> = game.files().iter().map(|name| name.replace("ada.", "bob.")).collect();
    game.slots.rename("ada", "bob").unwrap();
    let mut expected = before;
    expected.sort();
    assert_eq!(game.files(), expected);
    assert_eq!(game.names(), ["ada2", "bob"]);
    assert_eq!(game.load("bob").unwrap(), 4);
    assert_eq!(game.load("ada").unwrap_err().kind(), ErrorKind::NotFound);
    game.slots.rename("bob", "bob").unwrap();
    assert_eq!(game.load("bob").unwrap(), 4);
}

#[test]
fn a_deleted_slot_leaves_nothing() {
    let game = game();
    game.slots.slot("ada").delete().unwrap();
    assert_eq!(game.files(), ["ada2.sav"]);
    let error = game.slots.slot("ada").delete().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn a_copy_is_a_slot_of_its_own() {
    let game = game();
    game.slots.copy("ada", "bob").unwrap();
    assert!(read(&game.disk, "ada.sav") == read(&game.disk, "bob.sav"));
    assert!(!game.files().contains(&"bob.sav.bak".to_owned()));
    game.save("ada", 5);
    assert_eq!((game.load("ada").unwrap(), game.load("bob").unwrap()), (5, 4));
}

#[test]
fn a_damaged_save_is_not_copied() {
    let game = game();
    let save = read(&game.disk, "ada.sav");
    let mut changed = save.clone();
    let at = save.len() - 40;
    changed[at] ^= 1;
    write(&game.disk, "ada.sav", &changed);
    let error = game.slots.copy("ada", "bob").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert_eq!(game.names(), ["ada", "ada2"]);
}

#[test]
fn a_name_that_is_taken_stays_as_it_is() {
    let game = game();
    for error in [
        game.slots.copy("ada", "ada2").unwrap_err(),
        game.slots.rename("ada", "ada2").unwrap_err(),
        game.slots.copy("ada", "ada").unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(
            error.message().ends_with("already; choose another name, or delete that first"),
            "{error}"
        );
    }
    assert_eq!((game.load("ada").unwrap(), game.load("ada2").unwrap()), (4, 9));
}

#[test]
fn a_slot_that_is_not_there_is_an_error() {
    let game = game();
    for error in [
        game.slots.copy("eve", "bob").unwrap_err(),
        game.slots.rename("eve", "bob").unwrap_err(),
        game.slots.slot("eve").delete().unwrap_err(),
        game.slots.rename("eve", "eve").unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.message(), "there is no slot `eve` in saves");
    }
    assert_eq!(game.names(), ["ada", "ada2"]);
}

#[test]
fn backups_of_a_slot_that_is_gone_are_kept_and_are_not_those_of_a_copy_or_a_renamed_slot() {
    for renames in [false, true] {
        let game = game();
        let (newer, older) = (read(&game.disk, "ada2.sav"), read(&game.disk, "ada.sav.bak2"));
        write(&game.disk, "bob.sav.bak", &newer);
        write(&game.disk, "bob.sav.bak2", &older);
        write(&game.disk, "bob.sav.damaged", b"what is left of bob");
        let damaged = read(&game.disk, "ada.sav.damaged");
        if renames {
            game.slots.rename("ada", "bob").unwrap();
        } else {
            game.slots.copy("ada", "bob").unwrap();
        }
        assert_eq!(game.load("bob").unwrap(), 4);
        assert_eq!(read(&game.disk, "bob.sav.damaged"), b"what is left of bob");
        assert_eq!(read(&game.disk, "bob.sav.damaged2"), older);
        assert_eq!(read(&game.disk, "bob.sav.damaged3"), newer);
        if renames {
            assert_eq!(read(&game.disk, "bob.sav.damaged4"), damaged);
        }
        write(&game.disk, "bob.sav", b"");
        match game.load("bob") {
            Ok(level) => assert!(renames && level == 2, "{level}"),
            Err(error) => assert!(!renames, "{error}"),
        }
    }
}

/// A save goes on from the backups that bear its name.
#[test]
fn backups_of_a_save_that_is_gone_are_those_of_the_next_save() {
    let game = game();
    game.disk.remove(&Path::new(FOLDER).join("ada.sav")).unwrap();
    let error = game.load("ada").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let backup = Path::new(FOLDER).join("ada.sav.bak");
    assert!(error.message().contains(&format!("load {}", backup.display())), "{error}");
    let loaded = game.manager.load(backup).unwrap();
    assert_eq!(*loaded.first::<u32>().unwrap().borrow(), 2);
    game.save("ada", 7);
    assert!(game.slots.list().unwrap()[0].header.generation > 2);
    write(&game.disk, "ada.sav", b"");
    assert_eq!(game.load("ada").unwrap(), 2);
}

#[test]
fn a_slot_in_use_is_left_alone() {
    let game = game();
    let options = SaveOptions::new().wait(std::time::Duration::ZERO);
    let slots = game.saves().clone().save_options(options).slots(FOLDER);
    let _lock = game.disk.lock(&Path::new(FOLDER).join(".ada.sav.lock")).unwrap().unwrap();
    for error in [
        slots.rename("ada", "bob").unwrap_err(),
        slots.rename("ada2", "ada").unwrap_err(),
        slots.slot("ada").delete().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InUse, "{error}");
    }
}

#[test]
fn real_files_are_slots_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut manager = SaveManager::new();
    let level = std::rc::Rc::new(std::cell::RefCell::new(1_u32));
    manager.add(&level).unwrap();
    let slots = manager.saves().slots(folder);
    slots.slot("ada").save(&manager).unwrap();
    slots.slot("ada").save(&manager).unwrap();
    std::fs::create_dir(folder.join("folder.sav")).unwrap();
    slots.copy("ada", "bob").unwrap();
    slots.rename("ada", "eve").unwrap();
    let names: Vec<_> = slots.list().unwrap().into_iter().map(|slot| slot.name).collect();
    assert_eq!(names, ["bob", "eve"]);
    assert!(folder.join("eve.sav.bak").exists());
    slots.slot("eve").delete().unwrap();
    slots.slot("bob").delete().unwrap();
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["folder.sav"]);
}

/// The storage with what another power cut would have left: an operation fails, and all after it.
#[test]
fn a_rename_and_a_delete_that_are_cut_off_leave_a_slot_that_loads() {
    use failing::Failing;
    for operation in 0..12 {
        for deletes in [false, true] {
            let game = game();
            let cut = Saves::new().storage(Failing::after(game.disk.clone(), operation));
            let result = if deletes {
                cut.slots(FOLDER).slot("ada").delete()
            } else {
                cut.slots(FOLDER).rename("ada", "bob")
            };
            let names = game.names();
            let slot = names.iter().find(|name| *name != "ada2");
            match (result, deletes) {
                (Ok(()), true) => assert_eq!(slot, None),
                (Ok(()), false) => assert_eq!(game.load("bob").unwrap(), 4),
                (Err(_), _) => {
                    // The folder may not be flushed after the last step.
                    if let Some(slot) = slot {
                        assert_eq!(game.load(slot).unwrap(), 4, "{operation}");
                    } else {
                        assert!(deletes);
                    }
                    // Once more, and it is done.
                    if deletes && slot.is_some() {
                        game.slots.slot("ada").delete().unwrap();
                        assert_eq!(game.files(), ["ada2.sav"]);
                    } else if slot.is_some_and(|slot| slot == "ada") {
                        game.slots.rename("ada", "bob").unwrap();
                        assert!(!game.files().iter().any(|name| name.starts_with("ada.")));
                        assert_eq!(game.load("bob").unwrap(), 4);
                    }
                }
            }
        }
    }
}

mod failing {
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Memory, Storage};
    use persist::storage::{NewFile, StoredFile};

    /// Fails at each change after some.
    pub(super) struct Failing(Memory, AtomicUsize);

    impl Failing {
        pub(super) fn after(disk: Memory, changes: usize) -> Self {
            Self(disk, AtomicUsize::new(changes))
        }

        fn change(&self) -> io::Result<()> {
            let left =
                self.1.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
            left.map(drop).map_err(|_| io::Error::other("the power is gone"))
        }
    }

    impl Storage for Failing {
        fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
            self.0.open(path)
        }
        fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
            self.change()?;
            self.0.create(path, like)
        }
        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.change()?;
            self.0.rename(from, to)
        }
        fn remove(&self, path: &Path) -> io::Result<()> {
            self.change()?;
            self.0.remove(path)
        }
        fn sync_folder(&self, folder: &Path) -> io::Result<()> {
            self.change()?;
            self.0.sync_folder(folder)
        }
        fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
            self.0.list(folder)
        }
        fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn std::any::Any + Send>>> {
            self.0.lock(path)
        }
    }
}
