//! What is found at registration, before a save could be lost by it.

use std::sync::Arc;

use super::{Implementors, Registry, Traits};
use crate::codec::{ADAPTED, CONVERTED};
use crate::reflect::{FieldRecord, Kind, Prototype};
use crate::schema::{FieldSchema, Form, KindSchema, Target};
use crate::{Error, ErrorKind, Result};

/// What a foreign type is stored as.
const FOREIGN: &str = "stored in a type of another crate";

impl Traits {
    fn add_hooks(&mut self, target: Option<Target>) {
        if let Some(target) = target {
            self.before_save |= target.class.before_save;
            self.after_load |= target.class.after_load;
        }
    }
}

/// The kinds of the fields that are made empty by themselves.
fn made<'f>(fields: &'f [FieldSchema], records: &[FieldRecord]) -> Vec<&'f KindSchema> {
    let fields = fields.iter().zip(records);
    let made = fields.filter(|(_, record)| record.is_made_empty());
    made.map(|(field, _)| &field.kind).collect()
}

/// True if an empty value of the kind can be made, of classes that are known to end.
fn is_made(kind: &KindSchema, ends: &[bool], implementors: &Implementors) -> bool {
    match kind {
        KindSchema::Array(part, len) if *len > 0 => is_made(part, ends, implementors),
        KindSchema::Tuple(parts) => parts.iter().all(|part| is_made(part, ends, implementors)),
        KindSchema::Class(class) | KindSchema::Reference { weak: false, class, .. } => ends[*class],
        KindSchema::Dynamic(name) | KindSchema::TraitReference { weak: false, name, .. } => {
            implementors.by_name(name).is_some_and(|of| of.empty.is_some())
        }
        _ => true,
    }
}

/// The classes on the way to the one whose prototype is checked.
struct Path {
    open: Vec<usize>,
    done: Vec<bool>,
}

