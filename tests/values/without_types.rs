//! Saves read, shown, changed and written again without their types.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::{Rc, Weak};

use crate::trees::tree;
use persist::reflect::HandleValue;
use persist::save::SlotInfo;
use persist::{Error, ErrorKind, Limits, ObjectId, Persist, Record, SaveManager, Saves, Value};
use persist_tests::support::fixture_types::{NAMES, read};
use persist_tools::Document;
use proptest::prelude::*;

#[derive(Persist)]
struct Hero {
    name: String,
    level: u32,
    gold: i64,
    spell: Spell,
    pet: Option<Rc<RefCell<Pet>>>,
    bag: Vec<Box<dyn Item>>,
    seen: BTreeMap<String, (u8, f32)>,
    digest: [u8; 3],
    tags: BTreeSet<u16>,
    lucky: Option<u8>,
}

#[derive(Persist, Debug, PartialEq)]
enum Spell {
    None,
    Fire(u8),
    Heal { power: f64 },
}

#[derive(Persist)]
struct Pet {
    hunger: u8,
    owner: Weak<RefCell<Hero>>,
}

#[persist::dynamic]
trait Item {
    fn worth(&self) -> u32;
}

#[derive(Persist)]
struct Sword {
    sharpness: u16,
}

#[derive(Persist)]
struct Coin;

impl Item for Sword {
    fn worth(&self) -> u32 {
        self.sharpness.into()
    }
}

impl Item for Coin {
    fn worth(&self) -> u32 {
        1
    }
}

fn manager() -> SaveManager {
    let saves = Saves::new().application("quest", "1.2").unwrap();
    saves.register::<Hero>().unwrap();
    saves.register_as::<Sword, dyn Item>().unwrap();
    saves.register_as::<Coin, dyn Item>().unwrap();
    saves.manager()
}

/// Two heroes, one with a pet.
fn world() -> Vec<u8> {
    let hero = |name: &str, spell, bag| Hero {
        name: name.into(),
        level: 3,
        gold: -5,
        spell,
        pet: None,
        bag,
        seen: [("wolf".into(), (2, 0.5)), ("bear".into(), (1, f32::NAN))].into(),
        digest: [1, 2, 255],
        tags: [7, 300].into(),
        lucky: None,
    };
    let ada: Vec<Box<dyn Item>> = vec![Box::new(Sword { sharpness: 9 })];
    let ada = Rc::new(RefCell::new(hero("Ada", Spell::Fire(3), ada)));
    let bob: Vec<Box<dyn Item>> = vec![Box::new(Coin)];
    let bob = Rc::new(RefCell::new(hero("Bob", Spell::None, bob)));
    let pet = Pet { hunger: 4, owner: Rc::downgrade(&ada) };
    ada.borrow_mut().pet = Some(Rc::new(RefCell::new(pet)));
    let mut manager = manager();
    manager.add(&ada).unwrap();
    manager.add(&bob).unwrap();
    manager.to_vec().unwrap()
}

fn id(id: u64) -> ObjectId {
    ObjectId::new(id).unwrap()
}

fn document(save: &[u8]) -> Document {
    Document::from_slice(save).unwrap()
}

fn fields(document: &mut Document, of: u64) -> &mut Record {
    document.entry_mut(id(of)).unwrap().value.as_record_mut().unwrap()
}

/// The hero after a field of theirs was set.
fn with(field: &str, value: impl Into<Value>) -> Hero {
    let mut document = document(&world());
    fields(&mut document, 1).set(field, value);
    let loaded = manager().from_slice(&document.to_vec().unwrap()).unwrap();
    assert!(loaded.report().is_clean());
    let hero = loaded.first::<Hero>().unwrap();
    drop(loaded);
    Rc::into_inner(hero).unwrap().into_inner()
}

/// The error for a change of the first hero.
fn refused(change: impl FnOnce(&mut Record)) -> Error {
    let mut document = document(&world());
    change(fields(&mut document, 1));
    let error = document.to_vec().unwrap_err();
    assert_eq!((error.object(), error.class()), (Some(1), Some("Hero")), "{error}");
    error
}

