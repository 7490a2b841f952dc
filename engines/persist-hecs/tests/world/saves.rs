//! Tests of the data that a save of a world of hecs keeps.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use hecs::Entity;
use persist::history::Edit;
use persist::save::{LoadPolicy, ReportRow, Slot, SlotInfo};
use persist::storage::{Memory, SlotFolder};
use persist::{ErrorKind, History, LoadOptions, ObjectId, Persist, Saves, Session};
use persist_hecs::{WorldSaves, entity};
use persist_tools::lock::Lock;

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(component)]
pub(crate) struct Health(pub(crate) u32);

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(component)]
pub(crate) struct Mana {
    pub(crate) points: u16,
    #[persist(with = entity)]
    pub(crate) source: Entity,
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

pub(crate) fn worlds() -> WorldSaves {
    let mut worlds = WorldSaves::new();
    worlds.register::<Health>().unwrap().register::<Mana>().unwrap().register::<Party>().unwrap();
    worlds
}

/// Registers the types of the program while its mods are off.
fn without_mods() -> WorldSaves {
    let mut worlds = WorldSaves::new();
    worlds.register::<Health>().unwrap();
    worlds
}

/// Saves a world, and loads it as another run of the program does.
fn reloaded(world: &hecs::World) -> (hecs::World, WorldSaves) {
    let save = worlds().to_vec(world).unwrap();
    let (mut world, mut worlds) = (hecs::World::new(), worlds());
    worlds.from_slice(&mut world, &save).unwrap();
    (world, worlds)
}

pub(crate) fn health(world: &hecs::World) -> Vec<u32> {
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
    // Make sure that the loaded entities get other handles than the saved ones.
    for _ in 0..5 {
        let removed = world.spawn(());
        world.despawn(removed).unwrap();
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
fn entities_that_are_not_saved_or_despawned_dangle() {
    let mut world = hecs::World::new();
    let (camera, removed) = (world.spawn(("camera",)), world.spawn((Health(1),)));
    world.despawn(removed).unwrap();
    world.spawn((Mana { points: 1, source: camera },));
    world.spawn((Mana { points: 2, source: removed },));
    let (world, _) = reloaded(&world);
    for mana in &mut world.query::<&Mana>() {
        assert_eq!(mana.source, Entity::DANGLING);
    }
}

#[test]
fn unknown_components_are_saved_with_their_entity() {
    let mut world = hecs::World::new();
    let rat = world.spawn((Health(1), Mana { points: 1, source: Entity::DANGLING }));
    world.spawn((Health(2), Mana { points: 2, source: rat }));
    let save = worlds().to_vec(&world).unwrap();

    // Load the save while the mod with the mana is off.
    let mut without = without_mods();
    let mut world = hecs::World::new();
    without.from_slice(&mut world, &save).unwrap();
    for health in world.query_mut::<&mut Health>() {
        health.0 += 10;
    }
    world.spawn((Health(13),));
    let save = without.to_vec(&world).unwrap();

    // Turn the mod on again.
    let (mut world, mut with) = (hecs::World::new(), worlds());
    with.from_slice(&mut world, &save).unwrap();
    assert_eq!(health(&world), [11, 12, 13]);
    let mut query = world.query::<(&Health, &Mana)>();
    let mut found: Vec<_> =
        query.iter().map(|(health, mana)| (health.0, mana.points, mana.source)).collect();
    found.sort_unstable_by_key(|found| found.0);
    assert_eq!([(found[0].0, found[0].1), (found[1].0, found[1].1)], [(11, 1), (12, 2)]);
    assert_eq!(world.get::<&Health>(found[1].2).unwrap().0, 11);
}

#[test]
fn an_entity_has_the_same_object_in_all_saves() {
    let mut world = hecs::World::new();
    let rat = world.spawn((Health(1),));
    let mut first = worlds();
    first.mirror(&world).unwrap();
    let object = first.object(rat).unwrap();
    let cat = world.spawn((Health(2),));
    let save = first.to_vec(&world).unwrap();
    assert_eq!((first.object(rat), first.entity(object)), (Some(object), Some(rat)));

    let (mut world, mut next) = (hecs::World::new(), worlds());
    world.spawn(());
    next.from_slice(&mut world, &save).unwrap();
    let rat = next.entity(object).unwrap();
    assert_eq!(world.get::<&Health>(rat).unwrap().0, 1);
    let again = next.to_vec(&world).unwrap();
    assert_eq!(again, save, "equal worlds have equal saves");
    assert_ne!(next.object(rat), first.object(cat));
}

#[test]
fn what_was_despawned_or_removed_is_not_in_the_next_save() {
    let mut world = hecs::World::new();
    let rat = world.spawn((Health(1), Mana { points: 1, source: Entity::DANGLING }));
    let cat = world.spawn((Health(2),));
    let mut worlds = worlds();
    assert_eq!(worlds.mirror(&world).unwrap().objects().len(), 2);
    world.despawn(cat).unwrap();
    // An entity that reuses the index of the cat is not the cat.
    world.spawn(("not saved",));
    world.remove_one::<Mana>(rat).unwrap();
    let mirror = worlds.mirror(&world).unwrap();
    assert_eq!(mirror.objects().len(), 1);
    assert_eq!(worlds.object(cat), None);
    let rat = worlds.object(rat).unwrap();
    assert_eq!(worlds.mirror_mut().classes(rat), ["Health"]);
}

#[test]
fn a_load_replaces_what_was_saved_and_leaves_the_rest() {
    let mut world = hecs::World::new();
    let mut worlds = worlds();
    let camera = world.spawn(("camera",));
    let rat = world.spawn((Health(1),));
    let save = worlds.to_vec(&world).unwrap();
    world.get::<&mut Health>(rat).unwrap().0 = 0;
    world.spawn((Health(5),)); // after the last save
    worlds.from_slice(&mut world, &save).unwrap();
    assert_eq!(health(&world), [1]);
    assert!(world.contains(camera) && !world.contains(rat));
    assert_eq!(world.len(), 2);
}

#[test]
fn slots_of_a_folder_are_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut worlds) = (hecs::World::new(), worlds());
    let slots = worlds.saves().slots(folder.path());
    world.spawn((Health(1),));
    worlds.save(&world, &slots.slot("quick")).unwrap();
    let list = slots.list().unwrap();
    assert_eq!((list.len(), &*list[0].name), (1, "quick"));
    world.clear();
    assert!(worlds.load(&mut world, &slots.slot("quick")).unwrap().is_clean());
    assert_eq!(health(&world), [1]);
    let error = worlds.load(&mut world, &slots.slot("no such")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(worlds.save(&world, &slots.slot("no/slot")).is_err());
}

#[test]
fn automatic_saves_rotate_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut worlds) = (hecs::World::new(), worlds());
    let slots = worlds.saves().slots(folder.path());
    let rat = world.spawn((Health(0),));
    for health in 1..=3 {
        world.get::<&mut Health>(rat).unwrap().0 = health;
        worlds.save_in_background(&world, &slots.auto(2)).unwrap().wait().unwrap();
    }
    assert_eq!(slots.list().unwrap().len(), 2);
    world.clear();
    worlds.load(&mut world, &slots.auto(2)).unwrap();
    assert_eq!(health(&world), [3]);
}

