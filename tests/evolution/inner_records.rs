//! Steps of `migrate` that read records inside of their own, whose own steps and converts come later. A save that skipped
//! a version and one that went through it give the same, or the load refuses the step by name.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "some fields are only saved; helpers are part of the tests"
)]

use persist::{Persist, Record, Value};

use crate::newtypes::load;

mod v1 {
    use persist::Persist;

    /// Cents.
    #[derive(Persist, Clone, Debug, PartialEq)]
    pub(super) struct Gold {
        pub(super) amount: u64,
    }

    #[derive(Persist, Clone, Debug, PartialEq)]
    pub(super) struct Narrow(pub(super) u32);

    #[derive(Persist, Clone, Debug, PartialEq)]
    pub(super) enum Title {
        Duke,
        Knight,
    }
}

mod migrated {
    use persist::{Persist, Record, Value};

    #[derive(Persist, Clone, Debug, PartialEq)]
    #[persist(version = 2, migrate(1 = to_gold))]
    pub(super) struct Gold {
        pub(super) amount: u64,
    }

    fn to_gold(gold: &mut Record, _: u32) {
        let cents = gold.get("amount").and_then(Value::as_u64).unwrap();
        gold.set("amount", cents / 100);
    }

    #[derive(Persist, Clone, Debug, PartialEq)]
    #[persist(version = 2, migrate(1 = swap))]
    pub(super) enum Title {
        Duke,
        Knight,
    }

    fn swap(title: &mut Record, _: u32) {
        title.set_variant(if title.variant() == Some("Duke") { "Knight" } else { "Duke" });
    }
}

mod converted {
    use persist::Persist;

    #[derive(Persist, Clone, Debug, PartialEq)]
    #[persist(version = 2)]
    pub(super) struct Gold {
        #[persist(convert(1 = to_gold))]
        pub(super) amount: u64,
    }

    fn to_gold(cents: u64) -> u64 {
        cents / 100
    }

    #[derive(Persist, Clone, Debug, PartialEq)]
    pub(super) struct Narrow(#[persist(convert = from_narrow)] pub(super) u64);

    fn from_narrow(cents: u32) -> u64 {
        u64::from(cents / 100)
    }
}

mod versioned {
    use persist::Persist;

