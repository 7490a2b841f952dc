//! The save file: a header, blocks of definitions and records, and a trailer.
//!
//! `docs/reference/format.md` is the normative description, and names the constants here. This module handles bytes and
//! schemas, not Rust types. `Writer` fills blocks and `Sealer` compresses and checksums them; `Plain` decompresses a
//! save and `Scan` finds its records.
//!
//! | files | part |
//! | --- | --- |
//! | `header`, `version_vector` | the header, and the saves that a save continues |
//! | `definition`, `numbers` | class definitions, and the numbers of classes in a save |
//! | `writer`, `sealer`, `compression` | a save is written: records, blocks, compressed blocks |
//! | `blocks`, `plain`, `scan`, `records` | a save is read: block ends, decompressed content, structure, places of records |
//! | `stream`, `salvage` | a save is read block by block; the whole blocks of a damaged one |

mod blocks;
mod compression;
mod definition;
mod header;
mod numbers;
mod plain;
mod records;
mod salvage;
mod scan;
mod sealer;
mod stream;
mod version_vector;
mod writer;

#[cfg(feature = "history")]
pub use blocks::Digest;
pub(crate) use blocks::{Checksums, Ends};
pub use compression::Compression;
pub use definition::{KIND_DEPTH, SCALARS};
pub use header::{Header, Lineage};
pub(crate) use numbers::{ClassNumbers, FirstNumbers};
pub use plain::unpacked;
pub(crate) use plain::{Plain, weight};
pub use records::{RecordLocation, Records};
pub(crate) use salvage::{DamagedSave, nothing_whole};
pub use scan::scan;
pub(crate) use scan::{Definition, Scan, check};
pub use sealer::Sealer;
pub(crate) use sealer::{with_header, write_again};
pub use stream::{BlockReader, Definitions, StreamBlock};
pub(crate) use version_vector::{LONGEST_DEVICE, Latest, VersionVector};
pub(crate) use writer::RecordLinks;
pub use writer::Writer;

/// The first bytes of every save. The first byte is not ASCII text, the line ends reveal a transfer that converted
/// them, and 0x1A ends a listing on old systems.
pub(crate) const MAGIC: [u8; 8] = *b"\x89PST\r\n\x1a\n";

/// The format that this library writes, and the newest it reads.
pub(crate) const FORMAT_VERSION: u16 = 1;

/// Header fields with tags from here on must be understood by a reader.
const CRITICAL_FIELD: u8 = 0x80;
const FIELD_APPLICATION: u8 = 1;
const FIELD_APPLICATION_VERSION: u8 = 2;
const FIELD_METADATA: u8 = 3;
const FIELD_GENERATION: u8 = 4;
const FIELD_VERSION: u8 = 5;

const BLOCK_RECORDS: u8 = 0x01;
const BLOCK_LZ4: u8 = 0x02;
const BLOCK_ZSTD: u8 = 0x03;
/// A copy of all definitions, right before the trailer.
const BLOCK_DEFINITIONS: u8 = 0x04;
const BLOCK_TRAILER: u8 = 0x7f;

/// Bytes of tag and length before the content of a block.
const BLOCK_HEAD: usize = 5;

/// A block is closed by the first item with which it reaches this size.
const BLOCK_SIZE: usize = 64 << 10;

/// Bytes of class number 0 and length before the body of a definition.
const DEFINITION_HEAD: usize = 5;

/// Bytes of a checksum.
const CRC_SIZE: usize = 4;

/// Bytes of block tag, three counts and checksum.
const TRAILER_SIZE: usize = 1 + 3 * 8 + CRC_SIZE;

/// The byte that ends every definition and record: ASCII's record separator.
const SEPARATOR: u8 = 0x1e;

/// The bit of a record's holder byte that marks an object that the program added. Other objects are only referred to.
const ADDED: u8 = 0x80;

/// The bit of a reference's holder byte that marks it weak.
const WEAK: u8 = 0x80;

/// The largest object id. It is half of the maximum of a word, so that counting up never overflows.
pub(crate) const MAX_ID: u64 = u64::MAX >> 1;
