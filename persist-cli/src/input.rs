//! What commands work on: files, or standard input.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use persist::{Document, Limits};
use serde_json::Value as Json;

use crate::exit::{Failure, Result};

/// Reading a file of more bytes shows its progress.
const LONG: u64 = 50 << 20;

/// The bytes of a save, and where they are from.
pub(crate) struct Input {
    /// As it was given, for messages; `-` for standard input.
    pub(crate) name: String,
    /// `None` for standard input.
    pub(crate) path: Option<PathBuf>,
    pub(crate) bytes: Vec<u8>,
}

impl Input {
    /// Reads a file, or standard input for `-`.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let is_stdin = path == Path::new("-");
        let bytes = if is_stdin { read(io::stdin().lock(), None) } else { read_file(path) };
        let bytes = bytes.map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
        if bytes.len() as u64 > Limits::DEFAULT.bytes {
            let limit = Limits::DEFAULT.bytes;
            return Err(Failure::new(format!("{name} is over the limit of {limit} bytes")));
        }
        refuse_journal(&name, &bytes)?;
        Ok(Self { name, path: (!is_stdin).then(|| path.to_owned()), bytes })
    }

    /// Reads the save in it.
    pub(crate) fn document(&self) -> Result<Document> {
        Document::from_slice(&self.bytes).map_err(|error| self.failure(error))
    }

    /// An error of the library about it.
    pub(crate) fn failure(&self, error: persist::Error) -> Failure {
        Failure::from(error).in_file(&self.name)
    }
}

/// Where a save is asked for, a journal is likely a mistake.
fn refuse_journal(name: &str, bytes: &[u8]) -> Result<()> {
    if bytes.starts_with(b"\x89PSJ\r\n\x1a\n") {
        return Err(Failure::new(format!(
            "{name} is a journal, not a save; use `persist journal {name}`"
        )));
    }
    Ok(())
}

/// A file that could not be read, in the list of `--json`.
pub(crate) fn unread(path: &Path, failure: &Failure) -> Json {
    serde_json::json!({ "file": path.display().to_string(), "error": failure.to_string() })
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let bar = progress(size);
    let bytes = read(bar.wrap_read(file), Some(size));
    bar.finish_and_clear();
    bytes
}

/// Reads to the end, or to one byte over the limit of a save.
fn read(from: impl Read, size: Option<u64>) -> io::Result<Vec<u8>> {
    let most = Limits::DEFAULT.bytes.saturating_add(1);
    let mut bytes = Vec::new();
    let expected = size.unwrap_or_default().min(most);
    // One more, so that the end is found without room for more.
    bytes
        .try_reserve_exact(usize::try_from(expected).unwrap_or_default() + 1)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A progress bar on standard error, hidden for few bytes and where standard error is no terminal.
pub(crate) fn progress(bytes: u64) -> ProgressBar {
    let is_shown = bytes > LONG && io::stderr().is_terminal();
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(bytes), target);
    match ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A save that is read part by part.
pub(crate) trait Stream: Read + io::Seek {}

impl<T: Read + io::Seek> Stream for T {}

/// Opens a save that a command reads part by part, and gives it to that; standard input is read whole.
pub(crate) fn stream<T>(path: &Path, read: impl FnOnce(&mut dyn Stream) -> T) -> Result<T> {
    if path == Path::new("-") {
        return Ok(read(&mut io::Cursor::new(Input::read(path)?.bytes)));
    }
    let failed =
        |error: io::Error| Failure::new(format!("cannot read {}: {error}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let bar = progress(file.metadata().map_err(failed)?.len());
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(8).read_to_end(&mut start).map_err(failed)?;
    refuse_journal(&path.display().to_string(), &start)?;
    file.rewind().map_err(failed)?;
    let result = read(&mut bar.wrap_read(file));
    bar.finish_and_clear();
    Ok(result)
}
