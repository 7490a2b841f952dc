//! Lists what an object refers to, without knowing its type.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::{AnyObject, Buffer, Encoder, Link, Referent, SaveLinks, Shared, Unknown};
use crate::env::{AnyContext, Env};
use crate::reflect::TraitName;
use crate::{Limits, Result};

/// Lists the strong references of objects by encoding them, since encoding reaches all references through `&`.
pub(crate) struct Targets<'e> {
    buffer: Buffer,
    env: Env<'e>,
    found: TargetAddresses,
}

struct TargetAddresses {
    /// Addresses of the targets.
    targets: Vec<usize>,
}

impl<'e> Targets<'e> {
    pub(crate) fn new(context: Option<&'e dyn AnyContext>) -> Self {
        let limits = Limits {
            bytes: u64::MAX,
            text: usize::MAX,
            empty_elements: usize::MAX,
            depth: u32::MAX,
            ..Limits::DEFAULT
        };
        Self::within(Env::new(&limits, context))
    }

    /// Makes a list that encodes no more of each object than the limits of `env` allow, and waits for no lock.
    pub(crate) fn within(env: Env<'e>) -> Self {
        let limits = Limits { lock_wait: std::time::Duration::ZERO, ..env.limits };
        Self {
            buffer: Buffer::new(),
            env: env.within(limits).to_list(),
            found: TargetAddresses { targets: Vec::new() },
        }
    }

    /// Returns the addresses that an object holds strong references to, with repetitions. The list is empty for an
    /// object that is borrowed or locked.
    pub(crate) fn of(&mut self, object: &dyn AnyObject) -> &[usize] {
        self.of_all([object])
    }

    /// Like [`of`](Self::of), for several objects.
    pub(crate) fn of_all<'o>(
        &mut self,
        objects: impl IntoIterator<Item = &'o dyn AnyObject>,
    ) -> &[usize] {
        self.found.targets.clear();
        for object in objects {
            // If encoding fails, the list has the references before the field that failed.
            self.buffer.clear();
            let encode = |out: &mut Encoder<'_>| object.encode_object(out);
            let _ = self.buffer.append(&self.env, &mut self.found, encode);
        }
        &self.found.targets
    }
}

impl SaveLinks for TargetAddresses {
    fn link(&mut self, address: usize, link: Link, _: &dyn Referent) -> Result<u64> {
        if !link.weak {
            self.targets.push(address);
        }
        Ok(1)
    }

    fn class(&mut self, _: TypeId, _: TraitName, _: &dyn Fn() -> String) -> Result<u64> {
        Ok(1)
    }

    fn unknown_class(&mut self, _: &Arc<dyn Any + Send + Sync>, _: usize) -> Result<u64> {
        Ok(1)
    }

    fn charge(&mut self, _: usize, _: u64, _: &Limits) -> Result<()> {
        Ok(())
    }
}

/// Empties the objects of unknown classes that nothing outside of `objects` holds. They may hold each other in cycles,
/// and no program without their classes can break those.
///
/// `objects` must have all pointers to these objects other than those in objects or in the program.
pub(crate) fn free_unheld(objects: &[Shared], context: Option<&dyn AnyContext>) {
    if !objects.iter().any(|object| unknown_in(object).is_some()) {
        return;
    }
    let places: HashMap<usize, usize> =
        objects.iter().enumerate().map(|(i, object)| (object.address(), i)).collect();
    let mut targets = Targets::new(context);
    let mut edges: Vec<Vec<usize>> = Vec::with_capacity(objects.len());
    let mut pointers = vec![1; objects.len()];
    for object in objects {
        let found = targets.of(object.object()).iter();
        let found: Vec<usize> = found.filter_map(|address| places.get(address).copied()).collect();
        found.iter().for_each(|place| pointers[*place] += 1);
        edges.push(found);
    }
    // Mark the objects that the program holds, and everything that these refer to.
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
        .filter_map(|(object, _)| {
            Some(std::mem::take(&mut *unknown_in(object)?.try_borrow_mut().ok()?))
        })
        .collect();
    drop(emptied);
}

/// Returns true for an object of an unknown class without a stand-in.
pub(crate) fn is_unknown(object: &Shared) -> bool {
    unknown_in(object).is_some()
}

/// Returns the unknown data in an object without a stand-in, or `None` for an object of a known class.
pub(super) fn unknown_in(object: &Shared) -> Option<&RefCell<Unknown>> {
    (object.object() as &dyn Any).downcast_ref()
}
