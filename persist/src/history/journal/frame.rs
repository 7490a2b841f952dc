//! The bytes of a journal, a header and frames, and how they are written and read.

use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};

use super::recovered::{ReplayStop, TornWrite};
use super::{JournalScan, OpenTransaction};
use crate::format::Digest;
use crate::storage::{Storage, StoredFile};
use crate::{Error, ErrorKind, Result};

/// Like the magic bytes of a save, with another letter.
const MAGIC: [u8; 8] = *b"\x89PSJ\r\n\x1a\n";

/// The only format that this library writes and reads. A journal lives until the next save, so old formats need no
/// reader.
const VERSION: u16 = 5;

/// Bytes of the header: magic, version, flags, digest of the save, and checksum.
const HEADER: usize = 8 + 2 + 2 + Digest::SIZE + 4;

/// The flag of a journal that follows a save.
const FOLLOWS: u16 = 1;

/// Bytes before a payload: its length, the kind, the place in the append, and the sequence number.
const HEAD: usize = 4 + 1 + 2 + 8;

/// Bytes of the checksum after a payload.
pub(super) const CRC: usize = 4;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub enum FrameKind {
    /// The classes of the frames that follow.
    Program = 1,
    /// The state of the history when the journal began. Its entries follow.
    Stacks = 2,
    /// An entry of the history when the journal began.
    Entry = 3,
    /// The content of a component or a resource, at the beginning of the journal or after the edit that follows.
    Content = 4,
    /// An edit.
    Done = 16,
    /// An undo.
    Undone = 17,
    /// A redo.
    Redone = 18,
    /// The start of a transaction.
    Begun = 19,
    /// The commit of a transaction.
    Committed = 20,
    /// The rollback of a transaction.
    RolledBack = 21,
    /// The state was saved, or is no longer that of a save.
    Saved = 22,
    /// All entries were cleared.
    Cleared = 23,
    /// An entry that could not be undone or redone was dropped.
    Dropped = 24,
    /// Entries were evicted, since the history has a limit.
    Evicted = 26,
    /// An entry counts as undone or redone, though it could not be.
    Skipped = 27,
    /// An edit that leaves the target unmodified, such as a selection.
    Insignificant = 28,
}

impl FrameKind {
    fn from_code(code: u8) -> Result<Self> {
        use FrameKind::*;
        const ALL: [FrameKind; 16] = [
            Program,
            Stacks,
            Entry,
            Content,
            Done,
            Undone,
            Redone,
            Begun,
            Committed,
            RolledBack,
            Saved,
            Cleared,
            Dropped,
            Evicted,
            Skipped,
            Insignificant,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == code).ok_or_else(|| {
            let message = format!(
                "the journal has a frame of kind {code}, which this program does not know; open it with a newer version of the program"
            );
            Error::new(ErrorKind::NewerFormat, message)
        })
    }

    /// True if it describes the state at the beginning of the journal.
    pub(super) fn is_beginning(self) -> bool {
        self < Self::Done
    }

    /// True if it records an action of the user or the program.
    fn is_event(self) -> bool {
        !self.is_beginning() && self != Self::Evicted
    }
}

/// The header of a journal that follows this save. `None` if there is no save yet.
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

/// Reads a header. Returns the digest of the save that the journal follows.
///
/// # Errors
///
/// Returns [`ErrorKind::NotASave`] if the bytes are not those of a journal, [`ErrorKind::NewerFormat`] or
/// [`ErrorKind::Unsupported`] for a newer or older format, and [`ErrorKind::Truncated`] or [`ErrorKind::Damaged`].
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

/// Encodes a frame. `place` is the number of frames before it in the same append.
///
/// The place distinguishes a power failure from damage. A disk writes its sectors in any order, so that a later frame
/// of the same append may be whole while an earlier one is missing. No acknowledged edit is lost then.
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
pub struct Frame<'r> {
    /// The offset of the frame in the file.
    pub offset: u64,
    sequence: u64,
    /// The kind of the frame.
    pub kind: FrameKind,
    /// The content of the frame.
    pub payload: &'r [u8],
}

/// Reads the frames of a journal, one at a time. Only one frame is in memory.
pub struct FrameReader {
    file: BufReader<Box<dyn StoredFile>>,
    /// A summary of the frames that were read.
    pub scan: JournalScan,
    bytes: Vec<u8>,
}

