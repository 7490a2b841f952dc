//! How entries are made.
//!
//! The order of an edit: it is done; it is recorded in the journal; undone entries are cut; it is merged or appended;
//! limits; events. Up to the second, a failure leaves target and history as they were.

use std::any::{Any, type_name};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;
use std::sync::{Arc, Weak};

use super::edit::{Command, Performed, Step, Steps};
use super::entry::{Transaction, UndoEntry};
use super::failure::{Failure, guarded};
use super::journal::{FrameKind, payload};
use super::merging::{MergeKey, MergeTarget, Merging, OpenDrag};
use super::step::{Summary, ends, run_all};
use super::{Drag, Edit, Editable, History, Label};
use crate::codec::Reflect;
use crate::fields::{Direction, FieldChange, IntoFieldPath, Merge, Request};
use crate::world::Change;
use crate::{Error, ErrorKind, ObjectId, Persist, Result, Value, World};

impl<T: 'static> History<T> {
    /// Edits a target; what is done is one entry, of this label if it is not empty. If nothing is changed there is none, and what could be redone stays.
    ///
    /// Of a [`World`](crate::World) the closure gets an [`Edit`], whose methods record what they do. Of any other type it gets the value:
    /// the target is encoded before and after it, which costs what the target costs, and the fields that differ are
    /// kept, of lists the elements. [`edit_at`](Self::edit_at) does the same for one part. `skip`ped fields and changes
    /// inside a cell without `&mut` are not recorded. A type that holds shared pointers is refused
    /// ([`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported)), with the name of the field.
    ///
    /// In an open transaction it is a part of that. The edit has the target, and not the history, which cannot be used in it:
    ///
    /// ```compile_fail,E0499
    /// # let (mut world, mut history) = (persist::World::new(), persist::History::new(9));
    /// history.edit(&mut world, "Edit", |_| history.set_modified(false))?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the closure, or what a component refuses. Target and history are then as they were, as they are after a panic.
    /// [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned) if the history [is](Self::poison).
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

    /// Runs an edit, whose steps are recorded.
    pub(super) fn edit_as<R>(
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

    /// Does a command, as an entry or as a part of an open transaction.
    ///
    /// # Errors
    ///
    /// Those of [`edit`](Self::edit). If the command panics after it changed the target [directly](super::CommandContext::target), the history is
    /// [poisoned](Self::poison).
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

    /// Like [`edit`](Self::edit), but joins the entry before it if that was made with the same key: each key press in a text field, or each move of a
    /// slider.
    ///
    /// Nothing is joined across an undo, a redo, a save or the border of a transaction.
    ///
    /// # Errors
    ///
    /// Those of [`edit`](Self::edit).
    ///
    /// # Example
    ///
    /// ```
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
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let key = MergeKey::Given(hasher.finish());
        self.edit_as(target, Some(key), label.into(), |scope| T::persist_edit(scope, edit))
    }

    /// Begins a drag: all edits until [`end_drag`](Self::end_drag) are one entry with this label, or with that of the first if it is empty.
    ///
    /// It lives across frames, from the press to the release of a mouse button. In contrast to a [transaction](Self::begin), each edit is part of the
    /// list at once: a crash keeps it, and it can be undone. After an undo, a redo, a save or a transaction, the rest of the drag is an entry of its
    /// own. A second drag ends the first.
    ///
    /// # Example
    ///
    /// ```
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
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn begin_drag(&mut self, label: impl Into<Label>) -> Drag {
        let open = Arc::new(());
        let number = self.drag.as_ref().map_or(0, |drag| drag.number + 1);
        let label = label.into();
        self.drag = Some(OpenDrag { number, label, open: Arc::downgrade(&open) });
        self.end_merging();
        Drag { open }
    }

    /// Ends a drag; nothing happens if it has ended.
    #[expect(clippy::needless_pass_by_value, reason = "it has ended")]
    pub fn end_drag(&mut self, drag: Drag) {
        if let Some(open) = &mut self.drag
            && Weak::ptr_eq(&open.open, &Arc::downgrade(&drag.open))
        {
            open.open = Weak::new();
            self.end_merging();
        }
    }

    /// Begins a transaction, or one nested in the open one.
    ///
    /// All that is done until its [`commit`](Self::commit) is one entry, with this label. Meanwhile nothing can be undone or
    /// redone. It may stay open while the program continues, as while a dialog is open. Within one function [`edit`](Self::edit) is shorter, and rolls back
    /// when the function returns an error.
    ///
    /// # Example
    ///
    /// ```
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
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Poisoned`] if the history [is](Self::poison); what the journal refuses.
    pub fn begin(&mut self, label: impl Into<Label>) -> Result<()> {
        self.check_sound()?;
        let label = label.into();
        self.record(FrameKind::Begun, &label)?;
        self.open.push(Transaction::new(label));
        self.tell();
        Ok(())
    }

    /// Ends the transaction that was begun last. The outermost becomes an entry, unless nothing was done in it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OpenTransaction`] if none is open; what the journal refuses, and it then is open still.
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
        // Nothing is merged across its end.
        match self.open.last_mut() {
            Some(outer) => outer.last = None,
            None => self.last = None,
        }
        self.trim();
        self.end(target);
        Ok(())
    }

    /// Rolls back the transaction that was begun last, and ends it. History and target are then as they were before it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OpenTransaction`] if none is open; [`ErrorKind::WrongTarget`] if it is another world; what cannot be rolled back; the history is then
    /// [poisoned](Self::poison). If it was poisoned before, nothing is rolled back, as the current state is not known.
    pub fn rollback(&mut self, target: &mut T) -> Result<()> {
        self.check_open()?;
        self.check_world(target)?;
        let Some(open) = self.open.pop() else { return Ok(()) };
        let label = open.label.clone();
        let mut steps: Vec<_> =
            open.edits.into_iter().flat_map(|edit| edit.steps.into_each()).collect();
        // If this fails the journal has a transaction that does not end, which a recovery rolls back.
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
        match run_all(&mut steps, target, &mut self.support, Direction::Undo) {
            Ok(()) => {
                if !steps.is_empty() {
                    self.changed(target);
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

    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn check_open(&self) -> Result<()> {
        if self.is_open() {
            return Ok(());
        }
        Err(error!(ErrorKind::OpenTransaction, "no transaction is open; begin one first"))
    }
}

/// What was done enters the list.
impl<T: 'static> History<T> {
    /// Enters what was done.
    pub(super) fn finish(
        &mut self,
        target: &mut T,
        (label, key): (Label, Option<MergeKey>),
        steps: Steps<T>,
    ) -> Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        if key.is_none() && self.is_plain() {
            let summary = match guarded(|| Ok(steps.summary())) {
                Ok(summary) => summary,
                Err(failure) => return Err(self.withdraw(target, label, steps, failure)),
            };
            self.enter_plain(target, label, steps, summary);
            return Ok(());
        }
        let (label, key) = self.dragged(label, key);
        let mut entry = UndoEntry::new(label, steps);
        let merging = match self.settle(target, &mut entry, key) {
            Ok(merging) => merging,
            Err(failure) => {
                let UndoEntry { label, steps, .. } = entry;
                return Err(self.withdraw(target, label, steps, failure));
            }
        };
        self.changed(target);
        let name = entry.label.clone();
        let entered = guarded(|| {
            self.enter(target, entry, merging);
            Ok(())
        });
        if let Err(failure) = entered {
            self.note(None, name, failure);
        }
        self.end(target);
        Ok(())
    }

    /// Asks all that is needed to enter what was done, and records it. If this fails, also by a panic, it can be rolled back.
    fn settle(
        &mut self,
        target: &mut T,
        entry: &mut UndoEntry<T>,
        key: Option<MergeKey>,
    ) -> Result<(Merging, MergeTarget), Failure> {
        guarded(|| {
            entry.weigh();
            let last = MergeTarget { key, time: self.now(), has_cut: false };
            let merging = self.merging(&last);
            if let Some(journal) = &mut self.journal {
                let (label, steps) = (&entry.label, &mut entry.steps);
                journal.record_done((target, &self.support), label, steps, merging)?;
            }
            Ok((merging, last))
        })
    }

    /// Undoes what was done, since it cannot be entered.
    #[cold]
    fn withdraw(
        &mut self,
        target: &mut T,
        label: Label,
        mut steps: Steps<T>,
        failure: Failure,
    ) -> Error {
        let undo = || run_all(&mut steps, target, &mut self.support, Direction::Undo);
        let failure = Failure { broken: None, ..failure }.after(undo);
        self.released.extend(ends(steps.into_each(), failure.done));
        self.fail(target, None, label, failure)
    }

    /// Enters what was done, and is weighed and recorded.
    pub(super) fn enter(
        &mut self,
        target: &mut T,
        mut entry: UndoEntry<T>,
        (merging, last): (Merging, MergeTarget),
    ) {
        if let Some(open) = self.open.last_mut() {
            let entered = open.enter(entry, (merging, last), &mut self.released);
            if let Err(failure) = entered {
                let label = open.label.clone();
                self.note(None, label, failure);
            }
            return;
        }
        let has_cut = self.cut();
        if let Some(index) = self.ring.current().filter(|_| merging != Merging::No) {
            match self.merge(index, &mut entry, (merging, last.time)) {
                Ok(false) => {}
                Ok(true) => {
                    self.has_grown = true;
                    self.trim();
                    return;
                }
                Err(failure) => {
                    let label = self.label_of(index);
                    self.note(Some(index), label, failure);
                }
            }
        }
        let UndoEntry { label, steps, is_significant, size, .. } = entry;
        let summary = Summary { is_significant, size: size - size_of::<UndoEntry<T>>() };
        self.append(label, steps, summary);
        self.has_appended(target, MergeTarget { has_cut, ..last });
    }

    /// True if an edit without a key is an entry of its own, replaces none, and nobody wants to know of it before it is
    /// entered.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.journal.is_none()
            && self.open.is_empty()
            && !self.is_dragged()
            && self.merge_window.is_none()
            && self.ring.next().is_none()
    }

    /// Enters the change of a number as an edit of its own.
    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[inline(always)]
    pub(super) fn enter_change(&mut self, target: &mut T, change: Change) -> Result<()> {
        if !self.is_plain() {
            let steps = Steps::One(Step::Change(change));
            return self.finish(target, (Label::None, None), steps);
        }
        // It takes nothing beyond the size of an entry.
        let summary = Summary { is_significant: true, size: 0 };
        self.enter_plain(target, Label::None, Steps::One(Step::Change(change)), summary);
        Ok(())
    }

    /// Enters an edit of its own.
    #[expect(clippy::inline_always, reason = "as that of `append`")]
    #[inline(always)]
    fn enter_plain(&mut self, target: &mut T, label: Label, steps: Steps<T>, summary: Summary) {
        self.changed(target);
        self.append(label, steps, summary);
        self.has_appended(target, MergeTarget::default());
        self.end(target);
    }

    /// An entry has been appended: makes room for it.
    #[expect(clippy::inline_always, reason = "as that of `append`")]
    #[inline(always)]
    fn has_appended(&mut self, target: &T, last: MergeTarget) {
        (self.last, self.has_grown) = (Some(last), true);
        if self.max_bytes.is_some() {
            self.count_held(self.ring.len() - 1, target);
        }
        self.trim();
    }

    /// Merges an edit into the current entry; false if it does not go with it.
    fn merge(
        &mut self,
        index: usize,
        next: &mut UndoEntry<T>,
        (merging, time): (Merging, u64),
    ) -> Result<bool, Failure> {
        let (state, state_before) = (self.last_state + 1, self.state_at(index));
        let has_cut = self.last.is_some_and(|last| last.has_cut);
        let name = has_cut.then(|| self.label_of(index));
        let Some(entry) = self.ring.get_mut(index) else { return Ok(false) };
        let before = entry.size;
        let merge = entry.merge(next, merging, &mut self.released);
        if let (Ok(Merge::Annul), Some(name)) = (&merge, name) {
            // The entries that it cut are gone. Without it the next undo would take back the edit before.
            entry.annul(name, state_before);
        }
        self.bytes = self.bytes - before + entry.size;
        match merge? {
            Merge::No => return Ok(false),
            Merge::Annul => {
                if !has_cut {
                    self.take_out(index);
                }
                self.last = None;
            }
            Merge::Yes => {
                self.last.iter_mut().for_each(|last| last.time = time);
                if next.is_significant {
                    entry.state = state;
                    self.last_state = state;
                }
            }
        }
        Ok(true)
    }

    /// Has the journal record what happened, if there is one.
    pub(super) fn record(&mut self, kind: FrameKind, what: &impl Persist) -> Result<()> {
        match &mut self.journal {
            Some(journal) => journal.record(kind, payload(what)?),
            None => Ok(()),
        }
    }

    /// Components were changed otherwise than by steps of fields.
    pub(super) fn forget_contents(&mut self) {
        self.journal.iter_mut().for_each(|journal| journal.forget_contents());
    }

    /// Like [`fail`](Self::fail), for an edit.
    fn fail_new(&mut self, target: &mut T, label: Label, mut failure: Failure) -> Error {
        if let Some(open) = self.open.last() {
            let whole = open.label.quoted("the transaction");
            let (step, message) = (open.edits.len(), failure.error.message());
            let message = format!("step {step} of {whole}: {message}");
            failure.error = failure.error.reworded(message);
        }
        self.fail(target, None, label, failure)
    }
}

