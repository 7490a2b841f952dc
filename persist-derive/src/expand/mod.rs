//! Writes the code of a type, each part in a file of its own.
//!
//! All code is inside one `const _`. It reaches `persist` and `std` by absolute paths, and names each trait in full, so
//! that names of the user cannot shadow what it uses.

mod adapter;
mod bounds;
mod class;
mod compact;
mod convert;
mod decode;
mod dynamic;
mod encode;
mod fields;
mod migration;
mod pod;
mod row;
mod save_as;
mod transparent;
mod visit;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Path, Type};

use self::bounds::Bounds;
pub use self::dynamic::{at_one_place, expand as expand_trait};
use crate::ast::{self, Body, DefaultValue, Field, Fields, Given, Input, Shape, Store, Variant};

/// Emits the impls of a type without mistakes.
pub fn expand(input: &Input) -> TokenStream {
    let import = import(input.krate.as_ref());
    let bounds = Bounds::new(input);
    let impls = match &input.body {
        Body::Struct(fields) if let Some(owned) = &input.save_as => {
            save_as::expand(input, fields, owned, &bounds)
        }
        Body::Struct(fields) if input.transparent.is_some() => {
            transparent::expand(input, fields, &bounds)
        }
        _ => match &input.via {
            Some(via) => transparent::expand_via(input, via, &bounds),
            None => class(input, &bounds),
        },
    };
    let modules = adapter::modules(input, &bounds);
    let texts = texts(input);
    emit! {
        // No other lint looks into the code of a derive.
        #[allow(deprecated)]
        const _: () = {
            #import
            #modules
            #texts
            #impls
        };
    }
}

/// Emits the imports of generated code.
///
/// The whole library is `_persist`. The items that the code of each field uses have short names, since rustc takes as
/// long for the tokens of an expansion as for their meaning. It is not an `extern crate`: rustc would use its name in
/// errors.
fn import(krate: Option<&Given<Path>>) -> TokenStream {
    let path = library(krate);
    emit! {
        use #path::__private::{self as _persist, Persist as _Persist, Result::{Err as _Err, Ok as _Ok}, short::*};
    }
}

/// The path of the library.
fn library(krate: Option<&Given<Path>>) -> TokenStream {
    krate.map_or_else(|| emit! { ::persist }, |path| path.value.to_token_stream())
}

