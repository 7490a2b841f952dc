//! What is worked out of all classes, when it is first asked for.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Implementors, ObjectEntry, Traits};
use crate::reflect::{FieldRecord, Prototype};
use crate::schema::{FieldSchema, Form, KindSchema, Program};
use crate::{ErrorKind, Result};

/// What follows from the classes of a registry.
#[derive(Clone)]
pub(super) struct ClassFacts {
    /// By class.
    pub(super) traits: Vec<Traits>,
    /// With the classes that empty trait objects are of.
    pub(super) implementors: Arc<Implementors>,
    /// By object type: bytes in memory of an empty one, with its boxes and the targets of its bare pointers; up to
    /// about twice as much as that.
    pub(super) footprints: Vec<u64>,
}

impl ClassFacts {
    pub(super) fn of(
        program: &Program,
        implementors: &Implementors,
        objects: &[ObjectEntry],
    ) -> Self {
        let traits = traits(program, implementors);
        let mut implementors = implementors.clone();
        let sizes = empty_sizes(program, &mut implementors);
        let footprint = |object: &ObjectEntry| {
            let made = implementors.factories.contains_key(&object.kind.value);
            let inside = if made { None } else { sizes[object.class] };
            inside.unwrap_or(0).saturating_add(object.kind.size as u64)
        };
        let footprints = objects.iter().map(footprint).collect();
        Self { traits, implementors: Arc::new(implementors), footprints }
    }
}

impl Traits {
    /// Adds what a value of a kind holds itself; `meet` gets the classes inside.
    fn add(&mut self, kind: &KindSchema, implementors: &Implementors, meet: &mut dyn FnMut(usize)) {
        kind.visit(&mut |kind| match kind {
            KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
                (self.references, self.pointers) = (true, true);
            }
            // What is unknown may refer to anything.
            KindSchema::Unknown => self.references = true,
            KindSchema::Dynamic(name) => {
                self.dynamic = true;
                let of = implementors.by_name(name);
                self.references |= of.is_some_and(|of| of.stand_in.is_some());
                of.into_iter().flat_map(|of| &of.classes).for_each(|class| meet(class.class));
            }
            KindSchema::Class(class) => meet(*class),
            _ => {}
        });
    }

    fn join(&mut self, other: Self) {
        self.references |= other.references;
        self.pointers |= other.pointers;
        self.before_save |= other.before_save;
        self.after_load |= other.after_load;
        self.validate |= other.validate;
        self.dynamic |= other.dynamic;
    }

    /// What the values of a class hold themselves; `meet` gets the classes inside.
    fn of_class(
        (program, implementors): (&Program, &Implementors),
        class: usize,
        meet: &mut dyn FnMut(usize),
    ) -> Self {
        let target = program.targets[class].map(|target| target.class);
        let mut traits = target.map_or_else(Self::default, |class| Self {
            before_save: class.before_save,
            after_load: class.after_load,
            validate: class.validate,
            ..Self::default()
        });
        program.classes[class].kinds().for_each(|kind| traits.add(kind, implementors, meet));
        traits
    }
}

/// What values of a kind hold, by all classes that it mentions by value.
pub(super) fn traits_of_kind(
    program: &Program,
    implementors: &Implementors,
    kind: &KindSchema,
) -> Traits {
    let (mut traits, mut next, mut met) = (Traits::default(), Vec::new(), HashSet::new());
    traits.add(kind, implementors, &mut |class| next.push(class));
    while let Some(class) = next.pop() {
        if met.insert(class) {
            let meet = &mut |class| next.push(class);
            traits.join(Traits::of_class((program, implementors), class, meet));
        }
    }
    traits
}

/// What values of each class hold.
fn traits(program: &Program, implementors: &Implementors) -> Vec<Traits> {
    let mut inside = vec![Vec::new(); program.classes.len()];
    let own = |(class, inside): (usize, &mut Vec<usize>)| {
        Traits::of_class((program, implementors), class, &mut |class| inside.push(class))
    };
    let mut all: Vec<Traits> = inside.iter_mut().enumerate().map(own).collect();
    // Classes may lead to each other. Most come before those that they hold.
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for class in (0..all.len()).rev() {
            let mut traits = all[class];
            inside[class].iter().for_each(|inner| traits.join(all[*inner]));
            changed |= std::mem::replace(&mut all[class], traits) != traits;
        }
    }
    all
}

/// The fields that are made empty by themselves.
fn made<'f>(fields: &'f [FieldSchema], records: &[FieldRecord]) -> Vec<(&'f str, &'f KindSchema)> {
    let fields = fields.iter().zip(records);
    let made = fields.filter(|(_, record)| record.is_made_empty());
    made.map(|(field, _)| (&*field.name, &field.kind)).collect()
}

