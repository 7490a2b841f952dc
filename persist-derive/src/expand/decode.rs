//! Bytes to values.

use proc_macro2::TokenStream;

use super::row::{self, Tag};
use super::{
    Access, adapter_of, adapter_read, build, call, container_default, field_default, passed, path,
    pod, row_call, tried,
};
use crate::ast::{Body, Field, Fields, Input, Store, Variant};

pub fn expand(input: &Input) -> TokenStream {
    let (body, fixed, into) = match &input.body {
        Body::Struct(fields) => {
            let container = container_default(input);
            let construct = |read: &dyn Fn(usize, &Field) -> TokenStream| {
                construct(&emit! { Self }, fields, container.as_ref(), read)
            };
            let value = construct(&|index, field| read(index, field, 0));
            let fails = fields.stored().next().map(|_| fails());
            let linear = emit! {
                let mut __segment = __head;
                #fails
                _Ok(#value)
            };
            // With a field that an adapter stores it is never fixed.
            let (body, fixed) = if fields.stored().any(|field| adapter_of(field).is_some()) {
                (linear, None)
            } else {
                let value = construct(&|_, field| {
                    call(field, &emit! { __get_fixed(&mut __segment, __bad) })
                });
                let fixed = emit! { let mut __segment = __head; #value };
                let body = emit! {
                    if <Self as _Persist>::__FIXED {
                        return _persist::checked(__head);
                    }
                    #linear
                };
                (body, Some(fixed))
            };
            (body, fixed, Some(into(fields)))
        }
        Body::Enum(variants) if row::with_fields(variants).next().is_none() => {
            (emit! { _persist::checked(__head) }, Some(unit_variant(variants)), None)
        }
        Body::Enum(variants) => (variant(variants), None, None),
    };
    let block = pod::block(input, "decode_fixed", &emit! { __head, __bad });
    let fixed = fixed.map(|fixed| {
        emit! {
            #[inline(always)]
            fn __decode_fixed(__head: &[_persist::u8], __bad: &mut _persist::bool) -> Self {
                #block
                #fixed
            }
        }
    });
    emit! {
        #[inline(never)]
        fn persist_decode(__input: &mut _persist::Decoder<'_>) -> _persist::Result<Self, _persist::Fail> {
            _persist::decode_row(__input)
        }

        #[inline(always)]
        fn __decode(
            __head: &[_persist::u8],
            __input: &mut _persist::Decoder<'_>,
        ) -> _persist::Result<Self, _persist::Fail> {
            #body
        }

        #fixed
        #into
    }
}

fn unit_variant(variants: &[Variant]) -> TokenStream {
    let tag = Tag::of(variants);
    let load = tag.load();
    let value = |variant: &Variant| {
        construct(&path(variant), &variant.fields, None, &|_, _| TokenStream::new())
    };
    let arms = variants.iter().enumerate().map(|(index, variant)| {
        let tag = tag.literal(index);
        let value = value(variant);
        emit! { #tag => #value, }
    });
    let first = value(&variants[0]);
    emit! {
        match #load {
            #(#arms)*
            _ => {
                *__bad = true;
                #first
            }
        }
    }
}

fn variant(variants: &[Variant]) -> TokenStream {
    let tag = Tag::of(variants);
    let load = tag.load();
    let arms = variants.iter().enumerate().map(|(index, variant)| {
        let tag = tag.literal(index);
        let value =
            construct(&path(variant), &variant.fields, None, &|i, field| read(i, field, index));
        let segment = variant.fields.stored().next().map(|_| {
            let layout = row::layout(index);
            let fails = fails();
            emit! {
                let mut __segment = __input.take(#layout.head)?;
                #fails
            }
        });
        emit! { #tag => { #segment _Ok(#value) } }
    });
    emit! {
        match #load {
            #(#arms)*
            _ => _Err(_persist::Fail::Value),
        }
    }
}

/// Where a field that is read leaves why it fails.
fn fails() -> TokenStream {
    emit! { let mut __fails = _persist::Fail::Value; }
}

/// Reads a stored field of a struct or variant.
fn read(index: usize, field: &Field, row: usize) -> TokenStream {
    if let Some(value) = adapter_read(field, (row, index), "get", &emit! { __input }) {
        return tried(&value);
    }
    let (row, index) = (row::nth(row), row::nth(index));
    let place = emit! { Self, #row, #index };
    let value = row_call(field, "__get", &place, &emit! { &mut __segment, __input, &mut __fails });
    emit! {
        match #value {
            _persist::Option::Some(__value) => __value,
            _persist::Option::None => return _Err(__fails),
        }
    }
}

/// A struct or variant of what is read for each stored field; the rest has its defaults.
fn construct(
    path: &TokenStream,
    fields: &Fields,
    container: Option<&TokenStream>,
    read: &dyn Fn(usize, &Field) -> TokenStream,
) -> TokenStream {
    let mut index = 0;
    let values = fields.0.iter().map(|field| {
        let value = match field.store {
            Store::Skip if field.inherits => None,
            Store::Skip => Some(field_default(field)),
            _ => {
                index += 1;
                Some(read(index - 1, field))
            }
        };
        (field, value)
    });
    build(path, values, container)
}

/// `__decode_into` and `__keep_skipped` of a struct: fields that are not stored stay as they are.
fn into(fields: &Fields) -> TokenStream {
    let reads = fields.stored().enumerate().map(|(index, field)| {
        let value = Access::Own.mutable(field);
        let get = adapter_read(field, (0, index), "get_into", &emit! { #value, __input })
            .unwrap_or_else(|| {
                let index = row::nth(index);
                let arguments = emit! { #value, &mut __segment, __input };
                row_call(field, "__get_into", &emit! { Self, #index }, &arguments)
            });
        passed(&get)
    });
    let kept = fields.0.iter().filter_map(|field| {
        let member = &field.member;
        match &field.store {
            Store::Plain => {
                let kept = emit! { __keep_skipped(&mut self.#member, &mut __old.#member) };
                let keep = call(field, &kept);
                Some(emit! { #keep; })
            }
            Store::Skip => Some(emit! { _persist::swap(&mut self.#member, &mut __old.#member); }),
            Store::With(_) => None,
        }
    });
    emit! {
        #[inline(never)]
        fn __keep_skipped(&mut self, __old: &mut Self) {
            #(#kept)*
        }

        #[inline(always)]
        fn __decode_into(
            &mut self,
            __head: &[_persist::u8],
            __input: &mut _persist::Decoder<'_>,
        ) -> _persist::Result<(), _persist::Fail> {
            let mut __segment = __head;
            #(#reads)*
            _Ok(())
        }
    }
}
