//! A history that keeps the whole world as text, before and behind each entry.

use std::collections::BTreeMap;

/// A field of an object, or of a resource, by its path.
pub(crate) type Key = (u64, &'static str);

/// What the real history must be like.
pub(crate) struct Naive {
    /// The world at each position.
    pub(crate) texts: Vec<String>,
    /// A number for each of these states.
    states: Vec<u64>,
    last_state: u64,
    saved: Option<u64>,
    pub(crate) position: usize,
    pub(crate) capacity: usize,
    /// What an edit can be merged with.
    pub(crate) last: Option<Settings>,
}

/// An edit that sets fields and does nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) label: String,
    /// Whether what was undone before it is gone.
    pub(crate) has_cut: bool,
    /// The values of the fields before and behind it.
    pub(crate) fields: BTreeMap<Key, (String, String)>,
}

/// What an edit has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    Nothing,
    Entry,
    Merged,
    Annulled,
}

impl Naive {
    pub(crate) fn new(text: String, capacity: usize) -> Self {
        let (texts, states) = (vec![text], vec![0]);
        Self { texts, states, last_state: 0, saved: Some(0), position: 0, capacity, last: None }
    }

    fn new_state(&mut self) -> u64 {
        self.last_state += 1;
        self.last_state
    }

    /// Whether there are unsaved changes, and at which of the positions there are none, the nearest of them.
    pub(crate) fn saved(&self) -> (bool, Option<usize>) {
        let is_it = |position: &usize| Some(self.states[*position]) == self.saved;
        let nearest = (0..self.states.len())
            .filter(is_it)
            .min_by_key(|position| position.abs_diff(self.position));
        (!is_it(&self.position), nearest)
    }

    /// The world has been saved, or is said not to be.
    pub(crate) fn mark(&mut self, is_saved: bool) {
        self.saved = is_saved.then_some(self.states[self.position]);
        if is_saved {
            self.last = None;
        }
    }

    /// The current entry has led to something else.
    pub(crate) fn replace(&mut self, text: String) {
        self.texts[self.position] = text;
        self.states[self.position] = self.new_state();
    }

    /// True if the current entry has changed nothing in the end.
    pub(crate) fn is_as_before(&self) -> bool {
        self.texts[self.position] == self.texts[self.position - 1]
    }

    /// The current entry may have become one without steps, whose state is the one before it.
    pub(crate) fn like_before(&mut self, is_annulled: bool) {
        if is_annulled {
            self.states[self.position] = self.states[self.position - 1];
        }
    }

    /// The current entry, which is the last one, is gone.
    pub(crate) fn drop_last(&mut self) {
        self.texts.pop();
        self.states.pop();
        self.position -= 1;
        self.last = None;
    }

    /// No state that was is one that is.
    pub(crate) fn renew(&mut self) {
        let old = self.states.clone();
        for at in 0..old.len() {
            // An entry that does nothing leads to the state before it.
            let is_empty = at > 0 && old[at] == old[at - 1];
            self.states[at] = if is_empty { self.states[at - 1] } else { self.new_state() };
        }
        self.last = None;
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len() - 1
    }

    pub(crate) fn text(&self) -> &str {
        &self.texts[self.position]
    }

    /// An edit was done, which has led to this.
    pub(crate) fn edit(&mut self, text: String, settings: Option<Settings>) -> Became {
        if settings.as_ref().is_some_and(|settings| settings.fields.is_empty()) {
            return Became::Nothing;
        }
        let has_cut = self.position < self.len();
        self.texts.truncate(self.position + 1);
        self.states.truncate(self.position + 1);
        if let (Some(last), Some(next)) = (&mut self.last, &settings)
            && last.label == next.label
            && next.fields.keys().any(|key| last.fields.contains_key(key))
        {
            for (key, (old, new)) in &next.fields {
                let field = last.fields.entry(*key).or_insert_with(|| (old.clone(), new.clone()));
                field.1.clone_from(new);
            }
            last.fields.retain(|_, (old, new)| old != new);
            let (is_empty, has_cut) = (last.fields.is_empty(), last.has_cut);
            if !is_empty {
                self.replace(text);
                return Became::Merged;
            }
            if has_cut {
                // It stays as one that does nothing, in the place of those that it cut.
                self.last = None;
                self.texts[self.position] = text;
                self.states[self.position] = self.states[self.position - 1];
                return Became::Annulled;
            }
            self.drop_last();
            return Became::Annulled;
        }
        // An entry that does nothing leads to the state before it, and makes room.
        let is_empty =
            self.position > 0 && { self.states[self.position] == self.states[self.position - 1] };
        if is_empty {
            self.drop_last();
        }
        let has_cut = has_cut || is_empty;
        self.texts.push(text);
        let state = self.new_state();
        self.states.push(state);
        self.position += 1;
        self.last = settings.map(|settings| Settings { has_cut, ..settings });
        self.trim();
        Became::Entry
    }

    pub(crate) fn trim(&mut self) {
        while self.len() > self.capacity {
            let is_last = self.position == self.len();
            if self.position > 0 && (self.position > 1 || is_last) {
                self.texts.remove(0);
                self.states.remove(0);
                self.position -= 1;
            } else {
                self.texts.pop();
                self.states.pop();
            }
        }
        if self.position == 0 {
            self.last = None;
        }
    }

    pub(crate) fn go_to(&mut self, position: usize) {
        if position != self.position {
            self.last = None;
        }
        self.position = position;
    }
}