    #[derive(Persist, Clone, Debug, PartialEq)]
    #[persist(version = 2)]
    pub(super) struct Narrow(#[persist(convert(1 = from_narrow))] pub(super) u64);

    fn from_narrow(cents: u32) -> u64 {
        u64::from(cents / 100)
    }
}

/// The hero that holds a purse, and the one whose `migrate` looks into the purse: what a save of the first becomes in the
/// last at once, and by way of a version that had the new purse already.
macro_rules! read {
    ($step:ident: $purse:ty = $value:expr => $new:ty) => {{
        #[derive(Persist, Clone, Debug)]
        #[persist(class = "Hero", component)]
        struct First {
            purse: $purse,
        }
        #[derive(Persist, Clone, Debug)]
        #[persist(class = "Hero", component)]
        struct Second {
            purse: $new,
        }
        #[derive(Persist, Clone, Debug, PartialEq)]
        #[persist(class = "Hero", component, version = 2, migrate(1 = $step))]
        struct Third {
            #[persist(default)]
            gold: u64,
            #[persist(default)]
            purse: Option<$new>,
        }
        let first = First { purse: $value };
        let at_once = load::<First, Third>(&first);
        let second = load::<First, Second>(&first).unwrap();
        (at_once, load::<Second, Third>(&second))
    }};
}

fn purse(hero: &mut Record) -> Record {
    match hero.take("purse") {
        Some(Value::Struct(purse) | Value::Enum(purse)) => purse,
        other => panic!("{other:?}"),
    }
}

/// Expects the amount of a purse of the newest version.
fn by_get(hero: &mut Record, _: u32) {
    let purse = purse(hero);
    hero.set("gold", purse.get("amount").cloned().unwrap());
}

fn by_take(hero: &mut Record, _: u32) {
    let mut purse = purse(hero);
    let amount = purse.take("amount").unwrap();
    hero.set("gold", amount);
}

fn by_copy(hero: &mut Record, _: u32) {
    let purse = hero.get("purse").and_then(Value::as_record).unwrap().clone();
    let amount = purse.fields().next().unwrap().1.clone();
    hero.set("gold", amount);
}

fn by_comparison(hero: &mut Record, _: u32) {
    let mut empty = Record::new("Gold");
    empty.set("amount", 2u64);
    let is_two = hero.get("purse") == Some(&Value::from(empty));
    hero.set("gold", u64::from(is_two));
}

fn by_text(hero: &mut Record, _: u32) {
    let text = hero.get("purse").unwrap().to_string();
    hero.set("gold", text.len() as u64);
}

fn by_change(hero: &mut Record, _: u32) {
    let mut purse = purse(hero);
    purse.set("amount", 300u64);
    hero.set("purse", Value::Option(Some(Box::new(purse.into()))));
}

fn by_first(hero: &mut Record, _: u32) {
    let purse = purse(hero);
    hero.set("gold", purse.get("0").cloned().unwrap());
}

fn by_variant(hero: &mut Record, _: u32) {
    let title = purse(hero);
    hero.set("gold", u64::from(title.variant() == Some("Duke")));
}

fn by_version(hero: &mut Record, _: u32) {
    let purse = purse(hero);
    let amount = purse.get("amount").or_else(|| purse.get("0")).and_then(Value::as_u64).unwrap();
    hero.set("gold", if purse.version() == 1 { amount / 100 } else { amount });
}

fn whole(hero: &mut Record, _: u32) {
    let purse = hero.take("purse").unwrap();
    hero.set("purse", Value::Option(Some(Box::new(purse))));
}

fn dropped(hero: &mut Record, _: u32) {
    hero.take("purse");
}

const CENTS: v1::Gold = v1::Gold { amount: 250 };

#[test]
fn a_step_that_reads_an_older_record_without_asking_for_its_version_is_refused() {
    macro_rules! refused {
        ($($step:ident)*) => {$(
            for (at_once, stepwise) in [
                {
                    let (at_once, stepwise) = read!($step: v1::Gold = CENTS => migrated::Gold);
                    (at_once.map(drop), stepwise.map(drop))
                },
                {
                    let (at_once, stepwise) = read!($step: v1::Gold = CENTS => converted::Gold);
                    (at_once.map(drop), stepwise.map(drop))
                },
            ] {
                let message = at_once.unwrap_err();
                assert!(message.contains("reads a Gold of version 1"), "{}: {message}", stringify!($step));
                if stringify!($step) != "by_change" {
                    stepwise.unwrap();
                }
            }
        )*};
    }
    refused! { by_get by_take by_copy by_comparison by_text by_change }
    let (at_once, _) = read!(by_get: v1::Gold = CENTS => migrated::Gold);
    insta::assert_snapshot!(at_once.unwrap_err());
    let (at_once, stepwise) = read!(by_variant: v1::Title = v1::Title::Duke => migrated::Title);
    assert!(at_once.is_err());
    assert_eq!(stepwise.unwrap().gold, 0);
}

#[test]
fn a_step_that_asks_for_the_version_reads_each_as_what_it_is() {
    let (at_once, stepwise) = read!(by_version: v1::Gold = CENTS => migrated::Gold);
    assert_eq!((at_once.unwrap().gold, stepwise.unwrap().gold), (2, 2));
    let (at_once, stepwise) = read!(by_version: v1::Gold = CENTS => converted::Gold);
    assert_eq!((at_once.unwrap().gold, stepwise.unwrap().gold), (2, 2));
    let narrow = v1::Narrow(250);
    let (at_once, stepwise) = read!(by_version: v1::Narrow = narrow => versioned::Narrow);
    assert_eq!((at_once.unwrap().gold, stepwise.unwrap().gold), (2, 2));
}

#[test]
fn a_record_that_is_moved_whole_is_migrated_by_its_own_class() {
    macro_rules! same {
        ($($new:ty, $expected:expr;)*) => {$(
            let (at_once, stepwise) = read!(whole: v1::Gold = CENTS => $new);
            assert_eq!(at_once.unwrap().purse.unwrap(), $expected);
            assert_eq!(stepwise.unwrap().purse.unwrap(), $expected);
            let (at_once, stepwise) = read!(dropped: v1::Gold = CENTS => $new);
            assert_eq!(at_once.unwrap().purse, None);
            assert_eq!(stepwise.unwrap().purse, None);
        )*};
    }
    same! {
        migrated::Gold, migrated::Gold { amount: 2 };
        converted::Gold, converted::Gold { amount: 2 };
    }
}

/// No version tells cents and gold apart.
#[test]
fn a_step_that_reads_a_record_with_a_convert_of_no_version_is_refused() {
    let (at_once, stepwise) = read!(by_first: v1::Narrow = v1::Narrow(250) => converted::Narrow);
    assert_eq!(stepwise.unwrap().gold, 2);
    insta::assert_snapshot!(at_once.unwrap_err());
    let (at_once, _) = read!(by_version: v1::Narrow = v1::Narrow(250) => converted::Narrow);
    at_once.unwrap_err();
}

/// A tree, whose nodes migrate themselves.
#[test]
fn a_record_of_the_class_that_is_migrated_is_another_one() {
    #[derive(Persist, Clone, Debug)]
    #[persist(class = "Node", component)]
    struct Old {
        cents: u64,
        children: Vec<Old>,
    }
    #[derive(Persist, Clone, Debug, PartialEq)]
    #[persist(class = "Node", component, version = 2, migrate(1 = step))]
    struct New {
        gold: u64,
        children: Vec<New>,
    }
    #[derive(Persist, Clone, Debug)]
    #[persist(class = "Node", component, version = 2, migrate(1 = sum))]
    struct Sum {
        gold: u64,
        children: Vec<Sum>,
    }
    fn step(node: &mut Record, _: u32) {
        let cents = node.take("cents").and_then(|cents| cents.as_u64()).unwrap();
        node.set("gold", cents / 100);
    }
    fn sum(node: &mut Record, version: u32) {
        step(node, version);
        let children = node.get("children").and_then(Value::as_seq).unwrap();
        let first = children.first().and_then(Value::as_record);
        let found = first.and_then(|child| child.get("cents")).and_then(Value::as_u64);
        let _ = found;
    }
    let leaf = Old { cents: 700, children: Vec::new() };
    let root = Old { cents: 250, children: vec![leaf.clone(), leaf] };
    let leaf = New { gold: 7, children: Vec::new() };
    assert_eq!(load::<Old, New>(&root), Ok(New { gold: 2, children: vec![leaf.clone(), leaf] }));
    let message = load::<Old, Sum>(&root).unwrap_err();
    assert!(message.contains("reads a Node of version 1"), "{message}");
}

/// The step was written for amounts that stood by themselves, or for those in the newtype.
#[test]
fn a_bare_value_that_a_newtype_converts_is_not_read_before() {
    fn plus(hero: &mut Record, _: u32) {
        if let Some(gold) = hero.get("gold").and_then(Value::as_u64) {
            hero.set("gold", gold + 100);
        }
    }
    fn none(_: &mut Record, _: u32) {}
    fn first(hero: &mut Record, _: u32) {
        let gold = hero.get("gold").and_then(Value::as_seq).unwrap();
        let gold = gold.first().and_then(Value::as_u64).unwrap();
        hero.set("gold", Value::Seq(vec![gold.into()]));
    }
    macro_rules! load {
        ($step:ident: $old:ty = $value:expr => $new:ty) => {{
            #[derive(Persist, Clone, Debug)]
            #[persist(class = "Hero", component)]
            struct First {
                gold: $old,
            }
            #[derive(Persist, Clone, Debug)]
            #[persist(class = "Hero", component, version = 2, migrate(1 = $step))]
            struct Third {
                gold: $new,
            }
            load::<First, Third>(&First { gold: $value }).map(|it| it.gold)
        }};
    }
    use converted::Narrow;
    assert_eq!(load!(none: u32 = 250 => Narrow), Ok(Narrow(2)));
    insta::assert_snapshot!(load!(plus: u32 = 250 => Narrow).unwrap_err());
    load!(plus: Option<u32> = Some(250) => Option<Narrow>).unwrap_err();
    load!(first: Vec<u32> = vec![250] => Vec<Narrow>).unwrap_err();
    load!(plus: u32 = 250 => Option<Narrow>).unwrap_err();
    // The cure: the field says which version stored it so, and the step comes before or after.
    fn from_bare(cents: u32) -> Narrow {
        Narrow(u64::from(cents / 100))
    }
    fn plus_bare(hero: &mut Record, _: u32) {
        let cents = hero.get("gold").and_then(Value::as_u64).unwrap();
        hero.set("gold", u32::try_from(cents + 100).unwrap());
    }
    #[derive(Persist, Clone)]
    #[persist(class = "Hero", component)]
    struct First {
        gold: u32,
    }
    #[derive(Persist, Clone, Debug)]
    #[persist(class = "Hero", component, version = 3, migrate(1 = plus_bare, 2 = none))]
    struct Third {
        #[persist(convert(2 = from_bare))]
        gold: Narrow,
    }
    assert_eq!(load::<First, Third>(&First { gold: 250 }).map(|it| it.gold), Ok(Narrow(3)));
}
