//! Errors of saves, loads and edits.
//!
//! One type covers every failure. It is one pointer wide, so that `Result`s stay small on the fast path. An error says
//! what happened ([`Error::kind`] and the message), where ([`Error::offset`], [`Error::class`], [`Error::field`]) and,
//! in its message, what to do about it.

use std::fmt;
use std::io;

/// Describes a failure: what went wrong, where, and what to do about it.
///
/// # Example
///
/// ```
/// use persist::ErrorKind;
///
/// let error = persist::from_slice::<u32>(b"not a save at all").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotASave);
/// assert_eq!(error.offset(), Some(0));
/// ```
pub struct Error {
    // Boxed, because a larger error makes every `Result` of the decoder larger.
    inner: Box<ErrorDetails>,
}

struct ErrorDetails {
    kind: ErrorKind,
    message: String,
    offset: Option<u64>,
    object: Option<u64>,
    class: Option<String>,
    field: String,
    /// True if [`LoadPolicy::Strict`](crate::save::LoadPolicy::Strict) refused, not the program's code.
    is_policy: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Length of a field path in bytes; the outermost names are kept.
const LONGEST_PATH: usize = 300;

/// Classifies an [`Error`], for programs that react to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes do not begin like a save.
    NotASave,
    /// The save was written in a format newer than this library reads.
    NewerFormat,
    /// The save is incomplete: its end is missing.
    Truncated,
    /// The bytes differ from those that were written: a checksum or the structure is wrong.
    Damaged,
    /// The save describes a field by a kind that this library does not know.
    UnknownKind,
    /// Two records, classes or types have the same id, or two classes the same name in older saves.
    DuplicateId,
    /// A reference or a record leads to an object of another class or holder than expected.
    WrongClass,
    /// A reference leads to an object that the save lacks.
    MissingObject,
    /// The nesting exceeds [`Limits::depth`](crate::Limits::depth).
    TooDeep,
    /// A size exceeds one of the [`Limits`](crate::Limits).
    TooLarge,
    /// A stored value is not valid for its type.
    InvalidValue,
    /// The save lacks a field of the program, which has no default.
    MissingField,
    /// The stored kind of a field differs from that of the program.
    KindMismatch,
    /// A class, object, field or variant of that name does not exist; or the file of a save, or a slot, does not.
    NotFound,
    /// A slot of that name already exists.
    AlreadyExists,
    /// A type cannot be used this way, as its registration found; or a save needs a feature that this program was built
    /// without.
    Unsupported,
    /// An object is mutably borrowed while it is being saved, or a component while other code needs it.
    Borrowed,
    /// An object would become its own ancestor.
    Circular,
    /// A type needs a context that the save, load or edit lacks; see [`Saves::context`](crate::Saves::context).
    WrongContext,
    /// A hook, a `validate` function or a `with` module of the program refused.
    Refused,
    /// The save would have no content: a `SaveManager` without objects. See
    /// [`SaveManager::allow_empty`](crate::SaveManager::allow_empty).
    NoContent,
    /// The operating system failed to read or write.
    Io,
    /// The disk has no space for the save, or the user's quota is used up.
    NoSpace,
    /// Another program is writing the same save, or a session has the save open.
    InUse,
    /// Another program replaced or deleted the save since it was read; nothing was written.
    ///
    /// With a [`SlotStore`](crate::storage::SlotStore), read the slot again and decide which save stays. A
    /// [`Session`](crate::Session) then refuses edits and saves, until the program
    /// [overwrites](crate::Session::overwrite) the save, keeps both, or opens the session again: see
    /// [`Session::save`](crate::Session::save).
    Conflict,
    /// The save was cancelled on request.
    Cancelled,
    /// A history could not roll back a failed edit; see [`History::poison`](crate::History::poison).
    Poisoned,
    /// The undo or redo of a command did not restore the expected state; see [`Proof`](crate::history::Proof). Or an
    /// `after_load` function changed a saved field after an edit, an undo or a redo.
    NotInverse,
    /// A transaction is open that must end first, or no transaction is open.
    OpenTransaction,
    /// An edit was recorded on one target, and would have been applied to another.
    WrongTarget,
}

