//! How many entries there are, and what becomes of those that are not there any more.

use persist_tests::support::bytes;
use std::collections::VecDeque;

use persist::history::{Capacity, CommandEdit, FinalState};
use persist::{Command, History, Result};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::document::{Document, Editor, Set, Write, ends, logged};

#[test]
fn a_history_holds_exactly_its_capacity() -> Result<()> {
    for capacity in 1..=9 {
        let mut editor = Editor::of(capacity);
        for number in 1..=20 {
            editor.write("a")?;
            assert_eq!(editor.place(), (capacity.min(number), capacity.min(number)));
        }
        while editor.undo()? {}
        assert_eq!(editor.document.words.len(), 20 - capacity);
    }
    Ok(())
}

#[test]
fn a_history_of_one_entry_undoes_the_last_edit() -> Result<()> {
    let mut editor = Editor::of(1);
    editor.write("a b")?;
    assert!(editor.undo()?);
    assert_eq!(editor.text(), "a");
    assert!(!editor.undo()?);
    assert!(editor.redo()?);
    assert_eq!(editor.text(), "a b");
    Ok(())
}

#[test]
fn a_history_without_room_undoes_nothing() -> Result<()> {
    let mut editor = Editor::of(0);
    editor.write("a b")?;
    assert_eq!((editor.place(), editor.text().as_str()), ((0, 0), "a b"));
    assert!(!editor.undo()? && editor.history.is_modified());
    assert_eq!(ends(&logged()), ["a Applied", "b Applied"]);
    Ok(())
}

#[test]
fn a_transaction_counts_as_one_entry() -> Result<()> {
    let mut editor = Editor::of(2);
    editor.write("a b")?;
    editor.history.begin("Many")?;
    for word in ["c", "d", "e", "f"] {
        editor.write(word)?;
        assert_eq!(editor.place(), (2, 2), "nothing falls out of an open transaction");
    }
    assert_eq!(ends(&logged()), [""; 0]);
    editor.commit()?;
    assert_eq!(editor.labels(), ["Write b", "Many"]);
    assert_eq!(ends(&logged()), ["a Applied"]);
    Ok(())
}

#[test]
fn a_limit_that_shrinks_in_a_transaction_holds_from_its_end_on() -> Result<()> {
    for end in ["commit", "rollback", "empty"] {
        let mut editor = Editor::new();
        editor.write("a b c")?;
        editor.undo()?;
        editor.history.begin("Many")?;
        if end != "empty" {
            editor.write("d")?;
        }
        editor.history.set_capacity(&mut editor.document, Some(1));
        assert_eq!(ends(&logged()), [""; 0], "{end}");
        if end == "rollback" {
            editor.rollback()?;
        } else {
            editor.commit()?;
        }
        assert_eq!(editor.history.entries().len(), 1, "{end}");
        editor.undo()?;
        assert_eq!(editor.text(), if end == "commit" { "a b" } else { "a" }, "{end}");
        logged();
    }
    Ok(())
}

#[test]
fn a_smaller_limit_drops_the_oldest_and_then_what_would_be_redone_last() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c d e f")?;
    editor.go_to(3)?;
    logged();
    editor.history.set_capacity(&mut editor.document, Some(5));
    assert_eq!(ends(&logged()), ["a Applied"]);
    editor.history.set_capacity(&mut editor.document, Some(3));
    assert_eq!(ends(&logged()), ["b Applied", "f Undone"]);
    assert_eq!(editor.labels(), ["Write c", "Write d", "Write e"]);
    assert_eq!(editor.history.position(), 1);
    editor.history.set_capacity(&mut editor.document, Some(1));
    assert_eq!(editor.labels(), ["Write c"], "the current one stays");
    assert_eq!(ends(&logged()), ["e Undone", "d Undone"]);
    editor.history.set_capacity(&mut editor.document, Some(0));
    assert!(editor.history.entries().len() == 0);
    assert_eq!(editor.text(), "a b c");
    Ok(())
}

#[test]
fn a_larger_limit_makes_room() -> Result<()> {
    let mut editor = Editor::of(1);
    editor.write("a b")?;
    editor.history.set_capacity(&mut editor.document, None);
    editor.write("c d e")?;
    assert_eq!(editor.history.entries().len(), 4);
    editor.history.set_capacity(&mut editor.document, Some(4));
    assert_eq!(editor.history.entries().len(), 4);
    Ok(())
}

/// Appends a word that takes so many bytes.
struct Heavy(usize);

impl Command<Document> for Heavy {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().words.push(String::from("heavy"));
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.words.pop();
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.0
    }
}

