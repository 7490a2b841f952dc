//! Tests of undo, redo and recovery in an editor.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use bevy_app::prelude::*;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_ecs::query::Allow;
use bevy_transform::components::Transform;
use persist::history::Recovered;
use persist::save::{Header, ReportRow};
use persist::{Error, ErrorKind, History, Saves};
use persist_bevy::{EditSession, PersistApp, PersistPlugin, PersistWorld, Saved};

use crate::{Glow, Health, Likes, Mana, Party, Score, app, healths, of_health};

/// Starts an editor in a folder, and opens its level.
fn open(folder: &Path) -> (App, EditSession, Recovered) {
    let mut app = app();
    let (save, journal) = (folder.join("level.sav"), folder.join("level.journal"));
    if save.exists() || journal.exists() {
        app.world_mut().spawn(Health(1000)); // not of the level
    }
    let (session, recovered) = open_in(&mut app, folder);
    (app, session, recovered)
}

fn open_in(app: &mut App, folder: &Path) -> (EditSession, Recovered) {
    let (save, journal) = (folder.join("level.sav"), folder.join("level.journal"));
    EditSession::open(app.world_mut(), save, journal, History::new(100)).unwrap()
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
fn a_despawned_entity_comes_back_with_its_relationship_to_one_that_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let camera = world.spawn_empty().id();
    let add = |world: &mut World| Ok(world.spawn((Health(1), Likes(camera))).id());
    let rat = session.edit(world, "Add", add).unwrap();
    session.edit(world, "Remove", |world| Ok(world.despawn(rat))).unwrap();
    session.undo(world).unwrap();
    let rat = of_health(world, 1);
    assert_eq!(world.get::<Likes>(rat).map(|likes| likes.0), Some(camera));
    session.redo(world).unwrap();
    world.despawn(camera);
    session.undo(world).unwrap();
    let rat = of_health(world, 1);
    assert!(world.get::<Likes>(rat).is_none(), "the camera is gone");
    session.go_to(world, 0).unwrap();
    assert_eq!(healths(world), []);
}

#[test]
fn an_undo_keeps_references_to_entities_that_are_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let [camera, lamp] = [(); 2].map(|()| world.spawn_empty().id());
    let add = |world: &mut World| {
        let cat = world.spawn(Health(2)).id();
        let grudges = [(cat, "the cake".into()), (lamp, "the light".into())].into();
        let party = Party { guest: Some(cat), members: vec![camera, cat, lamp], grudges };
        Ok((
            world.spawn((Health(1), Mana { points: 1, source: camera })).id(),
            world.spawn(party).id(),
        ))
    };
    let (rat, party) = session.edit(world, "Add", add).unwrap();
    session
        .edit(world, "Change", |world| {
            *world.get_mut::<Mana>(rat).unwrap() = Mana { points: 2, source: lamp };
            let cat = of_health(world, 2);
            Ok(world.despawn(cat))
        })
        .unwrap();
    session.undo(world).unwrap();
    assert_eq!(world.get::<Mana>(rat), Some(&Mana { points: 1, source: camera }));
    let cat = of_health(world, 2);
    let party = world.get::<Party>(party).unwrap();
    assert_eq!((party.guest, &*party.members), (Some(cat), &[camera, cat, lamp][..]));
    assert_eq!((party.grudges.len(), &*party.grudges[&lamp]), (2, "the light"));
    session.redo(world).unwrap();
    assert_eq!(world.get::<Mana>(rat).map(|mana| mana.source), Some(lamp));

    // Another run does not know these entities.
    session.undo(world).unwrap();
    session.save().unwrap();
    drop((app, session));
    let (mut app, _, recovered) = open(folder.path());
    let world = app.world_mut();
    let rows: Vec<String> =
        recovered.report.unwrap().rows().iter().map(ToString::to_string).collect();
    assert_eq!(
        rows,
        [
            "dangling weak reference: Mana, leads to an entity that is not saved, 1 times, first in object #2",
            "dangling weak reference: Party, leads to an entity that is not saved, 1 times, first in object #3"
        ]
    );
    assert_eq!(world.query::<&Mana>().single(world).unwrap().source, Entity::PLACEHOLDER);
}

