//! Prefabs in files, also in those of older programs.

use persist::save::Compression;
use persist::world::{ExternalIds, Prefab};
use persist::{Component, ErrorKind, ObjectId, Persist, SaveOptions, Saves, World};
use persist_tools::Document;

use super::Target;

#[derive(Persist)]
#[persist(class = "Door")]
struct OldDoor {
    leads: ObjectId,
    locked: bool,
}

#[derive(Persist, Debug, PartialEq)]
struct Door {
    #[persist(default = 3)]
    strength: u16,
    #[persist(alias = "leads")]
    to: Option<ObjectId>,
    locked: bool,
}

impl Component for OldDoor {}
impl Component for Door {}

fn old_house() -> (World, ObjectId) {
    let mut world = World::new();
    world.spawn("Ada");
    let house = world.spawn("House");
    let door = world.spawn_in(house, "Door").unwrap();
    world.attach(house, OldDoor { leads: door, locked: true }).unwrap();
    world.attach(door, Target { whom: house, next: None }).unwrap();
    (world, house)
}

#[test]
fn an_older_prefab_loads_with_the_types_of_today() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("house.prefab");
    let (world, house) = old_house();
    Saves::new().file(&path).save(&world.prefab(house).unwrap()).unwrap();
    let saves = Saves::new();
    saves.register_component::<Door>().unwrap();
    saves.register_component::<Target>().unwrap();
    let prefab = saves.file(&path).load::<Prefab>().unwrap();
    let mut world = World::new();
    for _ in 0..2 {
        let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
        let inner = world.children(copy)[0];
        let expected = Door { strength: 3, to: Some(inner), locked: true };
        assert_eq!(world.get::<Door>(copy), Some(&expected));
        assert_eq!(world.get::<Target>(inner), Some(&Target { whom: copy, next: None }));
    }
}

#[test]
fn the_file_is_a_save_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("house.prefab");
    let (world, house) = old_house();
    let prefab = world.prefab(house).unwrap();
    let saves = Saves::new().save_options(SaveOptions::new().compression(Compression::Lz4));
    saves.file(&path).save(&prefab).unwrap();
    saves.file(&path).save(&prefab).unwrap();
    assert!(path.with_extension("prefab.bak").exists(), "it has a backup");
    assert!(persist_tools::dump(&path).unwrap().contains("House"));

    saves.register_component::<OldDoor>().unwrap();
    saves.register_component::<Target>().unwrap();
    let world = saves.file(&path).load::<World>().unwrap().into_inner();
    assert_eq!(world.objects().collect::<Vec<_>>(), world.subtree(house));
    let loaded = saves.file(&path).load::<Prefab>().unwrap();
    // But for the time in the header of the file.
    let root = |save: &[u8]| Document::from_slice(save).unwrap().root().cloned();
    assert_eq!(root(loaded.as_bytes()), root(prefab.as_bytes()));
    // A damaged file is replaced by its backup.
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(saves.file(&path).load::<Prefab>().unwrap().object_count(), 2);
}

#[derive(Persist)]
struct Score(u32);

#[test]
fn a_world_with_one_object_at_the_top_is_a_prefab_without_its_resources() {
    let saves = Saves::new();
    let mut level = World::new();
    let top = level.spawn("Level");
    level.spawn_in(top, "Orc").unwrap();
    level.insert_resource(Score(9)).unwrap();
    saves.register_resource::<Score>().unwrap();
    saves.register_component::<Target>().unwrap();
    let prefab = saves.to_vec(&level).and_then(|save| saves.from_slice::<Prefab>(&save)).unwrap();
    // Nor does it bring classes that it has no component of.
    assert!(format!("{prefab:?}").contains("components: []"), "{prefab:?}");
    let mut world = World::new();
    world.insert_resource(Score(1)).unwrap();
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    assert_eq!(world.children(copy).len(), 1);
    assert_eq!(world.resource::<Score>().map(|score| score.0), Some(1));

    for count in [0, 2] {
        let mut level = World::new();
        for _ in 0..count {
            level.spawn("Orc");
        }
        let save = saves.to_vec(&level).unwrap();
        let error = saves.from_slice::<Prefab>(&save).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        assert!(error.message().contains(&format!("{count} objects at the top")), "{error}");
    }
}
