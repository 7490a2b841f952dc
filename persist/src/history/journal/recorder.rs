//! What happens to a history, as frames.

use hashbrown::HashSet;

use super::JournalEvent;
use super::commands::definitions;
use super::evolution::ComponentKey;
use super::frame::FrameKind;
use super::stored::{
    StoredContent, StoredDone, StoredEvicted, StoredIds, StoredProgram, StoredStep, payload,
};
use super::writer::{Frames, JournalWriter};
use crate::fields::Direction;
use crate::history::edit::Step;
use crate::history::step::End;
use crate::history::support::Support;
use crate::history::support::world;
use crate::sorting::sort;
use crate::world::{ChangeState, Owner};
use crate::{ErrorKind, Result, World};

/// Records what happens to a history, so that another run can replay it.
pub(in crate::history) struct Journal {
    pub(super) writer: JournalWriter,
    known: RecorderState,
    /// The components and resources whose content the journal has, so that the steps of fields that follow can be applied.
    recorded: HashSet<ComponentKey>,
    evicted: StoredEvicted,
}

/// What a record says of contents.
#[derive(Default)]
struct ComponentNotes {
    new: HashSet<ComponentKey>,
    /// What was put in or taken out.
    gone: HashSet<ComponentKey>,
    /// True if nothing is known before it, as its classes are others.
    begins: bool,
    /// True if nothing is known after it.
    ends: bool,
}

/// What a journal knows.
#[derive(Clone, Copy)]
struct RecorderState {
    /// How many classes, of commands and of a world.
    classes: (usize, usize),
    /// The last id of the world.
    last_id: Option<u64>,
}

impl RecorderState {
    fn of<T: 'static>(support: &Support<T>, target: &T) -> Self {
        let world = world(target);
        let classes = world.map_or(0, |world| world.registry().program().classes.len());
        let commands = support.registry.program().classes.len();
        Self { classes: (commands, classes), last_id: world.map(World::last_id) }
    }
}

impl Journal {
    /// A journal that knows the classes that there are.
    pub(super) fn new<T: 'static>(
        writer: JournalWriter,
        support: &Support<T>,
        target: &T,
        recorded: HashSet<ComponentKey>,
    ) -> Self {
        let mut journal = Self {
            writer,
            known: RecorderState::of(support, target),
            recorded: HashSet::new(),
            evicted: StoredEvicted::default(),
        };
        journal.begun(support, target, recorded);
        journal
    }

    fn frames<T: 'static>(
        &self,
        support: &Support<T>,
        event: JournalEvent<'_, T>,
        now: &RecorderState,
        notes: &mut ComponentNotes,
    ) -> Result<Frames> {
        let mut frames = Frames::new();
        if self.evicted.oldest + self.evicted.undone > 0 {
            frames.push((FrameKind::Evicted, payload(&self.evicted)?));
        }
        let frame = match event {
            JournalEvent::Done { target, label, steps, merging } => {
                let steps = stored(steps, target, support, ChangeState::Done)?;
                notes.begins = now.classes != self.known.classes;
                if notes.begins {
                    frames.push((FrameKind::Program, program(support, target)?));
                }
                // Most edits change fields of what the journal knows.
                let (mut changed, mut known) = (HashSet::new(), Vec::new());
                for step in &steps {
                    notes.ends |= step.each(&mut |change| {
                        let Some(class) = change.class() else { return };
                        let key = (change.owner, class.to_owned());
                        if !change.is_of_fields() {
                            notes.gone.insert(key);
                        } else if notes.begins || !self.recorded.contains(&key) {
                            changed.insert(key);
                        } else if steps.len() > 1 || matches!(step, StoredStep::Command(_)) {
                            known.push(key);
                        }
                    });
                }
                changed.extend(known.into_iter().filter(|key| notes.gone.contains(key)));
                notes.new = push_contents(target, support, changed, &mut frames)?;
                let ids = now.last_id.map(|behind| StoredIds { before: support.last_id, behind });
                let known = self.known.last_id.map(|id| StoredIds { before: id, behind: id });
                let (label, ids) = (label.clone(), ids.filter(|_| ids != known));
                (FrameKind::Done, payload(&StoredDone { label, merging, ids, steps })?)
            }
            JournalEvent::Moved { direction, .. } => match direction {
                Direction::Undo => (FrameKind::Undone, Vec::new()),
                Direction::Redo => (FrameKind::Redone, Vec::new()),
            },
            JournalEvent::Begun(label) => (FrameKind::Begun, payload(label)?),
            JournalEvent::Committed => (FrameKind::Committed, Vec::new()),
            JournalEvent::RolledBack => (FrameKind::RolledBack, Vec::new()),
            JournalEvent::Saved(state) => (FrameKind::Saved, payload(&state)?),
            JournalEvent::Cleared => (FrameKind::Cleared, Vec::new()),
            JournalEvent::Dropped(index) => {
                (FrameKind::Dropped, payload(&index.map(|index| index as u64))?)
            }
            JournalEvent::Skipped { is_redo } => (FrameKind::Skipped, payload(&is_redo)?),
            JournalEvent::Evicted => return Ok(frames),
        };
        frames.push(frame);
        Ok(frames)
    }
}

