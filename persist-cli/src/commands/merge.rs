//! `persist merge`.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;

use persist::{Document, Value};
use serde::Serialize;

use crate::exit::{Failure, Outcome, Result};
use crate::input::Input;
use crate::mapped::Mapped;
use crate::merge::{Conflict, Merge, Side};
use crate::output::{BAD, HEADING, NAME, Out, write_file};
use crate::shown::short;

/// Merge two saves that continue a third, field by field; exit code 1 if there are conflicts
#[derive(clap::Args)]
#[command(after_help = GIT)]
pub(crate) struct Args {
    /// The save that both continue.
    base: PathBuf,
    /// Our save, whose order and header count.
    ours: PathBuf,
    /// Their save.
    theirs: PathBuf,
    /// Where to write the merged save.
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,
    /// Replace that file if it is there.
    #[arg(long, requires = "output")]
    force: bool,
    /// Take our value where both changed one.
    #[arg(long = "ours", conflicts_with = "take_theirs")]
    take_ours: bool,
    /// Take their value where both changed one.
    #[arg(long = "theirs")]
    take_theirs: bool,
}

const GIT: &str = "\
For `git merge` of saves, once in each clone:
  git config merge.persist.driver 'persist merge %O %A %B -o %A --force'
and in .gitattributes:
  *.sav merge=persist";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let read = |path: &PathBuf| -> Result<Value> { Ok(Input::read(path)?.document()?.to_value()) };
    let sides = [read(&args.base)?, read(&args.ours)?, read(&args.theirs)?];
    let prefer = match (args.take_ours, args.take_theirs) {
        (true, _) => Some(Side::Ours),
        (_, true) => Some(Side::Theirs),
        _ => None,
    };
    let mut merge = Merge { prefer, conflicts: Vec::new() };
    let [base, ours, theirs] = [whole(&sides[0])?, whole(&sides[1])?, whole(&sides[2])?];
    are_of_one_program([&base, &ours, &theirs])?;
    let merged = saves(&mut merge, [&base, &ours, &theirs])?;
    let conflicts = merge.conflicts;
    let is_written = conflicts.is_empty() || prefer.is_some();
    // Also what fits together field by field may not be a save: an object that one side removed, the other may refer to.
    let save = if is_written {
        let document = Document::from_value(&merged);
        Some(
            document
                .and_then(|it| it.to_vec())
                .map_err(|error| Failure::new(format!("the sides do not fit together: {error}")))?,
        )
    } else {
        None
    };
    if let (Some(file), Some(save)) = (&args.output, &save) {
        write_file(file, save, args.force)?;
        out.note_done(format!("the merged save is written to {}", file.display()));
    }
    print(&conflicts, args, is_written, out)?;
    Ok(Outcome::found(!is_written))
}

/// The parts of a whole save, by their keys.
type Whole<'v> = HashMap<&'v str, &'v Value>;

fn whole(save: &Value) -> Result<Whole<'_>> {
    let Value::Map(entries) = save else { return Err(Failure::new("the save is no map")) };
    Ok(entries.iter().filter_map(|(key, value)| Some((key.as_text()?, value))).collect())
}

