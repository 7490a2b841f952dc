//! `docs/reference/format.md` says what the library writes.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::{NonZeroU8, Saturating, Wrapping};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::sync::atomic::AtomicU8;
use std::sync::{self, Arc, Mutex, OnceLock, RwLock};
use std::time::{Duration, SystemTime};

use persist_tests::support::forge::{Forged, Item};

use persist::codec::Prototypes;
use persist::{Arena, Handle, ObjectId, Persist, SaveManager, Saves, Unknown};
use persist_tools::Document;

const DOCUMENT: &str = include_str!("../../docs/reference/format.md");

#[derive(Persist)]
struct Player {
    level: i32,
    flag: u8,
}

struct Slots;

impl Arena for Slots {
    type Key = u32;
    const NAME: &'static str = "slots";

    fn to_bits(key: u32) -> u64 {
        key.into()
    }

    fn from_bits(bits: u64) -> Option<u32> {
        bits.try_into().ok()
    }
}

/// The bytes of the worked example: two hex digits each, up to the words.
fn example() -> Vec<u8> {
    let block = DOCUMENT.split("```hex\n").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.expect("the page has a block of hex");
    let byte = |word: &str| (word.len() == 2).then(|| u8::from_str_radix(word, 16).ok()).flatten();
    block.lines().flat_map(|line| line.split(' ').map_while(byte)).collect()
}

#[test]
fn the_worked_example_is_what_the_library_writes() {
    let mut manager = Saves::new().application("demo", "1.0").unwrap().manager();
    for (level, flag) in [(1, 16), (6, 32)] {
        manager.add(&Rc::new(RefCell::new(Player { level, flag }))).unwrap();
    }
    assert_eq!(manager.to_vec().unwrap(), example());
}

#[test]
fn the_worked_example_loads() {
    let manager = SaveManager::new();
    manager.register::<Player>().unwrap();
    let loaded = manager.from_slice(&example()).unwrap();
    let players: Vec<_> = loaded
        .iter::<Player>()
        .map(|player| (player.borrow().level, player.borrow().flag))
        .collect();
    assert_eq!(players, [(1, 16), (6, 32)]);
    assert_eq!(loaded.report().header().application.as_deref(), Some("demo"));
}

/// The definition of a struct in a save, from the kind of its one field on.
macro_rules! kind_of {
    ($ty:ty) => {{
        #[derive(Persist)]
        struct Probe {
            f: $ty,
        }
        let save = persist::to_vec(&Probe {
            f: <$ty as Persist>::persist_empty(&Prototypes::bare()).unwrap(),
        })
        .unwrap();
        // Header without fields, head of the block, class number, length; then
        // the body: name "Probe", version, form, one field "f", no flags.
        let body = 20 + 5 + 1 + 4;
        let length = u32::from_le_bytes(save[body - 4..body].try_into().unwrap()) as usize;
        save[body + 6 + 1 + 1 + 1 + 2 + 1..body + length].to_vec()
    }};
}

#[test]
fn the_tags_of_kinds_are_those_of_the_table() {
    let kinds: [(&str, Vec<u8>); 25] = [
        ("unit", kind_of!(())),
        ("bool", kind_of!(bool)),
        ("char", kind_of!(char)),
        ("u8", kind_of!(u8)),
        ("u16", kind_of!(u16)),
        ("u32", kind_of!(u32)),
        ("u64", kind_of!(usize)),
        ("u128", kind_of!(u128)),
        ("i8", kind_of!(i8)),
        ("i16", kind_of!(i16)),
        ("i32", kind_of!(i32)),
        ("i64", kind_of!(isize)),
        ("i128", kind_of!(i128)),
        ("f32", kind_of!(f32)),
        ("f64", kind_of!(f64)),
        ("text", kind_of!(String)),
        ("option", kind_of!(Option<bool>)),
        ("list", kind_of!(Vec<bool>)),
        ("set", kind_of!(std::collections::HashSet<bool>)),
        ("map", kind_of!(std::collections::BTreeMap<bool, char>)),
        ("array", kind_of!([bool; 3])),
        ("tuple", kind_of!((bool, char))),
        ("class", kind_of!(Player)),
        ("reference", kind_of!(std::rc::Weak<RefCell<Player>>)),
        ("handle", kind_of!(Handle<Slots>)),
    ];
    let table: String = kinds
        .iter()
        .map(|(name, bytes)| {
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{name}: {}\n", hex.join(" "))
        })
        .collect();
    insta::assert_snapshot!(table);
    // The page names the single tags one by one and the numbers as ranges.
    for (tag, name) in [
        (0, "unit"),
        (1, "bool"),
        (2, "char"),
        (13, "f32"),
        (14, "f64"),
        (15, "text"),
        (16, "option"),
        (17, "list"),
        (18, "set"),
        (19, "map"),
        (20, "array"),
        (21, "tuple"),
        (22, "class"),
        (23, "reference"),
    ] {
        assert!(
            DOCUMENT.contains(&format!("| `{tag:02x}` | {name} |")),
            "{name} is not {tag:02x} in the page"
        );
        assert_eq!(kinds[tag].1[0], u8::try_from(tag).unwrap(), "{name}");
    }
    assert!(DOCUMENT.contains("| `1a` | handle |"));
}

