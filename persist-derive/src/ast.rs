//! A type or trait as the macros see it: names resolved, attributes assigned to what they describe.
//!
//! Types, paths and expressions stay syn's. From here on they are only passed through.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{
    Expr, ExprPath, Generics, Ident, ItemTrait, Member, Path, Type, TypeParamBound, WherePredicate,
};

/// A value that the user gave in an attribute, with its span.
pub struct Given<T> {
    pub span: Span,
    pub value: T,
}

/// A struct or enum that derives `Persist`.
pub struct Input {
    pub ident: Ident,
    pub generics: Generics,
    /// Name of the class: `class`, or the identifier.
    pub name: String,
    /// The name of the class has all type parameters, also those whose values are not stored.
    pub name_markers: Option<Given<()>>,
    pub id: Option<Given<u64>>,
    pub version: Option<Given<u32>>,
    /// The lowest version that may read values of this one.
    pub since: Option<Given<u32>>,
    pub aliases: Vec<Given<String>>,
    /// Names of removed fields or variants that older saves may still hold.
    pub removed: Vec<Given<String>>,
    pub transparent: Option<Given<()>>,
    /// The type that values are stored as, by `From` and `TryFrom`.
    pub via: Option<Given<Adapter>>,
    /// The memory of a value is its encoding.
    pub pod: Option<Given<()>>,
    /// The type is a component without methods.
    pub component: Option<Given<()>>,
    /// The integers of its fields take as few bytes as they need.
    pub compact: Option<Given<()>>,
    pub krate: Option<Given<Path>>,
    pub bound: Option<Given<Vec<WherePredicate>>>,
    /// The source of defaults for fields that have none of their own.
    pub default: Option<Given<DefaultValue>>,
    /// The source of the empty value.
    pub empty: Option<Given<DefaultValue>>,
    /// The struct that these parts are saved as.
    pub save_as: Option<Given<Type>>,
    pub hooks: Hooks,
    /// The functions that migrate older records to the current version.
    pub migration: Option<Given<Vec<Step>>>,
    /// The attributes that change or refuse values.
    pub code: Vec<String>,
    /// Attributes that need field records: class, id, ..., with their names.
    pub class_only: Vec<Given<&'static str>>,
    pub packed: Option<Span>,
    /// The items of serde's attributes on it.
    pub serde: Vec<Given<SerdeItem>>,
    /// Differences from serde's attributes, on it and its fields, are intended.
    pub ignore_serde: Option<Given<()>>,
    pub body: Body,
}

/// One item of `#[serde(...)]`: its name, and its value if that is a string.
pub struct SerdeItem {
    pub name: String,
    pub value: Option<String>,
}

/// A trait under `#[persist::dynamic]`.
pub struct Trait {
    pub item: ItemTrait,
    /// Name of the trait: `name`, or the identifier.
    pub name: String,
    pub krate: Option<Given<Path>>,
    /// The type that stands in for classes that are not registered.
    pub unknown: Option<Given<ExprPath>>,
}

/// The functions that a class runs.
pub struct Hooks {
    pub before_save: Option<Given<ExprPath>>,
    pub after_load: Option<Given<ExprPath>>,
    pub validate: Option<Given<ExprPath>>,
    /// The type of the context that the hooks and `migrate` get.
    pub context: Option<Given<Type>>,
}

/// How values of an older type of a field are converted.
pub struct Convert {
    /// The version of the class that stored them.
    pub from: Option<Given<u32>>,
    pub how: ConvertHow,
}

pub enum ConvertHow {
    /// A function converts them.
    Function(ExprPath),
    /// They are converted without a function, from this type.
    Same(Type),
}

/// A migration from one version to the next.
pub struct Step {
    pub from: Given<u32>,
    pub function: ExprPath,
}

pub enum Body {
    Struct(Fields),
    Enum(Vec<Variant>),
}

pub struct Variant {
    pub ident: Ident,
    pub name: Given<String>,
    pub aliases: Vec<Given<String>>,
    /// `#[persist(empty)]`.
    pub chosen: Option<Given<()>>,
    /// `#[default]` of `derive(Default)`.
    pub std_default: bool,
    /// Names of removed fields that older saves may still hold.
    pub removed: Vec<Given<String>>,
    /// It stands for stored variants that the enum does not have.
    pub other: Option<Given<()>>,
    pub fields: Fields,
}

/// All fields, including skipped ones.
pub struct Fields(pub Vec<Field>);

