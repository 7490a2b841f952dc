//! The tables: `CLASS`, `FIELDS`, `VARIANTS`, and what names and reaches them.

use proc_macro2::TokenStream;
use quote::ToTokens as _;

use super::bounds::Bounds;
use super::convert::conversion;
use super::{migration, module_stored, stored};
use crate::ast::{Body, Field, Fields, Given, Input, Store, empty_variant};

/// `CLASS`, `FIELDS` and `VARIANTS`.
pub fn expand(input: &Input, bounds: &Bounds) -> TokenStream {
    let (body, fields, variants) = match &input.body {
        Body::Struct(fields) => (
            emit! { Struct(<Self as _persist::Reflect>::FIELDS) },
            records(fields, true, false),
            TokenStream::new(),
        ),
        Body::Enum(variants) => {
            let variants = variants.iter().map(|variant| {
                let name = &variant.name.value;
                let aliases = aliases(&variant.aliases);
                let other = variant.other.is_some();
                let fields = records(&variant.fields, false, other);
                emit! {
                    _persist::reflect::VariantRecord { name: #name, aliases: &[#aliases], fields: &[#fields], other: #other }
                }
            });
            (
                emit! { Enum(<Self as _persist::Reflect>::VARIANTS) },
                TokenStream::new(),
                emit! { #(#variants),* },
            )
        }
    };
    let name = &input.name;
    let arguments = (!bounds.arguments.is_empty()).then(|| {
        let arguments = &bounds.arguments;
        emit! { .arguments(const { &[#(#arguments),*] }) }
    });
    let id = input.id.as_ref().map(|given| given.value).map(|id| emit! { .id_number(#id) });
    let version =
        input.version.as_ref().map(|given| given.value).map(|version| emit! { .version(#version) });
    let aliases = (!input.aliases.is_empty()).then(|| {
        let aliases = aliases(&input.aliases);
        emit! { .aliases(&[#aliases]) }
    });
    let hooks = input.hooks.any().then(|| {
        let before = input.hooks.before_save.is_some();
        let after = input.hooks.after_load.is_some() || input.hooks.validate.is_some();
        emit! { .hooks(#before, #after) }
    });
    let migration = migration::expand(input);
    // Empty fields are what a class without a word about it has.
    let prototype = match (&input.default, &input.body) {
        (Some(_), _) => emit! { .prototype(_persist::reflect::Prototype::Own) },
        (None, Body::Struct(_)) => TokenStream::new(),
        (None, Body::Enum(variants)) => {
            let variant = empty_variant(&input.ident, variants).unwrap_or(0);
            emit! { .prototype(_persist::reflect::Prototype::Variant(#variant)) }
        }
    };
    emit! {
        const CLASS: &'static _persist::Class =
            &_persist::Class::new::<Self>(#name, _persist::reflect::Body::#body)
                #arguments #id #version #aliases #hooks #prototype #migration;
        const FIELDS: &'static [_persist::FieldRecord] = &[#fields];
        const VARIANTS: &'static [_persist::reflect::VariantRecord] = &[#variants];
    }
}

fn aliases(aliases: &[Given<String>]) -> TokenStream {
    let names = aliases.iter().map(|given| &given.value);
    emit! { #(#names),* }
}

fn records(fields: &Fields, in_struct: bool, other: bool) -> TokenStream {
    let records = fields.stored().map(|field| record(field, in_struct, other));
    emit! { #(#records),* }
}

fn record(field: &Field, in_struct: bool, other: bool) -> TokenStream {
    let Field { member, ty, .. } = field;
    let name = &field.name.value;
    // The offset of a variant's field cannot be asked for.
    let offset = if in_struct {
        emit! { Some(_persist::__private::std::mem::offset_of!(Self, #member)) }
    } else {
        emit! { None }
    };
    let kind = match &field.store {
        Store::With(module) => {
            let stored = module_stored(module);
            emit! { <#stored as _persist::Persist>::kind }
        }
        _ => {
            let stored = stored(ty);
            emit! { #stored::kind }
        }
    };
    let aliases = (!field.aliases.is_empty()).then(|| {
        let aliases = aliases(&field.aliases);
        emit! { .aliases(&[#aliases]) }
    });
    let default = field.has_default().then(|| emit! { .with_default() });
    let with = matches!(field.store, Store::With(_)).then(|| emit! { .with_module() });
    let id = field.id.as_ref().map(|given| given.value).map(|id| emit! { .id_number(#id) });
    let convert = conversion(field).map(|conversion| emit! { .converts(|| #conversion.kind()) });
    let unknown = (other || field.unknown.is_some()).then(|| emit! { .keeps_unknown() });
    emit! {
        _persist::FieldRecord::new::<#ty>(#name, _persist::__private::std::option::Option::#offset, #kind)
            #aliases #default #with #id #convert #unknown
    }
}

/// The table of what the program calls the fields of a struct, for `field!`.
pub fn names(input: &Input, bounds: &Bounds) -> Option<TokenStream> {
    let Body::Struct(fields) = &input.body else { return None };
    let rows = fields.0.iter().map(|field| {
        let member = field.member.to_token_stream().to_string();
        let name = &field.name.value;
        let step = match (&field.store, &input.transparent) {
            (Store::Skip, _) => emit! { Skipped },
            (_, Some(_)) => emit! { Here },
            (_, None) => emit! { Name(#name) },
        };
        emit! { (#member, _persist::__private::FieldStep::#step) }
    });
    let str = emit! { &'static _persist::__private::std::primitive::str };
    Some(bounds.implement(
        &emit! { _persist::__private::FieldNames },
        &emit! {
            const STEPS: &'static [(#str, _persist::__private::FieldStep)] = &[#(#rows),*];
        },
    ))
}

/// `kind`, `name`.
pub fn naming() -> TokenStream {
    emit! {
        fn kind() -> _persist::Kind {
            _persist::Kind::Class(|| <Self as _persist::Reflect>::CLASS)
        }

        fn name() -> _persist::__private::std::string::String {
            <Self as _persist::Reflect>::CLASS.name()
        }
    }
}

/// `reach`.
pub fn reach(input: &Input) -> TokenStream {
    let mut seen = Vec::new();
    let mut reached = TokenStream::new();
    for field in input.all_fields() {
        let key = match &field.store {
            Store::Skip => continue,
            Store::Plain => field.ty.to_token_stream().to_string(),
            Store::With(module) => format!("with {}", module.to_token_stream()),
        };
        // Once for each type; most structs have several fields of one.
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        reached.extend(match &field.store {
            Store::With(module) => {
                let stored = module_stored(module);
                emit! {
                    <#stored as _persist::Persist>::reach(__types);
                    __types.unvisited(
                        "stored through a `with` module",
                        <#stored as _persist::Persist>::kind,
                        <#stored as _persist::Persist>::name,
                    );
                }
            }
            _ => {
                let stored = stored(&field.ty);
                emit! { #stored::reach(__types); }
            }
        });
    }
    for conversion in input.all_fields().filter_map(conversion) {
        reached.extend(emit! { #conversion.reach(__types); });
    }
    emit! {
        fn reach(__types: &mut _persist::codec::TypeSet) {
            if __types.class::<Self>() {
                #reached
            }
        }
    }
}
