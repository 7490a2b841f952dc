//! A journal as a timeline: what happened, in its order, with values as text.

use std::collections::HashMap;
use std::path::Path;

use persist::ObjectId;
use persist_tools::{JournalListing, ListedEvent, ListedStep};
use serde::Serialize;

use crate::commands::journal::{short, what};
use crate::exit::{Failure, Result};

/// The data of a journal that the page shows.
#[derive(Serialize)]
pub(crate) struct Timeline {
    file: String,
    size: u64,
    /// Sentences about its end, and about the save that it follows.
    notes: Vec<String>,
    entries: Vec<Event>,
}

#[derive(Serialize)]
struct Event {
    what: String,
    label: String,
    /// The place of the entry that is undone or redone.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<usize>,
    steps: Vec<Step>,
}

#[derive(Default, Serialize)]
struct Step {
    /// The number of commands that contain the step.
    level: usize,
    change: String,
    object: Option<u64>,
    name: Option<String>,
    path: Option<String>,
    old: Option<String>,
    new: Option<String>,
}

impl Timeline {
    /// Reads a journal, for the page of this save.
    pub(crate) fn read(path: &Path, save: &[u8]) -> Result<Self> {
        let name = path.display().to_string();
        let listing = JournalListing::for_save(path, Some(save));
        let listing = listing.map_err(|error| Failure::from(error).in_file(&name))?;
        let at_first = listing.entries.iter().zip(0..).map(|(event, number)| {
            let what = if number < listing.applied { "applied" } else { "undone" };
            Event::of(event, format!("{what} when the journal began"))
        });
        let all = || listing.entries.iter().chain(&listing.events);
        let places: HashMap<*const ListedEvent, usize> =
            all().map(std::ptr::from_ref).zip(0..).collect();
        let since = listing.events.iter().zip(listing.subjects()).map(|(event, subject)| {
            let of = subject.and_then(|subject| places.get(&std::ptr::from_ref(subject)).copied());
            Event { of, ..Event::of(event, what(event.what)) }
        });
        Ok(Self {
            file: path.file_name().map_or(name, |name| name.to_string_lossy().into_owned()),
            size: listing.bytes,
            notes: notes(&listing, save),
            entries: at_first.chain(since).collect(),
        })
    }
}

fn notes(listing: &JournalListing, save: &[u8]) -> Vec<String> {
    let mut notes = Vec::new();
    if !listing.follows(save) {
        notes.push("The journal follows another save than this one.".to_owned());
    }
    match listing.open {
        0 => {}
        1 => notes.push("A transaction is open; a session would roll it back.".to_owned()),
        open => {
            notes.push(format!("{open} transactions are open; a session would roll them back."));
        }
    }
    if let Some(torn) = &listing.torn {
        let (offset, bytes) = (torn.offset, torn.bytes);
        notes.push(format!("Torn at byte {offset}: the last {bytes} bytes are of a step that was not written whole."));
    }
    if let Some(stopped) = &listing.stopped {
        notes.push(format!("Not readable from byte {} on: {}.", stopped.offset, stopped.cause));
    }
    notes
}

impl Event {
    fn of(event: &ListedEvent, what: String) -> Self {
        let mut steps = Vec::new();
        // Commands hold steps; the first one is on top.
        let mut open: Vec<_> = event.steps.iter().rev().map(|step| (step, 0)).collect();
        while let Some((step, level)) = open.pop() {
            match step {
                ListedStep::Change { verb, object, name, path, index, old, new, .. } => {
                    steps.push(Step {
                        level,
                        change: verb.to_string().to_lowercase(),
                        object: object.map(ObjectId::get),
                        name: name.clone(),
                        path: path.as_ref().map(|path| match index {
                            Some(index) => format!("{path}[{index}]"),
                            None => path.to_string(),
                        }),
                        old: old.as_ref().map(short),
                        new: new.as_ref().map(short),
                    });
                }
                ListedStep::Command { class, value, is_direct, steps: further, .. } => {
                    let direct = if *is_direct { ", which only its program can redo" } else { "" };
                    let command = value.as_ref().map_or_else(|| class.clone(), short);
                    let change = format!("command {command}{direct}");
                    steps.push(Step { level, change, ..Step::default() });
                    open.extend(further.iter().rev().map(|step| (step, level + 1)));
                }
                _ => {}
            }
        }
        Self { what, label: event.label.to_string(), of: None, steps }
    }
}
