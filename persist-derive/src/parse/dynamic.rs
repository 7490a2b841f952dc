//! Parses the trait under `#[persist::dynamic]`, and reports why its trait objects cannot be saved.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{GenericParam, Item, ItemTrait, TraitItem, TraitItemType, WherePredicate};

use super::attributes::TraitOptions;
use super::items;
use crate::ast::{Trait, mentions};
use crate::ctxt::Ctxt;

/// Returns the trait. `None` if the item is not a trait, or its trait objects cannot be saved.
pub fn parse(cx: &Ctxt, options: TokenStream, item: &TokenStream) -> Option<Trait> {
    let (options, _) = TraitOptions::parse(cx, &items::options(cx, options));
    let item = match syn::parse2(item.clone()) {
        Ok(Item::Trait(item)) => item,
        Ok(other) => {
            not_a_trait(cx, &other);
            return None;
        }
        Err(_) => {
            cx.error_over(item, "`#[persist::dynamic]` stands above a trait; remove it here");
            return None;
        }
    };
    let is_one = parameters(cx, &item) & associated_types(cx, &item);
    is_one.then(|| Trait {
        name: options.name.map_or_else(|| item.ident.unraw().to_string(), |given| given.value),
        krate: options.krate,
        unknown: options.unknown,
        item,
    })
}

fn not_a_trait(cx: &Ctxt, item: &Item) {
    let derive = "write `#[derive(Persist)]` here, and `#[persist::dynamic]` above its traits";
    let (span, advice) = match item {
        Item::Struct(item) => (item.struct_token.span, derive),
        Item::Enum(item) => (item.enum_token.span, derive),
        Item::Union(item) => (item.union_token.span, "remove it here"),
        Item::Impl(item) => (item.impl_token.span, "put it above the trait's declaration"),
        other => (first(other), "remove it here"),
    };
    cx.error(span, format!("`#[persist::dynamic]` stands above a trait; {advice}"));
}

/// The span of the first token of an item after its attributes, for the kinds of items that syn knows.
fn first(item: &Item) -> Span {
    match item {
        Item::Fn(item) => item.sig.span(),
        Item::Mod(item) => item.mod_token.span,
        Item::Type(item) => item.type_token.span,
        Item::Const(item) => item.const_token.span,
        Item::Static(item) => item.static_token.span,
        Item::Use(item) => item.use_token.span,
        other => other.span(),
    }
}

/// Refuses parameters: a save has one name for a trait.
fn parameters(cx: &Ctxt, item: &ItemTrait) -> bool {
    for param in &item.generics.params {
        let (name, message) = match param {
            GenericParam::Lifetime(param) => (
                param.lifetime.to_string(),
                "a loaded value has nobody to borrow from; make a trait without parameters",
            ),
            GenericParam::Type(param) => (param.ident.to_string(), MANY),
            GenericParam::Const(param) => (param.ident.to_string(), MANY),
        };
        cx.error_over(
            param,
            format!("the trait objects of a trait with the parameter `{name}` cannot be saved: {message}"),
        );
    }
    item.generics.params.is_empty()
}

const MANY: &str = "it stands for many traits, and a save has one name; make a trait without parameters that has this one as its supertrait";

/// Refuses associated types: they would have to be specified wherever the trait object is named.
fn associated_types(cx: &Ctxt, item: &ItemTrait) -> bool {
    let mut none = true;
    for inner in &item.items {
        let TraitItem::Type(inner) = inner else { continue };
        if is_of_sized(inner) {
            continue;
        }
        none = false;
        let (of, name) = (&item.ident, &inner.ident);
        cx.error(
            name.span(),
            format!(
                "the trait objects of a trait with the associated type `{name}` cannot be saved: a save has one name for them all; make a trait without any, whose supertrait says which: `trait Own: {of}<{name} = ...>`"
            ),
        );
    }
    none
}

/// True for a type with `where Self: Sized`, which trait objects do not have.
fn is_of_sized(item: &TraitItemType) -> bool {
    let Some(clause) = &item.generics.where_clause else { return false };
    clause.predicates.iter().any(|predicate| {
        let WherePredicate::Type(predicate) = predicate else { return false };
        let [this, sized] = ["Self", "Sized"].map(|name| syn::Ident::new(name, Span::call_site()));
        mentions(&predicate.bounded_ty, &this) && mentions(&predicate.bounds, &sized)
    })
}
