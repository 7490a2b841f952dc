//! Resources that are put in and taken out.

use super::label;
use crate::history::journal::{StoredStep, Storing};
use crate::history::step::{End, Failure, Step};
use crate::history::{Label, Verb};
use crate::world::{ReplacedResources, ResourceContent, TakenResource};
use crate::{Error, ErrorKind, FieldPath, Result, World};

/// A resource in the place of another, or of none; the one that is not there is held here.
pub(in crate::history) struct ResourceChange {
    pub(in crate::history) class: String,
    pub(in crate::history) old: Option<TakenResource>,
    pub(in crate::history) new: Option<TakenResource>,
    /// Whether one was put in.
    pub(in crate::history) is_inserted: bool,
    /// What it has replaced while it is there.
    pub(super) replaced: ReplacedResources,
    /// What was put in, as it was then, until a journal knows.
    pub(super) content: Option<ResourceContent>,
}

impl ResourceChange {
    /// Puts a resource in, and looks at it for a journal.
    pub(super) fn insert(
        world: &mut World,
        class: String,
        resource: TakenResource,
        is_journaled: bool,
    ) -> Result<Self> {
        let content = is_journaled.then(|| world.resource_content(&resource)).transpose()?;
        let replaced = world.replace_resources(&class);
        let old = world.put_resource(resource);
        Ok(Self { replaced, content, ..Self::restored(class, old, None, true) })
    }

    /// `None` if there is no such resource.
    pub(super) fn remove(world: &mut World, class: String) -> Option<Self> {
        let old = world.take_resource(&class);
        old.is_some().then(|| Self::restored(class, old, None, false))
    }

    /// One that was made in another run.
    pub(super) fn restored(
        class: String,
        old: Option<TakenResource>,
        new: Option<TakenResource>,
        is_inserted: bool,
    ) -> Self {
        let replaced = ReplacedResources::default();
        Self { class, old, new, is_inserted, replaced, content: None }
    }

    /// Takes the resource out that must be there.
    fn take(&self, world: &mut World) -> Result<Option<TakenResource>> {
        let taken = world.take_resource(&self.class);
        if taken.is_some() {
            return Ok(taken);
        }
        let message = format!("there is no resource {} any more; insert one", self.class);
        Err(Error::new(ErrorKind::NotFound, message))
    }
}

impl Step<World> for ResourceChange {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        world.check_editable()?;
        self.new = match self.is_inserted {
            true => self.take(world)?,
            false => world.take_resource(&self.class),
        };
        if let Some(old) = self.old.take() {
            world.put_resource(old);
        }
        world.put_replaced_resources(std::mem::take(&mut self.replaced));
        Ok(())
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        world.check_editable()?;
        self.old = match self.is_inserted {
            true => world.take_resource(&self.class),
            false => self.take(world)?,
        };
        if let Some(new) = self.new.take() {
            self.replaced = world.replace_resources(&self.class);
            world.put_resource(new);
        }
        Ok(())
    }

    fn label(&self) -> Label {
        let verb = if self.is_inserted { Verb::Attach } else { Verb::Detach };
        label(verb, Some(&FieldPath::new(self.class.clone())), None)
    }

    fn finalize(&mut self, _: &mut World, _: End) {
        self.old = None;
        self.new = None;
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.class.len()
    }

    fn held(&self, world: &World, _: bool) -> usize {
        [&self.old, &self.new].into_iter().flatten().map(|held| world.resource_size(held)).sum()
    }

    fn store(&mut self, world: &World, storing: &Storing<'_, World>) -> Result<StoredStep> {
        Ok(StoredStep::from(self.stored(world, storing.moment)?))
    }
}
