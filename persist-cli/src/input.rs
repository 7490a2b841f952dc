//! The input of commands: files, or standard input.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use persist::Limits;
use persist_tools::Document;
use serde_json::Value as Json;

use crate::exit::{Failure, Outcome, Result};
use crate::output::note;

/// Reading a file of more bytes shows its progress.
const LONG: u64 = 50 << 20;

/// How a command reads a damaged save.
#[derive(clap::Args)]
pub(crate) struct Damage {
    /// Read what is whole of a damaged save; exit code 1 if it is damaged.
    #[arg(long)]
    salvage: bool,
}

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
        let bytes = if is_stdin {
            take_stdin().and_then(|stdin| read(stdin, None, Limits::DEFAULT.bytes))
        } else {
            read_file(path)
        };
        let bytes = bytes.map_err(|error| unreadable(path, &error))?;
        refuse_journal(&name, &bytes)?;
        Ok(Self { name, path: (!is_stdin).then(|| path.to_owned()), bytes })
    }

    /// Reads the save in it, or the whole objects of a damaged one if that is asked for: then the outcome is
    /// [`Outcome::Found`].
    pub(crate) fn open(&self, damage: &Damage) -> Result<(Document, Outcome)> {
        if damage.salvage {
            let salvaged = Document::salvage(&self.bytes).map_err(|error| self.failure(error))?;
            if let (document, Some(salvage)) = salvaged {
                note(format_args!("{}: {salvage}", self.name));
                return Ok((document, Outcome::Found));
            }
        }
        Ok((self.document()?, Outcome::Done))
    }

    /// Puts the whole objects of a damaged save in its place, if that is asked for, as [`open`](Self::open) reads them.
    pub(crate) fn salvaged(mut self, damage: &Damage) -> Result<(Self, Outcome)> {
        if !damage.salvage {
            return Ok((self, Outcome::Done));
        }
        let (document, read) = self.open(damage)?;
        if read == Outcome::Found {
            self.bytes = document.to_vec()?;
        }
        Ok((self, read))
    }

    /// Reads the save in it.
    pub(crate) fn document(&self) -> Result<Document> {
        // The bytes in memory are within the limit, or a whole file, and a change makes a save only a little larger.
        let bytes = Limits::DEFAULT.bytes.max(2 * self.bytes.len() as u64);
        let limits = Limits::new().bytes(bytes);
        Document::within(&self.bytes, &limits).map_err(|error| self.failure(error))
    }

    /// An error of the library about it.
    pub(crate) fn failure(&self, error: persist::Error) -> Failure {
        Failure::from(error).in_file(&self.name)
    }
}

/// Returns a file that can be opened by its name. Standard input is copied to a temporary file, which exists as long as
/// it is held.
pub(crate) fn named(path: &Path) -> Result<(PathBuf, Option<tempfile::TempPath>)> {
    if path != Path::new("-") {
        return Ok((path.to_owned(), None));
    }
    let copied = tempfile::NamedTempFile::new().and_then(|mut file| {
        io::copy(&mut take_stdin()?.take(Limits::DEFAULT.bytes), &mut file)?;
        Ok(file.into_temp_path())
    });
    let file = copied.map_err(|error| unreadable(path, &error))?;
    Ok((file.to_path_buf(), Some(file)))
}

/// Standard input, which nobody can read twice.
fn take_stdin() -> io::Result<io::StdinLock<'static>> {
    static IS_READ: AtomicBool = AtomicBool::new(false);
    if IS_READ.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("`-` stands twice, and standard input can be read only once"));
    }
    Ok(io::stdin().lock())
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let name = path.display();
    Failure::new(match path.is_dir() {
        true => format!("{name} is a folder; `persist verify {name}` checks the saves in it"),
        false => format!("cannot read {name}: {error}"),
    })
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
pub(crate) fn failure_json(path: &Path, failure: &Failure) -> Json {
    serde_json::json!({ "file": path.display().to_string(), "error": failure.to_string() })
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let size = metadata.len();
    let bar = progress(size);
    // The user who names a file wants all of it. A device may be endless.
    let limit =
        if metadata.is_file() { size.max(Limits::DEFAULT.bytes) } else { Limits::DEFAULT.bytes };
    let bytes = read(bar.wrap_read(file), Some(size), limit);
    bar.finish_and_clear();
    bytes
}

/// Reads to the end, unless there are too many bytes.
fn read(from: impl Read, size: Option<u64>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let expected = size.unwrap_or_default().min(limit);
    // One more, so that the end is found without room for more.
    bytes
        .try_reserve_exact(usize::try_from(expected).unwrap_or_default() + 1)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it is over the limit of {limit} bytes")));
    }
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

/// Opens a save that a command reads part by part, with progress, and gives it to that; standard input is read whole.
///
/// A file is read within the limits that its size is: it takes memory for its largest block and its objects alone.
pub(crate) fn stream<T>(
    path: &Path,
    bar: &ProgressBar,
    read: impl FnOnce(&mut dyn Stream, &Limits) -> T,
) -> Result<T> {
    if path == Path::new("-") {
        return Ok(read(&mut io::Cursor::new(Input::read(path)?.bytes), &Limits::DEFAULT));
    }
    let failed = |error: io::Error| unreadable(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let limits = Limits::new()
        .bytes(Limits::DEFAULT.bytes.max(size))
        .objects(Limits::DEFAULT.objects.max(size))
        .decompressed(u64::MAX);
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(8).read_to_end(&mut start).map_err(failed)?;
    refuse_journal(&path.display().to_string(), &start)?;
    file.rewind().map_err(failed)?;
    Ok(read(&mut Counted { file, bar }, &limits))
}

/// A file whose bytes are counted as they are read.
struct Counted<'b> {
    file: File,
    bar: &'b ProgressBar,
}

impl Read for Counted<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(bytes)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}

/// A seek does not change the bar: bytes that are read again count again, since a bar covers several files.
impl Seek for Counted<'_> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// The bytes of the files that can be read.
pub(crate) fn size_of<'p>(files: impl IntoIterator<Item = &'p PathBuf>) -> u64 {
    files.into_iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}
