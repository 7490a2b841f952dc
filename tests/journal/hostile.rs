//! Journals that are damaged or malicious.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use persist::{ErrorKind, Result};
use persist_tests::support::{is_long, short_or_long};

use super::JOURNAL;
use super::driver::{Action, Driver, Logged, SCRIPT, Seen, open};
use persist_tests::support::disk::{Disk, Image};

/// Bytes of the header, and of what stands before and behind a payload.
pub(crate) const HEADER: usize = 48;
pub(crate) const HEAD: usize = 15;
pub(crate) const CRC: usize = 4;

/// The places of the frames of a journal.
pub(crate) fn frames(journal: &[u8]) -> Vec<(usize, usize)> {
    let (mut at, mut found) = (HEADER, Vec::new());
    while at < journal.len() {
        let length = u32::from_le_bytes(journal[at..at + 4].try_into().unwrap()) as usize;
        found.push((at, HEAD + length + CRC));
        at += HEAD + length + CRC;
    }
    found
}

/// Makes the checksum of a frame right.
pub(crate) fn seal(frame: &mut [u8]) {
    let (content, crc) = frame.split_at_mut(frame.len() - CRC);
    crc.copy_from_slice(&crc32fast::hash(content).to_le_bytes());
}

fn with_journal(image: &Image, journal: Vec<u8>) -> Image {
    let mut image = image.clone();
    image.insert(PathBuf::from(JOURNAL), journal);
    image
}

/// Opens what is on a disk, and does all that can be done then; what it comes to, if it opens.
fn play(image: Image, what: &str) -> Option<Seen> {
    let played = catch_unwind(AssertUnwindSafe(|| {
        let disk = Disk::new(image);
        match open(&disk) {
            Ok((mut session, recovered)) => {
                let _ = recovered.to_string();
                let seen = Seen::of(session.target(), session.history());
                // What is done goes by what the journal says, and may be refused.
                while matches!(session.undo(), Ok(true)) {}
                while matches!(session.redo(), Ok(true)) {}
                let _ = session.save();
                Some(seen)
            }
            Err(error) => {
                assert!(!error.message().is_empty());
                None
            }
        }
    }));
    played.unwrap_or_else(|_| panic!("{what} panicked"))
}

/// A short session with a frame of each kind.
fn short() -> Result<Vec<Logged>> {
    use Action::*;
    let script = [
        Insert(1),
        Type(2),
        Type(3),
        Save,
        Undo,
        Redo,
        Begin,
        Chapter(true),
        Commit,
        Begin,
        Rename(4),
        Rollback,
        Unsave,
        Remove,
        Chapter(false),
        Undo,
    ];
    Ok(Driver::run(&Disk::default(), &script)?.log)
}

#[test]
fn a_flip_of_any_bit_leads_to_a_state_that_was() -> Result<()> {
    let log = short()?;
    let last = log.last().unwrap();
    let journal = &last.image[&PathBuf::from(JOURNAL)];
    let mut known: Vec<&Seen> = log.iter().map(|logged| &logged.seen).collect();
    let alone = log[4].seen.clone();
    // The save alone, if the beginning is damaged.
    let saved = Seen {
        labels: Vec::new(),
        position: 0,
        state: 0,
        saved: Some(0),
        texts: Default::default(),
        can_undo: false,
        ..alone
    };
    known.push(&saved);
    let mut found = 0;
    for byte in 0..journal.len() {
        for bit in [0, 3, 7] {
            // Each byte, and in the long form each of its bits.
            if !is_long() && bit != [0, 3, 7][byte % 3] {
                continue;
            }
            let mut bytes = journal.clone();
            bytes[byte] ^= 1 << bit;
            let what = format!("bit {bit} of byte {byte}");
            let disk = Disk::new(with_journal(&last.image, bytes.clone()));
            match open(&disk) {
                Ok((session, recovered)) => {
                    let seen = Seen::of(session.target(), session.history());
                    assert!(known.contains(&&seen), "{what}: {seen:#?}");
                    if recovered.torn.is_none() {
                        let stopped = recovered.stopped.unwrap();
                        assert!(stopped.offset <= byte as u64, "{what}: {stopped:?}");
                        assert_eq!(disk.image()[&recovered.kept[0]], bytes, "{what}");
                    }
                    found += 1;
                }
                Err(error) => {
                    let kinds = [ErrorKind::NotASave, ErrorKind::NewerFormat];
                    assert!(kinds.contains(&error.kind()) && byte < HEADER, "{what}: {error}");
                    assert_eq!(disk.image()[&PathBuf::from(JOURNAL)], bytes);
                }
            }
        }
    }
    assert!(found > journal.len() * short_or_long(1, 6) / 3, "{found}");
    Ok(())
}

