//! Objects that the program has in another pointer or cell than the save: an `Rc<RefCell<Hero>>` that became an
//! `Arc<Mutex<Hero>>`.
//!
//! Their records have the same bytes. So the save is read as if it had been written with the program's pointers, and
//! every object stays one.

use std::collections::{HashMap, HashSet};

use super::{ClassSchema, Form, KindSchema, Program};
use crate::reflect::Holder;

/// The pointers of the program that stand in the places of stored ones.
#[derive(Default)]
pub(super) struct PointerPairs {
    /// By stored class and holder.
    classes: HashMap<(usize, Holder), HashSet<Holder>>,
    /// Pointers to trait objects, by their stored holder.
    traits: HashMap<Holder, HashSet<Holder>>,
    /// The stored holders that pointers to a class name, and those to trait objects.
    named: HashMap<usize, HashSet<Holder>>,
    named_of_traits: HashSet<Holder>,
    /// The holders in which the program has trait objects, if the save has such pointers.
    of_traits: HashSet<Holder>,
}

impl PointerPairs {
    /// Notes two pointers in one place; both are to trait objects if there is no class.
    pub(super) fn note(&mut self, class: Option<usize>, stored: Holder, expected: Holder) {
        if !stored.may_become(expected) {
            return;
        }
        let known = match class {
            Some(class) => self.classes.entry((class, stored)).or_default(),
            None => self.traits.entry(stored).or_default(),
        };
        known.insert(expected);
    }

    /// Notes the pointers in the classes of a save, and in which holders the program has trait objects if the save has
    /// pointers to some.
    pub(super) fn note_all(&mut self, stored: &[ClassSchema], program: &Program) {
        for kind in stored.iter().flat_map(ClassSchema::kinds) {
            kind.visit(&mut |kind| match kind {
                KindSchema::Reference { holder, class, .. } => {
                    self.named.entry(*class).or_default().insert(*holder);
                }
                KindSchema::TraitReference { holder, .. } => {
                    self.named_of_traits.insert(*holder);
                }
                _ => {}
            });
        }
        if self.named_of_traits.is_empty() {
            return;
        }
        for kind in program.classes.iter().flat_map(ClassSchema::kinds) {
            kind.visit(&mut |kind| {
                if let KindSchema::TraitReference { holder, .. } = kind {
                    self.of_traits.insert(*holder);
                }
            });
        }
    }

    /// Returns the holder in which the program has the objects of a stored class that becomes `target`.
    pub(super) fn of_class(
        &self,
        class: usize,
        stored: Holder,
        target: Option<usize>,
        program: &Program,
    ) -> Holder {
        let Some(target) = target else {
            // Objects of unknown classes take the holder of the trait pointers to them.
            let is_named = self.named_of_traits.contains(&stored);
            return if is_named { self.of_trait(stored) } else { stored };
        };
        let registered = program.objects.get(&target).map_or(&[][..], |holders| holders);
        let of_traits = self.traits.get(&stored);
        let of_traits = of_traits.filter(|_| program.implementors.contains(&target));
        let said = self.classes.get(&(class, stored)).into_iter().chain(of_traits).flatten();
        // The fields decide, if they agree.
        match only(said) {
            Some(holder) if registered.contains(&holder) => return holder,
            _ => {}
        }
        let moved = nearest(stored, registered.iter());
        if moved == stored || self.names(class, stored) {
            return moved;
        }
        // No pointer may lead to a record that is in another holder than the pointer says.
        let mut named = self.named.get(&class).into_iter().flatten();
        let is_claimed = named
            .any(|other| self.of_class(class, *other, Some(target), program) == moved)
            || self.named_of_traits.iter().any(|other| self.of_trait(*other) == moved);
        if is_claimed { stored } else { moved }
    }

    /// True if some pointer of the save leads to objects of a class in this holder, or to trait objects, which may be
    /// of any class.
    fn names(&self, class: usize, stored: Holder) -> bool {
        self.named.get(&class).is_some_and(|named| named.contains(&stored))
            || self.named_of_traits.contains(&stored)
    }

    /// The holder that pointers to trait objects have now.
    pub(super) fn of_trait(&self, stored: Holder) -> Holder {
        let said = self.traits.get(&stored).and_then(|said| only(said.iter()));
        said.unwrap_or_else(|| nearest(stored, self.of_traits.iter()))
    }
}

/// The stored holder if it is among these, else the one of them that it may become: with a cell, if it has one.
fn nearest<'h>(stored: Holder, holders: impl Iterator<Item = &'h Holder> + Clone) -> Holder {
    if holders.clone().any(|holder| *holder == stored) {
        return stored;
    }
    let all = holders.filter(|holder| stored.may_become(**holder));
    let alike = all.clone().filter(|holder| holder.is_built() == stored.is_built());
    only(alike).or_else(|| only(all)).unwrap_or(stored)
}

/// Returns the holder if all are equal.
fn only<'h>(mut holders: impl Iterator<Item = &'h Holder>) -> Option<Holder> {
    let first = holders.next()?;
    holders.all(|holder| holder == first).then_some(*first)
}

impl ClassSchema {
    /// Gives the pointers in all fields another holder: those to a class, or to a trait.
    pub(super) fn set_holders(&mut self, holder: &dyn Fn(Option<usize>, Holder) -> Holder) {
        let set = |kind: &mut KindSchema| *kind = kind.with_holders(holder);
        match &mut self.form {
            Form::Struct(fields) => fields.iter_mut().for_each(|field| set(&mut field.kind)),
            Form::Enum(variants) => {
                let fields = variants.iter_mut().flat_map(|variant| &mut variant.fields);
                fields.for_each(|field| set(&mut field.kind));
            }
            Form::Value(kind) => set(kind),
        }
    }
}
