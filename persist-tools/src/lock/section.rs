//! A locked version: its classes, traits, objects and code.

use super::Section;
use persist::__tools::{Cell, KindSchema, Pointer};
use persist::World;
use persist::reflect::Holder;

/// The holder in which samples have components and resources. Programs have no use for it.
pub(super) const PART: Holder = Holder::new(Pointer::Rc, Cell::RwLock);

impl PartialEq for Section {
    fn eq(&self, other: &Self) -> bool {
        (&self.version, &self.after, &self.entries)
            == (&other.version, &other.after, &other.entries)
    }
}

impl Section {
    /// This section with the components and resources of worlds as objects, so that samples can have them.
    pub(super) fn with_parts(&self) -> Self {
        let mut section = self.clone();
        let parts = World::TRAITS.iter().flat_map(|of| self.classes_of(of));
        section.objects.extend(parts.map(|class| (*class, PART)));
        section.objects.sort_unstable();
        section.objects.dedup();
        section
    }

    /// True for the class of worlds.
    pub(super) fn is_world(&self, class: usize) -> bool {
        self.classes[class].name == World::CLASS
    }

    /// The classes that some of these hold by value, at any depth, and these.
    pub(super) fn inside(&self, mut found: Vec<bool>) -> Vec<bool> {
        let mut next: Vec<usize> = (0..found.len()).filter(|class| found[*class]).collect();
        while let Some(class) = next.pop() {
            for (_, held) in self.held_by(class) {
                if !std::mem::replace(&mut found[held], true) {
                    next.push(held);
                }
            }
        }
        found
    }

    /// The classes that a class holds by value, each with the field that does.
    pub(super) fn held_by(&self, class: usize) -> Vec<(&str, usize)> {
        let mut held = Vec::new();
        for (field, kind) in self.classes[class].named_kinds() {
            kind.visit(&mut |kind| match kind {
                KindSchema::Class(class) => held.push((field, *class)),
                KindSchema::Dynamic(of) => {
                    held.extend(self.classes_of(of).iter().map(|class| (field, *class)));
                }
                _ => {}
            });
        }
        held
    }

    /// The classes of a trait.
    pub(super) fn classes_of(&self, of: &str) -> &[usize] {
        self.traits.iter().find(|(name, _)| name == of).map_or(&[], |(_, classes)| classes)
    }

    /// The object types in a holder whose class has the trait.
    pub(super) fn objects_of(&self, of: &str, holder: Holder) -> impl Iterator<Item = usize> {
        let classes = self.classes_of(of).iter();
        classes.filter_map(move |class| self.objects.binary_search(&(*class, holder)).ok())
    }
}
