//! [`Command`]: edits by code of the program, and the check that an undo of one restores the previous state.

use std::any::{Any, type_name};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::resume_unwind;

use hashbrown::HashSet;

use super::Again;
use crate::fields::{
    ChangeState, Direction, EditedWorld as _, Merge, Print, Sendable, print_value,
};
use crate::graph::Registry;
use crate::history::change::step::{FinalState, Perform, finalize_all, run_all};
use crate::history::journal::{StoredCommand, StoredStep};
use crate::history::world::World;
use crate::history::{
    Edit, Failure, Label, Performed, Prover, Step, Steps, Support, guarded, world,
};
use crate::{Error, ErrorKind, ObjectId, Persist, Result};

/// A change of a `T` by code of the program, which can also undo it.
///
/// Changes through the edit are recorded, and are undone and redone without the command. So a command for a
/// [`World`] that only uses its edit has nothing to undo. A command that changes the target
/// [directly](CommandEdit::target) must revert that in [`undo`](Self::undo).
///
/// An undo is the exact reverse of [`apply`](Self::apply). It first reverts the changes through the edit after the first
/// direct change. Then `undo` reverts all direct changes, and the earlier ones are reverted. A redo repeats `apply` in
/// its order. A debug build [checks](crate::history::Proof) that both restore the target.
///
/// # Example
///
/// ```
/// use persist::history::CommandEdit;
/// use persist::{Command, History, Result};
///
/// #[derive(Default)]
/// struct Document { title: String }
///
/// struct Rename { title: String }
///
/// impl Command<Document> for Rename {
///     fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
///         std::mem::swap(&mut edit.target().title, &mut self.title);
///         Ok(())
///     }
///
///     fn undo(&mut self, document: &mut Document) -> Result<()> {
///         std::mem::swap(&mut document.title, &mut self.title);
///         Ok(())
///     }
/// }
///
/// let (mut document, mut history) = (Document::default(), History::new(100));
/// history.apply(&mut document, Rename { title: "Plan".into() })?;
/// assert_eq!(document.title, "Plan");
/// history.undo(&mut document)?;
/// assert_eq!(document.title, "");
/// # Ok::<(), persist::Error>(())
/// ```
///
/// A command is `Send`, since a history can be sent to another thread with all its entries. Use an `Arc<Mutex<_>>`
/// instead of an `Rc<RefCell<_>>` in it.
pub trait Command<T: 'static = World>: Any + Sendable {
    /// Executes the command for the first time. Further commands that it applies join its entry.
    ///
    /// # Errors
    ///
    /// May return any error. The command must first have reverted what it changed directly; its changes through the
    /// edit are rolled back for it.
    fn apply(&mut self, edit: &mut CommandEdit<'_, T>) -> Result<()>;

    /// Reverts what [`apply`](Self::apply) changed directly.
    ///
    /// It is called only if the target was handed out for direct changes. Further commands that `apply` executed after
    /// it first asked for the target are undone before, and the earlier ones afterwards.
    ///
    /// # Errors
    ///
    /// May return any error. The target must then be as before the call; the entry stays in place, and the undo can be
    /// tried again.
    fn undo(&mut self, target: &mut T) -> Result<()>;

    /// Redoes the direct changes. It is not called if there were none.
    ///
    /// By default it calls [`apply`](Self::apply). Each further command that is passed to the edit is ignored, and the
    /// recorded one is redone in its place. A `redo` that passes none gets the target as `apply` had it: after the
    /// further commands before the first direct change. The later ones are redone afterwards.
    ///
    /// # Errors
    ///
    /// May return any error, like [`undo`](Self::undo).
    fn redo(&mut self, edit: &mut CommandEdit<'_, T>) -> Result<()> {
        self.apply(edit)
    }

    /// Merges in the command that immediately followed this one, such as the next step of a drag.
    ///
    /// # Errors
    ///
    /// May return any error. The command must then be as before the call, and `next` stays an entry of its own.
    fn merge(&mut self, next: &Self) -> Result<Merge>
    where
        Self: Sized,
    {
        let _ = next;
        Ok(Merge::No)
    }

    /// Returns the text for lists and menus.
    ///
    /// With [`Label::None`], the default, the label describes what the command did through its edit, as for an
    /// [edit](crate::History::edit) without a label. If it changed its target directly, the label is the name of its
    /// type, as in `Undo Rename`.
    fn label(&self) -> Label {
        Label::None
    }

    /// Returns whether the target differs from its save afterwards. False for a selection, or a move of the camera.
    fn is_significant(&self) -> bool {
        true
    }

    /// Returns true if the command has no effect, or no longer has one.
    ///
    /// If it returns true before the command is applied, the command is skipped. It is called again after each undo and
    /// redo; if it then returns true, the entry is dropped.
    fn is_obsolete(&self) -> bool {
        false
    }

    /// Releases what the command holds, just before the command is dropped.
    ///
    /// It is called once for a command that was applied, and not for one that failed or had no effect. It is not called
    /// for commands that are left when the history is dropped, since there is no target to pass then. If they need the
    /// call, [`clear`](crate::History::clear) the history first.
    fn finalize(&mut self, target: &mut T, end: FinalState) {
        let _ = (target, end);
    }

    /// Returns the objects of a world that it changes directly, for [proofs](crate::history::Proof) and
    /// [reports](crate::history::Changed). If it names none, it may have changed anything.
    fn objects(&self) -> Vec<ObjectId> {
        Vec::new()
    }

    /// Returns the bytes of memory that it holds besides its own size, for [limits](crate::history::Capacity::bytes).
    fn held_bytes(&self) -> usize {
        0
    }
}

