//! Blocks: the values of a column for neighbouring ids, as snapshots encode and decode them. Each is found by its page
//! and its index in the page.

use super::{BLOCK, BLOCK_WORDS, BlockMask, Column, Occupancy, Page};
use crate::codec::{Decoder, Encoder, Fail, Generic, Persist, Stop, count};
use crate::types::encode_list;

impl Occupancy {
    /// Sets the ids of a block that have values.
    fn set_block(&mut self, block: usize, mask: BlockMask) {
        self.mask.as_chunks_mut().0[block] = mask;
        self.recount();
    }
}

/// Returns the first bit of a block.
#[expect(clippy::cast_possible_truncation, reason = "a page has few bits")]
fn first_bit(block: usize) -> u32 {
    (block * BLOCK) as u32
}

impl<T> Page<T> {
    /// Returns the indices of the values of a block; `None` if the values are not in order.
    fn range(&self, block: usize) -> Option<std::ops::Range<usize>> {
        let start = self.index.count_below(first_bit(block));
        let count: u32 = self.index.block(block).iter().map(|word| word.count_ones()).sum();
        self.disorder.is_none().then_some(start..start + count as usize)
    }
}

impl<T: Persist> Column<T> {
    pub(in crate::world) fn encode_block(
        &self,
        (page, block): (usize, usize),
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let Some(page) = self.page(page).filter(|page| page.out().is_none()) else {
            return Err(out.no_field());
        };
        if page.is_ordered() {
            let items = page.range(block).and_then(|range| page.items.get(range));
            return encode_list(items.unwrap_or_default(), out);
        }
        let bits = first_bit(block)..first_bit(block + 1);
        let items: Vec<&T> = bits.filter_map(|bit| page.get(bit)).collect();
        out.take(1)?[0] = count::head(items.len() as u64);
        out.elements::<T>(items.len(), T::MIN, T::LEAF, |out| {
            items.iter().try_for_each(|item| out.value(*item))
        })
    }

    pub(in crate::world) fn decode_block_into(
        &mut self,
        (page, block): (usize, usize),
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        let head = input.take(1)?;
        let count = input.elements::<T>(head)?;
        let items = self.page_mut(page).and_then(|page| {
            page.settle();
            page.index.mark(first_bit(block));
            page.range(block).and_then(|range| page.items.get_mut(range))
        });
        let items = items.filter(|items| items.len() == count).ok_or(Fail::Count)?;
        let mut decode = |input: &mut Decoder<'_>| {
            if const { T::PLACED_FIXED && T::HEAD > 0 } {
                // One bounds check for all: not by `value_into`, which has one for each.
                let heads = input.take(count * T::HEAD)?.chunks_exact(T::HEAD);
                return items
                    .iter_mut()
                    .zip(heads)
                    .try_for_each(|(to, head)| to.__decode_into(head, input));
            }
            items.iter_mut().try_for_each(|item| input.value_into(item))
        };
        if T::LEAF { decode(input) } else { input.nested_in::<T, _>(decode) }
    }

    pub(in crate::world) fn put_block(
        &mut self,
        (page, block): (usize, usize),
        mask: BlockMask,
        mut values: Vec<T>,
    ) {
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_default();
        page.settle();
        page.forget_out();
        page.index.mark(first_bit(block));
        let Some(range) = page.range(block) else { return };
        let old = page.index.block(block);
        let mut removed: Vec<T> = page.items.drain(range.clone()).collect();
        let (mut new, mut olds) = (values.iter_mut(), removed.iter_mut());
        for bit in 0..BLOCK_WORDS * 64 {
            let has = |mask: BlockMask| mask[bit / 64] >> (bit % 64) & 1 != 0;
            let new = if has(mask) { new.next() } else { None };
            let old = if has(old) { olds.next() } else { None };
            new.zip(old).into_iter().for_each(|(new, old)| new.__keep_skipped(old));
        }
        page.items.splice(range.start..range.start, values);
        page.index.set_block(block, mask);
    }
}
