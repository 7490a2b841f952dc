//! Random saves, slots and sessions on a storage, beside a naive twin.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::{Checked, Probe, WAIT, breach, is, is_list, succeeds};
use crate::save::{Health, Slots};
use crate::{Error, ErrorKind, SaveOptions, Saves};

/// The number of a breach that belongs to no rule.
const RULE: usize = 0;

/// Checks random calls from several seeds, each on an empty storage.
pub(super) fn check(probe: &impl Fn() -> Probe) -> Checked {
    for seed in 1..=4 {
        saves(&probe(), seed)?;
        #[cfg(feature = "history")]
        sessions(&probe(), seed)?;
    }
    Ok(())
}

/// Random numbers: the generator SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns a value to save, of up to 200 KB.
    fn value(&mut self) -> Vec<u64> {
        let length = [0, 1, 100, 1_000, 25_000][usize::try_from(self.below(5)).unwrap_or_default()];
        (0..length).map(|_| self.next()).collect()
    }
}

/// A slot as it should be: the value that it has, and that of its backup.
#[derive(Clone)]
struct SlotTwin {
    value: Vec<u64>,
    backup: Option<Vec<u64>>,
}

const NAMES: [&str; 3] = ["Ada's farm", "冒険", "quick"];

fn open(probe: &Probe, verify: bool) -> Saves {
    let options = SaveOptions::DEFAULT.wait(WAIT).verify(verify);
    Saves::new().storage(probe.storage.clone()).save_options(options)
}

/// Saves, loads, renames, copies, deletes, damages and lists slots.
fn saves(probe: &Probe, seed: u64) -> Checked {
    let mut random = Random(seed);
    let mut twins: BTreeMap<&str, SlotTwin> = BTreeMap::new();
    let saves = open(probe, seed.is_multiple_of(2));
    let slots = saves.slots(".");
    for step in 0..60 {
        let [name, other] =
            [(); 2].map(|()| NAMES[usize::try_from(random.below(3)).unwrap_or_default()]);
        let twin = twins.get(name).cloned();
        let missing = twin.is_none().then_some(ErrorKind::NotFound);
        let what = |call: &str| format!("seed {seed}, step {step}, {call} {name:?}");
        match random.below(10) {
            call @ 0..=3 => {
                let value = random.value();
                let slot = slots.slot(name);
                let saved = match call {
                    0 => slot.save_in_background(&value).and_then(|save| save.wait()),
                    _ => slot.save(&value),
                };
                works(what("save"), saved)?;
                let backup = twin.map(|twin| twin.value);
                twins.insert(name, SlotTwin { value, backup });
            }
            4 => {
                ends_as(what("delete"), slots.slot(name).delete(), missing)?;
                twins.remove(name);
            }
            5 => {
                let conflict = twins.contains_key(other).then_some(ErrorKind::AlreadyExists);
                let expected = missing.or(conflict.filter(|_| name != other));
                ends_as(what("rename"), slots.rename(name, other), expected)?;
                if let (None, Some(twin)) = (expected, twins.remove(name)) {
                    twins.insert(other, twin);
                } else if let Some(twin) = twin {
                    twins.insert(name, twin);
                }
            }
            6 => {
                let conflict = twins.contains_key(other).then_some(ErrorKind::AlreadyExists);
                let expected = missing.or(conflict);
                ends_as(what("copy"), slots.copy(name, other), expected)?;
                if let (None, Some(twin)) = (expected, twin) {
                    twins.insert(other, SlotTwin { backup: None, ..twin });
                }
            }
            7 => {
                if let Some(SlotTwin { backup: Some(backup), .. }) = twin {
                    recovers(probe, &slots, name, &what("damage"), &mut random, &backup)?;
                    twins.insert(name, SlotTwin { value: backup.clone(), backup: Some(backup) });
                }
            }
            _ => ends_as(what("load"), slots.slot(name).load::<Vec<u64>>(), missing)?,
        }
        agrees(probe, &slots, &twins, &what("after a call of"))?;
    }
    works("wait for saves", saves.wait())
}

/// Cuts the end off a save. A load should return its backup, and keep the damaged file.
fn recovers(
    probe: &Probe,
    slots: &Slots,
    name: &str,
    what: &str,
    random: &mut Random,
    backup: &Vec<u64>,
) -> Checked {
    let path = works(what, slots.slot(name).path())?;
    let mut bytes = Vec::new();
    let read = probe.storage.open(&path).and_then(|mut file| file.read_to_end(&mut bytes));
    succeeds(RULE, format!("{what}: read the file"), read)?;
    let length = random.below(bytes.len() as u64);
    bytes.truncate(usize::try_from(length).unwrap_or_default());
    let replaced = probe.storage.remove(&path).and_then(|()| {
        let mut file = probe.storage.create(&path, &path)?;
        file.write_all(&bytes)?;
        file.sync()
    });
    succeeds(RULE, format!("{what}: replace the file"), replaced)?;
    let loaded = works(what, slots.slot(name).load::<Vec<u64>>())?;
    is_value(what, backup, &loaded)?;
    let damaged = loaded.report().recovery().and_then(|recovery| recovery.damaged.clone());
    let Some(damaged) = damaged else {
        return breach(RULE, format!("{what}: expected the damaged file to be kept, found none"));
    };
    succeeds(RULE, format!("{what}: open the file that was kept"), probe.storage.open(&damaged))
        .map(drop)
}

