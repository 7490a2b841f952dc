//! Where commands print: text with colours for people, JSON for programs.

use std::fmt::{self, Display};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use persist::debug::escape::{self, Escaping};
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::exit::{Failure, Result};

/// Names: of files, classes, objects.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// Headings of tables and sections.
pub(crate) const HEADING: Style = Style::new().bold();
/// Results that are good, and added values.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Results that are bad, and removed values.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// Warnings, and changed values.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// Details of less importance.
pub(crate) const DIM: Style = Style::new().dimmed();

/// When there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    Always,
    Never,
}

impl Colour {
    fn choice(self) -> ColorChoice {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
    }

    /// Whether a stream gets colours.
    fn is_on(self, stream: &impl anstream::stream::RawStream) -> bool {
        match self {
            Self::Auto => anstream::AutoStream::choice(stream) != ColorChoice::Never,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// Standard output.
pub(crate) struct Out {
    to: BufWriter<Box<dyn Write>>,
    colour: Colour,
    has_colours: bool,
    is_json: bool,
    /// The result that was reached before anything was printed.
    done: Option<String>,
}

impl Out {
    pub(crate) fn of_stdout(colour: Colour, is_json: bool) -> Self {
        let stdout = io::stdout();
        let has_colours = colour.is_on(&stdout) && !is_json;
        // Without colours the bytes go out as they are: a save may be among them.
        let to: Box<dyn Write> = if has_colours {
            Box::new(anstream::AutoStream::new(stdout, colour.choice()))
        } else {
            Box::new(stdout)
        };
        let to = BufWriter::with_capacity(64 << 10, to);
        Self { to, colour, has_colours, is_json, done: None }
    }

    /// True if `--json` asks for output for programs.
    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// Notes a result that stands even if it cannot be printed.
    pub(crate) fn note_done(&mut self, what: impl Into<String>) {
        self.done = Some(what.into());
    }

    /// Adds the noted result to a failure of standard output.
    pub(crate) fn explain(&mut self, failure: Failure) -> Failure {
        match (failure, self.done.take()) {
            (failure @ Failure::Io(_), Some(done)) => Failure::new(format!("{failure}; {done}")),
            (failure, _) => failure,
        }
    }

    /// True if text is in colours.
    pub(crate) fn has_colours(&self) -> bool {
        self.has_colours
    }

    /// Text in a style, if there are colours.
    pub(crate) fn styled<T: Display>(&self, style: Style, text: T) -> Styled<T> {
        Styled { style: if self.has_colours { style } else { Style::new() }, text }
    }

    /// Prints a value as JSON, on several lines.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer_pretty(&mut self.to, value)?;
        Ok(writeln!(self.to)?)
    }

    /// Prints a number of values, alone or as the JSON `{"count": 3}`.
    pub(crate) fn count(&mut self, count: u64) -> Result<()> {
        if self.is_json {
            return self.json(&serde_json::json!({ "count": count }));
        }
        Ok(writeln!(self, "{count}")?)
    }

    /// Prints a value as JSON on one line. Nobody reads a large value by its lines.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.to, value)?;
        Ok(writeln!(self.to)?)
    }

    /// Prints the failure of one of several files, after the output of the files before it.
    pub(crate) fn failed(&mut self, failure: &Failure) -> Result<()> {
        self.finish()?;
        print_failure(self.colour, failure);
        Ok(())
    }

    /// Prints the buffered output.
    pub(crate) fn finish(&mut self) -> Result<()> {
        Ok(self.to.flush()?)
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    /// Prints text, in which control characters from a save are escaped. Bytes go out as they are.
    fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        let mut to = Text { to: &mut self.to, error: None };
        let done = fmt::Write::write_fmt(
            &mut Escaping { to: &mut to, has_styles: self.has_colours },
            text,
        );
        match (done, to.error) {
            (_, Some(error)) => Err(error),
            (Ok(()), None) => Ok(()),
            (Err(fmt::Error), None) => Err(io::Error::other("text cannot be shown")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes text to a stream, and keeps the error if that fails.
struct Text<'w> {
    to: &'w mut dyn Write,
    error: Option<io::Error>,
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.to.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

/// Text in a style.
pub(crate) struct Styled<T> {
    style: Style,
    text: T,
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.style.render())?;
        // With the width that is asked for.
        escape::line(&self.text.to_string()).fmt(f)?;
        write!(f, "{}", self.style.render_reset())
    }
}

/// Prints a line for people on standard error, which is not part of the output.
pub(crate) fn note(text: impl Display) {
    // If standard error fails, nobody can be told.
    drop(writeln!(io::stderr(), "{}", escape::line(&text.to_string())));
}

/// Prints why a command failed.
pub(crate) fn print_failure(colour: Colour, failure: &Failure) {
    let mut stderr = anstream::AutoStream::new(io::stderr(), colour.choice());
    let style = BAD.bold();
    let failure = failure.to_string();
    let failure = escape::line(&failure);
    drop(writeln!(stderr, "{style}error{style:#}: {failure}"));
}

/// A number of bytes as people read it.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut unit, mut scaled) = (0, bytes * 10 / 1024);
    while scaled >= 10_240 && unit + 1 < UNITS.len() {
        (unit, scaled) = (unit + 1, scaled / 1024);
    }
    format!("{}.{} {}", scaled / 10, scaled % 10, UNITS[unit])
}

/// Writes a file whole or not at all: through a temporary one beside it, flushed. One that is there is refused, or
/// replaced by `force`.
pub(crate) fn write_file(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    write_file_with(path, force, |to| Ok(to.write_all(bytes)?))
}

/// Writes a file like [`write_file`], by a function that writes it part by part.
pub(crate) fn write_file_with(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    place_file(path, force, |file| {
        let mut to = BufWriter::with_capacity(256 << 10, file);
        write(&mut to)?;
        Ok(to.flush()?)
    })
}

/// Writes a file like [`write_file`], by a function that gets the new file before it has its name.
pub(crate) fn place_file(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut NamedTempFile) -> Result<()>,
) -> Result<()> {
    let failed = |error: io::Error| {
        let cause = error.to_string();
        // The name of the temporary file means nothing to anybody.
        let cause = cause.split(" at path \"").next().unwrap_or_default();
        Failure::new(format!("cannot write {}: {cause}", path.display()))
    };
    refuse_stdout(path)?;
    refuse_present(path, force)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(".persist-").tempfile_in(folder).map_err(failed)?;
    let written = write(&mut file).and_then(|()| Ok(file.as_file().sync_all()?));
    written.map_err(|failure| match failure {
        Failure::Io(error) => failed(error),
        other => other,
    })?;
    allow_as_usual(file.as_file(), path).map_err(failed)?;
    let placed = if force { file.persist(path) } else { file.persist_noclobber(path) };
    placed.map_err(|error| failed(error.error))?;
    // The folder is flushed, so that the name lasts; not every system can do that.
    drop(std::fs::File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(())
}

/// Refuses to replace a file that is there, unless that is forced.
pub(crate) fn refuse_present(path: &Path, force: bool) -> Result<()> {
    if force || path.symlink_metadata().is_err() {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::new(format!("{path} is there already; use another name, or `--force`")))
}

/// Refuses standard output as the place of a save: the report goes there.
pub(crate) fn refuse_stdout(path: &Path) -> Result<()> {
    if path != Path::new("-") {
        return Ok(());
    }
    Err(Failure::new(
        "the save cannot go to standard output, which has the report; give the name of a file, or `./-`",
    ))
}

/// True if two paths lead to one file that is there.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

/// Gives a temporary file, which only its user may read, the permissions of the file that it replaces, or of new files.
fn allow_as_usual(file: &std::fs::File, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = match path.metadata() {
            Ok(old) => old.permissions().mode() & 0o777,
            Err(_) => 0o644,
        };
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = (file, path);
    Ok(())
}
