//! Which fields an edit finds changed.

use persist::world::Activity;
use persist::{Result, Value, field};

use super::scene::{Place, Thing, Transform, empty, text, transform, with};
use super::stage::{entries, there_and_back};

fn labels(history: &persist::History) -> Vec<String> {
    history.entries().map(|entry| entry.label.to_string()).collect()
}

#[test]
fn an_edit_records_the_field_that_it_changes_and_an_undo_sets_it_back() -> Result<()> {
    let (mut world, mut history, door) = with(transform(1.0, 2.0));
    history.edit(&mut world, "Move door", |edit| {
        edit.get_mut::<Transform>(door)?.x = 50.0;
        Ok(())
    })?;
    // What the edit did not change is left alone by the undo.
    world.set_field(door, "Transform:y", 7.0)?;
    assert!(history.undo(&mut world)?);
    assert_eq!(world.get(door), Some(&transform(1.0, 7.0)));
    assert!(history.redo(&mut world)?);
    assert_eq!(world.get(door), Some(&transform(50.0, 7.0)));
    Ok(())
}

#[test]
fn an_edit_that_changes_nothing_is_no_entry_and_what_could_be_redone_stays() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    history.set(&mut world, ada, field!(Thing.level), 4)?;
    history.undo(&mut world)?;
    let before = entries(&history);
    history.edit(&mut world, "Nothing", |edit| {
        // Taken, changed, and put back as it was.
        let thing = edit.get_mut::<Thing>(ada)?;
        thing.level = 9;
        thing.items.clear();
        *edit.get_mut::<Thing>(ada)? = Thing::sample();
        Ok(())
    })?;
    assert_eq!(history.set(&mut world, ada, field!(Thing.level), 3)?, Value::U16(3));
    history.edit(&mut world, "Nothing", |edit| {
        let name = edit.name(ada).unwrap_or_default().to_owned();
        edit.rename(ada, &name)?;
        edit.set_parent(ada, None)?;
        edit.set_activity(ada, Activity::Active)?;
        edit.move_element(ada, field!(Thing.items), 1, 1)
    })?;
    assert_eq!(entries(&history), before);
    assert!(history.redo(&mut world)?);
    assert_eq!(world.get_field(ada, field!(Thing.level))?, Value::U16(4));
    Ok(())
}

#[test]
fn fields_that_became_longer_or_shorter_are_found_and_those_between_them_are_not() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    let changes: [fn(&mut Thing); 4] = [
        |thing| thing.name.clear(),
        |thing| thing.name = "a name that is longer than the one before".into(),
        |thing| thing.items.clear(),
        |thing| thing.secret.0.push('!'),
    ];
    for (first, first_change) in changes.iter().enumerate() {
        for (second, second_change) in changes.iter().enumerate() {
            there_and_back(&mut world, &mut history, |edit| {
                let thing = edit.get_mut::<Thing>(ada)?;
                *thing = Thing::sample();
                first_change(thing);
                second_change(thing);
                Ok(())
            })?;
            // The first two are of the same field.
            let is_one = first.max(1) == second.max(1);
            let last = labels(&history).pop().unwrap_or_default();
            assert_eq!(last.ends_with("and 1 more"), !is_one, "{first} {second}: {last}");
            history.undo(&mut world)?;
            assert_eq!(world.get(ada), Some(&Thing::sample()));
        }
    }
    Ok(())
}

#[test]
fn skipped_fields_are_not_recorded() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    history.edit(&mut world, "Cache", |edit| {
        edit.get_mut::<Thing>(ada)?.cache = vec![9];
        Ok(())
    })?;
    assert!(history.entries().len() == 0);
    history.edit(&mut world, "Both", |edit| {
        let thing = edit.get_mut::<Thing>(ada)?;
        thing.cache = vec![8];
        thing.position.x = 8.0;
        Ok(())
    })?;
    assert!(history.undo(&mut world)?);
    let thing = world.get::<Thing>(ada).expect("it is there");
    assert_eq!((thing.position.x, &*thing.cache), (1.0, &[8][..]));
    Ok(())
}

