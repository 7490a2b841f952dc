//! Edits of any type with field records.

use std::any::{Any, TypeId, type_name};
use std::panic::resume_unwind;
use std::rc::Rc;

use super::edit::{Edit, Pending, Place};
use super::journal::{Around, StoredStep, Storing};
use super::step::{BoxedStep, Failure, Merge, Step, guarded};
use super::{History, Label};
use crate::codec::{Portable, Reflect};
use crate::fields::{Bytes, FieldChange, IntoFieldPath, Request, Root, Way};
use crate::graph::Registry;
use crate::{Error, ErrorKind, FieldPath, Persist, Result, Value, World};

/// What a [`History`] can edit: a [`World`], or any type that derives [`Persist`].
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
            let path = path.into_field_path(&scope.around.paths)?;
            scope.take_part(path.clone())?;
            let around = Rc::clone(&scope.around);
            let registry = &around.classes.borrow().registry;
            let mut room = around.room.take();
            let mut root = Root { registry, value: scope.target, room: &mut room };
            let part = root.part_mut(&path).map_err(|error| error.in_class(path.class()))?;
            let Some(part) = part.downcast_mut::<P>() else {
                let message =
                    format!("the part is no {}; take the type of the field", type_name::<P>());
                let error = Error::new(ErrorKind::KindMismatch, message);
                return Err(path.locate(error).in_class(path.class()));
            };
            edit(part)
        })
    }
}

impl<T: Persist> History<T> {
    /// Makes the fields of the target known, by which edits are recorded.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register`].
    pub(super) fn know_fields(&self) -> Result<()> {
        self.around.know_fields()
    }
}

impl<T: Persist> Around<T> {
    fn know_fields(&self) -> Result<()> {
        if self.root.get().is_some() || TypeId::of::<T>() == TypeId::of::<World>() {
            return Ok(());
        }
        self.classes.borrow_mut().registry.register_value::<T>()?;
        self.root.set(Some(|target| target));
        Ok(())
    }
}

impl<T: 'static> Around<T> {
    /// Does something with the fields of a target.
    fn with_root<R>(
        &self,
        target: &mut T,
        run: impl FnOnce(&mut Root<'_>) -> Result<R>,
    ) -> Result<R> {
        let Some(root) = self.root.get() else {
            let message = "the type of the target has no field records; derive `Persist` for it";
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let (classes, mut room) = (self.classes.borrow(), self.room.take());
        let mut root = Root { registry: &classes.registry, value: root(target), room: &mut room };
        let result = run(&mut root);
        self.room.replace(room);
        result
    }
}

impl<T: Reflect> Edit<'_, T> {
    /// Readies an edit of a field; the class is that of the target.
    fn ready_for(&mut self, path: &FieldPath) -> Result<()> {
        self.ready()?;
        self.around.know_fields()?;
        let class = T::CLASS.name();
        if path.class() != class {
            let message = format!(
                "the path is one of {}, and the target is of {class}; begin it with that",
                path.class()
            );
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        check_recordable(&self.around.classes.borrow().registry, &class)
    }

    /// Notes what a part is before it is changed.
    fn take_part(&mut self, path: FieldPath) -> Result<()> {
        self.ready_for(&path)?;
        let around = Rc::clone(&self.around);
        let content = around.with_root(self.target, |root| root.content_at(&path));
        let content = content.map_err(|error| error.in_class(path.class()))?;
        self.pending.push(Box::new(TakenPart { path, content, around }));
        Ok(())
    }

    fn change_field(&mut self, path: impl IntoFieldPath, request: &Request<'_>) -> Result<Value> {
        let path = path.into_field_path(&self.around.paths)?;
        self.ready_for(&path)?;
        let (class, around) = (path.clone(), Rc::clone(&self.around));
        // Ids of a world in it are those of a world beside it.
        let any_handle = |_: &str, _| Ok(());
        let changed = around.with_root(self.target, |root| root.record(path, request, &any_handle));
        let (change, old) = changed.map_err(|error| error.in_class(class.class()))?;
        if !change.does_nothing() {
            self.record(FieldStep { change, is_asked: false, around });
        }
        Ok(old.unwrap_or(Value::Unit))
    }
}

/// Refuses a class that holds shared pointers, whose targets are not recorded.
pub(super) fn check_recordable(registry: &Registry, class: &str) -> Result<()> {
    let Some(field) = registry.named(class).and_then(|class| registry.shared_field(class)) else {
        return Ok(());
    };
    Err(Error::new(
        ErrorKind::Unsupported,
        "the field holds shared pointers, and what is behind them is not recorded; keep an index or an id in their place, or change the target by commands",
    )
    .in_class(class)
    .in_field(&field))
}

/// A part of the target as it was before an edit.
struct TakenPart<T: 'static> {
    path: FieldPath,
    content: Bytes,
    around: Rc<Around<T>>,
}

