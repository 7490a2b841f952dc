//! What was recorded of components and resources, perhaps by a program with other versions of their classes.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use super::any_component::AnyComponent;
use super::fields::Owner;
use super::resources::AnyResource;
use crate::codec::{AsTrait, BoxOf, Decoder, Portable, TraitObject, count, left_over};
use crate::fields::{FieldChange, FieldLinks, Paths, compared, content_of};
use crate::graph::Registry;
use crate::{Error, ErrorKind, ObjectId, Persist as _, Result};

/// The contents of the values of a target: the components and resources of a world, or any other target itself.
pub(crate) trait Recorded {
    fn registry(&self) -> &Registry;

    fn paths(&self) -> &Paths;

    /// Shows the value of a class that has a content, whose classes have these numbers here.
    fn decoded(
        &self,
        owner: Owner,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
        show: &mut dyn FnMut(&dyn Portable) -> Result<()>,
    ) -> Result<()>;

    /// A content in the form that this program has, of one that another program numbered.
    fn own_content(
        &self,
        owner: Owner,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
    ) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        self.decoded(owner, number, bytes, numbers, &mut |value| {
            content = content_of(self.registry(), value)?;
            Ok(())
        })?;
        Ok(content)
    }

    /// The fields in which two contents of a value differ.
    fn changes_between(
        &self,
        owner: Owner,
        class: &str,
        old: &[u8],
        new: &[u8],
    ) -> Result<Vec<FieldChange>> {
        let mut changes = Vec::new();
        if let Some(number) = self.registry().named(class).filter(|_| old != new) {
            self.decoded(owner, number, new, None, &mut |value| {
                changes = compared(self.registry(), self.paths(), class, value, (old, new))?;
                Ok(())
            })?;
        }
        Ok(changes)
    }
}

impl Recorded for World {
    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn decoded(
        &self,
        owner: Owner,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
        show: &mut dyn FnMut(&dyn Portable) -> Result<()>,
    ) -> Result<()> {
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
}

impl World {
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

    /// Refuses a class whose content is not all in it, since it holds shared pointers.
    pub(crate) fn check_recordable(&self, class: &str) -> Result<()> {
        let Some(index) = self.registry.named(class) else { return Ok(()) };
        let Some((_, holder)) = self.registry.shared_field(index) else { return Ok(()) };
        let message = if holder == Self::persist_name() {
            "the class holds a world, and what is in that is not recorded; give that world a history of its own, or change it by a command of your own"
        } else {
            "the class holds shared pointers, and what is behind them is not recorded; keep an `ObjectId` in their place, or change it by a command of your own"
        };
        Err(Error::new(ErrorKind::Unsupported, message).in_class(class))
    }

    /// Its own, and as many as what it leads to takes in a save.
    pub(super) fn size_of(&self, value: &dyn Portable) -> usize {
        let content = content_of(&self.registry, value);
        size_of_val(value).max(content.map_or(0, |content| content.len()))
    }

    /// Reads a value of a class as a trait object.
    pub(super) fn decode_boxed<D: ?Sized + TraitObject>(
        &self,
        class: &str,
        bytes: &[u8],
    ) -> Result<Box<D>>
    where
        AsTrait: BoxOf<D>,
    {
        match self.registry.named(class) {
            Some(number) => self.decode_numbered(number, bytes, None),
            None => {
                let message = format!("class {class} is not registered; register it before");
                Err(Error::new(ErrorKind::WrongClass, message))
            }
        }
        .map_err(|error| error.in_class(class))
    }

    /// Decodes a value of a class with this number, in this program or another.
    fn decode_numbered<D: ?Sized + TraitObject>(
        &self,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
    ) -> Result<Box<D>>
    where
        AsTrait: BoxOf<D>,
    {
        let mut whole = Vec::with_capacity(bytes.len() + 9);
        count::push(number as u64 + 1, &mut whole);
        whole.extend_from_slice(bytes);
        let mut links = FieldLinks::new(&self.registry).numbered(numbers);
        let env = self.registry.env();
        let mut input = Decoder::new(&whole, &env, &mut links);
        let result = <AsTrait as BoxOf<D>>::decode(&mut input);
        match result {
            Ok(value) if input.rest().is_empty() => Ok(value),
            Ok(_) => Err(left_over(input.rest().len())),
            Err(fail) => Err(input.take_error().unwrap_or_else(|| fail.into())),
        }
    }
}
