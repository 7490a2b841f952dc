//! Names that objects have which come and go.

use persist::{ObjectId, Result, World};

use super::scene::{empty, text};
use super::stage::there_and_back;

fn names(world: &World) -> Vec<&str> {
    world.objects().filter_map(|object| world.name(object)).collect()
}

#[test]
fn a_name_is_kept_for_what_can_come_back() -> Result<()> {
    let (mut world, mut history) = empty();
    let door = world.spawn("Door");
    history.edit(&mut world, "", |edit| edit.remove(door))?;
    history.edit(&mut world, "", |edit| edit.spawn("Door"))?;
    assert_eq!(names(&world), ["Door1"]);
    history.go_to(&mut world, 0)?;
    assert_eq!(names(&world), ["Door"]);
    history.go_to(&mut world, 2)?;
    assert_eq!(names(&world), ["Door1"]);
    // When it cannot, the name is free again.
    history.clear(&mut world)?;
    world.spawn("Door");
    assert_eq!(names(&world), ["Door1", "Door"]);
    Ok(())
}

#[test]
fn what_is_made_behind_an_undo_is_called_as_what_was_undone() -> Result<()> {
    let (mut world, mut history) = empty();
    for _ in 0..3 {
        history.edit(&mut world, "", |edit| {
            let house = edit.spawn("House")?;
            edit.spawn_in(house, "Door")
        })?;
        assert_eq!(names(&world), ["House", "Door"]);
        history.undo(&mut world)?;
    }
    // An edit that fails leaves the names to what can be redone.
    let failed = history.edit(&mut world, "", |edit| {
        assert_eq!(
            edit.spawn("Door").map(|door| edit.name(door).map(String::from))?.as_deref(),
            Some("Door")
        );
        edit.remove(ObjectId::new(999).expect("not 0"))
    });
    assert!(failed.is_err());
    history.redo(&mut world)?;
    assert_eq!(names(&world), ["House", "Door"]);
    history.undo(&mut world)?;
    // What takes one beside the history gives it back.
    let newcomer = world.spawn("Door");
    assert_eq!(world.name(newcomer), Some("Door"));
    history.redo(&mut world)?;
    assert_eq!(names(&world), ["House", "Door", "Door1"]);
    // Of what was removed the name is kept, also if it was undone before.
    history.edit(&mut world, "", |edit| edit.remove(edit.find("House").expect("it is there")))?;
    assert_eq!(world.spawn("House").get(), newcomer.get() + 1);
    assert_eq!(names(&world), ["Door1", "House1"]);
    Ok(())
}

#[test]
fn a_name_that_an_edit_gives_away_is_back_before_its_owner_is() -> Result<()> {
    let (mut world, mut history) = empty();
    let [door, gate] = ["Door", "Gate"].map(|name| world.spawn(name));
    history.edit(&mut world, "", |edit| edit.remove(door))?;
    history.edit(&mut world, "", |edit| {
        assert_eq!(edit.rename(gate, "Door")?, "Door");
        Ok(())
    })?;
    history.edit(&mut world, "", |edit| edit.spawn("Gate"))?;
    let states = [vec!["Door", "Gate"], vec!["Gate"], vec!["Door"], vec!["Door", "Gate"]];
    for position in [0, 3, 2, 1, 3, 1, 0, 2, 0] {
        history.go_to(&mut world, position)?;
        assert_eq!(names(&world), states[position], "at {position}");
    }
    assert_eq!(world.find("Door"), Some(door));
    Ok(())
}

#[test]
fn a_name_taken_beside_the_history_is_given_back_and_the_newcomer_gets_a_number() -> Result<()> {
    let (mut world, mut history) = empty();
    let [door, gate, wall] = ["Door", "Gate", "Wall"].map(|name| world.spawn(name));
    history.edit(&mut world, "", |edit| edit.remove(door))?;
    world.rename(gate, "Door")?;
    history.undo(&mut world)?;
    assert_eq!((world.name(door), world.name(gate)), (Some("Door"), Some("Door1")));
    history.redo(&mut world)?;
    assert_eq!(world.name(gate), Some("Door1"));

    // An undo of a rename cannot take a name from one that lives.
    history.edit(&mut world, "", |edit| edit.rename(wall, "Hedge").map(drop))?;
    world.rename(gate, "Wall")?;
    let error = history.undo(&mut world).expect_err("the gate is called so");
    assert_eq!(error.kind(), persist::ErrorKind::AlreadyExists);
    assert_eq!((world.name(wall), history.position()), (Some("Hedge"), 2));
    world.rename(gate, "Gate")?;
    assert!(history.undo(&mut world)?);
    assert_eq!(world.name(wall), Some("Wall"));
    Ok(())
}

