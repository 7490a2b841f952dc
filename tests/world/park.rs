//! Objects out of their world, as the undo list of an editor keeps them.

use std::cell::RefCell;
use std::collections::HashMap;

use persist::history::Proof;
use persist::{Error, ErrorKind, History, ObjectId, Result, World};

thread_local! {
    /// A history for each removal, so that they are undone in any order.
    static REMOVALS: RefCell<HashMap<(usize, ObjectId), History>> = RefCell::default();
}

pub(crate) trait Park {
    /// Removes an object so that it can come back.
    fn park(&mut self, object: ObjectId) -> Result<()>;

    /// Brings it back.
    fn unpark(&mut self, object: ObjectId) -> Result<()>;
}

impl Park for World {
    fn park(&mut self, object: ObjectId) -> Result<()> {
        let mut removal = History::new(1);
        removal.set_proof(Proof::Off);
        removal.edit(self, "", |edit| edit.remove(object))?;
        REMOVALS.with_borrow_mut(|removals| removals.insert((address(self), object), removal));
        Ok(())
    }

    fn unpark(&mut self, object: ObjectId) -> Result<()> {
        let key = (address(self), object);
        let removal = REMOVALS.with_borrow_mut(|removals| removals.remove(&key));
        let missing = || Error::new(ErrorKind::NotFound, "the object was not removed");
        let mut removal = removal.ok_or_else(missing)?;
        removal.undo(self).map(drop).inspect_err(|_| {
            REMOVALS.with_borrow_mut(|removals| removals.insert(key, removal));
        })
    }
}

fn address(world: &World) -> usize {
    std::ptr::from_ref(world) as usize
}
