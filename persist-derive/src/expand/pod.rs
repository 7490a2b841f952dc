//! A type whose memory is its encoding: the checks, and the items that copy a value as one block.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned as _;

use super::stored;
use crate::ast::{Body, Input};

/// Emits the checks that the memory of a value is its encoding. The compiler evaluates them even if nothing uses the
/// type yet.
fn checks(input: &Input) -> Option<TokenStream> {
    let Body::Struct(fields) = &input.body else { return None };
    let ident = &input.ident;
    let mut end = emit! { 0 };
    let checks: Vec<TokenStream> = fields
        .stored()
        .map(|field| {
            let member = &field.member;
            let name = &field.name.value;
            let stored = stored(&field.ty);
            let span = field.ty.span().resolved_at(Span::mixed_site());
            let other = format!("field `{name}` of a `pod` type is not stored as it lies in memory; use a fixed-width integer, a float, an array of them or another `pod` type");
            let moved = format!("field `{name}` does not lie in memory where the declaration of `{ident}` has it; add `#[repr(C)]`");
            let check = quote_spanned! {span=>
                const _: () = {
                    _persist::std::assert!(#stored::__LAYOUT.pod, #other);
                    _persist::std::assert!(_persist::offset_of!(#ident, #member) == #end, #moved);
                };
            };
            end = emit! { #end + #stored::__LAYOUT.head };
            check
        })
        .collect();
    let empty = format!("`{ident}` has no bytes to copy; remove `pod`");
    Some(emit! {
        #(#checks)*
        const _: () = _persist::std::assert!(_persist::size_of::<#ident>() > 0, #empty);
    })
}

/// Emits the items of `Persist` for lists of such a type.
pub fn items(input: &Input) -> Option<TokenStream> {
    input.pod.as_ref()?;
    let list = emit! { _persist::std::vec::Vec<Self> };
    let input_of = emit! { __input: &mut _persist::Decoder<'_> };
    Some(emit! {
        #[inline(always)]
        fn __encode_slice(
            __items: &[Self],
            __out: &mut _persist::Encoder<'_>,
        ) -> _persist::Result<(), _persist::Stop> { _persist::pod::encode_slice(__items, __out) }
        #[inline(always)]
        fn __decode_list(__count: _persist::usize, #input_of) -> _persist::Result<#list, _persist::Fail> {
            _persist::pod::decode_list(__count, __input)
        }
        #[inline(always)]
        fn __decode_list_into(
            __list: &mut #list,
            __count: _persist::usize,
            #input_of,
        ) -> _persist::Result<(), _persist::Fail> {
            _persist::pod::decode_list_into(__list, __count, __input)
        }
    })
}

/// Emits the impl for plain bytes, and the checks.
pub fn block_impl(input: &Input) -> Option<TokenStream> {
    let given = input.pod.as_ref()?;
    let ident = &input.ident;
    let checks = checks(input);
    let span = given.span.resolved_at(Span::mixed_site());
    Some(quote_spanned! {span=>
        #[automatically_derived]
        impl _persist::pod::PodBlock for #ident {}

        #checks
    })
}

/// Emits the fast path of a function, for machines whose memory has the byte order of the format.
pub fn block(input: &Input, name: &str, arguments: &TokenStream) -> Option<TokenStream> {
    input.pod.as_ref()?;
    let function = Ident::new(name, Span::mixed_site());
    Some(emit! { if _persist::pod::IS_BLOCK { return _persist::pod::#function(#arguments); } })
}
