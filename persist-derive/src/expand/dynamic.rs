//! A trait whose trait objects can be saved: it gets a supertrait, and an invocation of `persist::__dynamic!` for each
//! of its trait objects.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::quote_spanned;

use super::{import, library};
use crate::ast::Trait;

/// Emits the trait and the code beside it.
pub fn expand(input: &Trait) -> TokenStream {
    let (mut item, path) = (input.item.clone(), library(input.krate.as_ref()));
    item.supertraits.push(syn::parse_quote! { #path::__private::Dynamic });
    let import = import(input.krate.as_ref());
    let ident = &input.item.ident;
    // All tokens have one span: see [`at_one_place`].
    let span = ident.span().resolved_at(Span::mixed_site());
    let marker = quote_spanned! {span=> _persist::std::marker };
    let objects = [
        ("", quote_spanned! {span=> #ident }),
        (" + Send", quote_spanned! {span=> #ident + #marker::Send }),
        (" + Send + Sync", quote_spanned! {span=> #ident + #marker::Send + #marker::Sync }),
    ];
    let invocations = objects.iter().map(|(markers, bounds)| {
        let name = format!("{}{markers}", input.name);
        // The stand-in may be unfit for other threads.
        let unknown = input.unknown.as_ref().filter(|_| markers.is_empty()).map(|given| {
            let ty = &given.value;
            emit! { , unknown #ty }
        });
        quote_spanned! {span=> _persist::__dynamic!(#name, (#bounds), dyn #bounds #unknown); }
    });
    emit! {
        #item
        // A deprecated trait is used in this code as well, so the lint is silenced, as for the derive.
        #[allow(deprecated)]
        const _: () = {
            #import
            #(#invocations)*
        };
    }
}

/// Gives all tokens the span of the tokens in the parentheses before them.
///
/// A mistake in a trait is an error wherever its trait object is named. Rustc shows an error only once for each span,
/// so that the user sees one.
pub fn at_one_place(tokens: TokenStream) -> TokenStream {
    let mut tokens = tokens.into_iter();
    match tokens.next().and_then(place) {
        Some(span) => moved(tokens.collect(), span),
        None => tokens.collect(),
    }
}

/// The span of the first token that is not in a group.
fn place(token: TokenTree) -> Option<Span> {
    match token {
        TokenTree::Group(group) => place(group.stream().into_iter().next()?),
        token => Some(token.span()),
    }
}

pub(super) fn moved(tokens: TokenStream, span: Span) -> TokenStream {
    let each = tokens.into_iter().map(|mut token| {
        if let TokenTree::Group(group) = &token {
            token = Group::new(group.delimiter(), moved(group.stream(), span)).into();
        }
        token.set_span(span);
        token
    });
    each.collect()
}