/// A document of these bytes, with every value made anew from its text.
fn through_text(save: &[u8]) -> Vec<u8> {
    let mut document = document(save);
    for entry in document.entries_mut() {
        let text = if entry.is_added() {
            format!("{}", entry.value)
        } else {
            format!("{:#}", entry.value)
        };
        let value: Value = text.parse().unwrap();
        assert_eq!(value, entry.value);
        entry.value = value;
    }
    document.to_vec().unwrap()
}

#[test]
fn what_is_not_changed_is_written_byte_by_byte() {
    let saves = NAMES.map(read).into_iter().chain([
        world(),
        SaveManager::new().allow_empty().to_vec().unwrap(),
        persist::to_vec(&7_u8).unwrap(),
        persist::to_vec(&(Some(()), [[(); 3]; 2])).unwrap(),
    ]);
    for save in saves {
        assert!(document(&save).to_vec().unwrap() == save);
        assert!(through_text(&save) == save);
    }
}

#[test]
fn saves_of_several_blocks_are_written_byte_by_byte() {
    let mut manager = SaveManager::new();
    for i in 0..9_u32 {
        let hero = Rc::new(RefCell::new(vec![i; 10_000]));
        manager.add(&hero).unwrap();
        // A class that is defined between records.
        if i == 3 {
            manager.add(&Rc::new(RefCell::new((i, hero)))).unwrap();
        }
    }
    let save = manager.to_vec().unwrap();
    assert!(document(&save).to_vec().unwrap() == save);
}

#[test]
fn values_are_of_the_kinds_that_were_saved() {
    let world = document(&world());
    let entry = world.entry(id(1)).unwrap();
    assert_eq!((entry.class(), &*entry.holder()), ("Hero", "Rc<RefCell<_>>"));
    let hero = entry.value.as_record().unwrap();
    assert_eq!(hero.class(), "Hero");
    let mut sword = Record::new("Sword");
    sword.set("sharpness", 9_u16);
    let mut fire = Record::with_variant("Spell", "Fire");
    fire.set("0", 3_u8);
    let seen = [("bear", 1_u8, f32::NAN), ("wolf", 2, 0.5)].map(|(name, times, far)| {
        (Value::from(name), Value::Tuple(vec![times.into(), far.into()]))
    });
    let expected = [
        ("name", Value::from("Ada")),
        ("level", Value::U32(3)),
        ("gold", Value::I64(-5)),
        ("spell", fire.into()),
        ("pet", Some(id(3)).into()),
        ("bag", vec![Value::from(sword)].into()),
        ("seen", Value::Map(seen.into())),
        ("digest", Value::Bytes(vec![1, 2, 255])),
        ("tags", vec![7_u16, 300].into()),
        ("lucky", Value::Option(None)),
    ];
    assert!(hero.fields().eq(expected.iter().map(|(name, value)| (*name, value))), "{hero:?}");
    assert_eq!(document(&persist::to_vec(&7_u8).unwrap()).root(), Some(&Value::U8(7)));
    let empty: Vec<u8> = vec![];
    assert_eq!(document(&persist::to_vec(&empty).unwrap()).root(), Some(&Value::Seq(vec![])));
}

#[test]
fn the_dump_shows_every_object() {
    insta::assert_snapshot!("world", document(&world()).to_string());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("world.sav");
    document(&world()).save(&path).unwrap();
    assert_eq!(persist_tools::dump(&path).unwrap(), document(&world()).to_string());
}

#[test]
fn changed_values_are_loaded_by_the_program() {
    assert_eq!(with("name", "Eve").name, "Eve");
    assert_eq!(with("gold", i64::MIN).gold, i64::MIN);
    assert_eq!(with("spell", Record::with_variant("Spell", "None")).spell, Spell::None);
    let mut heal = Record::with_variant("Spell", "Heal");
    heal.set("power", 0.5_f64);
    assert_eq!(with("spell", heal).spell, Spell::Heal { power: 0.5 });
    assert_eq!(with("tags", vec![9_u16, 8]).tags, [8, 9].into());
    assert!(with("pet", None::<u8>).pet.is_none());
    assert_eq!(with("pet", Some(id(3))).pet.unwrap().borrow().hunger, 4);
}

