//! Steps that another program recorded, as steps of this one.
//!
//! A step of a field has that field alone, while a plan takes a whole record: a migration may make one field of two. So the component is followed
//! as that program stored it. The journal has it when it is changed first, and again after everything that changes
//! components other than steps of fields. Both versions, before and after a step, are migrated; where they differ is what
//! the step does here.

use std::collections::{HashMap, HashSet};

use super::programs::Classes;
use super::stored::{StoredStep, wrong};
use crate::history::world::{Moment, StoredChange, StoredField, StoredWorldStep, Way};
use crate::world::changed;
use crate::{ObjectId, Result, World};

/// A component of an object, or a resource, by its class where it was recorded.
pub(super) type Key = (Option<ObjectId>, String);

/// What components and resources were where they were recorded.
#[derive(Default)]
pub(super) struct Contents {
    /// At the point that a replay has come to.
    known: HashMap<Key, Vec<u8>>,
    /// After the edit that comes next.
    next: HashMap<Key, Vec<u8>>,
}

impl Contents {
    /// Notes what something is after the edit that comes next.
    pub(super) fn enter(&mut self, key: Key, bytes: Vec<u8>) {
        self.next.insert(key, bytes);
    }

    /// Forgets all, after a change of components other than by steps of fields.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// Brings the steps of an edit on.
    pub(super) fn bring_on(
        &mut self,
        steps: &mut [StoredStep],
        classes: &mut Classes<'_>,
        world: &World,
    ) -> Result<()> {
        let mut next = std::mem::take(&mut self.next);
        let behind = next.clone();
        // Classes may have other names in steps that have been brought on.
        let mut keys = HashSet::new();
        for step in &*steps {
            step.each(&mut |step| {
                keys.extend(step.class()?.map(|class| (step.object, class)));
                Ok(())
            })?;
        }
        let goes_forth = |key: &Key| self.known.contains_key(key) && !behind.contains_key(key);
        let (forth, back): (HashSet<Key>, HashSet<Key>) = keys.into_iter().partition(goes_forth);
        let (contents, moment) = (&mut self.known, Moment::Done);
        let mut run = Evolution { classes, world, contents, moment };
        run.all(steps, Way::Forth, &|key| forth.contains(key))?;
        run.contents = &mut next;
        run.all(steps, Way::Back, &|key| back.contains(key))?;
        self.known.extend(behind);
        Ok(())
    }

    /// Migrates the steps of the entries that a journal begins with; those before a position are applied.
    pub(super) fn bring_on_entries<'s>(
        &mut self,
        entries: impl DoubleEndedIterator<Item = &'s mut [StoredStep]> + ExactSizeIterator,
        position: usize,
        classes: &mut Classes<'_>,
        world: &World,
    ) -> Result<()> {
        let now = std::mem::take(&mut self.next);
        let mut entries: Vec<&mut [StoredStep]> = entries.collect();
        let count = entries.len();
        let (applied, undone) = entries.split_at_mut(position.min(count));
        let mut contents = now.clone();
        let moment = Moment::Applied;
        let mut run = Evolution { classes, world, contents: &mut contents, moment };
        for steps in applied.iter_mut().rev() {
            run.all(steps, Way::Back, &|_| true)?;
        }
        let mut contents = now.clone();
        run.contents = &mut contents;
        run.moment = Moment::Undone;
        for steps in undone {
            run.all(steps, Way::Forth, &|_| true)?;
        }
        self.known = now;
        Ok(())
    }
}

struct Evolution<'e, 'p> {
    classes: &'e mut Classes<'p>,
    world: &'e World,
    /// What is known at the current step: before it, or after it.
    contents: &'e mut HashMap<Key, Vec<u8>>,
    moment: Moment,
}

impl Evolution<'_, '_> {
    /// Migrates the steps that are about one of these.
    fn all(
        &mut self,
        steps: &mut [StoredStep],
        way: Way,
        is_it: &dyn Fn(&Key) -> bool,
    ) -> Result<()> {
        let count = steps.len();
        for at in 0..count {
            let at = if way == Way::Back { count - 1 - at } else { at };
            match &mut steps[at] {
                // It is done anew by its own code.
                StoredStep::Command(command)
                    if command.is_direct && self.moment == Moment::Done => {}
                StoredStep::Command(command) => self.all(&mut command.further, way, is_it)?,
                StoredStep::World(step) => self.one(step, way, is_it)?,
            }
        }
        Ok(())
    }

    fn one(
        &mut self,
        step: &mut StoredWorldStep,
        way: Way,
        is_it: &dyn Fn(&Key) -> bool,
    ) -> Result<()> {
        let Some(class) = step.class()? else { return Ok(()) };
        let key = (step.object, class);
        if self.classes.is_same(&key.1) || !is_it(&key) {
            return Ok(());
        }
        if step.changed()?.is_some() {
            self.change(step, way, &key)
        } else {
            self.whole(step, way, key)
        }
    }

    /// A step of fields.
    fn change(&mut self, step: &mut StoredWorldStep, way: Way, key: &Key) -> Result<()> {
        let (number, name) = self.classes.known(&key.1)?;
        let stored = self.classes.stored()?;
        let Some(content) = self.contents.get_mut(key) else {
            return Err(wrong("a change without the value before it"));
        };
        let run = |bytes: &[u8], way: Way| -> Result<Vec<u8>> {
            step.byte_changes(way)?.into_iter().try_fold(bytes.to_vec(), |bytes, (path, change)| {
                changed((&stored, number), &bytes, &path, &change)
                    .map_err(|error| error.in_class(&*key.1))
            })
        };
        // A command may have changed what is known of it otherwise: the step has what it took away, and what it put there.
        let (before, behind);
        match way {
            Way::Forth => {
                behind = run(content, Way::Forth)?;
                before = run(&behind, Way::Back)?;
                content.clone_from(&behind);
            }
            Way::Back => {
                before = run(content, Way::Back)?;
                behind = run(&before, Way::Forth)?;
                content.clone_from(&before);
            }
        }
        let is_resource = key.0.is_none();
        let before = self.own(is_resource, number, &before)?;
        let behind = self.own(is_resource, number, &behind)?;
        let changes = self.world.changes_between(is_resource, name, &before, &behind)?;
        let fields = changes.into_iter().map(|change| StoredField {
            path: change.path.to_string(),
            old: change.old.to_vec(),
            new: change.new.to_vec(),
        });
        let (path, key, is_setting) = step.key();
        step.change = StoredChange::Fields { path, key, is_setting, fields: fields.collect() };
        Ok(())
    }

    /// A step of a whole component or resource.
    fn whole(&mut self, step: &mut StoredWorldStep, way: Way, key: Key) -> Result<()> {
        let (number, name) = self.classes.known(&key.1)?;
        let is_resource = key.0.is_none();
        let (old, new) = step.contents();
        // Going back, what it took out was there; going forth, what it put in is.
        let there = if way == Way::Back { &old } else { &new };
        match there {
            Some(content) => drop(self.contents.insert(key, content.bytes.clone())),
            None => drop(self.contents.remove(&key)),
        }
        for content in [old, new].into_iter().flatten() {
            let bytes = self.own(is_resource, number, content.bytes)?;
            *content.bytes = bytes;
            name.clone_into(content.class);
        }
        step.rename_class(name);
        Ok(())
    }

    /// A content in the form that it has here.
    fn own(&mut self, is_resource: bool, number: usize, bytes: &[u8]) -> Result<Vec<u8>> {
        let bytes = self.classes.bring_on(number, bytes)?;
        self.world.own_content(is_resource, number, &bytes, self.classes.numbers())
    }
}
