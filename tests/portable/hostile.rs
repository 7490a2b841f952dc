//! Bytes that are no saves.

use rand::{Rng as _, RngCore as _};

use crate::random;
use crate::values::{Everything, everything};

pub(crate) fn any_bytes_are_a_value_or_an_error() {
    let mut random = random(3);
    let save = persist::to_vec(&everything(&mut random, 2)).unwrap();
    let mut is_found = 0;
    for at in 0..save.len() {
        let mut bytes = save.clone();
        bytes[at] ^= 1 << random.gen_range(0..8);
        is_found += usize::from(persist::from_slice::<Everything>(&bytes).is_err());
        let _ = persist::from_slice::<Everything>(&save[..at]).unwrap_err();
    }
    assert_eq!(is_found, save.len());
    for _ in 0..200 {
        let mut bytes = vec![0; random.gen_range(0..200)];
        random.fill_bytes(&mut bytes);
        let _ = persist::from_slice::<Everything>(&bytes).unwrap_err();
        let _ = persist::codec::decode::<Everything>(&bytes);
    }
}
