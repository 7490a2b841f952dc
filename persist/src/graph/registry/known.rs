//! Facts that follow from all classes of a registry, computed when they are first needed.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ClassFacts, Implementors, ObjectEntry, Traits};
use crate::codec::pages::ENTRY_CLASS;
use crate::reflect::{ClassId, FieldRecord, Prototype};
use crate::schema::{FieldSchema, Form, KindSchema, Program};
use crate::{ErrorKind, Result};

impl ClassFacts {
    pub(super) fn new(
        program: &Program,
        implementors: &Implementors,
        objects: &[ObjectEntry],
    ) -> Self {
        let traits = traits(program, implementors);
        let mut implementors = implementors.clone();
        let sizes = empty_sizes(program, &mut implementors);
        let footprint = |object: &ObjectEntry| {
            let has_factory = implementors.factories.contains_key(&object.kind.value);
            let inside = if has_factory { None } else { sizes[object.class] };
            inside.unwrap_or(0).saturating_add(object.kind.size as u64)
        };
        let footprints = objects.iter().map(footprint).collect();
        Self { traits, implementors: Arc::new(implementors), footprints }
    }
}

impl Traits {
    /// Adds the traits that a value of a kind has itself. `push` gets the classes inside.
    fn add(&mut self, kind: &KindSchema, implementors: &Implementors, push: &mut dyn FnMut(usize)) {
        kind.visit(&mut |kind| match kind {
            KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
                (self.references, self.pointers) = (true, true);
            }
            // Unknown data may refer to anything.
            KindSchema::Unknown => self.references = true,
            KindSchema::Dynamic(name) => {
                self.dynamic = true;
                let of = implementors.by_name(name);
                self.references |= of.is_some_and(|of| of.stand_in.is_some());
                of.into_iter().flat_map(|of| &of.classes).for_each(|class| push(class.class));
            }
            KindSchema::Class(class) => push(*class),
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
        self.pages |= other.pages;
    }

    /// Returns the traits that the values of a class have themselves. `push` gets the classes inside.
    fn of_class(
        program: &Program,
        implementors: &Implementors,
        index: usize,
        push: &mut dyn FnMut(usize),
    ) -> Self {
        let target = program.targets[index].map(|target| target.class);
        let mut traits = target.map_or_else(Self::default, |class| Self {
            before_save: class.before_save,
            after_load: class.after_load,
            validate: class.validate,
            pages: program.classes[index].id == ClassId::from_name(ENTRY_CLASS),
            ..Self::default()
        });
        program.classes[index].kinds().for_each(|kind| traits.add(kind, implementors, push));
        traits
    }
}

/// Returns the traits of values of a kind, including all classes that the kind contains by value.
pub(super) fn traits_of_kind(
    program: &Program,
    implementors: &Implementors,
    kind: &KindSchema,
) -> Traits {
    let (mut traits, mut next, mut visited) = (Traits::default(), Vec::new(), HashSet::new());
    traits.add(kind, implementors, &mut |class| next.push(class));
    while let Some(class) = next.pop() {
        if visited.insert(class) {
            let push = &mut |class| next.push(class);
            traits.join(Traits::of_class(program, implementors, class, push));
        }
    }
    traits
}

/// Returns the traits of the values of each class.
fn traits(program: &Program, implementors: &Implementors) -> Vec<Traits> {
    let mut inside = vec![Vec::new(); program.classes.len()];
    let own = |(class, inside): (usize, &mut Vec<usize>)| {
        Traits::of_class(program, implementors, class, &mut |class| inside.push(class))
    };
    let mut all: Vec<Traits> = inside.iter_mut().enumerate().map(own).collect();
    // Classes may contain each other, so repeat until nothing changes. Most classes come before those that they
    // contain, so the reverse order needs few rounds.
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

/// Returns the fields that are created empty by their own types.
fn empty<'f>(fields: &'f [FieldSchema], table: &[FieldRecord]) -> Vec<(&'f str, &'f KindSchema)> {
    let fields = fields.iter().zip(table);
    let empty = fields.filter(|(_, record)| record.is_empty_by_type());
    empty.map(|(field, _)| (&*field.name, &field.kind)).collect()
}

/// Returns the names and kinds of the values that an empty value of a class contains.
fn needs(program: &Program, class: usize) -> Vec<(&str, &KindSchema)> {
    let target = program.targets[class].map(|target| target.class);
    match (&program.classes[class].form, target) {
        (_, Some(class)) if class.prototype == Prototype::Own => Vec::new(),
        (Form::Struct(fields), Some(class)) => empty(fields, class.fields()),
        (Form::Enum(variants), Some(class)) => match class.prototype {
            Prototype::Variant(i) if i < variants.len() => {
                empty(&variants[i].fields, class.variants()[i].fields)
            }
            _ => Vec::new(),
        },
        (Form::Value(kind), _) => vec![("", kind)],
        _ => Vec::new(),
    }
}

/// Returns the bytes of the empty value of each class, including boxes and targets of pointers. The size is `None` for
/// a class whose empty value does not end, which only a factory can create. This also chooses the class of an empty
/// trait object of each trait: the first class whose empty value ends.
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

/// Returns the bytes of an empty value of a kind. `size` returns those of the classes whose size is computed.
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

/// Returns an error for a class whose empty value would need another value of the same class. Classes in `done` are
/// known to need none. Neither does a trait object, since its class is one whose empty value ends.
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

/// Adds the classes whose empty values are in an empty value of a kind.
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
