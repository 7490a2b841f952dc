//! Fields that are stored as another type: the adapter type of each field, and the code for its modules.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::Type;
use syn::spanned::Spanned as _;

use super::bounds::Bounds;
use super::dynamic::moved;
use super::tried;
use crate::ast::{Adapter, Container, Given, Input, Module, Shape};

/// Emits `<A as Adapter<T>>`, where `A` is a type of `persist::__private::with` that stores a `T`.
///
/// All tokens have the span of the attribute.
pub fn as_adapter(given: &Given<Adapter>, ty: &TokenStream) -> TokenStream {
    let adapter = of_shape(&given.value.shape);
    of_given(given, &adapter, ty)
}

/// Emits the adapter of a container whose elements are skipped if they cannot be loaded.
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

/// Emits a call of an adapter function, with the span of the attribute.
pub fn call(
    given: &Given<Adapter>,
    ty: &TokenStream,
    name: &str,
    arguments: &TokenStream,
) -> TokenStream {
    called(&as_adapter(given, ty), given.span, name, arguments)
}

/// Emits a call of an adapter function, with this span.
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

/// Emits a marker for the modules of a type, with an implementation of storing and restoring for each.
///
/// Each module is called in one place only, so that a mistake in it is one error.
pub fn modules(input: &Input, bounds: &Bounds) -> Option<TokenStream> {
    let mut impls = TokenStream::new();
    for field in input.all_fields() {
        if let Some(adapter) = field.adapter() {
            let ty = field.ty.to_token_stream();
            of_modules(adapter, &adapter.value.shape, &ty, bounds, &mut impls);
        }
    }
    // The marker belongs to this type alone, so that types of a private module stay private.
    (!impls.is_empty()).then(|| emit! { enum __With<const N: _persist::usize> {} #impls })
}

/// Collects the modules in a shape, each with the type that it stores: a part of the field's type.
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

/// Emits the implementation for a module, with the span where the user named it.
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
                // Like in `empty`: a name that the module lacks is found outside.
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

/// Emits the empty value of a module's own `empty`, or that of `Default`.
///
/// A derive does not see which functions a module has, but rustc does: names that an inner block imports by `*` shadow
/// those of the outer block.
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

/// Collects the types in a field that a lift stores as they are, for the bounds of type parameters.
///
/// It follows the field's type as far as the type is written in the form of the lift.
pub fn plain_types<'t>(shape: &Shape, ty: &'t Type, plain: &mut Vec<&'t Type>) {
    let parts: Vec<&Type> = match (shape, crate::ast::ungroup(ty)) {
        (Shape::Same, _) => return plain.push(ty),
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
        shapes.iter().zip(parts).for_each(|(shape, ty)| plain_types(shape, ty, plain));
    }
}