impl<T: Reflect> History<T> {
    /// The value of a field of a value, as [`World::get_field`] reads one of a component. The path of the class alone gives
    /// the whole value.
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
    /// Those of [`World::get_field`]; as [`edit`](Self::edit), if the type holds shared pointers.
    pub fn get_field(&mut self, target: &T, path: impl IntoFieldPath) -> Result<Value> {
        let path = path.into_field_path()?;
        self.support.check_class(&path)?;
        self.support.value(target, &path).map_err(|error| error.in_class(path.class()))
    }

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
            let path = path.into_field_path()?;
            scope.take_part(path.clone())?;
            let mut root = scope.support.root(scope.target)?;
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

impl History<World> {
    /// Sets a field of a component of an object, or of a resource if there is `None` in its place, as an entry that is
    /// called after it; returns what it was.
    ///
    /// # Errors
    ///
    /// Those of [`World::set_field`] and [`edit`](Self::edit).
    pub fn set(
        &mut self,
        world: &mut World,
        object: impl Into<Option<ObjectId>>,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        let (object, value) = (object.into(), value.into());
        let path = path.into_field_path()?;
        self.check_usable(world)?;
        if let Some(object) = object.filter(|_| world.is_still())
            // No code of the program runs that could fail halfway.
            && let Some(replaced) = world.set_number(object, &path, &value)
        {
            // A number has nothing to be dropped, and to find that out costs a fortieth of this.
            mem::forget(value);
            let old = replaced.old();
            if replaced.is_other() {
                let field = FieldChange { path, how: replaced.how() };
                let change = Change::found(world, Some(object).into(), field);
                self.enter_change(world, change)?;
            }
            return Ok(old);
        }
        self.edit(world, "", |edit| edit.set(object, path, value))
    }
}
