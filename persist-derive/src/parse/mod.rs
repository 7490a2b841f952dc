//! Converts syn's view of a type to the types in `ast`.

mod attributes;
mod case;
mod dynamic;
mod hints;
mod items;
mod serde;
mod shape;
mod written;

use proc_macro2::Span;
use quote::format_ident;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DeriveInput, Index, Member};

use self::attributes::{FieldAttributes, TypeAttributes, VariantAttributes};
use self::case::Case;
pub use self::dynamic::parse as parse_trait;
use self::items::{Item, items};
pub use self::written::ty as written;
use crate::ast::{Body, DefaultValue, Field, Fields, Given, Hooks, Input, Store, Variant};
use crate::ctxt::Ctxt;

/// Returns the type. `None` if it is of a kind that cannot derive.
pub fn parse(cx: &Ctxt, input: &DeriveInput) -> Option<Input> {
    let items = items(cx, &input.attrs);
    let (attributes, mut class_only) = TypeAttributes::parse(cx, &items);
    let others = ["transparent", "via", "crate", "bound", "default", "empty", "ignore_serde"];
    match &attributes.save_as {
        // Only these belong on the parts. All others belong on the struct that the parts are saved as.
        Some(_) => class_only
            .retain(|given| !["save_as", "crate", "bound", "ignore_serde"].contains(&given.value)),
        None => class_only.retain(|given| !others.contains(&given.value)),
    }
    let case = attributes.rename_all.as_ref().map(|given| given.value);
    let mut body = match &input.data {
        Data::Struct(data) => Body::Struct(fields(cx, &data.fields, case)),
        Data::Enum(data) => {
            Body::Enum(data.variants.iter().map(|it| variant(cx, it, case)).collect())
        }
        Data::Union(data) => {
            cx.error(
                data.union_token.span(),
                "a union cannot be saved: nobody knows which of its fields is in use; write an enum",
            );
            return None;
        }
    };
    if attributes.compact.is_some() {
        body.fields_mut().for_each(Field::compact);
    }
    if let (Some(_), Body::Struct(fields)) = (&attributes.default, &mut body) {
        for field in &mut fields.0 {
            field.inherits = field.default.is_none() && field.unknown.is_none();
        }
    }
    let (mut modules, mut texts) = (0, 0);
    for field in body.fields_mut() {
        for given in [&mut field.default, &mut field.empty].into_iter().flatten() {
            if let DefaultValue::Function { text: Some(index), .. } = &mut given.value {
                *index = texts;
                texts += 1;
            }
        }
        if let Store::With(adapter) = &mut field.store {
            adapter.value.modules(&mut |module| {
                module.index = modules;
                modules += 1;
            });
        }
    }
    Some(Input {
        ident: input.ident.clone(),
        generics: input.generics.clone(),
        class_only,
        name: attributes.class.map_or_else(|| input.ident.unraw().to_string(), |given| given.value),
        name_markers: attributes.name_markers,
        id: attributes.id,
        version: attributes.version,
        since: attributes.since,
        aliases: attributes.aliases,
        removed: attributes.removed,
        transparent: attributes.transparent,
        via: attributes.via,
        pod: attributes.pod,
        component: attributes.component,
        compact: attributes.compact,
        krate: attributes.krate,
        bound: attributes.bound,
        default: attributes.default,
        empty: attributes.empty,
        save_as: attributes.save_as,
        hooks: Hooks {
            before_save: attributes.before_save,
            after_load: attributes.after_load,
            validate: attributes.validate,
            context: attributes.context,
        },
        migration: attributes.migration,
        code: written::code(&items, &["migrate", "validate", "via"]),
        packed: packed(&input.attrs),
        serde: serde::items(&input.attrs),
        ignore_serde: attributes.ignore_serde,
        body,
    })
}

fn variant(cx: &Ctxt, input: &syn::Variant, case: Option<Case>) -> Variant {
    let (attributes, _) = VariantAttributes::parse(cx, &items(cx, &input.attrs));
    let own = input.ident.unraw().to_string();
    Variant {
        ident: input.ident.clone(),
        name: attributes.rename.unwrap_or_else(|| Given {
            span: input.ident.span(),
            value: case.map_or(own.clone(), |case| case.variant(&own)),
        }),
        aliases: attributes.aliases,
        removed: attributes.removed,
        chosen: attributes.empty,
        other: attributes.other,
        std_default: input.attrs.iter().any(|attribute| attribute.path().is_ident("default")),
        fields: fields(cx, &input.fields, attributes.rename_all.map(|given| given.value)),
    }
}

fn fields(cx: &Ctxt, input: &syn::Fields, case: Option<Case>) -> Fields {
    Fields(input.iter().enumerate().map(|(index, it)| field(cx, index, it, case)).collect())
}

fn field(cx: &Ctxt, index: usize, input: &syn::Field, case: Option<Case>) -> Field {
    let items = items(cx, &input.attrs);
    let (mut attributes, given) = FieldAttributes::parse(cx, &items);
    attributes::text_default(cx, "default", &mut attributes.default, &input.ty);
    attributes::text_default(cx, "empty", &mut attributes.empty, &input.ty);
    let (adapter, hints) = (attributes.adapter(cx), hints::hints(&mut attributes));
    let (member, own, span) = match &input.ident {
        Some(ident) => {
            let own = ident.unraw().to_string();
            let name = case.map_or(own.clone(), |case| case.field(&own));
            (Member::Named(ident.clone()), name, ident.span())
        }
        None => {
            // The span of the index must see the same names as the user's code.
            let index_member =
                Index { index: u32::try_from(index).unwrap_or(u32::MAX), span: Span::call_site() };
            (Member::Unnamed(index_member), index.to_string(), input.ty.span())
        }
    };
    Field {
        member,
        local: format_ident!("__{}", index, span = Span::mixed_site()),
        name: attributes.rename.unwrap_or(Given { span, value: own }),
        given,
        serde: serde::items(&input.attrs),
        aliases: attributes.aliases,
        ty: input.ty.clone(),
        written: written::field(input),
        code: written::code(&items, &["with", "with_iter", "serde", "via", "default"]),
        store: match (&attributes.skip, adapter) {
            (Some(_), None) => Store::Skip,
            (None, None) => Store::Plain,
            // With `skip` this is a mistake, which the check reports.
            (_, Some(adapter)) => Store::With(adapter),
        },
        attribute: items.first().map(Item::span),
        default: attributes.default,
        inherits: false,
        empty: attributes.empty,
        id: attributes.id,
        convert: attributes.convert,
        unknown: attributes.unknown,
        is_compact: attributes.compact.is_some(),
        sample: attributes.sample,
        skip_failed: attributes.skip_failed,
        hints,
    }
}

/// The span of `#[repr(packed)]`, if there is one.
fn packed(attributes: &[Attribute]) -> Option<Span> {
    let mut found = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        // Rustc reports mistakes in a `repr`.
        drop(attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("packed") {
                found = Some(meta.path.span());
            }
            if meta.input.peek(syn::token::Paren) {
                let _: proc_macro2::Group = meta.input.parse()?;
            }
            Ok(())
        }));
    }
    found
}
