//! Records the events of a history as frames.
//!
//! The frame of an edit has its steps. A later version of the program migrates whole values, while a step has only one
//! field. So the content of a component is recorded with its first edit, and again after anything that changes
//! components other than by steps of fields. From then on, a replay knows the whole component at each step: see
//! `evolution`.
//!
//! A `session` records its saves, and `open` opens it.

pub(in crate::history::journal) mod open;
mod session;

use std::mem;

use hashbrown::HashSet;

use super::{Beginning, Frames, JournalWriter, NextSave, RecorderState};
use crate::fields::{ChangeState, EditedWorld as _, FieldChange, Owner};
use crate::history::change::step::FinalState;
use crate::history::journal::frame::FrameKind;
use crate::history::journal::stored::{
    StoredDone, StoredEvicted, StoredProgram, StoredStep, payload,
};
use crate::history::journal::{
    ComponentKey, FiledEntries, RecordedContent, SaveIdentity, SavedContent, StoredContent,
    StoredIds, definitions,
};
use crate::history::merging::Merging;
use crate::history::{Label, Step, Support, Unchanged, world};
use crate::platform::held;
use crate::sorting::sort;
use crate::{ErrorKind, Result};

/// Records the events of a history, so that another run can replay them.
pub(in crate::history) struct Journal {
    writer: JournalWriter,
    state: RecorderState,
    evicted: StoredEvicted,
    /// The last save, while it is unknown whether it is in place.
    undecided: Option<NextSave>,
}

impl RecorderState {
    /// The state right after the beginning of a journal that has these contents and entries.
    fn new<T: 'static>(
        (target, support): (&T, &Support<T>),
        (recorded, saved, filed): (HashSet<ComponentKey>, SavedContent, FiledEntries),
    ) -> Self {
        Self { classes: numbers(target, support).0, last_id: None, recorded, saved, filed }
    }
}

/// The numbers of classes of commands and of a world, and the last id that the world has given.
fn numbers<T: 'static>(target: &T, support: &Support<T>) -> ((usize, usize), Option<u64>) {
    let world = world(target);
    let classes = world.map_or(0, |world| world.class_registry().program().classes.len());
    let commands = support.registry.program().classes.len();
    ((commands, classes), world.map(|world| world.last_id()))
}

