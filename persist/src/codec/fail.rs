use crate::{Error, ErrorKind};

/// Says why a decode stopped, in one byte so that results stay in registers.
///
/// The place and the message are found after the failure, by walking the record with the schema that the save itself
/// carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fail {
    /// The bytes end inside of the value.
    End,
    /// A text is not UTF-8.
    Text,
    /// The bytes are a value that the type cannot have.
    Value,
    /// A count is not in its shortest form, or the bytes cannot hold that many elements.
    Count,
    /// A map has two equal keys, or a set two equal elements.
    Duplicate,
    /// The value is nested deeper than [`Limits::depth`](crate::Limits::depth).
    Depth,
    /// A length exceeds its limit in [`Limits`](crate::Limits).
    Limit,
    /// The type refused the value; [`Decoder::refuse`](super::Decoder::refuse) holds the reason.
    Refused,
    /// The value's class is not registered for the expected trait; the value was skipped.
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
