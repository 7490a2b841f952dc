//! What happens to a history, as frames.

use hashbrown::HashSet;

use super::commands::definitions;
use super::evolution::ComponentKey;
use super::frame::FrameKind;
use super::identity::SaveIdentity;
use super::stored::{
    StoredContent, StoredDone, StoredEvicted, StoredIds, StoredProgram, StoredStep, payload,
};
use super::writer::{Frames, JournalWriter, NextJournal};
use crate::format::Digest;
use crate::history::Label;
use crate::history::edit::Step;
use crate::history::merging::Merging;
use crate::history::step::End;
use crate::history::support::Support;
use crate::history::support::world;
use crate::platform::held;
use crate::sorting::sort;
use crate::storage::FileStamp;
use crate::world::{ChangeState, Owner};
use crate::{ErrorKind, Result, World};

/// Records what happens to a history, so that another run can replay it.
pub(in crate::history) struct Journal {
    pub(super) writer: JournalWriter,
    known: RecorderState,
    /// The components and resources whose content the journal has, so that the steps of fields that follow can be applied.
    recorded: HashSet<ComponentKey>,
    evicted: StoredEvicted,
    /// The last save, while nobody knows whether it is in place.
    undecided: Option<NextSave>,
}

/// A save that a session has made, with the journal that follows it.
pub(super) struct NextSave {
    pub(super) digest: Digest,
    pub(super) stamp: Option<FileStamp>,
    /// An error if the journal cannot hold the history.
    pub(super) journal: Result<NextJournal>,
    known: RecorderState,
    recorded: HashSet<ComponentKey>,
}

impl NextSave {
    /// A save of the target as it is. The journal begins with the contents of these.
    pub(super) fn new<T: 'static>(
        digest: Digest,
        journal: Result<NextJournal>,
        (target, support): (&T, &Support<T>),
        recorded: HashSet<ComponentKey>,
    ) -> Self {
        let known = RecorderState::at_begin(support, target);
        Self { digest, stamp: None, journal, known, recorded }
    }
}

/// What a journal knows.
#[derive(Clone, Copy)]
struct RecorderState {
    /// How many classes, of commands and of a world.
    classes: (usize, usize),
    last_id: Option<u64>,
}

