//! Which fields of a component are not what they were.

use std::any::Any;

use super::World;
use super::bytes::Bytes;
use super::change::{decode, validate};
use super::fields::{Owner, Spot};
use super::part::Part;
use super::path::FieldPath;
use super::paths::{Paths, Trail};
use crate::Result;
use crate::codec::Portable;
use crate::graph::Registry;
use crate::schema::{Cursor, Target};

/// A field that has changed, with its bytes before and after.
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

    /// The bytes of a component or resource, to be held for a while.
    pub(crate) fn snapshot(&mut self, owner: Owner, class: &str) -> Result<Bytes> {
        let room = std::mem::take(&mut self.kept.room);
        let find = || Part::find_in(room, &self.registry, self.root(owner, class)?, &[]);
        let part = find().map_err(|error| owner.name(error, class))?;
        let content = part.bytes().into();
        self.kept.room = part.into_room();
        Ok(content)
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

    /// Like [`validate`](Self::validate); what does not exist is valid.
    pub(crate) fn check_valid(&mut self, owner: Owner, class: &str) -> Result<()> {
        let Ok(spot) = self.spot(owner, class) else { return Ok(()) };
        self.validate_at(spot, class).map_err(|error| owner.name(error, class))
    }

    fn validate_at(&mut self, spot: Spot, class: &str) -> Result<()> {
        let (registry, root) = self.root_mut_at(spot, class)?;
        let traits = registry.entry(root).map(|(index, _)| registry.traits(index));
        match traits.is_none_or(|traits| traits.after_load || traits.dynamic) {
            true => validate(root, registry),
            false => Ok(()),
        }
    }

    /// The fields of a component or resource that differ from a content that it had: the innermost ones that lie in structs.
    pub(crate) fn changes_since(
        &mut self,
        owner: Owner,
        class: &str,
        old: &[u8],
    ) -> Result<Vec<FieldChange>> {
        let room = std::mem::take(&mut self.kept.room);
        let compare = || {
            let root = self.root(owner, class)?;
            let part = Part::find_in(room, &self.registry, root, &[])?;
            let found = match part.bytes() {
                new if *old == *new => Vec::new(),
                new => self.compared(class, root, old, new)?,
            };
            Ok((found, part.into_room()))
        };
        let (found, room) = compare().map_err(|error| owner.name(error, class))?;
        self.kept.room = room;
        Ok(found)
    }

    /// The fields of a value whose bytes differ, which has one of the contents.
    pub(super) fn compared(
        &self,
        class: &str,
        root: &dyn Any,
        old: &[u8],
        new: &[u8],
    ) -> Result<Vec<FieldChange>> {
        let (registry, paths) = (&self.registry, &self.paths);
        let trail = Trail::new(class);
        let mut comparison = Comparison { registry, paths, trail, found: Vec::new() };
        comparison.compare(root, old, new)?;
        Ok(comparison.found)
    }
}

/// The bytes of a component that is in no world.
pub(super) fn content_of(registry: &Registry, root: &dyn Portable) -> Result<Vec<u8>> {
    Ok(Part::find(registry, root, &[])?.into_bytes())
}

/// What of a value has changed.
struct Comparison<'w> {
    registry: &'w Registry,
    paths: &'w Paths,
    /// Where in the component it is.
    trail: Trail<'w>,
    found: Vec<FieldChange>,
}

impl Comparison<'_> {
    /// Compares the bytes of a value that is there with those that it had; they differ.
    fn compare(&mut self, value: &dyn Any, old: &[u8], new: &[u8]) -> Result<()> {
        let registry = self.registry;
        let entry = registry.entry(value);
        // Not a time, whose parts go together, nor an enum, whose fields change with the variant.
        let is_open = |target: &Target| {
            target.class.variants().is_empty() && target.access.field(value, 0).is_some()
        };
        let Some((index, target)) = entry.filter(|(_, target)| is_open(target)) else {
            self.find(old, new);
            return Ok(());
        };
        let layout = registry.program().layout();
        let mut before = Cursor::of_class(layout, index, old);
        let mut behind = Cursor::of_class(layout, index, new);
        for (field, record) in target.class.fields().iter().enumerate() {
            let old = &old[before.pass_field(index, field)?];
            // Bytes say where they end: what begins as the field was is that.
            if behind.pass_bytes(old) {
                continue;
            }
            let new = &new[behind.pass_field(index, field)?];
            self.trail.enter(field, record.name);
            match target.access.field(value, field) {
                Some(inner) if !record.has_module => self.compare(inner, old, new)?,
                _ => self.find(old, new),
            }
            self.trail.leave();
            if before.rest() == behind.rest() {
                break;
            }
        }
        Ok(())
    }

    fn find(&mut self, old: &[u8], new: &[u8]) {
        let path = self.paths.at(&self.trail);
        self.found.push(FieldChange { path, old: old.into(), new: new.into() });
    }
}
