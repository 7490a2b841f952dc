//! When saving or loading goes wrong.
//!
//! One type for every failure, one pointer wide, so that `Result`s stay small
//! on the fast path. An error says what happened ([`Error::kind`] and the
//! message), where ([`Error::offset`], [`Error::class`], [`Error::field`]) and,
//! in its message, what to do about it.

use std::fmt;
use std::io;

/// What went wrong, where, and what to do about it.
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
    // Boxed: a larger error makes every `Result` of the decoder larger.
    inner: Box<ErrorDetails>,
}

struct ErrorDetails {
    kind: ErrorKind,
    message: String,
    offset: Option<u64>,
    object: Option<u64>,
    class: Option<String>,
    field: String,
    /// True for what [`LoadPolicy::Strict`](crate::save::LoadPolicy::Strict) refuses, not the program's code.
    is_policy: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Bytes of a field path; the outermost names are kept.
const LONGEST_PATH: usize = 300;

/// The sort of an [`Error`], for programs that decide by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes do not begin as a save does.
    NotASave,
    /// The save was written in a format newer than this library reads.
    NewerFormat,
    /// The save ends before it is complete.
    Truncated,
    /// The bytes are not those that were written: a checksum or the structure is wrong.
    Damaged,
    /// The save describes a field by a kind that this library does not know.
    UnknownKind,
    /// Two records, classes or types claim the same id, or two classes the same name in older saves.
    DuplicateId,
    /// A reference or a record names an object of a class or holder that is not expected there.
    WrongClass,
    /// A reference names an object that the save does not hold.
    MissingObject,
    /// Nesting beyond [`Limits::depth`](crate::Limits::depth).
    TooDeep,
    /// A size beyond one of the [`Limits`](crate::Limits).
    TooLarge,
    /// A stored value is none of those its type can have.
    InvalidValue,
    /// A field of the program is not in the save and has no default.
    MissingField,
    /// A field's stored kind is not the one of the program.
    KindMismatch,
    /// A class, object, field or variant of that name is not there; or the file of a save, or a slot.
    NotFound,
    /// There is a slot of that name already.
    AlreadyExists,
    /// A type cannot be used this way, found when it is registered; or a save needs a feature of the
    /// library that this program was built without.
    Unsupported,
    /// An object is mutably borrowed while it is being saved, or a component while something else needs it.
    Borrowed,
    /// An object would be above itself.
    Circular,
    /// A type needs a context that the save, load or edit does not have; see
    /// [`Saves::context`](crate::Saves::context).
    WrongContext,
    /// The program's own hook, `validate` or `with` module refused.
    Refused,
    /// The save would have no content: a `SaveManager` without objects. See
    /// [`SaveManager::allow_empty`](crate::SaveManager::allow_empty).
    NoContent,
    /// The operating system refused to read or write.
    Io,
    /// There is no room for the save on the disk, or none left for this user.
    NoSpace,
    /// Another program is writing the same save, or a session has it open.
    InUse,
    /// Another program has replaced or deleted the save since it was read, and nothing was written.
    ///
    /// With a [`SlotStore`](crate::storage::SlotStore), read the slot again and decide which save stays. A
    /// [`Session`](crate::Session) refuses edits and saves then, until the program
    /// [overwrites](crate::Session::overwrite) the save, keeps both, or opens the session again: see
    /// [`Session::save`](crate::Session::save).
    Conflict,
    /// The save was given up on demand.
    Cancelled,
    /// A history could not put back what was half done; see [`History::poison`](crate::History::poison).
    Poisoned,
    /// The undo or redo of a command did not lead back; see [`Proof`](crate::history::Proof).
    NotInverse,
    /// A transaction is open that must end first; or none is open.
    OpenTransaction,
    /// What was recorded of one target was about to be done to another.
    WrongTarget,
}

impl ErrorKind {
    /// The kind of an error of the system, or of a storage.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::NoSpace,
            io::ErrorKind::InvalidData => Self::Damaged,
            io::ErrorKind::NotFound => Self::NotFound,
            _ => Self::Io,
        }
    }

    /// True if the bytes of a save are not those that were written: a load tries the backups then.
    ///
    /// ```
    /// let error = persist::from_slice::<u32>(b"not a save at all").unwrap_err();
    /// assert!(error.kind().is_damage());
    /// ```
    #[must_use]
    pub fn is_damage(self) -> bool {
        matches!(self, Self::NotASave | Self::Truncated | Self::Damaged)
    }

    /// True for an error of the system, which says nothing about what a file holds.
    pub(crate) fn is_of_system(self) -> bool {
        matches!(self, Self::Io | Self::NoSpace | Self::InUse | Self::NotFound)
    }
}

