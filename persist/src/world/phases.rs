//! The life cycle: when the methods of components run.

use std::any::TypeId;
use std::mem;

use super::column::{Column, Page};
use super::directory::Location;
use super::object::{Activity, Shapes};
use super::stored::StoredWorld;
use super::world::{
    AnyComponent, Component, ComponentType, Context, DeferredChange, FramePhase, ParkedObject,
    World,
};
use crate::ObjectId;
use crate::codec::TypeSet;
use crate::reflect::Class;
use crate::sorting::sort;

impl ComponentType {
    pub(super) fn of<T: Component>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            name: T::persist_name,
            is_leaf: T::__LEAF,
            holds_world: || {
                let mut types = TypeSet::default();
                T::__reach(&mut types);
                types
                    .classes
                    .iter()
                    .any(|(class, _)| Class::type_id(class) == TypeId::of::<StoredWorld>())
            },
            new_column: || Box::new(Column::<T>::default()),
            run: run_hook::<T>,
            release: |world, column, object, component| {
                if let Ok(component) = component.downcast::<T>() {
                    run_release(world, column, object, *component);
                }
            },
            register: World::register_component::<T>,
            make: |registry| Ok(Box::new(registry.prototypes().object::<T>()?)),
        }
    }
}

impl<T: Component> AnyComponent for T {
    fn __component_type(&self) -> ComponentType {
        ComponentType::of::<T>()
    }
}

/// Starts the components that have not been started, until there are none that can be.
fn start_waiting(world: &mut World, step: f64) {
    while !world.waiting.is_empty() {
        let mut waiting = mem::take(&mut world.waiting);
        sort(&mut waiting);
        waiting.dedup();
        for (at, object) in waiting.iter().copied().enumerate() {
            let Some(found) = world.object_mut(object) else { continue };
            // It waits again when it is held no longer.
            if found.is_held {
                continue;
            }
            let started = found.started;
            let columns = world.shape_of(object);
            // If one panics, those behind it are started by the next update.
            let mut rest = StartGuard { world, waiting: &waiting[at..] };
            for column in columns.iter().skip(started.into()).copied() {
                match rest.world.object_mut(object) {
                    Some(found) if !found.is_held => found.started += 1,
                    // It may have paused itself.
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
    let wanted = world.shapes.any(|column| world.columns[column].hooks & phase.bit() != 0);
    if !wanted.contains(&true) {
        return;
    }
    // What is there stays there until the phase ends.
    for page in 0..world.directory.len() {
        let Some(bits) = world.objects.page(page).map(Page::bits) else { continue };
        for bit in bits {
            let found = world.objects.get(Location { page, bit });
            let Some(found) = found.filter(|found| {
                wanted.get(Shapes::index(found.shape)).is_some_and(|wanted| *wanted)
                    && !found.is_held
            }) else {
                continue;
            };
            let (columns, started) = (world.shapes.share(found.shape), found.started);
            let Some(object) = world.directory.id(page, bit) else { continue };
            for column in columns.iter().take(started.into()) {
                run_one(world, *column, object, phase, step);
                // It may have paused itself, or put another world in place of this one.
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

/// Runs a method of the component of an object, which is out of its place meanwhile.
pub(super) fn run_hook<T: Component>(
    world: &mut World,
    column: usize,
    object: ObjectId,
    phase: FramePhase,
    step: f64,
) {
    let Some(location) = world.directory.location(object) else { return };
    let column_of = world.columns[column].typed_mut::<T>();
    let Some(component) = column_of.and_then(|column| column.take(location)) else { return };
    world.running += 1;
    let mut running = Running { world, column, object, component: Some(component) };
    running.run(phase, step);
}

pub(super) fn run_release<T: Component>(
    world: &mut World,
    column: usize,
    object: ObjectId,
    mut component: T,
) {
    world.running += 1;
    let running = Running::<T> { world, column, object, component: None };
    let mut context = Context { world: &mut *running.world, object, step: 0.0, column };
    component.on_release(&mut context);
}

/// Releases those components of an object that may have something to do then.
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

/// Releases every component, of parked objects and of changes that wait, too.
pub(super) fn release_all(world: &mut World) {
    world.is_dropped = true;
    world.running += 1;
    // Most worlds have no such method, which is known after the first of each type.
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
    let mut parked: Vec<ObjectId> = world.parked.keys().copied().collect();
    sort(&mut parked);
    parked.into_iter().for_each(|object| world.discard(object));
    while let Some(command) = world.commands.pop_front() {
        match command {
            DeferredChange::Attach(object, column, component) => {
                world.release(object, column, component);
            }
            DeferredChange::Place(objects) => {
                for ParkedObject { id, components, .. } in objects {
                    for (column, component) in components {
                        world.release(id, column, component);
                    }
                }
            }
            _ => {}
        }
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
    // One by one: if a component panics, the rest is removed by the next update.
    while let Some(object) = world.expired.front().copied() {
        // It may have been resumed or parked.
        if world.activity(object) == Some(Activity::Expired) {
            world.remove(object);
        }
        world.expired.pop_front();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        release_all(self);
    }
}

/// A component out of its place; it goes back whatever happens.
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
        let context = &mut Context { world: &mut *self.world, object, step, column };
        match phase {
            FramePhase::Start => component.on_start(context),
            FramePhase::PreUpdate => component.on_pre_update(context),
            FramePhase::Update => component.on_update(context),
            FramePhase::PostUpdate => component.on_post_update(context),
            FramePhase::Release => component.on_release(context),
        }
    }
}

impl<T: Component> Drop for Running<'_, T> {
    fn drop(&mut self) {
        // The method may have put another world in place of the one that it was given, in which none runs.
        let Some(running) = self.world.running.checked_sub(1) else { return };
        self.world.running = running;
        let column = self.world.columns.get_mut(self.column);
        let column = column.and_then(|entry| entry.typed_mut::<T>());
        if let (Some(component), Some(column)) = (self.component.take(), column)
            && let Some(location) = self.world.directory.location(self.object)
        {
            column.insert(location, component);
        }
    }
}

/// Objects that are still to be started if one of them panics.
struct StartGuard<'w, 'o> {
    world: &'w mut World,
    waiting: &'o [ObjectId],
}

impl Drop for StartGuard<'_, '_> {
    fn drop(&mut self) {
        self.world.waiting.extend_from_slice(self.waiting);
    }
}
