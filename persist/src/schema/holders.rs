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
    /// The holders in which the program has trait objects, if the save has such pointers.
    of_traits: HashSet<Holder>,
}

impl PointerPairs {
    /// Notes two pointers in one place; both are to trait objects if there is no class.
    pub(super) fn note(&mut self, class: Option<usize>, stored: Holder, wanted: Holder) {
        if !stored.may_become(wanted) {
            return;
        }
        let known = match class {
            Some(class) => self.classes.entry((class, stored)).or_default(),
            None => self.traits.entry(stored).or_default(),
        };
        known.insert(wanted);
    }

    /// Notes in which holders the program has trait objects, if a class of the save has pointers to some.
    pub(super) fn note_traits(&mut self, stored: &[ClassSchema], program: &Program) {
        fn of_traits(classes: &[ClassSchema], found: &mut HashSet<Holder>) {
            for kind in classes.iter().flat_map(ClassSchema::kinds) {
                kind.visit(&mut |kind| {
                    if let KindSchema::TraitReference { holder, .. } = kind {
                        found.insert(*holder);
                    }
                });
            }
        }
        let mut found = HashSet::new();
        of_traits(stored, &mut found);
        if !found.is_empty() {
            of_traits(&program.classes, &mut self.of_traits);
        }
    }

    /// The holder that objects of a stored class have now, which is this class of the program.
    pub(super) fn of_class(
        &self,
        class: usize,
        stored: Holder,
        target: Option<usize>,
        program: &Program,
    ) -> Holder {
        let Some(target) = target else { return self.of_trait(stored) };
        let registered = program.objects.get(&target).map_or(&[][..], |holders| holders);
        let of_traits = self.traits.get(&stored);
        let of_traits = of_traits.filter(|_| program.implementors.contains(&target));
        let said = self.classes.get(&(class, stored)).into_iter().chain(of_traits).flatten();
        // The fields decide, if they agree.
        match only(said) {
            Some(holder) if registered.contains(&holder) => holder,
            _ => nearest(stored, registered.iter()),
        }
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

/// What there is, unless there are several.
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
