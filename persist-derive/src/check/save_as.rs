//! Rules for a struct with `save_as`. Most attributes belong on the struct that it is saved as.

use quote::ToTokens as _;
use syn::visit::{self, Visit};
use syn::{Lifetime, Type, TypeReference};

use crate::ast::{Body, Fields, Given, Input, PartType};
use crate::ctxt::Ctxt;
use crate::parse::written;

/// Notes every mistake.
pub fn check(cx: &Ctxt, input: &Input, owned: &Given<Type>) {
    let owned = written(&owned.value);
    for Given { span, value } in &input.class_only {
        cx.error(
            *span,
            format!("`{value}` belongs on `{owned}`, as which the parts are saved; remove it here"),
        );
    }
    match &input.body {
        Body::Struct(fields) => parts(cx, fields, &owned),
        Body::Enum(_) => {
            if let Some(Given { span, .. }) = input.save_as {
                cx.error(span, "only a struct of references can be saved as another struct; remove `save_as`, or write a struct");
            }
        }
    }
}

fn parts(cx: &Ctxt, fields: &Fields, owned: &str) {
    for field in &fields.0 {
        for Given { span, value } in field.given.iter().filter(|given| given.value != "skip") {
            cx.error(
                *span,
                format!("only `{owned}` says how the field is stored; remove `{value}` here"),
            );
        }
        if !field.is_stored() {
            continue;
        }
        match PartType::new(&field.ty) {
            PartType::Value(target, _) => {
                if let Type::TraitObject(_) = target {
                    cx.error_over(&field.ty, "a part cannot be a reference to a trait object; refer to the box or the pointer that the field holds");
                    continue;
                }
                let mut borrows = Borrows(None);
                borrows.visit_type(target);
                if let Some(place) = borrows.0 {
                    cx.error_over(place, "a part is a `&T`, a `&mut T` or a `T` for a field of type `T`, a `&[T]` for a `Vec<T>`, or a `&str` for a `String`; nothing in `T` can be borrowed");
                }
            }
            PartType::Items(_) | PartType::Text => {}
        }
    }
}

/// Finds the first borrow in a type.
struct Borrows(Option<proc_macro2::TokenStream>);

impl<'ast> Visit<'ast> for Borrows {
    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        match &reference.lifetime {
            Some(lifetime) if lifetime.ident == "static" => {
                visit::visit_type_reference(self, reference);
            }
            _ => self.0 = Some(reference.to_token_stream()),
        }
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.0 = Some(lifetime.to_token_stream());
        }
    }

    // Lifetimes in a function type are those of its arguments.
    fn visit_type_bare_fn(&mut self, _: &'ast syn::TypeBareFn) {}
}
