//! Rules for combinations of attributes, and for types that cannot be saved at all.

mod evolution;
mod save_as;
mod serde;

use std::collections::HashMap;

use proc_macro2::Span;
use quote::ToTokens as _;
use syn::{GenericArgument, GenericParam, PathArguments, Type};

use crate::ast::{
    self, Body, Container, Field, Fields, Given, Input, Shape, Store, Variant, is_persist, ungroup,
};
use crate::ctxt::Ctxt;

/// The maximum number of variants whose tag fits in two bytes.
const MAX_VARIANTS: usize = 1 << 16;

/// Notes every mistake.
pub fn check(cx: &Ctxt, input: &Input) {
    if let Some(owned) = &input.save_as {
        save_as::check(cx, input, owned);
        return;
    }
    borrowing(cx, input);
    serde::check(cx, input);
    if is_of_bitflags(input) {
        // All other mistakes are in the code of that macro.
        let ident = &input.ident;
        cx.error(ident.span(), format!("a derive inside `bitflags!` gets the `InternalBitFlags` of that macro, not the integer; remove `Persist` there and write `persist::bitflags!({ident}: u32);` after it, with their integer"));
        return;
    }
    if input.via.is_some() {
        via(cx, input);
        return;
    }
    version(cx, input);
    id_of_generic(cx, input);
    name_markers(cx, input);
    packed(cx, input);
    transparent(cx, input);
    pod(cx, input);
    compact(cx, input);
    skip_failed(cx, input);
    context(cx, input);
    container_default(cx, input);
    empty_of_enum(cx, input);
    evolution::check(cx, input);
    match &input.body {
        Body::Struct(fields) => field_names(cx, fields),
        Body::Enum(variants) => {
            count(cx, input, variants);
            variant_names(cx, variants);
            one_empty_variant(cx, input, variants);
            variants.iter().for_each(|variant| field_names(cx, &variant.fields));
        }
    }
    for field in input.all_fields() {
        skip(cx, field);
        hints(cx, field);
        if let Store::Plain = field.store {
            storable(cx, ungroup(&field.ty));
        }
    }
}

/// Versions are counted from 1. A class without a version has version 1.
fn version(cx: &Ctxt, input: &Input) {
    if let Some(Given { span, value: 0 }) = input.version {
        cx.error(span, "versions begin at 1, which is also the version of a type without one");
    }
    let version = input.version.as_ref().map_or(1, |given| given.value);
    match input.since {
        Some(Given { span, value: 0 }) => cx.error(
            span,
            "versions begin at 1, so that `since = 0` keeps no program out; write the lowest version that may read this one",
        ),
        Some(Given { span, value }) if value > version => cx.error(
            span,
            format!("the class has version {version}, and a program of it could not read its own saves; write `since = {version}` or less, or raise `version`"),
        ),
        _ => {}
    }
}

/// True for the struct around `<Flags as PublicFlags>::Internal` that `bitflags!` of version 2 generates.
fn is_of_bitflags(input: &Input) -> bool {
    input.all_fields().any(|field| match ungroup(&field.ty) {
        Type::Path(path) => {
            path.path.segments.iter().any(|segment| {
                segment.ident == "PublicFlags" || segment.ident == "InternalBitFlags"
            })
        }
        _ => false,
    })
}

/// Each instance of a generic type is a class, and one number cannot belong to several.
fn id_of_generic(cx: &Ctxt, input: &Input) {
    let Some(Given { span, .. }) = input.id else { return };
    if input.generics.type_params().next().is_some()
        || input.generics.const_params().next().is_some()
    {
        cx.error(span, "a generic type stands for many classes, which cannot share one `id`; remove it, the name with its arguments tells them apart");
    }
}

/// A type parameter shows in the class's name by its own class name, so its type must be one that can be saved.
fn name_markers(cx: &Ctxt, input: &Input) {
    let Some(Given { span, .. }) = input.name_markers else { return };
    if input.generics.type_params().next().is_none() {
        cx.error(span, "`name_markers` puts type parameters into the name of the class, and this type has none; remove it");
    }
    let Some(bound) = &input.bound else { return };
    for param in input.generics.type_params() {
        let name = &param.ident;
        if !bound.value.iter().any(|predicate| is_persist(predicate, name)) {
            cx.error(bound.span, format!("`name_markers` names the class with `{name}`, which needs `{name}: Persist` in `bound`; add it, or remove `bound`"));
        }
    }
}