pub struct Field {
    pub member: Member,
    /// The local variable of the field in generated code.
    pub local: Ident,
    pub name: Given<String>,
    pub aliases: Vec<Given<String>>,
    pub ty: Type,
    /// Name and type as in the source. For a tuple field, the type alone.
    pub written: String,
    /// The attributes that change or refuse its values.
    pub code: Vec<String>,
    pub store: Store,
    /// The span of its first attribute.
    pub attribute: Option<Span>,
    /// The names and spans of its attributes.
    pub given: Vec<Given<&'static str>>,
    /// The items of serde's attributes on it.
    pub serde: Vec<Given<SerdeItem>>,
    pub default: Option<Given<DefaultValue>>,
    /// Its default is the same field in the struct's `default`.
    pub inherits: bool,
    /// The value that a load starts with, if one is given.
    pub empty: Option<Given<DefaultValue>>,
    pub id: Option<Given<u32>>,
    /// Conversions from older types of the field.
    pub convert: Option<Given<Vec<Convert>>>,
    /// It holds stored fields that the struct or variant does not have.
    pub unknown: Option<Given<()>>,
    /// Its integers take as few bytes as they need, because of its own attribute or the type's.
    pub is_compact: bool,
    /// A function that returns a possible value, for the samples of a lock.
    pub sample: Option<Given<ExprPath>>,
    /// Elements that cannot be loaded are skipped.
    pub skip_failed: Option<Given<()>>,
    /// How editors show it.
    pub hints: Hints,
}

/// How editors show a field.
pub struct Hints {
    pub label: Option<Given<String>>,
    pub help: Option<Given<String>>,
    pub range: Option<Given<ValueRange>>,
    pub hidden: Option<Given<()>>,
    pub read_only: Option<Given<()>>,
    pub color: Option<Given<()>>,
}

/// The range of numbers that an editor offers. Each end is an expression, with its value if it is a literal.
pub struct ValueRange {
    pub start: Option<(Expr, Option<f64>)>,
    pub end: Option<(Expr, Option<f64>)>,
}

/// How a field is stored.
pub enum Store {
    /// Not at all.
    Skip,
    /// As its own type.
    Plain,
    /// As another type.
    With(Given<Adapter>),
}

/// How a value is stored as another type. Its span is that of the attribute's value.
pub struct Adapter {
    /// The attribute.
    pub name: &'static str,
    pub shape: Shape,
}

/// The value of `with = "..."` and similar attributes.
pub enum Shape {
    /// `_`: as it is.
    Same,
    Module(Module),
    /// Through a type that implements `With`.
    By(Box<Type>),
    /// As serde would store it.
    Serde,
    /// As this type, by `From` and `TryFrom`.
    Via(Box<Type>),
    /// A container of the standard library, and how its elements are stored.
    Lift(Container, Vec<Shape>),
}

pub struct Module {
    pub path: Path,
    /// `with_iter`: the module stores items one by one.
    pub iter: bool,
    /// The index of this module among those of the type.
    pub index: usize,
    /// The type of the context that its functions get.
    pub context: Option<Box<Type>>,
}

pub enum Container {
    /// A type such as `Vec`, without its arguments.
    Path(Path),
    Tuple,
    /// `[m]`.
    Items,
}

pub enum DefaultValue {
    /// `Default::default()`.
    Std,
    Expr(Box<Expr>),
    /// A function whose result is used. On a text field, a single word may be meant as a text. `text` counts such
    /// fields.
    Function {
        path: Box<ExprPath>,
        text: Option<usize>,
    },
}

impl Hooks {
    pub fn any(&self) -> bool {
        self.before_save.is_some() || self.after_load.is_some() || self.validate.is_some()
    }
}

impl Input {
    /// The fields of the struct, or of all variants.
    pub fn all_fields(&self) -> impl Iterator<Item = &Field> {
        self.body.rows().into_iter().flat_map(|fields| &fields.0)
    }
}

impl Body {
    /// The fields of the struct, or of each variant.
    pub fn rows(&self) -> Vec<&Fields> {
        match self {
            Self::Struct(fields) => vec![fields],
            Self::Enum(variants) => variants.iter().map(|variant| &variant.fields).collect(),
        }
    }

    /// The fields of the struct, or of all variants.
    pub fn fields_mut(&mut self) -> impl Iterator<Item = &mut Field> {
        let bodies: Vec<&mut Fields> = match self {
            Self::Struct(fields) => vec![fields],
            Self::Enum(variants) => variants.iter_mut().map(|it| &mut it.fields).collect(),
        };
        bodies.into_iter().flat_map(|fields| &mut fields.0)
    }
}

impl Fields {
    /// The stored fields, in the order of their indices.
    pub fn stored(&self) -> impl Iterator<Item = &Field> {
        self.0.iter().filter(|field| field.is_stored())
    }
}

