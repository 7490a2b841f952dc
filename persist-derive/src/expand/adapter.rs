//! Fields that are stored as another type: the adapter type of each, and the code of its modules.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::Type;
use syn::spanned::Spanned as _;

use super::bounds::Bounds;
use super::dynamic::moved;
use super::tried;
use crate::ast::{Adapter, Container, Given, Input, Module, Shape};

/// `<A as Adapter<T>>`, where `A` says how a `T` is stored: it is one of `persist::__private::with`. All of it is at the
/// place of the attribute.
pub fn as_adapter(given: &Given<Adapter>, ty: &TokenStream) -> TokenStream {
    let adapter = of_shape(&given.value.shape);
    of_given(given, &adapter, ty)
}

/// That of a container whose elements are skipped if they cannot be loaded.
pub fn as_skipping(given: &Given<Adapter>, ty: &TokenStream) -> TokenStream {
    let adapter = match &given.value.shape {
        Shape::Lift(container, parts) => of_container(
            container,
            parts.iter().map(|part| {
                let part = of_shape(part);
                emit! { _persist::with::Skipping<#part> }
            }),
        ),
        shape => of_shape(shape),
    };
    of_given(given, &adapter, ty)
}

fn of_given(given: &Given<Adapter>, adapter: &TokenStream, ty: &TokenStream) -> TokenStream {
    let span = given.span.resolved_at(Span::mixed_site());
    moved(emit! { <#adapter as _persist::with::Adapter<#ty>> }, span)
}

/// A call of a function of it, at the place of the attribute too.
pub fn call(
    given: &Given<Adapter>,
    ty: &TokenStream,
    name: &str,
    arguments: &TokenStream,
) -> TokenStream {
    called(&as_adapter(given, ty), given.span, name, arguments)
}

/// A call of a function of an adapter, at this place.
pub fn called(
    adapter: &TokenStream,
    span: Span,
    name: &str,
    arguments: &TokenStream,
) -> TokenStream {
    let span = span.resolved_at(Span::mixed_site());
    let name = Ident::new(name, span);
    let arguments = moved(arguments.clone(), span);
    quote_spanned! {span=> #adapter::#name(#arguments) }
}

fn of_shape(shape: &Shape) -> TokenStream {
    match shape {
        Shape::Same => emit! { _persist::with::Same },
        Shape::Module(module) => {
            let index = module.index;
            emit! { _persist::with::Through<Self, __With<#index>> }
        }
        Shape::By(ty) => emit! { _persist::with::By<#ty> },
        Shape::Serde => emit! { _persist::with::Serde },
        Shape::Via(ty) => emit! { _persist::with::Via<#ty> },
        Shape::Lift(container, parts) => of_container(container, parts.iter().map(of_shape)),
    }
}

fn of_container(container: &Container, parts: impl Iterator<Item = TokenStream>) -> TokenStream {
    match container {
        Container::Path(path) => emit! { #path<#(#parts),*> },
        Container::Tuple => emit! { (#(#parts,)*) },
        Container::Items => emit! { _persist::with::Items<#(#parts),*> },
    }
}

/// A marker for the modules of a type, and what each stores and restores. It is written once for each module, so that
/// whatever is wrong there is one error.
pub fn modules(input: &Input, bounds: &Bounds) -> Option<TokenStream> {
    let mut impls = TokenStream::new();
    for field in input.all_fields() {
        if let Some(adapter) = field.adapter() {
            let ty = field.ty.to_token_stream();
            of_modules(adapter, &adapter.value.shape, &ty, bounds, &mut impls);
        }
    }
    // It is of this type alone, so that what a private module stores stays private.
    (!impls.is_empty()).then(|| emit! { enum __With<const N: _persist::usize> {} #impls })
}

/// The modules in a shape, each with the type of what it stores: its part of the field's.
fn of_modules(
    adapter: &Given<Adapter>,
    shape: &Shape,
    ty: &TokenStream,
    bounds: &Bounds,
    impls: &mut TokenStream,
) {
    match shape {
        Shape::Module(module) => impls.extend(implementation(module, ty, bounds)),
        Shape::Lift(container, parts) => {
            let span = adapter.span.resolved_at(Span::mixed_site());
            let same = of_container(container, parts.iter().map(|_| of_shape(&Shape::Same)));
            let same = moved(same, span);
            for (index, part) in parts.iter().enumerate() {
                let ty = quote_spanned! {span=>
                    <#same as _persist::with::Lift<#ty, #index>>::Part
                };
                of_modules(adapter, part, &ty, bounds, impls);
            }
        }
        Shape::Same | Shape::By(_) | Shape::Serde | Shape::Via(_) => {}
    }
}

/// What a module stores and restores, at the place where the user named it.
fn implementation(module: &Module, ty: &TokenStream, bounds: &Bounds) -> TokenStream {
    let Module { path, iter, index, context } = module;
    let span = path.span();
    let item = |name: &str| {
        let name = Ident::new(name, span);
        quote_spanned! {span=> #path::#name }
    };
    let (store, restore) = (item("store"), item("restore"));
    let span = span.resolved_at(Span::mixed_site());
    let argument = context.as_ref().map(|_| quote_spanned! {span=> , __context });
    let this = quote_spanned! {span=> <Self as _persist::with::Module<__With<#index>>> };
    let (stored, put) = if *iter {
        let item = item("Item");
        let stored = quote_spanned! {span=> _persist::std::vec::Vec<#item> };
        let items = quote_spanned! {span=> #store(__value #argument) };
        (stored, quote_spanned! {span=> _persist::with::put_each::<#item, _>(#items, __out) })
    } else {
        (item("Stored"), quote_spanned! {span=> #this::put(&#store(__value #argument), __out) })
    };
    let get = tried(&quote_spanned! {span=> #this::get(__input) });
    let of_save = context.as_ref().map(|context| {
        quote_spanned! {span=> let __context = __out.context::<#context>()?; }
    });
    let of_load = context.as_ref().map(|context| {
        quote_spanned! {span=> let __context = __input.context::<#context>()?; }
    });
    let default = match context {
        Some(_) => quote_spanned! {span=> restore_into_with_context as restore_into },
        None => quote_spanned! {span=> restore_into },
    };
    let placed = tried(&quote_spanned! {span=> #this::placed(__placed, __input) });
    let restored =
        tried(&quote_spanned! {span=> #this::restored(#restore(__stored #argument), __input) });
    let name = path.to_token_stream().to_string().replace(' ', "");
    bounds.implement(
        &emit! { _persist::with::Module<__With<#index>> },
        &quote_spanned! {span=>
            type Field = #ty;
            type Stored = #stored;
            const NAME: &'static _persist::str = #name;

            fn store(
                __value: &Self::Field,
                __out: &mut _persist::Encoder<'_>,
            ) -> _persist::Result<(), _persist::Stop> {
                #of_save
                #put
            }

            fn restore(
                __input: &mut _persist::Decoder<'_>,
            ) -> _persist::Result<Self::Field, _persist::Fail> {
                #of_load
                let __stored = #get;
                #this::restored(#restore(__stored #argument), __input)
            }

            fn restore_into(
                __target: &mut Self::Field,
                __input: &mut _persist::Decoder<'_>,
            ) -> _persist::Result<(), _persist::Fail> {
                #of_load
                let __stored = #get;
                // As for `empty`: what the module does not have is found outside.
                let __placed = {
                    #[allow(unused_imports)]
                    use _persist::with::#default;
                    {
                        #[allow(unused_imports, clippy::wildcard_imports)]
                        use #path::*;
                        restore_into(__target, __stored #argument)
                    }
                };
                if let _persist::Option::Some(__stored) = #placed {
                    *__target = #restored;
                }
                _Ok(())
            }
        },
    )
}

/// What a module calls empty, or else `Default` does. A derive does not see what a module has, and rustc does: what comes
/// by `*` in an inner block is found before what an outer block imports.
pub fn empty(module: &Module, ty: &Type) -> TokenStream {
    let path = &module.path;
    let span = ty.span().resolved_at(Span::mixed_site());
    let empty = quote_spanned! {span=> empty() };
    emit! {
        {
            #[allow(unused_imports)]
            use _persist::with::empty;
            {
                #[allow(unused_imports, clippy::wildcard_imports)]
                use #path::*;
                #empty
            }
        }
    }
}

/// The types in a field that a lift stores as they are, as far as the field's type is written in its form: for what is
/// asked of type parameters.
pub fn kept_types<'t>(shape: &Shape, ty: &'t Type, kept: &mut Vec<&'t Type>) {
    let parts: Vec<&Type> = match (shape, crate::ast::ungroup(ty)) {
        (Shape::Same, _) => return kept.push(ty),
        (Shape::Lift(Container::Tuple, _), Type::Tuple(tuple)) => tuple.elems.iter().collect(),
        (Shape::Lift(Container::Items, _), Type::Array(array)) => vec![&array.elem],
        (Shape::Lift(Container::Path(_), _), Type::Path(path)) => {
            let arguments = path.path.segments.last().map(|last| &last.arguments);
            let Some(syn::PathArguments::AngleBracketed(arguments)) = arguments else { return };
            let types = arguments.args.iter().filter_map(|argument| match argument {
                syn::GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            types.collect()
        }
        _ => return,
    };
    if let Shape::Lift(_, shapes) = shape {
        shapes.iter().zip(parts).for_each(|(shape, ty)| kept_types(shape, ty, kept));
    }
}
