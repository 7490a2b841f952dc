//! `persist merge`.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;

use persist::Value;
use persist_tools::Document;
use serde::Serialize;

use super::info::write_over;
use crate::exit::{Failure, Outcome, Result};
use crate::input::{Bar, Input};
use crate::mapped::Mapped;
use crate::merge::{Conflict, Merge, Side, id_of};
use crate::output::{BAD, HEADING, NAME, Out};
use crate::shown::short;
use crate::world::{self, record_of};

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
    /// The file to write the merged save to.
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,
    /// Replace that file if it exists.
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
    let prefer = match (args.take_ours, args.take_theirs) {
        (true, _) => Some(Side::Ours),
        (_, true) => Some(Side::Theirs),
        _ => None,
    };
    let mut merge = Merge { prefer, conflicts: Vec::new() };
    let files = [&args.base, &args.ours, &args.theirs];
    let bar = Bar::of(files);
    let merged = merged(&mut merge, files, &bar);
    // The end of the job is to write the save.
    bar.wait();
    let placed = merged.and_then(|merged| place(merged, &merge, args));
    bar.clear();
    let is_written = placed?;
    if let Some(file) = args.output.as_ref().filter(|_| is_written) {
        out.note_done(format!("the merged save is written to {}", file.display()));
    }
    print(&merge.conflicts, args, is_written, out)?;
    Ok(Outcome::found(!is_written))
}

/// Writes the merged save, unless there are conflicts that nobody has resolved. Returns whether it is whole.
fn place(
    merged: std::result::Result<Document, persist::Error>,
    merge: &Merge,
    args: &Args,
) -> Result<bool> {
    if !merge.conflicts.is_empty() && merge.prefer.is_none() {
        return Ok(false);
    }
    // A merge without conflicts may still be no save: one side may refer to an object that the other removed.
    let unfit = |error: String| Failure::new(format!("the sides do not fit together: {error}"));
    let merged = merged.map_err(|error| unfit(error.to_string()))?;
    merged
        .entries()
        .try_for_each(|entry| world::check(&entry.value, entry.id()))
        .map_err(|error| unfit(error.to_string()))?;
    let save = merged.to_vec().map_err(|error| unfit(error.to_string()))?;
    if let Some(file) = &args.output {
        write_over(file, &save, args.force)?;
    }
    Ok(true)
}

/// Returns the merged save, or the reason why there is none.
///
/// The values of a save take some thirty times its bytes. So those of one save are in memory at a time, and the others
/// as texts.
fn merged(
    merge: &mut Merge,
    [base, ours, theirs]: [&PathBuf; 3],
    bar: &Bar,
) -> Result<Result<Document, persist::Error>> {
    let read = |path: &PathBuf| -> Result<_> {
        let document = Input::with(path, bar, 140)?.document()?;
        bar.write_more(100, document.entries().count() as u64);
        let (head, objects) = document.into_head_and_objects();
        let objects = objects.inspect(|_| bar.object());
        Ok((Whole::of(head)?, objects))
    };
    let text = |object: Value| Some((key(&object)?, Text::of(object)));
    let (base_head, objects) = read(base)?;
    let mut base: HashMap<Key, Text> = objects.filter_map(text).collect();
    let (their_head, objects) = read(theirs)?;
    let (mut changed, mut same) = (Vec::new(), HashSet::new());
    for (key, theirs) in objects.filter_map(text) {
        if base.get(&key) == Some(&theirs) {
            base.remove(&key);
            same.insert(key);
        } else {
            changed.push((key, theirs));
        }
    }
    let (our_head, objects) = read(ours)?;
    let sides = [&base_head, &our_head, &their_head];
    are_of_one_program(sides)?;
    let head = head(merge, sides)?;

    let theirs: HashMap<&Key, &Text> = changed.iter().map(|(key, text)| (key, text)).collect();
    // The iterators over the objects that only the others have start when the one over ours has ended.
    let (visited, merge) = (RefCell::new(HashSet::new()), RefCell::new(merge));
    let failed = Cell::new(None);
    let own = objects.filter_map(|mut object| {
        let key = key(&object)?;
        if same.contains(&key) {
            return Some(object);
        }
        let sides = [base.get(&key), theirs.get(&key).copied()];
        visited.borrow_mut().insert(key.clone());
        let ours = put_value(&mut object, Value::Unit);
        let value = merge_object(&mut merge.borrow_mut(), &key, sides, ours);
        put_value(&mut object, noted(value, &failed)??);
        Some(object)
    });
    let added = changed.iter().filter(|(key, _)| !visited.borrow().contains(key));
    let added = added.filter_map(|(key, theirs)| {
        let mut object = noted(theirs.head.parse(), &failed)?;
        let sides = [base.get(key), Some(theirs)];
        let value = merge_object(&mut merge.borrow_mut(), key, sides, None);
        put_value(&mut object, noted(value, &failed)??);
        Some(object)
    });
    let merged = Document::from_head_and_objects(&Value::Map(head), own.chain(added));
    Ok(failed.take().map_or(merged, Err))
}

