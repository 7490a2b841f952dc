/// Identifies the pointer and the cell that hold an object: `Rc<RefCell<_>>`, for example.
///
/// It is one byte: the pointer in the high half, the cell in the low half.
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

/// The cell between a pointer and the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cell {
    /// No cell: the value cannot change.
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

    /// Returns the type as a Rust programmer writes it, with `target` inside.
    fn wrap(self, target: &str) -> String {
        match self {
            Self::None => target.to_owned(),
            cell => format!("{cell:?}<{target}>"),
        }
    }
}

impl Holder {
    /// A value without a holder: [`save`](crate::save()) writes one.
    pub const VALUE: Self = Self(0);

    /// A page: a part of the record with its id.
    #[doc(hidden)]
    pub const PAGE: Self = Self(1);

    /// Creates the holder of this pointer around this cell.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(pointer: Pointer, cell: Cell) -> Self {
        Self(pointer as u8 | cell as u8)
    }

    /// True if an object in this holder may become one in the other: a value in a counted pointer, with or without a
    /// cell. A cell that can be set once belongs to the class, so it stays.
    pub(crate) fn may_become(self, other: Self) -> bool {
        let is_plain = |holder: Self| {
            let cell = holder.parts().map(|(_, cell)| cell);
            cell.is_some_and(|cell| !matches!(cell, Cell::OnceCell | Cell::OnceLock))
        };
        self == other || is_plain(self) && is_plain(other)
    }

    /// True if objects in this holder are created when they are filled, because nothing changes them through the
    /// pointer.
    pub(crate) fn is_built(self) -> bool {
        matches!(self.parts(), Some((_, Cell::None | Cell::OnceCell | Cell::OnceLock)))
    }

    /// Returns the holder with this byte.
    #[must_use]
    #[inline]
    pub fn from_code(code: u8) -> Option<Self> {
        let holder = Self(code);
        (code <= Self::PAGE.0 || holder.parts().is_some()).then_some(holder)
    }

    /// Returns the byte of this holder in a save.
    #[must_use]
    pub fn code(self) -> u8 {
        self.0
    }

    /// Returns the pointer and the cell; `None` for a value without a holder.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn parts(self) -> Option<(Pointer, Cell)> {
        let pointer =
            [Pointer::Rc, Pointer::Arc].into_iter().find(|p| *p as u8 == self.0 & 0xf0)?;
        let cell = Cell::ALL.into_iter().find(|cell| *cell as u8 == self.0 & 0x0f)?;
        Some((pointer, cell))
    }

    /// Returns the type as a Rust programmer writes it, with `target` inside: `Rc<RefCell<Hero>>`, or
    /// `Weak<RefCell<Hero>>` if it is `weak`.
    #[must_use]
    pub fn type_name(self, weak: bool, target: &str) -> String {
        let Some((pointer, cell)) = self.parts() else { return target.to_owned() };
        let target = cell.wrap(target);
        match (pointer, weak) {
            (Pointer::Rc, false) => format!("Rc<{target}>"),
            (Pointer::Arc, false) => format!("Arc<{target}>"),
            (Pointer::Rc, true) => format!("Weak<{target}>"),
            (Pointer::Arc, true) => format!("sync::Weak<{target}>"),
        }
    }
}

impl Holder {
    /// Returns the type as a Rust programmer writes it, around a value of this class.
    ///
    /// A `OnceCell` or `OnceLock` belongs to the class, and is part of its name.
    #[must_use]
    pub(crate) fn class_type_name(self, weak: bool, class: &str) -> String {
        match self.parts() {
            Some((pointer, Cell::OnceCell | Cell::OnceLock)) => {
                Self::new(pointer, Cell::None).type_name(weak, class)
            }
            _ => self.type_name(weak, class),
        }
    }
}

impl std::fmt::Debug for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.type_name(false, "_"))
    }
}
