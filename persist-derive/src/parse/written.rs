//! A field as it is written in the source, for messages.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

use super::items::Item;

/// Name and type of a field. For a tuple field, the type alone.
pub fn field(field: &syn::Field) -> String {
    let ty = tokens(field.ty.to_token_stream());
    match &field.ident {
        Some(ident) => format!("{ident}: {ty}"),
        None => ty,
    }
}

/// The source of a type.
pub fn ty(ty: &syn::Type) -> String {
    tokens(ty.to_token_stream())
}

/// The source of the items with these names.
pub fn code(items: &[Item], names: &[&str]) -> Vec<String> {
    let named = items.iter().filter(|item| names.iter().any(|name| item.name == name));
    let text = |item: &Item| {
        let Item { name, value, ty, list } = item;
        let value = value.as_ref().map(ToTokens::to_token_stream);
        let value = value.or_else(|| ty.as_ref().map(ToTokens::to_token_stream));
        match (value, list) {
            (Some(value), _) => format!("{name} = {}", tokens(value)),
            (None, Some(list)) => {
                let list: Vec<String> =
                    list.iter().map(|part| tokens(part.to_token_stream())).collect();
                format!("{name}({})", list.join(", "))
            }
            (None, None) => name.to_string(),
        }
    };
    named.map(text).collect()
}

/// The source of tokens, with spaces where rustfmt has them.
fn tokens(tokens: TokenStream) -> String {
    let mut text = String::new();
    let mut joint = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                let inside = self::tokens(group.stream());
                if open.is_empty() && inside.starts_with(is_word) && text.ends_with(is_word) {
                    text.push(' ');
                }
                text.extend([open, inside.as_str(), close]);
                joint = false;
            }
            TokenTree::Punct(punct) => {
                let is_joint = punct.spacing() == Spacing::Joint;
                let is_arrow = punct.as_char() == '>' && text.ends_with('-');
                match punct.as_char() {
                    ',' | ';' => text.extend([punct.as_char(), ' ']),
                    ':' if !is_joint && !joint => text.push_str(": "),
                    '+' | '=' => text.extend([' ', punct.as_char(), ' ']),
                    '-' if is_joint => text.push_str(" -"),
                    _ if is_arrow => text.push_str("> "),
                    mark => text.push(mark),
                }
                joint = is_joint;
            }
            word => {
                let word = word.to_string();
                if text.ends_with(is_word) && !joint {
                    text.push(' ');
                }
                text.push_str(&word);
                joint = false;
            }
        }
    }
    text.trim_end().to_owned()
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
