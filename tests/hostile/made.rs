//! Saves made by hand to harm, with true checksums: each is refused with the
//! right kind, a message that helps, little memory, and soon.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use persist::{ErrorKind, Persist, Result, SaveManager};
use persist_tests::support::forge::{
    self, ADDED, Forged, Item, Load, MET, VALUE, bare, class, fields, one, record, refused, save,
    text, value,
};

#[derive(Persist, Debug)]
struct Hero {
    best: Rc<RefCell<Sword>>,
    rest: Vec<Weak<RefCell<Sword>>>,
}

#[derive(Persist, Debug)]
struct Sword {
    power: u8,
}

#[derive(Persist, Debug)]
enum Mode {
    Off,
    On(u8),
}

const HERO: &[(&str, &[u8])] = &[("best", &[0x17, 0x11, 2]), ("rest", &[0x11, 0x17, 0x91, 2])];
const SWORD: &[(&str, &[u8])] = &[("power", &[3])];

/// Loads objects.
fn objects(save: &[u8]) -> Result<()> {
    let manager = SaveManager::new();
    manager.register::<Hero>()?;
    manager.register::<Mode>()?;
    manager.from_slice(save).map(drop)
}

fn heroes(records: &[Item]) -> Vec<u8> {
    save(&[&[class("Hero", HERO), class("Sword", SWORD)], records].concat())
}

fn swords(records: &[Item]) -> Vec<u8> {
    save(&[&[class("Sword", SWORD)], records].concat())
}

fn sword(parts: &[(&str, &[u8])]) -> Vec<u8> {
    save(&[class("Sword", parts)])
}

fn definition_of(parts: &[u8]) -> Item {
    Item::Definition([&text("Broken")[..], &[1], parts].concat())
}

fn id_of_name() -> Item {
    forge::with_id(forge::id_of("Broken"), "Broken", 1, 0, &[0])
}

/// A save without objects, with one place overwritten and the checksums true.
fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut save = swords(&[record(1, ADDED, 1, &[5])]);
    save[at..at + bytes.len()].copy_from_slice(bytes);
    forge::restamp(&mut save);
    save
}

fn with_header(fields: &[u8]) -> Vec<u8> {
    Forged { header_fields: fields.to_vec(), items: Vec::new() }.build()
}

fn with_trailer(words: [u64; 3]) -> Vec<u8> {
    let mut save = swords(&[record(1, ADDED, 1, &[5])]);
    let start = save.len() - 29;
    let right = [1, 1, save.len() as u64];
    save.truncate(start);
    forge::trailer(&mut save, std::array::from_fn(|i| right[i].wrapping_add(words[i])));
    save
}

const MANY: [u8; 9] = [255, 0, 0, 0, 0, 0, 0, 0, 128];

