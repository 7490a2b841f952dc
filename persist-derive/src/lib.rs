//! The derive of the `persist` crate, which re-exports it as `persist::Persist`.
//!
//! Parse, check, expand: `parse` turns a type into the plain data of `ast`
//! and collects every mistake on the way, `check` adds those that lie in
//! combinations, `expand` writes the code. Whatever `persist` does with a
//! class at run time goes through the tables and methods written here.

#![forbid(unsafe_code)]
#![expect(
    unreachable_pub,
    reason = "the crate exports one function; `pub` is for its other modules"
)]

#[macro_use]
mod emit;

mod ast;
mod check;
mod ctxt;
mod expand;
mod parse;
#[cfg(test)]
mod tests;

/// Implements `Persist` and `Reflect`: the type's values can be saved and loaded.
///
/// ```
/// use persist::{Persist, Reflect};
///
/// #[derive(Persist, Debug, PartialEq)]
/// #[persist(class = "quest.Hero", version = 2)]
/// struct Hero {
///     name: String,
///     #[persist(alias = "hp")]
///     health: u32,
///     #[persist(default = 1.0)]
///     speed: f32,
///     #[persist(skip)]
///     path: Vec<(i32, i32)>,
/// }
///
/// let hero = Hero { name: "Ann".into(), health: 9, speed: 1.5, path: vec![] };
/// let save = persist::to_vec(&hero)?;
/// assert_eq!(persist::from_slice::<Hero>(&save)?, hero);
/// assert_eq!(Hero::CLASS.name(), "quest.Hero");
/// # Ok::<(), persist::Error>(())
/// ```
///
/// Structs and enums can derive it, generic ones too; what a type holds must
/// be `Persist` itself. A type that owns its data is asked for: no lifetimes,
/// references or raw pointers. Every mistake is an error at the line that has
/// it, and says what to write instead.
///
/// # Attributes
///
/// All are written in `#[persist(...)]`, several separated by commas or each
/// in a `#[persist(...)]` of its own.
///
/// On a struct or enum:
///
/// | | |
/// |---|---|
/// | `class = "quest.Hero"` | Name of the class in the save; else the type's own, without its module. |
/// | `id = 7` | Number of the class in the save; else a hash of its name. |
/// | `version = 2` | Version of the class, from 1; else 1. |
/// | `alias = "old.Hero"` | A name under which older saves may hold the class; may be repeated. |
/// | `rename_all = "camelCase"` | Style of the names of a struct's fields or an enum's variants: `lowercase`, `UPPERCASE`, `PascalCase`, `camelCase`, `snake_case`, `SCREAMING_SNAKE_CASE`, `kebab-case` or `SCREAMING-KEBAB-CASE`. |
/// | `default`, `default = value` | Of a struct: the empty value that a load fills is `Default::default()`, or the given one; else each field is made empty by itself. It gives no field a default. |
/// | `before_save = path` | A function `fn(&mut Self)` that runs before the value is saved, before those of the values inside. |
/// | `validate = path` | A function `fn(&Self) -> Result<(), E>` that runs when all is loaded, after those inside; `E` can be shown as text. |
/// | `after_load = path` | A function `fn(&mut Self)` that runs when all is validated, after those inside. Like `before_save` it may return a `Result<(), E>`. |
/// | `transparent` | A struct with one field is saved as that field, without a class of its own. |
/// | `bound = "T: Asset"` | These bounds, instead of those that are found. |
/// | `crate = path` | Where the `persist` crate is, if not at `::persist`. |
///
/// `before_save` of an object runs just before that object is written: what it
/// changes in another that was written before is not in the save.
///
/// While a hook of an object runs, that object is mutably borrowed: a hook may
/// borrow the objects that it points to, but not its own again.
///
/// On a field:
///
/// | | |
/// |---|---|
/// | `skip` | Not saved. A load makes it by `default = value` or `Default::default()`; loading into an existing struct leaves it as it is. |
/// | `default`, `default = value` | What the field gets from a save that does not hold it: `Default::default()`, or the value. Without it a missing field is an error, except that a missing `Option` is `None`. |
/// | `rename = "x"` | Name of the field in the save. |
/// | `alias = "old"` | A name under which older saves may hold the field; may be repeated. |
/// | `with = module` | Saved as another type, by the module's functions; see below. |
///
/// On a variant:
///
/// | | |
/// |---|---|
/// | `default` | The empty value that a load fills. Else std's `#[default]` variant, else the first without fields, else the first that does not hold the enum itself. |
/// | `rename = "X"` | Name of the variant in the save. |
/// | `alias = "Old"` | A name under which older saves may hold the variant; may be repeated. |
/// | `rename_all = "camelCase"` | Style of the names of its fields. |
///
/// # Fields of foreign types
///
/// `with = module` names a module with the type that is stored in place of the
/// field's and the way there and back:
///
/// ```
/// use std::ops::ControlFlow;
///
/// use persist::Persist;
///
/// mod flow {
///     use std::ops::ControlFlow;
///
///     pub type Stored = bool;
///
///     pub fn store(flow: &ControlFlow<()>) -> Stored {
///         flow.is_break()
///     }
///
///     pub fn restore(stored: Stored) -> Result<ControlFlow<()>, String> {
///         Ok(if stored { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
///     }
/// }
///
/// #[derive(Persist, Debug, PartialEq)]
/// struct Turn {
///     #[persist(with = flow, default = ControlFlow::Continue(()))]
///     flow: ControlFlow<()>,
/// }
///
/// let turn = Turn { flow: ControlFlow::Break(()) };
/// assert_eq!(persist::from_slice::<Turn>(&persist::to_vec(&turn)?)?, turn);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// The error of `restore` can be anything that can be shown as text. Without
/// `default` the field's type must implement `Default`, for the empty value;
/// the field still must be in the save. References and hooks inside of what
/// the module stores are out of reach, and a class that has any is refused.
///
/// # Generic types
///
/// A type parameter that is stored must be `Persist`, and all must be
/// `'static`. The class is named with its arguments, `Slot<Sword>` or
/// `Grid<8, 8>`; a parameter that stands only in a `PhantomData` is not named.
#[proc_macro_derive(Persist, attributes(persist))]
pub fn derive_persist(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(input.into()).into()
}

fn derive(input: proc_macro2::TokenStream) -> proc_macro2::TokenStream {
    match try_derive(input) {
        Ok(tokens) => tokens,
        Err(errors) => errors.iter().map(syn::Error::to_compile_error).collect(),
    }
}

fn try_derive(
    input: proc_macro2::TokenStream,
) -> Result<proc_macro2::TokenStream, Vec<syn::Error>> {
    let input = syn::parse2(input).map_err(|error| vec![error])?;
    let cx = ctxt::Ctxt::new();
    let input = parse::parse(&cx, &input);
    if let Some(input) = &input {
        check::check(&cx, input);
    }
    cx.finish()?;
    Ok(input.as_ref().map(expand::expand).unwrap_or_default())
}
