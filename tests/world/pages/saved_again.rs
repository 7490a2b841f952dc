//! Pages that a save in the background leaves for the next one, compared with a world that is never saved so.

use std::cell::Cell;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use persist::world::Activity;
use persist::{
    Component, ComponentScope, ErrorKind, History, Limits, ObjectId, Persist, Result, Saves, World,
    field,
};
use persist_tests::support::paged::blocks;
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

use super::{Note, Place, saves, world_of};

/// Changes by a method.
#[derive(Persist, Default)]
struct Clock {
    ticks: u32,
}

impl Component for Clock {
    fn on_update(&mut self, _: &mut ComponentScope<'_>) {
        self.ticks += 1;
    }
}

/// Components that change through a shared reference.
#[derive(Persist, Default)]
struct Atomic(AtomicU32);

#[derive(Persist, Default)]
struct Locked {
    lists: Vec<Mutex<u32>>,
}

#[derive(Persist, Default)]
struct InCell {
    pair: (u8, Option<Cell<u16>>),
}

#[derive(Persist, Default)]
struct Adapted {
    #[persist(with = cell_as_number)]
    number: Cell<u32>,
}

mod cell_as_number {
    use std::cell::Cell;

    pub(super) type Stored = u32;

    pub(super) fn store(cell: &Cell<u32>) -> u32 {
        cell.get()
    }

    pub(super) fn restore(number: u32) -> Result<Cell<u32>, String> {
        Ok(Cell::new(number))
    }
}

#[persist::dynamic]
trait Counter: Send {
    fn count(&self);
}

#[derive(Persist, Default)]
struct Inner(AtomicU32);

impl Counter for Inner {
    fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Persist)]
struct Dynamic(Option<Box<dyn Counter>>);

#[derive(Persist)]
struct Shared(Arc<Mutex<Inner>>);

impl Component for Atomic {}
impl Component for Locked {}
impl Component for InCell {}
impl Component for Adapted {}
impl Component for Dynamic {}
impl Component for Shared {}

fn all_saves() -> Saves {
    let saves = saves();
    saves.register_component::<Clock>().expect("a component class");
    saves.register_component::<Atomic>().expect("a component class");
    saves.register_component::<Locked>().expect("a component class");
    saves.register_component::<InCell>().expect("a component class");
    saves.register_component::<Adapted>().expect("a component class");
    saves.register_component::<Dynamic>().expect("a component class");
    saves.register_component::<Shared>().expect("a component class");
    saves.register_as::<Inner, dyn Counter>().expect("a class");
    saves
}

/// Returns the blocks of the save that is written in the background.
fn in_background(saves: &Saves, world: &World) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("world.sav");
    saves.file(&path).save_in_background(world)?.wait()?;
    let save = std::fs::read(&path).expect("it was written");
    // The file is whole, whatever it is made of.
    let loaded = saves.file(&path).load::<World>()?;
    assert_eq!(loaded.report().lost(), 0);
    Ok(content(&save))
}

/// The blocks of a save, without its header and trailer.
fn content(save: &[u8]) -> Vec<u8> {
    blocks(save).into_iter().flat_map(|block| save[block.whole].to_vec()).collect()
}

/// Asserts that the save in the background has the bytes of the twin, which keeps no pages.
#[track_caller]
fn check(saves: &Saves, world: &World, twin: &World, what: &str) -> Result<()> {
    let expected = content(&saves.to_vec(twin)?);
    assert!(in_background(saves, world)? == expected, "in the background, {what}");
    assert!(content(&saves.to_vec(world)?) == expected, "at once, {what}");
    Ok(())
}

/// Does the same change of both worlds.
fn change(worlds: [&mut World; 2], what: &dyn Fn(&mut World) -> Result<()>) -> Result<()> {
    worlds.into_iter().try_for_each(what)
}

