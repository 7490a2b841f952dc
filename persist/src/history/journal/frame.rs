//! The bytes of a journal: a header, and frames; how they are written and read.

use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};

use super::recovered::{Stopped, Torn};
use crate::format::Digest;
use crate::storage::{Storage, StoredFile};
use crate::{Error, ErrorKind, Result};

/// As a save's, with another letter.
const MAGIC: [u8; 8] = *b"\x89PSJ\r\n\x1a\n";

/// The format that this library writes, and the only one that it reads: a journal lives until the next save.
const VERSION: u16 = 5;

/// Magic, version, flags, digest and checksum.
const HEADER: usize = 8 + 2 + 2 + Digest::SIZE + 4;

/// The flag of a journal that follows a save.
const FOLLOWS: u16 = 1;

/// Length, kind, place and sequence number, in front of a payload.
const HEAD: usize = 4 + 1 + 2 + 8;

/// The checksum at its end.
pub(super) const CRC: usize = 4;

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(in crate::history) enum FrameKind {
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

impl FrameKind {
    fn from_code(code: u8) -> Result<Self> {
        use FrameKind::*;
        const ALL: [FrameKind; 15] = [
            Program, Stacks, Entry, Content, Done, Undone, Redone, Begun, Committed, RolledBack,
            Saved, Cleared, Dropped, Evicted, Skipped,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == code).ok_or_else(|| {
            let message = format!(
                "the journal has a frame of kind {code}, which this program does not know; open it with a newer version of the program"
            );
            Error::new(ErrorKind::NewerFormat, message)
        })
    }

    /// True if it says what the journal began with.
    pub(super) fn is_beginning(self) -> bool {
        self < Self::Done
    }

    /// True if somebody did something.
    pub(super) fn is_event(self) -> bool {
        !self.is_beginning() && self != Self::Evicted
    }
}

/// The first bytes of a journal that follows this save, or none.
pub(super) fn header(follows: Option<&Digest>) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    LittleEndian::write_u16(&mut bytes[8..10], VERSION);
    if let Some(digest) = follows {
        LittleEndian::write_u16(&mut bytes[10..12], FOLLOWS);
        bytes[12..HEADER - CRC].copy_from_slice(&digest.0);
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
fn read_header(bytes: &[u8]) -> Result<Option<Digest>> {
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
    Ok((flags == FOLLOWS).then_some(Digest(digest)))
}

/// Appends a frame to the bytes of an append, in which `place` frames stand before it.
///
/// The place separates a power cut from damage: if the first frame of an append is missing and a later one is whole, no
/// acknowledged edit is missing.
pub(super) fn push(
    kind: FrameKind,
    place: usize,
    sequence: u64,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    let place = u16::try_from(place).unwrap_or(u16::MAX);
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
    out.extend_from_slice(&place.to_le_bytes());
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(payload);
    let crc = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&crc.to_le_bytes());
    Ok(())
}

/// A frame whose checksum is right.
pub(super) struct Frame<'r> {
    pub(super) offset: u64,
    pub(super) sequence: u64,
    pub(super) kind: FrameKind,
    pub(super) payload: &'r [u8],
}

/// Reads the frames of a journal, each whole in memory, no other.
pub(super) struct FrameReader {
    file: BufReader<Box<dyn StoredFile>>,
    /// What has been read.
    pub(super) scan: JournalScan,
    bytes: Vec<u8>,
}

/// What a journal holds, as far as that is known without doing it again.
#[derive(Default)]
pub(super) struct JournalScan {
    pub(super) follows: Option<Digest>,
    /// Bytes of the file.
    pub(super) size: u64,
    /// Where the good frames end.
    pub(super) end: u64,
    /// How many there are, and the number of the last.
    pub(super) frames: u64,
    pub(super) sequence: u64,
    /// How many things happened since it began.
    pub(super) events: u64,
    /// True if the file ends in the middle of an append.
    pub(super) is_torn: bool,
    /// True if what is torn may be a frame that was written whole, and has been damaged since: it has its length, and not
    /// its checksum.
    pub(super) is_garbled: bool,
    /// Why the bytes after the good frames are no frame, and not the end of the file.
    pub(super) damage: Option<Error>,
    /// The outermost transaction that is open at the end.
    pub(super) open: Option<OpenTransaction>,
}