/// Fields are read and written by reference, and references must be aligned.
fn packed(cx: &Ctxt, input: &Input) {
    if let Some(span) = input.packed {
        cx.error(
            span,
            "a packed type cannot be saved: its fields may lie unaligned; remove `packed`",
        );
    }
}

/// A loaded value has nothing to borrow from.
fn borrowing(cx: &Ctxt, input: &Input) {
    for param in &input.generics.params {
        if let GenericParam::Lifetime(param) = param {
            let lifetime = &param.lifetime;
            cx.error_over(
                lifetime,
                format!("a saved type owns its data and cannot borrow for `{lifetime}`; hold owned values, such as `String` for `&str`"),
            );
        }
    }
}

/// A transparent type is stored as its field, so it has neither a record nor hooks of its own.
fn transparent(cx: &Ctxt, input: &Input) {
    let Some(Given { span, .. }) = input.transparent else { return };
    for Given { span, value } in &input.class_only {
        cx.error(*span, format!("`{value}` means nothing on a transparent type, which is saved as its field; remove one of the two"));
    }
    let fields = match &input.body {
        Body::Struct(fields) => fields,
        Body::Enum(_) => {
            cx.error(span, "only a struct can be transparent; remove `transparent`");
            return;
        }
    };
    let mut stored = fields.stored();
    let Some(inner) = stored.next() else {
        cx.error(span, "a transparent type is saved as its one field, and this one has none; remove `transparent`");
        return;
    };
    for other in stored {
        cx.error(other.span(), "a transparent type has one field that is saved; mark the others `skip` or remove `transparent`");
    }
    for (name, span) in given(inner, &["rename", "alias", "default", "id", "convert", "unknown"]) {
        cx.error(span, format!("the field of a transparent type has no name in the save and is never missing; remove `{name}`"));
    }
    for (name, span) in given(inner, &HINTS) {
        cx.error(span, format!("editors show a transparent type as its field's type; put `{name}` on the fields of this type"));
    }
}

/// A context is only passed to functions of the type itself.
fn context(cx: &Ctxt, input: &Input) {
    let Some(Given { span, .. }) = &input.hooks.context else { return };
    // Types that are saved as another type cannot have a context, which is reported elsewhere.
    let is_other = input.transparent.is_some() || input.via.is_some();
    if !is_other && !input.hooks.any() && input.migration.is_none() {
        cx.error(*span, "`context` on a type is for its functions, and it has none; add `before_save`, `validate`, `after_load` or `migrate`, or remove `context`");
    }
}

/// A type with `via` is stored as another type. Its own fields are not stored.
fn via(cx: &Ctxt, input: &Input) {
    let transparent = input.transparent.as_ref().map(|given| ("transparent", given.span));
    let class_only = input.class_only.iter().map(|given| (given.value, given.span));
    if let Some(Given { span, .. }) = input.default {
        cx.error(span, "a type with `via` is saved as that other type, and has no fields that could be missing; put `default` there, or write `empty` for the value that a load fills");
    }
    for (value, span) in transparent.into_iter().chain(class_only) {
        cx.error(span, format!("`{value}` means nothing on a type with `via`, which is saved as that other type; put it there, or remove one of the two"));
    }
    for field in input.all_fields() {
        if let Some(span) = field.attribute {
            cx.error(span, "the fields of a type with `via` are not saved themselves; put the attribute on the type in `via`, or remove it");
        }
    }
}

/// The memory of a `pod` value is copied as it is, so it must have the stored fields and nothing else.
fn pod(cx: &Ctxt, input: &Input) {
    let Some(Given { span, .. }) = input.pod else { return };
    let Body::Struct(fields) = &input.body else {
        cx.error(
            span,
            "only a struct can be `pod`, since not all bytes are a variant; remove `pod`",
        );
        return;
    };
    if !input.generics.params.is_empty() {
        cx.error(span, "a generic type cannot be `pod`, since its memory depends on its parameters; remove `pod`");
    }
    if fields.0.is_empty() {
        cx.error(span, "a type without fields has no bytes to copy; remove `pod`");
    }
    for field in &fields.0 {
        for (name, span) in given(field, &["skip", "with", "convert", "unknown"]) {
            cx.error(span, format!("the fields of a `pod` type are saved as they lie in memory; remove `{name}`, or `pod` from the type"));
        }
    }
}

