//! Whether an undo leads back to what was there.

use std::any::Any;

use hashbrown::HashSet;

use super::entry::Entry;
use super::{History, Label};
use crate::graph::Registry;
use crate::world::{Print, print_value};
use crate::{Error, ErrorKind, ObjectId, Persist, World};

/// Which parts of the target are hashed before and after each entry.
///
/// So a command whose undo does not restore the old state, or whose redo does not restore the new one, is an error at
/// once, which names the object and the field.
///
/// What was changed beside the history meanwhile is not the command's fault: then nothing is compared. The counters of ids are never compared.
///
/// An undo that fails so ([`ErrorKind::NotInverse`]) is reverted by a redo, and a redo by an undo: the entry stays where it was. If that does not lead
/// back either, the history is [poisoned](History::poison).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Nothing.
    #[default]
    Off,
    /// The objects that the entry changes: those of recorded edits, and those that a command [says](super::Command::objects) it
    /// changes. The default of debug builds.
    Touched,
    /// The whole target, each time.
    Whole,
}

/// What is to be compared, and what it was before.
pub(super) struct Watch {
    is_whole: bool,
    objects: Vec<ObjectId>,
    /// The objects as a set, to be looked up.
    known: HashSet<ObjectId>,
    before: Vec<Print>,
}

/// What an entry was done to, before and after it.
pub(super) struct Proved {
    watch: Box<Watch>,
    behind: Vec<Print>,
}

/// How the whole of a target is hashed.
pub(super) type Prover<T> = fn(&T, &mut Vec<Print>);

impl Watch {
    /// Of a target to which something is about to be done.
    pub(super) fn new<T: 'static>(
        proof: Proof,
        prover: Option<Prover<T>>,
        target: &T,
    ) -> Option<Box<Self>> {
        let is_whole = proof == Proof::Whole;
        let (objects, known) = (Vec::new(), HashSet::new());
        let mut watch = Self { is_whole, objects, known, before: Vec::new() };
        match proof {
            Proof::Off => return None,
            Proof::Touched => {}
            Proof::Whole => watch.before = prints_of(&watch, prover, target),
        }
        Some(Box::new(watch))
    }

    /// An object is about to be changed.
    pub(super) fn touch<T: 'static>(&mut self, target: &T, object: ObjectId) {
        let target: &dyn Any = target;
        if let Some(world) = target.downcast_ref::<World>()
            && self.add(object)
        {
            world.print_object(object, &mut self.before);
        }
    }

    /// Takes in an object; false if it is compared already.
    fn add(&mut self, object: ObjectId) -> bool {
        let is_new = !self.is_whole && self.known.insert(object);
        if is_new {
            self.objects.push(object);
        }
        is_new
    }

    /// An object has been made.
    pub(super) fn add_new(&mut self, object: ObjectId) {
        self.add(object);
    }

    /// What is left of it after a command that did not say which objects it changed: what objects that are met later were
    /// is not known.
    pub(super) fn behind_unknown(self: Box<Self>) -> Option<Box<Self>> {
        self.is_whole.then_some(self)
    }

    /// Adds what was changed after it.
    pub(super) fn append(&mut self, next: Self) {
        let mut before = next.before.into_iter().peekable();
        for object in next.objects {
            let is_new = self.add(object);
            while let Some(print) = before.next_if(|print| print.object == Some(object)) {
                self.before.extend(is_new.then_some(print));
            }
        }
    }
}

/// What is watched, as it is now.
fn prints_of<T: 'static>(watch: &Watch, prover: Option<Prover<T>>, target: &T) -> Vec<Print> {
    let mut prints = Vec::new();
    if watch.is_whole {
        if let Some(prover) = prover {
            prover(target, &mut prints);
        }
        return prints;
    }
    let target: &dyn Any = target;
    if let Some(world) = target.downcast_ref::<World>() {
        watch.objects.iter().for_each(|object| world.print_object(*object, &mut prints));
    }
    prints
}

/// Hashes all of a world.
pub(super) fn prove_world(world: &World, prints: &mut Vec<Print>) {
    world.objects().for_each(|object| world.print_object(object, prints));
    world.print_resources(prints);
}

