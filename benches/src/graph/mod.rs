//! A graph of many small objects behind shared pointers, and what carries it.

mod contenders;
pub(crate) mod data;
mod rival;

use contenders::{DeepCopy, Persist};
use data::{Shape, World};
use rival::{Fory, ForyWeak};

/// Carries a graph out of memory and back. What it makes it keeps, so that a
/// caller can measure each step alone.
pub(crate) trait Contender {
    fn save(&mut self);

    /// Bytes of the save, if one is kept.
    fn size(&self) -> Option<usize>;

    fn load(&mut self);

    /// Says where the loaded graph is not the one that was saved.
    fn check(&self) -> Result<(), String>;

    /// Frees what was loaded.
    fn free(&mut self);

    /// Frees the save.
    fn forget(&mut self);
}

/// The kinds of contenders.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    DeepCopy,
    Fory,
    ForyWeak,
    Persist,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::DeepCopy, Self::Fory, Self::ForyWeak, Self::Persist];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DeepCopy => "deep-copy",
            Self::Fory => "fory",
            Self::ForyWeak => "fory-weak",
            Self::Persist => "persist",
        }
    }

    pub(crate) fn contender(self, world: &World) -> Box<dyn Contender + '_> {
        match self {
            Self::DeepCopy => Box::new(DeepCopy::new(world)),
            Self::Fory => Box::new(Fory::new(world)),
            Self::ForyWeak => Box::new(ForyWeak::new(world)),
            Self::Persist => Box::new(Persist::new(world)),
        }
    }
}

/// A shape in a size, and the rival that can carry it.
#[derive(Clone, Copy)]
pub(crate) struct Set {
    pub(crate) shape: Shape,
    pub(crate) count: u32,
    rival: Option<Kind>,
}

const MILLION: u32 = 1_000_000;

/// Strong references have the rival fail on cycles, weak ones have it overflow
/// the stack at ten times the size given here; `graph-probe carry` shows both.
/// An overflow ends the process, so what cannot be carried is not tried.
pub(crate) const SETS: [Set; 5] = [
    Set { shape: Shape::Random, count: MILLION, rival: None },
    Set { shape: Shape::Local, count: MILLION, rival: None },
    Set { shape: Shape::Earlier, count: MILLION, rival: Some(Kind::Fory) },
    Set { shape: Shape::Random, count: 10_000, rival: Some(Kind::ForyWeak) },
    Set { shape: Shape::Local, count: 10_000, rival: Some(Kind::ForyWeak) },
];

impl Set {
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.shape.name(), self.count)
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = Kind> + use<> {
        [Some(Kind::DeepCopy), self.rival, Some(Kind::Persist)].into_iter().flatten()
    }
}
