//! `docs/format.md` says what the library writes.

use std::cell::RefCell;
use std::rc::Rc;

use persist::codec::Prototypes;
use persist::{Arena, Handle, Persist, SaveManager};

const DOCUMENT: &str = include_str!("../docs/format.md");

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
    let mut saves = SaveManager::new();
    saves.set_application("demo", "1.0").unwrap();
    for (level, flag) in [(1, 16), (6, 32)] {
        saves.add(&Rc::new(RefCell::new(Player { level, flag }))).unwrap();
    }
    assert_eq!(saves.to_vec().unwrap(), example());
}

#[test]
fn the_worked_example_loads() {
    let mut saves = SaveManager::new();
    saves.register::<Player>().unwrap();
    let loaded = saves.from_slice(&example()).unwrap();
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
            f: <$ty as Persist>::prototype(&Prototypes::bare()).unwrap(),
        })
        .unwrap();
        // Header without fields, head of the block, class number, length; then
        // the body: id, name "Probe", version, form, one field "f", no flags.
        let body = 20 + 5 + 1 + 4;
        let length = u32::from_le_bytes(save[body - 4..body].try_into().unwrap()) as usize;
        save[body + 8 + 6 + 1 + 1 + 1 + 2 + 1..body + length].to_vec()
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
