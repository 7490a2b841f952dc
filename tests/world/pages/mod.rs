//! Worlds in pages: their layout in the save, damage, other versions of the program, and values around them.

mod damage;
mod layout;
mod long;
mod saved_again;
mod values;
mod versions;

use persist::{Component, ObjectId, Persist, Result, Saves, World};
use persist_tests::support::paged::{SavedPage, blocks, count, pages, replaced, with_page};

/// A component of fixed width.
#[derive(Persist, Debug, PartialEq, Clone)]
pub(crate) struct Place {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

/// A component whose size varies.
#[derive(Persist, Debug, PartialEq, Clone)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) whom: Option<ObjectId>,
}

impl Component for Place {}
impl Component for Note {}

pub(crate) fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Place>().expect("a component class");
    saves.register_component::<Note>().expect("a component class");
    saves.register_resource::<Note>().expect("a resource class");
    saves
}

#[allow(clippy::cast_precision_loss, reason = "small numbers")]
pub(crate) fn place(at: usize) -> Place {
    Place { x: at as f32, y: -1.0 }
}

/// Adds that many objects: most have a place, every third a note about an earlier one, and every eighth a parent.
pub(crate) fn grow(world: &mut World, objects: usize) -> Result<Vec<ObjectId>> {
    let ids: Vec<ObjectId> = (0..objects).map(|_| world.spawn("Orc")).collect();
    for (at, id) in ids.iter().enumerate() {
        if at % 7 != 0 {
            world.attach(*id, place(at))?;
        }
        if at % 3 == 0 {
            world.attach(*id, Note { text: "x".repeat(at % 40), whom: Some(ids[at / 2]) })?;
        }
        if at % 8 == 5 {
            world.set_parent(*id, Some(ids[at - 5]))?;
        }
    }
    Ok(ids)
}

pub(crate) fn world_of(objects: usize) -> Result<World> {
    let mut world = World::new();
    grow(&mut world, objects)?;
    world.insert_resource(Note { text: "of all".into(), whom: None })?;
    Ok(world)
}

/// The state of a world, object by object.
pub(crate) type State = Vec<(ObjectId, Option<Place>, Option<Note>, Option<ObjectId>)>;

pub(crate) fn state(world: &World) -> State {
    let of = |id: ObjectId| {
        let place = world.get::<Place>(id).cloned();
        (id, place, world.get::<Note>(id).cloned(), world.parent(id))
    };
    world.objects().map(of).collect()
}
