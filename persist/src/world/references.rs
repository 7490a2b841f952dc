//! Who holds the id of an object.

use std::collections::{HashMap, VecDeque};

use super::World;
use super::stored::{EncodeScope, live, save_of};
use crate::format::scan;
use crate::schema::{LocalValue, Stored, paths};
use crate::types::{Arena, WorldObjects};
use crate::{Limits, ObjectId, Result};

/// A place in a world that holds the id of an object: see [`World::references_to`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The object whose component it is in; `None` if it is in a resource.
    pub object: Option<ObjectId>,
    /// The class of that component or resource.
    pub class: String,
    /// The path of the field there, such as `targets[2].whom`; entries of maps count in the order in which they are saved. It is cut off after
    /// some thousand bytes.
    pub path: String,
}

/// Where in the save of a world a record is held first: its holder, and the path there.
type Holders = HashMap<u64, (u64, String)>;

/// All places that hold the id of an object.
pub(super) fn find(world: &World, id: ObjectId) -> Result<Vec<Reference>> {
    let ids: Vec<ObjectId> = world.objects().collect();
    let save = save_of(world, &live(world, &ids), EncodeScope::World)?;
    let mut needle = [1; 9];
    needle[1..].copy_from_slice(&id.get().to_le_bytes());
    let holds = |bytes: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    if !holds(&save) {
        return Ok(Vec::new());
    }
    let limits = &Limits::DEFAULT;
    let (found, classes) = scan(&save, limits)?;
    let stored = Stored::new(classes);
    let is_it = |met: &LocalValue<'_>| match met {
        LocalValue::Handle { arena, bits } => *arena == WorldObjects::NAME && *bits == id.get(),
        _ => false,
    };
    let mut references = Vec::new();
    let mut behind = Vec::new();
    let mut root = 0;
    for record in found.records.iter() {
        let payload = record.payload(&save);
        if record.is_value() {
            root = record.id;
        }
        if !holds(payload) {
            continue;
        }
        let found = paths(record.class as usize, &stored, payload, limits, is_it)?;
        if record.is_value() {
            references.extend(found.iter().filter_map(|path| reference(world, path, &ids)));
        } else {
            behind.extend(found.into_iter().map(|path| (record.id, path)));
        }
    }
    if behind.is_empty() {
        return Ok(references);
    }
    let mut leads = HashMap::new();
    for record in found.records.iter() {
        let mut targets = Vec::new();
        let paths = paths(record.class as usize, &stored, record.payload(&save), limits, |met| {
            let target = match met {
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
        behind.into_iter().filter_map(|(record, path)| {
            reference(world, &whole_path(record, path, &holders), &ids)
        }),
    );
    Ok(references)
}

/// What a path in the save of the world leads through; `None` if it is to an object's own id or its children.
fn reference(world: &World, path: &str, ids: &[ObjectId]) -> Option<Reference> {
    let index = |text: &str| text.parse::<usize>().ok();
    let behind = |rest: &str| rest.trim_start_matches('.').to_owned();
    if let Some((at, rest)) = path.strip_prefix("resources[").and_then(|p| p.split_once(']')) {
        let known = world.resources.values.iter().map(|(_, name, _)| &**name);
        let unknown = world.resources.unknown.iter().map(crate::Unknown::class);
        let class = known.chain(unknown).nth(index(at)?)?.to_owned();
        return Some(Reference { object: None, class, path: behind(rest) });
    }
    let (object, rest) = path.strip_prefix("objects[")?.split_once("].components[")?;
    let (component, rest) = rest.split_once(']')?;
    let object = *ids.get(index(object)?)?;
    let class = world.classes(object).into_iter().nth(index(component)?)?;
    Some(Reference { object: Some(object), class, path: behind(rest) })
}

/// For each record that the first one leads to, the holder that is the nearest to it.
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
