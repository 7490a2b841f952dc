//! What edits are made with, besides their target.

use std::any::TypeId;

use super::command::AnyCommand;
use super::edit::Pending;
use super::journal::{Before, CommandClasses};
use super::proof::{Proof, Prover};
use super::step::world;
use crate::codec::{Decoder, Fail, Portable, left_over};
use crate::fields::{FieldLinks, Paths, Room, Root, content_of};
use crate::graph::Registry;
use crate::world::{Owner, Recorded};
use crate::{Error, ErrorKind, Persist, Result, World};

/// What a history lends to its edits and steps: they are run by it, and hold none of it.
pub(super) struct Support<T: 'static> {
    pub(super) classes: CommandClasses<T>,
    /// How the fields of the target are reached, once they are known.
    fields: Option<Fields<T>>,
    pub(super) paths: Paths,
    /// For changes of fields.
    room: Room,
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
    pub(super) pending: Vec<Pending>,
}

/// How the fields of a target are reached.
struct Fields<T> {
    of: fn(&T) -> &dyn Portable,
    of_mut: fn(&mut T) -> &mut dyn Portable,
    read: fn(&mut Decoder<'_>) -> Result<Box<dyn Portable>, Fail>,
}

impl<T: 'static> Support<T> {
    pub(super) fn new(proof: Proof) -> Self {
        Self {
            classes: CommandClasses::default(),
            fields: None,
            paths: Paths::default(),
            room: Room::default(),
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
        self.classes.registry.register_value::<T>()?;
        self.fields = Some(Fields {
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
        let (registry, value) = (&self.classes.registry, (fields.of_mut)(target));
        run(&mut Root { registry, value, room: &mut self.room }, &self.paths)
    }

    /// The bytes of a whole target that is no world.
    pub(super) fn content(&self, target: &T) -> Result<Vec<u8>> {
        let fields = self.fields.as_ref().ok_or_else(no_fields)?;
        content_of(&self.classes.registry, (fields.of)(target))
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
        Err(Error::new(
            ErrorKind::WrongClass,
            "the class is not registered with the saves, and the journal could not be replayed without it; register it before the session is opened",
        )
        .in_class(class))
    }

    /// What is before a command is done, if there is a journal that wants to know.
    pub(super) fn before(
        &self,
        command: &dyn AnyCommand<T>,
        target: &T,
    ) -> Result<Option<Box<Before>>> {
        if !self.is_journaled {
            return Ok(None);
        }
        let (_, command) = self.classes.encode(command)?;
        let last_id = world(target).map(World::last_id);
        Ok(Some(Box::new(Before { command, last_id })))
    }
}

/// Of a target that is no world.
impl<T: 'static> Recorded for Support<T> {
    fn registry(&self) -> &Registry {
        &self.classes.registry
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
        let registry = &self.classes.registry;
        let (mut links, env) = (FieldLinks::new(registry).numbered(numbers), registry.env());
        let mut input = Decoder::new(bytes, &env, &mut links);
        match (fields.read)(&mut input) {
            Ok(value) if input.rest().is_empty() => show(&*value),
            Ok(_) => Err(left_over(input.rest().len())),
            Err(fail) => Err(input.take_error().unwrap_or_else(|| fail.into())),
        }
    }
}

#[cold]
fn no_fields() -> Error {
    let message = "the type of the target has no field records; derive `Persist` for it";
    Error::new(ErrorKind::Unsupported, message)
}
