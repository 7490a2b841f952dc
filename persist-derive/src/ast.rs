//! A type or trait as the macros see it: names resolved, attributes in their places.
//!
//! Types, paths and expressions stay syn's, but are only passed on from here.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{
    Expr, ExprPath, Generics, Ident, ItemTrait, Member, Path, Type, TypeParamBound, WherePredicate,
};

/// Something the user gave in an attribute, and where.
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
    /// The class is named with all type parameters, also with those whose values are not stored.
    pub name_markers: Option<Given<()>>,
    pub id: Option<Given<u64>>,
    pub version: Option<Given<u32>>,
    /// The lowest version that may read what this one writes.
    pub since: Option<Given<u32>>,
    pub aliases: Vec<Given<String>>,
    /// Names of fields or variants that older saves hold and that are gone for good.
    pub removed: Vec<Given<String>>,
    pub transparent: Option<Given<()>>,
    /// The type that it is stored as, by `From` and `TryFrom`.
    pub via: Option<Given<Adapter>>,
    /// The memory of a value is its encoding.
    pub pod: Option<Given<()>>,
    /// The type is a component without methods.
    pub component: Option<Given<()>>,
    /// The integers of its fields take as few bytes as they need.
    pub compact: Option<Given<()>>,
    pub krate: Option<Given<Path>>,
    pub bound: Option<Given<Vec<WherePredicate>>>,
    /// Where fields that have no default of their own get it from, if given.
    pub default: Option<Given<DefaultValue>>,
    /// Where the empty value comes from, if given.
    pub empty: Option<Given<DefaultValue>>,
    /// The struct as which these parts of it are saved.
    pub save_as: Option<Given<Type>>,
    pub hooks: Hooks,
    /// How older records are brought to the version.
    pub migration: Option<Given<Vec<Step>>>,
    /// The attributes that change or refuse values.
    pub code: Vec<String>,
    /// Attributes that need field records: class, id, ..., with their names.
    pub class_only: Vec<Given<&'static str>>,
    pub packed: Option<Span>,
    /// What serde's attributes on it say.
    pub serde: Vec<Given<SerdeItem>>,
    /// What serde's attributes on it and its fields say is meant to be otherwise here.
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
    /// The type of the context that they, and `migrate`, get as well.
    pub context: Option<Given<Type>>,
}

/// What becomes of values of an older type of a field.
pub struct Convert {
    /// The version of the class that stored them.
    pub from: Option<Given<u32>>,
    pub how: ConvertHow,
}

pub enum ConvertHow {
    /// A function takes them.
    Function(ExprPath),
    /// They are taken as they are.
    Same(Type),
}

/// From one version to the next.
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
    /// Names of fields of it that are gone for good.
    pub removed: Vec<Given<String>>,
    /// It stands for stored variants that the enum does not have.
    pub other: Option<Given<()>>,
    pub fields: Fields,
}

/// All fields, the skipped too.
pub struct Fields(pub Vec<Field>);

pub struct Field {
    pub member: Member,
    /// The local variable of the field in generated code.
    pub local: Ident,
    pub name: Given<String>,
    pub aliases: Vec<Given<String>>,
    pub ty: Type,
    /// Name and type, or type alone, as they stand in the source.
    pub written: String,
    /// The attributes that make values of it.
    pub code: Vec<String>,
    pub store: Store,
    /// Its first attribute.
    pub attribute: Option<Span>,
    /// Its attributes by their names.
    pub given: Vec<Given<&'static str>>,
    /// What serde's attributes on it say.
    pub serde: Vec<Given<SerdeItem>>,
    pub default: Option<Given<DefaultValue>>,
    /// Its default is that of the same field of the struct's `default`.
    pub inherits: bool,
    /// What a load fills, if that is given.
    pub empty: Option<Given<DefaultValue>>,
    pub id: Option<Given<u32>>,
    /// From older types of the field.
    pub convert: Option<Given<Vec<Convert>>>,
    /// It holds stored fields that the struct or variant does not have.
    pub unknown: Option<Given<()>>,
    /// Its integers take as few bytes as they need, since it or the type says so.
    pub is_compact: bool,
    /// What returns a value that the field may have, for the samples of a lock.
    pub sample: Option<Given<ExprPath>>,
    /// Elements of it that cannot be loaded are skipped.
    pub skip_failed: Option<Given<()>>,
    /// How editors show it.
    pub hints: Hints,
}

