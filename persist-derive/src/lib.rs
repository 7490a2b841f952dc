//! The macros of the `persist` crate, which re-exports them: `#[derive(persist::Persist)]` and `#[persist::dynamic]`.
//!
//! A macro runs in three steps. `parse` turns a type into the plain data of `ast`, and collects every mistake on the
//! way. `check` adds mistakes in combinations of attributes. `expand` writes the code: tables and methods, through
//! which `persist` does everything with a class at run time.

#![forbid(unsafe_code)]
#![expect(
    unreachable_pub,
    reason = "the crate exports four functions; `pub` is for its other modules"
)]

#[macro_use]
mod emit;

mod ast;
mod check;
mod ctxt;
mod expand;
mod parse;
#[cfg(test)]
mod tests;

/// Implements `Persist` and `Reflect`. See `persist::Persist` for the documentation, whose examples need that crate.
#[proc_macro_derive(Persist, attributes(persist))]
pub fn derive_persist(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(input.into()).into()
}

fn derive(input: proc_macro2::TokenStream) -> proc_macro2::TokenStream {
    match try_derive(input) {
        Ok(tokens) => tokens,
        Err(errors) => errors.iter().map(syn::Error::to_compile_error).collect(),
    }
}

fn try_derive(
    input: proc_macro2::TokenStream,
) -> Result<proc_macro2::TokenStream, Vec<syn::Error>> {
    let input = syn::parse2(input).map_err(|error| vec![error])?;
    let cx = ctxt::Ctxt::new();
    let input = parse::parse(&cx, &input);
    if let Some(input) = &input {
        check::check(&cx, input);
    }
    cx.finish()?;
    Ok(input.as_ref().map(expand::expand).unwrap_or_default())
}

/// Makes it possible to save trait objects of a trait. See `persist::dynamic` for the documentation.
#[proc_macro_attribute]
pub fn dynamic(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let (mut code, errors) = dynamic_trait(options.into(), item.into());
    code.extend(errors.iter().map(syn::Error::to_compile_error));
    code.into()
}

/// Returns the code and the mistakes.
///
/// The trait itself is emitted in spite of mistakes. If only the options have mistakes, its trait objects can be saved
/// as well, so that no further errors follow from them.
fn dynamic_trait(
    options: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> (proc_macro2::TokenStream, Vec<syn::Error>) {
    let cx = ctxt::Ctxt::new();
    let input = parse::parse_trait(&cx, options, &item);
    let errors = cx.finish().err().unwrap_or_default();
    (input.as_ref().map_or(item, expand::expand_trait), errors)
}

/// The macro that `persist::__dynamic!` calls. It is not for programs.
#[doc(hidden)]
#[proc_macro]
pub fn __at_one_place(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::at_one_place(tokens.into()).into()
}

/// Calls the function in `default = "path"`. It is not for programs.
#[doc(hidden)]
#[proc_macro]
pub fn __call(path: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::call_of_string(path.into()).into()
}