#[test]
fn a_reference_to_an_entity_that_is_no_longer_saved_survives_an_undo() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let add = |world: &mut World| {
        let cat = world.spawn(Health(1)).id();
        world.insert_resource(Score { points: 1, leader: Some(cat) });
        let rat = world.spawn((Health(2), Mana { points: 1, source: cat })).id();
        world.spawn((Health(3), Mana { points: 2, source: rat }));
        Ok([cat, rat])
    };
    let [cat, rat] = session.edit(world, "Add", add).unwrap();
    let unmark = |world: &mut World| {
        world.entity_mut(cat).remove::<Saved>();
        Ok(())
    };
    session.edit(world, "Unmark", unmark).unwrap();
    let warnings: Vec<String> = session.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "dangling weak reference: Mana, leads to an entity that is not saved, 1 times, first in object #2",
            "dangling weak reference: Score, leads to an entity that is not saved, 1 times"
        ]
    );
    let hurt = |world: &mut World| {
        world.get_mut::<Health>(rat).unwrap().0 = 20;
        Ok(())
    };
    session.edit(world, "Hurt", hurt).unwrap();
    session.undo(world).unwrap();
    assert_eq!(world.get::<Mana>(rat).map(|mana| mana.source), Some(cat));
    assert_eq!(world.resource::<Score>().leader, Some(cat));
    session.undo(world).unwrap();
    assert_eq!(session.warnings(), []);
    let saved = world.get::<Mana>(rat).map(|mana| mana.source).unwrap();
    assert!(world.get::<Saved>(saved).is_some());
    assert_eq!(world.resource::<Score>().leader, Some(saved));
    session.redo(world).unwrap();
    session.redo(world).unwrap();
    assert_eq!(session.session().history().position(), 3);
}

#[test]
fn keys_that_another_run_does_not_know_come_back_as_entities_that_differ() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let [camera, lamp] = [(); 2].map(|()| world.spawn_empty().id());
    let add = |world: &mut World| {
        let grudges = [(camera, "dark".into()), (lamp, "bright".into())].into();
        Ok(world.spawn(Party { guest: None, members: Vec::new(), grudges }).id())
    };
    session.edit(world, "Add", add).unwrap();
    let warnings: Vec<String> = session.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "dangling weak reference: Party, leads to an entity that is not saved, 1 times, first in object #1"
        ]
    );
    session.undo(world).unwrap();
    session.redo(world).unwrap();
    let party = world.query::<&Party>().single(world).unwrap();
    assert_eq!((&*party.grudges[&camera], &*party.grudges[&lamp]), ("dark", "bright"));
    session.save().unwrap();
    drop((app, session));
    let (mut app, _, recovered) = open(folder.path());
    let world = app.world_mut();
    assert_eq!(recovered.report.unwrap().rows().len(), 1);
    let party = world.query::<&Party>().single(world).unwrap().clone();
    assert_eq!(party.grudges.len(), 2);
    assert!(party.grudges.keys().all(|key| world.get_entity(*key).is_err()));
}

