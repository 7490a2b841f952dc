//! What `persist` stores of other crates; the tests are in `main.rs`.