impl JournalScan {
    /// The number of nested transactions that are open at the end.
    pub fn depth(&self) -> usize {
        self.open.map_or(0, |open| open.depth)
    }

    /// Returns where an interrupted append begins, if the file ends in one.
    pub fn torn(&self) -> Option<TornWrite> {
        self.is_torn.then(|| TornWrite { offset: self.end, bytes: self.size - self.end })
    }

    /// The place and the reason, if damage prevents reading further.
    pub fn stopped(&self) -> Option<ReplayStop> {
        self.damage.as_ref().map(|error| ReplayStop::new(self.end, error))
    }

    fn note(&mut self, frame: &Frame<'_>, end: u64) {
        self.frames += 1;
        self.events += u64::from(frame.kind.is_event());
        (self.sequence, self.end) = (frame.sequence, end);
        self.open = match (frame.kind, self.open) {
            (FrameKind::Begun, None) => Some(OpenTransaction {
                offset: frame.offset,
                previous: frame.sequence.saturating_sub(1),
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
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or is no journal.
    pub fn open(storage: &dyn Storage, path: &Path) -> Result<Self> {
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

    /// Reads the next frame with a higher number than the last. Returns `None` at the end, and the scan says why.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read. Damage is in the summary.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame<'_>>> {
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
                // After a power failure, a file may have its new length, and zeros in place of the data.
                return self.stop_at(offset, false);
            }
            // The file has that many bytes, so a corrupt length cannot request more memory.
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

    /// Notes that the good frames end before the file does, and why: a power failure interrupted the last append, or
    /// the file is damaged.
    fn stop_at(&mut self, offset: u64, is_last: bool) -> io::Result<Option<Frame<'_>>> {
        /// The largest rest, in bytes, that is searched for frames. A larger rest counts as damaged.
        const LONGEST: u64 = 16 << 20;
        let left = self.scan.size.saturating_sub(offset);
        let mut rest = Vec::new();
        self.file.seek(io::SeekFrom::Start(offset))?;
        (&mut self.file).take(left.min(LONGEST)).read_to_end(&mut rest)?;
        let is_read = left <= LONGEST;
        // After a power failure, a file may have its new length, and zeros in place of the data.
        let is_zero = is_read && rest.iter().all(|byte| *byte == 0);
        let is_unfinished = || !has_later_append(&rest, self.scan.sequence);
        self.scan.is_torn = is_last || is_zero || (is_read && is_unfinished());
        self.scan.is_garbled = self.scan.is_torn && !is_zero;
        self.scan.damage = (!self.scan.is_torn).then(|| damaged(offset));
        Ok(None)
    }
}

/// The length with head and checksum, the place, and the number of the frame that begins here, according to its head.
fn head_of(bytes: &[u8]) -> Option<(usize, u16, u64)> {
    let head = bytes.first_chunk::<HEAD>()?;
    let length = usize::try_from(LittleEndian::read_u32(head)).ok()?;
    FrameKind::from_code(head[4]).ok()?;
    let place = LittleEndian::read_u16(&head[5..]);
    Some((length.checked_add(HEAD + CRC)?, place, LittleEndian::read_u64(&head[7..])))
}

/// True if a whole frame of a later append follows, or if the search takes too long.
///
/// The interrupted append has the frame after number `last`. Other whole frames of the same append prove nothing, since
/// a disk writes its sectors in any order.
fn has_later_append(rest: &[u8], last: u64) -> bool {
    // In a malicious file, a head that fits may begin at each byte, and each would cost a checksum of the rest.
    let mut budget = 8 * rest.len();
    for start in 0..rest.len() {
        let Some((length, place, sequence)) = head_of(&rest[start..]) else { continue };
        let is_near = sequence > last && sequence - last <= rest.len() as u64;
        // The highest place stands for itself and all places after it.
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

/// Reads a whole journal for its summary.
pub(super) fn scan(storage: &dyn Storage, path: &Path) -> Result<JournalScan> {
    let mut reader = FrameReader::open(storage, path)?;
    while reader.next_frame().map_err(|error| Error::io("read", path, error))?.is_some() {}
    Ok(reader.scan)
}
