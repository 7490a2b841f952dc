//! Tests of saves and of undo in a world of Bevy.

#![allow(clippy::unwrap_used, reason = "these are tests")]
#![allow(elided_lifetimes_in_paths, reason = "as systems of Bevy are written")]

mod saves;
mod states;
mod timers;
mod undo;

use std::collections::HashMap;
use std::path::Path;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use persist::Persist;
use persist::save::{Slot, Slots};
use persist_bevy::{PersistApp, PersistPlugin, PersistWorld, Saved, WorldSaves, entity};

#[derive(Component, Persist, Clone, Debug, PartialEq)]
#[persist(component)]
#[require(Saved)]
pub(crate) struct Health(pub(crate) u32);

/// A component that Bevy does not store in tables.
#[derive(Component, Persist, Clone, Debug, PartialEq)]
#[persist(component)]
#[component(storage = "SparseSet")]
pub(crate) struct Glow(pub(crate) u16);

#[derive(Component, Persist, Clone, Debug, PartialEq)]
#[persist(component)]
pub(crate) struct Mana {
    pub(crate) points: u16,
    #[persist(with = entity)]
    pub(crate) source: Entity,
}

#[derive(Component, Persist, Clone)]
#[persist(component)]
#[require(Saved)]
pub(crate) struct Party {
    #[persist(with = "Option<entity>")]
    pub(crate) guest: Option<Entity>,
    #[persist(with = "Vec<entity>")]
    pub(crate) members: Vec<Entity>,
    #[persist(with = "HashMap<entity, _>")]
    pub(crate) grudges: HashMap<Entity, String>,
}

/// A relationship of the game, from an entity to the one that it likes.
#[derive(Component, Persist, Clone)]
#[persist(component)]
#[relationship(relationship_target = LikedBy)]
pub(crate) struct Likes(#[persist(with = entity)] pub(crate) Entity);

#[derive(Component)]
#[relationship_target(relationship = Likes)]
pub(crate) struct LikedBy(Vec<Entity>);

#[derive(Resource, Persist, Clone, Debug, PartialEq)]
pub(crate) struct Score {
    pub(crate) points: u32,
    #[persist(with = "Option<entity>")]
    pub(crate) leader: Option<Entity>,
}

pub(crate) fn app_in(folder: &Path) -> App {
    let mut app = App::new();
    app.add_plugins(PersistPlugin::new(folder));
    app.persist_component::<Health>()
        .persist_component::<Mana>()
        .persist_component::<Glow>()
        .persist_component::<Party>()
        .persist_component::<Likes>()
        .persist_resource::<Score>();
    app
}

pub(crate) fn app() -> App {
    app_in(Path::new("no saves are written here"))
}

/// Saves the world of an app, and loads it into a new app, as another run of the program does.
pub(crate) fn reloaded(app: &mut App) -> App {
    let save = app.world_mut().save_to_vec().unwrap();
    let mut other = crate::app();
    // Make sure that the loaded entities get other handles than the saved ones.
    for _ in 0..3 {
        other.world_mut().spawn_empty();
    }
    other.world_mut().load_from_slice(&save).unwrap();
    other
}

pub(crate) fn healths(world: &mut World) -> Vec<u32> {
    let mut all: Vec<u32> = world.query::<&Health>().iter(world).map(|health| health.0).collect();
    all.sort_unstable();
    all
}

/// Returns the slots in the folder of an app.
pub(crate) fn slots(world: &World) -> Slots {
    world.resource::<WorldSaves>().slots().unwrap()
}

pub(crate) fn slot(world: &World, name: &str) -> Slot {
    slots(world).slot(name)
}

pub(crate) fn of_health(world: &mut World, health: u32) -> Entity {
    let mut query = world.query::<(Entity, &Health)>();
    query.iter(world).find(|(_, found)| found.0 == health).unwrap().0
}
