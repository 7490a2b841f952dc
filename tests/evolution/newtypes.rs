//! Newtypes and tuple structs that come and go around a value, with code on what is inside.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "some fields are only saved; helpers are part of the tests"
)]

use std::fmt::Debug;

use persist::{Component, Persist, Record, SaveManager, Saves, Value, World};
use persist_tests::support::shared;

/// What becomes of a value in a newer program: as a value, as an object and as a component, which is one.
pub(crate) fn load<Old: Component + Persist + Clone, New: Component + Persist + Clone + Debug>(
    old: &Old,
) -> Result<New, String> {
    let text = |found: Result<&New, &str>| format!("{found:?}");
    let save = persist::to_vec(old).unwrap();
    let value = persist::from_slice::<New>(&save).map_err(|error| error.message().to_owned());
    let manager = SaveManager::new();
    manager.register::<New>().unwrap();
    let mut saving = SaveManager::new();
    saving.add(&shared(old.clone())).unwrap();
    let object = manager.from_slice(&saving.to_vec().unwrap());
    let object = object.map(|loaded| loaded.first::<New>().unwrap().borrow().clone());
    let object = object.map_err(|error| error.message().to_owned());
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, old.clone()).unwrap();
    let saves = Saves::new();
    saves.register_component::<New>().unwrap();
    let component = saves.from_slice::<World>(&persist::to_vec(&world).unwrap());
    let component = component.map(|world| world.get::<New>(ada).unwrap().clone());
    let component = component.map_err(|error| error.message().to_owned());
    let of = |found: &Result<New, String>| text(found.as_ref().map_err(String::as_str));
    assert_eq!(of(&value), of(&object));
    assert_eq!(of(&value), of(&component));
    value
}

/// What becomes of a value of the first version in the third: at once, and by way of the second.
macro_rules! chain {
    ($first:ty = $value:expr => $second:ty => $third:ty) => {{
        #[derive(Persist, Clone, Debug)]
        #[persist(class = "Purse", component)]
        struct First {
            money: $first,
        }
        #[derive(Persist, Clone, Debug)]
        #[persist(class = "Purse", component)]
        struct Second {
            money: $second,
        }
        #[derive(Persist, Clone, Debug)]
        #[persist(class = "Purse", component)]
        struct Third {
            money: $third,
        }
        let first = First { money: $value };
        let at_once = load::<First, Third>(&first).map(|it| format!("{:?}", it.money));
        let second = load::<First, Second>(&first);
        let stepwise = second.and_then(|second| load::<Second, Third>(&second));
        let stepwise = stepwise.map(|it| format!("{:?}", it.money));
        (at_once, stepwise)
    }};
}

/// Both ways are the same, or one is refused by name.
macro_rules! same {
    ($($first:ty = $value:expr => $second:ty => $third:ty, $wanted:expr;)*) => {$(
        let (at_once, stepwise) = chain!($first = $value => $second => $third);
        let what = stringify!($first => $second => $third);
        let wanted: Option<&str> = $wanted;
        match wanted {
            Some(wanted) => {
                assert_eq!(at_once.as_deref(), Ok(wanted), "{what}");
                assert_eq!(stepwise.as_deref(), Ok(wanted), "{what}");
            }
            None => assert!(at_once.is_err() || stepwise.is_err(), "{what}: {at_once:?} {stepwise:?}"),
        }
    )*};
}

fn to_gold(cents: u32) -> u64 {
    u64::from(cents / 100)
}

fn to_gold_same(cents: u64) -> u64 {
    cents / 100
}

fn migrated(gold: &mut Record, _: u32) {
    let cents = gold.get("0").and_then(Value::as_u64).unwrap();
    gold.set("0", cents / 100);
}

fn renamed(_: &mut Record, _: u32) {}

