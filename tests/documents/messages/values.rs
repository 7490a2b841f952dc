//! Values: those that cannot be saved, bytes that are none, texts that do not parse.

#![allow(clippy::arc_with_non_send_sync, reason = "nothing forbids it")]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroU8;
use std::rc::Rc;
use std::sync::{Mutex, RwLock};

use persist::codec::{Buffer, Decoder, Encoder, Fail, Prototypes, Stop, decode};
use persist::reflect::Kind;
use persist::{Persist, Value};

use crate::messages::table::Table;

fn poisoned() -> Mutex<u8> {
    let mutex = Mutex::new(1);
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let _guard = mutex.lock();
            std::panic::resume_unwind(Box::new("poison"));
        });
        assert!(holder.join().is_err());
    });
    mutex
}

/// A type that refuses without saying why.
struct Mute;

impl Persist for Mute {
    fn persist_kind() -> Kind {
        Kind::U8
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self)
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(&0_u8)
    }

    fn persist_decode(_: &mut Decoder<'_>) -> Result<Self, Fail> {
        Err(Fail::Refused)
    }
}

#[derive(Persist)]
#[persist(before_save = Hooked::save)]
struct Hooked {
    inside: Option<Box<Hooked>>,
}

impl Hooked {
    fn save(&mut self) {}
}

#[derive(Persist, Debug, Default)]
struct Nest {
    inside: Vec<Nest>,
}

fn nest(levels: usize) -> Nest {
    (0..levels).fold(Nest::default(), |nest, _| Nest { inside: vec![nest] })
}

#[persist::dynamic]
trait Tool {}

#[derive(Persist)]
struct Hammer(u8);

impl Tool for Hammer {}

#[derive(Persist, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Seat {
    row: u8,
    #[persist(skip)]
    taken: bool,
}

#[test]
fn values_that_cannot_be_saved() {
    let mut table = Table::new();
    let mut range = 1..=3_u8;
    assert_eq!(range.by_ref().count(), 3);
    table.add("a range that was iterated", persist::to_vec(&range));
    let cell = RefCell::new(1_u8);
    let borrow = cell.borrow_mut();
    table.add("a cell that is borrowed", persist::to_vec(&cell));
    drop(borrow);
    let mutex = Mutex::new(1_u8);
    let guard = mutex.lock().unwrap();
    table.add("a mutex that is locked", persist::to_vec(&mutex));
    drop(guard);
    let lock = RwLock::new(1_u8);
    let guard = lock.write().unwrap();
    table.add("a lock that is written", persist::to_vec(&lock));
    drop(guard);
    table.add("a mutex that is poisoned", persist::to_vec(&poisoned()));
    let seats = [true, false].map(|taken| Seat { row: 7, taken });
    table.add("two equal keys", persist::to_vec(&HashSet::from(seats)));
    table.add("elements without bytes", persist::to_vec(&vec![(); (1 << 20) + 1]));
    table.add("a value too deep", Buffer::new().encode(&nest(300)).map(drop));
    let hooked = |inside| Some(Box::new(Hooked { inside }));
    let mut deep = Hooked { inside: (0..300).fold(None, |inside, _| hooked(inside)) };
    table.add("hooks too deep", persist::to_vec(&mut deep));
    table.add("a pointer alone", Buffer::new().encode(&Rc::new(RefCell::new(1_u8))).map(drop));
    let tool: Box<dyn Tool> = Box::new(Hammer(1));
    table.add("a trait object alone", Buffer::new().encode(&tool).map(drop));
    insta::assert_snapshot!(table.text());
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf8() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut table = Table::new();
    let name = std::ffi::OsString::from_vec(b"saves/\xff".to_vec());
    table.add("a path", persist::to_vec(&std::path::PathBuf::from(name)));
    insta::assert_snapshot!(table.text());
}

#[derive(Persist, Default)]
struct Secret(u8);

mod guarded {
    use super::Secret;

    pub(super) type Stored = u8;

    pub(super) fn store(secret: &Secret) -> Stored {
        secret.0
    }

    pub(super) fn restore(stored: Stored) -> Result<Secret, String> {
        Err(format!("{stored} is no secret"))
    }
}

#[derive(Persist)]
struct Vault {
    #[persist(with = guarded)]
    secret: Secret,
}

#[test]
fn bytes_that_are_no_value() {
    let mut table = Table::new();
    table.add("too few bytes", decode::<u64>(&[1, 2]));
    table.add("one byte too many", decode::<u8>(&[1, 2]));
    table.add("bytes too many", decode::<u8>(&[1, 2, 3]));
    table.add("text", decode::<String>(&[1, 0xff]));
    table.add("a bool", decode::<bool>(&[2]));
    table.add("a count", decode::<Vec<u8>>(&[9, 1]));
    table.add("a key twice", decode::<BTreeMap<u8, u8>>(&[2, 5, 1, 5, 2]));
    table.add("a key twice in no order", decode::<HashMap<u8, u8>>(&[2, 5, 1, 5, 2]));
    table.add("a value too deep", decode::<Nest>(&[1; 400]));
    table.add("a zero", decode::<NonZeroU8>(&[0]));
    table.add("no reason", decode::<Mute>(&[0]));
    table.add("a with module", decode::<Vault>(&[7]));
    table.add("a pointer alone", decode::<Rc<RefCell<u8>>>(&[1]));
    table.add("a trait object alone", decode::<Box<dyn Tool>>(&[1, 1]));
    table.add("more elements without bytes", decode::<Vec<()>>(&[250, 1, 0, 16]));
    let mut long = vec![251, 1, 0, 0, 4];
    long.resize((64 << 20) + 6, b'a');
    table.add("a text too long", decode::<String>(&long));
    insta::assert_snapshot!(table.text());
}

