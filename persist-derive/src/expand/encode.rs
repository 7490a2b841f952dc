//! Emits the code that encodes values as bytes.

use proc_macro2::TokenStream;

use super::row::{self, Tag};
use super::{Access, adapter_call, passed, path, pattern, pod, row_call};
use crate::ast::{Body, Fields, Input, Variant};

pub fn expand(input: &Input) -> TokenStream {
    let (head, tail) = match &input.body {
        Body::Struct(fields) => of_struct(fields),
        Body::Enum(variants) => of_enum(variants),
    };
    let encode = |name: TokenStream, body: &TokenStream| {
        emit! {
            fn #name(&self, __out: &mut _persist::Encoder<'_>) -> _persist::Result<(), _persist::Stop> {
                #body
            }
        }
    };
    let whole = encode(emit! { persist_encode }, &emit! { _persist::encode_row(self, __out) });
    let tail = tail.map(|tail| {
        let tail = encode(emit! { __encode_tail }, &emit! { #tail _Ok(()) });
        emit! { #[inline(always)] #tail }
    });
    let block = pod::block(input, "encode_head", &emit! { self, __head });
    emit! {
        #whole

        #[inline(always)]
        fn __encode_head(&self, __head: &mut [_persist::u8]) {
            #block
            #head
        }

        #tail
    }
}

fn of_struct(fields: &Fields) -> (TokenStream, Option<TokenStream>) {
    let mut heads = TokenStream::new();
    let mut tails = TokenStream::new();
    for (index, field) in fields.stored().enumerate() {
        let value = Access::Own.shared(field);
        let rest = adapter_call(field, "put", &emit! { #value, __out }).unwrap_or_else(|| {
            let index = row::nth(index);
            let place = emit! { Self, #index };
            let head = row_call(field, "put_head", &place, &emit! { #value, &mut __segment });
            heads.extend(emit! { #head; });
            row_call(field, "put_rest", &place, &emit! { #value, &mut __segment, __out })
        });
        tails.extend(passed(&rest));
    }
    (
        emit! { let mut __segment = __head; #heads },
        Some(emit! { let mut __segment: &mut [_persist::u8] = &mut []; #tails }),
    )
}

fn of_enum(variants: &[Variant]) -> (TokenStream, Option<TokenStream>) {
    let tag = Tag::new(variants);
    let tags = variants.iter().enumerate().map(|(index, variant)| {
        let path = path(variant);
        let tag = tag.literal(index);
        emit! { #path { .. } => #tag, }
    });
    let head = tag.store(&emit! { match self { #(#tags)* } });
    let arms: Vec<_> = row::with_fields(variants)
        .map(|(index, variant)| {
            let head = row::head(index);
            let pattern = pattern(variant);
            let fields = fields(&variant.fields, index);
            emit! {
                #pattern => {
                    let mut __segment = __out.take(#head)?;
                    #fields
                }
            }
        })
        .collect();
    let tail = (!arms.is_empty()).then(|| emit! { match self { #(#arms)* _ => {} } });
    (head, tail)
}

/// Emits the code that writes the fields of a variant in order.
fn fields(fields: &Fields, variant: usize) -> TokenStream {
    let variant = row::nth(variant);
    let writes = fields.stored().enumerate().map(|(index, field)| {
        let value = Access::Matched.shared(field);
        let put = adapter_call(field, "put", &emit! { #value, __out }).unwrap_or_else(|| {
            let index = row::nth(index);
            let place = emit! { Self, #variant, #index };
            row_call(field, "put", &place, &emit! { #value, &mut __segment, __out })
        });
        passed(&put)
    });
    emit! { #(#writes)* }
}
