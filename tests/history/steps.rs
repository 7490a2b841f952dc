//! What a naive history is a list of.

use persist::history::FinalState;

use super::document::Document;

/// Fields whose numbers are set.
pub(super) const NAMES: [&str; 3] = ["x", "y", "z"];

/// What a command does.
#[derive(Clone, Debug)]
pub(super) enum Leaf {
    Put(usize, i64),
    Plus(usize, i64),
    Push,
    Pick(usize),
    /// Changes nothing, and may say later that it does nothing.
    Fade,
    /// Performs others, and does something itself if this is so.
    Pack(Vec<Leaf>, bool),
}

/// A command that was done.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) id: usize,
    pub(super) kind: Kind,
    pub(super) is_faded: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Put { name: usize, old: i64, new: i64 },
    Plus { name: usize },
    Push,
    Pick,
    Fade,
    Pack { is_direct: bool, inner: Vec<Step> },
}

impl Step {
    fn label(&self) -> String {
        match &self.kind {
            Kind::Put { name, new, .. } => format!("Put {} {new}", NAMES[*name]),
            Kind::Plus { name } => format!("Plus {}", NAMES[*name]),
            Kind::Push => format!("Push {}", self.id),
            Kind::Pick => "Pick".into(),
            Kind::Fade => "Fade".into(),
            Kind::Pack { .. } => format!("Pack {}", self.id),
        }
    }

    pub(super) fn is_significant(&self) -> bool {
        match &self.kind {
            Kind::Pick => false,
            Kind::Pack { is_direct, inner } => *is_direct || inner.iter().any(Self::is_significant),
            _ => true,
        }
    }

    /// The command and those that it performed.
    pub(super) fn ids(&self) -> Vec<usize> {
        let mut ids = vec![self.id];
        if let Kind::Pack { inner, .. } = &self.kind {
            ids.extend(inner.iter().flat_map(Self::ids));
        }
        ids
    }

    /// Those that have something to undo and redo.
    pub(super) fn running(&self) -> Vec<usize> {
        match &self.kind {
            Kind::Pack { is_direct, inner } => {
                let own = is_direct.then_some(self.id);
                inner.iter().flat_map(Self::running).chain(own).collect()
            }
            _ => vec![self.id],
        }
    }

    pub(super) fn is_pack(&self) -> bool {
        matches!(self.kind, Kind::Pack { .. })
    }

    pub(super) fn may_fade(&self) -> bool {
        matches!(self.kind, Kind::Fade)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Drag(u64),
    Given(u8),
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) label: String,
    pub(super) steps: Vec<Step>,
    /// What it joins others by: a drag, or a key.
    pub(super) key: Option<Key>,
    /// Whether it took the place of others that were undone.
    pub(super) has_cut: bool,
    pub(super) is_significant: bool,
    pub(super) time: u64,
    pub(super) state: usize,
    pub(super) behind: Document,
}

impl Entry {
    pub(super) fn text(&self) -> String {
        match (self.label.as_str(), &*self.steps) {
            ("", [only]) => only.label(),
            ("", [first, rest @ ..]) => format!("{} and {} more", first.label(), rest.len()),
            (given, _) => given.to_owned(),
        }
    }

    pub(super) fn weight(&self) -> usize {
        self.steps.iter().map(|step| step.ids().len()).sum()
    }
}

/// What came of a merge.
#[derive(PartialEq, Eq)]
pub(super) enum Merged {
    No,
    Yes,
    Annul,
}

/// Takes in an edit that was done right behind another one, if it goes with it, or joins it in any case.
pub(super) fn merge(
    before: &mut Entry,
    new: &Entry,
    joins: bool,
    is_refused: bool,
    ends: &mut Vec<(usize, FinalState)>,
) -> Merged {
    let is_alike = before.label == new.label && before.is_significant == new.is_significant;
    let is_one_each = before.steps.len() == 1 && new.steps.len() == 1;
    if !(joins || is_alike && is_one_each) {
        return Merged::No;
    }
    let is_single = new.steps.len() == 1 && !is_refused;
    let (last, next) = (before.steps.last_mut().unwrap(), &new.steps[0]);
    match (&mut last.kind, &next.kind) {
        (Kind::Put { name, old, new }, Kind::Put { name: other, new: newer, .. })
            if is_single && name == other =>
        {
            *new = *newer;
            ends.push((next.id, FinalState::Merged));
            if old == new {
                ends.push((last.id, FinalState::Merged));
                before.steps.pop();
            }
        }
        (Kind::Pick, Kind::Pick) if is_single => ends.push((next.id, FinalState::Merged)),
        _ if joins => before.steps.extend(new.steps.iter().cloned()),
        _ => return Merged::No,
    }
    before.is_significant |= new.is_significant;
    before.time = new.time;
    if before.steps.is_empty() { Merged::Annul } else { Merged::Yes }
}
