//! Worlds in sessions.

use persist::world::Activity;
use std::path::PathBuf;

use persist::history::{Capacity, CommandEdit, Flush, Recovered, SessionOptions};
use persist::world::ExternalIds;
use persist::{
    Command, Component, ErrorKind, History, ObjectId, Persist, Result, Saves, Session, World, field,
};

use super::hostile::frames;
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Disk, Image};
use persist_tests::support::short_or_long;
use rand::Rng;
use rand_pcg::Pcg64Mcg;

#[derive(Persist, Default)]
struct Transform {
    x: f32,
    y: f32,
}

#[derive(Persist, Default)]
struct Bag {
    items: Vec<String>,
    owner: Option<ObjectId>,
}

#[derive(Persist, Default)]
struct Score(u32);

impl Component for Transform {}
impl Component for Bag {}

/// Makes an object beside one that it changes itself.
#[derive(Persist)]
struct Grow {
    object: ObjectId,
    is_direct: bool,
    made: Option<ObjectId>,
}

impl Command for Grow {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        self.made = Some(edit.spawn("Sprout")?);
        edit.set(self.object, field!(Transform.y), 9.0)?;
        if self.is_direct
            && let Some(transform) = edit.target().get_mut::<Transform>(self.object)
        {
            transform.x += 1.0;
        }
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        if let Some(transform) = world.get_mut::<Transform>(self.object) {
            transform.x -= 1.0;
        }
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        if let Some(transform) = edit.target().get_mut::<Transform>(self.object) {
            transform.x += 1.0;
        }
        Ok(())
    }
}

fn saves(disk: &Disk) -> Result<Saves> {
    let saves = super::driver::saves_on(disk);
    saves.register_component::<Transform>()?;
    saves.register_component::<Bag>()?;
    saves.register_resource::<Score>()?;
    Ok(saves)
}

fn options(disk: &Disk) -> Result<SessionOptions<World>> {
    let mut history = History::new(None);
    history.set_merge_window(Some(std::time::Duration::MAX));
    Session::with(saves(disk)?, history).flush(Flush::OnIdle).register_command::<Grow>()
}

fn open(disk: &Disk) -> Result<(Session<World>, Recovered)> {
    options(disk)?.open(SAVE, JOURNAL)
}

/// All that is in a world, and what it would give next.
fn bytes(world: &World) -> Vec<u8> {
    let saves = saves(&Disk::default()).unwrap();
    saves.to_vec(world).unwrap()
}

/// All that is in a world but for the ids that it has given.
fn described(world: &World) -> String {
    let mut text = format!("roots {:?}\n", world.roots().collect::<Vec<_>>());
    for id in world.objects() {
        let (name, children) = (world.name(id), world.children(id));
        text += &format!("{id} {name:?} {children:?} {:?}\n", world.activity(id));
        for class in world.classes(id) {
            text += &format!("  {:?}\n", world.get_field(id, class.as_str()).unwrap());
        }
    }
    let score = world.resource::<Score>().map(|score| score.0);
    format!("{text}{score:?}")
}

type Act = fn(&mut Session<World>) -> Result<()>;

fn find(session: &Session<World>, name: &str) -> ObjectId {
    session.world().find(name).unwrap_or_else(|| panic!("there is no {name}"))
}

