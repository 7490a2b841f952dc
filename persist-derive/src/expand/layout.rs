//! The layouts: how the fields of the struct or of each variant share segments.

use proc_macro2::{Literal, TokenStream};
use quote::format_ident;

use super::bounds::Bounds;
use super::{module_stored, stored};
use crate::ast::{Body, Fields, Input, Store, Variant};

/// A private trait that holds the layouts: items of their own cannot mention
/// the type's parameters, and written in place they would be computed often.
pub fn expand(input: &Input, bounds: &Bounds) -> TokenStream {
    let mut declared = TokenStream::new();
    let mut computed = TokenStream::new();
    let mut add = |name: TokenStream, fields: &Fields| {
        let count = fields.stored().count();
        let parts = fields.stored().map(|field| match &field.store {
            Store::With(module) => {
                let stored = module_stored(module);
                emit! { _persist::__private::Part::with::<#stored>() }
            }
            _ => {
                let ty = stored(&field.ty);
                emit! { _persist::__private::Part::new(#ty::HEAD, #ty::FIXED, #ty::MIN, #ty::LEAF) }
            }
        });
        declared.extend(emit! { const #name: _persist::__private::Layout<#count>; });
        computed.extend(emit! {
            const #name: _persist::__private::Layout<#count> = _persist::__private::Layout::new([#(#parts),*]);
        });
    };
    match &input.body {
        Body::Struct(fields) => add(emit! { FIELDS }, fields),
        Body::Enum(variants) => {
            for (index, variant) in with_fields(variants) {
                add(variant_const(index), &variant.fields);
            }
        }
    }
    if declared.is_empty() {
        return declared;
    }
    let computed = bounds.implement(&emit! { __Layouts }, &computed);
    emit! {
        trait __Layouts { #declared }
        #computed
    }
}

/// The layout of a struct.
pub fn of_struct() -> TokenStream {
    emit! { <Self as __Layouts>::FIELDS }
}

/// The layout of a variant.
pub fn of_variant(index: usize) -> TokenStream {
    let name = variant_const(index);
    emit! { <Self as __Layouts>::#name }
}

fn variant_const(index: usize) -> TokenStream {
    let name = format_ident!("V{}", index);
    emit! { #name }
}

/// The variants that have anything to store, with their indices.
pub fn with_fields(variants: &[Variant]) -> impl Iterator<Item = (usize, &Variant)> {
    variants.iter().enumerate().filter(|(_, variant)| variant.fields.stored().next().is_some())
}

/// How the tag of an enum is stored.
pub struct Tag {
    wide: bool,
}

impl Tag {
    pub fn of(variants: &[Variant]) -> Self {
        Self { wide: variants.len() > 256 }
    }

    pub fn bytes(&self) -> usize {
        if self.wide { 2 } else { 1 }
    }

    /// The tag of a variant; there are at most as many as it has values.
    pub fn literal(&self, index: usize) -> Literal {
        match u8::try_from(index) {
            Ok(index) if !self.wide => Literal::u8_suffixed(index),
            _ => Literal::u16_suffixed(u16::try_from(index).unwrap_or(u16::MAX)),
        }
    }

    /// Writes a tag into `__head`.
    pub fn store(&self, tag: &TokenStream) -> TokenStream {
        if self.wide {
            emit! { __head.copy_from_slice(&(#tag).to_le_bytes()); }
        } else {
            emit! { __head[0] = #tag; }
        }
    }

    /// The tag in `__head`.
    pub fn load(&self) -> TokenStream {
        if self.wide {
            emit! { _persist::__private::std::primitive::u16::from_le_bytes([__head[0], __head[1]]) }
        } else {
            emit! { __head[0] }
        }
    }
}

/// `HEAD`, `FIXED`, `MIN` and `LEAF`.
pub fn consts(input: &Input) -> TokenStream {
    let hooks = input.hooks.any();
    let usize = emit! { _persist::__private::std::primitive::usize };
    let bool = emit! { _persist::__private::std::primitive::bool };
    match &input.body {
        Body::Struct(_) => {
            let layout = of_struct();
            let leaf = if hooks {
                emit! { false }
            } else {
                emit! { #layout.leaf }
            };
            emit! {
                const HEAD: #usize = #layout.head;
                const FIXED: #bool = #layout.fixed;
                const MIN: #usize = #layout.min;
                const LEAF: #bool = #leaf;
            }
        }
        Body::Enum(variants) => {
            let bytes = Tag::of(variants).bytes();
            let layouts: Vec<_> =
                with_fields(variants).map(|(index, _)| of_variant(index)).collect();
            let fixed = layouts.is_empty();
            let leaf = match (hooks, fixed) {
                (true, _) => emit! { false },
                (false, true) => emit! { true },
                (false, false) => emit! { #(#layouts.leaf)&&* },
            };
            emit! {
                const HEAD: #usize = #bytes;
                const FIXED: #bool = #fixed;
                const MIN: #usize = #bytes;
                const LEAF: #bool = #leaf;
            }
        }
    }
}
