//! Arbitrary bytes give `Ok` or an error.
#![no_main]

mod world;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| world::load(bytes));