#[test]
fn what_was_changed_without_an_edit_belongs_to_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let add = |world: &mut World| {
        let source = Entity::PLACEHOLDER;
        Ok([1, 2].map(|health| world.spawn((Health(health), Mana { points: 1, source })).id()))
    };
    let [rat, cat] = session.edit(world, "Add", add).unwrap();
    let without = |world: &mut World| {
        world.get_mut::<Health>(rat).unwrap().0 = 10;
        world.entity_mut(rat).remove::<Mana>().insert(Name::new("Rat"));
        world.despawn(cat);
        world.spawn((Health(3), ChildOf(rat))).id()
    };
    let inspect = |world: &mut World| Ok(healths(world));
    without(world);
    session.edit(world, "Look", inspect).unwrap();
    session.save().unwrap();
    assert_eq!(session.session().history().position(), 2);
    session.undo(world).unwrap();
    assert_eq!(healths(world), [1, 2]);
    assert!(world.get::<Mana>(rat).is_some() && world.get::<Name>(rat).is_none());
    session.redo(world).unwrap();
    assert_eq!((healths(world), below(world, rat)), (vec![3, 10], vec![3]));

    // An undo in between rolls back changes without an edit, so that the next edit does not record them.
    session.undo(world).unwrap();
    world.get_mut::<Health>(rat).unwrap().0 = 20;
    world.entity_mut(rat).remove::<Mana>();
    world.spawn(Health(4));
    session.redo(world).unwrap();
    assert_eq!(healths(world), [3, 10]);
    session.edit(world, "Look", inspect).unwrap();
    assert_eq!(session.session().history().position(), 2);

    // Changes after an undo are recorded by the next edit.
    session.undo(world).unwrap();
    world.entity_mut(rat).insert(Name::new("Rat"));
    session.edit(world, "Look", inspect).unwrap();
    session.undo(world).unwrap();
    assert!(world.get::<Name>(rat).is_none());
    session.redo(world).unwrap();
    assert!(world.get::<Name>(rat).is_some());
}

#[test]
fn unsaved_edits_of_a_mod_that_is_off_are_not_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let (save, journal) = (folder.path().join("level.sav"), folder.path().join("level.journal"));
    let without = || {
        let mut app = App::new();
        app.persist_component::<Health>();
        let opened = EditSession::open(app.world_mut(), &save, &journal, History::new(100));
        opened.map(|(session, recovered)| (app, session, recovered))
    };
    let (mut app, mut session, _) = open(folder.path());
    let add = |world: &mut World| {
        let source = Entity::PLACEHOLDER;
        Ok(world.spawn((Health(1), Mana { points: 1, source })).id())
    };
    session.edit(app.world_mut(), "Add", add).unwrap();
    drop((app, session));
    let (mut app, session, recovered) = without().unwrap();
    assert_eq!(recovered.kept.len(), 1, "{recovered}");
    let skipped: Vec<_> = recovered.skipped.iter().map(|row| &*row.class).collect();
    assert_eq!(skipped, ["Mana"], "{recovered}");
    assert_eq!(healths(app.world_mut()), [1]);
    drop((app, session));

    // With the mod, the edit is replayed. After a save, the level also opens without the mod.
    let (app, mut session, recovered) = open(folder.path());
    assert_eq!(recovered.replayed, 1);
    session.save().unwrap();
    drop((app, session));
    let (mut app, mut session, _) = without().unwrap();
    session.edit(app.world_mut(), "Add", |world| Ok(world.spawn(Health(2)).id())).unwrap();
    session.save().unwrap();
    drop((app, session));
    let (mut app, _, _) = open(folder.path());
    let world = app.world_mut();
    assert_eq!((healths(world), world.query::<&Mana>().iter(world).count()), (vec![1, 2], 1));
}

#[test]
fn a_session_has_the_settings_of_the_saves() {
    let folder = tempfile::tempdir().unwrap();
    let (save, journal) = (folder.path().join("level.sav"), folder.path().join("level.journal"));
    let mut app = App::new();
    let saves = Saves::new().application("Mill", "1.0").unwrap();
    app.add_plugins(PersistPlugin::new(folder.path()).saves(saves));
    let opened = EditSession::open(app.world_mut(), &save, journal, History::new(100));
    opened.unwrap().0.save().unwrap();
    let header = Header::from_reader(std::fs::File::open(save).unwrap()).unwrap();
    assert_eq!(header.application.as_deref(), Some("Mill"));
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
fn an_undo_in_a_later_run_takes_no_resource_out_of_the_world() {
    let raise = |world: &mut World| {
        world.resource_mut::<Score>().points += 1;
        Ok(())
    };
    for is_saved in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let with_score = || {
            let mut app = app();
            app.insert_resource(Score { points: 5, leader: None });
            app
        };
        let mut app = with_score();
        let (mut session, _) = open_in(&mut app, folder.path());
        session.edit(app.world_mut(), "Raise", raise).unwrap();
        if is_saved {
            session.save().unwrap();
        }
        drop((app, session)); // or a crash

        let mut app = with_score();
        let (mut session, recovered) = open_in(&mut app, folder.path());
        let world = app.world_mut();
        assert_eq!((world.resource::<Score>().points, recovered.entries), (6, 1));
        assert!(session.undo(world).unwrap());
        assert_eq!(world.resource::<Score>().points, 5, "saved: {is_saved}");
        assert!(!session.undo(world).unwrap());
        session.redo(world).unwrap();
        assert_eq!(world.resource::<Score>().points, 6);
    }
}

