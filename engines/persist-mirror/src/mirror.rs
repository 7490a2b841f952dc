//! The world that mirrors one of an engine, and how components come into it and out of it.

use std::collections::BTreeSet;

use persist::codec::{Buffer, Pointee};
use persist::save::{LoadEvent, LoadReport, ReportRow};
use persist::{Component, Error, ErrorKind, Loaded, ObjectId, Persist, Result, World};

use crate::entities::{Way, found_objects, translated, turned};
use crate::form::translate;
use crate::{Entity, Form, Ids, Target};

/// A world that mirrors the one of an engine, with the unknown content of the save that it was loaded from.
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
    /// Classes whose values were copied with references to entities that are not saved.
    lost: BTreeSet<String>,
}

impl<W: Target> Mirror<W> {
    /// A mirror of what was loaded. Its objects have no entities but for those in the table; see [`pair`](Self::pair).
    #[must_use]
    pub fn new(target: W, ids: Ids) -> Self {
        Self { target, ids, buffer: Buffer::new(), writes: 0, lost: BTreeSet::new() }
    }

    /// The table.
    #[must_use]
    pub fn into_ids(self) -> Ids {
        self.ids
    }

    /// The world.
    #[must_use]
    pub fn world(&self) -> &World {
        self.target.world()
    }

    /// The world or edit, for what is not mirrored, such as resources.
    pub fn target(&mut self) -> &mut W {
        self.writes += 1;
        &mut self.target
    }

