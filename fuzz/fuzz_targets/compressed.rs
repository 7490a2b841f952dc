//! Blocks compressed by LZ4 and Zstandard, under checksums that are right, with frames and lengths that are
//! changed.
#![no_main]

mod block;
mod world;

use std::io::Write;

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use persist::save::LoadPolicy;
use persist_tools::Document;

/// Ends a part of the input.
const MARK: [u8; 2] = [0xff, 0xfe];

/// Bytes that a load may take for each byte of the save, beyond `ALWAYS`. A short frame holds up to 64 MiB, which are
/// in memory twice while the buffer grows.
const EACH: u64 = 1024;
const ALWAYS: u64 = 200 << 20;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut save = block::seal(&[]);
    // The header alone.
    save.truncate(20);
    let mut counts = [0; 2];
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.windows(2).position(|pair| pair == MARK).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        rest = behind.get(2..).unwrap_or_default();
        push_block(part, &mut save, &mut counts);
    }
    block::end(&mut save, counts);
    let used = allocation_counter::measure(|| {
        world::load(&save);
        world::load_by(LoadPolicy::Salvage, &save);
        if let Ok(again) = Document::from_slice(&save).and_then(|document| document.to_vec()) {
            assert!(Document::from_slice(&again).is_ok());
        }
    });
    let max = EACH * save.len() as u64 + ALWAYS;
    assert!(used.bytes_max <= max, "{} bytes for a save of {}", used.bytes_max, save.len());
});

/// A block by a part of the input: how it is stored and changed, then what is in it.
fn push_block(part: &[u8], save: &mut Vec<u8>, counts: &mut [u64; 2]) {
    let [how, more, at, byte, content @ ..] = part else { return };
    // Repeated, so that it gets smaller.
    let content = content.repeat(1 + usize::from(more % 8));
    let [records, definitions] = block::counts(&content);
    counts[0] += records;
    counts[1] += definitions;
    let (tag, mut frame) = match how % 8 {
        0 => return block::push(1, &content, save),
        1..=3 => (2, lz4(&content)),
        4..=6 => (3, zstd::bulk::compress(&content, 3).expect("it fits")),
        // The bytes of the fuzzer as a frame.
        _ => (2 + more % 2, content.clone()),
    };
    let mut length = u32::try_from(content.len()).expect("the fuzzer's inputs are short");
    let place = usize::from(*at) % frame.len().max(1);
    match how >> 3 & 0xf {
        0 | 1 => {}
        2 => length = length.wrapping_add(u32::from(*byte)),
        3 => length = u32::from(*byte) << (at % 32),
        4 => frame.truncate(place),
        5 => frame.push(*byte),
        6 => frame.extend_from_within(..),
        7 => frame.insert(place, *byte),
        8 => drop(frame.drain(place..frame.len().min(place + usize::from(byte % 8)))),
        9 => frame[place..].iter_mut().for_each(|changed| *changed ^= byte),
        _ => {
            if let Some(changed) = frame.get_mut(place) {
                *changed = *byte;
            }
        }
    }
    block::push(tag, &[&length.to_le_bytes()[..], &frame].concat(), save);
}

fn lz4(content: &[u8]) -> Vec<u8> {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Linked);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(content).expect("into memory");
    encoder.finish().expect("into memory")
}
