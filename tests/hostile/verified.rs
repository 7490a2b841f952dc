//! `verify` reads a save block by block, `Document` all of it: they accept the same saves. So does `usage`, whose parts
//! are all bytes of the save. A reader of records yields the same objects as a document, and writes the same bytes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Cursor;
use std::rc::Rc;

use persist::save::Compression;
use persist::{ErrorKind, Limits, Persist, Result, SaveOptions, Saves};
use persist_tests::support::fixture_types::read;
use persist_tests::support::forge::{
    ADDED, Forged, Item, MET, VALUE, bare, class, count, counted, record, restamp, save, text,
};
use persist_tests::support::short_or_long;
use persist_tools::__private::RecordReader;
use persist_tools::{Document, Entry, Verified, usage, verify};

use crate::damaged::Random;

fn verified(save: &[u8]) -> Result<Verified> {
    verify(Cursor::new(save), &Limits::DEFAULT)
}

/// Both accept a save, or neither does.
fn check_same(save: &[u8], what: &dyn std::fmt::Debug) -> bool {
    let sizes = usage(Cursor::new(save), &Limits::DEFAULT);
    match (Document::from_slice(save), verified(save)) {
        (Ok(document), Ok(found)) => {
            check_records(save, &document, what);
            let entries = document.entries().count();
            assert_eq!(found.objects + found.kept, entries as u64, "{what:?}");
            let sizes = sizes.unwrap_or_else(|error| panic!("{what:?}: {error}"));
            let parts: u64 = sizes.whole.parts.iter().map(|part| part.bytes).sum();
            assert_eq!(parts, sizes.whole.bytes, "{what:?}");
            if found.compressed == 0 {
                assert_eq!(parts, save.len() as u64, "{what:?}");
            }
            true
        }
        (Err(_), Err(_)) => false,
        (document, found) => panic!("{what:?}: {document:?}, but {found:?}\n{save:02x?}"),
    }
}

/// A reader of records yields the objects of a document, in their order and by their positions and ids, and writes the
/// same bytes.
fn check_records(save: &[u8], document: &Document, what: &dyn std::fmt::Debug) {
    let mut records = RecordReader::open(Cursor::new(save), &Limits::DEFAULT).expect("it is whole");
    let mut places = Vec::new();
    for expected in document.entries() {
        let record = records.next_record().expect("it is whole").expect("as many records");
        assert_eq!(record.number, places.len(), "{what:?}");
        places.push(record.position);
        assert_eq!(records.entry().expect("it is whole").as_ref(), Some(expected), "{what:?}");
        // Where others are read in between, the next one stays.
        let place = places[places.len() / 2];
        assert!(records.entry_at(place).expect("it is whole").is_some());
    }
    assert!(records.next_record().expect("it is whole").is_none(), "{what:?}");
    for (expected, place) in document.entries().zip(&places) {
        let found = records.entry_at(*place).expect("it is whole");
        assert_eq!(found.as_ref(), Some(expected), "{what:?}");
        let found = records.object(expected.id()).expect("it is whole");
        let is_it = |found: &(_, Entry)| found.0 == *place && found.1 == *expected;
        assert!(expected.is_kept() || found.as_ref().is_some_and(is_it), "{what:?}");
    }
    let (header, compression) = (records.header().clone(), records.compression());
    assert_eq!((&header, compression), (document.header(), document.compression()));
    let mut written = Vec::new();
    let result = records.write(&mut written, (&header, compression), &HashMap::new());
    match (result, document.to_vec()) {
        (Ok(()), Ok(expected)) => {
            // A document defines classes before records that need them, where a save does not.
            assert!(written == expected || expected != save, "{what:?}");
            let again = Document::from_slice(&written).expect("it is whole");
            assert!(again.entries().eq(document.entries()), "{what:?}");
        }
        // A limit of what is written.
        (_, Err(_)) => {}
        (Err(error), Ok(_)) => panic!("{what:?}: {error}"),
    }
}

#[derive(Persist)]
struct Hero {
    name: String,
    friends: Vec<Rc<RefCell<Hero>>>,
    foe: Option<std::rc::Weak<RefCell<Hero>>>,
}

