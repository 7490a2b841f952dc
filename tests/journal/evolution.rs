//! Journals of yesterday's program in today's.

use std::cell::RefCell;
use std::collections::HashMap;

use persist::world::ExternalIds;
use persist::{ErrorKind, History, ObjectId, Result, Session, World};

use super::programs::{new, old};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Disk, Image};

fn find(session: &Session<World>, name: &str) -> ObjectId {
    session.world().find(name).unwrap_or_else(|| panic!("there is no {name}"))
}

pub(crate) type Act = fn(&mut Session<World>) -> Result<()>;

/// Its files are in `fixtures/journals`, too.
pub(crate) const SCRIPT: &[Act] = &[
    |session| {
        session.edit("Add", |edit| {
            let door = edit.spawn("Door")?;
            edit.attach(door, old::Transform { x: 1.25, y: 2.5, gone: 1 })?;
            let bag = old::Bag { items: vec![1, 2], owner: Some(door), ..Default::default() };
            edit.attach(door, bag)?;
            edit.insert_resource(old::Score { points: 5, lives: 3 })
        })
    },
    |session| session.set(find(session, "Door"), "Transform:x", 1.5).map(drop),
    // To the same number, where it is rounded.
    |session| session.set(find(session, "Door"), "Transform:x", 1.75).map(drop),
    |session| session.set(find(session, "Door"), "Transform:x", 7.0).map(drop),
    |session| session.set(find(session, "Door"), "Transform:gone", 9).map(drop),
    |session| session.set(find(session, "Door"), "Transform:y", 0.1).map(drop),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.redo().map(drop),
    |session| {
        let door = find(session, "Door");
        session.edit("Drag", |edit| {
            let transform = edit.get_mut::<old::Transform>(door)?;
            (transform.x, transform.y, transform.gone) = (30.0, 40.0, 2);
            Ok(())
        })
    },
    |session| {
        let door = find(session, "Door");
        session.edit("Drag", |edit| {
            let transform = edit.get_mut::<old::Transform>(door)?;
            (transform.x, transform.y) = (31.0, 41.0);
            Ok(())
        })
    },
    |session| {
        let door = find(session, "Door");
        session.edit("Items", |edit| {
            edit.insert_element(door, "Bag:items", 0, 7)?;
            edit.insert_element(door, "Bag:items", 3, 8)?;
            edit.move_element(door, "Bag:items", 0, 2)?;
            edit.remove_element(door, "Bag:items", 1)?;
            edit.set(door, "Bag:first", "key")?;
            edit.set(door, "Bag:last", "lamp")?;
            edit.set(door, "Bag:items[0]", 100).map(drop)
        })
    },
    |session| session.edit("Score", |edit| edit.set(None, "Score:points", 6).map(drop)),
    |session| session.edit("Score", |edit| edit.set(None, "Score:lives", 2).map(drop)),
    |session| {
        session.edit("Score", |edit| {
            edit.set(None, "Score:lives", 1)?;
            edit.insert_resource(old::Score { points: 50, lives: 30 })?;
            edit.set(None, "Score:points", 51).map(drop)
        })
    },
    |session| {
        let door = find(session, "Door");
        session.edit("Swap", |edit| {
            edit.set(door, "Transform:x", 3.0)?;
            edit.detach::<old::Transform>(door)?;
            edit.attach(door, old::Transform { x: 100.0, y: 200.0, gone: 3 })?;
            edit.set(door, "Transform:y", 201.0).map(drop)
        })
    },
    |session| {
        let door = find(session, "Door");
        session.edit("Belt", |edit| {
            edit.attach(
                door,
                old::Belt { tool: Box::new(old::Saw { teeth: vec![1, 2] }), length: 1 },
            )
        })
    },
    |session| session.set(find(session, "Door"), "Belt:length", 5).map(drop),
    |session| session.set(find(session, "Door"), "Belt:tool.teeth[1]", 9).map(drop),
    |session| {
        let door = find(session, "Door");
        session.edit("Belt", |edit| {
            edit.get_mut::<old::Belt>(door)?.tool = Box::new(old::Hammer { weight: 4 });
            Ok(())
        })
    },
    |session| {
        let door = find(session, "Door");
        session.apply(old::Rename { object: door, name: String::from("Gate"), times: 0 })
    },
    |session| session.set(find(session, "Gate"), "Transform:y", 1.5).map(drop),
    |session| session.apply(old::Raise { object: find(session, "Gate"), by: 0.5 }),
    |session| session.set(find(session, "Gate"), "Transform:x", 12.0).map(drop),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.redo().map(drop),
    |session| {
        let prefab = session.world().prefab(find(session, "Gate"))?;
        session.edit("Copy", |edit| edit.instantiate(&prefab, ExternalIds::Keep).map(drop))
    },
    |session| {
        let gate = find(session, "Gate");
        session.edit("Last", |edit| {
            edit.set(gate, "Transform:y", 5.0)?;
            edit.remove(gate)
        })
    },
    |session| session.undo().map(drop),
    |session| session.save().map(drop),
    |session| session.set(find(session, "Gate"), "Transform:x", 77.0).map(drop),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.save().map(drop),
    |session| session.undo().map(drop),
    |session| {
        while session.undo()? {}
        Ok(())
    },
    |session| session.save().map(drop),
    |session| session.redo().map(drop),
    |session| session.redo().map(drop),
    |session| session.redo().map(drop),
    |session| session.set(find(session, "Door"), "Bag:last", "end").map(drop),
    |session| session.edit("Score", |edit| edit.remove_resource::<old::Score>()),
    |session| session.undo().map(drop),
    |session| {
        session.edit("Detach", |edit| {
            let door = edit
                .find("Door")
                .ok_or_else(|| persist::Error::new(ErrorKind::NotFound, "there is no door"))?;
            edit.set(door, "Bag:first", "begin")?;
            edit.detach::<old::Bag>(door)
        })
    },
    |session| session.save().map(drop),
    |session| session.undo().map(drop),
];

