//! The blocks and pages of a save, found by `format.md` alone.

use std::ops::Range;

use super::forge::restamp;

/// A block of a save: its tag, its range with the checksum, and its content.
pub struct Block {
    pub tag: u8,
    pub whole: Range<usize>,
    pub content: Range<usize>,
}

fn number(bytes: &[u8]) -> usize {
    u32::from_le_bytes(*bytes.first_chunk().expect("4 bytes")) as usize
}

/// Reads a count, as `format.md` defines it. Returns it with its length.
pub fn count(bytes: &[u8]) -> (u64, usize) {
    let width = usize::from(bytes[0].saturating_sub(247));
    if width == 0 {
        return (bytes[0].into(), 1);
    }
    let mut number = [0; 8];
    number[..width].copy_from_slice(&bytes[1..=width]);
    (u64::from_le_bytes(number), 1 + width)
}

/// The blocks of a save, found by `format.md` alone.
pub fn blocks(save: &[u8]) -> Vec<Block> {
    let mut at = 16 + number(&save[12..]) + 4;
    let mut found = Vec::new();
    while save[at] != 0x7f {
        let content = at + 5..at + 5 + number(&save[at + 1..]);
        let whole = at..content.end + 4;
        at = whole.end;
        found.push(Block { tag: save[whole.start], whole, content });
    }
    found
}

/// A page of a save without compression: its block, and the objects of its payload.
pub struct SavedPage {
    pub block: Range<usize>,
    pub payload: Range<usize>,
    pub first: u64,
    pub objects: u64,
}

/// The pages of a save without compression, found by `format.md` alone.
pub fn pages(save: &[u8]) -> Vec<SavedPage> {
    let mut found = Vec::new();
    for block in blocks(save) {
        let content = &save[block.content.clone()];
        let (class, width) = count(content);
        if class == 0 || content[width] != 1 {
            continue;
        }
        let (_, id_width) = count(&content[width + 1..]);
        let start = width + 1 + id_width + 4;
        let payload = block.content.start + start..block.content.end - 1;
        let (classes, width) = count(&save[payload.clone()]);
        let objects = payload.start + width + 8 * usize::try_from(classes).expect("few");
        let (objects, first) = (count(&save[objects..]), objects);
        let (first, _) = count(&save[first + objects.1..]);
        found.push(SavedPage { block: block.whole, payload, first, objects: objects.0 });
    }
    found
}

/// Writes the save again with a page changed, with right checksums and lengths.
pub fn with_page(save: &[u8], page: &SavedPage, payload: &[u8]) -> Vec<u8> {
    let mut content = save[page.block.start + 5..page.payload.start - 4].to_vec();
    content.extend(u32::try_from(payload.len()).expect("short").to_le_bytes());
    content.extend(payload);
    content.push(0x1e);
    replaced(save, page.block.clone(), &[content])
}

/// Writes the save again with other blocks of items in a place.
pub fn replaced(save: &[u8], place: Range<usize>, contents: &[Vec<u8>]) -> Vec<u8> {
    let mut new = save[..place.start].to_vec();
    for content in contents {
        new.push(1);
        new.extend(u32::try_from(content.len()).expect("short").to_le_bytes());
        new.extend(content);
        new.extend([0; 4]);
    }
    new.extend(&save[place.end..]);
    let length = new.len() as u64;
    let trailer = new.len() - 29;
    new[trailer + 17..][..8].copy_from_slice(&length.to_le_bytes());
    restamp(&mut new);
    new
}
