use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use super::LoadReport;
use super::source::Rescue;
use crate::codec::{AnyObject, Persist, Phase, Prototypes, Shared, Unknown, Visitor};
use crate::env::{Env, shared};
use crate::graph::{Counted, Edges, LoadedObjects, Targets};
use crate::reflect::ClassId;
use crate::schema::LoadEvent;
use crate::sorting::sort;
use crate::{Error, ErrorKind, ObjectId, Result};

/// The objects of a save that has been loaded, and the report of the load.
///
/// In id order, those that the program had added first. It keeps all of them
/// alive: a `Weak` to one that nothing else holds dangles when this is dropped
/// or adopted.
///
/// # Freeing what was loaded
///
/// Dropping this frees the objects that nothing else holds one by one, however long the chains
/// that they make. What the program holds is freed by the program: the drop of the first of
/// a million objects that hold each other in a chain recurses a million times, as it would without this
/// library, and a cycle of strong pointers is never freed. [`dismantle`](Self::dismantle)
/// frees both, flat.
pub struct Loaded {
    pub(super) objects: LoadedObjects,
    /// What is kept of the value that was loaded.
    pub(super) root_kept: Option<(ClassId, Unknown)>,
    report: LoadReport,
    /// True once the objects are a manager's.
    pub(super) adopted: bool,
}

impl Loaded {
    /// `root` is the class of the value that was loaded, if one was.
    pub(super) fn new(
        mut objects: LoadedObjects,
        root: Option<ClassId>,
        report: LoadReport,
    ) -> Self {
        let root_kept = root.zip(Some(std::mem::take(&mut objects.root_kept)));
        Self { objects, root_kept, report, adopted: false }
    }

    /// Adds what the report says of a damaged save.
    pub(super) fn rescued(mut self, rescue: Rescue) -> Self {
        self.report.rescue = rescue;
        self
    }

    /// The first object of type `T` in an `Rc<RefCell<T>>`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the save has none.
    pub fn first<T: Persist>(&self) -> Result<Rc<RefCell<T>>> {
        self.first_pointer()
    }

    /// The first object that a pointer of type `Q` can lead to, such as an
    /// `Arc<Mutex<Hero>>` or an `Rc<RefCell<dyn Item>>`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the save has none.
    pub fn first_pointer<Q: Counted + Persist>(&self) -> Result<Q> {
        self.pointers()
            .next()
            .ok_or_else(|| self.no_object(&format!("of type {}", Q::persist_name())))
    }

    /// The save may have had it, of a class that was not registered.
    #[cold]
    fn no_object(&self, what: &str) -> Error {
        let unknown = self.report.rows().iter().filter(|row| {
            matches!(row.event, LoadEvent::Unknown | LoadEvent::Kept) && row.field.is_none()
        });
        let unknown: Vec<String> = unknown.map(|f| format!("{} {}", f.count, f.class)).collect();
        let advice = if unknown.is_empty() {
            String::new()
        } else {
            format!(
                "; objects of classes that are not registered, or not in that pointer, were not made ({}): register them before the load, by `register_pointer` if they are not in an `Rc<RefCell<_>>`, or name them in an `alias`",
                unknown.join(", ")
            )
        };
        error!(ErrorKind::NotFound, "the save has no object {what}{advice}")
    }

    /// The object with this id, in an `Rc<RefCell<T>>`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the save has none; [`ErrorKind::WrongClass`]
    /// if it is not a `T`.
    pub fn get<T: Persist>(&self, id: ObjectId) -> Result<Rc<RefCell<T>>> {
        self.pointer(id)
    }

    /// The object with this id, by a pointer of type `Q`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the save has none; [`ErrorKind::WrongClass`]
    /// if such a pointer cannot lead to it.
    pub fn pointer<Q: Counted + Persist>(&self, id: ObjectId) -> Result<Q> {
        let Some(place) = self.objects.find(id) else {
            return Err(self.no_object(&id.to_string()));
        };
        self.objects.get(place).and_then(|shared| self.find(place, shared)).ok_or_else(|| {
            let wanted = Q::persist_name();
            error!(ErrorKind::WrongClass, "object {id} is not of type {wanted}")
        })
    }

    fn find<Q: Counted>(&self, place: usize, shared: &Shared) -> Option<Q> {
        let caster = match Q::of() {
            Some(of) => Some(self.objects.implementors.caster(of, self.objects.class(place)?)?),
            None => None,
        };
        Q::find(shared, caster)
    }