/// A save of several blocks, with references to objects of other blocks.
fn heroes(compression: Compression) -> Vec<u8> {
    let mut manager =
        Saves::new().save_options(SaveOptions::new().compression(compression)).manager();
    let heroes: Vec<_> = (0..3000_usize)
        .map(|i| {
            let name = format!("hero {i} ").repeat(i % 9);
            Rc::new(RefCell::new(Hero { name, friends: Vec::new(), foe: None }))
        })
        .collect();
    for (i, hero) in heroes.iter().enumerate() {
        hero.borrow_mut().friends = vec![heroes[i * 31 % 3000].clone(), heroes[i / 2].clone()];
        hero.borrow_mut().foe = Some(Rc::downgrade(&heroes[i * 7 % 3000]));
        manager.add(hero).expect("an object");
    }
    let save = manager.to_vec().expect("it can be saved");
    heroes.iter().for_each(|hero| hero.borrow_mut().friends.clear());
    save
}

fn saves() -> Vec<Vec<u8>> {
    let mut saves: Vec<_> = ["players", "values", "graph", "pointers", "compact"].map(read).into();
    saves.push(heroes(Compression::None));
    saves.push(persist::SaveManager::new().allow_empty().to_vec().expect("it can be saved"));
    #[cfg(feature = "lz4")]
    saves.push(heroes(Compression::Lz4));
    #[cfg(feature = "zstd")]
    saves.push(heroes(Compression::Zstd(3)));
    saves
}

#[test]
fn whole_saves_are_verified_in_one_pass() {
    for save in saves() {
        let found = verified(&save).expect("it is whole");
        assert_eq!(found.bytes, save.len() as u64);
        let document = Document::from_slice(&save).expect("it is whole");
        assert_eq!(found.classes, document.classes().len() as u64);
    }
    let found = verified(&heroes(Compression::None)).expect("it is whole");
    assert_eq!((found.objects, found.references), (3000, 9000));
    assert!(found.blocks > 2 && found.compressed == 0);
}

#[test]
fn damaged_saves_are_refused_as_documents_refuse_them() {
    let mut random = Random(0x5eed_0016);
    let mut accepted = 0;
    for save in saves() {
        for _ in 0..short_or_long(300, 20_000) {
            let mut changed = save.clone();
            for _ in 0..=random.below(3) {
                // Heads, definitions and the first records are hit more often than their share.
                let end = if random.below(2) == 0 { changed.len() } else { changed.len().min(700) };
                let at = random.below(end);
                changed[at] = random.telling_byte();
            }
            match random.below(8) {
                0 => changed.truncate(random.below(save.len())),
                1 => changed.push(random.telling_byte()),
                2..6 => restamp(&mut changed),
                _ => {}
            }
            accepted += usize::from(check_same(&changed, &"a changed fixture"));
        }
    }
    assert!(accepted > 50, "{accepted} were accepted: the changes are too large");
}

/// Kinds, classes and values at random, most of which fit.
pub(crate) struct Maker {
    random: Random,
    /// The kinds of each class's fields, or of its variants' fields.
    classes: Vec<(bool, Vec<Vec<Kind>>)>,
}

#[derive(Clone, Debug)]
enum Kind {
    Scalar(u8),
    Text,
    Around(u8, Box<Kind>),
    Map(Box<[Kind; 2]>),
    Array(u64, Box<Kind>),
    Tuple(Vec<Kind>),
    Class(usize),
    Reference(u8, usize),
    Trait(u8),
    Dynamic,
    Unknown,
    Handle,
    Compact(u8),
}