/// Emits the impls of a type with field records.
fn class(input: &Input, bounds: &Bounds) -> TokenStream {
    let rows = row::expand(input, bounds);
    let layout = row::type_layout(input);
    let kind = class::kind();
    let empty = prototype(input);
    let encode = encode::expand(input);
    let decode = decode::expand(input);
    let visit = visit::expand(input);
    let pod = pod::items(input);
    let persist = bounds.implement(
        &emit! { _persist::Persist },
        &emit! { #layout #pod #kind #empty #encode #decode #visit },
    );
    let block = pod::block_impl(input);
    let component = component(input, bounds);
    let compact = compact::check(input);

    let tables = class::expand(input, bounds);
    let all_rows = row::all(input);
    let by_index = fields::expand(input);
    let reflect =
        bounds.implement(&emit! { _persist::Reflect }, &emit! { #tables #all_rows #by_index });
    let names = class::names(input, bounds);
    let pointee = pointee(bounds);
    emit! { #rows #persist #block #component #compact #reflect #names #pointee }
}

fn prototype(input: &Input) -> TokenStream {
    let value = match (&input.empty, &input.body) {
        (Some(given), _) => whole_value(given),
        (None, Body::Struct(fields)) => {
            empty(&emit! { Self }, fields, container_default(input).as_ref())
        }
        (None, Body::Enum(variants)) => {
            let variant = &variants[ast::empty_variant(&input.ident, variants).unwrap_or(0)];
            empty(&path(variant), &variant.fields, None)
        }
    };
    let boxed = match (&input.empty, &input.body) {
        (None, Body::Struct(fields)) => empty_boxed(fields, container_default(input).as_ref()),
        _ => None,
    };
    let empty = persist_empty(&emit! { _Ok(#value) });
    emit! { #empty #boxed }
}

/// Emits `__empty_boxed` of a struct. Its fields are made in boxes of their own and moved from there, like in
/// [`decode`].
fn empty_boxed(fields: &Fields, container: Option<&TokenStream>) -> Option<TokenStream> {
    let mut locals = Vec::new();
    let values = fields.0.iter().enumerate().map(|(index, field)| {
        let Some(stored) = own_empty(field) else { return (field, empty_value(field)) };
        let local = decode::boxed_local(index);
        let value = tried(&emit! { #stored::__empty_boxed(__prototypes) });
        locals.push(emit! { let #local = #value; });
        (field, Some(emit! { *#local }))
    });
    let values: Vec<_> = values.collect();
    if locals.is_empty() {
        return None;
    }
    let value = build(&emit! { Self }, values.into_iter(), container);
    Some(emit! {
        #[inline]
        fn __empty_boxed(
            __prototypes: &_persist::Prototypes<'_>,
        ) -> _persist::Result<_persist::Box<Self>, _persist::Error> {
            #(#locals)*
            _Ok(_persist::out_of_line(|| _persist::Box::new(#value)))
        }
    })
}

fn persist_empty(result: &TokenStream) -> TokenStream {
    emit! {
        #[inline(never)]
        fn persist_empty(
            __prototypes: &_persist::Prototypes<'_>,
        ) -> _persist::Result<Self, _persist::Error> {
            #result
        }
    }
}

/// Emits the impl of a component without methods.
fn component(input: &Input, bounds: &Bounds) -> Option<TokenStream> {
    let given = input.component.as_ref()?;
    let implementation = bounds.implement(&emit! { _persist::Component }, &TokenStream::new());
    let ident = &input.ident;
    let span = given.span.resolved_at(Span::mixed_site());
    // This function's bound has a message that says what to use in place of an `Rc`. The bound of the trait has none.
    let check = input.generics.params.is_empty().then(|| {
        quote_spanned! {span=> const _: fn() = _persist::assert_sendable::<#ident>; }
    });
    Some(emit! { #implementation #check })
}

/// Emits the impl that lets shared pointers point to the type.
fn pointee(bounds: &Bounds) -> TokenStream {
    bounds.implement(&emit! { _persist::Pointee }, &emit! { type As = Self; })
}

/// Emits the value that fields of a struct inherit their defaults from, if there is one.
fn container_default(input: &Input) -> Option<TokenStream> {
    input.default.as_ref().map(whole_value)
}

/// Emits a value of the type itself. A call of `Default` has the span of the attribute.
fn whole_value(given: &Given<DefaultValue>) -> TokenStream {
    let value = default_value(&given.value, &emit! { Self });
    match given.value {
        DefaultValue::Std => dynamic::moved(value, given.span.resolved_at(Span::mixed_site())),
        DefaultValue::Expr(_) | DefaultValue::Function { .. } => value,
    }
}

/// Emits a struct or variant with the value of each field. A field without one keeps its value in `container`.
///
/// The fields of `container` are assigned, since a type that implements `Drop` cannot be taken apart.
fn build<'f>(
    path: &TokenStream,
    values: impl Iterator<Item = (&'f Field, Option<TokenStream>)>,
    container: Option<&TokenStream>,
) -> TokenStream {
    let values: Vec<_> = values.collect();
    let given = values.iter().filter_map(|(field, value)| Some((&field.member, value.as_ref()?)));
    let (members, given): (Vec<_>, Vec<_>) = given.unzip();
    match container {
        Some(container) if given.is_empty() => container.clone(),
        Some(container) if given.len() < values.len() => emit! {
            {
                let mut __whole: Self = #container;
                #(__whole.#members = #given;)*
                __whole
            }
        },
        _ => emit! { #path { #(#members: #given),* } },
    }
}

/// Emits an empty struct or variant.
fn empty(path: &TokenStream, fields: &Fields, container: Option<&TokenStream>) -> TokenStream {
    build(path, fields.0.iter().map(|field| (field, empty_value(field))), container)
}

/// Emits the empty value of a field. `None` if the field inherits it.
fn empty_value(field: &Field) -> Option<TokenStream> {
    if let Some(stored) = own_empty(field) {
        return Some(tried(&emit! { #stored::persist_empty(__prototypes) }));
    }
    match (&field.empty, &field.default, &field.store) {
        (Some(given), ..) => Some(default_value(&given.value, &field.ty.to_token_stream())),
        _ if field.inherits => None,
        (None, None, Store::With(given)) => Some(match &given.value.shape {
            Shape::Module(module) => adapter::empty(module, &field.ty),
            _ => field_default(field),
        }),
        _ => Some(field_default(field)),
    }
}

/// The type of a field that has the empty value of its type.
fn own_empty(field: &Field) -> Option<TokenStream> {
    let is_own = field.empty.is_none()
        && !field.inherits
        && field.default.is_none()
        && matches!(field.store, Store::Plain);
    is_own.then(|| stored(&field.ty).to_token_stream())
}

/// Emits functions for defaults in strings that may be meant as texts.
///
/// Each calls the user's function in one place, through a macro. If there is no such function, rustc's error names the
/// macro it is in, and the name of this macro says how to write a text. Only rustc knows whether the function exists.
fn texts(input: &Input) -> TokenStream {
    let mut functions = TokenStream::new();
    for field in input.all_fields() {
        for given in [&field.default, &field.empty].into_iter().flatten() {
            let DefaultValue::Function { path, text: Some(index) } = &given.value else { continue };
            let (function, ty) = (text_function(*index), &field.ty);
            functions.extend(emit! {
                fn #function() -> #ty {
                    _persist::a_string_is_the_path_of_a_function_and_a_text_needs_into!(#path)
                }
            });
        }
    }
    functions
}

fn text_function(index: usize) -> Ident {
    Ident::new(&format!("__text_{index}"), Span::mixed_site())
}

/// Emits a call of a function, as if the tokens came from a macro: see [`texts`].
pub fn call_of_string(path: TokenStream) -> TokenStream {
    let mut place = Span::mixed_site();
    let tokens = path.into_iter().map(|mut token| {
        place = Span::mixed_site().located_at(token.span());
        token.set_span(place);
        token
    });
    let path: TokenStream = tokens.collect();
    quote_spanned! {place=> #path() }
}

/// Emits the value of a field that is not in a save, unless the field [inherits](Field::inherits) it.
fn field_default(field: &Field) -> TokenStream {
    let ty = &field.ty;
    match &field.default {
        Some(given) => default_value(&given.value, &ty.to_token_stream()),
        // A missing `Option` is `None`, and a missing `Unknown` is empty. Their prototypes have these values. This form
        // also compiles for a type of the user that is named `Option`. Only `encode_default` uses it.
        None if field.has_default() && matches!(field.store, Store::Plain) => {
            let stored = stored(ty);
            emit! {
                match #stored::persist_empty(&_persist::Prototypes::bare()) {
                    _Ok(__value) => __value,
                    _Err(__error) => return _Err(__out.refuse(__error)),
                }
            }
        }
        None => emit! { <#ty as _persist::with::DefaultValue>::default_value() },
    }
}

fn default_value(value: &DefaultValue, ty: &TokenStream) -> TokenStream {
    match value {
        DefaultValue::Std => {
            emit! { <#ty as _persist::Default>::default() }
        }
        DefaultValue::Expr(expr) => expr.to_token_stream(),
        DefaultValue::Function { path, text: None } => emit! { #path() },
        DefaultValue::Function { text: Some(index), .. } => {
            let function = text_function(*index);
            emit! { #function() }
        }
    }
}

/// Emits a call of a function of `Field` for a field, with the span of the field's type.
///
/// If the type is not `Persist`, each call is an error. Rustc shows an error only once for each span, so that the user
/// sees one.
fn call(field: &Field, call: &TokenStream) -> TokenStream {
    call_of(field, &emit! { __FIELD.#call })
}

/// Emits a call of a function of `Persist` for a field, like [`call`].
fn call_of(field: &Field, call: &TokenStream) -> TokenStream {
    let stored = stored(&field.ty);
    let span = field.ty.span().resolved_at(Span::mixed_site());
    let call = dynamic::moved(call.clone(), span);
    quote_spanned! {span=> #stored::#call }
}

/// Emits `<A as Adapter<T>>` for a field that is stored as another type or in its compact form.
fn adapter_of(field: &Field) -> Option<TokenStream> {
    let ty = &field.ty;
    if field.is_compact {
        let adapter = emit! { <_persist::with::Compact as _persist::with::Adapter<#ty>> };
        return Some(dynamic::moved(adapter, ty.span().resolved_at(Span::mixed_site())));
    }
    let adapter = field.adapter().map(|given| match field.skip_failed {
        Some(_) => adapter::as_skipping(given, &ty.to_token_stream()),
        None => adapter::as_adapter(given, &ty.to_token_stream()),
    });
    adapter.or_else(|| {
        let given = field.skip_failed.as_ref()?;
        let adapter = emit! { <_persist::with::SkipFailed as _persist::with::Adapter<#ty>> };
        Some(dynamic::moved(adapter, given.span.resolved_at(Span::mixed_site())))
    })
}

/// Emits a call of a function of a field's adapter, with the span of the attribute.
///
/// If the adapter does not fit the field, each call is an error. Rustc shows an error only once for each span, so that
/// the user sees one.
fn adapter_call(field: &Field, name: &str, arguments: &TokenStream) -> Option<TokenStream> {
    if let Some(given) = field.adapter().filter(|_| field.skip_failed.is_none()) {
        return Some(adapter::call(given, &field.ty.to_token_stream(), name, arguments));
    }
    let adapter = adapter_of(field)?;
    if let Some(given) = &field.skip_failed {
        return Some(adapter::called(&adapter, given.span, name, arguments));
    }
    let name = Ident::new(name, Span::mixed_site());
    let span = field.ty.span().resolved_at(Span::mixed_site());
    Some(dynamic::moved(emit! { #adapter::#name(#arguments) }, span))
}

/// Emits a call that reads a field by its adapter. The field has this index in this row.
fn adapter_read(
    field: &Field,
    row: usize,
    index: usize,
    name: &str,
    arguments: &TokenStream,
) -> Option<TokenStream> {
    let read = adapter_call(field, name, arguments)?;
    if field.skip_failed.is_none() {
        return Some(read);
    }
    let place = emit! { <Self as _persist::Reflect>::CLASS, #row, #index };
    Some(emit! { __input.in_skipping_field(#place, |__input| #read) })
}

/// Emits a call of the function that writes or reads a field of a row.
fn row_call(
    field: &Field,
    name: &str,
    place: &TokenStream,
    arguments: &TokenStream,
) -> TokenStream {
    let name = Ident::new(name, Span::mixed_site());
    call(field, &emit! { #name::<#place>(#arguments) })
}

/// Emits `#result?` without the traits of `?`, for which rustc would compile a function for each type.
fn tried(result: &TokenStream) -> TokenStream {
    emit! {
        match #result {
            _Ok(__value) => __value,
            _Err(__error) => return _Err(__error),
        }
    }
}

/// Emits `#result?;` for a result without a value, in the same way.
fn passed(result: &TokenStream) -> TokenStream {
    emit! { if let _Err(__error) = #result { return _Err(__error); } }
}

/// Emits `<F as Persist>` with the span of `F`, so that errors point there.
fn stored(ty: &Type) -> TokenStream {
    let span = ty.span().resolved_at(Span::mixed_site());
    quote_spanned! {span=> <#ty as _Persist> }
}

/// Emits a path of a variant for a pattern or an expression. With braces, it fits every form of variant.
fn path(variant: &Variant) -> TokenStream {
    let ident = &variant.ident;
    emit! { Self::#ident }
}

/// Emits a pattern that binds the stored fields to their local variables.
fn pattern(variant: &Variant) -> TokenStream {
    let path = path(variant);
    let members = variant.fields.stored().map(|field| &field.member);
    let locals = variant.fields.stored().map(|field| &field.local);
    emit! { #path { #(#members: #locals,)* .. } }
}

/// How the generated code reaches a field.
#[derive(Clone, Copy)]
enum Access {
    /// By `self`, in a struct.
    Own,
    /// By the reference in its local variable, which a pattern has bound.
    Matched,
}

impl Access {
    fn shared(self, field: &Field) -> TokenStream {
        let Field { member, local, .. } = field;
        match self {
            Self::Own => emit! { &self.#member },
            Self::Matched => local.to_token_stream(),
        }
    }

    fn mutable(self, field: &Field) -> TokenStream {
        let Field { member, local, .. } = field;
        match self {
            Self::Own => emit! { &mut self.#member },
            Self::Matched => local.to_token_stream(),
        }
    }
}
