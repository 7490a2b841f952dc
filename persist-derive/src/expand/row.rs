//! The rows: the stored fields of a struct or of each variant, and the constants that follow from them.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::ToTokens as _;

use super::bounds::Bounds;
use super::{adapter_of, stored};
use crate::ast::{Body, Fields, Input, Variant};

/// Emits a `Row` for a struct, or for each variant that has stored fields.
pub fn expand(input: &Input, bounds: &Bounds) -> TokenStream {
    let row = |index: usize, fields: &Fields| {
        let index = nth(index);
        let parts = fields.stored().map(|field| match adapter_of(field) {
            Some(adapter) => emit! { #adapter::PART },
            None => {
                let stored = stored(&field.ty);
                emit! { #stored::__PART }
            }
        });
        bounds.implement(
            &emit! { _persist::Row<#index> },
            &emit! { const PARTS: &'static [_persist::FieldCodec] = &[#(#parts),*]; },
        )
    };
    let is_row =
        |fields: &Fields| matches!(input.body, Body::Struct(_)) || fields.stored().next().is_some();
    let rows = input.body.rows().into_iter().enumerate();
    rows.filter(|(_, fields)| is_row(fields)).map(|(index, fields)| row(index, fields)).collect()
}

/// Emits the layout of a struct or a variant.
pub fn layout(index: usize) -> TokenStream {
    let index = nth(index);
    emit! { <Self as _persist::Row<#index>>::LAYOUT }
}

/// Emits the type that stands for an index. Indices above 63 have no short name in the library.
pub fn nth(index: usize) -> TokenStream {
    if index < 64 {
        Ident::new(&format!("_{index}"), Span::mixed_site()).into_token_stream()
    } else {
        emit! { _persist::Nth<#index> }
    }
}

/// Emits the table of all rows, by the index of the variant.
pub fn all(input: &Input) -> TokenStream {
    let part = |index: usize| {
        let index = nth(index);
        emit! { <Self as _persist::Row<#index>>::PARTS }
    };
    let parts: Vec<TokenStream> = match &input.body {
        Body::Struct(_) => vec![part(0)],
        Body::Enum(variants) if with_fields(variants).next().is_none() => Vec::new(),
        Body::Enum(variants) => {
            let row = |(index, variant): (usize, &Variant)| match stores(variant) {
                true => part(index),
                false => emit! { &[] },
            };
            variants.iter().enumerate().map(row).collect()
        }
    };
    emit! { const __ROWS: &'static [&'static [_persist::FieldCodec]] = &[#(#parts),*]; }
}

/// The variants that have stored fields, with their indices.
pub fn with_fields(variants: &[Variant]) -> impl Iterator<Item = (usize, &Variant)> {
    variants.iter().enumerate().filter(|(_, variant)| stores(variant))
}

fn stores(variant: &Variant) -> bool {
    variant.fields.stored().next().is_some()
}

/// How the tag of an enum is stored.
pub struct Tag {
    wide: bool,
}

impl Tag {
    pub fn new(variants: &[Variant]) -> Self {
        Self { wide: variants.len() > 256 }
    }

    pub fn bytes(&self) -> usize {
        if self.wide { 2 } else { 1 }
    }

    /// The tag of a variant. There are at most as many variants as values.
    pub fn literal(&self, index: usize) -> Literal {
        match u8::try_from(index) {
            Ok(index) if !self.wide => Literal::u8_suffixed(index),
            _ => Literal::u16_suffixed(u16::try_from(index).unwrap_or(u16::MAX)),
        }
    }

    /// Emits the code that writes a tag into `__head`.
    pub fn store(&self, tag: &TokenStream) -> TokenStream {
        if self.wide {
            emit! { __head.copy_from_slice(&(#tag).to_le_bytes()); }
        } else {
            emit! { __head[0] = #tag; }
        }
    }

    /// Emits the code that reads the tag in `__head`.
    pub fn load(&self) -> TokenStream {
        if self.wide {
            emit! { _persist::u16::from_le_bytes([__head[0], __head[1]]) }
        } else {
            emit! { __head[0] }
        }
    }
}

/// Emits the hidden constants of `Persist`.
pub fn consts(input: &Input) -> TokenStream {
    let hooks = input.hooks.any();
    let (head, fixed, min, leaf, cost) = match &input.body {
        Body::Struct(_) => {
            let layout = layout(0);
            (
                emit! { #layout.head },
                emit! { #layout.fixed },
                emit! { #layout.min },
                emit! { #layout.leaf },
                // A value that is copied as one block costs as much as a number.
                if input.pod.is_some() {
                    emit! { 1 }
                } else {
                    emit! { 1 + #layout.cost }
                },
            )
        }
        Body::Enum(variants) => {
            let bytes = Tag::new(variants).bytes();
            let layouts: Vec<_> = with_fields(variants).map(|(index, _)| layout(index)).collect();
            let fixed = layouts.is_empty();
            (
                emit! { #bytes },
                emit! { #fixed },
                emit! { #bytes },
                emit! { true #(&& #layouts.leaf)* },
                emit! { 2 #(+ 1 + #layouts.cost)* },
            )
        }
    };
    let on_stack = match &input.body {
        Body::Struct(_) => vec![layout(0)],
        Body::Enum(variants) => with_fields(variants).map(|(index, _)| layout(index)).collect(),
    };
    let on_stack = on_stack.split_first().map(|(first, others)| {
        emit! {
            const __ON_STACK: _persist::usize =
                _persist::on_stack::<Self>(&[#first.on_stack #(, #others.on_stack)*]);
        }
    });
    let leaf = if hooks {
        emit! { false }
    } else {
        leaf
    };
    emit! {
        const __HEAD: _persist::usize = #head;
        const __FIXED: _persist::bool = #fixed;
        const __MIN: _persist::usize = #min;
        const __LEAF: _persist::bool = #leaf;
        const __COST: _persist::usize = #cost;
        #on_stack
    }
}
