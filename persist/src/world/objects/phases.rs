//! The life cycle of components: when their methods run.

use std::any::TypeId;
use std::mem;

use crate::ObjectId;
use crate::codec::Generic;
use crate::codec::TypeSet;
use crate::reflect::Class;
use crate::sorting::sort;
use crate::world::column::{Column, Page};
use crate::world::component::{AnyComponent, Component};
use crate::world::stored::StoredWorld;
use crate::world::{Activity, Shapes};
use crate::world::{
    ComponentScope, ComponentType, DeferredChange, FramePhase, Location, ParkedObject, World,
};

impl ComponentType {
    pub(super) fn new<T: Component>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            name: T::persist_name,
            is_leaf: T::LEAF,
            reach: T::__reach,
            new_column: || Box::new(Column::<T>::default()),
            run: run_hook::<T>,
            release: |world, column, object, component| {
                if let Ok(component) = component.downcast::<T>() {
                    run_release(world, column, object, *component);
                }
            },
            register: World::register_component_in::<T>,
            make: |registry| Ok(Box::new(registry.prototypes().object::<T>()?)),
        }
    }

    /// Returns the types that the type reaches.
    pub(in crate::world) fn types(self) -> TypeSet {
        let mut types = TypeSet::default();
        (self.reach)(&mut types);
        types
    }

    /// Returns true if a value may hold a world, which has ids of its own.
    pub(in crate::world) fn holds_world(self) -> bool {
        let is_world = |class: &Class| Class::type_id(class) == TypeId::of::<StoredWorld>();
        self.types().classes.iter().any(|(class, _)| is_world(class))
    }
}

impl<T: Component> AnyComponent for T {
    fn __component_type(&self) -> ComponentType {
        ComponentType::new::<T>()
    }
}

/// Starts the components that have not been started. Starting may attach further components, so it repeats until there
/// are none left.
fn start_waiting(world: &mut World, step: f64) {
    while !world.deferred.waiting.is_empty() {
        let mut waiting = mem::take(&mut world.deferred.waiting);
        sort(&mut waiting);
        waiting.dedup();
        for (at, object) in waiting.iter().copied().enumerate() {
            let Some(found) = world.object_mut(object) else { continue };
            // A held object is added to the waiting ones again when it becomes active.
            if found.is_held {
                continue;
            }
            let started = found.started;
            let columns = world.shape_of(object);
            // If a component panics, the next update starts the remaining ones.
            let mut rest = StartGuard { world, waiting: &waiting[at..] };
            for column in columns.iter().skip(started.into()).copied() {
                match rest.world.object_mut(object) {
                    Some(found) if !found.is_held => found.started += 1,
                    // The previous component may have paused or removed the object.
                    _ => break,
                }
                run_one(rest.world, column, object, FramePhase::Start, step);
            }
            rest.waiting = &[];
        }
        world.flush();
    }
}

fn run_phase(world: &mut World, phase: FramePhase, step: f64) {
    let relevant = world.shapes.any(|column| world.columns[column].hooks & phase.bit() != 0);
    if !relevant.contains(&true) {
        return;
    }
    // Objects are added and removed only at the end of the phase, so places do not change during the loop.
    for page in 0..world.directory.len() {
        let Some(bits) = world.objects.page(page).map(Page::bits) else { continue };
        for bit in bits {
            let found = world.objects.get(Location { page, bit });
            let Some(found) = found.filter(|found| {
                relevant.get(Shapes::index(found.shape)).is_some_and(|relevant| *relevant)
                    && !found.is_held
            }) else {
                continue;
            };
            let (columns, started) = (world.shapes.share(found.shape), found.started);
            let Some(object) = world.directory.id(page, bit) else { continue };
            for column in columns.iter().take(started.into()) {
                run_one(world, *column, object, phase, step);
                // The method may have paused the object, or assigned another world to `scope.world`.
                let found = world.objects.get(Location { page, bit });
                if found.is_none_or(|found| found.is_held) {
                    break;
                }
            }
        }
    }
}

#[inline]
fn run_one(world: &mut World, column: usize, object: ObjectId, phase: FramePhase, step: f64) {
    let of = world.columns.get(column).filter(|entry| entry.hooks & phase.bit() != 0);
    if let Some(run) = of.map(|entry| entry.of.run) {
        run(world, column, object, phase, step);
    }
}

/// Runs a method of a component, which is taken out of its column meanwhile.
fn run_hook<T: Component>(
    world: &mut World,
    column: usize,
    object: ObjectId,
    phase: FramePhase,
    step: f64,
) {
    let Some(location) = world.directory.location(object) else { return };
    let column_of = world.columns[column].typed_mut::<T>();
    let Some(component) = column_of.and_then(|column| column.take(location)) else { return };
    world.deferred.running += 1;
    let mut running = Running { world, column, object, component: Some(component) };
    running.run(phase, step);
}

