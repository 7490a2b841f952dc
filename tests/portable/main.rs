//! Tests that hold on every system, also on one without files, processes, threads, a clock and panics that are caught:
//! a web page. `.ci/systems` runs them on other processors and under node; `cargo test` runs them here.
//!
//! A web page gives a program no way out but its memory. So what is to be seen of the tests is put there between
//! `<<persist:` and `>>`, and `.ci/portable.mjs` looks for it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

mod evolution;
mod fixtures;
mod graphs;
mod histories;
mod hostile;
mod values;
mod worlds;

use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

/// The tests, each with its name.
const TESTS: [(&str, fn()); 14] = [
    (
        "the same state has the bytes of the fixture",
        fixtures::the_same_state_has_the_bytes_of_the_fixture,
    ),
    ("a fixture is saved as its bytes again", fixtures::a_fixture_is_saved_as_its_bytes_again),
    ("tools read and write each fixture", fixtures::tools_read_and_write_each_fixture),
    ("random values come back", values::random_values_come_back),
    ("numbers are little-endian", values::numbers_are_little_endian),
    ("random graphs come back", graphs::random_graphs_come_back),
    ("a chain of 100,000 objects needs no stack", graphs::a_long_chain_needs_no_stack),
    ("an older save loads", evolution::an_older_save_loads),
    ("what a program does not know goes back", evolution::what_a_program_does_not_know_goes_back),
    ("any bytes are a value or an error", hostile::any_bytes_are_a_value_or_an_error),
    ("random worlds come back", worlds::random_worlds_come_back),
    ("a world returns to its snapshot", worlds::a_world_returns_to_its_snapshot),
    ("undo and redo are exact", histories::undo_and_redo_are_exact),
    ("a session in memory loses no edit", histories::a_session_in_memory_loses_no_edit),
];

/// A generator of random numbers that every system has alike.
fn random(seed: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed)
}

/// Shows a line: on the standard output, and in the memory of a web page.
fn show(text: &str) {
    println!("{text}");
    std::mem::forget(std::hint::black_box(format!("<<persist:{text}>>")));
}

fn run() {
    for (name, test) in TESTS {
        show(name);
        test();
    }
    show(&format!("{} tests passed", TESTS.len()));
}

fn main() {
    if cfg!(target_family = "wasm") {
        std::panic::set_hook(Box::new(|why| show(&why.to_string())));
    }
    run();
}

#[test]
fn portable() {
    run();
}
