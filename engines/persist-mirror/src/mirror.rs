//! [`Mirror`], a world that mirrors the world of an engine, and [`Copies`], which copies components back out of it.

use std::collections::BTreeSet;

use persist::codec::{Buffer, Pointee};
use persist::save::{LoadEvent, LoadReport, ReportRow};
use persist::{Component, Error, ErrorKind, Loaded, ObjectId, Persist, Result, World};

use crate::entities::{Mode, found_objects, in_mode, translated};
use crate::form::translate;
use crate::{Entity, Form, Ids, Target};

/// A world that mirrors the world of an engine, with the unknown content of the save that it was loaded from.
///
/// ```
/// use persist::Persist;
/// use persist_mirror::{Entity, Itself, Mirror};
///
/// #[derive(Persist, Clone)]
/// #[persist(component)]
/// struct Health(u32);
///
/// let mut mirror = Mirror::default();
/// let rat = Entity { index: 0, bits: 1 << 32 };
/// let object = mirror.object(rat)?;
/// mirror.copy::<_, Itself>([(rat, &Health(3))])?;
/// assert_eq!(mirror.world().get::<Health>(object).map(|health| health.0), Some(3));
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Debug)]
pub struct Mirror<W = Loaded<World>> {
    target: W,
    ids: Ids,
    buffer: Buffer,
    writes: u64,
    /// The classes whose values were copied with references to entities that are not saved.
    lost: BTreeSet<String>,
}

impl<W: Target> Mirror<W> {
    /// Creates a mirror of a loaded world, with a table of the entities of its objects.
    ///
    /// Objects that are not in the table have no entity until [`pair`](Self::pair) adds one.
    #[must_use]
    pub fn new(target: W, ids: Ids) -> Self {
        Self { target, ids, buffer: Buffer::new(), writes: 0, lost: BTreeSet::new() }
    }

    /// Consumes the mirror, and returns its table of entities and objects.
    #[must_use]
    pub fn into_ids(self) -> Ids {
        self.ids
    }

    /// Returns the mirrored world.
    #[must_use]
    pub fn world(&self) -> &World {
        self.target.world()
    }

    /// Returns the world or edit for changes of content that is not mirrored, such as resources.
    pub fn target(&mut self) -> &mut W {
        self.writes += 1;
        &mut self.target
    }

    /// Returns the number of writes so far. The mirror is unchanged while the count is the same.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Takes the classes whose values were copied with references to unsaved entities since the last call.
    pub fn take_lost(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.lost)
    }

    /// Returns the table of entities and their objects.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Pairs an object of a loaded world with an entity.
    pub fn pair(&mut self, object: ObjectId, entity: Entity) {
        self.ids.insert(object, entity);
    }

    /// Returns the object of an entity, and spawns one if the entity has none.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Target::spawn`].
    pub fn object(&mut self, entity: Entity) -> Result<ObjectId> {
        if let Some(object) = self.ids.object(entity) {
            return Ok(object);
        }
        let object = self.target().spawn()?;
        self.ids.insert(object, entity);
        Ok(object)
    }

    /// Removes the objects of entities that are no longer saved; returns true if there were any.
    ///
    /// Children that are still saved lose their parent, and are kept.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Target::remove`] and [`Target::set_parent_at`].
    pub fn retain(&mut self, mut is_kept: impl FnMut(Entity) -> bool) -> Result<bool> {
        let stale = self.ids.iter().filter(|(_, entity)| !is_kept(*entity));
        let mut stale: Vec<ObjectId> = stale.map(|(object, _)| object).collect();
        // The table has no order. Sorted, equal edits are recorded equally.
        stale.sort_unstable();
        for object in &stale {
            self.ids.remove(*object);
        }
        let is_any_stale = !stale.is_empty();
        for object in stale {
            for child in self.world().children(object).to_vec() {
                if self.ids.entity(child).is_some() {
                    self.target().set_parent_at(child, None, usize::MAX)?;
                }
            }
            self.target().remove(object)?;
        }
        Ok(is_any_stale)
    }

    /// Copies components of one type into the objects of their entities, and returns the number of components copied.
    ///
    /// Components of entities without an object are skipped.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::attach`], and an error if a component that holds entities cannot be encoded.
    pub fn copy<'c, T: 'static, F: Form<T>>(
        &mut self,
        components: impl IntoIterator<Item = (Entity, &'c T)>,
    ) -> Result<usize> {
        let Self { target, ids, buffer, writes, lost } = self;
        let objects = |(entity, component)| Some((ids.object(entity)?, component));
        let components = components.into_iter().filter_map(objects);
        let mut count = 0;
        if !F::Stored::persist_kind().may_hold_ids() {
            for (object, component) in components {
                target.put(object, F::store(component))?;
                count += 1;
            }
            *writes += count as u64;
            return Ok(count);
        }
        let components: Vec<(ObjectId, &T)> = components.collect();
        *writes += components.len() as u64;
        translated(Mode::In, ids, || {
            components.iter().try_for_each(|(object, component)| {
                let (stored, unsaved) = translate(&F::store(component), Mode::In, buffer)
                    .map_err(|error| located::<F::Stored>(error, *object))?;
                if unsaved > 0 {
                    lost.insert(F::Stored::persist_name());
                }
                target.put(*object, stored)
            })
        })?;
        Ok(components.len())
    }

    /// Copies a resource into the mirror.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::insert_resource`] and [`copy`](Self::copy).
    pub fn copy_resource<R: Persist + Pointee + Clone + Send>(
        &mut self,
        resource: &R,
    ) -> Result<()> {
        let Self { target, ids, buffer, writes, lost } = self;
        *writes += 1;
        let stored = if R::persist_kind().may_hold_ids() {
            let (stored, unsaved) =
                translated(Mode::In, ids, || translate(resource, Mode::In, buffer))
                    .map_err(|error| error.in_class(R::persist_name()))?;
            if unsaved > 0 {
                lost.insert(R::persist_name());
            }
            stored
        } else {
            resource.clone()
        };
        target.put_resource(stored)
    }

    /// Detaches the components of a class from the objects whose entities no longer have them.
    ///
    /// `count` is the number of components that were copied from the engine. If the mirror has just as many, no entity
    /// has lost one, and `has` is not called.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Target::detach`].
    pub fn sweep<S: Component>(
        &mut self,
        count: usize,
        mut has: impl FnMut(Entity) -> bool,
    ) -> Result<()> {
        if self.world().query::<&S>().count() == count {
            return Ok(());
        }
        let objects = self.world().query::<(ObjectId, &S)>().map(|(object, _)| object);
        let is_lost = |object: &ObjectId| !self.ids.entity(*object).is_some_and(&mut has);
        for object in objects.filter(is_lost).collect::<Vec<_>>() {
            self.target().detach::<S>(object)?;
        }
        Ok(())
    }
}