impl Maker {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random(seed), classes: Vec::new() }
    }

    fn kind(&mut self, depth: usize) -> Kind {
        let random = &mut self.random;
        let deep = depth > 3;
        match random.below(if deep { 12 } else { 26 }) {
            0..5 => Kind::Scalar(u8::try_from(random.below(15)).expect("a tag")),
            5 | 6 => Kind::Text,
            7 => Kind::Reference([0x11, 0x91, 0x10, 0x25][random.below(4)], random.below(3)),
            8 => Kind::Trait([0x11, 0x91][random.below(2)]),
            9 => Kind::Handle,
            10 => Kind::Compact([4, 5, 6, 9, 10, 11][random.below(6)]),
            11 => Kind::Scalar(0),
            12..15 => Kind::Around(0x10, self.kind(depth + 1).into()),
            15..18 => Kind::Around(0x11, self.kind(depth + 1).into()),
            18 => Kind::Around(0x12, self.kind(depth + 1).into()),
            19 => Kind::Map([self.kind(depth + 1), self.kind(depth + 1)].into()),
            20 => Kind::Array(random.below(4) as u64, self.kind(depth + 1).into()),
            21 => Kind::Tuple((0..random.below(4)).map(|_| self.kind(depth + 1)).collect()),
            22 | 23 => Kind::Class(random.below(4)),
            24 => Kind::Dynamic,
            _ => Kind::Unknown,
        }
    }

    fn write_kind(kind: &Kind, out: &mut Vec<u8>) {
        match kind {
            Kind::Scalar(tag) => out.push(*tag),
            Kind::Text => out.push(0x0f),
            Kind::Around(tag, part) => {
                out.push(*tag);
                Self::write_kind(part, out);
            }
            Kind::Map(parts) => {
                out.push(0x13);
                parts.iter().for_each(|part| Self::write_kind(part, out));
            }
            Kind::Array(len, part) => {
                out.push(0x14);
                count(*len, out);
                Self::write_kind(part, out);
            }
            Kind::Tuple(parts) => {
                out.push(0x15);
                count(parts.len() as u64, out);
                parts.iter().for_each(|part| Self::write_kind(part, out));
            }
            Kind::Class(class) => out.extend([0x16, u8::try_from(class + 1).expect("few")]),
            Kind::Reference(holder, class) => {
                out.extend([0x17, *holder, u8::try_from(class + 1).expect("few")]);
            }
            Kind::Trait(holder) => out.extend([&[0x19, *holder], &*text("T")].concat()),
            Kind::Dynamic => out.extend([&[0x18], &*text("T")].concat()),
            Kind::Unknown => out.push(0x1b),
            Kind::Handle => out.extend([&[0x1a], &*text("a")].concat()),
            Kind::Compact(integer) => out.extend([0x1c, *integer]),
        }
    }

    fn value(&mut self, kind: &Kind, depth: usize, out: &mut Vec<u8>) {
        if self.random.below(200) == 0 {
            return out.push(self.random.telling_byte());
        }
        let count = if depth > 8 { 0 } else { self.random.below(3) };
        let few = u8::try_from(count).expect("few");
        match kind {
            Kind::Scalar(tag) => match tag {
                0 => {}
                1 => out.push(few & 1),
                2 => out.extend(u32::from('a').to_le_bytes()),
                tag => {
                    let width = [1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 8][usize::from(tag - 3)];
                    out.extend((0..width).map(|_| few));
                }
            },
            Kind::Text => out.extend(text(&"é".repeat(count))),
            Kind::Around(0x10, part) => {
                out.push(few & 1);
                if few & 1 == 1 {
                    self.value(part, depth + 1, out);
                }
            }
            Kind::Around(_, part) => {
                out.push(few);
                (0..count).for_each(|_| self.value(part, depth + 1, out));
            }
            Kind::Map(parts) => {
                out.push(few);
                for _ in 0..count {
                    parts.iter().for_each(|part| self.value(part, depth + 1, out));
                }
            }
            Kind::Array(len, part) => {
                (0..*len).for_each(|_| self.value(part, depth + 1, out));
            }
            Kind::Tuple(parts) => parts.iter().for_each(|part| self.value(part, depth + 1, out)),
            Kind::Class(class) => self.class(*class, depth, out),
            Kind::Reference(..) | Kind::Trait(_) => {
                out.extend(counted(self.random.below(6) as u64));
            }
            Kind::Dynamic => {
                let class = self.random.below(4);
                out.push(u8::try_from(class + 1).expect("few"));
                self.class(class, depth, out);
            }
            Kind::Unknown => {
                out.push(few);
                (0..count).for_each(|_| self.value(&Kind::Dynamic, depth + 1, out));
            }
            Kind::Handle => {
                out.push(few);
                out.extend([if few == 0 { 0 } else { 9 }; 8]);
            }
            Kind::Compact(_) => out.push(few),
        }
    }

    fn class(&mut self, class: usize, depth: usize, out: &mut Vec<u8>) {
        if depth > 20 {
            return;
        }
        let (is_enum, variants) = self.classes[class].clone();
        let variant = self.random.below(variants.len());
        if is_enum {
            out.push(u8::try_from(variant).expect("few"));
        }
        variants[variant].iter().for_each(|field| self.value(field, depth + 1, out));
    }

    /// A save of four classes with a few records each, and sometimes definitions behind records.
    pub(crate) fn save(&mut self) -> Vec<u8> {
        let names = ["A", "B", "C", "D"];
        let mut items = Vec::new();
        self.classes.clear();
        for name in names {
            let is_enum = self.random.below(3) == 0;
            let variants = if is_enum { 1 + self.random.below(3) } else { 1 };
            let mut fields = || {
                let count = self.random.below(4);
                (0..count).map(|_| self.kind(0)).collect::<Vec<_>>()
            };
            let variants: Vec<Vec<Kind>> = (0..variants).map(|_| fields()).collect();
            items.push(definition(name, is_enum, &variants));
            self.classes.push((is_enum, variants));
        }
        for id in 1..6_u64 {
            let class = self.random.below(4);
            let mut payload = Vec::new();
            self.class(class, 0, &mut payload);
            let holder = [ADDED, MET, ADDED, 0x10, 0][self.random.below(5)];
            let id = if self.random.below(20) == 0 { id << 40 } else { id };
            items.push(record(class as u64 + 1, holder, id, &payload));
        }
        if self.random.below(3) == 0 {
            // Its records are behind it already, or it is refused.
            let (from, to) = (self.random.below(4), self.random.below(items.len()));
            items.swap(from, to);
        }
        save(&items)
    }
}