#[test]
fn a_component_is_compared_with_what_it_was_when_it_was_taken_first() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 0.0));
    history.edit(&mut world, "Steps", |edit| {
        for x in 1_u8..=10 {
            edit.get_mut::<Transform>(door)?.x = f32::from(x);
            assert_eq!(edit.get::<Transform>(door)?.x, f32::from(x));
        }
        Ok(())
    })?;
    assert_eq!(history.entries().len(), 1);
    history.undo(&mut world)?;
    assert_eq!(world.get(door), Some(&transform(0.0, 0.0)));
    Ok(())
}

#[test]
fn the_fields_that_are_found_are_the_innermost_ones_that_lie_in_structs() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    let change = |thing: &mut Thing| {
        thing.position.y = 20.0;
        thing.pet.as_mut().expect("it is there").at.x = 50.0;
        thing.items[1].count = 3;
        thing.length.0 = 2.5;
        thing.number.0 = 10;
        thing.secret.0.push('!');
    };
    history.edit(&mut world, "", |edit| {
        change(edit.get_mut(ada)?);
        Ok(())
    })?;
    assert_eq!(labels(&history), ["Set game.Thing.place.y of Ada and 5 more"]);
    let changed = text(&world);
    history.undo(&mut world)?;
    assert_eq!(world.get(ada), Some(&Thing::sample()));
    // Each of them alone.
    for (change, name) in [
        (|thing: &mut Thing| thing.position.y = 20.0, "place.y"),
        (|thing: &mut Thing| thing.pet.as_mut().expect("there").at.x = 50.0, "pet"),
        (|thing: &mut Thing| thing.items[1].count = 3, "items[1].count"),
        (|thing: &mut Thing| thing.length.0 = 2.5, "length"),
        (|thing: &mut Thing| thing.number.0 = 10, "number.0"),
        (|thing: &mut Thing| thing.secret.0.push('!'), "secret"),
    ] as [(fn(&mut Thing), &str); 6]
    {
        there_and_back(&mut world, &mut history, |edit| {
            change(edit.get_mut(ada)?);
            Ok(())
        })?;
        let last = labels(&history).pop().unwrap_or_default();
        assert_eq!(last, format!("Set game.Thing.{name} of Ada"));
    }
    assert_eq!(text(&world), changed);
    Ok(())
}

#[test]
fn undo_and_redo_put_the_recorded_values_and_not_the_other_of_two() -> Result<()> {
    let (mut world, mut history, door) = with(transform(1.0, 0.0));
    history.set(&mut world, door, "Transform:x", 2.0)?;
    // Somebody changes it behind the history's back; a swap would keep that.
    world.set_field(door, "Transform:x", 9.0)?;
    history.undo(&mut world)?;
    assert_eq!(world.get(door), Some(&transform(1.0, 0.0)));
    world.set_field(door, "Transform:x", 9.0)?;
    history.redo(&mut world)?;
    assert_eq!(world.get(door), Some(&transform(2.0, 0.0)));

    // A redo that fails, and the undo of what is before it, find the old value.
    history.set(&mut world, door, "Transform:y", 5.0)?;
    history.undo(&mut world)?;
    let taken = std::mem::take(&mut world.get_mut::<Transform>(door).expect("there").y);
    world.detach::<Transform>(door);
    assert!(history.redo(&mut world).is_err());
    assert!(history.redo(&mut world).is_err());
    world.attach(door, transform(2.0, taken))?;
    assert!(history.undo(&mut world)?);
    assert_eq!(world.get(door), Some(&transform(1.0, 0.0)));
    assert!(history.redo(&mut world)? && history.redo(&mut world)?);
    assert_eq!(world.get(door), Some(&transform(2.0, 5.0)));
    Ok(())
}

