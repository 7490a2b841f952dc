//! Samples of a lock: saves that are made of schemas alone.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

#[path = "../../persist/examples/quest/world.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "the example uses the rest")]
mod world;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::num::NonZeroU8;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::{Arena, Handle, Persist, SaveManager, Saves};
use persist_tests::support::fixture_types as fixture;
use persist_tools::lock::{Lock, Values};

fn lock_of(saves: &Saves) -> Lock {
    let mut lock = Lock::new();
    lock.update("0.1.0", &saves.registry()).unwrap();
    lock
}

/// The classes of each fixture and of the example.
fn programs() -> Vec<Saves> {
    let names = ["players", "graph", "pointers"];
    let mut programs: Vec<_> =
        names.map(|name| fixture::manager(name, false).saves().clone()).into();
    let values = Saves::new();
    values.register::<fixture::Values>().unwrap();
    programs.push(values);
    let quest = Saves::new();
    quest.register::<world::World>().unwrap();
    programs.push(quest);
    programs
}

#[test]
fn samples_load_with_the_classes_that_they_are_of() {
    for saves in programs() {
        let lock = lock_of(&saves);
        let sample = lock.sample("0.1.0", Values::Plain).unwrap();
        let loaded = saves.from_slice::<SaveManager>(&sample).unwrap();
        assert!(loaded.report().is_clean(), "{}", loaded.report());
        for (class, count) in loaded.report().objects() {
            assert!(count >= 3, "{count} of {class}");
        }
        // What came back can be saved.
        let count = loaded.len();
        let again = loaded.to_vec().unwrap();
        let loaded = saves.from_slice::<SaveManager>(&again).unwrap();
        assert_eq!(loaded.len(), count);
        loaded.dismantle();
    }
}

#[test]
fn what_the_schema_does_not_show_is_a_note() {
    let mut notes = Vec::new();
    for saves in programs() {
        let report = lock_of(&saves).compare(&saves.registry());
        assert!(report.loads() && report.is_current(), "{report}");
        assert!(report.differences().is_empty(), "{report}");
        notes.extend(report.notes().iter().map(|note| note.text.clone()));
    }
    insta::assert_snapshot!(notes.join("\n"), @"a sample with quest.World.heroes with several elements loads, but for a hook: `validate` of quest.World refused: there are 3 heroes, but 0 members of the guild");
}

#[test]
fn equal_locks_make_equal_samples() {
    for saves in programs() {
        let lock = lock_of(&saves);
        let again: Lock = lock.to_string().parse().unwrap();
        for values in [Values::Plain, Values::Boundary] {
            assert_eq!(
                lock.sample("0.1.0", values).unwrap(),
                again.sample("0.1.0", values).unwrap()
            );
        }
    }
}

struct Monsters;

impl Arena for Monsters {
    type Key = u64;
    const NAME: &'static str = "monsters";

    fn to_bits(key: u64) -> u64 {
        key
    }

    fn from_bits(bits: u64) -> Option<u64> {
        Some(bits)
    }
}

#[derive(Persist, Debug)]
struct Everything {
    #[persist(compact)]
    compact: u32,
    #[persist(compact)]
    zigzag: i16,
    unsigned: u16,
    signed: i64,
    float: f32,
    letter: char,
    on: bool,
    text: String,
    list: Vec<u8>,
    set: BTreeSet<char>,
    map: BTreeMap<String, u8>,
    option: Option<Option<u8>>,
    handle: Handle<Monsters>,
    inside: Inside,
    units: [(); 3],
    array: [u8; 300],
}

#[derive(Persist, Debug)]
struct Inside {
    deep: Vec<Vec<u32>>,
}