impl Journal {
    /// Appends what has just been done to the target, before the history notes it.
    ///
    /// If it fails, what was done is rolled back.
    pub(in crate::history) fn record<T: 'static>(
        &mut self,
        support: &Support<T>,
        event: JournalEvent<'_, T>,
    ) -> Result<()> {
        let must = matches!(event, JournalEvent::RolledBack);
        let is_cleared = matches!(event, JournalEvent::Cleared);
        let now = match &event {
            JournalEvent::Done { target, .. } => RecorderState::of(support, *target),
            _ => self.known,
        };
        // Behind what else changes components, they are told anew.
        let ends = matches!(
            event,
            JournalEvent::Moved { is_followed: false, .. } | JournalEvent::RolledBack
        );
        let mut notes = ComponentNotes { ends, ..ComponentNotes::default() };
        let frames = self.frames(support, event, &now, &mut notes)?;
        if frames.is_empty() {
            return Ok(());
        }
        if is_cleared && self.writer.lacks_history() {
            // The next one then can hold what there is.
            return Ok(());
        }
        let result = self.writer.append(&frames, must);
        if result.is_ok() || must {
            self.evicted = StoredEvicted::default();
            self.known = now;
            if notes.begins || notes.ends {
                self.recorded.clear();
            }
            if !notes.ends {
                for key in &notes.gone {
                    self.recorded.remove(key);
                }
                self.recorded.extend(notes.new);
            }
        }
        result
    }

    /// Notes that an entry was evicted: the oldest, or the last of those that were undone.
    pub(in crate::history) fn evicted(&mut self, end: End) {
        match end {
            End::Undone => self.evicted.undone += 1,
            End::Applied | End::Merged => self.evicted.oldest += 1,
        }
    }

    /// Notes that a new journal has begun with the history as it is, and with the contents of these.
    pub(super) fn begun<T: 'static>(
        &mut self,
        support: &Support<T>,
        target: &T,
        recorded: HashSet<ComponentKey>,
    ) {
        self.known = RecorderState { last_id: None, ..RecorderState::of(support, target) };
        (self.recorded, self.evicted) = (recorded, StoredEvicted::default());
    }

    /// Notes that the target was left half done: later changes of it cannot be replayed elsewhere.
    pub(in crate::history) fn lose(&mut self, why: &str) {
        let why =
            format!("since the target was left half done, {why}; save, which begins a new one");
        self.writer.lose(ErrorKind::Poisoned, &why);
    }
}

/// Steps as they are.
pub(super) fn stored<T: 'static>(
    steps: &mut [Step<T>],
    target: &T,
    support: &Support<T>,
    change_state: ChangeState,
) -> Result<Vec<StoredStep>> {
    steps.iter_mut().map(|step| step.store(target, support, change_state)).collect()
}

/// Writes the contents of components and resources that exist or are parked, or of another target; returns which.
pub(super) fn push_contents<T: 'static>(
    target: &T,
    support: &Support<T>,
    keys: HashSet<ComponentKey>,
    frames: &mut Frames,
) -> Result<HashSet<ComponentKey>> {
    let mut keys: Vec<ComponentKey> = keys.into_iter().collect();
    sort(&mut keys);
    let mut said = HashSet::new();
    let mut say = |owner, class: String, bytes| -> Result<()> {
        let content = StoredContent { owner, class, bytes };
        frames.push((FrameKind::Content, payload(&content)?));
        said.insert((owner, content.class));
        Ok(())
    };
    let Some(world) = world(target) else {
        for (owner, class) in keys {
            // One that holds what the program does not know is not written whole: its edits are for this program alone.
            if let Ok(bytes) = support.content(target) {
                say(owner, class, bytes)?;
            }
        }
        return Ok(said);
    };
    let mut parked = Vec::new();
    for (owner, class) in keys {
        match (world.content(owner, &class), owner) {
            (Ok(bytes), _) => say(owner, class, bytes)?,
            // What is detached its step has.
            (Err(_), Owner::Object(object)) => parked.push((object, class)),
            (Err(_), Owner::Resource) => {}
        }
    }
    for (object, class, bytes) in world.parked_contents(parked)? {
        say(Owner::Object(object), class, bytes)?;
    }
    Ok(said)
}

/// The classes that the following frames are written by.
pub(super) fn program<T: 'static>(support: &Support<T>, target: &T) -> Result<Vec<u8>> {
    let commands = definitions(&support.registry)?;
    let world = world(target).map(|world| definitions(world.registry())).transpose()?;
    payload(&StoredProgram { commands, world: world.unwrap_or_default() })
}
