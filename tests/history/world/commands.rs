//! Commands of the program's own that change worlds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use persist::history::{CommandEdit, Label};
use persist::{Command, Error, ErrorKind, ObjectId, Result, World, field};

use super::scene::{Route, Span, Speed, Transform, empty, text, transform, with};
use super::stage::{entries, kind};

/// Sets all of some objects to one `x`, by recorded edits alone.
struct Align {
    objects: Vec<ObjectId>,
    x: f32,
}

impl Command for Align {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        for object in &self.objects {
            edit.set(*object, field!(Transform.x), self.x)?;
        }
        Ok(())
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        panic!("there is nothing that it must take back");
    }

    fn redo(&mut self, _: &mut CommandEdit<'_>) -> Result<()> {
        panic!("there is nothing that it must do again");
    }

    fn label(&self) -> Label {
        "Align".into()
    }
}

/// Makes an object with a component; counts how often it was asked to.
struct Build {
    name: String,
    made: Option<ObjectId>,
    calls: Arc<AtomicU32>,
}

impl Command for Build {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let object = edit.spawn(&self.name)?;
        edit.attach(object, transform(1.0, 2.0))?;
        edit.get_mut::<Transform>(object)?.y = 3.0;
        self.made = Some(object);
        Ok(())
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        panic!("there is nothing that it must take back");
    }
}

/// Changes a resource by itself, and lets other commands build a street.
struct Street {
    houses: u32,
    calls: Arc<AtomicU32>,
    fails_at: Option<u32>,
}

impl Street {
    fn new(houses: u32) -> (Self, Arc<AtomicU32>) {
        let calls = Arc::new(AtomicU32::new(0));
        (Self { houses, calls: calls.clone(), fails_at: None }, calls)
    }
}

fn counted(world: &mut World, by: i64) -> Result<()> {
    let Some(speed) = world.resource_mut::<Count>() else {
        return Err(Error::new(ErrorKind::NotFound, "nothing is counted"));
    };
    speed.0 += by;
    Ok(())
}

#[derive(persist::Persist, Debug, PartialEq)]
struct Count(i64);

impl Command for Street {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        counted(edit.target(), i64::from(self.houses))?;
        for house in 0..self.houses {
            if self.fails_at == Some(house) {
                counted(edit.target(), -i64::from(self.houses))?;
                return Err(Error::new(ErrorKind::Refused, "no room"));
            }
            let (made, calls) = (None, self.calls.clone());
            edit.apply(Build { name: "House".into(), made, calls })?;
        }
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        counted(world, -i64::from(self.houses))
    }

    fn label(&self) -> Label {
        "Build street".into()
    }
}

fn counting() -> (World, persist::History) {
    let (mut world, history) = empty();
    world.insert_resource(Count(0)).expect("a resource");
    (world, history)
}

fn count(world: &World) -> Option<i64> {
    world.resource::<Count>().map(|count| count.0)
}

#[test]
fn a_command_of_recorded_edits_alone_need_not_take_anything_back() -> Result<()> {
    let (mut world, mut history) = empty();
    let objects = [1.0, 2.0, 3.0].map(|x| {
        let object = world.spawn("Door");
        world.attach(object, transform(x, x)).expect("there");
        object
    });
    let before = text(&world);
    history.apply(&mut world, Align { objects: objects.to_vec(), x: 9.0 })?;
    let after = text(&world);
    assert_ne!(before, after);
    for _ in 0..2 {
        assert_eq!(history.undo_text(), "Undo Align");
        assert!(history.undo(&mut world)?);
        assert_eq!(text(&world), before);
        assert!(history.redo(&mut world)?);
        assert_eq!(text(&world), after);
    }
    // One that changes nothing is no entry.
    history.apply(&mut world, Align { objects: objects.to_vec(), x: 9.0 })?;
    history.apply(&mut world, Align { objects: Vec::new(), x: 9.0 })?;
    assert_eq!(history.entries().len(), 1);
    Ok(())
}

#[test]
fn a_command_that_fails_is_taken_back_and_leaves_what_could_be_redone() -> Result<()> {
    let (mut world, mut history, door) = with(transform(1.0, 1.0));
    history.set(&mut world, door, "Transform:x", 2.0)?;
    history.undo(&mut world)?;
    let before = (text(&world), entries(&history));
    let gone = ObjectId::new(99).expect("not 0");
    let failed = history.apply(&mut world, Align { objects: vec![door, gone], x: 5.0 });
    assert_eq!(kind(failed), ErrorKind::NotFound);
    assert_eq!((text(&world), entries(&history)), before);
    assert!(history.redo(&mut world)?);
    Ok(())
}

