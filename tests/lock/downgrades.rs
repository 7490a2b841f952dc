//! Players who go back: what the lock says of it is what the older program does.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use persist::{Persist, Record};
use persist_tests::support::registry;
use persist_tools::__private::check_downgrades;
use persist_tools::lock::Lock;

/// Types of one class.
macro_rules! purses {
    ($($(#[$attribute:meta])* $name:ident { $($fields:tt)* })*) => {
        $(
            #[derive(Persist)]
            #[persist(class = "Purse")]
            $(#[$attribute])*
            struct $name { $($fields)* }
        )*
    };
}

fn to_gold(cents: u64) -> u32 {
    u32::try_from(cents / 100).unwrap_or(u32::MAX)
}

fn in_minutes(purse: &mut Record, _: u32) {
    if let Some(seconds) = purse.get("time").and_then(persist::Value::as_u64) {
        purse.set("time", u32::try_from(seconds / 60).unwrap());
    }
}

fn in_tenths(purse: &mut Record, _: u32) {
    if let Some(gold) = purse.get("gold").and_then(persist::Value::as_u64) {
        purse.set("gold", gold.saturating_mul(10));
    }
}

fn into_coins(purse: &mut Record, _: u32) {
    if let Some(gold) = purse.take("gold") {
        purse.set("coins", gold);
    }
}

mod seconds {
    pub(super) type Stored = u32;
    pub(super) fn store(time: &u64) -> u32 {
        u32::try_from(*time).unwrap_or(u32::MAX)
    }
    pub(super) fn restore(seconds: u32) -> Result<u64, std::convert::Infallible> {
        Ok(seconds.into())
    }
}

mod minutes {
    pub(super) type Stored = u32;
    pub(super) fn store(time: &u64) -> u32 {
        u32::try_from(*time / 60).unwrap_or(u32::MAX)
    }
    pub(super) fn restore(minutes: u32) -> Result<u64, std::convert::Infallible> {
        Ok(u64::from(minutes) * 60)
    }
}

purses! {
    Cents { money: u64 }
    Gold { #[persist(convert = to_gold)] money: u32 }
    #[persist(version = 2, since = 2)]
    GoldSince { #[persist(convert = to_gold)] money: u32 }
    Hp { #[persist(default = 1)] hp: u32 }
    HpNeeded { hp: u32 }
    Health { #[persist(alias = "hp")] health: u32 }
    HealthMore { #[persist(alias = "hp")] health: u32, #[persist(default)] more: u8 }
    Whole { gold: u64 }
    #[persist(version = 2, migrate(1 = in_tenths))]
    Tenths { gold: u64 }
    WholeOptional { #[persist(default)] gold: u64 }
    #[persist(version = 2, migrate(1 = into_coins))]
    Coins { coins: u64 }
    Seconds { #[persist(with = seconds)] time: u64 }
    #[persist(version = 2, migrate(1 = in_minutes))]
    Minutes { #[persist(with = minutes)] time: u64 }
}

#[derive(Persist)]
struct Coins32(#[persist(convert = to_gold)] u32);

#[derive(Persist)]
struct Time(#[persist(with = minutes)] u64);

#[derive(Persist)]
#[persist(transparent)]
struct OfSeconds(#[persist(with = seconds)] u64);

purses! {
    GoldAround { money: Coins32 }
    MinutesAround { time: Time }
    OfType { time: OfSeconds }
    Number { time: u32 }
    #[persist(version = 2, migrate(1 = in_minutes))]
    MinutesSince { #[persist(with = minutes)] time: u64 }
}

/// What the lock says, and what the older program makes of a save of the newer one.
fn back<Old: Persist, New: Persist>(
    value: &New,
    look: fn(&Old) -> u64,
) -> (Result<String, String>, Result<u64, String>) {
    let folder = tempfile::tempdir().unwrap();
    let mut lock = Lock::new();
    lock.update("0.1.0", &registry::<Old>()).unwrap();
    lock.save(folder.path().join("persist.lock")).unwrap();
    let checked = check_downgrades(folder.path(), "0.2.0", &registry::<New>());
    let said = checked.map(|it| it.to_string()).map_err(|error| error.to_string());
    let save = persist::to_vec(value).unwrap();
    let read = persist::from_slice::<Old>(&save);
    (said, read.map(|old| look(&old)).map_err(|error| format!("{:?}", error.kind())))
}

#[test]
fn a_program_that_would_guess_fails_the_test_with_the_attribute_by_which_it_refuses() {
    let (said, read) = back::<Cents, Gold>(&Gold { money: 250 }, |it| it.money);
    assert_eq!(read.unwrap(), 250, "it takes gold for cents");
    insta::assert_snapshot!("unit", said.unwrap_err());
    let (said, read) = back::<Cents, GoldSince>(&GoldSince { money: 250 }, |it| it.money);
    assert_eq!(read.unwrap_err(), "NewerFormat");
    insta::assert_snapshot!("since", said.unwrap());

    // What stands inside of a newtype, or on the type of a field, is code of the field.
    let (said, read) =
        back::<Cents, GoldAround>(&GoldAround { money: Coins32(250) }, |it| it.money);
    assert_eq!(read.unwrap(), 250, "it takes gold for cents");
    insta::assert_snapshot!("inside", said.unwrap_err());
    let around = MinutesAround { time: Time(120) };
    let (said, read) = back::<Number, _>(&around, |it| it.time.into());
    assert_eq!(read.unwrap(), 2, "it takes minutes for a number");
    assert!(said.is_ok(), "which the lock cannot know: {said:?}");
    let (said, read) = back::<OfType, MinutesSince>(&MinutesSince { time: 120 }, |it| it.time.0);
    assert_eq!(read.unwrap(), 2, "it takes minutes for seconds");
    insta::assert_snapshot!("type", said.unwrap_err());

    let (said, read) = back::<Whole, Tenths>(&Tenths { gold: 70 }, |it| it.gold);
    assert_eq!(read.unwrap(), 70, "it takes tenths for whole ones");
    insta::assert_snapshot!("migrated", said.unwrap_err());
    let (said, read) = back::<Seconds, Minutes>(&Minutes { time: 120 }, |it| it.time);
    assert_eq!(read.unwrap(), 2, "it takes minutes for seconds");
    insta::assert_snapshot!("module", said.unwrap_err());
}

#[test]
fn a_program_that_reads_or_refuses_passes() {
    let (said, read) = back::<Hp, Health>(&Health { health: 77 }, |it| it.hp.into());
    assert_eq!(read.unwrap(), 1, "its default, beside which the value is kept");
    assert!(said.unwrap().contains("players may go back to the locked versions"));
    let (said, read) = back::<HpNeeded, Health>(&Health { health: 77 }, |it| it.hp.into());
    assert_eq!(read.unwrap_err(), "MissingField");
    insta::assert_snapshot!("needed", said.unwrap());
    let value = HealthMore { health: 77, more: 1 };
    assert!(back::<Health, HealthMore>(&value, |it| it.health.into()).0.is_ok());
    // It finds none of its fields.
    let (said, read) = back::<WholeOptional, Coins>(&Coins { coins: 7 }, |it| it.gold);
    assert_eq!(read.unwrap(), 0);
    assert!(said.is_ok(), "{said:?}");
}
