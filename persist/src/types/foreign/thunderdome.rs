//! `thunderdome`: an index is stored as its number, with the generation above the slot.
//!
//! `Arena` is not supported: it hides the generations of its empty slots. Without these, a load could issue indices of
//! removed objects again.

use thunderdome::Index;

use super::stored_as;

stored_as! {
    Index as u64 = Index::DANGLING, |index| index.to_bits() => ?|bits| {
        Index::from_bits(bits).ok_or_else(|| format!("{bits:#x} are the bits of no index"))
    };
}
