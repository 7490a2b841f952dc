//! Tests of the inspector and the history window, with synthetic input and without a display.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod fields;
mod history;
mod hostile;
mod large;
mod monkey;
mod objects;
mod pages;
mod support;
mod value;