impl Mirror {
    /// Returns the content of a save: the world, with the unknown content of its load.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NoContent`] if there is no object and no resource, unless `allows_empty` is true.
    pub fn content(&self, allows_empty: bool) -> Result<&Loaded<World>> {
        let world = self.world();
        if !allows_empty && world.objects().len() == 0 && world.classes(None).is_empty() {
            return Err(Error::new(
                ErrorKind::NoContent,
                "no entity and no resource is to be saved, and the save would replace a good one by nothing; register \
                 what is to be saved, and mark its entities, or call `allow_empty`",
            ));
        }
        Ok(&self.target)
    }
}

/// Creates an empty mirror.
impl Default for Mirror {
    fn default() -> Self {
        Self::new(World::new().into(), Ids::default())
    }
}

/// Calls a function that copies components out of a world, with references translated to the entities of a table.
pub fn outward<R>(world: &World, ids: &mut Ids, run: impl FnOnce(&mut Copies<'_>) -> R) -> R {
    let (buffer, other) = (Buffer::new(), Buffer::new());
    let mut copies = Copies { world, buffer, other, lost: Lost::default() };
    translated(Mode::Out, ids, || run(&mut copies))
}

/// A report of lost references, and of unregistered components, for a load or for the warnings after a save.
#[derive(Clone, Debug, Default)]
pub struct Lost(LoadReport);

impl Lost {
    /// Adds a value with lost references, and its object if it is a component.
    pub fn add(&mut self, class: &str, detail: &str, object: Option<ObjectId>) {
        self.0.add(LoadEvent::Dangling, class, detail, object);
    }

    /// Adds a component type of saved entities that is not registered.
    pub fn add_unregistered(&mut self, name: &str) {
        self.0.add(LoadEvent::Unknown, name, "on saved entities", None);
    }

    /// Adds the components of a type in a mirror that have lost references.
    pub fn add_components<S: Component>(&mut self, world: &World) {
        if !S::persist_kind().may_hold_ids() {
            return;
        }
        let (mut buffer, mut class) = (Buffer::new(), None);
        for (object, component) in world.query::<(ObjectId, &S)>() {
            if has_lost(component, world, &mut buffer) {
                self.add(class.get_or_insert_with(S::persist_name), NOT_SAVED, Some(object));
            }
        }
    }

    /// Adds a resource of a mirror if it has lost references.
    pub fn add_resource<R: Persist + Pointee + Send>(&mut self, world: &World) {
        if R::persist_kind().may_hold_ids()
            && let Some(resource) = world.resource::<R>()
            && has_lost(resource, world, &mut Buffer::new())
        {
            self.add(&R::persist_name(), NOT_SAVED, None);
        }
    }

    /// Returns the rows of the report, one for each class.
    #[must_use]
    pub fn rows(&self) -> &[ReportRow] {
        self.0.rows()
    }

    /// Adds the rows to the report of a load.
    pub fn report_in(&self, report: &mut LoadReport) {
        for row in self.rows() {
            for _ in 0..row.count {
                let detail = row.detail.as_deref().unwrap_or_default();
                report.add(row.event, &row.class, detail, row.object);
            }
        }
    }
}

/// The detail of a row for a reference that became a placeholder entity.
const NOT_SAVED: &str = "leads to an entity that is not saved";

/// Returns whether a value of a mirror refers to entities that were not saved when it was copied, or are no longer.
fn has_lost<T: Persist>(value: &T, world: &World, buffer: &mut Buffer) -> bool {
    let mut is_encoded = false;
    let objects = found_objects(|| is_encoded = buffer.encode(value).is_ok());
    is_encoded && objects.iter().any(|object| object.is_dead() || !world.contains(*object))
}

/// Copies components out of a mirror, with their references translated to entities of the engine.
#[derive(Debug)]
pub struct Copies<'m> {
    world: &'m World,
    buffer: Buffer,
    other: Buffer,
    lost: Lost,
}

