//! `persist edit`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

use persist::Value;

use super::dump::EXAMPLES;
use super::info::keep_unsaved;
use super::set::{Change, one_of, write_changes};
use crate::exit::{Failure, Outcome, Result};
use crate::input::Input;
use crate::output::Out;
use crate::path::Path;
use crate::values::like;

/// Change a part of a save as text in `$VISUAL` or `$EDITOR`; the old save stays as a backup
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save.
    file: PathBuf,
    /// The part.
    path: String,
    /// Change the save even if a journal beside it has unsaved changes, which are lost then.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let input = Input::read(&args.file)?;
    let Some(file) = &input.path else {
        return Err(Failure::new("standard input cannot be changed; give a file"));
    };
    let mut save = input.document()?;
    keep_unsaved(file, args.force)?;
    let found = Path::parse(&args.path, &save)?.find(&save)?;
    one_of(&found, false, &args.path)?;
    let Some(part) = found.first() else { return Ok(Outcome::Done) };
    let path = write_text(&part.value).map_err(failed)?;
    open_editor(&path)?;
    let text = fs::read_to_string(&path).map_err(failed)?;
    let new = match text.parse::<Value>() {
        Ok(new) => like(&part.value, new),
        Err(error) => {
            let kept = path.keep().map_err(|error| failed(error.error))?;
            return Err(Failure::new(format!(
                "the text is no value: {error}; the save is as it was, the text is kept in {}",
                kept.display()
            )));
        }
    };
    let changes = vec![Change::of(part, new)];
    drop(found);
    // The game may have saved while the editor was open, or its session have written to a journal.
    let is_same = fs::read(file).is_ok_and(|now| now == input.bytes);
    if !is_same {
        let kept = path.keep().map_err(|error| failed(error.error))?;
        return Err(Failure::new(format!(
            "{} changed meanwhile and stays as it is now; the text is kept in {}",
            input.name,
            kept.display()
        )));
    }
    let written = keep_unsaved(file, args.force)
        .and_then(|()| write_changes(changes, &mut save, Some(file), out));
    // If only standard output failed, the text is in the save.
    if written.as_ref().is_err_and(|failure| !matches!(failure, Failure::Io(_))) {
        let kept = path.keep().map_err(|error| failed(error.error))?;
        crate::output::note(format_args!("the text is kept in {}", kept.display()));
    }
    written
}

/// Writes a value to a temporary file.
fn write_text(value: &Value) -> io::Result<tempfile::TempPath> {
    let mut text = tempfile::Builder::new().prefix("persist-").suffix(".txt").tempfile()?;
    writeln!(text, "{value:#}")?;
    text.flush()?;
    Ok(text.into_temp_path())
}

/// An error about that file.
#[expect(clippy::needless_pass_by_value, reason = "as `map_err` calls it")]
fn failed(error: io::Error) -> Failure {
    Failure::new(format!("cannot edit a temporary file: {error}; the save is as it was"))
}

/// Opens a file in the user's editor, and waits until it ends.
fn open_editor(path: &std::path::Path) -> Result<()> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|it| !it.is_empty());
    let editor = ["VISUAL", "EDITOR"].iter().find(|name| is_set(name));
    let editor = editor.and_then(std::env::var_os).unwrap_or_else(|| OsString::from("vi"));
    let editor = editor.to_string_lossy();
    // It may have arguments, as `code --wait`.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let failed = |what: String| {
        Failure::new(format!("the editor `{editor}` {what}; the save is as it was; set EDITOR"))
    };
    let status = Command::new(program).args(words).arg(path).status();
    let status = status.map_err(|error| failed(format!("cannot be run: {error}")))?;
    if status.success() { Ok(()) } else { Err(failed(format!("failed with {status}"))) }
}
