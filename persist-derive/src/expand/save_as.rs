//! A struct of references that is saved as the struct which owns their targets.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::Type;
use syn::spanned::Spanned as _;

use super::bounds::Bounds;
use crate::ast::{Field, Fields, Given, Input, PartType, ungroup};
use crate::parse::written;

pub fn expand(input: &Input, fields: &Fields, owned: &Given<Type>, bounds: &Bounds) -> TokenStream {
    let parts = fields.stored().enumerate().map(|(index, field)| {
        let value = part(field);
        emit! { #index => _persist::SavedPart::#value, }
    });
    let types = types(fields, &owned.value, bounds);
    let checks = checks(input, fields, owned, bounds);
    // The owned type of a generic struct is only known where a value is saved.
    let (inside, outside) = if bounds.is_generic() {
        (emit! { #(const { #checks })* }, TokenStream::new())
    } else {
        (TokenStream::new(), emit! { #(const _: () = { #checks };)* })
    };
    let (owned, name) = (&owned.value, written(&owned.value));
    let names = fields.stored().map(|field| field.member.to_token_stream().to_string());
    let implementation = bounds.implement(
        &emit! { _persist::SaveAs },
        &emit! {
            type Owned = #owned;

            const OWNED: &'static _persist::str = #name;
            const PARTS: &'static [&'static _persist::str] = &[#(#names),*];

            fn part(&self, __field: _persist::usize) -> _persist::Option<_persist::SavedPart<'_>> {
                #inside
                _persist::Option::Some(match __field {
                    #(#parts)*
                    _ => return _persist::Option::None,
                })
            }
        },
    );
    let content = bounds.implement_for_reference(
        &emit! { _persist::WriteContent },
        &emit! {
            fn prepare(&mut self, __saves: &_persist::Saves) -> _persist::Result<_persist::Prepared, _persist::Error> {
                _persist::prepare_parts(__saves, *self)
            }

            fn write(
                &mut self,
                __prepared: &_persist::Prepared,
                __to: &mut _persist::Sink<'_, '_>,
            ) -> _persist::Result<(), _persist::Error> {
                _persist::write_parts(*self, __prepared, __to)
            }
        },
    );
    emit! { #types #outside #implementation #content }
}

/// Emits the `Part` of a field, with the span of its type.
fn part(field: &Field) -> TokenStream {
    let member = &field.member;
    let span = place(&field.ty);
    match PartType::new(&field.ty) {
        PartType::Value(_, true) => quote_spanned! {span=> Value(&*self.#member) },
        PartType::Value(_, false) => quote_spanned! {span=> Value(&self.#member) },
        PartType::Items(_) => quote_spanned! {span=> Items(&self.#member) },
        PartType::Text => quote_spanned! {span=> Text(&*self.#member) },
    }
}

/// The span of a type. For a reference, the span of its target, since a span has only the first token of a type.
fn place(ty: &Type) -> Span {
    let target = match ungroup(ty) {
        Type::Reference(reference) => &reference.elem,
        ty => ty,
    };
    target.span().resolved_at(Span::mixed_site())
}

/// Emits a function that is never called. It makes the compiler compare the type of each part with that of the field.
fn types(fields: &Fields, owned: &Type, bounds: &Bounds) -> TokenStream {
    let checks = fields.stored().map(|field| {
        let member = &field.member;
        let span = place(&field.ty);
        let ty = match PartType::new(&field.ty) {
            PartType::Value(target, _) => target.to_token_stream(),
            PartType::Items(item) => quote_spanned! {span=> _persist::std::vec::Vec<#item> },
            PartType::Text => quote_spanned! {span=> _persist::String },
        };
        quote_spanned! {span=> _persist::same_type::<#ty, _>(&__owned.#member); }
    });
    bounds.function(&emit! { __same_types }, &emit! { __owned: &#owned }, &emit! { #(#checks)* })
}

/// Emits constants that compare the parts with the fields of the owned class.
fn checks(
    input: &Input,
    fields: &Fields,
    owned: &Given<Type>,
    bounds: &Bounds,
) -> Vec<TokenStream> {
    let name = written(&owned.value);
    // All of them go through the impl. If the owned type is not a struct, only the impl is an error.
    let parts = bounds.type_in_body();
    let parts = emit! { <#parts as _persist::SaveAs> };
    let right = |index: usize, span: Span| {
        let span = span.resolved_at(Span::mixed_site());
        quote_spanned! {span=>
            _persist::std::assert!(!__fault.is_at(#index), "{}", __fault.message());
        }
    };
    let each = fields.stored().enumerate().map(|(index, field)| right(index, field.span()));
    let few = right(fields.stored().count(), input.ident.span());
    let mut checks = vec![emit! {
        let __fault = &#parts::FAULT;
        #(#each)*
        #few
    }];
    for (index, field) in fields.stored().enumerate() {
        if let PartType::Value(..) = PartType::new(&field.ty) {
            continue;
        }
        let span = place(&field.ty);
        let message = format!(
            "`{name}` does not store this field as its own type; refer to all of it, as `&Vec<_>` or `&String`"
        );
        checks.push(quote_spanned! {span=>
            _persist::std::assert!(
                _persist::is_plain(#parts::FIELDS, #index),
                #message
            );
        });
    }
    let span = owned.span.resolved_at(Span::mixed_site());
    let message = format!(
        "`{name}` has a `before_save` hook, which needs the whole value; save a `{name}` instead of its parts"
    );
    checks.push(quote_spanned! {span=>
        _persist::std::assert!(!#parts::HAS_BEFORE_SAVE, #message);
    });
    checks
}