#[test]
fn damage_in_the_middle_stops_there_and_says_where() -> Result<()> {
    let log =
        Driver::run(&Disk::default(), &[Action::Insert(1), Action::Insert(3), Action::Insert(5)])?;
    let last = log.log.last().unwrap();
    let mut journal = last.image[&PathBuf::from(JOURNAL)].clone();
    let (at, _) = frames(&journal)[3];
    journal[at + HEAD] ^= 1;
    let disk = Disk::new(with_journal(&last.image, journal.clone()));
    let (session, recovered) = open(&disk)?;
    assert_eq!(Seen::of(session.target(), session.history()), log.log[1].seen);
    let stopped = recovered.stopped.unwrap();
    assert_eq!((stopped.offset, stopped.kind), (at as u64, ErrorKind::Damaged));
    assert!(stopped.cause.ends_with(&format!("(at byte {at})")), "{}", stopped.cause);
    assert!(recovered.torn.is_none());
    assert_eq!(disk.image()[&recovered.kept[0]], journal);

    // A frame that is gone is no less.
    let mut journal = last.image[&PathBuf::from(JOURNAL)].clone();
    let (at, length) = frames(&journal)[3];
    journal.drain(at..at + length);
    let disk = Disk::new(with_journal(&last.image, journal));
    let (session, recovered) = open(&disk)?;
    assert_eq!(Seen::of(session.target(), session.history()), log.log[1].seen);
    assert!(recovered.stopped.unwrap().cause.contains("number 5 follows number 3"));
    Ok(())
}

/// The journal with each byte of a frame changed, and its checksum right.
pub(crate) fn each_change(journal: &[u8], every: usize, mut check: impl FnMut(Vec<u8>, &str)) {
    for (at, length) in frames(journal) {
        for byte in (at + 4..at + 7).chain(at + HEAD..at + length - CRC) {
            for value in [0, 1, 2, 0x7f, 0x80, 0xf8, 0xff] {
                // In long frames only a few of them; in short ones all, in the long form.
                let every = if length > 100 { every } else { short_or_long(17, 1) };
                let is_left_out = (byte + usize::from(value)) % every > 0;
                if journal[byte] == value || is_left_out {
                    continue;
                }
                let mut bytes = journal.to_vec();
                bytes[byte] = value;
                seal(&mut bytes[at..at + length]);
                check(bytes, &format!("byte {byte} as {value}"));
            }
        }
    }
}

#[test]
fn frames_made_to_harm_are_refused_and_never_panic() -> Result<()> {
    let log = short()?;
    let last = log.last().unwrap();
    let journal = &last.image[&PathBuf::from(JOURNAL)];
    let mut opened = 0;
    each_change(journal, short_or_long(23, 5), |bytes, what| {
        opened += usize::from(play(with_journal(&last.image, bytes), what).is_some());
    });
    assert!(opened > short_or_long(20, 500), "{opened}");
    Ok(())
}

#[test]
fn frames_in_another_order_are_refused_or_done_and_never_panic() -> Result<()> {
    let log = short()?;
    let last = log.last().unwrap();
    let journal = &last.image[&PathBuf::from(JOURNAL)];
    let places = frames(journal);
    let count = places.len();
    for first in 0..count {
        for second in 0..count {
            let mut order: Vec<usize> = (0..count).collect();
            if first < second {
                order.swap(first, second);
            } else {
                // One of them again, in the place of another.
                order[second] = first;
            }
            let mut bytes = journal[..HEADER].to_vec();
            for (number, place) in order.into_iter().enumerate() {
                let (at, length) = places[place];
                let start = bytes.len();
                bytes.extend_from_slice(&journal[at..at + length]);
                bytes[start + 7..start + HEAD].copy_from_slice(&(number as u64 + 1).to_le_bytes());
                seal(&mut bytes[start..]);
            }
            play(with_journal(&last.image, bytes), &format!("{first} and {second}"));
        }
    }
    Ok(())
}

