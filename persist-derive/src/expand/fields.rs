//! The path by index: `variant` and the methods that reach one field.

use proc_macro2::TokenStream;

use super::{Access, field_default, module_restore, module_write, path, stored};
use crate::ast::{Body, Field, Fields, Input, Store};

pub fn expand(input: &Input) -> TokenStream {
    let usize = emit! { _persist::__private::std::primitive::usize };
    let result = emit! { _persist::__private::std::result::Result };
    let option = emit! { _persist::__private::std::option::Option };
    let any = emit! { dyn _persist::__private::std::any::Any };
    let none = emit! { #option::None };

    let variant = variant(input);
    let stop = emit! { #result::Err(__out.no_field()) };
    let encode = select(input, &stop, |field, access| {
        let value = access.shared(field);
        match &field.store {
            Store::With(module) => module_write(module, &value),
            _ => write(field, &value),
        }
    });
    let decode = decode_fields(input);
    let encode_default = encode_default(input, &stop);
    let field = select(input, &none, |field, access| {
        let value = access.shared(field);
        emit! { #option::Some(#value) }
    });
    let field_mut = select(input, &none, |field, access| {
        let value = access.mutable(field);
        emit! { #option::Some(#value) }
    });

    emit! {
        fn variant(&self) -> #usize {
            #variant
        }

        fn encode_field(
            &self,
            __field: #usize,
            __out: &mut _persist::codec::Encoder<'_>,
        ) -> #result<(), _persist::codec::Stop> {
            #encode
        }

        #decode

        fn encode_default(
            __variant: #usize,
            __field: #usize,
            __out: &mut _persist::codec::Encoder<'_>,
        ) -> #result<(), _persist::codec::Stop> {
            #encode_default
        }

        fn field(&self, __field: #usize) -> #option<&#any> {
            #field
        }

        fn field_mut(&mut self, __field: #usize) -> #option<&mut #any> {
            #field_mut
        }
    }
}

/// `decode_fields`, if there are any.
fn decode_fields(input: &Input) -> Option<TokenStream> {
    input.all_fields().find(|field| !matches!(field.store, Store::Skip))?;
    let result = emit! { _persist::__private::std::result::Result };
    let fail = emit! { return #result::Err(_persist::codec::Fail::Value) };
    // It is matched again for each field.
    let this = emit! { &mut *self };
    let select = select_in(input, &this, &fail, |field, access| match &field.store {
        Store::With(module) => {
            let restore = module_restore(module);
            let target = access.target(field);
            emit! {{
                if !__order.is_same() {
                    #fail;
                }
                #target = #restore?;
            }}
        }
        _ => {
            let value = access.mutable(field);
            let stored = stored(&field.ty);
            emit! { #stored::decode_ordered_into(#value, __order, __input)? }
        }
    });
    Some(emit! {
        fn decode_fields(
            &mut self,
            __fields: _persist::codec::OrderedFields<'_>,
            __input: &mut _persist::codec::Decoder<'_>,
        ) -> #result<(), _persist::codec::Fail> {
            for (__field, __order) in __fields {
                #select
            }
            #result::Ok(())
        }
    })
}

/// Writes a value whole. Not by `Encoder::value`: what is not `Persist` would
/// fail there once more, and the user should read of it once.
fn write(field: &Field, value: &TokenStream) -> TokenStream {
    let stored = stored(&field.ty);
    emit! {{
        #stored::encode_head(#value, __out.take(#stored::HEAD)?);
        #stored::encode_tail(#value, __out)
    }}
}

fn variant(input: &Input) -> TokenStream {
    let Body::Enum(variants) = &input.body else { return emit! { 0 } };
    let arms = variants.iter().enumerate().map(|(index, variant)| {
        let path = path(variant);
        emit! { #path { .. } => #index, }
    });
    emit! { match self { #(#arms)* } }
}

/// A match that does something with the field of index `__field`.
fn select(
    input: &Input,
    otherwise: &TokenStream,
    each: impl Fn(&Field, Access) -> TokenStream,
) -> TokenStream {
    select_in(input, &emit! { self }, otherwise, each)
}

/// The same, for a value that is not `self` itself.
fn select_in(
    input: &Input,
    this: &TokenStream,
    otherwise: &TokenStream,
    each: impl Fn(&Field, Access) -> TokenStream,
) -> TokenStream {
    match &input.body {
        Body::Struct(fields) => {
            let arms = fields.stored().enumerate().map(|(index, field)| {
                let done = each(field, Access::Own);
                emit! { #index => #done, }
            });
            emit! { match __field { #(#arms)* _ => #otherwise, } }
        }
        Body::Enum(variants) => {
            let mut arms = TokenStream::new();
            for variant in variants {
                let path = path(variant);
                for (index, field) in variant.fields.stored().enumerate() {
                    let Field { member, local, .. } = field;
                    let done = each(field, Access::Matched);
                    arms.extend(emit! { (#path { #member: #local, .. }, #index) => #done, });
                }
            }
            emit! { match (#this, __field) { #arms _ => #otherwise, } }
        }
    }
}

fn encode_default(input: &Input, stop: &TokenStream) -> TokenStream {
    let mut arms = TokenStream::new();
    let mut add = |variant: usize, fields: &Fields| {
        for (index, field) in fields.stored().enumerate().filter(|(_, field)| field.has_default()) {
            let ty = &field.ty;
            let default = field_default(field);
            let value = emit! { &__value };
            let write = match &field.store {
                Store::With(module) => module_write(module, &value),
                _ => write(field, &value),
            };
            arms.extend(emit! {
                (#variant, #index) => {
                    let __value: #ty = #default;
                    #write
                }
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
    emit! { match (__variant, __field) { #arms _ => #stop, } }
}