/// The edit of a [`Command`]: an [`Edit`], and the target itself.
pub struct CommandEdit<'e, T: 'static = World> {
    edit: Edit<'e, T>,
    /// The number of steps through the edit before the first direct change.
    direct: Option<usize>,
    /// The first error while pending changes were compared. `target` cannot return it.
    refused: Option<Error>,
}

impl<T: 'static> CommandEdit<'_, T> {
    /// Returns the target, to be changed directly. The command itself must revert such changes.
    pub fn target(&mut self) -> &mut T {
        // Pending changes are compared first, since a direct change would be taken for one of them.
        let ready = self.edit.close().and_then(|()| self.edit.redo_until_direct());
        if let Err(error) = ready {
            self.refused.get_or_insert(error);
        }
        self.direct.get_or_insert(self.edit.steps.len());
        self.edit.target
    }
}

impl<'e, T: 'static> Deref for CommandEdit<'e, T> {
    type Target = Edit<'e, T>;

    fn deref(&self) -> &Edit<'e, T> {
        &self.edit
    }
}

impl<T: 'static> DerefMut for CommandEdit<'_, T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.edit
    }
}

/// A command of any type, as a trait object.
pub(in crate::history) trait AnyCommand<T: 'static>: Command<T> {
    /// Like [`Command::merge`], if `next` is of the same type.
    fn merge_any(&mut self, next: &dyn Any) -> Result<Merge>;

    fn type_name(&self) -> &'static str;
}

impl<T: 'static, C: Command<T>> AnyCommand<T> for C {
    fn merge_any(&mut self, next: &dyn Any) -> Result<Merge> {
        next.downcast_ref().map_or(Ok(Merge::No), |next| self.merge(next))
    }

    fn type_name(&self) -> &'static str {
        type_name::<C>()
    }
}

