//! Objects that are out of the world and may come back as they were: alive, or as a save for what outlives the process.

use std::collections::{HashMap, HashSet};

use super::World;
use super::any_component::AnyComponent;
use super::names::Name;
use super::object::Object;
use super::prefab::{live, load_part};
use super::stored::{Content, Source};
use super::world::{LAST_ID, missing};
use crate::codec::TraitObject as _;
use crate::types::Remap;
use crate::{Error, ErrorKind, Limits, LoadOptions, ObjectId, Result};

/// An object out of the world, with all that was below it.
pub(super) struct Parked {
    /// Each before those below it.
    pub(super) objects: Vec<ParkedObject>,
    /// Where it was among the children of its parent.
    pub(super) index: u64,
    /// Whether no others get their names.
    pub(super) keeps_names: bool,
}

/// An object that is not in the world, with its components.
pub(super) struct ParkedObject {
    pub(super) id: ObjectId,
    pub(super) object: Object,
    /// With their columns, in order.
    pub(super) components: Vec<(usize, Box<dyn AnyComponent>)>,
}

/// A place in the tree.
#[derive(crate::Persist, Clone, Copy, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Place")]
pub(crate) struct Place {
    pub(crate) parent: Option<ObjectId>,
    /// Among the children of the parent.
    pub(crate) index: u64,
}

/// Objects out of any world: one, with all below it, and its place in the tree.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Fragment")]
pub(crate) struct Fragment {
    /// A save of a world that has only these objects; empty for a bare one, without components.
    save: Vec<u8>,
    place: Place,
}

impl Fragment {
    /// An object without components, as the last child of its parent.
    pub(super) fn bare(parent: Option<ObjectId>) -> Self {
        Self { save: Vec::new(), place: Place { parent, index: u64::MAX } }
    }

    pub(super) fn is_bare(&self) -> bool {
        self.save.is_empty()
    }
}

impl World {
    /// Takes an object, with all below it, out of the world, without releasing it: it can come back by
    /// [`unpark`](Self::unpark), with its id, its name, its place among its siblings and its components. Meanwhile it is
    /// not there, and its name is not given to others by [`spawn`](Self::spawn).
    ///
    /// A save does not have it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there; [`ErrorKind::Borrowed`] while a component's method runs.
    pub(crate) fn park(&mut self, object: ObjectId) -> Result<()> {
        self.check_idle()?;
        self.flush();
        self.check(object)?;
        let Place { index, .. } = self.tree_place(object);
        let subtree = self.subtree(object);
        self.unlink(object);
        let mut objects = Vec::new();
        for id in subtree {
            let Some(place) = self.directory.place(id) else { continue };
            let columns = self.shape_of(id);
            let components = columns
                .iter()
                .filter_map(|column| Some((*column, self.columns[*column].column.remove(place)?)));
            let components = components.collect();
            let Some(object) = self.take_object(place) else { continue };
            if let Some(name) = object.name {
                self.names.reserve(name);
                self.names.leave(name);
            }
            objects.push(ParkedObject { id, object, components });
        }
        self.keep_parked(object, Parked { objects, index, keeps_names: true });
        self.compact();
        Ok(())
    }

    /// Notes what is parked.
    fn keep_parked(&mut self, object: ObjectId, parked: Parked) {
        self.parked_below.extend(parked.objects.iter().map(|found| (found.id, object)));
        self.parked.insert(object, parked);
    }

    /// Brings a parked object back. If another has its name by now, that one gets a number; if its parent is not there,
    /// it is below none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not parked; [`ErrorKind::Borrowed`] while a component's method runs.
    pub(crate) fn unpark(&mut self, object: ObjectId) -> Result<()> {
        self.check_idle()?;
        self.flush();
        let parked = self.parked.remove(&object).ok_or_else(|| missing(object))?;
        let ids: HashSet<ObjectId> = parked.objects.iter().map(|parked| parked.id).collect();
        for mut found in parked.objects {
            self.parked_below.remove(&found.id);
            // If a component panicked in a removal, some are gone.
            if found.object.has_children() {
                found.object.children_mut().retain(|child| ids.contains(child));
            }
            if let Some(name) = found.object.name {
                if parked.keeps_names {
                    self.names.unreserve(name);
                }
                if let Some(newcomer) = self.names.give(name, found.id) {
                    self.rename_newcomer(newcomer, name);
                }
            }
            let parent = found.object.parent.filter(|parent| self.contains(*parent));
            found.object.parent = parent;
            self.put_in(found);
        }
        if let Some(above) = self.parent(object).and_then(|parent| self.object_mut(parent)) {
            let index = usize::try_from(parked.index).unwrap_or(usize::MAX);
            above.children_mut().insert(index, object);
        }
        self.hold(object);
        Ok(())
    }

    /// Puts in an object that has its name.
    pub(super) fn put_in(&mut self, parked: ParkedObject) {
        let ParkedObject { id, object, components } = parked;
        if object.shape != Default::default() || object.activity == super::Activity::Expired {
            self.waiting.push(id);
        }
        if object.activity == super::Activity::Expired {
            self.expired.push_back(id);
        }
        self.enter(id, object);
        for (column, component) in components {
            (self.columns[column].of.put)(self, column, id, component.__into_any());
        }
    }

    /// Lets others have the names of a parked object and of those below it; when it comes back, they get a number.
    pub(crate) fn give_names_away(&mut self, object: ObjectId) {
        let Some(parked) = self.parked.get_mut(&object) else { return };
        if std::mem::take(&mut parked.keeps_names) {
            let names = parked.objects.iter().filter_map(|found| found.object.name);
            names.for_each(|name| self.names.unreserve(name));
        }
    }