impl RecorderState {
    fn of<T: 'static>(support: &Support<T>, target: &T) -> Self {
        let world = world(target);
        let classes = world.map_or(0, |world| world.registry().program().classes.len());
        let commands = support.registry.program().classes.len();
        Self { classes: (commands, classes), last_id: world.map(World::last_id) }
    }

    /// What one knows that has just begun.
    fn at_begin<T: 'static>(support: &Support<T>, target: &T) -> Self {
        Self { last_id: None, ..Self::of(support, target) }
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
        let known = RecorderState::at_begin(support, target);
        Self { writer, known, recorded, evicted: StoredEvicted::default(), undecided: None }
    }

    /// Appends something that happened, before the history notes it. What has to be in the journal is there later, at least.
    pub(in crate::history) fn record(&mut self, kind: FrameKind, payload: Vec<u8>) -> Result<()> {
        if kind == FrameKind::Cleared && self.writer.lacks_history() {
            // The next one then can hold what there is.
            return Ok(());
        }
        self.decide()?;
        self.append(vec![(kind, payload)], kind == FrameKind::RolledBack)
    }

    /// Appends what was evicted, before there is more room.
    pub(in crate::history) fn flush_evicted(&mut self) -> Result<()> {
        self.decide()?;
        self.append(Frames::new(), false)
    }

    /// Appends steps that have just been done to the target. If it fails, they are rolled back.
    pub(in crate::history) fn record_done<T: 'static>(
        &mut self,
        (target, support): (&T, &Support<T>),
        label: &Label,
        steps: &mut [Step<T>],
        merging: Merging,
    ) -> Result<()> {
        // What is written depends on what the journal knows.
        self.decide()?;
        let (now, mut frames) = (RecorderState::of(support, target), Frames::new());
        let steps = stored(steps, target, support, ChangeState::Done)?;
        // If its classes are others, nothing is known before it.
        let begins = now.classes != self.known.classes;
        if begins {
            frames.push((FrameKind::Program, program(support, target)?));
        }
        // Most edits change fields of what the journal knows. What is put in or taken out is gone.
        let (mut changed, mut known, mut gone) = (HashSet::new(), Vec::new(), HashSet::new());
        // Nothing is known after a command that changed its target directly.
        let mut ends = false;
        for step in &steps {
            ends |= step.each(&mut |change| {
                let Some(key) = change.key() else { return };
                if !change.is_of_fields() {
                    gone.insert(key);
                } else if begins || !self.recorded.contains(&key) {
                    changed.insert(key);
                } else if steps.len() > 1 || matches!(step, StoredStep::Command(_)) {
                    known.push(key);
                }
            });
        }
        changed.extend(known.into_iter().filter(|key| gone.contains(key)));
        let new = push_contents(target, support, changed, &mut frames)?;
        let ids = now.last_id.map(|behind| StoredIds { before: support.last_id, behind });
        let known = self.known.last_id.map(|id| StoredIds { before: id, behind: id });
        let (label, ids) = (label.clone(), ids.filter(|_| ids != known));
        frames.push((FrameKind::Done, payload(&StoredDone { label, merging, ids, steps })?));
        self.append(frames, false)?;
        self.known = now;
        if begins || ends {
            self.forget_contents();
        }
        if !ends {
            for key in &gone {
                self.recorded.remove(key);
            }
            self.recorded.extend(new);
        }
        Ok(())
    }

    /// Appends frames, after what was evicted before them.
    fn append(&mut self, mut frames: Frames, must: bool) -> Result<()> {
        if self.evicted.oldest + self.evicted.undone > 0 {
            frames.insert(0, (FrameKind::Evicted, payload(&self.evicted)?));
        }
        if frames.is_empty() {
            return Ok(());
        }
        let result = self.writer.append(&frames, must);
        if result.is_ok() || must {
            self.evicted = StoredEvicted::default();
        }
        result
    }

    /// Forgets which contents the journal has, as something else has changed components: they are written again.
    pub(in crate::history) fn forget_contents(&mut self) {
        self.recorded.clear();
    }

    /// Notes that an entry was evicted: the oldest, or the last of those that were undone.
    pub(in crate::history) fn evicted(&mut self, end: End) {
        match end {
            End::Undone => self.evicted.undone += 1,
            End::Applied | End::Merged => self.evicted.oldest += 1,
        }
    }

    /// Continues in the journal of a save if that is in place, and else in the one before. It is `None` if the system has not
    /// said; `is_sure` if the save is certainly durable.
    pub(super) fn finish_save(&mut self, save: NextSave, is_in_place: Option<bool>, is_sure: bool) {
        let followed = self.writer.followed();
        let Some(is_in_place) = is_in_place else {
            held(&followed).set_undecided(Some(save.digest));
            self.undecided = Some(save);
            return;
        };
        let NextSave { digest, stamp, journal, known, recorded } = save;
        if !is_in_place {
            held(&followed).set_undecided(None);
            self.writer.give_up(journal.ok());
            return;
        }
        held(&followed).follow(digest, stamp);
        match journal {
            Ok(next) => self.writer.adopt(next, is_sure),
            Err(error) => {
                let why =
                    format!("as it cannot hold the history, {error}; clear that, and save again");
                self.writer.lose(error.kind(), &why);
            }
        }
        (self.known, self.recorded, self.evicted) = (known, recorded, StoredEvicted::default());
    }

    /// Looks whether the last save is in place, if nobody knew. An edit that is acknowledged before would be in a journal that
    /// may be that of no save.
    pub(super) fn decide(&mut self) -> Result<()> {
        let Some(save) = self.undecided.take() else { return Ok(()) };
        let identity = held(&self.writer.followed()).check();
        let is_in_place = match identity {
            SaveIdentity::Saved => true,
            SaveIdentity::Same | SaveIdentity::Changed => false,
            SaveIdentity::Unknown(error) => {
                self.undecided = Some(save);
                return Err(error);
            }
        };
        self.finish_save(save, Some(is_in_place), false);
        Ok(())
    }

    /// Notes that the target was left half done: later changes of it cannot be replayed elsewhere.
    pub(in crate::history) fn lose(&mut self, why: &str) {
        let why =
            format!("since the target was left half done, {why}; save, which begins a new one");
        self.writer.lose(ErrorKind::Poisoned, &why);
    }
}

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