/// Refuses saves of different programs: by their applications, or because no class of a program is in all.
fn are_of_one_program(sides: [&Whole<'_>; 3]) -> Result<()> {
    let names = sides.map(|side| side.get("application").and_then(|name| name.as_text()));
    let mut named = names.into_iter().flatten();
    if let Some(first) = named.next()
        && let Some(other) = named.find(|name| *name != first)
    {
        return Err(Failure::new(format!(
            "the saves are of different programs, {first} and {other}; give three saves of one"
        )));
    }
    let classes = sides.map(|side| -> HashSet<String> {
        let classes = side.get("classes").and_then(|classes| classes.as_seq()).unwrap_or_default();
        let names = classes.iter().filter_map(Value::as_text).map(name_in);
        // Those of the library are in saves of any program.
        names.filter(|name| !name.starts_with("persist.")).collect()
    });
    let [base, ours, theirs] = &classes;
    let is_shared = base.iter().any(|class| ours.contains(class) && theirs.contains(class));
    // A save may be empty, or have a world without components.
    if is_shared || classes.iter().any(HashSet::is_empty) {
        return Ok(());
    }
    Err(Failure::new(
        "the saves are of different programs: no class is in all three; give three saves of one program",
    ))
}

/// What is known of an object: its id, and whether it is what was kept of one.
type Key = (u64, bool, String);

fn saves(merge: &mut Merge, sides: [&Whole<'_>; 3]) -> Result<Value> {
    let [base, ours, theirs] = sides;
    let mut merged: Vec<(&str, Value)> = vec![("save", 1_u32.into())];
    for key in ["application", "version"] {
        let value = ours.get(key).or(theirs.get(key));
        merged.extend(value.map(|value| (key, (*value).clone())));
    }
    let generations = [ours, theirs].map(|it| it.get("generation").and_then(|it| it.as_u64()));
    merged.extend(generations.into_iter().flatten().max().map(|it| ("generation", it.into())));
    if let Some(devices) = devices([ours, theirs]) {
        merged.push(("devices", devices));
    }
    let metadata = [base, ours, theirs].map(|side| side.get("metadata").copied());
    merged.extend(merge.value("metadata", metadata).map(|it| ("metadata", it)));
    for key in ["fields", "compression"] {
        merged.extend(ours.get(key).map(|value| (key, (*value).clone())));
    }
    merged.push(("classes", classes([ours, theirs])?));
    let (base, own, other) = (objects(base), objects(ours), objects(theirs));
    let by_key: HashMap<&Key, &Value> = base.iter().map(|(key, value)| (key, *value)).collect();
    let by_other: HashMap<&Key, &Value> = other.iter().map(|(key, value)| (key, *value)).collect();
    let known: HashSet<&Key> = own.iter().map(|(key, _)| key).collect();
    let mut found = Vec::new();
    let ours = own.iter().map(|(key, value)| (key, Some(*value), by_other.get(key).copied()));
    let added = other.iter().filter(|(key, _)| !known.contains(key));
    let added = added.map(|(key, value)| (key, None, Some(*value)));
    for (key, ours, theirs) in ours.chain(added) {
        let base = by_key.get(key).copied();
        found.extend(object(merge, key, [base, ours, theirs]));
    }
    merged.push(("objects", Value::Seq(found)));
    Ok(Value::Map(merged.into_iter().map(|(key, value)| (key.into(), value)).collect()))
}

/// The object with what both sides changed of its value.
fn object(merge: &mut Merge, (id, ..): &Key, sides: [Option<&Value>; 3]) -> Option<Value> {
    let part = |object: Option<&'_ Value>, name: &str| -> Option<Value> {
        let Value::Map(entries) = object? else { return None };
        entries.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value.clone())
    };
    let values = sides.map(|side| part(side, "value"));
    let merged = merge
        .value(&format!("#{id}"), [values[0].as_ref(), values[1].as_ref(), values[2].as_ref()])?;
    let Some(Value::Map(entries)) = sides[1].or(sides[2]) else { return None };
    let entries = entries.iter().map(|(key, value)| {
        let is_value = key.as_text() == Some("value");
        (key.clone(), if is_value { merged.clone() } else { value.clone() })
    });
    Some(Value::Map(entries.collect()))
}

fn objects<'v>(save: &Whole<'v>) -> Vec<(Key, &'v Value)> {
    let Some(Value::Seq(objects)) = save.get("objects") else { return Vec::new() };
    let key = |object: &'v Value| {
        let Value::Map(entries) = object else { return None };
        let part = |name| entries.iter().find(|(key, _)| key.as_text() == Some(name));
        let id = part("id")?.1.as_u64()?;
        let class = part("class")?.1.as_text()?.to_owned();
        let is_kept = part("holder").is_none() && part("added")?.1.as_bool() == Some(false);
        Some((id, is_kept, class))
    };
    objects.iter().filter_map(|object| Some((key(object)?, object))).collect()
}

