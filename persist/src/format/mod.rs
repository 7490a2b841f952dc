//! The file: header, blocks of definitions and records, trailer.
//!
//! `docs/reference/format.md` is the normative description; the constants here are the
//! ones it names. This room knows bytes, not Rust types.

#[cfg(feature = "tools")]
pub(crate) mod as_value;
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

pub(crate) use blocks::{Checksums, Digest, Ends};
pub use compression::Compression;
pub(crate) use definition::{KIND_DEPTH, SCALARS};
pub use header::{Header, Lineage};
pub(crate) use numbers::{ClassNumbers, FirstNumbers};
pub(crate) use plain::{Plain, unpacked, weight};
pub(crate) use records::{RecordLocation, Records};
pub(crate) use salvage::{Wreck, nothing_whole};
pub(crate) use scan::{Definition, Scan, check, scan};
pub(crate) use sealer::{Sealer, with_header, write_again};
pub(crate) use stream::{BlockReader, Definitions, StreamBlock};
pub(crate) use version_vector::{LONGEST_DEVICE, Latest, VersionVector};
pub(crate) use writer::{RecordLinks, Writer};

/// The first bytes of every save. The first is no text, the line ends show a
/// transfer that translated them, and 0x1A ends a listing on old systems.
pub(crate) const MAGIC: [u8; 8] = *b"\x89PST\r\n\x1a\n";

/// The format that this library writes, and the newest it reads.
pub(crate) const FORMAT_VERSION: u16 = 1;

/// Header fields from here on must be understood by a reader.
const CRITICAL_FIELD: u8 = 0x80;
const FIELD_APPLICATION: u8 = 1;
const FIELD_APPLICATION_VERSION: u8 = 2;
const FIELD_METADATA: u8 = 3;
const FIELD_GENERATION: u8 = 4;
const FIELD_VERSION: u8 = 5;

const BLOCK_RECORDS: u8 = 0x01;
const BLOCK_LZ4: u8 = 0x02;
const BLOCK_ZSTD: u8 = 0x03;
/// The definitions once more, in front of the trailer.
const BLOCK_DEFINITIONS: u8 = 0x04;
const BLOCK_TRAILER: u8 = 0x7f;

/// Tag and length in front of a block's content.
const BLOCK_HEAD: usize = 5;

/// A block is closed by the first item that takes it to this size.
const BLOCK_SIZE: usize = 64 << 10;

/// Class number 0 and length in front of the body of a definition.
const DEFINITION_HEAD: usize = 5;

/// Bytes of a checksum.
const CRC_SIZE: usize = 4;

/// Block tag, three counts and the checksum.
const TRAILER_SIZE: usize = 1 + 3 * 8 + CRC_SIZE;

/// Ends every definition and record: ASCII's record separator.
const SEPARATOR: u8 = 0x1e;

/// The bit of a record's holder byte that marks an object added by the
/// program, rather than met through a reference.
const ADDED: u8 = 0x80;

/// The bit of a reference's holder byte that marks it weak.
const WEAK: u8 = 0x80;

/// The largest object id; half of what a word holds, so that counting up never
/// overflows.
pub(crate) const MAX_ID: u64 = u64::MAX >> 1;