fn definition(name: &str, is_enum: bool, variants: &[Vec<Kind>]) -> Item {
    let fields = |kinds: &[Kind]| {
        let mut out = counted(kinds.len() as u64);
        for (i, kind) in kinds.iter().enumerate() {
            out.extend(text(&i.to_string()));
            out.push(0);
            Maker::write_kind(kind, &mut out);
        }
        out
    };
    let Item::Definition(mut body) = class(name, &[]) else { unreachable!() };
    body.truncate(body.len() - 2);
    if is_enum {
        body.push(1);
        count(variants.len() as u64, &mut body);
        for (i, variant) in variants.iter().enumerate() {
            body.extend(text(&format!("V{i}")));
            body.extend(fields(variant));
        }
    } else {
        body.push(0);
        body.extend(fields(&variants[0]));
    }
    Item::Definition(body)
}

#[test]
fn made_saves_are_accepted_as_documents_accept_them() {
    let mut maker = Maker::new(0x5eed_0017);
    let mut accepted = 0;
    let most = short_or_long(6_000, 2_000_000);
    for _ in 0..most {
        let save = maker.save();
        accepted += usize::from(check_same(&save, &maker.classes));
    }
    assert!(accepted > most / 20, "{accepted} of {most} were accepted");
}

/// What a list of one kind is within limits.
#[track_caller]
fn check_limits(kind: &[u8], payload: &[u8], limits: &Limits) -> ErrorKind {
    let save = save(&[bare("list", kind), record(1, VALUE, 1, payload)]);
    let error = verify(Cursor::new(&save), limits).expect_err("it is over a limit");
    let document = Document::within(&save, limits).expect_err("it is over a limit");
    assert_eq!(error.kind(), document.kind());
    error.kind()
}

#[test]
fn limits_hold_as_for_documents() {
    let limits = Limits::new().depth(1).text(300).empty_elements(5);
    // Five options around a number, of which four may nest.
    assert_eq!(
        check_limits(&[0x10, 0x10, 0x10, 0x10, 0x10, 3], &[1; 6], &limits),
        ErrorKind::TooDeep
    );
    let long = text(&"x".repeat(301));
    assert_eq!(check_limits(&[0x0f], &long, &limits), ErrorKind::TooLarge);
    // An array of three arrays of one unit each.
    let units = [0x11, 0x14, 2, 0x14, 1, 0];
    assert_eq!(check_limits(&units, &[2], &limits), ErrorKind::TooLarge);
}

