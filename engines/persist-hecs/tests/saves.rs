//! What a save of a world of hecs keeps.

#![allow(clippy::unwrap_used, reason = "it is a test")]

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use hecs::Entity;
use persist::lock::Lock;
use persist::save::LoadPolicy;
use persist::{ErrorKind, LoadOptions, ObjectId, Persist, SaveManager};
use persist_hecs::{Saves, entity};

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(component)]
struct Health(u32);

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(component)]
struct Mana {
    points: u16,
    #[persist(with = entity)]
    source: Entity,
}

#[derive(Persist, Clone, Debug)]
#[persist(component)]
struct Party {
    #[persist(with = entity)]
    leader: Entity,
    #[persist(with = "Option<entity>")]
    guest: Option<Entity>,
    #[persist(with = "Vec<entity>")]
    members: Vec<Entity>,
    #[persist(with = "HashMap<entity, _>")]
    grudges: HashMap<Entity, String>,
}

fn saves() -> Saves {
    let mut saves = Saves::new();
    saves.register::<Health>().unwrap().register::<Mana>().unwrap().register::<Party>().unwrap();
    saves
}

/// A new world with what one has, as another run of the program loads it.
fn reloaded(world: &hecs::World) -> (hecs::World, Saves) {
    let save = saves().save_to_vec(world).unwrap();
    let (mut world, mut saves) = (hecs::World::new(), saves());
    saves.load_from_slice(&mut world, &save).unwrap();
    (world, saves)
}

fn health(world: &hecs::World) -> Vec<u32> {
    let mut all: Vec<u32> = world.query::<&Health>().iter().map(|health| health.0).collect();
    all.sort_unstable();
    all
}

#[test]
fn entities_come_back_with_their_registered_components() {
    let mut world = hecs::World::new();
    world.spawn((Health(1), "a label of the running game"));
    world.spawn((Health(2),));
    world.spawn(("no part of a save",));
    let (world, _) = reloaded(&world);
    assert_eq!(world.len(), 2);
    assert_eq!(health(&world), [1, 2]);
    assert_eq!(world.query::<&&str>().iter().count(), 0);
}