impl<T: 'static> Performed<T> {
    pub(in crate::history) fn new(command: impl Command<T>) -> Box<Self> {
        Box::new(Performed {
            further: Vec::new(),
            direct: None,
            previous: None,
            proved: None,
            command,
        })
    }

    /// Applies the command for the first time. Returns false if it did nothing.
    pub(in crate::history) fn perform(
        &mut self,
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<bool, Failure> {
        let command = &mut self.command;
        if command.is_obsolete() {
            return Ok(false);
        }
        let proved = support.prover.begin(|| command.objects(), target);
        let previous = previous_state(command, target, support)?;
        let edit = Edit::new(&mut *target, support);
        let mut edit = CommandEdit { edit, direct: None, refused: None };
        let mut is_applied = false;
        let result = guarded(|| {
            command.apply(&mut edit)?;
            is_applied = true;
            match edit.refused.take() {
                Some(error) => Err(error.into()),
                None => Ok(edit.edit.close()?),
            }
        });
        let direct = edit.direct;
        let Err(mut failure) = result else {
            self.further = std::mem::take(&mut edit.edit.steps).into_vec();
            self.direct = direct;
            self.previous = previous.filter(|_| direct.is_some());
            self.proved = proved.filter(|_| direct.is_some()).map(|mut proved| {
                support.prover.end(&mut proved, target);
                proved
            });
            return Ok(direct.is_some() || !self.further.is_empty());
        };
        // If `apply` panicked after a direct change, nobody knows what it changed. In all other cases nothing is in
        // doubt.
        if direct.is_none() || is_applied {
            failure.broken = None;
        }
        // An `apply` that returned an error has reverted its direct changes. One that succeeded has to be undone.
        if let Some(direct) = direct.filter(|_| is_applied) {
            edit.edit.roll_back_to(direct, &mut failure);
            failure = failure.after(|| guarded(|| Ok(command.undo(edit.edit.target)?)));
        }
        Err(edit.edit.roll_back(failure))
    }

    /// Its label, for a failure. Empty if `label` panics.
    pub(in crate::history) fn any_label(&self) -> Label {
        guarded(|| Ok(self.label())).unwrap_or_default()
    }

    fn go(
        &mut self,
        target: &mut T,
        support: &mut Support<T>,
        direction: Direction,
    ) -> Result<(), Failure> {
        match direction {
            Direction::Undo => self.undo(target, support),
            Direction::Redo => self.redo(target, support),
        }
    }

    fn undo(&mut self, target: &mut T, support: &mut Support<T>) -> Result<(), Failure> {
        let count = self.further.len();
        self.undo_from((0, count), target, support)
    }

    /// Undoes the further steps in a range, and the direct changes at their place.
    fn undo_from(
        &mut self,
        (start, end): (usize, usize),
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<(), Failure> {
        let Self { command, further, .. } = self;
        let Some(direct) = self.direct else {
            return run_all(&mut further[start..end], target, support, Direction::Undo);
        };
        let later = direct.clamp(start, end);
        run_all(&mut further[later..end], target, support, Direction::Undo)?;
        guarded(|| Ok(command.undo(target)?)).map_err(|failure| {
            let later = &mut further[later..end];
            failure.after(|| run_all(later, target, support, Direction::Redo))
        })?;
        run_all(&mut further[start..later], target, support, Direction::Undo)
            .map_err(|failure| failure.after(|| self.redo_from((later, end), target, support)))
    }

    fn redo(&mut self, target: &mut T, support: &mut Support<T>) -> Result<(), Failure> {
        let count = self.further.len();
        self.redo_from((0, count), target, support)
    }

    /// Redoes the further steps in a range, and the direct changes at their place. The steps before it are applied.
    fn redo_from(
        &mut self,
        (start, end): (usize, usize),
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<(), Failure> {
        let Self { command, further, direct, .. } = self;
        if direct.is_none() {
            return run_all(&mut further[start..end], target, support, Direction::Redo);
        }
        // The number may come from a malicious journal.
        let first = direct.map(|direct| direct.min(end));
        let again = Again { steps: &mut further[..end], done: 0, applied: start, direct: first };
        let edit = Edit::again(&mut *target, support, again);
        let mut edit = CommandEdit { edit, direct: *direct, refused: None };
        let mut is_redone = false;
        let redone = guarded(|| {
            command.redo(&mut edit)?;
            is_redone = true;
            match edit.refused.take() {
                Some(error) => Err(error.into()),
                None => Ok(edit.edit.close()?),
            }
        });
        let done = edit.edit.again.as_ref().map_or(start, |again| again.done.max(start));
        let broken = edit.edit.take_broken();
        if let Err(mut failure) = redone {
            failure.broken = failure.broken.filter(|_| !is_redone).or(broken);
            // A `redo` that returned an error has reverted its direct changes.
            return Err(failure.after(|| match is_redone {
                true => self.undo_from((start, done), target, support),
                false => run_all(&mut self.further[start..done], target, support, Direction::Undo),
            }));
        }
        run_all(&mut self.further[done..end], target, support, Direction::Redo)
            .map_err(|failure| failure.after(|| self.undo_from((start, done), target, support)))
    }
}

impl<T: 'static> Perform for Performed<T> {
    type Target = T;

    fn further(&self) -> &[Step<T>] {
        &self.further
    }

    /// Undoes or redoes it, and checks that this restores the known state.
    ///
    /// It is only checked if the target was in the known state before: changes beside the history are not the command's
    /// fault.
    fn run(
        &mut self,
        target: &mut T,
        support: &mut Support<T>,
        direction: Direction,
    ) -> Result<(), Failure> {
        let is_redo = direction == Direction::Redo;
        let known = self.proved.take();
        let is_known = |known: &CommandPrints| support.prover.is_known(known, !is_redo, target);
        let (proved, known) = match known {
            Some(known) if is_known(&known) => (Some(known), None),
            known => (None, known),
        };
        let mut result = self.go(target, support, direction);
        if let (Ok(()), Some(proved)) = (&result, &proved)
            && let Err(error) = support.prover.check(proved, is_redo, target, || self.any_label())
        {
            result = Err(Failure::from(error).after(|| {
                self.go(target, support, direction.reversed())?;
                Ok(support.prover.check(proved, !is_redo, target, || self.any_label())?)
            }));
        }
        self.proved = proved.or(known);
        result
    }

    fn merge(&mut self, next: &mut Self) -> Result<Merge> {
        if !self.further.is_empty() || !next.further.is_empty() {
            return Ok(Merge::No);
        }
        let merge = self.command.merge_any(&next.command)?;
        if merge == Merge::Yes {
            let is_known = match (&mut self.proved, &mut next.proved) {
                (Some(proved), Some(next)) => proved.merge(next),
                _ => false,
            };
            self.proved.take_if(|_| !is_known);
        }
        Ok(merge)
    }

    fn label(&self) -> Label {
        match self.command.label() {
            Label::None if self.direct.is_none() => {
                Steps::label(&self.further).unwrap_or_else(|| of_type(self.command.type_name()))
            }
            Label::None => of_type(self.command.type_name()),
            given => given,
        }
    }

    fn is_significant(&self) -> bool {
        self.command.is_significant() || self.further.iter().any(Step::is_significant)
    }

    fn finalize(&mut self, target: &mut T, end: FinalState) {
        let command = guarded(|| {
            self.command.finalize(target, end);
            Ok(())
        });
        let further = std::mem::take(&mut self.further).into_iter().map(|step| (step, end));
        let panic = command.err().and_then(|failure| failure.panic);
        if let Some(panic) = panic.or(finalize_all(further, target)) {
            resume_unwind(panic);
        }
    }

    /// Bytes of memory that it takes, roughly.
    fn size(&self) -> usize {
        let further: usize = self.further.iter().map(Step::size).sum();
        let places = self.further.len() * size_of::<Step<T>>();
        size_of_val(self) + self.command.held_bytes() + further + places
    }

    fn store(
        &mut self,
        target: &T,
        support: &Support<T>,
        change_state: ChangeState,
    ) -> Result<StoredStep> {
        let previous = self.previous.take().filter(|_| change_state == ChangeState::Done);
        let (class, bytes) = encoded(&self.command, support)?;
        let last_id = previous.as_ref().and_then(|state| state.last_id);
        let before = previous.map(|state| state.command).filter(|old| *old != bytes);
        let further = self.further.iter_mut().map(|step| step.store(target, support, change_state));
        let further = further.collect::<Result<_>>()?;
        let direct = self.direct.map(|direct| direct as u64);
        Ok(StoredCommand { class, direct, before, last_id, bytes, further }.into())
    }

    fn is_obsolete(&self) -> bool {
        self.command.is_obsolete()
    }

    fn direct_objects(&self) -> Option<Vec<ObjectId>> {
        self.direct.map(|_| self.command.objects())
    }

    fn object(&self) -> Option<ObjectId> {
        self.command.objects().first().copied()
    }
}

/// The state before a command was applied, which a replay needs to apply it again.
pub(in crate::history) struct PreviousState {
    command: Vec<u8>,
    /// The last id that the world had used.
    last_id: Option<u64>,
}

/// The state before a command is applied, if there is a journal.
fn previous_state<T: 'static>(
    command: &dyn AnyCommand<T>,
    target: &T,
    support: &Support<T>,
) -> Result<Option<Box<PreviousState>>> {
    if !support.is_journaled {
        return Ok(None);
    }
    let (_, command) = encoded(command, support)?;
    let last_id = world(target).map(|world| world.last_id());
    Ok(Some(Box::new(PreviousState { command, last_id })))
}

