//! Many saves by one `Saves`: it remembers the schemas that it has seen, and nothing shows of it but the time.

#![allow(clippy::unwrap_used, reason = "helpers")]

use std::collections::BTreeMap;

use persist::{Limits, LoadOptions, Persist, SaveManager, Saves};
use persist_tests::support::forge::{self, Forged, Item as Part};
use persist_tests::support::{Shared, shared};

#[persist::dynamic]
trait Item {}

/// A value whose classes are found out while it is written.
#[derive(Persist)]
struct Bag {
    items: Vec<Box<dyn Item>>,
}

#[derive(Persist)]
struct Sword {
    name: String,
}

#[derive(Persist)]
struct Potion {
    strength: u64,
    names: Vec<String>,
}

impl Item for Sword {}

impl Item for Potion {}

mod first {
    #[derive(persist::Persist)]
    #[persist(class = "many.Hero")]
    pub(super) struct Hero {
        pub(super) hp: u16,
        pub(super) name: String,
    }
}

mod second {
    #[derive(persist::Persist)]
    #[persist(class = "many.Hero")]
    pub(super) struct Hero {
        pub(super) name: String,
        pub(super) level: u64,
        pub(super) hp: u64,
    }
}

/// The hero of today.
#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "many.Hero")]
struct Hero {
    name: String,
    hp: u32,
    #[persist(default = 1)]
    level: u32,
}

#[derive(Persist)]
struct Pet {
    name: String,
    owner: Option<Shared<Hero>>,
}

fn named(name: &str) -> String {
    name.to_owned()
}

/// One hero, by the program of today and by two earlier ones.
fn of_three_programs(name: &str) -> [Vec<u8>; 3] {
    let save = [
        persist::to_vec(&Hero { name: named(name), hp: 7, level: 3 }),
        persist::to_vec(&first::Hero { hp: 7, name: named(name) }),
        persist::to_vec(&second::Hero { name: named(name), level: 3, hp: 7 }),
    ];
    save.map(|save| save.unwrap())
}

/// What a load says, with its report.
fn outcome(saves: &Saves, save: &[u8]) -> String {
    match saves.from_slice::<Hero>(save) {
        Ok(hero) => format!("{:?}\n{}", *hero, hero.report()),
        Err(error) => format!("{error:?}\n{error}"),
    }
}

fn objects(saves: &Saves, save: &[u8]) -> String {
    match saves.from_slice::<SaveManager>(save) {
        Ok(loaded) => loaded.report().to_string(),
        Err(error) => format!("{error:?}\n{error}"),
    }
}

#[test]
fn saves_of_several_programs_load_in_any_order() {
    let saves = Saves::new();
    let mut order = [0, 1, 2, 0, 0, 2, 2, 1, 1, 0].into_iter().cycle();
    for i in 0..40 {
        let save = &of_three_programs(&format!("hero {i}"))[order.next().unwrap()];
        assert_eq!(outcome(&saves, save), outcome(&Saves::new(), save));
    }
}

#[test]
fn a_schema_that_differs_in_one_byte_is_another() {
    let [today, before, _] = of_three_programs("Ada");
    for save in [today, before] {
        let saves = Saves::new();
        outcome(&saves, &save);
        let mut parts = Forged::parse(&save);
        let at = parts.items.iter().position(|item| matches!(item, Part::Definition(_))).unwrap();
        for byte in 0..parts.items[at].content().len() {
            for bit in [1, 0x40] {
                parts.items[at].content()[byte] ^= bit;
                let other = parts.build();
                let expected = outcome(&Saves::new(), &other);
                assert_eq!(outcome(&saves, &other), expected, "byte {byte}");
                parts.items[at].content()[byte] ^= bit;
                assert!(outcome(&saves, &save).starts_with("Hero"));
            }
        }
    }
}

#[test]
fn a_damaged_save_gives_the_same_error_after_a_whole_one() {
    let save = &of_three_programs("Ada")[1];
    let saves = Saves::new();
    for byte in 0..save.len() {
        outcome(&saves, save);
        let mut damaged = save.clone();
        damaged[byte] ^= 0x10;
        let mut made = damaged.clone();
        forge::restamp(&mut made);
        for damaged in [&damaged, &made, &save[..byte].to_vec()] {
            let expected = outcome(&Saves::new(), damaged);
            assert_eq!(outcome(&saves, damaged), expected, "byte {byte}");
        }
    }
}

#[test]
fn a_class_that_is_registered_after_a_load_is_known_in_the_next() {
    let hero = shared(Hero { name: named("Ada"), hp: 7, level: 3 });
    let mut writer = SaveManager::new();
    writer.add(&shared(Pet { name: named("Rex"), owner: Some(hero) })).unwrap();
    let save = writer.to_vec().unwrap();

    let saves = Saves::new();
    let load = || saves.from_slice::<SaveManager>(&save).unwrap();
    assert!(load().first::<Pet>().is_err());
    saves.register::<Hero>().unwrap();
    assert_eq!(load().iter::<Hero>().count(), 1);
    saves.register::<Pet>().unwrap();
    let loaded = load();
    let pet = loaded.first::<Pet>().unwrap();
    assert_eq!(pet.borrow().name, "Rex");
    assert_eq!(pet.borrow().owner.as_ref().unwrap().borrow().level, 3);
    // Other saves have classes of their own.
    assert!(Saves::new().from_slice::<SaveManager>(&save).unwrap().first::<Pet>().is_err());
}

