use std::collections::HashMap;

use crate::World;
use crate::graph::Registry;
use crate::reflect::{Cell, Holder, Pointer};
use crate::schema::{ClassSchema, Form, KindSchema};

/// The holder in which samples have components and resources. Programs have no use for it.
pub(super) const PART: Holder = Holder::new(Pointer::Rc, Cell::RwLock);

/// The schemas of one version of the program, in an order of their own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    pub(super) version: String,
    /// By name, then by id.
    pub(super) classes: Vec<ClassSchema>,
    /// By name; indices of the classes that each trait has, ascending.
    pub(super) traits: Vec<(String, Vec<usize>)>,
    /// Class and holder of what may be an object, ascending.
    pub(super) objects: Vec<(usize, Holder)>,
}

impl Section {
    /// What a program has.
    pub(super) fn of(version: &str, registry: &Registry) -> Self {
        let classes = registry.program().classes.clone();
        let traits =
            registry.trait_classes().map(|(name, classes)| (name.to_owned(), classes)).collect();
        let objects = registry.object_types().collect();
        Self { version: version.to_owned(), classes, traits, objects }.in_order()
    }

    /// This section with everything in order.
    pub(super) fn in_order(mut self) -> Self {
        let key = |class: &ClassSchema| (class.name.clone(), class.id);
        let mut order: Vec<usize> = (0..self.classes.len()).collect();
        order.sort_by_cached_key(|class| key(&self.classes[*class]));
        let places: HashMap<usize, usize> =
            order.iter().enumerate().map(|(place, class)| (*class, place)).collect();
        let place = |class: usize| places.get(&class).copied().unwrap_or(class);
        self.classes.sort_by_cached_key(key);
        for class in &mut self.classes {
            each_kind(&mut class.form, &mut |kind| map_classes(kind, &place));
        }
        for (_, classes) in &mut self.traits {
            classes.iter_mut().for_each(|class| *class = place(*class));
            classes.sort_unstable();
        }
        self.traits.sort();
        self.objects.iter_mut().for_each(|(class, _)| *class = place(*class));
        self.objects.sort_unstable();
        self
    }

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
            let mut enter = |class: usize| {
                if !std::mem::replace(&mut found[class], true) {
                    next.push(class);
                }
            };
            for kind in self.classes[class].kinds() {
                kind.visit(&mut |kind| match kind {
                    KindSchema::Class(held) => enter(*held),
                    KindSchema::Dynamic(of) => {
                        self.classes_of(of).iter().for_each(|held| enter(*held));
                    }
                    _ => {}
                });
            }
        }
        found
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

    /// True if the other has the same schemas, whatever its version.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.classes, &self.traits, &self.objects)
            == (&other.classes, &other.traits, &other.objects)
    }
}

/// Visits the kinds that a form mentions directly.
pub(super) fn each_kind(form: &mut Form, visit: &mut dyn FnMut(&mut KindSchema)) {
    match form {
        Form::Struct(fields) => fields.iter_mut().for_each(|field| visit(&mut field.kind)),
        Form::Enum(variants) => {
            let fields = variants.iter_mut().flat_map(|variant| &mut variant.fields);
            fields.for_each(|field| visit(&mut field.kind));
        }
        Form::Value(kind) => visit(kind),
    }
}

/// Gives the classes of a kind other indices.
pub(super) fn map_classes(kind: &mut KindSchema, place: &dyn Fn(usize) -> usize) {
    match kind {
        KindSchema::Class(class) | KindSchema::Reference { class, .. } => *class = place(*class),
        kind => kind.parts_mut().iter_mut().for_each(|part| map_classes(part, place)),
    }
}

/// A holder without a target: `Rc<RefCell>`.
pub(super) fn cell_of(holder: Holder) -> String {
    match holder.parts() {
        Some((pointer, Cell::None)) => format!("{pointer:?}"),
        Some((pointer, cell)) => format!("{pointer:?}<{cell:?}>"),
        None => String::new(),
    }
}

/// Where a kind stands in its section: by it samples know it again.
pub(super) fn address(kind: &KindSchema) -> usize {
    std::ptr::from_ref(kind).addr()
}
