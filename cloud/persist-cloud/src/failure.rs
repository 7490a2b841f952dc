//! What fails for a moment is tried again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use persist::{Error, ErrorKind, Result};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::CloudOptions;

pub(crate) type Attempt<T> = Result<T, Failure>;

/// Why an attempt failed, and whether the next may not.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) may_pass: bool,
}

impl Failure {
    /// The service did not answer as it should.
    #[cfg(feature = "object-store")]
    pub(crate) fn passing(error: Error) -> Self {
        Self { error, may_pass: true }
    }
}

/// An error that stays, however often one tries.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, may_pass: false }
    }
}

/// The pause before the second attempt, at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Tries until an attempt succeeds, fails for good, or there is no time or attempt left.
pub(crate) async fn tried<T, F: Future<Output = Result<T, Failure>>>(
    options: &CloudOptions,
    mut attempt: impl FnMut() -> F,
) -> Result<T> {
    let deadline = Instant::now() + options.deadline;
    let mut last = None;
    let mut pause = FIRST_PAUSE;
    for _ in 0..options.attempts.max(1) {
        match timeout_at(deadline, attempt()).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(Failure { error, may_pass: false })) => return Err(error),
            Ok(Err(Failure { error, may_pass: true })) => last = Some(error),
            Err(_) => return Err(late(options.deadline, last.as_ref())),
        }
        // Writers that failed together must not come back together.
        let next = Instant::now() + random_up_to(pause);
        if next >= deadline {
            return Err(late(options.deadline, last.as_ref()));
        }
        sleep_until(next).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Err(last.unwrap_or_else(|| late(options.deadline, None)))
}

fn random_up_to(most: Duration) -> Duration {
    #[expect(clippy::cast_possible_truncation, reason = "it is random all the same")]
    most.mul_f64(f64::from(random() as u32) / f64::from(u32::MAX))
}

/// The seed of a new hash map is random, which is all that is needed here.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

/// A name that no other write has.
pub(crate) fn new_name() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Another writer was first.
#[cold]
pub(crate) fn conflict(slot: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "`{slot}` has another version than expected, another program has saved or deleted it since; get it, and decide which save stays"
        ),
    )
}

#[cold]
fn late(deadline: Duration, last: Option<&Error>) -> Error {
    let cause = last.map(|error| format!(", {error}")).unwrap_or_default();
    let seconds = deadline.as_secs_f64();
    Error::new(
        ErrorKind::Io,
        format!(
            "there was no answer within {seconds} s{cause}; try again, and look first whether a write has happened"
        ),
    )
}