/// Only one attribute may say how a field is stored.
fn compact(cx: &Ctxt, input: &Input) {
    if let (Some(_), Some(given)) = (&input.pod, &input.compact) {
        cx.error(given.span, "a `pod` type is saved as it lies in memory, which is not compact; remove one of the two");
    }
    for field in input.all_fields() {
        let Some(span) = field.given("compact") else { continue };
        if let (true, Some(given)) = (input.pod.is_none(), field.adapter()) {
            let name = given.value.name;
            cx.error(
                span,
                format!("`{name}` says how the field is stored; remove `compact` or `{name}`"),
            );
            continue;
        }
        let why = if input.pod.is_some() {
            "a `pod` type is saved as it lies in memory, which is not compact; remove one of the two"
        } else if input.transparent.is_some() {
            "a transparent type is saved as its field's type is; put `compact` on the fields of this type"
        } else if field.unknown.is_some() {
            "unknown fields are kept as they are stored; remove `compact`"
        } else {
            continue;
        };
        cx.error(span, why);
    }
}

/// Only the elements of a container can be skipped.
fn skip_failed(cx: &Ctxt, input: &Input) {
    for field in input.all_fields() {
        let Some(Given { span, .. }) = field.skip_failed else { continue };
        let why = if input.transparent.is_some() || input.pod.is_some() {
            "a `transparent` or `pod` type has no elements of its own; put `skip_failed` on the field that has the container"
        } else if field.is_compact {
            "`compact` says how the field is stored; remove `compact` or `skip_failed`"
        } else if field.unknown.is_some() {
            "unknown fields are kept as they are stored; remove `skip_failed`"
        } else if field
            .adapter()
            .is_some_and(|given| !matches!(given.value.shape, Shape::Lift(Container::Path(_), _)))
        {
            "`skip_failed` is about the elements of a container; write `with` in the form of the field's type, such as `with = \"Vec<my_module>\"`"
        } else {
            continue;
        };
        cx.error(span, why);
    }
}

/// The default of a type is for its fields.
fn container_default(cx: &Ctxt, input: &Input) {
    let Some(Given { span, .. }) = input.default else { return };
    let why = match &input.body {
        Body::Enum(_) => {
            "`default` on a type gives the fields of a struct their defaults; in an enum write `#[persist(default)]` on the fields, and for its empty value `#[persist(empty)]` on a variant"
        }
        Body::Struct(fields) if fields.0.is_empty() => {
            "`default` on a type gives its fields their defaults, and this type has no fields; remove `default`"
        }
        Body::Struct(fields)
            if input.transparent.is_some()
                && !fields
                    .0
                    .iter()
                    .any(|field| field.inherits && field.given("skip").is_some()) =>
        {
            "the field of a transparent type is never missing, so `default` does nothing here; remove it, or write `empty` for the value that a load fills"
        }
        Body::Struct(_) => return,
    };
    cx.error(span, why);
}

/// The empty value of an enum is one of its variants.
fn empty_of_enum(cx: &Ctxt, input: &Input) {
    if let (Some(Given { span, .. }), Body::Enum(_)) = (&input.empty, &input.body) {
        cx.error(*span, "the empty value of an enum is one of its variants; put `#[persist(empty)]` on that variant");
    }
}

/// An enum needs a variant to have a value, and its tag has at most two bytes.
fn count(cx: &Ctxt, input: &Input, variants: &[Variant]) {
    if variants.is_empty() {
        cx.error(
            input.ident.span(),
            "an enum without variants has no value that could be saved; give it one",
        );
    }
    if variants.len() > MAX_VARIANTS {
        cx.error(
            input.ident.span(),
            format!(
                "an enum of {} variants cannot be saved; {MAX_VARIANTS} is the most",
                variants.len()
            ),
        );
    }
}

