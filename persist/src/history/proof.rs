//! Whether the undo of a command leads back to what was there.

use std::any::Any;

use hashbrown::HashSet;

use super::Label;
use crate::graph::Registry;
use crate::world::{Print, print_value};
use crate::{Error, ErrorKind, ObjectId, Persist, Result, World};

/// Which parts of the target are hashed before and after a command that changes its target
/// [directly](super::CommandContext::target).
///
/// So a command whose undo does not restore the old state, or whose redo does not restore the new one, is an error at
/// once, which names the object and the field. What was changed beside the history meanwhile is not the command's fault:
/// then nothing is compared. The counters of ids are never compared.
///
/// An undo that fails so ([`ErrorKind::NotInverse`]) is reverted by a redo, and a redo by an undo: the entry stays where it was. If that does not lead
/// back either, the history is [poisoned](super::History::poison).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Nothing.
    #[default]
    Off,
    /// The objects that the command [says](super::Command::objects) it changes. The default of debug builds.
    Touched,
    /// The whole target, each time.
    Whole,
}

/// How commands are proved.
pub(super) struct Prover<T> {
    pub(super) proof: Proof,
    /// How the whole of a target is hashed.
    pub(super) print: Option<fn(&T, &mut Vec<Print>)>,
}

/// What a command changes, before it was done and after it.
pub(super) struct CommandPrints {
    /// None if that is the whole target.
    objects: Option<Vec<ObjectId>>,
    before: Vec<Print>,
    behind: Vec<Print>,
}

impl CommandPrints {
    /// Takes in what a command that was merged changed after this one; false if that cannot be compared any more.
    pub(super) fn merge(&mut self, next: &mut Self) -> bool {
        self.behind = std::mem::take(&mut next.behind);
        self.objects == next.objects
    }

    /// What it is if the command is done, or undone.
    fn known(&self, is_done: bool) -> &[Print] {
        if is_done { &self.behind } else { &self.before }
    }
}

impl<T: 'static> Prover<T> {
    /// Looks at what a command is about to change; none if that is not compared.
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
        let before = self.prints(objects.as_deref(), target);
        Some(Box::new(CommandPrints { objects, before, behind: Vec::new() }))
    }

    /// Looks at what the command has changed.
    pub(super) fn end(&self, proved: &mut CommandPrints, target: &T) {
        proved.behind = self.prints(proved.objects.as_deref(), target);
    }

    fn prints(&self, objects: Option<&[ObjectId]>, target: &T) -> Vec<Print> {
        let mut prints = Vec::new();
        let any: &dyn Any = target;
        match (objects, self.print, any.downcast_ref::<World>()) {
            (Some(objects), _, Some(world)) => {
                objects.iter().for_each(|object| world.print_object(*object, &mut prints));
            }
            (None, _, Some(world)) => {
                world.objects().for_each(|object| world.print_object(object, &mut prints));
                world.print_resources(&mut prints);
            }
            (None, Some(print), None) => print(target, &mut prints),
            _ => {}
        }
        prints
    }

    /// True if the target is as the command left it, or found it.
    pub(super) fn is_known(&self, proved: &CommandPrints, is_done: bool, target: &T) -> bool {
        self.prints(proved.objects.as_deref(), target) == proved.known(is_done)
    }

    /// Refuses a target that is not as the command left it, or found it.
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
        let (before, behind): (HashSet<_>, HashSet<_>) =
            (known.iter().collect(), now.iter().collect());
        let lost = known.iter().find(|print| !behind.contains(print));
        match lost.or_else(|| now.iter().find(|print| !before.contains(print))) {
            Some(found) => Err(not_back(&label(), is_done, found)),
            None => Ok(()),
        }
    }
}

/// Hashes all of a value that is no world, field by field.
pub(super) fn print<T: Persist>(value: &T, prints: &mut Vec<Print>) {
    let mut registry = Registry::new();
    if registry.register::<T>().is_ok() {
        // What cannot be told is not compared.
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