#[test]
fn the_info_belongs_to_one_save() {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut worlds) = (hecs::World::new(), worlds());
    world.spawn((Health(1),));
    let slots = worlds.saves().slots(folder.path());
    let info = SlotInfo::new("The Mill").thumbnail([1, 2]);
    worlds.save(&world, &slots.slot("a").info(info)).unwrap();
    worlds.save(&world, &slots.slot("b")).unwrap();
    // A loaded world does not keep the info of its save either.
    worlds.load(&mut world, &slots.slot("a")).unwrap();
    worlds.save(&world, &slots.slot("c")).unwrap();
    let list = slots.list().unwrap();
    let titles: Vec<_> = list.iter().map(|slot| (&*slot.name, &*slot.info.title)).collect();
    assert_eq!(titles, [("a", "The Mill"), ("b", ""), ("c", "")]);
    assert!(list.iter().all(|slot| slot.info.saved_at.is_some()));
}

#[test]
fn a_world_of_which_nothing_is_saved_replaces_no_save() {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut saved) = (hecs::World::new(), worlds());
    let slots = saved.saves().slots(folder.path());
    world.spawn((Health(1),));
    saved.save(&world, &slots.slot("a")).unwrap();

    // Four reasons: no type is registered, there is no entity, none passes the filter, or the game was cleared.
    let mut unregistered = WorldSaves::new();
    let mut filtered = worlds();
    filtered.set_filter(|_| false);
    let none = hecs::World::new();
    let slot = slots.slot("a");
    let mut errors = vec![
        unregistered.save(&world, &slot).unwrap_err(),
        unregistered.to_vec(&world).unwrap_err(),
        worlds().save(&none, &slot).unwrap_err(),
        worlds().save_in_background(&none, &slot).unwrap_err(),
        worlds().save(&none, &slots.auto(3)).unwrap_err(),
        filtered.save(&world, &slot).unwrap_err(),
    ];
    saved.clear(&mut world);
    errors.push(saved.save(&world, &slot).unwrap_err());
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::NoContent);
    }
    assert_eq!(slots.list().unwrap().len(), 1);
    saved.load(&mut world, &slot).unwrap();
    assert_eq!(health(&world), [1]);

    // The program may allow it. A resource alone is enough as well.
    worlds().allow_empty().save(&none, &slot).unwrap();
    let mut scored = worlds();
    scored.mirror_mut().insert_resource(Score(1)).unwrap();
    scored.save(&none, &slot).unwrap();
}

