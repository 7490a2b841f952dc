//! The programs lie in the folders beside this file; `cargo run --release --example quest` starts one.

#![forbid(unsafe_code)]
