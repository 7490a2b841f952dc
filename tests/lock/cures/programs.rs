//! Programs before and after a change that the lock does not accept, and programs that are mended by hand.
//!
//! A comment `todo: ..` stands for what a developer writes into the function that the lock prints.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use persist::Persist;

use super::sources;

sources! {
    renamed {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub hp: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub health: u32 }
        }
    }
    renamed_default {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub hp: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] pub health: u32 }
        }
        kept {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = look))]
            pub struct Hero { pub name: String, #[persist(default)] pub health: u32 }
            fn look(record: &mut persist::Record, _from: u32) { let _ = record.get("hp"); }
        }
    }
    renamed_kind {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub hp: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            // todo: old.to_le_bytes().to_vec()
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] pub health: Vec<u8> }
        }
    }
    renamed_needed_kind {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub health: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            // todo: old.to_string()
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub healths: String }
        }
    }
    asked {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub left: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub until: u64 }
        }
    }
    asked_kind {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub left: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            // todo: old as f32
            #[derive(Persist)]
            pub struct Hero { pub until: f32 }
        }
    }
    asked_of_two {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub left: u32, pub right: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub until: u32 }
        }
    }
    asked_default {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub left: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(default)] pub until: u64 }
        }
        kept {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = look))]
            pub struct Hero { #[persist(default)] pub until: u64 }
            fn look(record: &mut persist::Record, _from: u32) { let _ = record.get("left"); }
        }
    }
    asked_default_kind {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub left: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            // todo: old as f32
            #[derive(Persist)]
            pub struct Hero { #[persist(default)] pub until: f32 }
        }
    }
    added {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub mana: f32, pub bag: HashMap<String, Box<u8>> }
        }
    }
    held {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            pub struct Bag { pub size: u8, pub colour: u8 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            pub struct Bag { pub size: u8 }
        }
    }
    held_tuple {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            pub struct Bag(pub u8, pub u16);
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            pub struct Bag(pub u8);
        }
    }
    held_default {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            pub struct Bag { pub size: u8, pub colour: u8 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            pub struct Bag { pub size: u8, #[persist(default)] pub color: u8 }
        }
        kept {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = look))]
            pub struct Bag { pub size: u8, #[persist(default)] pub color: u8, #[persist(unknown)] pub rest: persist::Unknown }
            fn look(record: &mut persist::Record, _from: u32) { let _ = record.get("colour"); }
        }
    }
    held_variant {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Sad(u8, u16), Angry { since: u32, at: String } }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Sad(u8), Angry { since: u32 } }
        }
    }
    variant_field {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry { since: u32, hp: u32 } }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry { since: u32, #[persist(default)] health: u32 } }
        }
        kept {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = look))] pub enum Mood { Calm, Angry { since: u32, #[persist(default)] health: u32, #[persist(unknown)] rest: persist::Unknown } }
            fn look(record: &mut persist::Record, _from: u32) { let _ = record.get("hp"); }
        }
    }
    variant_field_added {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry(u32) }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry(u32, u8) }
        }
    }
    reused {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub hp: u32 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] pub hp: u64 }
        }
    }
    removed_back {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub hp: u32 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "hp")]
            pub struct Hero { pub name: String }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] pub hp: u32 }
        }
    }
    variant_removed_back {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry(u8), #[persist(other)] Other }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            #[persist(removed = "Angry")]
            pub enum Mood { Calm, #[persist(other)] Other }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(other)] Other, Angry(u8) }
        }
    }
    convert_dropped {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u32 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = to_gold)] pub gold: u64 }
            fn to_gold(cents: u32) -> u64 { u64::from(cents / 100) }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u64 }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = to_gold)] pub gold: u64 }
            fn to_gold(cents: u32) -> u64 { u64::from(cents / 100) }
        }
    }
    migrate_dropped {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u32 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = to_gold))]
            pub struct Hero { pub gold: u32 }
            fn to_gold(record: &mut persist::Record, _: u32) { let _ = record.get("gold"); }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            // todo: let _ = record.get("gold");
            #[derive(Persist)]
            #[persist(version = 2)]
            pub struct Hero { pub gold: u32 }
        }
    }
    module_dropped {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(with = tens)] pub gold: u32 }
            mod tens {
                pub type Stored = u32;
                pub fn store(gold: &u32) -> u32 { gold / 10 }
                pub fn restore(tens: u32) -> Result<u32, std::convert::Infallible> { Ok(tens.saturating_mul(10)) }
            }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u32 }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2)]
            pub struct Hero { #[persist(convert(1 = from_tens))] pub gold: u32 }
            fn from_tens(tens: u32) -> u32 { tens.saturating_mul(10) }
        }
    }
    type_other {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub time: Seconds }
            #[derive(Persist, Clone)]
            #[persist(via = u32)]
            pub struct Seconds(u64);
            impl From<&Seconds> for u32 { fn from(seconds: &Seconds) -> Self { u32::try_from(seconds.0).unwrap_or(u32::MAX) } }
            impl From<u32> for Seconds { fn from(seconds: u32) -> Self { Self(seconds.into()) } }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub time: Minutes }
            #[derive(Persist, Clone)]
            #[persist(via = u32)]
            pub struct Minutes(u64);
            impl From<&Minutes> for u32 { fn from(minutes: &Minutes) -> Self { u32::try_from(minutes.0 / 60).unwrap_or(u32::MAX) } }
            impl From<u32> for Minutes { fn from(minutes: u32) -> Self { Self(u64::from(minutes) * 60) } }
        }
        migrated {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = in_minutes))]
            pub struct Hero { pub time: Minutes }
            fn in_minutes(hero: &mut persist::Record, _: u32) {
                let seconds = hero.get("time").and_then(persist::Value::as_u64).unwrap_or_default();
                hero.set("time", u32::try_from(seconds / 60).unwrap_or_default());
            }
            #[derive(Persist, Clone)]
            #[persist(via = u32)]
            pub struct Minutes(u64);
            impl From<&Minutes> for u32 { fn from(minutes: &Minutes) -> Self { u32::try_from(minutes.0 / 60).unwrap_or(u32::MAX) } }
            impl From<u32> for Minutes { fn from(minutes: u32) -> Self { Self(u64::from(minutes) * 60) } }
        }
    }
    newtype_went {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: Tens }
            #[derive(Persist)]
            pub struct Tens(#[persist(with = tens)] u32);
            mod tens {
                pub type Stored = u32;
                pub fn store(gold: &u32) -> u32 { gold / 10 }
                pub fn restore(tens: u32) -> Result<u32, std::convert::Infallible> { Ok(tens.saturating_mul(10)) }
            }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u32 }
        }
    }
    newtype_converted {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: Gold }
            #[derive(Persist)]
            pub struct Gold(u32);
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: Gold }
            #[derive(Persist)]
            pub struct Gold(#[persist(convert = from_cents)] u64);
            fn from_cents(cents: u32) -> u64 { u64::from(cents / 100) }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u64 }
        }
    }
    newtype_went_beside_migrate {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: Tens, pub level: u8 }
            #[derive(Persist)]
            pub struct Tens(#[persist(with = tens)] u32);
            mod tens {
                pub type Stored = u32;
                pub fn store(gold: &u32) -> u32 { gold / 10 }
                pub fn restore(tens: u32) -> Result<u32, std::convert::Infallible> { Ok(tens.saturating_mul(10)) }
            }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = touch))]
            pub struct Hero { pub gold: u32, pub level: u8 }
            fn touch(record: &mut persist::Record, _: u32) { record.set("level", 1_u8); }
        }
        looked {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = touch))]
            pub struct Hero { pub gold: u32, pub level: u8 }
            fn touch(record: &mut persist::Record, _: u32) {
                let _ = record.get("gold");
                record.set("level", 1_u8);
            }
        }
    }
    own_kind_again {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u64 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = from_cents)] pub gold: u64 }
            fn from_cents(cents: u32) -> u64 { u64::from(cents / 100) }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2)]
            pub struct Hero { #[persist(convert(1 = from_wide_cents, from_cents))] pub gold: u64 }
            fn from_cents(cents: u32) -> u64 { u64::from(cents / 100) }
            fn from_wide_cents(cents: u64) -> u64 { cents / 100 }
        }
    }
    inner_read {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub purse: Purse, pub spare: Vec<Purse> }
            #[derive(Persist)]
            pub struct Purse { pub coins: u64 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub purse: Purse, pub spare: Vec<Purse> }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = to_gold))]
            pub struct Purse { pub coins: u64 }
            fn to_gold(purse: &mut persist::Record, _from: u32) {
                let cents = purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0);
                purse.set("coins", cents / 100);
            }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = unpack))]
            pub struct Hero { pub gold: u64, pub spare: Vec<Purse> }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = to_gold))]
            pub struct Purse { pub coins: u64 }
            fn to_gold(purse: &mut persist::Record, _from: u32) {
                let cents = purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0);
                purse.set("coins", cents / 100);
            }
            fn unpack(hero: &mut persist::Record, _from: u32) {
                let Some(persist::Value::Struct(purse)) = hero.take("purse") else { return };
                hero.set("gold", purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0));
            }
        }
        asked {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = unpack))]
            pub struct Hero { pub gold: u64, pub spare: Vec<Purse> }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = to_gold))]
            pub struct Purse { pub coins: u64 }
            fn to_gold(purse: &mut persist::Record, _from: u32) {
                let cents = purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0);
                purse.set("coins", cents / 100);
            }
            fn unpack(hero: &mut persist::Record, _from: u32) {
                let Some(persist::Value::Struct(purse)) = hero.take("purse") else { return };
                let coins = purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0);
                hero.set("gold", if purse.version() == 1 { coins / 100 } else { coins });
            }
        }
        moved {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = move_whole))]
            pub struct Hero { #[persist(default)] pub gold: u64, pub spare: Vec<Purse> }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = to_gold))]
            pub struct Purse { pub coins: u64 }
            fn to_gold(purse: &mut persist::Record, _from: u32) {
                let cents = purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0);
                purse.set("coins", cents / 100);
            }
            fn move_whole(hero: &mut persist::Record, _from: u32) {
                let purses = hero.take("purse").into_iter().collect();
                hero.set("spare", persist::Value::Seq(purses));
            }
        }
    }
    inner_read_convert {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub purse: Purse, pub spare: Vec<Purse> }
            #[derive(Persist)]
            pub struct Purse { pub coins: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = unpack))]
            pub struct Hero { pub gold: u64, pub spare: Vec<Purse> }
            #[derive(Persist)]
            pub struct Purse { #[persist(convert = to_gold)] pub coins: u64 }
            fn to_gold(cents: u32) -> u64 { u64::from(cents / 100) }
            fn unpack(hero: &mut persist::Record, _from: u32) {
                let Some(persist::Value::Struct(purse)) = hero.take("purse") else { return };
                hero.set("gold", purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0));
            }
        }
        asked {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = unpack))]
            pub struct Hero { pub gold: u64, pub spare: Vec<Purse> }
            #[derive(Persist)]
            #[persist(version = 2)]
            pub struct Purse { #[persist(convert(1 = to_gold))] pub coins: u64 }
            fn to_gold(cents: u32) -> u64 { u64::from(cents / 100) }
            fn unpack(hero: &mut persist::Record, _from: u32) {
                let Some(persist::Value::Struct(purse)) = hero.take("purse") else { return };
                let coins = purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0);
                hero.set("gold", if purse.version() == 1 { coins / 100 } else { coins });
            }
        }
    }
    dropped_read {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub purse: Purse }
            #[derive(Persist)]
            pub struct Purse { pub coins: u64 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub purse: Purse }
            #[derive(Persist)]
            #[persist(version = 2)]
            pub struct Purse { #[persist(convert(1 = to_gold))] pub coins: u64 }
            fn to_gold(cents: u64) -> u64 { cents / 100 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = unpack))]
            pub struct Hero { pub gold: u64 }
            fn unpack(hero: &mut persist::Record, _from: u32) {
                let Some(persist::Value::Struct(purse)) = hero.take("purse") else { return };
                hero.set("gold", purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0));
            }
        }
        asked {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = unpack))]
            pub struct Hero { pub gold: u64 }
            fn unpack(hero: &mut persist::Record, _from: u32) {
                let Some(persist::Value::Struct(purse)) = hero.take("purse") else { return };
                let coins = purse.get("coins").and_then(persist::Value::as_u64).unwrap_or(0);
                hero.set("gold", if purse.version() == 1 { coins / 100 } else { coins });
            }
        }
    }
    made_by_migrate {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub cents: u32 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = into_purse))]
            pub struct Hero { pub purse: Purse }
            #[derive(Persist)]
            pub struct Purse { #[persist(convert = from_cents)] pub gold: u16 }
            fn from_cents(cents: u32) -> u16 { u16::try_from(cents / 100).unwrap_or(u16::MAX) }
            fn into_purse(hero: &mut persist::Record, _from: u32) {
                let mut purse = persist::Record::new("Purse");
                purse.set("gold", hero.take("cents").unwrap_or(persist::Value::U32(0)));
                hero.set("purse", purse);
            }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = into_purse))]
            pub struct Hero { pub purse: Purse }
            #[derive(Persist)]
            pub struct Purse { pub gold: u64 }
            fn into_purse(hero: &mut persist::Record, _from: u32) {
                let mut purse = persist::Record::new("Purse");
                purse.set("gold", hero.take("cents").unwrap_or(persist::Value::U32(0)));
                hero.set("purse", purse);
            }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = into_purse))]
            pub struct Hero { pub purse: Purse }
            #[derive(Persist)]
            pub struct Purse { #[persist(convert(from_cents, as u16))] pub gold: u64 }
            fn from_cents(cents: u32) -> u64 { u64::from(cents / 100) }
            fn into_purse(hero: &mut persist::Record, _from: u32) {
                let mut purse = persist::Record::new("Purse");
                purse.set("gold", hero.take("cents").unwrap_or(persist::Value::U32(0)));
                hero.set("purse", purse);
            }
        }
    }
    enum_became_text {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub mood: Mood }
            #[derive(Persist)]
            pub enum Mood { Angry, Calm }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub mood: Mood }
            #[derive(Persist)]
            pub enum Mood { #[persist(alias = "Angry")] Mad, Calm }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub mood: String }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = to_name)] pub mood: String }
            #[derive(Persist)]
            #[persist(class = "Mood")]
            enum OldMood { #[persist(alias = "Angry")] Mad, Calm }
            fn to_name(mood: OldMood) -> String {
                String::from(match mood { OldMood::Mad => "Mad", OldMood::Calm => "Calm" })
            }
        }
    }
    step_dropped {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u64 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { #[persist(convert(1 = halved, 2 = to_quarter))] pub gold: u64 }
            fn halved(gold: u64) -> u64 { gold / 2 }
            fn to_quarter(half: u64) -> u64 { half / 2 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { #[persist(convert(2 = to_quarter))] pub gold: u64 }
            // todo: old / 2
            fn to_quarter(half: u64) -> u64 { half / 2 }
        }
    }
    step_again {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2)]
            pub struct Hero { #[persist(convert(1 = halved))] pub gold: u64 }
            fn halved(gold: u64) -> u64 { gold / 2 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { #[persist(convert(2 = halved))] pub gold: u64 }
            fn halved(gold: u64) -> u64 { gold / 2 }
        }
        named {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { #[persist(convert(1 = halved, 2 = halved_again))] pub gold: u64 }
            fn halved(gold: u64) -> u64 { gold / 2 }
            fn halved_again(gold: u64) -> u64 { gold / 2 }
        }
    }
    module_added {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub gold: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(with = tens)] pub gold: u32 }
            mod tens {
                pub type Stored = u32;
                pub fn store(gold: &u32) -> u32 { gold / 10 }
                pub fn restore(tens: u32) -> Result<u32, std::convert::Infallible> { Ok(tens.saturating_mul(10)) }
            }
        }
        migrated {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = to_tens))]
            pub struct Hero { #[persist(with = tens)] pub gold: u32 }
            fn to_tens(record: &mut persist::Record, _: u32) {
                let gold = record.take("gold").and_then(|gold| gold.as_u64()).and_then(|gold| u32::try_from(gold).ok());
                record.set("gold", gold.unwrap_or_default() / 10);
            }
            mod tens {
                pub type Stored = u32;
                pub fn store(gold: &u32) -> u32 { gold / 10 }
                pub fn restore(tens: u32) -> Result<u32, std::convert::Infallible> { Ok(tens.saturating_mul(10)) }
            }
        }
    }
    module_other {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(with = tens)] pub gold: u32 }
            mod tens {
                pub type Stored = u32;
                pub fn store(gold: &u32) -> u32 { gold / 10 }
                pub fn restore(tens: u32) -> Result<u32, std::convert::Infallible> { Ok(tens.saturating_mul(10)) }
            }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(with = dozens)] pub gold: u32 }
            mod dozens {
                pub type Stored = u32;
                pub fn store(gold: &u32) -> u32 { gold / 12 }
                pub fn restore(dozens: u32) -> Result<u32, std::convert::Infallible> { Ok(dozens.saturating_mul(12)) }
            }
        }
        migrated {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = to_dozens))]
            pub struct Hero { #[persist(with = dozens)] pub gold: u32 }
            fn to_dozens(record: &mut persist::Record, _: u32) {
                let tens = record.take("gold").and_then(|tens| tens.as_u64()).and_then(|tens| u32::try_from(tens).ok());
                record.set("gold", tens.unwrap_or_default() / 12 * 10);
            }
            mod dozens {
                pub type Stored = u32;
                pub fn store(gold: &u32) -> u32 { gold / 12 }
                pub fn restore(dozens: u32) -> Result<u32, std::convert::Infallible> { Ok(dozens.saturating_mul(12)) }
            }
        }
    }
    reused_id {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(id = 2)] pub name: String, #[persist(id = 1)] pub hp: u32 }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(id = 2)] pub name: String }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(id = 2)] pub name: String, #[persist(default)] #[persist(id = 1)] pub mana: u32 }
        }
    }
    moved_in {
        before {
            register |registry| { registry.register::<Map>()?; }
            #[derive(Persist)]
            pub struct Map { pub name: String, pub shops: Vec<u16>, pub inns: u8 }
        }
        after {
            register |registry| { registry.register::<Map>()?; }
            #[derive(Persist)]
            pub struct Map { pub name: String, #[persist(default)] pub town: Town }
            #[derive(Persist, Default)]
            pub struct Town { #[persist(default)] pub shops: Vec<u16>, #[persist(default)] pub inns: u8 }
        }
    }
    moved_out {
        before {
            register |registry| { registry.register::<Player>()?; }
            #[derive(Persist)]
            pub struct Player { pub purse: Purse }
            #[derive(Persist)]
            pub struct Purse { pub gold: u32, pub size: u8 }
        }
        after {
            register |registry| { registry.register::<Player>()?; }
            #[derive(Persist)]
            pub struct Player { pub purse: Purse, #[persist(default)] pub gold: u32 }
            #[derive(Persist)]
            pub struct Purse { pub size: u8 }
        }
    }
    moved_again {
        before {
            register |registry| { registry.register::<Map>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = nothing))]
            pub struct Map { pub name: String, pub inns: u8 }
            fn nothing(_: &mut persist::Record, _from: u32) {}
        }
        after {
            register |registry| { registry.register::<Map>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = nothing))]
            pub struct Map { pub name: String, #[persist(default)] pub town: Town }
            #[derive(Persist, Default)]
            pub struct Town { #[persist(default)] pub inns: u8 }
            fn nothing(_: &mut persist::Record, _from: u32) {}
        }
        one_more {
            register |registry| { registry.register::<Map>()?; }
            #[derive(Persist)]
            #[persist(version = 3, migrate(1 = nothing, 2 = to_3))]
            pub struct Map { pub name: String, #[persist(default)] pub town: Town }
            #[derive(Persist, Default)]
            pub struct Town { #[persist(default)] pub inns: u8 }
            fn nothing(_: &mut persist::Record, _from: u32) {}
            fn to_3(record: &mut persist::Record, _from: u32) {
                if let Some(moved) = record.take("inns") {
                    if record.get("town").is_none() {
                        record.set("town", persist::Record::new("Town"));
                    }
                    if let Some(inner) = record.get_mut("town").and_then(persist::Value::as_record_mut) {
                        inner.set("inns", moved);
                    }
                }
            }
        }
    }
    moved_apart {
        before {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register::<Shop>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub name: String, pub gold: u32 }
            #[derive(Persist)]
            pub struct Shop { pub size: u8 }
        }
        after {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register::<Shop>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub name: String }
            #[derive(Persist)]
            pub struct Shop { pub size: u8, #[persist(default)] pub gold: u32 }
        }
    }
    moved_class {
        before {
            register |registry| {
                registry.register::<Player>()?;
                registry.register::<Cart>()?;
            }
            #[derive(Persist)]
            pub struct Player { pub level: u8 }
            #[derive(Persist)]
            pub struct Cart { pub wheels: u8, pub goods: Vec<u8> }
        }
        after {
            register |registry| { registry.register::<Player>()?; }
            #[derive(Persist)]
            pub struct Player { pub level: u8, #[persist(default)] pub goods: Vec<u8> }
        }
        class_kept {
            register |registry| {
                registry.register::<Player>()?;
                registry.register::<Cart>()?;
            }
            #[derive(Persist)]
            pub struct Player { pub level: u8, #[persist(default)] pub goods: Vec<u8> }
            #[derive(Persist)]
            pub struct Cart { pub wheels: u8, pub goods: Vec<u8> }
        }
    }
    class_renamed {
        before {
            register |registry| { registry.register::<Cart>()?; }
            #[derive(Persist)]
            pub struct Cart { pub wheels: u8, pub goods: Vec<u8> }
        }
        after {
            register |registry| { registry.register::<Wagon>()?; }
            #[derive(Persist)]
            pub struct Wagon { pub wheels: u8, pub goods: Vec<u8> }
        }
    }
    class_mostly {
        before {
            register |registry| { registry.register::<Cart>()?; }
            #[derive(Persist)]
            pub struct Cart { pub wheels: u8, pub goods: Vec<u8> }
        }
        after {
            register |registry| { registry.register::<Wagon>()?; }
            #[derive(Persist)]
            pub struct Wagon { pub wheels: u8, pub goods: Vec<u8>, #[persist(default)] pub ox: u8 }
        }
    }
    class_held {
        before {
            register |registry| { registry.register::<Yard>()?; }
            #[derive(Persist)]
            pub struct Yard { pub carts: Vec<Cart> }
            #[derive(Persist)]
            pub struct Cart { pub wheels: u8 }
        }
        after {
            register |registry| { registry.register::<Yard>()?; }
            #[derive(Persist)]
            pub struct Yard { pub carts: Vec<Wagon> }
            #[derive(Persist)]
            pub struct Wagon { pub wheels: u8 }
        }
        converted {
            register |registry| { registry.register::<Yard>()?; }
            #[derive(Persist)]
            pub struct Yard { #[persist(convert = wagons)] pub carts: Vec<Wagon> }
            #[derive(Persist)]
            pub struct Wagon { pub wheels: u8 }
            #[derive(Persist)]
            pub struct Cart { pub wheels: u8 }
            fn wagons(old: Vec<Cart>) -> Vec<Wagon> { old.iter().map(|cart| Wagon { wheels: 2 * (cart.wheels / 2) }).collect() }
        }
    }
    class_generic {
        before {
            register |registry| { registry.register::<Yard>()?; }
            #[derive(Persist)]
            pub struct Yard { pub cart: Cart }
            #[derive(Persist)]
            pub struct Cart { pub wheels: u8 }
        }
        after {
            register |registry| { registry.register::<Yard>()?; }
            #[derive(Persist)]
            pub struct Yard { pub cart: Cart<u8> }
            #[derive(Persist)]
            pub struct Cart<T> { pub wheels: T }
        }
        converted {
            register |registry| { registry.register::<Yard>()?; }
            #[derive(Persist)]
            pub struct Yard { #[persist(convert = wagon)] pub cart: Cart<u8> }
            #[derive(Persist)]
            pub struct Cart<T> { pub wheels: T }
            #[derive(Persist)]
            #[persist(class = "Cart")]
            pub struct Wagon { pub wheels: u8 }
            fn wagon(old: Wagon) -> Cart<u8> { Cart { wheels: 2 * (old.wheels / 2) } }
        }
    }
    class_reused {
        before {
            register |registry| { registry.register::<Place>()?; }
            #[derive(Persist)]
            pub struct Place { pub x: f32, pub y: f32 }
        }
        between {
            register |registry| { registry.register::<Spot>()?; }
            #[derive(Persist)]
            #[persist(alias = "Place")]
            pub struct Spot { pub x: f32, pub y: f32 }
        }
        after {
            register |registry| {
                registry.register::<Spot>()?;
                registry.register::<Place>()?;
            }
            #[derive(Persist)]
            pub struct Spot { pub x: f32, pub y: f32 }
            #[derive(Persist)]
            pub struct Place { pub x: f32, pub y: f32 }
        }
    }
    class_merged {
        before {
            register |registry| {
                registry.register::<Cart>()?;
                registry.register::<Wagon>()?;
            }
            #[derive(Persist)]
            pub struct Cart { pub wheels: u8 }
            #[derive(Persist)]
            pub struct Wagon { pub wheels: u8 }
        }
        after {
            register |registry| { registry.register::<Wagon>()?; }
            #[derive(Persist)]
            #[persist(alias = "Cart")]
            pub struct Wagon { pub wheels: u8 }
        }
        both_kept {
            register |registry| {
                registry.register::<Cart>()?;
                registry.register::<Wagon>()?;
            }
            #[derive(Persist)]
            pub struct Cart { pub wheels: u8 }
            #[derive(Persist)]
            pub struct Wagon { pub wheels: u8 }
        }
        accepted {
            register |registry| { registry.register::<Wagon>()?; }
            #[derive(Persist)]
            #[persist(alias = "Cart", version = 2, migrate(1 = nothing))]
            pub struct Wagon { pub wheels: u8 }
            fn nothing(_: &mut persist::Record, _from: u32) {}
        }
    }
    version {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { pub hp: u8 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2)]
            pub struct Hero { pub hp: u8 }
        }
    }
    version_removed {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { pub hp: u8 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: u8 }
        }
    }
    version_migrate {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3, migrate(1 = nothing, 2 = nothing))]
            pub struct Hero { pub hp: u8 }
            fn nothing(_: &mut persist::Record, _from: u32) {}
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = nothing))]
            pub struct Hero { pub hp: u8 }
            fn nothing(_: &mut persist::Record, _from: u32) {}
        }
        raised_again {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3, migrate(1 = nothing, 2 = nothing))]
            pub struct Hero { pub hp: u8 }
            fn nothing(_: &mut persist::Record, _from: u32) {}
        }
    }
    variant_renamed {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry { since: u32 } }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Furious { since: u32 } }
        }
    }
    variant_renamed_other {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry { since: u32 }, #[persist(other)] Other }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Furious { since: u32 }, #[persist(other)] Other }
        }
    }
    variant_removed {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry { since: u32 } }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm }
        }
        with_other {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(other)] Other(persist::Unknown) }
        }
    }
    variant_removed_other {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry { since: u32 }, #[persist(other)] Other }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(other)] Other }
        }
        with_unknown {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(other)] Other(persist::Unknown) }
        }
    }
    variant_removed_key {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: BTreeMap<Mood, u8> }
            #[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
            pub enum Mood { Calm, Angry { since: u32 }, #[persist(other)] Other }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: BTreeMap<Mood, u8> }
            #[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
            pub enum Mood { Calm, #[persist(other)] Other }
        }
        with_unknown {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: BTreeMap<Mood, u8> }
            #[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
            pub enum Mood { Calm, #[persist(other)] Other(persist::Unknown) }
        }
    }
    variants_merged {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Grey, Gray, Red }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { #[persist(alias = "Gray")] Grey, Red }
        }
        accepted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = nothing))] pub enum Mood { #[persist(alias = "Gray")] Grey, Red }
            fn nothing(_: &mut persist::Record, _from: u32) {}
        }
        both_kept {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Grey, Gray, Red }
        }
    }
    variant_reused {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry(u8) }
        }
        between {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(alias = "Angry")] Furious(u8) }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Furious(u8), Angry(u8) }
        }
    }
    superseded {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: u32, pub health: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(alias = "hp")] pub health: u32 }
        }
        taken {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = largest))]
            pub struct Hero { #[persist(alias = "hp")] pub health: u32 }
            fn largest(hero: &mut persist::Record, _from: u32) {
                let both = [hero.take("hp"), hero.take("health")];
                let both = both.map(|it| it.and_then(|it| it.as_u64()).unwrap_or(0));
                hero.set("health", both[0].max(both[1]));
            }
        }
        without_alias {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub health: u32 }
        }
    }
    set {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub seen: Vec<u8> }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub seen: BTreeSet<u8> }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = once)] pub seen: BTreeSet<u8> }
            fn once(old: Vec<u8>) -> BTreeSet<u8> { old.into_iter().collect() }
        }
        old_type {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub seen: Vec<u8> }
        }
    }
    deep {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub deep: Vec<Vec<(u8, String)>> }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub deep: Vec<BTreeMap<u8, String>> }
        }
        old_type {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub deep: Vec<Vec<(u8, String)>> }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = last_of_each)] pub deep: Vec<BTreeMap<u8, String>> }
            fn last_of_each(old: Vec<Vec<(u8, String)>>) -> Vec<BTreeMap<u8, String>> {
                old.into_iter().map(|pairs| pairs.into_iter().collect()).collect()
            }
        }
    }
    unreached {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Rc<RefCell<Bag>> }
            #[derive(Persist)]
            pub struct Bag { pub size: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = look))]
            pub struct Hero { pub bag: Bag }
            #[derive(Persist)]
            pub struct Bag { pub size: u8 }
            fn look(record: &mut persist::Record, _from: u32) { let _ = record.get("bag"); }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = look))]
            pub struct Hero { pub bag: Bag }
            #[derive(Persist)]
            pub struct Bag { #[persist(convert = narrow)] pub size: u8 }
            fn look(record: &mut persist::Record, _from: u32) { let _ = record.get("bag"); }
            fn narrow(old: u32) -> u8 { u8::try_from(old).unwrap_or(u8::MAX) }
        }
    }
    narrower {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: u16 }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = narrow)] pub hp: u16 }
            fn narrow(old: u32) -> u16 { u16::try_from(old).unwrap_or(u16::MAX) }
        }
    }
    other_kind {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: Vec<String> }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = words)] pub hp: Vec<String> }
            fn words(old: u32) -> Vec<String> { vec![old.to_string()] }
        }
    }
    shorter {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: [u8; 8] }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(default)] pub hp: [u8; 4] }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(default, convert = first)] pub hp: [u8; 4] }
            fn first(old: [u8; 8]) -> [u8; 4] { [old[0], old[1], old[2], old[3]] }
        }
    }
    zero {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: u8 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: NonZero<u16> }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = at_least_one)] pub hp: NonZero<u16> }
            fn at_least_one(old: u8) -> NonZero<u16> {
                NonZero::new(u16::from(old)).unwrap_or(NonZero::<u16>::MIN)
            }
        }
    }
    newtype {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: u8 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub hp: Level }
            #[derive(Persist)]
            pub struct Level(pub u8);
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = double)] pub hp: Level }
            #[derive(Persist)]
            pub struct Level(pub u8);
            fn double(old: u8) -> Level { Level(old.saturating_mul(2)) }
        }
    }
    text {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub mood: String }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub mood: Mood }
            #[derive(Persist)]
            pub enum Mood { Calm, Sad }
        }
        converted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert = from_text)] pub mood: Mood }
            #[derive(Persist)]
            pub enum Mood { Calm, Sad }
            fn from_text(old: String) -> Mood { if old == "Sad" { Mood::Sad } else { Mood::Calm } }
        }
    }
    text_other {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub mood: String }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub mood: Mood }
            #[derive(Persist)]
            pub enum Mood { Calm, Sad, #[persist(other)] Other }
        }
        set {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = set))]
            pub struct Hero { pub mood: Mood }
            #[derive(Persist)]
            pub enum Mood { Calm, Sad, #[persist(other)] Other }
            fn set(hero: &mut persist::Record, _from: u32) {
                let is_sad = hero.take("mood").is_some_and(|mood| mood.as_text() == Some("Sad"));
                hero.set("mood", if is_sad { "Sad" } else { "Calm" });
            }
        }
    }
    copied {
        before {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub one: Rc<RefCell<Guild>>, pub two: Rc<RefCell<Guild>> }
            #[derive(Persist)]
            pub struct Guild { pub gold: u32 }
        }
        after {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub one: Guild, pub two: Guild }
            #[derive(Persist)]
            pub struct Guild { pub gold: u32 }
        }
        pointers_kept {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub one: Rc<RefCell<Guild>>, pub two: Rc<RefCell<Guild>> }
            #[derive(Persist)]
            pub struct Guild { pub gold: u32 }
        }
        accepted {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = copy))]
            pub struct Hero { pub one: Guild, pub two: Guild }
            #[derive(Persist)]
            pub struct Guild { pub gold: u32 }
            fn copy(record: &mut persist::Record, _from: u32) {
                let _ = record.get("one");
                let _ = record.get("two");
            }
        }
    }
    trait_unregistered {
        before {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Sword, dyn Item>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Box<dyn Item> }
            #[persist::dynamic]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
        }
        after {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Shield, dyn Item>()?;
                registry.register::<Sword>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Box<dyn Item> }
            #[persist::dynamic]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
        }
        registered {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Sword, dyn Item>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Box<dyn Item> }
            #[persist::dynamic]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
        }
    }
    unregistered {
        before {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Sword, dyn Item>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Box<dyn Item> }
            #[persist::dynamic]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
        }
        after {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Box<dyn Item> }
            #[persist::dynamic]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
        }
        registered {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Sword, dyn Item>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Box<dyn Item> }
            #[persist::dynamic]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
        }
        with_stand_in {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Box<dyn Item> }
            #[persist::dynamic(unknown = Missing)]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
            #[derive(Persist)]
            pub struct Missing { unknown: persist::Unknown }
            impl From<persist::Unknown> for Missing {
                fn from(unknown: persist::Unknown) -> Self { Self { unknown } }
            }
            impl AsRef<persist::Unknown> for Missing {
                fn as_ref(&self) -> &persist::Unknown { &self.unknown }
            }
            impl Item for Missing {}
        }
    }
    unregistered_option {
        before {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Sword, dyn Item>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Option<Box<dyn Item>> }
            #[persist::dynamic]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
        }
        after {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Option<Box<dyn Item>> }
            #[persist::dynamic]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
        }
        registered {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Sword, dyn Item>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Option<Box<dyn Item>> }
            #[persist::dynamic]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
        }
        with_stand_in {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register_as::<Shield, dyn Item>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub item: Option<Box<dyn Item>> }
            #[persist::dynamic(unknown = Missing)]
            pub trait Item {}
            #[derive(Persist)]
            pub struct Sword { pub power: u8 }
            #[derive(Persist)]
            pub struct Shield { pub power: u8, pub size: u8 }
            impl Item for Sword {}
            impl Item for Shield {}
            #[derive(Persist)]
            pub struct Missing { unknown: persist::Unknown }
            impl From<persist::Unknown> for Missing {
                fn from(unknown: persist::Unknown) -> Self { Self { unknown } }
            }
            impl AsRef<persist::Unknown> for Missing {
                fn as_ref(&self) -> &persist::Unknown { &self.unknown }
            }
            impl Item for Missing {}
        }
    }
    pointer {
        before {
            register |registry| { registry.register_pointer::<Rc<RefCell<Guild>>>()?; }
            #[derive(Persist)]
            pub struct Guild { pub gold: u32 }
        }
        after {
            register |registry| {
                registry.register_pointer::<Arc<Mutex<Guild>>>()?;
                registry.register_pointer::<Rc<Mutex<Guild>>>()?;
            }
            #[derive(Persist)]
            pub struct Guild { pub gold: u32 }
        }
        registered {
            register |registry| {
                registry.register_pointer::<Arc<Mutex<Guild>>>()?;
                registry.register_pointer::<Rc<Mutex<Guild>>>()?;
                registry.register_pointer::<Rc<RefCell<Guild>>>()?;
            }
            #[derive(Persist)]
            pub struct Guild { pub gold: u32 }
        }
    }
}
