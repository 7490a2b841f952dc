//! [`usage`]: the sizes of a save by class, field and block.

use std::io::{Read, Seek};

use persist::__tools::{BlockReader, Long, Stored, UsageTree};
use persist::save::{Compression, Header};
use persist::{Limits, Result};

use crate::records::Definitions;

/// The sizes of a save by class, field and block; [`usage`] returns it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SaveUsage {
    /// The header of the save.
    pub header: Header,
    /// The whole save. Its parts are the classes, largest first, and then the overhead with names in parentheses:
    /// `(header)`, `(definitions)`, `(heads)` and `(blocks)`.
    pub whole: Usage,
    /// The longest texts, in bytes.
    pub texts: Vec<Longest>,
    /// The lists, sets and maps with the most elements.
    pub lists: Vec<Longest>,
    /// The blocks, in the order of the save.
    pub blocks: Vec<BlockUsage>,
}

/// The size of a part of a save: of a class, or of a field in all objects of a class.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// The name of the class or field; `[]` for the elements of lists, sets and arrays.
    pub name: String,
    /// The kind of the field, written like a Rust type; empty for classes and overhead.
    pub kind: String,
    /// The number of values.
    pub count: u64,
    /// The size of the values in bytes, before compression.
    pub bytes: u64,
    /// The bytes that the values take in the save. A compressed block is shared out in proportion to the sizes before
    /// compression.
    pub stored: u64,
    /// The fields of the class or field, largest first. Bytes that are in no field are element counts and tags.
    pub parts: Vec<Usage>,
}

/// A long text, or a list, a set or a map with many elements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Longest {
    /// The bytes of a text, or the elements of a list, set or map.
    pub length: u64,
    /// The id of the object that holds it.
    pub object: u64,
    /// The name of the class of that object.
    pub class: String,
    /// The path of the field in that object.
    pub field: String,
}

/// The size of a block of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockUsage {
    /// The offset of the block in the save, in bytes.
    pub offset: u64,
    /// The bytes that the block takes in the save.
    pub stored: u64,
    /// The bytes of its content, before compression.
    pub content: u64,
    /// The compression of the block.
    pub compression: Compression,
}

