//! Whether the save of a session is still its own, and what others may do to it while the session is open.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use persist::history::Recovered;
use persist::save::Keep;
use persist::storage::{Files, Memory, SlotFolder, SlotStore, Storage};
use persist::{
    ErrorKind, History, Persist, Result, SaveManager, SaveOptions, Saves, Session, World, field,
};

use super::document::{Document, Rename, history, session_of};
use super::driver::{open, saves_on};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Disk, Image, REFUSED};

fn rename(session: &mut Session<Document>, title: &str) -> Result<()> {
    session.apply(Rename { title: title.into() })
}

/// A save of another program.
fn foreign() -> Vec<u8> {
    persist::to_vec(&Document { title: "foreign".into(), lines: Vec::new() }).unwrap()
}

/// Disks with and without locks and second names.
fn disks() -> [Disk; 3] {
    let lockless = Disk::new(Image::new());
    lockless.never_lock();
    [Disk::new(Image::new()), lockless, Disk::without_links(Image::new())]
}

/// Lets another program replace the save, delete it, or create it.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Replaced,
    Deleted,
    Created,
}

const MEANWHILE: [Meanwhile; 3] = [Meanwhile::Replaced, Meanwhile::Deleted, Meanwhile::Created];

impl Meanwhile {
    /// A session whose save is not its own any more.
    fn play(self, disk: &Disk) -> Session<Document> {
        let (mut session, _) = open(disk).unwrap();
        rename(&mut session, "first").unwrap();
        match self {
            Self::Created => disk.put(SAVE, &foreign()),
            Self::Replaced | Self::Deleted => {
                session.save().unwrap();
                rename(&mut session, "second").unwrap();
                match self {
                    Self::Deleted => disk.remove(Path::new(SAVE)).unwrap(),
                    _ => disk.put(SAVE, &foreign()),
                }
            }
        }
        session
    }
}

#[test]
fn after_another_program_replaced_the_save_edits_and_saves_are_conflicts_that_change_nothing() {
    for (disk, meanwhile) in MEANWHILE.iter().flat_map(|it| disks().map(|disk| (disk, *it))) {
        let mut session = meanwhile.play(&disk);
        let (target, labels) = (session.target().clone(), session.history().position());
        let before = disk.image();
        for _ in 0..2 {
            let error = rename(&mut session, "lost").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{meanwhile:?}");
            insta::allow_duplicates! { insta::assert_snapshot!(error, @"the save plan.sav is not the one that this session follows, another program has replaced or deleted it; `overwrite` saves in its place and keeps it as a backup, or save elsewhere, or open the session again to continue with that save"); }
            assert_eq!(session.undo().unwrap_err().kind(), ErrorKind::Conflict);
            assert_eq!(session.begin("Group").unwrap_err().kind(), ErrorKind::Conflict);
            assert_eq!(session.save().unwrap_err().kind(), ErrorKind::Conflict);
        }
        assert_eq!((session.target(), session.history().position()), (&target, labels));
        assert_eq!(disk.image(), before, "{meanwhile:?}");
        // What was done before is in the journal; a session that is opened again keeps that for the user.
        drop(session);
        if matches!(meanwhile, Meanwhile::Deleted) {
            // Its backup, or a new beginning: the library does not choose.
            continue;
        }
        let (session, recovered) = open(&disk).unwrap();
        assert_eq!(session.target().title, "foreign");
        assert_eq!(recovered.kept.len(), 1, "{meanwhile:?}: {recovered}");
    }
}

#[test]
fn a_transaction_in_which_the_save_is_replaced_is_rolled_back() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.save()?;
    session.begin("Group")?;
    rename(&mut session, "inside")?;
    disk.put(SAVE, &foreign());
    assert_eq!(rename(&mut session, "refused").unwrap_err().kind(), ErrorKind::Conflict);
    session.rollback()?;
    assert_eq!(session.target().title, "");
    Ok(())
}