/// Returns the value. After an error it returns `None`, and stores the error in `failed`.
fn noted<T>(read: persist::Result<T>, failed: &Cell<Option<persist::Error>>) -> Option<T> {
    read.map_err(|error| failed.set(Some(error))).ok()
}

/// An object as text, which takes a tenth of the memory.
#[derive(PartialEq)]
struct Text {
    /// Everything of the object except its value.
    head: String,
    /// The value of the object. If it is a world, the objects of the world are in `members` instead.
    value: String,
    members: HashMap<u64, String>,
}

impl Text {
    fn of(mut object: Value) -> Self {
        let mut value = put_value(&mut object, Value::Unit).unwrap_or(Value::Unit);
        let members = take_members(&mut value).unwrap_or_default();
        let text = |member: &Value| Some((id_of(member)?, member.to_string()));
        let members = members.iter().filter_map(text).collect();
        Self { head: object.to_string(), value: value.to_string(), members }
    }

    fn member(&self, id: u64) -> Option<persist::Result<Value>> {
        self.members.get(&id).map(|text| text.parse())
    }

    /// Returns the whole value.
    fn whole(&self) -> persist::Result<Value> {
        let mut value = self.value.parse()?;
        let mut ids: Vec<u64> = self.members.keys().copied().collect();
        ids.sort_unstable();
        let members = ids.into_iter().filter_map(|id| self.member(id));
        put_members(&mut value, members.collect::<persist::Result<_>>()?);
        Ok(value)
    }
}

/// Takes out the objects of a world; `None` if the value is none.
fn take_members(value: &mut Value) -> Option<Vec<Value>> {
    record_of(value)?;
    match value.as_record_mut()?.get_mut("objects")? {
        Value::Seq(members) => Some(std::mem::take(members)),
        _ => None,
    }
}

fn put_members(world: &mut Value, members: Vec<Value>) {
    if !members.is_empty()
        && let Some(record) = world.as_record_mut()
    {
        record.set("objects", Value::Seq(members));
    }
}

/// Merges the value of an object. The base and their side are texts.
fn merge_object(
    merge: &mut Merge,
    (id, ..): &Key,
    others: [Option<&Text>; 2],
    mut ours: Option<Value>,
) -> persist::Result<Option<Value>> {
    let at = format!("#{id}");
    if let [Some(base), Some(theirs)] = others
        && let Some(members) = ours.as_mut().and_then(take_members)
    {
        let (old, new) = (base.value.parse()?, theirs.value.parse()?);
        let merged = merge.value(&at, [Some(&old), Some(&new)], ours);
        let failed = Cell::new(None);
        let member = |of: &Text, id| noted(of.member(id)?, &failed).map(Cow::Owned);
        let ids = theirs.members.keys().copied();
        let members =
            merge.objects(&at, members, ids, |id| [base, theirs].map(|of| member(of, id)));
        let Some(mut world) = merged else { return Ok(None) };
        put_members(&mut world, members);
        return failed.take().map_or(Ok(Some(world)), Err);
    }
    let [base, theirs] = others.map(|text| text.map(Text::whole).transpose());
    let (base, theirs) = (base?, theirs?);
    Ok(merge.value(&at, [base.as_ref(), theirs.as_ref()], ours))
}