/// Holder of the target of a pointer that is a value of its own, and the name and
/// what follows the version in the definition of its class.
fn behind<Q: Persist>(pointer: &Q) -> (u8, String, Vec<u8>) {
    let save = Forged::parse(&persist::to_vec(pointer).unwrap());
    let (mut definitions, mut found) = (Vec::new(), None);
    for item in save.items {
        match item {
            Item::Definition(body) => definitions.push(body),
            Item::Record { class, holder, id: 2, .. } => found = Some((class, holder)),
            Item::Record { .. } => {}
        }
    }
    let (class, holder) = found.expect("a record behind the pointer");
    let body = &definitions[usize::try_from(class).unwrap() - 1];
    let end = 1 + usize::from(body[0]);
    (holder, String::from_utf8(body[1..end].to_vec()).unwrap(), body[end + 1..].to_vec())
}

#[test]
#[allow(clippy::arc_with_non_send_sync, reason = "nothing forbids it")]
fn the_holders_are_those_of_the_table() {
    macro_rules! both {
        ($cell:literal $name:literal $value:expr) => {
            let (rc, arc) = (behind(&Rc::new($value)).0, behind(&Arc::new($value)).0);
            assert_eq!((rc, arc), (0x10 + $cell, 0x20 + $cell));
            let row = format!("| {} | {} | `{rc:02x}` | `{arc:02x}` |", $cell, $name);
            assert!(DOCUMENT.contains(&row), "{row}");
        };
    }
    both!(0 "none" 7_u64);
    both!(1 "`RefCell`" RefCell::new(7_u64));
    both!(2 "`Cell`" Cell::new(7_u64));
    both!(3 "`Mutex`" Mutex::new(7_u64));
    both!(4 "`RwLock`" RwLock::new(7_u64));
    both!(5 "`OnceCell`" OnceCell::from(7_u64));
    both!(6 "`OnceLock`" OnceLock::from(7_u64));
}

#[test]
fn the_names_of_classes_behind_pointers_are_those_of_the_table() {
    let hero = || Player { level: 1, flag: 2 };
    let shared = || Rc::new(RefCell::new(hero()));
    let weak = || Arc::downgrade(&Arc::new(hero()));
    // In the kinds, `Player` is the class that is defined behind this one.
    let found = [
        ("RefCell<u64>", behind(&Rc::new(RefCell::new(7_u64))), vec![6]),
        ("Cell<u64>", behind(&Rc::new(Cell::new(7_u64))), vec![6]),
        ("u64", behind(&Arc::new(7_u64)), vec![6]),
        ("str", behind(&Rc::<str>::from("x")), vec![15]),
        ("String", behind(&Rc::new(String::new())), vec![15]),
        ("[Player]", behind(&Rc::<[Player]>::from([hero()])), vec![17, 22, 3]),
        ("[u8; 3]", behind(&Rc::new([1_u8, 2, 3])), vec![20, 3, 3]),
        ("Mutex<Vec<Player>>", behind(&Arc::new(Mutex::new(vec![hero()]))), vec![17, 22, 3]),
        ("OnceCell<Player>", behind(&Rc::new(OnceCell::from(hero()))), vec![16, 22, 3]),
        ("Rc<RefCell<Player>>", behind(&Rc::new(shared())), vec![23, 0x11, 3]),
        ("sync::Weak<Player>", behind(&Rc::new(weak())), vec![23, 0xa0, 3]),
    ];
    for (pointee, (_, name, form), kind) in found {
        assert_eq!(form, [&[2], &kind[..]].concat(), "{pointee}");
        let row = format!("| `{pointee}` | `{name}` |").replace("Player", "Hero");
        assert!(DOCUMENT.contains(&row), "{row}");
    }
    let structs = [behind(&Rc::new(hero())), behind(&Rc::new(Box::new(hero()))), behind(&shared())];
    for ((holder, name, form), expected) in structs.into_iter().zip([0x10, 0x10, 0x11]) {
        assert_eq!((holder, &*name, form[0]), (expected, "Player", 0));
    }
}

#[persist::dynamic]
trait Thing {}
impl Thing for Player {}

