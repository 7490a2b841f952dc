use crate::codec::Within;

/// A reference that has been decoded and waits for its target: the record of the
/// target, and where the reference is.
#[derive(Clone, Copy)]
pub(super) struct Pending(u32);

/// In which pass references are connected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// All of the object.
    Whole,
    /// References that only `&mut` reaches.
    Bare,
    /// References in cells.
    Cells,
}

const WEAK: u32 = 1 << 31;
const IN_CELL: u32 = 1 << 30;
const IN_ONCE: u32 = 1 << 29;
const TARGET: u32 = IN_ONCE - 1;

impl Pending {
    /// More records than this there cannot be.
    pub(super) const MOST: usize = TARGET as usize;

    /// A reference to a record, or to none.
    pub(super) fn new(target: Option<u32>, weak: bool, within: Within) -> Self {
        let place = match within {
            Within::Bare => 0,
            Within::Cell => IN_CELL,
            Within::Once => IN_ONCE,
        };
        Self(target.unwrap_or(TARGET) | place | if weak { WEAK } else { 0 })
    }

    pub(super) fn target(self) -> Option<usize> {
        let target = self.0 & TARGET;
        (target != TARGET).then_some(target as usize)
    }

    pub(super) fn is_weak(self) -> bool {
        self.0 & WEAK != 0
    }

    pub(super) fn is_bare(self) -> bool {
        self.0 & (IN_CELL | IN_ONCE) == 0
    }

    pub(super) fn is_once(self) -> bool {
        self.0 & (IN_CELL | IN_ONCE) == IN_ONCE
    }

    /// True if it cannot be cut when its object is shared.
    pub(super) fn is_for_ever(self) -> bool {
        self.0 & (WEAK | IN_CELL) == 0
    }

    /// Marks a reference in a cell that can be set once as closing a cycle.
    pub(super) fn set_late(&mut self) {
        self.0 |= IN_CELL | IN_ONCE;
    }

    pub(super) fn is_late(self) -> bool {
        self.0 & (IN_CELL | IN_ONCE) == IN_CELL | IN_ONCE
    }

    pub(super) fn is_of(self, pass: Pass) -> bool {
        match pass {
            Pass::Whole => true,
            Pass::Bare => self.is_bare(),
            Pass::Cells => !self.is_bare(),
        }
    }
}