/// A session with each sort of edit, undone, saved and redone.
const SCRIPT: &[Act] = &[
    |session| {
        session.edit("Add", |edit| {
            let house = edit.spawn("House")?;
            let door = edit.spawn_in(house, "Door")?;
            edit.attach(door, Transform { x: 1.0, y: 2.0 })?;
            edit.attach(house, Bag { items: vec![String::from("key")], owner: Some(door) })
        })
    },
    |session| {
        let door = find(session, "Door");
        session.set(door, field!(Transform.x), 50.0).map(drop)
    },
    |session| {
        let door = find(session, "Door");
        session.set(door, "Transform:x", 51.0).map(drop)
    },
    |session| {
        let door = find(session, "Door");
        session.edit("Drag", |edit| {
            let transform = edit.get_mut::<Transform>(door)?;
            (transform.x, transform.y) = (3.0, 4.0);
            Ok(())
        })
    },
    |session| session.undo().map(drop),
    |session| session.redo().map(drop),
    |session| {
        let failed = session.edit("", |edit| {
            edit.spawn("Never")?;
            Err::<(), _>(persist::Error::new(ErrorKind::Refused, "no"))
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Refused);
        Ok(())
    },
    |session| {
        let house = find(session, "House");
        session.edit("Items", |edit| {
            edit.insert_element(house, field!(Bag.items), 0, "map")?;
            edit.insert_element(house, field!(Bag.items), 2, "lamp")?;
            edit.move_element(house, field!(Bag.items), 0, 2)?;
            edit.remove_element(house, field!(Bag.items), 1)
        })
    },
    |session| {
        let (house, door) = (find(session, "House"), find(session, "Door"));
        session.edit("Arrange", |edit| {
            edit.rename(door, "Gate")?;
            let hall = edit.spawn("Hall")?;
            edit.set_parent(door, Some(hall))?;
            edit.set_parent_at(hall, Some(house), 0)?;
            edit.set_activity(hall, Activity::Paused)
        })
    },
    |session| session.edit("Score", |edit| edit.insert_resource(Score(7))),
    |session| session.edit("Score", |edit| edit.insert_resource(Score(8))),
    |session| {
        session.edit("Score", |edit| {
            edit.resource_mut::<Score>()?.0 += 1;
            edit.set(None, "Score:0", 11).map(drop)
        })
    },
    |session| {
        let house = find(session, "House");
        let prefab = session.world().prefab(house)?;
        session.edit("Copy", |edit| edit.instantiate(&prefab, ExternalIds::Keep).map(drop))
    },
    |session| {
        session.edit("Barn", |edit| {
            let bag = |owner| (Transform::default(), Bag { items: vec![], owner });
            let barn = edit.spawn_with("Barn", bag(None))?;
            edit.set(barn, "Transform:x", 6.0)?;
            edit.spawn_many("Stall", [bag(Some(barn)), bag(None)]).map(drop)
        })
    },
    |session| session.undo().map(drop),
    |session| session.redo().map(drop),
    |session| {
        let house = find(session, "House");
        session.edit("Remove", |edit| edit.remove(house))
    },
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.redo().map(drop),
    |session| session.redo().map(drop),
    // Parked objects in both stacks.
    |session| session.save().map(drop),
    |session| session.edit("Score", |edit| edit.remove_resource::<Score>()),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.save().map(drop),
    |session| {
        while session.undo()? {}
        Ok(())
    },
    |session| session.save().map(drop),
    |session| session.go_to(9),
    |session| session.save().map(drop),
    |session| {
        let gate = find(session, "Gate");
        session.edit("Detach", |edit| edit.detach::<Transform>(gate))
    },
    |session| session.save().map(drop),
    |session| session.undo().map(drop),
    |session| {
        let gate = find(session, "Gate");
        session.apply(Grow { object: gate, is_direct: false, made: None })
    },
    |session| {
        let gate = find(session, "Gate");
        session.apply(Grow { object: gate, is_direct: true, made: None })
    },
    |session| session.undo().map(drop),
    |session| session.redo().map(drop),
    |session| session.save().map(drop),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.save().map(drop),
    |session| session.redo().map(drop),
    |session| {
        session.begin("Group")?;
        session.edit("", |edit| edit.spawn("Tree").map(drop))?;
        session.rollback()
    },
    |session| {
        session.begin("Group")?;
        let gate = find(session, "Gate");
        session.set(gate, "Transform:x", 5.0)?;
        session.edit("", |edit| edit.remove(gate))?;
        session.edit("", |edit| edit.spawn("Gate").map(drop))?;
        session.commit()
    },
    |session| session.undo().map(drop),
    |session| session.edit("New", |edit| edit.spawn("New").map(drop)),
];

struct Logged {
    image: Image,
    bytes: Vec<u8>,
    labels: Vec<String>,
    position: usize,
    is_modified: bool,
    /// At each position.
    worlds: Vec<String>,
}

/// True if a save was made, which begins a new journal or a part of one.
fn is_save(before: &Logged, after: &Logged) -> bool {
    let save = PathBuf::from(SAVE);
    before.image.get(&save) != after.image.get(&save)
}

fn labels(session: &Session<World>) -> Vec<String> {
    session.history().entries().map(|entry| entry.label.to_string()).collect()
}

fn run() -> Result<Vec<Logged>> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let mut worlds = vec![described(session.world())];
    let mut log = Vec::new();
    for act in SCRIPT {
        let before = session.history().position();
        act(&mut session)?;
        let (position, now) = (session.history().position(), described(session.world()));
        worlds.truncate(session.history().entries().len() + 1);
        if worlds.len() <= position {
            worlds.push(now);
        } else if before != position || session.history().entries().len() == position {
            worlds[position] = now;
        }
        log.push(Logged {
            image: disk.image(),
            bytes: bytes(session.world()),
            labels: labels(&session),
            position,
            is_modified: session.history().is_modified(),
            worlds: worlds.clone(),
        });
    }
    Ok(log)
}