impl Registry {
    pub(super) fn check_unvisited(
        &mut self,
        place: &str,
        kind: Kind,
        name: fn() -> String,
    ) -> Result<()> {
        let kind = self.kind(kind, 0)?;
        let traits = self.traits_of_kinds(&[&kind]);
        if traits == Traits::default() {
            return Ok(());
        }
        let what = match traits {
            Traits { references: true, .. } => "a shared pointer",
            Traits { dynamic: true, .. } => "a trait object",
            _ => "a class with hooks",
        };
        let advice = if place == ADAPTED || place == FOREIGN {
            "what is stored in place of a field is not there to be connected or to run hooks; keep such parts in fields of their own"
        } else if place == CONVERTED {
            "an older value is not there to be connected or to run hooks; use `alias`, or `version` and `migrate`"
        } else if traits.references || traits.dynamic {
            "its order or hash would change while references are connected; use a plain id or name there"
        } else {
            "hooks cannot run there; use a plain id or name"
        };
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("{} holds {what} and cannot be {place}: {advice}", name()),
        ))
    }

    /// What values of these kinds hold, by all classes that they mention by value.
    fn traits_of_kinds(&self, kinds: &[&KindSchema]) -> Traits {
        let mut traits = Traits::default();
        let mut seen = vec![false; self.program.classes.len()];
        let mut pending: Vec<&KindSchema> = kinds.to_vec();
        while let Some(kind) = pending.pop() {
            match kind {
                // What is unknown may refer to anything.
                KindSchema::Reference { .. }
                | KindSchema::TraitReference { .. }
                | KindSchema::Unknown => {
                    traits.references = true;
                }
                KindSchema::Dynamic(name) => {
                    traits.dynamic = true;
                    let of = self.implementors.by_name(name);
                    // An unknown value may refer to anything.
                    traits.references |= of.is_some_and(|of| of.stand_in.is_some());
                    let classes = of.into_iter().flat_map(|of| &of.classes);
                    for class in classes.map(|class| class.class) {
                        if !std::mem::replace(&mut seen[class], true) {
                            traits.add_hooks(self.program.targets[class]);
                            pending.extend(self.program.classes[class].kinds());
                        }
                    }
                }
                KindSchema::Class(class) if !std::mem::replace(&mut seen[*class], true) => {
                    traits.add_hooks(self.program.targets[*class]);
                    pending.extend(self.program.classes[*class].kinds());
                }
                kind => pending.extend(kind.parts()),
            }
        }
        traits
    }

    /// Works out what needs all classes.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.program.changed();
        self.check_unknown()?;
        self.check_removed_classes()?;
        self.check_aliases()?;
        self.traits = (0..self.program.classes.len())
            .map(|class| self.traits_of_kinds(&[&KindSchema::Class(class)]))
            .collect();
        self.choose_empty();
        let mut path = Path { open: Vec::new(), done: vec![false; self.program.classes.len()] };
        // A prototype is made for objects, unless the program has a factory.
        self.objects
            .iter()
            .filter(|object| !self.implementors.factories.contains_key(&object.kind.value))
            .try_for_each(|object| self.check_prototype(object.class, &mut path))?;
        let mut done = vec![None; self.program.classes.len()];
        for i in 0..self.objects.len() {
            let kind = &self.objects[i].kind;
            let made = self.implementors.factories.contains_key(&kind.value);
            let inside = if made { 0 } else { self.footprint(self.objects[i].class, &mut done) };
            self.objects[i].footprint = inside.saturating_add(kind.size as u64);
        }
        Ok(())
    }

    /// The class that an empty trait object is of.
    fn empty_of(&self, name: &str) -> Option<usize> {
        let of = self.implementors.by_name(name)?;
        Some(of.classes[of.empty?].class)
    }

    /// Chooses for every trait a class whose empty value does not hold a trait object
    /// of the trait itself: the first one whose empty value is known to end.
    fn choose_empty(&mut self) {
        let mut ends = vec![false; self.program.classes.len()];
        let mut implementors = (*self.implementors).clone();
        implementors.iter_mut().for_each(|of| of.empty = None);
        let mut found = true;
        while std::mem::take(&mut found) {
            for class in 0..ends.len() {
                if !ends[class]
                    && self.needs(class).iter().all(|kind| is_made(kind, &ends, &implementors))
                {
                    ends[class] = true;
                    found = true;
                }
            }
            for of in implementors.iter_mut().filter(|of| of.empty.is_none()) {
                of.empty = of.classes.iter().position(|class| ends[class.class]);
                found |= of.empty.is_some();
            }
        }
        self.implementors = Arc::new(implementors);
    }

    /// The kinds that an empty value of a class is made of.
    fn needs(&self, class: usize) -> Vec<&KindSchema> {
        let target = self.program.targets[class].map(|target| target.class);
        match (&self.program.classes[class].form, target) {
            (_, Some(class)) if class.prototype == Prototype::Own => Vec::new(),
            (Form::Struct(fields), Some(class)) => made(fields, class.fields()),
            (Form::Enum(variants), Some(class)) => match class.prototype {
                Prototype::Variant(i) if i < variants.len() => {
                    made(&variants[i].fields, class.variants()[i].fields)
                }
                _ => Vec::new(),
            },
            (Form::Value(kind), _) => vec![kind],
            _ => Vec::new(),
        }
    }

    /// Bytes of the empty fields of a class, in boxes and behind pointers too.
    fn footprint(&self, class: usize, done: &mut Vec<Option<u64>>) -> u64 {
        if let Some(bytes) = done[class] {
            return bytes;
        }
        // For what does not end, which only a factory can make.
        done[class] = Some(0);
        let mut of_fields = |fields: &[FieldSchema], records: &[FieldRecord]| {
            let stored = fields.iter().zip(records);
            let made = stored.filter(|(_, record)| record.is_made_empty());
            made.fold(0_u64, |sum, (field, _)| {
                sum.saturating_add(self.footprint_of_kind(&field.kind, done))
            })
        };
        let target = self.program.targets[class].map(|target| target.class);
        let bytes = match (&self.program.classes[class].form, target) {
            (Form::Struct(fields), Some(class)) if class.prototype != Prototype::Own => {
                of_fields(fields, class.fields())
            }
            (Form::Enum(variants), Some(class)) => match class.prototype {
                Prototype::Variant(i) if i < variants.len() => {
                    of_fields(&variants[i].fields, class.variants()[i].fields)
                }
                _ => 0,
            },
            (Form::Value(kind), _) => self.footprint_of_kind(kind, done),
            _ => 0,
        };
        done[class] = Some(bytes);
        bytes
    }

    /// The bytes of a whole class, including what is not stored.
    fn whole(&self, class: usize, done: &mut Vec<Option<u64>>) -> u64 {
        let size = self.program.targets[class].map_or(0, |target| target.class.size as u64);
        self.footprint(class, done).max(size)
    }

    fn footprint_of_kind(&self, kind: &KindSchema, done: &mut Vec<Option<u64>>) -> u64 {
        match kind {
            KindSchema::Unit => 0,
            KindSchema::Bool | KindSchema::U8 | KindSchema::I8 => 1,
            KindSchema::U16 | KindSchema::I16 => 2,
            KindSchema::U32 | KindSchema::I32 | KindSchema::F32 | KindSchema::Char => 4,
            KindSchema::Compact(integer) => integer.bytes() as u64,
            KindSchema::U128 | KindSchema::I128 | KindSchema::Handle(_) => 16,
            KindSchema::Array(part, len) => {
                self.footprint_of_kind(part, done).saturating_mul(*len as u64)
            }
            KindSchema::Tuple(parts) => parts
                .iter()
                .fold(0_u64, |sum, part| sum.saturating_add(self.footprint_of_kind(part, done))),
            KindSchema::Class(class) | KindSchema::Reference { weak: false, class, .. } => {
                self.whole(*class, done).saturating_add(8)
            }
            KindSchema::Dynamic(name) | KindSchema::TraitReference { weak: false, name, .. } => {
                self.empty_of(name).map_or(16, |class| self.whole(class, done).saturating_add(16))
            }
            _ => 8,
        }
    }

    /// Finds a class whose empty value would need another of itself.
    fn check_prototype(&self, class: usize, path: &mut Path) -> Result<()> {
        let schema = &self.program.classes[class];
        if path.done[class] {
            return Ok(());
        }
        if path.open.contains(&class) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "an empty {} would hold another {} without end; make a field an `Option`, give one a `default`, mark another variant `#[persist(default)]`, or use `register_with`",
                    schema.name, schema.name
                ),
            ));
        }
        path.open.push(class);
        let target = self.program.targets[class];
        match (&schema.form, target.map(|target| target.class)) {
            (_, Some(class)) if class.prototype == Prototype::Own => {}
            (Form::Value(kind), _) => self.check_prototype_kind(kind, path)?,
            (Form::Struct(fields), Some(class)) => {
                self.check_prototype_fields(fields, class.fields(), path)?;
            }
            (Form::Enum(variants), Some(class)) => {
                if let Prototype::Variant(i) = class.prototype
                    && let (Some(variant), Some(record)) =
                        (variants.get(i), class.variants().get(i))
                {
                    self.check_prototype_fields(&variant.fields, record.fields, path)?;
                }
            }
            _ => {}
        }
        path.open.pop();
        path.done[class] = true;
        Ok(())
    }

    fn check_prototype_fields(
        &self,
        fields: &[FieldSchema],
        records: &[FieldRecord],
        path: &mut Path,
    ) -> Result<()> {
        fields.iter().zip(records).filter(|(_, record)| record.is_made_empty()).try_for_each(
            |(field, _)| {
                self.check_prototype_kind(&field.kind, path)
                    .map_err(|error| error.in_field(&field.name))
            },
        )
    }

    fn check_prototype_kind(&self, kind: &KindSchema, path: &mut Path) -> Result<()> {
        match kind {
            KindSchema::Array(part, len) if *len > 0 => self.check_prototype_kind(part, path),
            KindSchema::Tuple(parts) => {
                parts.iter().try_for_each(|part| self.check_prototype_kind(part, path))
            }
            KindSchema::Class(class) | KindSchema::Reference { weak: false, class, .. } => {
                self.check_prototype(*class, path)
            }
            KindSchema::Dynamic(name) | KindSchema::TraitReference { weak: false, name, .. } => {
                self.empty_of(name).map_or(Ok(()), |class| self.check_prototype(class, path))
            }
            _ => Ok(()),
        }
    }
}
