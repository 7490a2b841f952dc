//! What edits are made with, besides their target.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use super::failure::{Failure, guarded, is_broken};
use super::proof::{Proof, Prover};
use super::target::world_mut;
use crate::codec::{Decoder, Fail, Portable, left_over};
use crate::fields::{
    Bytes, FieldChange, FieldLinks, NumberFields, PartBuffers, Paths, Root, content_of,
};
use crate::graph::Registry;
use crate::world::{Change, Owner, Recorded};
use crate::{Error, ErrorKind, FieldPath, ObjectId, Persist, Result, World};

/// What a history lends to its edits and steps: they are run by it, and hold none of it.
pub(super) struct Support<T: 'static> {
    /// The classes of commands, and of what a target that is no world has in it.
    pub(super) registry: Registry,
    /// How commands of these types are written, and the numbers of their classes.
    pub(super) commands: HashMap<TypeId, (usize, Encode)>,
    /// How the fields of the target are reached, once they are known.
    fields: Option<TargetFields<T>>,
    pub(super) paths: Paths,
    /// For changes of fields.
    buffers: PartBuffers,
    /// Whether there is a journal.
    pub(super) is_journaled: bool,
    /// How many classes of a world the saves have, which the next session knows.
    pub(super) registered: usize,
    /// True while a journal is replayed.
    pub(super) is_replayed: bool,
    /// The last id that a world had given when the edit began.
    pub(super) last_id: u64,
    pub(super) prover: Prover<T>,
    /// Memory for what edits take to be changed.
    pub(super) pending: Vec<PendingChange>,
}

/// How a command is written; `None` if it is of another type.
pub(super) type Encode = fn(&dyn Any, &Registry) -> Option<Result<Vec<u8>>>;

/// How the fields of a target are reached.
struct TargetFields<T> {
    of: fn(&T) -> &dyn Portable,
    of_mut: fn(&mut T) -> &mut dyn Portable,
    read: fn(&mut Decoder<'_>) -> Result<Box<dyn Portable>, Fail>,
}

impl<T: 'static> Support<T> {
    pub(super) fn new(proof: Proof) -> Self {
        Self {
            registry: Registry::new(),
            commands: HashMap::new(),
            fields: None,
            paths: Paths::default(),
            buffers: PartBuffers::default(),
            is_journaled: false,
            registered: 0,
            is_replayed: false,
            last_id: 0,
            prover: Prover { proof, print: None },
            pending: Vec::new(),
        }
    }
}

impl<T: Persist> Support<T> {
    /// Makes the fields of the target known, by which edits are recorded.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register`](crate::graph::Registry::register).
    pub(super) fn know_fields(&mut self) -> Result<()> {
        if self.fields.is_some() || TypeId::of::<T>() == TypeId::of::<World>() {
            return Ok(());
        }
        self.registry.register_value::<T>()?;
        self.fields = Some(TargetFields {
            of: |target| target,
            of_mut: |target| target,
            read: |input| Ok(Box::new(input.value::<T>()?)),
        });
        Ok(())
    }
}

impl<T: 'static> Support<T> {
    /// Does something with the fields of a target.
    pub(super) fn with_root<R>(
        &mut self,
        target: &mut T,
        run: impl FnOnce(&mut Root<'_>, &Paths) -> Result<R>,
    ) -> Result<R> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        let (registry, value) = (&self.registry, (fields.of_mut)(target));
        run(&mut Root { registry, value, buffers: &mut self.buffers }, &self.paths)
    }

    /// The bytes of a whole target that is no world.
    pub(super) fn content(&self, target: &T) -> Result<Vec<u8>> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        content_of(&self.registry, (fields.of)(target))
    }

    /// Refuses a class of a world that a journal, if there is one, cannot hold.
    pub(super) fn check_journaled(&self, world: &World, class: &str) -> Result<()> {
        if !self.is_journaled {
            return Ok(());
        }
        world.check_recordable(class)?;
        let number = world.registry().named(class);
        if number.is_some_and(|number| number < self.registered) {
            return Ok(());
        }
        Err(error!(
            ErrorKind::WrongClass,
            "the class is not registered with the saves, and the journal could not be replayed without it; register it before the session is opened"
        )
        .in_class(class))
    }
}

