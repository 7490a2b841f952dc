//! Edits of any type with field records.

use std::any::{Any, type_name};

use super::edit::{Edit, Pending};
use super::step::Step;
use super::support::Support;
use super::{History, Label};
use crate::codec::Reflect;
use crate::fields::{Bytes, FieldChange, IntoFieldPath, Request};
use crate::graph::Registry;
use crate::world::Change;
use crate::{Error, ErrorKind, FieldPath, Persist as _, Result, Value, World};

/// What a [`History`] can edit: a [`World`], or any type that derives [`Persist`](derive@crate::Persist).
///
/// An edit of a world gets an [`Edit`], whose methods record what they do. An edit of any other type gets the value
/// itself, and what it changes is found by the field records.
///
/// Histories of [commands](super::Command) alone need nothing of their target. A type without field records whose
/// commands are to be grouped by [`History::edit`] says so:
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

impl<T: Reflect> History<T> {
    /// Sets a field of a value, as an entry that is called after it; returns what it was. It costs what the field does.
    ///
    /// The value is checked as by [`World::set_field`].
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist)]
    /// struct Document { margins: Margins }
    ///
    /// #[derive(Persist)]
    /// struct Margins { left: f32, right: f32 }
    ///
    /// let mut document = Document { margins: Margins { left: 1.0, right: 1.0 } };
    /// let mut history = History::new(100);
    /// history.set_field(&mut document, field!(Document.margins.left), 5.0)?;
    /// assert_eq!(history.undo_text(), "Undo Set Document.margins.left");
    /// history.undo(&mut document)?;
    /// assert_eq!(document.margins.left, 1.0);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`World::set_field`] and [`edit`](Self::edit).
    pub fn set_field(
        &mut self,
        target: &mut T,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.edit_as(target, None, Label::None, |edit| {
            edit.change_field(path, &Request::Set(&value.into()))
        })
    }

    /// Edits one part of a value, as [`edit`](Self::edit) does it with the whole: it costs what the part does.
    ///
    /// The path leads through structs, variants, lists and maps to a value of type `P`.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist)]
    /// struct Document { pages: Vec<Page> }
    ///
    /// #[derive(Persist)]
    /// struct Page { lines: Vec<String> }
    ///
    /// let mut document = Document { pages: vec![Page { lines: vec![] }] };
    /// let mut history = History::new(100);
    /// history.edit_at(&mut document, field!(Document.pages[0]), "Fill page", |page: &mut Page| {
    ///     page.lines.push("Once upon a time".into());
    ///     Ok(())
    /// })?;
    /// history.undo(&mut document)?;
    /// assert!(document.pages[0].lines.is_empty());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`edit`](Self::edit); [`ErrorKind::NotFound`] if the path leads nowhere;
    /// [`ErrorKind::KindMismatch`] if the part is no `P`; [`ErrorKind::Unsupported`] if the path leads through an option,
    /// a tuple or an array.
    pub fn edit_at<P: Any, R>(
        &mut self,
        target: &mut T,
        path: impl IntoFieldPath,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut P) -> Result<R>,
    ) -> Result<R> {
        self.edit_as(target, None, label.into(), |scope| {
            let path = path.into_field_path(&scope.support.paths)?;
            scope.take_part(path.clone())?;
            scope.support.with_root(scope.target, |root, _| {
                let part = root.part_mut(&path).map_err(|error| error.in_class(path.class()))?;
                let Some(part) = part.downcast_mut::<P>() else {
                    let message =
                        format!("the part is no {}; take the type of the field", type_name::<P>());
                    let error = Error::new(ErrorKind::KindMismatch, message);
                    return Err(path.locate(error).in_class(path.class()));
                };
                edit(part)
            })
        })
    }
}

impl<T: Reflect> Edit<'_, T> {
    /// Readies an edit of a field; the class is that of the target.
    fn ready_for(&mut self, path: &FieldPath) -> Result<()> {
        self.ready()?;
        self.support.know_fields()?;
        let class = T::CLASS.name();
        if path.class() != class {
            let message = format!(
                "the path is one of {}, and the target is of {class}; begin it with that",
                path.class()
            );
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        check_recordable(&self.support.classes.registry, &class)
    }

    /// Notes what a part is before it is changed.
    fn take_part(&mut self, path: FieldPath) -> Result<()> {
        self.ready_for(&path)?;
        let content = self.support.with_root(self.target, |root, _| root.content_at(&path));
        let content = content.map_err(|error| error.in_class(path.class()))?;
        self.pending.push(Pending::Part(Part { path, content }));
        Ok(())
    }

    fn change_field(&mut self, path: impl IntoFieldPath, request: &Request<'_>) -> Result<Value> {
        let path = path.into_field_path(&self.support.paths)?;
        self.ready_for(&path)?;
        let class = path.clone();
        // Ids of a world in it are those of a world beside it.
        let any_handle = |_: &str, _| Ok(());
        let changed =
            self.support.with_root(self.target, |root, _| root.record(path, request, &any_handle));
        let (change, old) = changed.map_err(|error| error.in_class(class.class()))?;
        if !change.does_nothing() {
            self.steps.push(Step::Change(Change::of_target(change)));
        }
        Ok(old.unwrap_or(Value::Unit))
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

/// A part of the target as it was before an edit.
pub(super) struct Part {
    path: FieldPath,
    content: Bytes,
}

impl Part {
    /// What has changed since.
    pub(super) fn changes<T: 'static>(
        &self,
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<Vec<FieldChange>> {
        let changes = support.with_root(target, |root, paths| {
            let changes = root.changes_at(paths, &self.path, &self.content)?;
            if !changes.is_empty() {
                root.check_valid()?;
            }
            Ok(changes)
        });
        changes.map_err(|error| error.in_class(self.path.class()))
    }

    /// Puts it back as it was.
    pub(super) fn put_back<T: 'static>(
        &self,
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<()> {
        let put = support.with_root(target, |root, _| root.put_at(&self.path, &self.content));
        put.map_err(|error| error.in_class(self.path.class()))
    }
}
