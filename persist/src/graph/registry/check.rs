//! What is found at registration, before a save could be lost by it.

use super::{Registry, Traits};
use crate::reflect::{FieldRecord, Kind, Prototype};
use crate::schema::{FieldSchema, Form, KindSchema};
use crate::{Error, ErrorKind, Result};

/// Where the derive says that a type is stored by a field's `with` module.
const WITH_MODULE: &str = "stored through a `with` module";

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
        let what = if traits.references { "a shared pointer" } else { "a class with hooks" };
        let advice = if place == WITH_MODULE {
            "what is stored in place of a field is not there to be connected or to run hooks; keep such parts in fields of their own"
        } else if traits.references {
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
                KindSchema::Option(part)
                | KindSchema::List(part)
                | KindSchema::Set(part)
                | KindSchema::Array(part, _) => {
                    pending.push(part);
                }
                KindSchema::Map(parts) => pending.extend([&parts.0, &parts.1]),
                KindSchema::Tuple(parts) => pending.extend(parts),
                KindSchema::Reference { .. } => traits.references = true,
                KindSchema::Class(class) if !std::mem::replace(&mut seen[*class], true) => {
                    if let Some(target) = self.program.targets[*class] {
                        traits.before_save |= target.class.before_save;
                        traits.after_load |= target.class.after_load;
                    }
                    pending.extend(self.program.classes[*class].kinds());
                }
                _ => {}
            }
        }
        traits
    }

    /// Works out what needs all classes.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.traits = (0..self.program.classes.len())
            .map(|class| self.traits_of_kinds(&[&KindSchema::Class(class)]))
            .collect();
        let mut path = Path { open: Vec::new(), done: vec![false; self.program.classes.len()] };
        // A prototype is made for objects, unless the program has a factory.
        self.objects
            .iter()
            .filter(|object| !self.factories.contains_key(&object.kind.value))
            .try_for_each(|object| self.check_prototype(object.class, &mut path))
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
        fields
            .iter()
            .zip(records)
            .filter(|(_, record)| !record.flags.default && !record.flags.with)
            .try_for_each(|(field, _)| {
                self.check_prototype_kind(&field.kind, path)
                    .map_err(|error| error.in_field(&field.name))
            })
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
            _ => Ok(()),
        }
    }
}
