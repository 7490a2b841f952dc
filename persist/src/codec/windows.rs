//! Where a value continues that does not fit the first window of its buffer.

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

/// A part of a buffer's memory, in which a value continues when the one before it is full.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) bytes: Vec<u8>,
    /// Bytes of the value before it.
    pub(super) start: usize,
}

/// The windows that an encode has not reached.
///
/// They lie in a table of fixed length, so that an encode holds those that follow while those before are written to.
pub(super) enum Next<'a> {
    /// All; the table is made when the first is asked for.
    All(&'a mut Vec<Window>),
    Rest(&'a mut [Window]),
}

impl Default for Next<'_> {
    fn default() -> Self {
        Self::Rest(&mut [])
    }
}

impl<'a> Next<'a> {
    /// A window of at least `len` bytes, and the windows after it. `start` bytes of the value lie before it.
    /// It begins with `bytes`.
    pub(super) fn window(
        self,
        start: usize,
        len: usize,
        bytes: &[u8],
    ) -> Option<(&'a mut [u8], Self)> {
        let windows = match self {
            Self::All(table) => {
                table.resize_with(MOST, Window::default);
                &mut table[..]
            }
            Self::Rest(windows) => windows,
        };
        let place = MOST.checked_sub(windows.len())?;
        let (window, rest) = windows.split_first_mut()?;
        window.start = start;
        let least = least(place);
        let is_small = window.bytes.len() < len;
        if is_small {
            // Freed before the larger one is allocated.
            window.bytes = Vec::new();
        }
        if is_small && bytes.len() >= least {
            // Long ones fill a window, which then is not cleared first.
            window.bytes = bytes.to_vec();
        } else {
            if is_small {
                // It is cleared first, so what it has too much is paid for; and it is still in the cache when it is
                // written.
                window.bytes = vec![0; (start / 4).max(least).max(len)];
            }
            window.bytes[..bytes.len()].copy_from_slice(bytes);
        }
        Some((&mut window.bytes, Self::Rest(rest)))
    }

    /// How many these are, if the table is there.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::All(_) => None,
            Self::Rest(windows) => Some(windows.len()),
        }
    }
}
