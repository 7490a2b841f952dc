//! The attribute `convert`, which makes a field from a value of its older type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::ExprPath;
use syn::spanned::Spanned as _;

use crate::ast::{Convert, ConvertHow, Field};

/// The conversion of values of one older type.
pub struct Conversion {
    /// The version of the class that stored them.
    pub version: Option<u32>,
    /// The path of the function in the source. `None` if the value is converted without one.
    pub function: Option<String>,
    /// The kind that is stored, as a `KindFn`.
    pub kind: TokenStream,
    /// Registers the classes of the older type.
    pub reach: TokenStream,
    /// Reads an older value and writes the field. The arguments are missing.
    pub run: Option<TokenStream>,
}

/// The conversions of a field, in the order of the attribute.
pub fn conversions(field: &Field) -> impl Iterator<Item = Conversion> {
    let all = field.convert.as_ref().map_or(&[][..], |given| &given.value);
    all.iter().enumerate().map(move |(i, Convert { from, how })| match how {
        ConvertHow::Same(ty) => Conversion {
            version: None,
            function: None,
            kind: emit! { <#ty as _persist::Persist>::persist_kind },
            reach: emit! { <#ty as _persist::Persist>::__reach(__types); },
            run: None,
        },
        ConvertHow::Function(function) => {
            let further = all[i + 1..].iter().filter_map(|next| match &next.how {
                ConvertHow::Function(next_function) if from.is_some() && next.from.is_some() => {
                    Some(next_function)
                }
                _ => None,
            });
            let conversion = conversion(field, function, further);
            Conversion {
                version: from.as_ref().map(|from| from.value),
                function: Some(function.to_token_stream().to_string().replace(' ', "")),
                kind: emit! { || #conversion.kind() },
                reach: emit! { #conversion.reach(__types); },
                run: Some(emit! { #conversion.run }),
            }
        }
    })
}

/// Emits the `FieldConversion` of a function, and of the functions that take its result, with the span of the first.
///
/// It is emitted in one form only, so that a wrong function is one error.
fn conversion<'f>(
    field: &Field,
    function: &ExprPath,
    further: impl Iterator<Item = &'f ExprPath>,
) -> TokenStream {
    let ty = &field.ty;
    let span = function.span().resolved_at(Span::mixed_site());
    let new = Ident::new(if field.is_compact { "compact" } else { "new" }, span);
    let mut value = None;
    for next in further {
        let span = next.span().resolved_at(Span::mixed_site());
        let inner = value.unwrap_or_else(|| quote_spanned! {span=> #function(__old) });
        value = Some(quote_spanned! {span=> #next(_persist::converted(#inner)?) });
    }
    let function = match value {
        Some(value) => quote_spanned! {span=> |__old| _persist::converted::<#ty, _>(#value) },
        None => function.to_token_stream(),
    };
    quote_spanned! {span=> _persist::FieldConversion::<_, _, #ty>::#new(#function) }
}
