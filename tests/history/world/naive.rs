//! A history that keeps the whole world as text, before and behind each entry.

use std::collections::BTreeMap;

/// A field of an object, or of a resource, by its path.
pub(crate) type Key = (u64, &'static str);

/// What the real history must be like.
pub(crate) struct Naive {
    /// The world at each position.
    pub(crate) texts: Vec<String>,
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
        Self { texts: vec![text], position: 0, capacity, last: None }
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
        if let (Some(last), Some(next)) = (&mut self.last, &settings)
            && last.label == next.label
            && next.fields.keys().any(|key| last.fields.contains_key(key))
        {
            for (key, (old, new)) in &next.fields {
                let field = last.fields.entry(*key).or_insert_with(|| (old.clone(), new.clone()));
                field.1.clone_from(new);
            }
            last.fields.retain(|_, (old, new)| old != new);
            if !last.fields.is_empty() {
                self.texts[self.position] = text;
                return Became::Merged;
            }
            if last.has_cut {
                // It stays as one that does nothing, in the place of those that it cut.
                self.last = None;
                self.texts[self.position] = text;
                return Became::Annulled;
            }
            self.last = None;
            self.texts.pop();
            self.position -= 1;
            return Became::Annulled;
        }
        self.texts.push(text);
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
                self.position -= 1;
            } else {
                self.texts.pop();
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
