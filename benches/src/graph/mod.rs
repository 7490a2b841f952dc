//! A graph of many small objects behind shared pointers, and what carries it.

mod contenders;
pub(crate) mod data;
mod fory;
mod fyrox;

use contenders::{DeepCopy, Persist};
use data::{Shape, World};
use fory::{Fory, ForyWeak};
use fyrox::Fyrox;

use crate::report::Role;

/// Saves a graph and loads it. It keeps the results, so that a caller can measure each step separately.
pub(crate) trait Contender {
    fn save(&mut self);

    /// Bytes of the save, if one is kept.
    fn size(&self) -> Option<usize>;

    fn load(&mut self);

    /// Returns an error if the loaded graph differs from the saved one.
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
    Fyrox,
    Persist,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DeepCopy => "deep copy",
            Self::Fory => "fory",
            Self::ForyWeak => "fory, weak",
            Self::Fyrox => "fyrox-core",
            Self::Persist => "persist",
        }
    }

    pub(crate) fn role(self) -> Role {
        match self {
            Self::DeepCopy => Role::Floor,
            Self::Persist => Role::Ours,
            _ => Role::Rival,
        }
    }

    pub(crate) fn contender(self, world: &World) -> Box<dyn Contender + '_> {
        match self {
            Self::DeepCopy => Box::new(DeepCopy::new(world)),
            Self::Fory => Box::new(Fory::new(world)),
            Self::ForyWeak => Box::new(ForyWeak::new(world)),
            Self::Fyrox => Box::new(Fyrox::new(world)),
            Self::Persist => Box::new(Persist::new(world)),
        }
    }
}

/// A shape in a size, and the rivals that can carry it.
#[derive(Clone, Copy)]
pub(crate) struct Set {
    pub(crate) shape: Shape,
    pub(crate) count: u32,
    pub(crate) rivals: &'static [Kind],
}

/// Strong references have fory fail on cycles, weak ones have it overflow the stack at ten times the size given here;
/// fyrox-core is quadratic. `probe carry` shows it. An overflow ends the process, so what cannot be carried is not
/// tried.
pub(crate) const SETS: [Set; 8] = [
    Set { shape: Shape::Random, count: 1_000_000, rivals: &[] },
    Set { shape: Shape::Local, count: 1_000_000, rivals: &[] },
    Set { shape: Shape::Earlier, count: 1_000_000, rivals: &[Kind::Fory] },
    Set { shape: Shape::Random, count: 100_000, rivals: &[] },
    Set { shape: Shape::Local, count: 100_000, rivals: &[] },
    Set { shape: Shape::Random, count: 10_000, rivals: &[Kind::ForyWeak, Kind::Fyrox] },
    Set { shape: Shape::Local, count: 10_000, rivals: &[Kind::ForyWeak, Kind::Fyrox] },
    Set { shape: Shape::Random, count: 1000, rivals: &[Kind::ForyWeak, Kind::Fyrox] },
];

impl Set {
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.shape.name(), self.count)
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = Kind> + use<> {
        [Kind::DeepCopy].into_iter().chain(self.rivals.iter().copied()).chain([Kind::Persist])
    }
}