impl Journal {
    /// Takes the entries that the journal has and the next part of it can name. The entries of the history that are
    /// `unchanged` since its beginning are among them.
    fn take_filed<T: 'static>(
        &mut self,
        (target, support): (&T, &Support<T>),
        unchanged: Unchanged,
    ) -> FiledEntries {
        let mut filed = mem::take(&mut self.state.filed);
        let is_same = numbers(target, support).0 == self.state.classes;
        filed.runs = if is_same { self.writer.named(&filed, unchanged) } else { Vec::new() };
        if filed.runs.is_empty() { FiledEntries::default() } else { filed }
    }

    /// Records an event before the history changes.
    ///
    /// Events that have happened already (a rollback) are recorded at the next append if this one fails.
    pub(crate) fn record(&mut self, kind: FrameKind, payload: Vec<u8>) -> Result<()> {
        if kind == FrameKind::Cleared && self.writer.lacks_history() {
            // The next journal can hold the history after the clear, so nothing is lost.
            return Ok(());
        }
        self.decide()?;
        self.append(vec![(kind, payload)], kind == FrameKind::RolledBack)
    }

    /// Records evicted entries, before a session with other limits replays the edits that evicted them.
    pub(crate) fn flush_evicted(&mut self) -> Result<()> {
        self.decide()?;
        self.append(Frames::new(), false)
    }

    /// Records the steps of an edit that has been applied to the target. If this fails, the caller rolls them back.
    pub(crate) fn record_done<T: 'static>(
        &mut self,
        (target, support): (&T, &Support<T>),
        label: &Label,
        steps: &mut [Step<T>],
        (merging, kind): (Merging, FrameKind),
    ) -> Result<()> {
        // An undecided save may change which contents and classes are known.
        self.decide()?;
        let ((classes, last_id), mut frames) = (numbers(target, support), Frames::new());
        let steps = stored(steps, target, support, ChangeState::Done)?;
        // If classes were registered since the last frame, all contents have to be recorded again.
        let begins = classes != self.state.classes;
        if begins {
            frames.push((FrameKind::Program, program(support, target)?));
        }
        // Most edits change fields of contents that are known. Components that are attached or detached are in their
        // steps.
        let (mut changed, mut known, mut replaced) = (HashSet::new(), Vec::new(), HashSet::new());
        // After a command that changed its target directly, no content is known.
        let mut ends = false;
        for step in &steps {
            ends |= step.each(&mut |change| {
                let Some(key) = change.key() else { return };
                if !change.is_of_fields() {
                    replaced.insert(key);
                } else if begins || !self.state.recorded.contains(&key) {
                    changed.insert(key);
                } else if steps.len() > 1 || matches!(step, StoredStep::Command(_)) {
                    known.push(key);
                }
            });
        }
        changed.extend(known.into_iter().filter(|key| replaced.contains(key)));
        let since = match changed.iter().next() {
            // An `after_load` may have changed other fields, which are in no step.
            Some((_, class)) => {
                let class = support.registry.named(class);
                let has_hooks = class.is_none_or(|class| support.registry.has_hooks(class));
                self.since(&steps, has_hooks)
            }
            None => Since::Nothing,
        };
        let new = push_contents((target, support), changed, since, &mut frames)?;
        let ids = last_id.map(|after| StoredIds { before: support.last_id, after });
        let known = self.state.last_id.map(|id| StoredIds { before: id, after: id });
        let (label, ids) = (label.clone(), ids.filter(|_| ids != known));
        frames.push((kind, payload(&StoredDone { label, merging, ids, steps })?));
        if kind == FrameKind::Aside {
            self.note_change();
            self.writer.defer(&frames)?;
        } else {
            self.append(frames, false)?;
        }
        (self.state.classes, self.state.last_id) = (classes, last_id);
        if begins {
            self.state.filed = FiledEntries::default();
        }
        if begins || ends {
            self.forget_contents();
        }
        if !ends {
            for key in &replaced {
                self.state.recorded.remove(key);
            }
            self.state.recorded.extend(new);
        }
        Ok(())
    }

    /// Returns how the content of a target that is not a world may be recorded after these steps.
    fn since(&self, steps: &[StoredStep], has_hooks: bool) -> Since {
        let fields = |step: &StoredStep| match step {
            StoredStep::Change(change) if change.is_as_recorded() => Some(change.fields().to_vec()),
            _ => None,
        };
        let of_steps = || steps.iter().map(fields).collect::<Option<Vec<_>>>();
        let is_short = steps.len() <= RecordedContent::MAX_CHANGES;
        match self.state.saved {
            SavedContent::Unknown => Since::Nothing,
            SavedContent::Current
                if is_short
                    && !has_hooks
                    && let Some(changes) = of_steps() =>
            {
                Since::Changes(changes.concat())
            }
            _ => held(&self.writer.followed()).content().map_or(Since::Nothing, Since::Content),
        }
    }

    /// Appends frames, after a frame for the entries that were evicted before.
    fn append(&mut self, mut frames: Frames, must: bool) -> Result<()> {
        if self.evicted.oldest + self.evicted.undone > 0 {
            frames.insert(0, (FrameKind::Evicted, payload(&self.evicted)?));
        }
        if frames.is_empty() {
            return Ok(());
        }
        self.note_change();
        let result = self.writer.append(&frames, must);
        if result.is_ok() || must {
            self.evicted = StoredEvicted::default();
        }
        result
    }

    /// Notes that the target has changed since its save.
    fn note_change(&mut self) {
        if self.state.saved == SavedContent::Current {
            self.state.saved = SavedContent::Earlier;
        }
    }

    /// Forgets the recorded contents, after a change of components other than by steps of fields.
    pub(crate) fn forget_contents(&mut self) {
        self.state.recorded.clear();
    }

    /// Notes that an entry was evicted: the oldest one, or the last of those that could be redone.
    pub(crate) fn evicted(&mut self, end: FinalState) {
        match end {
            FinalState::Undone => self.evicted.undone += 1,
            FinalState::Applied | FinalState::Merged => self.evicted.oldest += 1,
        }
    }

    /// Continues in the journal of a save if the save is in place, and otherwise in the current journal.
    ///
    /// `is_in_place` is `None` if the system did not say. `is_sure` is true if the save is known to be durable.
    fn finish_save(&mut self, save: NextSave, is_in_place: Option<bool>, is_sure: bool) {
        let followed = self.writer.followed();
        let Some(is_in_place) = is_in_place else {
            held(&followed).set_undecided(Some(save.digest));
            self.undecided = Some(save);
            return;
        };
        let NextSave { digest, stamp, journal, state } = save;
        if !is_in_place {
            held(&followed).set_undecided(None);
            self.writer.discard_next(journal.ok());
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
        (self.state, self.evicted) = (state, StoredEvicted::default());
    }

    /// Finds out whether the last save is in place, if that is unknown.
    ///
    /// Without this, an edit might be acknowledged in a journal that follows no save.
    fn decide(&mut self) -> Result<()> {
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

    /// Notes that the target was left half done, so that later changes of it cannot be replayed elsewhere.
    pub(crate) fn lose(&mut self, why: &str) {
        let why =
            format!("since the target was left half done, {why}; save, which begins a new one");
        self.writer.lose(ErrorKind::Poisoned, &why);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // The limits of the next session may be others. With the same ones, it evicts the same entries.
        let _ = self.flush_evicted();
    }
}

pub(in crate::history::journal) fn stored<T: 'static>(
    steps: &mut [Step<T>],
    target: &T,
    support: &Support<T>,
    change_state: ChangeState,
) -> Result<Vec<StoredStep>> {
    steps.iter_mut().map(|step| step.store(target, support, change_state)).collect()
}

