//! The life cycle: when the methods of components run.

use std::mem;

use super::World;
use super::column::{Column, Page};
use super::commands::Command;
use super::component::{Component, Context, Phase};
use super::directory::Place;
use super::object::{Activity, Shapes};
use super::parked::ParkedObject;
use crate::ObjectId;

impl World {
    /// Runs one frame: starts what has not been started, then runs [`on_pre_update`](Component::on_pre_update) of all
    /// components, then [`on_update`](Component::on_update), then [`on_post_update`](Component::on_post_update), and removes
    /// the objects that have [expired](Activity::Expired). `step` is what the components get from [`Context::step`], mostly seconds.
    ///
    /// Objects come in the order in which they were made, and the components of each in that in which they were
    /// attached. What components make, attach, detach and remove is so at the end of the phase, in that order.
    ///
    /// A panic of a component leaves the world whole, and the rest of the frame undone. While a component's method
    /// runs, nothing is updated.
    pub fn update(&mut self, step: f64) {
        if self.is_running() {
            return;
        }
        self.flush();
        for phase in [Phase::PreUpdate, Phase::Update, Phase::PostUpdate] {
            self.start_waiting(step);
            self.run_phase(phase, step);
            self.flush();
        }
        // One by one: if a component panics, the rest is removed by the next update.
        while let Some(object) = self.expired.front().copied() {
            // It may have been resumed or parked.
            if self.activity(object) == Some(Activity::Expired) {
                self.remove(object);
            }
            self.expired.pop_front();
        }
    }

    /// Starts the components that have not been started, until there are none that can be.
    fn start_waiting(&mut self, step: f64) {
        while !self.waiting.is_empty() {
            let mut waiting = mem::take(&mut self.waiting);
            waiting.sort_unstable();
            waiting.dedup();
            for (at, object) in waiting.iter().copied().enumerate() {
                let Some(found) = self.object_mut(object) else { continue };
                // It waits again when it is held no longer.
                if found.is_held {
                    continue;
                }
                let started = found.started;
                let columns = self.shape_of(object);
                // If one panics, those behind it are started by the next update.
                let mut rest = Rest { world: self, waiting: &waiting[at..] };
                for column in columns.iter().skip(started.into()).copied() {
                    match rest.world.object_mut(object) {
                        Some(found) if !found.is_held => found.started += 1,
                        // It may have paused itself.
                        _ => break,
                    }
                    rest.world.run_one(column, object, Phase::Start, step);
                }
                rest.waiting = &[];
            }
            self.flush();
        }
    }

    fn run_phase(&mut self, phase: Phase, step: f64) {
        let wanted = self.shapes.any(|column| self.columns[column].hooks & phase.bit() != 0);
        if !wanted.contains(&true) {
            return;
        }
        // What is there stays there until the phase ends.
        for page in 0..self.directory.len() {
            let Some(bits) = self.objects.page(page).map(Page::bits) else { continue };
            for bit in bits {
                let found = self.objects.get(Place { page, bit });
                let Some(found) = found.filter(|found| {
                    wanted.get(Shapes::index(found.shape)).is_some_and(|wanted| *wanted)
                        && !found.is_held
                }) else {
                    continue;
                };
                let (columns, started) = (self.shapes.share(found.shape), found.started);
                let Some(object) = self.directory.id(page, bit) else { continue };
                for column in columns.iter().take(started.into()) {
                    self.run_one(*column, object, phase, step);
                    // It may have paused itself, or put another world in place of this one.
                    let found = self.objects.get(Place { page, bit });
                    if found.is_none_or(|found| found.is_held) {
                        break;
                    }
                }
            }
        }
    }

    #[inline]
    fn run_one(&mut self, column: usize, object: ObjectId, phase: Phase, step: f64) {
        let of = self.columns.get(column).filter(|entry| entry.hooks & phase.bit() != 0);
        if let Some(run) = of.map(|entry| entry.of.run) {
            run(self, column, object, phase, step);
        }
    }

