//! How code is written: `emit!` is `quote!` with hygienic local variables.

/// `quote!`, but its local variables are invisible to the user's expressions.
macro_rules! emit {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}
