//! What entries are called: as the program says, or after what was done.

use persist::history::{Edit, Label, Verb};
use persist::world::Activity;
use persist::{ObjectId, Result, field};

use super::scene::{Homing, Route, Score, Stop, Tag, Thing, empty, transform, with};

#[test]
fn an_edit_without_a_label_is_called_after_what_it_does() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 0.0));
    world.rename(door, "Door")?;
    world.attach(door, Thing::sample())?;
    let stop = |x| Stop { x, y: 0 };
    let stops = vec![stop(1), stop(2), stop(3)];
    world.attach(door, Route { name: "Tour".into(), stops, legs: Vec::new() })?;
    world.insert_resource(Score { points: 1, names: Vec::new() })?;
    type Step = fn(&mut Edit<'_>, ObjectId) -> Result<()>;
    let steps: [(Step, &str); 19] = [
        (|edit, door| edit.set(door, "Transform:x", 1.0).map(drop), "Set Transform.x of Door"),
        (
            |edit, door| {
                edit.get_mut::<Thing>(door)?.position.x = 7.0;
                Ok(())
            },
            "Set game.Thing.place.x of Door",
        ),
        (
            |edit, door| edit.set(door, field!(Thing.items[1].count), 7).map(drop),
            "Set game.Thing.items[1].count of Door",
        ),
        (
            |edit, door| edit.set(door, field!(Thing.prices["axe"]), 7).map(drop),
            "Set game.Thing.prices[\"axe\"] of Door",
        ),
        (
            |edit, door| {
                *edit.get_mut(door)? = transform(8.0, 8.0);
                Ok(())
            },
            "Set Transform.x of Door and 1 more",
        ),
        (|edit, door| edit.attach(door, Tag), "Attach Tag of Door"),
        (|edit, door| edit.detach::<Tag>(door), "Detach Tag of Door"),
        (|edit, door| edit.remove_element(door, "Route:stops", 0), "Remove Route.stops of Door"),
        (
            |edit, door| edit.insert_element(door, "Route:legs", 0, vec![1, 2]),
            "Insert Route.legs of Door",
        ),
        (|edit, door| edit.move_element(door, "Route:stops", 0, 1), "Move Route.stops of Door"),
        (|edit, _| edit.spawn("Wall").map(drop), "Create Wall"),
        (
            |edit, door| {
                let handle = edit.spawn_in(door, "Handle")?;
                edit.attach(handle, Tag)?;
                edit.attach(handle, Homing { target: Some(door), others: Vec::new() })
            },
            "Create Handle and 2 more",
        ),
        (|edit, door| edit.set_activity(door, Activity::Paused), "Pause Door"),
        (|edit, door| edit.set_activity(door, Activity::Active), "Resume Door"),
        (|edit, door| edit.set_parent(door, edit.find("Wall")), "Reparent Door"),
        (|edit, _| edit.set(None, "Score:points", 5).map(drop), "Set Score.points"),
        (|edit, _| edit.remove_resource::<Score>(), "Detach Score"),
        (|edit, _| edit.insert_resource(Score { points: 0, names: Vec::new() }), "Attach Score"),
        (|edit, door| edit.remove(door), "Delete Door"),
    ];
    for (step, expected) in steps {
        history.edit(&mut world, "", |edit| step(edit, door))?;
        assert_eq!(history.undo_text(), format!("Undo {expected}"));
    }
    let texts: Vec<String> = history.entries().map(|entry| entry.label.to_string()).collect();
    assert_eq!(texts, steps.map(|(_, expected)| expected));
    history.undo(&mut world)?;
    assert_eq!(history.redo_text(), "Redo Delete Door");
    Ok(())
}

#[test]
fn a_text_has_the_name_that_the_object_had_then() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 0.0));
    history.set(&mut world, door, "Transform:x", 1.0)?;
    history.edit(&mut world, "", |edit| edit.rename(door, "Gate").map(drop))?;
    history.edit(&mut world, "", |edit| edit.remove(door))?;
    let texts: Vec<String> = history.entries().map(|entry| entry.label.to_string()).collect();
    assert_eq!(texts, ["Set Transform.x of Ada", "Rename Gate", "Delete Gate"]);
    Ok(())
}

#[test]
fn a_derived_text_is_data_for_programs_in_other_languages() -> Result<()> {
    let (mut world, mut history, door) = with(transform(0.0, 0.0));
    history.set(&mut world, door, "Transform:x", 1.0)?;
    let Some(Label::Change { verb, field, object }) =
        history.entries().next_back().map(|entry| entry.label)
    else {
        panic!("it is a change");
    };
    assert_eq!((verb, object.as_deref()), (Verb::Set, Some("Ada")));
    let field = field.expect("a field");
    assert_eq!((field.class(), field.to_string()), ("Transform", "Transform:x".into()));

    history.edit(&mut world, "", |edit| {
        edit.remove(door)?;
        edit.spawn("Bob")?;
        edit.spawn("Eve")
    })?;
    let Some(Label::Several { first, more }) =
        history.entries().next_back().map(|entry| entry.label)
    else {
        panic!("it is several");
    };
    assert_eq!(more, 2);
    assert!(matches!(*first, Label::Change { verb: Verb::Delete, field: None, .. }));
    Ok(())
}

#[test]
fn a_label_of_the_program_is_taken_as_it_is() -> Result<()> {
    let (mut world, mut history) = empty();
    let label = Label::from("Add door to the house").action("Add door");
    history.edit(&mut world, label.clone(), |edit| edit.spawn("Door"))?;
    assert_eq!(history.entries().next_back().map(|entry| entry.label), Some(label));
    assert_eq!(history.undo_text(), "Undo Add door");
    let first = history.entries().next().expect("an entry");
    assert_eq!(first.label.to_string(), "Add door to the house");
    history.undo(&mut world)?;
    assert_eq!((history.undo_text(), history.redo_text()), ("".into(), "Redo Add door".into()));
    Ok(())
}
