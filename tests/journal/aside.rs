//! Edits that become no entries: no undo reverts them, and a journal takes them with the next edit.

use std::path::PathBuf;

use persist::history::Changed;
use persist::{Component, ErrorKind, History, ObjectId, Persist, Result, Session, World, field};
use persist_tests::support::disk::{Disk, Image};
use persist_tests::support::short_or_long;
use persist_tools::{Document as Save, JournalListing, Occurrence};
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

use super::driver::saves_on;
use super::{JOURNAL, SAVE};

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Drawing {
    shapes: Vec<u32>,
    title: String,
    zoom: u32,
    open: Vec<u32>,
}

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Camera {
    x: u32,
}

impl Component for Camera {}

fn open(disk: &Disk) -> Result<Session<Drawing>> {
    let options = Session::<Drawing>::with(saves_on(disk), History::new(None));
    options.open(SAVE, JOURNAL).map(|(session, _)| session)
}

fn look(session: &mut Session<Drawing>, zoom: u32) -> Result<()> {
    session.aside(|session| session.set_field(field!(Drawing.zoom), zoom).map(drop))
}

/// The journal that is on the disk now.
fn length(disk: &Disk) -> usize {
    disk.image()[&PathBuf::from(JOURNAL)].len()
}

#[test]
fn no_undo_reverts_what_was_done_aside() -> Result<()> {
    let (mut drawing, mut history) = (Drawing::default(), History::new(None));
    history.set_field(&mut drawing, field!(Drawing.title), "A")?;
    history.set_modified(false)?;
    history.insert_element(&mut drawing, field!(Drawing.shapes), 0, 7_u32)?;
    history.undo(&mut drawing)?;
    let state = history.state();
    history.aside(|history| history.set_field(&mut drawing, field!(Drawing.zoom), 5_u32))?;
    history.aside(|history| {
        history.edit(&mut drawing, "Open", |drawing| {
            drawing.open.push(1);
            Ok(())
        })
    })?;
    assert_eq!((history.entries().len(), history.state()), (2, state));
    assert!(!history.is_modified() && history.can_redo());
    history.redo(&mut drawing)?;
    history.go_to(&mut drawing, 0)?;
    let expected = Drawing { zoom: 5, open: vec![1], ..Drawing::default() };
    assert_eq!(drawing, expected);
    Ok(())
}

#[test]
fn a_drag_and_typing_continue_across_it() -> Result<()> {
    let (mut drawing, mut history) = (Drawing::default(), History::new(None));
    let drag = history.begin_drag("Type");
    for (title, zoom) in [("A", 1_u32), ("AB", 2), ("ABC", 3)] {
        history.set_field(&mut drawing, field!(Drawing.title), title)?;
        history.aside(|history| history.set_field(&mut drawing, field!(Drawing.zoom), zoom))?;
    }
    history.end_drag(drag);
    for title in ["D", "DE"] {
        history.set_field_merging(&mut drawing, 1, field!(Drawing.title), title)?;
        history.aside(|history| history.set_field(&mut drawing, field!(Drawing.zoom), 9_u32))?;
    }
    assert_eq!(history.entries().len(), 2);
    history.undo(&mut drawing)?;
    assert_eq!((drawing.title.as_str(), drawing.zoom), ("ABC", 9));
    Ok(())
}

#[test]
fn in_a_transaction_it_is_a_part_of_that() -> Result<()> {
    let disk = Disk::default();
    let mut session = open(&disk)?;
    session.begin("Both")?;
    session.set_field(field!(Drawing.title), "A")?;
    look(&mut session, 4)?;
    session.rollback()?;
    assert_eq!(*session.target(), Drawing::default());
    session.begin("Both")?;
    look(&mut session, 4)?;
    session.commit()?;
    session.undo()?;
    assert_eq!(*session.target(), Drawing::default());
    drop(session);
    assert_eq!(*open(&disk)?.target(), Drawing::default());
    Ok(())
}

