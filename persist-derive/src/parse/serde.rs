//! The attributes of serde beside the derive. Serde itself reports mistakes in them.

use proc_macro2::TokenStream;
use syn::parse::ParseStream;
use syn::{Attribute, Ident, Lit, Meta, Token};

use crate::ast::{Given, SerdeItem};

/// Returns the items of all `#[serde(...)]` here.
pub fn items(attributes: &[Attribute]) -> Vec<Given<SerdeItem>> {
    let mut items = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        if let Meta::List(list) = &attribute.meta {
            drop(list.parse_args_with(|input: ParseStream<'_>| list_into(input, &mut items)));
        }
    }
    items
}

fn list_into(input: ParseStream<'_>, items: &mut Vec<Given<SerdeItem>>) -> syn::Result<()> {
    while !input.is_empty() {
        let name = input.call(<Ident as syn::ext::IdentExt>::parse_any)?;
        let mut value = None;
        if input.parse::<Option<Token![=]>>()?.is_some() {
            if let Lit::Str(text) = input.parse()? {
                value = Some(text.value());
            }
        } else if !input.is_empty() && !input.peek(Token![,]) {
            let _: proc_macro2::TokenTree = input.parse()?;
        }
        items.push(Given { span: name.span(), value: SerdeItem { name: name.to_string(), value } });
        if input.parse::<Option<Token![,]>>()?.is_none() && !input.is_empty() {
            let _: TokenStream = input.parse()?;
        }
    }
    Ok(())
}
