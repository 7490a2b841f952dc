//! Tests of the data that a save of a world of Bevy keeps, and of the messages that an app receives.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bevy_app::prelude::*;
use bevy_ecs::entity::{EntityHashMap, EntityHashSet};
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::message::{Message, Messages};
use bevy_ecs::prelude::*;
use bevy_transform::components::Transform;
use persist::save::{LoadPolicy, ReportRow, SaveOutcome, SlotInfo};
use persist::storage::{Memory, SlotFolder};
use persist::{ErrorKind, LoadOptions, Persist, SaveOptions, Saves};
use persist_bevy::{
    EntityKeys, LoadFailed, LoadFinished, LoadRequested, PersistApp, PersistPlugin, PersistWorld,
    SaveFailed, SaveFinished, SaveProgress, SaveRequested, Saved, WorldSaves, entity,
};
use persist_tools::dump;
use persist_tools::lock::Lock;

use crate::{
    Health, LikedBy, Likes, Mana, Party, Score, app, app_in, healths, of_health, reloaded, slot,
    slots,
};

#[test]
fn saved_entities_come_back_with_their_registered_components() {
    #[derive(Component)]
    struct Sprite;

    let mut app = app();
    let world = app.world_mut();
    world.spawn((Health(1), Name::new("Rat"), Transform::from_xyz(1.0, 2.0, 3.0), Sprite));
    world.spawn((Health(2), Name::new("Rat"), Disabled));
    world.spawn(Mana { points: 1, source: Entity::PLACEHOLDER }); // no `Saved`
    let mut app = reloaded(&mut app);
    let world = app.world_mut();
    assert_eq!(healths(world), [1]);
    let rat = of_health(world, 1);
    assert_eq!(world.get::<Transform>(rat), Some(&Transform::from_xyz(1.0, 2.0, 3.0)));
    assert_eq!(
        world.query::<&Name>().iter(world).map(|name| name.to_string()).collect::<Vec<_>>(),
        ["Rat"]
    );
    assert_eq!(world.query_filtered::<&Name, With<Disabled>>().iter(world).count(), 1);
    assert_eq!(world.query::<&Sprite>().iter(world).count(), 0);
    assert_eq!(world.query::<&Mana>().iter(world).count(), 0);
}

#[test]
fn a_name_leads_to_no_entity_of_another_name() {
    let mut app = app();
    let world = app.world_mut();
    let named = |world: &mut World| {
        let mut query = world.query::<(&Health, &Name)>();
        let found = query.iter(world);
        found.map(|(health, name)| (health.0, name.to_string())).collect::<HashMap<_, _>>()
    };
    let names = ["Goblin", "Goblin", "Goblin", "Goblin1", "Goblin#1"];
    for (health, name) in (0..).zip(names) {
        world.spawn((Health(health), Name::new(name)));
    }
    let find = |world: &mut World, name: &str| {
        let found = |mirror: &persist::World| {
            let object = mirror.find(name)?;
            Some(mirror.get::<Health>(object).unwrap().0)
        };
        world.mirrored(|mirror| found(mirror)).unwrap()
    };
    let mut other = reloaded(&mut app);
    for world in [app.world_mut(), other.world_mut()] {
        assert_eq!(find(world, "Goblin1"), Some(3));
        assert_eq!(find(world, "Goblin#1"), Some(4));
        assert_eq!((find(world, "Goblin2"), find(world, "Goblin11")), (None, None));
        assert_eq!(named(world)[&1], "Goblin");
    }
    // Two entities swap their names, and one takes the name of another.
    let world = app.world_mut();
    for (health, name) in [(3, "Goblin#1"), (4, "Goblin1"), (0, "Elf"), (1, "Orc")] {
        let entity = of_health(world, health);
        *world.get_mut::<Name>(entity).unwrap() = Name::new(name);
    }
    let found = ["Goblin1", "Goblin#1", "Elf", "Orc"].map(|name| find(world, name));
    assert_eq!(found, [Some(4), Some(3), Some(0), Some(1)]);
    let mut again = reloaded(&mut app);
    assert_eq!(named(again.world_mut()), named(app.world_mut()));
}

#[test]
fn references_and_relationships_lead_to_the_loaded_entities() {
    let mut app = app();
    let world = app.world_mut();
    let camera = world.spawn(Name::new("Camera")).id();
    let [ada, bob, cat] = [1, 2, 3].map(|health| world.spawn(Health(health)).id());
    let grudges = [(bob, "the cake".to_owned())].into();
    world.spawn(Party { guest: Some(cat), members: vec![ada, camera], grudges });
    world.entity_mut(cat).insert(Likes(ada));
    world.entity_mut(bob).insert(Likes(ada));
    world.insert_resource(Score { points: 5, leader: Some(bob) });

    let mut app = reloaded(&mut app);
    let world = app.world_mut();
    let [ada, bob, cat] = [1, 2, 3].map(|health| of_health(world, health));
    let party = world.query::<&Party>().single(world).unwrap();
    assert_eq!(party.guest, Some(cat));
    assert_eq!(party.members, [ada, Entity::PLACEHOLDER]);
    assert_eq!(party.grudges.get(&bob).map(|why| &**why), Some("the cake"));
    assert_eq!(world.get::<LikedBy>(ada).unwrap().0.len(), 2);
    assert_eq!(world.get::<Likes>(cat).unwrap().0, ada);
    assert_eq!(world.resource::<Score>(), &Score { points: 5, leader: Some(bob) });
}

#[test]
fn a_relationship_to_an_entity_that_is_not_saved_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    let world = app.world_mut();
    let camera = world.spawn_empty().id();
    let rat = world.spawn((Health(1), Likes(camera))).id();
    world.spawn((Health(2), Likes(rat)));
    world.save(&slot(world, "a")).unwrap();
    world.write_message(LoadRequested::slot("a").keeping_entities());
    wait_for::<LoadFinished>(&mut app);
    let world = app.world_mut();
    assert_eq!(world.query::<&Likes>().iter(world).count(), 1);
    app.world_mut().entity_mut(rat).insert(Likes(camera));

    let save = app.world_mut().save_to_vec().unwrap();
    let report = crate::app().world_mut().load_from_slice(&save).unwrap();
    assert_eq!(
        report.rows().iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "dangling weak reference: Likes, left out, since what it leads to is not saved, 1 times, first in object #2"
        ]
    );
    let mut app = reloaded(&mut app);
    let world = app.world_mut();
    assert_eq!(healths(world), [1, 2]);
    let rat = of_health(world, 1);
    assert_eq!(world.query::<&Likes>().single(world).unwrap().0, rat);
}

