//! The names of objects: each once, with the lowest free number as suffix.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hash::BuildHasher;
use std::rc::Rc;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::ObjectId;

/// The base of objects that are given none.
const NAMELESS: &str = "Object";

/// Which names are taken, by whom.
#[derive(Default)]
pub(super) struct Names {
    hasher: DefaultHashBuilder,
    owners: HashTable<Owners>,
    /// Bases that have been given numbers.
    bases: HashMap<Box<str>, Numbers>,
    /// The name that is tried.
    text: String,
}

struct Owners {
    /// So that a table that grows does not look at names, which are anywhere in memory.
    hash: u64,
    name: Rc<str>,
    live: Option<ObjectId>,
    /// Objects of this name that are parked, and may come back.
    parked: u32,
}

/// The numbers of a base: those from `next` on have not been looked at, of those below only the `free` ones may be.
struct Numbers {
    free: BTreeSet<u64>,
    next: u64,
}

impl Names {
    fn get(&self, name: &str) -> Option<&Owners> {
        let hash = self.hasher.hash_one(name);
        self.owners.find(hash, |owners| owners.hash == hash && *owners.name == *name)
    }

    pub(super) fn find(&self, name: &str) -> Option<ObjectId> {
        self.get(name)?.live
    }

    /// The name that a newcomer gets: the base, or the base with the lowest free number.
    pub(super) fn free(&mut self, base: &str) -> Rc<str> {
        let base = if base.is_empty() { NAMELESS } else { base };
        if self.get(base).is_none() {
            return base.into();
        }
        if !self.bases.contains_key(base) {
            self.bases.insert(base.into(), Numbers { free: BTreeSet::new(), next: 1 });
        }
        let Self { hasher, owners, bases, text } = self;
        let Some(numbers) = bases.get_mut(base) else { return base.into() };
        loop {
            let number = numbers.free.pop_first().unwrap_or_else(|| {
                numbers.next += 1;
                numbers.next - 1
            });
            text.clear();
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{base}{number}");
            let hash = hasher.hash_one(text.as_str());
            if owners.find(hash, |owners| owners.hash == hash && *owners.name == **text).is_none() {
                return text.as_str().into();
            }
        }
    }

    /// The name that a copy gets: its own if that is free, else its base with the lowest free number.
    pub(super) fn free_for_copy(&mut self, name: &Rc<str>) -> Rc<str> {
        if self.get(name).is_some() { self.free(base_of(name)) } else { name.clone() }
    }

    /// Gives a name to an object; returns the one that had it.
    pub(super) fn take(&mut self, name: &Rc<str>, id: ObjectId) -> Option<ObjectId> {
        let hash = self.hasher.hash_one(&**name);
        let is_it = |owners: &Owners| owners.hash == hash && owners.name == *name;
        match self.owners.find_mut(hash, is_it) {
            Some(owners) => owners.live.replace(id),
            None => {
                let owners = Owners { hash, name: name.clone(), live: Some(id), parked: 0 };
                self.owners.insert_unique(hash, owners, |owners| owners.hash);
                None
            }
        }
    }

    /// Takes a name from a living object.
    pub(super) fn leave(&mut self, name: &str) {
        self.change(name, |owners| owners.live = None);
    }

    /// A living object of this name is parked.
    pub(super) fn park(&mut self, name: &str) {
        self.change(name, |owners| {
            owners.live = None;
            owners.parked += 1;
        });
    }

    /// An object of this name is parked, which was not here.
    pub(super) fn reserve(&mut self, name: &Rc<str>) {
        let hash = self.hasher.hash_one(&**name);
        let is_it = |owners: &Owners| owners.hash == hash && owners.name == *name;
        match self.owners.find_mut(hash, is_it) {
            Some(owners) => owners.parked += 1,
            None => {
                let owners = Owners { hash, name: name.clone(), live: None, parked: 1 };
                self.owners.insert_unique(hash, owners, |owners| owners.hash);
            }
        }
    }

    /// A parked object of this name is gone, or is about to come back.
    pub(super) fn unpark(&mut self, name: &str) {
        self.change(name, |owners| owners.parked = owners.parked.saturating_sub(1));
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Owners)) {
        let hash = self.hasher.hash_one(name);
        let is_it = |owners: &Owners| owners.hash == hash && *owners.name == *name;
        let Ok(mut found) = self.owners.find_entry(hash, is_it) else { return };
        change(found.get_mut());
        if found.get().live.is_some() || found.get().parked > 0 {
            return;
        }
        found.remove();
        for (base, number) in splits(name) {
            if let Some(numbers) = self.bases.get_mut(base)
                && number < numbers.next
            {
                numbers.free.insert(number);
            }
        }
    }
}

/// The bases that a name with a number could have: `a12` is `a1` with 2, and `a` with 12.
fn splits(name: &str) -> impl Iterator<Item = (&str, u64)> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let first = name.len() - digits;
    (first.max(1)..name.len()).filter_map(move |at| {
        let (base, number) = name.split_at_checked(at)?;
        // No number begins with a zero.
        if number.starts_with('0') { None } else { Some((base, number.parse().ok()?)) }
    })
}

/// The base of a copy: the name without its number.
fn base_of(name: &str) -> &str {
    let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if base.is_empty() { name } else { base }
}
