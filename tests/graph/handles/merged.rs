//! Arenas of other crates, and levels that are merged into a running game.

use std::collections::HashMap;

use hecs::{Entity, World};
use persist::save::{LoadEvent, Remap, UnmappedHandle};
use persist::{Arena, Handle, Persist, Saves};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};

/// The entities of a hecs world.
struct Entities;

impl Arena for Entities {
    type Key = Entity;
    const NAME: &'static str = "entities";

    fn to_bits(entity: Entity) -> u64 {
        entity.to_bits().get()
    }

    fn from_bits(bits: u64) -> Option<Entity> {
        Entity::from_bits(bits)
    }
}

/// The things of a slot map.
pub(crate) struct Slots;

impl Arena for Slots {
    type Key = DefaultKey;
    const NAME: &'static str = "props";

    fn to_bits(key: DefaultKey) -> u64 {
        key.data().as_ffi()
    }

    fn from_bits(bits: u64) -> Option<DefaultKey> {
        Some(KeyData::from_ffi(bits).into())
    }
}

#[derive(Persist, Debug, Clone, PartialEq)]
struct Prop {
    name: String,
    on: Handle<Slots>,
}

/// A saved slot map: its keys and values.
#[derive(Persist)]
struct Room {
    props: Vec<(Handle<Slots>, Prop)>,
    door: Handle<Slots>,
}

fn prop(name: &str, on: Handle<Slots>) -> Prop {
    Prop { name: name.into(), on }
}

/// A room in whose map generations have passed: a lamp on a table, a door, and a
/// cup on something that is gone.
fn room() -> (SlotMap<DefaultKey, Prop>, Room) {
    let mut map = SlotMap::new();
    for _ in 0..3 {
        let key = map.insert(prop("dust", Handle::null()));
        map.remove(key);
    }
    let table = map.insert(prop("table", Handle::null()));
    let lamp = map.insert(prop("lamp", Handle::new(table)));
    let gone = map.insert(prop("gone", Handle::null()));
    map.insert(prop("cup", Handle::new(gone)));
    map.remove(gone);
    let door = map.insert(prop("door", Handle::new(lamp)));
    let props = map.iter().map(|(key, prop)| (Handle::new(key), prop.clone())).collect();
    (map, Room { props, door: Handle::new(door) })
}

#[test]
fn slotmap_keys_come_back() {
    let (map, room) = room();
    let room: Room = persist::from_slice(&persist::to_vec(&room).unwrap()).unwrap();
    assert_eq!(map[room.door.key().unwrap()].name, "door");
    for (handle, prop) in &room.props {
        assert_eq!(map.get(handle.key().unwrap()), Some(prop));
    }
    // Its null key is a key like any other here.
    let null = Handle::<Slots>::new(DefaultKey::null());
    let null: Handle<Slots> = persist::from_slice(&persist::to_vec(&null).unwrap()).unwrap();
    assert_eq!(null.key(), Some(DefaultKey::null()));
}

