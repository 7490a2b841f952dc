//! Saves whose blocks are compressed.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod hostile;
mod limits;
mod made;
mod round_trips;

use std::io::Write;

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use persist::save::Compression;
use persist::{SaveOptions, Saves};
use persist_tests::support::forge;

const LZ4: u8 = 2;
const ZSTD: u8 = 3;
const BOTH: [Compression; 2] = [Compression::Lz4, Compression::Zstd(3)];

/// Saves are compressed this way.
fn by(compression: Compression) -> SaveOptions {
    SaveOptions::new().compression(compression)
}

/// A compressed save of one value.
fn packed<T: persist::Persist>(compression: Compression, value: &T) -> Vec<u8> {
    let saves = Saves::new().save_options(by(compression));
    saves.to_vec(value).unwrap()
}

/// Marsaglia's xorshift64, for bytes that no compression makes fewer.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

fn lz4(content: &[u8]) -> Vec<u8> {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Linked);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(content, 3).unwrap()
}

/// What a compressed block of this content has inside.
fn inside(length: usize, frame: &[u8]) -> Vec<u8> {
    [&u32::try_from(length).unwrap().to_le_bytes()[..], frame].concat()
}

fn word(save: &[u8], at: usize) -> usize {
    u32::from_le_bytes(save[at..at + 4].try_into().unwrap()) as usize
}

/// The tags and places of the blocks of a save, and where its trailer is.
fn blocks(save: &[u8]) -> (Vec<(u8, usize)>, usize) {
    let mut at = 16 + word(save, 12) + 4;
    let mut found = Vec::new();
    while save[at] != 0x7f {
        // The definitions once more, which a save may do without.
        if save[at] != 4 {
            found.push((save[at], at));
        }
        at += 5 + word(save, at + 1) + 4;
    }
    (found, at)
}

fn tags(save: &[u8]) -> Vec<u8> {
    blocks(save).0.into_iter().map(|(tag, _)| tag).collect()
}

/// The save with other blocks in place of its own, made from what they hold.
fn replaced(save: &[u8], mut change: impl FnMut(&[u8]) -> Option<(u8, Vec<u8>)>) -> Vec<u8> {
    let (found, end) = blocks(save);
    let mut out = save[..16 + word(save, 12) + 4].to_vec();
    for (tag, at) in found {
        let content = &save[at + 5..at + 5 + word(save, at + 1)];
        let (tag, content) = change(content).unwrap_or((tag, content.to_vec()));
        let start = out.len();
        out.push(tag);
        out.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        out.extend(content);
        forge::stamp(&mut out, start);
    }
    let counts = [1, 9].map(|i| u64::from_le_bytes(save[end + i..end + i + 8].try_into().unwrap()));
    let total = out.len() as u64 + 29;
    forge::trailer(&mut out, [counts[0], counts[1], total]);
    out
}