/// Expects the slots of the twins, and no other files.
fn agrees(probe: &Probe, slots: &Slots, twins: &BTreeMap<&str, SlotTwin>, what: &str) -> Checked {
    let mut files = Vec::new();
    for (name, twin) in twins {
        is_value(what, &twin.value, &*works(what, slots.slot(name).load::<Vec<u64>>())?)?;
        let path = works(what, slots.slot(name).path())?;
        let file = format!("{name}.sav");
        if let Some(backup) = &twin.backup {
            let path = path.with_file_name(format!("{file}.bak"));
            // A handle of its own, so that the backup counts as a save.
            let loaded = works(what, open(probe, false).file(path).load::<Vec<u64>>())?;
            is_value(&format!("{what}: backup"), backup, &loaded)?;
            files.push(PathBuf::from(format!("{file}.bak")));
        }
        files.push(PathBuf::from(file));
    }
    let mut found = succeeds(RULE, what, probe.storage.list(Path::new(".")))?;
    found.retain(|name| !name.to_string_lossy().contains(".damaged"));
    is_list(RULE, &format!("{what}: files"), &files, &found)?;
    let list = works(what, slots.list())?;
    let list: Vec<_> = list
        .iter()
        .map(|slot| (&*slot.name, slot.health == Health::Whole, slot.backups.len()))
        .collect();
    let expected: Vec<_> = twins
        .iter()
        .map(|(name, twin)| (*name, true, usize::from(twin.backup.is_some())))
        .collect();
    is(RULE, format!("{what}: list of slots"), &expected, &list)
}

/// Edits, undoes, redoes and saves a value, and opens its session again, as after a crash.
#[cfg(feature = "history")]
fn sessions(probe: &Probe, seed: u64) -> Checked {
    use crate::{History, Session};

    #[derive(crate::Persist, Default)]
    #[persist(crate = crate, class = "persist.Conformance")]
    struct Edited {
        values: Vec<u64>,
    }

    let mut random = Random(seed);
    let open = || {
        let saves = open(probe, false);
        Session::<Edited>::with(saves, History::new(1_000)).open("edited.sav", "edited.journal")
    };
    // All states on the way of undo and redo, and the current one.
    let (mut states, mut current) = (vec![Vec::new()], 0_usize);
    let mut session = works("open a session", open())?.0;
    for step in 0..60 {
        let what = |call: &str| format!("session, seed {seed}, step {step}, {call}");
        match random.below(8) {
            0 | 1 => {
                is(RULE, what("undo"), &(current > 0), &works(what("undo"), session.undo())?)?;
                current = current.saturating_sub(1);
            }
            2 => {
                let can_redo = current + 1 < states.len();
                is(RULE, what("redo"), &can_redo, &works(what("redo"), session.redo())?)?;
                current += usize::from(can_redo);
            }
            3 => works(what("save"), session.save()).map(drop)?,
            4 => {
                drop(session);
                session = works(what("open"), open())?.0;
            }
            _ => {
                let value = random.next();
                let edited = session.edit("Edit", |edited| {
                    edited.values.push(value);
                    Ok(())
                });
                works(what("edit"), edited)?;
                states.truncate(current + 1);
                let mut values = states[current].clone();
                values.push(value);
                states.push(values);
                current += 1;
            }
        }
        is_value(&what("state"), &states[current], &session.target().values)?;
    }
    drop(session);
    let session = works("open the session at the end", open())?.0;
    is_value("the session at the end", &states[current], &session.target().values)
}

/// Expects `Ok`.
fn works<T>(what: impl AsRef<str>, result: Result<T, Error>) -> Checked<T> {
    result.or_else(|error| {
        let kind = error.kind();
        breach(RULE, format!("{}: expected Ok, found {kind:?} ({error})", what.as_ref()))
    })
}

/// Expects `Ok`, or an error of this kind.
fn ends_as<T>(what: impl AsRef<str>, result: Result<T, Error>, kind: Option<ErrorKind>) -> Checked {
    match (result, kind) {
        (Err(error), Some(kind)) if error.kind() == kind => Ok(()),
        (Ok(_), Some(kind)) => {
            breach(RULE, format!("{}: expected {kind:?}, found Ok", what.as_ref()))
        }
        (result, _) => works(what, result).map(drop),
    }
}

/// Expects a value, without showing it.
fn is_value(what: &str, expected: &Vec<u64>, found: &Vec<u64>) -> Checked {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (expected.len(), found.len());
    breach(
        RULE,
        format!(
            "{what}: expected the value last saved, of {expected} numbers, found one of {found}"
        ),
    )
}