#[test]
fn children_come_back_below_their_parents_in_their_order() {
    let mut app = app();
    let world = app.world_mut();
    let parent = world.spawn(Health(1)).id();
    let [a, b, c] = [2, 3, 4].map(|health| world.spawn((Health(health), ChildOf(parent))).id());
    world.spawn((Name::new("a shadow that is not saved"), ChildOf(parent)));
    world.entity_mut(parent).insert_child(0, c);
    world.spawn((Health(5), ChildOf(b)));

    let mut other = reloaded(&mut app);
    let world = other.world_mut();
    let children = |world: &mut World, health| {
        let parent = of_health(world, health);
        let children = world.get::<Children>(parent).map(|children| children.to_vec());
        let children = children.unwrap_or_default().into_iter();
        children.map(|child| world.get::<Health>(child).unwrap().0).collect::<Vec<_>>()
    };
    assert_eq!(children(world, 1), [4, 2, 3]);
    assert_eq!(children(world, 3), [5]);

    // Between two saves, one entity loses its parent, one gets another parent, and the order changes.
    let world = app.world_mut();
    world.entity_mut(a).remove::<ChildOf>();
    world.entity_mut(c).insert(ChildOf(b));
    let world = app.world_mut();
    world.mirrored(|mirror| assert_eq!(mirror.roots().count(), 2)).unwrap();
    world.entity_mut(b).remove::<ChildOf>();
    let mut other = reloaded(&mut app);
    let world = other.world_mut();
    assert_eq!((children(world, 1), children(world, 3)), (vec![], vec![5, 4]));
    assert_eq!(world.query_filtered::<&Health, Without<ChildOf>>().iter(world).count(), 3);
}

#[test]
fn only_what_has_changed_is_copied_and_nothing_is_missed() {
    let mut app = app();
    let world = app.world_mut();
    let rat = world
        .spawn((Health(1), Name::new("Rat"), Mana { points: 1, source: Entity::PLACEHOLDER }))
        .id();
    let cat = world.spawn(Health(2)).id();
    let late = world.spawn(Mana { points: 7, source: rat }).id();
    let first = world.save_to_vec().unwrap();
    assert_eq!(world.save_to_vec().unwrap(), first, "equal worlds have equal saves");

    world.get_mut::<Health>(rat).unwrap().0 = 10;
    world.entity_mut(rat).remove::<(Mana, Name)>();
    world.entity_mut(late).insert(Saved); // its mana is older than the last save
    world.despawn(cat);
    let object = world.resource::<WorldSaves>().object(rat).unwrap();
    world
        .mirrored(|mirror| {
            assert_eq!(mirror.objects().len(), 2);
            assert_eq!(mirror.get::<Health>(object), Some(&Health(10)));
            assert_eq!(
                (mirror.classes(object), mirror.name(object)),
                (vec!["Health".to_owned()], None)
            );
        })
        .unwrap();
    let late = world.resource::<WorldSaves>().object(late).unwrap();
    world
        .mirrored(|mirror| {
            assert_eq!(mirror.get::<Mana>(late).unwrap().points, 7);
            assert_eq!(mirror.references_to(object).unwrap().len(), 1, "the mirror has ids");
        })
        .unwrap();

    // An entity that loses its marker is no longer saved.
    world.entity_mut(rat).remove::<Saved>();
    assert_eq!(world.mirrored(|mirror| mirror.objects().len()).unwrap(), 1);
}

#[test]
fn unknown_components_are_saved_with_their_entity() {
    let mut with = app();
    let rat = with.world_mut().spawn((Health(1), Name::new("Rat"))).id();
    with.world_mut().entity_mut(rat).insert(Mana { points: 9, source: rat });
    let save = with.world_mut().save_to_vec().unwrap();

    let mut without = App::new();
    without.persist_component::<Health>();
    let world = without.world_mut();
    world.load_from_slice(&save).unwrap();
    let rat = of_health(world, 1);
    world.get_mut::<Health>(rat).unwrap().0 = 11;
    world.spawn(Health(12));
    let save = world.save_to_vec().unwrap();

    let mut with = app();
    let world = with.world_mut();
    world.load_from_slice(&save).unwrap();
    let rat = of_health(world, 11);
    assert_eq!(world.get::<Mana>(rat), Some(&Mana { points: 9, source: rat }));
    assert_eq!(healths(world), [11, 12]);
}

#[test]
fn a_load_replaces_the_saved_entities_and_leaves_the_rest() {
    let mut app = app();
    let world = app.world_mut();
    let camera = world.spawn(Name::new("Camera")).id();
    let rat = world.spawn(Health(1)).id();
    let light = world.spawn(ChildOf(rat)).id();
    let save = world.save_to_vec().unwrap();
    world.get_mut::<Health>(rat).unwrap().0 = 0;
    world.spawn(Health(5)); // after the last save
    world.insert_resource(Score { points: 5, leader: None });
    world.load_from_slice(&save).unwrap();
    assert_eq!(healths(world), [1]);
    assert!(world.get_entity(camera).is_ok());
    assert!(world.get_entity(light).is_err(), "what was below a saved entity goes with it");
    world.remove_resource::<Score>();
    assert_eq!(world.save_to_vec().unwrap(), save);
}

#[test]
fn a_resource_that_the_save_lacks_keeps_its_value() {
    let mut app = app();
    let world = app.world_mut();
    let rat = world.spawn(Health(1)).id();
    let save = world.save_to_vec().unwrap();
    world.despawn(rat);
    let score = Score { points: 5, leader: None };
    world.insert_resource(score.clone());
    world.save_to_vec().unwrap();
    world.load_from_slice(&save).unwrap();
    assert_eq!(world.get_resource::<Score>(), Some(&score));

    // The resource is in the next save, although it is unchanged.
    let save = world.save_to_vec().unwrap();
    world.resource_mut::<Score>().points = 6;
    world.load_from_slice(&save).unwrap();
    assert_eq!(world.get_resource::<Score>(), Some(&score));
}

/// A component of another crate.
#[derive(Component, Clone, Debug, PartialEq)]
#[require(Saved)]
struct Percent(u8);

#[derive(Persist, Clone)]
#[persist(component, class = "Percent")]
struct StoredPercent(u8);

impl From<&Percent> for StoredPercent {
    fn from(percent: &Percent) -> Self {
        Self(percent.0)
    }
}

impl TryFrom<StoredPercent> for Percent {
    type Error = String;

    fn try_from(stored: StoredPercent) -> Result<Self, String> {
        if stored.0 > 100 {
            Err(format!("{} is more than 100", stored.0))
        } else {
            Ok(Self(stored.0))
        }
    }
}