/// The class number of a command, and its encoded bytes.
fn encoded<T: 'static>(
    command: &dyn AnyCommand<T>,
    support: &Support<T>,
) -> Result<(u32, Vec<u8>)> {
    let name = command.type_name();
    let any: &dyn Any = command;
    let encoded = || {
        let (number, encode) = support.commands.get(&any.type_id())?;
        Some((u32::try_from(*number).ok()?, encode(any, &support.registry)?))
    };
    let (number, bytes) = encoded().ok_or_else(|| unregistered(name))?;
    Ok((number, bytes?))
}

#[cold]
fn unregistered(name: &str) -> Error {
    let short = name.rsplit("::").next().unwrap_or(name);
    error!(
        ErrorKind::WrongClass,
        "command {name} is not registered, and could not be replayed from the journal; derive `Persist` for it and call `register::<{short}>()` on the `SessionOptions`"
    )
}

/// The name of a type without its path and its generic arguments.
fn of_type(name_of_type: &str) -> Label {
    let (mut depth, mut name) = (0_usize, String::new());
    // The `>` of an arrow `->` closes no bracket.
    for letter in name_of_type.replace("->", "").chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            ':' => name.clear(),
            letter => name.push(letter),
        }
    }
    name.into()
}

impl<T: 'static> fmt::Debug for CommandEdit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandEdit").field("edit", &self.edit).finish_non_exhaustive()
    }
}

