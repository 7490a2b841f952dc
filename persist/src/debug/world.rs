//! Worlds as people know them: objects by their names, with components.
//!
//! A save has a world as a table, which `docs/reference/graphs-and-worlds.md` describes.

use std::collections::HashMap;

use super::label::{child_text, parts};
use crate::{Record, Value};

/// The class of worlds in saves.
pub const CLASS: &str = "persist.World";

/// The class of their objects.
const OBJECT: &str = "persist.Object";

/// A world of a save.
pub struct WorldView<'v> {
    pub objects: Vec<ObjectView<'v>>,
    pub resources: &'v [Value],
    places: HashMap<u64, usize>,
}

/// An object of a world.
pub struct ObjectView<'v> {
    pub id: u64,
    /// The name in the save; empty if the object has none.
    pub name: &'v str,
    pub activity: &'v str,
    /// The ids of the children, in order.
    pub children: Vec<u64>,
    pub components: &'v [Value],
    /// The whole object, as it is stored.
    pub value: &'v Value,
    /// The place of the parent, if it is there.
    pub parent: Option<usize>,
    /// False if a sibling has the same name. No world that a program loads has such siblings.
    is_unique: bool,
}

impl<'v> WorldView<'v> {
    /// Returns the value as a world, if it is one.
    #[must_use]
    pub fn of(value: &'v Value) -> Option<Self> {
        let record = record_of(value)?;
        let resources = list(record.get("resources")?)?;
        let objects = list(record.get("objects")?)?.iter().map(ObjectView::of);
        let mut objects = objects.collect::<Option<Vec<_>>>()?;
        let places: HashMap<u64, usize> =
            objects.iter().enumerate().map(|(place, object)| (object.id, place)).collect();
        let mut children = Vec::new();
        for (place, object) in objects.iter_mut().enumerate() {
            let Some((parent, index)) = parent_of(object.value) else { continue };
            object.parent = places.get(&parent).copied().filter(|parent| *parent != place);
            children.extend(object.parent.map(|parent| (parent, index, object.id)));
        }
        children.sort_unstable();
        for (parent, _, child) in children {
            objects[parent].children.push(child);
        }
        let mut named = HashMap::new();
        for place in 0..objects.len() {
            let first = *named.entry((objects[place].parent, objects[place].name)).or_insert(place);
            if first != place {
                (objects[first].is_unique, objects[place].is_unique) = (false, false);
            }
        }
        Some(Self { objects, resources, places })
    }

    /// Returns the place of an object.
    pub fn place(&self, id: u64) -> Option<usize> {
        self.places.get(&id).copied()
    }

    /// Returns the places of the children of an object, or of the root objects.
    pub fn below<'w>(&'w self, parent: Option<usize>) -> Box<dyn Iterator<Item = usize> + 'w> {
        match parent {
            Some(parent) => {
                let children = self.objects[parent].children.iter();
                Box::new(children.filter_map(move |child| {
                    self.place(*child).filter(|place| self.objects[*place].parent == Some(parent))
                }))
            }
            None => Box::new(
                (0..self.objects.len()).filter(|place| self.objects[*place].parent.is_none()),
            ),
        }
    }

    /// Returns an object and its descendants, or all objects.
    pub fn all_below(&self, parent: Option<usize>) -> Vec<usize> {
        let Some(parent) = parent else { return (0..self.objects.len()).collect() };
        let mut found: Vec<usize> = self.below(Some(parent)).collect();
        let mut at = 0;
        while at < found.len() {
            let next = found[at];
            // A hostile save may have cycles; each object has one parent, so only the first is reached again.
            found.extend(self.below(Some(next)).filter(|place| *place != parent));
            at += 1;
        }
        found
    }

    /// Returns the names from the root object to this one: `/House/Door`. If names do not lead to an ancestor, the path
    /// begins with an id.
    pub fn path(&self, place: usize) -> String {
        path_of(place, &|place| {
            let object = &self.objects[place];
            let name = Some(object.name).filter(|_| object.is_named());
            TreeNode { id: object.id, name, parent: object.parent }
        })
    }
}

/// Returns the id of the parent of an object, and the index of the object among the children of the parent.
pub fn parent_of(object: &Value) -> Option<(u64, u64)> {
    let Value::Option(Some(parent)) = object.as_record()?.get("parent")? else { return None };
    let parent = parent.as_record()?;
    Some((parent.get("object")?.as_u64()?, parent.get("index")?.as_u64()?))
}

/// An object in the tree of a world.
pub struct TreeNode<'v> {
    pub id: u64,
    /// The name, if it leads to the object and to no other at its place.
    pub name: Option<&'v str>,
    pub parent: Option<usize>,
}

/// Returns the path of an object, as [`WorldView::path`] describes.
pub fn path_of<'v>(place: usize, node: &dyn Fn(usize) -> TreeNode<'v>) -> String {
    let mut hops = vec![place];
    while let Some(last) = hops.last().map(|last| node(*last)).filter(|it| it.name.is_some())
        && let Some(parent) = last.parent
    {
        if hops.contains(&parent) || hops.len() > MAX_LEVELS {
            return format!("/#{}", node(place).id);
        }
        hops.push(parent);
    }
    let mut path = String::new();
    for object in hops.into_iter().rev().map(node) {
        path.push('/');
        match object.name {
            Some(name) => path.push_str(&child_text(name)),
            None => path.extend(["#", &object.id.to_string()]),
        }
    }
    path
}

/// Levels of a tree that a path shows.
const MAX_LEVELS: usize = 64;

impl<'v> ObjectView<'v> {
    /// The object of a world that a value is.
    #[must_use]
    pub fn of(value: &'v Value) -> Option<Self> {
        let record = value.as_record().filter(|record| record.class() == OBJECT)?;
        record.get("parent")?;
        Some(Self {
            id: record.get("id")?.as_u64()?,
            name: record.get("name")?.as_text()?,
            activity: record.get("activity")?.as_record()?.variant()?,
            children: Vec::new(),
            components: list(record.get("components")?)?,
            value,
            parent: None,
            is_unique: true,
        })
    }

    /// True if its name leads to it, and to no other at its place.
    fn is_named(&self) -> bool {
        self.is_unique && !self.name.is_empty()
    }
}

/// True if there is a world in a value.
pub fn has_world(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(next) = open.pop() {
        if record_of(next).is_some() {
            return true;
        }
        open.extend(parts(next).into_iter().map(|(_, part)| part));
    }
    false
}

/// The record of a world.
pub fn record_of(value: &Value) -> Option<&Record> {
    value.as_record().filter(|record| record.class() == CLASS && record.variant().is_none())
}

fn list(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Seq(values) => Some(values),
        _ => None,
    }
}
