//! Snapshots of the code for some types and traits, and of the message for every mistake.

/// Defines a test for each name, which is also the name of its snapshot. `$of` makes the text of one or several
/// sources.
macro_rules! snapshots {
    ($of:ident: $($name:ident: $source:expr;)*) => {
        $(#[test]
        fn $name() {
            $of(stringify!($name), &$source);
        })*
    };
}

mod dynamic;
mod evolution;
mod expansion;
mod refusal;

use std::fmt::Write as _;

use proc_macro2::{TokenStream, TokenTree};

fn tokens(source: &str) -> TokenStream {
    source.parse().expect("the test's type is Rust")
}

/// The code for a type, formatted like rustfmt does.
fn expansion(source: &str) -> String {
    formatted(crate::derive(tokens(source)))
}

/// The mistakes in a type, each as `line:column message`.
fn mistakes(source: &str) -> String {
    listed(&crate::try_derive(tokens(source)).expect_err("a mistake is found"))
}

/// The code for a trait with `#[persist::dynamic(...)]`, and the mistakes in it.
fn dynamic(source: &str) -> (TokenStream, String) {
    let mut item = tokens(source).into_iter();
    let Some(TokenTree::Group(attribute)) = item.nth(1) else { panic!("no attribute") };
    let options = attribute.stream().into_iter().find_map(|token| match token {
        TokenTree::Group(options) => Some(options.stream()),
        _ => None,
    });
    let (code, errors) = crate::dynamic_trait(options.unwrap_or_default(), item.collect());
    (code, listed(&errors))
}

fn formatted(code: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(code).expect("the code is Rust"))
}

fn listed(errors: &[syn::Error]) -> String {
    let mut result = String::new();
    for error in errors {
        let start = error.span().start();
        // Lines are counted from 1 and columns from 0. Editors count both from 1.
        writeln!(result, "{}:{} {error}", start.line, start.column + 1)
            .expect("a string takes all");
    }
    result
}

/// Compares a text with `snapshots/{name}.snap`.
fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
