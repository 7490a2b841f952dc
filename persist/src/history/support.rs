//! What edits are made with, besides their target.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use super::failure::{Failure, guarded, is_broken};
use super::proof::{Proof, Prover};
use crate::codec::{Decoder, Fail, Portable};
use crate::fields::{
    Bytes, FieldChange, FieldLinks, FieldPart, NumberFields, PartBuffers, Root, compared,
    content_of,
};
use crate::graph::Registry;
use crate::world::{Change, Owner, decoded};
use crate::{Error, ErrorKind, FieldPath, ObjectId, Persist, Result, Value, World};

pub(super) fn world<T: 'static>(target: &T) -> Option<&World> {
    let target: &dyn Any = target;
    target.downcast_ref()
}

pub(super) fn world_mut<T: 'static>(target: &mut T) -> Option<&mut World> {
    let target: &mut dyn Any = target;
    target.downcast_mut()
}

/// What a history lends to its edits and steps: they are run by it, and hold none of it.
pub(super) struct Support<T: 'static> {
    /// The classes of commands, and of what a target that is no world has in it.
    pub(super) registry: Registry,
    /// How commands of these types are written, and the numbers of their classes.
    pub(super) commands: HashMap<TypeId, (usize, Encode)>,
    /// How the fields of the target are reached, once they are known.
    fields: Option<TargetFields<T>>,
    /// For changes of fields.
    buffers: PartBuffers,
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
    /// The fields of a target that is no world.
    pub(super) fn root<'s>(&'s mut self, target: &'s mut T) -> Result<Root<'s>> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        let (registry, value) = (&self.registry, (fields.of_mut)(target));
        Ok(Root { registry, value, buffers: &mut self.buffers })
    }

    /// Does something with the fields of a component or a resource, or of a target that is no world.
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

    /// The value of a field of a target that is no world.
    pub(super) fn value(&self, target: &T, path: &FieldPath) -> Result<Value> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        let (mut buffers, root) = (PartBuffers::default(), (fields.of)(target));
        FieldPart::find(&mut buffers, &self.registry, root, path.steps())?.value()
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

/// What a journal has of the components and resources of a target that is a world, or of any other target itself, perhaps
/// from a program with other versions of their classes.
impl<T: 'static> Support<T> {
    fn decoded<R>(
        &self,
        target: &T,
        value: (Owner, usize),
        (bytes, numbers): (&[u8], Option<&[Option<usize>]>),
        read: impl FnOnce(&dyn Portable) -> Result<R>,
    ) -> Result<R> {
        if let Some(world) = world(target) {
            return decoded(world.registry(), value, (bytes, numbers), read);
        }
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        read(&*FieldLinks::new(&self.registry).numbered(numbers).decode(bytes, fields.read)?)
    }

    fn registry_of<'s>(&'s self, target: &'s T) -> &'s Registry {
        world(target).map_or(&self.registry, World::registry)
    }

    /// A content in the form that this program has, of one that another program numbered.
    pub(super) fn own_content(
        &self,
        target: &T,
        value: (Owner, usize),
        content: (&[u8], Option<&[Option<usize>]>),
    ) -> Result<Vec<u8>> {
        let registry = self.registry_of(target);
        self.decoded(target, value, content, |value| content_of(registry, value))
    }

    /// The fields in which two contents of a value differ.
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

/// Something that may have been changed since it was taken, as it was then.
pub(super) struct PendingChange {
    pub(super) place: ChangeTarget,
    /// The class of a component or a resource, or that of the target.
    class: fn() -> String,
    before: PriorValue,
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

enum PriorValue {
    /// A part, by its path.
    Bytes(FieldPath, Bytes),
    /// A component that has nothing but numbers, which are compared where they lie.
    Numbers(Arc<NumberFields>, Vec<u64>),
}

impl PendingChange {
    /// Notes what something is that may be changed now.
    pub(super) fn new<T: 'static>(
        target: &mut T,
        support: &mut Support<T>,
        place: ChangeTarget,
        class: fn() -> String,
    ) -> Result<Self> {
        let numbers = match (&place, world_mut(target)) {
            (ChangeTarget::Component(column, object), Some(world)) => {
                world.snapshot_numbers(*column, *object)
            }
            _ => None,
        };
        let before = match numbers {
            Some((fields, bits)) => PriorValue::Numbers(fields, bits),
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
        match &self.before {
            PriorValue::Numbers(fields, bits) => {
                let changes = self.component(target).and_then(|root| fields.changes(root, bits));
                changes.ok_or_else(|| self.is_gone())
            }
            PriorValue::Bytes(path, content) => {
                let part = (self.place.owner(), path.class());
                support.with_root(target, part, |root| {
                    let changes = root.changes_at(path, content)?;
                    if !changes.is_empty() {
                        root.check_valid()?;
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
        match &self.before {
            PriorValue::Numbers(fields, bits) => {
                let put = self.component(target).and_then(|root| fields.put(root, bits));
                put.ok_or_else(|| self.is_gone())
            }
            PriorValue::Bytes(path, content) => {
                let part = (self.place.owner(), path.class());
                support.with_root(target, part, |root| root.put_at(path, content))
            }
        }
    }

    fn component<'t, T: 'static>(&self, target: &'t mut T) -> Option<&'t mut dyn Any> {
        match self.place {
            ChangeTarget::Component(column, object) => {
                world_mut(target)?.any_component(column, object)
            }
            _ => None,
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