#[test]
fn entries_are_dropped_until_they_are_within_the_budget_of_bytes() -> Result<()> {
    let mut editor = Editor::with(History::new(Capacity { entries: None, bytes: Some(10_000) }));
    for _ in 0..5 {
        editor.apply(Heavy(3_000))?;
        let sum: usize = editor.history.entries().map(|entry| entry.bytes).sum();
        assert_eq!(bytes(&editor.history), sum);
        assert!(sum <= 10_000);
    }
    assert_eq!(editor.place(), (3, 3));
    editor.apply(Heavy(6_000))?;
    assert_eq!(editor.place(), (2, 2));
    editor
        .history
        .set_capacity(&mut editor.document, Capacity { bytes: Some(1), ..Capacity::default() });
    assert_eq!(editor.place(), (1, 1));
    editor.history.set_capacity(&mut editor.document, None);
    editor.apply(Heavy(1_000_000))?;
    editor.apply(Heavy(1_000_000))?;
    assert_eq!(editor.place(), (3, 3));
    Ok(())
}

#[test]
fn the_newest_entry_is_kept_however_large() -> Result<()> {
    let mut editor = Editor::with(History::new(Capacity { entries: Some(5), bytes: Some(1_000) }));
    editor.apply(Heavy(10))?;
    editor.apply(Heavy(1_000_000))?;
    assert_eq!(editor.place(), (1, 1));
    assert!(bytes(&editor.history) > 1_000_000);
    assert!(editor.undo()?);
    assert_eq!(editor.document.words.len(), 1);
    editor.redo()?;
    editor.apply(Heavy(10))?;
    assert_eq!(editor.place(), (1, 1));
    assert!(bytes(&editor.history) < 1_000);
    Ok(())
}

/// Words with numbers, which are given out as they are created, kept for words that are deleted, and come back when they cannot return.
#[derive(Default, Debug, PartialEq, Eq)]
struct Shelf {
    there: Vec<usize>,
    parked: Vec<usize>,
    free: Vec<usize>,
    next: usize,
}

enum Shelve {
    Create(Option<usize>),
    Delete(usize),
}

impl Command<Shelf> for Shelve {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Shelf>) -> Result<()> {
        let shelf = edit.target();
        match self {
            Self::Create(id) => {
                let id = *id.get_or_insert_with(|| {
                    shelf.free.pop().unwrap_or_else(|| {
                        shelf.next += 1;
                        shelf.next
                    })
                });
                shelf.parked.retain(|other| *other != id);
                shelf.there.push(id);
            }
            Self::Delete(id) => {
                shelf.there.retain(|other| other != id);
                shelf.parked.push(*id);
            }
        }
        Ok(())
    }

    fn undo(&mut self, shelf: &mut Shelf) -> Result<()> {
        let (Self::Create(Some(id)) | Self::Delete(id)) = *self else { return Ok(()) };
        match self {
            Self::Create(_) => {
                shelf.there.retain(|other| *other != id);
                shelf.parked.push(id);
            }
            Self::Delete(_) => {
                shelf.parked.retain(|other| *other != id);
                shelf.there.push(id);
            }
        }
        Ok(())
    }

    fn finalize(&mut self, shelf: &mut Shelf, end: FinalState) {
        let gone = match (self, end) {
            (Self::Create(Some(id)), FinalState::Undone)
            | (Self::Delete(id), FinalState::Applied) => *id,
            _ => return,
        };
        assert!(shelf.parked.contains(&gone), "{gone} is let go of twice");
        shelf.parked.retain(|other| *other != gone);
        shelf.free.push(gone);
    }
}

#[test]
fn a_creation_that_is_cut_and_a_deletion_that_falls_out_give_back_what_they_hold() -> Result<()> {
    let (mut shelf, mut history) = (Shelf::default(), History::new(2));
    history.apply(&mut shelf, Shelve::Create(None))?;
    history.apply(&mut shelf, Shelve::Create(None))?;
    history.undo(&mut shelf)?;
    assert_eq!((&*shelf.there, &*shelf.parked, &*shelf.free), (&[1][..], &[2][..], &[][..]));
    history.apply(&mut shelf, Shelve::Delete(1))?;
    assert_eq!((&*shelf.there, &*shelf.parked, &*shelf.free), (&[][..], &[1][..], &[2][..]));
    history.apply(&mut shelf, Shelve::Create(None))?;
    assert_eq!((&*shelf.there, &*shelf.parked, &*shelf.free), (&[2][..], &[1][..], &[][..]));
    history.apply(&mut shelf, Shelve::Create(None))?;
    assert_eq!((&*shelf.there, &*shelf.parked, &*shelf.free), (&[2, 3][..], &[][..], &[1][..]));
    history.undo(&mut shelf)?;
    history.undo(&mut shelf)?;
    history.clear(&mut shelf)?;
    assert_eq!((&*shelf.there, shelf.parked.len(), shelf.free.len()), (&[][..], 0, 3));
    Ok(())
}

