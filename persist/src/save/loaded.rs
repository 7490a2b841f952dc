use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use super::{Change, LoadReport};
use crate::codec::{Persist, Phase, Slot, Visitor};
use crate::graph::LoadedObject;
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// The objects of a save that has been loaded, and the report of the load.
///
/// In id order, those that the program had added first. It keeps all of them
/// alive: a `Weak` to one that nothing else holds dangles when this is dropped
/// or adopted.
pub struct Loaded {
    pub(super) objects: Vec<LoadedObject>,
    by_id: HashMap<ObjectId, usize>,
    report: LoadReport,
}

impl Loaded {
    pub(super) fn new(objects: Vec<LoadedObject>, report: LoadReport) -> Self {
        let by_id = objects.iter().enumerate().map(|(i, object)| (object.id, i)).collect();
        Self { objects, by_id, report }
    }

    /// The first object of type `T`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the save has none.
    pub fn first<T: Persist>(&self) -> Result<Rc<RefCell<T>>> {
        self.iter().next().ok_or_else(|| self.no_object(&format!("of class {}", T::name())))
    }

    /// The save may have had it, of a class that was not registered.
    #[cold]
    fn no_object(&self, what: &str) -> Error {
        let unknown = self.report.findings().iter().filter(|f| f.change == Change::Unknown);
        let unknown: Vec<String> = unknown.map(|f| format!("{} {}", f.count, f.class)).collect();
        let advice = if unknown.is_empty() {
            String::new()
        } else {
            format!(
                "; objects of classes that are not registered were skipped ({}): register them before the load, or name them in an `alias`",
                unknown.join(", ")
            )
        };
        Error::new(ErrorKind::NotFound, format!("the save has no object {what}{advice}"))
    }

    /// The object with this id.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the save has none; [`ErrorKind::WrongClass`]
    /// if it is not a `T`.
    pub fn get<T: Persist>(&self, id: ObjectId) -> Result<Rc<RefCell<T>>> {
        let Some(index) = self.by_id.get(&id) else {
            return Err(self.no_object(&id.to_string()));
        };
        self.objects[*index].shared.downcast().ok_or_else(|| {
            Error::new(ErrorKind::WrongClass, format!("object {id} is not a {}", T::name()))
        })
    }

    /// The objects of type `T`.
    pub fn iter<T: Persist>(&self) -> impl Iterator<Item = Rc<RefCell<T>>> + use<'_, T> {
        self.objects.iter().filter_map(|object| object.shared.downcast())
    }

    /// The ids of all objects.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> + use<'_> {
        self.objects.iter().map(|object| object.id)
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// True if the save held no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// What was defaulted, dropped, unknown, dangling.
    #[must_use]
    pub fn report(&self) -> &LoadReport {
        &self.report
    }
}

/// Objects that nothing else holds are freed one by one, a long chain of them too.
impl Drop for Loaded {
    fn drop(&mut self) {
        let objects = &self.objects;
        let is_alone = |i: &usize| objects[*i].shared.strong_count() == 1;
        let mut alone: Vec<usize> = (0..objects.len()).filter(is_alone).collect();
        if alone.is_empty() {
            return;
        }
        let places: HashMap<usize, usize> =
            objects.iter().enumerate().map(|(i, object)| (object.shared.address(), i)).collect();
        let mut targets = Vec::new();
        while let Some(i) = alone.pop() {
            let object = objects[i].shared.object();
            let mut collect = |slot: &mut dyn Slot| {
                targets.push(slot.address());
                Ok(())
            };
            // What it does not reach is freed by the fields' own drop.
            let _ = object.visit(&mut Visitor::new(Phase::Connect, &Limits::DEFAULT, &mut collect));
            object.reset(objects[i].factory.as_deref());
            let targets = targets.drain(..).filter_map(|address| places.get(&address).copied());
            alone.extend(targets.filter(is_alone));
        }
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("objects", &self.objects.len())
            .field("report", &self.report)
            .finish()
    }
}
