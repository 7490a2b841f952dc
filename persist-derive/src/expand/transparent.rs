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
    let skipped = fields.0.iter().filter(|field| matches!(field.store, Store::Skip));
    let skipped = skipped.map(|field| &field.member);
    let prototype = prototype(input);
    let u8 = emit! { _persist::u8 };
    let usize = emit! { _persist::usize };
    let bool = emit! { _persist::bool };
    let result = emit! { _persist::Result };
    let pointee = super::pointee(bounds);
    let persist = bounds.implement(
        &emit! { _persist::Persist },
        &emit! {
            const __HEAD: #usize = #stored::__HEAD;
            const __FIXED: #bool = #stored::__FIXED;
            const __MIN: #usize = #stored::__MIN;
            const __LEAF: #bool = #stored::__LEAF;
            const __NULLABLE: #bool = #stored::__NULLABLE;
            const __COST: #usize = #stored::__COST;
            const __POD: #bool = #stored::__POD && _persist::size_of::<Self>() == #stored::__HEAD;
            const __COMPACT: #bool = #stored::__COMPACT;
            const __COMPACT_MIN: #usize = #stored::__COMPACT_MIN;

            fn __compact_kind() -> _persist::Kind {
                #stored::__compact_kind()
            }

            #[inline]
            fn __encode_compact(
                &self,
                __out: &mut _persist::Encoder<'_>,
            ) -> #result<(), _persist::Stop> {
                #stored::__encode_compact(&self.#member, __out)
            }

            #[inline]
            fn __decode_compact(
                __input: &mut _persist::Decoder<'_>,
            ) -> #result<Self, _persist::Fail> {
                #result::Ok(Self { #member: #stored::__decode_compact(__input)?, #(#rest),* })
            }

            fn persist_kind() -> _persist::Kind {
                #stored::persist_kind()
            }

            fn persist_name() -> _persist::String {
                #stored::persist_name()
            }

            fn __reach(__types: &mut _persist::TypeSet) {
                #stored::__reach(__types);
            }

            #prototype

            #[inline]
            fn persist_encode(&self, __out: &mut _persist::Encoder<'_>) -> #result<(), _persist::Stop> {
                _persist::encode_row(self, __out)
            }

            #[inline]
            fn persist_decode(__input: &mut _persist::Decoder<'_>) -> #result<Self, _persist::Fail> {
                _persist::decode_row(__input)
            }

            #[inline(always)]
            fn __encode_head(&self, __head: &mut [#u8]) {
                #stored::__encode_head(&self.#member, __head);
            }

            #[inline(always)]
            fn __encode_tail(
                &self,
                __out: &mut _persist::Encoder<'_>,
            ) -> #result<(), _persist::Stop> {
                #stored::__encode_tail(&self.#member, __out)
            }

            #[inline]
            fn __decode(
                __head: &[#u8],
                __input: &mut _persist::Decoder<'_>,
            ) -> #result<Self, _persist::Fail> {
                #result::Ok(Self { #member: #stored::__decode(__head, __input)?, #(#rest),* })
            }

            #[inline(always)]
            fn __decode_fixed(__head: &[#u8], __bad: &mut #bool) -> Self {
                Self { #member: #stored::__decode_fixed(__head, __bad), #(#rest),* }
            }

            #[inline]
            fn __decode_into(
                &mut self,
                __head: &[#u8],
                __input: &mut _persist::Decoder<'_>,
            ) -> #result<(), _persist::Fail> {
                #stored::__decode_into(&mut self.#member, __head, __input)
            }

            fn __keep_skipped(&mut self, __old: &mut Self) {
                #stored::__keep_skipped(&mut self.#member, &mut __old.#member);
                #(_persist::swap(&mut self.#skipped, &mut __old.#skipped);)*
            }

            fn __visit(&mut self, __visitor: &mut _persist::Visitor<'_>) -> #result<(), _persist::Error> {
                #stored::__visit(&mut self.#member, __visitor)
            }

            fn __visit_shared(&self, __visitor: &mut _persist::Visitor<'_>) -> #result<(), _persist::Error> {
                #stored::__visit_shared(&self.#member, __visitor)
            }
        },
    );
    let names = super::class::names(input, bounds);
    emit! { #persist #names #pointee }
}