/// A form in which a content can be recorded instead of all of its bytes.
#[derive(Default)]
enum Since {
    #[default]
    Nothing,
    /// The changes since the save.
    Changes(Vec<FieldChange>),
    /// The content that the save has.
    Content(Vec<u8>),
}

impl Since {
    fn content<T: 'static>(
        self,
        (target, support): (&T, &Support<T>),
        class: &str,
    ) -> Result<RecordedContent> {
        if let Self::Changes(changes) = self {
            return Ok(RecordedContent::SinceSave(changes));
        }
        let bytes = support.content(target)?;
        if let Self::Content(saved) = self
            && let Ok(changes) = support.changes_since(target, class, (&saved, &bytes))
        {
            let size = |change: &FieldChange| size_of::<FieldChange>() + change.how.held();
            let is_short = changes.len() <= RecordedContent::MAX_CHANGES;
            if is_short && changes.iter().map(size).sum::<usize>() < bytes.len() {
                return Ok(RecordedContent::SinceSave(changes));
            }
        }
        Ok(RecordedContent::Whole(bytes))
    }
}

/// Encodes the contents of components and resources in the world or detached with their object, or of another target.
/// Returns the keys of those that it found.
fn push_contents<T: 'static>(
    (target, support): (&T, &Support<T>),
    keys: HashSet<ComponentKey>,
    mut since: Since,
    frames: &mut Frames,
) -> Result<HashSet<ComponentKey>> {
    let mut keys: Vec<ComponentKey> = keys.into_iter().collect();
    sort(&mut keys);
    let mut pushed = HashSet::new();
    let mut push = |owner, class: String, content| -> Result<()> {
        let content = StoredContent { owner, class, content };
        frames.push((FrameKind::Content, payload(&content)?));
        pushed.insert((owner, content.class));
        Ok(())
    };
    let Some(world) = world(target) else {
        for (owner, class) in keys {
            // A target with unknown data cannot be encoded here. Its edits can then only be replayed by the same
            // version.
            if let Ok(content) = mem::take(&mut since).content((target, support), &class) {
                push(owner, class, content)?;
            }
        }
        return Ok(pushed);
    };
    let mut parked = Vec::new();
    for (owner, class) in keys {
        match (world.content(owner, &class), owner) {
            (Ok(bytes), _) => push(owner, class, RecordedContent::Whole(bytes))?,
            // The content of a detached component is in the step that detached it.
            (Err(_), Owner::Object(object)) => parked.push((object, class)),
            (Err(_), Owner::Resource) => {}
        }
    }
    for (object, class, bytes) in world.parked_contents(parked)? {
        push(Owner::Object(object), class, RecordedContent::Whole(bytes))?;
    }
    Ok(pushed)
}

/// Encodes the classes of the frames that follow.
fn program<T: 'static>(support: &Support<T>, target: &T) -> Result<Vec<u8>> {
    let commands = definitions(&support.registry)?;
    let world = world(target).map(|world| definitions(world.class_registry())).transpose()?;
    payload(&StoredProgram { commands, world: world.unwrap_or_default() })
}
