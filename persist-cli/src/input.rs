//! The input of commands: files, or standard input.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use persist::Limits;
use persist_tools::__private::RecordReader;
use persist_tools::Document;
use serde_json::Value as Json;

use crate::exit::{Failure, Outcome, Result};
use crate::output::note;

/// The first bytes of a save.
pub(crate) const SAVE: &[u8] = b"\x89PST";

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
    bar: Bar,
    /// The share of the job, in thousandths, that its values take.
    share: u64,
}

impl Input {
    /// Reads a file, or standard input for `-`.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Self::with(path, &Bar::of([path]), 800)
    }

    /// Reads a file like [`read`](Self::read), whose bytes and values take a share of a job, in thousandths.
    pub(crate) fn with(path: &Path, bar: &Bar, share: u64) -> Result<Self> {
        let name = path.display().to_string();
        let is_stdin = path == Path::new("-");
        let bytes = if is_stdin {
            take_stdin().and_then(|stdin| read(stdin, None, Limits::DEFAULT.bytes))
        } else {
            read_file(path, bar, share / 10)
        };
        let bytes = bytes.map_err(|error| unreadable(path, &error))?;
        refuse_journal(&name, &bytes)?;
        let path = (!is_stdin).then(|| path.to_owned());
        Ok(Self { name, path, bytes, bar: bar.clone(), share: share - share / 10 })
    }

    /// Reads the save in it. The bar is shown until the caller clears it.
    pub(crate) fn document(&self) -> Result<Document> {
        // The bytes in memory are within the limit, or a whole file, and a change makes a save only a little larger.
        let bytes = Limits::DEFAULT.bytes.max(2 * self.bytes.len() as u64);
        let limits = Limits::new().bytes(bytes);
        let save = Counted { from: io::Cursor::new(&self.bytes), bar: self.bar.clone() };
        document(save, &limits, (&self.bar, self.share, self.bytes.len() as u64))
            .map_err(|error| Failure::of_save(error, &self.name, false))
    }

    /// An error of the library about it.
    pub(crate) fn failure(&self, error: persist::Error) -> Failure {
        Failure::from(error).in_file(&self.name)
    }

    /// Returns the bar of its job.
    pub(crate) fn bar(&self) -> &Bar {
        &self.bar
    }
}

