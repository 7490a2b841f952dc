//! Changes that are safe and were not called so, or whose row named no way out, or one that does not work.

use std::num::{NonZeroU32, NonZeroU64};

use persist::{Record, Value};
use persist_tools::lock::Verdict;

use super::{bad, load, report};

versions! {
    old_hero {
        pub(super) struct Party { heroes: Vec<Hero> }
        pub(super) struct Hero { hp: u32, name: String, mood: Mood }
        pub(super) enum Mood { Calm, Angry { since: u32 } }
    }
    knight {
        pub(super) struct Party { heroes: Vec<Knight> }
        #[persist(alias = "Hero", removed = "hp")]
        pub(super) struct Knight { name: String, mood: Temper }
        #[persist(alias = "Mood")]
        pub(super) enum Temper { Calm, #[persist(removed = "since")] Angry {} }
    }
    changed_hero {
        #[persist(version = 2, migrate(1 = changes_heroes))]
        pub(super) struct Party { heroes: Vec<Hero> }
        #[persist(removed = "hp")]
        pub(super) struct Hero { name: String, mood: Mood }
        pub(super) enum Mood { Calm, #[persist(removed = "since")] Angry {} }
    }
    changed_knight {
        #[persist(version = 2, migrate(1 = changes_heroes))]
        pub(super) struct Party { heroes: Vec<Knight> }
        #[persist(alias = "Hero", removed = "hp")]
        pub(super) struct Knight { name: String, mood: Mood }
        #[persist(removed = "Angry")]
        pub(super) enum Mood { Calm, #[persist(other)] Other }
    }
}

fn changes_heroes(party: &mut Record, _: u32) {
    let Some(Value::Seq(heroes)) = party.get_mut("heroes") else { panic!("there are heroes") };
    for hero in heroes.iter_mut().filter_map(Value::as_record_mut) {
        hero.set("name", "changed");
    }
}

/// A row was *safe*, and the next one *loses*, of the same field.
#[test]
fn what_is_removed_is_accepted_under_every_name_of_the_class() {
    let renamed = report::<old_hero::Party, knight::Party>();
    assert!(renamed.loads(), "{renamed}");
    let changed = report::<old_hero::Party, changed_hero::Party>();
    assert!(changed.loads(), "{changed}");
    let both = report::<old_hero::Party, changed_knight::Party>();
    assert!(both.loads(), "{both}");
}

versions! {
    non_zero {
        pub(super) struct Hero { a: NonZeroU32, b: NonZeroU32, c: NonZeroU32, d: NonZeroU32 }
    }
    non_zero_elsewhere {
        pub(super) struct Hero { a: Option<NonZeroU32>, b: Vec<NonZeroU32>, c: Id, d: NonZeroU64 }
        pub(super) struct Id(NonZeroU32);
    }
    non_zero_narrower {
        pub(super) struct Hero { a: Option<std::num::NonZeroU16>, b: NonZeroU32, c: NonZeroU32, d: NonZeroU32 }
    }
}

#[test]
fn a_zero_that_cannot_have_been_stored_breaks_nothing() {
    let wider = report::<non_zero::Hero, non_zero_elsewhere::Hero>();
    assert!(wider.loads(), "{wider}");
    insta::assert_snapshot!(wider.to_string());
    let narrower = report::<non_zero::Hero, non_zero_narrower::Hero>();
    assert_eq!(bad(&narrower), ["breaks: Hero.a"], "{narrower}");
}

versions! {
    with_pet {
        pub(super) struct Hero { name: String, pet: Vec<bool>, gone: u8 }
        pub(super) struct Band { heroes: Vec<Hero> }
    }
    with_unlike {
        pub(super) struct Hero { name: String, gone: u8, #[persist(default)] until: f64 }
    }
    with_like {
        pub(super) struct Hero { name: String, pet: Vec<bool>, #[persist(default)] level: u8 }
    }
    with_like_looked_at {
        #[persist(version = 2, migrate(1 = looks_at_gone))]
        pub(super) struct Hero { name: String, pet: Vec<bool>, #[persist(default)] level: u8 }
    }
    with_like_ignored {
        #[persist(version = 2, migrate(1 = looks_at_name))]
        pub(super) struct Hero { name: String, pet: Vec<bool>, #[persist(default)] level: u8 }
    }
    band_looked_at {
        #[persist(version = 2, migrate(1 = looks_at_gone))]
        pub(super) struct Hero { name: String, pet: Vec<bool>, #[persist(default)] level: u8 }
        pub(super) struct Band { heroes: Vec<Hero> }
    }
}

versions! {
    band_with_room {
        #[persist(version = 2, migrate(1 = looks_at_gone))]
        pub(super) struct Hero {
            name: String,
            pet: Vec<bool>,
            #[persist(default)] level: u8,
            #[persist(unknown)] rest: persist::Unknown,
        }
        pub(super) struct Band { heroes: Vec<Hero> }
    }
}

fn looks_at_gone(hero: &mut Record, _: u32) {
    let _ = hero.get("gone");
}

fn looks_at_name(hero: &mut Record, _: u32) {
    let _ = hero.get("name");
}

/// The only way out was `removed`, which drops the old value.
#[test]
fn a_field_that_went_when_an_unrelated_one_came_can_be_kept() {
    let unlike = report::<with_pet::Hero, with_unlike::Hero>();
    assert!(unlike.loads(), "{unlike}");
    let like = report::<with_pet::Hero, with_like::Hero>();
    assert_eq!(bad(&like), ["loses: Hero.gone"], "{like}");
    insta::assert_snapshot!(like.to_string());
    let kept = report::<with_pet::Hero, with_like_looked_at::Hero>();
    assert!(kept.loads(), "{kept}");
    assert!(kept.to_string().contains("its old values are kept as unknown"), "{kept}");
    let ignored = report::<with_pet::Hero, with_like_ignored::Hero>();
    assert_eq!(bad(&ignored), ["loses: Hero.gone"], "{ignored}");
    // Of a value nothing is kept without a field for it.
    let band = report::<with_pet::Band, band_looked_at::Band>();
    assert_eq!(bad(&band), ["loses: Hero.gone"], "{band}");
    assert!(band.to_string().contains("in a field `#[persist(unknown)]`"), "{band}");
    let room = report::<with_pet::Band, band_with_room::Band>();
    assert!(room.loads(), "{room}");
}

versions! {
    seconds_left {
        pub(super) struct Spell { left: u8 }
    }
    until_when {
        pub(super) struct Spell { until: u64 }
    }
    until_when_by_default {
        pub(super) struct Spell { #[persist(default)] until: u64 }
    }
    until_when_mended {
        pub(super) struct Spell { #[persist(alias = "left", convert = to_until)] until: u64 }
    }
    lefts {
        pub(super) struct Spell { lefts: u64 }
    }
}

fn to_until(left: u8) -> u64 {
    1000 + u64::from(left)
}

#[test]
fn an_alias_is_proposed_for_near_names_and_equal_kinds_alone() {
    let until = report::<seconds_left::Spell, until_when::Spell>();
    assert_eq!(bad(&until), ["needs default: Spell.until"], "{until}");
    insta::assert_snapshot!(until.to_string());
    let default = report::<seconds_left::Spell, until_when_by_default::Spell>();
    insta::assert_snapshot!(default.to_string());
    assert!(report::<seconds_left::Spell, until_when_mended::Spell>().loads());
    let near = report::<seconds_left::Spell, lefts::Spell>();
    assert_eq!(bad(&near), ["needs alias: Spell.lefts"], "{near}");
}

versions! {
    polygon {
        pub(super) struct Map { zone: Option<Polygon>, other: Polygon }
        pub(super) struct Polygon { points: Vec<(i32, i32)> }
    }
    zone {
        pub(super) struct Map { zone: Option<Zone>, other: Polygon }
        pub(super) struct Polygon { points: Vec<(i32, i32)> }
        pub(super) struct Zone { outline: Polygon, #[persist(default)] name: String }
    }
    zone_converted {
        pub(super) struct Map { #[persist(convert = to_zone)] zone: Option<Zone>, other: Polygon }
        pub(super) struct Polygon { points: Vec<(i32, i32)> }
        pub(super) struct Zone { pub(super) outline: Polygon, #[persist(default)] pub(super) name: String }
    }
}

fn to_zone(old: Option<zone_converted::Polygon>) -> Option<zone_converted::Zone> {
    old.map(|outline| zone_converted::Zone { outline, name: String::new() })
}

#[test]
fn no_alias_is_proposed_of_a_class_that_is_still_there() {
    let report = report::<polygon::Map, zone::Map>();
    assert_eq!(bad(&report), ["breaks: Map.zone"], "{report}");
    assert!(!report.to_string().contains("alias"), "{report}");
    insta::assert_snapshot!(report.to_string());
    assert_eq!(load::<polygon::Map, zone_converted::Map>(), Ok(()));
}

#[derive(Debug, Default)]
pub(super) struct Metres(u64);

impl From<&Metres> for u64 {
    fn from(metres: &Metres) -> Self {
        metres.0
    }
}

impl From<u64> for Metres {
    fn from(stored: u64) -> Self {
        Self(stored)
    }
}

versions! {
    bare_numbers {
        pub(super) struct Hero { way: u32, gold: u32, level: u32 }
    }
    with_units {
        pub(super) struct Hero { #[persist(via = "u64")] way: Metres, gold: Cents, level: u64 }
        pub(super) struct Cents(u32);
    }
    with_units_said {
        pub(super) struct Hero { #[persist(via = "u64", convert(as u32))] way: Metres, gold: Cents, level: u64 }
        pub(super) struct Cents(u32);
    }
}

#[test]
fn a_change_that_may_be_one_of_the_unit_has_a_hint() {
    let report = report::<bare_numbers::Hero, with_units::Hero>();
    assert_eq!(bad(&report), ["breaks: Hero.way"], "{report}");
    insta::assert_snapshot!(report.to_string());
    let report = super::report::<bare_numbers::Hero, with_units_said::Hero>();
    assert!(report.loads(), "{report}");
    assert!(report.differences().iter().all(|found| found.verdict == Verdict::Safe), "{report}");
    insta::assert_snapshot!(report.to_string());
}
