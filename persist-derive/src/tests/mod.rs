//! The code of a handful of types, and the message of every mistake.

mod expansion;
mod refusal;

use std::fmt::Write as _;

use proc_macro2::TokenStream;

fn tokens(source: &str) -> TokenStream {
    source.parse().expect("the test's type is Rust")
}

/// The code for a type, as rustfmt would have it.
fn expansion(source: &str) -> String {
    let code = crate::derive(tokens(source));
    prettyplease::unparse(&syn::parse2(code).expect("the code is Rust"))
}

/// The mistakes of a type, each as `line:column message`.
fn mistakes(source: &str) -> String {
    let errors = crate::try_derive(tokens(source)).expect_err("a mistake is found");
    let mut result = String::new();
    for error in errors {
        let start = error.span().start();
        // Lines are counted from 1, columns from 0; people count both from 1.
        writeln!(result, "{}:{} {error}", start.line, start.column + 1)
            .expect("a string takes all");
    }
    result
}

/// Compares with `snapshots/{name}.snap`.
fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
