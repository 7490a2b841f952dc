//! What the lock once called safe, although old values are lost or changed by it: each case with the report that is
//! printed now, and with the line in the code that accepts it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use persist::save::Registry;
use persist::{Record, Saves, Unknown};
use persist_tools::lock::Verdict;

use super::{bad, lock_of, locked, registry, report};

versions! {
    hp {
        pub(super) struct Hero { pub(super) hp: u32, pub(super) name: String }
    }
    retyped {
        pub(super) struct Hero { #[persist(default)] health: f32, name: String }
    }
    retyped_without_default {
        pub(super) struct Hero { health: f32, name: String }
    }
    unlike {
        pub(super) struct Hero { #[persist(default)] hit_points: Vec<HashMap<u8, bool>>, name: String }
    }
    retyped_by_alias {
        pub(super) struct Hero { #[persist(alias = "hp")] health: u64, name: String }
    }
    retyped_and_removed {
        #[persist(removed = "hp")]
        pub(super) struct Hero { #[persist(default)] health: f32, name: String }
    }
}

#[test]
fn a_field_that_is_renamed_and_retyped_is_lost() {
    let report = report::<hp::Hero, retyped::Hero>();
    insta::assert_snapshot!(report.to_string());
    let without = super::report::<hp::Hero, retyped_without_default::Hero>();
    assert_eq!(bad(&without), ["needs default: Hero.health"]);
    // Not every number of the old kind is one of the new.
    let question = "if it is what hp was, give it `#[persist(alias = \"hp\", convert = from_hp)]`";
    assert!(without.differences()[0].change.contains(question), "{without}");
    let unlike = super::report::<hp::Hero, unlike::Hero>();
    insta::assert_snapshot!(unlike.to_string());
    // What is meant is said in the code.
    assert!(super::report::<hp::Hero, retyped_by_alias::Hero>().loads());
    assert!(super::report::<hp::Hero, retyped_and_removed::Hero>().loads());
    // An update of the lock does not say it.
    let lock = lock_of(&[registry::<hp::Hero>(), registry::<retyped::Hero>()]);
    assert_eq!(bad(&lock.compare(&registry::<retyped::Hero>())), ["loses: Hero.hp"]);
}

versions! {
    at_place {
        pub(super) struct Hero { pub(super) home: Place }
        pub(super) struct Place { pub(super) x: f32, pub(super) y: f32 }
    }
    at_house {
        pub(super) struct Hero { #[persist(default = House { x: 0.0, y: 0.0, rooms: 1 })] house: House }
        pub(super) struct House { x: f32, y: f32, #[persist(default)] rooms: u8 }
    }
    at_house_of_old {
        pub(super) struct Hero { #[persist(alias = "home")] house: House }
        #[persist(alias = "Place")]
        pub(super) struct House { x: f32, y: f32, #[persist(default)] rooms: u8 }
    }
}

#[test]
fn a_field_that_is_renamed_with_its_class_is_lost() {
    let report = report::<at_place::Hero, at_house::Hero>();
    insta::assert_snapshot!(report.to_string());
    let mended = super::report::<at_place::Hero, at_house_of_old::Hero>();
    assert!(mended.loads(), "{mended}");
}

versions! {
    shops_in_world {
        pub(super) struct World { pub(super) name: String, pub(super) shops: Vec<Shop> }
        #[derive(Clone, Debug, PartialEq)]
        pub(super) struct Shop { pub(super) goods: u32 }
    }
    shops_in_town {
        #[derive(Default)]
        pub(super) struct Town { #[persist(default)] pub(super) shops: Vec<Shop>, #[persist(default)] size: u8 }
        pub(super) struct World { name: String, #[persist(default)] town: Town }
        pub(super) struct Shop { goods: u32 }
    }
    shops_migrated {
        #[derive(Default)]
        pub(super) struct Town { #[persist(default)] pub(super) shops: Vec<Shop>, #[persist(default)] size: u8 }
        #[persist(version = 2, migrate(1 = to_2))]
        pub(super) struct World { name: String, #[persist(default)] pub(super) town: Town }
        #[derive(Clone, Debug, PartialEq)]
        pub(super) struct Shop { pub(super) goods: u32 }
    }
    shops_forgotten {
        #[derive(Default)]
        pub(super) struct Town { #[persist(default)] pub(super) shops: Vec<Shop>, #[persist(default)] size: u8 }
        #[persist(version = 2, migrate(1 = does_nothing))]
        pub(super) struct World { name: String, #[persist(default)] town: Town }
        pub(super) struct Shop { goods: u32 }
    }
    shops_removed {
        #[derive(Default)]
        pub(super) struct Town { #[persist(default)] pub(super) shops: Vec<Shop>, #[persist(default)] size: u8 }
        #[persist(removed = "shops")]
        pub(super) struct World { name: String, #[persist(default)] town: Town }
        pub(super) struct Shop { goods: u32 }
    }
}

// As the report prints it.
fn to_2(record: &mut persist::Record, _from: u32) {
    if let Some(moved) = record.take("shops") {
        if record.get("town").is_none() {
            record.set("town", persist::Record::new("Town"));
        }
        if let Some(inner) = record.get_mut("town").and_then(persist::Value::as_record_mut) {
            inner.set("shops", moved);
        }
    }
}

fn does_nothing(_: &mut Record, _: u32) {}

#[test]
fn a_field_that_is_moved_into_another_class_is_lost() {
    let report = report::<shops_in_world::World, shops_in_town::World>();
    insta::assert_snapshot!(report.to_string());
    let mended = super::report::<shops_in_world::World, shops_migrated::World>();
    assert!(mended.loads(), "{mended}");
    let shops = vec![shops_in_world::Shop { goods: 7 }];
    let old = shops_in_world::World { name: "Oz".into(), shops };
    let new: shops_migrated::World = persist::from_slice(&persist::to_vec(&old).unwrap()).unwrap();
    assert_eq!(new.town.shops, [shops_migrated::Shop { goods: 7 }]);
    // A migration that leaves it is none of it.
    let forgotten = super::report::<shops_in_world::World, shops_forgotten::World>();
    assert_eq!(bad(&forgotten), ["loses: World.shops"], "{forgotten}");
    assert!(super::report::<shops_in_world::World, shops_removed::World>().loads());
}

versions! {
    gold_inside {
        pub(super) struct Player { pub(super) purse: Purse }
        pub(super) struct Purse { pub(super) gold: u32, pub(super) size: u8 }
    }
    gold_outside {
        pub(super) struct Player { purse: Purse, #[persist(default)] gold: u32 }
        pub(super) struct Purse { size: u8 }
    }
    gold_taken_out {
        #[persist(version = 2, migrate(1 = take_out))]
        pub(super) struct Player { purse: Purse, #[persist(default)] pub(super) gold: u32 }
        pub(super) struct Purse { size: u8 }
    }
}

// As the report prints it.
fn take_out(record: &mut persist::Record, _from: u32) {
    let inner = record.get_mut("purse").and_then(persist::Value::as_record_mut);
    if let Some(moved) = inner.and_then(|inner| inner.take("gold")) {
        record.set("gold", moved);
    }
}

#[test]
fn a_field_that_is_moved_out_of_a_class_is_lost() {
    let report = report::<gold_inside::Player, gold_outside::Player>();
    insta::assert_snapshot!(report.to_string());
    let mended = super::report::<gold_inside::Player, gold_taken_out::Player>();
    assert!(mended.loads(), "{mended}");
    let old = gold_inside::Player { purse: gold_inside::Purse { gold: 9, size: 1 } };
    let new: gold_taken_out::Player = persist::from_slice(&persist::to_vec(&old).unwrap()).unwrap();
    assert_eq!(new.gold, 9);
}

versions! {
    with_cart {
        pub(super) struct Player { name: String }
        pub(super) struct Cart { goods: Vec<Good>, wheels: u8 }
        pub(super) struct Good { price: u32 }
    }
    without_cart {
        pub(super) struct Player { name: String, #[persist(default)] goods: Vec<Good> }
        pub(super) struct Good { price: u32 }
    }
    cart_without_goods {
        pub(super) struct Cart { wheels: u8 }
    }
}

#[test]
fn a_field_of_an_object_that_comes_in_another_is_lost() {
    let two = |cart: fn(&mut Registry) -> persist::Result<()>| {
        let mut registry = registry::<without_cart::Player>();
        cart(&mut registry).unwrap();
        registry
    };
    let mut then = registry::<with_cart::Player>();
    then.register::<with_cart::Cart>().unwrap();
    let lock = locked(&then);
    let mut registry = two(|_| Ok(()));
    insta::assert_snapshot!(lock.compare(&registry).to_string());
    registry.declare_removed_class("Cart").unwrap();
    assert!(lock.compare(&registry).loads());
    insta::assert_snapshot!(
        lock.compare(&two(Registry::register::<cart_without_goods::Cart>)).to_string()
    );
}

versions! {
    by_value {
        pub(super) struct Hero { bag: Vec<Bag>, own: Option<Rc<RefCell<Bag>>> }
        pub(super) struct Bag { size: u8, colour: u8 }
    }
    by_value_without {
        pub(super) struct Hero { bag: Vec<Bag>, own: Option<Rc<RefCell<Bag>>> }
        pub(super) struct Bag { size: u8 }
    }
    by_value_with_room {
        pub(super) struct Hero { bag: Vec<Bag>, own: Option<Rc<RefCell<Bag>>> }
        pub(super) struct Bag { size: u8, #[persist(unknown)] rest: Unknown }
    }
    by_value_removed {
        pub(super) struct Hero { bag: Vec<Bag>, own: Option<Rc<RefCell<Bag>>> }
        #[persist(removed = "colour")]
        pub(super) struct Bag { size: u8 }
    }
    in_variants {
        pub(super) enum Mood { Calm, Sad(u8, u16), Angry { since: u32, at: String } }
        pub(super) struct Pet { mood: Mood }
    }
    in_variants_without {
        pub(super) enum Mood { Calm, Sad(u8), Angry { since: u32 } }
        pub(super) struct Pet { mood: Mood }
    }
    in_variants_removed {
        pub(super) enum Mood {
            Calm,
            #[persist(removed = "1")] Sad(u8),
            #[persist(removed = "at")] Angry { since: u32 },
        }
        pub(super) struct Pet { mood: Mood }
    }
}

#[test]
fn a_field_that_goes_from_a_class_that_is_held_by_value_is_lost() {
    let report = report::<by_value::Hero, by_value_without::Hero>();
    insta::assert_snapshot!(report.to_string());
    assert!(super::report::<by_value::Hero, by_value_with_room::Hero>().loads());
    assert!(super::report::<by_value::Hero, by_value_removed::Hero>().loads());
    // Of an object it is kept.
    assert!(super::report::<by_value::Bag, by_value_without::Bag>().loads());
    let variants = super::report::<in_variants::Pet, in_variants_without::Pet>();
    insta::assert_snapshot!(variants.to_string());
    let removed = super::report::<in_variants::Pet, in_variants_removed::Pet>();
    assert!(removed.loads(), "{removed}");
}

versions! {
    nothing {
        pub(super) struct Hero { name: String }
    }
    hp_again {
        pub(super) struct Hero { name: String, #[persist(default)] hp: u64 }
    }
    hp_as_it_was {
        pub(super) struct Hero { name: String, #[persist(default)] hp: u32 }
    }
    hp_of_another_number {
        pub(super) struct Hero { name: String, #[persist(id = 3, default)] hp: u32 }
    }
    hp_under_another_name {
        #[persist(removed = "hp")]
        pub(super) struct Hero { name: String, #[persist(rename = "new_hp", default)] hp: u64 }
    }
    widened {
        pub(super) struct Hero { name: String, hp: u64 }
    }
    health {
        pub(super) struct Hero { name: String, #[persist(alias = "hp")] health: u32 }
    }
    hp_beside_health {
        pub(super) struct Hero { name: String, #[persist(default)] health: u32, #[persist(default)] hp: u32 }
    }
}

#[test]
fn a_name_that_was_free_in_between_is_not_used_for_another_thing() {
    let lock = lock_of(&[registry::<hp::Hero>(), registry::<nothing::Hero>()]);
    insta::assert_snapshot!(lock.compare(&registry::<hp_again::Hero>()).to_string());
    let other = lock.compare(&registry::<hp_of_another_number::Hero>());
    assert_eq!(bad(&other), ["loses: Hero.hp"], "{other}");
    let mended = lock.compare(&registry::<hp_under_another_name::Hero>());
    assert!(mended.loads(), "{mended}");
    // It comes back as it was, and without a version in between it is the same.
    assert!(lock.compare(&registry::<hp_as_it_was::Hero>()).loads());
    assert!(locked(&registry::<hp::Hero>()).compare(&registry::<widened::Hero>()).loads());
    // In between another one had its values.
    let lock = lock_of(&[registry::<hp::Hero>(), registry::<health::Hero>()]);
    let back = lock.compare(&registry::<hp_beside_health::Hero>());
    assert_eq!(bad(&back), ["loses: Hero.hp"], "{back}");
}

versions! {
    third {
        #[persist(version = 3)]
        pub(super) struct Hero { level: u32 }
    }
    second {
        #[persist(version = 2)]
        pub(super) struct Hero { level: u32 }
    }
}

#[test]
fn a_version_that_is_lowered_breaks() {
    insta::assert_snapshot!(report::<third::Hero, second::Hero>().to_string());
    assert!(report::<second::Hero, third::Hero>().loads());
}

versions! {
    lists {
        pub(super) struct Hero { seen: Vec<u8>, deep: Vec<Vec<(u8, String)>>, fixed: [u8; 8] }
    }
    sets {
        pub(super) struct Hero { seen: BTreeSet<u8>, deep: Vec<BTreeMap<u8, String>>, fixed: Vec<u8> }
    }
    shorter {
        pub(super) struct Hero { seen: Vec<u8>, deep: Vec<Vec<(u8, String)>>, fixed: [u8; 4] }
    }
    by_convert {
        pub(super) struct Hero {
            #[persist(convert = Vec::into_iter_collect)]
            seen: BTreeSet<u8>,
            deep: Vec<Vec<(u8, String)>>,
            #[persist(convert = first_four)]
            fixed: [u8; 4],
        }
    }
}

trait IntoIterCollect {
    fn into_iter_collect(old: Vec<u8>) -> BTreeSet<u8>;
}

impl IntoIterCollect for Vec<u8> {
    fn into_iter_collect(old: Vec<u8>) -> BTreeSet<u8> {
        old.into_iter().collect()
    }
}

fn first_four(old: [u8; 8]) -> [u8; 4] {
    [old[0], old[1], old[2], old[3]]
}

#[test]
fn lists_whose_elements_must_differ_or_be_fewer_are_not_safe() {
    insta::assert_snapshot!(report::<lists::Hero, sets::Hero>().to_string());
    assert!(report::<sets::Hero, sets::Hero>().notes().is_empty());
    let shorter = report::<lists::Hero, shorter::Hero>();
    assert_eq!(bad(&shorter).len(), 1, "{shorter}");
    assert!(!shorter.loads(), "{shorter}");
    let converted = report::<lists::Hero, by_convert::Hero>();
    assert!(converted.loads(), "{converted}");
}

versions! {
    two_moods {
        pub(super) enum Mood { Calm, Angry { since: u32 }, #[persist(other)] Other }
        pub(super) struct Hero { mood: Vec<Mood> }
    }
    one_mood {
        pub(super) enum Mood { Calm, #[persist(other)] Other }
        pub(super) struct Hero { mood: Vec<Mood> }
    }
    one_mood_kept {
        pub(super) enum Mood { Calm, #[persist(other)] Other(Unknown) }
        pub(super) struct Hero { mood: Vec<Mood> }
    }
    one_mood_meant {
        #[persist(removed = "Angry")]
        pub(super) enum Mood { Calm, #[persist(other)] Other }
        pub(super) struct Hero { mood: Vec<Mood> }
    }
    another_mood {
        pub(super) enum Mood { Calm, Furious { since: u32 }, #[persist(other)] Other }
        pub(super) struct Hero { mood: Vec<Mood> }
    }
    mood_as_text {
        pub(super) struct Hero { mood: Vec<String> }
    }
}

versions! {
    keys {
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Item { Ore, Bow, Spear }
        pub(super) struct Hero { counts: BTreeMap<Item, u8> }
    }
    fewer_keys {
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Item { Ore, #[persist(other)] Other }
        pub(super) struct Hero { counts: BTreeMap<Item, u8> }
    }
    fewer_keys_kept {
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Item { Ore, #[persist(other)] Other(persist::Unknown) }
        pub(super) struct Hero { counts: BTreeMap<Item, u8> }
    }
    fewer_keys_meant {
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        #[persist(removed = "Bow", removed = "Spear")]
        pub(super) enum Item { Ore, #[persist(other)] Other }
        pub(super) struct Hero { counts: BTreeMap<Item, u8> }
    }
}

#[test]
fn keys_of_variants_that_went_are_lost_and_all_others_load() {
    let report = report::<keys::Hero, fewer_keys::Hero>();
    insta::assert_snapshot!(report.to_string());
    assert_eq!(bad(&report), ["loses: Item.Bow", "loses: Item.Spear"], "{report}");
    let meant = super::report::<keys::Hero, fewer_keys_meant::Hero>();
    assert!(meant.loads(), "{meant}");
    let kept = super::report::<keys::Hero, fewer_keys_kept::Hero>();
    assert!(kept.loads(), "{kept}");
}

#[test]
fn values_of_a_variant_that_went_are_lost() {
    let report = report::<two_moods::Hero, one_mood::Hero>();
    insta::assert_snapshot!(report.to_string());
    let meant = super::report::<two_moods::Hero, one_mood_meant::Hero>();
    assert!(meant.loads(), "{meant}");
    let kept = super::report::<two_moods::Hero, one_mood_kept::Hero>();
    assert!(kept.loads(), "{kept}");
    let renamed = super::report::<two_moods::Hero, another_mood::Hero>();
    assert_eq!(bad(&renamed), ["loses: Mood.Angry"], "{renamed}");
    let attribute = renamed.differences()[0].attribute.as_deref();
    assert_eq!(attribute, Some("#[persist(alias = \"Angry\")]"));
    let texts = super::report::<mood_as_text::Hero, one_mood::Hero>();
    assert_eq!(bad(&texts), ["loses: Hero.mood"], "{texts}");
}

versions! {
    shared {
        pub(super) struct Hero { guild: Rc<RefCell<Guild>> }
        pub(super) struct Guild { name: String }
    }
    copied {
        pub(super) struct Hero { guild: Guild }
        pub(super) struct Guild { name: String }
    }
}

#[test]
fn objects_that_become_copies_are_no_longer_shared() {
    insta::assert_snapshot!(report::<shared::Hero, copied::Hero>().to_string());
}

mod old {
    #[derive(persist::Persist)]
    pub(super) struct Hero {
        pub(super) count: u8,
        pub(super) pair: (u8, i16),
        pub(super) seen: Vec<u32>,
        pub(super) name: String,
        pub(super) gone: u32,
        pub(super) mood: Mood,
    }

    #[derive(persist::Persist)]
    pub(super) enum Mood {
        Calm,
        Angry(u8),
    }
}

mod wide {
    #[derive(persist::Persist)]
    #[persist(class = "Hero")]
    pub(super) struct NewHero {
        #[persist(default)]
        pet: Option<u8>,
        mood: Mood,
        #[persist(alias = "name")]
        title: String,
        pair: (u16, i32),
        count: Option<u64>,
        seen: std::collections::VecDeque<u64>,
        gone: u32,
        new: Option<Box<NewHero>>,
    }

    #[derive(persist::Persist)]
    pub(super) enum Mood {
        Happy {
            since: u32,
        },
        #[persist(alias = "Angry")]
        Furious(u32),
        Calm,
    }
}

#[test]
fn what_keeps_every_value_is_safe() {
    let report = report::<old::Hero, wide::NewHero>();
    assert!(report.loads() && report.notes().is_empty(), "{report}");
    assert!(report.differences().iter().all(|found| found.verdict == Verdict::Safe), "{report}");
}

versions! {
    first { pub(super) struct Hero { name: String, mood: u8 } }
    then_less { pub(super) struct Hero { name: String } }
    then_more { pub(super) struct Hero { name: String, #[persist(default)] age: u8 } }
    both { pub(super) struct Hero { name: String, mood: u8, #[persist(default)] age: u8 } }
}

#[test]
fn fields_that_were_there_at_once_or_in_turn_are_not_taken_for_one() {
    let less = lock_of(&[registry::<first::Hero>(), registry::<then_less::Hero>()]);
    assert!(less.compare(&registry::<then_more::Hero>()).loads());
    let both = lock_of(&[registry::<first::Hero>(), registry::<both::Hero>()]);
    assert!(both.compare(&registry::<then_more::Hero>()).loads());
    let neither = locked(&registry::<first::Hero>()).compare(&registry::<then_more::Hero>());
    assert_eq!(bad(&neither), ["loses: Hero.mood"]);
}

versions! {
    tuple {
        pub(super) struct Point(u8);
        pub(super) struct Hero { at: Point }
    }
    longer_tuple {
        pub(super) struct Point(u8, HashMap<String, Box<Hero>>);
        pub(super) struct Hero {
            at: Point,
            modifier: Box<Modifier>,
            #[persist(rename = "seenOf")]
            seen_of: HashMap<String, (u8, Vec<u16>)>,
        }
        #[derive(Default)]
        pub(super) struct Modifier { by: u8 }
    }
}

#[test]
fn the_lines_are_as_they_stand_in_the_source() {
    insta::assert_snapshot!(report::<tuple::Hero, longer_tuple::Hero>().to_string());
}

mod called {
    #[derive(persist::Persist)]
    #[persist(class = "quest.Hero")]
    pub(super) struct Hero {
        level: u32,
    }
}

mod called_anew {
    #[derive(persist::Persist)]
    #[persist(class = "quest.Knight", alias = "quest.Hero")]
    pub(super) struct Knight {
        level: u8,
    }
}

#[test]
fn reports_name_the_class_of_today() {
    insta::assert_snapshot!(report::<called::Hero, called_anew::Knight>().to_string());
}

mod in_world {
    #[derive(persist::Persist)]
    #[persist(class = "Health")]
    pub(super) struct Health {
        points: u32,
        most: u8,
        shield: u8,
    }

    #[derive(persist::Persist)]
    #[persist(class = "Health")]
    pub(super) struct Narrower {
        points: u16,
        most: u16,
        shield: Option<u8>,
    }

    #[derive(persist::Persist)]
    #[persist(class = "Health")]
    pub(super) struct Less {
        points: u32,
        most: u8,
    }

    impl persist::Component for Health {}
    impl persist::Component for Narrower {}
    impl persist::Component for Less {}
}

#[test]
fn components_that_lose_something_are_not_safe() {
    let components = |register: fn(&Saves) -> persist::Result<()>| {
        let saves = Saves::new();
        register(&saves).unwrap();
        Registry::clone(&saves.registry())
    };
    let lock = locked(&components(Saves::register_component::<in_world::Health>));
    let narrower = lock.compare(&components(Saves::register_component::<in_world::Narrower>));
    insta::assert_snapshot!(narrower.to_string());
    let less = lock.compare(&components(Saves::register_component::<in_world::Less>));
    assert_eq!(bad(&less), ["loses: Health.shield"], "{less}");
}

versions! {
    hp_and_health {
        pub(super) struct Hero { pub(super) hp: u32, pub(super) health: u32 }
    }
    health_of_both {
        pub(super) struct Hero { #[persist(alias = "hp")] pub(super) health: u32 }
    }
    health_by_migration {
        #[persist(version = 2, migrate(1 = add_both))]
        pub(super) struct Hero { #[persist(alias = "hp")] pub(super) health: u32 }
    }
}

fn add_both(hero: &mut Record, _: u32) {
    let part = |part: Option<persist::Value>| part.and_then(|part| part.as_u64()).unwrap_or(0);
    let (hp, health) = (part(hero.take("hp")), part(hero.take("health")));
    hero.set("health", hp.saturating_add(health).min(u64::from(u32::MAX)));
}

#[test]
fn a_field_whose_place_another_one_takes_is_lost() {
    let report = report::<hp_and_health::Hero, health_of_both::Hero>();
    assert_eq!(bad(&report), ["loses: Hero.hp"]);
    insta::assert_snapshot!(report.to_string());
    let migrated = super::report::<hp_and_health::Hero, health_by_migration::Hero>();
    assert!(migrated.loads(), "{migrated}");
}

versions! {
    slots_of_u8 {
        pub(super) struct Slot<T> { item: T }
    }
    slots {
        pub(super) struct Slot<T> { item: T }
        pub(super) struct Sword { sharp: u8 }
    }
}

#[test]
fn objects_that_could_become_several_instances_do_not_load() {
    let mut old = Registry::new();
    old.register::<slots_of_u8::Slot<u8>>().unwrap();
    let lock = lock_of(&[old]);
    let mut now = Registry::new();
    now.register::<slots::Slot<u16>>().unwrap();
    now.register::<slots::Slot<u32>>().unwrap();
    let report = lock.compare(&now);
    assert_eq!(bad(&report), ["breaks: Slot<u8>"]);
    insta::assert_snapshot!(report.to_string());
    // What the report advises.
    let mut all = now.clone();
    all.register::<slots::Slot<u8>>().unwrap();
    assert!(lock.compare(&all).loads());
    now.declare_removed_class("Slot<u8>").unwrap();
    assert!(lock.compare(&now).loads(), "{}", lock.compare(&now));

    let mut other = Registry::new();
    other.register::<slots::Slot<slots::Sword>>().unwrap();
    let report = lock.compare(&other);
    assert_eq!(bad(&report), ["breaks: Slot<Sword>.item"]);
    insta::assert_snapshot!(report.to_string());
}
