//! Collects the mistakes in a type, so that all are reported at once.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::Span;

/// The mistakes so far. It must be [`finish`](Ctxt::finish)ed, or its drop panics.
pub struct Ctxt {
    errors: RefCell<Option<Vec<syn::Error>>>,
}

impl Ctxt {
    pub fn new() -> Self {
        Self { errors: RefCell::new(Some(Vec::new())) }
    }

    /// Adds a mistake at `span`.
    pub fn error(&self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    /// Adds a mistake that spans all of `tokens`.
    pub fn error_over(&self, tokens: impl quote::ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a mistake that syn found.
    pub fn push(&self, error: syn::Error) {
        if let Some(errors) = self.errors.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    /// Returns all mistakes, in the order in which they were found.
    pub fn finish(self) -> Result<(), Vec<syn::Error>> {
        match self.errors.take() {
            Some(errors) if !errors.is_empty() => Err(errors),
            _ => Ok(()),
        }
    }
}

impl Drop for Ctxt {
    fn drop(&mut self) {
        // A second panic while unwinding would hide the first.
        if !std::thread::panicking() && self.errors.get_mut().is_some() {
            panic!("the mistakes of a type were collected but not reported");
        }
    }
}
