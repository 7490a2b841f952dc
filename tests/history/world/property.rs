//! Random edits, groups, limits, undos, redos and failures, against a history of whole snapshots.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use persist::history::{Edit, Proof};
use persist::{ErrorKind, History, Result, SaveManager, World};
use persist_tests::support::{bytes, short_or_long};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::changes::{Changes, enough};
use super::naive::{Became, Key, Naive, Settings};
use super::scene::{logged, saved_and_loaded, saves, text_of};
use super::stage::{entries, kind};
use crate::document::apart;

/// How often each thing has happened.
type Tally = BTreeMap<&'static str, u32>;

/// How an edit ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// What is refused on its way is left out.
    Whole,
    /// By what is refused first.
    First,
    Error,
    Panic,
}

struct Run {
    world: World,
    history: History,
    naive: Naive,
    changes: Changes,
    saves: SaveManager,
    /// How many releases of each actor are expected in the end.
    releases: BTreeMap<u32, u32>,
    tally: Tally,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut changes = Changes::new(Pcg64::seed_from_u64(seed));
        let capacity = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 100][changes.random.gen_range(0..11)];
        let mut saves = saves();
        let world = changes.world().expect("components");
        let world = saved_and_loaded(&mut saves, &world);
        let naive = Naive::new(text_of(&mut saves, &world), capacity);
        let mut history = History::new(capacity);
        history.set_merge_window(Some(Duration::MAX));
        history
            .set_proof([Proof::Off, Proof::Touched, Proof::Whole][changes.random.gen_range(0..3)]);
        Self {
            world,
            history,
            naive,
            changes,
            saves,
            releases: BTreeMap::new(),
            tally: Tally::new(),
        }
    }

    fn pick(&mut self, count: u32) -> u32 {
        self.changes.random.gen_range(0..count)
    }

    fn note(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    fn text(&mut self) -> String {
        text_of(&mut self.saves, &self.world)
    }

    /// The world and its history are what the naive one says.
    fn compare(&mut self, what: &str) {
        assert_eq!(self.text(), self.naive.text(), "{what}");
        let (history, naive) = (&self.history, &self.naive);
        assert_eq!(
            (history.position(), history.entries().len()),
            (naive.position, naive.len()),
            "{what}"
        );
        assert_eq!(history.can_undo(), naive.position > 0);
        assert_eq!(history.can_redo(), naive.position < naive.len());
        assert!(history.poison().is_none());
        let sum: usize = history.entries().map(|entry| entry.bytes).sum();
        assert_eq!(bytes(history), sum);
    }

    fn ending(&mut self) -> Ending {
        match self.pick(12) {
            0 => Ending::Error,
            1 => Ending::Panic,
            2 | 3 => Ending::First,
            _ => Ending::Whole,
        }
    }

    /// Runs an edit of several changes; true if it was done.
    fn edit(&mut self, label: &str, count: u32, ending: Ending) -> bool {
        let Self { world, history, changes, .. } = self;
        let mut change = |edit: &mut Edit<'_>| -> Result<()> {
            for _ in 0..count {
                let result = match changes.random.gen_ratio(1, 6) {
                    true => edit.part(|edit| {
                        changes.change(edit)?;
                        changes.change(edit)
                    }),
                    false => changes.change(edit),
                };
                if ending == Ending::First {
                    result?;
                }
            }
            match ending {
                Ending::Error => Err(enough()),
                Ending::Panic => resume_unwind(Box::new("enough")),
                _ => Ok(()),
            }
        };
        let result =
            catch_unwind(AssertUnwindSafe(|| history.edit(world, label, |edit| change(edit))));
        for serial in std::mem::take(&mut self.changes.actors) {
            *self.releases.entry(serial).or_default() += 1;
        }
        matches!(result, Ok(Ok(())))
    }

    /// An edit of many kinds of changes, which is not merged.
    fn edit_of_all(&mut self) {
        let before = (self.text(), entries(&self.history));
        let (count, ending) = (self.pick(5) + 1, self.ending());
        if !self.edit("All", count, ending) {
            self.note("failed");
            assert_eq!((self.text(), entries(&self.history)), before, "it failed");
            return;
        }
        if entries(&self.history) == before.1 {
            assert_eq!(self.text(), before.0, "it is not recorded");
            return;
        }
        self.note("edit");
        // It may be settings alone, with which a later one of this label would go.
        apart(&mut self.history);
        let text = self.text();
        self.naive.edit(text, None);
    }

    /// An edit that sets fields alone, which may go with the one before.
    fn drag(&mut self) {
        let label = ["", "Drag"][self.pick(2) as usize].to_owned();
        let before = (self.text(), entries(&self.history));
        let ending = self.ending();
        let Self { world, history, changes, .. } = self;
        let mut keys: Vec<Key> = Vec::new();
        let old = changes.values(world);
        let result = catch_unwind(AssertUnwindSafe(|| {
            history.edit(world, label.clone(), |edit| {
                let result = changes.set(edit, &mut keys);
                match ending {
                    Ending::First => result,
                    Ending::Error => Err(enough()),
                    Ending::Panic => resume_unwind(Box::new("enough")),
                    Ending::Whole => Ok(()),
                }
            })
        }));
        if !matches!(result, Ok(Ok(()))) {
            self.note("failed");
            assert_eq!((self.text(), entries(&self.history)), before, "it failed");
            return;
        }
        let new = self.changes.values(&self.world);
        let fields = keys.into_iter().filter_map(|key| {
            let values = (old.get(&key)?.clone(), new.get(&key)?.clone());
            (values.0 != values.1).then_some((key, values))
        });
        let fields = fields.collect();
        let text = self.text();
        match self.naive.edit(text, Some(Settings { label, fields, has_cut: false })) {
            Became::Nothing => assert_eq!(entries(&self.history), before.1),
            Became::Entry => self.note("setting"),
            Became::Merged => self.note("merged"),
            Became::Annulled => self.note("annulled"),
        }
    }

    /// Several edits as one.
    fn group(&mut self, depth: u32) -> bool {
        let before = (self.text(), self.history.position());
        let entries_before = entries(&self.history);
        self.history.begin("Group").expect("it is not poisoned");
        let mut is_done = false;
        for step in 0..self.pick(4) {
            if depth < 2 && self.pick(4) == 0 {
                is_done |= self.group(depth + 1);
                continue;
            }
            let (text, ending) = (self.text(), self.ending());
            let count = self.pick(3) + 1;
            // Each has a label of its own, so that it does not go with the one before.
            if self.edit(&format!("{depth} {step}"), count, ending) {
                is_done |= text != self.text();
            } else {
                assert_eq!(self.text(), text);
            }
            assert_eq!(kind(self.history.undo(&mut self.world)), ErrorKind::OpenTransaction);
        }
        if self.pick(3) == 0 {
            self.history.rollback(&mut self.world).expect("it can be taken back");
            self.note("rolled back");
            assert_eq!((self.text(), self.history.position()), before);
            if depth == 0 {
                assert_eq!(entries(&self.history), entries_before);
            }
            is_done = false;
        } else {
            self.history.commit(&mut self.world).expect("it is open");
            self.note("committed");
        }
        if depth > 0 {
            return is_done;
        }
        apart(&mut self.history);
        self.naive.last = None;
        // Changes that took each other back are an entry, too.
        if entries(&self.history) == entries_before {
            assert!(!is_done, "it is not recorded");
        } else {
            let text = self.text();
            self.naive.edit(text, None);
        }
        is_done
    }

    fn step(&mut self) {
        match self.pick(23) {
            0..7 => self.edit_of_all(),
            7..12 => {
                for _ in 0..=self.pick(4) {
                    self.drag();
                    self.compare("a drag");
                }
            }
            12 | 13 => drop(self.group(0)),
            14..17 => {
                let is_done = self.history.undo(&mut self.world).expect("it can be undone");
                assert_eq!(is_done, self.naive.position > 0);
                self.naive.go_to(self.naive.position.saturating_sub(1));
                self.note("undo");
            }
            17..19 => {
                let is_done = self.history.redo(&mut self.world).expect("it can be redone");
                let position = (self.naive.position + 1).min(self.naive.len());
                assert_eq!(is_done, position > self.naive.position);
                self.naive.go_to(position);
                self.note("redo");
            }
            19 | 20 => {
                let count = u32::try_from(self.naive.len()).expect("few");
                let position = self.pick(count + 1) as usize;
                self.history.go_to(&mut self.world, position).expect("it is there");
                self.naive.go_to(position);
                self.note("jump");
            }
            21 => {
                apart(&mut self.history);
                self.naive.last = None;
            }
            _ => {
                let capacity = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 21][self.pick(12) as usize];
                self.history.set_capacity(&mut self.world, Some(capacity));
                self.naive.capacity = capacity;
                self.naive.trim();
                self.note("limit");
            }
        }
    }

    /// All that can be reached, and that each actor is released once in the end.
    fn end(mut self, seed: u64) -> Tally {
        for position in (0..=self.naive.len()).rev().chain(0..=self.naive.len()) {
            self.history.go_to(&mut self.world, position).expect("it is there");
            self.naive.go_to(position);
            self.compare(&format!("at {position} in the end of {seed}"));
        }
        self.history.clear(&mut self.world).expect("it is closed");
        drop(self.world);
        let mut found: BTreeMap<u32, u32> = BTreeMap::new();
        for line in logged() {
            let serial = line.strip_prefix("release ").expect("nothing else runs");
            *found.entry(serial.parse().expect("a number")).or_default() += 1;
        }
        assert_eq!(found, self.releases, "the releases of {seed}");
        self.tally
    }
}

fn run(seed: u64, steps: u32) -> Tally {
    logged();
    let mut run = Run::new(seed);
    for step in 0..steps {
        run.step();
        run.compare(&format!("step {step} of {seed}"));
    }
    run.end(seed)
}

#[test]
fn a_history_of_a_world_does_what_one_of_snapshots_does() {
    let mut all = Tally::new();
    // It is the longest test of the room: two threads share it.
    std::thread::scope(|scope| {
        let halves = [0, 1].map(|first| {
            scope.spawn(move || {
                (first..short_or_long(10, 25))
                    .step_by(2)
                    .map(|seed| run(seed, 120))
                    .collect::<Vec<_>>()
            })
        });
        for (what, count) in halves.into_iter().flat_map(|half| half.join().unwrap()).flatten() {
            *all.entry(what).or_default() += count;
        }
    });
    for (what, least) in [
        ("edit", 150),
        ("failed", 100),
        ("setting", 200),
        ("merged", 20),
        ("annulled", 3),
        ("undo", 100),
        ("redo", 80),
        ("jump", 80),
        ("committed", 60),
        ("rolled back", 20),
        ("limit", 40),
    ] {
        assert!(all.get(what).is_some_and(|count| *count >= least), "{what} in {all:?}");
    }
}
