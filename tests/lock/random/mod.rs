//! The lock's verdict of random changes, against what loads of random values really do: what it calls safe loses
//! nothing, and what it does not call safe does lose something.
//!
//! `PERSIST_LONG_TESTS=1` tries many more.

#![allow(clippy::print_stdout, reason = "what the cases came to")]

mod edits;
mod model;
mod programs;

use std::collections::BTreeMap;

use model::Schema;
use persist::save::LoadEvent;
use persist::{SaveManager, Saves, Value};
use persist_tests::support::forge;
use persist_tools::Document;
use persist_tools::lock::{Lock, LockReport, Values, Verdict};
use programs::{Program, programs};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// How often each number and text stands in a save, whatever it is in.
type Leaves = BTreeMap<String, u64>;

fn leaves(save: &[u8]) -> Leaves {
    let mut found = Leaves::new();
    let document = Document::from_slice(save).unwrap();
    document.entries().for_each(|entry| count(&entry.value, &mut found));
    found
}

fn count(value: &Value, found: &mut Leaves) {
    let leaf = match value {
        Value::Unit | Value::Option(None) | Value::Ref(_) | Value::Handle(_) => return,
        Value::Bool(flag) => u8::from(*flag).to_string(),
        Value::Char(c) => format!("{:?}", c.to_string()),
        Value::U8(number) => number.to_string(),
        Value::U16(number) => number.to_string(),
        Value::U32(number) => number.to_string(),
        Value::U64(number) => number.to_string(),
        Value::U128(number) => number.to_string(),
        Value::I8(number) => number.to_string(),
        Value::I16(number) => number.to_string(),
        Value::I32(number) => number.to_string(),
        Value::I64(number) => number.to_string(),
        Value::I128(number) => number.to_string(),
        Value::F32(number) => format!("{:?}", f64::from(*number)).trim_end_matches(".0").to_owned(),
        Value::F64(number) => format!("{number:?}").trim_end_matches(".0").to_owned(),
        Value::Text(text) => format!("{text:?}"),
        Value::Bytes(bytes) => {
            bytes.iter().for_each(|byte| *found.entry(byte.to_string()).or_default() += 1);
            return;
        }
        Value::Option(Some(inner)) => return count(inner, found),
        Value::Seq(parts) | Value::Tuple(parts) => {
            return parts.iter().for_each(|part| count(part, found));
        }
        Value::Map(entries) => {
            return entries.iter().for_each(|(key, value)| {
                count(key, found);
                count(value, found);
            });
        }
        Value::Struct(record) | Value::Enum(record) => {
            return record.fields().for_each(|(_, value)| count(value, found));
        }
        _ => panic!("a new sort of value"),
    };
    *found.entry(leaf).or_default() += 1;
}

/// What a load did to a value.
#[derive(Debug)]
enum Fate {
    Same,
    /// The rows of the report that say so, or what is missing.
    Lost(String),
    /// Defaults stand where the old value may have been meant; it is kept.
    Hidden(String),
    Refused(String),
}

