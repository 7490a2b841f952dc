//! Where a value continues that does not fit the first window of its buffer.

use crate::Result;

/// More windows than a value can fill: see [`least`], and a record ends before 2^32 bytes.
const MOST: usize = 64;

/// Bytes of the smallest window.
pub(super) const SMALLEST: usize = 256;

/// The fewest bytes of the window in this place of the table, so that there are few windows, whatever is taken of them:
/// four times as many as of the one before, then a quarter more.
fn least(place: usize) -> usize {
    let quadrupled = SMALLEST << (2 * place.min(4));
    (4..place).fold(quadrupled, |size, _| size.saturating_add(size / 4))
}

/// Bytes of a piece of rows that is cleared and then written: it stays in the nearest cache between the two. Longer
/// ones are slower, since `memset` then uses `rep stosb`.
const PIECE: usize = 2048;

/// Bytes from which on an allocator gets memory from the system, which is clear.
const FROM_SYSTEM: usize = 32 << 20;

/// A part of a buffer's memory, in which a value continues when the one before it is full.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) bytes: Vec<u8>,
    /// Bytes of the value before it.
    pub(super) start: usize,
    /// Bytes of the memory that are before those of the value: none, or as many as come before it in the value, which
    /// then can be put there.
    pub(super) room: usize,
    /// How large the memory was that was taken out of the window: the next value is about as large.
    pub(super) expected: usize,
}

/// Many bytes that are written together.
pub(super) enum ByteRun<'r> {
    Bytes(&'r [u8]),
    /// Rows of that many bytes each; the function writes whole rows from an offset on.
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

/// The windows that an encode has not reached.
///
/// They lie in a table of fixed length, so that an encode holds those that follow while those before are written to.
pub(super) enum RemainingWindows<'a> {
    /// All; the table is made when the first is asked for.
    All(&'a mut Vec<Window>),
    Rest(&'a mut [Window]),
}

impl Default for RemainingWindows<'_> {
    fn default() -> Self {
        Self::Rest(&mut [])
    }
}

/// The most bytes before appended ones that get room in the same memory.
const FRONT: usize = 64 << 10;

impl<'a> RemainingWindows<'a> {
    /// The next window, its place in the table, and those after it.
    fn next(self) -> Option<(usize, &'a mut Window, Self)> {
        let windows = match self {
            Self::All(table) => {
                table.resize_with(MOST, Window::default);
                &mut table[..]
            }
            Self::Rest(windows) => windows,
        };
        let place = MOST.checked_sub(windows.len())?;
        let (window, rest) = windows.split_first_mut()?;
        Some((place, window, Self::Rest(rest)))
    }

    /// Has bytes appended to a window, which are not cleared first. `start` bytes of the value lie before it, and
    /// `ahead` more will be put there. Returns how many these are, the window after them, and the windows after it.
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

    /// A window of at least `len` bytes, and the windows after it. `start` bytes of the value lie before it.
    /// It begins with the run, which has `len` bytes.
    pub(super) fn window(
        self,
        start: usize,
        len: usize,
        run: Option<&ByteRun<'_>>,
    ) -> Option<(&'a mut [u8], Self)> {
        let (place, window, rest) = self.next()?;
        (window.start, window.room) = (start, 0);
        let least = least(place);
        let is_small = window.bytes.len() < len;
        if is_small {
            // Freed before the larger one is allocated.
            window.bytes = Vec::new();
        }
        match run {
            // A long one fills a window, which then is not cleared first. If most of the value lies there, the rest
            // can be put around it.
            Some(run) if is_small && len >= least => {
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
                    // It is cleared first, so what it has too much is paid for; and it is still in the cache when it
                    // is written.
                    window.bytes = vec![0; (start / 4).max(least).max(len)];
                }
                if let Some(run) = run {
                    run.write(&mut window.bytes[..len]);
                }
            }
        }
        Some((&mut window.bytes[window.room..], rest))
    }

    /// How many these are, if the table is there.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::All(_) => None,
            Self::Rest(windows) => Some(windows.len()),
        }
    }
}
