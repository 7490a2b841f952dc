//! Components that are attached and detached.

use std::rc::Rc;

use super::label;
use crate::history::journal::{StoredStep, Storing};
use crate::history::step::{End, Failure, Step};
use crate::history::{Label, Verb};
use crate::world::{ComponentContent, Replaced, Taken};
use crate::{Error, ErrorKind, FieldPath, ObjectId, Result, World};

/// A component that was attached to an object or detached from it; while it is not there, it is held here.
pub(in crate::history) struct ComponentChange {
    pub(in crate::history) object: ObjectId,
    /// True if it was attached.
    pub(in crate::history) is_attached: bool,
    pub(in crate::history) held: Option<Taken>,
    /// What was attached, as it was then, until a journal knows.
    pub(super) content: Option<ComponentContent>,
    /// What it has replaced while it is there.
    pub(super) replaced: Replaced,
    pub(super) class: FieldPath,
    pub(super) name: Option<Rc<str>>,
}

impl ComponentChange {
    /// Attaches a component, and looks at it for a journal.
    pub(super) fn attach(
        world: &mut World,
        object: ObjectId,
        component: Taken,
        is_journaled: bool,
    ) -> Result<Self, Box<(Error, Taken)>> {
        let class = component.class();
        let content = is_journaled.then(|| world.component_content(&component)).transpose();
        let content = match content {
            Ok(content) => content,
            Err(error) => return Err(Box::new((error, component))),
        };
        let replaced = world.put_component(object, component)?;
        Ok(Self { content, replaced, ..Self::new(world, object, class, true, None) })
    }

    /// Detaches a component.
    pub(super) fn detach(world: &mut World, object: ObjectId, class: String) -> Result<Self> {
        let held = Some(world.take_component(object, &class)?);
        Ok(Self::new(world, object, class, false, held))
    }

    pub(in crate::history) fn new(
        world: &World,
        object: ObjectId,
        class: String,
        is_attached: bool,
        held: Option<Taken>,
    ) -> Self {
        let class = FieldPath::new(class);
        let name = world.shared_name(object);
        Self {
            object,
            is_attached,
            held,
            content: None,
            replaced: Replaced::default(),
            class,
            name,
        }
    }

    fn put(&mut self, world: &mut World) -> Result<(), Failure> {
        let Some(held) = self.held.take() else {
            return Err(Error::new(ErrorKind::NotFound, "the component is in its object").into());
        };
        match world.put_component(self.object, held) {
            Ok(replaced) => {
                self.replaced = replaced;
                Ok(())
            }
            Err(refused) => {
                let (error, held) = *refused;
                self.held = Some(held);
                Err(error.into())
            }
        }
    }

    fn take(&mut self, world: &mut World) -> Result<(), Failure> {
        self.held = Some(world.take_component(self.object, self.class.class())?);
        world.put_replaced(self.object, std::mem::take(&mut self.replaced));
        Ok(())
    }
}

impl Step<World> for ComponentChange {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        if self.is_attached { self.take(world) } else { self.put(world) }
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        if self.is_attached { self.put(world) } else { self.take(world) }
    }

    fn label(&self) -> Label {
        let verb = if self.is_attached { Verb::Attach } else { Verb::Detach };
        label(verb, Some(&self.class), self.name.as_ref())
    }

    fn finalize(&mut self, world: &mut World, _: End) {
        if let Some(held) = self.held.take() {
            world.discard_component(self.object, held);
        }
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn held(&self, world: &World, _: bool) -> usize {
        self.held.as_ref().map_or(0, |held| world.component_size(held))
    }

    fn objects(&self, found: &mut Vec<ObjectId>) {
        found.push(self.object);
    }

    fn store(&mut self, world: &World, storing: &Storing<'_, World>) -> Result<StoredStep> {
        Ok(StoredStep::from(self.stored(world, storing.moment)?))
    }
}