/// A load starts with an empty value, so an enum needs one.
fn one_empty_variant(cx: &Ctxt, input: &Input, variants: &[Variant]) {
    let mut chosen = variants.iter().filter_map(|variant| variant.chosen.as_ref());
    let _first = chosen.next();
    for given in chosen {
        cx.error(
            given.span,
            "only one variant can be the empty value; remove `empty` here or on the variant before",
        );
    }
    if !variants.is_empty() && ast::empty_variant(&input.ident, variants).is_none() {
        cx.error(
            input.ident.span(),
            format!("every variant holds another `{}`, so none can be empty; mark one with `#[persist(empty)]` whose fields can be", input.ident),
        );
    }
}

/// A field that is not saved has no name in the save and needs no module.
fn skip(cx: &Ctxt, field: &Field) {
    if field.given("skip").is_none() {
        return;
    }
    let reasons = [
        ("rename", "has no name there"),
        ("alias", "has no name there"),
        ("id", "has no number there"),
        ("convert", "has no older type"),
        ("unknown", "cannot hold what is"),
        ("compact", "takes no bytes"),
        ("skip_failed", "has no elements"),
        ("empty", "has what `default` gives it"),
        ("sample", "is in no sample"),
        ("with", "is not stored as another type"),
    ];
    for (name, why) in reasons {
        for (name, span) in given(field, &[name]) {
            cx.error(
                span,
                format!("a skipped field is not in the save and {why}; remove `{name}` or `skip`"),
            );
        }
    }
}

/// The attributes that are for editors.
const HINTS: [&str; 6] = ["label", "help", "range", "hidden", "read_only", "color"];

/// A hint must fit the type of its field.
fn hints(cx: &Ctxt, field: &Field) {
    if field.given("skip").is_some() {
        for (name, span) in given(field, &HINTS) {
            cx.error(span, format!("a skipped field is not shown by editors, which see what is saved; remove `{name}` or `skip`"));
        }
        return;
    }
    // The types that a module stores are not known here.
    let Store::Plain = field.store else { return };
    let Type::Path(path) = ungroup(&field.ty) else { return };
    let Some(ty) = path.path.get_ident() else { return };
    if let Some(Given { span, .. }) = field.hints.range
        && ["bool", "char", "String"].iter().any(|other| ty == other)
    {
        cx.error(
            span,
            format!(
                "`range` is for numbers, and for what holds some; `{ty}` has none, remove `range`"
            ),
        );
    }
    let colors = [
        "u8", "u16", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
        "f64", "bool", "char", "String",
    ];
    if let Some(Given { span, .. }) = field.hints.color
        && colors.iter().any(|other| ty == other)
    {
        cx.error(span, format!("`{ty}` is no colour; a colour is `[f32; 3]`, `[f32; 4]`, `[u8; 3]`, `[u8; 4]`, a `u32` of RGBA, or a struct with the fields `r`, `g`, `b` and perhaps `a`"));
    }
}

/// The attributes with these names that a field has, with their spans. `with` stands for all that store it as another
/// type.
fn given<'f>(
    field: &'f Field,
    names: &'f [&'static str],
) -> impl Iterator<Item = (&'static str, Span)> + 'f {
    names.iter().filter_map(|name| match (*name, field.adapter()) {
        ("with", adapter) => adapter.map(|given| (given.value.name, given.span)),
        (name, _) => Some((name, field.given(name)?)),
    })
}

fn field_names(cx: &Ctxt, fields: &Fields) {
    let names = fields.stored().filter(|field| field.given("skip").is_none());
    unique(cx, "fields", names.map(|field| (&field.name, &field.aliases)));
}

fn variant_names(cx: &Ctxt, variants: &[Variant]) {
    unique(cx, "variants", variants.iter().map(|variant| (&variant.name, &variant.aliases)));
}

/// A name in a save must belong to one field or variant.
fn unique<'a>(
    cx: &Ctxt,
    what: &str,
    named: impl Iterator<Item = (&'a Given<String>, &'a Vec<Given<String>>)>,
) {
    let mut owners = HashMap::new();
    for (owner, (name, aliases)) in named.enumerate() {
        for given in std::iter::once(name).chain(aliases) {
            let text = &given.value;
            let is_alias = !std::ptr::eq(given, name);
            match owners.insert(text, (owner, is_alias)) {
                Some((other, _)) if other == owner => {
                    cx.error(
                        given.span,
                        format!("the name \"{text}\" is given here twice; remove one"),
                    );
                }
                // Names that were swapped look like this: a save does not say which one it means by a name.
                Some((_, was_alias)) if is_alias || was_alias => {
                    cx.error(
                        given.span,
                        format!("two {what} have the name \"{text}\" in the save; remove the alias, and if the two were swapped, give the type a `version` and a `migrate` that swaps them"),
                    );
                }
                Some(_) => {
                    cx.error(
                        given.span,
                        format!("two {what} have the name \"{text}\" in the save; rename one"),
                    );
                }
                None => {}
            }
        }
    }
}

