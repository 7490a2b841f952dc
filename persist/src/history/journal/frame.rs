//! The bytes of a journal: a header, and frames; how they are written and read.

use std::io::{self, BufReader, Read};
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};

use crate::format::Digest;
use crate::storage::{Storage, StoredFile};
use crate::{Error, ErrorKind, Result};

/// As a save's, with another letter.
const MAGIC: [u8; 8] = *b"\x89PSJ\r\n\x1a\n";

/// The format that this library writes, and the only one that it reads: a journal lives until the next save.
const VERSION: u16 = 4;

/// Magic, version, flags, digest and checksum.
const HEADER: usize = 8 + 2 + 2 + Digest::SIZE + 4;

/// The flag of a journal that follows a save.
const FOLLOWS: u16 = 1;

/// Length, kind and sequence number, in front of a payload.
const HEAD: usize = 4 + 1 + 8;

/// The checksum at its end.
pub(super) const CRC: usize = 4;

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(super) enum FrameKind {
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
        use FrameKind::{
            Begun, Cleared, Committed, Content, Done, Dropped, Entry, Evicted, Program, Redone,
            RolledBack, Saved, Skipped, Stacks, Undone,
        };
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

/// Appends a frame.
pub(super) fn push(
    kind: FrameKind,
    sequence: u64,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
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
    /// Which save it follows.
    pub(super) follows: Option<Digest>,
    /// Bytes of the file.
    pub(super) size: u64,
    /// Where the next frame begins.
    pub(super) offset: u64,
    /// The number of the last frame.
    pub(super) sequence: Option<u64>,
    /// The bytes of a frame.
    bytes: Vec<u8>,
}

/// Why there is no further frame.
pub(super) enum FrameStop {
    /// The file ends.
    End,
    /// It ends in the middle of an append; `is_garbled` if the last frame has its length, and not its checksum.
    Torn { is_garbled: bool },
    /// The bytes are no frame, and not the end of the file.
    Damaged(Error),
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
        Ok(Self { file, follows, size, offset: HEADER as u64, sequence: None, bytes: Vec::new() })
    }

    /// The next frame whose number is above that of the last.
    pub(super) fn next(&mut self) -> io::Result<Result<Frame<'_>, FrameStop>> {
        loop {
            let offset = self.offset;
            let left = self.size.saturating_sub(offset);
            let mut head = [0; HEAD];
            if left < (HEAD + CRC) as u64 {
                return Ok(Err(if left == 0 { FrameStop::End } else { TORN }));
            }
            self.file.read_exact(&mut head)?;
            let length = (HEAD + CRC) as u64 + u64::from(LittleEndian::read_u32(&head));
            let sequence = LittleEndian::read_u64(&head[5..]);
            if length > left {
                return Ok(Err(TORN));
            }
            if head == [0; HEAD] {
                // A disk that lost power may have the length of a file, and zeros in it.
                return Ok(Err(if self.is_zero()? { TORN } else { damaged(offset) }));
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
                return Ok(Err(if length == left {
                    FrameStop::Torn { is_garbled: true }
                } else {
                    damaged(offset)
                }));
            }
            let kind = match FrameKind::from_code(head[4]) {
                Ok(kind) => kind,
                Err(error) => return Ok(Err(FrameStop::Damaged(error.at(offset)))),
            };
            self.offset += length;
            match self.sequence {
                Some(last) if sequence <= last => continue,
                Some(last) if sequence > last + 1 => {
                    self.offset = offset;
                    return Ok(Err(gap(offset, last, sequence)));
                }
                _ => {}
            }
            self.sequence = Some(sequence);
            let payload = &self.bytes[HEAD..whole - CRC];
            return Ok(Ok(Frame { offset, sequence, kind, payload }));
        }
    }

    /// True if all that follows is zero.
    fn is_zero(&mut self) -> io::Result<bool> {
        let mut part = [0; 4 << 10];
        loop {
            match self.file.read(&mut part) {
                Ok(0) => return Ok(true),
                Ok(read) if part[..read].iter().all(|byte| *byte == 0) => {}
                Ok(_) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

const TORN: FrameStop = FrameStop::Torn { is_garbled: false };

#[cold]
fn damaged(offset: u64) -> FrameStop {
    let message = "the journal is damaged, the checksum of a frame does not match";
    FrameStop::Damaged(Error::new(ErrorKind::Damaged, message).at(offset))
}

#[cold]
fn gap(offset: u64, last: u64, found: u64) -> FrameStop {
    let message = format!(
        "frames of the journal are missing, number {found} follows number {last}; it is damaged"
    );
    FrameStop::Damaged(Error::new(ErrorKind::Damaged, message).at(offset))
}

/// What a journal holds, as far as that is known without doing it again.
pub(super) struct JournalScan {
    pub(super) follows: Option<Digest>,
    pub(super) size: u64,
    /// Where the good frames end.
    pub(super) end: u64,
    /// How many there are, and the number of the last.
    pub(super) frames: u64,
    pub(super) sequence: u64,
    /// How many things happened since it began.
    pub(super) events: u64,
    pub(super) is_torn: bool,
    /// True if what is torn may be a frame that was written whole, and has been damaged since.
    pub(super) is_garbled: bool,
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

impl OpenTransaction {
    /// What is open after a frame.
    pub(super) fn behind(open: Option<Self>, frame: &Frame<'_>) -> Option<Self> {
        match (frame.kind, open) {
            (FrameKind::Begun, None) => Some(Self {
                offset: frame.offset,
                before: frame.sequence.saturating_sub(1),
                depth: 1,
            }),
            (FrameKind::Begun, Some(open)) => Some(Self { depth: open.depth + 1, ..open }),
            (FrameKind::Committed | FrameKind::RolledBack, Some(open)) if open.depth > 1 => {
                Some(Self { depth: open.depth - 1, ..open })
            }
            (FrameKind::Committed | FrameKind::RolledBack, _) => None,
            (_, open) => open,
        }
    }
}

/// Looks through a journal.
pub(super) fn scan(storage: &dyn Storage, path: &Path) -> Result<JournalScan> {
    let mut reader = FrameReader::open(storage, path)?;
    let mut scan = JournalScan {
        follows: reader.follows,
        size: reader.size,
        end: reader.offset,
        frames: 0,
        sequence: 0,
        events: 0,
        is_torn: false,
        is_garbled: false,
        damage: None,
        open: None,
    };
    loop {
        match reader.next().map_err(|error| Error::io("read", path, error))? {
            Ok(frame) => {
                scan.frames += 1;
                scan.sequence = frame.sequence;
                scan.events += u64::from(frame.kind.is_event());
                scan.open = OpenTransaction::behind(scan.open, &frame);
                scan.end = reader.offset;
            }
            Err(stop) => {
                match stop {
                    FrameStop::End => {}
                    FrameStop::Torn { is_garbled } => {
                        (scan.is_torn, scan.is_garbled) = (true, is_garbled);
                    }
                    FrameStop::Damaged(error) => scan.damage = Some(error),
                }
                return Ok(scan);
            }
        }
    }
}
