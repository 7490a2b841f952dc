//! The content of a block, and a save around it.
#![allow(dead_code, reason = "not every target changes items")]

/// A save with this block, its checksums and counts true.
pub fn seal(block: &[u8]) -> Vec<u8> {
    let mut save = b"\x89PST\r\n\x1a\n\x01\0\0\0\0\0\0\0".to_vec();
    stamp(&mut save, 0);
    push(1, block, &mut save);
    end(&mut save, counts(block));
    save
}

/// Appends a block of this tag.
pub fn push(tag: u8, content: &[u8], save: &mut Vec<u8>) {
    let start = save.len();
    save.push(tag);
    let length = u32::try_from(content.len()).expect("the fuzzer's inputs are short");
    save.extend_from_slice(&length.to_le_bytes());
    save.extend_from_slice(content);
    stamp(save, start);
}

/// Appends the trailer of a save with these numbers of records and definitions.
pub fn end(save: &mut Vec<u8>, [records, definitions]: [u64; 2]) {
    let start = save.len();
    let total = start as u64 + 29;
    save.push(0x7f);
    for word in [records, definitions, total] {
        save.extend_from_slice(&word.to_le_bytes());
    }
    stamp(save, start);
}

/// How many records and definitions a block has, as far as it makes sense.
pub fn counts(block: &[u8]) -> [u64; 2] {
    let items = items(block);
    let definitions = items.iter().filter(|item| block[item.start] == 0).count();
    [(items.len() - definitions) as u64, definitions as u64]
}

fn stamp(save: &mut Vec<u8>, start: usize) {
    let crc = crc32fast::hash(&save[start..]);
    save.extend_from_slice(&crc.to_le_bytes());
}

/// The start of an item, and the start and end of its content.
pub struct Item {
    pub start: usize,
    pub content: usize,
    pub end: usize,
}

/// The items of a block, as far as it makes sense.
pub fn items(block: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut start = 0;
    while start < block.len() {
        let mut at = start + count(block, start);
        if block[start] != 0 {
            at += 1;
            at += count(block, at);
        }
        let Some(length) = block.get(at..at + 4) else { break };
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let end = (at + 4).saturating_add(length);
        items.push(Item { start, content: at + 4, end });
        start = end.saturating_add(1);
    }
    items
}

/// Bytes of the count that is here.
fn count(block: &[u8], at: usize) -> usize {
    1 + usize::from(block.get(at).map_or(0, |first| first.saturating_sub(247)))
}

/// The content of the one block of a save.
pub fn content(save: &[u8]) -> &[u8] {
    &save[25..save.len() - 29 - 4]
}

/// Changes the content of one item and makes its length right.
pub fn change_item(
    block: &[u8],
    which: usize,
    change: impl FnOnce(&mut Vec<u8>),
) -> Option<Vec<u8>> {
    let items = items(block);
    let item = items.get(which % items.len().max(1))?;
    let mut content = block.get(item.content..item.end)?.to_vec();
    change(&mut content);
    let length = u32::try_from(content.len()).ok()?.to_le_bytes();
    let parts = [&block[..item.content - 4], &length, &content, &block[item.end..]];
    Some(parts.concat())
}