/// How an editor is to show a field.
pub struct Hints {
    pub label: Option<Given<String>>,
    pub help: Option<Given<String>>,
    pub range: Option<Given<ValueRange>>,
    pub hidden: Option<Given<()>>,
    pub read_only: Option<Given<()>>,
    pub color: Option<Given<()>>,
}

/// The numbers that an editor offers: each end as an expression, and its value if it is a literal.
pub struct ValueRange {
    pub start: Option<(Expr, Option<f64>)>,
    pub end: Option<(Expr, Option<f64>)>,
}

/// How a field's value gets into the bytes.
pub enum Store {
    /// Not at all.
    Skip,
    /// As its own type.
    Plain,
    /// As another type.
    With(Given<Adapter>),
}

/// How a value is stored as another type. Its span is that of what the attribute says.
pub struct Adapter {
    /// The attribute.
    pub name: &'static str,
    pub shape: Shape,
}

/// What stands in `with = "..."` and its like.
pub enum Shape {
    /// `_`: as it is.
    Same,
    Module(Module),
    /// Through a type that implements `With`.
    By(Box<Type>),
    /// As what serde says of it.
    Serde,
    /// As this type, by `From` and `TryFrom`.
    Via(Box<Type>),
    /// A container of the standard library, and how its parts are stored.
    Lift(Container, Vec<Shape>),
}

pub struct Module {
    pub path: Path,
    /// `with_iter`: it stores items one by one.
    pub iter: bool,
    /// Which of the modules of the type it is.
    pub index: usize,
    /// The type of the context that its functions get as well.
    pub context: Option<Box<Type>>,
}

pub enum Container {
    /// Such as `Vec`, without its arguments.
    Path(Path),
    Tuple,
    /// `[m]`.
    Items,
}

pub enum DefaultValue {
    /// `Default::default()`.
    Std,
    Expr(Box<Expr>),
    /// What the function of this path returns. On a field that holds text, a single word may be meant as a text: those
    /// are counted.
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
    /// The structs' or variants' fields, each with the variant's index.
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

    /// The struct's or the variants' fields.
    pub fn fields_mut(&mut self) -> impl Iterator<Item = &mut Field> {
        let bodies: Vec<&mut Fields> = match self {
            Self::Struct(fields) => vec![fields],
            Self::Enum(variants) => variants.iter_mut().map(|it| &mut it.fields).collect(),
        };
        bodies.into_iter().flat_map(|fields| &mut fields.0)
    }
}

impl Fields {
    /// The fields with a record, in the order of their indices.
    pub fn stored(&self) -> impl Iterator<Item = &Field> {
        self.0.iter().filter(|field| field.is_stored())
    }
}

impl Field {
    /// Makes it compact, as its type says, if it is stored as its own type.
    pub fn compact(&mut self) {
        self.is_compact |= matches!(self.store, Store::Plain) && self.unknown.is_none();
    }

    /// Where the attribute of a name stands, if it does.
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

    /// Where it is declared.
    pub fn span(&self) -> Span {
        match &self.member {
            Member::Named(name) => name.span(),
            Member::Unnamed(_) => self.ty.span(),
        }
    }

    /// True if it has a record.
    pub fn is_stored(&self) -> bool {
        !matches!(self.store, Store::Skip)
    }

    /// True if a save without the field is fine with a missing value.
    pub fn has_default(&self) -> bool {
        // Where nothing unknown was stored, nothing is kept.
        let is_given = self.default.is_some() || self.inherits;
        is_given || self.unknown.is_some() || is_option(&self.ty)
    }
}

/// The type of a field in a struct with `save_as`.
pub enum PartType<'t> {
    /// One of the type of the field in its place, or a reference to one.
    Value(&'t Type, bool),
    /// A slice of these, in place of a `Vec`.
    Items(&'t Type),
    /// A `&str` in place of a `String`.
    Text,
}

impl<'t> PartType<'t> {
    pub fn of(ty: &'t Type) -> Self {
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

/// True for `param: Persist`, by whatever path.
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

/// The type without the invisible parentheses of `macro_rules!`, or visible ones.
pub fn ungroup(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

/// True for what is written as `Option<..>`, `std::option::Option<..>` or the
/// same in `core`: all that a derive can know.
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

/// True if `ident` stands anywhere in `tokens`.
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

/// Index of the variant that an empty value has; `None` if the user must say.
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