#[test]
fn a_sample_has_the_boundaries_of_every_kind() {
    let saves = Saves::new();
    saves.register::<Everything>().unwrap();
    let sample = lock_of(&saves).sample("0.1.0", Values::Boundary).unwrap();
    let loaded = saves.from_slice::<SaveManager>(&sample).unwrap();
    let found: Vec<_> = loaded.iter::<Everything>().collect();
    let all = |look: &dyn Fn(&Everything) -> String| -> BTreeSet<String> {
        found.iter().map(|object| look(&object.borrow())).collect()
    };
    let has = |found: BTreeSet<String>, wanted: &[&str]| {
        for wanted in wanted {
            assert!(found.contains(*wanted), "{wanted} is not in {found:?}");
        }
    };
    has(all(&|e| e.unsigned.to_string()), &["0", "1", "65535"]);
    let (least, most) = (i64::MIN.to_string(), i64::MAX.to_string());
    has(all(&|e| e.signed.to_string()), &["0", "1", "-1", &least, &most]);
    let floats = ["1", "0", "-0", "NaN", "inf", "-inf"].map(String::from).into_iter().chain([
        f32::MAX.to_string(),
        f32::MIN.to_string(),
        f32::from_bits(1).to_string(),
    ]);
    let floats: Vec<String> = floats.collect();
    has(all(&|e| e.float.to_string()), &floats.iter().map(|f| &**f).collect::<Vec<_>>());
    has(all(&|e| format!("{:?}", e.letter)), &["'a'", "'\\0'", "'\u{e9}'", "'\\u{10ffff}'"]);
    has(all(&|e| e.on.to_string()), &["true", "false"]);
    has(all(&|e| e.compact.to_string()), &["0", "1", "4294967295"]);
    has(all(&|e| e.zigzag.to_string()), &["0", "1", "-1", "-32768", "32767"]);
    has(all(&|e| e.text.len().to_string()), &["0", "1", "400"]);
    assert!(found.iter().any(|object| !object.borrow().text.is_ascii()));
    has(all(&|e| e.list.len().to_string()), &["0", "1", "3"]);
    assert!(found.iter().any(|object| matches!(object.borrow().list[..], [a, b] if a == b)));
    has(all(&|e| e.set.len().to_string()), &["0", "1", "3"]);
    has(all(&|e| e.map.len().to_string()), &["0", "1", "3"]);
    has(all(&|e| format!("{:?}", e.option)), &["None", "Some(Some(0))", "Some(Some(255))"]);
    let handles: HashSet<String> =
        found.iter().map(|object| format!("{:?}", object.borrow().handle)).collect();
    assert_eq!(handles.len(), 4, "{handles:?}");
    has(all(&|e| format!("{:?}", e.inside.deep)), &["[]", "[[]]", "[[0]]", "[[1], [2], [3]]"]);
    let arrays = all(&|e| format!("{:?}", e.array));
    assert_eq!(arrays, [0_u8, 1, 255].map(|byte| format!("{:?}", [byte; 300])).into());
}

#[derive(Persist)]
enum Tree {
    Leaf(Leaf),
    Node { left: Box<Tree>, right: Box<Tree> },
    Crowd(Vec<Tree>, Option<Box<Branch>>),
}

#[derive(Persist)]
struct Branch {
    trees: Vec<Tree>,
    more: Option<Rc<Branch>>,
}

#[derive(Persist)]
struct Leaf {
    colour: Colour,
}

#[derive(Persist, Debug)]
enum Colour {
    Red,
    Green,
    Other(String),
}

#[test]
fn recursive_classes_end_and_every_variant_is_there() {
    let saves = Saves::new();
    saves.register::<Branch>().unwrap();
    let sample = lock_of(&saves).sample("0.1.0", Values::Plain).unwrap();
    let loaded = saves.from_slice::<SaveManager>(&sample).unwrap();
    fn walk(tree: &Tree, found: &mut HashSet<String>) {
        match tree {
            Tree::Leaf(Leaf { colour }) => {
                found.insert(format!("{colour:?}"));
            }
            Tree::Node { left, right } => {
                found.insert("node".into());
                walk(left, found);
                walk(right, found);
            }
            Tree::Crowd(trees, branch) => {
                found.insert(format!("crowd, {}", branch.is_some()));
                trees.iter().for_each(|tree| walk(tree, found));
            }
        }
    }
    let mut found = HashSet::new();
    each(&loaded, |branch: &Branch| {
        found.insert(format!("more {}", branch.more.is_some()));
        branch.trees.iter().for_each(|tree| walk(tree, &mut found));
    });
    let wanted = [
        "Red",
        "Green",
        "Other(\"a\")",
        "node",
        "crowd, true",
        "crowd, false",
        "more true",
        "more false",
    ];
    for wanted in wanted {
        assert!(found.contains(wanted), "{wanted} is not in {found:?}");
    }
}