#[test]
fn what_a_load_would_refuse_is_not_saved() {
    #[derive(Persist, Clone)]
    #[persist(component, validate = Self::check)]
    struct Level(u32);

    impl Level {
        fn check(&self) -> Result<(), String> {
            if self.0 > 99 { Err(format!("there is no level {}", self.0)) } else { Ok(()) }
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let (mut world, mut worlds) = (hecs::World::new(), worlds());
    worlds.register::<Level>().unwrap();
    let slot = worlds.saves().file(folder.path().join("a.sav"));
    let rat = world.spawn((Level(1),));
    worlds.save(&world, &slot).unwrap();
    world.get::<&mut Level>(rat).unwrap().0 = 100;
    let errors = [
        worlds.save(&world, &slot).unwrap_err(),
        worlds.save_in_background(&world, &slot).unwrap_err(),
        worlds.to_vec(&world).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("there is no level 100"), "{error}");
    }
    worlds.load(&mut world, &slot).unwrap();
    assert_eq!(world.query::<&Level>().iter().next().unwrap().0, 1);
}

#[test]
fn a_slot_of_other_saves_loads_only_if_they_have_the_components() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sav");
    let (mut world, mut first) = (hecs::World::new(), worlds());
    world.spawn((Health(1),));
    first.save(&world, &first.saves().file(&path)).unwrap();
    let error = worlds().load(&mut world, &Saves::new().file(&path)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "the saves of this slot do not have component Health; make the slot from `WorldSaves::saves`, or from a clone"
    );
    assert_eq!(health(&world), [1]);
    let mut next = worlds();
    let clone = next.saves().clone().load_options(LoadOptions::new().clamp(true));
    next.load(&mut world, &clone.file(&path)).unwrap();
    assert_eq!(health(&world), [1]);
}

#[test]
fn a_loaded_world_does_not_replace_what_another_program_has_put_into_a_store() {
    let store = Arc::new(SlotFolder::new(Memory::default(), "saves"));
    let (mut world, mut first) = (hecs::World::new(), worlds());
    let slot = first.saves().store(store.clone()).slot("a");
    world.spawn((Health(1),));
    first.save(&world, &slot).unwrap();

    let (mut their_world, mut theirs) = (hecs::World::new(), worlds());
    let their_slot = theirs.saves().store(store).slot("a");
    theirs.load(&mut their_world, &their_slot).unwrap();
    their_world.spawn((Health(2),));
    theirs.save(&their_world, &their_slot).unwrap();
    let late = first.save(&world, &slot).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Conflict);
}

#[derive(Persist)]
struct Score(u32);

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
fn a_component_of_another_crate_is_saved_as_another_type() {
    let mut worlds = WorldSaves::new();
    worlds.register_as::<Percent, StoredPercent>().unwrap();
    let mut world = hecs::World::new();
    world.spawn((Percent(30),));
    let save = worlds.to_vec(&world).unwrap();
    worlds.from_slice(&mut world, &save).unwrap();
    assert_eq!(world.query::<&Percent>().iter().collect::<Vec<_>>(), [&Percent(30)]);
}

