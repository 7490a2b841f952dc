//! Damaged and malicious saves, read without their types: an error or a
//! document that is written again; memory and stack within bounds.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use persist::{Error, ErrorKind, Result, Value};
use persist_tests::support::fixture_types::{NAMES, read};
use persist_tests::support::forge::{
    self, ADDED, Forged, Item, bare, class, counted, fields, one, one_of, record, restamp, text,
};
use persist_tests::support::short_or_long;
use persist_tools::Document;

/// Reads a save, and does with it what a tool would.
fn look(save: &[u8]) -> Result<()> {
    let document = Document::from_slice(save)?;
    let dump = document.to_string();
    assert!(dump.starts_with("save of format 1"));
    match document.to_vec() {
        // What it writes, it reads as the same.
        Ok(again) => assert_eq!(Document::from_slice(&again).unwrap().to_string(), dump),
        Err(error) => assert!(!error.message().is_empty()),
    }
    Ok(())
}

/// The memory that a read takes at most: trees of 64 MiB, twice while a list of them grows,
/// and a multiple of the save.
fn most(length: usize) -> u64 {
    let length = length as u64;
    3 * (64 << 20) + 4 * 256 * length
}

/// Reads a save on the stack that a thread has, and measures.
fn open(save: Vec<u8>) -> Result<()> {
    let run = move || {
        let mut result = Ok(());
        let used = allocation_counter::measure(|| result = Document::from_slice(&save).map(drop));
        assert!(used.bytes_max <= most(save.len()), "{} bytes: {result:?}", used.bytes_max);
        result
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap()
}

fn refused(save: Vec<u8>) -> Error {
    open(save).unwrap_err()
}

#[test]
fn every_prefix_is_cut_short() {
    for name in NAMES {
        let save = read(name);
        for length in 1..save.len() {
            let error = Document::from_slice(&save[..length]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{length} bytes of {name}: {error}");
        }
    }
}

#[test]
fn every_flipped_bit_is_found() {
    for name in NAMES {
        let mut save = read(name);
        for at in 0..save.len() {
            let bit = 1 << (at % 8);
            save[at] ^= bit;
            assert!(Document::from_slice(&save).is_err(), "{name}, byte {at}");
            save[at] ^= bit;
        }
    }
}

/// With the checksums made right, so that the bytes are read.
#[test]
fn changed_bytes_are_refused_or_read_as_something() {
    let (mut refused, mut accepted) = (0, 0);
    for name in NAMES {
        let save = read(name);
        let bytes = [0, 1, 2, 0x10, 0x16, 0x18, 0x7f, 0x80, 247, 248, 255];
        for (i, byte) in bytes.into_iter().enumerate() {
            // Each place in turn; of the long fixture some.
            let step = bytes.len() * if save.len() > 2000 { short_or_long(8, 4) } else { 1 };
            for at in (i..save.len()).step_by(step) {
                let mut changed = save.clone();
                changed[at] = if changed[at] == byte { byte ^ 1 } else { byte };
                restamp(&mut changed);
                match look(&changed) {
                    Ok(()) => accepted += 1,
                    Err(error) => {
                        assert!(error.offset().is_none_or(|at| at <= save.len() as u64), "{error}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 500 && accepted > 500, "{refused} refused, {accepted} accepted");
}

#[test]
fn cut_payloads_are_refused_with_the_field() {
    let mut field = 0;
    for name in NAMES {
        let whole = Forged::parse(&read(name));
        for i in 0..whole.items.len() {
            let Item::Record { id, payload, .. } = &whole.items[i] else { continue };
            for length in 0..payload.len() {
                let mut cut = whole.clone();
                cut.items[i].content().truncate(length);
                let error = Document::from_slice(&cut.build()).unwrap_err();
                assert_eq!(error.object(), Some(*id), "{name}: {error}");
                assert!(error.class().is_some());
                field += u32::from(error.field().is_some());
            }
            let mut long = whole.clone();
            long.items[i].content().push(0);
            let error = Document::from_slice(&long.build()).unwrap_err();
            assert!(error.message().contains('1'), "{error}");
        }
    }
    assert!(field > 100);
}

#[test]
fn counts_that_the_bytes_cannot_hold_are_refused() {
    let huge = counted(1 << 60);
    let kinds: [(&[u8], &[u8]); 6] = [
        (&[0x11, 0x03], &huge),
        (&[0x11, 0x0f], &huge),
        (&[0x12, 0x00], &huge),
        (&[0x13, 0x03, 0x0f], &huge),
        (&[0x0f], &huge),
        (&[0x1b], &huge),
    ];
    for (kind, payload) in kinds {
        let error = refused(one(bare("x", kind), payload));
        let kinds = [
            ErrorKind::Damaged,
            ErrorKind::Truncated,
            ErrorKind::TooLarge,
            ErrorKind::InvalidValue,
        ];
        assert!(kinds.contains(&error.kind()), "{kind:x?}: {error:?}");
    }
    // Arrays have their lengths in the kind.
    for part in [0x00, 0x01, 0x03, 0x0f] {
        let kind = [&[0x14], &huge[..], &[part]].concat();
        let error = refused(one(bare("x", &kind), &[]));
        assert!([ErrorKind::TooLarge, ErrorKind::Truncated].contains(&error.kind()), "{error:?}");
    }
}

#[test]
fn parts_without_bytes_are_limited_over_the_whole_save() {
    let definition = || bare("x", &[0x11, 0x00]);
    let records = |count: u64, each: u64| {
        let records = (1..=count).map(|id| record(1, ADDED, id, &counted(each)));
        forge::save(&std::iter::once(definition()).chain(records).collect::<Vec<_>>())
    };
    open(records(2, 1 << 19)).unwrap();
    assert_eq!(refused(records(3, 1 << 19)).kind(), ErrorKind::TooLarge);
    assert_eq!(refused(records(1, (1 << 20) + 1)).kind(), ErrorKind::TooLarge);
    // A list of tuples of many units each.
    let tuple = [&[0x11, 0x15], &counted(50_000)[..], &[0; 50_000]].concat();
    assert_eq!(refused(one(bare("x", &tuple), &counted(1 << 20))).kind(), ErrorKind::TooLarge);
    // Arrays of arrays of them.
    let mut array = vec![];
    for _ in 0..60 {
        array.extend([&[0x14], &counted(1000)[..]].concat());
    }
    array.push(0);
    assert_eq!(refused(one(bare("x", &array), &[])).kind(), ErrorKind::TooLarge);
}

/// Long names stand once in a save, and once in memory.
#[test]
fn values_share_the_names_of_their_classes_and_fields() {
    let (long, name) = ("n".repeat(100_000), "f".repeat(100_000));
    let one_class = class(&long, &[(&name, &[0x03])]);
    let list = bare("x", &[0x11, 0x16, 0x01]);
    let payload = [counted(100_000), vec![7; 100_000]].concat();
    open(forge::save(&[one_class, list, record(2, ADDED, 1, &payload)])).unwrap();
}

/// A byte that becomes a record in a record in a record.
#[test]
fn trees_out_of_proportion_are_refused() {
    let levels = 200_u64;
    let mut items = Vec::new();
    for level in 1..levels {
        let kind = [&[0x16], &counted(level + 1)[..]].concat();
        items.push(class(&format!("L{level}"), &[("a", &kind)]));
    }
    items.push(class("last", &[("a", &[0x03])]));
    items.push(bare("x", &[0x11, 0x16, 0x01]));
    let payload = |count: usize| [counted(count as u64), vec![7; count]].concat();
    let save = |count| {
        let record = record(levels + 1, ADDED, 1, &payload(count));
        forge::save(&[&items[..], &[record]].concat())
    };
    open(save(100)).unwrap();
    let error = refused(save(1_000_000));
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(error.message().contains("Limits::expansion"), "{error}");
}

#[test]
fn values_that_nest_without_an_end_are_too_deep() {
    // A list of itself, an option of itself, a trait object of itself.
    let own: [(&[u8], &[u8]); 4] = [
        (&[0x11, 0x16, 0x01], &[1]),
        (&[0x10, 0x16, 0x01], &[1]),
        (&[0x18, 0x01, b'T'], &[1]),
        (&[0x1b], &[1, 1]),
    ];
    for (kind, step) in own {
        for definition in [bare("x", kind), class("x", &[("a", kind)])] {
            let error = refused(one(definition, &step.repeat(1_000_000)));
            assert_eq!(error.kind(), ErrorKind::TooDeep, "{kind:x?}: {error}");
        }
    }
    // Through maps, tuples, arrays and enums.
    let kind = [&[0x13, 0x03, 0x15, 0x01, 0x14, 0x01, 0x16][..], &counted(1)].concat();
    let name = text("x");
    let body = [&name[..], &[1, 1, 1], &text("V"), &fields(&[("a", &kind)])];
    let payload = [0, 1, 5].repeat(1_000_000);
    let error = refused(one(Item::Definition(body.concat()), &payload));
    assert_eq!(error.kind(), ErrorKind::TooDeep, "{error}");
}

/// What is just within the limit is shown, written and parsed on the same stack.
#[test]
fn the_deepest_values_are_written_and_shown() {
    let run = || {
        let kinds: [(&[u8], &[u8], &[u8]); 3] = [
            (&[0x11, 0x16, 0x01], &[1], &[0]),
            (&[0x10, 0x16, 0x01], &[1], &[0]),
            (&[0x13, 0x03, 0x16, 0x01], &[1, 9], &[0]),
        ];
        for (kind, step, end) in kinds {
            for definition in [bare("x", kind), class("x", &[("a", kind)])] {
                let mut deepest = 0;
                for levels in 100..600 {
                    let payload = [step.repeat(levels), end.to_vec()].concat();
                    let save = one(definition.clone(), &payload);
                    let Ok(document) = Document::from_slice(&save) else { continue };
                    deepest = levels;
                    if levels % 50 == 0 || levels > 250 {
                        assert!(document.to_vec().unwrap() == save);
                        let value: Value = document.root().unwrap().to_string().parse().unwrap();
                        assert!(value == *document.root().unwrap());
                        assert!(document.to_string().len() > levels);
                        let copy = value.clone();
                        assert!(format!("{copy:?}").len() > levels);
                    }
                }
                assert!((250..=512).contains(&deepest), "{deepest} levels of {kind:x?}");
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_bare_value_as_a_trait_object_keeps_its_class() {
    let items = [bare("dyn", &[0x18, 0x01, b'T']), bare("u8", &[0x03])];
    let save = one_of(&items, &[2, 7]);
    let document = Document::from_slice(&save).unwrap();
    assert_eq!(document.root().unwrap().to_string(), "u8 { ``: 7u8 }");
    assert!(document.to_vec().unwrap() == save);
}

#[test]
fn definitions_in_another_order_stay_in_it() {
    // All before the first record, and one behind the last.
    let items = [
        class("a", &[("x", &[0x03])]),
        class("b", &[("x", &[0x18, 0x01, b'T'])]),
        record(2, ADDED, 1, &[1, 7]),
        class("c", &[("x", &[0x03])]),
        record(1, ADDED, 2, &[8]),
        class("d", &[]),
    ];
    let save = forge::save(&items);
    let mut document = Document::from_slice(&save).unwrap();
    assert!(document.to_vec().unwrap() == save);
    // A class that is needed earlier than it was.
    let first = document.entries_mut().next().unwrap();
    let value = "d {}".parse::<Value>().unwrap();
    first.value.as_record_mut().unwrap().set("x", value.clone());
    let again = Document::from_slice(&document.to_vec().unwrap()).unwrap();
    let first = again.entries().next().unwrap();
    assert_eq!(first.value.as_record().unwrap().get("x"), Some(&value));
}

#[test]
fn two_objects_of_one_id_are_refused() {
    let save =
        forge::save(&[bare("u8", &[0x03]), record(1, ADDED, 4, &[1]), record(1, ADDED, 4, &[2])]);
    let error = Document::from_slice(&save).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::DuplicateId, Some(4)));
}