#[test]
fn references_lead_to_the_loaded_entities() {
    let mut world = hecs::World::new();
    // The loaded ones get other handles.
    for _ in 0..5 {
        let gone = world.spawn(());
        world.despawn(gone).unwrap();
    }
    world.spawn(("before all others",));
    let [ada, bob, cat] = [1, 2, 3].map(|health| world.spawn((Health(health),)));
    let grudges = [(bob, "the cake".to_owned())].into();
    world.spawn((Party { leader: ada, guest: Some(cat), members: vec![ada, bob], grudges },));

    let (world, _) = reloaded(&world);
    let health = |entity: Entity| world.get::<&Health>(entity).unwrap().0;
    let mut query = world.query::<&Party>();
    let party = query.iter().next().unwrap();
    assert_eq!((health(party.leader), party.guest.map(health)), (1, Some(3)));
    assert_eq!(party.members.iter().copied().map(health).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(
        party.grudges.iter().map(|(whom, why)| (health(*whom), &**why)).next(),
        Some((2, "the cake"))
    );
}

#[test]
fn entities_that_are_not_saved_or_are_gone_dangle() {
    let mut world = hecs::World::new();
    let (camera, gone) = (world.spawn(("camera",)), world.spawn((Health(1),)));
    world.despawn(gone).unwrap();
    world.spawn((Mana { points: 1, source: camera },));
    world.spawn((Mana { points: 2, source: gone },));
    let (world, _) = reloaded(&world);
    for mana in &mut world.query::<&Mana>() {
        assert_eq!(mana.source, Entity::DANGLING);
    }
}

#[test]
fn components_that_the_program_does_not_have_stay_on_their_entity() {
    let mut world = hecs::World::new();
    let rat = world.spawn((Health(1), Mana { points: 1, source: Entity::DANGLING }));
    world.spawn((Health(2), Mana { points: 2, source: rat }));
    let save = saves().save_to_vec(&world).unwrap();

    // The mod with the mana is off.
    let mut without = Saves::new();
    without.register::<Health>().unwrap();
    let mut world = hecs::World::new();
    without.load_from_slice(&mut world, &save).unwrap();
    for health in world.query_mut::<&mut Health>() {
        health.0 += 10;
    }
    world.spawn((Health(13),));
    let save = without.save_to_vec(&world).unwrap();

    // It is on again.
    let (mut world, mut with) = (hecs::World::new(), saves());
    with.load_from_slice(&mut world, &save).unwrap();
    assert_eq!(health(&world), [11, 12, 13]);
    let mut query = world.query::<(&Health, &Mana)>();
    let mut found: Vec<_> =
        query.iter().map(|(health, mana)| (health.0, mana.points, mana.source)).collect();
    found.sort_unstable_by_key(|found| found.0);
    assert_eq!([(found[0].0, found[0].1), (found[1].0, found[1].1)], [(11, 1), (12, 2)]);
    assert_eq!(world.get::<&Health>(found[1].2).unwrap().0, 11);
}

#[test]
fn an_entity_keeps_its_object_in_all_saves() {
    let mut world = hecs::World::new();
    let rat = world.spawn((Health(1),));
    let mut first = saves();
    first.mirror(&world).unwrap();
    let object = first.object(rat).unwrap();
    let cat = world.spawn((Health(2),));
    let save = first.save_to_vec(&world).unwrap();
    assert_eq!((first.object(rat), first.entity(object)), (Some(object), Some(rat)));

    let (mut world, mut next) = (hecs::World::new(), saves());
    world.spawn(());
    next.load_from_slice(&mut world, &save).unwrap();
    let rat = next.entity(object).unwrap();
    assert_eq!(world.get::<&Health>(rat).unwrap().0, 1);
    let again = next.save_to_vec(&world).unwrap();
    assert_eq!(again, save, "equal worlds have equal saves");
    assert_ne!(next.object(rat), first.object(cat));
}

#[test]
fn what_was_despawned_or_removed_is_not_in_the_next_save() {
    let mut world = hecs::World::new();
    let rat = world.spawn((Health(1), Mana { points: 1, source: Entity::DANGLING }));
    let cat = world.spawn((Health(2),));
    let mut saves = saves();
    assert_eq!(saves.mirror(&world).unwrap().objects().len(), 2);
    world.despawn(cat).unwrap();
    // A handle with the place of the cat is none of it.
    world.spawn(("not saved",));
    world.remove_one::<Mana>(rat).unwrap();
    let mirror = saves.mirror(&world).unwrap();
    assert_eq!(mirror.objects().len(), 1);
    assert_eq!(saves.object(cat), None);
    let rat = saves.object(rat).unwrap();
    assert_eq!(saves.mirror_mut().classes(rat), ["Health"]);
}

#[test]
fn a_load_replaces_what_was_saved_and_leaves_the_rest() {
    let mut world = hecs::World::new();
    let mut saves = saves();
    let camera = world.spawn(("camera",));
    let rat = world.spawn((Health(1),));
    let save = saves.save_to_vec(&world).unwrap();
    world.get::<&mut Health>(rat).unwrap().0 = 0;
    world.spawn((Health(5),)); // after the last save
    saves.load_from_slice(&mut world, &save).unwrap();
    assert_eq!(health(&world), [1]);
    assert!(world.contains(camera) && !world.contains(rat));
    assert_eq!(world.len(), 2);
}

#[test]
fn slots_of_a_folder_are_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("made by the first save");
    let (mut world, mut saves) = (hecs::World::new(), saves());
    world.spawn((Health(1),));
    saves.save_slot(&world, &folder, "quick").unwrap();
    let slots = saves.manage(|saves| saves.slots(&folder).list()).unwrap();
    assert_eq!((slots.len(), &*slots[0].name), (1, "quick"));
    world.clear();
    assert!(saves.load_slot(&mut world, &folder, "quick").unwrap().is_clean());
    assert_eq!(health(&world), [1]);
    let error = saves.load_slot(&mut world, &folder, "no such").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(saves.save_slot(&world, &folder, "no/slot").is_err());
}