#[test]
fn a_refused_load_leaves_the_world_as_it_was() {
    let mut worlds = WorldSaves::new();
    worlds.register::<Health>().unwrap().register_as::<Percent, StoredPercent>().unwrap();
    let mut world = hecs::World::new();
    world.spawn((Percent(1), Health(1)));
    let bad = world.spawn((Percent(101), Health(2)));
    let save = worlds.to_vec(&world).unwrap();
    world.get::<&mut Percent>(bad).unwrap().0 = 50;

    let error = worlds.from_slice(&mut world, &save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(error.to_string(), "101 is more than 100 (object #2, class Percent)");
    assert_eq!(health(&world), [1, 2]);
    assert_eq!(world.len(), 2);
    assert_eq!(worlds.entity(ObjectId::new(2).unwrap()), Some(bad));
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
    let mut worlds = WorldSaves::new();
    let save = worlds.register::<old::Life>().unwrap().to_vec(&world).unwrap();

    let mut worlds = WorldSaves::new();
    let mut world = hecs::World::new();
    let report = worlds.register::<Vigour>().unwrap().from_slice(&mut world, &save).unwrap();
    assert!(!report.is_clean());
    let mut query = world.query::<&Vigour>();
    assert_eq!(query.iter().map(|vigour| (vigour.left, vigour.most)).collect::<Vec<_>>(), [(3, 9)]);
}

#[test]
fn resources_and_names_are_saved_beside_the_entities() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("level.sav");
    let mut world = hecs::World::new();
    let door = world.spawn((Health(7),));
    let mut first = worlds();
    first.mirror(&world).unwrap();
    let object = first.object(door).unwrap();
    first.mirror_mut().rename(object, "Door").unwrap();
    first.mirror_mut().insert_resource(Score(40)).unwrap();
    first.save(&world, &first.saves().file(&path)).unwrap();
    assert!(persist_tools::dump(&path).unwrap().contains("Door"));

    let mut next = worlds();
    next.saves().register_resource::<Score>().unwrap();
    next.load(&mut world, &next.saves().file(&path)).unwrap();
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
    let mut worlds = worlds();
    let error = worlds.register::<Shared>().unwrap().to_vec(&world).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn entities_that_a_filter_refuses_are_neither_saved_nor_replaced() {
    struct Ghost;

    let mut worlds = worlds();
    worlds.set_filter(|entity| !entity.has::<Ghost>());
    let mut world = hecs::World::new();
    let rat = world.spawn((Health(1),));
    let ghost = world.spawn((Health(2), Ghost));
    let save = worlds.to_vec(&world).unwrap();
    worlds.from_slice(&mut world, &save).unwrap();
    assert!(world.contains(ghost) && !world.contains(rat));
    assert_eq!(health(&world), [1, 2]);

    // An entity that no longer passes the filter is not saved, and a load leaves it unchanged.
    let rat = worlds.entity(ObjectId::new(1).unwrap()).unwrap();
    world.insert_one(rat, Ghost).unwrap();
    assert_eq!(worlds.mirror(&world).unwrap().objects().len(), 0);
    worlds.from_slice(&mut world, &save).unwrap();
    assert_eq!(health(&world), [1, 1, 2]);
}

/// Returns a save of the program with its mods, with a component and a resource that only the mods register.
fn save_with_mods() -> Vec<u8> {
    let mut world = hecs::World::new();
    world.spawn((Health(1), Mana { points: 1, source: Entity::DANGLING }));
    let mut worlds = worlds();
    worlds.mirror_mut().insert_resource(Score(40)).unwrap();
    worlds.to_vec(&world).unwrap()
}

/// Returns the data in a save that the program does not know without its mods.
fn of_mods(save: &[u8]) -> (usize, Option<u32>) {
    let (mut world, mut worlds) = (hecs::World::new(), worlds());
    worlds.saves().register_resource::<Score>().unwrap();
    worlds.from_slice(&mut world, save).unwrap();
    let score = worlds.mirror_mut().resource::<Score>().map(|score| score.0);
    (world.query::<&Mana>().iter().count(), score)
}

#[test]
fn a_new_game_has_nothing_of_the_one_that_was_loaded() {
    let save = save_with_mods();
    let (mut world, mut without) = (hecs::World::new(), without_mods());
    let camera = world.spawn(("camera",));
    without.from_slice(&mut world, &save).unwrap();
    assert_eq!(of_mods(&without.to_vec(&world).unwrap()), (1, Some(40)));
    without.clear(&mut world);
    assert_eq!((world.len(), world.contains(camera)), (1, true));
    world.spawn((Health(2),));
    let save = without.to_vec(&world).unwrap();
    assert_eq!(of_mods(&save), (0, None));
    let mut world = hecs::World::new();
    worlds().from_slice(&mut world, &save).unwrap();
    assert_eq!((health(&world), world.len()), (vec![2], 1));
}

#[test]
fn a_loaded_game_has_nothing_of_the_previous_one() {
    let (mut world, mut without) = (hecs::World::new(), without_mods());
    world.spawn((Health(2),));
    let other = without.to_vec(&world).unwrap();
    without.from_slice(&mut world, &save_with_mods()).unwrap();
    without.from_slice(&mut world, &other).unwrap();
    assert_eq!(of_mods(&without.to_vec(&world).unwrap()), (0, None));
    // A failed load changes nothing.
    without.from_slice(&mut world, &save_with_mods()).unwrap();
    without.from_slice(&mut world, &other[..other.len() - 1]).unwrap_err();
    assert_eq!(of_mods(&without.to_vec(&world).unwrap()), (1, Some(40)));
}

#[test]
fn each_lost_reference_is_a_warning_at_the_save_and_a_row_at_the_load() {
    let mut world = hecs::World::new();
    let [camera, lamp] = [(); 2].map(|()| world.spawn(()));
    let rat = world.spawn((Health(1),));
    world.spawn((Mana { points: 1, source: camera },));
    world.spawn((Mana { points: 2, source: Entity::DANGLING },));
    let grudges =
        [(camera, "dark"), (lamp, "bright"), (rat, "the cake"), (Entity::DANGLING, "all")];
    let grudges = grudges.map(|(whom, why)| (whom, why.to_owned())).into();
    world.spawn((Party { leader: rat, guest: None, members: vec![lamp, camera], grudges },));
    let mut worlds = worlds();
    let save = worlds.to_vec(&world).unwrap();
    let expected = [
        "dangling weak reference: Mana, leads to an entity that is not saved, 1 times, first in object #2",
        "dangling weak reference: Party, leads to an entity that is not saved, 1 times, first in object #4",
    ];
    let rows = |rows: &[ReportRow]| rows.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(rows(&worlds.warnings()), expected);
    assert_eq!(save, crate::saves::worlds().to_vec(&world).unwrap());

    let mut next = hecs::World::new();
    let report = crate::saves::worlds().from_slice(&mut next, &save).unwrap();
    assert_eq!(rows(report.rows()), expected);
    let mut query = next.query::<&Party>();
    let party = query.iter().next().unwrap();
    assert_eq!((party.grudges.len(), &*party.grudges[&Entity::DANGLING]), (4, "all"));
    let alive = party.grudges.keys().filter(|key| next.contains(**key)).count();
    assert_eq!(alive, 1);

    world.insert(camera, (Health(2),)).unwrap();
    world.insert(lamp, (Health(3),)).unwrap();
    let save = worlds.to_vec(&world).unwrap();
    assert_eq!(worlds.warnings(), []);
    let report = crate::saves::worlds().from_slice(&mut hecs::World::new(), &save).unwrap();
    assert!(report.is_clean());
}

#[test]
fn resources_refer_to_entities_by_the_ids_of_their_objects() {
    #[derive(Persist)]
    struct Leader(ObjectId);

    let mut world = hecs::World::new();
    let [rat, cat] = [1, 2].map(|health| world.spawn((Health(health),)));
    let mut first = worlds();
    first.mirror(&world).unwrap();
    let leader = Leader(first.object(cat).unwrap());
    first.mirror_mut().insert_resource(leader).unwrap();
    world.despawn(rat).unwrap();
    let save = first.to_vec(&world).unwrap();

    let (mut world, mut next) = (hecs::World::new(), worlds());
    next.saves().register_resource::<Leader>().unwrap();
    world.spawn(("before all others",));
    next.from_slice(&mut world, &save).unwrap();
    let leader = next.mirror_mut().resource::<Leader>().unwrap().0;
    let cat = next.entity(leader).unwrap();
    assert_eq!(world.get::<&Health>(cat).unwrap().0, 2);
    world.despawn(cat).unwrap();
    next.mirror(&world).unwrap();
    assert_eq!(next.entity(leader), None);
}

#[test]
fn a_level_of_persist_is_edited_with_undo_and_shown_by_hecs() {
    let folder = tempfile::tempdir().unwrap();
    let (level, journal) = (folder.path().join("a.sav"), folder.path().join("a.journal"));
    let open = |worlds: &WorldSaves| {
        let options = Session::with(worlds.saves().clone(), History::new(100));
        options.open(&level, &journal).unwrap().0
    };
    let show = |session: &Session, worlds: &mut WorldSaves, world: &mut hecs::World| {
        let level = worlds.saves().to_vec(session.world()).unwrap();
        worlds.from_slice(world, &level).unwrap();
    };
    let (mut world, mut worlds) = (hecs::World::new(), worlds());
    world.spawn(("a view",));
    let mut session = open(&worlds);
    let add = |edit: &mut Edit<'_, persist::World>| {
        let rat = edit.spawn("Rat")?;
        edit.attach(rat, Health(1))?;
        let cat = edit.spawn("Cat")?;
        edit.attach(cat, Mana { points: 1, source: entity::restore(rat).unwrap() })?;
        Ok((rat, cat))
    };
    let (rat, cat) = session.edit("Add", add).unwrap();
    show(&session, &mut worlds, &mut world);
    let [rat_entity, cat_entity] = [rat, cat].map(|object| worlds.entity(object).unwrap());
    assert_eq!(world.get::<&Mana>(cat_entity).unwrap().source, rat_entity);
    let hurt = |edit: &mut Edit<'_, persist::World>| {
        edit.get_mut::<Health>(rat)?.0 = 9;
        Ok(())
    };
    session.edit("Hurt", hurt).unwrap();
    show(&session, &mut worlds, &mut world);
    assert_eq!(health(&world), [9]);
    session.undo().unwrap();
    show(&session, &mut worlds, &mut world);
    assert_eq!(health(&world), [1]);
    drop(session); // a crash

    let mut session = open(&worlds);
    show(&session, &mut worlds, &mut world);
    assert_eq!((health(&world), world.len()), (vec![1], 3));
    session.undo().unwrap();
    show(&session, &mut worlds, &mut world);
    assert_eq!(world.len(), 1, "the view is there");
}