#[test]
fn a_refused_load_leaves_the_world_as_it_was() {
    let mut app = app();
    app.persist_component_as::<Percent, StoredPercent>();
    let world = app.world_mut();
    world.spawn((Percent(1), Health(1)));
    let bad = world.spawn((Percent(101), Health(2))).id();
    let save = world.save_to_vec().unwrap();
    world.get_mut::<Percent>(bad).unwrap().0 = 50;
    let count = world.entities().count_spawned();

    let error = world.load_from_slice(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(error.to_string(), "101 is more than 100 (object #2, class Percent)");
    assert_eq!((healths(world), world.entities().count_spawned()), (vec![1, 2], count));
    world.save_to_vec().unwrap();
    assert_eq!(world.get::<Percent>(bad), Some(&Percent(50)));
}

/// Runs frames until the app receives a message.
pub(crate) fn wait_for<M: Message + Clone>(app: &mut App) -> M {
    let start = Instant::now();
    loop {
        app.update();
        let found = app.world_mut().resource_mut::<Messages<M>>().drain().next();
        if let Some(found) = found {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no message came");
    }
}

fn save(app: &mut App, name: &str) -> persist::Result<SaveOutcome> {
    let slot = slot(app.world(), name);
    app.world_mut().save(&slot)
}

fn load(app: &mut App, name: &str) -> persist::Result<persist::save::LoadReport> {
    let slot = slot(app.world(), name);
    app.world_mut().load(&slot)
}

#[test]
fn requests_save_and_load_slots_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("made by the first save");
    let mut app = app_in(&folder);
    app.world_mut().spawn((Health(1), Name::new("Door")));
    app.update();
    assert_eq!(*app.world().resource::<SaveProgress>(), SaveProgress::default());
    let info = SlotInfo::new("The mill").thumbnail(vec![7; 50_000]);
    app.world_mut().write_message(SaveRequested::slot("quick").info(info));
    let finished: SaveFinished = wait_for(&mut app);
    assert_eq!((finished.slot.as_deref(), finished.outcome), (Some("quick"), SaveOutcome::Saved));
    assert!(dump(finished.path.unwrap()).unwrap().contains("Door"));
    let list = slots(app.world()).list().unwrap();
    assert_eq!((list.len(), &*list[0].name), (1, "quick"));
    assert_eq!((&*list[0].info.title, list[0].info.thumbnail.len()), ("The mill", 50_000));
    assert!(list[0].info.saved_at.is_some());

    let mut app = app_in(&folder);
    app.world_mut().write_message(LoadRequested::slot("quick"));
    let finished: LoadFinished = wait_for(&mut app);
    assert!(finished.report.is_clean());
    assert_eq!(healths(app.world_mut()), [1]);

    app.world_mut().write_message(LoadRequested::slot("no such"));
    let failed: LoadFailed = wait_for(&mut app);
    assert_eq!((&*failed.slot, failed.error.kind()), ("no such", ErrorKind::NotFound));
    app.world_mut().write_message(SaveRequested::slot("no/slot"));
    let failed: SaveFailed = wait_for(&mut app);
    assert_eq!(failed.slot.as_deref(), Some("no/slot"));
    // The mirror is not lost.
    assert_eq!(app.world_mut().mirrored(|mirror| mirror.objects().len()).unwrap(), 1);
}

#[test]
fn a_running_load_has_progress() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    app.world_mut().spawn_batch((0..20_000).map(Health));
    save(&mut app, "a").unwrap();
    app.world_mut().write_message(LoadRequested::slot("a"));
    let mut seen = Vec::new();
    while app.world().resource::<Messages<LoadFinished>>().is_empty() {
        app.update();
        seen.extend(app.world().resource::<SaveProgress>().loading);
    }
    assert!(!seen.is_empty() && seen.is_sorted(), "{seen:?}");
    assert!(seen.iter().all(|part| (0.0..=1.0).contains(part)), "{seen:?}");
    assert_eq!(app.world().resource::<SaveProgress>().loading, None);
}

#[test]
fn slots_without_a_plugin_are_an_error_that_names_it() {
    let mut app = App::new();
    app.persist_component::<Health>();
    let error = app.world().resource::<WorldSaves>().slots().unwrap_err();
    assert_eq!(error.to_string(), "no folder for slots: add `PersistPlugin` to the app");
    // A file outside of the slots needs no folder.
    let folder = tempfile::tempdir().unwrap();
    let world = app.world_mut();
    world.spawn(Health(1));
    let file = world.resource::<WorldSaves>().saves().file(folder.path().join("a.sav"));
    world.save(&file).unwrap();
    world.load(&file).unwrap();
    assert_eq!(healths(world), [1]);
    world.save_to_vec().unwrap();
}

#[test]
fn an_info_belongs_only_to_the_save_for_which_it_was_requested() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = App::new();
    let plugin = PersistPlugin::new(folder.path()).autosave(Duration::ZERO, 1);
    app.add_plugins(
        plugin.autosave_info(|world| Ok(SlotInfo::new(format!("{:?}", healths(world))))),
    );
    app.persist_component::<Health>().persist_resource::<Score>();
    app.world_mut().insert_resource(Score { points: 1, leader: None });
    let info = SlotInfo::new("The mill").thumbnail([7]).play_time(Duration::from_secs(90));
    app.world_mut().write_message(SaveRequested::slot("a").info(info.value(&5_u32).unwrap()));
    wait_for::<SaveFinished>(&mut app);
    app.world_mut().write_message(SaveRequested::slot("b"));
    wait_for::<SaveFinished>(&mut app);
    app.world_mut().spawn(Health(3));
    wait_for::<SaveFinished>(&mut app);
    let slots = slots(app.world());
    app.world_mut().save(&slots.slot("c").info(SlotInfo::new("The inn"))).unwrap();
    app.world_mut().save(&slots.slot("d")).unwrap();
    // A loaded world does not keep the info of its save either.
    load(&mut app, "a").unwrap();
    app.world_mut().save(&slots.slot("e")).unwrap();

    let list = slots.list().unwrap();
    let titles: Vec<_> = list.iter().map(|slot| (&*slot.name, &*slot.info.title)).collect();
    let all =
        [("a", "The mill"), ("auto1", "[3]"), ("b", ""), ("c", "The inn"), ("d", ""), ("e", "")];
    assert_eq!(titles, all);
    assert_eq!(list[0].info.thumbnail, [7]);
    assert_eq!(list[0].info.play_time, Some(Duration::from_secs(90)));
    assert_eq!(list[0].info.get::<u32>().unwrap(), Some(5));
    for slot in &list[1..] {
        let info = &slot.info;
        assert!(info.thumbnail.is_empty() && info.play_time.is_none(), "{slot}");
        assert_eq!(info.get::<u32>().unwrap(), None, "{slot}");
        assert!(info.saved_at.is_some(), "{slot}");
    }
}

#[test]
fn a_save_fails_if_its_info_cannot_be_created() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = App::new();
    let plugin = PersistPlugin::new(folder.path()).autosave(Duration::ZERO, 1);
    app.add_plugins(plugin.autosave_info(|_| {
        Err(persist::Error::new(ErrorKind::Refused, "there is no picture yet"))
    }));
    app.persist_component::<Health>();
    app.world_mut().spawn(Health(1));
    let failed: SaveFailed = wait_for(&mut app);
    assert_eq!(failed.error.to_string(), "there is no picture yet");
    assert_eq!(slots(app.world()).list().unwrap().len(), 0);
}

