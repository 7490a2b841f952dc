//! `persist edit`.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use persist::Value;

use super::dump::EXAMPLES;
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
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let input = Input::read(&args.file)?;
    let Some(file) = &input.path else {
        return Err(Failure::new("standard input cannot be changed; give a file"));
    };
    let mut save = input.document()?;
    let found = Path::parse(&args.path, &save)?.find(&save)?;
    one_of(&found, false, &args.path)?;
    let Some(part) = found.first() else { return Ok(Outcome::Done) };
    let mut text = tempfile::Builder::new().prefix("persist-").suffix(".txt").tempfile()?;
    writeln!(text, "{:#}", part.value)?;
    text.flush()?;
    let path = text.into_temp_path();
    open_editor(&path)?;
    let text = fs::read_to_string(&path)?;
    let new = match text.parse::<Value>() {
        Ok(new) => like(&part.value, new),
        Err(error) => {
            let kept = path.keep().map_err(|error| error.error)?;
            return Err(Failure::new(format!(
                "the text is no value: {error}; the save is as it was, the text is kept in {}",
                kept.display()
            )));
        }
    };
    let changes = vec![Change::of(part, new)];
    drop(found);
    let written = write_changes(changes, &mut save, Some(file), out);
    if written.is_err() {
        let kept = path.keep().map_err(|error| error.error)?;
        crate::output::note(format_args!("the text is kept in {}", kept.display()));
    }
    written
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
