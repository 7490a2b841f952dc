//! `#[persist(default)]` on a struct: fields that a save does not have get their values from one whole value.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::Cell;
use std::fmt::Debug;

use persist::__private::Prototype;
use persist::codec::{Reflect, decode, decode_into};
use persist::save::LoadEvent;
use persist::{Error, ErrorKind, LoadOptions, Persist, Saves, World};

mod old {
    use persist::Persist;

    #[derive(Persist)]
    pub(super) struct Hero {
        pub(super) name: String,
    }

    #[derive(Persist)]
    pub(super) struct Pair(pub(super) u8);

    #[derive(Persist)]
    pub(super) struct Slot<T> {
        pub(super) item: T,
    }

    #[derive(Persist)]
    pub(super) struct Party {
        pub(super) heroes: Vec<Hero>,
        pub(super) leader: Option<Box<Hero>>,
    }

    #[derive(Persist)]
    #[persist(component)]
    pub(super) struct Health {
        pub(super) points: u32,
    }
}

#[derive(Persist, Debug, PartialEq, Clone)]
#[persist(default)]
struct Hero {
    name: String,
    level: u32,
    #[persist(default = 2.5)]
    speed: f32,
    /// Without a default of the struct it would be `None`.
    pet: Option<String>,
    #[persist(with = text)]
    flag: char,
    #[persist(compact)]
    coins: u64,
    #[persist(skip)]
    cache: Vec<u8>,
    #[persist(skip, default = 4)]
    own: u8,
}

impl Default for Hero {
    fn default() -> Self {
        Self {
            name: "nobody".into(),
            level: 7,
            speed: 1.0,
            pet: Some("Rex".into()),
            flag: 'h',
            coins: 300,
            cache: vec![1, 2],
            own: 1,
        }
    }
}

/// Stored as text.
mod text {
    pub(super) type Stored = String;

    pub(super) fn store(letter: &char) -> String {
        letter.to_string()
    }

    #[expect(clippy::needless_pass_by_value, reason = "the signature of a `with` module")]
    pub(super) fn restore(text: String) -> Result<char, &'static str> {
        text.chars().next().ok_or("no letter")
    }
}