#[test]
fn what_cannot_have_been_is_refused() -> Result<()> {
    let log = short()?;
    let last = log.last().unwrap();
    let journal = &last.image[&PathBuf::from(JOURNAL)];
    let (at, length) = frames(journal)[1];
    let payload = at + HEAD;
    // Entries, position, base, last state.
    for (field, value) in
        [(0, 1_u64 << 40), (8, 9), (8, u64::MAX), (16, 2), (16, 99), (24, u64::MAX), (24, 0)]
    {
        let mut bytes = journal.clone();
        bytes[payload + field..payload + field + 8].copy_from_slice(&value.to_le_bytes());
        seal(&mut bytes[at..at + length]);
        let disk = Disk::new(with_journal(&last.image, bytes));
        let (session, recovered) = open(&disk)?;
        let stopped = recovered.stopped.unwrap();
        assert_eq!(stopped.kind, ErrorKind::Damaged, "{}", stopped.cause);
        // The save alone.
        assert_eq!(session.target(), &log[4].seen.document);
        assert!(session.history().entries().len() == 0 && !session.history().is_modified());
    }
    Ok(())
}

#[test]
fn a_saved_state_that_was_never_reached_is_refused() -> Result<()> {
    const SAVED: u8 = 22;
    let log = short()?;
    let last = log.last().unwrap();
    let mut bytes = last.image[&PathBuf::from(JOURNAL)].clone();
    let (at, _) = *frames(&bytes).last().unwrap();
    let number = u64::from_le_bytes(bytes[at + 7..at + HEAD].try_into().unwrap()) + 1;
    let start = bytes.len();
    bytes.extend_from_slice(&9_u32.to_le_bytes());
    bytes.extend_from_slice(&[SAVED, 0, 0]);
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.push(1);
    bytes.extend_from_slice(&(last.seen.state + 1_000).to_le_bytes());
    bytes.extend_from_slice(&[0; CRC]);
    seal(&mut bytes[start..]);
    let (session, recovered) = open(&Disk::new(with_journal(&last.image, bytes)))?;
    let stopped = recovered.stopped.unwrap();
    assert_eq!(
        (stopped.kind, stopped.offset),
        (ErrorKind::Damaged, start as u64),
        "{}",
        stopped.cause
    );
    assert_eq!(Seen::of(session.target(), session.history()), last.seen);
    Ok(())
}

#[test]
fn a_length_that_lies_takes_no_memory() -> Result<()> {
    let log = short()?;
    let last = log.last().unwrap();
    let mut bytes = last.image[&PathBuf::from(JOURNAL)].clone();
    let (at, _) = frames(&bytes)[2];
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let image = with_journal(&last.image, bytes);
    let info = allocation_counter::measure(|| {
        let disk = Disk::new(image);
        let _ = open(&disk);
    });
    assert!(info.bytes_max < 4 << 20, "{} bytes", info.bytes_max);
    Ok(())
}

#[test]
fn random_bytes_behind_a_journal_are_no_panic() -> Result<()> {
    let log = Driver::run(&Disk::default(), SCRIPT)?.log;
    let last = log.last().unwrap();
    let journal = &last.image[&PathBuf::from(JOURNAL)];
    let mut random = 99_u64;
    for _ in 0..300 {
        let mut bytes = journal.clone();
        let length = (random % 40) as usize;
        for _ in 0..length {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.push(random.to_le_bytes()[5]);
        }
        random = random.wrapping_add(1).wrapping_mul(3);
        let seen = play(with_journal(&last.image, bytes), "random bytes").unwrap();
        assert_eq!(seen, last.seen);
    }
    Ok(())
}