/// What each save is, what it is loaded as, and why it is refused.
fn cases() -> Vec<(&'static str, Vec<u8>, Load, ErrorKind)> {
    use ErrorKind::{
        Damaged, DuplicateId, InvalidValue, KindMismatch, MissingField, MissingObject, NewerFormat,
        NotASave, NotFound, TooLarge, Truncated, UnknownKind, WrongClass,
    };
    let bytes = || bare("Vec<u8>", &[0x11, 3]);
    let wide = || bare("Vec<(u64, u64)>", &[0x11, 0x15, 2, 6, 6]);
    let map = || bare("HashMap<u8, u8>", &[0x13, 3, 3]);
    let good = || record(1, ADDED, 1, &[5]);
    let whole = swords(&[good()]);
    let replaced = |from: &[u8], to: &[u8]| {
        let parts: Vec<String> = whole.iter().map(|byte| format!("{byte:02x}")).collect();
        let hex = |bytes: &[u8]| {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
        };
        let text = parts.join(" ").replace(&hex(from), &hex(to));
        let byte = |hex| u8::from_str_radix(hex, 16).expect("hex");
        text.split(' ').map(byte).collect::<Vec<u8>>()
    };
    let ends_early = |cut: usize| {
        let mut content =
            Forged { items: vec![class("Sword", SWORD), good()], ..Forged::default() }.content();
        content.truncate(content.len() - cut);
        Forged::default().around(&content, [1, 1])
    };
    vec![
        ("a list of 2^31", one(bytes(), &[251, 0, 0, 0, 128, 1]), value::<Vec<u8>>, InvalidValue),
        ("a list of 2^63", one(bytes(), &MANY), value::<Vec<u8>>, InvalidValue),
        ("a list of one more", one(bytes(), &[3, 1, 2]), value::<Vec<u8>>, InvalidValue),
        ("a list of one less", one(bytes(), &[1, 1, 2]), value::<Vec<u8>>, Damaged),
        (
            "a list of 2^60 pairs",
            one(wide(), &[255, 0, 0, 0, 0, 0, 0, 0, 16]),
            value::<Vec<(u64, u64)>>,
            InvalidValue,
        ),
        ("a map of 2^63", one(map(), &MANY), value::<HashMap<u8, u8>>, InvalidValue),
        ("a key twice", one(map(), &[2, 1, 1, 1, 2]), value::<HashMap<u8, u8>>, InvalidValue),
        (
            "a text of 2^32 - 1",
            one(bare("String", &[15]), &[251, 255, 255, 255, 255]),
            value::<String>,
            InvalidValue,
        ),
        (
            "a text that is not UTF-8",
            one(bare("String", &[15]), &[1, 0xff]),
            value::<String>,
            InvalidValue,
        ),
        (
            "2^60 units",
            one(bare("Vec<()>", &[0x11, 0]), &[255, 0, 0, 0, 0, 0, 0, 0, 16]),
            value::<Vec<()>>,
            TooLarge,
        ),
        ("a value that ends early", one(bare("u64", &[6]), &[1, 2, 3]), value::<u64>, Truncated),
        (
            "a bool of 2",
            one(bare("(u8, bool)", &[0x15, 2, 3, 1]), &[0, 2]),
            value::<(u8, bool)>,
            InvalidValue,
        ),
        ("an id twice", swords(&[good(), good()]), objects, DuplicateId),
        ("an id of 0", swords(&[record(1, ADDED, 0, &[5])]), objects, Damaged),
        ("a reference to nobody", heroes(&[record(1, ADDED, 1, &[9, 0])]), objects, MissingObject),
        ("an empty reference", heroes(&[record(1, ADDED, 1, &[0, 0])]), objects, MissingObject),
        ("a reference to itself", heroes(&[record(1, ADDED, 1, &[1, 0])]), objects, WrongClass),
        (
            "a weak reference to another class",
            heroes(&[record(2, MET, 2, &[7]), record(1, ADDED, 1, &[2, 1, 1])]),
            objects,
            WrongClass,
        ),
        ("an unknown holder", swords(&[record(1, 0x17, 1, &[5])]), objects, NewerFormat),
        (
            "a record longer than its fields",
            swords(&[record(1, ADDED, 1, &[5, 5])]),
            objects,
            Damaged,
        ),
        ("a record of class 2 of 1", swords(&[record(2, ADDED, 1, &[5])]), objects, Damaged),
        (
            "a variant that is not there",
            save(&[
                Item::Definition(
                    [
                        &text("Mode")[..],
                        &[1, 1, 2],
                        &text("Off"),
                        &[0],
                        &text("On"),
                        &fields(&[("0", &[3])]),
                    ]
                    .concat(),
                ),
                record(1, ADDED, 1, &[2]),
            ]),
            objects,
            InvalidValue,
        ),
        (
            "a variant that the program lost",
            save(&[
                Item::Definition([&text("Mode")[..], &[1, 1, 1], &text("Auto"), &[0]].concat()),
                record(1, ADDED, 1, &[0]),
            ]),
            objects,
            NotFound,
        ),
        ("a value for a manager", one(bytes(), &[0]), objects, WrongClass),
        ("objects for a value", whole.clone(), value::<Sword>, WrongClass),
        (
            "two values",
            save(&[bytes(), record(1, VALUE, 1, &[0]), record(1, VALUE, 2, &[0])]),
            value::<Vec<u8>>,
            WrongClass,
        ),
        ("a value of another class", one(bytes(), &[0]), value::<Sword>, WrongClass),
        (
            "a class twice",
            save(&[class("Sword", SWORD), class("Sword", SWORD)]),
            objects,
            DuplicateId,
        ),
        (
            "a struct that holds itself",
            save(&[class("Sword", &[("inner", &[0x16, 1])])]),
            objects,
            Damaged,
        ),
        (
            "structs that hold each other",
            save(&[class("A", &[("b", &[0x14, 3, 0x16, 2])]), bare("B", &[0x15, 2, 3, 0x16, 1])]),
            objects,
            Damaged,
        ),
        ("a class that is not defined", sword(&[("power", &[0x16, 9])]), objects, Damaged),
        ("a compact kind that is none", sword(&[("power", &[0x1c, 3])]), objects, UnknownKind),
        ("an unknown kind", sword(&[("power", &[0x11, 0x7a])]), objects, UnknownKind),
        (
            "an unknown holder of a reference",
            sword(&[("power", &[0x17, 0x44, 1])]),
            objects,
            UnknownKind,
        ),
        (
            "an unknown field flag",
            save(&[definition_of(&[0, 1, 1, b'x', 2, 3])]),
            objects,
            UnknownKind,
        ),
        ("an unknown form", save(&[definition_of(&[9])]), objects, UnknownKind),
        ("an id that is the hash of the name", save(&[id_of_name()]), objects, Damaged),
        ("an enum without variants", save(&[definition_of(&[1, 0])]), objects, Damaged),
        ("a definition with more", save(&[definition_of(&[0, 0, 0])]), objects, Damaged),
        (
            "a definition with less",
            save(&[definition_of(&[0, 2, 1, b'x', 0, 3])]),
            objects,
            Damaged,
        ),
        ("2^63 fields", save(&[definition_of(&[&[0], &MANY[..]].concat())]), objects, Damaged),
        ("two fields of one name", sword(&[("power", &[3]), ("power", &[3])]), objects, Damaged),
        (
            "two variants of one name",
            save(&[definition_of(
                &[&[1, 2], &text("On")[..], &[0], &text("On")[..], &[0]].concat(),
            )]),
            objects,
            Damaged,
        ),
        (
            "an unknown kind in a variant",
            save(&[definition_of(
                &[&[1, 1], &text("On")[..], &fields(&[("0", &[0x40])])].concat(),
            )]),
            objects,
            UnknownKind,
        ),
        (
            "another type for a field",
            save(&[class("Sword", &[("power", &[0x11, 3])]), record(1, ADDED, 1, &[0])]),
            objects,
            KindMismatch,
        ),
        (
            "a field that is missing",
            save(&[class("Sword", &[("might", &[3])]), record(1, ADDED, 1, &[0])]),
            objects,
            MissingField,
        ),
        ("a separator that is missing", patched(56, &[0x1f]), objects, Damaged),
        ("a record that ends behind its block", ends_early(1), objects, Damaged),
        ("format 2", patched(8, &[2]), objects, NewerFormat),
        ("format 0", patched(8, &[0]), objects, Damaged),
        ("an unknown header flag", patched(10, &[1]), objects, NewerFormat),
        (
            "a header field that must be known",
            with_header(&[0x80, 0, 0, 0, 0]),
            objects,
            NewerFormat,
        ),
        ("a header field twice", with_header(&[1, 0, 0, 0, 0, 1, 0, 0, 0, 0]), objects, Damaged),
        ("a header field too long", with_header(&[9, 255, 255, 255, 255]), objects, Damaged),
        ("an unknown block", patched(20, &[6]), objects, NewerFormat),
        ("records as definitions once more", patched(20, &[4]), objects, Damaged),
        ("a block of 4 GiB", patched(21, &[255; 4]), objects, Truncated),
        ("a record too many in the trailer", with_trailer([1, 0, 0]), objects, Damaged),
        ("a definition too few in the trailer", with_trailer([0, u64::MAX, 0]), objects, Damaged),
        ("another length in the trailer", with_trailer([0, 0, 1]), objects, Damaged),
        ("bytes behind the trailer", [&whole[..], b"\n"].concat(), objects, Damaged),
        ("no trailer", whole[..whole.len() - 29].to_vec(), objects, Truncated),
        ("CRLF as LF", replaced(b"\r\n", b"\n"), objects, NotASave),
        ("LF as CRLF", replaced(b"\n", b"\r\n"), objects, NotASave),
        ("seven bits", whole.iter().map(|byte| byte & 0x7f).collect(), objects, NotASave),
        ("zeros", vec![0; 4096], objects, NotASave),
        ("nothing", Vec::new(), objects, NotASave),
        ("a picture", b"\x89PNG\r\n\x1a\n".to_vec(), objects, NotASave),
    ]
}

#[test]
fn every_save_is_refused_with_its_kind_and_little_memory() {
    for (name, save, load, kind) in cases() {
        let error = refused(save.clone(), load);
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.offset().is_none_or(|offset| offset <= save.len() as u64), "{name}: {error}");
    }
}

#[test]
fn every_message_says_what_and_where_and_what_to_do() {
    let mut messages = String::new();
    for (name, save, load, _) in cases() {
        let error = load(&save).expect_err(name);
        messages += &format!("{name}\n    {:?}: {error}\n", error.kind());
    }
    insta::assert_snapshot!("messages", messages);
}
