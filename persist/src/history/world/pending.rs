//! Components and resources that were handed out to be changed.

use std::panic::resume_unwind;

use crate::fields::Bytes;
use crate::history::edit::{Pending, Place};
use crate::history::step::{BoxedStep, guarded};
use crate::world::{Change, Owner};
use crate::{Result, World};

/// A component or resource as it was when it was handed out.
pub(super) struct Handed {
    place: Place,
    owner: Owner,
    class: String,
    content: Bytes,
}

impl Handed {
    pub(super) fn new(
        world: &mut World,
        place: Place,
        owner: Owner,
        class: String,
    ) -> Result<Self> {
        world.check_recordable(&class)?;
        let content = world.snapshot(owner, &class)?;
        Ok(Self { place, owner, class, content })
    }
}

impl Pending<World> for Handed {
    fn place(&self) -> Place {
        self.place
    }

    fn close(self: Box<Self>, world: &mut World, steps: &mut Vec<BoxedStep<World>>) -> Result<()> {
        let mut compare = || -> Result<_> {
            let changes = world.changes_since(self.owner, &self.class, &self.content)?;
            if !changes.is_empty() {
                world.validate(self.owner, &self.class)?;
            }
            Ok(changes)
        };
        match guarded(|| Ok(compare()?)) {
            Ok(changes) => {
                if steps.is_empty() {
                    steps.reserve_exact(changes.len());
                }
                for change in changes {
                    steps.push(Box::new(Change::found(world, self.owner, change)));
                }
                Ok(())
            }
            Err(failure) => {
                self.put_back(world)?;
                match failure.panic {
                    Some(panic) => resume_unwind(panic),
                    None => Err(failure.error),
                }
            }
        }
    }

    fn put_back(self: Box<Self>, world: &mut World) -> Result<()> {
        world.put_content(self.owner, &self.class, &self.content)
    }
}
