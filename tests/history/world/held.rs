//! What entries keep out of a world, and a limit of bytes.

use persist::{Component, History, ObjectId, Persist, Result, World};

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
    let mut history = History::new(None).max_bytes(5 * SIZE);
    for (count, id) in ids.iter().enumerate() {
        history.edit(&mut world, "", |edit| edit.remove(*id))?;
        assert!(history.bytes() <= 5 * SIZE, "{}", history.bytes());
        assert_eq!(history.len(), (count + 1).min(4), "each takes a little more than its mesh");
    }
    // Those that fell out are gone, and with them what was below them.
    assert!(ids[..16].iter().all(|id| !world.is_parked(*id)));
    assert!(ids[16..].iter().all(|id| world.is_parked(*id)));

    let full = history.bytes();
    history.undo(&mut world)?;
    assert!(history.bytes() < full - SIZE, "what is back in the world takes nothing");
    history.redo(&mut world)?;
    assert_eq!(history.bytes(), full);
    history.clear(&mut world)?;
    assert_eq!(history.bytes(), 0);
    Ok(())
}

#[test]
fn what_an_undo_takes_out_counts_in_the_budget_of_bytes() -> Result<()> {
    let (mut world, ids) = scene(0)?;
    assert_eq!(ids, []);
    let mut history = History::new(None).max_bytes(1 << 20);
    let rock = history.edit(&mut world, "", |edit| {
        let rock = edit.spawn("Rock")?;
        edit.attach(rock, mesh())?;
        Ok(rock)
    })?;
    let small = history.bytes();
    assert!(small < SIZE);
    history.undo(&mut world)?;
    assert!((small + SIZE..small + SIZE + 500).contains(&history.bytes()), "{}", history.bytes());
    history.redo(&mut world)?;
    assert_eq!(history.bytes(), small);

    history.edit(&mut world, "", |edit| edit.detach::<Mesh>(rock))?;
    assert!(history.bytes() > SIZE);
    history.edit(&mut world, "", |edit| edit.insert_resource(mesh()))?;
    history.edit(&mut world, "", |edit| edit.insert_resource(mesh()))?;
    assert!(history.bytes() > 2 * SIZE);
    history.edit(&mut world, "", |edit| edit.remove_resource::<Mesh>())?;
    assert!(history.bytes() > 3 * SIZE);
    Ok(())
}

#[test]
fn what_an_undo_takes_out_costs_no_entry_before_the_next_edit() -> Result<()> {
    let (mut world, mut history) = (World::new(), History::new(None).max_bytes(3 * SIZE));
    for _ in 0..4 {
        history.edit(&mut world, "", |edit| {
            let rock = edit.spawn("Rock")?;
            edit.attach(rock, mesh())
        })?;
    }
    for _ in 0..4 {
        history.undo(&mut world)?;
    }
    assert!(history.bytes() > 4 * SIZE);
    let place = |history: &History| (history.len(), history.position());
    assert_eq!(place(&history), (4, 0));
    history.begin("Rolled back")?;
    history.edit(&mut world, "", |edit| edit.spawn("Never"))?;
    history.rollback(&mut world)?;
    assert_eq!(place(&history), (4, 0), "a rollback adds nothing");
    history.begin("Empty")?;
    history.commit(&mut world)?;
    assert_eq!(place(&history), (4, 0), "nor does an empty transaction");
    history.set_capacity(&mut world, Some(4));
    assert_eq!(place(&history), (4, 0), "nor a limit that it is within");
    history.redo(&mut world)?;
    history.redo(&mut world)?;
    history.undo(&mut world)?;
    assert_eq!(place(&history), (4, 1));

    history.begin("Shrink")?;
    history.set_max_bytes(&mut world, Some(2 * SIZE));
    assert_eq!(history.position(), 1, "nothing is dropped in an open transaction");
    history.rollback(&mut world)?;
    assert_eq!(place(&history), (2, 1), "a limit that was set in it holds after it");
    history.go_to(&mut world, 0)?;
    assert!(history.bytes() > 2 * SIZE);
    history.edit(&mut world, "", |edit| edit.spawn("Moss"))?;
    assert_eq!(place(&history), (1, 1));
    Ok(())
}

#[test]
fn an_object_that_one_entry_makes_and_another_removes_counts_once() -> Result<()> {
    let (mut world, mut history) = (World::new(), History::new(None).max_bytes(1 << 20));
    let rock = history.edit(&mut world, "", |edit| {
        let rock = edit.spawn("Rock")?;
        edit.attach(rock, mesh())?;
        Ok(rock)
    })?;
    history.edit(&mut world, "", |edit| edit.remove(rock))?;
    for position in [2, 1, 0] {
        history.go_to(&mut world, position)?;
        let bytes = history.bytes();
        assert!(bytes < 2 * SIZE, "{bytes} at {position}");
        history.set_max_bytes(&mut world, Some(1 << 20));
        assert_eq!(history.bytes(), bytes, "counted anew at {position}");
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
    assert!(history.bytes() < SIZE, "without a limit nobody looks");
    history.set_max_bytes(&mut world, Some(3 * SIZE));
    assert_eq!(history.len(), 2);
    assert!((2 * SIZE..3 * SIZE).contains(&history.bytes()), "{}", history.bytes());
    history.set_max_bytes(&mut world, None);
    assert!(history.bytes() < SIZE, "nor does anybody behind one");
    Ok(())
}
