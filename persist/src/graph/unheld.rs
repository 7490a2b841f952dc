//! Kept objects that only each other hold.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;

use super::Targets;
use crate::codec::{Shared, Unknown};

/// Empties those objects that are kept as unknown and to which nothing leads from outside: they
/// hold each other in cycles, which no program without their classes can cut.
///
/// These are the only pointers to the objects that are not in an object or in the program.
pub(crate) fn free_unheld(objects: &[Shared]) {
    if !objects.iter().any(|object| kept(object).is_some()) {
        return;
    }
    let places: HashMap<usize, usize> =
        objects.iter().enumerate().map(|(i, object)| (object.address(), i)).collect();
    let mut targets = Targets::new(None);
    let mut edges: Vec<Vec<usize>> = Vec::with_capacity(objects.len());
    let mut pointers = vec![1; objects.len()];
    for object in objects {
        let found = targets.of(object.object()).iter();
        let found: Vec<usize> = found.filter_map(|address| places.get(address).copied()).collect();
        found.iter().for_each(|place| pointers[*place] += 1);
        edges.push(found);
    }
    // What the program holds, and whatever that leads to.
    let mut held = vec![false; objects.len()];
    let mut work: Vec<usize> = (0..objects.len())
        .filter(|place| objects[*place].strong_count() > pointers[*place])
        .collect();
    while let Some(place) = work.pop() {
        if !std::mem::replace(&mut held[place], true) {
            work.append(&mut edges[place]);
        }
    }
    let unheld = objects.iter().zip(held).filter(|(_, held)| !held);
    let emptied: Vec<Unknown> = unheld
        .filter_map(|(object, _)| Some(std::mem::take(&mut *kept(object)?.try_borrow_mut().ok()?)))
        .collect();
    drop(emptied);
}

/// What is kept in an object without a stand-in.
pub(super) fn kept(object: &Shared) -> Option<&RefCell<Unknown>> {
    (object.object() as &dyn Any).downcast_ref()
}