/// A transaction without an end.
#[derive(Clone, Copy)]
pub(super) struct OpenTransaction {
    /// Where it begins, and the number of the frame before.
    pub(super) offset: u64,
    pub(super) before: u64,
    /// How many are open, one in the other.
    pub(super) depth: usize,
}

impl JournalScan {
    /// How many transactions are open at the end, one in the other.
    pub(super) fn depth(&self) -> usize {
        self.open.map_or(0, |open| open.depth)
    }

    pub(super) fn torn(&self) -> Option<Torn> {
        self.is_torn.then(|| Torn { offset: self.end, bytes: self.size - self.end })
    }

    /// Where and why it cannot be read further, if it is damaged.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        self.damage.as_ref().map(|error| Stopped::at(self.end, error))
    }

    fn note(&mut self, frame: &Frame<'_>, end: u64) {
        self.frames += 1;
        self.events += u64::from(frame.kind.is_event());
        (self.sequence, self.end) = (frame.sequence, end);
        self.open = match (frame.kind, self.open) {
            (FrameKind::Begun, None) => Some(OpenTransaction {
                offset: frame.offset,
                before: frame.sequence.saturating_sub(1),
                depth: 1,
            }),
            (FrameKind::Begun, Some(open)) => {
                Some(OpenTransaction { depth: open.depth + 1, ..open })
            }
            (FrameKind::Committed | FrameKind::RolledBack, open) => open
                .filter(|open| open.depth > 1)
                .map(|open| OpenTransaction { depth: open.depth - 1, ..open }),
            (_, open) => open,
        };
    }
}

impl FrameReader {
    /// Opens a journal and reads its header.
    pub(super) fn open(storage: &dyn Storage, path: &Path) -> Result<Self> {
        let mut file = storage.open(path).map_err(|error| Error::of_opening(path, error))?;
        let failed = |error| Error::io("read", path, error);
        let size = file.seek(io::SeekFrom::End(0)).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let mut file = BufReader::new(file);
        let mut header = Vec::new();
        (&mut file).take(HEADER as u64).read_to_end(&mut header).map_err(failed)?;
        let follows = read_header(&header).map_err(|error| error.in_file(path))?;
        let scan = JournalScan { follows, size, end: HEADER as u64, ..JournalScan::default() };
        Ok(Self { file, scan, bytes: Vec::new() })
    }

