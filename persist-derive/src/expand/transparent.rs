//! A type that is stored as its one field.

use proc_macro2::TokenStream;

use super::bounds::Bounds;
use super::{field_default, prototype, stored};
use crate::ast::{Fields, Input, Store};

pub fn expand(input: &Input, fields: &Fields, bounds: &Bounds) -> TokenStream {
    // The check has found exactly one.
    let Some(inner) = fields.stored().next() else { return TokenStream::new() };
    let stored = stored(&inner.ty);
    let member = &inner.member;
    let rest: Vec<_> = fields
        .0
        .iter()
        .filter(|field| matches!(field.store, Store::Skip))
        .map(|field| {
            let member = &field.member;
            let value = field_default(field);
            emit! { #member: #value }
        })
        .collect();
    let prototype = prototype(input);
    let u8 = emit! { _persist::__private::std::primitive::u8 };
    let usize = emit! { _persist::__private::std::primitive::usize };
    let bool = emit! { _persist::__private::std::primitive::bool };
    let result = emit! { _persist::__private::std::result::Result };
    let pointee = super::pointee(bounds);
    let persist = bounds.implement(
        &emit! { _persist::Persist },
        &emit! {
            const HEAD: #usize = #stored::HEAD;
            const FIXED: #bool = #stored::FIXED;
            const MIN: #usize = #stored::MIN;
            const LEAF: #bool = #stored::LEAF;
            const NULLABLE: #bool = #stored::NULLABLE;

            fn kind() -> _persist::Kind {
                #stored::kind()
            }

            fn name() -> _persist::__private::std::string::String {
                #stored::name()
            }

            fn reach(__types: &mut _persist::codec::TypeSet) {
                #stored::reach(__types);
            }

            #prototype

            #[inline(always)]
            fn encode_head(&self, __head: &mut [#u8]) {
                #stored::encode_head(&self.#member, __head);
            }

            #[inline(always)]
            fn encode_tail(
                &self,
                __out: &mut _persist::codec::Encoder<'_>,
            ) -> #result<(), _persist::codec::Stop> {
                #stored::encode_tail(&self.#member, __out)
            }

            #[inline]
            fn decode(
                __head: &[#u8],
                __input: &mut _persist::codec::Decoder<'_>,
            ) -> #result<Self, _persist::codec::Fail> {
                #result::Ok(Self { #member: #stored::decode(__head, __input)?, #(#rest),* })
            }

            #[inline(always)]
            fn decode_fixed(__head: &[#u8], __bad: &mut #bool) -> Self {
                Self { #member: #stored::decode_fixed(__head, __bad), #(#rest),* }
            }

            #[inline]
            fn decode_into(
                &mut self,
                __head: &[#u8],
                __input: &mut _persist::codec::Decoder<'_>,
            ) -> #result<(), _persist::codec::Fail> {
                #stored::decode_into(&mut self.#member, __head, __input)
            }

            #[inline]
            fn decode_ordered(
                __order: _persist::codec::Order<'_>,
                __input: &mut _persist::codec::Decoder<'_>,
            ) -> #result<Self, _persist::codec::Fail> {
                #result::Ok(Self { #member: #stored::decode_ordered(__order, __input)?, #(#rest),* })
            }

            #[inline]
            fn decode_ordered_into(
                &mut self,
                __order: _persist::codec::Order<'_>,
                __input: &mut _persist::codec::Decoder<'_>,
            ) -> #result<(), _persist::codec::Fail> {
                #stored::decode_ordered_into(&mut self.#member, __order, __input)
            }

            fn visit(&mut self, __visitor: &mut _persist::codec::Visitor<'_>) -> _persist::Result<()> {
                #stored::visit(&mut self.#member, __visitor)
            }

            fn visit_shared(&self, __visitor: &mut _persist::codec::Visitor<'_>) -> _persist::Result<()> {
                #stored::visit_shared(&self.#member, __visitor)
            }
        },
    );
    let names = super::class::names(input, bounds);
    emit! { #persist #names #pointee }
}