#[test]
fn two_components_cannot_be_saved_as_one_class() {
    #[derive(Debug)]
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

    let mut worlds = WorldSaves::new();
    worlds.register_as::<Percent, StoredPercent>().unwrap();
    let error = worlds.register_as::<Other, StoredPercent>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateId);
    assert!(
        error.to_string().starts_with("class Percent is that of `world::saves::Percent`"),
        "{error}"
    );
    worlds.register_as::<Percent, StoredPercent>().unwrap();
    let mut world = hecs::World::new();
    world.spawn((Percent(30),));
    world.spawn((Other(40),));
    let save = worlds.to_vec(&world).unwrap();
    worlds.from_slice(&mut world, &save).unwrap();
    assert_eq!(world.query::<&Percent>().iter().collect::<Vec<_>>(), [&Percent(30)]);
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

    let mut lock = Lock::new();
    let first = worlds().saves().registry();
    lock.update("1.0", &first).unwrap();
    assert!(lock.is_current("1.0", &first) && lock.compare(&first).is_current());

    let mut next = WorldSaves::new();
    next.register::<changed::Health>().unwrap();
    let report = lock.compare(&next.saves().registry());
    assert!(!report.loads());
    let report = report.to_string();
    assert!(report.contains("Health") && report.contains("Mana"), "{report}");
}

