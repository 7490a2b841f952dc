//! The calls that change a target: edits, commands, drags and transactions, and edits of one field by its path.

use std::any::{Any, type_name};
use std::hash::Hash;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};

use crate::codec::Reflect;
use crate::fields::{Direction, IntoFieldPath, Request};
use crate::history::change::step::{FinalState, ends, run_back};
use crate::history::edit::command::Command;
use crate::history::journal::FrameKind;
use crate::history::merging::Merging;
use crate::history::{
    Drag, Edit, Editable, History, Label, MergeKey, MergeTarget, OpenDrag, Panic, Performed,
    Recording, Step, Steps, Transaction, UndoEntry, guarded, recorded_as,
};
use crate::{Error, ErrorKind, Peek, Result, Value};

impl<T: 'static> History<T> {
    /// Edits a target, and records the changes as one entry with this label.
    ///
    /// An edit that changes nothing leaves no entry, and keeps the entries that can be redone. With an empty label, the
    /// entry is named after its changes. In an open transaction, the changes become a part of the transaction.
    ///
    /// For a [`World`](crate::World), the closure receives an [`Edit`], whose methods record what they do. For any
    /// other type, it receives the value itself: the target is encoded before and after the closure, and the fields and
    /// list elements that differ are recorded. So such an edit takes time and memory in proportion to the whole target;
    /// [`edit_at`](Self::edit_at) does the same for one part. Fields with `skip`, and changes inside a cell without
    /// `&mut`, are not recorded.
    ///
    /// The closure cannot use the history:
    ///
    /// ```compile_fail,E0499
    /// # let (mut world, mut history) = (persist::World::new(), persist::History::new(9));
    /// history.edit(&mut world, "Edit", |_| history.set_modified(false))?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the closure, or of a component that refuses its new value. Target and history are then as
    /// before, as they are after a panic. Returns [`ErrorKind::Unsupported`], with the
    /// name of the field, if the type of the target holds shared pointers, and
    /// [`ErrorKind::Poisoned`] if the history [is poisoned](Self::poison).
    pub fn edit<R>(
        &mut self,
        target: &mut T,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R>
    where
        T: Editable,
    {
        self.edit_as(target, None, label.into(), |scope| T::persist_edit(scope, edit))
    }

    /// Runs an edit and enters its steps.
    fn edit_as<R>(
        &mut self,
        target: &mut T,
        key: Option<MergeKey>,
        label: Label,
        edit: impl FnOnce(&mut Edit<'_, T>) -> Result<R>,
    ) -> Result<R> {
        self.check_usable(target)?;
        match Edit::run(target, &mut self.support, edit) {
            Ok((value, steps)) => {
                self.finish(target, (label, key), steps)?;
                Ok(value)
            }
            Err(failure) => Err(self.fail_new(target, label, failure)),
        }
    }

    /// Executes a command and records it, as an entry of its own or as a part of the open transaction.
    ///
    /// # Errors
    ///
    /// Returns the error of the command, and otherwise the same errors as [`edit`](Self::edit). If the command panics
    /// after it changed the target [directly](crate::history::CommandEdit::target), the history is [poisoned](Self::poison).
    pub fn apply(&mut self, target: &mut T, command: impl Command<T>) -> Result<()> {
        self.check_usable(target)?;
        let mut performed = Performed::new(command);
        match performed.perform(target, &mut self.support) {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.finish(target, (Label::None, None), Steps::One(Step::Command(performed)))
            }
            Err(failure) => {
                let label = performed.any_label();
                Err(self.fail_new(target, label, failure))
            }
        }
    }

    /// Edits like [`edit`](Self::edit), but joins the previous entry if that has the same key.
    ///
    /// Use it for each key press in a text field, or each move of a slider. Edits are not joined across an undo, a
    /// redo, a save or the border of a transaction.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`edit`](Self::edit).
    ///
    /// # Example
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
    /// use persist::{History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// let door = history.edit(&mut world, "Add door", |edit| edit.spawn("Door"))?;
    /// for text in ["G", "Ga", "Gat", "Gate"] {
    ///     history.edit_merging(&mut world, ("name", door), "Rename", |edit| {
    ///         edit.rename(door, text).map(drop)
    ///     })?;
    /// }
    /// history.undo(&mut world)?;
    /// assert_eq!(world.name(door), Some("Door"));
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn edit_merging<R>(
        &mut self,
        target: &mut T,
        key: impl Hash,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R>
    where
        T: Editable,
    {
        let key = MergeKey::of(&key);
        self.edit_as(target, Some(key), label.into(), |scope| T::persist_edit(scope, edit))
    }

    /// Runs edits that leave the target unmodified, such as those of a selection, a camera or open folders.
    ///
    /// They are undone, redone and recorded like others, but [`is_modified`](Self::is_modified) and
    /// [`state`](Self::state) stay as they are.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Drawing { shapes: Vec<u32>, selected: u32 }
    ///
    /// let (mut drawing, mut history) = (Drawing::default(), History::new(100));
    /// history.insignificant(|history| history.set_field(&mut drawing, field!(Drawing.selected), 3))?;
    /// assert!(history.can_undo() && !history.is_modified());
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn insignificant<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        recorded_as(self, |history| history, Recording::Insignificant, run)
    }

    /// Runs edits that become no entries, so that no undo reverts them, such as those of a camera.
    ///
    /// They leave the target unmodified, and the edits that can be redone stay. In a transaction they are edits of it.
    /// A journal takes them with the next edit, [`Session::flush`](crate::Session::flush) or save, so that they wait for
    /// no disk: a crash loses those since then.
    ///
    /// An undo that needs what such an edit has removed or moved returns an error.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Drawing { shapes: Vec<u32>, zoom: f32 }
    ///
    /// let (mut drawing, mut history) = (Drawing::default(), History::new(100));
    /// history.insert_element(&mut drawing, field!(Drawing.shapes), 0, 7_u32)?;
    /// history.aside(|history| history.set_field(&mut drawing, field!(Drawing.zoom), 2.0_f32))?;
    /// history.undo(&mut drawing)?;
    /// assert!(drawing.shapes.is_empty() && drawing.zoom == 2.0);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn aside<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        recorded_as(self, |history| history, Recording::Aside, run)
    }

    /// Begins a drag: all edits until [`end_drag`](Self::end_drag) become one entry with this label.
    ///
    /// With an empty label, the entry has the label of its first edit. A drag lives across frames, from the press to
    /// the release of a mouse button. In contrast to a [transaction](Self::begin), each edit is in the list at once: it
    /// survives a crash, and it can be undone. After an undo, a redo, a save or a transaction, the rest of the drag
    /// becomes an entry of its own. A second drag ends the first.
    ///
    /// # Example
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
    /// use persist::{Component, History, Persist, World, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Place { x: f32, y: f32 }
    /// impl Component for Place {}
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// let door = world.spawn("Door");
    /// world.attach(door, Place::default())?;
    /// let drag = history.begin_drag("Move door");
    /// for at in [1.0, 2.0, 3.0] {
    ///     history.set(&mut world, door, field!(Place.x), at)?;
    ///     history.set(&mut world, door, field!(Place.y), at)?;
    /// }
    /// history.end_drag(drag);
    /// assert_eq!(history.undo_text(), "Undo Move door");
    /// history.undo(&mut world)?;
    /// assert_eq!(world.get::<Place>(door).map(|place| (place.x, place.y)), Some((0.0, 0.0)));
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn begin_drag(&mut self, label: impl Into<Label>) -> Drag {
        let open = Arc::new(());
        let number = self.merges.drag.as_ref().map_or(0, |drag| drag.number + 1);
        let label = label.into();
        self.merges.drag = Some(OpenDrag { number, label, open: Arc::downgrade(&open) });
        self.end_merging();
        Drag { open }
    }

    /// Ends a drag. Does nothing if the drag has already ended.
    #[expect(clippy::needless_pass_by_value, reason = "it has ended")]
    pub fn end_drag(&mut self, drag: Drag) {
        if let Some(open) = &mut self.merges.drag
            && Weak::ptr_eq(&open.open, &Arc::downgrade(&drag.open))
        {
            open.open = Weak::new();
            self.end_merging();
        }
    }

    /// Ends a drag and reverts what it did, as when the user presses Escape. Nothing of it can be redone.
    ///
    /// Does nothing if the drag has already ended, or has not changed anything. Edits of the drag that were saved
    /// meanwhile stay an entry.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Shape { x: f32 }
    ///
    /// let (mut shape, mut history) = (Shape::default(), History::new(100));
    /// let drag = history.begin_drag("Move");
    /// history.set_field(&mut shape, field!(Shape.x), 5.0)?;
    /// history.cancel_drag(&mut shape, drag)?;
    /// assert_eq!((shape.x, history.can_undo(), history.can_redo()), (0.0, false, false));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`undo`](Self::undo). The drag has ended all the same.
    pub fn cancel_drag(&mut self, target: &mut T, drag: Drag) -> Result<()> {
        let number = self.merges.drag.as_ref().map(|drag| drag.number);
        let is_open = self.is_dragged();
        let key = self.merges.last.and_then(|last| last.key);
        self.end_drag(drag);
        self.check_no_transaction()?;
        // It has ended if it was the open one.
        if is_open && !self.is_dragged() && key == number.map(MergeKey::Drag) && key.is_some() {
            self.undo(target)?;
            self.drop_one(FinalState::Undone);
            let recorded = self.journal.as_mut().map_or(Ok(()), |journal| {
                journal.evicted(FinalState::Undone);
                journal.flush_evicted()
            });
            self.end(target);
            return recorded;
        }
        Ok(())
    }

    /// Begins a transaction, or one nested in the open one.
    ///
    /// All edits until its [`commit`](Self::commit) become one entry with this label. Meanwhile nothing can be undone
    /// or redone. A transaction may stay open across frames, as while a dialog is open. Within one function,
    /// [`edit`](Self::edit) is shorter, and rolls back when the function returns an error.
    ///
    /// # Example
    ///
    /// ```
    /// # #[cfg(feature = "world")] {
    /// use persist::{History, World};
    ///
    /// let (mut world, mut history) = (World::new(), History::new(100));
    /// history.begin("Build house")?;
    /// let house = history.edit(&mut world, "", |edit| edit.spawn("House"))?;
    /// history.edit(&mut world, "", |edit| edit.spawn_in(house, "Door"))?;
    /// history.commit(&mut world)?;
    /// assert_eq!(history.undo_text(), "Undo Build house");
    /// history.undo(&mut world)?;
    /// assert!(world.objects().len() == 0);
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Poisoned`] if the history [is poisoned](Self::poison), or an error if the journal cannot be
    /// written.
    pub fn begin(&mut self, label: impl Into<Label>) -> Result<()> {
        self.check_sound()?;
        let label = label.into();
        self.record(FrameKind::Begun, &label)?;
        self.open.push(Transaction::new(label));
        self.notify();
        Ok(())
    }

    /// Ends the innermost transaction. The outermost one becomes an entry, unless it is empty.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::OpenTransaction`] if none is open, or an error if the journal cannot be written. In the
    /// latter case the transaction stays open.
    pub fn commit(&mut self, target: &mut T) -> Result<()> {
        self.check_open()?;
        self.check_usable(target)?;
        self.record(FrameKind::Committed, &())?;
        let Some(open) = self.open.pop() else { return Ok(()) };
        if !open.edits.is_empty() {
            let label = open.name();
            let entry = UndoEntry::joined(label.clone(), open.edits);
            let entered = guarded(|| {
                self.enter(target, entry, (Merging::No, MergeTarget::default()));
                Ok(())
            });
            if let Err(failure) = entered {
                self.note(None, label, failure);
            }
        }
        // Edits after the transaction are not merged into it.
        match self.open.last_mut() {
            Some(outer) => outer.last = None,
            None => self.merges.last = None,
        }
        self.trim();
        self.end(target);
        Ok(())
    }

    /// Rolls back and ends the innermost transaction. History and target are then as they were before it began.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::OpenTransaction`] if none is open, [`ErrorKind::WrongTarget`] if the target is another
    /// world, or an error if a change cannot be undone. In the last case the history is [poisoned](Self::poison). If it
    /// was poisoned before, nothing is rolled back, since the current state is unknown.
    pub fn rollback(&mut self, target: &mut T) -> Result<()> {
        self.check_open()?;
        self.check_world(target)?;
        let Some(open) = self.open.pop() else { return Ok(()) };
        let label = open.label.clone();
        let mut steps: Vec<_> =
            open.edits.into_iter().flat_map(|edit| edit.steps.into_each()).collect();
        // If this fails, the journal has a transaction without an end, which a recovery rolls back as well.
        let recorded = guarded(|| Ok(self.record(FrameKind::RolledBack, &())?));
        self.forget_contents();
        let recorded = recorded.map_err(|failure| {
            self.panic = self.panic.take().or(failure.panic);
            failure.error
        });
        if let Err(error) = self.check_sound() {
            let done = steps.len();
            self.released.extend(ends(steps, done));
            self.end(target);
            return Err(error);
        }
        match run_back(&mut steps, target, &mut self.support, Direction::Undo) {
            Ok(()) => {
                if !steps.is_empty() {
                    self.report(target, &steps, Direction::Undo);
                }
                self.released.extend(ends(steps, 0));
                self.trim();
                self.end(target);
                recorded
            }
            Err(mut failure) => {
                failure.broken = Some(failure.broken());
                self.released.extend(ends(steps, failure.done));
                Err(self.fail(target, None, label, failure))
            }
        }
    }

    /// Runs a closure in a transaction, or one nested in the open one: all of its edits become one entry with this label.
    ///
    /// If the closure fails or panics, all of them are rolled back.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Document { title: String, lines: Vec<String> }
    ///
    /// let (mut document, mut history) = (Document::default(), History::new(100));
    /// history.transaction(&mut document, "Paste", |history, document| {
    ///     history.set_field(document, field!(Document.title), "Plan")?;
    ///     history.insert_element(document, field!(Document.lines), 0, "Once upon a time")
    /// })?;
    /// assert_eq!(history.undo_text(), "Undo Paste");
    /// history.undo(&mut document)?;
    /// assert!(document.title.is_empty() && document.lines.is_empty());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the closure, and the same errors as [`begin`](Self::begin), [`commit`](Self::commit) and
    /// [`rollback`](Self::rollback).
    pub fn transaction<R>(
        &mut self,
        target: &mut T,
        label: impl Into<Label>,
        run: impl FnOnce(&mut Self, &mut T) -> Result<R>,
    ) -> Result<R> {
        let depth = self.open.len();
        self.begin(label)?;
        let result = catch_unwind(AssertUnwindSafe(|| run(self, target)));
        self.end_transaction(target, depth, result)
    }

    /// Ends the transactions that were begun at this depth: commits if the closure succeeded, and rolls back otherwise.
    pub(in crate::history) fn end_transaction<R>(
        &mut self,
        target: &mut T,
        depth: usize,
        result: Result<Result<R>, Panic>,
    ) -> Result<R> {
        // The closure may have left others open, or ended its own.
        let committed = match &result {
            Ok(Ok(_)) if self.open.len() == depth + 1 => self.commit(target),
            Ok(Ok(_)) => Err(error!(
                ErrorKind::OpenTransaction,
                "the closure of a transaction begins and ends others in pairs; {} are open, and there were {}",
                self.open.len(),
                depth + 1
            )),
            _ => Ok(()),
        };
        let is_done = matches!(result, Ok(Ok(_))) && committed.is_ok();
        let mut rolled_back = Ok(());
        while !is_done && self.open.len() > depth {
            rolled_back = rolled_back.and(self.rollback(target));
        }
        let value = result.unwrap_or_else(|panic| resume_unwind(panic))?;
        committed.and(rolled_back).map(|()| value)
    }

    pub(in crate::history) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn check_open(&self) -> Result<()> {
        if self.is_open() {
            return Ok(());
        }
        Err(error!(ErrorKind::OpenTransaction, "no transaction is open; begin one first"))
    }
}