/// The names and kinds that an empty value of a class is made of.
fn needs(program: &Program, class: usize) -> Vec<(&str, &KindSchema)> {
    let target = program.targets[class].map(|target| target.class);
    match (&program.classes[class].form, target) {
        (_, Some(class)) if class.prototype == Prototype::Own => Vec::new(),
        (Form::Struct(fields), Some(class)) => made(fields, class.fields()),
        (Form::Enum(variants), Some(class)) => match class.prototype {
            Prototype::Variant(i) if i < variants.len() => {
                made(&variants[i].fields, class.variants()[i].fields)
            }
            _ => Vec::new(),
        },
        (Form::Value(kind), _) => vec![("", kind)],
        _ => Vec::new(),
    }
}

/// The bytes of the empty value of each class, in boxes and behind pointers too; `None` for one that does not end, which
/// only a factory can make. For every trait it chooses the class that an empty trait object is of: the first one whose
/// empty value ends.
fn empty_sizes(program: &Program, implementors: &mut Implementors) -> Vec<Option<u64>> {
    let mut sizes = vec![None; program.classes.len()];
    let mut found = true;
    while std::mem::take(&mut found) {
        for class in 0..sizes.len() {
            if sizes[class].is_none() {
                let size = |class: usize| {
                    let whole = program.targets[class].map_or(0, |target| target.class.size as u64);
                    sizes[class].map(|size: u64| size.max(whole))
                };
                let mut parts = needs(program, class).into_iter();
                sizes[class] = parts.try_fold(0_u64, |sum, (_, kind)| {
                    Some(sum.saturating_add(empty_size(kind, &size, implementors)?))
                });
                found |= sizes[class].is_some();
            }
        }
        for of in implementors.traits.values_mut().filter(|of| of.empty.is_none()) {
            of.empty = of.classes.iter().position(|class| sizes[class.class].is_some());
            found |= of.empty.is_some();
        }
    }
    sizes
}

/// The bytes of an empty value of a kind; `size` has those of the classes that are known.
fn empty_size(
    kind: &KindSchema,
    size: &impl Fn(usize) -> Option<u64>,
    implementors: &Implementors,
) -> Option<u64> {
    Some(match kind {
        KindSchema::Array(_, 0) | KindSchema::Unit => 0,
        KindSchema::Array(part, len) => {
            empty_size(part, size, implementors)?.saturating_mul(*len as u64)
        }
        KindSchema::Tuple(parts) => parts.iter().try_fold(0_u64, |sum, part| {
            Some(sum.saturating_add(empty_size(part, size, implementors)?))
        })?,
        KindSchema::Bool => 1,
        KindSchema::Char => 4,
        KindSchema::Compact(integer) => integer.bytes() as u64,
        KindSchema::Handle(_) => 16,
        KindSchema::Class(class) | KindSchema::Reference { weak: false, class, .. } => {
            size(*class)?.saturating_add(8)
        }
        KindSchema::Dynamic(name) | KindSchema::TraitReference { weak: false, name, .. } => {
            let of = implementors.by_name(name)?;
            size(of.classes[of.empty?].class)?.saturating_add(16)
        }
        kind if kind.width() > 0 => kind.width() as u64,
        _ => 8,
    })
}

/// Finds a class whose empty value would need another of itself. Those that `done` has are known to need none; a trait
/// object needs none either, since its class is one whose empty value ends.
pub(super) fn check_prototype(
    program: &Program,
    class: usize,
    open: &mut Vec<usize>,
    done: &mut Vec<bool>,
) -> Result<()> {
    if done[class] {
        return Ok(());
    }
    if open.contains(&class) {
        let name = &program.classes[class].name;
        bail!(
            ErrorKind::Unsupported,
            "an empty {name} would hold another {name} without end; make a field an `Option`, give one a `default`, mark another variant `#[persist(empty)]`, or use `register_with`"
        );
    }
    open.push(class);
    for (name, kind) in needs(program, class) {
        let mut inside = Vec::new();
        needed(kind, &mut inside);
        for class in inside {
            check_prototype(program, class, open, done).map_err(|error| error.in_field(name))?;
        }
    }
    open.pop();
    done[class] = true;
    Ok(())
}

/// The classes whose empty values are in an empty value of a kind.
fn needed(kind: &KindSchema, classes: &mut Vec<usize>) {
    match kind {
        KindSchema::Array(part, len) if *len > 0 => needed(part, classes),
        KindSchema::Tuple(parts) => parts.iter().for_each(|part| needed(part, classes)),
        KindSchema::Class(class) | KindSchema::Reference { weak: false, class, .. } => {
            classes.push(*class);
        }
        _ => {}
    }
}
