//! What entries keep out of a world, and a limit of bytes.

use persist::history::Capacity;
use persist::{Component, History, ObjectId, Persist, Result, World};
use persist_tests::support::bytes;

const SIZE: usize = 10_000;

#[derive(Persist)]
struct Mesh {
    bytes: Vec<u8>,
}

impl Component for Mesh {}

fn mesh() -> Mesh {
    Mesh { bytes: vec![7; SIZE] }
}

fn scene(objects: usize) -> Result<(World, Vec<ObjectId>)> {
    let mut world = World::new();
    let mut ids = Vec::new();
    for _ in 0..objects {
        let parent = world.spawn("Rock");
        let child = world.spawn("Moss");
        world.set_parent(child, Some(parent))?;
        world.attach(child, mesh())?;
        ids.push(parent);
    }
    Ok((world, ids))
}

#[test]
fn objects_that_were_removed_count_in_the_budget_of_bytes() -> Result<()> {
    let (mut world, ids) = scene(20)?;
    let mut history = History::new(Capacity { entries: None, bytes: Some(5 * SIZE) });
    for (count, id) in ids.iter().enumerate() {
        history.edit(&mut world, "", |edit| edit.remove(*id))?;
        assert!(bytes(&history) <= 5 * SIZE, "{}", bytes(&history));
        assert_eq!(
            history.entries().len(),
            (count + 1).min(4),
            "each takes a little more than its mesh"
        );
    }
    // Those that fell out are gone, and with them what was below them.
    assert!(ids[..16].iter().all(|id| !world.is_parked(*id)));
    assert!(ids[16..].iter().all(|id| world.is_parked(*id)));

    let full = bytes(&history);
    history.undo(&mut world)?;
    assert!(bytes(&history) < full - SIZE, "what is back in the world takes nothing");
    history.redo(&mut world)?;
    assert_eq!(bytes(&history), full);
    history.clear(&mut world)?;
    assert_eq!(bytes(&history), 0);
    Ok(())
}

#[test]
fn what_an_undo_takes_out_counts_in_the_budget_of_bytes() -> Result<()> {
    let (mut world, ids) = scene(0)?;
    assert_eq!(ids, []);
    let mut history = History::new(Capacity { entries: None, bytes: Some(1 << 20) });
    let rock = history.edit(&mut world, "", |edit| {
        let rock = edit.spawn("Rock")?;
        edit.attach(rock, mesh())?;
        Ok(rock)
    })?;
    let small = bytes(&history);
    assert!(small < SIZE);
    history.undo(&mut world)?;
    assert!((small + SIZE..small + SIZE + 500).contains(&bytes(&history)), "{}", bytes(&history));
    history.redo(&mut world)?;
    assert_eq!(bytes(&history), small);

    history.edit(&mut world, "", |edit| edit.detach::<Mesh>(rock))?;
    assert!(bytes(&history) > SIZE);
    history.edit(&mut world, "", |edit| edit.insert_resource(mesh()))?;
    history.edit(&mut world, "", |edit| edit.insert_resource(mesh()))?;
    assert!(bytes(&history) > 2 * SIZE);
    history.edit(&mut world, "", |edit| edit.remove_resource::<Mesh>())?;
    assert!(bytes(&history) > 3 * SIZE);
    Ok(())
}

#[test]
fn what_an_undo_takes_out_costs_no_entry_before_the_next_edit() -> Result<()> {
    let (mut world, mut history) =
        (World::new(), History::new(Capacity { entries: None, bytes: Some(3 * SIZE) }));
    for _ in 0..4 {
        history.edit(&mut world, "", |edit| {
            let rock = edit.spawn("Rock")?;
            edit.attach(rock, mesh())
        })?;
    }
    for _ in 0..4 {
        history.undo(&mut world)?;
    }
    assert!(bytes(&history) > 4 * SIZE);
    let place = |history: &History| (history.entries().len(), history.position());
    assert_eq!(place(&history), (4, 0));
    history.begin("Rolled back")?;
    history.edit(&mut world, "", |edit| edit.spawn("Never"))?;
    history.rollback(&mut world)?;
    assert_eq!(place(&history), (4, 0), "a rollback adds nothing");
    history.begin("Empty")?;
    history.commit(&mut world)?;
    assert_eq!(place(&history), (4, 0), "nor does an empty transaction");
    history.set_capacity(&mut world, Capacity { entries: Some(4), bytes: Some(3 * SIZE) });
    assert_eq!(place(&history), (4, 0), "nor a limit that it is within");
    history.redo(&mut world)?;
    history.redo(&mut world)?;
    history.undo(&mut world)?;
    assert_eq!(place(&history), (4, 1));

    history.begin("Shrink")?;
    history.set_capacity(&mut world, Capacity { bytes: Some(2 * SIZE), ..Capacity::default() });
    assert_eq!(history.position(), 1, "nothing is dropped in an open transaction");
    history.rollback(&mut world)?;
    assert_eq!(place(&history), (2, 1), "a limit that was set in it holds after it");
    history.go_to(&mut world, 0)?;
    assert!(bytes(&history) > 2 * SIZE);
    history.edit(&mut world, "", |edit| edit.spawn("Moss"))?;
    assert_eq!(place(&history), (1, 1));
    Ok(())
}

#[test]
fn an_object_that_one_entry_makes_and_another_removes_counts_once() -> Result<()> {
    let (mut world, mut history) =
        (World::new(), History::new(Capacity { entries: None, bytes: Some(1 << 20) }));
    let rock = history.edit(&mut world, "", |edit| {
        let rock = edit.spawn("Rock")?;
        edit.attach(rock, mesh())?;
        Ok(rock)
    })?;
    history.edit(&mut world, "", |edit| edit.remove(rock))?;
    for position in [2, 1, 0] {
        history.go_to(&mut world, position)?;
        let before = bytes(&history);
        assert!(before < 2 * SIZE, "{before} at {position}");
        history.set_capacity(&mut world, Capacity { bytes: Some(1 << 20), ..Capacity::default() });
        assert_eq!(bytes(&history), before, "counted anew at {position}");
    }
    Ok(())
}

#[test]
fn a_limit_that_is_set_later_counts_what_entries_hold_already() -> Result<()> {
    let (mut world, ids) = scene(10)?;
    let mut history = History::new(None);
    for id in &ids {
        history.edit(&mut world, "", |edit| edit.remove(*id))?;
    }
    assert!(bytes(&history) < SIZE, "without a limit nobody looks");
    history.set_capacity(&mut world, Capacity { bytes: Some(3 * SIZE), ..Capacity::default() });
    assert_eq!(history.entries().len(), 2);
    assert!((2 * SIZE..3 * SIZE).contains(&bytes(&history)), "{}", bytes(&history));
    history.set_capacity(&mut world, None);
    assert!(bytes(&history) < SIZE, "nor does anybody behind one");
    Ok(())
}