#[test]
fn an_edit_that_removes_a_resource_is_undone_and_redone() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app();
    let score = |points| Score { points, leader: None };
    app.insert_resource(score(5));
    let (mut session, _) = open_in(&mut app, folder.path());
    let world = app.world_mut();
    let points = |world: &World| world.get_resource::<Score>().map(|score| score.points);
    let remove = |world: &mut World| Ok(world.remove_resource::<Score>());
    session.edit(world, "Remove", remove).unwrap();
    assert_eq!(points(world), None);
    assert!(session.session().world().resource::<Score>().is_none());
    let refused = |_: &mut World| Err::<(), _>(Error::new(ErrorKind::Refused, "no"));
    session.edit(world, "Break", refused).unwrap_err();
    assert_eq!(points(world), None, "an edit that fails brings nothing back");

    session.edit(world, "Add", |world| Ok(world.spawn(Health(1)).id())).unwrap();
    let insert = |world: &mut World| {
        world.insert_resource(score(9));
        Ok(())
    };
    session.edit(world, "Insert", insert).unwrap();
    for (position, expected) in [(3, Some(9)), (2, None), (1, None), (0, Some(5)), (3, Some(9))] {
        session.go_to(world, position).unwrap();
        assert_eq!(points(world), expected, "at {position}");
    }
    session.go_to(world, 0).unwrap();
    session.redo(world).unwrap();
    assert_eq!(points(world), None);

    // Another edit replaces the removal.
    session.undo(world).unwrap();
    session.edit(world, "Add", |world| Ok(world.spawn(Health(2)).id())).unwrap();
    session.undo(world).unwrap();
    session.redo(world).unwrap();
    assert_eq!((points(world), healths(world)), (Some(5), vec![2]));

    // If the program removes the resource without an edit, an undo restores it, and the next edit records the removal.
    world.remove_resource::<Score>();
    session.undo(world).unwrap();
    assert_eq!(points(world), Some(5));
    world.remove_resource::<Score>();
    session.edit(world, "Add", |world| Ok(world.spawn(Health(3)).id())).unwrap();
    session.undo(world).unwrap();
    assert_eq!(points(world), Some(5));
    session.redo(world).unwrap();
    assert_eq!((points(world), healths(world)), (None, vec![3]));

    // A later run begins with its own value, as for any resource that the level lacks.
    drop((app, session));
    let mut next = crate::app();
    next.insert_resource(score(7));
    drop(open_in(&mut next, folder.path()));
    assert_eq!(points(next.world()), Some(7));
}

#[test]
fn a_child_of_an_unsaved_entity_keeps_its_parent_and_is_reported_in_the_next_session() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let table = world.spawn_empty().id();
    let add = |world: &mut World| Ok(world.spawn((Health(1), ChildOf(table))).id());
    let rat = session.edit(world, "Add", add).unwrap();
    let expected = "dangling weak reference: ChildOf, left out, since the parent is not saved, 1 times, first in object #1";
    let rows = |rows: &[ReportRow]| rows.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(rows(&session.warnings()), [expected]);
    let hurt = |world: &mut World| {
        world.get_mut::<Health>(rat).unwrap().0 = 2;
        Ok(())
    };
    session.edit(world, "Hurt", hurt).unwrap();
    session.undo(world).unwrap();
    assert_eq!((below(world, table), healths(world)), (vec![1], vec![1]));
    session.save().unwrap();
    drop((app, session));
    let (mut app, mut session, recovered) = open(folder.path());
    assert_eq!(rows(recovered.report.unwrap().rows()), [expected]);
    let world = app.world_mut();
    assert_eq!(world.query::<&ChildOf>().iter(world).count(), 0);

    // Nothing is reported once the entity has a saved parent, or no parent.
    let rat = of_health(world, 1);
    let move_below = |world: &mut World| {
        let house = world.spawn(Health(2)).id();
        world.entity_mut(rat).insert(ChildOf(house));
        Ok(())
    };
    session.edit(world, "Move", move_below).unwrap();
    assert_eq!(session.warnings(), []);
}

