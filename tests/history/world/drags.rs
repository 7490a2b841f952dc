//! Edits that become one entry with the one before.

use persist_tests::support::bytes;
use std::time::Duration;

use persist::history::Edit;
use persist::{Component, History, ObjectId, Record, Result, Value, World, field};

use super::scene::{self, Item, Thing, Transform, text, transform};
use super::stage::entries;

/// An object, and a history in which edits are merged if they go together, whenever they come.
fn with(component: impl Component) -> (World, History, ObjectId) {
    let (world, mut history, object) = scene::with(component);
    history.set_merge_window(Some(Duration::MAX));
    (world, history, object)
}

#[test]
fn two_edits_of_a_field_are_two_entries_unless_it_is_asked_for() -> Result<()> {
    let (mut world, mut history, door) = scene::with(transform(0.0, 0.0));
    for x in [1.0, 2.0, 3.0] {
        history.set(&mut world, door, "Transform:x", x)?;
    }
    assert_eq!(history.entries().len(), 3);
    history.undo(&mut world)?;
    assert_eq!(world.get(door), Some(&transform(2.0, 0.0)));
    Ok(())
}

#[test]
fn a_drag_that_makes_an_object_and_moves_it_is_one_entry_of_bounded_size() -> Result<()> {
    let (mut world, mut history, _) = scene::with(transform(0.0, 0.0));
    let start = text(&world);
    let drag = history.begin_drag("Place crate");
    let object = history.edit(&mut world, "", |edit| {
        let object = edit.spawn("Crate")?;
        edit.attach(object, transform(0.0, 0.0))?;
        Ok(object)
    })?;
    for step in 1_u16..=2_000 {
        history.set(&mut world, object, "Transform:x", step)?;
        history.edit(&mut world, "", |edit| {
            *edit.get_mut(object)? = transform(f32::from(step), f32::from(step % 7));
            Ok(())
        })?;
    }
    history.end_drag(drag);
    assert_eq!((history.entries().len(), history.undo_text()), (1, "Undo Place crate".into()));
    assert!(bytes(&history) < 1_500, "{} bytes", bytes(&history));
    let last = text(&world);
    for _ in 0..2 {
        history.undo(&mut world)?;
        assert_eq!(text(&world), start);
        history.redo(&mut world)?;
        assert_eq!(text(&world), last);
    }
    Ok(())
}

#[test]
fn a_drag_over_many_objects_is_one_entry() -> Result<()> {
    let (mut world, mut history, _) = scene::with(transform(0.0, 0.0));
    let objects: Vec<ObjectId> = (0..300).map(|_| world.spawn("Tile")).collect();
    for object in &objects {
        world.attach(*object, transform(0.0, 0.0))?;
    }
    let start = text(&world);
    let drag = history.begin_drag("Paint");
    for (number, object) in (1_u16..).zip(&objects) {
        history.set(&mut world, *object, "Transform:x", number)?;
    }
    history.end_drag(drag);
    assert_eq!(history.entries().len(), 1);
    history.undo(&mut world)?;
    assert_eq!(text(&world), start);
    Ok(())
}

#[test]
fn a_drag_of_ten_thousand_moves_is_one_entry_that_takes_the_memory_of_one() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 0.0));
    let mut most = 0;
    for x in 1_u16..=10_000 {
        history.set(&mut world, door, field!(Transform.x), f32::from(x))?;
        most = most.max(bytes(&history));
    }
    assert_eq!((history.entries().len(), history.position()), (1, 1));
    assert_eq!(history.undo_text(), "Undo Set Transform.x of Ada");
    let (mut other_world, mut other, same) = with(transform(0.0, 0.0));
    other.set(&mut other_world, same, field!(Transform.x), 1.0)?;
    assert_eq!(most, bytes(&other));
    history.undo(&mut world)?;
    assert_eq!(world.get(door), Some(&transform(0.0, 0.0)));
    history.redo(&mut world)?;
    assert_eq!(world.get(door), Some(&transform(10_000.0, 0.0)));
    Ok(())
}

#[test]
fn a_drag_by_hand_of_several_fields_is_one_entry_too() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 0.0));
    for step in 1_u16..=10_000 {
        history.edit(&mut world, "Move door", |edit| {
            // Now the one moves, now the other, now both.
            let transform = edit.get_mut::<Transform>(door)?;
            transform.x += f32::from(u8::from(step % 3 != 0));
            transform.y += f32::from(u8::from(step % 3 != 1));
            Ok(())
        })?;
    }
    assert_eq!(history.entries().len(), 1);
    assert_eq!(history.undo_text(), "Undo Move door");
    assert!(bytes(&history) < 1000, "{} bytes", bytes(&history));
    history.go_to(&mut world, 0)?;
    assert_eq!(world.get(door), Some(&transform(0.0, 0.0)));
    history.go_to(&mut world, history.entries().len())?;
    assert_eq!(world.get(door), Some(&transform(6667.0, 6666.0)));
    Ok(())
}