impl<T: 'static> Pending<T> for TakenPart<T> {
    fn place(&self) -> Place {
        Place::Resource(TypeId::of::<T>())
    }

    fn close(self: Box<Self>, target: &mut T, steps: &mut Vec<BoxedStep<T>>) -> Result<()> {
        let Self { path, content, around } = &*self;
        let changes = guarded(|| {
            let changes = around.with_root(target, |root| {
                let changes = root.changes_at(&around.paths, path, content)?;
                if !changes.is_empty() {
                    root.check_valid()?;
                }
                Ok(changes)
            });
            Ok(changes.map_err(|error| error.in_class(path.class()))?)
        });
        match changes {
            Ok(changes) => {
                let step = |change| -> BoxedStep<T> {
                    Box::new(FieldStep { change, is_asked: false, around: Rc::clone(around) })
                };
                steps.extend(changes.into_iter().map(step));
                Ok(())
            }
            Err(failure) => {
                self.put_back(target)?;
                match failure.panic {
                    Some(panic) => resume_unwind(panic),
                    None => Err(failure.error),
                }
            }
        }
    }

    fn put_back(self: Box<Self>, target: &mut T) -> Result<()> {
        let Self { path, content, around } = *self;
        let put = around.with_root(target, |root| root.put_at(&path, &content));
        put.map_err(|error| error.in_class(path.class()))
    }
}

/// A change of a field of the target as a step.
pub(super) struct FieldStep<T: 'static> {
    change: FieldChange,
    /// Whether the target is to be asked if it may be as it was made last.
    is_asked: bool,
    around: Rc<Around<T>>,
}

impl<T: 'static> FieldStep<T> {
    /// A change that was stored.
    pub(super) fn restored(change: FieldChange, around: &Rc<Around<T>>) -> Self {
        Self { change, is_asked: false, around: Rc::clone(around) }
    }

    fn make(&mut self, target: &mut T, way: Way) -> Result<(), Failure> {
        let made = self.around.with_root(target, |root| root.make(&self.change, way));
        self.is_asked = made.map_err(|error| error.in_class(self.change.path.class()))?;
        Ok(())
    }
}

impl<T: 'static> Step<T> for FieldStep<T> {
    fn undo(&mut self, target: &mut T) -> Result<(), Failure> {
        self.make(target, Way::Undo)
    }

    fn redo(&mut self, target: &mut T) -> Result<(), Failure> {
        self.make(target, Way::Redo)
    }

    fn check(&self, target: &mut T) -> Result<()> {
        if !self.is_asked {
            return Ok(());
        }
        let valid = self.around.with_root(target, |root| root.check_valid());
        valid.map_err(|error| error.in_class(self.change.path.class()))
    }

    fn merge(&mut self, next: &mut dyn Step<T>) -> Result<Merge> {
        let next: &mut dyn Any = next;
        let next = next.downcast_mut::<Self>();
        Ok(next.and_then(|next| self.change.merge(&mut next.change)).into())
    }

    fn is_setting(&self) -> bool {
        self.change.is_setting()
    }

    fn meets(&self, other: &dyn Step<T>) -> bool {
        let other: &dyn Any = other;
        let other = other.downcast_ref::<Self>().filter(|other| other.is_setting());
        other.is_none_or(|other| self.change.path.meets(&other.change.path))
    }

    fn label(&self) -> Label {
        Label::of_field(&self.change, None)
    }

    fn has_end(&self) -> bool {
        false
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.change.how.held()
    }

    fn store(&mut self, _: &T, _: &Storing<'_, T>) -> Result<StoredStep> {
        Ok(StoredStep::Field(Box::new(self.change.clone())))
    }
}

/// How the fields of a target are reached.
pub(super) type RootOf<T> = fn(&mut T) -> &mut dyn Portable;