#[test]
fn what_fits_without_loss_need_not_be_of_the_kind() {
    // Numbers of other widths.
    assert_eq!(with("level", 9_u8).level, 9);
    assert_eq!(with("level", 9_i128).level, 9);
    assert_eq!(with("level", 9.0_f64).level, 9);
    assert_eq!(
        with("spell", "Fire { 0: 0 }".replace("Fire", "Spell::Fire").parse::<Value>().unwrap())
            .spell,
        Spell::Fire(0)
    );
    // A value for an option.
    assert_eq!(with("lucky", 13_u8).lucky, Some(13));
    assert_eq!(with("lucky", Some(13_u64)).lucky, Some(13));
    // The name of a variant without fields.
    assert_eq!(with("spell", "None").spell, Spell::None);
    // Lists, tuples and bytes; maps and lists of pairs.
    let tuple = || Value::Tuple(vec![4_u8.into(), 5_u16.into(), 6_u8.into()]);
    assert_eq!(with("digest", tuple()).digest, [4, 5, 6]);
    assert_eq!(with("tags", tuple()).tags, [4, 5, 6].into());
    assert_eq!(with("tags", vec![4_u8, 5]).tags, [4, 5].into());
    let pair = Value::Seq(vec!["wolf".into(), Value::Tuple(vec![1_u8.into(), 1.5_f64.into()])]);
    assert_eq!(with("seen", Value::Seq(vec![pair])).seen, [("wolf".into(), (1, 1.5))].into());
    let save = persist::to_vec(&vec![(1_u8, true)]).unwrap();
    let mut document = document(&save);
    *document.root_mut().unwrap() = Value::Map(vec![(2_u8.into(), false.into())]);
    let loaded: Vec<(u8, bool)> = persist::from_slice(&document.to_vec().unwrap()).unwrap();
    assert_eq!(loaded, [(2, false)]);
}

