//! Emits the functions that visit the types, references and hooks inside a value.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::ExprPath;
use syn::spanned::Spanned as _;

use super::convert::conversions;
use super::{Access, call, passed, pattern, row};
use crate::ast::{Body, Field, Fields, Given, Hooks, Input, Store};

pub fn expand(input: &Input) -> TokenStream {
    let reach = reach(input);
    let visit = fields(input, &emit! { visit }, Access::mutable);
    let visit_shared = fields(input, &emit! { visit_shared }, Access::shared);
    // `before_save` of an outer value runs before those of its fields. The other hooks run from the inside out.
    let hooks = &input.hooks;
    let before_save = hook(hooks, hooks.before_save.as_ref(), "BeforeSave", true);
    let validate = hook(hooks, hooks.validate.as_ref(), "Validate", false);
    let after_load = hook(hooks, hooks.after_load.as_ref(), "AfterLoad", true);
    let no_hook = hooks.before_save.is_some().then(|| {
        emit! { __visitor.no_hook(<Self as _persist::Reflect>::CLASS)?; }
    });
    let result = emit! { _persist::Result<(), _persist::Error> };
    emit! {
        #reach

        #[inline(never)]
        fn __visit(&mut self, __visitor: &mut _persist::Visitor<'_>) -> #result {
            #before_save
            #visit
            #validate
            #after_load
            _Ok(())
        }

        #[inline(never)]
        fn __visit_shared(&self, __visitor: &mut _persist::Visitor<'_>) -> #result {
            #no_hook
            #visit_shared
            #validate
            _Ok(())
        }
    }
}

fn reach(input: &Input) -> TokenStream {
    let converted = input.all_fields().flat_map(conversions).map(|conversion| conversion.reach);
    emit! {
        fn __reach(__types: &mut _persist::TypeSet) {
            if __types.class::<Self>() {
                _persist::reach(__types, <Self as _persist::Reflect>::__ROWS);
                #(#converted)*
            }
        }
    }
}

/// Emits a call of a function for each field that may hold references or hooks.
fn fields(
    input: &Input,
    function: &TokenStream,
    value: fn(Access, &Field) -> TokenStream,
) -> TokenStream {
    match &input.body {
        Body::Struct(fields) => each(fields, function, |field| value(Access::Own, field)),
        Body::Enum(variants) => {
            let arms: Vec<_> = row::with_fields(variants)
                .map(|(_, variant)| {
                    let pattern = pattern(variant);
                    let each =
                        each(&variant.fields, function, |field| value(Access::Matched, field));
                    emit! { #pattern => { #each } }
                })
                .collect();
            if arms.is_empty() {
                TokenStream::new()
            } else {
                emit! { match self { #(#arms)* _ => {} } }
            }
        }
    }
}

fn each(
    fields: &Fields,
    function: &TokenStream,
    value: impl Fn(&Field) -> TokenStream,
) -> TokenStream {
    let visits = fields.stored().filter(|field| matches!(field.store, Store::Plain)).map(|field| {
        let (value, name) = (value(field), &field.name.value);
        passed(&call(field, &emit! { #function(#value, #name, __visitor) }))
    });
    emit! { #(#visits)* }
}

/// Emits a call of a hook, with the span where the user named it, so that errors point there.
fn hook(hooks: &Hooks, path: Option<&Given<ExprPath>>, phase: &str, mutable: bool) -> TokenStream {
    let Some(Given { value: path, .. }) = path else { return TokenStream::new() };
    let span = path.span().resolved_at(Span::mixed_site());
    let phase = Ident::new(phase, span);
    let mutable = mutable.then(|| quote_spanned! {span=> mut });
    // The visitor checks the phase, too. Here it saves building the class for all other phases.
    let (method, call) = match &hooks.context {
        None => (quote_spanned! {span=> hook }, quote_spanned! {span=> || #path(&#mutable *self) }),
        Some(Given { value: context, .. }) => (
            quote_spanned! {span=> hook_with },
            quote_spanned! {span=> |__context: &#context| #path(&#mutable *self, __context) },
        ),
    };
    quote_spanned! {span=>
        if __visitor.phase() == _persist::Phase::#phase {
            __visitor.#method(
                _persist::Phase::#phase,
                <Self as _persist::Reflect>::CLASS,
                #call,
            )?;
        }
    }
}
