//! Objects that are out of the world and may come back as they were.

use std::collections::HashSet;

use super::World;
use super::any_component::AnyComponent;
use super::names::Name;
use super::object::Object;
use super::world::missing;
use crate::codec::TraitObject as _;
use crate::{Error, ErrorKind, ObjectId, Result};

/// An object out of the world, with all that was below it.
pub(super) struct Parked {
    /// Each before those below it.
    pub(super) objects: Vec<ParkedObject>,
    /// Where it was among the children of its parent.
    pub(super) index: usize,
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
        let (_, index) = self.place_of(object);
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
    pub(super) fn keep_parked(&mut self, object: ObjectId, parked: Parked) {
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
            above.children_mut().insert(parked.index, object);
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

    /// Refuses what cannot wait for the end of a phase.
    pub(super) fn check_idle(&self) -> Result<()> {
        if self.is_running() {
            return Err(Error::new(
                ErrorKind::Borrowed,
                "a component's method runs, and this cannot wait for the end of the phase; do it after the update",
            ));
        }
        Ok(())
    }
}
