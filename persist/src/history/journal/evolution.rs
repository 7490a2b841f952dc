//! Steps that another program recorded, as steps of this one.
//!
//! A step of a field has that field alone, while a plan takes a whole record: a migration may make one field of two. So the component is followed
//! as that program stored it. The journal has it when it is changed first, and again after everything that changes
//! components other than steps of fields. Both versions, before and after a step, are migrated; where they differ is what
//! the step does here. A target that is no world is followed as a whole; so are its undos, after which it is not repeated.

use std::collections::{HashMap, HashSet};

use super::programs::Classes;
use super::stored::{StoredStep, wrong};
use crate::Result;
use crate::fields::Way;
use crate::history::step::{Step, world};
use crate::history::support::Support;
use crate::world::{Change, Moment, Owner, Recorded};

/// A component of an object, a resource or another target, by its class where it was recorded.
pub(super) type Key = (Owner, String);

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

    /// Follows the steps of an entry that is undone or redone; forgets all if they do more than set fields.
    pub(super) fn follow<T: 'static>(
        &mut self,
        steps: &[Step<T>],
        way: Way,
        classes: &Classes<'_>,
    ) {
        let mut steps: Vec<&Step<T>> = steps.iter().collect();
        if way == Way::Undo {
            steps.reverse();
        }
        if self.known.is_empty() {
            return;
        }
        let Ok(stored) = classes.stored() else { return self.clear() };
        for ((_, class), content) in &mut self.known {
            let Ok((number, _)) = classes.known(class) else { return self.clear() };
            for step in &steps {
                let Step::Change(change) = step else { return self.clear() };
                match change.recorded_in_bytes((&stored, number), content, way) {
                    Some(Ok(changed)) => *content = changed,
                    _ => return self.clear(),
                }
            }
        }
    }

    /// Brings the steps of an edit on.
    pub(super) fn bring_on(
        &mut self,
        steps: &mut [StoredStep],
        classes: &mut Classes<'_>,
        recorded: &dyn Recorded,
    ) -> Result<()> {
        let mut next = std::mem::take(&mut self.next);
        let behind = next.clone();
        // Classes may have other names in steps that have been brought on.
        let mut keys = HashSet::new();
        for step in &*steps {
            step.each(&mut |change| {
                keys.extend(change.class().map(|class| (change.owner, class.to_owned())));
            });
        }
        let goes_forth = |key: &Key| self.known.contains_key(key) && !behind.contains_key(key);
        let (forth, back): (HashSet<Key>, HashSet<Key>) = keys.into_iter().partition(goes_forth);
        let (contents, moment) = (&mut self.known, Moment::Done);
        let mut run = Evolution { classes, recorded, contents, moment };
        run.all(steps, Way::Redo, &|key| forth.contains(key))?;
        run.contents = &mut next;
        run.all(steps, Way::Undo, &|key| back.contains(key))?;
        self.known.extend(behind);
        Ok(())
    }

    /// Migrates the steps of the entries that a journal begins with; those before a position are applied.
    pub(super) fn bring_on_entries<'s>(
        &mut self,
        entries: impl DoubleEndedIterator<Item = &'s mut [StoredStep]> + ExactSizeIterator,
        position: usize,
        classes: &mut Classes<'_>,
        recorded: &dyn Recorded,
    ) -> Result<()> {
        let now = std::mem::take(&mut self.next);
        let mut entries: Vec<&mut [StoredStep]> = entries.collect();
        let count = entries.len();
        let (applied, undone) = entries.split_at_mut(position.min(count));
        let mut contents = now.clone();
        let moment = Moment::Applied;
        let mut run = Evolution { classes, recorded, contents: &mut contents, moment };
        for steps in applied.iter_mut().rev() {
            run.all(steps, Way::Undo, &|_| true)?;
        }
        let mut contents = now.clone();
        run.contents = &mut contents;
        run.moment = Moment::Undone;
        for steps in undone {
            run.all(steps, Way::Redo, &|_| true)?;
        }
        self.known = now;
        Ok(())
    }
}

/// What reads the contents of a target.
pub(super) fn recorded<'r, T: 'static>(target: &'r T, support: &'r Support<T>) -> &'r dyn Recorded {
    match world(target) {
        Some(world) => world,
        None => support,
    }
}

struct Evolution<'e, 'p> {
    classes: &'e mut Classes<'p>,
    recorded: &'e dyn Recorded,
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
            let at = if way == Way::Undo { count - 1 - at } else { at };
            match &mut steps[at] {
                // It is done anew by its own code.
                StoredStep::Command(command)
                    if command.is_direct && self.moment == Moment::Done => {}
                StoredStep::Command(command) => self.all(&mut command.further, way, is_it)?,
                StoredStep::Change(step) => self.one(step, way, is_it)?,
            }
        }
        Ok(())
    }

    fn one(&mut self, change: &mut Change, way: Way, is_it: &dyn Fn(&Key) -> bool) -> Result<()> {
        let Some(class) = change.class() else { return Ok(()) };
        let key = (change.owner, class.to_owned());
        if self.classes.is_same(&key.1) || !is_it(&key) {
            return Ok(());
        }
        if change.is_of_fields() {
            self.fields(change, way, &key)
        } else {
            self.whole(change, way, key)
        }
    }

    /// A change of fields.
    fn fields(&mut self, change: &mut Change, way: Way, key: &Key) -> Result<()> {
        let (number, name) = self.classes.known(&key.1)?;
        let stored = self.classes.stored()?;
        let Some(content) = self.contents.get_mut(key) else {
            return Err(wrong("a change without the value before it"));
        };
        let run = |bytes: &[u8], way: Way| {
            let changed = change.in_bytes((&stored, number), bytes, way);
            changed.map_err(|error| error.in_class(&*key.1))
        };
        // A command may have changed what is known of it otherwise: the step has what it took away, and what it put there.
        let (before, behind);
        match way {
            Way::Redo => {
                behind = run(content, Way::Redo)?;
                before = run(&behind, Way::Undo)?;
                content.clone_from(&behind);
            }
            Way::Undo => {
                before = run(content, Way::Undo)?;
                behind = run(&before, Way::Redo)?;
                content.clone_from(&before);
            }
        }
        let before = self.own(key.0, number, &before)?;
        let behind = self.own(key.0, number, &behind)?;
        change.migrate(self.recorded.changes_between(key.0, name, &before, &behind)?);
        Ok(())
    }

    /// A change of a whole component or resource.
    fn whole(&mut self, change: &mut Change, way: Way, key: Key) -> Result<()> {
        let (number, name) = self.classes.known(&key.1)?;
        let owner = key.0;
        let puts = change.puts(way);
        let content = change.content_mut();
        match content.as_deref().filter(|_| puts) {
            Some(bytes) => drop(self.contents.insert(key, bytes.clone())),
            None => drop(self.contents.remove(&key)),
        }
        if let Some(bytes) = content {
            *bytes = self.own(owner, number, bytes)?;
        }
        change.set_class(name);
        Ok(())
    }

    /// A content in the form that it has here.
    fn own(&mut self, owner: Owner, number: usize, bytes: &[u8]) -> Result<Vec<u8>> {
        let bytes = self.classes.bring_on(number, bytes)?;
        self.recorded.own_content(owner, number, &bytes, self.classes.numbers())
    }
}