/// Of a target that is no world.
impl<T: 'static> Recorded for Support<T> {
    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn decoded(
        &self,
        _: Owner,
        _: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
        show: &mut dyn FnMut(&dyn Portable) -> Result<()>,
    ) -> Result<()> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        let registry = &self.registry;
        let (mut links, env) = (FieldLinks::new(registry).numbered(numbers), registry.env());
        let mut input = Decoder::new(bytes, &env, &mut links);
        match (fields.read)(&mut input) {
            Ok(value) if input.rest().is_empty() => show(&*value),
            Ok(_) => Err(left_over(input.rest().len())),
            Err(fail) => Err(input.take_error().unwrap_or_else(|| fail.into())),
        }
    }
}

/// Something that may have been changed since it was taken, as it was then.
pub(super) struct PendingChange {
    pub(super) place: ChangeTarget,
    /// The class of a component or a resource, or that of the target.
    pub(super) class: fn() -> String,
    pub(super) before: PriorValue,
}

/// Where something is that was taken to be changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ChangeTarget {
    /// A column of a world, and an object.
    Component(usize, ObjectId),
    Resource(TypeId),
    /// A part of a target that is no world.
    Part(FieldPath),
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
    Bytes(Bytes),
    /// A component that has nothing but numbers, which are compared where they lie.
    Numbers(Arc<NumberFields>, Vec<u64>),
}

impl PendingChange {
    /// A component or a resource of a world.
    pub(super) fn in_world(
        world: &mut World,
        place: ChangeTarget,
        class: fn() -> String,
    ) -> Result<Self> {
        let numbers = match place {
            ChangeTarget::Component(column, object) => world.snapshot_numbers(column, object),
            _ => None,
        };
        let before = match numbers {
            Some((fields, bits)) => PriorValue::Numbers(fields, bits),
            None => {
                world.check_recordable(&class())?;
                PriorValue::Bytes(world.snapshot(place.owner(), &class())?)
            }
        };
        Ok(Self { place, class, before })
    }

    /// Shows what has changed since. If it fails, it is put back as it was, unless the failure says that it is broken; it
    /// would be step `at`.
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
        match (&self.before, &self.place, world_mut(target)) {
            (
                PriorValue::Numbers(fields, bits),
                ChangeTarget::Component(column, object),
                Some(world),
            ) => {
                let component = world.any_component(*column, *object);
                component.and_then(|root| fields.changes(root, bits)).ok_or_else(|| self.is_gone())
            }
            (PriorValue::Bytes(content), ChangeTarget::Part(path), None) => {
                let changes = support.with_root(target, |root, paths| {
                    let changes = root.changes_at(paths, path, content)?;
                    if !changes.is_empty() {
                        root.check_valid()?;
                    }
                    Ok(changes)
                });
                changes.map_err(|error| error.in_class(path.class()))
            }
            (PriorValue::Bytes(content), place, Some(world)) => {
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

    pub(super) fn put_back<T: 'static>(
        &self,
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<()> {
        match (&self.before, &self.place, world_mut(target)) {
            (
                PriorValue::Numbers(fields, bits),
                ChangeTarget::Component(column, object),
                Some(world),
            ) => {
                let component = world.any_component(*column, *object);
                component.and_then(|root| fields.put(root, bits)).ok_or_else(|| self.is_gone())
            }
            (PriorValue::Bytes(content), ChangeTarget::Part(path), None) => {
                let put = support.with_root(target, |root, _| root.put_at(path, content));
                put.map_err(|error| error.in_class(path.class()))
            }
            (PriorValue::Bytes(content), place, Some(world)) => {
                world.put_content(place.owner(), &(self.class)(), content)
            }
            _ => Err(self.is_gone()),
        }
    }

    #[cold]
    fn is_gone(&self) -> Error {
        error!(ErrorKind::NotFound, "the component is not there").in_class((self.class)())
    }
}

#[cold]
fn no_fields() -> Error {
    let message = "the type of the target has no field records; derive `Persist` for it";
    Error::new(ErrorKind::Unsupported, message)
}
