//! `persist journal`.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use persist::__private::read_name;
use persist::debug::escape;
use persist::history::Label;
use persist::{ObjectId, Value};
use persist_tools::{JournalListing, ListedEvent, ListedStep, Occurrence};
use serde::Serialize;

use super::info::keep_unsaved_but;
use super::set::refuse_protected;
use crate::exit::{Failure, Outcome, Result};
use crate::input::{Input, named};
use crate::mapped::Mapped;
use crate::output::{
    BAD, DIM, GOOD, HEADING, NAME, Out, WARNING, bytes, is_same_file, refuse_stdout,
};

/// List what a journal says: the entries of an undo history, with the values that they changed
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The journal, or `-` for standard input.
    file: PathBuf,

    /// The save that it may follow; by default the one beside it that has its name.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Write the save as it was after the event of this number; 0 is the save that the journal follows.
    #[arg(long, value_name = "N", requires = "output")]
    to: Option<usize>,

    /// The file to write that save to; an existing save stays as a backup.
    #[arg(short, long, value_name = "NEW", requires = "to")]
    output: Option<PathBuf>,

    /// Replace NEW even if it is no save, is write-protected, or has a journal with unsaved changes, which are lost then.
    #[arg(long, requires = "output")]
    force: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let name = args.file.display().to_string();
    let (file, _temporary) = named(&args.file)?;
    if is_save(&file) {
        return Err(Failure::new(format!(
            "{name} is a save, not a journal; use `persist info {name}`"
        )));
    }
    let mut save = Save::find(args)?;
    let bytes = save.as_ref().map(|save| &*save.input.bytes);
    let listing = JournalListing::for_save(&file, bytes);
    let listing = listing.map_err(|error| Failure::from(error).in_file(&name))?;
    if let Some(save) = &mut save {
        save.is_followed = listing.follows(&save.input.bytes);
    }
    if let (Some(to), Some(output)) = (args.to, &args.output) {
        return write_state(args, &listing, save.as_ref(), (to, output), out);
    }
    if out.is_json() {
        out.json(&Shown::of(&listing, &save))?;
    } else {
        print(&name, &listing, &save, out)?;
    }
    Ok(Outcome::found(listing.torn.is_some() || listing.stopped.is_some()))
}

fn is_save(path: &Path) -> bool {
    let mut start = [0; 4];
    // A pipe that is read here would lack its beginning.
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *b"\x89PST"
}

/// The save beside a journal.
struct Save {
    name: String,
    input: Input,
    is_followed: bool,
}

impl Save {
    fn find(args: &Args) -> Result<Option<Self>> {
        let (path, is_asked_for) = match &args.save {
            Some(save) => (save.clone(), true),
            None => (args.file.with_extension("sav"), false),
        };
        let name = path.display().to_string();
        match Input::read(&path) {
            Ok(input) => Ok(Some(Self { name, input, is_followed: false })),
            Err(failure) if is_asked_for => Err(failure),
            Err(_) => Ok(None),
        }
    }
}

