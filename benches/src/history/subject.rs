//! The work that all contenders do.

use persist::{Component, Persist};

/// Objects of a document.
pub(crate) const OBJECTS: usize = 1_000;

/// Edits of a run.
pub(crate) const EDITS: usize = 10_000;

/// An object of a document, and what it is in a world.
#[derive(Persist, Clone, Copy)]
pub(crate) struct Transform {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) z: f32,
}

impl Component for Transform {}

/// Where an object is before anything is done.
pub(crate) fn transform(object: usize) -> Transform {
    Transform { x: -1.0 - object as f32, y: 0.0, z: 0.0 }
}

/// The target of hand-written commands, which is no world.
pub(crate) struct Document {
    pub(crate) objects: Vec<Transform>,
}

impl Document {
    pub(crate) fn new() -> Self {
        Self { objects: (0..OBJECTS).map(transform).collect() }
    }
}

/// A contender that sets a field of objects, undoes that and redoes it. Settings of a drag become one entry, in all of
/// them.
pub(crate) trait Subject {
    /// Clears the history.
    fn clear(&mut self);

    /// Sets the field of an object to another value than it has.
    fn set(&mut self, object: usize, x: f32);

    /// Undoes the last entry; false if there is none.
    fn undo(&mut self) -> bool;

    /// Redoes the next entry; false if there is none.
    fn redo(&mut self) -> bool;

    /// The field of an object.
    fn x(&self, object: usize) -> f32;

    /// Number of entries, including undone ones.
    fn entries(&self) -> usize;

    /// Bytes of the entries, by the contender's own count.
    fn bytes(&self) -> Option<usize> {
        None
    }

    /// Sets objects in turn, so that no setting goes with the one before.
    fn set_many(&mut self, count: usize) {
        for n in 0..count {
            self.set(n % OBJECTS, n as f32);
        }
    }

    fn apply_all(&mut self) {
        self.set_many(EDITS);
    }

    fn undo_all(&mut self) {
        while self.undo() {}
    }

    fn redo_all(&mut self) {
        while self.redo() {}
    }

    /// Sets one object again and again.
    fn drag(&mut self) {
        for n in 0..EDITS {
            self.set(0, n as f32);
        }
    }
}

/// Runs a contender once, and checks the result.
///
/// # Panics
///
/// Panics if the result is wrong.
pub(crate) fn check(name: &str, subject: &mut dyn Subject) {
    subject.apply_all();
    assert_eq!(subject.entries(), EDITS, "{name}: nothing is merged");
    let last = (EDITS - OBJECTS) as f32;
    for object in 0..OBJECTS {
        assert_eq!(subject.x(object), last + object as f32, "{name}: applied");
    }
    assert_ne!(subject.bytes(), Some(0), "{name}: entries are counted");
    subject.undo_all();
    for object in 0..OBJECTS {
        assert_eq!(subject.x(object), transform(object).x, "{name}: undone");
    }
    subject.redo_all();
    for object in 0..OBJECTS {
        assert_eq!(subject.x(object), last + object as f32, "{name}: redone");
    }
    subject.clear();
    assert_eq!(subject.entries(), 0, "{name}: cleared");
    assert_eq!(subject.bytes().unwrap_or(0), 0, "{name}: no entry is counted");
    subject.drag();
    assert_eq!(subject.entries(), 1, "{name}: all is merged");
    assert!(subject.undo(), "{name}: there is one entry");
    assert_eq!(subject.x(0), last, "{name}: a drag is taken back whole");
    assert!(!subject.undo(), "{name}: there is no other");
    subject.clear();
}
