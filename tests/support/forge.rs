//! Saves made by hand from the rules of the format, with the right lengths and
//! checksums around whatever content, and a load that watches what it takes.

use std::time::Duration;

use persist::{Persist, Result};

/// Holder of an object that was added, in an `Rc<RefCell<_>>`.
pub const ADDED: u8 = 0x91;
/// The bit of a form that says that the id of the class follows.
pub const OWN_ID: u8 = 0x40;
/// Holder of an object met through a reference.
pub const MET: u8 = 0x11;
/// Holder of a value of its own.
pub const VALUE: u8 = 0x80;

/// The parts of a save that is made or changed.
#[derive(Clone, Default)]
pub struct Forged {
    pub header_fields: Vec<u8>,
    pub items: Vec<Item>,
}

#[derive(Clone)]
pub enum Item {
    Definition(Vec<u8>),
    Record { class: u64, holder: u8, id: u64, payload: Vec<u8> },
}

pub fn count(count: u64, out: &mut Vec<u8>) {
    if count <= 247 {
        return out.extend(&count.to_le_bytes()[..1]);
    }
    let width = count.to_le_bytes().iter().rposition(|byte| *byte > 0).map_or(0, |last| last + 1);
    out.push(247 + u8::try_from(width).expect("at most 8"));
    out.extend(&count.to_le_bytes()[..width]);
}

pub fn counted(number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    count(number, &mut out);
    out
}

pub fn text(text: &str) -> Vec<u8> {
    [counted(text.len() as u64), text.as_bytes().to_vec()].concat()
}

/// The class id of a name: its FNV-1a hash.
pub fn id_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The name and the version 1 of a class, before its form.
pub fn head(name: &str) -> Vec<u8> {
    [&text(name)[..], &[1]].concat()
}

/// A definition whose class has an id that is not the hash of its name.
pub fn with_id(id: u64, name: &str, version: u8, form: u8, parts: &[u8]) -> Item {
    let head = [version, form | OWN_ID];
    Item::Definition([&text(name), &head[..], &id.to_le_bytes(), parts].concat())
}

/// Fields with their kinds, as they follow the form of a struct.
pub fn fields(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = counted(fields.len() as u64);
    for (name, kind) in fields {
        out.extend(text(name));
        out.push(0);
        out.extend(*kind);
    }
    out
}

/// The definition of a struct.
pub fn class(name: &str, parts: &[(&str, &[u8])]) -> Item {
    Item::Definition([head(name), vec![0], fields(parts)].concat())
}

/// The definition of a bare value.
pub fn bare(name: &str, kind: &[u8]) -> Item {
    Item::Definition([head(name), vec![2], kind.to_vec()].concat())
}

pub fn record(class: u64, holder: u8, id: u64, payload: &[u8]) -> Item {
    Item::Record { class, holder, id, payload: payload.to_vec() }
}

/// A save of these items.
pub fn save(items: &[Item]) -> Vec<u8> {
    Forged { header_fields: Vec::new(), items: items.to_vec() }.build()
}

impl Item {
    fn write(&self, out: &mut Vec<u8>) {
        let content = match self {
            Self::Definition(body) => {
                out.push(0);
                body
            }
            Self::Record { class, holder, id, payload } => {
                count(*class, out);
                out.push(*holder);
                count(*id, out);
                payload
            }
        };
        out.extend(u32::try_from(content.len()).expect("small").to_le_bytes());
        out.extend(content);
        out.push(0x1e);
    }

    /// The bytes inside.
    pub fn content(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Definition(content) | Self::Record { payload: content, .. } => content,
        }
    }
}

impl Forged {
    /// The items as they stand in a block.
    pub fn content(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.items.iter().for_each(|item| item.write(&mut out));
        out
    }

    pub fn build(&self) -> Vec<u8> {
        let definitions =
            self.items.iter().filter(|item| matches!(item, Item::Definition(_))).count() as u64;
        let records = self.items.len() as u64 - definitions;
        self.around(&self.content(), [records, definitions])
    }

    /// A save with this content in its one block.
    pub fn around(&self, content: &[u8], counts: [u64; 2]) -> Vec<u8> {
        let mut save = b"\x89PST\r\n\x1a\n\x01\0\0\0".to_vec();
        save.extend(u32::try_from(self.header_fields.len()).expect("small").to_le_bytes());
        save.extend(&self.header_fields);
        stamp(&mut save, 0);
        let start = save.len();
        save.push(1);
        save.extend(u32::try_from(content.len()).expect("small").to_le_bytes());
        save.extend(content);
        stamp(&mut save, start);
        let total = save.len() as u64 + 29;
        trailer(&mut save, [counts[0], counts[1], total]);
        save
    }