#[test]
fn a_resource_that_no_edit_has_changed_is_in_the_level() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = app();
    first.insert_resource(Score { points: 5, leader: None });
    let (mut session, _) = open_in(&mut first, folder.path());
    assert!(!session.session().history().is_modified());
    session.save().unwrap();
    drop((first, session));
    let mut next = app();
    drop(open_in(&mut next, folder.path()));
    assert_eq!(next.world().resource::<Score>().points, 5);

    // A resource that is registered later is also added to a level that has a history.
    let folder = tempfile::tempdir().unwrap();
    let (mut first, mut session, _) = open(folder.path());
    let add = |world: &mut World| Ok(world.spawn(Health(1)).id());
    session.edit(first.world_mut(), "Add", add).unwrap();
    drop((first, session));
    let mut later = app();
    later.insert_resource(Score { points: 7, leader: None });
    let (mut session, _) = open_in(&mut later, folder.path());
    let world = later.world_mut();
    while session.undo(world).unwrap() {}
    assert_eq!((world.resource::<Score>().points, healths(world)), (7, vec![]));
    session.go_to(world, 2).unwrap();
    session.save().unwrap();
    drop((later, session));
    let mut next = app();
    drop(open_in(&mut next, folder.path()));
    assert_eq!(next.world().resource::<Score>().points, 7);
}

#[test]
fn the_entities_of_the_world_are_the_first_content_of_a_new_level() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = app();
    let rat = first.world_mut().spawn((Health(1), Name::new("Rat"))).id();
    first.world_mut().spawn((Health(2), Mana { points: 1, source: rat }, ChildOf(rat)));
    let (mut session, _) = open_in(&mut first, folder.path());
    let world = first.world_mut();
    assert_eq!((healths(world), below(world, rat)), (vec![1, 2], vec![2]));
    assert!(!session.undo(world).unwrap(), "they are no entry of the history");
    assert!(session.session().history().is_modified(), "no save has them yet");
    session.edit(world, "Despawn", |world| Ok(world.despawn(rat))).unwrap();
    session.undo(world).unwrap();
    let rat = of_health(world, 1);
    assert_eq!((healths(world), below(world, rat)), (vec![1, 2], vec![2]));
    drop((first, session)); // a crash

    let (mut next, mut session, _) = open(folder.path());
    let world = next.world_mut();
    assert_eq!(healths(world), [1, 2], "without those that are not of the level");
    session.save().unwrap();
    drop((next, session));
    let (mut next, _, _) = open(folder.path());
    assert_eq!(healths(next.world_mut()), [1, 2]);
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

    // An edit without changes makes no entry.
    session.edit(world, "Look", |world| Ok(healths(world))).unwrap();
    assert_eq!(session.session().history().position(), 1);
    world.save_to_vec().unwrap(); // beside the session
}

/// What is saved of each entity, by its name.
fn seen(world: &mut World) -> Vec<String> {
    let mut saved = world.query_filtered::<Entity, (With<Saved>, Allow<Disabled>)>();
    let all: Vec<Entity> = saved.iter(world).collect();
    let name = |entity: Entity| world.get::<Name>(entity).map_or("nobody", Name::as_str);
    let mut seen: Vec<String> = all
        .iter()
        .map(|entity| {
            let mana = world.get::<Mana>(*entity).map(|mana| (mana.points, name(mana.source)));
            let children = world.get::<Children>(*entity).into_iter().flat_map(|it| it.iter());
            let children: Vec<_> = children.map(name).collect();
            let health = world.get::<Health>(*entity);
            let (glow, disabled) = (world.get::<Glow>(*entity), world.get::<Disabled>(*entity));
            let name = name(*entity);
            format!("{name} {health:?} {mana:?} {children:?} {glow:?} {}", disabled.is_some())
        })
        .collect();
    seen.sort();
    seen.push(format!("{:?}", world.get_resource::<Score>().map(|score| score.points)));
    seen
}