/// Writes the save as it was after an event. The exit code is 1 if only the state before that event could be reached.
fn write_state(
    args: &Args,
    listing: &JournalListing,
    save: Option<&Save>,
    (to, output): (usize, &Path),
    out: &mut Out,
) -> Result<Outcome> {
    let name = args.file.display();
    let save = match save {
        Some(save) if save.is_followed => save,
        Some(Save { name: save, .. }) => {
            return Err(Failure::new(format!(
                "{name} does not follow {save}; give the save that it follows with `--save`"
            )));
        }
        None if listing.is_first() => {
            return Err(Failure::new(format!(
                "{name} follows no save: it begins with a value that only its program makes"
            )));
        }
        None => {
            return Err(Failure::new(format!(
                "the save that {name} follows is not beside it; give it with `--save`"
            )));
        }
    };
    if is_same_file(output, &args.file) {
        return Err(Failure::new(format!("{name} is the journal; give another name to the save")));
    }
    may_write(args, save, output)?;
    let count = listing.events.len();
    if to > count {
        let end = match (&listing.stopped, &listing.torn) {
            (Some(stopped), _) => {
                format!(" that can be read: from byte {} on, {}", stopped.offset, stopped.cause)
            }
            (None, Some(torn)) => format!(" before byte {}, where it is torn", torn.offset),
            (None, None) => String::new(),
        };
        let events = if count == 1 { "1 event".into() } else { format!("{count} events") };
        return Err(Failure::new(format!("no event {to}: {name} has {events}{end}")));
    }
    let mut document = save.input.document()?;
    save.input.bar().clear();
    let replayed = listing.replay(&mut document, to).map_err(|error| save.input.failure(error))?;
    document.save(output)?;
    let written = output.display().to_string();
    out.note_done(format!("{written} is written"));
    let cause = replayed.stopped.map(|error| error.to_string());
    if out.is_json() {
        let stopped = cause.as_deref();
        out.json(&ShownState { written: &written, event: replayed.events, stopped })?;
    } else {
        let event = match replayed.events {
            0 => "as it was saved".into(),
            event => format!("as it was after event {event}"),
        };
        let done = out.styled(GOOD, "written to");
        writeln!(out, "{done} {}: {event}", out.styled(NAME, &written))?;
        if let Some(cause) = &cause {
            let text = format!("not event {}: {cause}", replayed.events + 1);
            writeln!(out, "{}", out.styled(WARNING, text))?;
        }
    }
    Ok(Outcome::found(cause.is_some()))
}

/// Refuses a place that would lose more than a save, which stays as a backup.
fn may_write(args: &Args, save: &Save, output: &Path) -> Result<()> {
    refuse_stdout(output)?;
    let shown = output.display();
    if save.input.path.as_ref().is_some_and(|save| is_same_file(output, save)) {
        return Err(Failure::new(format!(
            "{shown} is the save that {} follows; give another name to the new one",
            args.file.display()
        )));
    }
    if !args.force && output.symlink_metadata().is_ok() && !is_save(output) {
        return Err(Failure::new(format!(
            "{shown} is there already and is no save; use another name, or `--force`"
        )));
    }
    refuse_protected(output, args.force)?;
    // A copy of the save is followed, too, and nothing is lost as long as the save itself is there.
    keep_unsaved_but(output, Some(&args.file), args.force)
}

/// How many events would be replayed: all, if there is no save.
fn unsaved(listing: &JournalListing, save: Option<&Save>) -> Option<usize> {
    let is_followed = match save {
        Some(save) => save.is_followed,
        None => listing.is_first(),
    };
    let is_work = |event: &&ListedEvent| !matches!(event.what, Occurrence::Evicted(..));
    is_followed.then(|| listing.events.iter().filter(is_work).count())
}

