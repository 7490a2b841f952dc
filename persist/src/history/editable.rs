//! The targets that a history can edit, and how the fields of targets that are not worlds are recorded.

use super::change::Change;
use super::world::World;
use super::{ChangeTarget, Edit, PendingChange, Step, Support};
use crate::codec::Reflect;
use crate::fields::{IntoFieldPath, Owner, Request};
use crate::graph::Registry;
use crate::{Error, ErrorKind, FieldPath, Result, Value};

/// A type that a [`History`](super::History) can edit: a `World`, or any type that derives
/// [`Persist`](derive@crate::Persist).
///
/// The closure of an edit of a world receives an [`Edit`], whose methods record what they do. For any other type it
/// receives the value itself, and the history compares the fields before and after.
///
/// A history that only executes [commands](super::Command) does not need this trait. A type without field records,
/// whose commands are to be grouped by [`History::edit`](super::History::edit), implements it like this:
///
/// ```
/// use persist::Result;
/// use persist::history::{Edit, Editable};
///
/// struct Canvas { pixels: Box<[u32]> }
///
/// impl Editable for Canvas {
///     type Edit<'e> = Edit<'e, Self>;
///
///     fn persist_edit<'e, R>(
///         edit: &mut Edit<'e, Self>,
///         run: impl FnOnce(&mut Self::Edit<'e>) -> Result<R>,
///     ) -> Result<R> {
///         run(edit)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a history does not know how `{Self}` is edited",
    note = "add `#[derive(Persist)]` to it, or change it by commands and group these by `begin` and `commit`"
)]
pub trait Editable: Sized + 'static {
    /// The type that the closure of an edit receives.
    type Edit<'e>;

    /// Runs an edit, and records what it does.
    ///
    /// # Errors
    ///
    /// Returns the error of the closure, or an error if the changes cannot be recorded.
    fn persist_edit<'e, R>(
        edit: &mut Edit<'e, Self>,
        run: impl FnOnce(&mut Self::Edit<'e>) -> Result<R>,
    ) -> Result<R>;
}

#[diagnostic::do_not_recommend]
impl<T: Reflect> Editable for T {
    type Edit<'e> = T;

    fn persist_edit<'e, R>(
        edit: &mut Edit<'e, Self>,
        run: impl FnOnce(&mut Self::Edit<'e>) -> Result<R>,
    ) -> Result<R> {
        edit.take_part(FieldPath::new(T::CLASS.name()))?;
        run(edit.target)
    }
}

impl<T: Reflect> Edit<'_, T> {
    /// Prepares an edit of a field: records what is pending, and checks the path.
    fn ready_for(&mut self, path: &FieldPath) -> Result<()> {
        self.ready()?;
        self.support.check_class(path)
    }

    /// Keeps the current value of a part that is about to be changed.
    pub(super) fn take_part(&mut self, path: FieldPath) -> Result<()> {
        self.ready_for(&path)?;
        let (place, class) = (ChangeTarget::Part(path), T::persist_name);
        self.pending.push(PendingChange::new(self.target, self.support, place, class)?);
        Ok(())
    }

    pub(super) fn change_field(
        &mut self,
        path: impl IntoFieldPath,
        request: &Request<'_>,
    ) -> Result<Value> {
        let path = path.into_field_path()?;
        self.ready_for(&path)?;
        let class = path.clone();
        // The ids in it are those of a world outside this target, so they cannot be checked here.
        let any_handle = |_: &str, _| Ok(());
        let part = (Owner::Resource, class.class());
        let (change, old) = self
            .support
            .with_root(self.target, part, |root| root.record(path, request, &any_handle))?;
        if !change.does_nothing() {
            self.steps.push(Step::Change(Change::of_target(change)));
        }
        Ok(old.unwrap_or(Value::Unit))
    }
}

impl<T: Reflect> Support<T> {
    /// Checks that the fields of the target can be recorded, and that the path begins with its class.
    pub(super) fn check_class(&mut self, path: &FieldPath) -> Result<()> {
        self.know_fields()?;
        let class = T::CLASS.name();
        if path.class() != class {
            let message = format!(
                "the path is one of {}, and the target is of {class}; begin it with that",
                path.class()
            );
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        check_recordable(&self.registry, &class)
    }
}

/// Returns an error for a class that holds a world, or shared pointers, whose targets are not recorded.
pub(super) fn check_recordable(registry: &Registry, class: &str) -> Result<()> {
    let found = registry.named(class).and_then(|class| registry.shared_field(class));
    let Some((mut field, holder)) = found else { return Ok(()) };
    let message = if holder == World::CLASS {
        field.truncate(field.rfind('.').unwrap_or(0));
        "a history cannot edit a world in another value; use a `History<World>`, and put the rest into resources of the world"
    } else {
        "the field holds shared pointers, and what is behind them is not recorded; keep an index or an id in their place, or change the target by commands"
    };
    Err(Error::new(ErrorKind::Unsupported, message).in_class(class).in_field(&field))
}