#[test]
fn texts_that_are_no_value() {
    let deep = "[".repeat(2000);
    let mut table = Table::new();
    for (what, text) in [
        ("nothing", ""),
        ("two values", "1 2"),
        ("a word", "sword"),
        ("a sign", "?"),
        ("a name that is missing", "Hero::?"),
        ("a field that is missing", "Hero { ?"),
        ("a bracket", "Hero { a 1 }"),
        ("lists within lists", &deep),
        ("a list without commas", "[1 2]"),
        ("a map without commas", "{1: 2 3: 4}"),
        ("a field twice", "Hero {\n a: 1,\n a: 2 }"),
        ("a tuple of one", "(1)"),
        ("a handle", "handle(lost)"),
        ("a handle without bits", "handle(live far)"),
        ("an id", "#0"),
        ("a NaN", "nan(0x7f800000)f32"),
        ("a minus", "-far"),
        ("a number", "300u8"),
        ("bytes", "b\"0g\""),
        ("a character", "'ab'"),
        ("a quote that is open", "\"ab"),
        ("an escape", r#""\q""#),
    ] {
        table.add(what, text.parse::<Value>());
    }
    table.add("the id of an object", "#0".parse::<persist::ObjectId>());
    insta::assert_snapshot!(table.text());
}

#[test]
fn json_that_is_no_value() {
    let mut table = Table::new();
    for (what, json) in [
        ("a float of another type", "{\"F32\":\"inf_f64\"}"),
        ("a float that is no number", "{\"F32\":[]}"),
        ("a float too large", "{\"F32\":1e300}"),
        ("fields that are a list", r#"{"Struct":{"class":"A","variant":null,"fields":[]}}"#),
        (
            "a field twice",
            r#"{"Struct":{"class":"A","variant":null,"fields":{"a":"Unit","a":"Unit"}}}"#,
        ),
    ] {
        let error = serde_json::from_str::<Value>(json).unwrap_err();
        table.line(what, &error.to_string());
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn values_that_are_no_saves() {
    let save =
        persist_tools::Document::from_slice(&persist::to_vec(&7_u8).unwrap()).unwrap().into_value();
    let text = save.to_string();
    let mut table = Table::new();
    let mut add = |what: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from} in {text}");
        let value: Value = text.replacen(from, to, 1).parse().unwrap();
        table.add(what, persist_tools::Document::from_value(value).map(drop));
    };
    let with = |entry: &str| format!("{{ {entry}, \"save\"");
    add("no map", &text, "7u8");
    add("no form", "\"save\": 1u32", "\"save\": \"one\"");
    add("a newer form", "\"save\": 1u32", "\"save\": 2u32");
    add("a key that means nothing", "{ \"save\"", &with("\"safe\": 1u8"));
    add("a key twice", "{ \"save\"", &with("\"save\": 1u8"));
    add("an application without a name", "{ \"save\"", &with("\"application\": 1u8"));
    add("a generation below 0", "{ \"save\"", &with("\"generation\": -1"));
    add("another compression", "{ \"save\"", &with("\"compression\": \"rar\""));
    add("a device without counts", "{ \"save\"", &with("\"devices\": [\"deck\"]"));
    add("a device twice", "{ \"save\"", &with("\"devices\": [(\"a\", 1, 1), (\"a\", 1, 1)]"));
    add("metadata that is none", "{ \"save\"", &with("\"metadata\": 7"));
    let other = text.replacen("7u8", "700u16", 1);
    add("metadata that does not fit", "{ \"save\"", &with(&format!("\"metadata\": {other}")));
    add("header fields that are no bytes", "{ \"save\"", &with("\"fields\": 7"));
    add("places of no definitions", "{ \"save\"", &with("\"defined\": []"));
    add("places that are no numbers", "{ \"save\"", &with("\"defined\": [true]"));
    add("a class that is no text", "\"classes\": [", "\"classes\": [7, ");
    add("an object that is none", "\"objects\": [", "\"objects\": [7, ");
    add("no id", "\"id\": 1u64", "\"id\": true");
    add("id 0", "\"id\": 1u64", "\"id\": 0");
    add("a class that is not there", "\"class\": \"u8\"", "\"class\": \"Hero\"");
    add("a holder that is none", "\"added\"", "\"holder\": \"Box\", \"added\"");
    add("an object without `added`", "\"added\": true, ", "");
    add("an object that does not fit", "\"value\": 7u8", "\"value\": 700u16");
    insta::assert_snapshot!(table.text());
}