    /// How often something was written. Two equal counts of one mirror mean that nothing was between them.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// The classes whose values were copied with references to entities that are not saved, since the last call.
    pub fn take_lost(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.lost)
    }

    /// Which object stands for which entity.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Says which entity an object of a loaded world stands for.
    pub fn pair(&mut self, object: ObjectId, entity: Entity) {
        self.ids.insert(object, entity);
    }

    /// The object of an entity, which is spawned if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Target::spawn`].
    pub fn object(&mut self, entity: Entity) -> Result<ObjectId> {
        if let Some(object) = self.ids.object(entity) {
            return Ok(object);
        }
        let object = self.target().spawn()?;
        self.ids.insert(object, entity);
        Ok(object)
    }

    /// Removes the objects of entities that are gone; true if there were any. What was below one of them, and is still there,
    /// has no parent then.
    ///
    /// # Errors
    ///
    /// Those of [`Target::remove`].
    pub fn retain(&mut self, mut is_there: impl FnMut(Entity) -> bool) -> Result<bool> {
        let gone = self.ids.iter().filter(|(_, entity)| !is_there(*entity));
        let mut gone: Vec<ObjectId> = gone.map(|(object, _)| object).collect();
        // Equal edits are recorded alike.
        gone.sort_unstable();
        for object in &gone {
            self.ids.remove(*object);
        }
        let is_any_gone = !gone.is_empty();
        for object in gone {
            for child in self.world().children(object).to_vec() {
                if self.ids.entity(child).is_some() {
                    self.target().set_parent_at(child, None, usize::MAX)?;
                }
            }
            self.target().remove(object)?;
        }
        Ok(is_any_gone)
    }

    /// Copies components of one type into the objects of their entities; returns how many there were. Components of
    /// entities without an object are left out.
    ///
    /// # Errors
    ///
    /// Those of [`World::attach`]; what a component refuses that holds entities and is stored for this.
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
        translated(Way::In, ids, || {
            components.iter().try_for_each(|(object, component)| {
                let (stored, unsaved) = translate(&F::store(component), Way::In, buffer)
                    .map_err(|error| located::<F::Stored>(error, *object))?;
                if unsaved > 0 {
                    lost.insert(F::Stored::persist_name());
                }
                target.put(*object, stored)
            })
        })?;
        Ok(components.len())
    }

    /// Copies a resource.
    ///
    /// # Errors
    ///
    /// Those of [`World::insert_resource`], and those of [`copy`](Self::copy).
    pub fn copy_resource<R: Persist + Pointee + Clone + Send>(
        &mut self,
        resource: &R,
    ) -> Result<()> {
        let Self { target, ids, buffer, writes, lost } = self;
        *writes += 1;
        let stored = if R::persist_kind().may_hold_ids() {
            let (stored, unsaved) =
                translated(Way::In, ids, || translate(resource, Way::In, buffer))
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

    /// Detaches the components of a class from the objects whose entities have lost them. If the engine has `count` of
    /// them, and all are copied, none has.
    ///
    /// # Errors
    ///
    /// Those of [`Target::detach`].
    pub fn sweep<S: Component>(
        &mut self,
        count: usize,
        mut has: impl FnMut(Entity) -> bool,
    ) -> Result<()> {
        if self.world().query::<&S>().count() == count {
            return Ok(());
        }
        let objects = self.world().query::<(ObjectId, &S)>().map(|(object, _)| object);
        let is_gone = |object: &ObjectId| !self.ids.entity(*object).is_some_and(&mut has);
        for object in objects.filter(is_gone).collect::<Vec<_>>() {
            self.target().detach::<S>(object)?;
        }
        Ok(())
    }
}

impl Mirror {
    /// What is saved: the world, with the unknown content of its load.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NoContent`] if there is no object and no resource, unless that is allowed.
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

/// The mirror of a world that was not loaded.
impl Default for Mirror {
    fn default() -> Self {
        Self::new(World::new().into(), Ids::default())
    }
}

/// Calls a function that copies components out of a world, with the entities of a table.
pub fn outward<R>(world: &World, ids: &mut Ids, run: impl FnOnce(&mut Copies<'_>) -> R) -> R {
    let (buffer, other) = (Buffer::new(), Buffer::new());
    let mut copies = Copies { world, buffer, other, lost: Lost::default() };
    translated(Way::Out, ids, || run(&mut copies))
}

/// References that lead nowhere, as a load or a warning at the save reports them.
#[derive(Clone, Debug, Default)]
pub struct Lost(LoadReport);

impl Lost {
    /// Adds one value, whose object it is if it has one.
    pub fn add(&mut self, class: &str, detail: &str, object: Option<ObjectId>) {
        self.0.add(LoadEvent::Dangling, class, detail, object);
    }

    /// Adds a component type of saved entities that is not registered.
    pub fn add_unregistered(&mut self, name: &str) {
        self.0.add(LoadEvent::Unknown, name, "on saved entities", None);
    }

    /// Adds the values of a component type in a mirror that have such references.
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

    /// Adds a resource of a mirror if it has such references.
    pub fn add_resource<R: Persist + Pointee + Send>(&mut self, world: &World) {
        if R::persist_kind().may_hold_ids()
            && let Some(resource) = world.resource::<R>()
            && has_lost(resource, world, &mut Buffer::new())
        {
            self.add(&R::persist_name(), NOT_SAVED, None);
        }
    }

    /// The rows: one for each class.
    #[must_use]
    pub fn rows(&self) -> &[ReportRow] {
        self.0.rows()
    }

    /// Enters them in the report of a load.
    pub fn report_in(&self, report: &mut LoadReport) {
        for row in self.rows() {
            for _ in 0..row.count {
                let detail = row.detail.as_deref().unwrap_or_default();
                report.add(row.event, &row.class, detail, row.object);
            }
        }
    }
}

/// What is wrong with a value in whose place there is another one.
const NOT_SAVED: &str = "leads to an entity that is not saved";

/// Whether a value of a mirror has references to entities that are not saved, or that were no longer saved after it was
/// copied.
fn has_lost<T: Persist>(value: &T, world: &World, buffer: &mut Buffer) -> bool {
    let mut is_encoded = false;
    let objects = found_objects(|| is_encoded = buffer.encode(value).is_ok());
    is_encoded && objects.iter().any(|object| object.is_dead() || !world.contains(*object))
}

/// Copies components out of a mirror, with entities of the engine.
#[derive(Debug)]
pub struct Copies<'m> {
    world: &'m World,
    buffer: Buffer,
    other: Buffer,
    lost: Lost,
}

impl Copies<'_> {
    /// Notes what references were lost.
    pub fn lost(&mut self) -> &mut Lost {
        &mut self.lost
    }

    /// The references that led nowhere, and what was left out for that.
    pub fn take_lost(&mut self) -> Lost {
        std::mem::take(&mut self.lost)
    }

    /// The world.
    #[must_use]
    pub fn world(&self) -> &World {
        self.world
    }

    /// The component of an object, if it has one of that type; `holds_ids` is what [`may_hold_ids`](persist::reflect::Kind)
    /// says of what is stored, and too slow to be asked for each. `is_whole` is asked whether it is left out.
    ///
    /// # Errors
    ///
    /// What a component refuses that holds entities and is restored for this; what [`Form::restore`] refuses.
    pub fn component<T: 'static, F: Form<T>>(
        &mut self,
        object: ObjectId,
        holds_ids: bool,
        is_whole: impl FnOnce(&mut T) -> bool,
    ) -> Result<Option<T>> {
        let Some(stored) = self.world.get::<F::Stored>(object) else { return Ok(None) };
        let stored = if holds_ids {
            translate(stored, Way::Out, &mut self.buffer)
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
    /// Whether the component of an object is another one than that of its entity. It is, if the two cannot be compared.
    pub fn differs<T: 'static, F: Form<T>>(&mut self, object: ObjectId, component: &T) -> bool {
        let Some(stored) = self.world.get::<F::Stored>(object) else { return true };
        let Ok(ours) = self.buffer.encode(stored) else { return true };
        let other = &mut self.other;
        turned(Way::In, || other.encode(&F::store(component)).map_or(true, |theirs| theirs != ours))
    }

    /// Whether the resource of a type is another one than that of the engine. It is, if the two cannot be compared.
    pub fn resource_differs<R: Persist + Pointee + Send>(&mut self, resource: &R) -> bool {
        let Some(stored) = self.world.resource::<R>() else { return true };
        let Ok(ours) = self.buffer.encode(stored) else { return true };
        let other = &mut self.other;
        turned(Way::In, || other.encode(resource).map_or(true, |theirs| theirs != ours))
    }

    /// The resource of a type, if there is one.
    ///
    /// # Errors
    ///
    /// What a resource refuses that holds entities and is restored for this.
    pub fn resource<R: Persist + Pointee + Clone + Send>(&mut self) -> Result<Option<R>> {
        let Some(stored) = self.world.resource::<R>() else { return Ok(None) };
        if !R::persist_kind().may_hold_ids() {
            return Ok(Some(stored.clone()));
        }
        let (resource, lost) = translate(stored, Way::Out, &mut self.buffer)
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
