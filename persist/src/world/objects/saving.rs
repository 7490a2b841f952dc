//! Worlds and prefabs as the content of saves.

use std::any::Any;

use crate::codec::class_holder::ClassHolder;
use crate::codec::{Persist, Pointee};
use crate::env::SharedContext;
use crate::fields::Sendable;
use crate::format::{EncodedSave, write_again};
use crate::graph::Registry;
use crate::save::objects::content::{ReadContent, Sink, WriteContent, decode};
use crate::save::objects::free_loaded;
use crate::save::{LoadReport, Loaded, Prepared, Saves};
use crate::types::Remap;
use crate::world::{Component, Prefab, World};
use crate::{ErrorKind, Result};

/// These methods register the classes of worlds.
impl Saves {
    /// Registers class `T` as a component, to be loaded with a world.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register_as`].
    pub fn register_component<T: Component>(&self) -> Result<()> {
        self.change_classes(World::register_component_in::<T>)
    }

    /// Registers class `T` as a resource, to be loaded with a world.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register_resource`].
    pub fn register_resource<T: Persist + Pointee + Sendable>(&self) -> Result<()> {
        self.change_classes(|registry| registry.register_resource::<T>())
    }
}

impl ClassHolder for World {
    fn is_registered_in(&self, registry: &dyn Any) -> bool {
        registry.downcast_ref().is_some_and(|registry| self.has_classes_in(registry))
    }

    fn register_in(&self, registry: &mut dyn Any) -> Result<()> {
        match registry.downcast_mut() {
            Some(registry) => self.register_classes(registry),
            None => bail!(ErrorKind::Unsupported, "a world was registered in no registry"),
        }
    }

    fn context(&self) -> Option<SharedContext> {
        self.registry().context.clone()
    }

    fn connect(&mut self, registry: &dyn Any, context: Option<SharedContext>) {
        if let Some(registry) = registry.downcast_ref::<Registry>() {
            self.know(registry, context);
        }
    }
}

impl WriteContent for &Prefab {
    fn prepare(&mut self, saves: &Saves) -> Result<Prepared> {
        saves.change_classes(|registry| self.register_in(registry))?;
        let prepared = saves.register_type::<World>()?;
        if prepared.registry.validates_saves(prepared.class) {
            // A prefab holds encoded bytes and no values. It is loaded, which runs the `validate` functions.
            Prefab::read(&saves.unwatched(), self.as_bytes(), None)?;
        }
        Ok(prepared)
    }

    fn write(&mut self, _: &Prepared, to: &mut Sink<'_, '_>) -> Result<()> {
        let save = EncodedSave::whole(self.as_bytes());
        let bytes = write_again(save, to.header, 0, to.out, &mut |_| Ok(()))?;
        to.buffer.clear();
        to.buffer.insert(0, &bytes);
        Ok(())
    }
}

impl ReadContent for Prefab {
    fn read(saves: &Saves, save: &[u8], remap: Option<&mut Remap<'_>>) -> Result<Loaded<Self>> {
        let prepared = saves.register_type::<World>()?;
        let (world, objects, outcome) = decode::<World>(saves, &prepared, save, remap, true)?;
        let prefab = Self::from_save(*world, save, saves.bounds(), saves.loading());
        // The world was dropped. Long chains of objects that its pointers led to are freed without recursion.
        free_loaded(objects);
        Ok(Loaded::of_whole(Box::new(prefab?), LoadReport::new(outcome)))
    }
}