#[test]
fn a_damaged_save_is_replaced_by_its_backup_or_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let damage = |slot: &Slot| {
        let path = slot.path().unwrap();
        let mut save = fs::read(&path).unwrap();
        let end = save.len() - 3;
        save[end] ^= 1;
        fs::write(path, save).unwrap();
    };
    let (mut world, mut worlds) = (hecs::World::new(), worlds());
    let slots = worlds.saves().slots(folder.path());
    let [first, second] = ["a", "b"].map(|name| slots.slot(name));
    let rat = world.spawn((Health(1),));
    worlds.save(&world, &first).unwrap();
    world.get::<&mut Health>(rat).unwrap().0 = 2;
    worlds.save(&world, &first).unwrap();
    damage(&first);
    assert!(worlds.load(&mut world, &first).unwrap().recovery().is_some());
    assert_eq!(health(&world), [1]);

    // Without a backup, the player may ask for a salvage of the intact parts.
    worlds.save(&world, &second).unwrap();
    damage(&second);
    assert_eq!(worlds.load(&mut world, &second).unwrap_err().kind(), ErrorKind::Damaged);
    let salvage = LoadOptions::new().policy(LoadPolicy::Salvage);
    let slots = worlds.saves().clone().load_options(salvage).slots(folder.path());
    assert!(worlds.load(&mut world, &slots.slot("b")).unwrap().salvage().is_some());
    assert_eq!(health(&world), [1]);
}
