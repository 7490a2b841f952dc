use crate::{Error, ErrorKind};

/// Why a decode stopped, in one byte so that results stay in registers.
///
/// The place and the words are found afterwards, by walking the record with
/// the schema that the save itself carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fail {
    /// The bytes end inside the value.
    End,
    /// Not UTF-8.
    Text,
    /// A value that the type cannot have.
    Value,
    /// A count that is not in its shortest form or that the bytes cannot hold.
    Count,
    /// A key or an element of a set stands there twice.
    Duplicate,
    /// Nested too deep.
    Depth,
    /// Over a limit.
    Limit,
    /// The reason was left with [`Decoder::refuse`](super::Decoder::refuse).
    Refused,
    /// The value is of a class that is not registered for the trait that is
    /// asked for; it was skipped.
    Unregistered,
}

impl From<Fail> for Error {
    #[inline(never)]
    fn from(fail: Fail) -> Self {
        let (kind, message) = match fail {
            Fail::End => (ErrorKind::Truncated, "the bytes end inside a value"),
            Fail::Text => (ErrorKind::InvalidValue, "a string is not UTF-8"),
            Fail::Value => (ErrorKind::InvalidValue, "a value is none of those its type can have"),
            Fail::Count => (
                ErrorKind::InvalidValue,
                "a count is more than the bytes after it can hold, or not in its shortest form",
            ),
            Fail::Duplicate => (
                ErrorKind::InvalidValue,
                "a key of a map or an element of a set stands there twice",
            ),
            Fail::Depth => {
                (ErrorKind::TooDeep, "a value is nested deeper than `Limits::depth`; raise it")
            }
            Fail::Limit => {
                (ErrorKind::TooLarge, "a length is over its limit in `Limits`; raise it")
            }
            Fail::Unregistered => (
                ErrorKind::WrongClass,
                "a value is of a class that is not registered for its trait",
            ),
            Fail::Refused => (ErrorKind::Refused, "the type refused the value without a reason"),
        };
        Self::new(kind, message)
    }
}