impl ErrorKind {
    /// Returns the kind for an error of the system or of a storage.
    pub(crate) fn from_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::NoSpace,
            io::ErrorKind::InvalidData => Self::Damaged,
            io::ErrorKind::NotFound => Self::NotFound,
            _ => Self::Io,
        }
    }

    /// True if the bytes of a save differ from those that were written. Then a load tries the backups.
    ///
    /// ```
    /// let error = persist::from_slice::<u32>(b"not a save at all").unwrap_err();
    /// assert!(error.kind().is_damage());
    /// ```
    #[must_use]
    pub fn is_damage(self) -> bool {
        matches!(self, Self::NotASave | Self::Truncated | Self::Damaged)
    }

    /// True for an error of the system, which says nothing about the content of a file.
    pub(crate) fn is_of_system(self) -> bool {
        matches!(self, Self::Io | Self::NoSpace | Self::InUse | Self::NotFound)
    }
}

/// Writes two or three words for a log; [`Error`] has the whole message.
impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotASave => "not a save",
            Self::NewerFormat => "of a newer format",
            Self::Truncated => "cut short",
            Self::Damaged => "damaged",
            Self::UnknownKind => "unknown kind",
            Self::DuplicateId => "duplicate id",
            Self::WrongClass => "wrong class",
            Self::MissingObject => "missing object",
            Self::TooDeep => "nested too deeply",
            Self::TooLarge => "too large",
            Self::InvalidValue => "invalid value",
            Self::MissingField => "missing field",
            Self::KindMismatch => "wrong kind of field",
            Self::NotFound => "not found",
            Self::AlreadyExists => "already exists",
            Self::Unsupported => "unsupported",
            Self::Borrowed => "borrowed elsewhere",
            Self::Circular => "above itself",
            Self::WrongContext => "wrong context",
            Self::Refused => "refused by the program",
            Self::NoContent => "nothing to save",
            Self::Io => "error of the system",
            Self::NoSpace => "no space left",
            Self::InUse => "in use by another program",
            Self::Conflict => "replaced by another program",
            Self::Cancelled => "cancelled",
            Self::Poisoned => "poisoned history",
            Self::NotInverse => "undo is not the inverse",
            Self::OpenTransaction => "open transaction",
            Self::WrongTarget => "wrong target",
        })
    }
}

/// Creates an [`Error`] of this kind, whose message is lower case and without a full stop.
macro_rules! error {
    ($kind:expr, $($message:tt)+) => {
        $crate::Error::formatted($kind, ::std::format_args!($($message)+))
    };
}

/// Returns from the function with an error like that of [`error!`].
macro_rules! bail {
    ($($error:tt)+) => {
        return ::std::result::Result::Err(error!($($error)+))
    };
}

