//! What changes a target while it is recorded.

use std::any::TypeId;
use std::ops::Deref;
use std::panic::resume_unwind;
use std::sync::Arc;

use hashbrown::HashSet;

use super::command::{Command, Performed, not_again};
use super::step::{
    Broken, Failure, Step, Steps, ends, finalize_all, guarded, is_broken, run_all, world_mut,
};
use super::support::Support;
use crate::codec::Reflect;
use crate::fields::{Bytes, FieldChange, IntoFieldPath, NumberFields, Request, Way};
use crate::graph::Registry;
use crate::world::{Change, Owner};
use crate::{Error, ErrorKind, FieldPath, ObjectId, Persist as _, Result, Value, World};

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

/// A target that is being edited: what is done through it is recorded, in one entry.
///
/// [`History::edit`](super::History::edit) hands it out. It leads to the target for reading; of a [`World`], its methods are those that
/// change it.
pub struct Edit<'e, T: 'static = World> {
    pub(super) target: &'e mut T,
    pub(super) steps: Steps<T>,
    /// What was taken to be changed, and has not been compared yet.
    pub(super) pending: Vec<Pending>,
    /// The places of the first of these, where there are many.
    places: Option<Box<HashSet<Place>>>,
    again: Option<Again<'e, T>>,
    /// What could not be rolled back in it.
    broken: Option<Box<Broken>>,
    pub(super) support: &'e mut Support<T>,
}

/// Something that may have been changed since it was taken, as it was then.
pub(super) struct Pending {
    pub(super) place: Place,
    /// The class of a component or a resource, or that of the target.
    class: fn() -> String,
    before: Before,
}

/// Where something is that was taken to be changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// A column of a world, and an object.
    Component(usize, ObjectId),
    Resource(TypeId),
    /// A part of a target that is no world.
    Part(FieldPath),
}

impl Place {
    fn owner(&self) -> Owner {
        match self {
            Self::Component(_, object) => Owner::Object(*object),
            Self::Resource(_) | Self::Part(_) => Owner::Resource,
        }
    }
}

/// What it was.
enum Before {
    Bytes(Bytes),
    /// A component that has nothing but numbers, which are compared where they lie.
    Numbers(Arc<NumberFields>, Vec<u64>),
}

impl Pending {
    /// A component or a resource of a world.
    pub(super) fn in_world(world: &mut World, place: Place, class: fn() -> String) -> Result<Self> {
        let numbers = match place {
            Place::Component(column, object) => world.snapshot_numbers(column, object),
            _ => None,
        };
        let before = match numbers {
            Some((fields, bits)) => Before::Numbers(fields, bits),
            None => {
                world.check_recordable(&class())?;
                Before::Bytes(world.snapshot(place.owner(), &class())?)
            }
        };
        Ok(Self { place, class, before })
    }

    /// Appends the steps that changed it since. If it fails, it is put back as it was, unless the failure says that it is
    /// broken.
    fn close<T: 'static>(
        self,
        target: &mut T,
        support: &mut Support<T>,
        steps: &mut Steps<T>,
    ) -> Result<(), Failure> {
        let found = guarded(|| Ok(self.changes(target, support)?)).map_err(|mut failure| {
            failure.broken = None;
            let back = guarded(|| Ok(self.put_back(target, support)?));
            is_broken(&mut failure, steps.len(), back);
            failure
        })?;
        match world_mut(target) {
            Some(world) => Change::all_found(world, self.place.owner(), found)
                .for_each(|change| steps.push(Step::Change(change))),
            None => found
                .into_iter()
                .for_each(|change| steps.push(Step::Change(Change::of_target(change)))),
        }
        Ok(())
    }

    /// What has changed since.
    fn changes<T: 'static>(
        &self,
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<Vec<FieldChange>> {
        match (&self.before, &self.place, world_mut(target)) {
            (Before::Numbers(fields, bits), Place::Component(column, object), Some(world)) => {
                let component = world.any_component(*column, *object);
                component.and_then(|root| fields.changes(root, bits)).ok_or_else(|| self.is_gone())
            }
            (Before::Bytes(content), Place::Part(path), None) => {
                let changes = support.with_root(target, |root, paths| {
                    let changes = root.changes_at(paths, path, content)?;
                    if !changes.is_empty() {
                        root.check_valid()?;
                    }
                    Ok(changes)
                });
                changes.map_err(|error| error.in_class(path.class()))
            }
            (Before::Bytes(content), place, Some(world)) => {
                let (owner, class) = (place.owner(), (self.class)());
                let changes = world.changes_since(owner, &class, content)?;
                if !changes.is_empty() {
                    world.validate(owner, &class)?;
                }
                Ok(changes)
            }
            _ => Err(self.is_gone()),
        }
    }

    /// Puts it back as it was.
    fn put_back<T: 'static>(&self, target: &mut T, support: &mut Support<T>) -> Result<()> {
        match (&self.before, &self.place, world_mut(target)) {
            (Before::Numbers(fields, bits), Place::Component(column, object), Some(world)) => {
                let component = world.any_component(*column, *object);
                component.and_then(|root| fields.put(root, bits)).ok_or_else(|| self.is_gone())
            }
            (Before::Bytes(content), Place::Part(path), None) => {
                let put = support.with_root(target, |root, _| root.put_at(path, content));
                put.map_err(|error| error.in_class(path.class()))
            }
            (Before::Bytes(content), place, Some(world)) => {
                world.put_content(place.owner(), &(self.class)(), content)
            }
            _ => Err(self.is_gone()),
        }
    }

    #[cold]
    fn is_gone(&self) -> Error {
        Error::new(ErrorKind::NotFound, "the component is not there").in_class((self.class)())
    }
}