#[test]
fn a_drag_of_many_objects_is_one_entry_whichever_of_them_come_back() -> Result<()> {
    let (mut world, mut history, _) = with(transform(0.0, 0.0));
    let objects: Vec<ObjectId> = (0..500)
        .map(|_| {
            let object = world.spawn("Crate");
            world.attach(object, transform(0.0, 0.0)).map(|()| object)
        })
        .collect::<Result<_>>()?;
    let start = text(&world);
    let mut moves = |step: u16, by_hand: bool| {
        history.edit(&mut world, "Drag", |edit| {
            for (n, object) in (0_u16..).zip(&objects) {
                // Some come in later, some turn round, some come back to where they began.
                let x = match n % 5 {
                    0 if step < 3 => 0,
                    1 => step % 4,
                    2 => 10 - step,
                    _ => step,
                };
                if by_hand {
                    edit.get_mut::<Transform>(*object)?.x = f32::from(x);
                    edit.get_mut::<Transform>(*object)?.y = f32::from(n);
                } else {
                    edit.set(*object, field!(Transform.y), 1.0)?;
                    edit.set(*object, field!(Transform.x), f32::from(x))?;
                    edit.set(*object, field!(Transform.y), f32::from(n))?;
                }
            }
            Ok(())
        })
    };
    for step in 1..10 {
        moves(step, step % 2 == 0)?;
    }
    assert_eq!(history.entries().len(), 1);
    let last = text(&world);
    history.undo(&mut world)?;
    assert_eq!(text(&world), start);
    history.redo(&mut world)?;
    assert_eq!(text(&world), last);
    Ok(())
}

#[test]
fn a_drag_back_to_the_start_is_no_entry() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 5.0));
    history.set(&mut world, door, "Transform:y", 6.0)?;
    history.set_modified(false)?;
    let before = entries(&history);
    for x in [1.0, 2.0, 1.0, 0.0] {
        history.set(&mut world, door, "Transform:x", x)?;
    }
    assert!(!history.is_modified());
    assert_eq!(history.entries().len(), 1);
    // The numbers of states are not given again, all else is as it was.
    assert_eq!(entries(&history), before);
    assert_eq!(history.undo_text(), "Undo Set Transform.y of Ada");

    let both = |edit: &mut Edit<'_>, x, y| {
        *edit.get_mut(door)? = transform(x, y);
        Ok(())
    };
    history.edit(&mut world, "Move", |edit| both(edit, 1.0, 1.0))?;
    history.edit(&mut world, "Move", |edit| both(edit, 0.0, 2.0))?;
    assert_eq!(history.entries().len(), 2, "one of the fields is not back");
    history.undo(&mut world)?;
    assert_eq!(world.get(door), Some(&transform(0.0, 6.0)));
    history.redo(&mut world)?;
    history.edit(&mut world, "Move", |edit| both(edit, 3.0, 3.0))?;
    history.edit(&mut world, "Move", |edit| both(edit, 0.0, 2.0))?;
    assert_eq!(history.entries().len(), 2, "the drag after the redo has come to nothing");
    Ok(())
}

#[test]
fn only_the_same_field_of_the_same_object_is_merged() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 0.0));
    let wall = world.spawn("Wall");
    world.attach(wall, transform(0.0, 0.0))?;
    for (object, path, entries) in [
        (door, "Transform:x", 1),
        (door, "Transform:x", 1),
        (door, "Transform:y", 2),
        (door, "Transform:x", 3),
        (wall, "Transform:x", 4),
        (wall, "Transform:x", 4),
        (door, "Transform:x", 5),
    ] {
        history.set(&mut world, object, path, entries + 10 * history.state())?;
        assert_eq!(history.entries().len() as u64, entries);
    }
    Ok(())
}

#[test]
fn the_end_of_a_drag_is_where_merging_stops() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 0.0));
    for moves in [[1.0, 2.0], [3.0, 4.0]] {
        let drag = history.begin_drag("");
        for x in moves {
            history.set(&mut world, door, "Transform:x", x)?;
        }
        history.end_drag(drag);
    }
    assert_eq!(history.entries().len(), 2);
    history.set(&mut world, door, "Transform:x", 5.0)?;
    assert_eq!(history.entries().len(), 3);
    history.go_to(&mut world, 1)?;
    assert_eq!(world.get(door), Some(&transform(2.0, 0.0)));
    // Nor is a drag that begins behind an undo part of the one before.
    history.set(&mut world, door, "Transform:x", 9.0)?;
    assert_eq!(history.entries().len(), 2);
    history.go_to(&mut world, 1)?;
    assert_eq!(world.get(door), Some(&transform(2.0, 0.0)));
    Ok(())
}

