//! What becomes of a class depends on where it stands, and a name on when it was there: each case was called safe,
//! although old values do not load, or load as something else.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use persist::save::Registry;
use persist::{Record, Saves};

use super::{bad, lock_of, locked, registry, report};

versions! {
    in_list_and_object {
        pub(super) struct Hero { bags: Vec<Bag>, own: Option<Rc<RefCell<Bag>>> }
        pub(super) struct Bag { size: u32 }
    }
    in_list {
        pub(super) struct Hero { bags: Vec<Bag> }
        pub(super) struct Bag { size: u8 }
    }
    in_two_fields {
        pub(super) struct Hero { bag: Bag, bags: Vec<Bag> }
        pub(super) struct Bag { size: u32 }
    }
    in_one_field {
        #[persist(removed = "bag")]
        pub(super) struct Hero { bags: Vec<Bag> }
        pub(super) struct Bag { size: u8 }
    }
    behind_pointer {
        pub(super) struct Hero { bag: Rc<RefCell<Bag>> }
        pub(super) struct Bag { size: u32 }
    }
    not_behind_pointer {
        #[persist(version = 2, migrate(1 = does_nothing))]
        pub(super) struct Hero { bag: Bag }
        pub(super) struct Bag { size: u8 }
    }
}

fn does_nothing(_: &mut Record, _: u32) {}

#[test]
fn a_class_is_tested_where_the_program_reads_it() {
    let objects = report::<in_list_and_object::Hero, in_list::Hero>();
    insta::assert_snapshot!(objects.to_string());
    let fields = report::<in_two_fields::Hero, in_one_field::Hero>();
    assert_eq!(bad(&fields), ["breaks: Bag.size"], "{fields}");
    // No sample has an object that is read as a value.
    let inlined = report::<behind_pointer::Hero, not_behind_pointer::Hero>();
    insta::assert_snapshot!(inlined.to_string());
}

versions! {
    newtypes {
        pub(super) struct Hero { id: Id, deep: Vec<Deep> }
        pub(super) struct Deep { ids: Vec<Id>, pairs: Vec<Pair> }
        pub(super) struct Id(u32);
        pub(super) struct Pair(u8, u32);
    }
    narrower_without {
        pub(super) struct Hero { id: Id, deep: Vec<Deep> }
        pub(super) struct Deep { ids: Vec<u16>, pairs: Vec<(u8, u16)> }
        pub(super) struct Id(u32);
    }
    wider_without {
        pub(super) struct Hero { id: Id, deep: Vec<Deep> }
        pub(super) struct Deep { ids: Vec<u64>, pairs: Vec<(u16, u32)> }
        pub(super) struct Id(u32);
    }
    slots {
        pub(super) struct Slot<T: persist::Persist> { value: T }
        pub(super) struct Hero { a: Slot<Slot<u32>>, b: Slot<u8>, c: Result<u32, String>, d: Result<u8, String> }
    }
    narrower_slots {
        pub(super) struct Slot<T: persist::Persist> { value: T }
        pub(super) struct Hero { a: Slot<Slot<u16>>, b: Slot<u8>, c: Result<u16, String>, d: Result<u8, String> }
    }
    wider_slots {
        pub(super) struct Slot<T: persist::Persist> { value: T }
        pub(super) struct Hero { a: Slot<Slot<u64>>, b: Slot<u8>, c: Result<u64, String>, d: Result<u8, String> }
    }
}

#[test]
fn a_class_that_becomes_another_in_one_place_is_tested_there() {
    let narrower = report::<newtypes::Hero, narrower_without::Hero>();
    insta::assert_snapshot!(narrower.to_string());
    let wider = report::<newtypes::Hero, wider_without::Hero>();
    assert!(wider.loads() && wider.notes().is_empty(), "{wider}");
    let narrower = report::<slots::Hero, narrower_slots::Hero>();
    insta::assert_snapshot!(narrower.to_string());
    let wider = report::<slots::Hero, wider_slots::Hero>();
    assert!(wider.loads() && wider.notes().is_empty(), "{wider}");
}

versions! {
    bare {
        pub(super) struct Hero { seen: Rc<[u32]>, list: Rc<RefCell<Vec<u8>>> }
    }
    other_bare {
        pub(super) struct Hero { seen: Rc<[u16]>, list: Rc<RefCell<BTreeSet<u8>>> }
    }
}

#[test]
fn a_bare_value_behind_a_pointer_is_compared() {
    insta::assert_snapshot!(report::<bare::Hero, other_bare::Hero>().to_string());
}

