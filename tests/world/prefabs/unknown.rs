//! Components of classes that the program does not have.

use std::collections::{HashMap, HashSet};

use persist::save::SlotInfo;
use persist::world::{ExternalIds, Prefab};
use persist::{Component, ObjectId, Persist, Saves, World};

use super::{Locked, Target, dead};

/// Of a mod that may be switched off.
#[derive(Persist, Debug, PartialEq)]
struct Spell {
    caster: ObjectId,
    power: u64,
    victims: HashMap<ObjectId, Option<ObjectId>>,
    seen: HashSet<Option<ObjectId>>,
    rest: Locked,
}

impl Component for Spell {}

fn spell([a, b, out]: [ObjectId; 3], power: u64, kept: ObjectId) -> Spell {
    Spell {
        caster: a,
        power,
        victims: [(b, Some(a)), (out, Some(out)), (a, None)].into(),
        seen: [Some(b), Some(out), None].into(),
        rest: Locked::new(Target { whom: b, next: Some(kept) }),
    }
}

#[test]
fn their_ids_follow_and_they_go_to_the_next_save() {
    let folder = tempfile::tempdir().unwrap();
    let [prefab_path, path] = ["mage.prefab", "world.sav"].map(|name| folder.path().join(name));
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let mage = world.spawn("Mage");
    let wand = world.spawn_in(mage, "Wand").unwrap();
    let power = mage.get();
    world.attach(wand, Target { whom: mage, next: None }).unwrap();
    world.attach(wand, spell([mage, wand, ada], power, ada)).unwrap();
    Saves::new().file(&prefab_path).save(&world.prefab(mage).unwrap()).unwrap();

    // The mod is off: the shared object is kept, too, if its class is not registered.
    let saves = Saves::new();
    saves.register_component::<Target>().unwrap();
    let prefab = saves.file(&prefab_path).load::<Prefab>().unwrap();
    let mut world = World::new();
    let bob = world.spawn("Bob");
    let kept = world.instantiate(&prefab, ExternalIds::Keep).unwrap();
    let cleared = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    let wands = [kept, cleared].map(|mage| world.children(mage)[0]);
    assert_eq!(world.classes(wands[0]), ["Target", "Spell"]);
    // A prefab of what is kept is one of it, too.
    let again = world.prefab(cleared).unwrap();
    let third = world.instantiate(&again, ExternalIds::Clear).unwrap();
    world.set_parent(third, Some(bob)).unwrap();
    saves.file(&path).save(&world).unwrap();

    let saves = Saves::new();
    saves.register_component::<Target>().unwrap();
    saves.register_component::<Spell>().unwrap();
    let world = saves.file(&path).load::<World>().unwrap();
    assert!(world.report().is_clean(), "{}", world.report());
    for (mage, out, behind) in
        [(kept, bob, bob), (cleared, dead(ada), dead(ada)), (third, dead(ada), dead(ada))]
    {
        let wand = world.children(mage)[0];
        let found = world.get::<Spell>(wand).unwrap();
        assert_eq!(*found, spell([mage, wand, out], power, behind));
    }
}

mod wide {
    #[derive(persist::Persist, Clone)]
    #[persist(component)]
    pub(super) struct Lamp {
        pub(super) light: u32,
        pub(super) glow: u32,
    }
}

#[derive(Persist, Clone)]
#[persist(component)]
struct Lamp {
    light: u32,
}

/// A component has no place for a field that the program does not know.
#[test]
fn a_field_that_a_component_of_a_prefab_drops_is_a_row_of_the_report() {
    let mut world = World::new();
    let lamp = world.spawn("Lamp");
    world.attach(lamp, wide::Lamp { light: 1, glow: 2 }).unwrap();
    let save = persist::to_vec(&world.prefab(lamp).unwrap()).unwrap();
    let saves = Saves::new();
    saves.register_component::<Lamp>().unwrap();
    let prefab = saves.from_slice::<Prefab>(&save).unwrap();
    assert!(prefab.report().to_string().contains("glow"), "{}", prefab.report());
    let mut world = World::new();
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    assert_eq!(world.get::<Lamp>(copy).unwrap().light, 1);
}

#[test]
fn a_prefab_holds_nothing_of_other_objects_and_other_saves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mage.prefab");
    let mut world = World::new();
    let mage = world.spawn("Mage");
    let power = 7;
    world.attach(mage, spell([mage, mage, mage], power, mage)).unwrap();
    let info = SlotInfo::new("The mage of the mill").thumbnail([9; 20]);
    Saves::new().file(&path).info(info).save(&world.prefab(mage).unwrap()).unwrap();

    // The mod is off, and the program goes on with what it has loaded.
    let saves = Saves::new();
    saves.register_component::<Target>().unwrap();
    let prefab = saves.file(&path).load::<Prefab>().unwrap();
    let mut world = World::new();
    let mage = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    let rat = world.spawn("Rat");
    world.attach(rat, Target { whom: rat, next: None }).unwrap();
    let child = world.spawn_in(rat, "Tail").unwrap();
    let of_other = saves.to_vec(&world.prefab(rat).unwrap()).unwrap();
    world.set_parent(mage, Some(rat)).unwrap();
    let of_parent = saves.to_vec(&world.prefab(rat).unwrap()).unwrap();
    world.remove(mage);
    let again = saves.to_vec(&world.prefab(rat).unwrap()).unwrap();
    let holds = |save: &[u8], text: &str| save.windows(text.len()).any(|at| at == text.as_bytes());
    assert!(holds(&of_parent, "Spell"), "it goes with the object that it belongs to");
    assert!(of_other == again && world.children(rat) == [child]);
    for text in ["Spell", "power", "Mage", "The mage of the mill"] {
        assert!(!holds(&of_other, text), "{text}");
    }
    assert!(!holds(&of_parent, "The mage of the mill"));
}

#[test]
fn a_prefab_has_the_same_bytes_whatever_was_done_to_its_world() {
    let level = |is_busy: bool| {
        let mut world = World::new();
        let lamp = world.spawn("Lamp");
        world.attach(lamp, Lamp { light: 1 }).unwrap();
        let shade = world.spawn_in(lamp, "Shade").unwrap();
        if is_busy {
            world.set_parent(shade, None).unwrap();
            world.set_parent(shade, Some(lamp)).unwrap();
            world.rename(lamp, "Torch").unwrap();
            world.rename(lamp, "Lamp").unwrap();
            world.detach::<Lamp>(lamp);
            world.attach(lamp, Lamp { light: 1 }).unwrap();
        }
        world.prefab(lamp).unwrap().as_bytes().to_vec()
    };
    assert_eq!(level(true), level(false));
}
