//! What was recorded of components and resources, perhaps by a program with other versions of their classes.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use super::any_component::AnyComponent;
use super::fields::Owner;
use super::resources::AnyResource;
use crate::codec::{Portable, TraitObject as _};
use crate::fields::{FieldChange, compared, content_of};
use crate::{ObjectId, Result};

impl World {
    /// The bytes of a component or a resource of this class in the form that this world has, of bytes that another program numbered.
    pub(crate) fn own_content(
        &self,
        owner: Owner,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
    ) -> Result<Vec<u8>> {
        self.decoded(owner, number, bytes, numbers, &|value| content_of(&self.registry, value))
    }

    /// The fields in which two contents of a component or a resource differ.
    pub(crate) fn changes_between(
        &self,
        owner: Owner,
        class: &str,
        old: &[u8],
        new: &[u8],
    ) -> Result<Vec<FieldChange>> {
        let Some(number) = self.registry.named(class).filter(|_| old != new) else {
            return Ok(Vec::new());
        };
        self.decoded(owner, number, new, None, &|value| {
            compared(&self.registry, &self.paths, class, value, (old, new))
        })
    }

    /// Shows the component or the resource that has a content.
    fn decoded<R>(
        &self,
        owner: Owner,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
        show: &dyn Fn(&dyn Portable) -> Result<R>,
    ) -> Result<R> {
        match owner {
            Owner::Object(_) => {
                let value = self.decode_numbered::<dyn AnyComponent>(number, bytes, numbers)?;
                show((*value).portable())
            }
            Owner::Resource => {
                let value = self.decode_numbered::<dyn AnyResource>(number, bytes, numbers)?;
                show((*value).portable())
            }
        }
    }

    /// The contents of components of parked objects.
    pub(crate) fn parked_contents(
        &self,
        wanted: BTreeSet<(ObjectId, String)>,
    ) -> Result<Vec<(ObjectId, String, Vec<u8>)>> {
        // Of many that are parked together, each is not looked for among all.
        let mut by_top = BTreeMap::<ObjectId, BTreeSet<(ObjectId, String)>>::new();
        for key in wanted {
            if let Some(top) = self.parked_below.get(&key.0) {
                by_top.entry(*top).or_default().insert(key);
            }
        }
        let mut found = Vec::new();
        for (top, wanted) in by_top {
            for object in self.parked.get(&top).into_iter().flat_map(|parked| &parked.objects) {
                for (column, component) in &object.components {
                    let key = (object.id, (self.columns[*column].of.name)());
                    if wanted.contains(&key) {
                        let content = content_of(&self.registry, (**component).portable())?;
                        found.push((key.0, key.1, content));
                    }
                }
            }
        }
        Ok(found)
    }
}
