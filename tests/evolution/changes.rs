//! A save of an older program in a newer one: fields, variants and classes are
//! matched by name, and whatever does not match is reported or refused.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use crate::types::{new, old};
use persist::save::LoadEvent;
use persist::{Error, ErrorKind, LoadOptions, Loaded, Persist, SaveManager};
use persist_tests::support::{Shared, shared};

/// The save of one object by a program that has it.
fn save<T: Persist>(value: T) -> Vec<u8> {
    save_all([value])
}

fn save_all<T: Persist>(values: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut manager = SaveManager::new();
    for value in values {
        manager.add(&shared(value)).unwrap();
    }
    manager.to_vec().unwrap()
}

/// What a program that has `T` makes of it.
fn load<T: Persist>(save: &[u8]) -> Result<Loaded<SaveManager>, Error> {
    let manager = SaveManager::new();
    manager.register::<T>()?;
    manager.from_slice(save)
}

fn first<T: Persist>(save: &[u8]) -> (Shared<T>, Vec<Row>) {
    let loaded = load::<T>(save).unwrap();
    (loaded.first::<T>().unwrap(), rows(&loaded))
}

type Row = (LoadEvent, String, String, u64, u64);

/// The findings: change, class, field, how often, first object.
fn rows(loaded: &Loaded<SaveManager>) -> Vec<Row> {
    let findings = loaded.report().rows().iter();
    findings
        .map(|finding| {
            let field = finding.field.clone().unwrap_or_default();
            let object = finding.object.map_or(0, persist::ObjectId::get);
            (finding.event, finding.class.clone(), field, finding.count, object)
        })
        .collect()
}

fn row(change: LoadEvent, class: &str, field: &str, count: u64) -> Row {
    (change, class.to_owned(), field.to_owned(), count, 1)
}

fn hero() -> old::Hero {
    old::Hero { strength: 7, wisdom: 11, name: "Ada".into(), gone: vec![1, 2], mail: -5 }
}

#[test]
fn fields_are_matched_by_name() {
    let (hero, found) = first::<new::Hero>(&save(hero()));
    let hero = hero.borrow();
    assert_eq!((hero.strength, hero.wisdom, &*hero.name), (7, 11, "Ada"));
    assert_eq!((hero.post, hero.luck, &hero.pet), (-5, 0, &None));
    assert_eq!(hero.bag, ["torch"]);
    assert_eq!(
        found,
        [
            row(LoadEvent::Defaulted, "Hero", "luck", 1),
            row(LoadEvent::Defaulted, "Hero", "bag", 1),
            row(LoadEvent::Defaulted, "Hero", "pet", 1),
            row(LoadEvent::Kept, "Hero", "gone", 1),
        ]
    );
}

#[test]
fn findings_are_counted_and_name_the_first_object() {
    let loaded = load::<new::Hero>(&save_all([hero(), hero(), hero()])).unwrap();
    assert!(rows(&loaded).iter().all(|(.., count, object)| (*count, *object) == (3, 1)));
    let report = loaded.report().to_string();
    assert!(report.contains("defaulted: Hero.luck, 3 times, first in object #1"), "{report}");
    assert!(report.contains("kept as unknown: Hero.gone, 3 times, first in object #1"), "{report}");
}

#[test]
fn a_loaded_save_is_saved_in_the_new_form() {
    let manager = SaveManager::new();
    manager.register::<new::Hero>().unwrap();
    let loaded = manager.from_slice(&save(hero())).unwrap();
    let again = loaded.to_vec().unwrap();
    let loaded = manager.from_slice(&again).unwrap();
    // What the program does not have went along.
    assert_eq!(rows(&loaded), [row(LoadEvent::Kept, "Hero.gone", "", 1)]);
    assert_eq!(loaded.first::<new::Hero>().unwrap().borrow().post, -5);
    let (hero, found) = first::<old::Hero>(&save(old::Hero { gone: vec![3], ..hero() }));
    assert_eq!((&*hero.borrow().gone, found.len()), (&[3][..], 0));
}

#[test]
fn a_new_field_without_a_default_is_refused_with_advice() {
    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Hero {
        name: String,
        fame: u32,
    }
    let error = load::<Hero>(&save(hero())).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingField);
    assert_eq!((error.class(), error.field()), (Some("Hero"), Some("fame")));
    assert_eq!(error.object(), Some(1));
    assert!(error.message().contains("`#[persist(default)]`"), "{error}");
    assert!(error.message().contains("`#[persist(alias = \"old name\")]`"), "{error}");
    // A program that is only to load it could read the field.
    assert_eq!((Hero { name: String::new(), fame: 1 }).fame, 1);
}