    /// The next frame whose number is above that of the last; `None` if there is none, and the scan says why.
    pub(super) fn next(&mut self) -> io::Result<Option<Frame<'_>>> {
        let mut offset = self.scan.end;
        loop {
            let left = self.scan.size.saturating_sub(offset);
            let mut head = [0; HEAD];
            if left < (HEAD + CRC) as u64 {
                self.scan.is_torn = left > 0;
                return Ok(None);
            }
            self.file.read_exact(&mut head)?;
            let length = (HEAD + CRC) as u64 + u64::from(LittleEndian::read_u32(&head));
            let sequence = LittleEndian::read_u64(&head[7..]);
            if length > left {
                self.scan.is_torn = true;
                return Ok(None);
            }
            if head == [0; HEAD] {
                // A disk that lost power may have the length of a file, and zeros in it.
                return self.stop_at(offset, false);
            }
            // The file has as many bytes, so that no more memory is asked for.
            let whole = usize::try_from(length).unwrap_or(usize::MAX);
            let bytes = &mut self.bytes;
            bytes.clear();
            bytes.try_reserve_exact(whole).map_err(|_| io::ErrorKind::OutOfMemory)?;
            bytes.extend_from_slice(&head);
            bytes.resize(whole, 0);
            self.file.read_exact(&mut bytes[HEAD..])?;
            let (content, crc) = bytes.split_at(whole - CRC);
            if crc32fast::hash(content) != LittleEndian::read_u32(crc) {
                return self.stop_at(offset, length == left);
            }
            let kind = match FrameKind::from_code(head[4]) {
                Ok(kind) => kind,
                Err(error) => {
                    self.scan.damage = Some(error.at(offset));
                    return Ok(None);
                }
            };
            let (is_first, last) = (self.scan.frames == 0, self.scan.sequence);
            if !is_first && sequence <= last {
                offset += length;
                continue;
            }
            if !is_first && sequence - 1 > last {
                self.scan.damage = Some(gap(offset, last, sequence));
                return Ok(None);
            }
            let frame = Frame { offset, sequence, kind, payload: &self.bytes[HEAD..whole - CRC] };
            self.scan.note(&frame, offset + length);
            return Ok(Some(frame));
        }
    }

    /// Notes that the frames end at an offset before the file does, and why: a power cut has interrupted the one append that is
    /// there, or it is damaged.
    fn stop_at(&mut self, offset: u64, is_last: bool) -> io::Result<Option<Frame<'_>>> {
        /// Bytes of an append that is looked through; more of it counts as damaged.
        const LONGEST: u64 = 16 << 20;
        let left = self.scan.size.saturating_sub(offset);
        let mut rest = Vec::new();
        self.file.seek(io::SeekFrom::Start(offset))?;
        (&mut self.file).take(left.min(LONGEST)).read_to_end(&mut rest)?;
        let is_read = left <= LONGEST;
        // A disk that lost power may have the length of a file, and zeros in it.
        let is_zero = is_read && rest.iter().all(|byte| *byte == 0);
        let is_unfinished = || !has_later_append(&rest, self.scan.sequence);
        self.scan.is_torn = is_last || is_zero || (is_read && is_unfinished());
        self.scan.is_garbled = self.scan.is_torn && !is_zero;
        self.scan.damage = (!self.scan.is_torn).then(|| damaged(offset));
        Ok(None)
    }
}

/// Length with the checksum, place and number of the frame that these bytes begin with, as its head says.
fn head_of(bytes: &[u8]) -> Option<(usize, u16, u64)> {
    let head = bytes.first_chunk::<HEAD>()?;
    let length = usize::try_from(LittleEndian::read_u32(head)).ok()?;
    FrameKind::from_code(head[4]).ok()?;
    let place = LittleEndian::read_u16(&head[5..]);
    Some((length.checked_add(HEAD + CRC)?, place, LittleEndian::read_u64(&head[7..])))
}

/// True if a whole frame of a later append follows, or if looking for it takes too long.
///
/// The append under way has the frame after number `last`. A disk writes its sectors in any order, so that other whole
/// frames of it say nothing.
fn has_later_append(rest: &[u8], last: u64) -> bool {
    // In bytes made to harm, a head that fits may begin at each byte.
    let mut budget = 8 * rest.len();
    for start in 0..rest.len() {
        let Some((length, place, sequence)) = head_of(&rest[start..]) else { continue };
        let is_near = sequence > last && sequence - last <= rest.len() as u64;
        // The last place stands for itself and all after it.
        let is_same = place < u16::MAX && sequence.saturating_sub(u64::from(place)) <= last + 1;
        let Some(frame) = rest.get(start..start + length).filter(|_| is_near && !is_same) else {
            continue;
        };
        let Some(left) = budget.checked_sub(length) else { return true };
        budget = left;
        let (content, crc) = frame.split_at(length - CRC);
        if crc32fast::hash(content) == LittleEndian::read_u32(crc) {
            return true;
        }
    }
    false
}

#[cold]
fn damaged(offset: u64) -> Error {
    let message = "the journal is damaged, the checksum of a frame does not match";
    Error::new(ErrorKind::Damaged, message).at(offset)
}

#[cold]
fn gap(offset: u64, last: u64, found: u64) -> Error {
    error!(
        ErrorKind::Damaged,
        "frames of the journal are missing, number {found} follows number {last}; it is damaged"
    )
    .at(offset)
}

/// Looks through a journal.
pub(super) fn scan(storage: &dyn Storage, path: &Path) -> Result<JournalScan> {
    let mut reader = FrameReader::open(storage, path)?;
    while reader.next().map_err(|error| Error::io("read", path, error))?.is_some() {}
    Ok(reader.scan)
}
