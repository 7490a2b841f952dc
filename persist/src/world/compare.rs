//! Which fields of a component are not what they were.

use std::any::Any;

use super::World;
use super::bytes::Bytes;
use super::change::{decode, validate};
use super::fields::{Owner, Spot};
use super::part::Part;
use super::path::FieldPath;
use crate::codec::Portable;
use crate::reflect::Class;
use crate::schema::Cursor;
use crate::{Registry, Result};

/// A field that has changed, with its bytes before and behind.
pub(crate) struct FieldChange {
    pub(crate) path: FieldPath,
    pub(crate) old: Bytes,
    pub(crate) new: Bytes,
}

impl World {
    /// The content of a whole component or resource.
    pub(crate) fn content(&self, owner: Owner, class: &str) -> Result<Vec<u8>> {
        let content =
            || Ok(Part::find(&self.registry, self.root(owner, class)?, &[])?.into_bytes());
        content().map_err(|error| owner.name(error, class))
    }

    /// Puts a component or resource back to a content that it had, unless it has it.
    pub(crate) fn put_content(&mut self, owner: Owner, class: &str, content: &[u8]) -> Result<()> {
        // What is put back is read anew, without what is skipped in it.
        if self.content(owner, class).is_ok_and(|now| now == content) {
            return Ok(());
        }
        let mut put = || {
            let (registry, root) = self.root_mut(owner, class)?;
            decode(content, registry, |input| root.decode_over(input))
        };
        put().map_err(|error| owner.name(error, class))
    }

    /// Lets the `validate` functions of a component or resource run.
    pub(crate) fn validate(&mut self, owner: Owner, class: &str) -> Result<()> {
        let spot = self.spot(owner, class);
        let valid = spot.and_then(|spot| self.validate_at(spot, class));
        valid.map_err(|error| owner.name(error, class))
    }

    /// As [`validate`](Self::validate); what is not there is valid.
    pub(crate) fn check_valid(&mut self, owner: Owner, class: &str) -> Result<()> {
        let Ok(spot) = self.spot(owner, class) else { return Ok(()) };
        self.validate_at(spot, class).map_err(|error| owner.name(error, class))
    }

    fn validate_at(&mut self, spot: Spot, class: &str) -> Result<()> {
        let (registry, root) = self.root_mut_at(spot, class)?;
        let traits = registry.entry(root).map(|(index, _)| registry.traits(index));
        match traits.is_none_or(|traits| traits.after_load || traits.dynamic) {
            true => validate(root),
            false => Ok(()),
        }
    }

    /// The fields of a component or resource that differ from a content that it had: the innermost ones that lie in structs.
    pub(crate) fn changes_since(
        &self,
        owner: Owner,
        class: &str,
        old: &[u8],
    ) -> Result<Vec<FieldChange>> {
        let compare = || {
            let root = self.root(owner, class)?;
            let new = Part::find(&self.registry, root, &[])?.into_bytes();
            let mut found = Vec::new();
            if *old != *new {
                let path = FieldPath::new(class.to_owned());
                compare(&self.registry, root, &path, (old, &new), &mut found)?;
            }
            Ok(found)
        };
        compare().map_err(|error| owner.name(error, class))
    }
}

/// The bytes of a component that is in no world.
pub(super) fn content_of(registry: &Registry, root: &dyn Portable) -> Result<Vec<u8>> {
    Ok(Part::find(registry, root, &[])?.into_bytes())
}

/// Compares the bytes of a value that is there with those that it had; they differ.
pub(super) fn compare(
    registry: &Registry,
    value: &dyn Any,
    path: &FieldPath,
    (old, new): (&[u8], &[u8]),
    found: &mut Vec<FieldChange>,
) -> Result<()> {
    let layout = registry.program().layout();
    let whole = || FieldChange { path: path.clone(), old: old.into(), new: new.into() };
    let Some((index, target)) = registry.entry(value) else {
        found.push(whole());
        return Ok(());
    };
    let class: &Class = target.class;
    if class.fields().is_empty() || !class.variants().is_empty() {
        found.push(whole());
        return Ok(());
    }
    let mut before = Cursor::of_class(layout, index, old);
    let mut behind = Cursor::of_class(layout, index, new);
    for (field, record) in class.fields().iter().enumerate() {
        let old = &old[before.pass_field(index, field)?];
        let new = &new[behind.pass_field(index, field)?];
        if old == new {
            continue;
        }
        let path = path.clone().field(record.name);
        match target.access.field(value, field) {
            Some(inner) if !record.flags.with => {
                compare(registry, inner, &path, (old, new), found)?;
            }
            _ => found.push(FieldChange { path, old: old.into(), new: new.into() }),
        }
    }
    Ok(())
}
