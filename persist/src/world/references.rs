//! [`Reference`]: finds the components and resources that hold the id of an object.

use std::collections::{HashMap, VecDeque};

use super::stored::{EncodeScope, live, save_of};
use super::{World, saved_classes};
use crate::format::scan;
use crate::schema::{LocalValue, Stored, paths};
use crate::types::{Arena, WorldObjects};
use crate::{Limits, ObjectId, Result};

/// A field that holds the id of an object; [`World::references_to`] returns it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The object whose component has the field; `None` for a field of a resource.
    pub object: Option<ObjectId>,
    /// The class of the component or resource.
    pub class: String,
    /// The path of the field in the component or resource, such as `targets[2].whom`.
    ///
    /// Entries of maps have indices in the order in which they are saved. The path is cut off after some thousand
    /// bytes.
    pub path: String,
}

/// For each record of a save, the record that holds it, and the path there.
type Holders = HashMap<u64, (u64, String)>;

/// Finds all fields that hold the id of an object, in a save of the world in memory.
pub(super) fn find(world: &World, id: ObjectId) -> Result<Vec<Reference>> {
    let ids: Vec<ObjectId> = world.objects().collect();
    let save = save_of(world, &live(world, &ids), EncodeScope::World)?;
    // An id is encoded as the byte 1 and eight bytes. Records without these bytes are skipped quickly.
    let mut needle = [1; 9];
    needle[1..].copy_from_slice(&id.get().to_le_bytes());
    let holds = |bytes: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    if !holds(&save) {
        return Ok(Vec::new());
    }
    let limits = &Limits::DEFAULT;
    let (found, classes) = scan(&save, limits)?;
    let stored = Stored::new(classes);
    let is_match = |value: &LocalValue<'_>| match value {
        LocalValue::Handle { arena, bits } => *arena == WorldObjects::NAME && *bits == id.get(),
        _ => false,
    };
    let mut references = Vec::new();
    // Fields of records that components hold by shared pointers.
    let mut indirect = Vec::new();
    let mut root = 0;
    for record in found.records.iter() {
        let payload = record.payload(&save);
        if record.is_value() {
            root = record.id;
        }
        if !holds(payload) {
            continue;
        }
        let found = paths(record.class as usize, &stored, payload, limits, is_match)?;
        if record.is_value() {
            references.extend(found.iter().filter_map(|path| reference(world, path, &ids)));
        } else {
            indirect.extend(found.into_iter().map(|path| (record.id, path)));
        }
    }
    if indirect.is_empty() {
        return Ok(references);
    }
    let mut leads = HashMap::new();
    for record in found.records.iter() {
        let mut targets = Vec::new();
        let paths = paths(record.class as usize, &stored, record.payload(&save), limits, |it| {
            let target = match it {
                LocalValue::Reference { id, weak: false, .. } => Some(*id),
                _ => None,
            };
            targets.extend(target);
            target.is_some()
        })?;
        leads.insert(record.id, targets.into_iter().zip(paths).collect());
    }
    let holders = holders(root, leads);
    references.extend(
        indirect.into_iter().filter_map(|(record, path)| {
            reference(world, &whole_path(record, path, &holders), &ids)
        }),
    );
    Ok(references)
}

/// Converts a path in the save of the world to a reference; `None` if it leads to no component or resource.
fn reference(world: &World, path: &str, ids: &[ObjectId]) -> Option<Reference> {
    let index = |text: &str| text.parse::<usize>().ok();
    let field_path = |rest: &str| rest.trim_start_matches('.').to_owned();
    if let Some((at, rest)) = path.strip_prefix("resources[").and_then(|p| p.split_once(']')) {
        let class = world.resources.saved_classes().nth(index(at)?)?.to_owned();
        return Some(Reference { object: None, class, path: field_path(rest) });
    }
    let (object, rest) = path.strip_prefix("objects[")?.split_once("].components[")?;
    let (component, rest) = rest.split_once(']')?;
    let object = *ids.get(index(object)?)?;
    let class = saved_classes(world, object).into_iter().nth(index(component)?)?;
    Some(Reference { object: Some(object), class, path: field_path(rest) })
}

/// Finds for each record that the root leads to the holder on a shortest way from the root, by a breadth-first search.
fn holders(root: u64, mut leads: HashMap<u64, Vec<(u64, String)>>) -> Holders {
    let mut holders = Holders::new();
    let mut rest = VecDeque::from([root]);
    while let Some(holder) = rest.pop_front() {
        for (target, path) in leads.remove(&holder).unwrap_or_default() {
            if target != root && !holders.contains_key(&target) {
                holders.insert(target, (holder, path));
                rest.push_back(target);
            }
        }
    }
    holders
}

fn whole_path(record: u64, path: String, holders: &Holders) -> String {
    let mut parts = vec![path];
    let mut at = record;
    while let Some((holder, path)) = holders.get(&at) {
        parts.push(path.clone());
        at = *holder;
    }
    parts.reverse();
    parts.join(".")
}