/// The number of items that are searched faster than a set is made.
const FEW: usize = 8;

/// What a command did through its context when it was done first.
struct Again<'e, T: 'static> {
    steps: &'e mut [Step<T>],
    done: usize,
}

impl<'e, T: 'static> Edit<'e, T> {
    pub(super) fn new(target: &'e mut T, support: &'e mut Support<T>) -> Self {
        Self {
            target,
            steps: Steps::default(),
            pending: std::mem::take(&mut support.pending),
            places: None,
            again: None,
            broken: None,
            support,
        }
    }

    /// For a command that is redone.
    pub(super) fn again(
        target: &'e mut T,
        support: &'e mut Support<T>,
        steps: &'e mut [Step<T>],
    ) -> Self {
        Self { again: Some(Again { steps, done: 0 }), ..Self::new(target, support) }
    }

    /// How many of the steps have been redone.
    pub(super) fn done_again(&self) -> usize {
        self.again.as_ref().map_or(0, |again| again.done)
    }

    /// Runs an edit, which is rolled back if it fails or panics.
    pub(super) fn run<R>(
        target: &'e mut T,
        support: &'e mut Support<T>,
        edit: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<(R, Steps<T>), Failure> {
        let mut scope = Self::new(target, support);
        let result = guarded(|| {
            let value = edit(&mut scope)?;
            scope.close()?;
            Ok(value)
        });
        match result {
            Ok(value) => {
                // The next edit has its memory, unless this one was a large one.
                if scope.pending.capacity() <= FEW {
                    scope.support.pending = scope.pending;
                }
                Ok((value, scope.steps))
            }
            Err(mut failure) => {
                // All that it did is recorded, also if it panicked.
                if failure.panic.is_some() {
                    failure.broken = None;
                }
                Err(scope.roll_back(failure))
            }
        }
    }

    /// Rolls back all that was done.
    pub(super) fn roll_back(mut self, mut failure: Failure) -> Failure {
        self.roll_back_to(0, &mut failure);
        if let Some(broken) = &failure.broken {
            let panic = finalize_all(ends(self.steps.into_each(), broken.done), self.target);
            failure.panic = failure.panic.or(panic);
        }
        failure
    }

    fn roll_back_to(&mut self, start: usize, failure: &mut Failure) {
        failure.broken = failure.broken.take().or(self.take_broken());
        if failure.broken.is_some() {
            return;
        }
        for pending in std::mem::take(&mut self.pending) {
            let back = guarded(|| Ok(pending.put_back(self.target, self.support)?));
            if is_broken(failure, self.steps.len(), back) {
                return;
            }
        }
        let mut steps = std::mem::take(&mut self.steps).into_vec();
        let back = run_all(&mut steps[start..], self.target, self.support, Way::Undo);
        let is_broken = is_broken(failure, start, back);
        let undone = if is_broken { Vec::new() } else { steps.split_off(start) };
        self.steps = steps.into();
        if !is_broken {
            let panic = finalize_all(ends(undone, 0), self.target);
            failure.panic = failure.panic.take().or(panic);
        }
    }

    /// Continues with the failure of a part: a panic, or an error.
    fn fail(&mut self, failure: Failure) -> Error {
        self.broken = self.broken.take().or(failure.broken.map(Box::new));
        match failure.panic {
            Some(panic) => resume_unwind(panic),
            None => failure.error,
        }
    }

    /// What could not be rolled back in it.
    pub(super) fn take_broken(&mut self) -> Option<Broken> {
        self.broken.take().map(|broken| *broken)
    }

    /// Compares what was borrowed mutably with what it is now. Nothing continues after a failed rollback.
    pub(super) fn close(&mut self) -> Result<()> {
        if self.pending.is_empty() && self.broken.is_none() {
            return Ok(());
        }
        if self.broken.is_some() {
            let message = "a part of the edit failed, and could not be taken back";
            return Err(Error::new(ErrorKind::Poisoned, message));
        }
        // If one fails or panics, it is as it was; those that are left are put back with the rest.
        self.places = None;
        self.pending.reverse();
        while let Some(next) = self.pending.pop() {
            let closed = next.close(self.target, self.support, &mut self.steps);
            closed.map_err(|failure| self.fail(failure))?;
        }
        Ok(())
    }

    /// Refuses what can only be recorded the first time.
    pub(super) fn check_first(&self) -> Result<()> {
        if self.again.is_some() { Err(not_again()) } else { Ok(()) }
    }

    /// True if this was taken already.
    pub(super) fn is_pending(&mut self, place: &Place) -> bool {
        if self.pending.len() <= FEW {
            return self.pending.iter().any(|pending| pending.place == *place);
        }
        let places = self.places.get_or_insert_default();
        let new = &self.pending[places.len()..];
        places.extend(new.iter().map(|pending| pending.place.clone()));
        places.contains(place)
    }

    /// Closes what was taken before something else is done.
    pub(super) fn ready(&mut self) -> Result<()> {
        self.check_first()?;
        self.close()
    }

    /// Does a command, as a part of this edit.
    ///
    /// # Errors
    ///
    /// Its own, with the step of the edit that it would have been. What it did is rolled back, and the edit may continue.
    pub fn apply(&mut self, command: impl Command<T>) -> Result<()> {
        self.close()?;
        if let Some(again) = &mut self.again {
            if let Some(step) = again.steps.get_mut(again.done) {
                match step.run(self.target, self.support, Way::Redo) {
                    Ok(()) => again.done += 1,
                    Err(failure) => return Err(self.fail(failure)),
                }
            }
            return Ok(());
        }
        let mut performed = Performed::new(command);
        match performed.perform(self.target, self.support) {
            Ok(true) => self.steps.push(Step::Command(performed)),
            Ok(false) => {}
            Err(mut failure) => {
                let step = self.steps.len();
                if let Some(broken) = &mut failure.broken {
                    (broken.step, broken.done) = (step, step);
                }
                failure.error = in_step(failure.error, step);
                return Err(self.fail(failure));
            }
        }
        Ok(())
    }

    /// Does something outside of the target, such as a message to a server.
    ///
    /// It is skipped when a journal is replayed after a crash, and returns `None` then.
    ///
    /// What the edit does may not depend on what comes of it, unless it is recorded: see [`Command`].
    pub fn external<R>(&mut self, act: impl FnOnce() -> R) -> Option<R> {
        (!self.support.is_replayed).then(act)
    }

    /// Does a part of an edit. If it fails or panics, it alone is rolled back.
    ///
    /// # Errors
    ///
    /// Those of the part; the edit may continue.
    pub fn part<R>(&mut self, part: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.again.is_some() {
            return part(self);
        }
        self.close()?;
        let start = self.steps.len();
        let result = guarded(|| {
            let value = part(self)?;
            self.close()?;
            Ok(value)
        });
        result.map_err(|mut failure| {
            if failure.panic.is_some() {
                failure.broken = None;
            }
            self.roll_back_to(start, &mut failure);
            self.fail(failure)
        })
    }
}

/// For reading.
impl<T: 'static> Deref for Edit<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.target
    }
}

/// An error, with the step in which it happened.
pub(super) fn in_step(error: Error, step: usize) -> Error {
    let message = format!("step {step}: {}", error.message());
    error.reworded(message)
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
    pub(super) fn take_part(&mut self, path: FieldPath) -> Result<()> {
        self.ready_for(&path)?;
        let content = self.support.with_root(self.target, |root, _| root.content_at(&path));
        let content = content.map_err(|error| error.in_class(path.class()))?;
        let (place, before) = (Place::Part(path), Before::Bytes(content));
        self.pending.push(Pending { place, class: T::persist_name, before });
        Ok(())
    }

    pub(super) fn change_field(
        &mut self,
        path: impl IntoFieldPath,
        request: &Request<'_>,
    ) -> Result<Value> {
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