impl<T: Reflect> History<T> {
    /// Returns the value of a field, like [`World::get_field`](crate::World::get_field).
    ///
    /// A path with the class alone returns the whole value.
    ///
    /// ```
    /// use persist::{History, Persist, Value, field};
    ///
    /// #[derive(Persist)]
    /// struct Document { title: String }
    ///
    /// let document = Document { title: "Plan".into() };
    /// let mut history = History::new(100);
    /// assert_eq!(history.get_field(&document, field!(Document.title))?, Value::from("Plan"));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::get_field`](crate::World::get_field), and [`ErrorKind::Unsupported`] if the
    /// type holds shared pointers.
    pub fn get_field(&mut self, target: &T, path: impl IntoFieldPath) -> Result<Value> {
        let path = path.into_field_path()?;
        self.support.check_class(&path)?;
        self.support.value(target, &path).map_err(|error| error.in_class(path.class()))
    }

    /// Reads a field, but only some elements of large containers, like
    /// [`World::peek_field`](crate::World::peek_field).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get_field`](Self::get_field), for what is read.
    pub fn peek_field(
        &mut self,
        target: &T,
        path: impl IntoFieldPath,
        range: Range<usize>,
    ) -> Result<Peek> {
        let path = path.into_field_path()?;
        self.support.check_class(&path)?;
        self.support.peek(target, &path, range).map_err(|error| error.in_class(path.class()))
    }

