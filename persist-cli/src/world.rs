//! Worlds as people know them: objects by their names, with components.
//!
//! A save has a world as a table, `docs/reference/graphs-and-worlds.md` says what is in it.

use std::collections::{HashMap, HashSet};

use persist::reflect::HandleValue;
use persist::{Document, Record, Value};

use crate::exit::{Failure, Result};
use crate::values::parts;

/// The class of worlds in saves.
pub(crate) const CLASS: &str = "persist.World";

/// The class of their objects.
const OBJECT: &str = "persist.Object";

/// A world of a save.
pub(crate) struct World<'v> {
    pub(crate) objects: Vec<Object<'v>>,
    pub(crate) resources: &'v [Value],
    places: HashMap<u64, usize>,
}

/// An object of a world.
pub(crate) struct Object<'v> {
    pub(crate) id: u64,
    /// Empty if it has none.
    pub(crate) name: &'v str,
    pub(crate) activity: &'v str,
    pub(crate) children: Vec<u64>,
    pub(crate) components: &'v [Value],
    /// All of it, as it is stored.
    pub(crate) value: &'v Value,
    parent: Option<usize>,
}

impl<'v> World<'v> {
    /// The world that a value is.
    pub(crate) fn of(value: &'v Value) -> Option<Self> {
        let record = record_of(value)?;
        let resources = list(record.get("resources")?)?;
        let objects = list(record.get("objects")?)?.iter().map(Object::of);
        let mut objects = objects.collect::<Option<Vec<_>>>()?;
        let places: HashMap<u64, usize> =
            objects.iter().enumerate().map(|(place, object)| (object.id, place)).collect();
        for parent in 0..objects.len() {
            for child in std::mem::take(&mut objects[parent].children) {
                if let Some(place) = places.get(&child).filter(|place| **place != parent) {
                    objects[*place].parent.get_or_insert(parent);
                }
                objects[parent].children.push(child);
            }
        }
        Some(Self { objects, resources, places })
    }

    /// The place of an object.
    pub(crate) fn place(&self, id: u64) -> Option<usize> {
        self.places.get(&id).copied()
    }

    /// The places of the objects below another one, or of those below none.
    pub(crate) fn below<'w>(
        &'w self,
        parent: Option<usize>,
    ) -> Box<dyn Iterator<Item = usize> + 'w> {
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

    /// An object and all below it, or all objects.
    pub(crate) fn all_below(&self, parent: Option<usize>) -> Vec<usize> {
        let Some(parent) = parent else { return (0..self.objects.len()).collect() };
        let mut found: Vec<usize> = self.below(Some(parent)).collect();
        let mut at = 0;
        while at < found.len() {
            let next = found[at];
            // A hostile save may have cycles; each object has one parent, so that only the first is met again.
            found.extend(self.below(Some(next)).filter(|place| *place != parent));
            at += 1;
        }
        found
    }

    /// The names from the highest object to this one: `/House/Door`.
    pub(crate) fn path(&self, place: usize) -> String {
        let mut way = vec![place];
        while let Some(parent) = way.last().and_then(|last| self.objects[*last].parent) {
            if way.contains(&parent) || way.len() > MOST_LEVELS {
                break;
            }
            way.push(parent);
        }
        let mut path = String::new();
        for place in way.into_iter().rev() {
            path.push('/');
            self.objects[place].write_name(&mut path);
        }
        path
    }

    /// Why no program loads it, if it is so: its values may fit their classes and be no tree of objects.
    fn fault(&self, last_id: u64) -> Option<String> {
        let (mut names, mut children) = (HashSet::new(), HashSet::new());
        let mut before = 0;
        for object in &self.objects {
            let id = object.id;
            if id <= before || id > last_id {
                return Some(format!(
                    "the ids of its objects do not ascend to the last one, {last_id}: #{id} comes after #{before}"
                ));
            }
            before = id;
            if !object.name.is_empty() && !names.insert(object.name) {
                return Some(format!("two objects have the name `{}`", object.name));
            }
            for child in &object.children {
                if self.place(*child).is_none() {
                    return Some(format!(
                        "object #{id} has the child #{child}, which is not there"
                    ));
                }
                if !children.insert(child) {
                    return Some(format!("object #{child} is a child twice"));
                }
            }
            if let Some(class) = twice(object.components) {
                return Some(format!("object #{id} has two components {class}"));
            }
        }
        if let Some(class) = twice(self.resources) {
            return Some(format!("it has two resources {class}"));
        }
        // Each object has one parent: what is not met from the top down goes round.
        let mut open: Vec<u64> = self.objects.iter().map(|object| object.id).collect();
        open.retain(|id| !children.contains(id));
        let mut met = 0;
        while let Some(id) = open.pop() {
            met += 1;
            let place = self.place(id);
            open.extend(place.into_iter().flat_map(|place| &self.objects[place].children));
        }
        (met < self.objects.len()).then(|| "objects are below themselves".to_owned())
    }
}

/// Refuses to write worlds that no program loads.
pub(crate) fn check(save: &Document) -> Result<()> {
    for entry in save.entries() {
        let mut open = vec![&entry.value];
        while let Some(next) = open.pop() {
            let last_id = record_of(next).and_then(|world| world.get("last_id")?.as_u64());
            let world = World::of(next).zip(last_id);
            if let Some(fault) = world.and_then(|(world, last_id)| world.fault(last_id)) {
                let id = entry.id();
                return Err(Failure::new(format!(
                    "no program would load the world of object {id}: {fault}"
                )));
            }
            open.extend(parts(next).into_iter().map(|(_, part)| part));
        }
    }
    Ok(())
}

/// The class of which there are two.
fn twice(contents: &[Value]) -> Option<&str> {
    let mut classes = HashSet::new();
    let mut all = contents.iter().filter_map(|content| Some(content.as_record()?.class()));
    all.find(|class| !classes.insert(*class))
}

/// Levels of a tree that a path shows.
const MOST_LEVELS: usize = 64;

impl<'v> Object<'v> {
    /// The object of a world that a value is.
    pub(crate) fn of(value: &'v Value) -> Option<Self> {
        let record = value.as_record().filter(|record| record.class() == OBJECT)?;
        let child = |child: &Value| match child {
            Value::Handle(HandleValue::Live(id)) => Some(*id),
            _ => None,
        };
        Some(Self {
            id: record.get("id")?.as_u64()?,
            name: record.get("name")?.as_text()?,
            activity: record.get("activity")?.as_record()?.variant()?,
            children: list(record.get("children")?)?.iter().filter_map(child).collect(),
            components: list(record.get("components")?)?,
            value,
            parent: None,
        })
    }

    /// Its name as it stands in a path; its id if it has none.
    fn write_name(&self, path: &mut String) {
        let is_plain = |c: char| c.is_alphanumeric() || "_- ".contains(c);
        if self.name.is_empty() {
            path.extend(["#", &self.id.to_string()]);
        } else if self.name.chars().all(is_plain) {
            path.push_str(self.name);
        } else {
            path.push_str(&format!("{:?}", self.name));
        }
    }
}

/// True if there is a world in a value.
pub(crate) fn has_world(value: &Value) -> bool {
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
pub(crate) fn record_of(value: &Value) -> Option<&Record> {
    value.as_record().filter(|record| record.class() == CLASS && record.variant().is_none())
}

fn list(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Seq(values) => Some(values),
        _ => None,
    }
}
