//! The attributes of types, fields, variants and traits.

use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::{ExprPath, GenericArgument, LitStr, Path, PathArguments, Token, Type, WherePredicate};

use super::case::Case;
use super::items::{Item, text};
use super::{hints, shape};
use crate::ast::{
    Adapter, Convert, DefaultValue, Given, Step, ValueRange, ungroup as ungroup_type,
};
use crate::ctxt::Ctxt;

/// A place that stores the value of an attribute.
trait Slot<V> {
    fn fill(&mut self, cx: &Ctxt, item: &Item, value: Option<V>);
}

/// The attribute may occur once.
impl<T> Slot<T> for Option<Given<T>> {
    fn fill(&mut self, cx: &Ctxt, item: &Item, value: Option<T>) {
        if self.is_some() {
            cx.error(item.span(), format!("`{}` stands here twice; remove one", item.name));
        } else if let Some(value) = value {
            *self = Some(Given { span: item.span(), value });
        }
    }
}

/// The attribute may occur once, and its value has a span of its own.
impl<T> Slot<Given<T>> for Option<Given<T>> {
    fn fill(&mut self, cx: &Ctxt, item: &Item, value: Option<Given<T>>) {
        let span = value.as_ref().map(|given| given.span);
        self.fill(cx, item, value.map(|given| given.value));
        if let (Some(given), Some(span)) = (self, span) {
            given.span = span;
        }
    }
}

impl<T> Slot<Given<T>> for Vec<Given<T>> {
    fn fill(&mut self, _: &Ctxt, _: &Item, value: Option<Given<T>>) {
        self.extend(value);
    }
}

/// Defines the attributes of a place: their names, the fields that store them, and how they are read.
macro_rules! attributes {
    ($(#[$doc:meta])* $of:ident at $place:ident {
        $($name:literal: $field:ident $type:ident<$given:ty> = $read:expr;)*
    }) => {
        $(#[$doc])*
        #[derive(Default)]
        pub struct $of { $(pub $field: $type<Given<$given>>,)* }

        impl $of {
            const NAMES: &'static [&'static str] = &[$($name),*];

            /// Returns the values, and the name and span of the first occurrence of each attribute.
            pub fn parse(cx: &Ctxt, items: &[Item]) -> (Self, Vec<Given<&'static str>>) {
                let mut found = Self::default();
                for item in items {
                    match &*item.name.to_string() {
                        $($name => {
                            let read: fn(&Ctxt, &Item) -> Option<_> = $read;
                            found.$field.fill(cx, item, read(cx, item));
                        })*
                        _ => unknown(cx, item, Place::$place),
                    }
                }
                let mut given = Vec::new();
                $(given.extend(
                    found.$field.iter().next().map(|it| Given { span: it.span, value: $name }),
                );)*
                (found, given)
            }
        }
    };
}

attributes! {
    /// The attributes of a struct or enum.
    TypeAttributes at Type {
        "class": class Option<String> = |cx, it| Some(it.save_name(cx, "\"quest.Hero\"")?.value);
        "name_markers": name_markers Option<()> = flag;
        "id": id Option<u64> = |cx, it| it.integer::<u64>(cx, "7");
        "version": version Option<u32> = |cx, it| it.integer::<u32>(cx, "2");
        "since": since Option<u32> = |cx, it| it.integer::<u32>(cx, "2");
        "alias": aliases Vec<String> = |cx, it| it.save_name(cx, "\"old.Hero\"");
        "removed": removed Vec<String> = |cx, it| it.save_name(cx, "\"old_name\"");
        "rename_all": rename_all Option<Case> = case;
        "transparent": transparent Option<()> = flag;
        "via": via Option<Adapter> = shape::via;
        "save_as": save_as Option<Type> = save_as;
        "pod": pod Option<()> = flag;
        "component": component Option<()> = flag;
        "compact": compact Option<()> = flag;
        "crate": krate Option<Path> = |cx, it| module(cx, it, "my_engine::persist");
        "bound": bound Option<Vec<WherePredicate>> = bound;
        "default": default Option<DefaultValue> = default;
        "empty": empty Option<DefaultValue> = default;
        "before_save": before_save Option<ExprPath> = |cx, it| it.path(cx, "Hero::tidy");
        "after_load": after_load Option<ExprPath> = |cx, it| it.path(cx, "Hero::wake");
        "validate": validate Option<ExprPath> = |cx, it| it.path(cx, "Hero::check");
        "migrate": migration Option<Vec<Step>> = |cx, it| it.migration(cx);
        "context": context Option<Type> = context;
        "ignore_serde": ignore_serde Option<()> = flag;
    }
}

attributes! {
    /// The attributes of a field.
    FieldAttributes at Field {
        "skip": skip Option<()> = flag;
        "default": default Option<DefaultValue> = default;
        "empty": empty Option<DefaultValue> = empty;
        "rename": rename Option<String> = rename;
        "alias": aliases Vec<String> = |cx, it| it.save_name(cx, "\"old_name\"");
        "with": with Option<Adapter> = shape::with;
        "with_iter": with_iter Option<Adapter> = shape::with_iter;
        "serde": serde Option<Adapter> = shape::serde;
        "via": via Option<Adapter> = shape::via;
        "context": context Option<Type> = context;
        "id": id Option<u32> = |cx, it| it.integer::<u32>(cx, "7");
        "convert": convert Option<Vec<Convert>> = |cx, it| it.converts(cx);
        "unknown": unknown Option<()> = flag;
        "compact": compact Option<()> = flag;
        "skip_failed": skip_failed Option<()> = flag;
        "sample": sample Option<ExprPath> = |cx, it| it.path(cx, "an_address");
        "label": label Option<String> = hints::label;
        "help": help Option<String> = hints::help;
        "range": range Option<ValueRange> = hints::range;
        "hidden": hidden Option<()> = flag;
        "read_only": read_only Option<()> = flag;
        "color": color Option<()> = flag;
        "ignore_serde": ignore_serde Option<()> = flag;
    }
}