    /// True if the object is parked: an edit of a history removed it, and it can come back. Not for one below it, which comes back with it.
    #[must_use]
    pub fn is_parked(&self, object: ObjectId) -> bool {
        self.parked.contains_key(&object)
    }

    /// Bytes that a parked object takes, with all below it, roughly; none if it is not parked.
    pub(crate) fn parked_size(&self, object: ObjectId) -> usize {
        let objects = self.parked.get(&object).map_or(&[][..], |parked| &parked.objects);
        let size = |found: &ParkedObject| {
            let components = found.components.iter();
            let components =
                components.map(|(_, component)| self.size_of((**component).portable()));
            size_of::<ParkedObject>() + components.sum::<usize>()
        };
        objects.iter().map(size).sum()
    }

    /// Gives another name to an object whose own has been taken by one that came back.
    fn rename_newcomer(&mut self, newcomer: ObjectId, taken: Name) {
        let text = self.names.text(taken);
        let name = self.name_newcomer(newcomer, &text);
        self.names.drop(taken);
        if let Some(found) = self.object_mut(newcomer) {
            found.set_name(name);
        }
    }

    /// Removes an object for good if it is parked.
    pub(super) fn discard_parked(&mut self, object: ObjectId) {
        if self.is_parked(object) {
            self.remove(object);
        }
    }

    /// Removes a parked object for good, the lowest first; what is left if a component panics stays parked.
    pub(super) fn discard(&mut self, object: ObjectId) {
        while let Some(parked) = self.parked.get_mut(&object) {
            let Some(ParkedObject { id, object: last, components }) = parked.objects.last_mut()
            else {
                self.parked.remove(&object);
                return;
            };
            if components.is_empty() {
                if let Some(name) = last.name {
                    if parked.keeps_names {
                        self.names.unreserve(name);
                    }
                    self.names.drop(name);
                }
                self.parked_below.remove(id);
                parked.objects.pop();
                continue;
            }
            let id = *id;
            let (column, component) = components.remove(0);
            last.lose(column, &mut self.shapes);
            self.release(id, column, component);
        }
    }

    /// An object and all below it, that is there or parked, as it is.
    pub(super) fn fragment(&self, object: ObjectId) -> Result<Fragment> {
        let (mut objects, place) = match self.parked.get(&object) {
            Some(Parked { objects, index, .. }) => {
                let parent = objects.first().and_then(|root| root.object.parent);
                let sources = objects.iter().map(|found| (found.id, Source::Parked(found)));
                (sources.collect(), Place { parent, index: *index })
            }
            None => {
                self.check(object)?;
                (live(&self.subtree(object)), self.tree_place(object))
            }
        };
        objects.sort_unstable_by_key(|(id, _)| *id);
        Ok(Fragment { save: self.encode_part(&objects, Content::Objects)?, place })
    }

    /// Parks an object of this name that was in another world, or in this one in another run.
    ///
    /// The save of an older program is migrated. If this fails, nothing is parked.
    pub(super) fn park_fragment(
        &mut self,
        object: ObjectId,
        name: &str,
        fragment: &Fragment,
    ) -> Result<()> {
        self.check_idle()?;
        let Fragment { save, place: Place { parent, index } } = fragment;
        let objects = match fragment.is_bare() {
            true => self.bare_object(object, name)?,
            false => self.loaded_objects(object, save)?,
        };
        let mut parked = Parked { objects, index: *index, keeps_names: true };
        for found in &mut parked.objects {
            if found.id == object {
                found.object.parent = *parent;
            }
            found.object.name.into_iter().for_each(|name| self.names.reserve(name));
        }
        self.keep_parked(object, parked);
        Ok(())
    }

    fn bare_object(&mut self, id: ObjectId, name: &str) -> Result<Vec<ParkedObject>> {
        if id.get() > LAST_ID / 2 || self.is_taken(id) {
            return Err(taken(id));
        }
        self.last_id = self.last_id.max(id.get());
        let name = (!name.is_empty()).then(|| self.names.hold(name));
        Ok(vec![ParkedObject { id, object: Object::new(name), components: Vec::new() }])
    }

    /// The objects of a save, each before those below it.
    fn loaded_objects(&mut self, object: ObjectId, save: &[u8]) -> Result<Vec<ParkedObject>> {
        let mut registry = self.registry.clone();
        let options = (&Limits::DEFAULT, LoadOptions::default());
        let mut part = load_part(save, &mut registry, options, &mut Remap::new())?;
        let is_taken = |id| self.is_taken(id);
        let (roots, last_id) = (part.roots().collect::<Vec<_>>(), part.last_id);
        if roots != [object] || last_id > LAST_ID / 2 || part.objects().any(is_taken) {
            part.forget();
            return Err(taken(object));
        }
        self.registry = registry;
        self.last_id = self.last_id.max(last_id);
        self.has_unknown |= part.has_unknown;
        let order = part.subtree(object).into_iter().zip(0_usize..).collect::<HashMap<_, _>>();
        let mut objects = self.take_apart(part);
        objects.sort_by_key(|found| order.get(&found.id).copied());
        Ok(objects)
    }

    /// True if an object is in the world, or parked.
    fn is_taken(&self, id: ObjectId) -> bool {
        self.contains(id) || self.parked_below.contains_key(&id)
    }
}

#[cold]
fn taken(id: ObjectId) -> Error {
    Error::new(
        ErrorKind::InvalidValue,
        "objects that are to come back are there already, or are not those that were named",
    )
    .in_object(id.get())
}