#[test]
fn a_redo_of_what_a_command_made_does_not_make_it_again() -> Result<()> {
    let (mut world, mut history) = counting();
    let (street, calls) = Street::new(3);
    history.apply(&mut world, street)?;
    let made: Vec<ObjectId> = world.objects().collect();
    let names = |world: &World| -> Vec<String> {
        world.objects().filter_map(|object| world.name(object)).map(String::from).collect()
    };
    assert_eq!(names(&world), ["House", "House1", "House2"]);
    let built = (history.entries().len(), count(&world), calls.load(Ordering::Relaxed));
    assert_eq!(built, (1, Some(3), 3));
    history.set(&mut world, made[1], "Transform:x", 50.0)?;
    for _ in 0..3 {
        history.go_to(&mut world, 0)?;
        assert!(world.objects().len() == 0);
        assert_eq!(count(&world), Some(0));
        history.go_to(&mut world, 2)?;
        assert_eq!(world.objects().collect::<Vec<_>>(), made);
        assert_eq!(world.get(made[1]), Some(&transform(50.0, 3.0)));
        assert_eq!(
            (count(&world), calls.load(Ordering::Relaxed)),
            (Some(3), 3),
            "nothing is built again"
        );
    }
    Ok(())
}

#[test]
fn a_command_that_fails_on_its_way_takes_the_commands_in_it_back() -> Result<()> {
    let (mut world, mut history) = counting();
    for fails_at in 0..3 {
        let street = Street { fails_at: Some(fails_at), ..Street::new(3).0 };
        assert_eq!(kind(history.apply(&mut world, street)), ErrorKind::Refused);
        assert!(world.objects().len() == 0 && history.entries().len() == 0);
        assert_eq!(count(&world), Some(0));
    }
    assert!(history.poison().is_none());
    Ok(())
}

#[test]
fn commands_in_edits_and_transactions_join_their_entry() -> Result<()> {
    let (mut world, mut history) = counting();
    let before = count(&world);
    history.edit(&mut world, "Town", |edit| {
        let square = edit.spawn("Square")?;
        edit.apply(Street::new(2).0)?;
        edit.attach(square, Speed(1.0))?;
        let failed = edit.apply(Street { fails_at: Some(1), ..Street::new(2).0 });
        assert_eq!(kind(failed), ErrorKind::Refused);
        edit.apply(Align { objects: edit.objects().skip(1).collect(), x: 7.0 })
    })?;
    assert_eq!((world.objects().len(), count(&world)), (3, Some(2)));
    history.begin("More")?;
    history.apply(&mut world, Street::new(1).0)?;
    history.edit(&mut world, "", |edit| edit.remove(edit.find("House").expect("it is there")))?;
    history.commit(&mut world)?;
    let after: Vec<ObjectId> = world.objects().collect();
    assert_eq!((history.entries().len(), count(&world)), (2, Some(3)));
    for _ in 0..2 {
        history.go_to(&mut world, 0)?;
        assert!(world.objects().len() == 0);
        assert_eq!(count(&world), before);
        history.go_to(&mut world, 2)?;
        assert_eq!(world.objects().collect::<Vec<_>>(), after);
        assert_eq!(count(&world), Some(3));
    }
    Ok(())
}

/// Counts directly, and makes a span what it may not be.
struct Break(ObjectId, bool);

impl Command for Break {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        edit.spawn("Bob")?;
        if self.1 {
            counted(edit.target(), 5)?;
        }
        edit.get_mut::<Span>(self.0)?.low = 99;
        if !self.1 {
            // What is taken is compared before the target is handed out.
            counted(edit.target(), 5)?;
        }
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        assert!(world.find("Bob").is_some(), "he came before the direct change");
        counted(world, -5)
    }
}

#[test]
fn a_command_whose_recorded_edit_is_refused_at_its_end_takes_back_what_it_did_directly()
-> Result<()> {
    let (mut world, mut history) = counting();
    let ada = world.spawn("Ada");
    world.attach(ada, Span { low: 0, high: 5, steps: vec![] })?;
    for first in [true, false] {
        assert_eq!(kind(history.apply(&mut world, Break(ada, first))), ErrorKind::Refused);
        assert_eq!(
            (count(&world), world.objects().len(), history.entries().len()),
            (Some(0), 1, 0)
        );
        let in_edit = history.edit(&mut world, "", |edit| edit.apply(Break(ada, first)));
        assert_eq!(kind(in_edit), ErrorKind::Refused);
        assert_eq!(
            (count(&world), world.objects().len(), history.entries().len()),
            (Some(0), 1, 0)
        );
    }
    assert!(history.poison().is_none());
    Ok(())
}

/// Changes a component through the edit, then directly.
struct Twice(ObjectId);

impl Command for Twice {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        edit.get_mut::<Route>(self.0)?.name.push('a');
        self.redo(edit)
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        let route = world.get_mut::<Route>(self.0).expect("it is there");
        assert_eq!(route.legs.pop(), Some(vec![7]));
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        let route = edit.target().get_mut::<Route>(self.0).expect("it is there");
        route.legs.push(vec![7]);
        Ok(())
    }
}

#[test]
fn what_a_command_changes_directly_is_not_recorded_beside_it() -> Result<()> {
    let route = Route { name: String::new(), stops: vec![], legs: vec![vec![1]] };
    let (mut world, mut history, ada) = with(route);
    let before = text(&world);
    history.apply(&mut world, Twice(ada))?;
    let after = text(&world);
    for _ in 0..2 {
        history.undo(&mut world)?;
        assert_eq!(text(&world), before);
        history.redo(&mut world)?;
        assert_eq!(text(&world), after);
    }
    Ok(())
}
