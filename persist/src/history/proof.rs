//! A check that the undo of a command restores the previous state, by hashes of the target.

use hashbrown::HashSet;

use super::target::world;
use super::{Label, Prover};
use crate::fields::{EditedWorld as _, Print, print_value};
use crate::graph::Registry;
use crate::{Error, ErrorKind, ObjectId, Persist, Result};

/// Selects the parts of the target that are hashed before and after a command that changes its target
/// [directly](super::CommandEdit::target).
///
/// The hashes are compared after each undo and redo. If an undo does not restore the old state, or a redo the new one,
/// it returns [`ErrorKind::NotInverse`] with the names of the object and the field. Changes that were made beside the
/// history are not the command's fault, so nothing is compared after them. Counters of ids are never compared.
///
/// An undo that fails in this way is reverted by a redo, and a redo by an undo, so that the entry stays in place. If
/// that does not restore the state either, the history is [poisoned](super::History::poison).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Nothing is hashed or compared.
    #[default]
    Off,
    /// The objects that the command [says](super::Command::objects) it changes. The default of debug builds.
    Touched,
    /// The whole target, for each command.
    Whole,
}

/// Hashes of the objects that a command changes, before and after it.
pub(super) struct CommandPrints {
    /// The hashed objects. `None` for the whole target.
    objects: Option<Vec<ObjectId>>,
    previous: Vec<Print>,
    after: Vec<Print>,
}

impl CommandPrints {
    /// Takes over the state after a command that was merged. Returns false if the two changed different objects.
    pub(super) fn merge(&mut self, next: &mut Self) -> bool {
        self.after = std::mem::take(&mut next.after);
        self.objects == next.objects
    }

    /// The expected hashes, if the command is applied or undone.
    fn known(&self, is_done: bool) -> &[Print] {
        if is_done { &self.after } else { &self.previous }
    }
}

impl<T: 'static> Prover<T> {
    /// Hashes the objects that a command is about to change. `None` if they are not to be compared.
    pub(super) fn begin(
        &self,
        objects: impl FnOnce() -> Vec<ObjectId>,
        target: &T,
    ) -> Option<Box<CommandPrints>> {
        let objects = match self.proof {
            Proof::Off => return None,
            Proof::Touched => Some(objects()).filter(|objects| !objects.is_empty())?.into(),
            Proof::Whole => None,
        };
        let previous = self.prints(objects.as_deref(), target);
        Some(Box::new(CommandPrints { objects, previous, after: Vec::new() }))
    }

    /// Hashes the objects that the command has changed.
    pub(super) fn end(&self, proved: &mut CommandPrints, target: &T) {
        proved.after = self.prints(proved.objects.as_deref(), target);
    }

    fn prints(&self, objects: Option<&[ObjectId]>, target: &T) -> Vec<Print> {
        let mut prints = Vec::new();
        match (objects, self.print, world(target)) {
            (_, _, Some(world)) => world.prints(objects, &mut prints),
            (None, Some(print), None) => print(target, &mut prints),
            _ => {}
        }
        prints
    }

    /// True if the target is as the command left it, or found it if it is undone.
    pub(super) fn is_known(&self, proved: &CommandPrints, is_done: bool, target: &T) -> bool {
        self.prints(proved.objects.as_deref(), target) == proved.known(is_done)
    }

    /// Returns an error if the target is not as the command left it, or found it if it is undone.
    pub(super) fn check(
        &self,
        proved: &CommandPrints,
        is_done: bool,
        target: &T,
        label: impl FnOnce() -> Label,
    ) -> Result<()> {
        let (known, now) = (proved.known(is_done), self.prints(proved.objects.as_deref(), target));
        if now == known {
            return Ok(());
        }
        let (expected, found): (HashSet<_>, HashSet<_>) =
            (known.iter().collect(), now.iter().collect());
        let lost = known.iter().find(|print| !found.contains(print));
        match lost.or_else(|| now.iter().find(|print| !expected.contains(print))) {
            Some(found) => Err(not_back(&label(), is_done, found)),
            None => Ok(()),
        }
    }
}

/// Hashes a value that is not a world, field by field.
pub(super) fn print<T: Persist>(value: &T, prints: &mut Vec<Print>) {
    let mut registry = Registry::new();
    if registry.register::<T>().is_ok() {
        // A value that cannot be hashed is not compared.
        let _ = print_value(&registry, value, &T::persist_name(), None, prints);
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
