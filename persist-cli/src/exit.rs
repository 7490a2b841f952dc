//! How a command ends: the exit codes, and what went wrong.

use std::fmt;
use std::io;
use std::process::ExitCode;

use persist::ErrorKind;

/// The result of a command that could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Outcome {
    /// Exit code 0: it is done, and nothing was found that a script should stop at.
    Done,
    /// Exit code 1: the saves differ, one is damaged, nothing is at the path, or there are conflicts.
    Found,
    /// Exit code 2: some of the files could not be read, which was printed; the others are done.
    Unread,
}

impl Outcome {
    /// [`Found`](Self::Found) if there was something to find.
    pub(crate) fn found(is_found: bool) -> Self {
        if is_found { Self::Found } else { Self::Done }
    }

    /// The outcome of two parts of a command: the worse one.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == Self::Done { other } else { self }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Found => Self::from(1),
            Outcome::Unread => Self::from(2),
        }
    }
}

/// Why a command could not do its work: exit code 2.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the library, with the name of the file if there is one.
    Library(Option<String>, persist::Error),
    /// Standard output failed.
    Io(io::Error),
    /// The request makes no sense with these files.
    Usage(String),
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure of the command itself; the message is as those of the library: lower case, without a full stop.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// An error about a save, with the commands that read a damaged one. `--salvage` is named if the command has it.
    pub(crate) fn of_save(error: persist::Error, name: &str, has_salvage: bool) -> Self {
        let commands = commands_for(&error, has_salvage);
        let failure = Self::from(error).in_file(name);
        if commands.is_empty() { failure } else { Self::new(format!("{failure}{commands}")) }
    }

    /// Names the file, unless the library's message does.
    pub(crate) fn in_file(self, name: &str) -> Self {
        match self {
            Self::Library(None, error) if !error.message().contains(name) => {
                Self::Library(Some(name.to_owned()), error)
            }
            other => other,
        }
    }

    /// Returns whether the reader of the output has closed it.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code() -> ExitCode {
        ExitCode::from(2)
    }
}

/// Returns the end of the message about a damaged save: the commands that read it. It is empty for other errors.
pub(crate) fn commands_for(error: &persist::Error, has_salvage: bool) -> &'static str {
    match error.kind() {
        ErrorKind::Damaged | ErrorKind::Truncated if has_salvage => {
            ", or try `persist repair` or `--salvage`"
        }
        ErrorKind::Damaged | ErrorKind::Truncated => ", or try `persist repair`",
        _ => "",
    }
}

impl From<persist::Error> for Failure {
    fn from(error: persist::Error) -> Self {
        Self::Library(None, error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(_) => Self::Io(error.into()),
            None => Self::Usage(error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(None, error) => error.fmt(f),
            Self::Library(Some(file), error) => write!(f, "{file}: {error}"),
            Self::Io(error) => write!(f, "cannot write standard output: {error}"),
            Self::Usage(message) => f.write_str(message),
        }
    }
}
