//! What `persist` stores of other crates; the tests are in `main.rs`.

/// The examples of the guide's page on types of other crates, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/8-types-that-are-not-yours.md")]
struct TypesThatAreNotYours;
