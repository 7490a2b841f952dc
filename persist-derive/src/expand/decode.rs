//! Emits the code that decodes values from bytes.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident};

use super::row::{self, Tag};
use super::{
    Access, adapter_of, adapter_read, build, call, call_of, container_default, field_default,
    passed, path, pod, row_call, tried,
};
use crate::ast::{Body, Field, Fields, Input, Store, Variant};

pub fn expand(input: &Input) -> TokenStream {
    let (body, fixed, into) = match &input.body {
        Body::Struct(fields) => {
            let container = container_default(input);
            let construct =
                |read: &ReadField<'_>| construct(&emit! { Self }, fields, container.as_ref(), read);
            let value = construct(&|index, field, may_lack| match may_lack {
                false => read(index, field, 0),
                true => read_if_stored(index, field),
            });
            let fails = fields.stored().next().map(|_| fails());
            let linear = emit! {
                let mut __segment = __head;
                #fails
                _Ok(#value)
            };
            // With a field that an adapter stores, the size is never fixed.
            let (body, fixed) = if fields.stored().any(|field| adapter_of(field).is_some()) {
                (linear, None)
            } else {
                let value = construct(&|_, field, _| {
                    call(field, &emit! { get_fixed(&mut __segment, __bad) })
                });
                let fixed = emit! { let mut __segment = __head; #value };
                let body = emit! {
                    if const { <Self as _Persist>::__LAYOUT.fixed } {
                        return _persist::checked(__head);
                    }
                    #linear
                };
                (body, Some(fixed))
            };
            let boxed = fields.stored().next().map(|_| {
                let body = boxed(&emit! { Self }, fields, container.as_ref(), 0);
                decode_boxed(&emit! { let mut __segment = __head; #body })
            });
            let into = into(fields, container.as_ref());
            (body, fixed, Some(emit! { #boxed #into }))
        }
        Body::Enum(variants) if row::with_fields(variants).next().is_none() => {
            (emit! { _persist::checked(__head) }, Some(unit_variant(variants)), None)
        }
        Body::Enum(variants) => {
            let (body, boxed) = variant(variants);
            (body, None, Some(decode_boxed(&boxed)))
        }
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
    let tag = Tag::new(variants);
    let load = tag.load();
    let value = |variant: &Variant| {
        construct(&path(variant), &variant.fields, None, &|_, _, _| TokenStream::new())
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

/// Emits the code that reads an enum, and the code that reads one too large for the stack into a box.
fn variant(variants: &[Variant]) -> (TokenStream, TokenStream) {
    let tag = Tag::new(variants);
    let load = tag.load();
    let arms = variants.iter().enumerate().map(|(index, variant)| {
        let tag = tag.literal(index);
        let value =
            construct(&path(variant), &variant.fields, None, &|i, field, _| read(i, field, index));
        let segment = variant.fields.stored().next().map(|_| {
            let head = row::head(index);
            let fails = fails();
            emit! {
                let mut __segment = __input.take(#head)?;
                #fails
            }
        });
        emit! { #tag => { #segment _Ok(#value) } }
    });
    let boxes = variants.iter().enumerate().map(|(index, variant)| {
        let tag = tag.literal(index);
        let value = boxed(&path(variant), &variant.fields, None, index);
        let segment = variant.fields.stored().next().map(|_| {
            let head = row::head(index);
            emit! { let mut __segment = __input.take(#head)?; }
        });
        emit! { #tag => { #segment #value } }
    });
    let by_tag = |arms: &[TokenStream]| {
        emit! {
            match #load {
                #(#arms)*
                _ => _Err(_persist::Fail::Value),
            }
        }
    };
    (by_tag(&arms.collect::<Vec<_>>()), by_tag(&boxes.collect::<Vec<_>>()))
}

/// Emits a local variable for the reason why a field fails.
fn fails() -> TokenStream {
    emit! { let mut __fails = _persist::Fail::Value; }
}

/// Emits the code that reads a stored field of a struct or variant.
fn read(index: usize, field: &Field, row: usize) -> TokenStream {
    if let Some(value) = adapter_read(field, row, index, "get", &emit! { __input }) {
        let value = tried(&value);
        return match is_missing(index, field, row) {
            Some(is_missing) if !field.inherits => {
                let (ty, default) = (&field.ty, field_default(field));
                emit! { if #is_missing { let __default: #ty = #default; __default } else { #value } }
            }
            _ => value,
        };
    }
    let (row, index) = (row::nth(row), row::nth(index));
    let place = emit! { Self, #row, #index };
    let value = row_call(field, "get", &place, &emit! { &mut __segment, __input, &mut __fails });
    emit! {
        match #value {
            _persist::Option::Some(__value) => __value,
            _persist::Option::None => return _Err(__fails),
        }
    }
}

/// Emits the code that reads a field into an `Option`. If the save does not have the field, it is `None`, and the field
/// keeps its value in the struct's default.
fn read_if_stored(index: usize, field: &Field) -> TokenStream {
    let value = read(index, field, 0);
    match is_missing(index, field, 0) {
        Some(is_missing) => emit! {
            if #is_missing { _persist::Option::None } else { _persist::Option::Some(#value) }
        },
        None => emit! { _persist::Option::Some(#value) },
    }
}

/// Emits a check that the save does not have a field which is stored as another type.
///
/// The default of such a field is used as it is: its adapter might refuse it or change it. `None` for all other fields.
fn is_missing(index: usize, field: &Field, row: usize) -> Option<TokenStream> {
    (field.adapter().is_some() && field.has_default())
        .then(|| emit! { _persist::with::is_missing::<Self>(__input, #row, #index) })
}

/// Emits how a stored field is read, by its index. With true, an `Option` of it, for a struct with a default.
type ReadField<'r> = dyn Fn(usize, &Field, bool) -> TokenStream + 'r;

/// True if a field of a struct with a default may be missing. The default then has its value.
fn may_lack(field: &Field, container: Option<&TokenStream>) -> bool {
    container.is_some() && field.inherits && field.adapter().is_some()
}

/// Emits a struct or variant with the value that is read for each stored field. All others have their defaults.
fn construct(
    path: &TokenStream,
    fields: &Fields,
    container: Option<&TokenStream>,
    read: &ReadField<'_>,
) -> TokenStream {
    if let Some(whole) = container
        && fields.stored().any(|field| may_lack(field, container))
    {
        return construct_in_steps(path, fields, whole, read);
    }
    let mut index = 0;
    let values = fields.0.iter().map(|field| {
        let value = match field.store {
            Store::Skip if field.inherits => None,
            Store::Skip => Some(field_default(field)),
            _ => {
                index += 1;
                Some(read(index - 1, field, false))
            }
        };
        (field, value)
    });
    build(path, values, container)
}

/// Like [`construct`], for a struct with a default for fields that are missing.
///
/// The default is only evaluated if a field is missing.
fn construct_in_steps(
    path: &TokenStream,
    fields: &Fields,
    container: &TokenStream,
    read: &ReadField<'_>,
) -> TokenStream {
    let optional = |field: &Field| may_lack(field, Some(container));
    let reads = fields.stored().enumerate().map(|(index, field)| {
        let (local, value) = (&field.local, read(index, field, optional(field)));
        emit! { let #local = #value; }
    });
    let assigned = fields.0.iter().map(|field| {
        let Field { member, local, .. } = field;
        match field.store {
            Store::Skip if field.inherits => TokenStream::new(),
            Store::Skip => {
                let default = field_default(field);
                emit! { __whole.#member = #default; }
            }
            _ if optional(field) => emit! {
                if let _persist::Option::Some(__value) = #local { __whole.#member = __value; }
            },
            _ => emit! { __whole.#member = #local; },
        }
    });
    let in_default = emit! {
        let mut __whole: Self = #container;
        #(#assigned)*
        __whole
    };
    if fields.0.iter().any(|field| field.inherits && !field.is_stored()) {
        return emit! { { #(#reads)* #in_default } };
    }
    let optionals: Vec<_> = fields.stored().filter(|it| optional(it)).map(|it| &it.local).collect();
    let values = fields.0.iter().map(|field| match field.store {
        Store::Skip => (field, Some(field_default(field))),
        _ => (field, Some(field.local.to_token_stream())),
    });
    let whole = build(path, values, None);
    emit! {
        {
            #(#reads)*
            match (#(#optionals,)*) {
                (#(_persist::Option::Some(#optionals),)*) => #whole,
                (#(#optionals,)*) => { #in_default }
            }
        }
    }
}

/// The name of the box of a field while the other fields are read.
pub fn boxed_local(index: usize) -> Ident {
    format_ident!("__boxed_{index}", span = Span::mixed_site())
}

/// Emits the code that reads a struct or variant into a box.
///
/// Each field is read into a box of its own, and moved from there once no other value is to be read.
fn boxed(
    path: &TokenStream,
    fields: &Fields,
    container: Option<&TokenStream>,
    row: usize,
) -> TokenStream {
    let reads = fields.stored().enumerate().map(|(index, field)| {
        let value = match adapter_read(field, row, index, "get", &emit! { __input }) {
            Some(value) => emit! { _persist::out_of_line(|| _persist::boxed(#value)) },
            None => {
                let (row, nth) = (row::nth(row), row::nth(index));
                let place = emit! { Self, #row, #nth };
                row_call(field, "get_boxed", &place, &emit! { &mut __segment, __input })
            }
        };
        let (local, value) = (boxed_local(index), tried(&value));
        match is_missing(index, field, row) {
            Some(is_missing) if may_lack(field, container) => emit! {
                let #local = if #is_missing { _persist::Option::None } else { _persist::Option::Some(#value) };
            },
            Some(is_missing) if !field.inherits => {
                let (ty, default) = (&field.ty, field_default(field));
                emit! {
                    let #local: _persist::Box<#ty> = if #is_missing {
                        _persist::out_of_line(|| _persist::Box::new(#default))
                    } else {
                        #value
                    };
                }
            }
            _ => emit! { let #local = #value; },
        }
    });
    let reads: Vec<_> = reads.collect();
    let value = construct(path, fields, container, &|index, _, may_lack| {
        let local = boxed_local(index);
        if may_lack {
            emit! { #local.map(|__boxed| *__boxed) }
        } else {
            emit! { *#local }
        }
    });
    emit! {
        #(#reads)*
        _Ok(_persist::out_of_line(|| _persist::Box::new(#value)))
    }
}

/// Emits `__decode_boxed` with this body.
fn decode_boxed(body: &TokenStream) -> TokenStream {
    emit! {
        #[inline]
        fn __decode_boxed(
            __head: &[_persist::u8],
            __input: &mut _persist::Decoder<'_>,
        ) -> _persist::Result<_persist::Box<Self>, _persist::Fail> {
            #body
        }
    }
}

/// Emits `__decode_into` and `__keep_skipped` of a struct. Fields that are not stored keep their values.
fn into(fields: &Fields, container: Option<&TokenStream>) -> TokenStream {
    let reads = fields.stored().enumerate().map(|(index, field)| {
        let (value, member) = (Access::Own.mutable(field), &field.member);
        let is_missing = is_missing(index, field, 0).map(|is_missing| {
            let default = match container.filter(|_| field.inherits) {
                Some(container) => emit! {
                    let mut __whole: Self = #container;
                    _persist::swap(&mut self.#member, &mut __whole.#member);
                },
                None => {
                    let default = field_default(field);
                    emit! { self.#member = #default; }
                }
            };
            emit! { if #is_missing { #default } else }
        });
        let get = adapter_read(field, 0, index, "get_into", &emit! { #value, __input })
            .unwrap_or_else(|| {
                let index = row::nth(index);
                let arguments = emit! { #value, &mut __segment, __input };
                row_call(field, "get_into", &emit! { Self, #index }, &arguments)
            });
        let get = passed(&get);
        match is_missing {
            Some(is_missing) => emit! { #is_missing { #get } },
            None => get,
        }
    });
    let skipped = fields.0.iter().filter_map(|field| {
        let member = &field.member;
        match &field.store {
            Store::Plain => {
                let skipped = emit! { __keep_skipped(&mut self.#member, &mut __old.#member) };
                let keep = call_of(field, &skipped);
                Some(emit! { #keep; })
            }
            Store::Skip => Some(emit! { _persist::swap(&mut self.#member, &mut __old.#member); }),
            Store::With(_) => None,
        }
    });
    emit! {
        #[inline(never)]
        fn __keep_skipped(&mut self, __old: &mut Self) {
            #(#skipped)*
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