/// A world of several rows and cells of ids, with trees and all kinds of components.
fn large() -> Result<World> {
    let mut world = world_of(20_000)?;
    // Far away, in cells of their own.
    for at in 0..3_000_u64 {
        let object = world.spawn(&format!("Far{at}"));
        if at % 5 == 0 {
            world.attach(object, Clock::default())?;
        }
    }
    Ok(world)
}

#[test]
fn a_page_of_an_earlier_save_is_used_only_if_its_objects_are_the_same() -> Result<()> {
    let saves = all_saves();
    let (mut world, mut twin) = (large()?, large()?);
    check(&saves, &world, &twin, "at first")?;
    check(&saves, &world, &twin, "without a change")?;
    let mut random = Lcg64Xsh32::seed_from_u64(7);
    let mut snapshots = [world.snapshot()?, twin.snapshot()?];
    for round in 0..80 {
        for _ in 0..random.gen_range(1..4) {
            // Snapshots look at the marks of pages, too.
            match random.gen_range(0..8) {
                0 => snapshots = [world.snapshot()?, twin.snapshot()?],
                1 => drop(world.snapshot()?),
                2 => {
                    world.restore(&snapshots[0])?;
                    twin.restore(&snapshots[1])?;
                }
                _ => {}
            }
            let ids: Vec<ObjectId> = world.objects().collect();
            let [a, b] = [(); 2].map(|()| ids[random.gen_range(0..ids.len())]);
            let (kind, index) = (random.gen_range(0..16), random.gen_range(0..9));
            change([&mut world, &mut twin], &|world: &mut World| {
                match kind {
                    0 => _ = world.spawn("New"),
                    1 => _ = world.remove(a),
                    2 => drop(world.attach(a, Place { x: 1.5, y: index as f32 })),
                    3 => _ = world.detach::<Place>(a),
                    4 => {
                        if let Some(note) = world.get_mut::<Note>(a) {
                            note.text.push('!');
                        }
                    }
                    5 => drop(world.rename(a, &format!("Renamed{index}"))),
                    6 => drop(world.set_parent(a, Some(b))),
                    7 => drop(world.set_parent_at(a, Some(b), index)),
                    8 => {
                        // The first child of a parent with children, so that its siblings move.
                        let parent = world.objects().find(|id| world.children(*id).len() > 1);
                        let child = parent.map(|parent| world.children(parent)[0]);
                        child.map(|child| world.set_parent(child, None)).transpose()?;
                    }
                    9 => drop(world.set_activity(a, Activity::Paused)),
                    10 => world.update(0.1),
                    11 => {
                        let query = world.query_mut::<(&mut Place, ObjectId)>()?;
                        query.filter(|(_, id)| *id == b).for_each(|(place, _)| place.x += 1.0);
                    }
                    12 => _ = world.detach::<Note>(a),
                    13 => drop(world.attach(a, Clock { ticks: 3 })),
                    14 => (0..5_000).for_each(|_| _ = world.spawn("")),
                    _ => {
                        let first = (a.get() / 4096) * 4096;
                        let row = (first.max(1)..first + 4096).filter_map(ObjectId::new);
                        row.for_each(|id| _ = world.remove(id));
                    }
                }
                Ok(())
            })?;
        }
        check(&saves, &world, &twin, &format!("after round {round}"))?;
    }
    Ok(())
}

type Change<'c> = &'c dyn Fn(&mut World);
type SharedChange<'c> = &'c dyn Fn(&World);

/// Adds 5,000 objects, so that a component has its rows for itself, and then an object with the component.
fn apart(world: &mut World, component: impl Component) -> Result<ObjectId> {
    (0..5_000).for_each(|_| _ = world.spawn("Between"));
    let object = world.spawn("Counter");
    world.attach(object, component)?;
    Ok(object)
}