fn print(name: &str, listing: &JournalListing, save: &Option<Save>, out: &mut Out) -> Result<()> {
    let follows = match save {
        Some(Save { name, is_followed: true, .. }) => format!("follows {name}"),
        Some(Save { name, .. }) => format!("does not follow {name}"),
        None if listing.is_first() => "follows no save".into(),
        None => "follows a save that is not beside it".into(),
    };
    let rest = format!("{}, {follows}", bytes(listing.bytes));
    writeln!(out, "{}: {}", out.styled(NAME, name), out.styled(DIM, rest))?;
    if !listing.entries.is_empty() {
        writeln!(out, "{}", out.styled(HEADING, "entries when it began"))?;
    }
    for (event, number) in listing.entries.iter().zip(0..) {
        let what = if number < listing.applied { "applied" } else { "undone" };
        print_event(event, &format!("{what:>12}"), out)?;
    }
    if !listing.events.is_empty() {
        writeln!(out, "{}", out.styled(HEADING, "since then"))?;
    }
    for (number, event) in listing.events.iter().enumerate() {
        let what = what(event.what);
        print_event(event, &format!("{:>4} {what:<7}", number + 1), out)?;
    }
    if listing.open > 0 {
        let open = format!("{} transactions are open, and would be rolled back", listing.open);
        let open = if listing.open == 1 {
            "a transaction is open, and would be rolled back"
        } else {
            &*open
        };
        writeln!(out, "{}", out.styled(WARNING, open))?;
    }
    if let Some(torn) = &listing.torn {
        let text = format!(
            "torn at byte {}: the last {} bytes are of a step that was not written whole",
            torn.offset, torn.bytes
        );
        writeln!(out, "{}", out.styled(BAD, text))?;
    }
    if let Some(stopped) = &listing.stopped {
        let text = format!("not readable from byte {} on: {}", stopped.offset, stopped.cause);
        writeln!(out, "{}", out.styled(BAD, text))?;
    }
    match unsaved(listing, save.as_ref()) {
        Some(0) => writeln!(out, "{}", out.styled(GOOD, "no unsaved work"))?,
        Some(events) => {
            let text = format!("unsaved work: {events} events since the save");
            let text = if events == 1 { "unsaved work: 1 event since the save" } else { &*text };
            writeln!(out, "{}", out.styled(WARNING, text))?;
        }
        None => {}
    }
    Ok(())
}

/// Describes an event in a few words.
pub(crate) fn what(what: Occurrence) -> String {
    match what {
        Occurrence::Entry => "entry".into(),
        Occurrence::Done => "done".into(),
        Occurrence::Aside => "aside".into(),
        Occurrence::Undone => "undone".into(),
        Occurrence::Redone => "redone".into(),
        Occurrence::Begun => "transaction".into(),
        Occurrence::Committed => "commit".into(),
        Occurrence::RolledBack => "rollback".into(),
        Occurrence::Saved(true) => "saved".into(),
        Occurrence::Saved(false) => "counts as not saved".into(),
        Occurrence::Cleared => "cleared".into(),
        Occurrence::Skipped(false) => "counts as undone".into(),
        Occurrence::Skipped(true) => "counts as redone".into(),
        Occurrence::Dropped(Some(entry)) => format!("dropped entry {entry}"),
        Occurrence::Dropped(None) => "dropped what was being made".into(),
        Occurrence::Evicted(oldest, undone) => {
            format!("evicted {oldest} oldest and {undone} undone")
        }
        _ => "something else".into(),
    }
}

fn print_event(event: &ListedEvent, head: &str, out: &mut Out) -> Result<()> {
    let label = match &event.label {
        Label::None => String::new(),
        label => label.to_string(),
    };
    let line = format!("{head} {}", out.styled(NAME, &label));
    writeln!(out, "{}", line.trim_end())?;
    print_steps(&event.steps, 0, out)
}