    /// The parts of a true save.
    pub fn parse(save: &[u8]) -> Self {
        let word = |at: usize| {
            u32::from_le_bytes(save[at..at + 4].try_into().expect("four bytes")) as usize
        };
        let mut at = 16 + word(12);
        let header_fields = save[16..at].to_vec();
        at += 4;
        let mut items = Vec::new();
        while save[at] == 1 {
            let end = at + 5 + word(at + 1);
            at += 5;
            while at < end {
                let mut number = || {
                    let width = usize::from(save[at].saturating_sub(247));
                    let bytes = &save[at + usize::from(width > 0)..][..width.max(1)];
                    at += 1 + width;
                    bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
                };
                let class = number();
                let (holder, id) = if class == 0 {
                    (0, 0)
                } else {
                    (u8::try_from(number()).expect("a holder"), number())
                };
                let length = word(at);
                let content = save[at + 4..at + 4 + length].to_vec();
                at += 4 + length + 1;
                items.push(match class {
                    0 => Item::Definition(content),
                    _ => Item::Record { class, holder, id, payload: content },
                });
            }
            at += 4;
        }
        Self { header_fields, items }
    }
}

/// Appends the checksum of what stands from `start` on.
pub fn stamp(save: &mut Vec<u8>, start: usize) {
    let crc = crc32fast::hash(&save[start..]);
    save.extend(crc.to_le_bytes());
}

pub fn trailer(save: &mut Vec<u8>, words: [u64; 3]) {
    let start = save.len();
    save.push(0x7f);
    words.iter().for_each(|word| save.extend(word.to_le_bytes()));
    stamp(save, start);
}

/// Makes every checksum of a changed save right again, as far as its lengths lead.
pub fn restamp(save: &mut [u8]) {
    let put = |save: &mut [u8], start: usize, end: usize| {
        let crc = save.get(start..end).map(crc32fast::hash);
        if let (Some(crc), Some(place)) = (crc, save.get_mut(end..end.saturating_add(4))) {
            place.copy_from_slice(&crc.to_le_bytes());
        }
    };
    let word = |save: &[u8], at: usize| {
        save.get(at..at + 4)
            .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four")) as usize)
    };
    let Some(length) = word(save, 12) else { return };
    let mut end = 16 + length;
    put(save, 0, end);
    loop {
        let start = end + 4;
        let Some(tag) = save.get(start) else { return };
        let length = if *tag == 0x7f { Some(20) } else { word(save, start + 1) };
        let Some(length) = length else { return };
        end = start + 5 + length;
        put(save, start, end);
    }
}

/// A way to load.
pub type Load = fn(&[u8]) -> Result<()>;

/// A save of one value of a class or kind.
pub fn one(definition: Item, payload: &[u8]) -> Vec<u8> {
    save(&[definition, record(1, VALUE, 1, payload)])
}

/// A save of one value of the first class.
pub fn one_of(definitions: &[Item], payload: &[u8]) -> Vec<u8> {
    save(&[definitions, &[record(1, VALUE, 1, payload)]].concat())
}

/// The stack of the threads that load: small even for a console's.
pub const SMALL: usize = 256 << 10;

/// Loads on a small stack, within a time and a multiple of the save in memory.
pub fn try_load(save: Vec<u8>, load: Load) -> Result<()> {
    try_load_on(SMALL, save, load)
}

pub fn try_load_on(stack: usize, save: Vec<u8>, load: Load) -> Result<()> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let length = save.len() as u64;
    let thread = std::thread::Builder::new().stack_size(stack).spawn(move || {
        let mut result = Ok(());
        let used = allocation_counter::measure(|| result = load(&save));
        // The receiver is gone when it was too late.
        let _ = sender.send((result, used.bytes_max));
    });
    let _running = thread.expect("a thread");
    let (result, used) =
        receiver.recv_timeout(Duration::from_secs(10)).expect("an answer within ten seconds");
    let most = 64 * length + (1 << 20);
    assert!(used <= most, "{used} bytes of memory for a save of {length}: {result:?}");
    result
}

pub fn refused(save: Vec<u8>, load: Load) -> persist::Error {
    try_load(save, load).expect_err("a malicious save")
}

/// Loads a value of its own.
pub fn value<T: Persist>(save: &[u8]) -> Result<()> {
    persist::from_slice::<T>(save).map(drop)
}