fn check(session: &mut Session<World>, logged: &Logged, what: &str) -> Result<()> {
    assert_eq!(described(session.world()), logged.worlds[logged.position], "{what}");
    assert_eq!(labels(session), logged.labels, "{what}");
    assert_eq!(session.history().position(), logged.position, "{what}");
    assert_eq!(session.history().is_modified(), logged.is_modified, "{what}");
    for position in
        (0..=session.history().entries().len()).rev().chain(0..=session.history().entries().len())
    {
        session.go_to(position)?;
        let found = described(session.world());
        assert_eq!(found, logged.worlds[position], "{what}, position {position}");
    }
    Ok(())
}

#[test]
fn a_world_comes_back_with_its_stacks_behind_each_step() -> Result<()> {
    for (step, logged) in run()?.iter().enumerate() {
        let disk = Disk::new(logged.image.clone());
        let (mut session, recovered) = open(&disk)?;
        let what = format!("behind step {step}");
        assert!(recovered.stopped.is_none(), "{what}: {recovered}");
        check(&mut session, logged, &what)?;
        drop(session);
        // And again from the journal of that.
        let (mut session, _) = open(&disk)?;
        session.go_to(logged.position)?;
        assert_eq!(session.history().is_modified(), logged.is_modified, "{what}");
        check(&mut session, logged, &what)?;
    }
    Ok(())
}

#[test]
fn ids_and_names_go_on_as_they_would_have() -> Result<()> {
    let log = run()?;
    for (step, logged) in log.iter().enumerate() {
        let (session, _) = open(&Disk::new(logged.image.clone()))?;
        // What a failed edit used up behind the last frame is not known.
        let is_failed = step == 6;
        let found = bytes(session.world());
        assert_eq!(found == logged.bytes, !is_failed, "behind step {step}");
    }
    Ok(())
}

#[test]
fn what_is_done_behind_a_recovery_is_what_would_have_been_done() -> Result<()> {
    let log = run()?;
    // Behind a failed edit, what it used up is not known.
    for start in (0..SCRIPT.len()).filter(|start| *start != 6).step_by(3) {
        let disk = Disk::new(log[start].image.clone());
        let (mut session, _) = open(&disk)?;
        for (step, act) in SCRIPT.iter().enumerate().skip(start + 1) {
            act(&mut session)?;
            assert_eq!(labels(&session), log[step].labels, "{step} from {start}");
            let expected = &log[step].worlds[log[step].position];
            assert_eq!(described(session.world()), *expected, "{step} from {start}");
        }
    }
    Ok(())
}