#[test]
fn renames_in_a_circle_and_removals_between_them_go_back() -> Result<()> {
    let (mut world, mut history) = empty();
    let all: Vec<ObjectId> = (0..5).map(|_| world.spawn("Orc")).collect();
    let mut states = vec![text(&world)];
    let mut step = |edit: &dyn Fn(&mut persist::history::Edit<'_>) -> Result<()>| -> Result<()> {
        history.edit(&mut world, "", edit)?;
        states.push(text(&world));
        Ok(())
    };
    step(&|edit| edit.rename(all[0], "Elf").map(drop))?;
    step(&|edit| edit.rename(all[1], "Orc").map(drop))?;
    step(&|edit| edit.rename(all[0], "Orc").map(drop))?;
    step(&|edit| edit.remove(all[3]))?;
    step(&|edit| edit.rename(all[4], "Orc3").map(drop))?;
    step(&|edit| edit.spawn("Orc").map(drop))?;
    step(&|edit| edit.remove(all[4]))?;
    step(&|edit| edit.rename(all[2], "Elf").map(drop))?;
    step(&|edit| edit.rename(all[2], "Orc4").map(drop))?;
    step(&|edit| edit.spawn("Orc").map(drop))?;
    for position in [0, 10, 5, 9, 4, 8, 3, 7, 2, 6, 1, 10, 0] {
        history.go_to(&mut world, position)?;
        assert_eq!(text(&world), states[position], "at {position}");
    }
    Ok(())
}

#[test]
fn an_empty_name_and_a_name_with_a_number_come_back() -> Result<()> {
    let (mut world, mut history) = empty();
    there_and_back(&mut world, &mut history, |edit| edit.spawn(""))?;
    there_and_back(&mut world, &mut history, |edit| edit.spawn(""))?;
    let third = there_and_back(&mut world, &mut history, |edit| edit.spawn("a1"))?;
    there_and_back(&mut world, &mut history, |edit| edit.spawn("a"))?;
    there_and_back(&mut world, &mut history, |edit| edit.spawn("a"))?;
    there_and_back(&mut world, &mut history, |edit| edit.remove(third))?;
    there_and_back(&mut world, &mut history, |edit| edit.spawn("a1"))?;
    assert_eq!(names(&world), ["a", "a2", "a11"]);
    history.go_to(&mut world, 0)?;
    assert!(world.objects().len() == 0);
    history.go_to(&mut world, 7)?;
    assert_eq!(names(&world), ["a", "a2", "a11"]);
    Ok(())
}

#[test]
fn names_that_objects_share_are_undone_and_redone() -> Result<()> {
    let (mut world, mut history) = empty();
    let [one, two, three] = [(); 3].map(|()| world.spawn(""));
    for (object, name) in
        [(one, "Orc"), (two, "Orc"), (three, "Orc1"), (three, "Orc"), (one, "Elf")]
    {
        there_and_back(&mut world, &mut history, |edit| edit.share_name(object, name))?;
    }
    assert_eq!(names(&world), ["Elf", "Orc", "Orc"]);
    there_and_back(&mut world, &mut history, |edit| edit.remove(two))?;
    assert_eq!(history.undo_text(), "Undo Delete Orc");
    assert_eq!((world.find("Orc"), world.find("Orc1")), (None, None));
    // The name of what may come back is not given to another.
    there_and_back(&mut world, &mut history, |edit| {
        let new = edit.spawn("")?;
        edit.share_name(new, "Orc")
    })?;
    history.go_to(&mut world, 2)?;
    assert_eq!((names(&world), world.find("Orc")), (vec!["Orc", "Orc"], Some(one)));
    Ok(())
}