/// `Result` with the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error of `kind`; `message` is lower case and without a full stop.
    #[cold]
    #[inline(never)]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            inner: Box::new(ErrorDetails {
                kind,
                message: message.into(),
                offset: None,
                object: None,
                class: None,
                field: String::new(),
                is_policy: false,
                source: None,
            }),
        }
    }

    /// Creates an error from the arguments of `format!`.
    #[doc(hidden)]
    #[cold]
    #[inline(never)]
    pub fn formatted(kind: ErrorKind, message: fmt::Arguments<'_>) -> Self {
        Self::new(kind, message.to_string())
    }

    /// Adds the byte offset from the start of the save.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.inner.offset.get_or_insert(offset);
        self
    }

    /// Replaces the byte offset.
    pub fn moved_to(mut self, offset: u64) -> Self {
        self.inner.offset = Some(offset);
        self
    }

    /// Adds the id of the object in which the error happened.
    #[must_use]
    pub fn in_object(mut self, id: u64) -> Self {
        self.inner.object.get_or_insert(id);
        self
    }

    /// Adds the class in which the error happened.
    #[must_use]
    #[inline(never)]
    pub fn in_class(mut self, class: impl Into<String>) -> Self {
        self.inner.class.get_or_insert_with(|| class.into());
        self
    }

    /// Puts the index of an element before the field path.
    #[must_use]
    pub(crate) fn in_element(self, index: usize) -> Self {
        self.in_field(&format!("[{index}]"))
    }

    /// Puts `name` before the field path.
    ///
    /// A name that begins with `[` is an index and takes no dot before it.
    #[must_use]
    pub fn in_field(mut self, name: &str) -> Self {
        let path = &mut self.inner.field;
        if name.is_empty() {
            return self;
        }
        if !path.is_empty() && !path.starts_with('[') {
            path.insert(0, '.');
        }
        path.insert_str(0, name);
        // A recursive value has a path as long as its depth.
        if path.len() > LONGEST_PATH {
            let end = (0..LONGEST_PATH - 3).rev().find(|end| path.is_char_boundary(*end));
            path.truncate(end.unwrap_or(0));
            path.push_str("...");
        }
        self
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.inner.source = Some(source.into());
        self
    }

    /// Creates the error of a step of a save or a load. `NotFound` is reserved for a missing save, which only
    /// [`of_opening`](Self::of_opening) reports. A missing folder, or a file that vanished in between, is like any
    /// other error of the system.
    #[doc(hidden)]
    pub fn io(doing: &str, path: &std::path::Path, source: io::Error) -> Self {
        let message = format!("cannot {doing} {}: {source}", path.display());
        Self::new(ErrorKind::from_io(&source), message).because(source).of_present()
    }

    /// Creates the error of a file that cannot be opened.
    #[doc(hidden)]
    pub fn of_opening(path: &std::path::Path, source: io::Error) -> Self {
        let kind = ErrorKind::from_io(&source);
        Self::new(kind, format!("cannot read {}: {source}", path.display())).because(source)
    }

    /// Creates the error of a file that is open; `what` names the data that is read.
    pub(crate) fn of_reading(what: &str, source: io::Error) -> Self {
        let message = format!("cannot read {what}: {source}");
        Self::new(ErrorKind::from_io(&source), message).because(source).of_present()
    }

    /// Turns `NotFound` into `Io`, for an error of something that exists.
    fn of_present(mut self) -> Self {
        if self.inner.kind == ErrorKind::NotFound {
            self.inner.kind = ErrorKind::Io;
        }
        self
    }

    /// Returns the message without the advice to restore a backup, for a save without a good one.
    pub(crate) fn cause(&self) -> String {
        self.to_string().replacen("; restore a backup", "", 1)
    }

    /// Adds the name of the program's function that could not be called to the message.
    pub(crate) fn in_hook(self, hook: &str, class: &str) -> Self {
        let message = format!("`{hook}` of {class}: {}", self.message());
        self.reworded(message)
    }

    /// Replaces the message.
    pub(crate) fn reworded(mut self, message: String) -> Self {
        self.inner.message = message;
        self
    }

    /// Adds the file to the message.
    #[doc(hidden)]
    pub fn in_file(self, path: &std::path::Path) -> Self {
        let message = format!("{}: {}", path.display(), self.message());
        self.reworded(message)
    }

    /// True if the bytes of a save differ from those that were written.
    pub fn is_damage(&self) -> bool {
        self.kind().is_damage()
    }

    /// Notes that the load policy refused, not the program's code.
    pub(crate) fn of_policy(mut self) -> Self {
        self.inner.is_policy = true;
        self
    }

    /// True if the program's own code refused the loaded data.
    pub(crate) fn is_refusal(&self) -> bool {
        self.kind() == ErrorKind::Refused && !self.inner.is_policy
    }

    /// Returns the kind of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Returns the byte offset from the start of the save, if it is known; in a compressed block, that of the block.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }

    /// Returns the id of the object that was being read or written, if there is one.
    #[must_use]
    pub fn object(&self) -> Option<u64> {
        self.inner.object
    }

    /// Returns the name of the class whose record was being read or written, if there is one.
    #[must_use]
    pub fn class(&self) -> Option<&str> {
        self.inner.class.as_deref()
    }

    /// Returns the path of the field inside that record, such as `items[3].name`.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        (!self.inner.field.is_empty()).then_some(&*self.inner.field)
    }

    /// Returns the message without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }
}

/// An error of the program, of kind [`Refused`](ErrorKind::Refused): `return Err("no wood".into())` rolls an edit back.
impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::new(ErrorKind::Refused, message)
    }
}

/// Like that of a `&str`.
impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::new(ErrorKind::Refused, message)
    }
}

/// Converts an error of the program's own reading or writing, so that `?` works for both.
///
/// A full disk becomes [`NoSpace`](ErrorKind::NoSpace), a missing file [`NotFound`](ErrorKind::NotFound), and
/// [`InvalidData`](io::ErrorKind::InvalidData) [`Damaged`](ErrorKind::Damaged), as in the library's own errors. All
/// others become [`Io`](ErrorKind::Io).
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::new(ErrorKind::from_io(&error), error.to_string()).because(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)?;
        let mut opening = " (";
        if let Some(offset) = self.inner.offset {
            write!(f, "{opening}at byte {offset}")?;
            opening = ", ";
        }
        if let Some(object) = self.inner.object {
            write!(f, "{opening}object #{object}")?;
            opening = ", ";
        }
        if let Some(class) = &self.inner.class {
            write!(f, "{opening}class {class}")?;
            opening = ", ";
        }
        if !self.inner.field.is_empty() {
            write!(f, "{opening}field {}", self.inner.field)?;
            opening = ", ";
        }
        if opening == ", " {
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.inner.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.inner.source {
            Some(source) => Some(&**source),
            None => None,
        }
    }
}
