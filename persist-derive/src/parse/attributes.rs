//! The attributes of each place: type, field, variant, trait.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::{Attribute, ExprPath, LitStr, Path, Token, Type, WherePredicate};

use super::case::Case;
use super::items::{Item, items, once, options, text};
use super::shape;
use crate::ast::{Adapter, DefaultValue, Given, Migration};
use crate::ctxt::Ctxt;

/// The attributes of a struct or enum.
#[derive(Default)]
pub struct TypeAttributes {
    pub class: Option<Given<String>>,
    pub id: Option<Given<u64>>,
    pub version: Option<Given<u32>>,
    pub aliases: Vec<Given<String>>,
    pub removed: Vec<Given<String>>,
    pub rename_all: Option<Given<Case>>,
    pub transparent: Option<Given<()>>,
    pub via: Option<Given<Adapter>>,
    pub pod: Option<Given<()>>,
    pub component: Option<Given<()>>,
    pub compact: Option<Given<()>>,
    pub krate: Option<Given<Path>>,
    pub bound: Option<Given<Vec<WherePredicate>>>,
    pub default: Option<Given<DefaultValue>>,
    pub before_save: Option<Given<ExprPath>>,
    pub after_load: Option<Given<ExprPath>>,
    pub validate: Option<Given<ExprPath>>,
    pub migration: Option<Given<Migration>>,
    pub context: Option<Given<Type>>,
}

/// The attributes of a field.
#[derive(Default)]
pub struct FieldAttributes {
    pub first: Option<Span>,
    pub skip: Option<Given<()>>,
    pub default: Option<Given<DefaultValue>>,
    pub empty: Option<Given<DefaultValue>>,
    pub rename: Option<Given<String>>,
    pub aliases: Vec<Given<String>>,
    pub with: Option<Given<Adapter>>,
    pub with_iter: Option<Given<Adapter>>,
    pub serde: Option<Given<Adapter>>,
    pub via: Option<Given<Adapter>>,
    pub context: Option<Given<Type>>,
    pub id: Option<Given<u32>>,
    pub convert: Option<Given<ExprPath>>,
    pub unknown: Option<Given<()>>,
    pub compact: Option<Given<()>>,
}

/// The attributes of a variant.
#[derive(Default)]
pub struct VariantAttributes {
    pub rename: Option<Given<String>>,
    pub aliases: Vec<Given<String>>,
    pub removed: Vec<Given<String>>,
    pub default: Option<Given<()>>,
    pub other: Option<Given<()>>,
    pub rename_all: Option<Given<Case>>,
}

/// What stands in the parentheses of `#[persist::dynamic(...)]`.
#[derive(Default)]
pub struct TraitOptions {
    pub name: Option<Given<String>>,
    pub unknown: Option<Given<ExprPath>>,
    pub krate: Option<Given<Path>>,
}

impl TypeAttributes {
    pub fn parse(cx: &Ctxt, attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for item in &items(cx, attributes) {
            match &*item.name.to_string() {
                "class" => {
                    let name = item.save_name(cx, "\"quest.Hero\"");
                    once(cx, &mut found.class, item, name.map(|given| given.value));
                }
                "id" => once(cx, &mut found.id, item, item.integer(cx, "7")),
                "version" => once(cx, &mut found.version, item, item.integer(cx, "2")),
                "alias" => found.aliases.extend(item.save_name(cx, "\"old.Hero\"")),
                "removed" => found.removed.extend(item.save_name(cx, "\"old_name\"")),
                "rename_all" => once(cx, &mut found.rename_all, item, case(cx, item)),
                "transparent" => once(cx, &mut found.transparent, item, item.flag(cx)),
                "via" => once_at(cx, &mut found.via, item, shape::via(cx, item)),
                "pod" => once(cx, &mut found.pod, item, item.flag(cx)),
                "component" => once(cx, &mut found.component, item, item.flag(cx)),
                "compact" => once(cx, &mut found.compact, item, item.flag(cx)),
                "crate" => once(cx, &mut found.krate, item, module(cx, item, "my_engine::persist")),
                "bound" => once(cx, &mut found.bound, item, bound(cx, item)),
                "default" => once(cx, &mut found.default, item, default(cx, item)),
                "before_save" => {
                    once(cx, &mut found.before_save, item, item.path(cx, "Hero::tidy"));
                }
                "after_load" => once(cx, &mut found.after_load, item, item.path(cx, "Hero::wake")),
                "validate" => once(cx, &mut found.validate, item, item.path(cx, "Hero::check")),
                "migrate" => once(cx, &mut found.migration, item, item.migration(cx)),
                "context" => once(cx, &mut found.context, item, item.ty(cx, "a type", "Items")),
                _ => unknown(cx, item, Place::Type),
            }
        }
        found
    }

