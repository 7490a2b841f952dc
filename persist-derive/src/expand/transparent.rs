//! A type without a class of its own: it is stored as its one field, or by `via` as another type.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};

use super::bounds::Bounds;
use super::{
    adapter, build, container_default, field_default, prototype, stored, tried, whole_value,
};
use crate::ast::{Adapter, Field, Fields, Given, Input, Shape, Store};

pub fn expand(input: &Input, fields: &Fields, bounds: &Bounds) -> TokenStream {
    // The check has made sure that there is exactly one.
    let Some(inner) = fields.stored().next() else { return TokenStream::new() };
    let stored = stored(&inner.ty);
    let member = &inner.member;
    let container = container_default(input);
    let whole = |value: &TokenStream| {
        let value = |field: &Field| match field.store {
            Store::Skip if field.inherits => None,
            Store::Skip => Some(field_default(field)),
            _ => Some(value.clone()),
        };
        let values = fields.0.iter().map(|field| (field, value(field)));
        build(&emit! { Self }, values, container.as_ref())
    };
    let skipped = fields.0.iter().filter(|field| matches!(field.store, Store::Skip));
    let skipped = skipped.map(|field| &field.member);
    let prototype = prototype(input);
    if let Some(given) = inner.adapter() {
        let items = Through {
            given,
            ty: inner.ty.to_token_stream(),
            value: emit! { self.#member },
            whole: &whole,
            prototype,
            code: inner
                .code
                .iter()
                .find(|it| !it.starts_with("default"))
                .cloned()
                .unwrap_or_default(),
        };
        let persist = items.persist(bounds);
        let (names, pointee) = (super::class::names(input, bounds), super::pointee(bounds));
        return emit! { #persist #names #pointee };
    }
    let head = emit! { __head: &[_persist::u8] };
    let out = emit! { __out: &mut _persist::Encoder<'_> };
    let input_of = emit! { __input: &mut _persist::Decoder<'_> };
    let visitor = emit! { __visitor: &mut _persist::Visitor<'_> };
    let result = emit! { _persist::Result };
    let written = emit! { #result<(), _persist::Stop> };
    let read = emit! { #result<Self, _persist::Fail> };
    let visited = emit! { #result<(), _persist::Error> };
    let decoded = whole(&emit! { #stored::__decode(__head, __input)? });
    let unboxed = whole(&emit! { *__boxed });
    let fixed = whole(&emit! { #stored::__decode_fixed(__head, __bad) });
    let compact = whole(&emit! { #stored::__decode_compact(__input)? });
    let pointee = super::pointee(bounds);
    let persist = bounds.implement(
        &emit! { _persist::Persist },
        &emit! {
            const __LAYOUT: _persist::Layout = #stored::__LAYOUT.transparent::<Self>();
            const __CODE: &'static _persist::TypeCode = #stored::__CODE;
            const __COMPACT: _persist::Option<_persist::usize> = #stored::__COMPACT;

            fn __compact_kind() -> _persist::Kind { #stored::__compact_kind() }
            #[inline]
            fn __encode_compact(&self, #out) -> #written {
                #stored::__encode_compact(&self.#member, __out)
            }
            #[inline]
            fn __decode_compact(#input_of) -> #read { #result::Ok(#compact) }

            fn persist_kind() -> _persist::Kind { #stored::persist_kind() }
            fn persist_name() -> _persist::String { #stored::persist_name() }
            fn __reach(__types: &mut _persist::TypeSet) { #stored::__reach(__types); }
            #prototype
            #[inline]
            fn persist_encode(&self, #out) -> #written { _persist::encode_row(self, __out) }
            #[inline]
            fn persist_decode(#input_of) -> #read { _persist::decode_row(__input) }

            #[inline(always)]
            fn __encode_head(&self, __head: &mut [_persist::u8]) {
                #stored::__encode_head(&self.#member, __head);
            }
            #[inline(always)]
            fn __encode_tail(&self, #out) -> #written {
                #stored::__encode_tail(&self.#member, __out)
            }
            #[inline]
            fn __decode(#head, #input_of) -> #read { #result::Ok(#decoded) }
            #[inline]
            fn __decode_boxed(#head, #input_of) -> #result<_persist::Box<Self>, _persist::Fail> {
                let __boxed = #stored::__decode_boxed(__head, __input)?;
                #result::Ok(_persist::out_of_line(|| _persist::Box::new(#unboxed)))
            }
            #[inline(always)]
            fn __decode_fixed(#head, __bad: &mut _persist::bool) -> Self { #fixed }
            #[inline]
            fn __decode_into(&mut self, #head, #input_of) -> #result<(), _persist::Fail> {
                #stored::__decode_into(&mut self.#member, __head, __input)
            }
            fn __keep_skipped(&mut self, __old: &mut Self) {
                #stored::__keep_skipped(&mut self.#member, &mut __old.#member);
                #(_persist::swap(&mut self.#skipped, &mut __old.#skipped);)*
            }
            fn __visit(&mut self, #visitor) -> #visited {
                #stored::__visit(&mut self.#member, __visitor)
            }
            fn __visit_shared(&self, #visitor) -> #visited {
                #stored::__visit_shared(&self.#member, __visitor)
            }
        },
    );
    let names = super::class::names(input, bounds);
    emit! { #persist #names #pointee }
}

/// Emits the impls of a type with `via`.
pub fn expand_via(input: &Input, via: &Given<Adapter>, bounds: &Bounds) -> TokenStream {
    let Shape::Via(stored) = &via.value.shape else { return TokenStream::new() };
    let empty = match &input.empty {
        Some(given) => {
            let value = whole_value(given);
            emit! { _Ok(#value) }
        }
        None => {
            let span = via.span.resolved_at(Span::mixed_site());
            quote_spanned! {span=> _persist::with::empty_via::<Self, #stored>(__prototypes) }
        }
    };
    let items = Through {
        given: via,
        ty: emit! { Self },
        value: emit! { *self },
        whole: &Clone::clone,
        prototype: super::persist_empty(&empty),
        // Another type that is stored as the same type is restored by other code.
        code: format!("{}: {}", input.ident, input.code.join(", ")),
    };
    let persist = items.persist(bounds);
    let pointee = super::pointee(bounds);
    emit! { #persist #pointee }
}

/// A type that is stored through an adapter, of itself or of its one field.
struct Through<'a> {
    given: &'a Given<Adapter>,
    /// The type that the adapter stores.
    ty: TokenStream,
    /// The value of that type in `self`.
    value: TokenStream,
    /// Makes a value of the whole type from such a value.
    whole: &'a dyn Fn(&TokenStream) -> TokenStream,
    prototype: TokenStream,
    /// The text of its attribute, for the lock.
    code: String,
}

impl Through<'_> {
    /// Emits the `impl Persist`.
    fn persist(&self, bounds: &Bounds) -> TokenStream {
        let Self { given, ty, value, whole, prototype, code } = self;
        let stored = adapter::as_adapter(given, ty);
        let call = |name, arguments: &TokenStream| adapter::call(given, ty, name, arguments);
        let put = call("put", &emit! { &#value, __out });
        let whole = whole(&tried(&call("get", &emit! { __input })));
        let into = call("get_into", &emit! { &mut #value, __input });
        bounds.implement(
            &emit! { _persist::Persist },
            &emit! {
                const __LAYOUT: _persist::Layout = _persist::Layout {
                    min: #stored::MIN,
                    leaf: true,
                    .._persist::Layout::new::<Self>()
                };
                const __CODE: &'static _persist::TypeCode = &_persist::TypeCode::Attribute(#code);

                fn persist_kind() -> _persist::Kind { #stored::kind() }
                fn persist_name() -> _persist::String { #stored::name() }
                fn __reach(__types: &mut _persist::TypeSet) { #stored::reach_field(__types); }
                #prototype
                #[inline]
                fn persist_encode(
                    &self,
                    __out: &mut _persist::Encoder<'_>,
                ) -> _persist::Result<(), _persist::Stop> { #put }
                #[inline]
                fn persist_decode(
                    __input: &mut _persist::Decoder<'_>,
                ) -> _persist::Result<Self, _persist::Fail> { _Ok(#whole) }
                #[inline]
                fn __decode_into(
                    &mut self,
                    _: &[_persist::u8],
                    __input: &mut _persist::Decoder<'_>,
                ) -> _persist::Result<(), _persist::Fail> { #into }
            },
        )
    }
}
