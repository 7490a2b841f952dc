//! Derives the traits of every rival, so that a data set names them in one line.
#![forbid(unsafe_code)]

use proc_macro::{TokenStream, TokenTree};

const CODECS: &str = "bitcode::Encode, bitcode::Decode, bincode::Encode, bincode::Decode, \
    borsh::BorshSerialize, borsh::BorshDeserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize, \
    serde::Serialize, serde::Deserialize, speedy::Readable, speedy::Writable, savefile_derive::Savefile, \
    wincode::SchemaRead, wincode::SchemaWrite";

/// Derives the traits of the codecs for a struct or an enum.
#[proc_macro_attribute]
pub fn codecs(_: TokenStream, item: TokenStream) -> TokenStream {
    derived(CODECS, item)
}

/// Derives the traits of the codecs and of fory, which takes no enum with data.
#[proc_macro_attribute]
pub fn codecs_and_fory(_: TokenStream, item: TokenStream) -> TokenStream {
    let is_enum = item
        .clone()
        .into_iter()
        .any(|token| matches!(&token, TokenTree::Ident(name) if name.to_string() == "enum"));
    let fory = if is_enum { "fory::ForyEnum" } else { "fory::ForyStruct" };
    derived(&format!("{CODECS}, {fory}"), item)
}

fn derived(traits: &str, item: TokenStream) -> TokenStream {
    let mut tokens: TokenStream = format!("#[derive({traits})]").parse().expect("a list of paths");
    tokens.extend(item);
    tokens
}
