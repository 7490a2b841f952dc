//! The items in `#[persist(...)]` and `#[persist::dynamic(...)]`: names, some with a value.

use std::fmt::Display;
use std::str::FromStr;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Expr, ExprCast, ExprInfer, ExprLit, ExprPath, Ident, Lit, LitInt, LitStr, Meta,
    Token, Type,
};

use crate::ast::{Convert, ConvertHow, Given, Step};
use crate::ctxt::Ctxt;

/// One item: `name`, `name = value`, or, for some names, `name(value, value)`.
///
/// Each value is parsed as an expression, whatever it should be, so that a message can name a wrong one.
pub struct Item {
    pub name: Ident,
    pub value: Option<Expr>,
    /// The value of an attribute that takes a type, if it is a type without quotes.
    pub ty: Option<Type>,
    /// The values in parentheses.
    pub list: Option<Vec<Expr>>,
}

/// The attributes that may have parentheses.
const LISTS: [&str; 2] = ["migrate", "convert"];

/// The attributes whose value is a type.
const TYPES: [&str; 4] = ["with", "via", "context", "save_as"];

/// Returns the items of all `#[persist(...)]` here.
pub fn items(cx: &Ctxt, attributes: &[Attribute]) -> Vec<Item> {
    let mut items = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("persist")) {
        let Meta::List(list) = &attribute.meta else {
            cx.error_over(
                &attribute.meta,
                "write `#[persist(...)]`, with what you want in the parentheses",
            );
            continue;
        };
        let parsed =
            list.parse_args_with(|input: ParseStream<'_>| list_into(cx, input, &mut items));
        if let Err(error) = parsed {
            cx.push(error);
        }
    }
    items
}

/// Returns the items in the parentheses of an attribute macro.
pub fn options(cx: &Ctxt, tokens: TokenStream) -> Vec<Item> {
    let mut items = Vec::new();
    let parser = |input: ParseStream<'_>| list_into(cx, input, &mut items);
    if let Err(error) = parser.parse2(tokens) {
        cx.push(error);
    }
    items
}

fn list_into(cx: &Ctxt, input: ParseStream<'_>, items: &mut Vec<Item>) -> syn::Result<()> {
    while !input.is_empty() {
        match item(input) {
            Ok(item) => items.push(item),
            Err(error) => {
                cx.push(error);
                skip_to_comma(input)?;
            }
        }
        if !input.is_empty() && !input.peek(Token![,]) {
            cx.error(input.span(), "expected a comma before the next attribute");
            skip_to_comma(input)?;
        }
        let _: Option<Token![,]> = input.parse()?;
    }
    Ok(())
}

fn item(input: ParseStream<'_>) -> syn::Result<Item> {
    let name = Ident::parse_any(input)
        .map_err(|error| syn::Error::new(error.span(), "expected the name of an attribute"))?;
    if input.peek(syn::token::Paren) {
        if name == "rename" {
            return Err(input.error("a field or variant has one name, by which it is saved and loaded; write `rename = \"new\"`, and `alias = \"old\"` for a name that older saves have"));
        }
        if LISTS.iter().all(|list| name != list) {
            return Err(input.error(format!("write `{name} = value`, without parentheses")));
        }
        return Ok(Item { name, value: None, ty: None, list: Some(list(input)?) });
    }
    let (mut value, mut ty) = (None, None);
    if input.parse::<Option<Token![=]>>()?.is_some() {
        if TYPES.iter().any(|of_type| name == of_type) {
            ty = whole_type(input);
        }
        if ty.is_none() {
            value = Some(input.parse()?);
        }
    }
    Ok(Item { name, value, ty, list: None })
}

/// The type that comes next, if it ends at the next comma.
fn whole_type(input: ParseStream<'_>) -> Option<Type> {
    let ahead = input.fork();
    let ty = ahead.parse().ok()?;
    if !ahead.is_empty() && !ahead.peek(Token![,]) {
        return None;
    }
    input.advance_to(&ahead);
    Some(ty)
}

