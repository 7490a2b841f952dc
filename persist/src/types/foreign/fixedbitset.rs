//! `fixedbitset`: stored as the number of bits, then words of 64 bits, the first bit in the lowest place.

use fixedbitset_0_5::FixedBitSet;

use super::stored_as;

/// Number of the crate's blocks in a word; a block is as wide as a pointer.
const BLOCKS: usize = 64 / usize::BITS as usize;

fn words(set: &FixedBitSet) -> Vec<u64> {
    let join = |blocks: &[usize]| {
        blocks.iter().rev().fold(0, |word, block| word << (usize::BITS % 64) | *block as u64)
    };
    let mut words: Vec<u64> = set.as_slice().chunks(BLOCKS).map(join).collect();
    words.truncate(set.len().div_ceil(64));
    words
}

#[expect(clippy::cast_possible_truncation, reason = "a block is a part of a word")]
fn from_words((bits, words): (usize, Vec<u64>)) -> Result<FixedBitSet, String> {
    if words.len() != bits.div_ceil(64) {
        return Err(format!("{bits} bits are not {} words of 64", words.len()));
    }
    let above = words.last().map_or(0, |last| if bits % 64 == 0 { 0 } else { last >> (bits % 64) });
    if above != 0 {
        return Err(format!("a bit beyond the {bits} bits of a set is on"));
    }
    let blocks = words.iter().flat_map(|word| {
        (0..BLOCKS).map(move |block| (word >> (block as u32 * usize::BITS)) as usize)
    });
    Ok(FixedBitSet::with_capacity_and_blocks(bits, blocks))
}

stored_as! {
    FixedBitSet as (usize, Vec<u64>) = Self::new(), |set| (set.len(), words(set)) =>? from_words;
}