versions! {
    wide {
        pub(super) struct Hero { hp: u64 }
    }
    number {
        pub(super) struct Hero { hp: u32 }
    }
    from_text {
        pub(super) struct Hero { #[persist(convert = parse)] hp: u8 }
    }
    from_number {
        pub(super) struct Hero { #[persist(convert = print)] hp: String }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a `convert` takes the old value")]
fn parse(old: String) -> Result<u8, String> {
    old.parse().map_err(|_| format!("{old:?} is no number"))
}

fn print(old: u32) -> String {
    old.to_string()
}

#[test]
fn a_convert_from_another_kind_accepts_nothing() {
    let other = report::<number::Hero, from_text::Hero>();
    insta::assert_snapshot!(other.to_string());
    let lock = lock_of(&[registry::<wide::Hero>(), registry::<number::Hero>()]);
    let older = lock.compare(&registry::<from_number::Hero>());
    assert_eq!(bad(&older), ["breaks: Hero.hp"], "{older}");
    assert_eq!(older.differences()[0].versions, ["0.1.0"]);
}

versions! {
    numbered {
        pub(super) struct Hero { #[persist(id = 1)] hp: u32, #[persist(id = 2)] name: String }
    }
    without {
        pub(super) struct Hero { #[persist(id = 2)] name: String }
    }
    number_again {
        pub(super) struct Hero { #[persist(id = 1, default)] mana: u32, #[persist(id = 2)] name: String }
    }
    next_number {
        #[persist(removed = "hp")]
        pub(super) struct Hero { #[persist(id = 3, default)] mana: u32, #[persist(id = 2)] name: String }
    }
    said {
        pub(super) struct Hero { #[persist(id = 1, alias = "hp", default)] mana: u32, #[persist(id = 2)] name: String }
    }
}

#[test]
fn a_number_that_was_free_in_between_is_not_used_for_another_thing() {
    let lock = lock_of(&[registry::<numbered::Hero>(), registry::<without::Hero>()]);
    insta::assert_snapshot!(lock.compare(&registry::<number_again::Hero>()).to_string());
    let mended = lock.compare(&registry::<next_number::Hero>());
    assert!(mended.loads(), "{mended}");
    let said = lock.compare(&registry::<said::Hero>());
    assert!(said.loads(), "{said}");
}

versions! {
    angry {
        pub(super) enum Mood { Calm, Angry(u8) }
        pub(super) struct Hero { mood: Mood }
    }
    furious {
        pub(super) enum Mood { Calm, #[persist(alias = "Angry")] Furious(u8) }
        pub(super) struct Hero { mood: Mood }
    }
    both_moods {
        pub(super) enum Mood { Calm, Furious(u8), Angry(u8) }
        pub(super) struct Hero { mood: Mood }
    }
    both_moods_mended {
        pub(super) enum Mood { Calm, #[persist(alias = "Angry")] Furious(u8), #[persist(rename = "new_Angry")] Angry(u8) }
        pub(super) struct Hero { mood: Mood }
    }
    places {
        pub(super) struct Place { x: f32, y: f32 }
    }
    spots {
        #[persist(alias = "Place")]
        pub(super) struct Spot { x: f32, y: f32 }
    }
}

#[test]
fn a_variant_and_a_class_are_not_another_of_the_same_name() {
    let lock = lock_of(&[registry::<angry::Hero>(), registry::<furious::Hero>()]);
    insta::assert_snapshot!(lock.compare(&registry::<both_moods::Hero>()).to_string());
    let mended = lock.compare(&registry::<both_moods_mended::Hero>());
    assert!(mended.loads(), "{mended}");

    let lock = lock_of(&[registry::<places::Place>(), registry::<spots::Spot>()]);
    let both = |register: fn(&Saves) -> persist::Result<()>| {
        let saves = Saves::new();
        register(&saves).unwrap();
        Registry::clone(&saves.registry())
    };
    let again = both(|saves| {
        saves.register::<places::Place>()?;
        saves.register::<spots_alone::Spot>()
    });
    insta::assert_snapshot!(lock.compare(&again).to_string());
}

versions! {
    spots_alone {
        pub(super) struct Spot { x: f32, y: f32 }
    }
    colours {
        pub(super) enum Colour { Grey, Gray, Red }
        pub(super) struct Hero { colours: Vec<Colour> }
    }
    one_grey {
        pub(super) enum Colour { #[persist(alias = "Gray")] Grey, Red }
        pub(super) struct Hero { colours: Vec<Colour> }
    }
    one_grey_meant {
        #[persist(version = 2, migrate(1 = does_nothing))]
        pub(super) enum Colour { #[persist(alias = "Gray")] Grey, Red }
        pub(super) struct Hero { colours: Vec<Colour> }
    }
    places_meant {
        #[persist(version = 2, migrate(1 = does_nothing), alias = "Place")]
        pub(super) struct Spot { x: f32, y: f32 }
    }
}

#[test]
fn variants_and_classes_that_become_one_are_lost() {
    let report = report::<colours::Hero, one_grey::Hero>();
    insta::assert_snapshot!(report.to_string());
    let meant = super::report::<colours::Hero, one_grey_meant::Hero>();
    assert!(meant.loads(), "{meant}");

    let mut then = registry::<places::Place>();
    then.register::<spots_alone::Spot>().unwrap();
    let lock = locked(&then);
    insta::assert_snapshot!(lock.compare(&registry::<spots::Spot>()).to_string());
    let meant = lock.compare(&registry::<places_meant::Spot>());
    assert!(meant.loads(), "{meant}");
}

/// A kind whose text is longer than a report shows of it.
type Long<T> = (Names, Names, Names, Names, Names, Names, Names, Names, Names, Names, T);
type Names = std::collections::BTreeMap<String, Vec<Option<(String, String)>>>;

versions! {
    long {
        pub(super) struct Hero { all: Long<u32> }
    }
    other_long {
        pub(super) struct Hero { all: Long<u8> }
    }
}

#[test]
fn kinds_are_compared_to_their_ends() {
    let report = report::<long::Hero, other_long::Hero>();
    assert_eq!(bad(&report), ["breaks: Hero.all"], "{report}");
    assert_eq!(report.differences().len(), 1);
    let kinds = report.differences()[0].change.split(';').next().unwrap();
    assert!(kinds.ends_with("..."), "{kinds}");
}