fn list(input: ParseStream<'_>) -> syn::Result<Vec<Expr>> {
    let content;
    syn::parenthesized!(content in input);
    let values = Punctuated::<Expr, Token![,]>::parse_terminated_with(&content, element);
    if values.is_err() {
        // The rest of the content would be reported once more.
        let _: TokenStream = content.parse()?;
    }
    Ok(values?.into_iter().collect())
}

/// Parses an expression, or `as Type`, which becomes a cast of `_`.
fn element(input: ParseStream<'_>) -> syn::Result<Expr> {
    if !input.peek(Token![as]) {
        return input.parse();
    }
    let as_token = input.parse()?;
    let expr = Box::new(Expr::Infer(ExprInfer {
        attrs: Vec::new(),
        underscore_token: Token![_](input.span()),
    }));
    Ok(Expr::Cast(ExprCast { attrs: Vec::new(), expr, as_token, ty: input.parse()? }))
}

fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _: TokenTree = input.parse()?;
    }
    Ok(())
}

impl Item {
    pub fn span(&self) -> Span {
        self.name.span()
    }

    /// Checks that an attribute has no value.
    pub fn flag(&self, cx: &Ctxt) -> Option<()> {
        match &self.value {
            None => Some(()),
            Some(value) => {
                cx.error_over(value, format!("`{}` takes no value", self.name));
                None
            }
        }
    }

    /// Returns the value of an attribute that takes a string.
    pub fn text(&self, cx: &Ctxt, example: &str) -> Option<LitStr> {
        let value = self.value(cx, example)?;
        let text = text(value);
        if text.is_none() {
            let message = format!("expected a string; write `{} = {example}`", self.name);
            cx.error_over(value, message);
        }
        text.cloned()
    }

    /// Returns the value of an attribute that takes a type, with or without quotes.
    pub fn ty(&self, cx: &Ctxt, what: &str, example: &str) -> Option<Type> {
        if self.ty.is_some() {
            return self.ty.clone();
        }
        let value = self.value(cx, example)?;
        let ty = text(value).and_then(|text| text.parse().ok());
        if ty.is_none() {
            cx.error_over(value, format!("expected {what}; write `{} = {example}`", self.name));
        }
        ty
    }

    /// Returns the value of an attribute that takes a name in the save.
    pub fn save_name(&self, cx: &Ctxt, example: &str) -> Option<Given<String>> {
        let text = self.text(cx, example)?;
        if text.value().is_empty() {
            cx.error_over(
                &text,
                format!("a name in the save is not empty; write `{} = {example}`", self.name),
            );
            return None;
        }
        Some(Given { span: text.span(), value: text.value() })
    }

    /// Returns the value of an attribute that takes a number.
    pub fn integer<N: FromStr<Err: Display>>(&self, cx: &Ctxt, example: &str) -> Option<N> {
        let value = self.value(cx, example)?;
        if let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = value {
            match number.base10_parse() {
                Ok(number) => return Some(number),
                Err(_) => {
                    let bits = size_of::<N>() * 8;
                    cx.error_over(
                        value,
                        format!("`{}` has {bits} bits, too few for this number", self.name),
                    );
                }
            }
        } else {
            cx.error_over(
                value,
                format!("expected a whole number; write `{} = {example}`", self.name),
            );
        }
        None
    }

    /// Returns the value of an attribute that takes a path.
    pub fn path(&self, cx: &Ctxt, example: &str) -> Option<ExprPath> {
        path(cx, &self.name, self.value(cx, example)?, example)
    }

    /// Reads `migrate(1 = function, 2 = function)`. A function for all versions would run again when the version is
    /// raised.
    pub fn migration(&self, cx: &Ctxt) -> Option<Vec<Step>> {
        let Some(steps) = &self.list else {
            let function = match self.value.as_ref().map(ungroup) {
                Some(Expr::Path(path)) => path.to_token_stream().to_string().replace(' ', ""),
                _ => String::from("Hero::to_2"),
            };
            let message =
                format!("`migrate` has a function for each step; write `migrate(1 = {function})`");
            cx.error(self.span(), message);
            return None;
        };
        let found: Vec<_> = steps.iter().filter_map(|each| step(cx, each)).collect();
        // A step with a mistake must not be reported as missing as well.
        (found.len() == steps.len()).then_some(found)
    }