/// Looks at the objects of a class, with and without a cell.
fn each<T: Persist + persist::codec::Pointee>(manager: &SaveManager, mut look: impl FnMut(&T)) {
    manager.iter::<T>().for_each(|object| look(&object.borrow()));
    manager.pointers::<Rc<T>>().for_each(|object| look(&object));
}

#[persist::dynamic]
trait Item {
    fn name(&self) -> &'static str;
}

#[derive(Persist)]
struct Sword {
    sharp: u8,
}

#[derive(Persist)]
struct Bag {
    items: Vec<Box<dyn Item>>,
}

impl Item for Sword {
    fn name(&self) -> &'static str {
        "sword"
    }
}

impl Item for Bag {
    fn name(&self) -> &'static str {
        "bag"
    }
}

#[derive(Persist)]
struct Knight {
    boxed: Box<dyn Item>,
    worn: Option<Arc<Mutex<dyn Item>>>,
    lost: Weak<RefCell<dyn Item>>,
    friend: Option<Rc<RefCell<Knight>>>,
    /// Without a cell: no circle.
    squire: Option<Rc<Knight>>,
}

#[test]
fn a_sample_has_every_class_of_a_trait_and_circles_where_a_cell_allows() {
    let saves = Saves::new();
    saves.register::<Knight>().unwrap();
    saves.register_as::<Bag, dyn Item>().unwrap();
    saves.register_as::<Sword, dyn Item>().unwrap();
    let sample = lock_of(&saves).sample("0.1.0", Values::Plain).unwrap();
    let loaded = saves.from_slice::<SaveManager>(&sample).unwrap();
    let mut found = HashSet::new();
    let look = |knight: &Knight| {
        found.insert(format!("boxed {}", knight.boxed.name()));
        let worn = knight.worn.as_ref().map(|worn| worn.lock().unwrap().name());
        found.insert(format!("worn {worn:?}"));
        let lost = knight.lost.upgrade().map(|lost| lost.borrow().name());
        found.insert(format!("lost {lost:?}"));
        found.insert(format!("squire {}", knight.squire.is_some()));
    };
    // What is chosen in a class is chosen in one of its holders.
    each(&loaded, look);
    let wanted = [
        "boxed bag",
        "boxed sword",
        "worn None",
        "worn Some(\"bag\")",
        "worn Some(\"sword\")",
        "lost None",
        "lost Some(\"bag\")",
        "lost Some(\"sword\")",
        "squire true",
        "squire false",
    ];
    for wanted in wanted {
        assert!(found.contains(wanted), "{wanted} is not in {found:?}");
    }
    assert!(!loaded.strong_cycles().is_empty());
    loaded.dismantle();
}

#[derive(Persist)]
#[persist(validate = Picky::check)]
struct Picky {
    level: u32,
    some: NonZeroU8,
    name: String,
}

impl Picky {
    fn check(&self) -> Result<(), String> {
        if self.level < 100 { Ok(()) } else { Err(format!("level {}", self.level)) }
    }
}

#[derive(Persist)]
struct Owner {
    picky: Rc<RefCell<Picky>>,
}

#[derive(Persist)]
#[persist(validate = Never::check)]
struct Never {
    level: u32,
}

impl Never {
    fn check(&self) -> Result<(), String> {
        Err("never".into())
    }
}

#[derive(Persist)]
struct OwnerOfNever {
    never: Rc<RefCell<Never>>,
}

#[test]
fn refusals_of_the_program_are_notes_and_the_rest_is_loaded() {
    let saves = Saves::new();
    saves.register::<Owner>().unwrap();
    saves.register::<OwnerOfNever>().unwrap();
    let report = lock_of(&saves).compare(&saves.registry());
    assert!(report.loads(), "{report}");
    let notes: Vec<&str> = report.notes().iter().map(|note| &*note.text).collect();
    insta::assert_snapshot!(notes.join("\n"), @"
    the plainest sample of Never in Rc<RefCell> loads, but for a hook: `validate` of Never refused: never
    a sample with Picky.level = 4294967295 loads, but for a hook: `validate` of Picky refused: level 4294967295
    the program refuses Picky.some = 0: 0 is no NonZeroU8; use another number, or for old saves keep u8 as the type, or give the class a `version` and a `migrate` that puts another number there
    ");
}