    /// Runs a method of the component of an object, which is out of its place meanwhile.
    pub(super) fn run_hook<T: Component>(
        &mut self,
        column: usize,
        object: ObjectId,
        phase: Phase,
        step: f64,
    ) {
        let Some(place) = self.directory.place(object) else { return };
        let entry = self.columns[column].column.as_any_mut().downcast_mut::<Column<T>>();
        let Some(component) = entry.and_then(|column| column.take(place)) else { return };
        self.running += 1;
        let mut running = Running { world: self, column, object, component: Some(component) };
        running.run(phase, step);
    }

    /// Runs the last method of a component.
    pub(super) fn run_release<T: Component>(
        &mut self,
        column: usize,
        object: ObjectId,
        mut component: T,
    ) {
        self.running += 1;
        let running = Running::<T> { world: self, column, object, component: None };
        let mut context = Context { world: &mut *running.world, object, step: 0.0, column };
        component.on_release(&mut context);
    }

    /// Notes that a type does not have a method.
    pub(super) fn forget_hook(&mut self, column: usize, phase: Phase) {
        if let Some(entry) = self.columns.get_mut(column) {
            entry.hooks &= !phase.bit();
        }
    }

    /// Releases those components of an object that may have something to do then.
    fn release_components(&mut self, object: ObjectId) {
        for column in self.shape_of(object).iter().copied() {
            if self.columns[column].hooks & Phase::Release.bit() == 0 {
                continue;
            }
            if let Some(component) = self.take_out(object, column) {
                self.release(object, column, component);
            }
        }
    }

    /// Releases every component, of parked objects and of changes that wait, too.
    pub(super) fn release_all(&mut self) {
        self.is_dropped = true;
        self.running += 1;
        // Most worlds have no such method, which is known after the first of each type.
        let is_released = |world: &Self| {
            world.columns.iter().any(|entry| entry.hooks & Phase::Release.bit() != 0)
        };
        'objects: for page in 0..self.directory.len() {
            let Some(bits) = self.objects.page(page).map(Page::bits) else { continue };
            for bit in bits {
                if !is_released(self) {
                    break 'objects;
                }
                let Some(object) = self.directory.id(page, bit) else { continue };
                self.release_components(object);
            }
        }
        while let Some((parked, _)) = self.parked.first_key_value() {
            self.discard(*parked);
        }
        while let Some(command) = self.commands.pop_front() {
            match command {
                Command::Attach(object, column, component) => {
                    self.release(object, column, component);
                }
                Command::Place(objects) => {
                    for ParkedObject { id, components, .. } in objects {
                        for (column, component) in components {
                            self.release(id, column, component);
                        }
                    }
                }
                _ => {}
            }
        }
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
    fn run(&mut self, phase: Phase, step: f64) {
        let Some(component) = &mut self.component else { return };
        let (object, column) = (self.object, self.column);
        let context = &mut Context { world: &mut *self.world, object, step, column };
        match phase {
            Phase::Start => component.on_start(context),
            Phase::PreUpdate => component.on_pre_update(context),
            Phase::Update => component.on_update(context),
            Phase::PostUpdate => component.on_post_update(context),
            Phase::Release => component.on_release(context),
        }
    }
}

impl<T: Component> Drop for Running<'_, T> {
    fn drop(&mut self) {
        // The method may have put another world in place of the one that it was given, in which none runs.
        let Some(running) = self.world.running.checked_sub(1) else { return };
        self.world.running = running;
        if let Some(component) = self.component.take() {
            self.world.put(self.column, self.object, component);
        }
    }
}

/// Objects that are still to be started if one of them panics.
struct Rest<'w, 'o> {
    world: &'w mut World,
    waiting: &'o [ObjectId],
}

impl Drop for Rest<'_, '_> {
    fn drop(&mut self) {
        self.world.waiting.extend_from_slice(self.waiting);
    }
}