#[test]
fn a_world_of_which_nothing_is_saved_replaces_no_save() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    app.world_mut().spawn(Health(1));
    save(&mut app, "a").unwrap();

    // There is nothing to save in a main menu, and in a new game before its first entity.
    let mut menu = app_in(folder.path());
    menu.world_mut().spawn(Name::new("a button"));
    app.world_mut().clear_saved();
    for app in [&mut menu, &mut app] {
        let auto = slots(app.world()).auto(3);
        let errors = [
            save(app, "a").unwrap_err(),
            app.world_mut().save(&auto).unwrap_err(),
            app.world_mut().save_to_vec().unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::NoContent);
        }
        for request in [SaveRequested::slot("a"), SaveRequested::auto(3)] {
            app.world_mut().write_message(request);
            let failed: SaveFailed = wait_for(app);
            assert_eq!(failed.error.kind(), ErrorKind::NoContent);
        }
    }
    assert_eq!(slots(app.world()).list().unwrap().len(), 1);
    load(&mut app, "a").unwrap();
    assert_eq!(healths(app.world_mut()), [1]);

    // A resource is enough to save, and the program may allow an empty save.
    menu.world_mut().insert_resource(Score { points: 1, leader: None });
    save(&mut menu, "b").unwrap();
    let mut allowed = App::new();
    allowed.add_plugins(PersistPlugin::new(folder.path()).allow_empty());
    save(&mut allowed, "c").unwrap();
    allowed.world_mut().write_message(SaveRequested::slot("a"));
    wait_for::<SaveFinished>(&mut allowed);
    let mut world = World::new();
    world.insert_resource(WorldSaves::default().allow_empty());
    world.save_to_vec().unwrap();
}

#[test]
fn what_a_load_would_refuse_is_not_saved() {
    #[derive(Component, Persist, Clone)]
    #[persist(component, validate = Self::check)]
    #[require(Saved)]
    struct Level(u32);

    impl Level {
        fn check(&self) -> Result<(), String> {
            if self.0 > 99 { Err(format!("there is no level {}", self.0)) } else { Ok(()) }
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    app.persist_component::<Level>();
    let rat = app.world_mut().spawn(Level(1)).id();
    save(&mut app, "a").unwrap();
    app.world_mut().get_mut::<Level>(rat).unwrap().0 = 100;
    app.world_mut().write_message(SaveRequested::slot("a"));
    let failed: SaveFailed = wait_for(&mut app);
    assert_eq!(failed.slot.as_deref(), Some("a"));
    assert_eq!(failed.error.kind(), ErrorKind::Refused);
    let errors = [save(&mut app, "a").unwrap_err(), app.world_mut().save_to_vec().unwrap_err()];
    for error in errors.iter().chain([&*failed.error]) {
        assert!(error.to_string().contains("there is no level 100"), "{error}");
    }
    load(&mut app, "a").unwrap();
    assert_eq!(app.world_mut().query::<&Level>().single(app.world()).unwrap().0, 1);
}

#[test]
fn the_settings_are_those_of_the_saves_that_the_plugin_got() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = App::new();
    // Types that were registered before the plugin was added are also registered in its saves.
    app.persist_component::<Health>();
    let saves = Saves::new().application("Mill", "1.0").unwrap();
    let saves = saves.save_options(SaveOptions::new().backups(3));
    app.add_plugins(PersistPlugin::new(folder.path()).saves(saves.clone()));
    assert!(saves.registry().class("Health").is_some());
    app.world_mut().spawn(Health(1));
    for _ in 0..6 {
        app.world_mut().write_message(SaveRequested::slot("a"));
        wait_for::<SaveFinished>(&mut app);
    }
    let list = slots(app.world()).list().unwrap();
    assert_eq!(list[0].header.application.as_deref(), Some("Mill"));
    assert_eq!(list[0].backups.len(), 3);
    load(&mut app, "a").unwrap();
    assert_eq!(healths(app.world_mut()), [1]);
}

#[test]
fn a_slot_of_other_saves_loads_only_if_they_have_the_types() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    app.world_mut().spawn(Health(1));
    save(&mut app, "a").unwrap();
    let others = Saves::new().slots(folder.path()).slot("a");
    let error = app.world_mut().load(&others).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "the saves of this slot do not have class Name; make the slot from those of `WorldSaves`, or from a clone"
    );
    assert_eq!(healths(app.world_mut()), [1]);
}

#[test]
fn a_world_is_saved_in_a_store() {
    let store = Arc::new(SlotFolder::new(Memory::default(), "saves"));
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("not made");
    let mut app = app_in(&folder);
    let slots = app.world().resource::<WorldSaves>().saves().store(store);
    let world = app.world_mut();
    world.spawn(Health(1));
    world.save(&slots.slot("a")).unwrap();
    world.spawn(Health(2));
    world.save(&slots.slot("a")).unwrap();

    // Another server reads that save and replaces it.
    let mut value = slots.slot("a").load::<persist::World>().unwrap();
    value.spawn("theirs");
    slots.slot("a").save(&value).unwrap();
    assert_eq!(world.save(&slots.slot("a")).unwrap_err().kind(), ErrorKind::Conflict);
    world.load(&slots.slot("a")).unwrap();
    assert_eq!(world.mirrored(|mirror| mirror.objects().len()).unwrap(), 3);
    world.save(&slots.slot("a")).unwrap();
    assert!(!folder.exists());
}

#[test]
fn a_load_can_reuse_the_current_entities() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    let world = app.world_mut();
    let rat = world.spawn((Health(1), Name::new("Rat"))).id();
    let cat = world.spawn(Health(2)).id();
    let dog = world.spawn((Health(3), ChildOf(rat))).id();
    world.save(&slot(world, "a")).unwrap();
    world.entity_mut(rat).insert((Health(10), Mana { points: 1, source: cat }));
    world.entity_mut(dog).remove::<ChildOf>();
    world.entity_mut(rat).insert(ChildOf(dog));
    world.despawn(cat);
    let late = world.spawn(Health(4)).id();
    world.write_message(LoadRequested::slot("a").keeping_entities());
    wait_for::<LoadFinished>(&mut app);
    let world = app.world_mut();
    assert_eq!(world.get::<Health>(rat), Some(&Health(1)));
    assert!(world.get::<Mana>(rat).is_none() && world.get::<ChildOf>(rat).is_none());
    assert_eq!(world.get::<ChildOf>(dog).map(ChildOf::parent), Some(rat));
    assert!(world.get_entity(late).is_err() && world.get_entity(cat).is_err());
    assert_eq!(healths(world), [1, 2, 3]);
}

