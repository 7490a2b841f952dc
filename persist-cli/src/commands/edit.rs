//! `persist edit`.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::Command;

use persist::Value;

use super::dump::EXAMPLES;
use super::set::{Change, find, may_change, open, write_changes};
use crate::exit::{Failure, Outcome, Result};
use crate::output::Out;
use crate::values::like;

/// Change a part of a save as text in `$VISUAL` or `$EDITOR`; the old save stays as a backup
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save.
    file: PathBuf,
    /// The part.
    path: String,
    /// Change the save even if it is write-protected, or a journal beside it has unsaved changes, which are lost then.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let file = &args.file;
    let editor = editor()?;
    let mut source = open(file)?;
    let (name, bar, digest) = (source.name.clone(), source.bar().clone(), digest(file));
    let mut save = source.whole()?;
    may_change(file, args.force)?;
    let part = find(&mut save, &args.path)?;
    let path = write_text(&part.value).map_err(failed)?;
    let given = fs::read(&path).map_err(failed)?;
    let ended = open_editor(&editor, &path);
    let typed = fs::read(&path);
    if let Err(what) = ended {
        if typed.is_ok_and(|typed| typed != given) {
            return Err(keep(path, &what));
        }
        return Err(Failure::new(format!("{what}; the save is as it was; set EDITOR")));
    }
    let typed = typed.map_err(|error| {
        Failure::new(format!(
            "the editor `{editor}` left no text in {}: {error}; the save is as it was",
            path.display()
        ))
    })?;
    let Ok(text) = std::str::from_utf8(&typed) else {
        return Err(keep(path, "the text is not UTF-8"));
    };
    // Some editors of Windows begin a text with a mark.
    let new = match text.strip_prefix('\u{feff}').unwrap_or(text).parse::<Value>() {
        Ok(new) => like(&part.value, new),
        Err(error) => return Err(keep(path, &format!("the text is no value: {error}"))),
    };
    let changes = vec![Change { target: part, new }];
    // The game may have saved while the editor was open, or its session have written to a journal.
    let is_same = digest.is_some() && digest == self::digest(file);
    if !is_same {
        let text_file = path.keep().map_err(|error| failed(error.error))?;
        return Err(Failure::new(format!(
            "{} changed meanwhile and stays as it is now; the text is kept in {}",
            name,
            text_file.display()
        )));
    }
    let written = may_change(file, args.force)
        .and_then(|()| write_changes(changes, &mut save, Some(file), &bar, out));
    // If only standard output failed, the text is in the save.
    if written.as_ref().is_err_and(|failure| !matches!(failure, Failure::Io(_))) {
        let text_file = path.keep().map_err(|error| failed(error.error))?;
        crate::output::note(format_args!("the text is kept in {}", text_file.display()));
    }
    written.map(|_| Outcome::Done)
}

/// Returns a digest of a file, by which a change of it is noticed; `None` if it cannot be read.
fn digest(file: &std::path::Path) -> Option<u64> {
    let mut file = io::BufReader::with_capacity(64 << 10, fs::File::open(file).ok()?);
    let mut digest = DefaultHasher::new();
    loop {
        let bytes = file.fill_buf().ok()?;
        if bytes.is_empty() {
            return Some(digest.finish());
        }
        digest.write(bytes);
        let count = bytes.len();
        file.consume(count);
    }
}

/// Writes a value to a temporary file.
fn write_text(value: &Value) -> io::Result<tempfile::TempPath> {
    let mut text = tempfile::Builder::new().prefix("persist-").suffix(".txt").tempfile()?;
    writeln!(text, "{value:#}")?;
    text.flush()?;
    Ok(text.into_temp_path())
}

/// Keeps the typed text, and returns the reason why it is not in the save.
fn keep(path: tempfile::TempPath, what: &str) -> Failure {
    match path.keep() {
        Ok(text_file) => Failure::new(format!(
            "{what}; the save is as it was, the text is kept in {}",
            text_file.display()
        )),
        Err(error) => failed(error.error),
    }
}

/// Returns a failure about the temporary file.
#[expect(clippy::needless_pass_by_value, reason = "as `map_err` calls it")]
fn failed(error: io::Error) -> Failure {
    Failure::new(format!("cannot edit a temporary file: {error}; the save is as it was"))
}

/// Returns the user's editor. Without a terminal, the default one would wait for keys that nobody can type.
fn editor() -> Result<String> {
    let mut named = ["VISUAL", "EDITOR"].into_iter().filter_map(std::env::var_os);
    match named.find(|editor| !editor.is_empty()) {
        Some(editor) => Ok(editor.to_string_lossy().into_owned()),
        None if io::stdin().is_terminal() && io::stdout().is_terminal() => Ok("vi".into()),
        None => {
            Err(Failure::new("there is no terminal to edit in; set EDITOR, or use `persist set`"))
        }
    }
}

/// Opens a file in an editor, and waits until that ends; the error says how it failed.
fn open_editor(editor: &str, path: &std::path::Path) -> Result<(), String> {
    match command(editor).arg(path).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the editor `{editor}` failed with {status}")),
        Err(error) => Err(format!("the editor `{editor}` cannot be run: {error}")),
    }
}

/// Runs an editor through the shell, as git does, so that its arguments, quotes and variables work.
#[cfg(unix)]
fn command(editor: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$@\""), editor]);
    command
}

/// Runs an editor by the name of a program, which may have spaces if it is in quotes, and its arguments.
#[cfg(not(unix))]
fn command(editor: &str) -> Command {
    let quoted = editor.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let (program, rest) =
        quoted.or_else(|| editor.split_once(char::is_whitespace)).unwrap_or((editor, ""));
    let mut command = Command::new(program);
    command.args(rest.split_whitespace());
    command
}
