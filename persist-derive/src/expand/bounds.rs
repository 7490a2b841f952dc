//! The bounds of type parameters, and how the parameters show in a class's name.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{GenericParam, Generics, Ident, Type, TypeMacro, TypePath, WherePredicate, parse_quote};

use super::adapter::plain_types;
use crate::ast::{DefaultValue, Given, Input, Shape, Store, is_persist, mentions, ungroup};

/// The generics of the impls.
pub struct Bounds {
    ident: Ident,
    generics: Generics,
    /// The `Argument`s of the class.
    pub arguments: Vec<TokenStream>,
}

impl Bounds {
    pub fn new(input: &Input) -> Self {
        let params: Vec<Ident> =
            input.generics.type_params().map(|param| param.ident.clone()).collect();
        let mut usage = Usage { params: &params, used: Vec::new(), associated: Vec::new() };
        match &input.via {
            // A type with `via` does not store its own fields.
            Some(via) => {
                if let Shape::Via(stored) = &via.value.shape {
                    usage.visit_type(stored);
                }
            }
            None => {
                let mut stored = Vec::new();
                for field in input.all_fields() {
                    match &field.store {
                        Store::Plain => stored.push(&field.ty),
                        Store::With(given) => {
                            plain_types(&given.value.shape, &field.ty, &mut stored);
                        }
                        Store::Skip => {}
                    }
                }
                stored.into_iter().for_each(|ty| usage.visit_type(ty));
            }
        }

        if input.name_markers.is_some() {
            params.iter().for_each(|param| usage.enter(param));
        }

        let mut predicates: Vec<WherePredicate> =
            params.iter().map(|param| parse_quote! { #param: 'static }).collect();
        match &input.bound {
            Some(bound) => {
                // Only parameters with a `Persist` bound have a class name to show.
                usage.used.retain(|param| {
                    bound.value.iter().any(|predicate| is_persist(predicate, param))
                });
                predicates.extend(bound.value.iter().cloned());
            }
            None => {
                let used = usage.used.iter().map(ToTokens::to_token_stream);
                let associated = usage.associated.iter().map(ToTokens::to_token_stream);
                predicates.extend(used.chain(associated).map(|ty| -> WherePredicate {
                    parse_quote! { #ty: _persist::Persist }
                }));
                predicates.extend(defaults(input, &params));
            }
        }

        if let (Some(owned), false) = (&input.save_as, params.is_empty()) {
            let owned = &owned.value;
            predicates.push(parse_quote! { #owned: _persist::Reflect + _persist::FieldNames });
        }

        let mut generics = input.generics.clone();
        if !predicates.is_empty() {
            generics.make_where_clause().predicates.extend(predicates);
        }
        Self { ident: input.ident.clone(), generics, arguments: arguments(input, &usage) }
    }

    /// True if the type has parameters other than lifetimes.
    pub fn is_generic(&self) -> bool {
        self.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)))
    }

    /// The type, as written in the body of a function or a constant.
    pub fn type_in_body(&self) -> TokenStream {
        let ident = &self.ident;
        if self.is_generic() {
            return emit! { Self };
        }
        let lifetimes = self.generics.lifetimes().map(|_| emit! { '_ });
        emit! { #ident<#(#lifetimes),*> }
    }

    /// Emits `fn name(argument) { body }`, with the same parameters as an impl.
    pub fn function(
        &self,
        name: &TokenStream,
        argument: &TokenStream,
        body: &TokenStream,
    ) -> TokenStream {
        let (params, _, clause) = self.generics.split_for_impl();
        emit! { fn #name #params (#argument) #clause { #body } }
    }

    /// Emits `impl trait_path for Type { items }`.
    pub fn implement(&self, trait_path: &TokenStream, items: &TokenStream) -> TokenStream {
        self.implement_for(&TokenStream::new(), trait_path, items)
    }

    /// Emits `impl trait_path for &Type { items }`.
    pub fn implement_for_reference(
        &self,
        trait_path: &TokenStream,
        items: &TokenStream,
    ) -> TokenStream {
        self.implement_for(&emit! { & }, trait_path, items)
    }

    fn implement_for(
        &self,
        pointer: &TokenStream,
        trait_path: &TokenStream,
        items: &TokenStream,
    ) -> TokenStream {
        let (params, arguments, clause) = self.generics.split_for_impl();
        let ident = &self.ident;
        emit! {
            #[automatically_derived]
            impl #params #trait_path for #pointer #ident #arguments #clause {
                #items
            }
        }
    }
}

/// Bounds `F: Default` for fields whose value may come from `Default`, if their type depends on parameters.
fn defaults(input: &Input, params: &[Ident]) -> Vec<WherePredicate> {
    let mut predicates: Vec<WherePredicate> = Vec::new();
    for field in input.all_fields().filter(|_| input.via.is_none() && input.save_as.is_none()) {
        let std = match (&field.default, &field.store) {
            (Some(given), _) => matches!(given.value, DefaultValue::Std),
            (None, _) if field.inherits => false,
            (None, store) => !matches!(store, Store::Plain) && field.empty.is_none(),
        };
        let ty = &field.ty;
        let mut usage = Usage { params, used: Vec::new(), associated: Vec::new() };
        usage.visit_type(ty);
        if std && usage.any() {
            predicates.push(parse_quote! { #ty: _persist::Default });
        }
        if matches!(field.store, Store::With(_)) {
            // `field_mut` returns the field as `dyn Any`.
            predicates.extend(usage.associated.iter().map(|ty| -> WherePredicate {
                parse_quote! { #ty: 'static }
            }));
        }
    }
    let is_std = |given: &Given<DefaultValue>| matches!(given.value, DefaultValue::Std);
    if !params.is_empty() && [&input.default, &input.empty].into_iter().flatten().any(is_std) {
        predicates.push(parse_quote! { Self: _persist::Default });
    }
    predicates
}

/// The `Argument`s in declaration order. A parameter that is only stored as `T::Item` shows as that type.
fn arguments(input: &Input, usage: &Usage<'_>) -> Vec<TokenStream> {
    let named =
        |ty: TokenStream| emit! { _persist::Argument::Type(<#ty as _Persist>::persist_name) };
    let mut arguments = Vec::new();
    for param in &input.generics.params {
        match param {
            GenericParam::Const(param) => {
                let ident = &param.ident;
                arguments.push(emit! { _persist::Argument::Const(&#ident) });
            }
            GenericParam::Type(param) if usage.used.contains(&param.ident) => {
                arguments.push(named(param.ident.to_token_stream()));
            }
            GenericParam::Type(param) if input.bound.is_none() => {
                let associated = usage.associated.iter().filter(|ty| mentions(ty, &param.ident));
                arguments.extend(associated.map(|ty| named(ty.to_token_stream())));
            }
            _ => {}
        }
    }
    arguments
}

/// Finds the type parameters in types.
struct Usage<'a> {
    params: &'a [Ident],
    /// The parameters that are used outside a `PhantomData`.
    used: Vec<Ident>,
    /// `T::Item` and `<T as Trait>::Item`.
    associated: Vec<TypePath>,
}

impl Usage<'_> {
    fn any(&self) -> bool {
        !self.used.is_empty() || !self.associated.is_empty()
    }

    fn enter(&mut self, param: &Ident) {
        if self.params.contains(param) && !self.used.contains(param) {
            self.used.push(param.clone());
        }
    }

    fn is_param(&self, ty: &Type) -> bool {
        matches!(ungroup(ty), Type::Path(path) if path.path.get_ident().is_some_and(|ident| self.params.contains(ident)))
    }
}

impl<'ast> Visit<'ast> for Usage<'_> {
    fn visit_type_path(&mut self, ty: &'ast TypePath) {
        let segments = &ty.path.segments;
        let associated = match &ty.qself {
            Some(qself) => self.is_param(&qself.ty),
            None => {
                segments.len() > 1
                    && ty.path.leading_colon.is_none()
                    && self.params.contains(&segments[0].ident)
            }
        };
        if associated {
            let written = ty.to_token_stream().to_string();
            if self.associated.iter().all(|other| other.to_token_stream().to_string() != written) {
                self.associated.push(ty.clone());
            }
        } else if let Some(ident) = ty.path.get_ident() {
            self.enter(ident);
        } else if segments.last().is_none_or(|segment| segment.ident != "PhantomData") {
            visit::visit_type_path(self, ty);
        }
    }

    // The output of a macro is unknown. An unneeded bound is safe.
    fn visit_type_macro(&mut self, ty: &'ast TypeMacro) {
        for param in self.params {
            if mentions(&ty.mac.tokens, param) {
                self.enter(param);
            }
        }
    }
}