#[test]
fn a_slotmap_is_merged_into_another() {
    let (_, room) = room();
    let save = persist::to_vec(&room).unwrap();
    let mut game: SlotMap<DefaultKey, Prop> = SlotMap::new();
    let dragon = game.insert(prop("dragon", Handle::null()));

    // Which props there are: then a place for each, in the running game.
    let found = Saves::new().from_slice::<Room>(&save).unwrap().into_inner();
    let empty = || prop("", Handle::null());
    let keys: HashMap<DefaultKey, DefaultKey> = found
        .props
        .iter()
        .filter_map(|(handle, _)| handle.key())
        .map(|old| (old, game.insert(empty())))
        .collect();
    let mut remap = Remap::new();
    remap.arena::<Slots>(UnmappedHandle::Dead, |old| keys.get(&old).copied());
    let loaded = remap.from_slice::<Room>(&Saves::new(), &save).unwrap();
    let report = loaded.report().clone();
    let room = loaded.into_inner();
    for (handle, prop) in room.props {
        game[handle.key().unwrap()] = prop;
    }

    assert_eq!(game.len(), 5);
    assert_eq!(game[dragon].name, "dragon");
    let door = &game[room.door.key().unwrap()];
    let lamp = &game[door.on.key().unwrap()];
    assert_eq!((&*door.name, &*lamp.name), ("door", "lamp"));
    assert_eq!(game[lamp.on.key().unwrap()].name, "table");
    let cup = game.values().find(|prop| prop.name == "cup").unwrap();
    assert!(cup.on.is_dead() && cup.on.key().is_none());
    let findings = report.rows();
    assert_eq!((findings.len(), findings[0].event, findings[0].count), (1, LoadEvent::Dead, 1));

    // Another save of the game, in another run: it is dead for ever.
    let again: Vec<Prop> = game.values().cloned().collect();
    let again: Vec<Prop> = persist::from_slice(&persist::to_vec(&again).unwrap()).unwrap();
    assert_eq!(again.iter().filter(|prop| prop.on.is_dead()).count(), 1);
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Monster {
    name: String,
    target: Handle<Entities>,
    damage_by: HashMap<Handle<Entities>, u32>,
}

/// A level: the entities of a world and what they are.
#[derive(Persist)]
struct Level {
    monsters: HashMap<Handle<Entities>, Monster>,
    boss: Option<Handle<Entities>>,
}

fn monster(name: &str) -> Monster {
    Monster { name: name.into(), target: Handle::null(), damage_by: HashMap::new() }
}

/// The orc hates the elf, the elf one that is gone; both were hit by each other.
fn level(with_a_ghost: bool) -> Vec<u8> {
    let mut world = World::new();
    let orc = world.spawn((monster("orc"),));
    let gone = world.spawn((monster("gone"),));
    world.despawn(gone).unwrap();
    let elf = world.spawn((monster("elf"),));
    let target = [elf, if with_a_ghost { gone } else { orc }].map(Handle::new);
    for (i, entity) in [orc, elf].into_iter().enumerate() {
        let mut monster = world.get::<&mut Monster>(entity).unwrap();
        monster.target = target[i];
        monster.damage_by = [(Handle::new(orc), 3), (Handle::new(elf), 4)].into();
    }
    let monsters = world
        .query::<(Entity, &Monster)>()
        .iter()
        .map(|(entity, monster)| (Handle::new(entity), monster.clone()))
        .collect();
    persist::to_vec(&Level { monsters, boss: Some(Handle::new(orc)) }).unwrap()
}

/// A game that runs, and an entity of it.
fn game() -> (World, Entity) {
    let mut world = World::new();
    let hero = world.spawn((monster("hero"),));
    (world, hero)
}

type Merged = (Entity, persist::save::LoadReport);

/// Merges a level into the world: its boss, and the report.
fn merge(world: &mut World, save: &[u8], missing: UnmappedHandle) -> persist::Result<Merged> {
    let saves = Saves::new();
    let plain = saves.from_slice::<Level>(save)?.into_inner();
    let entities: HashMap<Entity, Entity> = plain
        .monsters
        .keys()
        .filter_map(Handle::key)
        .map(|old| (old, world.reserve_entity()))
        .collect();
    world.flush();
    let mut remap = Remap::new();
    remap.arena::<Entities>(missing, |old| entities.get(&old).copied());
    let loaded = remap.from_slice::<Level>(&saves, save)?;
    let report = loaded.report().clone();
    let level = loaded.into_inner();
    for (handle, monster) in level.monsters {
        world.insert_one(handle.key().unwrap(), monster).unwrap();
    }
    Ok((level.boss.and_then(|boss| boss.key()).unwrap(), report))
}

/// The monsters that it leads through, from the boss.
fn chase(world: &World, boss: Entity) -> (String, String, Handle<Entities>) {
    let orc = world.get::<&Monster>(boss).unwrap();
    let elf = world.get::<&Monster>(orc.target.key().unwrap()).unwrap();
    for monster in [&orc, &elf] {
        assert_eq!(monster.damage_by[&Handle::new(boss)], 3);
        assert_eq!(monster.damage_by[&orc.target], 4);
    }
    (orc.name.clone(), elf.name.clone(), elf.target)
}

#[test]
fn a_level_is_merged_into_a_world_of_entities() {
    let (mut world, hero) = game();
    let save = level(false);
    // Twice: a prefab may come many times.
    let (first, report) = merge(&mut world, &save, UnmappedHandle::Error).unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.remapped(), 9);
    let (second, _) = merge(&mut world, &save, UnmappedHandle::Error).unwrap();
    assert_ne!(first, second);
    for boss in [first, second] {
        let (orc, elf, target) = chase(&world, boss);
        assert_eq!((&*orc, &*elf, target), ("orc", "elf", Handle::new(boss)));
    }
    assert_eq!(*world.get::<&Monster>(hero).unwrap(), monster("hero"));
    assert_eq!(world.len(), 5);
}

#[test]
fn an_entity_that_is_gone_becomes_null_or_dead_or_an_error() {
    let save = level(true);
    let (mut world, _) = game();
    let (boss, report) = merge(&mut world, &save, UnmappedHandle::Null).unwrap();
    assert!(chase(&world, boss).2.is_null());
    assert_eq!(report.rows()[0].event, LoadEvent::Nulled);
    let (boss, report) = merge(&mut world, &save, UnmappedHandle::Dead).unwrap();
    let ghost = chase(&world, boss).2;
    assert!(ghost.is_dead());
    assert_eq!(report.rows()[0].event, LoadEvent::Dead);
    // Even where an entity of the game has that very number.
    let old = Entity::from_bits(ghost.dead_bits().unwrap()).unwrap();
    world.spawn_at(old, (monster("another"),));
    assert_eq!((ghost.key(), ghost == Handle::new(old)), (None, false));
    let error = merge(&mut world, &save, UnmappedHandle::Error).map(drop).unwrap_err();
    assert_eq!(error.kind(), persist::ErrorKind::MissingObject);
    assert!(error.field().is_some_and(|field| field.ends_with(".target")), "{error}");
    assert!(error.message().contains("into arena entities"), "{error}");
}