    /// Reads `convert = function` and `convert(function, as Type, 1 = function)`.
    pub fn converts(&self, cx: &Ctxt) -> Option<Vec<Convert>> {
        let Some(list) = &self.list else {
            let how = self.path(cx, "from_metres").map(ConvertHow::Function);
            return Some(vec![Convert { from: None, how: how? }]);
        };
        if list.is_empty() {
            cx.error(self.span(), "`convert` names a function; write `convert(from_metres)`");
        }
        let found: Vec<_> = list.iter().filter_map(|each| converted(cx, each)).collect();
        (found.len() == list.len()).then_some(found)
    }

    pub fn value(&self, cx: &Ctxt, example: &str) -> Option<&Expr> {
        if self.value.is_none() {
            cx.error(
                self.span(),
                format!("`{}` needs a value; write `{0} = {example}`", self.name),
            );
        }
        self.value.as_ref().map(ungroup)
    }
}

/// The path in `name = path`.
fn path(cx: &Ctxt, name: impl Display, value: &Expr, example: &str) -> Option<ExprPath> {
    match ungroup(value) {
        Expr::Path(path) => Some(path.clone()),
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
            let message = format!("write the path without quotes: `{name} = {}`", text.value());
            cx.error_over(text, message);
            None
        }
        other => {
            cx.error_over(other, format!("expected a path; write `{name} = {example}`"));
            None
        }
    }
}

/// Reads one part of a `convert`: `from_metres`, `as u32` or `1 = from_metres`.
fn converted(cx: &Ctxt, part: &Expr) -> Option<Convert> {
    if let Expr::Cast(ExprCast { expr, ty, .. }) = ungroup(part)
        && let Expr::Infer(_) = **expr
    {
        return Some(Convert { from: None, how: ConvertHow::Same((**ty).clone()) });
    }
    if let Some((version, function)) = versioned(part) {
        let from = version_number(cx, version)?;
        let function = path(cx, version, function, "from_metres")?;
        return Some(Convert { from: Some(from), how: ConvertHow::Function(function) });
    }
    let function = path(cx, "convert", part, "from_metres")?;
    Some(Convert { from: None, how: ConvertHow::Function(function) })
}

/// The version and its function in `1 = to_2`.
fn versioned(part: &Expr) -> Option<(&LitInt, &Expr)> {
    if let Expr::Assign(assign) = ungroup(part)
        && let Expr::Lit(ExprLit { lit: Lit::Int(version), .. }) = ungroup(&assign.left)
    {
        return Some((version, &assign.right));
    }
    None
}

fn version_number(cx: &Ctxt, version: &LitInt) -> Option<Given<u32>> {
    let Ok(value) = version.base10_parse() else {
        cx.error_over(version, "a version has 32 bits, too few for this number");
        return None;
    };
    Some(Given { span: version.span(), value })
}

/// Reads one step of a migration: `1 = to_2`.
fn step(cx: &Ctxt, step: &Expr) -> Option<Step> {
    if let Some((version, function)) = versioned(step) {
        let from = version_number(cx, version)?;
        let function = path(cx, version, function, "to_next")?;
        return Some(Step { from, function });
    }
    cx.error_over(
        step,
        "expected the version that a step begins at, and its function; write `migrate(1 = to_2, 2 = to_3)`",
    );
    None
}

/// The string, if the expression is one.
pub fn text(expr: &Expr) -> Option<&LitStr> {
    match ungroup(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// The expression without the invisible parentheses of `macro_rules!`.
pub fn ungroup(mut expr: &Expr) -> &Expr {
    while let Expr::Group(group) = expr {
        expr = &group.expr;
    }
    expr
}