#[test]
fn every_command_of_an_entry_ends_once_and_as_the_entry_did() -> Result<()> {
    let mut editor = Editor::of(2);
    for words in [["a", "b"], ["c", "d"]] {
        editor.history.edit(&mut editor.document, "", |edit| {
            words.into_iter().try_for_each(|word| edit.apply(Write(word_of(word))))
        })?;
    }
    logged();
    editor.write("e")?;
    assert_eq!(sorted_ends(), ["a Applied", "b Applied"]);
    editor.go_to(0)?;
    editor.write("f")?;
    assert_eq!(sorted_ends(), ["c Undone", "d Undone", "e Undone"]);
    editor.history.clear(&mut editor.document)?;
    assert_eq!(sorted_ends(), ["f Applied"]);
    Ok(())
}

fn word_of(word: &str) -> &'static str {
    ["a", "b", "c", "d"].into_iter().find(|other| *other == word).unwrap_or("e")
}

fn sorted_ends() -> Vec<String> {
    let log = logged();
    let mut ends: Vec<_> = ends(&log).into_iter().map(String::from).collect();
    ends.sort();
    ends
}

/// A history as two lists would have it: values before and behind each entry.
#[derive(Default)]
struct Oracle {
    undo: VecDeque<(i64, i64)>,
    redo: VecDeque<(i64, i64)>,
}

impl Oracle {
    fn shrink(&mut self, capacity: usize) {
        while self.undo.len() + self.redo.len() > capacity {
            if self.undo.len() > 1 || (self.redo.is_empty() && !self.undo.is_empty()) {
                self.undo.pop_front();
            } else {
                self.redo.pop_front();
            }
        }
    }
}

#[test]
fn a_hundred_thousand_random_calls_leave_what_two_lists_hold() -> Result<()> {
    let capacities = (1..=9).chain([11, 13, 100, 1_000]);
    for capacity in capacities {
        let mut random = Pcg64::seed_from_u64(capacity as u64);
        let mut editor = Editor::of(capacity);
        let (mut oracle, mut value, mut capacity) = (Oracle::default(), 0, capacity);
        for call in 1..=8_000 {
            match random.gen_range(0..100) {
                0..45 => {
                    editor.set("x", call)?;
                    editor.apart();
                    oracle.redo.clear();
                    oracle.undo.push_back((value, call));
                    value = call;
                }
                45..70 => {
                    let undone = oracle.undo.pop_back();
                    assert_eq!(editor.undo()?, undone.is_some());
                    value = undone.map_or(value, |(before, _)| before);
                    undone.into_iter().for_each(|entry| oracle.redo.push_back(entry));
                }
                70..90 => {
                    let redone = oracle.redo.pop_back();
                    assert_eq!(editor.redo()?, redone.is_some());
                    value = redone.map_or(value, |(_, behind)| behind);
                    redone.into_iter().for_each(|entry| oracle.undo.push_back(entry));
                }
                90..98 => {
                    let to = random.gen_range(0..=oracle.undo.len() + oracle.redo.len());
                    editor.go_to(to)?;
                    while oracle.undo.len() > to {
                        let entry = oracle.undo.pop_back().unwrap();
                        value = entry.0;
                        oracle.redo.push_back(entry);
                    }
                    while oracle.undo.len() < to {
                        let entry = oracle.redo.pop_back().unwrap();
                        value = entry.1;
                        oracle.undo.push_back(entry);
                    }
                }
                _ => {
                    capacity = random.gen_range(1..=capacity + 2);
                    editor.history.set_capacity(&mut editor.document, Some(capacity));
                }
            }
            oracle.shrink(capacity);
            assert_eq!(editor.document.number("x"), value);
            let len = oracle.undo.len() + oracle.redo.len();
            assert_eq!(editor.place(), (len, oracle.undo.len()));
            assert_eq!(editor.history.can_undo(), !oracle.undo.is_empty());
            assert_eq!(editor.history.can_redo(), !oracle.redo.is_empty());
        }
        logged();
    }
    Ok(())
}

#[test]
fn a_command_that_is_not_there_any_more_costs_nothing() -> Result<()> {
    let mut editor = Editor::of(7);
    let mut before = 0;
    for number in 0..1_000 {
        let set = Set::of(&editor.document, "x", number % 2 + 1);
        editor.apply(set)?;
        editor.apart();
        if number == 100 {
            before = bytes(&editor.history);
        }
    }
    assert_eq!(bytes(&editor.history), before);
    editor.history.clear(&mut editor.document)?;
    assert_eq!(bytes(&editor.history), 0);
    Ok(())
}