#[test]
fn listeners_learn_of_it_and_a_failing_one_changes_nothing() -> Result<()> {
    use std::sync::{Arc, Mutex};
    let (mut drawing, mut history) = (Drawing::default(), History::<Drawing>::new(None));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&seen);
    let _subscription = history.subscribe_changes(move |_, changes| {
        let paths = changes.iter().map(|change| match change {
            Changed::Field(field) => field.path().to_string(),
            other => format!("{other:?}"),
        });
        listener.lock().unwrap().extend(paths);
    });
    history.aside(|history| history.set_field(&mut drawing, field!(Drawing.zoom), 5_u32))?;
    assert_eq!(*seen.lock().unwrap(), ["Drawing:zoom"]);
    let failed = history.aside(|history| {
        history.edit(&mut drawing, "Fail", |drawing: &mut Drawing| -> Result<()> {
            drawing.zoom = 9;
            Err("enough".into())
        })
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!((drawing.zoom, history.entries().len()), (5, 0));
    Ok(())
}

#[test]
fn a_journal_takes_it_with_the_next_edit_a_flush_a_save_or_the_end() -> Result<()> {
    let disk = Disk::default();
    let zoom = |disk: &Disk| open(&Disk::new(disk.image())).map(|session| session.target().zoom);
    let mut session = open(&disk)?;
    session.set_field(field!(Drawing.title), "A")?;
    session.save()?;
    let before = length(&disk);
    for number in 1..=100 {
        look(&mut session, number)?;
    }
    assert_eq!((length(&disk), zoom(&disk)?), (before, 0), "nothing was written");
    session.set_field(field!(Drawing.title), "B")?;
    assert_eq!(zoom(&disk)?, 100);
    look(&mut session, 101)?;
    session.undo()?;
    assert_eq!(zoom(&disk)?, 101);
    look(&mut session, 102)?;
    session.flush()?;
    assert_eq!(zoom(&disk)?, 102);
    look(&mut session, 103)?;
    session.save()?;
    assert_eq!(zoom(&disk)?, 103);
    look(&mut session, 104)?;
    drop(session);
    assert_eq!(zoom(&disk)?, 104);
    // Many are written without one of these, so that their number is no matter.
    let mut session = open(&disk)?;
    for number in 0..5_000 {
        look(&mut session, 200 + number)?;
    }
    assert!(zoom(&disk)? > 3_000);
    Ok(())
}

#[test]
fn a_flush_that_cannot_write_it_is_an_error_and_the_next_one_writes_it() -> Result<()> {
    let disk = Disk::default();
    let mut session = open(&disk)?;
    session.set_field(field!(Drawing.title), "A")?;
    session.flush()?;
    look(&mut session, 7)?;
    disk.leave_room(10);
    assert_eq!(session.flush().unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(open(&Disk::new(disk.image()))?.target().zoom, 0);
    disk.leave_room(100_000);
    session.flush()?;
    assert_eq!(open(&Disk::new(disk.image()))?.target().zoom, 7);
    Ok(())
}

/// Edits, asides, undos, saves and further sessions at random, beside a document without a history.
#[test]
fn any_steps_lead_to_the_entries_that_are_applied_and_all_that_was_done_aside() -> Result<()> {
    for seed in 0..short_or_long(20_u64, 500) {
        let mut rng = Lcg64Xsh32::seed_from_u64(seed);
        let disk = Disk::default();
        let mut session = open(&disk)?;
        // The shapes at each position, and the rest.
        let (mut states, mut rest, mut applied) = (vec![Vec::new()], Drawing::default(), 0);
        let mut acknowledged = Drawing::default();
        for step in 0..60_u32 {
            let what = format!("seed {seed}, step {step}");
            match rng.gen_range(0..12) {
                0..3 => {
                    let at = rng.gen_range(0..=states[applied].len());
                    session.insert_element(field!(Drawing.shapes), at, step)?;
                    states.truncate(applied + 1);
                    let mut shapes = states[applied].clone();
                    shapes.insert(at, step);
                    states.push(shapes);
                    applied += 1;
                }
                3..6 => {
                    look(&mut session, step)?;
                    rest.zoom = step;
                    continue;
                }
                6 => {
                    session.aside(|session| {
                        let at = rest.open.len();
                        session.insert_element(field!(Drawing.open), at, step)
                    })?;
                    rest.open.push(step);
                    continue;
                }
                7..9 => {
                    if !session.undo()? {
                        continue;
                    }
                    applied -= 1;
                }
                9 => {
                    if !session.redo()? {
                        continue;
                    }
                    applied += 1;
                }
                10 => drop(session.save()?),
                _ => {
                    drop(session);
                    session = open(&disk)?;
                }
            }
            let expected = Drawing { shapes: states[applied].clone(), ..rest.clone() };
            assert_eq!(*session.target(), expected, "{what}");
            assert_eq!(session.history().entries().len(), states.len() - 1, "{what}");
            // After a crash, all is there.
            let found = open(&Disk::new(disk.image()))?;
            assert_eq!(*found.target(), expected, "{what}, after a crash");
            acknowledged = expected;
        }
        drop(session);
        let expected = Drawing { shapes: states[applied].clone(), ..rest };
        assert_eq!(*open(&disk)?.target(), expected, "seed {seed}, after {acknowledged:?}");
    }
    Ok(())
}

#[test]
fn a_power_cut_in_the_next_edit_is_the_edit_under_way() -> Result<()> {
    let disk = Disk::default();
    let mut session = open(&disk)?;
    session.set_field(field!(Drawing.title), "A")?;
    let long = "x".repeat(1_500);
    session.aside(|session| session.set_field(field!(Drawing.title), long.as_str()))?;
    look(&mut session, 3)?;
    disk.note_cuts();
    session.insert_element(field!(Drawing.shapes), 0, 1_u32)?;
    let mut tried = 0;
    for cut in disk.cuts() {
        for selection in 0..1_u64 << cut.pieces().min(6) {
            for image in cut.images(|sector| selection >> (sector % 6) & 1 == 1) {
                let (found, recovered) =
                    Session::<Drawing>::with(saves_on(&Disk::new(image)), History::new(None))
                        .open(SAVE, JOURNAL)?;
                assert!(recovered.stopped.is_none(), "{recovered}");
                let title = &found.target().title;
                assert!(*title == "A" || *title == long, "{title}");
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried}");
    Ok(())
}

fn world_session(disk: &Disk) -> Result<Session> {
    let saves = saves_on(disk);
    saves.register_component::<Camera>()?;
    Session::<World>::with(saves, History::new(None)).open(SAVE, JOURNAL).map(|(it, _)| it)
}

#[test]
fn objects_that_were_spawned_aside_are_there_for_later_edits_and_tools() -> Result<()> {
    let disk = Disk::default();
    let mut session = world_session(&disk)?;
    let door = session.edit("Add", |edit| edit.spawn("Door"))?;
    session.save()?;
    let camera: ObjectId = session.aside(|session| {
        session.edit("Camera", |edit| {
            let camera = edit.spawn("Camera")?;
            edit.attach(camera, Camera { x: 1 })?;
            Ok(camera)
        })
    })?;
    session.aside(|session| session.set(camera, field!(Camera.x), 2_u32))?;
    session.edit("Attach", |edit| edit.attach(door, Camera { x: 7 }))?;
    session.aside(|session| session.set(camera, field!(Camera.x), 3_u32))?;
    session.undo()?;
    session.undo()?;
    let x = |world: &World| world.get::<Camera>(camera).map(|camera| camera.x);
    assert_eq!((x(session.world()), session.world().find("Door")), (Some(3), None));
    session.redo()?;
    session.redo()?;
    let saved = |image: &Image| -> Result<World> {
        Ok(world_session(&Disk::new(image.clone()))?.into_parts().0.into_inner())
    };
    let image = disk.image();
    assert_eq!(x(&saved(&image)?), Some(3));

    // A tool without the types does the same.
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join("level.journal");
    std::fs::write(&journal, &image[&PathBuf::from(JOURNAL)]).expect("room");
    let save = &image[&PathBuf::from(SAVE)];
    let listing = JournalListing::for_save(&journal, Some(save))?;
    let asides = listing.events.iter().filter(|event| event.what == Occurrence::Aside);
    assert_eq!(asides.count(), 3);
    let mut document = Save::from_slice(save)?;
    listing.replay(&mut document, listing.events.len())?;
    let found = document.to_vec()?;
    let loaded = saves_on(&Disk::default());
    loaded.register_component::<Camera>()?;
    let world = loaded.from_slice::<World>(&found)?;
    assert_eq!((x(&world), world.get::<Camera>(door).map(|it| it.x)), (Some(3), Some(7)));
    Ok(())
}
