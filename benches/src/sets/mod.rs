//! The data sets that only the benchmarks have: text that is not English, and the state of a game. And types that have
//! the data of others in another form.

pub(crate) mod chat;
pub(crate) mod compact_game;
pub(crate) mod game;
pub(crate) mod pod_mesh;

use rand::Rng;
use rand_pcg::Lcg64Xsh32;

/// One entry of a table, each as likely as the others.
fn pick<T: Copy>(rng: &mut Lcg64Xsh32, table: &[T]) -> T {
    table[rng.gen_range(0..table.len())]
}

/// Draws whether there is a value, one time in `of`, then the value.
fn seldom<T>(rng: &mut Lcg64Xsh32, of: u32, one: impl FnOnce(&mut Lcg64Xsh32) -> T) -> Option<T> {
    rng.gen_ratio(1, of).then(|| one(rng))
}
