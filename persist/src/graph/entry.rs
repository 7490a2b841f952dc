use crate::codec::{Draft, Shared};

/// An object of a load.
pub(crate) enum Entry {
    /// The record is not made into an object, or the object has been freed.
    None,
    Shared(Shared),
    /// Filled before it is shared.
    Draft(Box<dyn Draft>),
}

// There is one for every object of a save.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Entry>() == 24);

impl Entry {
    #[inline]
    pub(crate) fn shared(&self) -> Option<&Shared> {
        match self {
            Self::Shared(shared) => Some(shared),
            Self::None | Self::Draft(_) => None,
        }
    }

    pub(super) fn take_draft(&mut self) -> Option<Box<dyn Draft>> {
        if !matches!(self, Self::Draft(_)) {
            return None;
        }
        match std::mem::replace(self, Self::None) {
            Self::Draft(draft) => Some(draft),
            _ => None,
        }
    }
}
