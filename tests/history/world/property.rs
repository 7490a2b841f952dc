//! Random edits, groups, limits, undos, redos and failures, against a history of whole snapshots.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use persist::history::{Edit, Proof};
use persist::{ErrorKind, History, Result, Saves, World};
use persist_tests::support::short_or_long;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::changes::{Changes, enough};
use super::naive::{Became, Key, Naive, Settings};
use super::scene::{Speed, logged, saved_and_loaded, saves, text_of};
use super::stage::kind;
use crate::joined::{Between, Joined, join};
use crate::mirror::Mirror;
use crate::subject::Subject;

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
    subject: Subject<World>,
    proof: Proof,
    naive: Naive,
    /// A copy that follows the reports of the history.
    mirror: Mirror,
    changes: Changes,
    saves: Saves,
    /// How many releases of each actor are expected in the end.
    releases: BTreeMap<u32, u32>,
    tally: Tally,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut changes = Changes::new(Pcg64::seed_from_u64(seed));
        let capacity = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 100][changes.random.gen_range(0..11)];
        let saves = saves();
        let world = changes.world().expect("components");
        let world = saved_and_loaded(&saves, &world);
        let naive = Naive::new(text_of(&saves, &world), capacity);
        let proof = [Proof::Off, Proof::Touched, Proof::Whole][changes.random.gen_range(0..3)];
        let mut history = history(capacity, proof);
        let mirror = Mirror::of(&world, &mut history);
        let subject = match seed % 3 {
            0 => Subject::session(super::scene::saves(), &world, history),
            _ => Subject::Plain(world, history),
        };
        Self {
            subject,
            proof,
            naive,
            mirror,
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
        text_of(&self.saves, self.subject.target())
    }

    fn entries(&self) -> Vec<String> {
        let mut entries: Vec<_> = self.subject.history().entries().collect();
        if matches!(self.subject, Subject::Session(..)) {
            // Those of one in a file are others.
            entries.iter_mut().for_each(|entry| entry.bytes = 0);
        }
        let (position, state) = (self.subject.history().position(), self.subject.history().state());
        let head = format!("{position} of {}, {state}", entries.len());
        [head].into_iter().chain(entries.iter().map(|entry| format!("{entry:?}"))).collect()
    }

    /// The world and its history are what the naive one says.
    fn compare(&mut self, what: &str) {
        assert_eq!(self.text(), self.naive.text(), "{what}");
        self.mirror.compare(self.subject.target(), what);
        let (history, naive) = (self.subject.history(), &self.naive);
        assert_eq!(
            (history.position(), history.entries().len()),
            (naive.position, naive.len()),
            "{what}"
        );
        assert_eq!(history.can_undo(), naive.position > 0);
        assert_eq!(history.can_redo(), naive.position < naive.len());
        assert_eq!((history.is_modified(), history.saved_position()), naive.saved(), "{what}");
        assert!(history.poison().is_none());
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
        let Self { subject, changes, .. } = self;
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
        let result = catch_unwind(AssertUnwindSafe(|| subject.edit(label, |edit| change(edit))));
        for serial in std::mem::take(&mut self.changes.actors) {
            *self.releases.entry(serial).or_default() += 1;
        }
        matches!(result, Ok(Ok(())))
    }

    /// An edit of many kinds of changes, which is not merged.
    fn edit_of_all(&mut self) {
        let before = (self.text(), self.entries());
        let (count, ending) = (self.pick(5) + 1, self.ending());
        if !self.edit("All", count, ending) {
            self.note("failed");
            assert_eq!((self.text(), self.entries()), before, "it failed");
            return;
        }
        if self.entries() == before.1 {
            assert_eq!(self.text(), before.0, "it is not recorded");
            return;
        }
        self.note("edit");
        // It may be settings alone, with which a later one of this label would go.
        self.subject.apart();
        let text = self.text();
        self.naive.edit(text, None);
    }

    /// An edit that sets fields alone, which may go with the one before.
    fn drag(&mut self) {
        let label = ["", "Drag"][self.pick(2) as usize].to_owned();
        let before = (self.text(), self.entries());
        let ending = self.ending();
        let Self { subject, changes, .. } = self;
        let mut keys: Vec<Key> = Vec::new();
        let old = changes.values(subject.target());
        let result = catch_unwind(AssertUnwindSafe(|| {
            subject.edit(label.clone(), |edit| {
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
            assert_eq!((self.text(), self.entries()), before, "it failed");
            return;
        }
        let new = self.changes.values(self.subject.target());
        let fields = keys.into_iter().filter_map(|key| {
            let values = (old.get(&key)?.clone(), new.get(&key)?.clone());
            (values.0 != values.1).then_some((key, values))
        });
        let fields = fields.collect();
        let text = self.text();
        match self.naive.edit(text, Some(Settings { label, fields, has_cut: false })) {
            Became::Nothing => assert_eq!(self.entries(), before.1),
            Became::Entry => self.note("setting"),
            Became::Merged => self.note("merged"),
            Became::Annulled => self.note("annulled"),
        }
    }

    /// Several edits as one.
    fn group(&mut self, depth: u32) -> bool {
        let before = (self.text(), self.subject.history().position());
        let entries_before = self.entries();
        self.subject.begin("Group").expect("it is not poisoned");
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
            assert_eq!(kind(self.subject.undo()), ErrorKind::OpenTransaction);
        }
        if self.pick(3) == 0 {
            self.subject.rollback().expect("it can be rolled back");
            self.note("rolled back");
            assert_eq!((self.text(), self.subject.history().position()), before);
            if depth == 0 {
                assert_eq!(self.entries(), entries_before);
            }
            is_done = false;
        } else {
            self.subject.commit().expect("it is open");
            self.note("committed");
        }
        if depth > 0 {
            return is_done;
        }
        self.subject.apart();
        self.naive.last = None;
        // Changes that took each other back are an entry, too.
        if self.entries() == entries_before {
            assert!(!is_done, "it is not recorded");
        } else {
            let text = self.text();
            self.naive.edit(text, None);
        }
        is_done
    }

    fn step(&mut self) {
        match self.pick(30) {
            0..7 => self.edit_of_all(),
            7..12 => {
                for _ in 0..=self.pick(4) {
                    self.drag();
                    self.compare("a drag");
                }
            }
            12 | 13 => drop(self.group(0)),
            14..17 => {
                let is_done = self.subject.undo().expect("it can be undone");
                assert_eq!(is_done, self.naive.position > 0);
                self.naive.go_to(self.naive.position.saturating_sub(1));
                self.note("undo");
            }
            17..19 => {
                let is_done = self.subject.redo().expect("it can be redone");
                let position = (self.naive.position + 1).min(self.naive.len());
                assert_eq!(is_done, position > self.naive.position);
                self.naive.go_to(position);
                self.note("redo");
            }
            19 | 20 => {
                let count = u32::try_from(self.naive.len()).expect("few");
                let position = self.pick(count + 1) as usize;
                self.subject.go_to(position).expect("it is there");
                self.naive.go_to(position);
                self.note("jump");
            }
            21 => {
                self.subject.apart();
                self.naive.last = None;
            }
            22 | 23 => {
                let is_saved = self.pick(4) > 0;
                self.subject.mark(is_saved);
                self.naive.mark(is_saved);
                self.note("marked");
            }
            24..27 => self.join(),
            27 => self.lose_target(),
            28 => self.reopen(),
            _ => {
                let capacity = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 21][self.pick(12) as usize];
                self.subject.set_capacity(capacity);
                self.naive.capacity = capacity;
                self.naive.trim();
                self.note("limit");
            }
        }
    }

    /// Edits that are joined by a key or a drag.
    fn join(&mut self) {
        let (how, count) = match self.pick(4) {
            0 | 1 => (Joined::Drag, self.pick(6) + 1),
            key => (Joined::Key((key % 2) as u8), self.pick(6) + 1),
        };
        let mut chance = Pcg64::seed_from_u64(self.changes.random.r#gen());
        let Self { subject, naive, changes, saves, releases, .. } = self;
        let joined = join(
            subject,
            naive,
            &how,
            count,
            &mut |world| text_of(saves, world),
            &mut |edit| match chance.gen_range(0..6) {
                0 => changes.change(edit),
                _ => changes.set(edit, &mut Vec::new()),
            },
            &mut {
                let mut chance = Pcg64::seed_from_u64(count.into());
                move || match chance.gen_range(0..16) {
                    0 => Between::Undo,
                    1 => Between::Mark(chance.r#gen()),
                    _ => Between::Nothing,
                }
            },
        );
        for serial in std::mem::take(&mut changes.actors) {
            *releases.entry(serial).or_default() += 1;
        }
        *self.tally.entry("joined").or_default() += joined;
    }

    /// An entry whose object is removed beside the history, so that it can only be dropped.
    fn lose_target(&mut self) {
        let Subject::Plain(world, history) = &mut self.subject else { return };
        if self.naive.capacity == 0 {
            return;
        }
        let lost = world.spawn("Lost");
        world.attach(lost, Speed(0.0)).expect("it is there");
        history.edit(world, "Lost", |edit| edit.set(lost, "Speed:0", 1)).expect("it has one");
        self.naive.edit(text_of(&self.saves, world), None);
        assert!(world.remove(lost));
        assert_eq!(kind(history.undo(world)), ErrorKind::NotFound);
        if self.changes.random.r#gen() {
            history.skip_entry(world).expect("it has failed");
            assert_eq!(kind(history.redo(world)), ErrorKind::NotFound);
        }
        history.drop_entry(world).expect("it has failed");
        self.naive.drop_last();
        self.naive.renew();
        self.note("dropped");
    }

    /// Ends a session, and begins the next one where it was.
    fn reopen(&mut self) {
        if !matches!(self.subject, Subject::Session(..)) {
            return;
        }
        let entries = |subject: &Subject<World>| -> Vec<_> {
            let entries = subject.history().entries();
            entries.map(|entry| (entry.label, entry.state, entry.is_applied)).collect()
        };
        let before = entries(&self.subject);
        let mut history = history(self.naive.capacity, self.proof);
        self.mirror = Mirror::of(&World::new(), &mut history);
        self.subject.reopen(super::scene::saves(), history);
        assert_eq!(entries(&self.subject), before);
        self.naive.last = None;
        self.note("reopened");
    }

    /// All that can be reached, and that each actor is released once in the end.
    fn end(mut self, seed: u64) -> Tally {
        for position in (0..=self.naive.len()).rev().chain(0..=self.naive.len()) {
            self.subject.go_to(position).expect("it is there");
            self.naive.go_to(position);
            self.compare(&format!("at {position} in the end of {seed}"));
        }
        self.subject.clear().expect("it is closed");
        let is_session = matches!(self.subject, Subject::Session(..));
        drop(self.subject);
        if is_session {
            // Each session has released what was in its world.
            logged();
            return self.tally;
        }
        let mut found: BTreeMap<u32, u32> = BTreeMap::new();
        for line in logged() {
            let serial = line.strip_prefix("release ").expect("nothing else runs");
            *found.entry(serial.parse().expect("a number")).or_default() += 1;
        }
        assert_eq!(found, self.releases, "the releases of {seed}");
        self.tally
    }
}

/// A history whose edits merge whenever they come.
fn history(capacity: usize, proof: Proof) -> History {
    let mut history = History::new(capacity);
    history.set_merge_window(Some(Duration::MAX));
    history.set_proof(proof);
    history
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
                (first..short_or_long(12, 800))
                    .step_by(2)
                    .map(|seed| run(seed, short_or_long(120, 600)))
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
        ("limit", 20),
        ("marked", 40),
        ("joined", 60),
        ("dropped", 10),
        ("reopened", 5),
    ] {
        assert!(all.get(what).is_some_and(|count| *count >= least), "{what} in {all:?}");
    }
    let total: u32 = all.values().sum();
    println!("{total} operations: {all:?}");
    assert!(total >= short_or_long(1_500, 500_000), "{total}");
}
