//! The resources that a history lends to its edits and steps: classes, field access, buffers and settings.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use super::change::Change;
use super::world::World;
use super::{
    ChangeTarget, Failure, PendingChange, Proof, Prover, Support, TargetFields, guarded, is_broken,
    world, world_mut,
};
use crate::codec::Portable;
use crate::fields::{
    Bytes, EditedWorld, FieldChange, FieldLinks, FieldPart, NumberedBytes, Owner, PartBuffers,
    Root, compared, content_of,
};
use crate::graph::Registry;
use crate::{Error, ErrorKind, FieldPath, ObjectId, Peek, Persist, Result, Value};

impl<T: 'static> Support<T> {
    pub(super) fn new(proof: Proof) -> Self {
        Self {
            registry: Registry::new(),
            commands: HashMap::new(),
            fields: None,
            buffers: PartBuffers::default(),
            is_journaled: false,
            registered: 0,
            is_replayed: false,
            last_id: 0,
            prover: Prover { proof, print: None, printed: Cell::new(0) },
            pending: Vec::new(),
        }
    }
}

impl<T: Persist> Support<T> {
    /// Registers the class of the target and gives access to its fields, so that edits can be recorded.
    pub(super) fn know_fields(&mut self) -> Result<()> {
        if self.fields.is_some() || T::__LAYOUT.class_holder.is_some() {
            return Ok(());
        }
        self.registry.register_value::<T>()?;
        self.prover.allow_print();
        self.fields = Some(TargetFields {
            of: |target| target,
            of_mut: |target| target,
            read: |input| Ok(Box::new(input.value::<T>()?)),
        });
        Ok(())
    }
}

impl<T: 'static> Support<T> {
    /// The fields of a target that is not a world.
    pub(super) fn root<'s>(&'s mut self, target: &'s mut T) -> Result<Root<'s>> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        let (registry, value) = (&self.registry, (fields.of_mut)(target));
        Ok(Root { registry, value, buffers: &mut self.buffers })
    }

    /// Calls a closure with the fields of a component or a resource, or of a target that is not a world.
    pub(super) fn with_root<R>(
        &mut self,
        target: &mut T,
        (owner, class): (Owner, &str),
        run: impl FnOnce(&mut Root<'_>) -> Result<R>,
    ) -> Result<R> {
        if let Some(world) = world_mut(target) {
            return world.with_root(owner, class, run);
        }
        let done = self.root(target).and_then(|mut root| run(&mut root));
        done.map_err(|error| error.in_class(class))
    }

    /// Runs the `after_load` functions of a value that has changed, after its `validate` functions if it is `checked`.
    pub(super) fn refresh(
        &mut self,
        target: &mut T,
        value: (Owner, &str),
        checked: bool,
    ) -> Result<()> {
        match world_mut(target) {
            Some(world) => world.refresh(value, checked),
            None => self.with_root(target, value, |root| root.refresh(checked)),
        }
    }

    /// The value of a field of a target that is not a world.
    pub(super) fn value(&self, target: &T, path: &FieldPath) -> Result<Value> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        let (mut buffers, root) = (PartBuffers::default(), (fields.of)(target));
        FieldPart::find(&mut buffers, &self.registry, root, path.steps())?.value()
    }

    /// The value of a field of a target that is not a world, without elements of large containers.
    pub(super) fn peek(&self, target: &T, path: &FieldPath, range: Range<usize>) -> Result<Peek> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        Peek::new(&self.registry, (fields.of)(target), path, range)
    }

    /// The changes of a target that is not a world since it had this content.
    pub(super) fn changes_since(
        &self,
        target: &T,
        class: &str,
        (old, new): (&[u8], &[u8]),
    ) -> Result<Vec<FieldChange>> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        compared(&self.registry, class, (fields.of)(target), (old, new))
    }

    /// The encoded bytes of a target that is not a world.
    pub(super) fn content(&self, target: &T) -> Result<Vec<u8>> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        content_of(&self.registry, (fields.of)(target))
    }
}