/// Everything of a save except its objects.
struct Whole(Vec<(Value, Value)>);

impl Whole {
    fn of(head: Value) -> Result<Self> {
        match head {
            Value::Map(entries) => Ok(Self(entries)),
            _ => Err(Failure::new("the save is no map")),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let entry = self.0.iter().find(|(key, _)| key.as_text() == Some(name));
        entry.map(|(_, value)| value)
    }
}

/// The key of an entry: its id, whether it is unknown data of an object, and its class.
type Key = (u64, bool, String);

fn key(object: &Value) -> Option<Key> {
    let (id, class) = (part(object, "id")?.as_u64()?, part(object, "class")?.as_text()?);
    let is_unknown =
        part(object, "holder").is_none() && part(object, "added")?.as_bool() == Some(false);
    Some((id, is_unknown, class.to_owned()))
}

fn part<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Map(entries) = object else { return None };
    entries.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
}

/// Replaces the value of an object, and returns the old one.
fn put_value(object: &mut Value, new: Value) -> Option<Value> {
    let Value::Map(entries) = object else { return None };
    let (_, value) = entries.iter_mut().find(|(key, _)| key.as_text() == Some("value"))?;
    Some(std::mem::replace(value, new))
}

/// Refuses saves of different programs: by their applications, or because no class of a program is in all.
fn are_of_one_program(sides: [&Whole; 3]) -> Result<()> {
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
        // Classes of the library are in saves of any program.
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

/// Merges everything of the saves except their objects.
fn head(merge: &mut Merge, sides: [&Whole; 3]) -> Result<Vec<(Value, Value)>> {
    let [base, ours, theirs] = sides;
    let mut merged: Vec<(&str, Value)> = vec![("save", 1_u32.into())];
    for key in ["application", "version"] {
        let value = ours.get(key).or(theirs.get(key));
        merged.extend(value.map(|value| (key, value.clone())));
    }
    let generations = [ours, theirs].map(|it| it.get("generation").and_then(Value::as_u64));
    merged.extend(generations.into_iter().flatten().max().map(|it| ("generation", it.into())));
    if let Some(devices) = devices([ours, theirs]) {
        merged.push(("devices", devices));
    }
    let [base, own, other] = [base, ours, theirs].map(|side| side.get("metadata"));
    // Every save has its own time, so that the infos of both sides always differ from the base.
    let times = [own, other].map(|info| info.and_then(saved_at));
    let metadata = match times {
        [Some(own_time), Some(other_time)] if own_time >= other_time => own.cloned(),
        [Some(_), Some(_)] => other.cloned(),
        _ => merge.value("metadata", [base, other], own.cloned()),
    };
    merged.extend(metadata.map(|it| ("metadata", it)));
    for key in ["fields", "compression"] {
        merged.extend(ours.get(key).map(|value| (key, value.clone())));
    }
    merged.push(("classes", classes([ours, theirs])?));
    Ok(merged.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// When a save with this info was saved, in seconds and nanoseconds since 1970.
fn saved_at(info: &Value) -> Option<(i64, u64)> {
    let Value::Seq(objects) = part(info, "objects")? else { return None };
    let info = part(objects.first()?, "value")?.as_record()?;
    let Value::Option(Some(time)) = info.get("saved_at")? else { return None };
    let time = time.as_record()?;
    Some((time.get("seconds")?.as_i64()?, time.get("nanoseconds")?.as_u64()?))
}

/// Returns our classes, and the classes that only they have.
fn classes(sides: [&Whole; 2]) -> Result<Value> {
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
fn devices(sides: [&Whole; 2]) -> Option<Value> {
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
