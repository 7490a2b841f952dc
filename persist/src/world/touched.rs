//! The objects that have changed since a history last asked, for the reports of its calls.
//!
//! Steps of a history do not say which objects come and go. A subtree comes back as it was parked, a name that is taken
//! gives another object a number, and a command may change the world directly. So the world notes them.

#[cfg(feature = "history")]
use std::{cell::Cell, mem};

#[cfg(feature = "history")]
use hashbrown::{HashMap, hash_map::Entry};

#[cfg(feature = "history")]
use crate::ObjectId;
#[cfg(feature = "history")]
use crate::fields::Changed;

/// The way in which an object has changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Touch {
    Entered,
    Left,
    Renamed,
    Moved,
    Activity,
}

/// The changes of objects since a history last asked.
#[cfg(feature = "history")]
#[derive(Default)]
pub(super) struct TouchLog {
    /// True if a history reports the changes. Otherwise none are noted.
    is_watched: Cell<bool>,
    noted: Vec<(ObjectId, Touch)>,
    /// The largest number of objects since then: an edit may remove all of them.
    most: usize,
    /// True if some changes were not noted, so that anything may have changed.
    has_lost: Cell<bool>,
}

#[cfg(feature = "history")]
impl TouchLog {
    /// Notes a change of an object, if a history reports them. `count` is the number of objects in the world.
    #[inline]
    pub(super) fn note(&mut self, (object, touch): (ObjectId, Touch), count: usize) {
        if self.is_watched.get() {
            self.push((object, touch), count);
        }
    }

    #[cold]
    fn push(&mut self, touched: (ObjectId, Touch), count: usize) {
        self.most = self.most.max(count);
        // A program may change its world beside a history that is not called for hours.
        if self.noted.len() >= 4096 + 4 * self.most {
            self.lose();
        }
        if !self.has_lost.get() {
            self.noted.push(touched);
        }
    }

    /// Notes changes from now on. Earlier ones are not known, so anything counts as changed.
    pub(super) fn begin(&self) {
        if !self.is_watched.replace(true) {
            self.has_lost.set(true);
        }
    }

    /// Notes that anything may have changed.
    pub(super) fn lose(&mut self) {
        self.noted = Vec::new();
        self.has_lost.set(true);
    }

    /// Takes what was noted, as the difference that it makes. `contains` says which objects are in the world.
    pub(super) fn take(&mut self, contains: impl Fn(ObjectId) -> bool) -> Vec<Changed<'static>> {
        let noted = mem::take(&mut self.noted);
        self.most = 0;
        if self.has_lost.take() {
            return vec![Changed::All];
        }
        // For each object whether it was in the world before, and whether it came or went since.
        let mut known = HashMap::<ObjectId, (bool, bool)>::new();
        for (object, touch) in &noted {
            let passes = matches!(touch, Touch::Entered | Touch::Left);
            let (_, has_passed) = known.entry(*object).or_insert((*touch != Touch::Entered, false));
            *has_passed |= passes;
        }
        let mut reported = HashMap::new();
        let mut changed = Vec::new();
        for (object, touch) in noted {
            let (was_there, has_passed) = known[&object];
            let touch = if has_passed { Touch::Entered } else { touch };
            let Entry::Vacant(new) = reported.entry((object, touch)) else { continue };
            new.insert(());
            changed.push(match (was_there, contains(object), touch) {
                (false, false, _) => continue,
                (false, true, _) => Changed::Spawned(object),
                (true, false, _) => Changed::Removed(object),
                (true, true, Touch::Entered | Touch::Left) => Changed::Object(object),
                (true, true, Touch::Renamed) => Changed::Renamed(object),
                (true, true, Touch::Moved) => Changed::Moved(object),
                (true, true, Touch::Activity) => Changed::Activity(object),
            });
        }
        changed
    }
}
