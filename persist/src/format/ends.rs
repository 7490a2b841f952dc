use std::io::{self, Read, Seek, SeekFrom};

use byteorder::{ByteOrder, LittleEndian};

use super::broken::{cut_short, damaged};
use super::{BLOCK_TRAILER, CRC_SIZE, Header, TRAILER_SIZE};
use crate::{Error, Limits, Result};

/// What the two ends of a save say of it.
pub(crate) struct Ends {
    pub(crate) header: Header,
    /// True if it ends with its trailer, so that nothing is cut off; what is between may be damaged.
    pub(crate) is_whole: bool,
}

impl Ends {
    /// Reads the header and the trailer of a save.
    pub(crate) fn read(mut file: impl Read + Seek, limits: &Limits) -> Result<Self> {
        let failed = |error| Error::of_reading("the end of the save", error);
        let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let header = Header::of_file(&mut file, size, limits)?;
        let is_whole = Self::is_at_end(&mut file).map_err(failed)?;
        Ok(Self { header, is_whole })
    }

    /// True if a file ends with the trailer of a save of its length.
    pub(crate) fn is_at_end(file: &mut (impl Read + Seek + ?Sized)) -> io::Result<bool> {
        let size = file.seek(SeekFrom::End(0))?;
        let Some(start) = size.checked_sub(TRAILER_SIZE as u64) else { return Ok(false) };
        file.seek(SeekFrom::Start(start))?;
        let mut trailer = [0; TRAILER_SIZE];
        file.read_exact(&mut trailer)?;
        Ok(Trailer::read(&trailer).is_some_and(|trailer| trailer.length == size))
    }
}

/// What ends a save.
#[derive(Clone, Copy)]
pub(super) struct Trailer {
    pub(super) records: u64,
    pub(super) definitions: u64,
    /// Bytes of the save, this included.
    pub(super) length: u64,
}

impl Trailer {
    /// `None` if it is none, or damaged.
    pub(super) fn read(bytes: &[u8; TRAILER_SIZE]) -> Option<Self> {
        let (content, crc) = bytes.split_at(TRAILER_SIZE - CRC_SIZE);
        let is_whole = crc32fast::hash(content) == LittleEndian::read_u32(crc);
        let [records, definitions, length] =
            [1, 9, 17].map(|at| LittleEndian::read_u64(&content[at..]));
        let this = Self { records, definitions, length };
        (content[0] == BLOCK_TRAILER && is_whole).then_some(this)
    }

    pub(super) fn write(self) -> Vec<u8> {
        let mut bytes = vec![BLOCK_TRAILER];
        for word in [self.records, self.definitions, self.length] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// A whole save with another header.
pub(crate) fn with_header(save: &[u8], header: &Header, limits: &Limits) -> Result<Vec<u8>> {
    let (_, start) = Header::parse(save)?;
    let rest = save.get(start..).unwrap_or_default();
    let Some((blocks, trailer)) = rest.split_last_chunk::<TRAILER_SIZE>() else {
        return Err(cut_short(save.len()));
    };
    let trailer = Trailer::read(trailer).ok_or_else(|| {
        damaged(save.len() - TRAILER_SIZE, "the checksum of the trailer does not match")
    })?;
    let mut changed = header.write();
    changed.extend_from_slice(blocks);
    let length = (changed.len() + TRAILER_SIZE) as u64;
    limits.check_total(length)?;
    changed.extend(Trailer { length, ..trailer }.write());
    Ok(changed)
}
