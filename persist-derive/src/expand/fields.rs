//! Access by index: the variant of a value, and each of its fields.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned as _;

use super::convert::conversions;
use super::{Access, adapter_call, container_default, field_default, path, stored};
use crate::ast::{Body, Field, Fields, Given, Input};

pub fn expand(input: &Input) -> TokenStream {
    let variant = variant(input);
    let field = select(input, Access::shared);
    let field_mut = select(input, Access::mutable);
    let make = make(input);
    emit! {
        #variant

        fn persist_field(&self, __field: _persist::usize) -> _persist::Option<&dyn _persist::Any> {
            #field
        }

        fn persist_field_mut(
            &mut self,
            __field: _persist::usize,
        ) -> _persist::Option<&mut dyn _persist::Any> {
            #field_mut
        }

        #make
    }
}

/// Emits `persist_variant` of an enum. A struct uses the default of the trait.
fn variant(input: &Input) -> Option<TokenStream> {
    let Body::Enum(variants) = &input.body else { return None };
    let arms = variants.iter().enumerate().map(|(index, variant)| {
        let path = path(variant);
        emit! { #path { .. } => #index, }
    });
    Some(emit! {
        fn persist_variant(&self) -> _persist::usize {
            match self { #(#arms)* }
        }
    })
}

/// Emits a match that applies `value` to the field with index `__field`, or returns `None`.
fn select(input: &Input, value: fn(Access, &Field) -> TokenStream) -> TokenStream {
    let mut arms = TokenStream::new();
    let on = match &input.body {
        Body::Struct(fields) => {
            for (index, field) in fields.stored().enumerate() {
                let value = value(Access::Own, field);
                arms.extend(emit! { #index => #value, });
            }
            emit! { __field }
        }
        Body::Enum(variants) => {
            for variant in variants {
                let path = path(variant);
                for (index, field) in variant.fields.stored().enumerate() {
                    let Field { member, local, .. } = field;
                    let value = value(Access::Matched, field);
                    arms.extend(emit! { (#path { #member: #local, .. }, #index) => #value, });
                }
            }
            emit! { (self, __field) }
        }
    };
    if arms.is_empty() {
        return emit! { _persist::Option::None };
    }
    emit! {
        _persist::Option::Some(match #on {
            #arms
            _ => return _persist::Option::None,
        })
    }
}

/// Emits the call that writes the value of a field.
fn write(field: &Field, value: &TokenStream) -> TokenStream {
    adapter_call(field, "put", value).unwrap_or_else(|| {
        let stored = stored(&field.ty);
        emit! { #stored::persist_encode(#value) }
    })
}

/// Emits `persist_make_field` for fields with a default, a `sample` or a `convert`. The trait has a default for all
/// others.
fn make(input: &Input) -> Option<TokenStream> {
    let mut arms = TokenStream::new();
    let container = container_default(input);
    let mut add = |variant: usize, fields: &Fields| {
        for (index, field) in fields.stored().enumerate() {
            if field.has_default() {
                let ty = &field.ty;
                let member = &field.member;
                let (default, value) = match &container {
                    Some(container) if field.inherits => (
                        emit! { let __whole: Self = #container; },
                        emit! { &__whole.#member, __out },
                    ),
                    _ => {
                        let default = field_default(field);
                        (emit! { let __value: #ty = #default; }, emit! { &__value, __out })
                    }
                };
                let write = write(field, &value);
                arms.extend(emit! {
                    (#variant, #index, _persist::Option::None) => {
                        #default
                        #write
                    }
                });
            }
            if let Some(Given { value: function, .. }) = &field.sample {
                let ty = &field.ty;
                let span = function.span().resolved_at(Span::mixed_site());
                let value = quote_spanned! {span=> let __value: #ty = #function(); };
                let write = write(field, &emit! { &__value, __out });
                arms.extend(emit! {
                    (#variant, #index, _persist::Option::Some((_persist::SAMPLE, _))) => {
                        #value
                        #write
                    }
                });
            }
            for (number, conversion) in conversions(field).enumerate() {
                let Some(run) = conversion.run else { continue };
                arms.extend(emit! {
                    (#variant, #index, _persist::Option::Some((#number, __input))) => #run(
                        <Self as _persist::Reflect>::CLASS,
                        #variant,
                        #index,
                        __input,
                        __out,
                    ),
                });
            }
        }
    };
    input.body.rows().into_iter().enumerate().for_each(|(index, fields)| add(index, fields));
    if arms.is_empty() {
        return None;
    }
    Some(emit! {
        fn persist_make_field(
            __variant: _persist::usize,
            __field: _persist::usize,
            __from: _persist::Option<(_persist::usize, &mut _persist::Decoder<'_>)>,
            __out: &mut _persist::Encoder<'_>,
        ) -> _persist::Result<(), _persist::Stop> {
            match (__variant, __field, __from) {
                #arms
                _ => _Err(__out.no_field()),
            }
        }
    })
}
