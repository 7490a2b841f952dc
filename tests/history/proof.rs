//! Undos that do not lead back, and what is gone.

use persist::history::{CommandEdit, Proof};
use persist::{Command, Component, ErrorKind, History, ObjectId, Persist, Result, World};

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Place {
    x: f32,
    y: f32,
}

#[derive(Persist)]
struct Health(u32);

impl Component for Place {}
impl Component for Health {}

/// Moves an object directly, and takes back too much, or forgets y the second time.
struct Nudge {
    object: ObjectId,
    undo_y: f32,
    redo_y: f32,
    was_done: bool,
}

impl Nudge {
    fn of(object: ObjectId) -> Self {
        Self { object, undo_y: 1.0, redo_y: 1.0, was_done: false }
    }
}

impl Command for Nudge {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        let by = if self.was_done { self.redo_y } else { 1.0 };
        self.was_done = true;
        if let Some(place) = edit.target().get_mut::<Place>(self.object) {
            place.x += 1.0;
            place.y += by;
        }
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        if let Some(place) = world.get_mut::<Place>(self.object) {
            place.x -= 1.0;
            place.y -= self.undo_y;
        }
        Ok(())
    }

    fn label(&self) -> persist::history::Label {
        "Nudge".into()
    }

    fn objects(&self) -> Vec<ObjectId> {
        vec![self.object]
    }
}

fn door() -> Result<(World, History, ObjectId)> {
    let (mut world, mut history) = (World::new(), History::new(10));
    history.set_proof(Proof::Touched);
    let door = world.spawn("Door");
    world.attach(door, Place::default())?;
    Ok((world, history, door))
}

#[test]
fn commands_that_lead_back_pass() -> Result<()> {
    let (mut world, mut history, door) = door()?;
    history.apply(&mut world, Nudge::of(door))?;
    history.edit(&mut world, "", |edit| {
        edit.get_mut::<Place>(door)?.x = 9.0;
        edit.attach(door, Health(3))?;
        let child = edit.spawn_in(door, "Handle")?;
        edit.remove(door)?;
        assert!(!edit.contains(child));
        Ok(())
    })?;
    for _ in 0..3 {
        assert!(history.undo(&mut world)? && history.undo(&mut world)?);
        assert_eq!(world.get::<Place>(door), Some(&Place::default()));
        assert!(history.redo(&mut world)? && history.redo(&mut world)?);
    }
    Ok(())
}

#[test]
fn an_undo_that_does_not_lead_back_is_an_error_with_object_and_field() -> Result<()> {
    let (mut world, mut history, door) = door()?;
    history.apply(&mut world, Nudge { undo_y: 5.0, ..Nudge::of(door) })?;
    let error = history.undo(&mut world).expect_err("y is not what it was");
    assert_eq!(error.kind(), ErrorKind::NotInverse);
    assert!(error.message().contains("Place.y") && error.message().contains("Nudge"), "{error}");
    assert_eq!(error.object(), Some(door.get()));
    // Doing it again does not lead back either: nobody knows the state that the world is in.
    let poison = history.poison().expect("the history knows no way out");
    assert_eq!((poison.entry, poison.object), (Some(0), Some(door)));
    Ok(())
}

#[test]
fn a_redo_that_does_something_else_is_an_error() -> Result<()> {
    let (mut world, mut history, door) = door()?;
    history.apply(&mut world, Nudge { redo_y: 4.0, ..Nudge::of(door) })?;
    history.undo(&mut world)?;
    let error = history.redo(&mut world).expect_err("y is not what it was first");
    assert_eq!(error.kind(), ErrorKind::NotInverse);
    assert!(error.message().contains("redo") && error.message().contains("Place.y"), "{error}");
    Ok(())
}

#[test]
fn what_is_changed_beside_the_history_is_not_the_commands_fault() -> Result<()> {
    let (mut world, mut history, door) = door()?;
    history.apply(&mut world, Nudge::of(door))?;
    world.get_mut::<Place>(door).expect("it is there").y = 70.0;
    assert!(history.undo(&mut world)?);
    assert_eq!(world.get::<Place>(door), Some(&Place { x: 0.0, y: 69.0 }));
    Ok(())
}

#[test]
fn without_proof_nothing_is_compared() -> Result<()> {
    let (mut world, mut history, door) = door()?;
    history.set_proof(Proof::Off);
    history.apply(&mut world, Nudge { undo_y: 5.0, ..Nudge::of(door) })?;
    assert!(history.undo(&mut world)?);
    assert_eq!(world.get::<Place>(door), Some(&Place { x: 0.0, y: -4.0 }));
    Ok(())
}

/// Changes another object than it says.
struct Stray(ObjectId);

