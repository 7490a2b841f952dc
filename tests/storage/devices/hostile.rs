//! Counts that no program has written, under true checksums.

use persist::save::{Header, Keep, Lineage};
use persist::{ErrorKind, Saves};

use crate::devices::{Device, LOCAL};
use persist_tests::support::forge::{Forged, counted, refused, text, value};

const MOST: u64 = u64::MAX >> 1;

fn entry(device: &str, epoch: u64, count: u64) -> Vec<u8> {
    [text(device), counted(epoch), counted(count)].concat()
}

fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    [&[tag][..], &u32::try_from(content.len()).unwrap().to_le_bytes(), content].concat()
}

fn with_fields(header_fields: Vec<u8>) -> Vec<u8> {
    Forged { header_fields, ..Forged::parse(&persist::to_vec(&7_u32).unwrap()) }.build()
}

/// A save of generation 5 with this content in field 5.
fn save(content: &[u8]) -> Vec<u8> {
    with_fields([field(4, &5_u64.to_le_bytes()), field(5, content)].concat())
}

fn many(count: usize) -> Vec<u8> {
    (0..count).flat_map(|number| entry(&format!("{number:03}"), 1, 1)).collect()
}

#[test]
fn the_example_of_the_page_is_read() {
    let content = b"\x04deck\x07\x03\x04deck\xf8\xff\x02\x06laptop\x01\x09";
    assert_eq!(content.len(), 24);
    assert!(include_str!("../../../docs/reference/format.md").contains("05 18 00 00 00"));
    let save = save(content);
    persist::from_slice::<u32>(&save).unwrap();
    assert!(Header::read(&save).unwrap().devices().eq([("deck", 5), ("laptop", 9)]));
}

#[test]
fn counts_that_nobody_writes_are_refused_with_little_memory() {
    let long = "x".repeat(256);
    let twice = entry("deck", 1, 1);
    for (name, content) in [
        ("nothing", vec![]),
        ("a device twice", [&twice[..], &twice].concat()),
        ("an epoch twice", [entry("a", 1, 1), entry("a", 1, 2)].concat()),
        ("devices unsorted", [entry("b", 1, 1), entry("a", 1, 1)].concat()),
        ("epochs unsorted", [entry("a", 2, 1), entry("a", 1, 1)].concat()),
        ("a shorter name behind", [entry("ab", 1, 1), entry("a", 1, 1)].concat()),
        ("no saves", entry("deck", 1, 0)),
        ("too many saves", entry("deck", 1, MOST + 1)),
        ("the most saves of all", entry("deck", 1, u64::MAX)),
        ("a name too long", entry(&long, 1, 1)),
        ("a name that is no text", b"\x02\xff\xfe\x01\x01".to_vec()),
        ("a name cut short", b"\x09deck".to_vec()),
        ("a name of 4 GiB", [&counted(1 << 32)[..], b"deck"].concat()),
        ("a name of all bytes", [&counted(u64::MAX)[..], b"deck"].concat()),
        ("no epoch", b"\x04deck".to_vec()),
        ("no count", b"\x04deck\x01".to_vec()),
        ("a count cut short", b"\x04deck\x01\xf9\x01".to_vec()),
        ("a count in a long form", b"\x04deck\x01\xf8\x01".to_vec()),
        ("bytes behind", [&twice[..], b"\x01"].concat()),
        ("a device too many", many(257)),
        ("a hundred thousand devices", entry("a", 1, 1).repeat(100_000)),
        ("a mebibyte of zeros", vec![0; 1 << 20]),
    ] {
        let error = refused(save(&content), value::<u32>);
        assert_eq!(error.kind(), ErrorKind::Damaged, "{name}: {error}");
        assert!(error.message().contains("its field 5"), "{name}: {error}");
    }
    let twice = field(5, &twice).repeat(2);
    assert_eq!(refused(with_fields(twice), value::<u32>).kind(), ErrorKind::Damaged);
}

#[test]
fn as_many_devices_as_fit_are_read() {
    let name = "x".repeat(255);
    for content in [many(256), entry(&name, u64::MAX, MOST), entry("", 0, 1)] {
        persist::from_slice::<u32>(&save(&content)).unwrap();
    }
}

/// A save is made whatever the counts are, and is never taken for an older one.
#[test]
fn counts_that_are_used_up_begin_an_epoch() {
    for (epoch, count) in [(7, MOST), (u64::MAX, 1), (u64::MAX, MOST)] {
        let deck = Device::new("deck");
        let before = Device::unnamed();
        let first = save(&entry("deck", epoch, count));
        deck.write(LOCAL, &first);
        before.write(LOCAL, &first);
        deck.save(8);
        let expected = if epoch == u64::MAX && count == MOST {
            // There is no count left that would tell; the player is asked.
            Lineage::Diverged
        } else {
            Lineage::Newer
        };
        assert_eq!(deck.compare(&before), expected, "{epoch} {count}");
        deck.save(9);
        assert_eq!(deck.level(), 9);
        assert!(deck.devices()[0].1 >= count);
    }
}

#[test]
fn more_counts_without_a_larger_generation_are_no_line() {
    let of = |generation: u64, content: &[u8]| {
        let generation = field(4, &generation.to_le_bytes());
        Header::read(&with_fields([generation, field(5, content)].concat())).unwrap()
    };
    let (less, more) = (entry("deck", 1, 1), entry("deck", 1, 2));
    assert_eq!(of(5, &more).compare(&of(4, &less)), Lineage::Newer);
    for generation in [5, 6, u64::MAX] {
        assert_eq!(of(5, &more).compare(&of(generation, &less)), Lineage::Diverged);
        assert_eq!(of(generation, &less).compare(&of(5, &more)), Lineage::Diverged);
    }
    assert_eq!(of(5, &more).compare(&of(6, &more)), Lineage::Diverged);
    assert_eq!(of(5, &more).compare(&of(5, &more)), Lineage::Same);
}

#[test]
fn two_full_headers_are_reconciled() {
    let (deck, other) = (Device::new("deck"), Device::unnamed());
    let names = |first: usize| -> Vec<u8> {
        (first..first + 256).flat_map(|number| entry(&format!("{number:03}"), 1, 3)).collect()
    };
    deck.write(LOCAL, &save(&names(0)));
    other.write(LOCAL, &save(&names(256)));
    let header = deck.reconcile(&other, Keep::Remote);
    assert_eq!(header.devices().count(), 256);
    assert!(header.devices().any(|(name, _)| name == "deck"));
    Saves::new().from_slice::<u32>(&deck.read(LOCAL).unwrap()).unwrap();
}
