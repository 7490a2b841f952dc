//! What changes a target while it is recorded: edits, and commands of the program's own, which work through one.

use std::any::{Any, type_name};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::resume_unwind;

use hashbrown::HashSet;

use super::Label;
use super::failure::{Broken, Failure, guarded, is_broken};
use super::journal::{StoredCommand, StoredStep};
use super::proof::CommandPrints;
use super::step::{self, End, Perform, ends, finalize_all, run_all};
use super::support::world;
use super::support::{ChangeTarget, PendingChange, Support};
use crate::fields::{Direction, Merge};
use crate::world::{ChangeState, Movable};
use crate::{Error, ErrorKind, ObjectId, Result, World};

pub(super) type Step<T> = step::StepOf<Performed<T>>;
pub(super) type Steps<T> = step::StepsOf<Performed<T>>;

/// A target that is being edited: what is done through it is recorded, in one entry.
///
/// [`History::edit`](super::History::edit) hands it out. It leads to the target for reading; of a [`World`], its methods are those that
/// change it.
pub struct Edit<'e, T: 'static = World> {
    pub(super) target: &'e mut T,
    pub(super) steps: Steps<T>,
    /// What was taken to be changed, and has not been compared yet.
    pub(super) pending: Vec<PendingChange>,
    /// The places of the first of these, where there are many.
    places: Option<Box<HashSet<ChangeTarget>>>,
    again: Option<Again<'e, T>>,
    /// What could not be rolled back in it.
    broken: Option<Box<Broken>>,
    pub(super) support: &'e mut Support<T>,
}

/// The number of items that are searched faster than a set is made.
const FEW: usize = 8;

/// What a command did through its context when it was done first.
struct Again<'e, T: 'static> {
    steps: &'e mut [Step<T>],
    done: usize,
}