/// Measures how many bytes of a save each class and field takes, before and after compression.
///
/// The save is read twice, block by block, and is never held in memory as a whole. References and duplicate keys are
/// not checked; [`verify`](crate::verify()) checks them.
///
/// # Errors
///
/// Returns the same errors as [`verify`](crate::verify()), except errors about references and duplicate keys.
///
/// # Example
///
/// ```
/// use std::io::Cursor;
///
/// use persist::{Limits, Persist};
///
/// #[derive(Persist)]
/// struct Hero { level: u32, name: String }
///
/// let save = persist::to_vec(&Hero { level: 3, name: "Ada".into() })?;
/// let found = persist_tools::usage(Cursor::new(&save), &Limits::DEFAULT)?;
/// assert_eq!(found.whole.bytes, save.len() as u64);
/// let hero = &found.whole.parts.iter().find(|part| part.name == "Hero").unwrap();
/// let fields: Vec<_> = hero.parts.iter().map(|field| (&*field.name, field.bytes)).collect();
/// assert_eq!(fields, [("level", 4), ("name", 4)]);
/// # Ok::<(), persist::Error>(())
/// ```
pub fn usage(file: impl Read + Seek, limits: &Limits) -> Result<SaveUsage> {
    let (header, mut blocks) = BlockReader::open(file, limits)?;
    let length = blocks.length();
    let mut definitions = Definitions::default();
    let trailer = loop {
        match blocks.next_block()? {
            Ok(block) => definitions.items(&block, limits, |_, _| Ok(()))?,
            Err(trailer) => break trailer,
        }
    };
    definitions.check(trailer, blocks.at())?;
    let stored = Stored::new(definitions.classes(limits)?);
    let header_bytes = blocks.first();
    blocks.rewind()?;
    let mut tree = UsageTree::default();
    let (mut sizes, mut again) = (Vec::new(), Definitions::default());
    let (mut heads, mut frames) = (Overhead::default(), Overhead::default());
    let mut defined = Overhead::default();
    while let Ok(block) = blocks.next_block()? {
        let content = block.content.len() as u64;
        let compression = block.compression.unwrap_or(Compression::None);
        sizes.push(BlockUsage { offset: block.at, stored: block.stored, content, compression });
        #[expect(clippy::cast_precision_loss, reason = "a share of what is stored")]
        let ratio = if compression == Compression::None {
            1.0
        } else {
            block.stored as f64 / content as f64
        };
        let (mut records, mut payloads) = (0, 0);
        let previous_size = again.size() as u64;
        again.items(&block, limits, |_, record| {
            let payload = record.payload(block.content);
            records += 1;
            payloads += payload.len() as u64;
            let class = record.class as usize;
            tree.add((class, record.id), &stored, payload, ratio, limits).map_err(|error| {
                let offset = record.start as u64 + error.offset().unwrap_or_default();
                error
                    .moved_to(block.place(offset))
                    .in_object(record.id)
                    .in_class(&*stored[class].name)
            })
        })?;
        let definitions = match block.compression {
            None => content,
            Some(_) => again.size() as u64 - previous_size,
        };
        defined.add(again.count() as u64, definitions, ratio);
        heads.add(records, content - definitions - payloads, ratio);
        if compression == Compression::None {
            frames.add(1, block.stored - content, 1.0);
        } else {
            frames.add(1, 0, 1.0);
        }
    }
    // The trailer.
    frames.add(0, length.saturating_sub(blocks.at()), 1.0);
    defined.count = stored.len() as u64;
    let mut parts = parts(&tree, &stored);
    let mut header_size = Overhead::default();
    header_size.add(1, header_bytes, 1.0);
    let overhead =
        [("header", header_size), ("definitions", defined), ("heads", heads), ("blocks", frames)];
    parts.extend(overhead.into_iter().map(|(name, overhead)| overhead.usage(name)));
    let sum = |of: fn(&Usage) -> u64| parts.iter().map(of).sum();
    let whole = Usage {
        name: String::from("save"),
        kind: String::new(),
        count: 1,
        bytes: sum(|part| part.bytes),
        stored: length,
        parts,
    };
    let longest = |all: Vec<Long>| {
        let longest = |long: Long| Longest {
            length: long.length,
            object: long.object,
            class: stored[long.class].name.clone(),
            field: long.field,
        };
        all.into_iter().map(longest).collect()
    };
    let (texts, lists) = (longest(tree.texts), longest(tree.lists));
    Ok(SaveUsage { header, whole, texts, lists, blocks: sizes })
}

/// Bytes of a save that belong to no value.
#[derive(Default)]
struct Overhead {
    count: u64,
    bytes: u64,
    stored: f64,
}

impl Overhead {
    fn add(&mut self, count: u64, bytes: u64, ratio: f64) {
        self.count += count;
        self.bytes += bytes;
        #[expect(clippy::cast_precision_loss, reason = "a share of what is stored")]
        let share = bytes as f64 * ratio;
        self.stored += share;
    }

    fn usage(self, name: &str) -> Usage {
        let Self { count, bytes, stored } = self;
        let name = format!("({name})");
        Usage { name, count, bytes, stored: rounded(stored), ..Usage::default() }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a sum of bytes")]
fn rounded(bytes: f64) -> u64 {
    bytes.round() as u64
}

/// Returns the classes, with their fields as parts.
fn parts(tree: &UsageTree, stored: &Stored) -> Vec<Usage> {
    let mut found: Vec<(Usage, f64)> = Vec::new();
    for part in tree.parts() {
        let kind = match part.inside {
            None => String::new(),
            Some(_) => stored.node(part.node).kind.display(stored),
        };
        let usage = Usage {
            name: part.name.clone(),
            kind,
            count: part.count,
            bytes: part.bytes,
            stored: 0,
            parts: Vec::new(),
        };
        found.push((usage, part.stored));
    }
    let mut classes = Vec::new();
    // A part comes after the part that contains it, so the reverse order finishes a part before its container.
    for (place, part) in tree.parts().iter().enumerate().rev() {
        let (mut usage, share) = std::mem::take(&mut found[place]);
        usage.stored = rounded(share);
        sort(&mut usage.parts);
        match part.inside {
            Some(inside) => {
                let (container, container_share) = &mut found[inside as usize];
                container.bytes += usage.bytes;
                *container_share += share;
                container.parts.push(usage);
            }
            None => classes.push(usage),
        }
    }
    sort(&mut classes);
    classes
}

fn sort(parts: &mut [Usage]) {
    parts.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
}