attributes! {
    /// The attributes of a variant.
    VariantAttributes at Variant {
        "rename": rename Option<String> = rename;
        "alias": aliases Vec<String> = |cx, it| it.save_name(cx, "\"OldName\"");
        "removed": removed Vec<String> = |cx, it| it.save_name(cx, "\"old_name\"");
        "empty": empty Option<()> = flag;
        "rename_all": rename_all Option<Case> = case;
        "other": other Option<()> = flag;
    }
}

attributes! {
    /// The options in the parentheses of `#[persist::dynamic(...)]`.
    TraitOptions at Trait {
        "name": name Option<String> = |cx, it| Some(it.save_name(cx, "\"quest.Item\"")?.value);
        "unknown": unknown Option<ExprPath> = |cx, it| it.path(cx, "MissingItem");
        "crate": krate Option<Path> = |cx, it| module(cx, it, "my_engine::persist");
    }
}

impl FieldAttributes {
    /// How the field is stored as another type. Several attributes can say so, and one may be given.
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

/// A value, or, as in serde, the path of a function in a string.
fn default(cx: &Ctxt, item: &Item) -> Option<DefaultValue> {
    let Some(value) = &item.value else { return Some(DefaultValue::Std) };
    let Some(text) = text(value) else {
        return Some(DefaultValue::Expr(Box::new(value.clone())));
    };
    match text.parse::<ExprPath>() {
        Ok(path) => Some(DefaultValue::Function { path: Box::new(path), text: None }),
        Err(_) => {
            cx.error_over(text, format!("a string after `{}` is the path of a function, as in serde; write a value that is text as `{0} = {}.into()`", item.name, text.token()));
            None
        }
    }
}

/// Marks a string that may be meant as a text: on a text field, no function has a name that begins like that of a type.
pub fn text_default(cx: &Ctxt, item: &str, given: &mut Option<Given<DefaultValue>>, ty: &Type) {
    let Some(Given { value: DefaultValue::Function { path, text }, .. }) = given else { return };
    let Some(name) = path.path.get_ident().filter(|_| is_text(ty)) else { return };
    *text = Some(0);
    if name.to_string().starts_with(char::is_uppercase) {
        cx.error_over(name, format!("a string here is the path of a function, as in serde; for a text write `{item} = \"{name}\".into()`"));
    }
}

/// True for a type that is written as `String`, `&str`, `Box<str>`, `Cow<'static, str>` or similar.
fn is_text(ty: &Type) -> bool {
    let is_str =
        |ty: &Type| matches!(ungroup_type(ty), Type::Path(path) if path.path.is_ident("str"));
    match ungroup_type(ty) {
        Type::Reference(reference) => is_str(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| match &last.arguments {
            PathArguments::AngleBracketed(arguments) => arguments
                .args
                .iter()
                .any(|argument| matches!(argument, GenericArgument::Type(ty) if is_str(ty))),
            _ => last.ident == "String",
        }),
        _ => false,
    }
}

/// The value that a load starts with.
fn empty(cx: &Ctxt, item: &Item) -> Option<DefaultValue> {
    if item.value.is_none() {
        cx.error(item.span(), "`empty` needs a value; write `empty = Colour::WHITE`, or `default` for that of `Default`");
        return None;
    }
    default(cx, item)
}

/// A new name, with the span of the string.
fn rename(cx: &Ctxt, item: &Item) -> Option<Given<String>> {
    item.save_name(cx, "\"name\"")
}

fn flag(cx: &Ctxt, item: &Item) -> Option<()> {
    item.flag(cx)
}

/// The type. If it is wrong, it is reported, and mistakes that follow from it are not.
fn save_as(cx: &Ctxt, item: &Item) -> Option<Type> {
    item.ty(cx, "a type", "Simulation").or_else(|| Some(syn::parse_quote!(_)))
}

fn context(cx: &Ctxt, item: &Item) -> Option<Type> {
    item.ty(cx, "a type", "Items")
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

/// The attributes of each place.
const PLACES: [(Place, &str, &[&str]); 4] = [
    (Place::Type, "a type", TypeAttributes::NAMES),
    (Place::Field, "a field", FieldAttributes::NAMES),
    (Place::Variant, "a variant", VariantAttributes::NAMES),
    (Place::Trait, "a trait", TraitOptions::NAMES),
];

/// Reports an attribute that is not allowed here, with the likeliest remedy.
fn unknown(cx: &Ctxt, item: &Item, place: Place) {
    let name = item.name.to_string();
    let mut elsewhere = Vec::new();
    let mut here = ("", &[] as &[&str]);
    for (other, described, known) in PLACES {
        if other == place {
            here = (described, known);
        } else if other != Place::Trait && known.contains(&&*name) {
            // Options of traits are in another attribute, and nobody would mean those.
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
        ([_, ..], _) if place == Place::Variant && name == "default" => {
            "the variant of the empty value is marked `empty`; write `#[persist(empty)]`".to_owned()
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

/// The number of letters to insert, remove or replace to get from one name to the other.
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