#[test]
fn trait_objects_are_stored_as_the_page_says() {
    let saves = Saves::new();
    saves.register_as::<Player, dyn Thing>().unwrap();
    let boxed: Box<dyn Thing> = Box::new(Player { level: 1, flag: 2 });
    let shared: Arc<RwLock<dyn Thing>> = Arc::new(RwLock::new(Player { level: 3, flag: 4 }));
    let weak = Arc::downgrade(&shared);
    let save = Forged::parse(&saves.to_vec(&(boxed, shared, weak)).unwrap());
    let [Item::Definition(tuple), Item::Definition(player), root, object] = &save.items[..] else {
        panic!("two definitions and two records")
    };
    let thing = b"\x05Thing";
    let kinds = [&[2, 21, 3, 0x18], &thing[..], &[0x19, 0x24], thing, &[0x19, 0xa4], thing];
    assert!(tuple.ends_with(&kinds.concat()), "{tuple:x?}");
    assert_eq!(player[1..7], *b"Player");
    let Item::Record { class: 1, holder: 0x80, payload, .. } = root else { panic!("the root") };
    assert_eq!(payload[..], [2, 1, 0, 0, 0, 2, 2, 2]);
    let Item::Record { class: 2, holder: 0x24, payload, .. } = object else { panic!("the object") };
    assert_eq!(payload[..], [3, 0, 0, 0, 4]);
    for row in ["| `18` | dynamic |", "| `19` | reference to a trait object |", "| `1a` | handle |"]
    {
        assert!(DOCUMENT.contains(row), "{row}");
    }
}

#[test]
fn type_arguments_are_named_as_in_rust() {
    macro_rules! named_otherwise {
        ($($ty:ty,)*) => {
            [$((stringify!($ty), <$ty as Persist>::persist_name())),*]
                .into_iter()
                .filter(|(written, name)| written != name)
                .map(|(written, name)| format!("{written}: {name}\n"))
                .collect::<String>()
        };
    }
    let otherwise = named_otherwise! {
        (), bool, char, u8, u128, usize, isize, f32, (u8,), (u8, char), [u8; 3], Option<u8>,
        String, Box<str>, Cow<'static, str>, PathBuf, Vec<u8>, VecDeque<u8>, Box<[u8]>,
        BinaryHeap<u8>, HashSet<u8>, BTreeSet<u8>, HashMap<u8, bool>, BTreeMap<u8, bool>,
        Box<u8>, Cell<u8>, RefCell<u8>, Mutex<u8>, RwLock<u8>, OnceCell<u8>, OnceLock<u8>,
        Wrapping<u8>, Saturating<u8>, Reverse<u8>, NonZeroU8, AtomicU8, PhantomData<u8>,
        Range<u8>, RangeInclusive<u8>, RangeFrom<u8>, RangeTo<u8>, RangeToInclusive<u8>, RangeFull,
        Duration, SystemTime, Result<u8, String>, Ipv4Addr, Ipv6Addr, IpAddr, SocketAddrV4,
        SocketAddrV6, SocketAddr, Handle<Slots>, ObjectId, Unknown, Player,
        Rc<u8>, Rc<str>, Rc<[u8]>, Rc<Player>, Rc<RefCell<u8>>, Rc<Cell<u8>>, Rc<OnceCell<u8>>,
        Rc<OnceLock<Player>>, Rc<RefCell<Vec<u8>>>, Rc<RefCell<Box<u8>>>, Rc<Box<Player>>,
        Rc<Option<Rc<u8>>>, Arc<Mutex<u8>>, Arc<RwLock<Player>>, Arc<OnceLock<u8>>,
        Weak<OnceCell<u8>>, Weak<RefCell<Player>>, sync::Weak<Mutex<Player>>,
        Box<dyn Thing>, Rc<dyn Thing>, Rc<RefCell<dyn Thing>>, sync::Weak<RwLock<dyn Thing>>,
    };
    insta::assert_snapshot!(otherwise);
}

#[derive(Persist)]
struct Pair<T>(T);

#[test]
fn a_cell_that_is_set_once_stands_once_in_the_name_of_a_pointer_to_it() {
    let save = Forged::parse(&persist::to_vec(&Pair(Rc::new(OnceCell::from(7_u8)))).unwrap());
    let Item::Definition(body) = &save.items[0] else { panic!("a definition") };
    assert_eq!(body[1..1 + usize::from(body[0])], *b"Pair<Rc<OnceCell<u8>>>");
    let mut registry = persist::save::Registry::new();
    registry.register::<Pair<Rc<OnceCell<u8>>>>().unwrap();
    let class = registry.class("Pair<Rc<OnceCell<u8>>>").unwrap();
    assert!(class.to_string().ends_with("Rc<OnceCell<u8>>\n"), "{class}");
}

#[test]
fn header_fields_that_a_document_does_not_know_are_kept() {
    let mut save = Forged::parse(&persist::to_vec(&7_u8).unwrap());
    save.header_fields.extend([[6, 2, 0, 0, 0, 1, 2], [127, 2, 0, 0, 0, 3, 4]].concat());
    let save = save.build();
    let document = Document::from_slice(&save).unwrap();
    assert_eq!(document.to_vec().unwrap(), save);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sav");
    document.save(&path).unwrap();
    let fields = Forged::parse(&std::fs::read(&path).unwrap()).header_fields;
    assert!(fields.ends_with(&[6, 2, 0, 0, 0, 1, 2, 127, 2, 0, 0, 0, 3, 4]), "{fields:?}");
}