impl Copies<'_> {
    /// Returns the report of lost references, to add to it.
    pub fn lost(&mut self) -> &mut Lost {
        &mut self.lost
    }

    /// Takes the report of the lost references, and of the components that were left out because of them.
    pub fn take_lost(&mut self) -> Lost {
        std::mem::take(&mut self.lost)
    }

    /// Returns the mirrored world.
    #[must_use]
    pub fn world(&self) -> &World {
        self.world
    }

    /// Copies the component of an object, if the object has one of that type.
    ///
    /// `holds_ids` is the result of [`may_hold_ids`](persist::reflect::Kind) for the stored type; it is a parameter
    /// because computing it for each component is slow. If `is_whole` returns false, the component is left out and
    /// reported.
    ///
    /// # Errors
    ///
    /// Returns an error if a component that holds entities cannot be decoded, and the errors of [`Form::restore`].
    pub fn component<T: 'static, F: Form<T>>(
        &mut self,
        object: ObjectId,
        holds_ids: bool,
        is_whole: impl FnOnce(&mut T) -> bool,
    ) -> Result<Option<T>> {
        let Some(stored) = self.world.get::<F::Stored>(object) else { return Ok(None) };
        let stored = if holds_ids {
            translate(stored, Mode::Out, &mut self.buffer)
        } else {
            Ok((F::copy(stored), 0))
        };
        let component = stored.and_then(|(stored, lost)| Ok((F::restore(stored)?, lost)));
        let (mut component, lost) =
            component.map_err(|error| located::<F::Stored>(error, object))?;
        if !is_whole(&mut component) {
            self.lost.add(
                &F::Stored::persist_name(),
                "left out, since what it leads to is not saved",
                Some(object),
            );
            return Ok(None);
        }
        if lost > 0 {
            self.lost.add(&F::Stored::persist_name(), NOT_SAVED, Some(object));
        }
        Ok(Some(component))
    }
}

impl Copies<'_> {
    /// Returns whether the component of an object differs from the component of its entity.
    ///
    /// Returns true if they cannot be compared.
    pub fn differs<T: 'static, F: Form<T>>(&mut self, object: ObjectId, component: &T) -> bool {
        let Some(stored) = self.world.get::<F::Stored>(object) else { return true };
        let Ok(ours) = self.buffer.encode(stored) else { return true };
        let other = &mut self.other;
        in_mode(Mode::In, || other.encode(&F::store(component)).map_or(true, |new| new != ours))
    }

    /// Returns whether the resource of the mirror differs from the resource of the engine.
    ///
    /// Returns true if they cannot be compared.
    pub fn resource_differs<R: Persist + Pointee + Send>(&mut self, resource: &R) -> bool {
        let Some(stored) = self.world.resource::<R>() else { return true };
        let Ok(ours) = self.buffer.encode(stored) else { return true };
        let other = &mut self.other;
        in_mode(Mode::In, || other.encode(resource).map_or(true, |theirs| theirs != ours))
    }

    /// Copies the resource of a type, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if a resource that holds entities cannot be decoded.
    pub fn resource<R: Persist + Pointee + Clone + Send>(&mut self) -> Result<Option<R>> {
        let Some(stored) = self.world.resource::<R>() else { return Ok(None) };
        if !R::persist_kind().may_hold_ids() {
            return Ok(Some(stored.clone()));
        }
        let (resource, lost) = translate(stored, Mode::Out, &mut self.buffer)
            .map_err(|error| error.in_class(R::persist_name()))?;
        if lost > 0 {
            self.lost.add(&R::persist_name(), NOT_SAVED, None);
        }
        Ok(Some(resource))
    }
}

#[cold]
fn located<S: Persist>(error: Error, object: ObjectId) -> Error {
    error.in_object(object.get()).in_class(S::persist_name())
}
