//! Parked objects: removed objects that an undo may bring back. They stay alive in the world, or are a save in a
//! journal.

use std::collections::HashMap;

use super::load::{forget, load_part};
use super::missing;
use crate::codec::TraitObject as _;
use crate::sorting::sort_by;
use crate::types::Remap;
use crate::world::names::Name;
use crate::world::recorded::content_size;
use crate::world::stored::{EncodeScope, ObjectSource, live, save_of};
use crate::world::touched::Touch;
use crate::world::{LAST_ID, Object, Parked, ParkedObject, World};
use crate::{Error, ErrorKind, Limits, LoadOptions, ObjectId, Result};

/// The place of an object in the tree.
#[derive(crate::Persist, Clone, Copy, Debug, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Place")]
pub struct TreePosition {
    /// The parent, or `None` for an object at the root.
    pub parent: Option<ObjectId>,
    /// The index among its siblings.
    pub index: u64,
}

/// An object with its descendants, as a save, and its place in the tree.
#[derive(crate::Persist, Clone, Debug, PartialEq)]
#[persist(crate = crate, class = "persist.Fragment")]
pub struct Fragment {
    /// A save of a world that has only these objects; empty for an object without components and descendants.
    save: Vec<u8>,
    /// The place that the object had.
    pub place: TreePosition,
}

impl Fragment {
    /// Creates the fragment of an object without components, as the last child of its parent.
    pub(super) fn bare(parent: Option<ObjectId>) -> Self {
        Self { save: Vec::new(), place: TreePosition { parent, index: u64::MAX } }
    }

    /// Returns the save; `None` for an object without components.
    pub fn save(&self) -> Option<&[u8]> {
        (!self.save.is_empty()).then_some(&*self.save)
    }
}

/// Takes an object and its descendants out of the world without releasing them.
///
/// [`unpark`] brings the object back with its id, its name, its place among its siblings and its components. Until then
/// the world and its saves do not contain it, and [`World::spawn`] does not use its name.
pub(crate) fn park(world: &mut World, object: ObjectId) -> Result<()> {
    world.check_editable()?;
    world.check(object)?;
    let TreePosition { index, .. } = world.tree_place(object);
    let subtree = world.subtree(object);
    world.unlink(object);
    let mut objects = Vec::new();
    subtree.iter().for_each(|id| world.touch(*id, Touch::Left));
    // Objects are taken from the end, so that no column has to move later values.
    for id in subtree.into_iter().rev() {
        let Some(found) = world.take_whole(id) else { continue };
        if let Some(name) = found.object.name {
            world.names.reserve(name);
            world.names.leave(name);
        }
        objects.push(found);
    }
    objects.reverse();
    keep_parked(world, object, Parked { objects, index, keeps_names: true });
    world.compact();
    Ok(())
}

fn keep_parked(world: &mut World, object: ObjectId, parked: Parked) {
    world.parking.topmost.extend(parked.objects.iter().map(|found| (found.id, object)));
    world.parking.parked.insert(object, parked);
}

/// Brings a parked object back. If another object has its name by now, that object gets a number. If its parent is not
/// in the world, it comes back without a parent.
pub(crate) fn unpark(world: &mut World, object: ObjectId) -> Result<()> {
    world.check_editable()?;
    let parked = world.parking.parked.remove(&object).ok_or_else(|| missing(object))?;
    for mut found in parked.objects {
        world.parking.topmost.remove(&found.id);
        // Some children may be missing, if a component panicked while the parked object was discarded.
        if found.object.has_children() {
            let topmost = &world.parking.topmost;
            let is_parked = |child: &ObjectId| topmost.get(child) == Some(&object);
            found.object.children_mut().list_mut().retain(is_parked);
        }
        if let Some(name) = found.object.name {
            if parked.keeps_names {
                world.names.unreserve(name);
            }
            if let Some(newcomer) = world.names.assign(name, found.id) {
                rename_newcomer(world, newcomer, name);
            }
        }
        let parent = found.object.parent.filter(|parent| world.contains(*parent));
        found.object.parent = parent;
        world.put_in(found);
    }
    if let Some(above) = world.parent(object).and_then(|parent| world.object_mut(parent)) {
        let index = usize::try_from(parked.index).unwrap_or(usize::MAX);
        above.children_mut().insert(index, object);
    }
    world.hold(object);
    Ok(())
}

/// Lets other objects use the names of a parked object and its descendants. If it comes back, those objects get a
/// number.
pub(crate) fn unreserve_names(world: &mut World, object: ObjectId) {
    let Some(parked) = world.parking.parked.get_mut(&object) else { return };
    if std::mem::take(&mut parked.keeps_names) {
        let names = parked.objects.iter().filter_map(|found| found.object.name);
        names.for_each(|name| world.names.unreserve(name));
    }
}

