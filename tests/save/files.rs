//! The file of a save is replaced whole or not at all.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use persist::{ErrorKind, Persist, SaveManager};
use tempfile::TempDir;

#[derive(Persist, Debug, PartialEq)]
struct Game {
    level: u32,
    map: Vec<u8>,
}

fn game(level: u32) -> Game {
    Game { level, map: vec![u8::try_from(level % 256).unwrap(); 200_000] }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_save_and_its_backup_are_the_only_files_that_are_left() {
    let folder = folder();
    let path = folder.path().join("game.sav");
    persist::save(&path, &game(1)).unwrap();
    persist::save(&path, &mut game(2)).unwrap();
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(game(3)))).unwrap();
    manager.save(folder.path().join("objects.sav")).unwrap();
    assert_eq!(names(folder.path()), ["game.sav", "game.sav.bak", "objects.sav"]);
    assert_eq!(persist::load::<Game>(&path).unwrap(), game(2));
    let loaded = manager.load(folder.path().join("objects.sav")).unwrap();
    assert_eq!(*loaded.first::<Game>().unwrap().borrow(), game(3));
}

#[test]
fn the_file_has_the_bytes_that_memory_has_and_its_generation() {
    let folder = folder();
    let path = folder.path().join("game.sav");
    persist::save(&path, &game(4)).unwrap();
    let (file, memory) = (fs::read(&path).unwrap(), persist::to_vec(&game(4)).unwrap());
    // Tag, length and number in the header, in front of its checksum.
    assert_eq!(file[16..29], [4, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    // The last 12 bytes are the length of the whole and a checksum.
    assert_eq!(file[33..file.len() - 12], memory[20..memory.len() - 12]);
    // A shorter save leaves nothing of a longer one.
    persist::save(&path, &Game { level: 5, map: vec![] }).unwrap();
    assert_eq!(persist::load::<Game>(&path).unwrap().level, 5);
}

#[test]
fn a_save_that_fails_leaves_the_old_one_untouched() {
    let folder = folder();
    let path = folder.path().join("game.sav");
    let mut manager = SaveManager::new();
    let objects: Vec<_> = (0..10).map(|level| Rc::new(RefCell::new(game(level)))).collect();
    for object in &objects {
        manager.add(object).unwrap();
    }
    manager.save(&path).unwrap();
    let old = fs::read(&path).unwrap();
    objects.iter().for_each(|object| object.borrow_mut().level += 100);
    // The last is met when megabytes have been written.
    let borrow = objects[9].borrow_mut();
    assert_eq!(manager.save(&path).unwrap_err().kind(), ErrorKind::Borrowed);
    drop(borrow);
    assert!(fs::read(&path).unwrap() == old);
    assert_eq!(names(folder.path()), ["game.sav"]);
    manager.save(&path).unwrap();
    assert!(fs::read(&path).unwrap() != old);
}

#[test]
fn a_save_that_fails_at_first_leaves_no_file() {
    let folder = folder();
    let deep: HashMap<u8, Rc<RefCell<Game>>> = [(1, Rc::new(RefCell::new(game(1))))].into();
    let borrowed = deep[&1].clone();
    let borrow = borrowed.borrow_mut();
    assert!(persist::save(folder.path().join("game.sav"), &deep).is_err());
    assert_eq!(names(folder.path()), [""; 0]);
    drop(borrow);
}

fn refused(path: &Path) -> String {
    let error = persist::save(path, &game(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(std::error::Error::source(&error).is_some());
    assert!(error.message().contains(&*path.to_string_lossy()), "{error}");
    error.message().to_owned()
}

#[test]
fn a_missing_folder_is_named() {
    let folder = folder();
    refused(&folder.path().join("no").join("such").join("game.sav"));
    let path = folder.path().join("game.sav");
    let error = persist::load::<Game>(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().starts_with("cannot read "), "{error}");
    assert!(error.message().contains(&*path.to_string_lossy()), "{error}");
}

#[test]
fn a_folder_in_the_place_of_the_file_is_named_and_kept() {
    let folder = folder();
    let path = folder.path().canonicalize().unwrap().join("game.sav");
    fs::create_dir(&path).unwrap();
    refused(&path);
    assert_eq!(names(folder.path()), ["game.sav"]);
    assert_eq!(persist::load::<Game>(&path).unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn a_file_in_the_place_of_a_folder_is_named() {
    let folder = folder();
    fs::write(folder.path().join("file"), "x").unwrap();
    refused(&folder.path().join("file").join("game.sav"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_where_nobody_may_write_is_named() {
    // Not even the superuser makes files there.
    let message = refused(Path::new("/proc/game.sav"));
    assert!(message.starts_with("cannot write "), "{message}");
}

#[test]
fn a_file_name_alone_is_in_the_current_folder() {
    let name = format!("files-test-{}.sav", std::process::id());
    persist::save(&name, &game(6)).unwrap();
    let loaded = persist::load::<Game>(&name);
    fs::remove_file(&name).unwrap();
    assert_eq!(loaded.unwrap(), game(6));
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_stays_one_and_its_target_is_replaced() {
        let folder = folder();
        let (slots, link) = (folder.path().join("slots"), folder.path().join("current.sav"));
        fs::create_dir(&slots).unwrap();
        let target = slots.join("one.sav");
        persist::save(&target, &game(1)).unwrap();
        symlink("slots/one.sav", &link).unwrap();
        persist::save(&link, &game(2)).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(persist::load::<Game>(&target).unwrap(), game(2));
        assert_eq!(names(&slots), ["one.sav", "one.sav.bak"]);
        assert_eq!(names(folder.path()), ["current.sav", "slots"]);
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there_yet_stays_one() {
        let folder = folder();
        let (target, link) = (folder.path().join("one.sav"), folder.path().join("current.sav"));
        symlink("one.sav", &link).unwrap();
        persist::save(&link, &game(2)).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(persist::load::<Game>(&target).unwrap(), game(2));
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn permissions_are_kept() {
        let folder = folder();
        let path = folder.path().join("game.sav");
        persist::save(&path, &game(1)).unwrap();
        for kept in [0o600, 0o640, 0o644, 0o664, 0o666, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            persist::save(&path, &game(2)).unwrap();
            assert_eq!(mode(&path), kept, "{kept:o} became {:o}", mode(&path));
        }
    }

    #[test]
    fn a_new_save_has_the_permissions_of_any_new_file() {
        let folder = folder();
        let (path, other) = (folder.path().join("game.sav"), folder.path().join("other"));
        persist::save(&path, &game(1)).unwrap();
        fs::write(&other, "x").unwrap();
        assert_eq!(mode(&path), mode(&other));
    }
}

#[test]
fn threads_that_save_at_once_leave_one_whole_save() {
    let folder = folder();
    let path = folder.path().join("game.sav");
    persist::save(&path, &game(0)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for turn in 0..10 {
                    persist::save(path, &game(thread * 10 + turn)).unwrap();
                }
            });
        }
        // Whoever loads meanwhile sees a whole save too.
        for _ in 0..20 {
            let seen: Game = persist::load(&path).unwrap();
            assert_eq!(seen, game(seen.level));
        }
    });
    let last: Game = persist::load(&path).unwrap();
    assert_eq!(last, game(last.level));
    assert_eq!(last.level % 10, 9);
    assert_eq!(names(folder.path()), ["game.sav", "game.sav.bak"]);
}

/// Else the first save would be the only one.
#[cfg(target_os = "linux")]
#[test]
fn a_name_without_room_for_those_of_backups_is_refused_at_the_first_save() {
    let folder = folder();
    for (length, fits) in [(245, true), (246, false), (252, false), (255, false)] {
        let path = folder.path().join("n".repeat(length));
        for level in 1..4 {
            let result = persist::save(&path, &game(level));
            assert_eq!(result.is_ok(), fits, "{length}");
            let Err(error) = result else { continue };
            assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
            assert!(error.message().ends_with("choose one of at most 245 bytes"), "{error}");
            assert!(!path.exists());
        }
    }
    assert_eq!(names(folder.path()).len(), 2);
}

#[cfg(unix)]
mod on_unix {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    use persist::{ErrorKind, History, Saves, Session};
    use persist_tools::Document;

    fn pipe(path: &Path) {
        let made = Command::new("mkfifo").arg(path).status().expect("`mkfifo` is there");
        assert!(made.success());
    }

    /// Runs what must not wait for a pipe.
    fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || done.send(act()));
        is_done.recv_timeout(Duration::from_secs(30)).expect("it waits for the pipe")
    }

    type Use = fn(&Path) -> persist::Result<()>;

    const USES: [(&str, Use); 14] = [
        ("load", |path| persist::load::<u32>(path).map(drop)),
        ("Slot::load", |path| Saves::new().file(path).load::<u32>().map(drop)),
        ("Document::open", |path| Document::open(path).map(drop)),
        ("save", |path| persist::save(path, &7_u32).map(drop)),
        ("Session", |path| {
            let session = Session::<u32>::with(Saves::new(), History::new(8));
            session.open(path, path.with_extension("journal")).map(drop)
        }),
        ("a session's save", |path| {
            let session = Session::<u32>::with(Saves::new(), History::new(8)).memory(1);
            session.open(path, path.with_extension("journal"))?.0.save().map(drop)
        }),
        ("inspect", |path| {
            let session = Session::<u32>::with(Saves::new(), History::new(8));
            session.inspect(path, path.with_extension("journal")).map(drop)
        }),
        ("save_in_background", |path| {
            Saves::new().file(path).save_in_background(&7_u32)?.wait().map(drop)
        }),
        ("Document::save", |path| {
            Document::from_slice(&persist::to_vec(&7_u32)?)?.save(path).map(drop)
        }),
        ("Slots::list", |path| {
            Saves::new().slots(path.parent().expect("a folder")).list().map(drop)
        }),
        ("reconcile", |path| {
            let other = path.with_extension("other");
            persist::save(&other, &7_u32)?;
            Saves::new().file(path).reconcile(other, persist::save::Keep::Remote).map(drop)
        }),
        ("Slots::rename", |path| {
            Saves::new().slots(path.parent().expect("a folder")).rename("a", "b")
        }),
        ("Slots::copy", |path| Saves::new().slots(path.parent().expect("a folder")).copy("a", "b")),
        ("Slot::delete", |path| {
            Saves::new().slots(path.parent().expect("a folder")).slot("a").delete()
        }),
    ];

    #[test]
    fn a_pipe_in_the_place_of_a_save_is_refused_at_once() {
        for (name, act) in USES {
            let folder = tempfile::tempdir().expect("a folder");
            let path = Saves::new().slots(folder.path()).slot("a").path().expect("a name");
            pipe(&path);
            let result = soon(move || act(&path));
            if name == "Slots::list" {
                continue;
            }
            let error = result.expect_err(name);
            let kinds = [ErrorKind::Io, ErrorKind::NotFound, ErrorKind::AlreadyExists];
            assert!(kinds.contains(&error.kind()), "{name}: {error}");
        }
    }

    #[test]
    fn a_pipe_beside_a_save_keeps_nothing_waiting() {
        let of_saves = ["a.sav.bak", "a.sav.damaged", ".a.sav.tmp", ".a.sav.old", ".a.sav.lock"];
        let of_journals = [".a.sav.session", ".a.journal.lock", ".a.journal.new", "a.journal"];
        for beside in of_saves.into_iter().chain(of_journals) {
            for (name, act) in USES {
                let folder = tempfile::tempdir().expect("a folder");
                let path = Saves::new().slots(folder.path()).slot("a").path().expect("a name");
                persist::save(&path, &1_u32).expect("a save");
                pipe(&folder.path().join(beside));
                let used = path.clone();
                let result = soon(move || act(&used));
                if let Err(error) = result {
                    assert_eq!(error.kind(), ErrorKind::Io, "{beside}, {name}: {error}");
                }
                if name.ends_with("load") {
                    assert_eq!(soon(move || persist::load::<u32>(path)).expect(beside), 1);
                }
            }
        }
    }

    #[test]
    fn what_is_no_file_is_not_replaced_by_the_backup_of_a_renamed_slot() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Saves::new().slots(folder.path()).slot("a").path().expect("a name");
        for level in 1..=2 {
            persist::save(&path, &level).expect("a save");
        }
        let other = folder.path().join("b.sav.bak");
        pipe(&other);
        let error = Saves::new().slots(folder.path()).rename("a", "b").expect_err("a pipe");
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.message().contains("b.sav.bak"), "{error}");
        assert!(!other.is_file(), "the pipe is gone");
        assert!(path.is_file() && folder.path().join("a.sav.bak").is_file());
    }

    #[test]
    fn a_folder_that_cannot_be_looked_at_is_not_taken_for_a_missing_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("circle");
        std::os::unix::fs::symlink(&path, &path).expect("a link");
        let session = Session::<u32>::with(Saves::new(), History::new(8));
        let opened = session.open(path.join("a.sav"), path.join("a.journal"));
        let saved = persist::save(path.join("a.sav"), &7_u32).map(drop);
        for error in [opened.map(drop).expect_err("a circle"), saved.expect_err("a circle")] {
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(!error.message().contains("there is no folder"), "{error}");
        }
    }

    #[test]
    fn a_folder_in_the_place_of_a_backup_is_an_error_and_makes_no_damaged_saves() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Saves::new().slots(folder.path()).slot("a").path().expect("a name");
        persist::save(&path, &1_u32).expect("a save");
        fs::create_dir(folder.path().join("a.sav.bak")).expect("a folder");
        for _ in 0..3 {
            let error = persist::save(&path, &2_u32).expect_err("no place for a backup");
            assert!(error.message().contains("a.sav.bak: it is a folder"), "{error}");
        }
        assert_eq!(persist::load::<u32>(&path).expect("the save before"), 1);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn whatever_lies_beside_a_private_save_is_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let path = Saves::new().slots(folder).slot("a").path().expect("a name");
        persist::save(&path, &1_u32).expect("a save");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
        let saves = Saves::new();
        saves.slots(folder).copy("a", "b").expect("a copy");
        saves.file(&path).save(&2_u32).expect("a save");
        let history = History::<u32>::new(8);
        let journal = folder.join("a.journal");
        let session = Session::<u32>::with(Saves::new(), history).memory(1);
        let (mut session, _) = session.open(&path, &journal).expect("a session");
        session.save().expect("a save");
        let names = |entry: fs::DirEntry| entry.path();
        let files: Vec<PathBuf> =
            fs::read_dir(folder).expect("a folder").flatten().map(names).collect();
        assert!(files.len() >= 5, "{files:?}");
        for file in files {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }

    #[test]
    fn a_huge_file_that_is_no_save_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.sav");
        // It takes no place on the disk. Read whole, it would be too large.
        fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        let error = persist::load::<u32>(&path).expect_err("it is no save");
        assert_eq!(error.kind(), ErrorKind::NotASave, "{error}");
    }
}