#[test]
fn a_journal_of_a_world_cut_anywhere_leads_to_a_state_that_was() -> Result<()> {
    let log = run()?;
    let journal = PathBuf::from(JOURNAL);
    let mut count = 0;
    for pair in log.windows(2) {
        let [before, after] = pair else { continue };
        let (old, new) = (&before.image[&journal], &after.image[&journal]);
        let is_jump = before.position.abs_diff(after.position) > 1;
        if is_save(before, after) || is_jump || new.len() - old.len() > 3_000 {
            continue;
        }
        for length in (old.len()..new.len()).step_by(3) {
            let mut image = after.image.clone();
            image.insert(journal.clone(), new[..length].to_vec());
            let (session, _) = open(&Disk::new(image))?;
            let found = described(session.world());
            assert!(found == before.worlds[before.position], "cut at {length}");
            assert_eq!(labels(&session), before.labels);
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
    Ok(())
}

/// A journal without some pieces of one append that begins at a byte: a disk writes sectors in any order.
fn without_pieces(journal: &[u8], at: usize, mut each: impl FnMut(Vec<u8>, &str)) {
    /// Short, so that most frames have several.
    const PIECE: usize = 16;
    let pieces = (journal.len() - at).div_ceil(PIECE);
    let mut random = Pcg64Mcg::new(journal.len() as u128);
    for round in 0..(1_u64 << pieces.min(10)).min(short_or_long(40, 1_000)) {
        let bits = if pieces > 5 { random.r#gen() } else { round };
        let mut bytes = journal.to_vec();
        for (piece, bytes) in bytes[at..].chunks_mut(PIECE).enumerate() {
            if bits >> (piece % 64) & 1 == 0 {
                bytes.fill(0);
            }
        }
        if bytes != journal {
            each(bytes, &format!("pieces {bits:b} of {pieces} behind byte {at}"));
        }
    }
}

/// How many frames one append has; `None` if this is not one append.
fn frames_of_append(journal: &[u8], at: usize) -> Option<usize> {
    let of_append = frames(journal).into_iter().filter(|(frame, _)| *frame >= at);
    let places: Vec<u16> = of_append
        .map(|(frame, _)| u16::from_le_bytes([journal[frame + 5], journal[frame + 6]]))
        .collect();
    let is_one = !places.is_empty() && places.iter().copied().map(usize::from).eq(0..places.len());
    is_one.then_some(places.len())
}

#[test]
fn any_part_of_the_edit_under_way_may_be_missing_and_nothing_is_damaged() -> Result<()> {
    let log = run()?;
    let path = PathBuf::from(JOURNAL);
    let (mut of_several, mut tried) = (0, 0);
    for pair in log.windows(2) {
        let [before, after] = pair else { continue };
        let (old, new) = (&before.image[&path], &after.image[&path]);
        if is_save(before, after) || !new.starts_with(old) {
            continue;
        }
        let Some(count) = frames_of_append(new, old.len()) else { continue };
        without_pieces(new, old.len(), |bytes, what| {
            tried += 1;
            of_several += usize::from(count > 1);
            let image =
                Image::from_iter(after.image.clone().into_iter().chain([(path.clone(), bytes)]));
            let (session, recovered) = open(&Disk::new(image)).unwrap();
            assert_eq!(described(session.world()), before.worlds[before.position], "{what}");
            assert_eq!(labels(&session), before.labels, "{what}");
            assert!(recovered.stopped.is_none(), "{what} of {count} frames: {recovered}");
            assert!(recovered.torn.is_some(), "{what} of {count} frames");
        });
    }
    assert!(of_several > 200 && tried > 500, "{of_several} of {tried}");
    Ok(())
}

#[test]
fn a_missing_part_of_an_edit_before_the_last_is_damage() -> Result<()> {
    let log = run()?;
    let path = PathBuf::from(JOURNAL);
    let mut tried = 0;
    for three in log.windows(3) {
        let [first, second, third] = three else { continue };
        let [old, new, last] = [first, second, third].map(|logged| &logged.image[&path]);
        let is_longer = new.len() > old.len() && last.len() > new.len();
        if !is_longer || is_save(first, second) || is_save(second, third) {
            continue;
        }
        without_pieces(new, old.len(), |mut bytes, what| {
            bytes.extend_from_slice(&last[new.len()..]);
            tried += 1;
            let image =
                Image::from_iter(third.image.clone().into_iter().chain([(path.clone(), bytes)]));
            let (_, recovered) = open(&Disk::new(image)).unwrap();
            assert!(recovered.stopped.is_some() && recovered.torn.is_none(), "{what}: {recovered}");
            assert!(!recovered.kept.is_empty(), "{what}: {recovered}");
        });
    }
    assert!(tried > 500, "{tried}");
    Ok(())
}

#[test]
fn changes_of_a_component_class_that_is_missing_are_skipped_and_the_journal_is_kept() -> Result<()>
{
    let log = run()?;
    let disk = Disk::new(log[1].image.clone());
    let saves = super::driver::saves_on(&disk);
    saves.register_component::<Bag>()?;
    let mut history = History::new(None);
    history.set_merge_window(Some(std::time::Duration::MAX));
    let options = Session::with(saves, history).register_command::<Grow>()?;
    let (session, recovered) = options.open(SAVE, JOURNAL)?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    assert!(recovered.skipped.iter().all(|row| row.class == "Transform"), "{recovered}");
    assert!(session.world().objects().len() > 0 && session.history().entries().len() > 0);
    assert_eq!(recovered.kept.len(), 1);
    Ok(())
}

#[test]
fn a_journal_of_a_world_with_any_byte_changed_is_no_panic() -> Result<()> {
    let log = run()?;
    for logged in [&log[16], &log[SCRIPT.len() - 1]] {
        let journal = &logged.image[&PathBuf::from(JOURNAL)];
        super::hostile::each_change(journal, 97, |bytes, what| {
            let mut image = logged.image.clone();
            image.insert(PathBuf::from(JOURNAL), bytes);
            let played = std::panic::catch_unwind(|| {
                let disk = Disk::new(image);
                let Ok((mut session, _)) = open(&disk) else { return };
                while matches!(session.undo(), Ok(true)) {}
                while matches!(session.redo(), Ok(true)) {}
                let _ = session.edit("", |edit| edit.spawn("Behind"));
                let _ = session.save();
            });
            assert!(played.is_ok(), "{what} panicked");
        });
    }
    Ok(())
}

/// Acts in a session, after each of which a session that is killed comes back with the same entries.
fn reopened_behind_each(
    disk: &Disk,
    options: impl Fn(&Disk) -> Result<SessionOptions<World>>,
    acts: &[Act],
) -> Result<Session<World>> {
    let seen = |session: &Session<World>| {
        let entries =
            session.history().entries().map(|entry| (entry.label, entry.state, entry.is_saved));
        let entries: Vec<_> = entries.collect();
        (
            entries,
            session.history().position(),
            session.history().is_modified(),
            described(session.world()),
        )
    };
    let (mut session, _) = options(disk)?.open(SAVE, JOURNAL)?;
    for (step, act) in acts.iter().enumerate() {
        act(&mut session)?;
        let copy = Disk::new(disk.image());
        for again in ["killed", "reopened"] {
            let (found, recovered) = options(&copy)?.open(SAVE, JOURNAL)?;
            assert!(recovered.stopped.is_none(), "{again} behind step {step}: {recovered}");
            assert_eq!(seen(&found), seen(&session), "{again} behind step {step}");
        }
    }
    Ok(session)
}

#[test]
fn a_session_that_is_opened_again_has_the_entries_that_it_had() -> Result<()> {
    let add: Act = |session| {
        session.edit("Add", |edit| {
            let chest = edit.spawn("Chest")?;
            edit.attach(chest, Bag { items: vec!["x".repeat(1_500)], owner: None })
        })
    };
    let remove: Act = |session| {
        let chest = find(session, "Chest");
        session.edit("Remove", |edit| edit.remove(chest))
    };
    let undo: Act = |session| session.undo().map(drop);
    let options = |disk: &Disk| {
        let history = History::new(Capacity { entries: None, bytes: Some(4_000) });
        Ok(Session::with(saves(disk)?, history).flush(Flush::OnIdle))
    };
    let disk = Disk::default();
    let acts: [Act; 8] = [add, add, add, add, undo, undo, undo, |session| session.save().map(drop)];
    let session = reopened_behind_each(&disk, options, &acts)?;
    assert_eq!((session.history().entries().len(), session.history().position()), (4, 1));
    assert!(persist_tests::support::bytes(session.history()) > 4_000);
    drop(session);
    // An edit makes room, also if the program is killed right behind it.
    let redo: Act = |session| session.redo().map(drop);
    let acts: [Act; 6] = [redo, redo, redo, remove, undo, |session| {
        session.edit("", |edit| edit.spawn("New").map(drop))
    }];
    let session = reopened_behind_each(&disk, options, &acts)?;
    assert!(persist_tests::support::bytes(session.history()) <= 4_000);
    drop(session);
    let acts = [add, add, remove, add, undo, undo, remove, undo, undo, undo];
    reopened_behind_each(&Disk::default(), options, &acts)?;
    Ok(())
}

#[test]
fn an_entry_that_was_merged_back_to_the_start_comes_back_if_it_stayed() -> Result<()> {
    let undo: Act = |session| session.undo().map(drop);
    let open: Act = |session| session.set(find(session, "Door"), "Transform:x", 1.0).map(drop);
    let close: Act = |session| session.set(find(session, "Door"), "Transform:x", 0.0).map(drop);
    let acts: [Act; 13] = [
        |session| {
            session.edit("Add", |edit| {
                let door = edit.spawn("Door")?;
                edit.attach(door, Transform::default())
            })
        },
        |session| session.edit("", |edit| edit.spawn("Lamp").map(drop)),
        undo,
        open,
        close,
        open,
        close,
        undo,
        |session| session.redo().map(drop),
        |session| session.save().map(drop),
        undo,
        |session| session.save().map(drop),
        undo,
    ];
    let session = reopened_behind_each(&Disk::default(), options, &acts)?;
    assert_eq!(labels(&session), ["Add", "Set Transform.x of Door"]);
    assert!(session.world().objects().len() == 0);
    Ok(())
}