fn fate(saves: &Saves, save: &[u8]) -> Fate {
    let loaded = match saves.from_slice::<SaveManager>(save) {
        Ok(loaded) => loaded,
        Err(error) => return Fate::Refused(error.to_string()),
    };
    let rows = loaded.report().rows();
    let is_meant = |detail: &Option<String>| detail.as_deref() == Some("as `removed` says");
    let has = |event| rows.iter().any(|row| row.event == event);
    let lost = rows.iter().find(|row| {
        let is_loss = matches!(
            row.event,
            LoadEvent::Dropped
                | LoadEvent::Clamped
                | LoadEvent::Superseded
                | LoadEvent::Replaced
                | LoadEvent::Unshared
                | LoadEvent::Unregistered
                | LoadEvent::Nulled
                | LoadEvent::Dead
        );
        // Copies are accepted by a `migrate`.
        let is_copied = row.event == LoadEvent::Unshared && has(LoadEvent::Migrated);
        is_loss && !is_copied && !is_meant(&row.detail)
    });
    let lost = lost.map(|row| format!("{row:?}"));
    // A kept value wins over what a migration makes of others.
    let is_meant = rows.iter().any(|row| is_meant(&row.detail)) || has(LoadEvent::Restored);
    let is_hidden = has(LoadEvent::Kept) && has(LoadEvent::Defaulted);
    let rows = format!("{rows:?}");
    if let Some(lost) = lost {
        return Fate::Lost(lost);
    }
    if !is_meant {
        let (old, new) = (leaves(save), leaves(&loaded.to_vec().unwrap()));
        let missing =
            |(leaf, count): &(&String, &u64)| new.get(*leaf).is_none_or(|now| now < *count);
        if let Some((leaf, count)) = old.iter().find(missing) {
            return Fate::Lost(format!(
                "{leaf} stood {count} times, and now {:?}\n{rows}",
                new.get(leaf)
            ));
        }
    }
    if is_hidden { Fate::Hidden(rows) } else { Fate::Same }
}

/// What the cases came to, by verdict.
#[derive(Default)]
struct Tally {
    safe: u64,
    untested: u64,
    bad: u64,
    /// Saves of a program between, which kept things.
    kept: u64,
    /// Changes that are called bad, of which no value was seen to lose anything.
    needless: BTreeMap<String, u64>,
}

fn worst(report: &LockReport) -> Verdict {
    report.differences().first().map_or(Verdict::Safe, |first| first.verdict)
}

fn compare(seed: u64, programs: &[Program], tally: &mut Tally) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let (old, new) = (programs.choose(&mut rng).unwrap(), programs.choose(&mut rng).unwrap());
    let mut lock = Lock::new();
    lock.update("0.1.0", &(old.saves)().registry()).unwrap();
    let mut schema = Schema::parse(&lock.to_string());
    if !rng.gen_ratio(1, 4) {
        let new = if rng.gen_bool(0.6) { old } else { new };
        edits::change(&mut schema, &mut rng);
        compare_one(seed, old.name, &schema, new, &mut rng, tally);
    } else {
        compare_one(seed, old.name, &schema, new, &mut rng, tally);
    }
}

/// What the last of three programs does to saves of the second, which kept what it did not know of those of the first.
fn compare_three(seed: u64, programs: &[Program], tally: &mut Tally) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut any = || programs.choose(&mut rng).unwrap();
    let (old, between, new) = (any(), any(), any());
    // Mostly one that knows what the one between did not.
    let new = if seed.is_multiple_of(3) { new } else { old };
    let mut lock = Lock::new();
    lock.update("0.1.0", &(old.saves)().registry()).unwrap();
    let schema = Schema::parse(&lock.to_string());
    lock.update("0.2.0", &(between.saves)().registry()).unwrap();
    let report = lock.compare(&(new.saves)().registry());
    if worst(&report) > Verdict::Untested {
        tally.bad += 1;
        return;
    }
    tally.safe += 1;
    for _ in 0..4 {
        let save = schema.save(&mut rng);
        let Ok(loaded) = (between.saves)().from_slice::<SaveManager>(&save) else { continue };
        let rows = format!("{:?}", loaded.report().rows());
        let kept = loaded.to_vec().unwrap();
        let fate = fate(&(new.saves)(), &kept);
        if matches!(fate, Fate::Lost(_) | Fate::Refused(_)) {
            let names = (old.name, between.name, new.name);
            panic!(
                "{fate:?}\nseed {seed}, {names:?}\n{report}\n{lock}\nbetween: {rows}\n{}",
                Document::from_slice(&kept).unwrap()
            );
        }
        tally.kept += 1;
    }
}