#[test]
fn trait_objects_become_those_of_other_classes() {
    let bag = |value: &str| with("bag", value.parse::<Value>().unwrap()).bag;
    let worth: Vec<u32> = bag("[Coin {}, Sword { sharpness: 30 }, Coin {}]")
        .iter()
        .map(|item| item.worth())
        .collect();
    assert_eq!(worth, [1, 30, 1]);
    let error = refused(|hero| {
        hero.set("bag", "[Coin {}, Bow {}]".parse::<Value>().unwrap());
    });
    assert_eq!((error.kind(), error.field()), (ErrorKind::NotFound, Some("bag[1]")));
    assert!(error.message().contains("no class Bow"), "{error}");
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_field() {
    use ErrorKind::{
        InvalidValue, KindMismatch, MissingField, MissingObject, NotFound, WrongClass,
    };
    let seen = |count: &str| format!("{{ \"wolf\": ({count}, 1.0) }}").parse::<Value>().unwrap();
    let twice = "{ \"a\": (1, 1.0), \"a\": (2, 1.0) }".parse::<Value>().unwrap();
    for (field, value, kind, at, says) in [
        ("level", Value::from(-1_i8), KindMismatch, "level", "the value is -1i8, u32 is wanted"),
        ("level", 4_294_967_296_u64.into(), KindMismatch, "level", "4294967296u64, u32 is wanted"),
        ("level", 0.5_f32.into(), KindMismatch, "level", "0.5f32, u32"),
        ("level", "3".into(), KindMismatch, "level", "text \"3\", u32"),
        ("level", Some(3_u8).into(), KindMismatch, "level", "u32 is wanted"),
        ("name", 3_u8.into(), KindMismatch, "name", "3u8, String is wanted"),
        ("seen", seen("300"), KindMismatch, "seen[0].0", "300i64, u8"),
        ("seen", seen("1, 2"), KindMismatch, "seen[0]", "a tuple of 3, (u8, f32) has 2 parts"),
        ("seen", vec![true].into(), KindMismatch, "seen[0]", "true, Map<String, (u8, f32)>"),
        ("seen", twice, InvalidValue, "seen", "a key stands twice"),
        ("tags", vec![5_u16, 6, 5].into(), InvalidValue, "tags", "an element stands twice"),
        ("tags", vec![5_u8, 6, 5].into(), InvalidValue, "tags", "an element stands twice"),
        (
            "digest",
            vec![1_u8].into(),
            KindMismatch,
            "digest",
            "a list of 1 bytes, [u8; 3] has 3 parts",
        ),
        ("spell", "Ice".into(), NotFound, "spell", "Spell has no variant Ice"),
        ("spell", "Fire".into(), MissingField, "spell.0", "Spell::Fire"),
        ("spell", Record::new("Spell").into(), KindMismatch, "spell", "Spell is wanted"),
        (
            "spell",
            Record::with_variant("Magic", "Fire").into(),
            KindMismatch,
            "spell",
            "class Magic",
        ),
        ("pet", Some(Value::Ref(None)).into(), MissingObject, "pet", "no object; name one"),
        ("pet", Some(id(9)).into(), MissingObject, "pet", "no object #9"),
        ("pet", Some(id(2)).into(), WrongClass, "pet", "object #2 is in Rc<RefCell<Hero>>"),
        ("pet", Value::Handle(HandleValue::Null), KindMismatch, "pet", "handle(null)"),
        ("wings", 2_u8.into(), NotFound, "wings", "Hero has no such field"),
    ] {
        let error = refused(|hero| drop(hero.set(field, value)));
        assert_eq!((error.kind(), error.field()), (kind, Some(at)), "{error}");
        assert!(error.message().contains(says), "{error}");
    }
    let error = refused(|hero| drop(hero.take("gold")));
    assert_eq!((error.kind(), error.field()), (MissingField, Some("gold")));
    let error = refused(|hero| assert!(hero.rename("gold", "silver")));
    assert_eq!((error.kind(), error.field()), (MissingField, Some("gold")));
}

#[test]
fn a_longer_text_than_the_limit_is_not_written() {
    let limits = Limits::new().text(300);
    let mut document = Document::within(&world(), &limits).unwrap();
    fields(&mut document, 1).set("name", "x".repeat(301));
    assert_eq!(document.to_vec().unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn objects_are_removed_if_nothing_needs_them() {
    let mut document = document(&world());
    let pet = document.remove(id(3)).unwrap();
    assert_eq!((pet.class(), pet.is_added()), ("Pet", false));
    assert!(document.entry(id(3)).is_none() && document.remove(id(3)).is_none());
    let error = document.to_vec().unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::MissingObject, Some(1)), "{error}");
    fields(&mut document, 1).set("pet", None::<u8>);
    let loaded = manager().from_slice(&document.to_vec().unwrap()).unwrap();
    assert_eq!(loaded.len(), 2);

    // The first record of its class, and the target of a weak pointer.
    document = self::document(&world());
    document.remove(id(1)).unwrap();
    let manager = manager();
    let loaded = manager.from_slice(&document.to_vec().unwrap()).unwrap();
    let names: Vec<_> = loaded.iter::<Hero>().map(|hero| hero.borrow().name.clone()).collect();
    assert_eq!(names, ["Bob"]);
    let pet = loaded.get::<Pet>(id(3)).unwrap();
    assert!(pet.borrow().owner.upgrade().is_none());
}

#[test]
fn nested_values_are_changed_in_place() {
    let mut document = document(&world());
    let Some(Value::Seq(bag)) = fields(&mut document, 1).get_mut("bag") else { panic!("a bag") };
    bag[0].as_record_mut().unwrap().set("sharpness", 77_u16);
    bag.push(Record::new("Coin").into());
    let loaded = manager().from_slice(&document.to_vec().unwrap()).unwrap();
    let hero = loaded.first::<Hero>().unwrap();
    let worth: Vec<u32> = hero.borrow().bag.iter().map(|item| item.worth()).collect();
    assert_eq!(worth, [77, 1]);
}

#[test]
fn handles_and_their_bits_come_through() {
    struct Arena;
    impl persist::Arena for Arena {
        type Key = u64;
        const NAME: &'static str = "arena";
        fn to_bits(key: u64) -> u64 {
            key
        }
        fn from_bits(bits: u64) -> Option<u64> {
            Some(bits)
        }
    }
    let save = persist::to_vec(&vec![persist::Handle::<Arena>::new(7), persist::Handle::null()]);
    let save = save.unwrap();
    let mut document = document(&save);
    let expected = [HandleValue::Live(7), HandleValue::Null].map(Value::Handle);
    assert_eq!(document.root(), Some(&Value::Seq(expected.into())));
    assert!(document.to_vec().unwrap() == save);
    *document.root_mut().unwrap() = Value::Seq(vec![Value::Handle(HandleValue::Live(9))]);
    let loaded: Vec<persist::Handle<Arena>> =
        persist::from_slice(&document.to_vec().unwrap()).unwrap();
    assert_eq!(loaded[0].key(), Some(9));
}

#[derive(Persist)]
struct Link {
    next: Option<Box<Link>>,
}

/// On the stack that a thread has without a wish of its own.
#[test]
fn values_as_deep_as_the_program_may_save_are_read_and_written() {
    let run = || {
        let mut chain = Link { next: None };
        for _ in 0..127 {
            chain = Link { next: Some(Box::new(chain)) };
        }
        let save = persist::to_vec(&chain).unwrap();
        assert!(document(&save).to_vec().unwrap() == save);
        assert!(through_text(&save) == save);
        assert!(document(&save).to_string().contains("Link { next: none }"));
        let maps: Vec<HashMap<u8, Vec<Option<(Spell,)>>>> =
            vec![[(1, vec![None, Some((Spell::Fire(1),))])].into()];
        let save = persist::to_vec(&maps).unwrap();
        assert!(through_text(&save) == save);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

proptest! {
    #[test]
    fn what_is_written_is_loaded(value in tree(), field in 0_usize..10, pet: bool) {
        let mut document = document(&world());
        let record = fields(&mut document, if pet { 3 } else { 1 });
        let name = record.fields().map(|(name, _)| name.to_owned()).nth(field % record.len());
        let name = name.unwrap();
        record.set(&name, value.clone());
        match document.to_vec() {
            Ok(save) => {
                let loaded = manager().from_slice(&save);
                prop_assert!(loaded.is_ok(), "{name} = {value}: {:?}", loaded.err());
            }
            Err(error) => {
                let found = error.field().unwrap_or_default();
                prop_assert!(found.starts_with(&name), "{name} = {value}: {error}");
            }
        }
    }
}

#[test]
fn whole_saves_as_values_become_the_same_saves() -> persist::Result<()> {
    let saves = Saves::new().application("Quest", "1.2")?.device("deck")?;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    let info = SlotInfo::new("The Mill").value(&(String::from("Ada"), 7_u32))?;
    saves.file(&path).info(info).save(&vec![Some(1_u64), None])?;
    let save = std::fs::read(&path).expect("a save");
    let value = Document::from_slice(&save)?.into_value();
    assert_eq!(Document::from_value(value.clone())?.to_vec()?, save);
    let text: Value = format!("{value:#}").parse()?;
    assert_eq!(text, value);
    Ok(())
}

#[test]
fn what_a_program_kept_stays_in_the_value_of_a_save() -> persist::Result<()> {
    let mut fixtures = 0;
    for folder in ["compressed", "evolution", "journals", "v1", "worlds"] {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(folder);
        for file in std::fs::read_dir(folder).expect("fixtures") {
            let path = file.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "sav") {
                let save = std::fs::read(&path).expect("a save");
                let value = Document::from_slice(&save)?.into_value();
                assert_eq!(Document::from_value(value)?.to_vec()?, save, "{}", path.display());
                fixtures += 1;
            }
        }
    }
    assert!(fixtures > 10);
    Ok(())
}

#[test]
fn fields_of_records_can_be_changed_in_order() {
    let mut record = Record::new("Hero");
    record.set("name", "Ada");
    record.set("level", 3_u32);
    record.fields_mut().for_each(|(_, value)| *value = Value::Unit);
    assert!(record.fields().eq([("name", &Value::Unit), ("level", &Value::Unit)]));
}

#[test]
fn extend_sets_fields_as_set_does() {
    let fields = [("b", 1_u8), ("a", 2), ("b", 3), ("", 4), ("c", 5), ("a", 6)];
    let mut one = Record::new("Hero");
    one.set("a", 0_u8);
    let mut other = one.clone();
    fields.iter().for_each(|(name, value)| _ = one.set(name, *value));
    other.extend(fields);
    assert_eq!(other, one);
    assert_eq!(other.fields().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b", "", "c"]);
}