/// Values that a journal has recorded, as encoded bytes.
///
/// They are components and resources of a world, or a whole target of another type. Another program may have written
/// them, with other versions of their classes.
impl<T: 'static> Support<T> {
    fn decoded<R>(
        &self,
        target: &T,
        value: (Owner, usize),
        (bytes, numbers): NumberedBytes<'_>,
        read: impl FnOnce(&dyn Portable) -> Result<R>,
    ) -> Result<R> {
        if let Some(world) = world(target) {
            return world.decoded(value, (bytes, numbers), read);
        }
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        read(&*FieldLinks::new(&self.registry).numbered(numbers).decode(bytes, fields.read)?)
    }

    fn registry_of<'s>(&'s self, target: &'s T) -> &'s Registry {
        world(target).map_or(&self.registry, |world| world.class_registry())
    }

    /// Encodes a value again in this program's form, from bytes in which another program numbered the classes.
    pub(super) fn own_content(
        &self,
        target: &T,
        value: (Owner, usize),
        content: NumberedBytes<'_>,
    ) -> Result<Vec<u8>> {
        let registry = self.registry_of(target);
        self.decoded(target, value, content, |value| content_of(registry, value))
    }

    /// The fields in which two encoded values differ.
    pub(super) fn changes_between(
        &self,
        target: &T,
        (owner, class): (Owner, &str),
        (old, new): (&[u8], &[u8]),
    ) -> Result<Vec<FieldChange>> {
        let registry = self.registry_of(target);
        let Some(number) = registry.named(class).filter(|_| old != new) else {
            return Ok(Vec::new());
        };
        self.decoded(target, (owner, number), (new, None), |value| {
            compared(registry, class, value, (old, new))
        })
    }
}

impl ChangeTarget {
    fn owner(&self) -> Owner {
        match self {
            Self::Component(_, object) => Owner::Object(*object),
            Self::Resource(_) | Self::Part(_) => Owner::Resource,
        }
    }
}

pub(super) enum PriorValue {
    /// The encoded bytes of a part, by its path.
    Bytes(FieldPath, Bytes),
    /// The numbers of a component that has only numbers. They are compared without encoding it.
    Numbers((usize, ObjectId), <World as EditedWorld>::Numbers),
}

impl PendingChange {
    /// Keeps the current content of a value that is about to be changed.
    pub(super) fn new<T: 'static>(
        target: &mut T,
        support: &mut Support<T>,
        place: ChangeTarget,
        class: fn() -> String,
    ) -> Result<Self> {
        let numbers = match (&place, world_mut(target)) {
            (ChangeTarget::Component(column, object), Some(world)) => {
                world.numbers(*column, *object).map(|numbers| ((*column, *object), numbers))
            }
            _ => None,
        };
        let previous = match numbers {
            Some((at, numbers)) => PriorValue::Numbers(at, numbers),
            None => {
                let path = match &place {
                    ChangeTarget::Part(path) => path.clone(),
                    _ => FieldPath::new(class()),
                };
                world(target).map_or(Ok(()), |world| world.check_recordable(path.class()))?;
                let part = (place.owner(), path.class());
                let content = support.with_root(target, part, |root| root.content_at(&path))?;
                PriorValue::Bytes(path, content)
            }
        };
        Ok(Self { place, class, previous })
    }

    /// Passes on the changes since. If it fails, the old value is put back, unless the failure says that it is broken.
    ///
    /// `at` is the index of the step that it would have been.
    pub(super) fn close<T: 'static>(
        self,
        target: &mut T,
        support: &mut Support<T>,
        at: usize,
        mut show: impl FnMut(Change),
    ) -> Result<(), Failure> {
        let found = guarded(|| Ok(self.changes(target, support)?)).map_err(|mut failure| {
            failure.broken = None;
            let back = guarded(|| Ok(self.put_back(target, support)?));
            is_broken(&mut failure, at, back);
            failure
        })?;
        match world_mut(target) {
            Some(world) => {
                let owner = self.place.owner();
                found.into_iter().for_each(|change| show(Change::found(world, owner, change)));
            }
            None => found.into_iter().for_each(|change| show(Change::of_target(change))),
        }
        Ok(())
    }

    fn changes<T: 'static>(
        &self,
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<Vec<FieldChange>> {
        match &self.previous {
            PriorValue::Numbers(at, numbers) => {
                let changes = world_mut(target).and_then(|it| it.number_changes(*at, numbers));
                changes.ok_or_else(|| self.missing())
            }
            PriorValue::Bytes(path, content) => {
                let part = (self.place.owner(), path.class());
                support.with_root(target, part, |root| {
                    let changes = root.changes_at(path, content)?;
                    if !changes.is_empty() {
                        root.refresh(true)?;
                    }
                    Ok(changes)
                })
            }
        }
    }

    pub(super) fn put_back<T: 'static>(
        &self,
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<()> {
        match &self.previous {
            PriorValue::Numbers(at, numbers) => {
                let put = world_mut(target).and_then(|it| it.put_numbers(*at, numbers));
                put.ok_or_else(|| self.missing())
            }
            PriorValue::Bytes(path, content) => {
                let part = (self.place.owner(), path.class());
                support.with_root(target, part, |root| root.put_at(path, content))
            }
        }
    }

    #[cold]
    fn missing(&self) -> Error {
        error!(ErrorKind::NotFound, "the component is not there").in_class((self.class)())
    }
}

#[cold]
fn no_fields() -> Error {
    let message = "the type of the target has no field records; derive `Persist` for it";
    Error::new(ErrorKind::Unsupported, message)
}