impl<'e, T: 'static> Edit<'e, T> {
    pub(super) fn new(target: &'e mut T, support: &'e mut Support<T>) -> Self {
        Self {
            target,
            steps: Steps::default(),
            pending: std::mem::take(&mut support.pending),
            places: None,
            again: None,
            broken: None,
            support,
        }
    }

    /// For a command that is redone.
    pub(super) fn again(
        target: &'e mut T,
        support: &'e mut Support<T>,
        steps: &'e mut [Step<T>],
    ) -> Self {
        Self { again: Some(Again { steps, done: 0 }), ..Self::new(target, support) }
    }

    /// Runs an edit, which is rolled back if it fails or panics.
    pub(super) fn run<R>(
        target: &'e mut T,
        support: &'e mut Support<T>,
        edit: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<(R, Steps<T>), Failure> {
        let mut scope = Self::new(target, support);
        match scope.attempt(edit) {
            Ok(value) => {
                // The next edit has its memory, unless this one was a large one.
                if scope.pending.capacity() <= FEW {
                    scope.support.pending = scope.pending;
                }
                Ok((value, scope.steps))
            }
            Err(failure) => Err(scope.roll_back(failure)),
        }
    }

    /// Runs a part, and compares what it borrowed mutably.
    fn attempt<R>(&mut self, part: impl FnOnce(&mut Self) -> Result<R>) -> Result<R, Failure> {
        let result = guarded(|| {
            let value = part(self)?;
            self.close()?;
            Ok(value)
        });
        // All that it did is recorded, also if it panicked.
        result.map_err(|failure| match failure.panic {
            Some(_) => Failure { broken: None, ..failure },
            None => failure,
        })
    }

    pub(super) fn roll_back(mut self, mut failure: Failure) -> Failure {
        self.roll_back_to(0, &mut failure);
        if let Some(broken) = &failure.broken {
            let panic = finalize_all(ends(self.steps.into_each(), broken.done), self.target);
            failure.panic = failure.panic.or(panic);
        }
        failure
    }

    fn roll_back_to(&mut self, start: usize, failure: &mut Failure) {
        failure.broken = failure.broken.take().or(self.take_broken());
        if failure.broken.is_some() {
            return;
        }
        for pending in std::mem::take(&mut self.pending) {
            let back = guarded(|| Ok(pending.put_back(self.target, self.support)?));
            if is_broken(failure, self.steps.len(), back) {
                return;
            }
        }
        let mut steps = std::mem::take(&mut self.steps).into_vec();
        let back = run_all(&mut steps[start..], self.target, self.support, Direction::Undo);
        let is_broken = is_broken(failure, start, back);
        let undone = if is_broken { Vec::new() } else { steps.split_off(start) };
        self.steps = steps.into();
        if !is_broken {
            let panic = finalize_all(ends(undone, 0), self.target);
            failure.panic = failure.panic.take().or(panic);
        }
    }

    /// Continues with the failure of a part: a panic, or an error.
    fn fail(&mut self, failure: Failure) -> Error {
        self.broken = self.broken.take().or(failure.broken.map(Box::new));
        match failure.panic {
            Some(panic) => resume_unwind(panic),
            None => failure.error,
        }
    }

    pub(super) fn take_broken(&mut self) -> Option<Broken> {
        self.broken.take().map(|broken| *broken)
    }

    /// Compares what was borrowed mutably with what it is now. Nothing continues after a failed rollback.
    pub(super) fn close(&mut self) -> Result<()> {
        if self.pending.is_empty() && self.broken.is_none() {
            return Ok(());
        }
        if self.broken.is_some() {
            let message = "a part of the edit failed, and could not be taken back";
            return Err(Error::new(ErrorKind::Poisoned, message));
        }
        // If one fails or panics, it is as it was; those that are left are put back with the rest.
        self.places = None;
        self.pending.reverse();
        while let Some(next) = self.pending.pop() {
            let (at, steps) = (self.steps.len(), &mut self.steps);
            let closed = next.close(self.target, self.support, at, |change| {
                steps.push(Step::Change(change));
            });
            closed.map_err(|failure| self.fail(failure))?;
        }
        Ok(())
    }

    /// Refuses what can only be recorded the first time.
    pub(super) fn check_first(&self) -> Result<()> {
        if self.again.is_some() { Err(not_again()) } else { Ok(()) }
    }

    pub(super) fn is_pending(&mut self, place: &ChangeTarget) -> bool {
        if self.pending.len() <= FEW {
            return self.pending.iter().any(|pending| pending.place == *place);
        }
        let places = self.places.get_or_insert_default();
        let new = &self.pending[places.len()..];
        places.extend(new.iter().map(|pending| pending.place.clone()));
        places.contains(place)
    }

    /// Closes what was taken before something else is done.
    pub(super) fn ready(&mut self) -> Result<()> {
        self.check_first()?;
        self.close()
    }

    /// Does a command, as a part of this edit.
    ///
    /// # Errors
    ///
    /// Its own, with the step of the edit that it would have been. What it did is rolled back, and the edit may continue.
    pub fn apply(&mut self, command: impl Command<T>) -> Result<()> {
        self.close()?;
        if let Some(again) = &mut self.again {
            if let Some(step) = again.steps.get_mut(again.done) {
                match step.run(self.target, self.support, Direction::Redo) {
                    Ok(()) => again.done += 1,
                    Err(failure) => return Err(self.fail(failure)),
                }
            }
            return Ok(());
        }
        let mut performed = Performed::new(command);
        match performed.perform(self.target, self.support) {
            Ok(true) => self.steps.push(Step::Command(performed)),
            Ok(false) => {}
            Err(mut failure) => {
                let step = self.steps.len();
                if let Some(broken) = &mut failure.broken {
                    (broken.step, broken.done) = (step, step);
                }
                let message = format!("step {step}: {}", failure.error.message());
                failure.error = failure.error.reworded(message);
                return Err(self.fail(failure));
            }
        }
        Ok(())
    }

    /// Does something outside of the target, such as a message to a server.
    ///
    /// It is skipped when a journal is replayed after a crash, and returns `None` then.
    ///
    /// What the edit does may not depend on what comes of it, unless it is recorded: see [`Command`].
    pub fn external<R>(&mut self, act: impl FnOnce() -> R) -> Option<R> {
        (!self.support.is_replayed).then(act)
    }

    /// Does a part of an edit. If it fails or panics, it alone is rolled back.
    ///
    /// # Errors
    ///
    /// Those of the part; the edit may continue.
    pub fn part<R>(&mut self, part: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.again.is_some() {
            return part(self);
        }
        self.close()?;
        let start = self.steps.len();
        self.attempt(part).map_err(|mut failure| {
            self.roll_back_to(start, &mut failure);
            self.fail(failure)
        })
    }
}

