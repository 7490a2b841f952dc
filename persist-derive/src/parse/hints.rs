//! How editors show a field: its label, its help and its range.

use syn::{Expr, ExprLit, ExprRange, ExprUnary, Lit, LitFloat, RangeLimits, UnOp};

use super::attributes::FieldAttributes;
use super::items::{Item, ungroup};
use crate::ast::{Hints, ValueRange};
use crate::ctxt::Ctxt;

/// Takes the hints for editors out of the attributes of a field.
pub fn hints(attributes: &mut FieldAttributes) -> Hints {
    Hints {
        label: attributes.label.take(),
        help: attributes.help.take(),
        range: attributes.range.take(),
        hidden: attributes.hidden.take(),
        read_only: attributes.read_only.take(),
        color: attributes.color.take(),
    }
}

/// Reads `label = "Radius"`.
pub fn label(cx: &Ctxt, item: &Item) -> Option<String> {
    words(cx, item, "\"Radius\"")
}

/// Reads `help = "In metres"`.
pub fn help(cx: &Ctxt, item: &Item) -> Option<String> {
    words(cx, item, "\"How far the light reaches, in metres\"")
}

fn words(cx: &Ctxt, item: &Item, example: &str) -> Option<String> {
    let text = item.text(cx, example)?;
    if text.value().trim().is_empty() {
        cx.error_over(&text, format!("the text is empty; write `{} = {example}`", item.name));
        return None;
    }
    Some(text.value())
}

/// Reads `range = 0.0..=1.0`.
pub fn range(cx: &Ctxt, item: &Item) -> Option<ValueRange> {
    const EXAMPLE: &str = "0.0..=1.0";
    let value = item.value(cx, EXAMPLE)?;
    let Expr::Range(ExprRange { start, end, limits, .. }) = value else {
        cx.error_over(value, format!("expected a range; write `range = {EXAMPLE}`"));
        return None;
    };
    if let (RangeLimits::HalfOpen(_), Some(_)) = (limits, end) {
        cx.error_over(
            value,
            format!("the range of a field includes its end; write `range = {EXAMPLE}`"),
        );
        return None;
    }
    if start.is_none() && end.is_none() {
        cx.error_over(
            value,
            format!("the range has no ends; write `range = {EXAMPLE}`, or remove it"),
        );
        return None;
    }
    let range = ValueRange { start: start.as_deref().map(bound), end: end.as_deref().map(bound) };
    if let (Some((_, Some(start))), Some((_, Some(end)))) = (&range.start, &range.end)
        && start > end
    {
        cx.error_over(
            value,
            "no value is in this range, whose start is above its end; swap the two",
        );
        return None;
    }
    Some(range)
}

/// An end of a range, as an expression of an `f64` if it is a literal, and its value then.
fn bound(end: &Expr) -> (Expr, Option<f64>) {
    let Some(value) = number(end) else { return (end.clone(), None) };
    let literal = LitFloat::new(&format!("{:?}_f64", value.abs()), proc_macro2::Span::call_site());
    let expr = if value.is_sign_negative() {
        syn::parse_quote!(-#literal)
    } else {
        syn::parse_quote!(#literal)
    };
    (expr, Some(value))
}

/// The value of a literal.
fn number(expr: &Expr) -> Option<f64> {
    let value: f64 = match ungroup(expr) {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => -number(expr)?,
        Expr::Paren(paren) => number(&paren.expr)?,
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => int.base10_digits().parse().ok()?,
        Expr::Lit(ExprLit { lit: Lit::Float(float), .. }) => float.base10_digits().parse().ok()?,
        _ => return None,
    };
    value.is_finite().then_some(value)
}
