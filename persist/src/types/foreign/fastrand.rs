//! `fastrand`: stored as the state of the generator, which continues where it was.

use fastrand::Rng;

use super::stored_as;

stored_as! {
    Rng as u64 = Self::with_seed(0), |it| it.get_seed() => Self::with_seed;
}
