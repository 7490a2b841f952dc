//! `convert`: a field from a value of its older type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned as _;

use crate::ast::{Field, Given};

/// The `FieldConversion` of a field, at the place where the user named the function. It is
/// always made the same way, so that a wrong function is one error.
pub fn conversion(field: &Field) -> Option<TokenStream> {
    let Given { value: function, .. } = field.convert.as_ref()?;
    let ty = &field.ty;
    let span = function.span().resolved_at(Span::mixed_site());
    let of = Ident::new(if field.is_compact { "of_compact" } else { "of" }, span);
    Some(quote_spanned! {span=> _persist::FieldConversion::<_, _, #ty>::#of(#function) })
}
