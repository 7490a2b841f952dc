//! What becomes of the programs with the lines that the lock prints: written by a test, with
//! `INSTA_UPDATE=always cargo test -p persist-tests --test lock cures`.

#![allow(unused_imports, reason = "they are those of the programs")]
#![cfg_attr(rustfmt, rustfmt_skip)]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use persist::Persist;

use super::sources;

sources! {
    renamed {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(alias = "hp")] pub health: u32 }
        }
    }
    renamed_default {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] #[persist(alias = "hp")] pub health: u32 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "hp")]
            pub struct Hero { pub name: String, #[persist(default)] pub health: u32 }
        }
    }
    renamed_kind {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "hp")]
            pub struct Hero { pub name: String, #[persist(default)] pub health: Vec<u8> }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] #[persist(alias = "hp", convert = from_hp)] pub health: Vec<u8> }
            fn from_hp(old: u32) -> Vec<u8> {
                old.to_le_bytes().to_vec()
            }
        }
    }
    renamed_needed_kind {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(alias = "health", convert = from_health)] pub healths: String }
            fn from_health(old: u32) -> String {
                old.to_string()
            }
        }
    }
    asked {
        named_0 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "left")]
            pub struct Hero { #[persist(default)] pub until: u64 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(alias = "left")] pub until: u64 }
        }
    }
    asked_kind {
        named_0 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "left")]
            pub struct Hero { #[persist(default)] pub until: f32 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(alias = "left", convert = from_left)] pub until: f32 }
            fn from_left(old: u32) -> f32 {
                old as f32
            }
        }
    }
    asked_of_two {
        named_0 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "left", removed = "right")]
            pub struct Hero { #[persist(default)] pub until: u32 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(alias = "left")] pub until: u32 }
        }
        named_2 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(alias = "right")] pub until: u32 }
        }
    }
    asked_default {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "left")]
            pub struct Hero { #[persist(default)] pub until: u64 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(default)] #[persist(alias = "left")] pub until: u64 }
        }
    }
    asked_default_kind {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "left")]
            pub struct Hero { #[persist(default)] pub until: f32 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(default)] #[persist(alias = "left", convert = from_left)] pub until: f32 }
            fn from_left(old: u32) -> f32 {
                old as f32
            }
        }
    }
    added {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] pub mana: f32, #[persist(default)] pub bag: HashMap<String, Box<u8>> }
        }
    }
    held {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            pub struct Bag { pub size: u8, #[persist(unknown)] rest: persist::Unknown }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            #[persist(removed = "colour")]
            pub struct Bag { pub size: u8 }
        }
    }
    held_tuple {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            pub struct Bag(pub u8, #[persist(unknown, rename = "rest")] persist::Unknown);
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            #[persist(removed = "1")]
            pub struct Bag(pub u8);
        }
    }
    held_default {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            pub struct Bag { pub size: u8, #[persist(default)] #[persist(alias = "colour")] pub color: u8 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub bag: Vec<Bag> }
            #[derive(Persist)]
            #[persist(removed = "colour")]
            pub struct Bag { pub size: u8, #[persist(default)] pub color: u8 }
        }
    }
    held_variant {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Sad(u8, #[persist(unknown, rename = "rest")] persist::Unknown), Angry { since: u32, #[persist(unknown)] rest: persist::Unknown } }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(removed = "1")] Sad(u8), #[persist(removed = "at")] Angry { since: u32 } }
        }
    }
    variant_field {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry { since: u32, #[persist(default)] #[persist(alias = "hp")] health: u32 } }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(removed = "hp")] Angry { since: u32, #[persist(default)] health: u32 } }
        }
    }
    variant_field_added {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Angry(u32, #[persist(default)] u8) }
        }
    }
    reused {
        named_0 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "hp")]
            pub struct Hero { pub name: String, #[persist(default)] #[persist(rename = "new_hp")] pub hp: u64 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] #[persist(rename = "new_hp")] #[persist(alias = "hp")] pub hp: u64 }
        }
    }
    removed_back {
        named_0 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "hp")]
            pub struct Hero { pub name: String, #[persist(default)] #[persist(rename = "new_hp")] pub hp: u32 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] #[persist(rename = "new_hp")] #[persist(alias = "hp")] pub hp: u32 }
        }
    }
    variant_removed_back {
        named_0 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            #[persist(removed = "Angry")]
            pub enum Mood { Calm, #[persist(other)] Other, #[persist(rename = "new_Angry")] Angry(u8) }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(other)] Other, #[persist(rename = "new_Angry")] #[persist(alias = "Angry")] Angry(u8) }
        }
    }
    convert_dropped {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert(as u32))] pub gold: u64 }
        }
    }
    migrate_dropped {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2)]
            #[persist(migrate(1 = to_gold))]
            pub struct Hero { pub gold: u32 }
            fn to_gold(record: &mut persist::Record, _: u32) {
                let _ = record.get("gold");
            }
        }
    }
    module_dropped {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert(as u32))] pub gold: u32 }
        }
    }
    module_other {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(with = dozens)] #[persist(convert(as u32))] pub gold: u32 }
            mod dozens {
                pub type Stored = u32;
                pub fn store(gold: &u32) -> u32 { gold / 12 }
                pub fn restore(dozens: u32) -> Result<u32, std::convert::Infallible> { Ok(dozens.saturating_mul(12)) }
            }
        }
    }
    type_other {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert(as u32))] pub time: Minutes }
            #[derive(Persist, Clone)]
            #[persist(via = u32)]
            pub struct Minutes(u64);
            impl From<&Minutes> for u32 { fn from(minutes: &Minutes) -> Self { u32::try_from(minutes.0 / 60).unwrap_or(u32::MAX) } }
            impl From<u32> for Minutes { fn from(minutes: u32) -> Self { Self(u64::from(minutes) * 60) } }
        }
    }
    newtype_went {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = keep_gold))]
            pub struct Hero { pub gold: u32 }
            fn keep_gold(record: &mut persist::Record, _: u32) {
                let _ = record.get("gold");
            }
        }
    }
    newtype_converted {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = keep_gold))]
            pub struct Hero { pub gold: u64 }
            fn keep_gold(record: &mut persist::Record, _: u32) {
                let _ = record.get("gold");
            }
        }
    }
    own_kind_again {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(convert(from_cents, as u64))] pub gold: u64 }
            fn from_cents(cents: u32) -> u64 { u64::from(cents / 100) }
        }
    }
    made_by_migrate {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = into_purse))]
            pub struct Hero { pub purse: Purse }
            #[derive(Persist)]
            pub struct Purse { #[persist(convert(as u32, as u16))] pub gold: u64 }
            fn into_purse(hero: &mut persist::Record, _from: u32) {
                let mut purse = persist::Record::new("Purse");
                purse.set("gold", hero.take("cents").unwrap_or(persist::Value::U32(0)));
                hero.set("purse", purse);
            }
        }
    }
    enum_became_text {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = keep_mood))]
            pub struct Hero { pub mood: String }
            fn keep_mood(record: &mut persist::Record, _: u32) {
                let _ = record.get("mood");
            }
        }
    }
    step_dropped {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { #[persist(convert(1 = halved, 2 = to_quarter))] pub gold: u64 }
            fn to_quarter(half: u64) -> u64 { half / 2 }
            fn halved(old: u64) -> u64 {
                old / 2
            }
        }
    }
    step_again {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { #[persist(convert(1 = halved))] pub gold: u64 }
            fn halved(gold: u64) -> u64 { gold / 2 }
        }
    }
    reused_id {
        named_0 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(removed = "hp")]
            pub struct Hero { #[persist(id = 2)] pub name: String, #[persist(default)] #[persist(id = 3)] pub mana: u32 }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { #[persist(id = 2)] pub name: String, #[persist(default)] #[persist(id = 3)] #[persist(alias = "hp")] pub mana: u32 }
        }
    }
    moved_in {
        printed {
            register |registry| { registry.register::<Map>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = to_2))]
            pub struct Map { pub name: String, #[persist(default)] pub town: Town }
            #[derive(Persist, Default)]
            pub struct Town { #[persist(default)] pub shops: Vec<u16>, #[persist(default)] pub inns: u8 }
            fn to_2(record: &mut persist::Record, _from: u32) {
                if let Some(moved) = record.take("inns") {
                    if record.get("town").is_none() {
                        record.set("town", persist::Record::new("Town"));
                    }
                    if let Some(inner) = record.get_mut("town").and_then(persist::Value::as_record_mut) {
                        inner.set("inns", moved);
                    }
                }
                if let Some(moved) = record.take("shops") {
                    if record.get("town").is_none() {
                        record.set("town", persist::Record::new("Town"));
                    }
                    if let Some(inner) = record.get_mut("town").and_then(persist::Value::as_record_mut) {
                        inner.set("shops", moved);
                    }
                }
            }
        }
        named_1 {
            register |registry| { registry.register::<Map>()?; }
            #[derive(Persist)]
            #[persist(removed = "shops")]
            #[persist(removed = "inns")]
            pub struct Map { pub name: String, #[persist(default)] pub town: Town }
            #[derive(Persist, Default)]
            pub struct Town { #[persist(default)] pub shops: Vec<u16>, #[persist(default)] pub inns: u8 }
        }
    }
    moved_out {
        printed {
            register |registry| { registry.register::<Player>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = to_2))]
            pub struct Player { pub purse: Purse, #[persist(default)] pub gold: u32 }
            #[derive(Persist)]
            pub struct Purse { pub size: u8 }
            fn to_2(record: &mut persist::Record, _from: u32) {
                let inner = record.get_mut("purse").and_then(persist::Value::as_record_mut);
                if let Some(moved) = inner.and_then(|inner| inner.take("gold")) {
                    record.set("gold", moved);
                }
            }
        }
        named_1 {
            register |registry| { registry.register::<Player>()?; }
            #[derive(Persist)]
            pub struct Player { pub purse: Purse, #[persist(default)] pub gold: u32 }
            #[derive(Persist)]
            #[persist(removed = "gold")]
            pub struct Purse { pub size: u8 }
        }
    }
    moved_again {
        named_1 {
            register |registry| { registry.register::<Map>()?; }
            #[derive(Persist)]
            #[persist(version = 2, migrate(1 = nothing))]
            #[persist(removed = "inns")]
            pub struct Map { pub name: String, #[persist(default)] pub town: Town }
            #[derive(Persist, Default)]
            pub struct Town { #[persist(default)] pub inns: u8 }
            fn nothing(_: &mut persist::Record, _from: u32) {}
        }
    }
    moved_apart {
        printed {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register::<Shop>()?;
            }
            #[derive(Persist)]
            pub struct Hero { pub name: String, #[persist(default)] gold: u32 }
            #[derive(Persist)]
            pub struct Shop { pub size: u8, #[persist(default)] pub gold: u32 }
        }
        named_1 {
            register |registry| {
                registry.register::<Hero>()?;
                registry.register::<Shop>()?;
            }
            #[derive(Persist)]
            #[persist(removed = "gold")]
            pub struct Hero { pub name: String }
            #[derive(Persist)]
            pub struct Shop { pub size: u8, #[persist(default)] pub gold: u32 }
        }
    }
    moved_class {
        printed {
            register |registry| { registry.declare_removed_class("Cart")?; registry.register::<Player>()?; }
            #[derive(Persist)]
            pub struct Player { pub level: u8, #[persist(default)] pub goods: Vec<u8> }
        }
    }
    class_renamed {
        printed {
            register |registry| { registry.register::<Wagon>()?; }
            #[derive(Persist)]
            #[persist(alias = "Cart")]
            pub struct Wagon { pub wheels: u8, pub goods: Vec<u8> }
        }
        named_1 {
            register |registry| { registry.declare_removed_class("Cart")?; registry.register::<Wagon>()?; }
            #[derive(Persist)]
            pub struct Wagon { pub wheels: u8, pub goods: Vec<u8> }
        }
    }
    class_mostly {
        printed {
            register |registry| { registry.register::<Wagon>()?; }
            #[derive(Persist)]
            #[persist(alias = "Cart")]
            pub struct Wagon { pub wheels: u8, pub goods: Vec<u8>, #[persist(default)] pub ox: u8 }
        }
        named_1 {
            register |registry| { registry.declare_removed_class("Cart")?; registry.register::<Wagon>()?; }
            #[derive(Persist)]
            pub struct Wagon { pub wheels: u8, pub goods: Vec<u8>, #[persist(default)] pub ox: u8 }
        }
    }
    class_held {
        printed {
            register |registry| { registry.register::<Yard>()?; }
            #[derive(Persist)]
            pub struct Yard { pub carts: Vec<Wagon> }
            #[derive(Persist)]
            #[persist(alias = "Cart")]
            pub struct Wagon { pub wheels: u8 }
        }
    }
    class_generic {
        printed {
            register |registry| { registry.register::<Yard>()?; }
            #[derive(Persist)]
            pub struct Yard { pub cart: Cart<u8> }
            #[derive(Persist)]
            #[persist(alias = "Cart")]
            pub struct Cart<T> { pub wheels: T }
        }
    }
    class_reused {
        named_0 {
            register |registry| {
                registry.register::<Spot>()?;
                registry.register::<Place>()?;
            }
            #[derive(Persist)]
            #[persist(alias = "Place")]
            pub struct Spot { pub x: f32, pub y: f32 }
            #[derive(Persist)]
            #[persist(class = "new.Place")]
            pub struct Place { pub x: f32, pub y: f32 }
        }
        named_1 {
            register |registry| {
                registry.register::<Spot>()?;
                registry.register::<Place>()?;
            }
            #[derive(Persist)]
            pub struct Spot { pub x: f32, pub y: f32 }
            #[derive(Persist)]
            #[persist(class = "new.Place")]
            #[persist(alias = "Place")]
            pub struct Place { pub x: f32, pub y: f32 }
        }
    }
    version {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { pub hp: u8 }
        }
    }
    version_removed {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            #[persist(version = 3)]
            pub struct Hero { pub hp: u8 }
        }
    }
    variant_renamed {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(alias = "Angry")] Furious { since: u32 } }
        }
    }
    variant_renamed_other {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(alias = "Angry")] Furious { since: u32 }, #[persist(other)] Other }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            #[persist(removed = "Angry")]
            pub enum Mood { Calm, Furious { since: u32 }, #[persist(other)] Other }
        }
    }
    variant_removed_other {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            #[persist(removed = "Angry")]
            pub enum Mood { Calm, #[persist(other)] Other }
        }
    }
    variant_removed_key {
        printed {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: BTreeMap<Mood, u8> }
            #[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
            #[persist(removed = "Angry")]
            pub enum Mood { Calm, #[persist(other)] Other }
        }
    }
    variant_reused {
        named_0 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, #[persist(alias = "Angry")] Furious(u8), #[persist(rename = "new_Angry")] Angry(u8) }
        }
        named_1 {
            register |registry| { registry.register::<Hero>()?; }
            #[derive(Persist)]
            pub struct Hero { pub moods: Vec<Mood> }
            #[derive(Persist)]
            pub enum Mood { Calm, Furious(u8), #[persist(rename = "new_Angry")] #[persist(alias = "Angry")] Angry(u8) }
        }
    }
}
