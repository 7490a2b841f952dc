//! The page on errors quotes the library.

use crate::messages::coverage::{is_said, snapshots};

/// The messages that the page quotes: its blocks of text.
fn quotes(page: &str) -> Vec<String> {
    let blocks = page.split("```text\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap().replace('\n', " ")).collect()
}

#[test]
fn each_message_on_the_page_of_errors_is_one_of_the_library() {
    let page = include_str!("../../../docs/reference/errors.md");
    let (quotes, snapshots) = (quotes(page), snapshots());
    assert!(quotes.len() > 80, "{}", quotes.len());
    let parts = |quote: &str| -> Vec<String> {
        quote.split('…').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let is_wrong = |quote: &&String| !is_said(&parts(quote), &snapshots);
    let wrong: Vec<&String> = quotes.iter().filter(is_wrong).collect();
    assert!(wrong.is_empty(), "the library does not say:\n{wrong:#?}");
}