/// Random numbers. The generator is that of Marsaglia, "Xorshift RNGs", 2003.
struct Chance(u64);

impl Chance {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 32).unwrap() % count
    }

    /// Changes something of the level.
    fn change(&mut self, world: &mut World, names: &mut u32) {
        let mut saved = world.query_filtered::<Entity, (With<Saved>, Allow<Disabled>)>();
        let mut all: Vec<Entity> = saved.iter(world).collect();
        all.sort_by_key(|entity| world.get::<Name>(*entity).map(|name| name.as_str().to_owned()));
        if all.len() < 4 || self.below(12) == 0 {
            *names += 1;
            world.spawn((Health(*names), Name::new(format!("{names}"))));
            return;
        }
        let (entity, other) = (all[self.below(all.len())], all[self.below(all.len())]);
        let points = u16::try_from(self.below(100)).unwrap();
        match self.below(16) {
            0..5 => world.get_mut::<Health>(entity).unwrap().0 = u32::from(points),
            5 => _ = world.entity_mut(entity).insert(Mana { points, source: other }),
            6 => _ = world.entity_mut(entity).remove::<Mana>(),
            7 if entity != other && world.get::<ChildOf>(other).is_none() => {
                let is_parent = world.get::<Children>(entity).is_some();
                if !is_parent {
                    world.entity_mut(entity).insert(ChildOf(other));
                }
            }
            8 => _ = world.entity_mut(entity).remove::<ChildOf>(),
            9 => _ = world.despawn(entity),
            10 => world.insert_resource(Score { points: points.into(), leader: None }),
            11 if world.get::<Disabled>(entity).is_none() => {
                world.entity_mut(entity).insert(Disabled);
            }
            11 => _ = world.entity_mut(entity).remove::<Disabled>(),
            12 => _ = world.entity_mut(entity).insert(Glow(points)),
            13 => _ = world.entity_mut(entity).remove::<Glow>(),
            14 => {
                if let Some(mut glow) = world.get_mut::<Glow>(entity) {
                    glow.0 = points;
                }
            }
            _ => {
                if let Some(mut mana) = world.get_mut::<Mana>(entity) {
                    mana.points = points;
                }
            }
        }
    }
}

#[test]
fn an_undo_finds_a_change_without_an_edit_among_many_entities() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let add = |world: &mut World| {
        let source = Entity::PLACEHOLDER;
        let new = (0..2_000).map(|number| (Health(number), Mana { points: 1, source }));
        Ok(world.spawn_batch(new.collect::<Vec<_>>()).collect::<Vec<_>>())
    };
    let all = session.edit(world, "Add", add).unwrap();
    for changed in [0, 1, 254, 255, 256, 257, 511, 512, 1_998, 1_999] {
        let entity = all[changed];
        let hurt = |world: &mut World| {
            world.get_mut::<Health>(all[1_000]).unwrap().0 = 5_000;
            Ok(())
        };
        session.edit(world, "Hurt", hurt).unwrap();
        world.get_mut::<Mana>(entity).unwrap().points = 7;
        world.get_mut::<Health>(all[1_999 - changed]).unwrap().0 = 6_000;
        session.undo(world).unwrap();
        assert!(all.iter().all(|entity| world.get::<Mana>(*entity).unwrap().points == 1));
        assert!(healths(world).into_iter().eq(0..2_000), "{changed}");
        // The next edit records the change of one entity.
        world.get_mut::<Mana>(entity).unwrap().points = 8;
        session.edit(world, "Look", |_| Ok(())).unwrap();
        let bytes = session.session().history().entries().next_back().unwrap().bytes;
        assert!(bytes < 1_000, "{bytes}");
        session.undo(world).unwrap();
        assert_eq!(world.get::<Mana>(entity).unwrap().points, 1);
    }
}

