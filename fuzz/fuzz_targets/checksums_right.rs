//! Arbitrary bytes under correct checksums and counts, so that a load reads further than the checksums.
#![no_main]

mod block;
mod world;

libfuzzer_sys::fuzz_target!(|content: &[u8]| world::load(&block::seal(content)));