fn run_release<T: Component>(world: &mut World, column: usize, object: ObjectId, mut component: T) {
    world.deferred.running += 1;
    let running = Running::<T> { world, column, object, component: None };
    let mut scope = ComponentScope { world: &mut *running.world, object, step: 0.0, column };
    component.on_release(&mut scope);
}

/// Releases the components of an object that may have an `on_release` method.
fn release_components(world: &mut World, object: ObjectId) {
    for column in world.shape_of(object).iter().copied() {
        if world.columns[column].hooks & FramePhase::Release.bit() == 0 {
            continue;
        }
        if let Some(component) = world.take_out(object, column) {
            world.release(object, column, component);
        }
    }
}

/// Releases all components, including those of parked objects and of deferred changes.
fn release_all(world: &mut World) {
    world.deferred.is_dropped = true;
    world.deferred.running += 1;
    // Most worlds have no `on_release` methods. This is known once the default method of each type has run.
    let is_released = |world: &World| {
        world.columns.iter().any(|entry| entry.hooks & FramePhase::Release.bit() != 0)
    };
    'objects: for page in 0..world.directory.len() {
        let Some(bits) = world.objects.page(page).map(Page::bits) else { continue };
        for bit in bits {
            if !is_released(world) {
                break 'objects;
            }
            let Some(object) = world.directory.id(page, bit) else { continue };
            release_components(world, object);
        }
    }
    let mut parked: Vec<ObjectId> = world.parking.parked.keys().copied().collect();
    sort(&mut parked);
    parked.into_iter().for_each(|object| world.discard(object));
    while let Some(command) = world.deferred.commands.pop_front() {
        match command {
            DeferredChange::Attach(object, column, component) => {
                world.release(object, column, component);
            }
            DeferredChange::Place(part) => {
                let objects = world.adopt_objects(part);
                objects.into_iter().for_each(|object| release_copy(world, object));
            }
            DeferredChange::PlaceCopies(objects) => {
                objects.into_iter().for_each(|(object, _)| release_copy(world, object));
            }
            _ => {}
        }
    }
}

fn release_copy(world: &mut World, ParkedObject { id, components, .. }: ParkedObject) {
    for (column, component) in components {
        world.release(id, column, component);
    }
}

pub(super) fn update(world: &mut World, step: f64) {
    if world.is_running() {
        return;
    }
    world.flush();
    for phase in [FramePhase::PreUpdate, FramePhase::Update, FramePhase::PostUpdate] {
        start_waiting(world, step);
        run_phase(world, phase, step);
        world.flush();
    }
    // An object leaves the queue after its removal: if a component panics, the next update removes the rest.
    while let Some(object) = world.deferred.expired.front().copied() {
        // The object may have been resumed or parked since.
        if world.activity(object) == Some(Activity::Expired) {
            world.remove(object);
        }
        world.deferred.expired.pop_front();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        release_all(self);
    }
}

/// A component whose method is running. `drop` puts it back into its column, also after a panic.
struct Running<'w, T: Component> {
    world: &'w mut World,
    column: usize,
    object: ObjectId,
    component: Option<T>,
}

impl<T: Component> Running<'_, T> {
    fn run(&mut self, phase: FramePhase, step: f64) {
        let Some(component) = &mut self.component else { return };
        let (object, column) = (self.object, self.column);
        let scope = &mut ComponentScope { world: &mut *self.world, object, step, column };
        match phase {
            FramePhase::Start => component.on_start(scope),
            FramePhase::PreUpdate => component.on_pre_update(scope),
            FramePhase::Update => component.on_update(scope),
            FramePhase::PostUpdate => component.on_post_update(scope),
            FramePhase::Release => component.on_release(scope),
        }
    }
}

impl<T: Component> Drop for Running<'_, T> {
    fn drop(&mut self) {
        // The method may have assigned another world to `scope.world`, in which no method is running.
        let Some(running) = self.world.deferred.running.checked_sub(1) else { return };
        self.world.deferred.running = running;
        let column = self.world.columns.get_mut(self.column);
        let column = column.and_then(|entry| entry.typed_mut::<T>());
        if let (Some(component), Some(column)) = (self.component.take(), column)
            && let Some(location) = self.world.directory.location(self.object)
        {
            column.insert(location, component);
        }
    }
}

/// Puts the objects that have not been started back into the queue, if a component panics.
struct StartGuard<'w, 'o> {
    world: &'w mut World,
    waiting: &'o [ObjectId],
}

impl Drop for StartGuard<'_, '_> {
    fn drop(&mut self) {
        self.world.deferred.waiting.extend_from_slice(self.waiting);
    }
}
