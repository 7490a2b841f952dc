//! What is worked out of all classes, when it is first asked for.

use std::sync::Arc;

use super::{Implementors, ObjectEntry, Traits};
use crate::graph::components::Edges;
use crate::reflect::{FieldRecord, Prototype};
use crate::schema::{FieldSchema, Form, KindSchema, Program};
use crate::{Error, ErrorKind, Result};

/// What follows from the classes of a registry.
#[derive(Clone)]
pub(super) struct Known {
    /// By class.
    pub(super) traits: Vec<Traits>,
    /// With the classes that empty trait objects are of.
    pub(super) implementors: Arc<Implementors>,
    /// By object type: bytes in memory of an empty one, with its boxes and the targets of its bare pointers; up to
    /// about twice as much as that.
    pub(super) footprints: Vec<u64>,
}

impl Known {
    pub(super) fn of(
        program: &Program,
        implementors: &Implementors,
        objects: &[ObjectEntry],
    ) -> Self {
        let traits = traits(program, implementors);
        let mut implementors = implementors.clone();
        choose_empty(program, &mut implementors);
        let mut sizes =
            Sizes { program, implementors: &implementors, done: vec![None; program.classes.len()] };
        let footprint = |object: &ObjectEntry| {
            let made = implementors.factories.contains_key(&object.kind.value);
            let inside = if made { 0 } else { sizes.class(object.class) };
            inside.saturating_add(object.kind.size as u64)
        };
        let footprints = objects.iter().map(footprint).collect();
        Self { traits, implementors: Arc::new(implementors), footprints }
    }
}