#[test]
fn an_undo_restores_what_was_changed_by_edits_and_without_them() {
    for seed in 1..12_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let folder = tempfile::tempdir().unwrap();
        let (mut app, mut session, _) = open(folder.path());
        let world = app.world_mut();
        let (mut states, mut names) = (vec![seen(world)], 0);
        for step in 0..80 {
            for _ in 0..chance.below(3) {
                chance.change(world, &mut names);
            }
            let position = session.session().history().position();
            match chance.below(8) {
                0..4 => {
                    let count = 1 + chance.below(3);
                    let edited = session.edit(world, "Edit", |world| {
                        (0..count).for_each(|_| chance.change(world, &mut names));
                        Ok(())
                    });
                    edited.unwrap();
                    let new = session.session().history().position();
                    if new > position {
                        states.truncate(new);
                        states.push(seen(world));
                    }
                }
                4 => {
                    let failed = session.edit(world, "Fail", |world| {
                        chance.change(world, &mut names);
                        Err::<(), Error>("enough".into())
                    });
                    assert!(failed.is_err());
                }
                5 | 6 => _ = session.undo(world).unwrap(),
                _ => _ = session.redo(world).unwrap(),
            }
            let position = session.session().history().position();
            assert_eq!(seen(world), states[position], "seed {seed}, step {step}");
        }
    }
}

#[test]
fn drags_transactions_and_selections_are_those_of_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let (mut app, mut session, _) = open(folder.path());
    let world = app.world_mut();
    let events = Arc::new(Mutex::new(0));
    let heard = Arc::clone(&events);
    session.subscribe(move |_, _| *heard.lock().unwrap() += 1);
    let rat = session.edit(world, "Add", |world| Ok(world.spawn(Health(1)).id())).unwrap();
    assert!(*events.lock().unwrap() > 0);
    let set = |session: &mut EditSession, world: &mut World, health: u32| {
        session.edit(world, "Set", |world| {
            world.get_mut::<Health>(rat).unwrap().0 = health;
            Ok(())
        })
    };
    let drag = session.begin_drag("Drag");
    (2..10).for_each(|health| set(&mut session, world, health).unwrap());
    session.end_drag(drag);
    assert_eq!((healths(world), session.session().history().position()), (vec![9], 2));
    let drag = session.begin_drag("Drag");
    (10..20).for_each(|health| set(&mut session, world, health).unwrap());
    session.cancel_drag(world, drag).unwrap();
    assert_eq!((healths(world), session.session().history().position()), (vec![9], 2));

    let score = |session: &mut EditSession, world: &mut World, points| {
        session.edit(world, "Score", |world| {
            world.insert_resource(Score { points, leader: Some(rat) });
            Ok(())
        })
    };
    session
        .transaction(world, "Both", |session, world| {
            set(session, world, 30)?;
            score(session, world, 7)
        })
        .unwrap();
    assert_eq!((healths(world), session.session().history().position()), (vec![30], 3));
    let failed = session.transaction(world, "Both", |session, world| {
        set(session, world, 40)?;
        score(session, world, 8)?;
        Err::<(), Error>("enough".into())
    });
    assert_eq!(failed.unwrap_err().message(), "enough");
    assert_eq!((healths(world), world.resource::<Score>().points), (vec![30], 7));
    let panic = catch_unwind(AssertUnwindSafe(|| {
        session.transaction(world, "Both", |session, world| -> Result<(), Error> {
            set(session, world, 50)?;
            panic!("half way")
        })
    }));
    assert!(panic.is_err());
    assert_eq!((healths(world), session.session().history().position()), (vec![30], 3));
    session.undo(world).unwrap();
    assert!(healths(world) == [9] && world.get_resource::<Score>().is_none());

    session.save().unwrap();
    let selected = session.edit_insignificant(world, "Select", |world| {
        world.get_mut::<Health>(rat).unwrap().0 = 60;
        Ok(())
    });
    selected.unwrap();
    assert!(!session.session().history().is_modified());
    session.flush().unwrap();
    session.tick().unwrap();
    session.discard().unwrap();
    let (mut app, _, recovered) = open(folder.path());
    assert_eq!((healths(app.world_mut()), recovered.replayed), (vec![9], 0));
}
