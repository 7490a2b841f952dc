//! Texts and short runs of bytes: copied, compared and checked as blocks of fixed width.

use super::fail::Fail;

/// Returns the first `len` bytes of `rest` as a `String`; `len` is at most `rest.len()`.
///
/// The standard check walks a short unaligned string byte by byte, which takes 14 to 18 ns per string. Here a short
/// string is loaded as one block of 16 or 32 bytes, which also covers following bytes; these are masked to NUL. The
/// block becomes the string's own buffer and is checked whole. A character that is cut by the end is followed by a NUL
/// and still invalid, so the check is exact.
#[inline(always)]
pub(crate) fn decode_text(rest: &[u8], len: usize) -> Result<String, Fail> {
    let block = if len <= 16 {
        rest.first_chunk::<16>().map(|chunk| masked(*chunk, len).to_vec())
    } else if len <= 32 {
        rest.first_chunk::<32>().map(|chunk| masked_pair(chunk, len).to_vec())
    } else {
        None
    };
    let Some(block) = block else {
        return match std::str::from_utf8(&rest[..len]) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Fail::Text),
        };
    };
    match String::from_utf8(block) {
        Ok(mut text) => {
            text.truncate(len);
            Ok(text)
        }
        Err(_) => Err(Fail::Text),
    }
}

/// Reads the first `len` bytes of `rest` over `text`, which keeps its buffer if that is enough.
///
/// An equal text stays as it is, since it was checked before. A short one is checked as a block too.
#[inline(always)]
pub(crate) fn decode_text_into(text: &mut String, rest: &[u8], len: usize) -> Result<(), Fail> {
    if is_equal(text.as_bytes(), &rest[..len]) {
        return Ok(());
    }
    if text.capacity() < len {
        *text = decode_text(rest, len)?;
        return Ok(());
    }
    if len <= 16
        && let Some(chunk) = rest.first_chunk::<16>()
    {
        return over(text, &masked(*chunk, len), len);
    }
    if len <= 32
        && len > 16
        && let Some(chunk) = rest.first_chunk::<32>()
    {
        return over(text, &masked_pair(chunk, len), len);
    }
    over(text, &rest[..len], len)
}

/// Copies the first `len` bytes of a block over `text`, which has room for them.
#[inline(always)]
fn over(text: &mut String, block: &[u8], len: usize) -> Result<(), Fail> {
    let Some(checked) = std::str::from_utf8(block).ok().and_then(|block| block.get(..len)) else {
        return Err(Fail::Text);
    };
    text.clear();
    text.push_str(checked);
    Ok(())
}

#[inline(always)]
fn masked(chunk: [u8; 16], len: usize) -> [u8; 16] {
    if len == 16 {
        return chunk;
    }
    let mask = (1_u128 << (len * 8)) - 1;
    (u128::from_le_bytes(chunk) & mask).to_le_bytes()
}

/// Like [`masked`], for a `len` of 17 to 32.
#[inline(always)]
fn masked_pair(chunk: &[u8; 32], len: usize) -> [u8; 32] {
    let mut block = *chunk;
    if let Some(last) = block.last_chunk_mut::<16>() {
        *last = masked(*last, len - 16);
    }
    block
}

/// Copies `from` over `to`; the slices have one length.
///
/// Short runs are copied as two overlapping fixed-size chunks, which the
/// compiler turns into plain moves instead of a call: 10 to 23 % of an encode
/// of short strings.
#[inline(always)]
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    let len = from.len();
    if len > 32 {
        to.copy_from_slice(from);
    } else if len >= 16 {
        ends::<16>(to, from);
    } else if len >= 8 {
        ends::<8>(to, from);
    } else if len >= 4 {
        ends::<4>(to, from);
    } else if let (Some(first), Some(last)) = (from.first(), from.last()) {
        // 1 to 3 bytes: the first, the middle and the last, some of them twice.
        let middle = len / 2;
        to[0] = *first;
        to[middle] = from[middle];
        to[len - 1] = *last;
    }
}

#[inline(always)]
fn ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(target), Some(source)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *target = *source;
    }
    if let (Some(target), Some(source)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *target = *source;
    }
}

/// True if both slices have the same bytes. Short ones are compared as two overlapping chunks too.
#[inline(always)]
pub(crate) fn is_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        4..8 => are_ends_equal::<4>(a, b),
        8..16 => are_ends_equal::<8>(a, b),
        16..=32 => are_ends_equal::<16>(a, b),
        _ => a == b,
    }
}

#[inline(always)]
fn are_ends_equal<const N: usize>(a: &[u8], b: &[u8]) -> bool {
    a.first_chunk::<N>() == b.first_chunk::<N>() && a.last_chunk::<N>() == b.last_chunk::<N>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes with the standard library on the exact slice, as the naive twin for comparison.
    fn naive(bytes: &[u8]) -> Option<String> {
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    }

    /// Returns texts to read over: a shorter one, a longer one, one of the same length, and an equal one.
    fn old(bytes: &[u8]) -> [String; 4] {
        [
            String::from("old"),
            "old".repeat(20),
            "x".repeat(bytes.len()),
            naive(bytes).unwrap_or_default(),
        ]
    }

    #[test]
    fn short_text_is_checked_as_the_standard_library_does() {
        let samples: [&[u8]; 8] = [
            b"a",
            "\u{e9}".as_bytes(),
            "\u{20ac}".as_bytes(),
            "\u{1f600}".as_bytes(),
            b"\x80",
            b"\xff",
            b"\xe2\x82",
            b"\0",
        ];
        for filler in [0x00, b'x', 0x80, 0xbf, 0xff] {
            for first in samples {
                for second in samples {
                    for len in 0..=40 {
                        let mut bytes: Vec<u8> =
                            first.iter().cycle().take(len / 2).copied().collect();
                        bytes.extend(second.iter().cycle().take(len - len / 2));
                        for after in [0, 1, 15, 16, 31, 32] {
                            let mut input = bytes.clone();
                            input.extend(std::iter::repeat_n(filler, after));
                            assert_eq!(
                                decode_text(&input, len).ok(),
                                naive(&bytes),
                                "{bytes:x?} + {after}"
                            );
                            for old in old(&bytes) {
                                let mut over = old;
                                let result = decode_text_into(&mut over, &input, len);
                                assert_eq!(
                                    result.ok().map(|()| over),
                                    naive(&bytes),
                                    "{bytes:x?} + {after}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_length_is_copied_whole() {
        let source: Vec<u8> = (1..=80).collect();
        for len in 0..=source.len() {
            let mut target = vec![0; len];
            copy(&mut target, &source[..len]);
            assert_eq!(target, source[..len]);
        }
    }

    #[test]
    fn one_other_byte_is_found_in_every_length() {
        let bytes: Vec<u8> = (1..=80).collect();
        for len in 0..=bytes.len() {
            let mut other = bytes[..len].to_vec();
            assert!(is_equal(&other, &bytes[..len]));
            for at in 0..len {
                other[at] ^= 0x80;
                assert!(!is_equal(&other, &bytes[..len]));
                other[at] ^= 0x80;
            }
        }
    }
}