/// Returns roughly the bytes that a parked object takes with its descendants; 0 if it is not parked.
pub(crate) fn parked_size(world: &World, object: ObjectId) -> usize {
    let objects = world.parking.parked.get(&object).map_or(&[][..], |parked| &parked.objects);
    let size = |found: &ParkedObject| {
        let components = found.components.iter();
        let components = components
            .map(|(_, component)| content_size(&world.registry, (**component).portable()));
        size_of::<ParkedObject>() + components.sum::<usize>()
    };
    objects.iter().map(size).sum()
}

/// Gives another name to an object whose name belongs to an object that came back.
fn rename_newcomer(world: &mut World, newcomer: ObjectId, old: Name) {
    let text = world.names.text(old);
    let name = world.names.hold_other(&text);
    world.names.assign(name, newcomer);
    world.names.drop(old);
    if let Some(found) = world.object_mut(newcomer) {
        found.set_name(Some(name));
    }
    world.touch(newcomer, Touch::Renamed);
}

/// Saves an object and its descendants, which may be in the world or parked.
pub(super) fn fragment(world: &World, object: ObjectId) -> Result<Fragment> {
    let (mut objects, place) = match world.parking.parked.get(&object) {
        Some(Parked { objects, index, .. }) => {
            let parent = objects.first().and_then(|root| root.object.parent);
            let sources = objects.iter().map(|found| (found.id, ObjectSource::Parked(found)));
            (sources.collect(), TreePosition { parent, index: *index })
        }
        None => {
            world.check(object)?;
            (live(world, &world.subtree(object)), world.tree_place(object))
        }
    };
    sort_by(&mut objects, |(a, _), (b, _)| a.cmp(b));
    Ok(Fragment { save: save_of(world, &objects, EncodeScope::Objects)?, place })
}

/// Parks an object from a fragment that a journal stored, perhaps in another run of the program.
///
/// The save of an older program is migrated. If this fails, nothing is parked.
pub(super) fn park_fragment(
    world: &mut World,
    object: ObjectId,
    name: &str,
    fragment: &Fragment,
) -> Result<()> {
    world.check_idle()?;
    let TreePosition { parent, index } = fragment.place;
    let objects = match fragment.save() {
        None => bare_object(world, object, name)?,
        Some(save) => loaded_objects(world, object, save)?,
    };
    let mut parked = Parked { objects, index, keeps_names: true };
    for found in &mut parked.objects {
        if found.id == object {
            found.object.parent = parent;
        }
        found.object.name.into_iter().for_each(|name| world.names.reserve(name));
    }
    keep_parked(world, object, parked);
    Ok(())
}

fn bare_object(world: &mut World, id: ObjectId, name: &str) -> Result<Vec<ParkedObject>> {
    if id.get() > LAST_ID / 2 || is_in_use(world, id) {
        return Err(in_use(id));
    }
    world.last_id = world.last_id.max(id.get());
    let name = (!name.is_empty()).then(|| world.names.hold(name));
    Ok(vec![ParkedObject { id, object: Object::new(name), components: Vec::new() }])
}

/// Loads the objects of a save, each before its descendants.
fn loaded_objects(world: &mut World, object: ObjectId, save: &[u8]) -> Result<Vec<ParkedObject>> {
    let mut registry = world.registry.clone();
    let options = (&Limits::DEFAULT, LoadOptions::default());
    let mut part = load_part(save, &mut registry, options, &mut Remap::new())?;
    let is_in_use = |id| is_in_use(world, id);
    let (roots, last_id) = (part.roots().collect::<Vec<_>>(), part.last_id);
    if roots != [object] || last_id > LAST_ID / 2 || part.objects().any(is_in_use) {
        forget(&mut part);
        return Err(in_use(object));
    }
    world.registry = registry;
    world.last_id = world.last_id.max(last_id);
    world.has_unknown |= part.has_unknown;
    let order = part.subtree(object).into_iter().zip(0_usize..).collect::<HashMap<_, _>>();
    let mut objects = world.adopt_objects(part);
    sort_by(&mut objects, |a, b| order.get(&a.id).cmp(&order.get(&b.id)));
    Ok(objects)
}

fn is_in_use(world: &World, id: ObjectId) -> bool {
    world.contains(id) || world.parking.topmost.contains_key(&id)
}

#[cold]
fn in_use(id: ObjectId) -> Error {
    error!(
        ErrorKind::InvalidValue,
        "objects that are to come back are there already, or are not those that were named"
    )
    .in_object(id.get())
}
