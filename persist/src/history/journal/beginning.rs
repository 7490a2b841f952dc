//! What a history was when its journal began.

use super::evolution::recorded;
use super::frame::Kind;
use super::replay::Replay;
use super::stored::{StoredEntry, StoredStacks, place, read, wrong};
use crate::Result;
use crate::history::History;
use crate::history::entry::Entry;
use crate::world::Moment;

/// More states than any history reaches.
const MOST_STATES: u64 = 1 << 62;

/// How far the beginning of a journal has been read.
pub(super) enum Begun {
    No,
    Entries(Box<StoredStacks>, Vec<StoredEntry>),
    Yes,
}

impl<T: 'static> Replay<'_, '_, T> {
    /// Reads what the history was when the journal began.
    pub(super) fn begin(
        &mut self,
        history: &mut History<T>,
        kind: Kind,
        payload: &[u8],
    ) -> Result<()> {
        let begun = std::mem::replace(&mut self.begun, Begun::No);
        self.begun = match (kind, begun) {
            (Kind::Stacks, Begun::No) => Begun::Entries(Box::new(read(payload)?), Vec::new()),
            (Kind::Entry, Begun::Entries(stacks, mut entries)) => {
                entries.push(read(payload)?);
                Begun::Entries(stacks, entries)
            }
            _ => return Err(wrong("a beginning in another place")),
        };
        if let Begun::Entries(stacks, entries) = &mut self.begun
            && stacks.entries <= entries.len() as u64
        {
            let (mut stacks, entries) = (std::mem::take(stacks), std::mem::take(entries));
            let entries = self.entries(history, &stacks, entries)?;
            history.install(&mut stacks, entries)?;
            self.begun = Begun::Yes;
        }
        Ok(())
    }

    /// The entries that the history had.
    fn entries(
        &mut self,
        history: &mut History<T>,
        stacks: &StoredStacks,
        mut stored: Vec<StoredEntry>,
    ) -> Result<Vec<Entry<T>>> {
        let position = place(stacks.position)?;
        let classes = self.programs.of_fields();
        if !classes.are_same() {
            let steps = stored.iter_mut().map(|entry| &mut entry.steps[..]);
            let recorded = recorded(&*self.target, &history.support);
            self.contents.bring_on_entries(steps, position, classes, recorded)?;
        }
        let mut entries = Vec::with_capacity(stored.len());
        let poison = &stacks.poison;
        for (at, StoredEntry { label, state, mut steps }) in stored.into_iter().enumerate() {
            let done = poison.as_ref().and_then(|poison| poison.done_of(at));
            let moment =
                if at < position || done.is_some() { Moment::Applied } else { Moment::Undone };
            let rest = steps.split_off(done.unwrap_or(steps.len()).min(steps.len()));
            let mut steps = self.restore_all(history, steps, moment)?;
            steps.append(&mut self.restore_all(history, rest, Moment::Undone)?);
            let mut entry = Entry::new(label, steps.into());
            entry.time = history.clocked();
            entry.weigh();
            entry.state = state;
            entries.push(entry);
        }
        Ok(entries)
    }
}

impl<T: 'static> History<T> {
    /// Takes what a history was, if it can have been.
    fn install(&mut self, stacks: &mut StoredStacks, entries: Vec<Entry<T>>) -> Result<()> {
        let position = place(stacks.position)?;
        if position > entries.len() {
            return Err(wrong("a position after its last entry"));
        }
        let states = || [stacks.base].into_iter().chain(entries.iter().map(|entry| entry.state));
        let last = stacks.last_state;
        if last > MOST_STATES || states().chain(stacks.saved).any(|state| state > last) {
            return Err(wrong("a state that was never reached"));
        }
        if !states().is_sorted() {
            return Err(wrong("a state that is older than the one before it"));
        }
        let poison = stacks.poison.take();
        if poison.as_ref().and_then(|poison| poison.entry).is_some_and(|at| at >= entries.len()) {
            return Err(wrong("the number of an entry that is not there"));
        }
        for entry in entries {
            self.bytes += entry.size;
            self.ring.put(entry);
        }
        self.ring.set_position(position);
        (self.base, self.last_state, self.saved) = (stacks.base, stacks.last_state, stacks.saved);
        self.poison = poison;
        Ok(())
    }
}