/// All that today's program sees in a world.
fn described(world: &World) -> String {
    let mut text = String::new();
    for id in world.objects() {
        text += &format!("{id} {:?} {:?}\n", world.name(id), world.children(id));
        for class in world.classes(id) {
            text += &format!("  {:?}\n", world.get_field(id, class.as_str()).map_err(|_| ()));
        }
    }
    let points = world.resource::<new::Points>();
    format!("{text}{:?}", points.map(|points| (points.points, points.lives)))
}

pub(crate) struct Logged {
    pub(crate) image: Image,
    pub(crate) labels: Vec<String>,
    pub(crate) position: usize,
    is_modified: bool,
    /// At each position, saved by yesterday's program.
    worlds: Vec<Vec<u8>>,
}

pub(crate) fn labels(session: &Session<World>) -> Vec<String> {
    session.history().entries().map(|entry| entry.label.to_string()).collect()
}

pub(crate) fn run() -> Result<Vec<Logged>> {
    let disk = Disk::default();
    let mut session = old::session(&disk)?;
    let save = |session: &Session<World>| {
        old::saves(&Disk::default()).and_then(|saves| saves.to_vec(session.world()))
    };
    let mut worlds = vec![save(&session)?];
    let mut log = Vec::new();
    for act in SCRIPT {
        act(&mut session)?;
        let (position, now) = (session.history().position(), save(&session)?);
        worlds.truncate(session.history().entries().len() + 1);
        if worlds.len() <= position {
            worlds.push(now);
        } else {
            worlds[position] = now;
        }
        log.push(Logged {
            image: disk.image(),
            labels: labels(&session),
            position,
            is_modified: session.history().is_modified(),
            worlds: worlds.clone(),
        });
    }
    Ok(log)
}

thread_local! {
    /// What was found of saves, of which many are the same.
    static EXPECTED: RefCell<HashMap<Vec<u8>, String>> = RefCell::default();
}