#[test]
fn a_field_of_another_kind_is_refused_with_both_kinds() {
    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Hero {
        #[persist(default)]
        strength: String,
        #[persist(alias = "mail")]
        gone: Vec<u64>,
    }
    let error = load::<Hero>(&save(hero())).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    assert_eq!((error.class(), error.field()), (Some("Hero"), Some("strength")));
    assert!(
        error.message().starts_with("the save holds u32 where field strength of Hero is String"),
        "{error}"
    );
    assert_eq!((Hero { strength: String::new(), gone: vec![] }).gone.len(), 0);
}

#[test]
fn a_struct_that_became_an_enum_is_refused() {
    #[derive(Persist)]
    #[persist(class = "Hero")]
    enum Hero {
        _Somebody,
    }
    let error = load::<Hero>(&save(hero())).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    assert!(
        error.message().starts_with("the save holds a struct where the program has an enum;"),
        "{error}"
    );
}

#[test]
fn variants_are_matched_by_name() {
    let spells = vec![
        old::Spell::Fire(3),
        old::Spell::Frost { cold: -40, deep: true },
        old::Spell::Light,
        old::Spell::Frost { cold: 1, deep: false },
    ];
    let (spells, found) = first::<Spells>(&save(OldSpells { spells }));
    let ice = |cold, deep| new::Spell::Ice { wide: 0, deep, cold };
    assert_eq!(
        spells.borrow().spells,
        [new::Spell::Fire(3), ice(-40, true), new::Spell::Light, ice(1, false)]
    );
    assert_eq!(found, [row(LoadEvent::Defaulted, "Spell", "Frost.wide", 2)]);
    assert_ne!(spells.borrow().spells[0], new::Spell::None);
}

#[derive(Persist)]
#[persist(class = "Spells")]
struct OldSpells {
    spells: Vec<old::Spell>,
}

#[derive(Persist)]
#[persist(class = "Spells")]
struct Spells {
    spells: Vec<new::Spell>,
}

#[test]
fn a_removed_variant_is_refused_only_where_it_is_met() {
    let spells = vec![old::Spell::Light, old::Spell::Sleep("deep".into())];
    let error = load::<Spells>(&save(OldSpells { spells })).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("Spell has no variant Sleep"), "{error}");
    assert_eq!((error.object(), error.field()), (Some(1), Some("spells[1]")));
}

#[test]
fn classes_inside_change_wherever_they_are_kept() {
    let gem = |carat: u16| old::Gem { carat, flaws: vec![1; usize::from(carat)] };
    let map = [300, 2, 77, 256].map(|key| (key, gem(key))).into();
    let chest = old::Chest {
        first: gem(1),
        list: vec![gem(2), gem(3)],
        maybe: Some(gem(4)),
        map,
        pair: (9, [gem(5), gem(6)]),
        case: old::Case::Shut { gem: gem(7) },
    };
    let (chest, found) = first::<new::Chest>(&save(chest));
    let gem = |carat| new::Gem { sort: "ruby".into(), carat };
    let expected = new::Chest {
        first: gem(1),
        list: vec![gem(2), gem(3)],
        maybe: Some(gem(4)),
        map: [300, 2, 77, 256].map(|key| (key, gem(key))).into(),
        pair: (9, [gem(5), gem(6)]),
        case: new::Case::Shut { gem: gem(7) },
    };
    assert_eq!(*chest.borrow(), expected);
    // The elements of the list and of the array have no place that lasts.
    let counts = [
        row(LoadEvent::Defaulted, "Gem", "sort", 11),
        row(LoadEvent::Kept, "Gem", "flaws", 7),
        row(LoadEvent::Dropped, "Gem", "flaws", 4),
    ];
    assert_eq!(found, counts);
    let _ = (old::Case::Open, new::Case::Open);
}

