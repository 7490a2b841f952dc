//! Compressed blocks with true checksums that no writer makes: each is damage, found at its block.

use persist::{ErrorKind, Persist};

use crate::compression::{LZ4, ZSTD, blocks, inside, lz4, replaced, zstd};
use persist_tests::support::forge::{bare, class, one, value};

fn plain() -> Vec<u8> {
    persist::to_vec(&vec![7_u16; 200]).unwrap()
}

/// Loads the save with this in its block, where the content was compressed.
fn load(tag: u8, make: impl Fn(&[u8]) -> Vec<u8>) -> persist::Result<Vec<u16>> {
    persist::from_slice(&replaced(&plain(), |content| Some((tag, make(content)))))
}

#[track_caller]
fn is_damage(what: &str, tag: u8, make: impl Fn(&[u8]) -> Vec<u8>) {
    let error = load(tag, make).expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Damaged, "{what}: {error}");
    assert!(error.message().contains("compressed block here"), "{what}: {error}");
    assert_eq!(error.offset(), Some(blocks(&plain()).0[0].1 as u64), "{what}");
}

#[test]
fn the_frames_of_the_tests_load() {
    assert_eq!(load(LZ4, |c| inside(c.len(), &lz4(c))).unwrap(), [7; 200]);
    assert_eq!(load(ZSTD, |c| inside(c.len(), &zstd(c))).unwrap(), [7; 200]);
}

#[test]
fn frames_that_are_cut_short_are_damage() {
    for (tag, compress) in [(LZ4, lz4 as fn(&[u8]) -> Vec<u8>), (ZSTD, zstd)] {
        let length = blocks(&plain()).0[0].1;
        let length = compress(&plain()[length..]).len();
        for cut in 1..length {
            let make = |content: &[u8]| {
                let frame = compress(content);
                inside(content.len(), &frame[..frame.len().saturating_sub(cut)])
            };
            is_damage(&format!("a frame of {tag} without {cut} bytes"), tag, make);
        }
        is_damage("nothing", tag, |_| Vec::new());
        is_damage("three bytes", tag, |_| vec![1, 0, 0]);
    }
}

#[test]
fn what_follows_a_frame_is_damage() {
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
    for (tag, compress) in [(LZ4, lz4 as fn(&[u8]) -> Vec<u8>), (ZSTD, zstd)] {
        let behind = |more: &[u8]| {
            let more = more.to_vec();
            move |c: &[u8]| inside(c.len(), &[compress(c), more.clone()].concat())
        };
        is_damage("a zero", tag, behind(&[0]));
        is_damage("zeros", tag, behind(&[0; 8]));
        is_damage("an empty frame", tag, behind(&compress(&[])));
        is_damage("another frame", tag, behind(&compress(&[1; 30])));
        is_damage("a frame that is skipped", tag, behind(&skipped));
        is_damage("one that is skipped before it", tag, |c| {
            inside(c.len(), &[&skipped[..], &compress(c)].concat())
        });
        is_damage("two halves", tag, |c| {
            let (left, right) = c.split_at(c.len() / 2);
            inside(c.len(), &[compress(left), compress(right)].concat())
        });
    }
}

/// The decoder takes an empty part that is not compressed for the end.
#[test]
fn an_end_mark_of_other_bytes_is_damage() {
    is_damage("an empty part in place of the end mark", LZ4, |content| {
        let mut frame = lz4(content);
        let last = frame.len() - 1;
        frame[last] = 0x80;
        inside(content.len(), &frame)
    });
}

#[test]
fn a_wrong_length_is_damage() {
    for (tag, compress) in [(LZ4, lz4 as fn(&[u8]) -> Vec<u8>), (ZSTD, zstd)] {
        for wrong in [0, 1, 40, 100, 10_000, 100_000] {
            is_damage(&format!("{wrong} bytes"), tag, |c| inside(wrong, &compress(c)));
        }
        is_damage("one less", tag, |c| inside(c.len() - 1, &compress(c)));
        is_damage("one more", tag, |c| inside(c.len() + 1, &compress(c)));
    }
}

#[test]
fn frames_of_another_sort_are_damage() {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use std::io::Write;
    let framed = |info: FrameInfo| {
        move |content: &[u8]| {
            let mut encoder = FrameEncoder::with_frame_info(info.clone(), Vec::new());
            encoder.write_all(content).unwrap();
            inside(content.len(), &encoder.finish().unwrap())
        }
    };
    let usual = || FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Linked);
    assert!(load(LZ4, framed(usual())).is_ok());
    is_damage("large parts", LZ4, framed(usual().block_size(BlockSize::Max4MB)));
    is_damage("parts alone", LZ4, framed(usual().block_mode(BlockMode::Independent)));
    is_damage("with checksums", LZ4, framed(usual().block_checksums(true)));
    is_damage("with a checksum", LZ4, framed(usual().content_checksum(true)));
    is_damage("with its length", LZ4, |c| framed(usual().content_size(Some(c.len() as u64)))(c));
    is_damage("the other's", LZ4, |c| inside(c.len(), &zstd(c)));
    is_damage("the other's", ZSTD, |c| inside(c.len(), &lz4(c)));
    is_damage("without its length", ZSTD, |content| {
        let mut encoder = ::zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
        encoder.write_all(content).unwrap();
        inside(content.len(), &encoder.finish().unwrap())
    });
}

#[test]
fn a_block_that_is_not_smaller_is_damage() {
    let save = persist::to_vec(&1_u64).unwrap();
    for (tag, compress) in [(LZ4, lz4 as fn(&[u8]) -> Vec<u8>), (ZSTD, zstd)] {
        let larger = replaced(&save, |c| Some((tag, inside(c.len(), &compress(c)))));
        let error = persist::from_slice::<u64>(&larger).unwrap_err();
        assert!(error.message().contains("not smaller than what it holds"), "{error}");
    }
}

#[test]
fn an_error_inside_of_a_compressed_block_is_at_the_block() {
    #[derive(Persist, Debug)]
    struct Bits {
        _bits: Vec<bool>,
    }
    let payload = [&[200][..], &[1; 199], &[2]].concat();
    let save = one(class("Bits", &[("_bits", &[0x11, 1])]), &payload);
    let at = persist::from_slice::<Bits>(&save).unwrap_err().offset().unwrap();
    let begin = blocks(&save).0[0].1 as u64;
    assert!(at > begin);
    let save = replaced(&save, |c| Some((LZ4, inside(c.len(), &lz4(c)))));
    let error = persist::from_slice::<Bits>(&save).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::InvalidValue, Some(begin)), "{error}");
}

#[test]
fn an_error_behind_a_compressed_block_is_where_it_is() {
    // Two values of their own: the second is in a block that is as it was.
    let save = one(bare("Vec<u8>", &[0x11, 3]), &[&[200][..], &[9; 200]].concat());
    let (found, end) = blocks(&save);
    let begin = found[0].1;
    let mut save = replaced(&save, |c| Some((LZ4, inside(c.len(), &lz4(c)))));
    let packed = blocks(&save).1;
    assert!(packed < end);
    // A second block behind, of an item that does not end with its separator.
    save.truncate(packed);
    save.extend([1, 9, 0, 0, 0, 1, 0x91, 2, 1, 0, 0, 0, 7, 7]);
    persist_tests::support::forge::stamp(&mut save, packed);
    let total = save.len() as u64 + 29;
    persist_tests::support::forge::trailer(&mut save, [2, 1, total]);
    let error = value::<Vec<u8>>(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    assert_eq!(error.offset(), Some(packed as u64 + 5), "{error}");
    assert!(begin < packed);
}