/// A component of another crate.
#[derive(Debug, PartialEq)]
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
fn a_foreign_component_is_saved_as_another_type() {
    let mut saves = Saves::new();
    saves.register_as::<Percent, StoredPercent>().unwrap();
    let mut world = hecs::World::new();
    world.spawn((Percent(30),));
    let save = saves.save_to_vec(&world).unwrap();
    saves.load_from_slice(&mut world, &save).unwrap();
    assert_eq!(world.query::<&Percent>().iter().collect::<Vec<_>>(), [&Percent(30)]);
}

#[test]
fn a_refused_load_leaves_the_world_as_it_was() {
    let mut saves = Saves::new();
    saves.register::<Health>().unwrap().register_as::<Percent, StoredPercent>().unwrap();
    let mut world = hecs::World::new();
    world.spawn((Percent(1), Health(1)));
    let bad = world.spawn((Percent(101), Health(2)));
    let save = saves.save_to_vec(&world).unwrap();
    world.get::<&mut Percent>(bad).unwrap().0 = 50;

    let error = saves.load_from_slice(&mut world, &save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(error.to_string(), "101 is more than 100 (object #2, class Percent)");
    assert_eq!(health(&world), [1, 2]);
    assert_eq!(world.len(), 2);
    assert_eq!(saves.entity(ObjectId::new(2).unwrap()), Some(bad));
}

#[test]
fn a_save_of_an_older_version_loads() {
    mod old {
        #[derive(persist::Persist, Clone)]
        #[persist(component)]
        pub(super) struct Life {
            pub(super) points: u16,
        }
    }

    #[derive(Persist, Clone)]
    #[persist(component, alias = "Life")]
    struct Vigour {
        #[persist(alias = "points")]
        left: u32,
        #[persist(default = 9)]
        most: u32,
    }

    let mut world = hecs::World::new();
    world.spawn((old::Life { points: 3 },));
    let mut saves = Saves::new();
    let save = saves.register::<old::Life>().unwrap().save_to_vec(&world).unwrap();

    let mut saves = Saves::new();
    let mut world = hecs::World::new();
    let report = saves.register::<Vigour>().unwrap().load_from_slice(&mut world, &save).unwrap();
    assert!(!report.is_clean());
    let mut query = world.query::<&Vigour>();
    assert_eq!(query.iter().map(|vigour| (vigour.left, vigour.most)).collect::<Vec<_>>(), [(3, 9)]);
}

#[test]
fn resources_and_names_are_saved_beside_the_entities() {
    #[derive(Persist)]
    struct Score(u32);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("level.sav");
    let mut world = hecs::World::new();
    let door = world.spawn((Health(7),));
    let mut first = saves();
    first.mirror(&world).unwrap();
    let object = first.object(door).unwrap();
    first.mirror_mut().rename(object, "Door").unwrap();
    first.mirror_mut().insert_resource(Score(40)).unwrap();
    first.save(&world, &path).unwrap();
    assert!(persist::save::dump(&path).unwrap().contains("Door"));

    let mut next = saves();
    next.manage(|saves| saves.registry_mut().register_resource::<Score>()).unwrap();
    next.load(&mut world, &path).unwrap();
    let door = next.mirror_mut().find("Door").and_then(|door| next.entity(door)).unwrap();
    assert_eq!(world.get::<&Health>(door).unwrap().0, 7);
    assert_eq!(next.mirror_mut().resource::<Score>().unwrap().0, 40);
}

#[test]
fn a_component_with_entities_and_shared_pointers_is_refused() {
    #[derive(Persist, Clone)]
    #[persist(component)]
    struct Shared {
        #[persist(with = entity)]
        owner: Entity,
        text: std::sync::Arc<String>,
    }

    let mut world = hecs::World::new();
    let owner = world.spawn((Health(1),));
    world.insert_one(owner, Shared { owner, text: Default::default() }).unwrap();
    let mut saves = saves();
    let error = saves.register::<Shared>().unwrap().save_to_vec(&world).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn entities_that_a_filter_refuses_are_neither_saved_nor_replaced() {
    struct Ghost;

    let mut saves = saves();
    saves.set_filter(|entity| !entity.has::<Ghost>());
    let mut world = hecs::World::new();
    let rat = world.spawn((Health(1),));
    let ghost = world.spawn((Health(2), Ghost));
    let save = saves.save_to_vec(&world).unwrap();
    saves.load_from_slice(&mut world, &save).unwrap();
    assert!(world.contains(ghost) && !world.contains(rat));
    assert_eq!(health(&world), [1, 2]);

    // One that does not pass any more is not saved any more, and is left alone.
    let rat = saves.entity(ObjectId::new(1).unwrap()).unwrap();
    world.insert_one(rat, Ghost).unwrap();
    assert_eq!(saves.mirror(&world).unwrap().objects().len(), 0);
    saves.load_from_slice(&mut world, &save).unwrap();
    assert_eq!(health(&world), [1, 1, 2]);
}

#[test]
fn a_new_game_has_nothing_of_the_one_that_was_loaded() {
    let mut world = hecs::World::new();
    world.spawn((Mana { points: 1, source: Entity::DANGLING },));
    let save = saves().save_to_vec(&world).unwrap();

    let mut without = Saves::new();
    without.register::<Health>().unwrap();
    let mut world = hecs::World::new();
    let camera = world.spawn(("camera",));
    without.load_from_slice(&mut world, &save).unwrap();
    without.clear(&mut world);
    assert_eq!((world.len(), world.contains(camera)), (1, true));
    world.spawn((Health(2),));
    let save = without.save_to_vec(&world).unwrap();
    let mut world = hecs::World::new();
    saves().load_from_slice(&mut world, &save).unwrap();
    assert_eq!((health(&world), world.len()), (vec![2], 1));
}

#[test]
fn the_manager_refuses_saves_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let save = |saves: &mut SaveManager| saves.slots(folder.path()).save("a");
    assert_eq!(saves().manage(save).unwrap_err().kind(), ErrorKind::Refused);
}

#[test]
fn unsaved_entities_as_keys_are_an_error_that_says_what_to_do() {
    let mut world = hecs::World::new();
    let [camera, lamp] = [(); 2].map(|()| world.spawn(()));
    let grudges = [(camera, "dark".to_owned()), (lamp, "bright".to_owned())].into();
    world.spawn((Party { leader: camera, guest: None, members: Vec::new(), grudges },));
    let error = saves().save_to_vec(&world).unwrap_err();
    assert!(
        error
            .message()
            .ends_with("take them out of the keys of maps and out of sets, or have them saved"),
        "{error}"
    );
}

#[test]
fn the_lock_file_has_the_registered_components_and_reports_what_would_be_lost() {
    mod changed {
        #[derive(persist::Persist, Clone)]
        #[persist(component)]
        pub(super) struct Health {
            armour: u8,
        }
    }

    let registry = |mut saves: Saves| saves.manage(|saves| saves.registry().clone());
    let mut lock = Lock::new();
    let first = registry(saves());
    lock.update("1.0", &first).unwrap();
    assert!(lock.is_current("1.0", &first) && lock.compare(&first).is_current());

    let mut next = Saves::new();
    next.register::<changed::Health>().unwrap();
    let report = lock.compare(&registry(next));
    assert!(!report.loads());
    let report = report.to_string();
    assert!(report.contains("Health") && report.contains("Mana"), "{report}");
}

#[test]
fn a_damaged_save_is_replaced_by_its_backup_or_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["a.sav", "b.sav"].map(|name| folder.path().join(name));
    let damage = |path: &Path| {
        let mut save = fs::read(path).unwrap();
        let end = save.len() - 3;
        save[end] ^= 1;
        fs::write(path, save).unwrap();
    };
    let (mut world, mut saves) = (hecs::World::new(), saves());
    let rat = world.spawn((Health(1),));
    saves.save(&world, &first).unwrap();
    world.get::<&mut Health>(rat).unwrap().0 = 2;
    saves.save(&world, &first).unwrap();
    damage(&first);
    assert!(saves.load(&mut world, &first).unwrap().recovery().is_some());
    assert_eq!(health(&world), [1]);

    // Without a backup, the player may ask for what is whole.
    saves.save(&world, &second).unwrap();
    damage(&second);
    assert_eq!(saves.load(&mut world, &second).unwrap_err().kind(), ErrorKind::Damaged);
    let salvage = LoadOptions { policy: LoadPolicy::Salvage, ..LoadOptions::default() };
    saves.manage(|saves| saves.set_load_options(salvage));
    assert!(saves.load(&mut world, &second).unwrap().salvage().is_some());
    assert_eq!(health(&world), [1]);
}