    /// The attributes that mean something only where there are field records.
    pub fn class_only(&self) -> Vec<Given<&'static str>> {
        [
            ("class", self.class.as_ref().map(|given| given.span)),
            ("id", self.id.as_ref().map(|given| given.span)),
            ("version", self.version.as_ref().map(|given| given.span)),
            ("alias", self.aliases.first().map(|given| given.span)),
            ("removed", self.removed.first().map(|given| given.span)),
            ("pod", self.pod.as_ref().map(|given| given.span)),
            ("component", self.component.as_ref().map(|given| given.span)),
            ("compact", self.compact.as_ref().map(|given| given.span)),
            ("rename_all", self.rename_all.as_ref().map(|given| given.span)),
            ("before_save", self.before_save.as_ref().map(|given| given.span)),
            ("after_load", self.after_load.as_ref().map(|given| given.span)),
            ("validate", self.validate.as_ref().map(|given| given.span)),
            ("migrate", self.migration.as_ref().map(|given| given.span)),
            ("context", self.context.as_ref().map(|given| given.span)),
        ]
        .into_iter()
        .filter_map(|(value, span)| Some(Given { span: span?, value }))
        .collect()
    }
}

impl FieldAttributes {
    pub fn parse(cx: &Ctxt, attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for item in &items(cx, attributes) {
            found.first.get_or_insert(item.span());
            match &*item.name.to_string() {
                "skip" => once(cx, &mut found.skip, item, item.flag(cx)),
                "default" => once(cx, &mut found.default, item, default(cx, item)),
                "empty" => once(cx, &mut found.empty, item, empty(cx, item)),
                "rename" => rename(cx, &mut found.rename, item),
                "alias" => found.aliases.extend(item.save_name(cx, "\"old_name\"")),
                "with" => once_at(cx, &mut found.with, item, shape::with(cx, item)),
                "with_iter" => once_at(cx, &mut found.with_iter, item, shape::with_iter(cx, item)),
                "serde" => once_at(cx, &mut found.serde, item, shape::serde(cx, item)),
                "via" => once_at(cx, &mut found.via, item, shape::via(cx, item)),
                "context" => once(cx, &mut found.context, item, item.ty(cx, "a type", "Items")),
                "id" => once(cx, &mut found.id, item, item.integer(cx, "7")),
                "convert" => once(cx, &mut found.convert, item, item.path(cx, "from_metres")),
                "unknown" => once(cx, &mut found.unknown, item, item.flag(cx)),
                "compact" => once(cx, &mut found.compact, item, item.flag(cx)),
                _ => unknown(cx, item, Place::Field),
            }
        }
        found
    }

    /// How the field is stored as another type: what one of several attributes says.
    pub fn adapter(&mut self, cx: &Ctxt) -> Option<Given<Adapter>> {
        let given = [self.with.take(), self.with_iter.take(), self.serde.take(), self.via.take()];
        let mut given = given.into_iter().flatten();
        let mut first = given.next();
        if let Some(Given { span, value: context }) = self.context.take() {
            let mut is_used = false;
            if let Some(adapter) = &mut first {
                adapter.value.modules(&mut |module| {
                    module.context = Some(Box::new(context.clone()));
                    is_used = true;
                });
            }
            if !is_used {
                cx.error(span, "`context` on a field is for the module that stores it; add `with = my_module`, or remove `context`");
            }
        }
        let first = first?;
        for other in given {
            let (first, other_name) = (first.value.name, other.value.name);
            cx.error(
                other.span,
                format!("a field is stored in one way; remove `{first}` or `{other_name}`"),
            );
        }
        Some(first)
    }
}

impl VariantAttributes {
    pub fn parse(cx: &Ctxt, attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for item in &items(cx, attributes) {
            match &*item.name.to_string() {
                "rename" => rename(cx, &mut found.rename, item),
                "alias" => found.aliases.extend(item.save_name(cx, "\"OldName\"")),
                "removed" => found.removed.extend(item.save_name(cx, "\"old_name\"")),
                "default" => once(cx, &mut found.default, item, item.flag(cx)),
                "other" => once(cx, &mut found.other, item, item.flag(cx)),
                "rename_all" => once(cx, &mut found.rename_all, item, case(cx, item)),
                _ => unknown(cx, item, Place::Variant),
            }
        }
        found
    }
}

impl TraitOptions {
    pub fn parse(cx: &Ctxt, tokens: TokenStream) -> Self {
        let mut found = Self::default();
        for item in &options(cx, tokens) {
            match &*item.name.to_string() {
                "name" => {
                    let name = item.save_name(cx, "\"quest.Item\"");
                    once(cx, &mut found.name, item, name.map(|given| given.value));
                }
                "unknown" => once(cx, &mut found.unknown, item, item.path(cx, "MissingItem")),
                "crate" => once(cx, &mut found.krate, item, module(cx, item, "my_engine::persist")),
                _ => unknown(cx, item, Place::Trait),
            }
        }
        found
    }
}

