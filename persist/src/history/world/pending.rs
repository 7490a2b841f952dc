//! Components and resources that were handed out to be changed.

use std::sync::Arc;

use crate::fields::{Bytes, FieldChange, NumberFields};
use crate::history::edit::Place;
use crate::world::{Change, Owner};
use crate::{Error, ErrorKind, Result, World};

/// A component or resource as it was when it was handed out.
pub(in crate::history) struct Handed {
    place: Place,
    owner: Owner,
    class: fn() -> String,
    before: Before,
}

/// What it was.
enum Before {
    Bytes(Bytes),
    /// It has nothing but numbers, which are compared where they lie.
    Numbers(Arc<NumberFields>, Vec<u64>),
}

impl Handed {
    pub(super) fn new(
        world: &mut World,
        place: Place,
        owner: Owner,
        class: fn() -> String,
    ) -> Result<Self> {
        let numbers = match place {
            Place::Component(column, object) => world.snapshot_numbers(column, object),
            Place::Resource(_) => None,
        };
        let before = match numbers {
            Some((fields, bits)) => Before::Numbers(fields, bits),
            None => {
                let class = class();
                world.check_recordable(&class)?;
                Before::Bytes(world.snapshot(owner, &class)?)
            }
        };
        Ok(Self { place, owner, class, before })
    }

    /// What has changed since.
    pub(in crate::history) fn changes(&self, world: &mut World) -> Result<Vec<FieldChange>> {
        match (&self.before, self.place) {
            (Before::Numbers(fields, bits), Place::Component(column, object)) => {
                let component = world.any_component(column, object);
                component.and_then(|root| fields.changes(root, bits)).ok_or_else(|| self.is_gone())
            }
            (Before::Numbers(..), Place::Resource(_)) => Err(self.is_gone()),
            (Before::Bytes(content), _) => {
                let class = (self.class)();
                let changes = world.changes_since(self.owner, &class, content)?;
                if !changes.is_empty() {
                    world.validate(self.owner, &class)?;
                }
                Ok(changes)
            }
        }
    }

    #[cold]
    fn is_gone(&self) -> Error {
        Error::new(ErrorKind::NotFound, "the component is not there").in_class((self.class)())
    }
}

impl Handed {
    pub(in crate::history) fn place(&self) -> Place {
        self.place
    }

    /// The changes of the world that these are.
    pub(in crate::history) fn steps(
        &self,
        world: &World,
        changes: Vec<FieldChange>,
    ) -> impl Iterator<Item = Change> {
        Change::all_found(world, self.owner, changes)
    }

    /// Puts it back as it was.
    pub(in crate::history) fn put_back(&self, world: &mut World) -> Result<()> {
        match (&self.before, self.place) {
            (Before::Numbers(fields, bits), Place::Component(column, object)) => {
                let component = world.any_component(column, object);
                component.and_then(|root| fields.put(root, bits)).ok_or_else(|| self.is_gone())
            }
            (Before::Numbers(..), Place::Resource(_)) => Err(self.is_gone()),
            (Before::Bytes(content), _) => world.put_content(self.owner, &(self.class)(), content),
        }
    }
}
