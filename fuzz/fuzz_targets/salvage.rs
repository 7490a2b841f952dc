//! A damaged save: blocks with correct checksums, and arbitrary bytes between them.
#![no_main]

mod block;
mod world;

use persist::save::LoadPolicy;

/// Ends a part of the input.
const MARK: [u8; 2] = [0xff, 0xfe];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut save = block::seal(&[]);
    // The header alone.
    save.truncate(20);
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.windows(2).position(|pair| pair == MARK).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        rest = behind.get(2..).unwrap_or_default();
        match part.split_first() {
            // As it is.
            Some((first, garbage)) if first % 4 == 0 => save.extend_from_slice(garbage),
            // As a block of a save, from between its header and its trailer.
            Some((_, content)) => {
                let sealed = block::seal(content);
                save.extend_from_slice(&sealed[20..sealed.len() - 29]);
            }
            None => {}
        }
    }
    world::load_by(LoadPolicy::Salvage, &save);
});
