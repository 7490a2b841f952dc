//! Macros that create errors of the library.

/// Creates an [`Error`](persist::Error) of this kind, whose message is lower case and without a full stop.
macro_rules! error {
    ($kind:expr, $($message:tt)+) => {
        ::persist::Error::formatted($kind, ::std::format_args!($($message)+))
    };
}

/// Returns from the function with an error like that of [`error!`].
macro_rules! bail {
    ($($error:tt)+) => {
        return ::std::result::Result::Err(error!($($error)+))
    };
}
