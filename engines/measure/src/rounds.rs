//! Measures the fastest of several runs of a function.

use std::time::{Duration, Instant};

/// Returns the time of the fastest run. Each run gets a new value, which is created before its clock starts.
pub fn fastest<V, R>(mut make: impl FnMut() -> V, mut run: impl FnMut(V) -> R) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..15 {
        let value = make();
        let start = Instant::now();
        let result = run(value);
        best = best.min(start.elapsed());
        drop(result);
    }
    best
}

/// Prints a row of the table.
pub fn row(what: &str, time: Duration, bytes: Option<usize>) {
    let bytes = bytes.map_or(String::new(), |bytes| format!("{} kB", bytes / 1000));
    println!("| {what} | {:.1} ms | {bytes} |", time.as_secs_f64() * 1e3);
}
