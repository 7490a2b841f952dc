//! The tables `CLASS`, `FIELDS` and `VARIANTS`, and the functions that name and reach fields.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, Type};

use super::bounds::Bounds;
use super::convert::conversions;
use super::{adapter_of, migration, stored};
use crate::ast::{Body, Field, Fields, Given, Hints, Input, Store, empty_variant};

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
                let aliases = names_of(&variant.aliases);
                let other = variant.other.is_some();
                let fields = records(&variant.fields, false, other);
                let removed = names_of(&variant.removed);
                emit! {
                    _persist::VariantRecord { name: #name, aliases: &[#aliases], fields: &[#fields], other: #other, removed: &[#removed] }
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
    let since = input.since.as_ref().map(|given| given.value).map(|since| emit! { .since(#since) });
    let aliases = named(&emit! { aliases }, &input.aliases);
    let removed = named(&emit! { removed }, &input.removed);
    let written: Vec<&str> =
        input.all_fields().filter(|it| it.is_stored()).map(|it| &*it.written).collect();
    let written = (!written.is_empty()).then(|| emit! { .written(&[#(#written),*]) });
    let code = code(input);
    let hooks = input.hooks.any().then(|| {
        let before_save = input.hooks.before_save.is_some();
        let validate = input.hooks.validate.is_some();
        let after = input.hooks.after_load.is_some() || validate;
        emit! { .hooks(#before_save, #after, #validate) }
    });
    let migration = migration::expand(input);
    // A class that does not say anything about its empty value has empty fields.
    let is_own = input.empty.is_some() || input.default.is_some();
    let prototype = match &input.body {
        _ if is_own => emit! { .prototype(_persist::Prototype::Own) },
        Body::Struct(_) => TokenStream::new(),
        Body::Enum(variants) => {
            let variant = empty_variant(&input.ident, variants).unwrap_or(0);
            emit! { .prototype(_persist::Prototype::Variant(#variant)) }
        }
    };
    emit! {
        const CLASS: &'static _persist::Class =
            &_persist::Class::new::<Self>(#name, _persist::Body::#body)
                #arguments #id #version #since #aliases #removed #written #code #hooks #prototype #migration;
        const FIELDS: &'static [_persist::FieldRecord] = &[#fields];
        const VARIANTS: &'static [_persist::VariantRecord] = &[#variants];
    }
}

/// Sets the code that attributes apply to values: that of the class at index 0, those of the stored fields from 1 on.
fn code(input: &Input) -> Option<TokenStream> {
    let fields = input.all_fields().filter(|field| field.is_stored()).map(|field| &field.code);
    let each = [&input.code].into_iter().chain(fields).enumerate();
    let pairs: Vec<_> = each.flat_map(|(of, code)| code.iter().map(move |it| (of, it))).collect();
    let pairs_of = pairs.iter().map(|(of, text)| emit! { (#of, #text) });
    (!pairs.is_empty()).then(|| emit! { .code(&[#(#pairs_of),*]) })
}

/// Sets a list of names, unless it is empty.
fn named(setter: &TokenStream, names: &[Given<String>]) -> Option<TokenStream> {
    let list = names_of(names);
    (!names.is_empty()).then(|| emit! { .#setter(&[#list]) })
}

fn names_of(names: &[Given<String>]) -> TokenStream {
    let names = names.iter().map(|given| &given.value);
    emit! { #(#names),* }
}

fn records(fields: &Fields, in_struct: bool, other: bool) -> TokenStream {
    let records = fields.stored().map(|field| record(field, in_struct, other));
    emit! { #(#records),* }
}

fn record(field: &Field, in_struct: bool, other: bool) -> TokenStream {
    let Field { member, ty, .. } = field;
    let name = &field.name.value;
    // Rust has no `offset_of!` for fields of a variant.
    let offset = if in_struct {
        emit! { Some(_persist::offset_of!(Self, #member)) }
    } else {
        emit! { None }
    };
    let kind = adapter_of(field).map(|adapter| emit! { #adapter::kind }).unwrap_or_else(|| {
        let stored = stored(ty);
        emit! { #stored::persist_kind }
    });
    let aliases = named(&emit! { aliases }, &field.aliases);
    let default = field.has_default().then(|| emit! { .with_default() });
    let with = matches!(field.store, Store::With(_)).then(|| emit! { .with_module() });
    let is_plain = matches!(field.store, Store::Plain) && field.unknown.is_none();
    let type_code = (is_plain && may_have_code(ty)).then(|| {
        let stored = stored(ty);
        emit! { .type_code(#stored::__CODE) }
    });
    let empty = field.empty.as_ref().map(|_| emit! { .with_empty() });
    let id = field.id.as_ref().map(|given| given.value).map(|id| emit! { .id_number(#id) });
    let old_kinds: Vec<_> = conversions(field)
        .map(|conversion| {
            let version = match conversion.version {
                Some(version) => emit! { _persist::Option::Some(#version) },
                None => emit! { _persist::Option::None },
            };
            let function = match conversion.function {
                Some(function) => emit! { _persist::Option::Some(#function) },
                None => emit! { _persist::Option::None },
            };
            let kind = conversion.kind;
            emit! { _persist::OldKind::new(#version, #kind, #function) }
        })
        .collect();
    let convert =
        (!old_kinds.is_empty()).then(|| emit! { .converts(const { &[#(#old_kinds),*] }) });
    let hints = hints(&field.hints);
    let skips = field.skip_failed.as_ref().map(|_| emit! { .skips_failed() });
    let new = if other || field.unknown.is_some() {
        // A type other than `Unknown` fails with the span of that type.
        let span = ty.span().resolved_at(Span::mixed_site());
        quote_spanned! {span=> keeping::<#ty> }
    } else {
        emit! { new::<#ty> }
    };
    emit! {
        _persist::FieldRecord::#new(#name, _persist::Option::#offset, #kind)
            #aliases #default #with #type_code #empty #id #convert #skips #hints
    }
}

/// False for a type that is composed of types of the standard library which are stored as themselves.
fn may_have_code(ty: &Type) -> bool {
    const OWN: [&str; 31] = [
        "bool",
        "char",
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "f32",
        "f64",
        "usize",
        "isize",
        "str",
        "String",
        "Option",
        "Box",
        "Vec",
        "VecDeque",
        "LinkedList",
        "HashMap",
        "HashSet",
        "BTreeMap",
        "BTreeSet",
        "std",
        "collections",
        "string",
        "vec",
    ];
    fn has_other(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => has_other(group.stream()),
            TokenTree::Ident(ident) => !OWN.iter().any(|own| ident == own),
            _ => false,
        })
    }
    has_other(ty.to_token_stream())
}

/// Sets how editors show a field, if it has attributes for that.
fn hints(hints: &Hints) -> Option<TokenStream> {
    let label = hints.label.as_ref().map(|Given { value, .. }| emit! { .label(#value) });
    let help = hints.help.as_ref().map(|Given { value, .. }| emit! { .help(#value) });
    let range = hints.range.as_ref().map(|Given { value: range, .. }| {
        let start = end(range.start.as_ref(), &emit! { NEG_INFINITY });
        let end = end(range.end.as_ref(), &emit! { INFINITY });
        emit! { .with_range(#start, #end) }
    });
    let hidden = hints.hidden.as_ref().map(|_| emit! { .hidden() });
    let read_only = hints.read_only.as_ref().map(|_| emit! { .read_only() });
    let color = hints.color.as_ref().map(|_| emit! { .color() });
    let all: TokenStream =
        [label, help, range, hidden, read_only, color].into_iter().flatten().collect();
    (!all.is_empty()).then(|| emit! { .hints(const { &_persist::EditorHints::new() #all }) })
}

fn end(end: Option<&(Expr, Option<f64>)>, open: &TokenStream) -> TokenStream {
    match end {
        None => emit! { _persist::f64::#open },
        Some((literal, Some(_))) => emit! { #literal },
        Some((expr, None)) => emit! { (#expr) as _persist::f64 },
    }
}

/// Emits the table of the names that the program gives the fields of a struct, for `field!`.
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
        emit! { (#member, _persist::FieldStep::#step) }
    });
    let str = emit! { &'static _persist::str };
    Some(bounds.implement(
        &emit! { _persist::FieldNames },
        &emit! {
            const STEPS: &'static [(#str, _persist::FieldStep)] = &[#(#rows),*];
        },
    ))
}

/// Emits `persist_kind`.
pub fn kind() -> TokenStream {
    emit! {
        fn persist_kind() -> _persist::Kind {
            _persist::kind_of_class::<Self>()
        }
    }
}