impl Traits {
    /// Adds what a value of a kind holds itself; `meet` gets the classes inside.
    fn add(&mut self, kind: &KindSchema, implementors: &Implementors, meet: &mut dyn FnMut(usize)) {
        kind.visit(&mut |kind| match kind {
            // What is unknown may refer to anything.
            KindSchema::Reference { .. }
            | KindSchema::TraitReference { .. }
            | KindSchema::Unknown => {
                self.references = true;
            }
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
        self.before_save |= other.before_save;
        self.after_load |= other.after_load;
        self.dynamic |= other.dynamic;
    }

    /// The traits of a class without its fields.
    fn of_class(program: &Program, class: usize) -> Self {
        let class = program.targets[class].map(|target| target.class);
        class.map_or_else(Self::default, |class| Self {
            before_save: class.before_save,
            after_load: class.after_load,
            ..Self::default()
        })
    }
}

/// What values of a kind hold, by all classes that it mentions by value.
pub(super) fn traits_of_kind(
    program: &Program,
    implementors: &Implementors,
    kind: &KindSchema,
) -> Traits {
    let (mut traits, mut met) = (Traits::default(), Vec::new());
    traits.add(kind, implementors, &mut |class| met.push(class));
    let mut next = 0;
    while next < met.len() {
        let class = met[next];
        next += 1;
        traits.join(Traits::of_class(program, class));
        for kind in program.classes[class].kinds() {
            traits.add(kind, implementors, &mut |class| {
                if !met.contains(&class) {
                    met.push(class);
                }
            });
        }
    }
    traits
}

/// What values of each class hold: classes that lead to each other hold the same.
fn traits(program: &Program, implementors: &Implementors) -> Vec<Traits> {
    let mut edges = Edges::new(program.classes.len());
    let mut own: Vec<Traits> = Vec::with_capacity(program.classes.len());
    for (class, schema) in program.classes.iter().enumerate() {
        let (mut traits, mut met) = (Traits::of_class(program, class), Vec::new());
        for kind in schema.kinds() {
            traits.add(kind, implementors, &mut |class| met.extend(u32::try_from(class).ok()));
        }
        edges.push(met);
        own.push(traits);
    }
    let found = edges.components();
    let mut of_components = vec![Traits::default(); program.classes.len()];
    // A component comes after those that it leads to.
    for class in found.order {
        let component = found.of[class as usize] as usize;
        let mut traits = own[class as usize];
        for target in edges.of(class) {
            traits.join(of_components[found.of[*target as usize] as usize]);
        }
        of_components[component].join(traits);
    }
    found.of.iter().map(|component| of_components[*component as usize]).collect()
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

/// Goes to the parts of an empty value of a kind that are not arrays or tuples, with how many there are of each.
fn each_part<'k>(kind: &'k KindSchema, count: u64, meet: &mut dyn FnMut(&'k KindSchema, u64)) {
    match kind {
        KindSchema::Array(_, 0) => {}
        KindSchema::Array(part, len) => each_part(part, count.saturating_mul(*len as u64), meet),
        KindSchema::Tuple(parts) => parts.iter().for_each(|part| each_part(part, count, meet)),
        kind => meet(kind, count),
    }
}

/// Chooses for every trait a class whose empty value does not hold a trait object
/// of the trait itself: the first one whose empty value is known to end.
fn choose_empty(program: &Program, implementors: &mut Implementors) {
    let mut ends = vec![false; program.classes.len()];
    let mut found = true;
    while std::mem::take(&mut found) {
        for class in 0..ends.len() {
            if ends[class] {
                continue;
            }
            let mut is_made = true;
            for (_, kind) in needs(program, class) {
                each_part(kind, 1, &mut |part, _| {
                    is_made &= match part {
                        KindSchema::Class(class)
                        | KindSchema::Reference { weak: false, class, .. } => ends[*class],
                        KindSchema::Dynamic(name)
                        | KindSchema::TraitReference { weak: false, name, .. } => {
                            implementors.by_name(name).is_some_and(|of| of.empty.is_some())
                        }
                        _ => true,
                    };
                });
            }
            ends[class] = is_made;
            found |= is_made;
        }
        for of in implementors.iter_mut().filter(|of| of.empty.is_none()) {
            of.empty = of.classes.iter().position(|class| ends[class.class]);
            found |= of.empty.is_some();
        }
    }
}

/// The bytes of empty values.
struct Sizes<'p> {
    program: &'p Program,
    implementors: &'p Implementors,
    /// By class.
    done: Vec<Option<u64>>,
}

impl Sizes<'_> {
    /// Bytes of the empty fields of a class, in boxes and behind pointers too.
    fn class(&mut self, class: usize) -> u64 {
        if let Some(bytes) = self.done[class] {
            return bytes;
        }
        // For what does not end, which only a factory can make.
        self.done[class] = Some(0);
        let mut parts = Vec::new();
        for (_, kind) in needs(self.program, class) {
            each_part(kind, 1, &mut |part, count| parts.push((part, count)));
        }
        let bytes = parts.into_iter().fold(0_u64, |sum, (part, count)| {
            sum.saturating_add(self.part(part).saturating_mul(count))
        });
        self.done[class] = Some(bytes);
        bytes
    }

    /// The bytes of a whole class, including what is not stored.
    fn whole(&mut self, class: usize) -> u64 {
        let size = self.program.targets[class].map_or(0, |target| target.class.size as u64);
        self.class(class).max(size)
    }

    fn part(&mut self, kind: &KindSchema) -> u64 {
        match kind {
            KindSchema::Unit => 0,
            KindSchema::Bool => 1,
            KindSchema::Char => 4,
            KindSchema::Compact(integer) => integer.bytes() as u64,
            KindSchema::Handle(_) => 16,
            KindSchema::Class(class) | KindSchema::Reference { weak: false, class, .. } => {
                self.whole(*class).saturating_add(8)
            }
            KindSchema::Dynamic(name) | KindSchema::TraitReference { weak: false, name, .. } => {
                let of = self.implementors.by_name(name);
                let empty = of.and_then(|of| Some(of.classes[of.empty?].class));
                empty.map_or(16, |class| self.whole(class).saturating_add(16))
            }
            kind if kind.width() > 0 => kind.width() as u64,
            _ => 8,
        }
    }
}

/// Finds a class whose empty value would need another of itself. Those that `done` has are known to need none; a trait
/// object needs none either, since its class is one whose empty value ends.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`], with the field.
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
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "an empty {name} would hold another {name} without end; make a field an `Option`, give one a `default`, mark another variant `#[persist(default)]`, or use `register_with`"
            ),
        ));
    }
    open.push(class);
    for (name, kind) in needs(program, class) {
        let mut inside = Vec::new();
        each_part(kind, 1, &mut |part, _| {
            if let KindSchema::Class(class) | KindSchema::Reference { weak: false, class, .. } =
                part
            {
                inside.push(*class);
            }
        });
        for class in inside {
            check_prototype(program, class, open, done).map_err(|error| error.in_field(name))?;
        }
    }
    open.pop();
    done[class] = true;
    Ok(())
}
