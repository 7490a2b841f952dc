//! Objects of a generic instance that the program does not have, such as `Slot<u8>` where it has `Slot<u16>`.
//!
//! This decides which instance of the program they may become, and which of them belong to unknown data.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::pairing::find_variant;
use super::program::Sides;
use super::{ClassSchema, Form, KindSchema, Program};
use crate::{Error, ErrorKind};

/// For each stored instance of a generic class that the program does not have those that it has of the same.
pub(super) type Candidates = HashMap<usize, Vec<usize>>;

/// The classes of a save, with those of the program that they are by their names.
pub(super) struct NamedClasses<'s> {
    stored: &'s [ClassSchema],
    program: &'s Program,
    resolved: &'s [Option<usize>],
    /// The program's classes by their names in the save, and by those that they have and had.
    by_name: OnceCell<HashMap<&'s str, usize>>,
}

impl<'s> NamedClasses<'s> {
    pub(super) fn new(
        stored: &'s [ClassSchema],
        program: &'s Program,
        resolved: &'s [Option<usize>],
    ) -> Self {
        Self { stored, program, resolved, by_name: OnceCell::new() }
    }

    fn by_name(&self) -> &HashMap<&'s str, usize> {
        self.by_name.get_or_init(|| {
            let mut by_name = HashMap::new();
            let classes = self.program.classes.iter().zip(&self.program.targets);
            for (target, (class, described)) in classes.enumerate() {
                let aliases = described.iter().flat_map(|described| described.class.aliases);
                by_name.extend(aliases.map(|alias| (*alias, target)));
                by_name.insert(&*class.name, target);
            }
            for (class, target) in self.stored.iter().zip(self.resolved) {
                by_name.extend(target.map(|target| (&*class.name, target)));
            }
            by_name
        })
    }

    /// The candidates, but for instances that hold or refer to a class that the program does not have: they are as
    /// unknown as that.
    pub(super) fn candidates(&self) -> Candidates {
        let of = |class: usize| (class, self.program.candidates(&self.stored[class]));
        let found = self.unresolved().map(of).filter(|(_, found)| !found.is_empty());
        let mut candidates: Candidates = found.collect();
        if candidates.is_empty() {
            return candidates;
        }
        let mut holders = vec![Vec::new(); self.stored.len()];
        let mut unknown = Vec::new();
        for class in self.unresolved() {
            let stored = &self.stored[class];
            let mut visit = |part: usize, _| holders[part].push(class);
            match candidates.get(&class) {
                Some(found) => {
                    let sides = self.program.sides(stored, found[0]);
                    let kinds = sides.into_iter().flat_map(Sides::kinds);
                    mentions(kinds.map(|(old, _)| old), &mut visit);
                }
                None if is_bare(stored) => mentions(stored.kinds(), &mut visit),
                None => unknown.push(class),
            }
        }
        while let Some(class) = unknown.pop() {
            for holder in std::mem::take(&mut holders[class]) {
                candidates.remove(&holder);
                unknown.push(holder);
            }
        }
        candidates
    }

    /// The candidates that an unknown part of the save refers to, which the program would keep.
    pub(super) fn unknown(&self, candidates: &Candidates) -> HashSet<usize> {
        let mut unknown = HashSet::new();
        if candidates.is_empty() {
            return unknown;
        }
        let is_open = |class: usize| {
            self.resolved[class].is_none()
                && (candidates.contains_key(&class) || is_bare(&self.stored[class]))
        };
        // Classes that these hold by value belong to them.
        let mut seen = HashSet::new();
        let mut next: Vec<usize> =
            (0..self.stored.len()).filter(|class| !is_open(*class)).collect();
        while let Some(class) = next.pop() {
            let stored = &self.stored[class];
            let mut visit = |part: usize, is_object: bool| {
                if is_object && candidates.contains_key(&part) {
                    unknown.insert(part);
                }
                if is_open(part) && seen.insert(part) {
                    next.push(part);
                }
            };
            match (self.resolved[class], self.owner(class)) {
                (Some(_), _) if is_bare(stored) => {}
                (Some(target), _) => {
                    let sides = self.program.sides(stored, target);
                    mentions(sides.into_iter().flat_map(Sides::unknown), &mut visit);
                }
                (None, Some(sides)) => mentions(sides.unknown(), &mut visit),
                (None, None) => mentions(stored.kinds(), &mut visit),
            }
        }
        unknown
    }

    /// Returns the unknown fields of known classes, each stored as a class of its own, with the fields of its owner.
    pub(super) fn unknown_fields(&self) -> impl Iterator<Item = Sides<'s>> {
        self.unresolved().filter_map(|class| self.owner(class))
    }

    /// The one field of a class of what was kept, with the fields of the struct or variant that it belongs to.
    fn owner(&self, class: usize) -> Option<Sides<'s>> {
        let (owner, field) = self.stored[class].unknown_field()?;
        let (target, variant) = match self.by_name().get(owner) {
            Some(target) => (*target, 0),
            None => {
                let (owner, variant) = owner.rsplit_once("::")?;
                let target = *self.by_name().get(owner)?;
                let variants = self.program.targets[target]?.class.variants();
                (target, find_variant(variant, variants)?)
            }
        };
        let new = self.program.expected(target, variant);
        Some(Sides { old: std::slice::from_ref(field), new: Some(new) })
    }

    fn unresolved(&self) -> impl Iterator<Item = usize> {
        (0..self.stored.len()).filter(|class| self.resolved[*class].is_none())
    }
}

fn is_bare(class: &ClassSchema) -> bool {
    matches!(class.form, Form::Value(_))
}

/// The classes that kinds hold, and those that they refer to.
fn mentions<'k>(kinds: impl Iterator<Item = &'k KindSchema>, visit: &mut dyn FnMut(usize, bool)) {
    for kind in kinds {
        kind.visit(&mut |kind| match kind {
            KindSchema::Class(class) => visit(*class, false),
            KindSchema::Reference { class, .. } => visit(*class, true),
            _ => {}
        });
    }
}

/// The error for objects of a stored class that could become several of the program's.
#[cold]
pub fn contested(name: &str, program: &Program, candidates: &[usize]) -> Error {
    let names = candidates.iter().map(|candidate| &*program.classes[*candidate].name);
    Error::new(
        ErrorKind::KindMismatch,
        format!(
            "{name} is not registered, and an object of it could become any of {}; register {name} too, to load it as it is, or one of the others alone, or say that it is gone, `declare_removed_class({name:?})`",
            names.collect::<Vec<_>>().join(", ")
        ),
    )
}