#[test]
fn references_stay_right_when_fields_and_keys_move() {
    let knots: Vec<_> = (0..6)
        .map(|id| {
            shared(old::Knot {
                id,
                left: None,
                dropped: Vec::new(),
                map: BTreeMap::new(),
                right: None,
                weak: Weak::new(),
            })
        })
        .collect();
    let pick = |i: usize| knots[i].clone();
    {
        let mut knot = knots[0].borrow_mut();
        knot.left = Some(pick(1));
        knot.dropped = vec![pick(5), pick(2), pick(2)];
        knot.map = BTreeMap::from([
            (old::Side::North, pick(2)),
            (old::Side::East, pick(3)),
            (old::Side::South, pick(4)),
        ]);
        knot.right = Some(pick(5));
        knot.weak = Rc::downgrade(&knots[3]);
        knots[5].borrow_mut().left = Some(pick(1));
    }
    let mut manager = SaveManager::new();
    manager.add(&knots[0]).unwrap();
    let (knot, found) = first::<new::Knot>(&manager.to_vec().unwrap());
    let knot = knot.borrow();
    let id = |knot: &Shared<new::Knot>| knot.borrow().id;
    assert_eq!(knot.left.as_ref().map(id), Some(1));
    assert_eq!(knot.right.as_ref().map(id), Some(5));
    let map: Vec<u32> = knot.map.values().map(id).collect();
    assert_eq!(map, [4, 3, 2]);
    assert!(Rc::ptr_eq(&knot.map[&new::Side::East], &knot.weak.upgrade().unwrap()));
    let right = knot.right.as_ref().unwrap().borrow();
    assert!(Rc::ptr_eq(right.left.as_ref().unwrap(), knot.left.as_ref().unwrap()));
    assert!(knot.added.is_none());
    let rows =
        [row(LoadEvent::Defaulted, "Knot", "added", 6), row(LoadEvent::Kept, "Knot", "dropped", 6)];
    assert_eq!(found, rows);
}

#[derive(Persist)]
#[persist(class = "Champion", alias = "Hero")]
struct Champion {
    name: String,
    #[persist(default)]
    rival: Weak<RefCell<Champion>>,
}

#[test]
fn a_renamed_class_is_known_by_its_alias() {
    let (champion, found) = first::<Champion>(&save(hero()));
    assert_eq!(champion.borrow().name, "Ada");
    assert!(champion.borrow().rival.upgrade().is_none());
    // Findings name the class as the program does.
    assert_eq!(found[0], row(LoadEvent::Defaulted, "Champion", "rival", 1));
    assert_eq!(found.len(), 5);
    let value: Champion = persist::from_slice(&persist::to_vec(&hero()).unwrap()).unwrap();
    assert_eq!(value.name, "Ada");
}

#[test]
fn a_renamed_class_is_known_inside_a_bare_value() {
    let list = persist::to_vec(&vec![hero(), hero()]).unwrap();
    assert_eq!(persist::from_slice::<Vec<Champion>>(&list).unwrap().len(), 2);
    let (list, _) = first::<Vec<Champion>>(&save(vec![hero()]));
    assert_eq!(list.borrow()[0].name, "Ada");
}

#[test]
fn objects_that_only_an_unknown_field_pointed_to_are_kept_with_it() {
    #[derive(Persist)]
    #[persist(class = "Owner")]
    struct OldOwner {
        pets: Vec<Shared<old::Gem>>,
    }
    #[derive(Persist)]
    #[persist(class = "Owner")]
    struct Owner {}
    let pets = (1..4).map(|carat| shared(old::Gem { carat, flaws: vec![] })).collect();
    let save = save(OldOwner { pets });
    let manager = SaveManager::new();
    manager.register::<Owner>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    assert_eq!(loaded.len(), 4);
    let gems = (LoadEvent::Kept, String::from("Gem"), String::new(), 3, 2);
    assert_eq!(rows(&loaded), [row(LoadEvent::Kept, "Owner", "pets", 1), gems]);
    let (owner, found) = first::<OldOwner>(&loaded.to_vec().unwrap());
    let carats: Vec<u16> = owner.borrow().pets.iter().map(|gem| gem.borrow().carat).collect();
    assert_eq!((&*carats, found), (&[1, 2, 3][..], vec![]));

    let saves = manager.saves().clone().load_options(LoadOptions::new().drop_unknown(true));
    let loaded = saves.from_slice::<SaveManager>(&save).unwrap();
    assert_eq!(loaded.len(), 1);
    let gems = (LoadEvent::Unknown, String::from("Gem"), String::new(), 3, 2);
    assert_eq!(rows(&loaded), [row(LoadEvent::Dropped, "Owner", "pets", 1), gems]);
}
