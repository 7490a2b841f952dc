//! Arbitrary bytes whose checksums and counts are made right, so that they
//! hide nothing behind them.
#![no_main]

mod world;

libfuzzer_sys::fuzz_target!(|block: &[u8]| {
    let mut save = b"\x89PST\r\n\x1a\n\x01\0\0\0\0\0\0\0".to_vec();
    seal(&mut save, 0);
    let start = save.len();
    save.push(1);
    save.extend_from_slice(&u32::try_from(block.len()).expect("the fuzzer's inputs are short").to_le_bytes());
    save.extend_from_slice(block);
    seal(&mut save, start);
    // The trailer's counts, by a walk over the items.
    let (records, definitions) = count(block);
    let start = save.len();
    let total = start as u64 + 29;
    save.push(0x7f);
    for word in [records, definitions, total] {
        save.extend_from_slice(&word.to_le_bytes());
    }
    seal(&mut save, start);
    world::load(&save);
});

fn seal(save: &mut Vec<u8>, start: usize) {
    let crc = crc32fast::hash(&save[start..]);
    save.extend_from_slice(&crc.to_le_bytes());
}

/// Records and definitions of a block, as far as it makes sense.
fn count(mut block: &[u8]) -> (u64, u64) {
    let (mut records, mut definitions) = (0, 0);
    while let Some((&number, rest)) = block.split_first() {
        let skip = if number == 0 { 0 } else { 2 };
        if number == 0 { definitions += 1 } else { records += 1 }
        let Some(length) = rest.get(skip..skip + 4) else { break };
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        block = rest.get(skip + 4 + length + 1..).unwrap_or_default();
    }
    (records, definitions)
}