/// Reads a save as a whole. It has some bytes, and takes a share of a job. The bar is shown until the caller clears it,
/// or there is an error.
fn document(
    mut save: impl Read + Seek,
    limits: &Limits,
    (bar, share, size): (&Bar, u64, u64),
) -> std::result::Result<Document, persist::Error> {
    let mut read = || {
        bar.read_more(share / 10, size);
        let records = RecordReader::open(&mut save, limits)?;
        // Pages are read when the world is, and are passed over later.
        let passes = if records.counts().pages > 0 { 2 } else { 1 };
        bar.read_more(share - share / 10, passes * size);
        Document::from_records(records)
    };
    let document = read();
    match document {
        Ok(_) => bar.wait(),
        Err(_) => bar.clear(),
    }
    document
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

fn read_file(path: &Path, bar: &Bar, share: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let size = metadata.len();
    bar.read_more(share, size);
    // The user who names a file wants all of it. A device may be endless.
    let limit =
        if metadata.is_file() { size.max(Limits::DEFAULT.bytes) } else { Limits::DEFAULT.bytes };
    let bytes = read(Counted { from: file, bar: bar.clone() }, Some(size), limit);
    bar.clear();
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

/// A save that is read part by part.
pub(crate) trait Stream: Read + io::Seek {}

impl<T: Read + io::Seek> Stream for T {}

/// A save that a command reads record by record.
pub(crate) type Save<'s> = RecordReader<&'s mut dyn Stream>;

/// A file, or standard input, that is read part by part and as often as the command needs it.
pub(crate) struct Source {
    /// As it was given, for messages; `-` for standard input.
    pub(crate) name: String,
    /// `None` for standard input.
    pub(crate) path: Option<PathBuf>,
    pub(crate) size: u64,
    stream: Box<dyn Stream>,
    /// The user who names a file wants all of it. It takes memory for its largest block and its objects alone.
    limits: Limits,
    bar: Bar,
}

impl Source {
    /// Opens a file. Standard input, and what is no file, such as a pipe, is read whole.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::with(path, &Bar::of([path]))
    }

    /// Opens a file like [`open`](Self::open), whose bytes count in a bar that expects them.
    pub(crate) fn with(path: &Path, bar: &Bar) -> Result<Self> {
        let failed = |error: io::Error| unreadable(path, &error);
        let name = path.display().to_string();
        let is_stdin = path == Path::new("-");
        if is_stdin || !path.metadata().map_err(failed)?.is_file() {
            let Input { name, path, bytes, .. } = Input::read(path)?;
            let (size, limits) = (bytes.len() as u64, Limits::DEFAULT);
            let stream = Box::new(io::Cursor::new(bytes));
            return Ok(Self { name, path, size, stream, limits, bar: bar.clone() });
        }
        let mut file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let mut start = Vec::new();
        Read::by_ref(&mut file).take(8).read_to_end(&mut start).map_err(failed)?;
        refuse_journal(&name, &start)?;
        file.rewind().map_err(failed)?;
        let limits = Limits::new()
            .bytes(Limits::DEFAULT.bytes.max(size.saturating_mul(2)))
            .objects(Limits::DEFAULT.objects.max(size))
            .decompressed(u64::MAX);
        let stream = Box::new(Counted { from: file, bar: bar.clone() });
        Ok(Self { name, path: Some(path.to_owned()), size, stream, limits, bar: bar.clone() })
    }

    /// A temporary file with what was made of this one.
    pub(crate) fn of_file(&self, file: File) -> Result<Self> {
        let size = file
            .metadata()
            .map(|it| it.len())
            .map_err(|error| Failure::new(format!("cannot read a temporary file: {error}")))?;
        let (name, bar) = (self.name.clone(), self.bar.clone());
        let stream = Box::new(Counted { from: file, bar: bar.clone() });
        Ok(Self { name, path: None, size, stream, limits: self.limits, bar })
    }

    /// Returns the first byte that is no space, after the mark of an encoding; of a save, its first four bytes.
    pub(crate) fn start(&mut self) -> Result<Vec<u8>> {
        let mut start = Vec::new();
        let mut read = || {
            self.stream.rewind()?;
            for byte in io::BufReader::new(&mut self.stream).bytes() {
                let byte = byte?;
                // A file may consist of spaces, which take no memory here.
                if byte.is_ascii_whitespace() {
                    continue;
                }
                start.push(byte);
                let is_mark = "\u{feff}".as_bytes().starts_with(&start);
                let is_magic = SAVE.starts_with(&start) && start.len() < SAVE.len();
                if !is_mark && !is_magic {
                    break;
                }
            }
            self.stream.rewind()
        };
        let read = read();
        read.map_err(|error| Failure::new(format!("cannot read {}: {error}", self.name)))?;
        Ok(start)
    }

    /// Replaces the bytes of the file by these.
    pub(crate) fn with_bytes(self, bytes: Vec<u8>) -> Self {
        Self { stream: Box::new(io::Cursor::new(bytes)), ..self }
    }

    /// Checks the save in it, and reads it record by record. With `--salvage` the whole objects of a damaged save are
    /// read: then the outcome is [`Outcome::Found`].
    pub(crate) fn save(&mut self, damage: &Damage) -> Result<(Save<'_>, Outcome)> {
        let outcome = self.salvage(damage)?;
        let name = self.name.clone();
        let save = self.checked().map_err(|error| Failure::of_save(error, &name, true))?;
        Ok((save, outcome))
    }

    /// With `--salvage`, replaces a damaged save by one of its whole objects: then the outcome is [`Outcome::Found`].
    pub(crate) fn salvage(&mut self, damage: &Damage) -> Result<Outcome> {
        if !damage.salvage || !self.checked().is_err_and(|error| error.is_damage()) {
            return Ok(Outcome::Done);
        }
        // A damaged save is searched in memory.
        let bytes = self.bytes()?;
        let salvaged = Document::salvage(&bytes).map_err(|error| self.failure(error))?;
        let (document, Some(salvage)) = salvaged else { return Ok(Outcome::Done) };
        note(format_args!("{}: {salvage}", self.name));
        self.stream = Box::new(io::Cursor::new(document.to_vec()?));
        Ok(Outcome::Found)
    }

    /// Checks the save in it, and reads it record by record.
    pub(crate) fn whole(&mut self) -> Result<Save<'_>> {
        let name = self.name.clone();
        self.checked().map_err(|error| Failure::of_save(error, &name, false))
    }

    /// Checks the save in it like [`whole`](Self::whole), with the library's error.
    pub(crate) fn checked(&mut self) -> std::result::Result<Save<'_>, persist::Error> {
        let save = RecordReader::open(&mut *self.stream as &mut dyn Stream, &self.limits);
        self.bar.clear();
        save
    }

    /// Reads all bytes.
    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.stream.rewind().and_then(|()| self.stream.read_to_end(&mut bytes));
        let rewound = read.and_then(|_| self.stream.rewind());
        rewound.map_err(|error| Failure::new(format!("cannot read {}: {error}", self.name)))?;
        Ok(bytes)
    }

    /// Reads the save in it as a whole. The bar is shown until the caller clears it.
    pub(crate) fn document(&mut self) -> Result<Document> {
        let of_job = (&self.bar, 400, self.size);
        document(&mut *self.stream, &self.limits, of_job)
            .map_err(|error| Failure::of_save(error, &self.name, false))
    }

    /// An error of the library about it.
    pub(crate) fn failure(&self, error: persist::Error) -> Failure {
        Failure::from(error).in_file(&self.name)
    }

    /// Gives the bytes to a function that reads them part by part.
    ///
    /// The bar stays, since it may be that of several files.
    pub(crate) fn read<T>(&mut self, read: impl FnOnce(&mut dyn Stream, &Limits) -> T) -> T {
        read(&mut *self.stream, &self.limits)
    }

    /// Returns the bar that counts its bytes.
    pub(crate) fn bar(&self) -> &Bar {
        &self.bar
    }
}

