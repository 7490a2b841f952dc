use super::copy::copy;
use super::encoder::{Chunk, EncodeState};
use super::{Decoder, Encoder, Fail, NoLinks, Persist, SaveLinks, Stop};
use crate::{Error, ErrorKind, Limits, Result};

/// A reusable buffer that values are encoded into, one at a time.
///
/// It stays initialised at its full size, so that a warm encode neither
/// allocates nor clears anything. What does not fit continues in chunks, which
/// are then put together in a larger buffer.
///
/// # Example
///
/// ```
/// use persist::codec::{self, Buffer};
///
/// let mut buffer = Buffer::new();
/// assert_eq!(buffer.encode(&(1_i32, 16_u8))?, [0x01, 0, 0, 0, 0x10]);
/// assert_eq!(buffer.encode(&"hi".to_string())?, [2, b'h', b'i']);
/// assert_eq!(codec::decode::<String>(&[2, b'h', b'i'])?, "hi");
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes of `value`, valid until the next call.
    ///
    /// # Errors
    ///
    /// What the value refuses: a string or nesting beyond the default
    /// [`Limits`], and any shared pointer, since only a whole save has ids.
    pub fn encode<T: Persist>(&mut self, value: &T) -> Result<&[u8]> {
        let len =
            self.append(0, &Limits::DEFAULT, &mut NoLinks::default(), |out| out.value(value))?;
        Ok(&self.bytes[..len])
    }

    /// Writes behind the first `start` bytes and returns where the writing ended.
    pub(crate) fn append(
        &mut self,
        start: usize,
        limits: &Limits,
        links: &mut dyn SaveLinks,
        write: impl FnOnce(&mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<usize> {
        let mut chunks = None;
        let window = self.bytes.get_mut(start..).unwrap_or_default();
        let mut state = EncodeState::new(limits);
        let mut out = Encoder::new(window, &mut chunks, &mut *links, &mut state);
        let result = write(&mut out);
        let end = start + out.written();
        // Asked first: a type written by hand may not have passed its `Stop` on.
        if let Some(error) = state.error {
            return Err(error);
        }
        result.map_err(|_| Error::from(Fail::Refused))?;
        state.charge(links)?;
        if let Some(first) = chunks {
            self.gather(first, end);
        }
        Ok(end)
    }

    /// Puts the chunks behind the window that they continue. The buffer is then large enough for a somewhat larger value.
    #[cold]
    fn gather(&mut self, first: Box<Chunk>, end: usize) {
        let mut whole = vec![0; end + end / 2];
        let mut at = 0;
        let (mut window, mut next) = (std::mem::take(&mut self.bytes), Some(first));
        while at < end {
            let left = next.as_ref().map_or(0, |chunk| chunk.left);
            let used = (window.len() - left).min(end - at);
            copy(&mut whole[at..at + used], &window[..used]);
            at += used;
            // Each is freed before the next one is copied.
            let Some(chunk) = next else { break };
            (window, next) = (chunk.bytes, chunk.next);
        }
        self.bytes = whole;
    }

    pub(crate) fn with_size(size: usize) -> Self {
        Self { bytes: vec![0; size] }
    }

    /// Makes room for so many bytes at least.
    pub(crate) fn reserve(&mut self, size: usize) {
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a value that takes all of `bytes`.
///
/// # Errors
///
/// [`ErrorKind::InvalidValue`], [`ErrorKind::Truncated`] and their kin if the
/// bytes are not such a value; the offset says about where.
pub fn decode<T: Persist>(bytes: &[u8]) -> Result<T> {
    whole(bytes, |input| input.value())
}

/// Reads a value that takes all of `bytes` into an existing one, which keeps
/// its allocations.
///
/// # Errors
///
/// As [`decode`]; `target` then is a valid mixture of old and new.
pub fn decode_into<T: Persist>(target: &mut T, bytes: &[u8]) -> Result<()> {
    whole(bytes, |input| input.value_into(target))
}

fn whole<T>(bytes: &[u8], read: impl FnOnce(&mut Decoder<'_>) -> Result<T, Fail>) -> Result<T> {
    let mut links = NoLinks::default();
    let mut input = Decoder::new(bytes, &Limits::DEFAULT, &mut links);
    let result = read(&mut input);
    let offset = (bytes.len() - input.rest().len()) as u64;
    match result {
        Ok(value) if input.rest().is_empty() => Ok(value),
        Ok(_) => Err(left_over(input.rest().len()).at(offset)),
        Err(fail) => Err(input.take_error().unwrap_or_else(|| fail.into()).at(offset)),
    }
}

/// A value ends before its bytes do.
#[cold]
pub(crate) fn left_over(bytes: usize) -> Error {
    let noun = if bytes == 1 { "byte is" } else { "bytes are" };
    Error::new(ErrorKind::Damaged, format!("{bytes} {noun} left behind the value"))
}

impl From<Fail> for Error {
    fn from(fail: Fail) -> Self {
        let (kind, message) = match fail {
            Fail::End => (ErrorKind::Truncated, "the bytes end inside a value"),
            Fail::Text => (ErrorKind::InvalidValue, "a string is not UTF-8"),
            Fail::Value => (ErrorKind::InvalidValue, "a value is none of those its type can have"),
            Fail::Count => (
                ErrorKind::InvalidValue,
                "a count is more than the bytes behind it can hold, or not in its shortest form",
            ),
            Fail::Duplicate => (
                ErrorKind::InvalidValue,
                "a key of a map or an element of a set stands there twice",
            ),
            Fail::Depth => (ErrorKind::TooDeep, "a value is nested deeper than `Limits::depth`"),
            Fail::Limit => (ErrorKind::TooLarge, "a length is over its limit in `Limits`"),
            Fail::Unregistered => (
                ErrorKind::WrongClass,
                "a value is of a class that is not registered for its trait",
            ),
            Fail::Refused => (ErrorKind::Refused, "the type refused the value without a reason"),
        };
        Self::new(kind, message)
    }
}
