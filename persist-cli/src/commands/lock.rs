//! `persist lock`.

use std::io::Write;
use std::path::PathBuf;

use persist_tools::Document;
use persist_tools::lock::{Difference, Lock, SaveCheck, Verdict};
use serde::Serialize;

use super::verify::files_of;
use crate::exit::{Failure, Outcome, Result};
use crate::input::{Input, failure_json};
use crate::output::{BAD, DIM, GOOD, NAME, Out, WARNING};

/// Compare saves with the released versions of a program in its lock
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show which released versions saves are of; exit code 1 if one is of none
    Check(Check),
}

#[derive(clap::Args)]
struct Check {
    /// Saves, folders with saves, or `-` for standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// The lock: a folder with a file for each version.
    #[arg(long, value_name = "FOLDER", default_value = "persist.lock")]
    lock: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let Command::Check(args) = &args.command;
    let lock_name = args.lock.display().to_string();
    let lock = Lock::load(&args.lock).map_err(|error| Failure::from(error).in_file(&lock_name))?;
    let (files, failures) = files_of(&args.files);
    let (mut shown, mut read, mut bad, mut unread_files) = (Vec::new(), 0, 0, failures.len());
    for (folder, failure) in failures {
        out.failed(&failure)?;
        shown.push(failure_json(&folder, &failure));
    }
    for file in &files {
        let input = match Input::read(file) {
            Ok(input) => input,
            Err(failure) => {
                unread_files += 1;
                out.failed(&failure)?;
                shown.push(failure_json(file, &failure));
                continue;
            }
        };
        let document = Document::from_slice(&input.bytes);
        let checked = match &document {
            Ok(document) => Ok(lock.check_save(document)),
            Err(error) => Err(error.to_string()),
        };
        read += 1;
        bad += usize::from(!checked.as_ref().is_ok_and(SaveCheck::is_locked));
        let written_by = document.ok().and_then(|save| save.header().application_version.clone());
        let found = Found { file: input.name, written_by, checked };
        if out.is_json() {
            shown.push(serde_json::to_value(found.shown())?);
        } else {
            found.print(out)?;
        }
    }
    if out.is_json() {
        out.json(&shown)?;
    } else {
        let versions: Vec<&str> = lock.versions().collect();
        let newest = versions.last().copied().unwrap_or("none");
        let line = format!(
            "{} of {read} saves are of the {} locked versions up to {newest}",
            read - bad,
            versions.len()
        );
        writeln!(out, "{}", out.styled(DIM, line))?;
    }
    Ok(if unread_files > 0 { Outcome::Unread } else { Outcome::found(bad > 0) })
}

struct Found {
    file: String,
    written_by: Option<String>,
    checked: Result<SaveCheck, String>,
}

impl Found {
    fn print(&self, out: &mut Out) -> Result<()> {
        let by = self.written_by.as_ref().map(|by| format!(", written by {by:?}"));
        let by = by.unwrap_or_default();
        let name = out.styled(NAME, &self.file);
        let checked = match &self.checked {
            Ok(checked) => checked,
            Err(damage) => {
                return Ok(writeln!(out, "{name}: {}", out.styled(BAD, damage))?);
            }
        };
        if let [first, .., last] = &checked.versions[..] {
            let versions = format!("of versions {first} to {last}");
            writeln!(out, "{name}: {}{by}", out.styled(GOOD, versions))?;
        } else if let [version] = &checked.versions[..] {
            writeln!(out, "{name}: {}{by}", out.styled(GOOD, format!("of version {version}")))?;
        } else if checked.may_load() {
            let text = "of no locked version, may load";
            writeln!(out, "{name}: {}{by}", out.styled(WARNING, text))?;
        } else {
            writeln!(out, "{name}: {}{by}", out.styled(BAD, "does not load"))?;
        }
        for difference in &checked.differences {
            let style = if difference.verdict == Verdict::Breaks { BAD } else { WARNING };
            let place = place(difference);
            writeln!(out, "  {}: {}", out.styled(style, place), difference.change)?;
        }
        Ok(())
    }

    fn shown(&self) -> Shown<'_> {
        let checked = self.checked.as_ref().ok();
        Shown {
            file: &self.file,
            version: self.written_by.as_deref(),
            damage: self.checked.as_ref().err().map(String::as_str),
            versions: checked.map_or(&[], |checked| &checked.versions),
            may_load: checked.is_some_and(SaveCheck::may_load),
            differences: checked
                .map_or(&[][..], |checked| &checked.differences)
                .iter()
                .map(ShownDifference::of)
                .collect(),
        }
    }
}

fn place(difference: &Difference) -> String {
    match &difference.field {
        Some(field) => format!("{}.{field}", difference.class),
        None => difference.class.clone(),
    }
}

#[derive(Serialize)]
struct Shown<'f> {
    file: &'f str,
    version: Option<&'f str>,
    damage: Option<&'f str>,
    versions: &'f [String],
    may_load: bool,
    differences: Vec<ShownDifference<'f>>,
}

#[derive(Serialize)]
struct ShownDifference<'f> {
    class: &'f str,
    field: Option<&'f str>,
    change: &'f str,
    breaks: bool,
}

impl<'f> ShownDifference<'f> {
    fn of(difference: &'f Difference) -> Self {
        Self {
            class: &difference.class,
            field: difference.field.as_deref(),
            change: &difference.change,
            breaks: difference.verdict == Verdict::Breaks,
        }
    }
}
