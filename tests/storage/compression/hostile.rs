//! Every changed byte of a compressed save is found.

use persist::ErrorKind;
use persist_tests::support::short_or_long;
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

use crate::compression::{BOTH, LZ4, ZSTD, lz4, packed, replaced, zstd};
use persist_tests::support::fixture_types::{load_and_save, read};
use persist_tests::support::forge::{restamp, try_load};

fn small() -> Vec<Vec<u8>> {
    BOTH.map(|compression| packed(compression, &"seven little words ".repeat(9))).to_vec()
}

fn load(save: &[u8]) -> persist::Result<String> {
    persist::from_slice(save)
}

#[test]
fn every_truncation_is_found() {
    for save in small() {
        assert!(load(&save).is_ok());
        for end in 0..save.len() {
            let error = load(&save[..end]).unwrap_err();
            let expected = if end == 0 { ErrorKind::NotASave } else { ErrorKind::Truncated };
            assert_eq!(error.kind(), expected, "{end}: {error}");
        }
    }
}

#[test]
fn every_flipped_bit_is_found() {
    for save in small() {
        for bit in 0..save.len() * 8 {
            let mut changed = save.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(load(&changed).is_err(), "bit {bit}");
        }
    }
}

#[test]
fn every_changed_byte_under_a_true_checksum_is_an_error_or_another_value() {
    for save in small() {
        for at in 0..save.len() {
            for byte in [0, 1, 2, 3, 0x7f, 0x80, 0xff, save[at] ^ 1, save[at].wrapping_add(1)] {
                let mut changed = save.clone();
                changed[at] = byte;
                restamp(&mut changed);
                // No panic, and memory in proportion.
                let _ = try_load(changed, |save| load(save).map(drop));
            }
        }
    }
}

/// A part of a frame, its end and its length, changed at random: the short form of a fuzz target.
#[test]
fn random_changes_of_frames_under_true_checksums_are_survived() {
    let mut random = Lcg64Xsh32::seed_from_u64(23);
    let mut accepted = 0;
    for round in 0..short_or_long(1_500, 6_000) {
        let name = ["players", "values", "graph"][round % 3];
        let (tag, compress) =
            if random.r#gen() { (LZ4, lz4 as fn(&[u8]) -> Vec<u8>) } else { (ZSTD, zstd as _) };
        let save = replaced(&read(name), |content| {
            // Of what is changed inside, the frame is true.
            let mut content = content.to_vec();
            if random.gen_ratio(1, 2) {
                mutate(&mut content, &mut random);
            }
            let mut frame = compress(&content);
            let mut length = u32::try_from(content.len()).unwrap();
            match random.gen_range(0..6) {
                0..=2 => mutate(&mut frame, &mut random),
                3 => length = length.wrapping_add(random.gen_range(0..3)).wrapping_sub(1),
                4 => length = random.r#gen::<u32>() >> random.gen_range(0..32),
                _ => {}
            }
            Some((tag, [&length.to_le_bytes()[..], &frame].concat()))
        });
        let mut result = Ok(Vec::new());
        let used = allocation_counter::measure(|| result = load_and_save(name, &save)).bytes_max;
        // A frame of Zstandard may say that it holds 64 MiB, which are made before they are filled.
        assert!(used < 160 << 20, "round {round}: {used} bytes of memory");
        if let Ok(once) = result {
            assert!(load_and_save(name, &once).unwrap() == once, "round {round}");
            accepted += 1;
        }
    }
    assert!(accepted > short_or_long(25, 100), "{accepted}");
}

/// Changes some bytes.
fn mutate(bytes: &mut Vec<u8>, random: &mut Lcg64Xsh32) {
    for _ in 0..random.gen_range(1..4) {
        let at = random.gen_range(0..bytes.len());
        match random.gen_range(0..5) {
            0 | 1 => bytes[at] ^= 1 << random.gen_range(0..8),
            2 => bytes[at] = random.r#gen(),
            3 => bytes.insert(at, random.r#gen()),
            _ if bytes.len() > 1 => drop(bytes.remove(at)),
            _ => {}
        }
    }
}
