//! Saves on the real system while it fails: rows of `docs/internals/reliability.md` that need a tool or the
//! superuser. What cannot run says why; the last line counts both.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "it is a test")]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[cfg(target_os = "linux")]
mod full;
#[cfg(target_os = "linux")]
mod power;
mod process;
#[cfg(target_os = "linux")]
mod trace;

/// What has become of a check.
enum Ran {
    /// How many faults there were.
    Faults(usize),
    Skipped(String),
}

type Check = (&'static str, fn() -> Ran);

#[cfg(target_os = "linux")]
const CHECKS: &[Check] = &[
    ("a_power_cut_at_every_step_leaves_the_old_save_or_the_new_one", power::cuts),
    ("a_kill_at_every_system_call_leaves_the_old_save_or_the_new_one", trace::kills),
    ("an_error_of_every_system_call_leaves_the_old_save_or_the_new_one", trace::errors),
    ("a_write_that_lies_is_found_by_reading_back", trace::lies),
    ("a_kill_at_every_system_call_of_a_recovery_loses_nothing", trace::kills_in_a_recovery),
    ("a_save_is_made_where_locks_and_permissions_are_refused", trace::refusals),
    ("a_full_disk_leaves_the_old_save", full::disk),
    ("a_file_that_may_not_grow_leaves_the_old_save", full::file_size),
    ("a_disk_that_cannot_be_written_is_still_read", full::read_only),
    ("two_programs_take_turns", full::two_programs),
    ("a_program_that_does_not_wait_is_told_of_the_other", full::in_use),
];

#[cfg(not(target_os = "linux"))]
const CHECKS: &[Check] = &[];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == process::CHILD) {
        process::child(&arguments[1..]);
        return;
    }
    // As `cargo test` calls it: a part of a name, and options that mean nothing here.
    if arguments.iter().any(|argument| argument == "--list") {
        CHECKS.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let (ran, skipped, next) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let wanted: Vec<&Check> = CHECKS
        .iter()
        .filter(|(name, _)| filter.is_none_or(|filter| name.contains(filter.as_str())))
        .collect();
    // They wait for other processes most of the time.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((name, check)) = wanted.get(next.fetch_add(1, Relaxed)) {
                    match check() {
                        Ran::Faults(faults) => {
                            println!("test {name} ... ok, {faults} faults");
                            ran.fetch_add(1, Relaxed);
                        }
                        Ran::Skipped(why) => {
                            println!("test {name} ... skipped: {why}");
                            skipped.fetch_add(1, Relaxed);
                        }
                    }
                }
            });
        }
    });
    let (ran, skipped) = (ran.into_inner(), skipped.into_inner());
    println!("\non the real system: {ran} ran, {skipped} skipped");
}
