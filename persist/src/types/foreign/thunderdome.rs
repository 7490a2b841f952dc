//! `thunderdome`: an index is the number that the crate makes of it, its generation above its slot.
//!
//! `Arena` is not here: it does not show the generations of its empty slots, without which a load would give indices of
//! removed objects out again.

use thunderdome::Index;

use super::stored_as;

stored_as! {
    Index as u64 = Index::DANGLING, |index| index.to_bits() => ?|bits| {
        Index::from_bits(bits).ok_or_else(|| format!("{bits:#x} are the bits of no index"))
    };
}
