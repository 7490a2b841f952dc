/// The pointer and the cell that hold an object: `Rc<RefCell<_>>`, ...
///
/// As a byte: the pointer in the high half, the cell in the low half.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Holder(u8);

/// A counted pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Pointer {
    /// `Rc<_>`.
    Rc = 0x10,
    /// `Arc<_>`.
    Arc = 0x20,
}

/// What stands between a pointer and the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[expect(clippy::enum_variant_names, reason = "they are named as the standard library's cells")]
pub enum Cell {
    /// Nothing: the value cannot change.
    None = 0,
    /// `RefCell<_>`.
    RefCell = 1,
    /// `Cell<_>`.
    Cell = 2,
    /// `Mutex<_>`.
    Mutex = 3,
    /// `RwLock<_>`.
    RwLock = 4,
    /// `OnceCell<_>`.
    OnceCell = 5,
    /// `OnceLock<_>`.
    OnceLock = 6,
}

impl Cell {
    const ALL: [Self; 7] = [
        Self::None,
        Self::RefCell,
        Self::Cell,
        Self::Mutex,
        Self::RwLock,
        Self::OnceCell,
        Self::OnceLock,
    ];

    /// How a Rust programmer writes it, with `target` inside.
    fn around(self, target: &str) -> String {
        match self {
            Self::None => target.to_owned(),
            cell => format!("{cell:?}<{target}>"),
        }
    }
}

impl Holder {
    /// The value itself, held by nobody: what [`save`](crate::save()) writes.
    pub(crate) const VALUE: Self = Self(0);

    /// This pointer around this cell.
    #[must_use]
    pub(crate) const fn new(pointer: Pointer, cell: Cell) -> Self {
        Self(pointer as u8 | cell as u8)
    }

    /// True if an object in it may be one in the other: a value in a counted pointer, in a cell or not. What may be set
    /// once belongs to the class.
    pub(crate) fn may_become(self, other: Self) -> bool {
        let is_plain = |holder: Self| {
            let cell = holder.parts().map(|(_, cell)| cell);
            cell.is_some_and(|cell| !matches!(cell, Cell::OnceCell | Cell::OnceLock))
        };
        self == other || is_plain(self) && is_plain(other)
    }

    /// True if objects in it are made when they are whole: nothing changes them through the pointer.
    pub(crate) fn is_built(self) -> bool {
        matches!(self.parts(), Some((_, Cell::None | Cell::OnceCell | Cell::OnceLock)))
    }

    /// The holder with this byte.
    #[must_use]
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        let holder = Self(code);
        (code == 0 || holder.parts().is_some()).then_some(holder)
    }

    /// The byte of this holder in a save.
    #[must_use]
    pub(crate) fn code(self) -> u8 {
        self.0
    }

    /// The pointer and the cell; `None` for a value that nobody holds.
    #[must_use]
    pub(crate) fn parts(self) -> Option<(Pointer, Cell)> {
        let pointer =
            [Pointer::Rc, Pointer::Arc].into_iter().find(|p| *p as u8 == self.0 & 0xf0)?;
        let cell = Cell::ALL.into_iter().find(|cell| *cell as u8 == self.0 & 0x0f)?;
        Some((pointer, cell))
    }

    /// How a Rust programmer writes it, with `target` inside: `Rc<RefCell<Hero>>`, or `Weak<RefCell<Hero>>` if it is `weak`.
    #[must_use]
    pub fn around(self, weak: bool, target: &str) -> String {
        let Some((pointer, cell)) = self.parts() else { return target.to_owned() };
        let target = cell.around(target);
        match (pointer, weak) {
            (Pointer::Rc, false) => format!("Rc<{target}>"),
            (Pointer::Arc, false) => format!("Arc<{target}>"),
            (Pointer::Rc, true) => format!("Weak<{target}>"),
            (Pointer::Arc, true) => format!("sync::Weak<{target}>"),
        }
    }
}

impl Holder {
    /// How a Rust programmer writes it, around a value of this class.
    ///
    /// A `OnceCell` or `OnceLock` belongs to the class too, and stands in its name.
    #[must_use]
    pub(crate) fn around_class(self, weak: bool, class: &str) -> String {
        match self.parts() {
            Some((pointer, Cell::OnceCell | Cell::OnceLock)) => {
                Self::new(pointer, Cell::None).around(weak, class)
            }
            _ => self.around(weak, class),
        }
    }
}

impl std::fmt::Debug for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.around(false, "_"))
    }
}