/// A progress bar on standard error, hidden in the first second and where standard error is no terminal.
///
/// It shows how far the whole job is, which may read files several times. It never stands at its end, and a sign before
/// it moves while nothing is read.
#[derive(Clone)]
pub(crate) struct Bar {
    bar: ProgressBar,
    begun: Instant,
    pass: Rc<Cell<Pass>>,
}

/// A part of a job, which reads some bytes or writes some objects. Shares of the job are in thousandths.
#[derive(Clone, Copy, Debug)]
struct Pass {
    from: u64,
    to: u64,
    counts: Counts,
    expected: u64,
    done: u64,
}

/// The unit in which a pass is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Bytes,
    Objects,
}

impl Pass {
    const WHOLE: u64 = 1_000;

    /// How far the job is at most until it is done.
    const LAST: u64 = 990;

    /// Returns how far the job is.
    fn position(self) -> u64 {
        let done = u128::from(self.done.min(self.expected));
        let share = done * u128::from(self.to - self.from) / u128::from(self.expected.max(1));
        (self.from + u64::try_from(share).unwrap_or(0)).min(Self::LAST)
    }

    /// Returns the next pass, which ends at a share of the job.
    fn next(self, to: u64, counts: Counts, expected: u64) -> Self {
        let from = self.position();
        Self { from, to: to.max(from), counts, expected, done: 0 }
    }
}

impl Bar {
    /// How long a command may take before it shows how far it is.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// How often the sign moves.
    const TICK: Duration = Duration::from_millis(100);