fn print_steps(steps: &[ListedStep], level: usize, out: &mut Out) -> Result<()> {
    let indent = " ".repeat(14 + 2 * level.min(10));
    for step in steps {
        match step {
            ListedStep::Command { class, value, is_direct, steps, .. } => {
                let value = value.as_ref().map_or_else(|| class.clone(), short);
                let value = escape::line(&value);
                let direct = if *is_direct { ", which only its program can redo" } else { "" };
                writeln!(out, "{indent}command {value}{}", out.styled(WARNING, direct))?;
                print_steps(steps, level + 1, out)?;
            }
            ListedStep::Change { verb, object, name, path, index, old, new, .. } => {
                let mut line = format!("{indent}{}", verb.to_string().to_lowercase());
                line.extend(object.map(|object| format!(" {object}")));
                if let Some((name, number)) = name.as_deref().map(read_name) {
                    line.push_str(&format!(" {name:?}"));
                    line.extend((number > 0).then(|| format!("#{number}")));
                }
                line.extend(path.as_ref().map(|path| format!(" {path}")));
                line.extend(index.map(|index| format!("[{index}]")));
                let line = escape::line(&line);
                match (old, new) {
                    (Some(old), Some(new)) => {
                        let (old, new) = (short(old), short(new));
                        writeln!(
                            out,
                            "{line}: {} -> {}",
                            out.styled(BAD, old),
                            out.styled(GOOD, new)
                        )?;
                    }
                    (None, Some(new)) => writeln!(out, "{line}: {}", out.styled(GOOD, short(new)))?,
                    (Some(old), None) => writeln!(out, "{line}: {}", out.styled(BAD, short(old)))?,
                    (None, None) => writeln!(out, "{line}")?,
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The text of a value, or its beginning.
pub(crate) fn short(value: &Value) -> String {
    const LONGEST: usize = 120;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[derive(Serialize)]
struct Shown<'j> {
    bytes: u64,
    save: Option<&'j str>,
    follows_save: Option<bool>,
    unsaved: Option<usize>,
    applied: u64,
    entries: Vec<Event<'j>>,
    events: Vec<Event<'j>>,
    open: usize,
    torn: Option<TornWrite>,
    stopped: Option<ReplayStop<'j>>,
}

#[derive(Serialize)]
struct ShownState<'s> {
    written: &'s str,
    event: usize,
    stopped: Option<&'s str>,
}

#[derive(Serialize)]
struct TornWrite {
    offset: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct ReplayStop<'j> {
    offset: u64,
    kind: String,
    cause: &'j str,
}

#[derive(Serialize)]
struct Event<'j> {
    offset: u64,
    what: String,
    label: Option<String>,
    steps: Vec<Step<'j>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Step<'j> {
    Command {
        command: &'j str,
        value: Option<Mapped<'j>>,
        direct: bool,
        steps: Vec<Step<'j>>,
    },
    Change {
        change: String,
        object: Option<u64>,
        name: Option<&'j str>,
        path: Option<String>,
        index: Option<u64>,
        old: Option<Mapped<'j>>,
        new: Option<Mapped<'j>>,
    },
}

impl<'j> Shown<'j> {
    fn of(listing: &'j JournalListing, save: &'j Option<Save>) -> Self {
        let events = |events: &'j [ListedEvent]| events.iter().map(Event::of).collect();
        Self {
            bytes: listing.bytes,
            save: save.as_ref().map(|save| &*save.name),
            follows_save: save.as_ref().map(|save| save.is_followed),
            unsaved: unsaved(listing, save.as_ref()),
            applied: listing.applied,
            entries: events(&listing.entries),
            events: events(&listing.events),
            open: listing.open,
            torn: listing.torn.map(|torn| TornWrite { offset: torn.offset, bytes: torn.bytes }),
            stopped: listing.stopped.as_ref().map(|stopped| ReplayStop {
                offset: stopped.offset,
                kind: format!("{:?}", stopped.kind),
                cause: &stopped.cause,
            }),
        }
    }
}

impl<'j> Event<'j> {
    fn of(event: &'j ListedEvent) -> Self {
        Self {
            offset: event.offset,
            what: what(event.what),
            label: Some(event.label.to_string()).filter(|label| !label.is_empty()),
            steps: steps(&event.steps),
        }
    }
}

fn steps(all: &[ListedStep]) -> Vec<Step<'_>> {
    all.iter().filter_map(Step::of).collect()
}

impl<'j> Step<'j> {
    fn of(step: &'j ListedStep) -> Option<Self> {
        match step {
            ListedStep::Command { class, value, is_direct, steps: further, .. } => {
                Some(Self::Command {
                    command: class,
                    value: value.as_ref().map(Mapped::shown),
                    direct: *is_direct,
                    steps: steps(further),
                })
            }
            ListedStep::Change { verb, object, name, path, index, old, new, .. } => {
                Some(Self::Change {
                    index: *index,
                    change: verb.to_string().to_lowercase(),
                    object: object.map(ObjectId::get),
                    name: name.as_deref(),
                    path: path.as_ref().map(ToString::to_string),
                    old: old.as_ref().map(Mapped::shown),
                    new: new.as_ref().map(Mapped::shown),
                })
            }
            _ => None,
        }
    }
}