impl Field {
    /// Makes it compact because its type is, if it is stored as its own type.
    pub fn compact(&mut self) {
        self.is_compact |= matches!(self.store, Store::Plain) && self.unknown.is_none();
    }

    /// The span of an attribute, if the field has it.
    pub fn given(&self, name: &str) -> Option<Span> {
        self.given.iter().find(|given| given.value == name).map(|given| given.span)
    }

    /// How it is stored as another type, if it is.
    pub fn adapter(&self) -> Option<&Given<Adapter>> {
        match &self.store {
            Store::With(adapter) => Some(adapter),
            _ => None,
        }
    }

    /// The span of its declaration.
    pub fn span(&self) -> Span {
        match &self.member {
            Member::Named(name) => name.span(),
            Member::Unnamed(_) => self.ty.span(),
        }
    }

    /// True if it is stored.
    pub fn is_stored(&self) -> bool {
        !matches!(self.store, Store::Skip)
    }

    /// True if it has a value when a save does not have the field.
    pub fn has_default(&self) -> bool {
        // An `Unknown` field is empty then, and an `Option` is `None`.
        let is_given = self.default.is_some() || self.inherits;
        is_given || self.unknown.is_some() || is_option(&self.ty)
    }
}

/// The type of a field in a struct with `save_as`.
pub enum PartType<'t> {
    /// The type of the field in its place, or a reference to it.
    Value(&'t Type, bool),
    /// A slice of this type, in place of a `Vec`.
    Items(&'t Type),
    /// A `&str` in place of a `String`.
    Text,
}

impl<'t> PartType<'t> {
    pub fn new(ty: &'t Type) -> Self {
        match ungroup(ty) {
            Type::Reference(reference) => match ungroup(&reference.elem) {
                Type::Slice(slice) => Self::Items(&slice.elem),
                Type::Path(path) if path.path.is_ident("str") => Self::Text,
                target => Self::Value(target, true),
            },
            ty => Self::Value(ty, false),
        }
    }
}

impl Adapter {
    /// Calls a function for each module.
    pub fn modules(&mut self, each: &mut dyn FnMut(&mut Module)) {
        fn walk(shape: &mut Shape, each: &mut dyn FnMut(&mut Module)) {
            match shape {
                Shape::Module(module) => each(module),
                Shape::Lift(_, parts) => parts.iter_mut().for_each(|part| walk(part, each)),
                Shape::Same | Shape::By(_) | Shape::Serde | Shape::Via(_) => {}
            }
        }
        walk(&mut self.shape, each);
    }
}

/// True for `param: Persist`, written with any path.
pub fn is_persist(predicate: &WherePredicate, param: &Ident) -> bool {
    let WherePredicate::Type(predicate) = predicate else { return false };
    let Type::Path(bounded) = ungroup(&predicate.bounded_ty) else { return false };
    bounded.path.is_ident(param)
        && predicate.bounds.iter().any(|bound| match bound {
            TypeParamBound::Trait(bound) => {
                bound.path.segments.last().is_some_and(|segment| segment.ident == "Persist")
            }
            _ => false,
        })
}

/// The type without visible parentheses, and without the invisible ones of `macro_rules!`.
pub fn ungroup(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

/// True for a type that is written as `Option<..>`, `std::option::Option<..>` or `core::option::Option<..>`.
///
/// A derive only sees the tokens, so it cannot recognize an alias.
fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ungroup(ty) else { return false };
    if path.qself.is_some() {
        return false;
    }
    let names: Vec<_> =
        path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    matches!(names[..], ["Option"] | ["std" | "core", "option", "Option"])
}

/// True if `ident` occurs anywhere in `tokens`.
pub fn mentions(tokens: impl ToTokens, ident: &Ident) -> bool {
    fn search(tokens: TokenStream, ident: &Ident) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(other) => other == *ident,
            proc_macro2::TokenTree::Group(group) => search(group.stream(), ident),
            _ => false,
        })
    }
    search(tokens.into_token_stream(), ident)
}

/// Index of the variant of an empty value. `None` if the user has to choose one.
pub fn empty_variant(ident: &Ident, variants: &[Variant]) -> Option<usize> {
    let this = Ident::new("Self", Span::call_site());
    let flat = |variant: &Variant| {
        !variant
            .fields
            .0
            .iter()
            .any(|field| mentions(&field.ty, ident) || mentions(&field.ty, &this))
    };
    variants
        .iter()
        .position(|variant| variant.chosen.is_some())
        .or_else(|| variants.iter().position(|variant| variant.std_default))
        .or_else(|| variants.iter().position(|variant| variant.fields.0.is_empty()))
        .or_else(|| variants.iter().position(flat))
}
