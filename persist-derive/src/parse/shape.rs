//! The values of `with`, `with_iter`, `serde` and `via`.

use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{GenericArgument, Path, PathArguments, Type};

use super::attributes::module;
use super::items::Item;
use crate::ast::{Adapter, Container, Given, Module, Shape, ungroup};
use crate::ctxt::Ctxt;

/// The containers whose elements are stored through an adapter each, if they have arguments.
const LIFTS: [&str; 9] = [
    "Option",
    "Box",
    "Vec",
    "VecDeque",
    "LinkedList",
    "HashMap",
    "BTreeMap",
    "HashSet",
    "BTreeSet",
];

const PRIMITIVES: [&str; 17] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16",
    "u32", "u64", "u128", "usize",
];

const WHAT: &str = "a module, a type that implements `persist::With`, or a container of those such as `Option<my_module>`";

/// Reads `with = "HashMap<_, my_module>"`.
pub fn with(cx: &Ctxt, item: &Item) -> Option<Given<Adapter>> {
    let ty = item.ty(cx, WHAT, "my_module")?;
    let shape = shape(cx, &ty)?;
    if let Shape::Same = shape {
        cx.error_over(&ty, "`_` stands for what is stored as it is, which a field is without `with`; name a module, or remove `with`");
        return None;
    }
    Some(Given { span: ty.span(), value: Adapter { name: "with", shape } })
}

/// Reads `serde`.
pub fn serde(cx: &Ctxt, item: &Item) -> Option<Given<Adapter>> {
    let span = item.span();
    item.flag(cx)?;
    Some(Given { span, value: Adapter { name: "serde", shape: Shape::Serde } })
}

/// Reads `with_iter = my_module`.
pub fn with_iter(cx: &Ctxt, item: &Item) -> Option<Given<Adapter>> {
    let path = module(cx, item, "my_module")?;
    let span = path.span();
    let shape = Shape::Module(Module { path, iter: true, index: 0, context: None });
    Some(Given { span, value: Adapter { name: "with_iter", shape } })
}

/// Reads `via = "Stored"`.
pub fn via(cx: &Ctxt, item: &Item) -> Option<Given<Adapter>> {
    let ty = item.ty(cx, "a type", "\"Stored\"")?;
    let span = ty.span();
    Some(Given { span, value: Adapter { name: "via", shape: Shape::Via(Box::new(ty)) } })
}

fn shape(cx: &Ctxt, ty: &Type) -> Option<Shape> {
    let ty = ungroup(ty);
    match ty {
        Type::Infer(_) => return Some(Shape::Same),
        Type::Tuple(tuple) if !tuple.elems.is_empty() => {
            return lift(cx, Container::Tuple, &tuple.elems.iter().collect::<Vec<_>>());
        }
        Type::Slice(slice) => return lift(cx, Container::Items, &[&*slice.elem]),
        Type::Array(array) => {
            let elem = array.elem.to_token_stream();
            cx.error_over(
                ty,
                format!("arrays of every length are `[{elem}]` here; remove the length"),
            );
            return None;
        }
        Type::Path(path) if path.qself.is_none() => {
            if let Some(shape) = of_path(cx, ty, &path.path) {
                return shape;
            }
        }
        _ => {}
    }
    cx.error_over(ty, format!("expected {WHAT}; write `with = my_module`"));
    None
}

/// Decides by its last name whether a path is a module, a container or a type. `None` for arguments of another kind.
fn of_path(cx: &Ctxt, ty: &Type, path: &Path) -> Option<Option<Shape>> {
    let last = path.segments.last()?;
    let name = last.ident.unraw().to_string();
    if !name.starts_with(char::is_uppercase) {
        let module = Module { path: path.clone(), iter: false, index: 0, context: None };
        let is_bare = path.segments.iter().all(|segment| segment.arguments.is_none());
        return is_bare.then_some(Some(Shape::Module(module)));
    }
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if LIFTS.contains(&&*name) => {
            let parts = arguments.args.iter().map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            let parts: Option<Vec<&Type>> = parts.collect();
            let mut container = path.clone();
            container.segments.last_mut()?.arguments = PathArguments::None;
            Some(lift(cx, Container::Path(container), &parts?))
        }
        PathArguments::AngleBracketed(arguments) if arguments.args.iter().any(is_module) => {
            cx.error_over(
                ty,
                format!(
                    "`with` does not reach into `{name}`, but into {}, tuples and `[module]`; make the field's type a newtype",
                    LIFTS.join(", ")
                ),
            );
            Some(None)
        }
        _ => Some(Some(Shape::By(Box::new(ty.clone())))),
    }
}

/// True for the name of a module, or `_`. Neither is an argument of a type.
fn is_module(argument: &GenericArgument) -> bool {
    match argument {
        GenericArgument::Type(Type::Infer(_)) => true,
        GenericArgument::Type(Type::Path(path)) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.unraw().to_string();
            // Lower-case types are those of the language.
            name.starts_with(char::is_lowercase) && !PRIMITIVES.contains(&&*name)
        }),
        _ => false,
    }
}

fn lift(cx: &Ctxt, container: Container, parts: &[&Type]) -> Option<Shape> {
    let shapes: Vec<_> = parts.iter().filter_map(|part| shape(cx, part)).collect();
    // All mistakes are noted before a wrong part makes the whole wrong.
    (shapes.len() == parts.len()).then_some(Shape::Lift(container, shapes))
}
