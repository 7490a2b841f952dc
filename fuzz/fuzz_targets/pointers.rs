//! A save of every pointer with its items changed, and its checksums, counts and lengths
//! made right. It makes its own seed.
#![no_main]

mod block;
mod vault;

use std::sync::OnceLock;

libfuzzer_sys::fuzz_target!(|content: &[u8]| vault::load(&block::seal(content)));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    static SEED: OnceLock<Vec<u8>> = OnceLock::new();
    let sample = SEED.get_or_init(|| block::content(&vault::sample()).to_vec());
    let is_short = size < sample.len() / 2 || seed % 256 == 0;
    let block = if is_short { sample.clone() } else { data[..size].to_vec() };
    let changed = match (seed / 256) % 4 {
        // Anywhere: heads and lengths too.
        0 => {
            let mut block = block.clone();
            mutate(&mut block);
            Some(block)
        }
        _ => block::change_item(&block, (seed / 1024) as usize, mutate),
    };
    let changed = changed.filter(|changed| changed.len() <= max_size);
    let next = changed.as_deref().unwrap_or(&block);
    let length = next.len().min(max_size);
    data[..length].copy_from_slice(&next[..length]);
    length
});

fn mutate(bytes: &mut Vec<u8>) {
    let size = bytes.len();
    bytes.resize(size + 16, 0);
    let size = libfuzzer_sys::fuzzer_mutate(bytes, size, size + 16);
    bytes.truncate(size);
}
