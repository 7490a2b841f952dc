use std::io::{self, Read, Seek, SeekFrom};

use byteorder::{ByteOrder, LittleEndian};

use super::blocks::check_total;
use super::broken::cut_short;
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
        let (content, crc) = trailer.split_at(TRAILER_SIZE - CRC_SIZE);
        Ok(content[0] == BLOCK_TRAILER
            && LittleEndian::read_u64(&content[17..]) == size
            && crc32fast::hash(content) == LittleEndian::read_u32(crc))
    }
}

/// A whole save with another header.
pub(crate) fn with_header(save: &[u8], header: &Header, limits: &Limits) -> Result<Vec<u8>> {
    let (_, start) = Header::parse(save)?;
    let behind = save.get(start..).unwrap_or_default();
    let Some((blocks, trailer)) = behind.split_last_chunk::<TRAILER_SIZE>() else {
        return Err(cut_short(save.len()));
    };
    let mut trailer = *trailer;
    let mut changed = header.write();
    changed.extend_from_slice(blocks);
    let total = (changed.len() + TRAILER_SIZE) as u64;
    check_total(total, limits)?;
    let content = TRAILER_SIZE - CRC_SIZE;
    LittleEndian::write_u64(&mut trailer[17..], total);
    let crc = crc32fast::hash(&trailer[..content]);
    LittleEndian::write_u32(&mut trailer[content..], crc);
    changed.extend_from_slice(&trailer);
    Ok(changed)
}
