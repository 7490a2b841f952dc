//! The path by index: the variant, and one field of a value.

use proc_macro2::TokenStream;

use super::convert::conversion;
use super::{Access, call, field_default, module_restore, module_write, path, stored};
use crate::ast::{Body, Field, Fields, Input, Store};

pub fn expand(input: &Input) -> TokenStream {
    let variant = variant(input);
    let field = select(input, |field, access| reference(field, &access.shared(field), "FieldRef"));
    let field_mut =
        select(input, |field, access| reference(field, &access.mutable(field), "FieldMut"));
    let make = make(input);
    emit! {
        #variant

        fn persist_field(&self, __field: _persist::usize) -> _persist::Option<_persist::FieldRef<'_>> {
            #field
        }

        fn persist_field_mut(
            &mut self,
            __field: _persist::usize,
        ) -> _persist::Option<_persist::FieldMut<'_>> {
            #field_mut
        }

        #make
    }
}

/// A `FieldRef` or `FieldMut`.
fn reference(field: &Field, value: &TokenStream, to: &str) -> TokenStream {
    let Store::With(module) = &field.store else {
        let method = if to == "FieldRef" {
            emit! { __field }
        } else {
            emit! { __field_mut }
        };
        return call(field, &emit! { #method(#value) });
    };
    let to = quote::format_ident!("{to}");
    let ty = &field.ty;
    let write = module_write(module, &emit! { __value });
    let restore = module_restore(module);
    emit! {
        _persist::#to::with(
            #value,
            const {
                &_persist::FieldAccess::with(
                    |__value, __out| match __value.downcast_ref::<#ty>() {
                        _persist::Option::Some(__value) => #write,
                        _persist::Option::None => _persist::Result::Err(__out.no_field()),
                    },
                    |__value, __input| match __value.downcast_mut::<#ty>() {
                        _persist::Option::Some(__value) => {
                            *__value = #restore?;
                            _persist::Result::Ok(())
                        }
                        _persist::Option::None => {
                            _persist::Result::Err(_persist::Fail::Value)
                        }
                    },
                )
            },
        )
    }
}

/// `persist_variant` of an enum; a struct has the trait's.
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

/// A match that makes something of the field of index `__field`, or `None`.
fn select(input: &Input, each: impl Fn(&Field, Access) -> TokenStream) -> TokenStream {
    let mut arms = TokenStream::new();
    let on = match &input.body {
        Body::Struct(fields) => {
            for (index, field) in fields.stored().enumerate() {
                let each = each(field, Access::Own);
                arms.extend(emit! { #index => #each, });
            }
            emit! { __field }
        }
        Body::Enum(variants) => {
            for variant in variants {
                let path = path(variant);
                for (index, field) in variant.fields.stored().enumerate() {
                    let Field { member, local, .. } = field;
                    let each = each(field, Access::Matched);
                    arms.extend(emit! { (#path { #member: #local, .. }, #index) => #each, });
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

/// `persist_make_field`, where a field has a default or a `convert`; the trait knows what to do else.
fn make(input: &Input) -> Option<TokenStream> {
    let mut arms = TokenStream::new();
    let mut add = |variant: usize, fields: &Fields| {
        for (index, field) in fields.stored().enumerate() {
            if field.has_default() {
                let ty = &field.ty;
                let default = field_default(field);
                let value = emit! { &__value };
                let write = match &field.store {
                    Store::With(module) => module_write(module, &value),
                    _ => {
                        let stored = stored(&field.ty);
                        emit! { #stored::persist_encode(#value, __out) }
                    }
                };
                arms.extend(emit! {
                    (#variant, #index, _persist::Option::None) => {
                        let __value: #ty = #default;
                        #write
                    }
                });
            }
            if let Some(conversion) = conversion(field) {
                arms.extend(emit! {
                    (#variant, #index, _persist::Option::Some(__input)) => #conversion.run(
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
    match &input.body {
        Body::Struct(fields) => add(0, fields),
        Body::Enum(variants) => {
            for (index, variant) in variants.iter().enumerate() {
                add(index, &variant.fields);
            }
        }
    }
    if arms.is_empty() {
        return None;
    }
    Some(emit! {
        fn persist_make_field(
            __variant: _persist::usize,
            __field: _persist::usize,
            __from: _persist::Option<&mut _persist::Decoder<'_>>,
            __out: &mut _persist::Encoder<'_>,
        ) -> _persist::Result<(), _persist::Stop> {
            match (__variant, __field, __from) {
                #arms
                _ => _persist::Result::Err(__out.no_field()),
            }
        }
    })
}