#[test]
fn settings_of_a_whole_and_of_its_parts_are_merged_only_in_their_order() -> Result<()> {
    type Step = fn(&mut Edit<'_>, ObjectId) -> Result<()>;
    fn place(x: f32, y: f32) -> Record {
        let mut place = Record::new("Place");
        place.set("x", x);
        place.set("y", y);
        place
    }
    fn set(edit: &mut Edit<'_>, ada: ObjectId, path: &str, value: impl Into<Value>) -> Result<()> {
        edit.set(ada, format!("game.Thing:{path}"), value).map(drop)
    }
    let steps: [Step; 14] = [
        |edit, ada| {
            set(edit, ada, "place.x", 10.0)?;
            set(edit, ada, "place", place(20.0, 21.0))
        },
        |edit, ada| set(edit, ada, "place.x", 30.0),
        |edit, ada| {
            set(edit, ada, "place", place(40.0, 41.0))?;
            set(edit, ada, "place.y", 42.0)
        },
        |edit, ada| set(edit, ada, "place", place(50.0, 51.0)),
        |edit, ada| {
            set(edit, ada, "place", place(1.0, 2.0))?;
            set(edit, ada, "pair[0]", 2)?;
            set(edit, ada, "pair.1.x", 2.0)
        },
        |edit, ada| {
            set(edit, ada, "pair[0]", 3)?;
            set(edit, ada, "pair.0", 4)
        },
        |edit, ada| set(edit, ada, "pair[0]", 5),
        |edit, ada| {
            set(edit, ada, "grid[1][0]", 5.0)?;
            set(edit, ada, "grid[1]", vec![6.0, 7.0])?;
            set(edit, ada, "grid[0][0]", 7.0)
        },
        |edit, ada| set(edit, ada, "grid[1][0]", 8.0),
        |edit, ada| {
            set(edit, ada, "pair.0", 6)?;
            set(edit, ada, "by_slot[Hand]", 7)
        },
        |edit, ada| {
            set(edit, ada, "by_slot[Slot::Hand]", 8)?;
            set(edit, ada, "by_slot[Hand]", 9)?;
            set(edit, ada, "items[1].count", 5)
        },
        |edit, ada| {
            edit.get_mut::<Thing>(ada)?.items[1].count = 6;
            set(edit, ada, "by_slot[Slot::Hand]", 10)?;
            edit.get_mut::<Thing>(ada)?.items.pop();
            Ok(())
        },
        |edit, ada| {
            let item = Item { count: 1, spots: vec![], picture: 0 };
            edit.get_mut::<Thing>(ada)?.items.insert(0, item);
            Ok(())
        },
        |edit, ada| {
            set(edit, ada, "items[1].count", 7)?;
            set(edit, ada, "by_slot[Slot::Hand]", 6)?;
            set(edit, ada, "by_slot[Hand]", 11)
        },
    ];
    let mut merged = 0;
    for first in 0..steps.len() {
        for last in first..steps.len() {
            let (mut world, mut history, ada) = with(Thing::sample());
            let before = text(&world);
            for step in &steps[first..=last] {
                // Some lead to elements that an earlier one was to make.
                let _ = history.edit(&mut world, "Move", |edit| step(edit, ada));
            }
            merged += last + 1 - first - history.entries().len();
            let after = text(&world);
            for _ in 0..2 {
                history.go_to(&mut world, 0)?;
                assert_eq!(text(&world), before, "{first} to {last}");
                history.go_to(&mut world, history.entries().len())?;
                assert_eq!(text(&world), after, "{first} to {last}");
            }
        }
    }
    assert!(merged > 30, "{merged}");
    Ok(())
}

#[test]
fn what_makes_or_removes_something_is_merged_with_nothing() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 0.0));
    for _ in 0..2 {
        history.edit(&mut world, "Do", |edit| edit.spawn("Door"))?;
        history.edit(&mut world, "Do", |edit| edit.set(door, "Transform:x", 5.0))?;
        history.edit(&mut world, "Do", |edit| {
            edit.set(door, "Transform:x", 6.0)?;
            edit.rename(door, "Gate").map(drop)
        })?;
        history.edit(&mut world, "Do", |edit| edit.rename(door, "Door").map(drop))?;
    }
    assert_eq!(history.entries().len(), 8);
    Ok(())
}
