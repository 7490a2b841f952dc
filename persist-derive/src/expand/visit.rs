//! `reach` and `visit`: to the types, and to the references and hooks, inside.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::ExprPath;
use syn::spanned::Spanned as _;

use super::{Access, layout, pattern, stored};
use crate::ast::{Body, Field, Fields, Given, Input, Store};

pub fn expand(input: &Input) -> TokenStream {
    let reach = super::class::reach(input);
    let visit = fields(input, "visit", Access::mutable);
    let visit_shared = fields(input, "visit_shared", Access::shared);
    // Outer values tidy up before inner ones; inner ones are whole before outer.
    let hooks = &input.hooks;
    let before_save = hook(hooks.before_save.as_ref(), "BeforeSave", true);
    let validate = hook(hooks.validate.as_ref(), "Validate", false);
    let after_load = hook(hooks.after_load.as_ref(), "AfterLoad", true);
    let no_hook = hooks.before_save.is_some().then(|| {
        emit! { __visitor.no_hook(&<Self as _persist::Reflect>::CLASS.name())?; }
    });
    emit! {
        #reach

        fn visit(&mut self, __visitor: &mut _persist::codec::Visitor<'_>) -> _persist::Result<()> {
            #before_save
            #visit
            #validate
            #after_load
            _persist::__private::std::result::Result::Ok(())
        }

        fn visit_shared(&self, __visitor: &mut _persist::codec::Visitor<'_>) -> _persist::Result<()> {
            #no_hook
            #visit_shared
            #validate
            _persist::__private::std::result::Result::Ok(())
        }
    }
}

/// Calls a method of every field that may hold references or hooks.
fn fields(input: &Input, method: &str, value: fn(Access, &Field) -> TokenStream) -> TokenStream {
    match &input.body {
        Body::Struct(fields) => each(fields, method, |field| value(Access::Own, field)),
        Body::Enum(variants) => {
            let arms: Vec<_> = layout::with_fields(variants)
                .map(|(_, variant)| {
                    let pattern = pattern(variant);
                    let each = each(&variant.fields, method, |field| value(Access::Matched, field));
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

fn each(fields: &Fields, method: &str, value: impl Fn(&Field) -> TokenStream) -> TokenStream {
    let method = Ident::new(method, Span::mixed_site());
    let visits = fields.stored().filter(|field| matches!(field.store, Store::Plain)).map(|field| {
        let stored = stored(&field.ty);
        let value = value(field);
        let name = &field.name.value;
        emit! {
            if !#stored::LEAF {
                #stored::#method(#value, __visitor).map_err(|__error| __error.in_field(#name))?;
            }
        }
    });
    emit! { #(#visits)* }
}

/// Runs a hook; all at the place where the user named it, so that errors point there.
fn hook(path: Option<&Given<ExprPath>>, phase: &str, mutable: bool) -> TokenStream {
    let Some(Given { value: path, .. }) = path else { return TokenStream::new() };
    let span = path.span().resolved_at(Span::mixed_site());
    let phase = Ident::new(phase, span);
    let mutable = mutable.then(|| quote_spanned! {span=> mut });
    // The phase is checked here too: the name is made only for the one that needs it.
    quote_spanned! {span=>
        if __visitor.phase() == _persist::codec::Phase::#phase {
            __visitor.hook(
                _persist::codec::Phase::#phase,
                &<Self as _persist::Reflect>::CLASS.name(),
                || #path(&#mutable *self),
            )?;
        }
    }
}
