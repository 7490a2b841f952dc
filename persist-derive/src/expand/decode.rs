//! `decode`, `decode_fixed` and `decode_into`: bytes to values.

use proc_macro2::TokenStream;

use super::encode::begin;
use super::layout::{self, Tag};
use super::{Access, field_default, module_restore, path, stored};
use crate::ast::{Body, Fields, Input, Store, Variant};

pub fn expand(input: &Input) -> TokenStream {
    match &input.body {
        Body::Struct(fields) => of_struct(fields),
        Body::Enum(variants) if layout::with_fields(variants).next().is_none() => {
            of_unit_enum(variants)
        }
        Body::Enum(variants) => of_enum(variants),
    }
}

fn of_struct(fields: &Fields) -> TokenStream {
    let layout = layout::of_struct();
    let read = read(fields, &layout);
    let value = construct(&emit! { Self }, fields);
    let linear = emit! {
        let mut __segment = __head;
        #read
        _persist::__private::std::result::Result::Ok(#value)
    };
    // With a `with` module it is never fixed.
    let (body, fixed) = if fields.any_with() {
        (linear, TokenStream::new())
    } else {
        let checked = checked();
        let read = fields.stored().map(|field| {
            let local = &field.local;
            let stored = stored(&field.ty);
            emit! {
                let #local = #stored::decode_fixed(
                    _persist::__private::cut(&mut __segment, #stored::HEAD),
                    __bad,
                );
            }
        });
        let fixed = decode_fixed(&emit! {
            let mut __segment = __head;
            #(#read)*
            #value
        });
        (emit! { if <Self as _persist::Persist>::FIXED { #checked } else { #linear } }, fixed)
    };
    let decode = decode(&body);
    let into = into(fields, &layout);
    emit! { #decode #fixed #into }
}

fn of_unit_enum(variants: &[Variant]) -> TokenStream {
    let decode = decode(&checked());
    let tag = Tag::of(variants);
    let load = tag.load();
    let arms = variants.iter().enumerate().map(|(index, variant)| {
        let tag = tag.literal(index);
        let value = construct(&path(variant), &variant.fields);
        emit! { #tag => #value, }
    });
    let first = construct(&path(&variants[0]), &variants[0].fields);
    let fixed = decode_fixed(&emit! {
        match #load {
            #(#arms)*
            _ => {
                *__bad = true;
                #first
            }
        }
    });
    emit! { #decode #fixed }
}

fn of_enum(variants: &[Variant]) -> TokenStream {
    let tag = Tag::of(variants);
    let load = tag.load();
    let arms = variants.iter().enumerate().map(|(index, variant)| {
        let tag = tag.literal(index);
        let value = construct(&path(variant), &variant.fields);
        let read = variant.fields.stored().next().map(|_| {
            let layout = layout::of_variant(index);
            let read = read(&variant.fields, &layout);
            emit! {
                let mut __segment = __input.take(const { #layout.head })?;
                #read
            }
        });
        emit! {
            #tag => {
                #read
                _persist::__private::std::result::Result::Ok(#value)
            }
        }
    });
    decode(&emit! {
        match #load {
            #(#arms)*
            _ => _persist::__private::std::result::Result::Err(_persist::codec::Fail::Value),
        }
    })
}

fn decode(body: &TokenStream) -> TokenStream {
    emit! {
        #[inline(always)]
        fn decode(
            __head: &[_persist::__private::std::primitive::u8],
            __input: &mut _persist::codec::Decoder<'_>,
        ) -> _persist::__private::std::result::Result<Self, _persist::codec::Fail> {
            #body
        }
    }
}

fn decode_fixed(body: &TokenStream) -> TokenStream {
    emit! {
        #[inline(always)]
        fn decode_fixed(
            __head: &[_persist::__private::std::primitive::u8],
            __bad: &mut _persist::__private::std::primitive::bool,
        ) -> Self {
            #body
        }
    }
}

/// The decode of what is all head.
fn checked() -> TokenStream {
    emit! {
        let mut __bad = false;
        let __value = <Self as _persist::Persist>::decode_fixed(__head, &mut __bad);
        if __bad {
            _persist::__private::std::result::Result::Err(_persist::codec::Fail::Value)
        } else {
            _persist::__private::std::result::Result::Ok(__value)
        }
    }
}

/// Reads the stored fields into their local variables.
fn read(fields: &Fields, layout: &TokenStream) -> TokenStream {
    let mut result = TokenStream::new();
    for (index, field) in fields.stored().enumerate() {
        let local = &field.local;
        if let Store::With(module) = &field.store {
            let restore = module_restore(module);
            let ty = &field.ty;
            result.extend(emit! { let #local: #ty = #restore?; });
            continue;
        }
        if index > 0 {
            result.extend(begin(index, layout, &emit! { __input }));
        }
        let stored = stored(&field.ty);
        result.extend(emit! {
            let #local = #stored::decode(
                _persist::__private::cut(&mut __segment, #stored::HEAD),
                __input,
            )?;
        });
    }
    result
}

/// The struct or variant of the local variables; the rest has its defaults.
pub fn construct(path: &TokenStream, fields: &Fields) -> TokenStream {
    let members = fields.0.iter().map(|field| {
        let member = &field.member;
        let value = match field.store {
            Store::Skip => field_default(field),
            _ => {
                let local = &field.local;
                emit! { #local }
            }
        };
        emit! { #member: #value }
    });
    emit! { #path { #(#members),* } }
}

/// `decode_into` of a struct: fields that are not stored stay as they are.
fn into(fields: &Fields, layout: &TokenStream) -> TokenStream {
    let mut read = TokenStream::new();
    for (index, field) in fields.stored().enumerate() {
        if let Store::With(module) = &field.store {
            let restore = module_restore(module);
            let target = Access::Own.target(field);
            read.extend(emit! { #target = #restore?; });
            continue;
        }
        if index > 0 {
            read.extend(begin(index, layout, &emit! { __input }));
        }
        let stored = stored(&field.ty);
        let value = Access::Own.mutable(field);
        read.extend(emit! {
            #stored::decode_into(
                #value,
                _persist::__private::cut(&mut __segment, #stored::HEAD),
                __input,
            )?;
        });
    }
    emit! {
        #[inline]
        fn decode_into(
            &mut self,
            __head: &[_persist::__private::std::primitive::u8],
            __input: &mut _persist::codec::Decoder<'_>,
        ) -> _persist::__private::std::result::Result<(), _persist::codec::Fail> {
            let mut __segment = __head;
            #read
            _persist::__private::std::result::Result::Ok(())
        }
    }
}