/// Selects the parts of the target that are hashed before and after a command that changes its target
/// [directly](crate::history::CommandEdit::target).
///
/// The hashes are compared after each undo and redo. If an undo does not restore the old state, or a redo the new one,
/// it returns [`ErrorKind::NotInverse`] with the names of the object and the field. Changes that were made beside the
/// history are not the command's fault, so nothing is compared after them. Counters of ids are never compared.
///
/// An undo that fails in this way is reverted by a redo, and a redo by an undo, so that the entry stays in place. If
/// that does not restore the state either, the history is [poisoned](crate::History::poison).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Nothing is hashed or compared.
    #[default]
    Off,
    /// The objects of a world that the command [says](crate::history::Command::objects) it changes. A target of
    /// another type is hashed whole, if it takes at most 1 MiB, and the history has edited its fields or belongs to a
    /// [`Session`](crate::Session). The default of debug builds.
    Touched,
    /// The whole target, for each command.
    Whole,
}

/// Hashes of the objects that a command changes, before and after it.
pub(in crate::history) struct CommandPrints {
    /// The hashed objects. `None` for the whole target.
    objects: Option<Vec<ObjectId>>,
    previous: Vec<Print>,
    after: Vec<Print>,
}

impl CommandPrints {
    /// Takes over the state after a command that was merged. Returns false if the two changed different objects.
    fn merge(&mut self, next: &mut Self) -> bool {
        self.after = std::mem::take(&mut next.after);
        self.objects == next.objects
    }

    /// The expected hashes, if the command is applied or undone.
    fn known(&self, is_done: bool) -> &[Print] {
        if is_done { &self.after } else { &self.previous }
    }
}

/// The largest target that [`Proof::Touched`] hashes whole. A debug build hashes 1 MiB in some tens of milliseconds, and
/// does so four times for a command that is undone.
const MAX_PRINTED: usize = 1 << 20;

impl<T: Persist> Prover<T> {
    /// Lets a target that is not a world be hashed, field by field.
    pub(in crate::history) fn allow_print(&mut self) {
        self.print = Some(|value, prints| {
            let mut registry = Registry::new();
            let known = registry.register::<T>();
            let print = |_| print_value(&registry, value, &T::persist_name(), None, prints);
            // A value that cannot be hashed is not compared.
            known.and_then(print).unwrap_or(0)
        });
    }
}

impl<T: 'static> Prover<T> {
    /// Hashes the objects that a command is about to change. `None` if they are not to be compared.
    fn begin(
        &self,
        objects: impl FnOnce() -> Vec<ObjectId>,
        target: &T,
    ) -> Option<Box<CommandPrints>> {
        let objects = match self.proof {
            Proof::Off => return None,
            Proof::Touched if world(target).is_some() => {
                Some(objects()).filter(|objects| !objects.is_empty())?.into()
            }
            Proof::Touched if self.printed.get() > MAX_PRINTED => return None,
            Proof::Touched | Proof::Whole => None,
        };
        let previous = self.prints(objects.as_deref(), target);
        Some(Box::new(CommandPrints { objects, previous, after: Vec::new() }))
    }

    /// Hashes the objects that the command has changed.
    fn end(&self, proved: &mut CommandPrints, target: &T) {
        proved.after = self.prints(proved.objects.as_deref(), target);
    }

    fn prints(&self, objects: Option<&[ObjectId]>, target: &T) -> Vec<Print> {
        let mut prints = Vec::new();
        match (objects, self.print, world(target)) {
            (_, _, Some(world)) => world.prints(objects, &mut prints),
            (None, Some(print), None) => self.printed.set(print(target, &mut prints)),
            _ => {}
        }
        prints
    }

    /// True if the target is as the command left it, or found it if it is undone.
    fn is_known(&self, proved: &CommandPrints, is_done: bool, target: &T) -> bool {
        self.prints(proved.objects.as_deref(), target) == proved.known(is_done)
    }

    /// Returns an error if the target is not as the command left it, or found it if it is undone.
    fn check(
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
