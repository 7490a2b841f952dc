//! Which targets can be edited, and how the fields of one that is no world are.

use super::Edit;
use super::edit::Step;
use super::support::{ChangeTarget, PendingChange, Support};
use crate::codec::Reflect;
use crate::fields::{IntoFieldPath, Request};
use crate::graph::Registry;
use crate::world::{Change, Owner};
use crate::{Error, ErrorKind, FieldPath, Persist as _, Result, Value, World};

/// What a [`History`](super::History) can edit: a [`World`], or any type that derives [`Persist`](derive@crate::Persist).
///
/// An edit of a world gets an [`Edit`], whose methods record what they do. An edit of any other type gets the value
/// itself, and what it changes is found by the field records.
///
/// Histories of [commands](super::Command) alone need nothing of their target. A type without field records whose
/// commands are to be grouped by [`History::edit`](super::History::edit) says so:
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
    /// What an edit gets.
    type Edit<'e>;

    /// Runs an edit, and records what it does.
    ///
    /// # Errors
    ///
    /// Those of the edit, and whatever keeps it from being recorded.
    fn persist_edit<'e, R>(
        edit: &mut Edit<'e, Self>,
        run: impl FnOnce(&mut Self::Edit<'e>) -> Result<R>,
    ) -> Result<R>;
}

impl Editable for World {
    type Edit<'e> = Edit<'e, Self>;

    fn persist_edit<'e, R>(
        edit: &mut Edit<'e, Self>,
        run: impl FnOnce(&mut Self::Edit<'e>) -> Result<R>,
    ) -> Result<R> {
        run(edit)
    }
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
    /// Readies an edit of a field.
    fn ready_for(&mut self, path: &FieldPath) -> Result<()> {
        self.ready()?;
        self.support.check_class(path)
    }

    /// Notes what a part is before it is changed.
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
        // Ids of a world in it are those of a world beside it.
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
    /// Readies the fields of the target, whose class the path must begin with.
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

/// Refuses a class that holds shared pointers, whose targets are not recorded, or a world.
pub(super) fn check_recordable(registry: &Registry, class: &str) -> Result<()> {
    let found = registry.named(class).and_then(|class| registry.shared_field(class));
    let Some((mut field, holder)) = found else { return Ok(()) };
    let message = if holder == World::persist_name() {
        field.truncate(field.rfind('.').unwrap_or(0));
        "a history cannot edit a world in another value; use a `History<World>`, and put the rest into resources of the world"
    } else {
        "the field holds shared pointers, and what is behind them is not recorded; keep an index or an id in their place, or change the target by commands"
    };
    Err(Error::new(ErrorKind::Unsupported, message).in_class(class).in_field(&field))
}
