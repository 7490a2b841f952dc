//! What an editor undoes, redoes and recovers.

use std::path::Path;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_transform::components::Transform;
use persist::history::Recovered;
use persist::{Error, ErrorKind, History};
use persist_bevy::{EditSession, PersistWorld, Saved};

use crate::{Health, Likes, Mana, Score, app, healths, of_health};

/// An editor in a folder: its app and the level.
fn open(folder: &Path) -> (App, EditSession, Recovered) {
    let mut app = app();
    app.world_mut().spawn(Health(1000)); // not of the level
    let (save, journal) = (folder.join("level.sav"), folder.join("level.journal"));
    let opened = EditSession::open(app.world_mut(), save, journal, History::new(100));
    let (session, recovered) = opened.unwrap();
    (app, session, recovered)
}

fn below(world: &World, parent: Entity) -> Vec<u32> {
    let children = world.get::<Children>(parent).into_iter().flat_map(|children| children.iter());
    children.map(|child| world.get::<Health>(child).unwrap().0).collect()
}

#[test]
fn components_entities_and_resources_are_undone_and_redone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    assert_eq!(healths(world), []);
    let add = |world: &mut World| {
        let rat =
            world.spawn((Health(1), Name::new("Rat"), Transform::from_xyz(1.0, 0.0, 0.0))).id();
        let cat = world.spawn((Health(2), Mana { points: 3, source: rat })).id();
        Ok([rat, cat])
    };
    let [rat, cat] = session.edit(world, "Add", add).unwrap();
    let change = |world: &mut World| {
        world.get_mut::<Transform>(rat).unwrap().translation.x = 5.0;
        world.entity_mut(cat).remove::<Mana>();
        world.entity_mut(rat).insert((Name::new("Mouse"), Mana { points: 7, source: cat }));
        world.insert_resource(Score { points: 9, leader: Some(cat) });
        Ok(())
    };
    session.edit(world, "Change", change).unwrap();
    assert_eq!(session.session().history().undo_text(), "Undo Change");

    assert!(session.undo(world).unwrap());
    assert_eq!(world.get::<Transform>(rat).unwrap().translation.x, 1.0);
    assert_eq!(world.get::<Mana>(cat), Some(&Mana { points: 3, source: rat }));
    assert_eq!((world.get::<Mana>(rat), world.get::<Name>(rat).unwrap().as_str()), (None, "Rat"));
    assert!(world.get_resource::<Score>().is_none());
    assert!(session.redo(world).unwrap());
    assert_eq!(world.get::<Mana>(rat), Some(&Mana { points: 7, source: cat }));
    assert_eq!(world.get::<Name>(rat).unwrap().as_str(), "Mouse");
    assert_eq!(world.resource::<Score>(), &Score { points: 9, leader: Some(cat) });

    session.go_to(world, 0).unwrap();
    assert_eq!(world.query_filtered::<(), With<Saved>>().iter(world).count(), 0);
    assert!(!session.undo(world).unwrap());
    session.go_to(world, 2).unwrap();
    let [rat, cat] = [1, 2].map(|health| of_health(world, health));
    assert_eq!(world.get::<Mana>(rat).unwrap().source, cat, "the new entities");
    assert_eq!(world.resource::<Score>().leader, Some(cat));
}

#[test]
fn a_despawned_family_comes_back_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let add = |world: &mut World| {
        let house = world.spawn(Health(1)).id();
        let [first, second] =
            [2, 3].map(|health| world.spawn((Health(health), ChildOf(house))).id());
        world.spawn((Health(4), ChildOf(second)));
        world.entity_mut(house).insert_child(0, second);
        Ok((house, first))
    };
    let (house, first) = session.edit(world, "Build", add).unwrap();
    let watcher = session
        .edit(world, "Watch", |world| {
            Ok(world.spawn((Health(5), Mana { points: 1, source: first })).id())
        })
        .unwrap();
    assert_eq!(below(world, house), [3, 2]);
    session.edit(world, "Demolish", |world| Ok(world.despawn(house))).unwrap();
    assert_eq!(healths(world), [5]);
    session.undo(world).unwrap();
    let house = of_health(world, 1);
    assert_eq!(below(world, house), [3, 2]);
    let second = of_health(world, 3);
    assert_eq!(below(world, second), [4]);
    let source = world.get::<Mana>(watcher).unwrap().source;
    assert_eq!(source, of_health(world, 2), "the reference is renewed");

    session
        .edit(world, "Move", |world| {
            world.entity_mut(second).insert_child(0, source);
            Ok(())
        })
        .unwrap();
    assert_eq!((below(world, house), below(world, second)), (vec![3], vec![2, 4]));
    session.undo(world).unwrap();
    assert_eq!((below(world, house), below(world, second)), (vec![3, 2], vec![4]));
    assert_eq!(world.get::<Mana>(watcher).unwrap().source, source, "nothing else was replaced");
}