/// Hashes all of a value, field by field.
fn prove<T: Persist>(value: &T, prints: &mut Vec<Print>) {
    let any: &dyn Any = value;
    if let Some(world) = any.downcast_ref::<World>() {
        return prove_world(world, prints);
    }
    let mut registry = Registry::new();
    if registry.register::<T>().is_ok() {
        // What cannot be told is not compared.
        let _ = print_value(&registry, value, &T::persist_name(), None, prints);
    }
}

impl<T: Persist> History<T> {
    /// Sets what is compared. In debug builds, a history of a [`World`] begins with [`Proof::Touched`]; in others, and of any other target, it
    /// is off until this is called. Of another target than a world, [`Proof::Whole`] alone compares anything.
    pub fn set_proof(&mut self, proof: Proof) {
        self.proof = proof;
        self.prover = Some(prove::<T>);
    }
}

impl<T: 'static> History<T> {
    /// True if what an entry changes is compared.
    pub(super) fn is_watched(&self) -> bool {
        self.proof != Proof::Off
    }

    /// Begins to watch a target.
    pub(super) fn watch(&self, target: &T) -> Option<Box<Watch>> {
        if self.is_watched() { Watch::new(self.proof, self.prover, target) } else { None }
    }

    /// What an entry was done to, which is as it left it.
    pub(super) fn proved(&self, watch: Option<Box<Watch>>, target: &T) -> Option<Box<Proved>> {
        let watch = watch?;
        let behind = prints_of(&watch, self.prover, target);
        Some(Box::new(Proved { watch, behind }))
    }

    /// Takes what was merged into an entry into what is known of it.
    pub(super) fn prove_again(&mut self, index: usize, watch: Option<Box<Watch>>, target: &T) {
        let prover = self.prover;
        let Some(entry) = self.ring.get_mut(index) else { return };
        match (&mut entry.proved, watch) {
            (Some(proved), Some(watch)) => {
                proved.watch.append(*watch);
                proved.behind = prints_of(&proved.watch, prover, target);
            }
            // What was not watched before cannot be known now.
            (proved, _) => *proved = None,
        }
    }

    /// Whether the target is as an entry left it, if it is applied, or found it; `None` if that is not known.
    pub(super) fn is_as_known(&self, index: usize, is_applied: bool, target: &T) -> Option<bool> {
        let proved = self.ring.get(index)?.proved.as_ref()?;
        let known = if is_applied { &proved.behind } else { &proved.watch.before };
        Some(prints_of(&proved.watch, self.prover, target) == *known)
    }

    /// Refuses an undo or a redo that did not lead where it should, if it began at what is known.
    pub(super) fn prove(
        &self,
        index: usize,
        is_known: Option<bool>,
        is_applied: bool,
        target: &T,
    ) -> Result<(), Error> {
        if is_known != Some(true) {
            return Ok(());
        }
        self.difference(index, is_applied, target).map_or(Ok(()), Err)
    }

    /// What differs from what an entry left, if it is applied, or found.
    pub(super) fn difference(&self, index: usize, is_applied: bool, target: &T) -> Option<Error> {
        let entry: &Entry<T> = self.ring.get(index)?;
        let proved = entry.proved.as_ref()?;
        let known = if is_applied { &proved.behind } else { &proved.watch.before };
        let now = prints_of(&proved.watch, self.prover, target);
        if now == *known {
            return None;
        }
        let (before, behind): (HashSet<_>, HashSet<_>) =
            (known.iter().collect(), now.iter().collect());
        let lost = known.iter().find(|print| !behind.contains(print));
        let found = lost.or_else(|| now.iter().find(|print| !before.contains(print)))?;
        Some(not_back(&entry.label(), is_applied, found))
    }
}

#[cold]
fn not_back(label: &Label, is_redo: bool, print: &Print) -> Error {
    let (what, when) = match is_redo {
        true => ("redo", "after"),
        false => ("undo", "before"),
    };
    let message = format!(
        "the {what} of `{label}` does not restore the state {when} it, {} differs from it; mend the command",
        print.what
    );
    let error = Error::new(ErrorKind::NotInverse, message);
    match print.object {
        Some(object) => error.in_object(object.get()),
        None => error,
    }
}