fn compare_one(
    seed: u64,
    old: &str,
    schema: &Schema,
    new: &Program,
    rng: &mut Pcg64,
    tally: &mut Tally,
) {
    let text = schema.text();
    // A class that would hold itself is none.
    let Ok(lock) = text.parse::<Lock>() else { return };
    let report = lock.compare(&(new.saves)().registry());
    let about = || format!("seed {seed}, {old} to {}\n{report}\n{text}", new.name);
    let values = (0..6).map(|_| schema.save(rng));
    let mut fates: Vec<Fate> = values.map(|save| fate(&(new.saves)(), &save)).collect();
    match worst(&report) {
        Verdict::Safe | Verdict::Untested => {
            // A `migrate` may refuse what a field held, which no schema shows: a note says so of the boundary values.
            let is_noted =
                report.notes().iter().any(|note| note.text.starts_with("the program refuses "));
            let is_worse = |fate: &&Fate| match fate {
                Fate::Lost(_) => true,
                Fate::Refused(_) => !is_noted,
                _ => false,
            };
            if let Some(lost) = fates.iter().find(is_worse) {
                panic!("{lost:?}\n{}", about());
            }
            if worst(&report) == Verdict::Safe { tally.safe += 1 } else { tally.untested += 1 }
        }
        worst => {
            tally.bad += 1;
            for values in [Values::Plain, Values::Boundary] {
                if let Ok(sample) = lock.sample("0.1.0", values) {
                    fates.push(fate(&(new.saves)(), &sample));
                }
            }
            let is_shown = fates.iter().any(|fate| match fate {
                Fate::Same => false,
                Fate::Lost(_) | Fate::Hidden(_) => worst < Verdict::Breaks,
                Fate::Refused(_) => true,
            });
            if !is_shown {
                let first = &report.differences()[0];
                let mut change = first.change.clone();
                change.truncate(60);
                let row = format!("{}: {change}", first.verdict);
                if std::env::var_os("PERSIST_SHOW").is_some() && !tally.needless.contains_key(&row)
                {
                    println!("needless? {row}\n{}", about());
                }
                *tally.needless.entry(row).or_default() += 1;
            }
        }
    }
}

#[test]
fn what_the_lock_says_of_random_changes_is_what_loads_do() {
    let programs = programs();
    let mut tally = Tally::default();
    each_seed(150, 40_000, |seed| compare(seed, &programs, &mut tally));
    print(&tally);
    // A lowered version breaks whatever values do. Of the rest some are beyond what schemas and samples show: a default
    // in a field that a migration fills, or values of classes that no object holds.
    let needless = tally.needless.iter().filter(|(row, _)| !row.starts_with("breaks: version "));
    let needless: u64 = needless.map(|(_, count)| count).sum();
    assert!(needless * 50 <= tally.bad, "{needless} of {}", tally.bad);
    assert!(tally.safe * 8 > tally.bad, "{} of {}", tally.safe, tally.bad);
}

#[test]
fn what_the_lock_says_of_three_programs_in_turn_is_what_loads_do() {
    let programs = programs();
    let mut tally = Tally::default();
    each_seed(400, 40_000, |seed| compare_three(seed, &programs, &mut tally));
    print(&tally);
    assert!(tally.kept * 100 > tally.bad, "{} of {}", tally.kept, tally.bad);
}

/// Calls for the seeds of the short test, or of the long one.
fn each_seed(short: u64, long: u64, mut with: impl FnMut(u64)) {
    let start: u64 = std::env::var("PERSIST_SEED").map_or(0, |seed| seed.parse().unwrap());
    let is_long = std::env::var_os("PERSIST_LONG_TESTS").is_some();
    let count = if is_long { long } else { short };
    (start..start + count).for_each(&mut with);
}

fn print(tally: &Tally) {
    println!(
        "safe {}, untested {}, bad {}, kept {}",
        tally.safe, tally.untested, tally.bad, tally.kept
    );
    for (row, count) in &tally.needless {
        println!("{count} {row}");
    }
}
