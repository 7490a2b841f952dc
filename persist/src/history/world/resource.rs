//! Resources that are put in and taken out.

use super::label;
use crate::history::step::{End, Failure, Step};
use crate::history::{Label, Verb};
use crate::world::{ResourceContent, TakenResource};
use crate::{FieldPath, Result, World};

/// A resource in the place of another, or of none; the one that is not there is held here.
pub(in crate::history) struct ResourceChange {
    pub(in crate::history) class: String,
    pub(in crate::history) old: Option<TakenResource>,
    pub(in crate::history) new: Option<TakenResource>,
    /// Whether one was put in.
    pub(in crate::history) is_inserted: bool,
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
        let old = world.put_resource(resource);
        Ok(Self { class, old, new: None, is_inserted: true, content })
    }

    /// `None` if there is no such resource.
    pub(super) fn remove(world: &mut World, class: String) -> Option<Self> {
        let old = world.take_resource(&class);
        old.is_some().then_some(Self { class, old, new: None, is_inserted: false, content: None })
    }
}

impl Step<World> for ResourceChange {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        world.check_editable()?;
        self.new = world.take_resource(&self.class);
        if let Some(old) = self.old.take() {
            world.put_resource(old);
        }
        Ok(())
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        world.check_editable()?;
        self.old = world.take_resource(&self.class);
        if let Some(new) = self.new.take() {
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
}
