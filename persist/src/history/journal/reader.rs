//! Journals that are read.

use std::io::{self, BufReader, Read};
use std::path::Path;

use super::frame::{CRC, HEAD, HEADER, Head, Kind, is_whole, read_header};
use crate::format::Digest;
use crate::storage::{Storage, StoredFile};
use crate::{Error, ErrorKind, Result};

/// A frame whose checksum is right.
pub(super) struct Frame {
    pub(super) offset: u64,
    pub(super) sequence: u64,
    pub(super) kind: Kind,
    pub(super) payload: Vec<u8>,
}

/// Reads the frames of a journal, each whole in memory, no other.
pub(super) struct Reader {
    file: BufReader<Box<dyn StoredFile>>,
    /// Which save it follows.
    pub(super) follows: Option<Digest>,
    /// Bytes of the file.
    pub(super) size: u64,
    /// Where the next frame begins.
    pub(super) offset: u64,
    /// The number of the last frame.
    pub(super) sequence: Option<u64>,
}

/// Why there is no further frame.
pub(super) enum Stop {
    /// The file ends.
    End,
    /// It ends in the middle of an append; `is_garbled` if the last frame has its length, and not its checksum.
    Torn { is_garbled: bool },
    /// The bytes are no frame, and not the end of the file.
    Damaged(Error),
}

impl Reader {
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
        Ok(Self { file, follows, size, offset: HEADER as u64, sequence: None })
    }

    /// The next frame whose number is above that of the last.
    pub(super) fn next(&mut self) -> io::Result<Result<Frame, Stop>> {
        loop {
            let offset = self.offset;
            let left = self.size.saturating_sub(offset);
            let mut head = [0; HEAD];
            if left < (HEAD + CRC) as u64 {
                return Ok(Err(if left == 0 { Stop::End } else { TORN }));
            }
            self.file.read_exact(&mut head)?;
            let found = Head::read(&head);
            let length = (HEAD + CRC) as u64 + found.length;
            if length > left {
                return Ok(Err(TORN));
            }
            if head == [0; HEAD] {
                // A disk that lost power may have the length of a file, and zeros in it.
                return Ok(Err(if self.is_zero()? { TORN } else { damaged(offset) }));
            }
            // The file has as many bytes, so that no more memory is asked for.
            let (mut payload, mut crc) = (Vec::new(), [0; CRC]);
            let length_here = usize::try_from(found.length).unwrap_or(usize::MAX);
            payload.try_reserve_exact(length_here).map_err(|_| io::ErrorKind::OutOfMemory)?;
            payload.resize(length_here, 0);
            self.file.read_exact(&mut payload)?;
            self.file.read_exact(&mut crc)?;
            if !is_whole(&head, &payload, &crc) {
                return Ok(Err(if length == left {
                    Stop::Torn { is_garbled: true }
                } else {
                    damaged(offset)
                }));
            }
            let kind = match found.kind() {
                Ok(kind) => kind,
                Err(error) => return Ok(Err(Stop::Damaged(error.at(offset)))),
            };
            self.offset += length;
            match self.sequence {
                Some(last) if found.sequence <= last => continue,
                Some(last) if found.sequence > last + 1 => {
                    self.offset = offset;
                    return Ok(Err(gap(offset, last, found.sequence)));
                }
                _ => {}
            }
            self.sequence = Some(found.sequence);
            return Ok(Ok(Frame { offset, sequence: found.sequence, kind, payload }));
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

const TORN: Stop = Stop::Torn { is_garbled: false };

#[cold]
fn damaged(offset: u64) -> Stop {
    let message = "the journal is damaged, the checksum of a frame does not match";
    Stop::Damaged(Error::new(ErrorKind::Damaged, message).at(offset))
}

#[cold]
fn gap(offset: u64, last: u64, found: u64) -> Stop {
    let message = format!(
        "frames of the journal are missing, number {found} follows number {last}; it is damaged"
    );
    Stop::Damaged(Error::new(ErrorKind::Damaged, message).at(offset))
}

/// What a journal holds, as far as that is known without doing it again.
pub(super) struct Scan {
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
    pub(super) fn behind(open: Option<Self>, frame: &Frame) -> Option<Self> {
        match (frame.kind, open) {
            (Kind::Begun, None) => Some(Self {
                offset: frame.offset,
                before: frame.sequence.saturating_sub(1),
                depth: 1,
            }),
            (Kind::Begun, Some(open)) => Some(Self { depth: open.depth + 1, ..open }),
            (Kind::Committed | Kind::RolledBack, Some(open)) if open.depth > 1 => {
                Some(Self { depth: open.depth - 1, ..open })
            }
            (Kind::Committed | Kind::RolledBack, _) => None,
            (_, open) => open,
        }
    }
}

/// Looks through a journal.
pub(super) fn scan(storage: &dyn Storage, path: &Path) -> Result<Scan> {
    let mut reader = Reader::open(storage, path)?;
    let mut scan = Scan {
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
                scan.events += u64::from(frame.kind.is_event() && frame.kind != Kind::Evicted);
                scan.open = OpenTransaction::behind(scan.open, &frame);
                scan.end = reader.offset;
            }
            Err(stop) => {
                match stop {
                    Stop::End => {}
                    Stop::Torn { is_garbled } => {
                        (scan.is_torn, scan.is_garbled) = (true, is_garbled);
                    }
                    Stop::Damaged(error) => scan.damage = Some(error),
                }
                return Ok(scan);
            }
        }
    }
}
