//! What a program does not know of a value, on any thread.

use super::objects::Objects;
use crate::codec::{Held, Shared, Unknown};
use crate::reflect::ClassId;
use crate::{ObjectId, Result};

/// What the program does not know of a value that was loaded, and of the objects that it leads to.
///
/// The pointers to the objects may be `Rc`s, and stay in a table of the thread that loaded them.
#[derive(Default)]
pub(super) struct Unknowns {
    of_value: Option<(ClassId, Unknown)>,
    of_objects: Vec<(Held, ObjectId, Unknown)>,
}

const AWAY: &str = "what the program does not know of a shared object stays on the thread that loaded it; save on that thread, or register the classes";

impl Unknowns {
    pub(super) fn new(
        of_value: Option<(ClassId, Unknown)>,
        objects: impl Iterator<Item = (Shared, ObjectId, Unknown)>,
    ) -> Self {
        let held = |(shared, id, unknown)| (Held::new(&shared, true), id, unknown);
        Self { of_value, of_objects: objects.map(held).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_value.is_none() && self.of_objects.is_empty()
    }

    /// The objects that are left, for a save.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if there are some, on another thread.
    pub(super) fn objects(&mut self) -> Result<Objects> {
        let (mut there, mut objects) = (Vec::new(), Objects::default());
        for at in (0..self.of_objects.len()).rev() {
            match self.of_objects[at].0.object().map_err(|error| error.reworded(AWAY.into()))? {
                Some(shared) => {
                    let (_, id, unknown) = &self.of_objects[at];
                    there.push((shared, *id, unknown.clone()));
                }
                None => drop(self.of_objects.swap_remove(at)),
            }
        }
        objects.put_unknowns(self.of_value.clone(), there.into_iter());
        Ok(objects)
    }
}
