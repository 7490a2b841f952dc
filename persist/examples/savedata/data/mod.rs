//! Four data sets of the kind games save: a log, a triangle mesh, the players
//! of a block game and the updates of a ship game.
//!
//! Their shapes, distributions and random stream are those of the
//! `rust_serialization_benchmark` suite. The code is new and follows the
//! facts, so sizes and times here can be compared with the published ones.
//!
//! Every count and index is drawn as a `u64`, never a `usize`, so that all
//! machines make the same values.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "shared by programs which keep this module private and use parts of it"
)]

pub mod log;
pub mod mesh;
pub mod minecraft;
pub mod mk48;

use std::ops::Range;

use rand::Rng;
use rand_pcg::Lcg64Xsh32;

pub use log::Logs;
pub use mesh::Mesh;
pub use minecraft::Players;
pub use mk48::Updates;

/// Creates the random stream with which each data set begins.
pub fn rng() -> Lcg64Xsh32 {
    Lcg64Xsh32::new(3_141_592_653, 5_897_932_384)
}

/// Draws a number of elements.
fn length(rng: &mut Lcg64Xsh32, range: Range<u64>) -> usize {
    usize::try_from(rng.gen_range(range)).expect("no data set has over 125 000 elements")
}

/// Draws the elements of the outermost sequence. Their number is fixed, but it
/// is drawn all the same, since the draw moves the stream.
fn all<T>(rng: &mut Lcg64Xsh32, n: u64, one: impl FnMut(&mut Lcg64Xsh32) -> T) -> Vec<T> {
    many(rng, n..n + 1, one)
}

/// Draws how many elements there are, then each of them.
fn many<T>(
    rng: &mut Lcg64Xsh32,
    range: Range<u64>,
    mut one: impl FnMut(&mut Lcg64Xsh32) -> T,
) -> Vec<T> {
    let n = length(rng, range);
    (0..n).map(|_| one(rng)).collect()
}

/// Draws whether there is a value, then the value.
fn maybe<T>(rng: &mut Lcg64Xsh32, one: impl FnOnce(&mut Lcg64Xsh32) -> T) -> Option<T> {
    coin(rng).then(|| one(rng))
}

/// True half of the time.
fn coin(rng: &mut Lcg64Xsh32) -> bool {
    rng.gen_bool(0.5)
}

/// Draws one entry of a table, each as likely as the others.
fn pick<T: Copy>(rng: &mut Lcg64Xsh32, table: &[T]) -> T {
    table[length(rng, 0..table.len() as u64)]
}

/// Draws one entry of a table of names.
fn name(rng: &mut Lcg64Xsh32, table: &[&str]) -> String {
    pick(rng, table).to_owned()
}
