//! The windows of a buffer, in which a value continues that does not fit the first one.

#[cfg(feature = "world")]
use crate::Result;

/// More windows than a value can fill: see [`min_size`], and a record ends before 2^32 bytes.
const MAX_WINDOWS: usize = 64;

/// Bytes of the smallest window.
pub(super) const SMALLEST: usize = 256;

/// Returns the smallest size of the window at this place of the table. A window is four times as large as the one
/// before, and from the sixth on a quarter larger. So a value needs few windows, however little of each is used.
fn min_size(place: usize) -> usize {
    let quadrupled = SMALLEST << (2 * place.min(4));
    (4..place).fold(quadrupled, |size, _| size.saturating_add(size / 4))
}

/// Size of a piece of rows that is cleared and then written: it stays in the first-level cache between the two. Longer
/// pieces are slower, since `memset` then uses `rep stosb`.
const PIECE: usize = 2048;

/// Size from which on an allocator gets memory from the system, which is already zero.
const FROM_SYSTEM: usize = 32 << 20;

/// A part of a buffer's memory, in which a value continues when the previous window is full.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) bytes: Vec<u8>,
    /// Number of bytes of the value before this window.
    pub(super) start: usize,
    /// Number of bytes of the memory before those of the value: none, or as many as the value has before this window.
    /// In the second case those can be copied there.
    pub(super) room: usize,
    /// Size of the memory that was moved out of the window: the next value is about as large.
    pub(super) expected: usize,
}

/// A run of many bytes that are written at once.
pub(super) enum ByteRun<'r> {
    Bytes(&'r [u8]),
    /// `len` bytes of rows that have `row` bytes each. The function writes whole rows, beginning at an offset.
    Rows {
        len: usize,
        row: usize,
        write: &'r dyn Fn(usize, &mut [u8]),
    },
}

impl ByteRun<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Rows { len, .. } => *len,
        }
    }

    fn write(&self, to: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => to.copy_from_slice(bytes),
            Self::Rows { write, .. } => write(0, to),
        }
    }

    fn append(&self, to: &mut Vec<u8>) {
        let (len, row, write) = match self {
            Self::Bytes(bytes) => return to.extend_from_slice(bytes),
            Self::Rows { len, row, write } => (*len, *row, write),
        };
        let piece = (PIECE / row).max(1) * row;
        for offset in (0..len).step_by(piece) {
            let at = to.len();
            to.resize(at + piece.min(len - offset), 0);
            write(offset, &mut to[at..]);
        }
    }
}

/// The windows that are free for an encode.
///
/// They lie in a table of fixed length, so that an encode can borrow the following windows while it writes to the
/// previous ones.
pub(super) enum RemainingWindows<'a> {
    /// All windows; the table is created when the first one is requested.
    All(&'a mut Vec<Window>),
    Rest(&'a mut [Window]),
}

impl Default for RemainingWindows<'_> {
    fn default() -> Self {
        Self::Rest(&mut [])
    }
}

/// The largest number of bytes before appended ones that get room in the same memory.
#[cfg(feature = "world")]
const FRONT: usize = 64 << 10;

impl<'a> RemainingWindows<'a> {
    /// Returns the next window, its place in the table, and the windows after it.
    fn next(self) -> Option<(usize, &'a mut Window, Self)> {
        let windows = match self {
            Self::All(table) => {
                table.resize_with(MAX_WINDOWS, Window::default);
                &mut table[..]
            }
            Self::Rest(windows) => windows,
        };
        let place = MAX_WINDOWS.checked_sub(windows.len())?;
        let (window, rest) = windows.split_first_mut()?;
        Some((place, window, Self::Rest(rest)))
    }

    /// Lets `append` add bytes to a window, which are not cleared first. `start` bytes of the value lie before it, and
    /// `ahead` more will be put there. Returns the number of appended bytes, a window for the following bytes, and the
    /// windows after it.
    #[cfg(feature = "world")]
    pub(super) fn appended(
        self,
        start: usize,
        ahead: usize,
        append: impl FnOnce(&mut Vec<u8>, usize) -> Result<()>,
    ) -> Result<Option<(usize, &'a mut [u8], Self)>> {
        let Some((_, window, rest)) = self.next() else { return Ok(None) };
        window.start = start;
        window.room = Some(start + ahead).filter(|room| *room <= FRONT).unwrap_or(0);
        let Window { bytes, room, expected, .. } = window;
        bytes.clear();
        bytes.reserve_exact(*expected);
        bytes.resize(*room, 0);
        append(bytes, *room)?;
        let end = bytes.len();
        bytes.resize(end + SMALLEST, 0);
        Ok(Some((end - *room, &mut bytes[end..], rest)))
    }

    /// Returns a window of at least `len` bytes, and the windows after it. `start` bytes of the value lie before it.
    /// The window begins with the run, which has `len` bytes.
    pub(super) fn window(
        self,
        start: usize,
        len: usize,
        run: Option<&ByteRun<'_>>,
    ) -> Option<(&'a mut [u8], Self)> {
        let (place, window, rest) = self.next()?;
        (window.start, window.room) = (start, 0);
        let min = min_size(place);
        let is_small = window.bytes.len() < len;
        if is_small {
            // Freed before the larger one is allocated.
            window.bytes = Vec::new();
        }
        match run {
            // A long run fills a window, which then is not cleared first. If most of the value lies there, the other
            // bytes can be put around it.
            Some(run) if is_small && len >= min => {
                window.room = if len >= start { start } else { 0 };
                let room = window.room;
                let whole = room + len + SMALLEST;
                if matches!(run, ByteRun::Rows { .. }) && whole > FROM_SYSTEM {
                    window.bytes = vec![0; whole];
                    run.write(&mut window.bytes[room..room + len]);
                } else {
                    window.bytes.reserve_exact(whole);
                    window.bytes.resize(room, 0);
                    run.append(&mut window.bytes);
                    window.bytes.resize(whole, 0);
                }
            }
            _ => {
                if is_small {
                    // The window is cleared first, which costs time for bytes that stay unused, so it is not much
                    // larger than needed. It is still in the cache when it is written.
                    window.bytes = vec![0; (start / 4).max(min).max(len)];
                }
                if let Some(run) = run {
                    run.write(&mut window.bytes[..len]);
                }
            }
        }
        Some((&mut window.bytes[window.room..], rest))
    }

    /// Returns the number of windows, if the table exists.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::All(_) => None,
            Self::Rest(windows) => Some(windows.len()),
        }
    }
}