#[test]
fn limits_and_options_that_change_between_loads_hold() {
    let name = "x".repeat(300);
    let field = forge::class(&name, &[("at", &[3])]);
    let save = forge::save(&[field, forge::record(1, forge::ADDED, 1, &[7])]);
    let saves = Saves::new();
    let low = Limits::new().text(299);
    let drop = LoadOptions::new().drop_unknown(true);
    for (limits, options) in [
        (Limits::DEFAULT, LoadOptions::default()),
        (low, LoadOptions::default()),
        (Limits::DEFAULT, drop),
        (Limits::DEFAULT, LoadOptions::default()),
    ] {
        // What has been seen is shared with the clone.
        let [saves, other] =
            [saves.clone(), Saves::new()].map(|saves| saves.limits(limits).load_options(options));
        assert_eq!(objects(&saves, &save), objects(&other, &save));
        assert_eq!(saves.from_slice::<SaveManager>(&save).is_err(), limits == low);
    }
}

#[test]
fn the_memory_for_schemas_that_were_seen_is_bounded() {
    let save = |i: u32, fields: u32| {
        let names: Vec<String> = (0..fields).map(|field| format!("field {field} of {i}")).collect();
        let fields: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &[3][..])).collect();
        let class = forge::class(&format!("class {i}"), &fields);
        forge::save(&[class, forge::record(1, forge::ADDED, 1, &vec![0; fields.len()])])
    };
    let saves = Saves::new();
    for (count, fields) in [(400, 100), (20, 20_000)] {
        let saved: Vec<Vec<u8>> = (0..count).map(|i| save(i, fields)).collect();
        let used = allocation_counter::measure(|| {
            for save in &saved {
                assert!(saves.from_slice::<SaveManager>(save).is_ok());
            }
        });
        // All of them would take more than ten times as much.
        assert!(used.bytes_current < 2 << 20, "{} bytes stay", used.bytes_current);
    }
}

#[test]
fn saves_are_the_same_whatever_was_saved_and_registered_before() {
    let hero = |i: u32| Hero { name: format!("hero {i}"), hp: i, level: 1 };
    let by_name =
        |i: u32| BTreeMap::from([(named("first"), hero(i)), (named("second"), hero(i + 1))]);
    let saves = Saves::new();
    for i in 0..4 {
        assert_eq!(saves.to_vec(&hero(i)).unwrap(), persist::to_vec(&hero(i)).unwrap());
        assert_eq!(saves.to_vec(&by_name(i)).unwrap(), persist::to_vec(&by_name(i)).unwrap());
        assert_eq!(saves.to_vec(&vec![i]).unwrap(), persist::to_vec(&vec![i]).unwrap());
        let loaded = saves.from_slice::<Vec<u32>>(&persist::to_vec(&vec![i]).unwrap()).unwrap();
        assert_eq!(*loaded, [i]);
        if i == 1 {
            saves.register::<Pet>().unwrap();
        }
    }
    let pet = || shared(Pet { name: named("Rex"), owner: Some(shared(hero(9))) });
    let (mut manager, mut other) = (saves.manager(), SaveManager::new());
    for manager in [&mut manager, &mut other] {
        manager.add(&pet()).unwrap();
        manager.add(&shared(hero(5))).unwrap();
    }
    assert_eq!(manager.to_vec().unwrap(), other.to_vec().unwrap());
    assert_eq!(manager.to_vec().unwrap(), other.to_vec().unwrap());
}

/// Large saves in memory are encoded where they stay, from the third one on.
#[test]
fn a_large_save_has_the_same_bytes_each_time() {
    let bag = |count: u32| {
        let item = |i: u32| match i % 3 {
            0 => Box::new(Sword { name: format!("sword {i}") }) as Box<dyn Item>,
            _ => Box::new(Potion { strength: 7, names: vec![named("healing"); 3] }),
        };
        Bag { items: (0..count).map(item).collect() }
    };
    let heroes = |count: u32| -> Vec<Hero> {
        (0..count).map(|i| Hero { name: format!("hero {i}"), hp: i, level: 1 }).collect()
    };
    let with_items = || {
        let saves = Saves::new();
        saves.register_as::<Sword, dyn Item>().unwrap();
        saves.register_as::<Potion, dyn Item>().unwrap();
        saves
    };
    let saves = with_items();
    for count in [9000, 9000, 9000, 9001, 9200, 30_000, 20, 20_000, 20_000, 0, 9000, 9000, 9000] {
        let expected = with_items().to_vec(&bag(count)).unwrap();
        assert_eq!(saves.to_vec(&bag(count)).unwrap(), expected);
        let loaded = saves.from_slice::<Bag>(&expected).unwrap();
        assert_eq!(loaded.items.len(), count as usize);
        let save = saves.to_vec(&heroes(count)).unwrap();
        assert_eq!(save, with_items().to_vec(&heroes(count)).unwrap());
        assert!(save.capacity() <= save.len() * 4 + 8);
    }
    // Many blocks, one of which begins with the definition of a class that a trait object has.
    let mut objects: Vec<Shared<Bag>> = (0..3000).map(|_| shared(bag(0))).collect();
    objects.extend((1000..1010).map(|count| shared(bag(count))));
    let [mut manager, mut other] = [with_items(), with_items()].map(|saves| saves.manager());
    for object in &objects {
        manager.add(object).unwrap();
        other.add(object).unwrap();
    }
    let expected = other.to_vec().unwrap();
    for _ in 0..4 {
        assert_eq!(manager.to_vec().unwrap(), expected);
    }
    // What is over the limit of a save is refused as before.
    let within = |bytes| manager.saves().clone().limits(Limits::new().bytes(bytes));
    let refused = within(expected.len() as u64 - 1).to_vec(&manager).unwrap_err();
    assert_eq!(refused.kind(), persist::ErrorKind::TooLarge);
    assert_eq!(within(expected.len() as u64).to_vec(&manager).unwrap(), expected);
}