/// For reading.
impl<T: 'static> Deref for Edit<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.target
    }
}

/// A change of a `T` that a program makes, and can undo.
///
/// What it does through its context is recorded there, and undone and redone without it: a command for a [`World`] that
/// changes it so has nothing to undo. What it changes [directly](CommandContext::target), it undoes in
/// [`undo`](Self::undo).
///
/// # Example
///
/// ```
/// use persist::history::CommandContext;
/// use persist::{Command, History, Result};
///
/// #[derive(Default)]
/// struct Document { title: String }
///
/// struct Rename { title: String }
///
/// impl Command<Document> for Rename {
///     fn apply(&mut self, context: &mut CommandContext<'_, Document>) -> Result<()> {
///         std::mem::swap(&mut context.target().title, &mut self.title);
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
/// A command is `Send`, since a history may go to another thread with all its entries: hold an `Arc<Mutex<_>>` instead of an `Rc<RefCell<_>>`.
pub trait Command<T: 'static = World>: Any + Movable {
    /// Does it for the first time. Further commands that it performs join its entry.
    ///
    /// # Errors
    ///
    /// Its own. What it changed directly it must have put back then; what it did through the context is.
    fn apply(&mut self, context: &mut CommandContext<'_, T>) -> Result<()>;

    /// Undoes what [`apply`](Self::apply) changed directly.
    ///
    /// It runs after the undo of all that was done through the context, and not at all if nothing was changed directly.
    ///
    /// # Errors
    ///
    /// Its own. The target then must be as it was before; the entry stays where it is and can be tried again.
    fn undo(&mut self, target: &mut T) -> Result<()>;

    /// Redoes what was changed directly; not called if nothing was.
    ///
    /// By default it calls [`apply`](Self::apply). Each further command that `apply` performs is then the recorded one,
    /// redone.
    ///
    /// # Errors
    ///
    /// Those of [`undo`](Self::undo).
    fn redo(&mut self, context: &mut CommandContext<'_, T>) -> Result<()> {
        self.apply(context)
    }

    /// Merges in the command that immediately followed this one, such as the next step of a drag.
    ///
    /// # Errors
    ///
    /// Its own; it then must be as it was, and the other one stays an entry of its own.
    fn merge(&mut self, next: &Self) -> Result<Merge>
    where
        Self: Sized,
    {
        let _ = next;
        Ok(Merge::No)
    }

    /// What it is called. With [`Label::None`], which is the default, it is called after what it did through its context, as an
    /// [edit](super::History::edit) without a label is; if it changed its target directly, after its type, as in `Undo Rename`.
    fn label(&self) -> Label {
        Label::None
    }

    /// Whether it makes the target differ from its save: not if it selects something, or moves the camera.
    fn is_significant(&self) -> bool {
        true
    }

    /// True if the command does nothing, or no longer does anything.
    ///
    /// It is called before the command is done for the first time, which is then skipped. It is called again after each undo
    /// and redo, which then drop the entry.
    fn is_obsolete(&self) -> bool {
        false
    }

    /// Releases what the command holds, just before the command is dropped.
    ///
    /// It is called once for a command that was done, and not for one that failed or did nothing at first. It is not called
    /// for commands left in a history that is dropped, which has no target to pass: call [`clear`](super::History::clear)
    /// before if they need it.
    fn finalize(&mut self, target: &mut T, end: End) {
        let _ = (target, end);
    }

    /// The objects of a world that it changes directly, for [proofs](super::Proof).
    fn objects(&self) -> Vec<ObjectId> {
        Vec::new()
    }

    /// Bytes of memory that it holds besides its own size, for budgets.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// What a [`Command`] works on: an [`Edit`], and the target itself.
pub struct CommandContext<'e, T: 'static = World> {
    edit: Edit<'e, T>,
    is_direct: bool,
    /// What was refused when the target was handed out.
    refused: Option<Error>,
}

impl<T: 'static> CommandContext<'_, T> {
    /// The target, to be changed directly: the command itself takes that back.
    pub fn target(&mut self) -> &mut T {
        self.is_direct = true;
        // What was taken to be changed is compared before it is changed directly.
        if let Err(error) = self.edit.close() {
            self.refused.get_or_insert(error);
        }
        self.edit.target
    }
}

impl<'e, T: 'static> Deref for CommandContext<'e, T> {
    type Target = Edit<'e, T>;

    fn deref(&self) -> &Edit<'e, T> {
        &self.edit
    }
}

