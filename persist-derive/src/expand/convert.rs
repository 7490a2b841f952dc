//! `convert_field`: a field from a value of its older type.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned as _;

use crate::ast::{Body, Field, Fields, Given, Input};

/// Nothing for a type whose fields have no `convert`; the trait knows what to do.
pub fn expand(input: &Input) -> TokenStream {
    let mut arms = TokenStream::new();
    let mut add = |variant: usize, fields: &Fields| {
        for (index, field) in fields.stored().enumerate() {
            let Some(conversion) = conversion(field) else { continue };
            arms.extend(emit! {
                (#variant, #index) => #conversion.run(
                    <Self as _persist::Reflect>::CLASS,
                    __variant,
                    __field,
                    __input,
                    __out,
                ),
            });
        }
    };
    match &input.body {
        Body::Struct(fields) => add(0, fields),
        Body::Enum(variants) => {
            for (index, variant) in variants.iter().enumerate() {
                add(index, &variant.fields);
            }
        }
    }
    if arms.is_empty() {
        return arms;
    }
    let usize = emit! { _persist::__private::std::primitive::usize };
    let result = emit! { _persist::__private::std::result::Result };
    emit! {
        fn convert_field(
            __variant: #usize,
            __field: #usize,
            __input: &mut _persist::codec::Decoder<'_>,
            __out: &mut _persist::codec::Encoder<'_>,
        ) -> #result<(), _persist::codec::Stop> {
            match (__variant, __field) {
                #arms
                _ => #result::Err(__out.no_field()),
            }
        }
    }
}

/// The `Conversion` of a field, at the place where the user named the function. It is
/// always made the same way, so that a wrong function is one error.
pub fn conversion(field: &Field) -> Option<TokenStream> {
    let Given { value: function, .. } = field.convert.as_ref()?;
    let ty = &field.ty;
    let span = function.span().resolved_at(Span::mixed_site());
    Some(quote_spanned! {span=> _persist::__private::Conversion::<_, _, #ty>::of(#function) })
}
