//! The names of objects: each once, with the lowest free number as suffix.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use crate::ObjectId;

/// The base of objects that are given none.
const NAMELESS: &str = "Object";

/// Which names are taken, by whom.
#[derive(Default)]
pub(super) struct Names {
    owners: HashMap<Rc<str>, Owners>,
    /// Bases that have been given numbers.
    bases: HashMap<Box<str>, Numbers>,
}

#[derive(Clone, Copy, Default)]
struct Owners {
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
    pub(super) fn find(&self, name: &str) -> Option<ObjectId> {
        self.owners.get(name)?.live
    }

    /// The name that a newcomer gets: the base, or the base with the lowest free number.
    pub(super) fn free(&mut self, base: &str) -> Rc<str> {
        let base = if base.is_empty() { NAMELESS } else { base };
        if !self.owners.contains_key(base) {
            return base.into();
        }
        if !self.bases.contains_key(base) {
            self.bases.insert(base.into(), Numbers { free: BTreeSet::new(), next: 1 });
        }
        let Some(numbers) = self.bases.get_mut(base) else { return base.into() };
        loop {
            let number = numbers.free.pop_first().unwrap_or_else(|| {
                numbers.next += 1;
                numbers.next - 1
            });
            let name = format!("{base}{number}");
            if !self.owners.contains_key(&*name) {
                return name.into();
            }
        }
    }

    /// Gives a name to an object; returns the one that had it.
    pub(super) fn take(&mut self, name: &Rc<str>, id: ObjectId) -> Option<ObjectId> {
        self.owners.entry(name.clone()).or_default().live.replace(id)
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

    /// A parked object of this name is gone, or is about to come back.
    pub(super) fn unpark(&mut self, name: &str) {
        self.change(name, |owners| owners.parked = owners.parked.saturating_sub(1));
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Owners)) {
        let Some(owners) = self.owners.get_mut(name) else { return };
        change(owners);
        if owners.live.is_none() && owners.parked == 0 {
            self.owners.remove(name);
            for (base, number) in splits(name) {
                if let Some(numbers) = self.bases.get_mut(base)
                    && number < numbers.next
                {
                    numbers.free.insert(number);
                }
            }
        }
    }
}

/// The bases of which a name could be one with a number: `a12` is `a1` with 2, and `a` with 12.
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
pub(super) fn base_of(name: &str) -> &str {
    let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if base.is_empty() { name } else { base }
}