    /// The objects of type `T`, in an `Rc<RefCell<T>>`.
    pub fn iter<T: Persist>(&self) -> impl Iterator<Item = Rc<RefCell<T>>> + use<'_, T> {
        self.pointers()
    }

    /// The objects that pointers of type `Q` can lead to.
    pub fn pointers<Q: Counted>(&self) -> impl Iterator<Item = Q> + use<'_, Q> {
        self.objects.iter().filter_map(|(place, shared)| self.find(place, shared))
    }

    /// The ids of all objects.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> + use<'_> {
        (0..self.objects.len()).map(|place| self.objects.id(place))
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// True if the save held no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.len() == 0
    }

    /// What was defaulted, dropped, unknown, dangling.
    #[must_use]
    pub fn report(&self) -> &LoadReport {
        &self.report
    }

    /// The cycles of strong pointers among the objects, as they are now.
    ///
    /// They are never freed unless a pointer in them is cut. Each is a list of objects that all lead to each other; their
    /// order means nothing.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::{cell::RefCell, rc::Rc};
    /// # use persist::{Persist, SaveManager};
    /// #[derive(Persist)]
    /// struct Partner { other: Option<Rc<RefCell<Partner>>> }
    ///
    /// let ada = Rc::new(RefCell::new(Partner { other: None }));
    /// let bob = Rc::new(RefCell::new(Partner { other: Some(ada.clone()) }));
    /// ada.borrow_mut().other = Some(bob);
    ///
    /// let mut saves = SaveManager::new();
    /// saves.add(&ada)?;
    /// let save = saves.to_vec()?;
    /// let loaded = saves.from_slice(&save)?;
    /// assert_eq!(loaded.strong_cycles()[0].len(), 2);
    /// loaded.dismantle();
    /// # ada.borrow_mut().other = None;
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn strong_cycles(&self) -> Vec<Vec<ObjectId>> {
        let places = self.places();
        let mut targets = Targets::new(shared(&self.objects.context));
        let mut edges = Edges::new(self.objects.len());
        for (_, shared) in self.objects.iter() {
            let found = targets.of(shared.object());
            let known = found.iter().filter_map(|address| places.get(address));
            edges.push(known.filter_map(|place| u32::try_from(*place).ok()));
        }
        let cycles = edges.components().cycles(&edges);
        let id = |place: u32| self.objects.id(place as usize);
        let mut cycles: Vec<Vec<ObjectId>> =
            cycles.into_iter().map(|cycle| cycle.into_iter().map(id).collect()).collect();
        cycles.iter_mut().for_each(|cycle| sort(cycle));
        sort(&mut cycles);
        cycles
    }

    /// Frees the objects one by one, including cycles of strong pointers and long chains.
    ///
    /// What the program still holds stays alive, but every cell is emptied: its
    /// pointers lead to values as a class's prototype makes them. An object that is
    /// borrowed meanwhile keeps its value, and what the program set itself in a `OnceCell`
    /// cannot be cut.
    pub fn dismantle(mut self) {
        self.forget_kept();
        let prototypes = Prototypes::new(&*self.objects.implementors);
        for (_, shared) in self.objects.iter() {
            empty(shared.object(), prototypes);
        }
        self.objects.free_built();
        drop(std::mem::take(&mut self.objects));
    }

    /// Lets go of what is kept of the objects, while those that it leads to are held here.
    fn forget_kept(&mut self) {
        self.objects.kept.clear();
        self.root_kept = None;
    }

    fn places(&self) -> HashMap<usize, usize> {
        self.objects.iter().map(|(place, shared)| (shared.address(), place)).collect()
    }

    /// True if nothing else holds an object.
    fn is_alone(&self, place: usize) -> bool {
        self.objects.get(place).is_some_and(|shared| shared.strong_count() == 1)
    }
}

/// Empties the cells of an object.
fn empty(object: &dyn AnyObject, mut prototypes: Prototypes<'_>) {
    // One that is borrowed is left to those who borrow it.
    let _ =
        object.visit_object(&mut Visitor::new(Phase::Dismantle, &Env::FREEING, &mut prototypes));
}

/// Frees objects that nothing else holds one by one, including long chains, and cycles of
/// what is kept.
impl Drop for Loaded {
    fn drop(&mut self) {
        self.forget_kept();
        self.free_alone();
        if !self.adopted {
            self.objects.free_all();
        }
    }
}

impl Loaded {
    fn free_alone(&mut self) {
        let mut alone: Vec<usize> =
            (0..self.objects.len()).filter(|place| self.is_alone(*place)).collect();
        if alone.is_empty() {
            return;
        }
        let places = self.places();
        let context = self.objects.context.clone();
        let mut targets = Targets::new(shared(&context));
        // Several references may lead to one.
        let mut met = vec![false; self.objects.len()];
        alone.iter().for_each(|place| met[*place] = true);
        while let Some(place) = alone.pop() {
            let Some(shared) = self.objects.get(place).cloned() else { continue };
            let found = targets.of(shared.object());
            if self.objects.is_built(place) {
                // What it holds is held here too, and so not freed with it.
                self.objects.free(place);
                drop(shared);
            } else {
                empty(shared.object(), Prototypes::new(&*self.objects.implementors));
            }
            let found = found.iter().filter_map(|address| places.get(address).copied());
            alone.extend(found.filter(|place| {
                self.is_alone(*place) && !std::mem::replace(&mut met[*place], true)
            }));
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