#[test]
fn keys_that_stand_twice_are_found_in_any_order() {
    let map = |keys: &[&str]| {
        let mut payload = counted(keys.len() as u64);
        keys.iter().for_each(|key| payload.extend([text(key), vec![7]].concat()));
        save(&[bare("map", &[0x13, 0x0f, 3]), record(1, VALUE, 1, &payload)])
    };
    assert!(verified(&map(&["b", "aa", "c", "a", "bb", ""])).is_ok());
    let error = verified(&map(&["b", "aa", "c", "a", "bb", "aa"])).expect_err("twice");
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    assert!(check_same(&map(&["", "a", "aa"]), &"a map"));
}

#[test]
fn bytes_that_are_no_handle_are_refused() {
    let handle = |state: u8, bits: u8| {
        let kind = [&[0x1a][..], &text("a")].concat();
        save(&[bare("handle", &kind), record(1, VALUE, 1, &[&[state][..], &[bits; 8]].concat())])
    };
    assert!(check_same(&handle(0, 0), &"null") && check_same(&handle(2, 9), &"dead"));
    for (state, bits) in [(0, 1), (3, 0), (3, 9)] {
        assert!(!check_same(&handle(state, bits), &(state, bits)));
    }
    // Ids of objects of worlds have 63 bits.
    let id = |state: u8, bits: u8| {
        let kind = [&[0x1a][..], &text("persist.objects")].concat();
        save(&[bare("id", &kind), record(1, VALUE, 1, &[&[state][..], &[bits; 8]].concat())])
    };
    assert!(check_same(&id(1, 0x7f), &"live") && check_same(&id(2, 0x7f), &"dead"));
    assert!(!check_same(&id(1, 0x80), &"beyond 63 bits") && !check_same(&id(1, 0), &"zero"));
}

#[test]
fn classes_that_double_without_bytes_are_verified_soon() {
    for last in [&[0_u8][..], &[0x14, 1, 0]] {
        let mut items = vec![class("Sword", &[("gone", &[0x11, 0x16, 2]), ("last", &[0x16, 2])])];
        for i in 2..62_u8 {
            let next: &[u8] = &[0x16, i + 1];
            items.push(class(&format!("C{i}"), &[("a", next), ("b", next)]));
        }
        items.extend([class("C62", &[("unit", last)]), record(1, VALUE, 1, &[3])]);
        // Either answer is right, if it comes.
        let _ = verified(&save(&items));
    }
}

#[test]
fn an_error_says_where_the_fault_is() {
    let hero = class("Hero", &[("name", &[0x0f]), ("friend", &[0x17, 0x11, 1])]);
    let payload = |id: u8| [text("Ada"), vec![id]].concat();
    let made = |friend| {
        save(&[hero.clone(), record(1, ADDED, 1, &payload(2)), record(1, MET, 2, &payload(friend))])
    };
    assert!(verified(&made(1)).is_ok());
    insta::assert_snapshot!(verified(&made(9)).expect_err("it leads nowhere"));
    let mut forged = Forged::parse(&made(1));
    forged.items[2].content()[1] = 0xff;
    insta::assert_snapshot!(verified(&forged.build()).expect_err("a text is wrong"));
    let twice = [hero.clone(), record(1, ADDED, 1, &payload(1)), record(1, ADDED, 1, &payload(1))];
    insta::assert_snapshot!(verified(&save(&twice)).expect_err("an id is there twice"));
}

#[test]
fn memory_is_that_of_a_block_and_a_few_bytes_for_each_object() {
    let mut items = vec![class("Unit", &[("number", &[0x05])])];
    items.extend((1..=100_000).map(|id| record(1, ADDED, id, &[1, 2, 3, 4])));
    // As the library would write it, in blocks of 64 KiB.
    let mut file = Document::from_slice(&save(&items)).expect("whole").to_vec().expect("written");
    let measure = |save: &[u8]| {
        let mut is_ok = false;
        let info = allocation_counter::measure(|| {
            is_ok = verify(Cursor::new(save), &Limits::DEFAULT).is_ok();
        });
        (is_ok, info.bytes_max)
    };
    let (is_ok, most) = measure(&file);
    assert!(is_ok && most < 16 * 100_000 + (256 << 10), "{most} bytes");
    let middle = file.len() / 2;
    file[middle] ^= 1;
    let (is_ok, most) = measure(&file);
    assert!(!is_ok && most < 16 * 100_000 + (256 << 10), "{most} bytes");
}
