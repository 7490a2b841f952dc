//! `decode_ordered` and `decode_ordered_into`: values whose fields or variants stand in another
//! order.

use proc_macro2::TokenStream;

use super::decode::construct;
use super::layout::with_fields;
use super::{module_restore, path, stored};
use crate::ast::{Body, Fields, Input, Store};

pub fn expand(input: &Input) -> TokenStream {
    let result = emit! { _persist::__private::std::result::Result };
    let option = emit! { _persist::__private::std::option::Option };
    match &input.body {
        // One without fields has no order.
        Body::Struct(fields) if fields.stored().next().is_none() => TokenStream::new(),
        Body::Struct(fields) => {
            let read = read(&emit! { Self }, fields);
            let new = decode_ordered(&emit! {
                let #option::Some(__fields) = __order.fields()? else { return __input.value() };
                #read
            });
            emit! {
                #new

                fn decode_ordered_into(
                    &mut self,
                    __order: _persist::codec::Order<'_>,
                    __input: &mut _persist::codec::Decoder<'_>,
                ) -> #result<(), _persist::codec::Fail> {
                    match __order.fields()? {
                        #option::Some(__fields) => {
                            <Self as _persist::Reflect>::decode_fields(self, __fields, __input)
                        }
                        #option::None => __input.value_into(self),
                    }
                }
            }
        }
        Body::Enum(variants) => {
            let arms = with_fields(variants).map(|(index, variant)| {
                let read = read(&path(variant), &variant.fields);
                emit! { _persist::codec::Variant::Fields(#index, __fields) => { #read } }
            });
            decode_ordered(&emit! {
                match __order.variant(__input)? {
                    _persist::codec::Variant::Whole(__value) => #result::Ok(__value),
                    #(#arms)*
                    _persist::codec::Variant::Fields(..) => {
                        #result::Err(_persist::codec::Fail::Value)
                    }
                }
            })
        }
    }
}

fn decode_ordered(body: &TokenStream) -> TokenStream {
    emit! {
        #[inline]
        fn decode_ordered(
            __order: _persist::codec::Order<'_>,
            __input: &mut _persist::codec::Decoder<'_>,
        ) -> _persist::__private::std::result::Result<Self, _persist::codec::Fail> {
            #body
        }
    }
}

/// Reads the fields of `__fields` as they come, and makes the struct or variant of them.
fn read(path: &TokenStream, fields: &Fields) -> TokenStream {
    let option = emit! { _persist::__private::std::option::Option };
    let result = emit! { _persist::__private::std::result::Result };
    let locals: Vec<_> = fields.stored().map(|field| &field.local).collect();
    let arms = fields.stored().enumerate().map(|(index, field)| {
        let local = &field.local;
        if let Store::With(module) = &field.store {
            let restore = module_restore(module);
            return emit! { #index if __order.is_same() => #local = #option::Some(#restore?), };
        }
        let stored = stored(&field.ty);
        emit! { #index => #local = #option::Some(#stored::decode_ordered(__order, __input)?), }
    });
    let value = construct(path, fields);
    let fail = emit! { #result::Err(_persist::codec::Fail::Value) };
    emit! {
        #(let mut #locals = #option::None;)*
        for (__field, __order) in __fields {
            match __field {
                #(#arms)*
                _ => return #fail,
            }
        }
        match (#(#locals,)*) {
            (#(#option::Some(#locals),)*) => #result::Ok(#value),
            _ => #fail,
        }
    }
}
