//! Retries requests that fail with a transient error.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use persist::{Error, ErrorKind, Result};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::CloudOptions;

pub(crate) type Attempt<T> = Result<T, Failure>;

/// Why an attempt failed, and whether another attempt may succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) is_transient: bool,
}

impl Failure {
    /// Creates a transient failure: another attempt may succeed.
    #[cfg(feature = "object-store")]
    pub(crate) fn transient(error: Error) -> Self {
        Self { error, is_transient: true }
    }
}

/// Converts an error into a permanent failure, which is not retried.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, is_transient: false }
    }
}

/// The maximum pause before the second attempt. It doubles with each attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The maximum pause before any attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Repeats attempts until one succeeds, one fails permanently, or the deadline or the number of attempts is reached.
pub(crate) async fn retry<T, F: Future<Output = Result<T, Failure>>>(
    options: &CloudOptions,
    mut attempt: impl FnMut() -> F,
) -> Result<T> {
    let deadline = Instant::now() + options.deadline;
    let mut last = None;
    let mut pause = FIRST_PAUSE;
    for _ in 0..options.attempts.max(1) {
        match timeout_at(deadline, attempt()).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(Failure { error, is_transient: false })) => return Err(error),
            Ok(Err(Failure { error, is_transient: true })) => last = Some(error),
            Err(_) => return Err(late(options.deadline, last.as_ref())),
        }
        // A random pause: writers that failed at the same moment must not retry at the same moment.
        let next = Instant::now() + random_up_to(pause);
        if next >= deadline {
            return Err(late(options.deadline, last.as_ref()));
        }
        sleep_until(next).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Err(last.unwrap_or_else(|| late(options.deadline, None)))
}

fn random_up_to(max: Duration) -> Duration {
    #[expect(clippy::cast_possible_truncation, reason = "it is random all the same")]
    max.mul_f64(f64::from(random() as u32) / f64::from(u32::MAX))
}

/// Returns a random number from the seed of a new hasher, so that no crate for random numbers is needed.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

/// Returns a random name of 128 bits, unique for each write.
pub(crate) fn new_name() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Returns the error of a write whose slot another writer has changed first.
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
