//! The place of unknown content inside of the value that it belongs to.

use std::sync::Arc;

use super::super::count;
use super::super::encoder::{Encoder, Stop};
use super::super::persist::Persist as _;
use super::{Unknown, UnknownPiece};

/// A step from a value to a part of it that lasts from one save to the next.
///
/// Elements of lists and sets have no such step: which one it was cannot be told after the program has changed the list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, crate::Persist)]
#[persist(crate = crate, class = "persist.UnknownStep")]
pub(crate) enum UnknownStep {
    /// A field by its name, after that of its variant.
    Field(String),
    /// A part of a tuple.
    Part(u32),
    /// The value of a map under a key, by the bytes of the key.
    Key(Vec<u8>),
    /// A component of an object, by the name of its class.
    Component(String),
    /// The value in an option.
    Content,
}

/// The steps to a value. The unknown fields of one value share them.
pub(crate) type UnknownPath = Arc<[UnknownStep]>;

/// The schema of unknown content with the steps to it.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.UnknownAt")]
pub(crate) struct UnknownAt {
    path: Vec<UnknownStep>,
    #[persist(unknown)]
    content: Unknown,
}

impl UnknownAt {
    /// The name of its class.
    pub(crate) const CLASS: &'static str = "persist.UnknownAt";

    /// The number that stands for its class in a record that a load has converted: its save may not define the class.
    pub(crate) const NUMBER: u64 = 1 << (usize::BITS - 2);

    /// The traits of components and resources. Each object has at most one component of a class, so a component lasts
    /// in its list, and the list also holds the unknown parts of its elements.
    pub(crate) const TRAITS: [&'static str; 2] = ["persist.Component", "persist.Resource"];

    /// Writes the steps and the unknown content as a value of this class. `pieces` have one path.
    pub(crate) fn encode(
        path: &[UnknownStep],
        pieces: &[UnknownPiece],
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        count::encode(path.len() as u64, out)?;
        path.iter().try_for_each(|step| step.persist_encode(out))?;
        count::encode(pieces.len() as u64, out)?;
        pieces.iter().try_for_each(|piece| {
            piece.encode_class(out)?;
            piece.encode(out)
        })
    }
}
