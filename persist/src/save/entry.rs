use std::sync::Arc;

use crate::reflect::Holder;
use crate::{ObjectId, Value};

/// An object of a [`Document`](super::Document).
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub(super) id: ObjectId,
    pub(super) class: usize,
    pub(super) class_name: Arc<str>,
    pub(super) holder: Holder,
    pub(super) added: bool,
    /// What is in it.
    pub value: Value,
}

impl Entry {
    /// The number by which the save knows it.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Name of its class.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.class_name
    }

    /// The pointer and the cell that held it, as in `Rc<RefCell<_>>`; `_` for a value that was saved on its own.
    #[must_use]
    pub fn holder(&self) -> String {
        self.holder.around(false, "_")
    }

    /// True if the program added it itself, false if it was met through a pointer.
    #[must_use]
    pub fn is_added(&self) -> bool {
        self.added
    }

    /// True if it is no object, but what a program did not know of the one with its id.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.holder == Holder::VALUE && !self.added
    }

    pub(super) fn is_root(&self) -> bool {
        self.holder == Holder::VALUE && self.added
    }
}