impl<T: 'static> DerefMut for CommandContext<'_, T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.edit
    }
}

/// A command of any type.
pub(super) trait AnyCommand<T: 'static>: Command<T> {
    /// [`Command::merge`], of the same type.
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

/// A command that was done, with what it did through its context.
pub(super) struct Performed<T: 'static, C: ?Sized = dyn AnyCommand<T>> {
    pub(super) further: Vec<Step<T>>,
    /// Whether it changed its target itself.
    pub(super) is_direct: bool,
    /// What was before it was done, until a journal knows.
    before: Option<Box<Before>>,
    /// What it changed, if that is to be proved.
    proved: Option<Box<CommandPrints>>,
    pub(super) command: C,
}

impl<T: 'static> Performed<T> {
    pub(super) fn new(command: impl Command<T>) -> Box<Self> {
        let (further, is_direct) = (Vec::new(), false);
        Box::new(Performed { further, is_direct, before: None, proved: None, command })
    }

    /// Does the command for the first time; false if it did nothing.
    pub(super) fn perform(
        &mut self,
        target: &mut T,
        support: &mut Support<T>,
    ) -> Result<bool, Failure> {
        let command = &mut self.command;
        if command.is_obsolete() {
            return Ok(false);
        }
        let proved = support.prover.begin(|| command.objects(), target);
        let before = before(command, target, support)?;
        let edit = Edit::new(&mut *target, support);
        let mut context = CommandContext { edit, is_direct: false, refused: None };
        let mut is_applied = false;
        let result = guarded(|| {
            command.apply(&mut context)?;
            is_applied = true;
            match context.refused.take() {
                Some(error) => Err(error.into()),
                None => Ok(context.edit.close()?),
            }
        });
        let is_direct = context.is_direct;
        let Err(mut failure) = result else {
            self.further = std::mem::take(&mut context.edit.steps).into_vec();
            self.is_direct = is_direct;
            self.before = before.filter(|_| is_direct);
            self.proved = proved.filter(|_| is_direct).map(|mut proved| {
                support.prover.end(&mut proved, target);
                proved
            });
            return Ok(is_direct || !self.further.is_empty());
        };
        // What it changed directly before a panic of its own is not known.
        if !is_direct || is_applied {
            failure.broken = None;
        }
        let failure = context.edit.roll_back(failure);
        // What it changed directly before an error of its own it has put back.
        Err(match is_applied && is_direct {
            true => failure.after(|| guarded(|| Ok(command.undo(target)?))),
            false => failure,
        })
    }

    /// What it is called, for a failure: also if that panics.
    pub(super) fn any_label(&self) -> Label {
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
        run_all(&mut self.further, target, support, Direction::Undo)?;
        if !self.is_direct {
            return Ok(());
        }
        let command = &mut self.command;
        guarded(|| Ok(command.undo(target)?)).map_err(|failure| {
            failure.after(|| run_all(&mut self.further, target, support, Direction::Redo))
        })
    }

    fn redo(&mut self, target: &mut T, support: &mut Support<T>) -> Result<(), Failure> {
        if !self.is_direct {
            return run_all(&mut self.further, target, support, Direction::Redo);
        }
        let Self { command, further, .. } = self;
        let edit = Edit::again(&mut *target, support, further);
        let mut context = CommandContext { edit, is_direct: true, refused: None };
        let redone = guarded(|| {
            command.redo(&mut context)?;
            Ok(context.edit.close()?)
        });
        let done = context.edit.again.as_ref().map_or(0, |again| again.done);
        let broken = context.edit.take_broken();
        let (before, behind) = further.split_at_mut(done);
        if let Err(mut failure) = redone {
            // What it changed directly it has put back.
            failure.broken = failure.broken.or(broken);
            return Err(failure.after(|| run_all(before, target, support, Direction::Undo)));
        }
        run_all(behind, target, support, Direction::Redo).map_err(|failure| {
            failure.after(|| {
                run_all(before, target, support, Direction::Undo)?;
                guarded(|| Ok(command.undo(target)?))
            })
        })
    }
}