/// Reports types that no program can load, in plainer words than the compiler's.
fn storable(cx: &Ctxt, ty: &Type) {
    let why = match ty {
        Type::Reference(reference) => {
            let owned = match ungroup(&reference.elem) {
                Type::Path(path) if path.path.is_ident("str") => "String".to_owned(),
                Type::Slice(slice) => format!("Vec<{}>", slice.elem.to_token_stream()),
                other => other.to_token_stream().to_string(),
            };
            format!("a reference cannot be saved; own the data, as `{owned}`")
        }
        Type::Ptr(_) => {
            "a pointer cannot be saved, its address means nothing to the next run; own the data or share it as `Rc<RefCell<_>>`"
                .to_owned()
        }
        Type::BareFn(_) => {
            "a function cannot be saved, its address means nothing to the next run; save an enum that says which".to_owned()
        }
        Type::TraitObject(_) | Type::ImplTrait(_) => {
            "a value of unknown type cannot be saved; write an enum of the types it may have, or a `Box<dyn Trait>` of a `#[persist::dynamic]` trait".to_owned()
        }
        Type::Slice(slice) => format!("a slice has no size of its own; write `Vec<{}>`", slice.elem.to_token_stream()),
        Type::Path(path) if path.path.is_ident("str") => "a `str` has no size of its own; write `String`".to_owned(),
        _ => {
            let may_be_unsized = is_any(ty, &POINTERS);
            let inside = inside(ty).into_iter().map(ungroup);
            return inside
                .filter(|inner| !may_be_unsized || !is_unsized(inner))
                .for_each(|inner| storable(cx, inner));
        }
    };
    cx.error_over(ty, format!("{why}, or mark the field `skip` or `with = module`"));
}

/// Types of the standard library that store the values of their arguments.
///
/// In a type of the user, an argument may be a marker that is never stored.
const HOLDERS: [&str; 13] = [
    "Option",
    "Vec",
    "VecDeque",
    "LinkedList",
    "BinaryHeap",
    "HashMap",
    "BTreeMap",
    "HashSet",
    "BTreeSet",
    "Cell",
    "Result",
    "Rc",
    "RefCell",
];

/// The types in [`HOLDERS`] that may hold unsized values.
const POINTERS: [&str; 2] = ["Rc", "RefCell"];

fn is_any(ty: &Type, names: &[&str]) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| names.iter().any(|name| last.ident == name))
}

fn is_unsized(ty: &Type) -> bool {
    match ty {
        Type::TraitObject(_) | Type::Slice(_) => true,
        Type::Path(path) => path.path.is_ident("str"),
        _ => false,
    }
}

/// The types in a type that are certainly stored.
fn inside(ty: &Type) -> Vec<&Type> {
    match ty {
        Type::Tuple(tuple) => tuple.elems.iter().collect(),
        Type::Array(array) => vec![&array.elem],
        Type::Path(path) => match path.path.segments.last() {
            Some(segment) if HOLDERS.iter().any(|holder| segment.ident == holder) => {
                match &segment.arguments {
                    PathArguments::AngleBracketed(arguments) => arguments
                        .args
                        .iter()
                        .filter_map(|argument| match argument {
                            GenericArgument::Type(ty) => Some(ty),
                            _ => None,
                        })
                        .collect(),
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
