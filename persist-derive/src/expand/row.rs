//! The rows: the stored fields of a struct or of each variant, and the layout that follows from them.

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
                emit! { #stored::__FIELD.part() }
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

/// Emits the layout of the fields of a struct or a variant.
fn layout(index: usize) -> TokenStream {
    let index = nth(index);
    emit! { <Self as _persist::Row<#index>>::LAYOUT }
}

/// Emits the number of bytes of the first segment of a variant.
pub fn head(index: usize) -> TokenStream {
    let index = nth(index);
    emit! { <Self as _persist::Row<#index>>::HEAD }
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

/// Emits the layout of the type: the hidden constant of `Persist`.
pub fn type_layout(input: &Input) -> TokenStream {
    let layout = match &input.body {
        Body::Struct(_) => {
            let layout = layout(0);
            emit! { _persist::Layout::of_struct::<Self>(#layout) }
        }
        Body::Enum(variants) => {
            let bytes = Tag::new(variants).bytes();
            let layouts = with_fields(variants).map(|(index, _)| layout(index));
            emit! { _persist::Layout::of_enum::<Self>(#bytes, &[#(#layouts),*]) }
        }
    };
    let block = input.pod.is_some().then(|| emit! { .block() });
    let hooks = input.hooks.any().then(|| emit! { .with_hooks() });
    emit! { const __LAYOUT: _persist::Layout = #layout #block #hooks; }
}
