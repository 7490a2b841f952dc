//! Memory that entries of histories take; counting it takes time, so that it is not done where times are.
#![forbid(unsafe_code)]

#[path = "history/ours.rs"]
mod ours;
#[path = "history/rivals.rs"]
mod rivals;
#[path = "history/subject.rs"]
mod subject;

use ours::{ByCommand, Creature, OfWorld};
use peak_alloc::PeakAlloc;
use rivals::{OfUndo, OfUndo2};
use subject::{Subject, Transform, check};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// A power of two: lists that double have no room left over.
const ENTRIES: usize = 1 << 17;

fn main() {
    println!("| bytes of an entry | allocated | `History::bytes` |\n|---|---|---|");
    row("undo, a command", OfUndo::new);
    row("undo_2, a command", OfUndo2::new);
    row("persist, a command", ByCommand::new);
    row("persist, `set` of a field", OfWorld::<Transform>::by_path);
    row("persist, `edit` of a component", OfWorld::<Transform>::by_edit);
    row("persist, `set` of one of 20 fields", OfWorld::<Creature>::by_path);
    row("persist, `edit` of a component of 20", OfWorld::<Creature>::by_edit);
}

fn row<S: Subject>(name: &str, make: fn() -> S) {
    check(name, &mut make());
    // A new one has no room that was left by others.
    let mut subject = make();
    let before = HEAP.current_usage();
    subject.set_many(ENTRIES);
    let allocated = (HEAP.current_usage() - before) as f64 / ENTRIES as f64;
    let counted = subject
        .bytes()
        .map_or(String::new(), |bytes| format!("{:.1}", bytes as f64 / ENTRIES as f64));
    println!("| {name} | {allocated:.1} | {counted} |");
}
