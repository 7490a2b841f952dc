//! Steps that another program recorded, whose bytes are of its own classes.

use super::stored::{StoredChange, StoredKey, StoredWorldStep};
use crate::world::ByteChange;
use crate::{FieldPath, ObjectId, Result};

/// In which direction steps are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::history) enum Way {
    /// From what was before the first one.
    Forth,
    /// From what follows the last one.
    Back,
}

/// The bytes of a whole component or resource in a step.
pub(in crate::history) struct Content<'s> {
    pub(in crate::history) class: &'s mut String,
    pub(in crate::history) bytes: &'s mut Vec<u8>,
}

impl StoredWorldStep {
    /// The class that it is about: of an object, or of a resource.
    pub(in crate::history) fn class(&self) -> Result<Option<String>> {
        let of = |path: &str| Ok(Some(path.parse::<FieldPath>()?.class().to_owned()));
        match &self.change {
            StoredChange::Set { path, .. }
            | StoredChange::Insert { path, .. }
            | StoredChange::Remove { path, .. }
            | StoredChange::Move { path, .. } => of(path),
            // One without fields is about none any more.
            StoredChange::Fields { fields, .. } => {
                fields.first().map_or(Ok(None), |field| of(&field.path))
            }
            StoredChange::Attach { class, .. }
            | StoredChange::Detach { class, .. }
            | StoredChange::InsertResource { class, .. }
            | StoredChange::RemoveResource { class, .. } => Ok(Some(class.clone())),
            _ => Ok(None),
        }
    }

    /// What it changes in a component or a resource that stays: the object, if it is one's, and the class.
    pub(in crate::history) fn changed(&self) -> Result<Option<(Option<ObjectId>, String)>> {
        let class = if self.is_change() { self.class()? } else { None };
        Ok(class.map(|class| (self.object, class)))
    }

    fn is_change(&self) -> bool {
        matches!(
            self.change,
            StoredChange::Set { .. }
                | StoredChange::Insert { .. }
                | StoredChange::Remove { .. }
                | StoredChange::Move { .. }
                | StoredChange::Fields { .. }
        )
    }

    /// What it does to bytes, in the order in which that is done.
    pub(in crate::history) fn byte_changes(
        &self,
        way: Way,
    ) -> Result<Vec<(FieldPath, ByteChange<'_>)>> {
        let is_back = way == Way::Back;
        let one = |path: &str, change| Ok(vec![(path.parse()?, change)]);
        match &self.change {
            StoredChange::Set { path, old, new } => {
                one(path, ByteChange::Put(if is_back { old } else { new }))
            }
            StoredChange::Insert { path, index, .. } if is_back => {
                one(path, ByteChange::Remove(*index))
            }
            StoredChange::Remove { path, index, .. } if !is_back => {
                one(path, ByteChange::Remove(*index))
            }
            StoredChange::Insert { path, index, bytes }
            | StoredChange::Remove { path, index, bytes } => {
                one(path, ByteChange::Insert(*index, bytes))
            }
            StoredChange::Move { path, from, to } => {
                let (from, to) = if is_back { (to, from) } else { (from, to) };
                one(path, ByteChange::Move(*from, *to))
            }
            StoredChange::Fields { fields, .. } => {
                let path = |field: &super::StoredField| field.path.parse();
                let paths = fields.iter().map(path).collect::<Result<Vec<FieldPath>>>()?;
                let changes = fields
                    .iter()
                    .map(|field| ByteChange::Put(if is_back { &field.old } else { &field.new }));
                let mut changes: Vec<_> = paths.into_iter().zip(changes).collect();
                if is_back {
                    changes.reverse();
                }
                Ok(changes)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The path and the bytes by which it merges with others, and whether it does.
    pub(in crate::history) fn key(&self) -> (String, Option<StoredKey>, bool) {
        match &self.change {
            StoredChange::Set { path, old, new } => {
                let key = StoredKey { old: old.clone(), new: new.clone() };
                (path.clone(), Some(key), true)
            }
            StoredChange::Fields { path, key, is_setting, .. } => {
                (path.clone(), key.clone(), *is_setting)
            }
            StoredChange::Insert { path, .. }
            | StoredChange::Remove { path, .. }
            | StoredChange::Move { path, .. } => (path.clone(), None, false),
            _ => (String::new(), None, false),
        }
    }

    /// What of whole components or resources is in it: what it takes out, and what it puts in.
    pub(in crate::history) fn contents(&mut self) -> (Option<Content<'_>>, Option<Content<'_>>) {
        match &mut self.change {
            StoredChange::Attach { content, .. } => {
                let content = content.as_mut();
                (None, content.map(|of| Content { class: &mut of.class, bytes: &mut of.bytes }))
            }
            StoredChange::Detach { content, .. } => {
                let content = content.as_mut();
                (content.map(|of| Content { class: &mut of.class, bytes: &mut of.bytes }), None)
            }
            StoredChange::InsertResource { old, new, .. } => (
                old.as_mut().map(|of| Content { class: &mut of.class, bytes: &mut of.bytes }),
                new.as_mut().map(|of| Content { class: &mut of.class, bytes: &mut of.bytes }),
            ),
            StoredChange::RemoveResource { content, .. } => {
                let content = content.as_mut();
                (content.map(|of| Content { class: &mut of.class, bytes: &mut of.bytes }), None)
            }
            _ => (None, None),
        }
    }

    /// Gives its class the name that it has in the program.
    pub(in crate::history) fn rename_class(&mut self, name: &str) {
        match &mut self.change {
            StoredChange::Attach { class, .. }
            | StoredChange::Detach { class, .. }
            | StoredChange::InsertResource { class, .. }
            | StoredChange::RemoveResource { class, .. } => name.clone_into(class),
            _ => {}
        }
    }
}