impl<T: 'static> Perform for Performed<T> {
    type Target = T;

    fn further(&self) -> &[Step<T>] {
        &self.further
    }

    /// Undoes or redoes it, and proves that this leads back, if it began at what is known.
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
            Label::None if !self.is_direct => {
                Steps::label(&self.further).unwrap_or_else(|| of_type(self.command.type_name()))
            }
            Label::None => of_type(self.command.type_name()),
            given => given,
        }
    }

    fn is_significant(&self) -> bool {
        self.command.is_significant() || self.further.iter().any(Step::is_significant)
    }

    fn finalize(&mut self, target: &mut T, end: End) {
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
        let before = self.before.take().filter(|_| change_state == ChangeState::Done);
        let (class, bytes) = encoded(&self.command, support)?;
        let last_id = before.as_ref().and_then(|before| before.last_id);
        let before = before.map(|before| before.command).filter(|before| *before != bytes);
        let further = self.further.iter_mut().map(|step| step.store(target, support, change_state));
        let (further, is_direct) = (further.collect::<Result<_>>()?, self.is_direct);
        Ok(StoredCommand { class, is_direct, before, last_id, bytes, further }.into())
    }

    fn is_obsolete(&self) -> bool {
        self.command.is_obsolete()
    }

    fn object(&self) -> Option<ObjectId> {
        self.command.objects().first().copied()
    }
}

/// What was before a command was done.
struct Before {
    command: Vec<u8>,
    /// The last id that the world had given.
    last_id: Option<u64>,
}

/// What is before a command is done, if there is a journal that wants to know.
fn before<T: 'static>(
    command: &dyn AnyCommand<T>,
    target: &T,
    support: &Support<T>,
) -> Result<Option<Box<Before>>> {
    if !support.is_journaled {
        return Ok(None);
    }
    let (_, command) = encoded(command, support)?;
    let last_id = world(target).map(World::last_id);
    Ok(Some(Box::new(Before { command, last_id })))
}

/// The number of the class of a command, and its bytes.
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

/// A type's own name, without its path and what it is generic over.
fn of_type(name_of_type: &str) -> Label {
    let (mut depth, mut name) = (0_usize, String::new());
    // An arrow closes nothing.
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

/// The error for something that can only be recorded, in a command that is redone.
#[cold]
pub(super) fn not_again() -> Error {
    error!(
        ErrorKind::Unsupported,
        "a command that changes its target directly, and also through recorded edits, needs a `redo` of its own that does the former; the latter are redone for it"
    )
}

impl<T: 'static> fmt::Debug for Edit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit").field("steps", &self.steps.len()).finish_non_exhaustive()
    }
}

impl<T: 'static> fmt::Debug for CommandContext<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandContext").field("edit", &self.edit).finish_non_exhaustive()
    }
}