/// A value, or as in serde the path of a function in a string.
fn default(cx: &Ctxt, item: &Item) -> Option<DefaultValue> {
    let Some(value) = &item.value else { return Some(DefaultValue::Std) };
    let Some(text) = text(value) else {
        return Some(DefaultValue::Expr(Box::new(value.clone())));
    };
    match text.parse::<ExprPath>() {
        Ok(path) => Some(DefaultValue::Expr(Box::new(syn::parse_quote!(#path())))),
        Err(_) => {
            cx.error_over(text, format!("a string after `{}` is the path of a function, as in serde; write a value that is text as `{0} = {}.into()`", item.name, text.token()));
            None
        }
    }
}

/// The value that a load fills.
fn empty(cx: &Ctxt, item: &Item) -> Option<DefaultValue> {
    if item.value.is_none() {
        cx.error(item.span(), "`empty` needs a value; write `empty = Colour::WHITE`, or `default` for that of `Default`");
        return None;
    }
    default(cx, item)
}

/// A new name, whose span is the string's.
fn rename(cx: &Ctxt, place: &mut Option<Given<String>>, item: &Item) {
    once_at(cx, place, item, item.save_name(cx, "\"name\""));
}

/// Like [`once`], with a span of the value's own.
fn once_at<T>(cx: &Ctxt, place: &mut Option<Given<T>>, item: &Item, value: Option<Given<T>>) {
    let span = value.as_ref().map(|given| given.span);
    once(cx, place, item, value.map(|given| given.value));
    if let (Some(given), Some(span)) = (place, span) {
        given.span = span;
    }
}

fn case(cx: &Ctxt, item: &Item) -> Option<Case> {
    let text = item.text(cx, "\"camelCase\"")?;
    Case::parse(cx, &text.value(), &text)
}

pub fn module(cx: &Ctxt, item: &Item, example: &str) -> Option<Path> {
    let path = item.path(cx, example)?;
    if path.qself.is_some() {
        cx.error_over(&path, format!("expected a module; write `{} = {example}`", item.name));
        return None;
    }
    Some(path.path)
}

fn bound(cx: &Ctxt, item: &Item) -> Option<Vec<WherePredicate>> {
    let text: LitStr = item.text(cx, "\"T: Clone\"")?;
    let predicates = Punctuated::<WherePredicate, Token![,]>::parse_terminated;
    match text.parse_with(|input: syn::parse::ParseStream<'_>| predicates(input)) {
        Ok(predicates) => Some(predicates.into_iter().collect()),
        Err(error) => {
            cx.error_over(
                text.to_token_stream(),
                format!("not a where clause: {error}; write `bound = \"T: Clone\"`"),
            );
            None
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Type,
    Field,
    Variant,
    Trait,
}

/// Every attribute and where it may stand.
const PLACES: [(Place, &str, &[&str]); 4] = [
    (
        Place::Type,
        "a type",
        &[
            "class",
            "id",
            "version",
            "alias",
            "removed",
            "rename_all",
            "transparent",
            "via",
            "pod",
            "component",
            "compact",
            "crate",
            "bound",
            "default",
            "before_save",
            "after_load",
            "validate",
            "migrate",
            "context",
        ],
    ),
    (
        Place::Field,
        "a field",
        &[
            "skip",
            "default",
            "empty",
            "rename",
            "alias",
            "with",
            "with_iter",
            "serde",
            "via",
            "context",
            "id",
            "convert",
            "unknown",
            "compact",
        ],
    ),
    (
        Place::Variant,
        "a variant",
        &["rename", "alias", "removed", "default", "rename_all", "other"],
    ),
    (Place::Trait, "a trait", &["name", "unknown", "crate"]),
];

/// Reports an attribute that does not stand here, with the likeliest remedy.
fn unknown(cx: &Ctxt, item: &Item, place: Place) {
    let name = item.name.to_string();
    let mut elsewhere = Vec::new();
    let mut here = ("", &[] as &[&str]);
    for (other, described, known) in PLACES {
        if other == place {
            here = (described, known);
        } else if other != Place::Trait && known.contains(&&*name) {
            // A trait's are in another attribute, and nobody means those.
            elsewhere.push(described);
        }
    }
    let (here, known) = here;
    let what = if place == Place::Trait { "option" } else { "attribute" };
    let nearest = known.iter().map(|known| (distance(&name, known), *known)).min();
    let message = match (&*elsewhere, nearest) {
        ([_, ..], _) if place == Place::Type && name == "rename" => {
            "a type is renamed by `class = \"...\"`".to_owned()
        }
        ([_, ..], _) if place == Place::Trait && matches!(&*name, "class" | "rename") => {
            "a trait is renamed by `name = \"...\"`".to_owned()
        }
        ([], Some((distance, near))) if distance <= 1 + near.len() / 4 => {
            format!("unknown {what} `{name}`; did you mean `{near}`?")
        }
        ([], _) => format!("unknown {what} `{name}`; {here} takes `{}`", known.join("`, `")),
        ([first @ .., last], _) => {
            let first = first.join(", ");
            let or = if first.is_empty() { "" } else { " or " };
            format!("`{name}` belongs on {first}{or}{last}, not on {here}")
        }
    };
    cx.error(item.span(), message);
}

/// Letters to insert, remove or replace to get from one name to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}
