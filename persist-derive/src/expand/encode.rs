//! `encode_head` and `encode_tail`: values to bytes.

use proc_macro2::TokenStream;

use super::layout::{self, Tag};
use super::{Access, module_write, path, pattern, stored};
use crate::ast::{Body, Field, Fields, Input, Store, Variant};

pub fn expand(input: &Input) -> TokenStream {
    match &input.body {
        Body::Struct(fields) => of_struct(fields),
        Body::Enum(variants) => of_enum(variants),
    }
}

fn of_struct(fields: &Fields) -> TokenStream {
    let layout = layout::of_struct();
    let heads = fields.stored().enumerate().filter_map(|(index, field)| {
        if let Store::With(_) = field.store {
            return None;
        }
        let head = head(Access::Own, field);
        Some(if index == 0 {
            head
        } else {
            emit! { if const { #layout.first[#index] } { #head } }
        })
    });
    let heads = emit! { #(#heads)* };
    let tail = tail(fields, Access::Own, &layout, true);
    emit! {
        #[inline(always)]
        fn encode_head(&self, __head: &mut [_persist::__private::std::primitive::u8]) {
            let mut __segment = __head;
            #heads
        }

        #[inline(always)]
        fn encode_tail(
            &self,
            __out: &mut _persist::codec::Encoder<'_>,
        ) -> _persist::__private::std::result::Result<(), _persist::codec::Stop> {
            let mut __segment: &mut [_persist::__private::std::primitive::u8] = &mut [];
            #tail
            _persist::__private::std::result::Result::Ok(())
        }
    }
}

fn of_enum(variants: &[Variant]) -> TokenStream {
    let tag = Tag::of(variants);
    let tags = variants.iter().enumerate().map(|(index, variant)| {
        let path = path(variant);
        let tag = tag.literal(index);
        emit! { #path { .. } => #tag, }
    });
    let store = tag.store(&emit! { match self { #(#tags)* } });
    let arms = layout::with_fields(variants).map(|(index, variant)| {
        let layout = layout::of_variant(index);
        let pattern = pattern(variant);
        let tail = tail(&variant.fields, Access::Matched, &layout, false);
        emit! {
            #pattern => {
                let mut __segment = __out.take(const { #layout.head })?;
                #tail
            }
        }
    });
    let encode_tail = layout::with_fields(variants).next().map(|_| {
        emit! {
            #[inline]
            fn encode_tail(
                &self,
                __out: &mut _persist::codec::Encoder<'_>,
            ) -> _persist::__private::std::result::Result<(), _persist::codec::Stop> {
                match self {
                    #(#arms)*
                    _ => {}
                }
                _persist::__private::std::result::Result::Ok(())
            }
        }
    });
    emit! {
        #[inline(always)]
        fn encode_head(&self, __head: &mut [_persist::__private::std::primitive::u8]) {
            #store
        }

        #encode_tail
    }
}

/// Writes a field's head into the segment.
fn head(access: Access, field: &Field) -> TokenStream {
    let stored = stored(&field.ty);
    let value = access.shared(field);
    emit! { #stored::encode_head(#value, _persist::__private::cut_mut(&mut __segment, #stored::HEAD)); }
}

/// Writes the fields one after the other. Of a struct, the heads in the first
/// segment have been written.
fn tail(fields: &Fields, access: Access, layout: &TokenStream, first_done: bool) -> TokenStream {
    let mut result = TokenStream::new();
    for (index, field) in fields.stored().enumerate() {
        let value = access.shared(field);
        if let Store::With(module) = &field.store {
            let write = module_write(module, &value);
            result.extend(emit! { #write?; });
            continue;
        }
        if index > 0 {
            result.extend(begin(index, layout, &emit! { __out }));
        }
        let head = head(access, field);
        if !first_done {
            result.extend(head);
        } else if index > 0 {
            result.extend(emit! { if const { !#layout.first[#index] } { #head } });
        }
        let stored = stored(&field.ty);
        result.extend(emit! {
            if !#stored::FIXED {
                #stored::encode_tail(#value, __out)?;
            }
        });
    }
    result
}

/// Takes the segment that begins with field `index`, if one does, from
/// `cursor`: the encoder or the decoder.
pub(super) fn begin(index: usize, layout: &TokenStream, cursor: &TokenStream) -> TokenStream {
    emit! {
        if let _persist::__private::std::option::Option::Some(__bytes) = const { #layout.begins[#index] } {
            __segment = #cursor.take(__bytes)?;
        }
    }
}