    /// A bar for the bytes of files.
    pub(crate) fn of<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(Pass::WHOLE), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {bar:40} {percent:>2} %  {elapsed}");
        let bar = style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style));
        let sizes = files.into_iter().map(|file| file.as_ref().metadata().map_or(0, |it| it.len()));
        let (counts, expected) = (Counts::Bytes, sizes.sum());
        let pass = Pass { from: 0, to: Pass::WHOLE, counts, expected, done: 0 };
        Self { bar, begun: Instant::now(), pass: Rc::new(Cell::new(pass)) }
    }

    /// Returns whether a bar is shown after some time.
    fn is_shown(elapsed: Duration, is_terminal: bool) -> bool {
        is_terminal && elapsed > Self::PATIENCE
    }

    /// Sets the share of the job, in thousandths, that the first pass over the bytes has.
    pub(crate) fn until(&self, share: u64) {
        self.pass.set(Pass { to: share, ..self.pass.get() });
    }

    /// Counts bytes that were read.
    fn read(&self, bytes: usize) {
        self.count(Counts::Bytes, bytes as u64);
    }

    /// Counts an object that was written.
    pub(crate) fn object(&self) {
        self.count(Counts::Objects, 1);
    }

    fn count(&self, counts: Counts, number: u64) {
        let old = self.pass.get();
        let is_counted = old.counts == counts;
        let done = old.done.saturating_add(if is_counted { number } else { 0 });
        let new = Pass { done, ..old };
        self.pass.set(new);
        if self.bar.is_finished() {
            return;
        }
        if self.bar.is_hidden() && Self::is_shown(self.begun.elapsed(), io::stderr().is_terminal())
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Self::TICK);
        }
        if new.position() != old.position() {
            self.bar.set_position(new.position());
        }
    }

    /// Takes the bar from the terminal, where output follows.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows the bar again, where it was, while nothing is printed.
    pub(crate) fn show(&self) {
        let was_shown = !self.bar.is_hidden();
        // It would be shown at its beginning for a moment.
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        self.bar.reset();
        drop(self.bar.clone().with_elapsed(self.begun.elapsed()));
        self.bar.set_position(self.pass.get().position());
        if was_shown {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Self::TICK);
        }
    }

    /// Shows the bar again, for a pass over the same bytes that prints nothing and is the rest of the job.
    pub(crate) fn resume(&self) {
        self.read_until(Pass::WHOLE, self.pass.get().expected);
    }

    /// Shows the bar again, for a pass over some bytes that prints nothing and ends at a share of the job.
    pub(crate) fn read_until(&self, share: u64, bytes: u64) {
        self.pass.set(self.pass.get().next(share, Counts::Bytes, bytes));
        self.show();
    }

    /// Shows the bar again, for a pass over some bytes that prints nothing and is the next share of the job.
    pub(crate) fn read_more(&self, share: u64, bytes: u64) {
        self.read_until((self.pass.get().position() + share).min(Pass::WHOLE), bytes);
    }

    /// Shows the bar again, for a pass over some objects that prints nothing and is the next share of the job.
    pub(crate) fn write_more(&self, share: u64, objects: u64) {
        self.write_until((self.pass.get().position() + share).min(Pass::WHOLE), objects);
    }

    /// Shows the bar again, for work that is not counted. Only the sign before it moves.
    pub(crate) fn wait(&self) {
        self.read_more(0, 0);
        let (bar, begun) = (self.bar.clone(), self.begun);
        std::thread::spawn(move || {
            std::thread::sleep(Self::PATIENCE.saturating_sub(begun.elapsed()));
            if !bar.is_finished() && bar.is_hidden() && io::stderr().is_terminal() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(Self::TICK);
            }
        });
    }

    /// Shows the bar again, for a pass that writes some objects, prints nothing and ends at a share of the job.
    pub(crate) fn write_until(&self, share: u64, objects: u64) {
        self.pass.set(self.pass.get().next(share, Counts::Objects, objects));
        self.show();
    }

    /// Prints without the bar.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

/// A file whose bytes are counted as they are read.
struct Counted<R> {
    from: R,
    bar: Bar,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(bytes)?;
        self.bar.read(read);
        Ok(read)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.from.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_shown_after_a_second_on_a_terminal_alone() {
        let [short, long] = [900, 1_100].map(Duration::from_millis);
        let shown = |elapsed| [false, true].map(|is_terminal| Bar::is_shown(elapsed, is_terminal));
        assert_eq!((shown(short), shown(long)), ([false, false], [false, true]));
    }

    #[test]
    fn a_bar_shows_how_far_all_passes_are_and_never_stands_at_its_end() {
        let read = |pass: Pass, done| Pass { done, ..pass };
        let (counts, expected) = (Counts::Bytes, 1 << 40);
        let first = Pass { from: 0, to: 200, counts, expected, done: 0 };
        assert_eq!(read(first, 0).position(), 0);
        assert_eq!(read(first, 1 << 39).position(), 100);
        // A pass may read some bytes again.
        assert_eq!(read(first, 1 << 41).position(), 200);
        let second = read(first, 1 << 40).next(Pass::WHOLE, Counts::Objects, 500);
        assert_eq!([0, 250, 499, 500].map(|it| read(second, it).position()), [200, 600, 990, 990]);
        let nothing = second.next(Pass::WHOLE, counts, 0);
        assert_eq!(read(nothing, 7).position(), 200);
    }
}
