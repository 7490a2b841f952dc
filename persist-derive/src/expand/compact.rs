//! Checks that `compact` and `skip_failed` have an effect on their field.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned as _;

use super::stored;
use crate::ast::Input;

/// Makes the compiler check that the fields have integers. The fields of a generic type are unknown, so it is not
/// checked.
pub fn check(input: &Input) -> Option<TokenStream> {
    if !input.generics.params.is_empty() {
        return None;
    }
    let skipping = input.all_fields().filter_map(|field| {
        let given = field.skip_failed.as_ref().filter(|_| field.adapter().is_none())?;
        let stored = stored(&field.ty);
        let span = given.span.resolved_at(Span::mixed_site());
        let message = format!(
            "`skip_failed` on field `{}` is for an `Option`, a `Vec`, `VecDeque` or `LinkedList`, or a map or set of the standard library; use one of those, or remove it",
            field.name.value
        );
        Some(quote_spanned! {span=>
            const _: () = _persist::std::assert!(#stored::__LAYOUT.skips, #message);
        })
    });
    let skipping = emit! { #(#skipping)* };
    let fields = input.all_fields().filter(|field| field.is_compact);
    if let Some(given) = &input.compact {
        let span = given.span.resolved_at(Span::mixed_site());
        let types = fields.map(|field| stored(&field.ty));
        let message = format!(
            "`compact` does nothing on `{}`, whose fields hold no integers of 16 to 64 bits outside of other classes; put it on those, or remove it",
            input.ident
        );
        return Some(quote_spanned! {span=>
            const _: () = _persist::std::assert!(false #(|| #types::__COMPACT.is_some())*, #message);
            #skipping
        });
    }
    let checks = fields.map(|field| {
        let stored = stored(&field.ty);
        let span = field.ty.span().resolved_at(Span::mixed_site());
        let message = format!(
            "`compact` does nothing on field `{}`, which holds no integers of 16 to 64 bits outside of other classes; put it on those, or remove it",
            field.name.value
        );
        quote_spanned! {span=>
            const _: () = _persist::std::assert!(#stored::__COMPACT.is_some(), #message);
        }
    });
    Some(emit! { #(#checks)* #skipping })
}