/// Our classes, and those that only they have.
fn classes(sides: [&Whole<'_>; 2]) -> Result<Value> {
    let (mut all, mut known) = (Vec::new(), HashMap::new());
    for side in sides {
        let Some(Value::Seq(classes)) = side.get("classes") else { continue };
        for class in classes {
            let text = class.as_text().unwrap_or_default();
            let id = text
                .parse::<Value>()
                .ok()
                .and_then(|class| Some(class.as_record()?.get("id")?.as_text()?.to_owned()));
            match known.insert(id, text) {
                None => all.push(class.clone()),
                Some(other) if other == text => {}
                Some(other) => {
                    let name = name_in(other);
                    return Err(Failure::new(format!(
                        "the saves are of two versions of a program: class {name} is not the same in both; load the older one with the newer program, save it, and merge again"
                    )));
                }
            }
        }
    }
    Ok(Value::Seq(all))
}

fn name_in(class: &str) -> String {
    let class = class.parse::<Value>().ok();
    let name = class.as_ref().and_then(|class| class.as_record()?.get("name")?.as_text());
    name.unwrap_or_default().to_owned()
}

/// The saves that either side follows.
fn devices(sides: [&Whole<'_>; 2]) -> Option<Value> {
    let mut counts = std::collections::BTreeMap::new();
    for side in sides {
        let Some(Value::Seq(devices)) = side.get("devices") else { continue };
        for device in devices.iter().filter_map(Value::as_seq) {
            let [name, epoch, saves] = device else { continue };
            let (Some(name), Some(epoch), Some(saves)) =
                (name.as_text(), epoch.as_u64(), saves.as_u64())
            else {
                continue;
            };
            let count = counts.entry((name.to_owned(), epoch)).or_insert(saves);
            *count = saves.max(*count);
        }
    }
    let device = |((name, epoch), saves): ((String, u64), u64)| {
        Value::Tuple(vec![name.into(), epoch.into(), saves.into()])
    };
    (!counts.is_empty()).then(|| Value::Seq(counts.into_iter().map(device).collect()))
}

#[derive(Serialize)]
struct Shown<'c> {
    merged: bool,
    conflicts: Vec<ShownConflict<'c>>,
}

#[derive(Serialize)]
struct ShownConflict<'c> {
    path: &'c str,
    base: Option<Mapped<'c>>,
    ours: Option<Mapped<'c>>,
    theirs: Option<Mapped<'c>>,
}

fn print(conflicts: &[Conflict], args: &Args, is_merged: bool, out: &mut Out) -> Result<()> {
    if out.is_json() {
        let shown = conflicts.iter().map(|it| ShownConflict {
            path: &it.at,
            base: it.base.as_ref().map(Mapped::shown),
            ours: it.ours.as_ref().map(Mapped::shown),
            theirs: it.theirs.as_ref().map(Mapped::shown),
        });
        return out.json(&Shown { merged: is_merged, conflicts: shown.collect() });
    }
    for Conflict { at, base, ours, theirs } in conflicts {
        let (label, what) = match args.take_ours || args.take_theirs {
            true => ("both changed", HEADING),
            false => ("conflict", BAD),
        };
        writeln!(out, "{} {}", out.styled(what, label), out.styled(NAME, at))?;
        for (side, value) in [("base", base), ("ours", ours), ("theirs", theirs)] {
            let value = value.as_ref().map_or_else(|| String::from("(nothing)"), short);
            writeln!(out, "    {side:6} {value}")?;
        }
    }
    match (conflicts.len(), is_merged, &args.output) {
        (0, _, Some(file)) => writeln!(out, "merged into {}", file.display())?,
        (0, _, None) => writeln!(out, "no conflicts; `-o NEW` writes the merged save")?,
        (count, true, Some(file)) => {
            let whose = if args.take_theirs { "theirs" } else { "ours" };
            let file = file.display();
            writeln!(out, "merged into {file}; of what both changed, {count}, {whose} was taken")?;
        }
        (count, true, None) => {
            let whose = if args.take_theirs { "theirs" } else { "ours" };
            writeln!(
                out,
                "would merge: of what both changed, {count}, {whose} is taken; give `-o NEW`"
            )?;
        }
        (count, false, _) => {
            let what = if count == 1 { "1 conflict" } else { &*format!("{count} conflicts") };
            writeln!(out, "{what}, nothing is written; `--ours` or `--theirs` decides them")?;
        }
    }
    Ok(())
}
