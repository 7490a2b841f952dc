//! Defines `emit!`, which is `quote!` with hygienic local variables.

/// Like `quote!`, but expressions of the user cannot see its local variables.
macro_rules! emit {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}