#[derive(Persist, Clone, Debug)]
#[persist(class = "Numbered")]
struct Numbered(#[persist(id = 1)] u32, #[persist(id = 2)] u32);
#[derive(Persist, Clone, Debug)]
#[persist(class = "Numbered")]
struct Renumbered(#[persist(id = 2)] u32, #[persist(id = 1)] u32);

mod v1 {
    use persist::Persist;

    #[derive(Persist, Clone, Debug)]
    pub(super) struct Gold(pub(super) u32);
    #[derive(Persist, Clone, Debug)]
    pub(super) struct Wide(pub(super) u64);
    #[derive(Persist, Clone, Debug)]
    pub(super) struct Pair(pub(super) u32, pub(super) u8);
    #[derive(Persist, Clone, Debug)]
    pub(super) struct Outer(pub(super) Gold);
    #[derive(Persist, Clone, Debug)]
    pub(super) enum Title {
        Duke,
        #[persist(alias = "Squire")]
        Knight,
    }
}

mod v2 {
    use persist::Persist;

    use super::{migrated, renamed, to_gold, to_gold_same};

    #[derive(Persist, Clone, Debug)]
    pub(super) struct Gold(#[persist(convert = to_gold)] pub(super) u64);
    #[derive(Persist, Clone, Debug)]
    #[persist(version = 2)]
    pub(super) struct Wide(#[persist(convert(1 = to_gold_same))] pub(super) u64);
    #[derive(Persist, Clone, Debug)]
    pub(super) struct Pair(#[persist(convert = to_gold)] pub(super) u64, pub(super) u8);
    #[derive(Persist, Clone, Debug)]
    pub(super) struct Outer(pub(super) Gold);
    #[derive(Persist, Clone, Debug)]
    #[persist(class = "Wide", version = 2, migrate(1 = migrated))]
    pub(super) struct Migrated(pub(super) u64);
    #[derive(Persist, Clone, Debug)]
    #[persist(version = 2, migrate(1 = renamed))]
    pub(super) enum Title {
        Duke,
        Knight,
    }
}

/// Wide money, which stands for itself too, so that the program still has its class.
#[derive(Persist, Clone, Debug)]
struct With<T: Persist> {
    money: u64,
    other: Option<T>,
}

#[test]
fn what_is_inside_of_a_newtype_is_converted_where_the_value_stood_without_it() {
    same! {
        u32 = 250 => v1::Gold => v2::Gold, Some("Gold(2)");
        Option<u32> = Some(250) => Option<v1::Gold> => Option<v2::Gold>, Some("Some(Gold(2))");
        Vec<u32> = vec![250] => Vec<v1::Gold> => Vec<v2::Gold>, Some("[Gold(2)]");
        u32 = 250 => v1::Gold => Option<v2::Gold>, Some("Some(Gold(2))");
        u32 = 250 => v1::Gold => Vec<v2::Gold>, Some("[Gold(2)]");
        Option<u32> = Some(250) => Option<v1::Gold> => v2::Gold, Some("Gold(2)");
        u32 = 250 => v1::Outer => v2::Outer, Some("Outer(Gold(2))");
        (u32, u8) = (250, 1) => v1::Pair => v2::Pair, Some("Pair(2, 1)");
        (u32,) = (250,) => v1::Gold => v2::Gold, Some("Gold(2)");
    }
}

#[test]
fn a_value_of_no_version_is_refused_where_the_class_around_it_has_two() {
    same! {
        u64 = 250 => v1::Wide => v2::Wide, None;
        u64 = 250 => v1::Wide => v2::Migrated, None;
        (u64,) = (250,) => v1::Wide => v2::Migrated, None;
        String = "Knight".to_owned() => v1::Title => v2::Title, None;
        u16 = 250 => v1::Gold => v2::Gold, None;
        u8 = 250 => u16 => v2::Gold, None;
        (u32, u32) = (1, 2) => Numbered => Renumbered, None;
        Numbered = Numbered(1, 2) => Renumbered => (u32, u32), None;
    }
    let (at_once, stepwise) = chain!(u64 = 250 => v1::Wide => v2::Wide);
    assert_eq!(stepwise.unwrap(), "Wide(2)");
    insta::assert_snapshot!(at_once.unwrap_err());
    let (at_once, _) = chain!(u16 = 250 => v1::Gold => v2::Gold);
    insta::assert_snapshot!("narrow", at_once.unwrap_err());
}

/// The program still has the class, and would have changed the value in it.
#[test]
fn a_value_does_not_leave_a_class_past_what_the_class_does_to_it() {
    fn refused<Old: Persist + Clone + Debug, New: Persist + Debug>(money: Old) -> String {
        #[derive(Persist, Clone)]
        #[persist(class = "Purse")]
        struct Before<T: Persist> {
            money: T,
        }
        #[derive(Persist, Debug)]
        #[persist(class = "Purse")]
        struct After<T: Persist> {
            money: u64,
            #[persist(default)]
            other: Vec<T>,
        }
        let save = persist::to_vec(&Before { money }).unwrap();
        persist::from_slice::<After<New>>(&save).unwrap_err().message().to_owned()
    }
    refused::<_, v2::Gold>(v1::Gold(250));
    refused::<_, v2::Wide>(v1::Wide(250));
    insta::assert_snapshot!(refused::<_, v2::Migrated>(v1::Wide(250)));
}

#[test]
fn a_migration_does_not_put_a_bare_value_where_records_are_migrated() {
    #[derive(Persist, Clone, Debug)]
    #[persist(class = "Purse", component)]
    struct Before {
        cents: u64,
    }
    #[derive(Persist, Clone, Debug)]
    #[persist(class = "Purse", component, version = 2, migrate(1 = bare))]
    struct After {
        money: v2::Migrated,
    }
    #[derive(Persist, Clone, Debug)]
    #[persist(class = "Purse", component, version = 2, migrate(1 = whole))]
    struct Whole {
        money: v2::Migrated,
    }
    fn bare(purse: &mut Record, _: u32) {
        let cents = purse.take("cents").unwrap();
        purse.set("money", cents);
    }
    fn whole(purse: &mut Record, _: u32) {
        let cents = purse.take("cents").unwrap();
        let mut wide = Record::new("Wide").at_version(1);
        wide.set("0", cents);
        purse.set("money", wide);
    }
    let before = Before { cents: 250 };
    insta::assert_snapshot!(load::<_, After>(&before).unwrap_err());
    assert_eq!(load::<_, Whole>(&before).unwrap().money.0, 2);
}
