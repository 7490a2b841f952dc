//! Emits `Class::migration`: the functions that migrate older records to the current version.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::ExprPath;
use syn::spanned::Spanned as _;

use crate::ast::{Given, Input};

pub fn expand(input: &Input) -> Option<TokenStream> {
    let steps = input.migration.as_ref()?.value.iter().map(|step| {
        let from = step.from.value;
        let function = wrapped(input, &step.function);
        emit! { (#from, #function) }
    });
    Some(emit! { .migration(const { &[#(#steps),*] }) })
}

/// Emits a `Migrate` for a function that may return nothing, with the span where the user named it, so that errors
/// point there.
fn wrapped(input: &Input, function: &ExprPath) -> TokenStream {
    let span = function.span().resolved_at(Span::mixed_site());
    let context = input.hooks.context.as_ref().map(|Given { value: context, .. }| {
        quote_spanned! {span=> , __env.context::<#context>()? }
    });
    quote_spanned! {span=>
        |__record, __from, __env| {
            _Ok(_persist::Outcome::into_result(#function(__record, __from #context)))
        }
    }
}
