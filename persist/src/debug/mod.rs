//! Live values as text: what `persist dump` prints of a save of them. Needs the feature `debug`.

// The command prints with these modules. They are not for programs.
#[doc(hidden)]
pub mod escape;
#[doc(hidden)]
pub mod label;
#[doc(hidden)]
pub mod print;
mod showable;
#[doc(hidden)]
pub mod world;

use std::fmt::{self, Display, Formatter, Write as _};

use crate::Saves;
#[cfg(doc)]
use crate::{Loaded, Persist, SaveManager, World, world::Prefab};
use escape::Escaping;
use label::object_path;
use print::{How, Lines, Title};
use showable::Showable;

/// Shows a live value as text for people: what `persist dump` prints of a save of it, with the same paths.
///
/// Pass a reference to any value that derives [`Persist`], also to a [`World`] or to one that was [`Loaded`], or to a
/// [`SaveManager`] or a [`Prefab`]. All objects that the value leads to follow it, each once, in the order of a save.
/// References show the ids that a save would have.
///
/// - `{:#}` prints the colours of the command, and a precision limits the levels, as `--depth` does: `{:.2}`.
/// - A value with `Box<dyn Trait>` needs [`LiveTree::saves`], since the implementors of a trait are registered there.
/// - No hooks run, and `validate` is not called: an invalid value is shown as it is.
/// - If the value cannot be saved, the text says why. For example, a `RefCell` in it may be borrowed.
///
/// ```
/// use persist::Persist;
///
/// #[derive(Persist)]
/// struct Hero { name: String, bag: Vec<Item> }
///
/// #[derive(Persist)]
/// struct Item { name: String, count: u32 }
///
/// let sword = Item { name: "sword".into(), count: 1 };
/// let hero = Hero { name: "Ada".into(), bag: vec![sword] };
/// let text = persist::debug::tree(&hero).to_string();
/// assert_eq!(text, r#". Hero
/// Hero { name: "Ada", bag: [Item { name: "sword", count: 1u32 }] }
/// "#);
/// ```
#[must_use]
pub fn tree<T: Showable>(value: &T) -> LiveTree<'_> {
    LiveTree { value, saves: None }
}

/// A live value that is shown by its [`Display`], which [`tree`] describes.
///
/// Each time it is shown, the value is saved in memory and read again.
pub struct LiveTree<'v> {
    value: &'v dyn Showable,
    saves: Option<&'v Saves>,
}

impl<'v> LiveTree<'v> {
    /// Takes the classes of the trait objects in the value, and the context of the save, from these settings.
    ///
    /// A [`SaveManager`] has its own.
    #[must_use]
    pub fn saves(self, saves: &'v Saves) -> Self {
        Self { saves: Some(saves), ..self }
    }
}

impl Display for LiveTree<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let how = How { is_raw: false, depth: f.precision(), has_colours: f.alternate() };
        let mut to = Escaping { to: f, has_styles: how.has_colours };
        let objects = match self.value.entries(self.saves.cloned().unwrap_or_default()) {
            Ok(objects) => objects,
            Err(error) => return writeln!(to, "this value cannot be saved: {error}"),
        };
        objects.iter().enumerate().try_for_each(|(number, object)| {
            to.write_str(if number > 0 { "\n" } else { "" })?;
            let label = object_path(object);
            write!(to, "{}", Title { label: &label, object: Some(object), how })?;
            write!(to, "{}", Lines { label: &label, value: &object.value, how })
        })
    }
}