    /// Sets a field of a value, as an entry that is named after the field, and returns the old value.
    ///
    /// A key that a map does not have is inserted. It takes the time of the field, not of the whole value. The new
    /// value is checked as by
    /// [`World::set_field`](crate::World::set_field).
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
    /// Returns the same errors as [`World::set_field`](crate::World::set_field) and [`edit`](Self::edit).
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

    /// Edits one part of a value, like [`edit`](Self::edit), in the time that the part takes.
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
    /// Returns the same errors as [`edit`](Self::edit), and
    ///
    /// - [`ErrorKind::NotFound`] if the path leads nowhere;
    /// - [`ErrorKind::KindMismatch`] if the part is not a `P`;
    /// - [`ErrorKind::Unsupported`] if the path leads through an option, a tuple or an array.
    pub fn edit_at<P: Any, R>(
        &mut self,
        target: &mut T,
        path: impl IntoFieldPath,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut P) -> Result<R>,
    ) -> Result<R> {
        self.edit_as(target, None, label.into(), |scope| edit_part(scope, path, edit))
    }

    /// Edits one part of a value like [`edit_at`](Self::edit_at), but joins the previous entry if that has the same key,
    /// like [`edit_merging`](Self::edit_merging).
    ///
    /// Use it for each key press in a text of a large document.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`edit_at`](Self::edit_at).
    pub fn edit_at_merging<P: Any, R>(
        &mut self,
        target: &mut T,
        key: impl Hash,
        path: impl IntoFieldPath,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut P) -> Result<R>,
    ) -> Result<R> {
        let key = Some(MergeKey::of(&key));
        self.edit_as(target, key, label.into(), |scope| edit_part(scope, path, edit))
    }

    /// Sets a field like [`set_field`](Self::set_field), but joins the previous entry if that has the same key, like
    /// [`edit_merging`](Self::edit_merging).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set_field`](Self::set_field).
    pub fn set_field_merging(
        &mut self,
        target: &mut T,
        key: impl Hash,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        let key = Some(MergeKey::of(&key));
        self.edit_as(target, key, Label::None, |edit| {
            edit.change_field(path, &Request::Set(&value.into()))
        })
    }

    /// Inserts an element into a list of a value before the element at `index`, or at the end.
    ///
    /// It takes the time of the element, not of the whole list, unless the type has a `validate` or `after_load` function.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist)]
    /// struct Drawing { shapes: Vec<u32> }
    ///
    /// let (mut drawing, mut history) = (Drawing { shapes: vec![1, 2] }, History::new(100));
    /// history.insert_element(&mut drawing, field!(Drawing.shapes), 1, 7)?;
    /// history.move_element(&mut drawing, field!(Drawing.shapes), 1, 2)?;
    /// history.remove_element(&mut drawing, field!(Drawing.shapes), 0)?;
    /// assert_eq!(drawing.shapes, [2, 7]);
    /// history.go_to(&mut drawing, 0)?;
    /// assert_eq!(drawing.shapes, [1, 2]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set_field`](Self::set_field), and [`ErrorKind::NotFound`] if there is no such list,
    /// or `index` is beyond its end.
    pub fn insert_element(
        &mut self,
        target: &mut T,
        list: impl IntoFieldPath,
        index: usize,
        value: impl Into<Value>,
    ) -> Result<()> {
        let value = value.into();
        self.change_list(target, list, &Request::Insert(index as u64, &value))
    }

    /// Removes an element from a list of a value, in the time of the element.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set_field`](Self::set_field), and [`ErrorKind::NotFound`] if there is no such
    /// element.
    pub fn remove_element(
        &mut self,
        target: &mut T,
        list: impl IntoFieldPath,
        index: usize,
    ) -> Result<()> {
        self.change_list(target, list, &Request::Remove(index as u64))
    }

    /// Moves an element of a list of a value from index `from` to index `to`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`remove_element`](Self::remove_element), for either index.
    pub fn move_element(
        &mut self,
        target: &mut T,
        list: impl IntoFieldPath,
        from: usize,
        to: usize,
    ) -> Result<()> {
        if from == to {
            return self.check_usable(target);
        }
        self.change_list(target, list, &Request::Move(from as u64, to as u64))
    }

    /// Replaces a range of elements of a list of a value by other elements, as one entry.
    ///
    /// An empty range inserts, and no values remove.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist)]
    /// struct Drawing { shapes: Vec<u32> }
    ///
    /// let (mut drawing, mut history) = (Drawing { shapes: vec![1, 2, 3, 4] }, History::new(100));
    /// history.splice(&mut drawing, field!(Drawing.shapes), 1..3, [7.into(), 8.into(), 9.into()])?;
    /// assert_eq!(drawing.shapes, [1, 7, 8, 9, 4]);
    /// history.undo(&mut drawing)?;
    /// assert_eq!(drawing.shapes, [1, 2, 3, 4]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`insert_element`](Self::insert_element) and [`remove_element`](Self::remove_element).
    /// The list is then as before.
    pub fn splice(
        &mut self,
        target: &mut T,
        list: impl IntoFieldPath,
        range: Range<usize>,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<()> {
        self.edit_as(target, None, Label::None, |edit| {
            let list = list.into_field_path()?;
            for index in range.clone().rev() {
                edit.change_field(list.clone(), &Request::Remove(index as u64))?;
            }
            for (index, value) in (range.start..).zip(values) {
                edit.change_field(list.clone(), &Request::Insert(index as u64, &value))?;
            }
            Ok(())
        })
    }

    /// Removes a key of a map of a value, and returns the value that it had, in the time of that value.
    ///
    /// [`set_field`](Self::set_field) with a key that the map does not have inserts it.
    ///
    /// # Example
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use persist::{History, Persist, Value, field};
    ///
    /// #[derive(Persist)]
    /// struct Shop { prices: BTreeMap<String, u32> }
    ///
    /// let (mut shop, mut history) = (Shop { prices: BTreeMap::new() }, History::new(100));
    /// history.set_field(&mut shop, field!(Shop.prices["rope"]), 15)?;
    /// assert_eq!(history.remove_key(&mut shop, field!(Shop.prices["rope"]))?, Value::U32(15));
    /// history.undo(&mut shop)?;
    /// assert_eq!(shop.prices["rope"], 15);
    /// history.undo(&mut shop)?;
    /// assert!(shop.prices.is_empty());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set_field`](Self::set_field), and [`ErrorKind::NotFound`] if the path does not end
    /// with a key of a map.
    pub fn remove_key(&mut self, target: &mut T, key: impl IntoFieldPath) -> Result<Value> {
        self.edit_as(target, None, Label::None, |edit| edit.change_field(key, &Request::RemoveKey))
    }

    fn change_list(
        &mut self,
        target: &mut T,
        list: impl IntoFieldPath,
        request: &Request<'_>,
    ) -> Result<()> {
        self.edit_as(target, None, Label::None, |edit| edit.change_field(list, request).map(drop))
    }
}

/// Hands out the part at a path, whose changes are recorded.
fn edit_part<T: Reflect, P: Any, R>(
    scope: &mut Edit<'_, T>,
    path: impl IntoFieldPath,
    edit: impl FnOnce(&mut P) -> Result<R>,
) -> Result<R> {
    let path = path.into_field_path()?;
    scope.take_part(path.clone())?;
    let mut root = scope.support.root(scope.target)?;
    let part = root.part_mut(&path).map_err(|error| error.in_class(path.class()))?;
    let Some(part) = part.downcast_mut::<P>() else {
        let message = format!("the part is no {}; take the type of the field", type_name::<P>());
        let error = Error::new(ErrorKind::KindMismatch, message);
        return Err(path.locate(error).in_class(path.class()));
    };
    edit(part)
}