#[test]
fn a_despawned_entity_comes_back_without_its_relationship_to_one_that_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let camera = world.spawn_empty().id();
    let add = |world: &mut World| Ok(world.spawn((Health(1), Likes(camera))).id());
    let rat = session.edit(world, "Add", add).unwrap();
    session.edit(world, "Remove", |world| Ok(world.despawn(rat))).unwrap();
    session.undo(world).unwrap();
    let rat = of_health(world, 1);
    assert!(world.get::<Likes>(rat).is_none());
    session.redo(world).unwrap();
    session.go_to(world, 0).unwrap();
    assert_eq!(healths(world), []);
}

#[test]
fn an_undo_returns_to_the_resource_that_the_level_lacked() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app();
    let world = app.world_mut();
    let score = Score { points: 5, leader: None };
    world.insert_resource(score.clone());
    let (save, journal) = (folder.path().join("level.sav"), folder.path().join("level.journal"));
    let (mut session, _) = EditSession::open(world, save, journal, History::new(100)).unwrap();
    assert_eq!(world.get_resource::<Score>(), Some(&score));
    session.edit(world, "Look", |world| Ok(healths(world))).unwrap();
    assert_eq!(session.session().history().position(), 0);
    let raise = |world: &mut World| {
        world.resource_mut::<Score>().points = 6;
        Ok(())
    };
    session.edit(world, "Raise", raise).unwrap();
    session.undo(world).unwrap();
    assert_eq!(world.get_resource::<Score>(), Some(&score));
    session.redo(world).unwrap();
    assert_eq!(world.resource::<Score>().points, 6);
}

#[test]
fn a_crash_loses_no_edit_and_no_undo() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    session.edit(world, "Add", |world| Ok(world.spawn(Health(1)).id())).unwrap();
    session.save().unwrap();
    for health in [2, 3, 4] {
        session
            .edit_merging(world, "drag", "Drag", |world| {
                let dragged = world.query::<&mut Health>().single_mut(world);
                dragged.unwrap().0 = health;
                Ok(())
            })
            .unwrap();
    }
    drop((app, session));

    let (mut app, mut session, recovered) = open(folder.path());
    let world = app.world_mut();
    assert_eq!((healths(world), recovered.entries), (vec![4], 2));
    assert!(session.session().history().is_modified());
    session.undo(world).unwrap();
    assert_eq!(healths(world), [1]);
    assert!(!session.session().history().is_modified());
    session.undo(world).unwrap();
    assert_eq!(healths(world), []);
}

#[test]
fn an_edit_that_fails_is_rolled_back() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let rat = session.edit(world, "Add", |world| Ok(world.spawn(Health(1)).id())).unwrap();
    let refused = session.edit(world, "Break", |world| {
        world.get_mut::<Health>(rat).unwrap().0 = 2;
        world.spawn(Health(3));
        Err::<(), _>(Error::new(ErrorKind::Refused, "the game says no"))
    });
    assert_eq!(refused.unwrap_err().to_string(), "the game says no");
    assert_eq!(healths(world), [1]);
    assert_eq!(world.get::<Health>(rat), Some(&Health(1)));
    assert_eq!(session.session().history().position(), 1);

    // An edit that changes nothing is none.
    session.edit(world, "Look", |world| Ok(healths(world))).unwrap();
    assert_eq!(session.session().history().position(), 1);
    world.save_to_vec().unwrap(); // beside the session
}
