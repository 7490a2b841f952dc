//! The bytes of a journal: a header, and frames.

use byteorder::{ByteOrder, LittleEndian};

use crate::format::Digest;
use crate::{Error, ErrorKind, Result};

/// As a save's, with another letter.
pub(super) const MAGIC: [u8; 8] = *b"\x89PSJ\r\n\x1a\n";

/// The format that this library writes, and the only one that it reads: a journal lives until the next save.
const VERSION: u16 = 4;

/// Magic, version, flags, digest and checksum.
pub(super) const HEADER: usize = 8 + 2 + 2 + Digest::SIZE + 4;

/// The flag of a journal that follows a save.
const FOLLOWS: u16 = 1;

/// Length, kind and sequence number, in front of a payload.
pub(super) const HEAD: usize = 4 + 1 + 8;

/// The checksum at its end.
pub(super) const CRC: usize = 4;

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// The classes by which the following frames are written.
    Program = 1,
    /// What the history was when the journal began; its entries follow.
    Stacks = 2,
    Entry = 3,
    /// What a component or a resource is after the edit that follows, or as the journal begins.
    Content = 4,
    Done = 16,
    Undone = 17,
    Redone = 18,
    Begun = 19,
    Committed = 20,
    RolledBack = 21,
    Saved = 22,
    Cleared = 23,
    Dropped = 24,
    Evicted = 26,
    Skipped = 27,
}

impl Kind {
    fn from_code(code: u8) -> Option<Self> {
        use Kind::{
            Begun, Cleared, Committed, Content, Done, Dropped, Entry, Evicted, Program, Redone,
            RolledBack, Saved, Skipped, Stacks, Undone,
        };
        const ALL: [Kind; 15] = [
            Program, Stacks, Entry, Content, Done, Undone, Redone, Begun, Committed, RolledBack,
            Saved, Cleared, Dropped, Evicted, Skipped,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == code)
    }

    /// True if something happened, rather than that the journal began.
    pub(super) fn is_event(self) -> bool {
        self as u8 >= Self::Done as u8
    }
}

/// The first bytes of a journal that follows this save, or none.
pub(super) fn header(follows: Option<&Digest>) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    LittleEndian::write_u16(&mut bytes[8..10], VERSION);
    if let Some(digest) = follows {
        LittleEndian::write_u16(&mut bytes[10..12], FOLLOWS);
        let mut written = [0; Digest::SIZE];
        digest.write(&mut written);
        bytes[12..HEADER - CRC].copy_from_slice(&written);
    }
    let crc = crc32fast::hash(&bytes[..HEADER - CRC]);
    LittleEndian::write_u32(&mut bytes[HEADER - CRC..], crc);
    bytes
}

/// Reads a header: which save the journal follows.
///
/// # Errors
///
/// [`ErrorKind::NotASave`] if the bytes are those of something else, [`ErrorKind::NewerFormat`], [`ErrorKind::Unsupported`] if it is older, [`ErrorKind::Truncated`], [`ErrorKind::Damaged`].
pub(super) fn read_header(bytes: &[u8]) -> Result<Option<Digest>> {
    let known = &MAGIC[..bytes.len().min(MAGIC.len())];
    let is_empty = bytes.iter().all(|byte| *byte == 0);
    if !is_empty && !bytes.starts_with(known) {
        let message = "this is not a journal: it begins with other bytes; check the path";
        return Err(Error::new(ErrorKind::NotASave, message).at(0));
    }
    let Some(bytes) = bytes.first_chunk::<HEADER>().filter(|_| !is_empty) else {
        let message = "the journal ends in its header";
        return Err(Error::new(ErrorKind::Truncated, message).at(bytes.len() as u64));
    };
    let version = LittleEndian::read_u16(&bytes[8..10]);
    let flags = LittleEndian::read_u16(&bytes[10..12]);
    let (content, crc) = bytes.split_at(HEADER - CRC);
    if crc32fast::hash(content) != LittleEndian::read_u32(crc) {
        let message = "the header of the journal is damaged, its checksum does not match";
        return Err(Error::new(ErrorKind::Damaged, message).at(0));
    }
    if version > VERSION || flags > FOLLOWS {
        let message = format!(
            "the journal has format {version} with flags {flags:#x}, this program reads up to {VERSION}; open it with a newer version of the program"
        );
        return Err(Error::new(ErrorKind::NewerFormat, message).at(8));
    }
    if version < VERSION {
        let message = format!(
            "the journal has format {version}, which versions of the library before the first release wrote; open it with that version of the program and save, or move it away"
        );
        return Err(Error::new(ErrorKind::Unsupported, message).at(8));
    }
    let mut digest = [0; Digest::SIZE];
    digest.copy_from_slice(&content[12..]);
    Ok((flags == FOLLOWS).then(|| Digest::read(&digest)))
}

/// Appends a frame.
pub(super) fn push(kind: Kind, sequence: u64, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let Ok(length) = u32::try_from(payload.len()) else {
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "an edit of {} bytes is over {}, the most that a journal takes at once; do it in several",
                payload.len(),
                u32::MAX
            ),
        ));
    };
    let start = out.len();
    out.extend_from_slice(&length.to_le_bytes());
    out.push(kind as u8);
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(payload);
    let crc = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&crc.to_le_bytes());
    Ok(())
}

/// What stands in front of a payload.
pub(super) struct Head {
    pub(super) length: u64,
    kind: u8,
    pub(super) sequence: u64,
}

impl Head {
    pub(super) fn read(bytes: &[u8; HEAD]) -> Self {
        Self {
            length: u64::from(LittleEndian::read_u32(bytes)),
            kind: bytes[4],
            sequence: LittleEndian::read_u64(&bytes[5..]),
        }
    }

    /// The kind of a frame whose checksum is right.
    pub(super) fn kind(&self) -> Result<Kind> {
        Kind::from_code(self.kind).ok_or_else(|| {
            let message = format!(
                "the journal has a frame of kind {}, which this program does not know; open it with a newer version of the program",
                self.kind
            );
            Error::new(ErrorKind::NewerFormat, message)
        })
    }
}

/// True if the checksum of a frame is right.
pub(super) fn is_whole(head: &[u8; HEAD], payload: &[u8], crc: &[u8; CRC]) -> bool {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(payload);
    hasher.finalize() == LittleEndian::read_u32(crc)
}