fn expected(save: &[u8]) -> Result<String> {
    if let Some(found) = EXPECTED.with_borrow(|expected| expected.get(save).cloned()) {
        return Ok(found);
    }
    let disk = Disk::default();
    let saves = new::saves(&disk)?;
    disk.put(SAVE, save);
    let world = saves.file(SAVE).load::<World>()?.into_inner();
    let found = described(&world);
    EXPECTED.with_borrow_mut(|expected| expected.insert(save.to_vec(), found.clone()));
    Ok(found)
}

pub(crate) fn check(session: &mut Session<World>, logged: &Logged, what: &str) -> Result<()> {
    assert_eq!(session.history().position(), logged.position, "{what}");
    assert_eq!(session.history().entries().len(), logged.labels.len(), "{what}");
    let found = described(session.world());
    assert_eq!(found, expected(&logged.worlds[logged.position])?, "{what}");
    for position in
        (0..=session.history().entries().len()).rev().chain(0..=session.history().entries().len())
    {
        session.go_to(position)?;
        let found = described(session.world());
        assert_eq!(found, expected(&logged.worlds[position])?, "{what}, position {position}");
    }
    Ok(())
}

#[test]
fn a_journal_of_yesterday_is_done_again_on_the_types_of_today() -> Result<()> {
    for (step, logged) in run()?.iter().enumerate() {
        let what = format!("behind step {step}");
        let disk = Disk::new(logged.image.clone());
        let (mut session, recovered) = new::session(&disk)?;
        assert!(recovered.stopped.is_none(), "{what}: {recovered}");
        assert_eq!(session.history().is_modified(), logged.is_modified, "{what}");
        assert_eq!(labels(&session), logged.labels, "{what}");
        check(&mut session, logged, &what)?;
        session.go_to(logged.position)?;
        drop(session);

        // It went on in today's form, and is saved in it.
        let what = format!("again behind step {step}");
        let (mut session, recovered) = new::session(&disk)?;
        assert!(recovered.stopped.is_none(), "{what}: {recovered}");
        session.edit("Today", |edit| edit.spawn("Today").map(drop))?;
        session.undo()?;
        session.go_to(logged.position.min(session.history().entries().len()))?;
        session.save()?;
        drop(session);
        let (mut session, recovered) = new::session(&disk)?;
        assert!(recovered.stopped.is_none(), "{what}: {recovered}");
        let len = session.history().entries().len();
        for position in (0..len).rev().chain(0..len) {
            session.go_to(position)?;
            if position < logged.position {
                let found = described(session.world());
                assert_eq!(found, expected(&logged.worlds[position])?, "{what}, {position}");
            }
        }
    }
    Ok(())
}

#[test]
fn changes_of_a_class_that_is_gone_are_skipped_and_named() -> Result<()> {
    let log = run()?;
    let disk = Disk::new(log[0].image.clone());
    let saves = super::driver::saves_on(&disk);
    saves.register_component::<new::Bag>()?;
    saves.register_resource::<new::Points>()?;
    let options = Session::with(saves, History::new(None)).register_command::<new::Rename>()?;
    let (session, recovered) = options.open(SAVE, JOURNAL)?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    let skipped: Vec<_> = recovered.skipped.iter().map(|row| &*row.class).collect();
    assert_eq!((skipped, recovered.kept.len()), (vec!["Transform"], 1), "{recovered}");
    assert_eq!(session.history().entries().len(), 1);
    Ok(())
}

#[test]
fn a_journal_of_yesterday_with_any_byte_changed_is_no_panic() -> Result<()> {
    let log = run()?;
    for logged in [&log[20], &log[SCRIPT.len() - 1]] {
        let journal = &logged.image[&std::path::PathBuf::from(JOURNAL)];
        super::hostile::each_change(journal, 4_999, |bytes, what| {
            let mut image = logged.image.clone();
            image.insert(std::path::PathBuf::from(JOURNAL), bytes);
            let played = std::panic::catch_unwind(|| {
                let disk = Disk::new(image);
                let Ok((mut session, _)) = new::session(&disk) else { return };
                while matches!(session.undo(), Ok(true)) {}
                while matches!(session.redo(), Ok(true)) {}
                let _ = session.save();
            });
            assert!(played.is_ok(), "{what} panicked");
        });
    }
    Ok(())
}