impl Command for Stray {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        edit.target().rename(self.0, "Gate").map(drop)
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_proof_of_the_whole_finds_what_a_command_does_not_say() -> Result<()> {
    for proof in [Proof::Touched, Proof::Whole] {
        let (mut world, mut history, door) = door()?;
        history.set_proof(proof);
        history.apply(&mut world, Stray(door))?;
        let undone = history.undo(&mut world);
        assert_eq!(undone.is_err(), proof == Proof::Whole, "{proof:?}");
        if let Err(error) = undone {
            assert!(error.message().contains("its name"), "{error}");
        }
    }
    Ok(())
}

#[derive(Persist, Default)]
struct Document {
    title: String,
    pages: u32,
}

struct Grow;

impl Command<Document> for Grow {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().pages += 1;
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.pages -= 1;
        document.title.push('!');
        Ok(())
    }
}

#[test]
fn a_document_is_proved_as_a_whole() -> Result<()> {
    let (mut document, mut history) = (Document::default(), History::new(10));
    history.set_proof(Proof::Whole);
    history.apply(&mut document, Grow)?;
    let error = history.undo(&mut document).expect_err("it has another title");
    assert!(error.message().contains("Document.title"), "{error}");
    Ok(())
}

#[test]
fn an_entry_whose_object_is_gone_is_an_error_and_can_be_skipped_or_dropped() -> Result<()> {
    for (is_dropped, len) in [(false, 2), (true, 1)] {
        let (mut world, mut history, door) = door()?;
        let gate = world.spawn("Gate");
        world.attach(gate, Place::default())?;
        history.set(&mut world, gate, "Place:x", 1.0)?;
        history.set(&mut world, door, "Place:x", 1.0)?;
        world.remove(door);
        for _ in 0..2 {
            let error = history.undo(&mut world).expect_err("the door is gone");
            assert_eq!((error.kind(), error.object()), (ErrorKind::NotFound, Some(door.get())));
        }
        assert_eq!((history.entries().len(), history.position()), (2, 2));
        if is_dropped {
            history.drop_entry(&mut world)?;
        } else {
            history.skip_entry(&mut world)?;
        }
        assert_eq!((history.entries().len(), history.position()), (len, 1));
        assert!(history.undo(&mut world)?);
        assert_eq!(world.get::<Place>(gate), Some(&Place::default()));
    }
    Ok(())
}

/// Moves an object directly, and does not say so.
struct Silent(ObjectId);

impl Command for Silent {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        if let Some(place) = edit.target().get_mut::<Place>(self.0) {
            place.x += 1.0;
        }
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        if let Some(place) = world.get_mut::<Place>(self.0) {
            place.x -= 1.0;
        }
        Ok(())
    }
}

#[test]
fn what_a_command_did_not_say_is_no_fault_of_the_edit_around_it() -> Result<()> {
    let (mut world, mut history, door) = door()?;
    history.edit(&mut world, "Nudge", |edit| {
        edit.apply(Silent(door))?;
        edit.set(door, "Place:y", 5.0).map(drop)
    })?;
    history.begin("Both")?;
    history.edit(&mut world, "", |edit| edit.rename(door, "Gate").map(drop))?;
    history.apply(&mut world, Silent(door))?;
    history.set(&mut world, door, "Place:y", 6.0)?;
    history.commit(&mut world)?;
    for _ in 0..2 {
        history.go_to(&mut world, 0)?;
        assert_eq!(world.get::<Place>(door), Some(&Place { x: 0.0, y: 0.0 }));
        history.go_to(&mut world, 2)?;
        assert_eq!(world.get::<Place>(door), Some(&Place { x: 2.0, y: 6.0 }));
    }
    Ok(())
}

#[test]
fn an_edit_of_twenty_thousand_objects_is_proved_both_ways() -> Result<()> {
    let (mut world, mut history, _) = door()?;
    // It takes minutes if each is compared with each.
    let objects = history.edit(&mut world, "Add", |edit| {
        let place = |edit: &mut persist::history::Edit<'_>| {
            let object = edit.spawn("")?;
            edit.attach(object, Place::default())?;
            Ok(object)
        };
        (0..20_000).map(|_| place(edit)).collect::<Result<Vec<_>>>()
    })?;
    let drag = history.begin_drag("Drag");
    for _ in 0..2 {
        history.edit(&mut world, "", |edit| {
            objects.iter().try_for_each(|object| {
                edit.get_mut::<Place>(*object)?.x += 1.0;
                Ok(())
            })
        })?;
    }
    history.end_drag(drag);
    assert_eq!(history.entries().len(), 2);
    history.undo(&mut world)?;
    history.redo(&mut world)?;
    let is_moved = |object: &ObjectId| world.get::<Place>(*object).is_some_and(|at| at.x == 2.0);
    assert!(objects.iter().all(is_moved));
    Ok(())
}