#[test]
fn automatic_saves_rotate() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = App::new();
    app.add_plugins(PersistPlugin::new(folder.path()).autosave(Duration::ZERO, 2));
    app.persist_component::<Health>();
    let rat = app.world_mut().spawn(Health(1)).id();
    let mut files = Vec::new();
    for health in 0..4 {
        app.world_mut().get_mut::<Health>(rat).unwrap().0 = health;
        let finished: SaveFinished = wait_for(&mut app);
        let stem = finished.path.unwrap().file_stem().unwrap().to_str().unwrap().to_owned();
        assert_eq!(finished.slot.as_deref(), Some(&*stem));
        files.push(stem);
    }
    assert_eq!(files, ["auto1", "auto2", "auto1", "auto2"]);
    let slots = slots(app.world());
    assert_eq!(slots.list().unwrap().len(), 2);
    app.world_mut().load(&slots.auto(2)).unwrap();
    assert_eq!(healths(app.world_mut()), [3]);
}

#[test]
fn automatic_saves_are_not_replaced_by_those_of_a_menu() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = App::new();
    app.add_plugins(PersistPlugin::new(folder.path()).autosave(Duration::ZERO, 2));
    app.persist_component::<Health>().persist_resource::<Score>();
    let is_saving = |app: &mut App| {
        (0..20).any(|_| {
            app.update();
            std::thread::sleep(Duration::from_millis(2));
            app.world().resource::<SaveProgress>().saving.is_some()
        })
    };
    app.world_mut().insert_resource(Score { points: 1, leader: None });
    assert!(!is_saving(&mut app), "no entity is saved");
    let rat = app.world_mut().spawn((Health(1), Name::new("Rat"))).id();
    wait_for::<SaveFinished>(&mut app);
    assert!(!is_saving(&mut app), "nothing has changed");
    app.world_mut().resource_mut::<Score>().points = 2;
    wait_for::<SaveFinished>(&mut app);
    app.world_mut().get_mut::<Health>(rat).unwrap().0 = 2;
    let saved: SaveFinished = wait_for(&mut app);
    load(&mut app, &saved.slot.unwrap()).unwrap();
    assert!(!is_saving(&mut app), "it is loaded");
    app.world_mut().write_message(SaveRequested::auto(2));
    wait_for::<SaveFinished>(&mut app);
}

#[test]
fn what_was_asked_for_in_the_last_frame_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    app.world_mut().spawn(Health(1));
    for slot in ["a", "b", "c"] {
        app.world_mut().write_message(SaveRequested::slot(slot));
    }
    app.world_mut().write_message(AppExit::Success);
    app.update();
    drop(app);
    let mut app = app_in(folder.path());
    assert_eq!(slots(app.world()).list().unwrap().len(), 3);
    load(&mut app, "c").unwrap();
    assert_eq!(healths(app.world_mut()), [1]);
}

