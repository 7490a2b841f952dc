//! Every changed byte of a compressed save is found.

use persist::ErrorKind;

use crate::forge::{restamp, try_load};
use crate::{BOTH, packed};

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
