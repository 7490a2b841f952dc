//! What was acknowledged is there, whatever the disk refused before and whenever the power goes.
//!
//! Sessions edit, save, are killed and opened again, while some calls of the disk fail for a moment. After every call the power
//! may go. A list of titles beside them says which of them may be found then; it knows nothing of journals.

use std::io;

use persist::Session;
use persist::history::Flush;
use persist::save::SaveOutcome;
use rand::Rng;
use rand_pcg::Pcg64Mcg;

use super::document::{Document, Rename};
use super::driver::options;
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Cut, Disk, Fault, Image};
use persist_tests::support::short_or_long;

/// Which calls fail together: an open without descriptors, a flush of a file, of a folder, and others.
const CALLS: &[&[&str]] = &[
    &["open"],
    &["open", "create", "append to", "list"],
    &["sync"],
    &["sync folder"],
    &["sync", "sync folder"],
    &["rename to"],
    &["rename to", "open"],
    &["create", "rename to", "link", "remove"],
    &["write"],
    &["lock"],
];

#[derive(Clone, Copy, Debug)]
enum Action {
    Open,
    Command,
    Field,
    Save,
    Flush,
    Tick,
    Kill,
}

const ACTIONS: &[Action] = {
    use Action::*;
    &[Command, Command, Field, Field, Save, Save, Flush, Tick, Kill]
};

/// A session, and which titles may be found if the power goes now.
struct Player {
    disk: Disk,
    flush: Flush,
    session: Option<Session<Document>>,
    /// The last that may be found is the one that the session has.
    titles: Vec<String>,
    /// What was refused may be on the disk, until something later is.
    refused: Vec<String>,
    last: u32,
}

impl Player {
    fn new(disk: Disk, flush: Flush) -> Self {
        Self { disk, flush, session: None, titles: vec![String::new()], refused: vec![], last: 0 }
    }

    fn may_be_found(&self) -> Vec<String> {
        [&self.titles[..], &self.refused[..]].concat()
    }

    fn act(&mut self, action: Action) {
        match (action, &mut self.session) {
            (Action::Open | Action::Command | Action::Field, None) => self.open(),
            (Action::Command | Action::Field, Some(_)) => self.edit(action),
            (Action::Save, Some(session)) => {
                if let Ok(outcome) = session.save() {
                    let refused = std::mem::take(&mut self.refused);
                    self.all_last();
                    // The journal of the save before is there still, with what could not be cut off.
                    if outcome == SaveOutcome::SavedUnjournaled {
                        self.refused = refused;
                    }
                }
            }
            (Action::Flush, Some(session)) => {
                let is_flushed = session.flush().is_ok();
                if is_flushed {
                    self.all_last();
                }
            }
            (Action::Tick, Some(session)) => drop(session.tick()),
            (Action::Kill, Some(_)) => {
                std::mem::forget(self.session.take());
                self.disk.end_locks();
            }
            _ => {}
        }
    }

    fn open(&mut self) {
        let options = options(&self.disk).unwrap().flush(self.flush);
        let Ok((session, _)) = options.open(SAVE, JOURNAL) else { return };
        // The power has not gone, so that no file has lost anything.
        let found = &session.target().title;
        assert!(self.may_be_found().contains(found), "{found:?}, {:?}", self.may_be_found());
        let has_lost = self.titles.last() != Some(found);
        assert!(!has_lost || self.refused.contains(found), "{found:?} of {:?}", self.titles);
        if has_lost {
            self.titles.push(found.clone());
        }
        self.session = Some(session);
    }

    fn edit(&mut self, action: Action) {
        let Some(session) = &mut self.session else { return };
        self.last += 1;
        // Of several sectors.
        let title = format!("{}{}", self.last, "-".repeat(self.last as usize * 131 % 900));
        let result = match action {
            Action::Command => session.apply(Rename { title: title.clone() }),
            _ => session.set_field("Document:title", title.clone()).map(drop),
        };
        if result.is_err() {
            return self.refused.push(title);
        }
        self.titles.push(title);
        if matches!(self.flush, Flush::EveryEdit) {
            self.all_last();
        }
    }

    /// Nothing before the last title may be found any more.
    fn all_last(&mut self) {
        self.titles.drain(..self.titles.len() - 1);
        self.refused.clear();
    }
}

/// Opens what a power cut has left.
fn check(image: Image, may_be_found: &[String], what: &str) {
    let names: Vec<_> = image.keys().map(|name| name.display().to_string()).collect();
    let opened = options(&Disk::new(image)).unwrap().open(SAVE, JOURNAL);
    let (session, recovered) = opened.unwrap_or_else(|error| panic!("{what}, {names:?}: {error}"));
    let found = &session.target().title;
    assert!(
        may_be_found.contains(found),
        "{what}: found {found:?} of {may_be_found:?} in {names:?}: {recovered:?}"
    );
    // Sectors of an append may be missing in front of others, which looks like damage, and then a copy is kept.
    assert!(recovered.stopped.is_none() || !recovered.kept.is_empty(), "{what}: {recovered}");
}

/// One life of a disk; returns how many states it was found in.
fn play(seed: u64, states: usize) -> usize {
    let random = &mut Pcg64Mcg::new(u128::from(seed) << 64 | 0x9e37_79b9_7f4a_7c15);
    let has_links = random.gen_bool(0.7);
    let image = Image::new();
    let disk = if has_links { Disk::new(image) } else { Disk::without_links(image) };
    let flush = if random.gen_bool(0.5) { Flush::EveryEdit } else { Flush::OnIdle };
    let mut player = Player::new(disk.clone(), flush);
    player.act(Action::Open);
    let mut actions = vec![];
    let mut found = 0;
    for _ in 0..random.gen_range(4..14) {
        let action = ACTIONS[random.gen_range(0..ACTIONS.len())];
        if random.gen_bool(0.3) {
            let calls = CALLS[random.gen_range(0..CALLS.len())];
            let length = [1, 2, 3, 8, 40][random.gen_range(0..5)];
            let fault = match random.gen_bool(0.1) {
                true => Fault::Unanswered("rename to plan.sav", io::ErrorKind::Other),
                false => Fault::Moment(calls, length, io::ErrorKind::Other),
            };
            let number = random.gen_range(1..30);
            disk.fail(number, fault);
            actions.push(format!("{number}: {fault:?}"));
        }
        actions.push(format!("{action:?}"));
        let before = player.may_be_found();
        disk.note_cuts();
        player.act(action);
        let cuts: Vec<Cut> = disk.cuts();
        let may_be_found = [before, player.may_be_found()].concat();
        for _ in 0..states {
            let cut = &cuts[random.gen_range(0..cuts.len())];
            let bits: u64 = [0, u64::MAX, random.r#gen()][random.gen_range(0..3)];
            let mut images = cut.images(|sector| bits >> (sector % 64) & 1 != 0);
            let image = images.swap_remove(random.gen_range(0..images.len()));
            let what = format!("seed {seed}, {flush:?}, {actions:?}, after {}", cut.after);
            check(image, &may_be_found, &what);
            found += 1;
        }
    }
    found
}

#[test]
fn what_was_acknowledged_is_found_after_errors_kills_and_power_cuts() {
    const THREADS: u64 = 2;
    let states = short_or_long(100_000, 2_000_000) / 2;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let (mut found, mut seed) = (0, thread);
                while found < states {
                    found += play(seed, 8);
                    seed += THREADS;
                }
            });
        }
    });
}