#[derive(Persist, Debug, PartialEq)]
#[persist(default = Pair::new(5))]
struct Pair(u8, u16, #[persist(skip)] Vec<u8>);

impl Pair {
    fn new(first: u8) -> Self {
        Self(first, 600, vec![first])
    }
}

#[derive(Persist, Debug, PartialEq, Default)]
#[persist(default)]
struct Slot<T> {
    item: T,
    others: Vec<T>,
    count: u8,
}

#[derive(Persist, Debug, PartialEq)]
struct Party {
    heroes: Vec<Hero>,
    leader: Option<Box<Hero>>,
}

#[derive(Persist, Debug, PartialEq)]
#[persist(component, default)]
struct Health {
    points: u32,
    most: u32,
}

impl Default for Health {
    fn default() -> Self {
        Self { points: 1, most: 20 }
    }
}

/// What a program that has `T` makes of the save of a value, and the fields that got their defaults.
fn load<Then: Persist, T: Persist>(value: &Then) -> Result<(T, Vec<String>), Error> {
    let save = persist::to_vec(value)?;
    let loaded = Saves::new().from_slice::<T>(&save)?;
    let report = loaded.report().rows().iter();
    let defaulted = report.filter(|row| row.event == LoadEvent::Defaulted);
    let name = |field: &Option<String>| field.clone().unwrap_or_default();
    let rows = defaulted.map(|row| format!("{}.{}", row.class, name(&row.field))).collect();
    Ok((loaded.into_inner(), rows))
}

fn ada() -> Hero {
    Hero { name: "Ada".into(), speed: 2.5, own: 4, ..Hero::default() }
}

fn old_ada() -> old::Hero {
    old::Hero { name: "Ada".into() }
}

#[test]
fn missing_fields_get_the_values_of_the_default() {
    let (hero, defaulted) = load::<_, Hero>(&old_ada()).unwrap();
    assert_eq!(hero, ada());
    assert_eq!(defaulted, ["Hero.level", "Hero.speed", "Hero.pet", "Hero.flag", "Hero.coins"]);
    let (pair, defaulted) = load::<_, Pair>(&old::Pair(3)).unwrap();
    assert_eq!(pair, Pair(3, 600, vec![5]));
    assert_eq!(defaulted, ["Pair.1"]);
}

#[test]
fn a_save_that_has_all_fields_keeps_them() {
    let hero = Hero { level: 1, pet: None, flag: 'x', coins: 0, ..ada() };
    let (again, defaulted) = load::<_, Hero>(&hero).unwrap();
    assert_eq!(again, hero);
    assert!(defaulted.is_empty());
}

#[test]
fn a_generic_struct_has_a_default_if_its_arguments_do() {
    let (slot, defaulted) = load::<_, Slot<u32>>(&old::Slot { item: 8_u32 }).unwrap();
    assert_eq!(slot, Slot { item: 8, others: vec![], count: 0 });
    assert_eq!(defaulted, ["Slot<u32>.others", "Slot<u32>.count"]);
}

#[test]
fn structs_inside_of_others_get_their_own_defaults() {
    let old = old::Party {
        heroes: vec![old_ada(), old::Hero { name: "Bob".into() }],
        leader: Some(Box::new(old_ada())),
    };
    let (party, _) = load::<_, Party>(&old).unwrap();
    let bob = Hero { name: "Bob".into(), ..ada() };
    assert_eq!(party, Party { heroes: vec![ada(), bob], leader: Some(Box::new(ada())) });
}

#[test]
fn components_get_their_own_defaults() {
    let mut world = World::new();
    let rat = world.spawn_with("Rat", (old::Health { points: 3 },)).unwrap();
    let save = persist::to_vec(&world).unwrap();
    let saves = Saves::new();
    saves.register_component::<Health>().unwrap();
    let world = saves.from_slice::<World>(&save).unwrap().into_inner();
    let health = world.get::<Health>(rat).unwrap();
    assert_eq!(*health, Health { points: 3, most: 20 });
}

#[test]
fn skipped_fields_get_the_values_of_the_default() {
    let hero = Hero { cache: vec![9; 9], own: 9, ..ada() };
    let mut buffer = persist::codec::Buffer::new();
    let bytes = buffer.encode(&hero).unwrap().to_vec();
    let decoded: Hero = decode(&bytes).unwrap();
    assert_eq!((decoded.cache, decoded.own), (vec![1, 2], 4));
    // A load into a value leaves them as they are.
    let mut into = Hero { cache: vec![3], own: 3, ..ada() };
    decode_into(&mut into, &bytes).unwrap();
    assert_eq!((into.cache, into.own), (vec![3], 3));
}

#[test]
fn the_default_is_also_the_empty_value() {
    assert_eq!(Hero::CLASS.prototype, Prototype::Own);
    let empty = Hero::persist_empty(&persist::codec::Prototypes::bare()).unwrap();
    assert_eq!(empty, Hero { name: "nobody".into(), ..ada() });
}

#[test]
fn an_empty_value_gives_no_field_a_default() {
    #[derive(Persist, Debug)]
    #[persist(empty)]
    struct Hero {
        name: String,
        level: u32,
    }

    impl Default for Hero {
        fn default() -> Self {
            Self { name: String::new(), level: 7 }
        }
    }

    assert!(Hero::FIELDS.iter().all(|field| !field.has_default));
    let error = load::<_, Hero>(&old_ada()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingField);
    let saves = Saves::new().load_options(LoadOptions::new().fill(true));
    let hero =
        saves.from_slice::<Hero>(&persist::to_vec(&old_ada()).unwrap()).unwrap().into_inner();
    assert_eq!(hero.level, 0, "a field that is filled is made empty by itself");
}

#[test]
fn fields_of_a_type_that_implements_drop_are_not_moved_out_of_the_default() {
    thread_local! {
        static DROPPED: Cell<u32> = const { Cell::new(0) };
    }

    #[derive(Persist, Default)]
    #[persist(class = "Hero", default)]
    struct Guard {
        name: String,
        level: u32,
        #[persist(skip)]
        cache: Vec<u8>,
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            DROPPED.set(DROPPED.get() + 1);
        }
    }

    let (guard, _) = load::<_, Guard>(&old_ada()).unwrap();
    assert_eq!((&*guard.name, guard.level, guard.cache.len()), ("Ada", 0, 0));
    let before = DROPPED.get();
    drop(guard);
    assert_eq!(DROPPED.get(), before + 1);
}

#[test]
fn a_transparent_type_gets_its_skipped_fields_from_the_default() {
    #[derive(Persist, Debug, PartialEq)]
    #[persist(transparent, default)]
    struct Metres {
        length: f64,
        #[persist(skip)]
        unit: &'static str,
    }

    impl Default for Metres {
        fn default() -> Self {
            Self { length: 1.0, unit: "m" }
        }
    }

    let (metres, _) = load::<_, Metres>(&2.0_f64).unwrap();
    assert_eq!(metres, Metres { length: 2.0, unit: "m" });
}

#[test]
fn bytes_and_kind_are_those_without_a_default() {
    mod plain {
        #[derive(persist::Persist)]
        pub(super) struct Health {
            pub(super) points: u32,
            pub(super) most: u32,
        }
    }

    let plain = persist::to_vec(&plain::Health { points: 3, most: 4 }).unwrap();
    assert_eq!(persist::to_vec(&Health { points: 3, most: 4 }).unwrap(), plain);
}