#[test]
fn a_float_that_is_not_a_number_is_equal_to_itself_and_zeros_keep_their_signs() -> Result<()> {
    let (mut world, mut history, door) = with(transform(f32::NAN, 0.0));
    history.set(&mut world, door, "Transform:x", f32::NAN)?;
    history.edit(&mut world, "", |edit| {
        let transform = edit.get_mut::<Transform>(door)?;
        transform.x = f32::NAN;
        transform.y = 0.0;
        Ok(())
    })?;
    assert!(history.entries().len() == 0, "nothing has changed");

    let bits = |world: &persist::World| {
        let transform = world.get::<Transform>(door).expect("it is there");
        (transform.x.to_bits(), transform.y.to_bits())
    };
    let odd = f32::from_bits(0x7fc0_1234);
    let before = bits(&world);
    history.edit(&mut world, "", |edit| {
        *edit.get_mut(door)? = transform(odd, -0.0);
        Ok(())
    })?;
    assert_eq!(history.entries().len(), 1);
    history.undo(&mut world)?;
    assert_eq!(bits(&world), before);
    history.redo(&mut world)?;
    assert_eq!(bits(&world), (odd.to_bits(), (-0.0_f32).to_bits()));

    history.set(&mut world, door, "Transform:y", 0.0_f32)?;
    assert_eq!(history.entries().len(), 2, "the sign is another one");
    history.undo(&mut world)?;
    assert_eq!(bits(&world).1, (-0.0_f32).to_bits());
    Ok(())
}

#[test]
fn an_edit_of_many_objects_is_one_entry_with_the_old_value_of_each() -> Result<()> {
    let (mut world, mut history) = empty();
    let doors = [1.0, 2.0, 3.0].map(|x| {
        let door = world.spawn("Door");
        world.attach(door, transform(x, x)).expect("it is there");
        door
    });
    there_and_back(&mut world, &mut history, |edit| {
        doors.iter().try_for_each(|door| edit.set(*door, "Transform:x", 9.0).map(drop))
    })?;
    assert_eq!(labels(&history), ["Set Transform.x of Door and 2 more"]);
    there_and_back(&mut world, &mut history, |edit| {
        doors.iter().try_for_each(|door| {
            edit.get_mut::<Transform>(*door)?.y = 0.0;
            Ok(())
        })
    })?;
    history.undo(&mut world)?;
    history.undo(&mut world)?;
    let all = doors.map(|door| world.get::<Transform>(door).cloned());
    assert_eq!(all, [1.0, 2.0, 3.0].map(|x| Some(transform(x, x))));
    Ok(())
}

#[test]
fn entries_name_fields_as_saves_do_by_class_and_name() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    history.set(&mut world, ada, field!(Thing.position.x), 5.0)?;
    history.edit(&mut world, "", |edit| {
        edit.get_mut::<Thing>(ada)?.position = Place { x: 5.0, y: 6.0 };
        Ok(())
    })?;
    let fields: Vec<String> = history
        .entries()
        .map(|entry| match entry.label {
            persist::history::Label::Change { field: Some(field), .. } => field.to_string(),
            other => panic!("{other:?} is no change of a field"),
        })
        .collect();
    assert_eq!(fields, ["game.Thing:place.x", "game.Thing:place.y"]);
    Ok(())
}

#[test]
fn set_returns_what_was_there_and_takes_what_becomes_a_value_of_the_field() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    assert_eq!(history.set(&mut world, ada, "game.Thing:level", 7_i64)?, Value::U16(3));
    assert_eq!(history.set(&mut world, ada, "game.Thing:length", 0.1_f64)?, Value::F32(1.5));
    assert_eq!(history.set(&mut world, ada, "game.Thing:place.x", 5)?, Value::F32(1.0));
    assert_eq!(history.entries().len(), 3);
    history.go_to(&mut world, 0)?;
    assert_eq!(world.get(ada), Some(&Thing::sample()));
    Ok(())
}