#[test]
fn a_world_is_edited_no_further_after_its_save_was_replaced() -> Result<()> {
    let disk = Disk::default();
    let session = Session::<World>::with(saves_on(&disk), History::new(8));
    let (mut session, _) = session.open(SAVE, JOURNAL)?;
    session.save()?;
    session.edit("Spawn", |edit| edit.spawn("Kept").map(drop))?;
    disk.put(SAVE, &persist::to_vec(&World::new())?);
    let error = session.edit("Spawn", |edit| edit.spawn("Lost").map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(session.history().position(), 1);
    Ok(())
}

#[test]
fn the_same_save_in_another_file_is_the_same_save() -> Result<()> {
    for disk in disks() {
        let (mut session, _) = open(&disk)?;
        rename(&mut session, "first")?;
        session.save()?;
        let save = disk.image()[Path::new(SAVE)].clone();
        disk.put(SAVE, &save);
        rename(&mut session, "second")?;
        session.save()?;
    }
    Ok(())
}

/// The system says nothing about the save.
#[test]
fn while_the_save_cannot_be_read_edits_go_on_and_a_save_replaces_nothing() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.save()?;
    let before = disk.image()[Path::new(SAVE)].clone();
    disk.fail_opens(SAVE, usize::MAX, REFUSED);
    rename(&mut session, "unseen")?;
    let error = session.save().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    insta::assert_snapshot!(error, @"cannot read plan.sav: permission denied");
    assert_eq!(session.overwrite().unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(disk.image()[Path::new(SAVE)], before);
    disk.fail_opens(SAVE, 0, REFUSED);
    rename(&mut session, "seen")?;
    session.save()?;
    drop(session);
    assert_eq!(open(&disk)?.0.target().title, "seen");
    Ok(())
}

#[test]
fn an_overwritten_save_stays_as_a_backup_and_the_session_goes_on() -> Result<()> {
    for (disk, backups) in disks().into_iter().chain(disks()).zip([0, 0, 0, 1, 1, 1]) {
        let saves = saves_on(&disk).save_options(SaveOptions::new().backups(backups));
        let (mut session, _) = session_of(saves, history(None))?.open(SAVE, JOURNAL)?;
        rename(&mut session, "first")?;
        session.save()?;
        disk.put(SAVE, &foreign());
        assert_eq!(rename(&mut session, "refused").unwrap_err().kind(), ErrorKind::Conflict);
        session.overwrite()?;
        assert_eq!(disk.image()[Path::new("plan.sav.bak")], foreign());
        assert!(!session.history().is_modified());
        rename(&mut session, "second")?;
        drop(session);
        let (session, recovered) = open(&disk)?;
        assert_eq!((&*session.target().title, session.history().position()), ("second", 2));
        assert!(recovered.kept.is_empty());
    }
    // One that was deleted is simply saved again.
    let disk = Disk::default();
    let mut session = Meanwhile::Deleted.play(&disk);
    session.overwrite()?;
    rename(&mut session, "third")?;
    session.save()?;
    Ok(())
}

#[test]
fn both_saves_are_kept_by_saving_the_target_elsewhere() -> Result<()> {
    let disk = Disk::default();
    let session = Meanwhile::Replaced.play(&disk);
    let (target, _, saves) = session.into_parts();
    saves.file("plan (mine).sav").save(&target)?;
    let (session, _) = open(&disk)?;
    assert_eq!(session.target().title, "foreign");
    assert_eq!(saves.file("plan (mine).sav").load::<Document>()?.title, "second");
    Ok(())
}

#[test]
fn a_save_that_is_replaced_while_the_session_writes_its_own_is_a_conflict() -> Result<()> {
    for disk in disks() {
        let (mut session, _) = open(&disk)?;
        session.save()?;
        rename(&mut session, "mine")?;
        disk.put_after("sync .plan.sav.tmp", SAVE, &foreign());
        let error = session.save().unwrap_err();
        // Where there are no locks, a look at the header finds it first.
        assert!([ErrorKind::Conflict, ErrorKind::InUse].contains(&error.kind()), "{error}");
        assert_eq!(disk.image()[Path::new(SAVE)], foreign());
        assert!(!disk.names().iter().any(|name| name.ends_with(".tmp") || name.ends_with(".new")));
        drop(session);
        let (session, recovered) = open(&disk)?;
        assert_eq!((&*session.target().title, recovered.kept.len()), ("foreign", 1));
    }
    Ok(())
}

/// A document that the program refuses by its title.
#[derive(Persist, Default)]
#[persist(validate = Self::check)]
struct Strict {
    title: String,
}

impl Strict {
    fn check(&self) -> Result<(), String> {
        if self.title == "refused" { Err(self.title.clone()) } else { Ok(()) }
    }
}

/// What it was before it refused anything.
#[derive(Persist)]
#[persist(class = "Strict")]
struct Lenient {
    title: String,
}

fn open_strict(disk: &Disk) -> Result<(Session<Strict>, Recovered)> {
    Session::<Strict>::with(saves_on(disk), History::new(8)).open(SAVE, JOURNAL)
}

#[test]
fn a_session_on_the_backup_of_a_refused_save_edits_and_saves_and_the_refused_one_stays()
-> Result<()> {
    for disk in disks() {
        let saves = saves_on(&disk);
        for title in ["good", "refused"] {
            saves.file(SAVE).save(&Lenient { title: title.into() })?;
        }
        let refused = disk.image()[Path::new(SAVE)].clone();
        let (mut session, recovered) = open_strict(&disk)?;
        let report = recovered.report.unwrap();
        assert_eq!(report.recovery().unwrap().refused, [PathBuf::from("plan.sav.refused")]);
        session.set_field(field!(Strict.title), "edited")?;
        drop(session);
        let (mut session, _) = open_strict(&disk)?;
        assert_eq!(session.target().title, "edited");
        session.save()?;
        session.set_field(field!(Strict.title), "better")?;
        session.save()?;
        assert_eq!(disk.image()[Path::new("plan.sav.refused")], refused);
        // Another program's save is noticed there, too.
        disk.put(SAVE, &foreign());
        assert_eq!(
            session.set_field(field!(Strict.title), "x").unwrap_err().kind(),
            ErrorKind::Conflict
        );
    }
    Ok(())
}

#[test]
fn a_session_on_the_backup_of_a_damaged_save_edits_and_saves() -> Result<()> {
    for disk in disks() {
        let (mut session, _) = open(&disk)?;
        session.save()?;
        rename(&mut session, "second")?;
        session.save()?;
        drop(session);
        let mut save = disk.image()[Path::new(SAVE)].clone();
        save.pop();
        disk.put(SAVE, &save);
        let (mut session, _) = open(&disk)?;
        rename(&mut session, "third")?;
        session.save()?;
        rename(&mut session, "fourth")?;
    }
    Ok(())
}

/// All that may change a save beside its session: refused as long as the session is open.
fn others_are_refused(storage: &(impl Storage + Clone + 'static), folder: &Path, what: &str) {
    let at = |name: &str| folder.join(name);
    let saves = Saves::new().storage(storage.clone()).device("deck").unwrap();
    let slots = saves.slots(folder);
    let document = Document::default();
    let objects = || -> Result<SaveManager> {
        let mut manager = saves.manager();
        manager.add(&Rc::new(RefCell::new(document.clone())))?;
        Ok(manager)
    };
    saves.file(at("plan.sav")).save(&document).unwrap();
    saves.file(at("other.sav")).save(&document).unwrap();
    let open = |name: &str| {
        let paths = (at(&format!("{name}.sav")), at(&format!("{name}.journal")));
        session_of(saves.clone(), history(None)).unwrap().open(paths.0, paths.1).unwrap().0
    };
    let (mut session, mut new) = (open("plan"), open("new"));
    let store = slots.as_store().unwrap();
    let plain = SlotFolder::new(storage.clone(), folder);
    let (save, version) = store.get("plan").unwrap().unwrap();
    let changes: [(&str, &dyn Fn() -> Result<()>); 13] = [
        ("a value", &|| saves.file(at("plan.sav")).save(&document).map(drop)),
        ("a value of a slot", &|| slots.slot("plan").save(&document).map(drop)),
        ("a value in the background", &|| {
            saves.file(at("plan.sav")).save_in_background(&document)?.wait().map(drop)
        }),
        ("objects", &|| objects()?.save(at("plan.sav")).map(drop)),
        ("objects in the background", &|| {
            slots.slot("plan").save_in_background(&objects()?)?.wait().map(drop)
        }),
        ("a deletion", &|| slots.slot("plan").delete()),
        ("a rename", &|| slots.rename("plan", "free")),
        ("a rename onto it", &|| slots.rename("other", "new")),
        ("a copy onto it", &|| slots.copy("other", "new")),
        ("a put", &|| plain.put_if("plan", Some(&version), &save).map(drop)),
        ("a deletion in a store", &|| plain.delete("plan", &version)),
        ("a reconciliation in a store", &|| {
            let other = store.get("other")?.unwrap().0;
            store.reconcile_if("plan", Some(&version), &save, &other).map(drop)
        }),
        ("a reconciliation", &|| {
            let laptop = saves.clone().device("laptop")?;
            laptop.file(at("other.sav")).save(&document)?;
            saves.file(at("plan.sav")).reconcile(at("other.sav"), Keep::Remote).map(drop)
        }),
    ];
    for (name, change) in changes {
        let error = change().expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InUse, "{what}, {name}: {error}");
    }
    rename(&mut session, "mine").unwrap();
    session.save().unwrap();
    rename(&mut new, "mine, too").unwrap();
    new.save().unwrap();
    drop((session, new));
    saves.file(at("plan.sav")).save(&document).unwrap();
    slots.slot("new").delete().unwrap();
}

#[test]
fn whoever_would_change_the_save_of_an_open_session_is_told_that_it_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    others_are_refused(&Files, folder.path(), "files");
    others_are_refused(&Memory::default(), Path::new("saves"), "memory");
    others_are_refused(&Disk::default(), Path::new(""), "disk");
    others_are_refused(&Disk::without_links(Image::new()), Path::new(""), "one name");
}

#[test]
fn a_save_in_use_by_a_session_is_named() -> Result<()> {
    let disk = Disk::default();
    let (_session, _) = open(&disk)?;
    let error = saves_on(&disk).file(SAVE).save(&7_u8).unwrap_err();
    insta::assert_snapshot!(error, @"plan.sav is in use, a session has it open; save by that session, or close it");
    Ok(())
}

#[test]
fn the_lock_file_of_a_session_that_was_killed_keeps_nobody_from_saving() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(SAVE);
    std::fs::write(folder.path().join(".plan.sav.session"), b"").unwrap();
    persist::save(&path, &7_u8).unwrap();
    assert_eq!(persist::load::<u8>(&path).unwrap(), 7);
}
