//! Saves whose schema is another one come back as if it were the program's: of every save here fields and variants
//! stand in another order, and numbers are of wider or narrower kinds.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod fixtures;
mod games;
mod graphs;
mod kept;
mod loads;
mod shapes;
mod writer;

#[path = "../../../persist/examples/quest/play.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "the example uses the rest")]
mod play;
#[path = "../../../persist/examples/quest/world.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "the example uses the rest")]
mod world;

use persist_tests::support::disarranged::Tally;
use persist_tests::support::{Shared, shared};

/// What eight seeds change in all.
fn seeds(mut check: impl FnMut(u64) -> Tally) -> Tally {
    let mut sum = Tally::default();
    (0..8).for_each(|seed| sum += check(seed));
    sum
}