#[test]
fn a_component_that_panics_while_it_is_saved_fails_only_that_save() {
    #[derive(Component, Persist, Clone)]
    #[persist(component)]
    #[require(Saved)]
    struct Trap(#[persist(with = trap)] bool);

    mod trap {
        pub(super) type Stored = bool;

        pub(super) fn store(is_armed: &bool) -> bool {
            if *is_armed {
                std::panic::resume_unwind(Box::new("the trap"));
            }
            false
        }

        pub(super) fn restore(is_armed: bool) -> Result<bool, std::convert::Infallible> {
            Ok(is_armed)
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    app.persist_component::<Trap>();
    let trap = app.world_mut().spawn(Trap(true)).id();
    app.world_mut().write_message(SaveRequested::slot("a"));
    let failed: SaveFailed = wait_for(&mut app);
    assert_eq!(failed.error.kind(), ErrorKind::Refused);
    app.world_mut().get_mut::<Trap>(trap).unwrap().0 = false;
    save(&mut app, "a").unwrap();
}

#[derive(Component, Persist, Clone, Default)]
#[persist(component)]
struct Enemy;

#[derive(Component, Default)]
struct Ghost;

#[test]
fn entities_that_pass_a_filter_are_saved_and_no_longer_if_they_do_not() {
    let filtered = || {
        let mut app = App::new();
        app.persist_component::<Enemy>();
        app.persist_entities::<(With<Enemy>, Without<Ghost>)>().persist_entities::<With<Name>>();
        app
    };
    let count = |world: &mut World| world.mirrored(|mirror| mirror.objects().len()).unwrap();
    let mut app = filtered();
    let world = app.world_mut();
    let rat = world.spawn(Enemy).id();
    world.spawn((Enemy, Ghost));
    world.spawn((Enemy, Ghost, Saved)); // marked by the game
    world.spawn(Name::new("Door"));
    assert_eq!(count(world), 3);
    let save = world.save_to_vec().unwrap();
    world.entity_mut(rat).insert(Ghost);
    assert_eq!(count(world), 2);
    world.entity_mut(rat).insert(Name::new("Rat"));
    assert_eq!(count(world), 3, "another filter lets it through");
    world.spawn(Enemy); // nothing has looked at it yet
    world.load_from_slice(&save).unwrap();
    assert_eq!(count(world), 3);

    // Loaded entities are saved as long as they pass the filter.
    let mut app = filtered();
    let world = app.world_mut();
    world.load_from_slice(&save).unwrap();
    let door = world.query_filtered::<Entity, With<Name>>().single(world).unwrap();
    world.entity_mut(door).remove::<Name>();
    assert_eq!(count(world), 2);
}

#[test]
fn maps_and_sets_of_entities_leave_out_those_that_are_not_saved() {
    #[derive(Component, Persist, Clone)]
    #[persist(component)]
    #[require(Saved)]
    struct Memory {
        #[persist(with = EntityKeys)]
        seen: EntityHashSet,
        #[persist(with = EntityKeys)]
        grudges: EntityHashMap<String>,
    }

    let with = || {
        let mut app = app();
        app.persist_component::<Memory>();
        app
    };
    let mut first = with();
    let world = first.world_mut();
    let [camera, lamp] = [(); 2].map(|()| world.spawn_empty().id());
    let rat = world.spawn(Health(1)).id();
    let grudges = [rat, camera, lamp].map(|entity| (entity, "the cake".to_owned()));
    let seen = [rat, camera, lamp].into_iter().collect();
    world.spawn(Memory { seen, grudges: grudges.into_iter().collect() });
    let save = world.save_to_vec().unwrap();
    let mut next = with();
    let world = next.world_mut();
    world.spawn_empty();
    let report = world.load_from_slice(&save).unwrap();
    assert_eq!(
        rows(report.rows()),
        [
            "dangling weak reference: Memory, leads to an entity that is not saved, 1 times, first in object #2"
        ]
    );
    let rat = of_health(world, 1);
    let memory = world.query::<&Memory>().single(world).unwrap();
    assert_eq!(memory.seen.iter().copied().collect::<Vec<_>>(), [rat]);
    assert_eq!(memory.grudges.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [rat]);
}

fn rows(rows: &[ReportRow]) -> Vec<String> {
    rows.iter().map(ToString::to_string).collect()
}

#[test]
fn keys_that_are_not_saved_come_back_as_entities_that_differ() {
    for lost in 1..4 {
        let mut first = app();
        let world = first.world_mut();
        let rat = world.spawn(Health(1)).id();
        let grudges = (0..lost).map(|n| (world.spawn_empty().id(), n.to_string()));
        let mut grudges: HashMap<Entity, String> = grudges.collect();
        grudges.extend([(rat, "the cake".to_owned()), (Entity::PLACEHOLDER, "all".to_owned())]);
        world.spawn(Party { guest: None, members: Vec::new(), grudges });
        let save = world.save_to_vec().unwrap();
        let mut next = app();
        let world = next.world_mut();
        let report = world.load_from_slice(&save).unwrap();
        assert_eq!(
            rows(report.rows()),
            [
                "dangling weak reference: Party, leads to an entity that is not saved, 1 times, first in object #2"
            ]
        );
        let rat = of_health(world, 1);
        let grudges = world.query::<&Party>().single(world).unwrap().grudges.clone();
        assert_eq!((grudges.len(), &*grudges[&rat]), (lost + 2, "the cake"));
        assert_eq!(grudges[&Entity::PLACEHOLDER], "all");
        let exists = |key: &&Entity| world.get_entity(**key).is_ok();
        assert_eq!(grudges.keys().filter(exists).count(), 1);
        // The restored placeholders can be saved again.
        world.query::<&mut Party>().single_mut(world).unwrap().members = vec![rat];
        let save = world.save_to_vec().unwrap();
        let mut next = app();
        next.world_mut().load_from_slice(&save).unwrap();
        assert_eq!(
            next.world_mut().query::<&Party>().single(next.world()).unwrap().grudges.len(),
            lost + 2
        );
    }
}

#[test]
fn equal_worlds_with_lost_keys_have_equal_saves() {
    let save = || {
        let mut app = app();
        let world = app.world_mut();
        let grudges = (0..20_u32).map(|n| (world.spawn_empty().id(), n.to_string()));
        let grudges = grudges.collect();
        world.spawn(Party { guest: None, members: Vec::new(), grudges });
        world.save_to_vec().unwrap()
    };
    assert_eq!(save(), save());
}

#[test]
fn each_lost_reference_is_a_warning_at_the_save_and_a_row_at_the_load() {
    let mut first = app();
    let world = first.world_mut();
    let camera = world.spawn_empty().id();
    let rat = world.spawn((Health(1), ChildOf(camera))).id();
    world.spawn((Health(2), Mana { points: 1, source: camera }, ChildOf(rat)));
    world.spawn((Health(3), Mana { points: 1, source: Entity::PLACEHOLDER }, Likes(camera)));
    world.spawn(Party { guest: None, members: vec![rat], grudges: HashMap::new() });
    world.insert_resource(Score { points: 1, leader: Some(camera) });
    let save = world.save_to_vec().unwrap();
    let warnings = rows(&world.resource::<WorldSaves>().warnings());
    assert_eq!(
        warnings,
        [
            "dangling weak reference: ChildOf, left out, since the parent is not saved, 1 times, first in object #2",
            "dangling weak reference: Mana, leads to an entity that is not saved, 1 times, first in object #1",
            "dangling weak reference: Likes, leads to an entity that is not saved, 1 times, first in object #3",
            "dangling weak reference: Score, leads to an entity that is not saved, 1 times"
        ]
    );
    let mut next = app();
    let world = next.world_mut();
    let report = world.load_from_slice(&save).unwrap();
    assert!(!report.is_clean());
    let left_out = |row: &String| {
        row.replace("Likes, leads to an entity that", "Likes, left out, since what it leads to")
    };
    assert_eq!(rows(report.rows()), warnings.iter().map(left_out).collect::<Vec<_>>());
    assert_eq!(world.query::<&ChildOf>().iter(world).count(), 1);

    // After the entities are marked, nothing is reported.
    let world = first.world_mut();
    world.entity_mut(camera).insert(Saved);
    let save = world.save_to_vec().unwrap();
    assert_eq!(world.resource::<WorldSaves>().warnings(), []);
    let mut next = app();
    assert!(next.world_mut().load_from_slice(&save).unwrap().is_clean());
    assert_eq!(next.world_mut().query::<&ChildOf>().iter(next.world()).count(), 2);
}

#[test]
fn components_of_saved_entities_that_are_not_registered_are_named() {
    #[derive(Component)]
    struct Inventory;
    #[derive(Component)]
    struct Picture;
    #[derive(Component)]
    struct OfTheCamera;

    let mut app = app();
    app.ignore_component::<Picture>();
    let world = app.world_mut();
    world.spawn(OfTheCamera);
    let rat = world.spawn((Health(1), Picture, Transform::default())).id();
    world.spawn((Health(2), Likes(rat)));
    world.save_to_vec().unwrap();
    assert_eq!(world.resource::<WorldSaves>().warnings(), []);
    world.entity_mut(rat).insert(Inventory);
    world.save_to_vec().unwrap();
    let warnings = rows(&world.resource::<WorldSaves>().warnings());
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("skipped, not registered: world::saves::"), "{warnings:?}");
    assert!(warnings[0].contains("::Inventory, on saved entities"), "{warnings:?}");
    app.ignore_component::<Inventory>();
    assert_eq!(app.world().resource::<WorldSaves>().warnings(), []);
}

#[test]
fn lost_references_in_lists_maps_and_sets_of_components_and_resources_are_reported() {
    #[derive(Persist, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    enum Bond {
        Alone,
        To(#[persist(with = entity)] Entity),
    }

    #[derive(Resource, Persist, Clone)]
    #[persist(component)]
    struct Bonds {
        #[persist(with = "Vec<Option<entity>>")]
        list: Vec<Option<Entity>>,
        #[persist(with = "HashMap<_, Vec<entity>>")]
        lists: HashMap<String, Vec<Entity>>,
        #[persist(with = "HashSet<entity>")]
        set: HashSet<Entity>,
        #[persist(with = "BTreeMap<entity, entity>")]
        map: BTreeMap<Entity, Entity>,
        nested: Box<[Bond]>,
    }

    let none = || Bonds {
        list: vec![None],
        lists: HashMap::new(),
        set: HashSet::new(),
        map: BTreeMap::new(),
        nested: [Bond::Alone].into(),
    };
    let with = |lost: [Entity; 2], rat: Entity| {
        let all = [lost[0], rat, lost[1]];
        [
            Bonds { list: all.map(Some).into(), ..none() },
            Bonds { lists: [("a".to_owned(), all.to_vec())].into(), ..none() },
            Bonds { set: all.into(), ..none() },
            Bonds { map: all.map(|key| (key, rat)).into(), ..none() },
            Bonds { map: [(rat, lost[0])].into(), ..none() },
            Bonds { nested: all.map(Bond::To).into(), ..none() },
        ]
    };
    let app = || {
        let mut app = app();
        app.persist_component_as::<Held, Bonds>().persist_resource::<Bonds>();
        app
    };
    /// A component that is stored as the type of the resource.
    #[derive(Component, Clone)]
    #[require(Saved)]
    struct Held(Bonds);
    impl From<&Held> for Bonds {
        fn from(held: &Held) -> Self {
            held.0.clone()
        }
    }
    impl From<Bonds> for Held {
        fn from(bonds: Bonds) -> Self {
            Self(bonds)
        }
    }

    let count = |bonds: &Bonds| {
        let lists = bonds.lists.values().map(Vec::len).sum::<usize>();
        [bonds.list.len(), lists, bonds.set.len(), bonds.map.len(), bonds.nested.len()]
    };
    for case in 0..6 {
        for is_resource in [true, false] {
            let mut first = app();
            let world = first.world_mut();
            let rat = world.spawn(Health(1)).id();
            let lost = [(); 2].map(|()| world.spawn_empty().id());
            world.despawn(lost[1]); // one that is gone is lost, too
            let bonds = with(lost, rat)[case].clone();
            if is_resource {
                world.insert_resource(bonds.clone());
            } else {
                world.spawn(Held(bonds.clone()));
            }
            let save = world.save_to_vec().unwrap();
            let place = if is_resource { "" } else { ", first in object #2" };
            let expected = format!(
                "dangling weak reference: Bonds, leads to an entity that is not saved, 1 times{place}"
            );
            assert_eq!(
                rows(&world.resource::<WorldSaves>().warnings()),
                [&*expected],
                "{case}, {is_resource}"
            );
            let mut next = app();
            let world = next.world_mut();
            let report = world.load_from_slice(&save).unwrap();
            assert_eq!(rows(report.rows()), [&*expected], "{case}, {is_resource}");
            let loaded = match world.get_resource::<Bonds>() {
                Some(bonds) => bonds.clone(),
                None => world.query::<&Held>().single(world).unwrap().0.clone(),
            };
            assert_eq!(count(&loaded), count(&bonds), "no entry is lost: {case}, {is_resource}");
            let save = world.save_to_vec().unwrap();
            assert!(app().world_mut().load_from_slice(&save).is_ok());
        }
    }
}

/// The warnings that were logged.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }

    fn log(&self, record: &log::Record) {
        if record.level() == log::Level::Warn {
            LOGGED.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

#[test]
fn each_loss_is_in_the_log_once_when_it_is_first_saved() {
    #[derive(Component)]
    struct Forgotten;
    #[derive(Component, Persist, Clone)]
    #[persist(component)]
    struct Lookout(#[persist(with = entity)] Entity);

    log::set_logger(&Logger).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    let logged =
        |part: &str| LOGGED.lock().unwrap().iter().filter(|line| line.contains(part)).count();
    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    app.persist_component::<Lookout>();
    let world = app.world_mut();
    let camera = world.spawn_empty().id();
    world.spawn((Health(1), Forgotten, Lookout(camera)));
    assert_eq!((logged("::Forgotten"), logged("Lookout refers")), (0, 0));
    app.world_mut().write_message(SaveRequested::slot("a"));
    wait_for::<SaveFinished>(&mut app);
    assert_eq!((logged("::Forgotten"), logged("Lookout refers")), (1, 1));
    let world = app.world_mut();
    world.spawn((Health(2), Forgotten, Lookout(camera), Name::new("Rat")));
    world.save_to_vec().unwrap();
    save(&mut app, "a").unwrap();
    assert_eq!((logged("::Forgotten"), logged("Lookout refers")), (1, 1));
}

#[test]
fn a_reference_to_an_entity_that_is_no_longer_saved_is_a_warning() {
    type Lose = fn(&mut World, Entity);
    let losses: [Lose; 2] = [
        |world, entity| {
            world.despawn(entity);
        },
        |world, entity| {
            world.entity_mut(entity).remove::<Saved>();
        },
    ];
    for lose in losses {
        let mut app = app();
        let world = app.world_mut();
        let cat = world.spawn(Health(1)).id();
        world.spawn((Health(2), Mana { points: 1, source: cat }));
        world.spawn((Health(3), Mana { points: 2, source: Entity::PLACEHOLDER }));
        world.insert_resource(Score { points: 1, leader: Some(cat) });
        world.save_to_vec().unwrap();
        assert_eq!(world.resource::<WorldSaves>().warnings(), []);
        lose(world, cat);
        let save = world.save_to_vec().unwrap(); // copies neither of them, since they have not changed
        let warnings = rows(&world.resource::<WorldSaves>().warnings());
        assert_eq!(
            warnings,
            [
                "dangling weak reference: Mana, leads to an entity that is not saved, 1 times, first in object #2",
                "dangling weak reference: Score, leads to an entity that is not saved, 1 times"
            ]
        );
        let report = crate::app().world_mut().load_from_slice(&save).unwrap();
        assert_eq!(rows(report.rows()), warnings);
    }
}

#[test]
fn two_types_cannot_be_saved_as_one_class() {
    #[derive(Component)]
    struct Other(u8);
    impl From<&Other> for StoredPercent {
        fn from(other: &Other) -> Self {
            Self(other.0)
        }
    }
    impl From<StoredPercent> for Other {
        fn from(stored: StoredPercent) -> Self {
            Self(stored.0)
        }
    }

    let register = || {
        let mut app = App::new();
        app.persist_component_as::<Percent, StoredPercent>();
        app.persist_component_as::<Percent, StoredPercent>();
        app.persist_component_as::<Other, StoredPercent>();
    };
    let panic = std::panic::catch_unwind(register).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(
        message.contains(
            "two_types_cannot_be_saved_as_one_class::Other` cannot be saved: class Percent is that of `world::saves::Percent`"
        ),
        "{message}"
    );
}

#[test]
fn a_reference_leads_to_an_entity_that_is_saved_later() {
    let mut app = app();
    let world = app.world_mut();
    let camera = world.spawn(Name::new("Camera")).id();
    world.spawn((Health(1), Mana { points: 1, source: camera }));
    world.save_to_vec().unwrap();
    world.entity_mut(camera).insert(Saved);
    let mut app = reloaded(&mut app);
    let world = app.world_mut();
    let camera = world.query_filtered::<Entity, With<Name>>().single(world).unwrap();
    assert_eq!(world.query::<&Mana>().single(world).unwrap().source, camera);
}

/// Returns a save of the program with its mods, with a component and a resource that only the mods register.
fn save_with_mods() -> Vec<u8> {
    let mut with = app();
    let world = with.world_mut();
    world.spawn((Health(1), Mana { points: 1, source: Entity::PLACEHOLDER }));
    world.insert_resource(Score { points: 5, leader: None });
    world.save_to_vec().unwrap()
}

/// Returns the data in a save that the program does not know without its mods.
fn of_mods(save: &[u8]) -> (usize, Option<u32>) {
    let mut with = app();
    let world = with.world_mut();
    world.load_from_slice(save).unwrap();
    let score = world.get_resource::<Score>().map(|score| score.points);
    (world.query::<&Mana>().iter(world).count(), score)
}

fn without_mods() -> App {
    let mut without = App::new();
    without.persist_component::<Health>();
    without
}

#[test]
fn a_new_game_has_nothing_of_the_one_that_was_loaded() {
    let mut without = without_mods();
    let world = without.world_mut();
    let camera = world.spawn_empty().id();
    world.load_from_slice(&save_with_mods()).unwrap();
    assert_eq!(of_mods(&world.save_to_vec().unwrap()), (1, Some(5)));
    world.clear_saved();
    assert_eq!(healths(world), []);
    assert!(world.get_entity(camera).is_ok());
    world.spawn(Health(2));
    let save = world.save_to_vec().unwrap();
    assert_eq!(of_mods(&save), (0, None));
    let mut with = app();
    with.world_mut().load_from_slice(&save).unwrap();
    assert_eq!(healths(with.world_mut()), [2]);
}

#[test]
fn a_loaded_game_has_nothing_of_the_previous_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut without = without_mods();
    without.add_plugins(PersistPlugin::new(folder.path()));
    without.world_mut().spawn(Health(2));
    save(&mut without, "other").unwrap();
    let other = without.world_mut().save_to_vec().unwrap();
    without.world_mut().load_from_slice(&save_with_mods()).unwrap();
    // A failed load changes nothing.
    without.world_mut().load_from_slice(&other[..other.len() - 1]).unwrap_err();
    assert_eq!(of_mods(&without.world_mut().save_to_vec().unwrap()), (1, Some(5)));
    without.world_mut().write_message(LoadRequested::slot("other"));
    wait_for::<LoadFinished>(&mut without);
    assert_eq!(of_mods(&without.world_mut().save_to_vec().unwrap()), (0, None));
}

#[test]
fn a_type_that_cannot_be_saved_is_named_in_the_panic() {
    mod own {
        use super::{Component, Persist};

        #[derive(Component, Persist, Clone)]
        #[persist(component)]
        pub(super) struct Name(u8);
    }

    let register = || {
        App::new().persist_component::<own::Name>();
    };
    let panic = std::panic::catch_unwind(register).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("saves::a_type_that_cannot_be_saved_is_named_in_the_panic::own::Name`"),
        "{message}"
    );
    assert!(message.contains("class = "), "{message}");
}

#[test]
fn a_load_spawns_entities_first_then_inserts_components_then_sends_a_message() {
    #[derive(Resource, Default)]
    struct Seen(Vec<String>);

    let mut app = app();
    let world = app.world_mut();
    let house = world.spawn(Health(1)).id();
    world.spawn((Health(2), Likes(house), ChildOf(house)));
    let save = world.save_to_vec().unwrap();

    let mut app = crate::app();
    app.init_resource::<Seen>();
    app.add_observer(
        |add: On<Add<Health>>, saved: Query<(), With<Saved>>, mut seen: ResMut<Seen>| {
            assert!(saved.contains(add.entity));
            seen.0.push(format!("health, {} entities", saved.iter().count()));
        },
    );
    app.add_observer(|add: On<Add<ChildOf>>, healths: Query<&Health>, mut seen: ResMut<Seen>| {
        seen.0.push(format!("child of health {}", healths.get(add.entity).unwrap().0));
    });
    app.world_mut().load_from_slice(&save).unwrap();
    let seen = &app.world().resource::<Seen>().0;
    assert_eq!(*seen, ["health, 2 entities", "health, 2 entities", "child of health 2"]);
}

#[test]
fn the_lock_file_has_the_components_of_the_app_and_reports_what_would_be_lost() {
    mod changed {
        use super::{Component, Persist, Saved};

        #[derive(Component, Persist, Clone)]
        #[persist(component)]
        #[require(Saved)]
        pub(super) struct Health {
            armour: u8,
        }
    }

    let registry = |app: &App| app.world().resource::<WorldSaves>().saves().registry();
    let mut lock = Lock::new();
    let first = registry(&app());
    lock.update("1.0", &first).unwrap();
    assert!(lock.is_current("1.0", &first) && lock.compare(&first).is_current());

    let mut next = App::new();
    next.persist_component::<changed::Health>();
    let report = lock.compare(&registry(&next));
    assert!(!report.loads());
    let report = report.to_string();
    assert!(report.contains("Health") && report.contains("Mana"), "{report}");
}

#[test]
fn a_damaged_slot_is_replaced_by_its_backup_or_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app_in(folder.path());
    let world = app.world_mut();
    let rat = world.spawn(Health(1)).id();
    let damage = |name: &str| {
        let path = folder.path().join(name);
        let mut save = fs::read(&path).unwrap();
        let end = save.len() - 3;
        save[end] ^= 1;
        fs::write(path, save).unwrap();
    };
    world.save(&slot(world, "a")).unwrap();
    world.get_mut::<Health>(rat).unwrap().0 = 2;
    world.save(&slot(world, "a")).unwrap();
    damage("a.sav");
    let report = world.load(&slot(world, "a")).unwrap();
    assert!(report.recovery().is_some());
    assert_eq!(healths(world), [1]);

    // Without a backup, the player may ask for a salvage of the intact parts.
    world.save(&slot(world, "b")).unwrap();
    damage("b.sav");
    assert_eq!(world.load(&slot(world, "b")).unwrap_err().kind(), ErrorKind::Damaged);
    let salvage = LoadOptions::new().policy(LoadPolicy::Salvage);
    let saves = world.resource::<WorldSaves>().saves().clone().load_options(salvage);
    let report = world.load(&saves.slots(folder.path()).slot("b")).unwrap();
    assert!(report.salvage().is_some());
    assert_eq!(healths(world), [1]);

    // A request can salvage a save as well.
    world.save(&slot(world, "c")).unwrap();
    damage("c.sav");
    world.write_message(LoadRequested::slot("c"));
    let failed: LoadFailed = wait_for(&mut app);
    assert_eq!(failed.error.kind(), ErrorKind::Damaged);
    app.world_mut().write_message(LoadRequested::slot("c").load_options(salvage));
    let finished: LoadFinished = wait_for(&mut app);
    assert!(finished.report.salvage().is_some());
    assert_eq!(healths(app.world_mut()), [1]);
}
