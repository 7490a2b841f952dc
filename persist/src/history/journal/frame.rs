//! The bytes of a journal, a header and frames, and how they are written and read.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::mem;
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};

use super::recovered::{ReplayStop, TornWrite};
use super::stored::{read, wrong};
use super::{JournalScan, OpenTransaction};
use crate::format::Digest;
use crate::storage::{Storage, StoredFile};
use crate::{Error, ErrorKind, Result};

/// Like the magic bytes of a save, with another letter.
const MAGIC: [u8; 8] = *b"\x89PSJ\r\n\x1a\n";

/// The only format that this library writes and reads. A journal lives until the next save, so old formats need no
/// reader.
const VERSION: u16 = 6;

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
    /// A new beginning, which follows another save. Frames before it belong to the save before.
    Follows = 5,
    /// Entries of the history that stand in front of the beginning, and have not changed since.
    Earlier = 6,
    /// The save that the journal follows is in its place, so the one before it is not continued.
    InPlace = 7,
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
    /// An edit that becomes no entry.
    Aside = 29,
}

impl FrameKind {
    fn from_code(code: u8) -> Result<Self> {
        use FrameKind::*;
        const ALL: [FrameKind; 20] = [
            Program,
            Stacks,
            Entry,
            Content,
            Follows,
            Earlier,
            InPlace,
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
            Aside,
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

/// Frames with entries of a history, one after another.
#[derive(crate::Persist, Clone, Copy, Debug)]
#[persist(crate = crate)]
pub struct EntryRun {
    /// The offset of the first frame.
    pub offset: u64,
    /// The number of bytes of the frames.
    pub bytes: u64,
    /// The number of frames from the first on that do not count.
    pub skipped: u64,
    /// The number of frames after those.
    pub count: u64,
}

/// A frame whose checksum is right.
pub struct Frame<'r> {
    /// The offset of the frame in the file.
    pub offset: u64,
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
    /// The runs of earlier entries that are still to be read, in front of the next frame.
    earlier: VecDeque<EntryRun>,
    /// The end of the last run that was named. A frame is named once, or a small file could name much.
    named: u64,
    /// The entries that were read.
    pub runs: Vec<EntryRun>,
}

/// The head of a frame whose checksum is right.
#[derive(Clone, Copy)]
struct FrameHead {
    offset: u64,
    length: u64,
    sequence: u64,
    kind: FrameKind,
}

/// The result of a look at an offset of a journal.
enum Found {
    Frame(FrameHead),
    /// Fewer bytes than the frame would have.
    End {
        is_torn: bool,
    },
    Bad {
        is_last: bool,
    },
    /// A frame of a kind that this program does not know.
    Unknown(Error),
}

impl JournalScan {
    /// Reads a whole journal for the summary of its last part.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or is no journal.
    pub fn read(storage: &dyn Storage, path: &Path) -> Result<Self> {
        let mut reader = FrameReader::open(storage, path)?;
        let mut read = || -> io::Result<()> {
            loop {
                while reader.next_head()?.is_some() {}
                if reader.scan.damage.is_none() || !reader.skip_damage()? {
                    return Ok(());
                }
            }
        };
        read().map_err(|error| Error::io("read", path, error))?;
        Ok(reader.scan)
    }

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

    /// Returns the part of the journal that follows this save, or the last one.
    ///
    /// Only the last part is continued, except that a save may have been interrupted after its part was written.
    #[must_use]
    pub fn of(self, save: Option<&Digest>) -> Self {
        let is_of = |scan: &Self| match (&scan.follows, save) {
            (Some(follows), Some(save)) => follows.has_content_of(save),
            (None, None) => true,
            _ => false,
        };
        if self.is_in_place || self.events > 0 || is_of(&self) {
            return self;
        }
        match self.previous {
            Some(previous) if is_of(&previous) => *previous,
            previous => Self { previous, ..self },
        }
    }

    fn note(&mut self, frame: &FrameHead) {
        self.frames += 1;
        self.events += u64::from(frame.kind.is_event());
        self.is_in_place |= frame.kind == FrameKind::InPlace;
        (self.sequence, self.end) = (frame.sequence, frame.offset + frame.length);
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

    /// Begins the part that follows another save.
    fn follow(&mut self, save: Digest, frame: &FrameHead) {
        let (size, start) = (self.size, frame.offset + frame.length);
        let next = Self { follows: Some(save), size, start, ..Self::default() };
        let previous = mem::replace(self, next);
        self.note(frame);
        self.previous = Some(Box::new(Self { previous: None, ..previous }));
    }
}

impl FrameReader {
    /// Opens a journal and reads its header.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or is no journal.
    fn open(storage: &dyn Storage, path: &Path) -> Result<Self> {
        let mut file = storage.open(path).map_err(|error| Error::of_opening(path, error))?;
        let failed = |error| Error::io("read", path, error);
        let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let mut file = BufReader::new(file);
        let mut header = Vec::new();
        (&mut file).take(HEADER as u64).read_to_end(&mut header).map_err(failed)?;
        let follows = read_header(&header).map_err(|error| error.in_file(path))?;
        let (start, end) = (HEADER as u64, HEADER as u64);
        let scan =
            JournalScan { follows, size, start, end, is_in_place: true, ..JournalScan::default() };
        let (bytes, earlier, runs) = (Vec::new(), VecDeque::new(), Vec::new());
        Ok(Self { file, scan, bytes, earlier, named: 0, runs })
    }

    /// Opens a journal, and reads from the first frame of this part on.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or is no journal.
    pub fn open_part(storage: &dyn Storage, path: &Path, part: &JournalScan) -> Result<Self> {
        let mut reader = Self::open(storage, path)?;
        let (start, follows) = (part.start, part.follows);
        let moved = reader.file.seek(SeekFrom::Start(start));
        moved.map_err(|error| Error::io("read", path, error))?;
        (reader.scan.follows, reader.scan.start, reader.scan.end) = (follows, start, start);
        Ok(reader)
    }

    /// Reads the next frame with a higher number than the last, or the next entry that a frame names. Returns `None` at
    /// the end, and the scan says why.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read. Damage is in the summary.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame<'_>>> {
        let head = loop {
            let head = match self.earlier.is_empty() {
                true => self.next_head()?,
                false => self.next_earlier()?,
            };
            match head {
                Some(head) if head.kind == FrameKind::Earlier => {
                    let named = read(self.payload());
                    if let Err(error) = named.and_then(|runs| self.name(runs)) {
                        self.scan.damage = Some(error.moved_to(head.offset));
                        return Ok(None);
                    }
                    self.seek_next()?;
                }
                Some(head) => break head,
                None => return Ok(None),
            }
        };
        let FrameHead { offset, kind, length, .. } = head;
        if kind == FrameKind::Entry {
            match self.runs.last_mut() {
                Some(run) if run.offset + run.bytes == offset => {
                    run.bytes += length;
                    run.count += 1;
                }
                _ => self.runs.push(EntryRun { offset, bytes: length, skipped: 0, count: 1 }),
            }
        }
        Ok(Some(Frame { offset, kind, payload: self.payload() }))
    }

    /// The content of the frame that was read last.
    fn payload(&self) -> &[u8] {
        &self.bytes[HEAD..self.bytes.len() - CRC]
    }

    /// Notes the runs of entries that come next.
    fn name(&mut self, runs: Vec<EntryRun>) -> Result<()> {
        for run in &runs {
            let end = run.offset.checked_add(run.bytes);
            let Some(end) = end.filter(|end| run.offset >= self.named && *end <= self.scan.start)
            else {
                return Err(wrong("entries that are not in front of its beginning"));
            };
            self.named = end;
        }
        self.earlier = runs.into();
        Ok(())
    }

    /// Continues at the next run of earlier entries, or after the frame that named them.
    fn seek_next(&mut self) -> io::Result<()> {
        let offset = self.earlier.front().map_or(self.scan.end, |run| run.offset);
        self.file.seek(SeekFrom::Start(offset)).map(drop)
    }

    /// Reads an entry in front of the beginning. Returns `None` after the last one, and if there is damage.
    fn next_earlier(&mut self) -> io::Result<Option<FrameHead>> {
        while let Some(run) = self.earlier.front().copied() {
            if run.count == 0 {
                self.earlier.pop_front();
                self.seek_next()?;
                continue;
            }
            let head = match self.read_at(run.offset)? {
                Found::Frame(head) if head.kind == FrameKind::Entry && head.length <= run.bytes => {
                    head
                }
                _ => {
                    let error = wrong("an entry that is not where its beginning says");
                    self.scan.damage = Some(error.moved_to(run.offset));
                    return Ok(None);
                }
            };
            let Some(run) = self.earlier.front_mut() else { break };
            run.offset += head.length;
            run.bytes -= head.length;
            if run.skipped == 0 {
                run.count -= 1;
                return Ok(Some(head));
            }
            run.skipped -= 1;
        }
        self.next_head()
    }

    /// Reads the next frame itself, without the entries that it names.
    fn next_head(&mut self) -> io::Result<Option<FrameHead>> {
        let mut offset = self.scan.end;
        loop {
            let head = match self.read_at(offset)? {
                Found::Frame(head) => head,
                Found::End { is_torn } => {
                    self.scan.is_torn = is_torn;
                    return Ok(None);
                }
                Found::Bad { is_last } => return self.stop_at(offset, is_last),
                Found::Unknown(error) => {
                    self.scan.damage = Some(error);
                    return Ok(None);
                }
            };
            let (is_first, last) = (self.scan.frames == 0, self.scan.sequence);
            if !is_first && head.sequence <= last {
                offset += head.length;
                continue;
            }
            if !is_first && head.sequence - 1 > last {
                self.scan.damage = Some(gap(offset, last, head.sequence));
                return Ok(None);
            }
            match head.kind {
                FrameKind::Follows => {
                    let Ok(save) = self.payload().try_into() else {
                        self.scan.damage = Some(wrong("a digest of another length").at(offset));
                        return Ok(None);
                    };
                    self.scan.follow(Digest(save), &head);
                }
                _ => self.scan.note(&head),
            }
            return Ok(Some(head));
        }
    }

    /// Reads what is at an offset, where the file stands.
    fn read_at(&mut self, offset: u64) -> io::Result<Found> {
        let left = self.scan.size.saturating_sub(offset);
        let mut head = [0; HEAD];
        if left < (HEAD + CRC) as u64 {
            return Ok(Found::End { is_torn: left > 0 });
        }
        self.file.read_exact(&mut head)?;
        let length = (HEAD + CRC) as u64 + u64::from(LittleEndian::read_u32(&head));
        let sequence = LittleEndian::read_u64(&head[7..]);
        if length > left {
            return Ok(Found::End { is_torn: true });
        }
        if head == [0; HEAD] {
            // After a power failure, a file may have its new length, and zeros in place of the data.
            return Ok(Found::Bad { is_last: false });
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
            return Ok(Found::Bad { is_last: length == left });
        }
        Ok(match FrameKind::from_code(head[4]) {
            Ok(kind) => Found::Frame(FrameHead { offset, length, sequence, kind }),
            Err(error) => Found::Unknown(error.at(offset)),
        })
    }

    /// Continues after damage with the next part of the journal. Returns false if there is none.
    ///
    /// Most damage leaves the lengths as they are, and what an earlier part has lost, the last one need not miss.
    fn skip_damage(&mut self) -> io::Result<bool> {
        let mut offset = self.scan.end;
        while self.scan.size.saturating_sub(offset) >= (HEAD + CRC) as u64 {
            self.file.seek(SeekFrom::Start(offset))?;
            let mut head = [0; HEAD];
            self.file.read_exact(&mut head)?;
            if head[4] == FrameKind::Follows as u8
                && LittleEndian::read_u64(&head[7..]) > self.scan.sequence
            {
                self.file.seek(SeekFrom::Start(offset))?;
                if let Found::Frame(head) = self.read_at(offset)?
                    && let Ok(save) = self.payload().try_into()
                {
                    self.scan.follow(Digest(save), &head);
                    return Ok(true);
                }
            }
            offset += (HEAD + CRC) as u64 + u64::from(LittleEndian::read_u32(&head));
        }
        Ok(false)
    }

    /// Notes that the good frames end before the file does, and why: a power failure interrupted the last append, or
    /// the file is damaged.
    fn stop_at(&mut self, offset: u64, is_last: bool) -> io::Result<Option<FrameHead>> {
        /// The largest rest, in bytes, that is searched for frames. A larger rest counts as damaged.
        const LONGEST: u64 = 16 << 20;
        let left = self.scan.size.saturating_sub(offset);
        let mut rest = Vec::new();
        self.file.seek(SeekFrom::Start(offset))?;
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