/// Two or three words for a log; [`Error`] has the whole message.
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

/// An [`Error`] of this kind, whose message is lower case and without a full stop.
macro_rules! error {
    ($kind:expr, $($message:tt)+) => {
        $crate::Error::formatted($kind, ::std::format_args!($($message)+))
    };
}

/// Returns an error like [`error!`].
macro_rules! bail {
    ($($error:tt)+) => {
        return ::std::result::Result::Err(error!($($error)+))
    };
}

/// `Result` with the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind`; `message` is lower case and without a full stop.
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

    #[cold]
    #[inline(never)]
    pub(crate) fn formatted(kind: ErrorKind, message: fmt::Arguments<'_>) -> Self {
        Self::new(kind, message.to_string())
    }

    /// Adds the byte offset from the start of the save.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.inner.offset.get_or_insert(offset);
        self
    }

    /// Replaces the offset.
    pub(crate) fn moved_to(mut self, offset: u64) -> Self {
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
    /// A name that begins with `[` is an index and takes no dot after the
    /// name before it.
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
        // A value nested in itself has a path as long as it is deep.
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

    /// The error of a step of a save or a load. `NotFound` is that of a missing save, which only its opening reports: a
    /// missing folder, or a file that vanished in between, is an error like any other of the system.
    pub(crate) fn io(doing: &str, path: &std::path::Path, source: io::Error) -> Self {
        let message = format!("cannot {doing} {}: {source}", path.display());
        Self::new(ErrorKind::of(&source), message).because(source).of_present()
    }

    /// The error of a file that cannot be opened.
    pub(crate) fn of_opening(path: &std::path::Path, source: io::Error) -> Self {
        let kind = ErrorKind::of(&source);
        Self::new(kind, format!("cannot read {}: {source}", path.display())).because(source)
    }

    /// The error of a file that is open; `what` is read of it.
    pub(crate) fn of_reading(what: &str, source: io::Error) -> Self {
        let message = format!("cannot read {what}: {source}");
        Self::new(ErrorKind::of(&source), message).because(source).of_present()
    }

    /// The error of something that is not missing.
    fn of_present(mut self) -> Self {
        if self.inner.kind == ErrorKind::NotFound {
            self.inner.kind = ErrorKind::Io;
        }
        self
    }

    /// What is said of it where no backup is good, and advice to restore one is of no use.
    pub(crate) fn cause(&self) -> String {
        self.to_string().replacen("; restore a backup", "", 1)
    }

    /// Names the function of the program that could not be called.
    pub(crate) fn in_hook(self, hook: &str, class: &str) -> Self {
        let message = format!("`{hook}` of {class}: {}", self.message());
        self.reworded(message)
    }

    /// Replaces the message.
    pub(crate) fn reworded(mut self, message: String) -> Self {
        self.inner.message = message;
        self
    }

    /// Names the file in the message.
    pub(crate) fn in_file(self, path: &std::path::Path) -> Self {
        let message = format!("{}: {}", path.display(), self.message());
        self.reworded(message)
    }

    /// True if the bytes of a save are not those that were written.
    pub(crate) fn is_damage(&self) -> bool {
        self.kind().is_damage()
    }

    /// Notes that the load policy refuses, and not the program's code.
    pub(crate) fn of_policy(mut self) -> Self {
        self.inner.is_policy = true;
        self
    }

    /// True if the program's own code refused what was loaded.
    pub(crate) fn is_refusal(&self) -> bool {
        self.kind() == ErrorKind::Refused && !self.inner.is_policy
    }

    /// The sort of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Byte offset from the start of the save, where one is known; in a compressed block, that of the block.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }

    /// Id of the object that was being read or written, where there is one.
    #[must_use]
    pub fn object(&self) -> Option<u64> {
        self.inner.object
    }

    /// Name of the class whose record was being read or written, where there is one.
    #[must_use]
    pub fn class(&self) -> Option<&str> {
        self.inner.class.as_deref()
    }

    /// Path of the field inside that record, such as `items[3].name`.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        (!self.inner.field.is_empty()).then_some(&*self.inner.field)
    }

    /// What happened, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }
}

/// An error of the program's own reading or writing, so that `?` serves both.
///
/// A full disk is [`NoSpace`](ErrorKind::NoSpace), a missing file [`NotFound`](ErrorKind::NotFound), and
/// [`InvalidData`](io::ErrorKind::InvalidData) [`Damaged`](ErrorKind::Damaged), as in the library's own errors. All
/// others are [`Io`](ErrorKind::Io).
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::new(ErrorKind::of(&error), error.to_string()).because(error)
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