#[test]
fn a_component_that_changes_through_a_shared_reference_is_never_taken_from_an_earlier_save()
-> Result<()> {
    let saves = all_saves();
    let mut worlds = [World::new(), World::new()];
    let mut ids = Vec::new();
    for world in &mut worlds {
        ids = vec![
            apart(world, Atomic::default())?,
            apart(world, Locked { lists: vec![Mutex::new(1)] })?,
            apart(world, InCell { pair: (1, Some(Cell::new(2))) })?,
            apart(world, Adapted::default())?,
            apart(world, Dynamic(Some(Box::new(Inner::default()))))?,
            apart(world, Shared(Arc::new(Mutex::new(Inner::default()))))?,
        ];
    }
    let [world, twin] = worlds;
    check(&saves, &world, &twin, "at first")?;
    let changes: [(&str, SharedChange<'_>); 6] = [
        ("an atomic", &|world| {
            let atomic = world.get::<Atomic>(ids[0]).expect("it is there");
            atomic.0.fetch_add(1, Ordering::Relaxed);
        }),
        ("a lock in a list", &|world| {
            let locked = world.get::<Locked>(ids[1]).expect("it is there");
            *locked.lists[0].lock().expect("nobody panicked") += 1;
        }),
        ("a cell", &|world| {
            let cell = world.get::<InCell>(ids[2]).expect("it is there");
            cell.pair.1.as_ref().expect("it is filled").set(9);
        }),
        ("a cell behind an adapter", &|world| {
            world.get::<Adapted>(ids[3]).expect("it is there").number.set(5);
        }),
        ("a trait object", &|world| {
            let dynamic = world.get::<Dynamic>(ids[4]).expect("it is there");
            dynamic.0.as_ref().expect("it is filled").count();
        }),
        ("a shared object", &|world| {
            let shared = world.get::<Shared>(ids[5]).expect("it is there");
            shared.0.lock().expect("nobody panicked").count();
        }),
    ];
    for (what, change) in changes {
        let before = saves.to_vec(&twin)?;
        [&world, &twin].into_iter().for_each(change);
        assert!(before != saves.to_vec(&twin)?, "{what} changed");
        check(&saves, &world, &twin, what)?;
    }
    Ok(())
}

#[test]
fn a_component_that_was_unknown_in_the_load_is_never_taken_from_an_earlier_save() -> Result<()> {
    // Its references are ids of objects, which differ between saves.
    let saves = all_saves();
    let mut world = World::new();
    let first = world.spawn("First");
    apart(&mut world, Shared(Arc::new(Mutex::new(Inner::default()))))?;
    let save = saves.to_vec(&world)?;
    // The load does not know the class, and the saves do.
    let load = || super::saves().from_slice::<World>(&save);
    let (mut world, mut twin) = (load()?, load()?);
    check(&saves, &world, &twin, "at first")?;
    for world in [&mut world, &mut twin] {
        world.attach(first, Shared(Arc::new(Mutex::new(Inner::default()))))?;
    }
    check(&saves, &world, &twin, "with an object before it")
}

#[test]
fn siblings_that_move_are_in_the_next_save() -> Result<()> {
    let saves = all_saves();
    let families = |world: &mut World| {
        let parent = world.spawn("Parent");
        let objects: Vec<ObjectId> = (0..20_000).map(|_| world.spawn("Child")).collect();
        let family: Vec<ObjectId> = objects.iter().copied().step_by(500).collect();
        family.iter().for_each(|child| world.set_parent(*child, Some(parent)).expect("a tree"));
        (parent, family)
    };
    let (mut world, mut twin) = (World::new(), World::new());
    let (parent, family) = families(&mut world);
    families(&mut twin);
    check(&saves, &world, &twin, "at first")?;
    let changes: [(&str, Change<'_>); 5] = [
        ("the first goes", &|world| world.set_parent(family[0], None).expect("a tree")),
        ("one goes", &|world| assert!(world.remove(family[9]))),
        ("one comes", &|world| world.set_parent_at(family[0], Some(parent), 20).expect("a tree")),
        ("the last comes first", &|world| {
            world.set_parent_at(family[39], Some(parent), 0).expect("a tree");
        }),
        // So many that the list lies in blocks.
        ("many move", &|world| {
            for child in family.iter().cycle().take(300).filter(|child| **child != family[9]) {
                world.set_parent_at(*child, Some(parent), 3).expect("a tree");
            }
        }),
    ];
    for (what, change) in changes {
        [&mut world, &mut twin].into_iter().for_each(change);
        check(&saves, &world, &twin, what)?;
        check(&saves, &world, &twin, &format!("{what}, and nothing else"))?;
    }
    Ok(())
}

#[test]
fn rows_that_come_and_go_are_in_the_next_save() -> Result<()> {
    // Rows of 4,096 ids, 16 of them a cell. From the fourth row on, each has one object, and those of a cell are one
    // page. The columns drop rows without objects when these are more than half of all.
    let saves = all_saves();
    let sparse = || -> Result<World> {
        let mut world = world_of(9_000)?;
        let rest: Vec<ObjectId> = (9_000..200_000).map(|_| world.spawn("")).collect();
        let is_kept = |id: u64| id > 12_000 && id % 4_096 == 7;
        rest.iter().filter(|id| !is_kept(id.get())).for_each(|id| _ = world.remove(*id));
        Ok(world)
    };
    let mut edited = [sparse()?, sparse()?].map(|it| (it, History::<World>::new(None)));
    let of_rows = |rows: &[u64]| -> Vec<ObjectId> {
        rows.iter().filter_map(|row| ObjectId::new(row * 4_096 + 7)).collect()
    };
    let others: Vec<u64> = (3..16).chain(33..48).collect();
    let steps: [(&str, Option<&[u64]>); 8] = [
        ("at first", None),
        ("the last row of a cell is empty", Some(&[31])),
        ("empty rows are dropped", Some(&others)),
        ("another row is empty", Some(&[32])),
        ("rows come back", Some(&[])),
        ("more rows come back", Some(&[])),
        ("the last row of the cell comes back", Some(&[])),
        ("without a change", None),
    ];
    for (what, removed) in steps {
        for (world, history) in &mut edited {
            match removed {
                Some([]) => assert!(history.undo(world)?),
                Some(rows) => history.edit(world, "Remove", |edit| {
                    of_rows(rows).iter().try_for_each(|id| edit.remove(*id))
                })?,
                None => {}
            }
        }
        let [(world, _), (twin, _)] = &edited;
        check(&saves, world, twin, what)?;
    }
    Ok(())
}

#[test]
fn an_undo_of_removed_and_moved_objects_is_in_the_next_save() -> Result<()> {
    let saves = all_saves();
    let mut edited =
        [world_of(6_000)?, world_of(6_000)?].map(|it| (it, History::<World>::new(None)));
    let mut random = Lcg64Xsh32::seed_from_u64(3);
    for round in 0..30 {
        let ids: Vec<ObjectId> = edited[0].0.objects().collect();
        let [a, b] = [(); 2].map(|()| ids[random.gen_range(0..ids.len())]);
        let kind = random.gen_range(0..5);
        for (world, history) in &mut edited {
            match kind {
                0 => history.edit(world, "Remove", |edit| edit.remove(a))?,
                1 => drop(history.edit(world, "Move", |edit| edit.set_parent_at(a, Some(b), 0))),
                2 => drop(history.set(world, a, field!(Place.x), 4.5_f32)),
                3 => _ = history.undo(world)?,
                _ => _ = history.redo(world)?,
            }
        }
        let [(world, _), (twin, _)] = &edited;
        check(&saves, world, twin, &format!("after round {round}"))?;
    }
    Ok(())
}

#[test]
fn a_save_under_other_limits_uses_no_page_that_it_would_refuse() -> Result<()> {
    let (saves, mut world) = (saves(), world_of(5_000)?);
    let object = world.spawn("Long");
    world.attach(object, Note { text: "y".repeat(5_000), whom: None })?;
    in_background(&saves, &world)?;
    let strict = saves.limits(Limits::default().text(1_000));
    let refused = strict.to_vec(&world).expect_err("the text is longer");
    assert_eq!(refused.kind(), ErrorKind::TooLarge);
    Ok(())
}
