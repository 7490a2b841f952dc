//! How classes and object types get into the registry.

use super::{ObjectEntry, Registry};
use crate::codec::{ObjectType, TypeSet};
use crate::reflect::{Body, Class, ClassId, FieldRecord, Kind};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, Target, VariantSchema};
use crate::{Error, ErrorKind, Result};

impl Registry {
    pub(super) fn enter(&mut self, types: &TypeSet) -> Result<()> {
        let mut next = self.clone();
        for (class, access) in &types.classes {
            next.enter_class(Target { class, access: *access })?;
        }
        for target in next.program.targets.clone().iter().flatten() {
            let index = next.by_id[&target.class.id()];
            if matches!(next.program.classes[index].form, Form::Value(_)) {
                next.program.classes[index].form = next.form(target.class)?;
            }
        }
        for (class, _) in &types.classes {
            let index = next.class_index(class)?;
            if next.form(class)? != next.program.classes[index].form {
                let schema = next.program.classes[index].clone();
                return Err(next.same_id(index, &schema, class.type_name()));
            }
        }
        for object in &types.objects {
            next.enter_object(*object)?;
        }
        for unvisited in &types.unvisited {
            next.check_unvisited(unvisited.place, (unvisited.kind)(), unvisited.name)?;
        }
        next.finish()?;
        *self = next;
        Ok(())
    }

    /// Enters a class; its form follows when all classes have an index.
    fn enter_class(&mut self, target: Target) -> Result<()> {
        let class = target.class;
        if self.by_type.contains_key(&class.type_id()) {
            return Ok(());
        }
        let schema = ClassSchema {
            id: class.id(),
            name: class.name(),
            version: class.version,
            form: Form::Value(KindSchema::Unit),
        };
        let index = match self.by_id.get(&schema.id).copied() {
            Some(other) if self.is_same_generic(other, class) => other,
            Some(other) => return Err(self.same_id(other, &schema, class.type_name())),
            None => self.push(schema, Some(target)),
        };
        self.by_type.insert(class.type_id(), (index, target));
        Ok(())
    }

    /// True if a class is of the same generic type, with arguments that differ
    /// only where nothing is stored of them, such as the `T` of a
    /// `PhantomData<T>`.
    fn is_same_generic(&self, other: usize, class: &Class) -> bool {
        let generic = |class: &Class| {
            let (name, _) = class.type_name().split_once('<')?;
            (!name.is_empty()).then_some(name)
        };
        let Some(other) = self.program.targets[other].map(|target| target.class) else {
            return false;
        };
        generic(class).is_some() && generic(class) == generic(other) && class.name() == other.name()
    }

    fn push(&mut self, schema: ClassSchema, target: Option<Target>) -> usize {
        let index = self.program.classes.len();
        self.by_id.insert(schema.id, index);
        self.program.classes.push(schema);
        self.program.targets.push(target);
        index
    }

    #[cold]
    fn same_id(&self, other: usize, schema: &ClassSchema, type_name: &str) -> Error {
        let old = &self.program.classes[other];
        let old_type =
            self.program.targets[other].map_or("a bare value", |target| target.class.type_name());
        Error::new(
            ErrorKind::DuplicateId,
            format!(
                "class id {} is claimed by {} ({old_type}) and by {} ({type_name}); give one of them `#[persist(class = \"another.Name\")]` or `#[persist(id = n)]`",
                schema.id, old.name, schema.name
            ),
        )
    }

    fn form(&mut self, class: &'static Class) -> Result<Form> {
        Ok(match class.body {
            Body::Struct(fields) => Form::Struct(self.fields(fields)?),
            Body::Enum(variants) => {
                let mut forms = Vec::new();
                for variant in variants {
                    forms.push(VariantSchema {
                        name: variant.name.to_owned(),
                        fields: self.fields(variant.fields)?,
                    });
                }
                Form::Enum(forms)
            }
        })
    }

    fn fields(&mut self, records: &[FieldRecord]) -> Result<Vec<FieldSchema>> {
        records
            .iter()
            .map(|record| {
                Ok(FieldSchema { name: record.name.to_owned(), kind: self.kind(record.kind(), 0)? })
            })
            .collect()
    }

    pub(super) fn kind(&mut self, kind: Kind, depth: u32) -> Result<KindSchema> {
        if depth > 60 {
            return Err(Error::new(
                ErrorKind::TooDeep,
                "a field's type is nested more than 60 levels deep; give it a struct inside",
            ));
        }
        let mut inner = |kind: fn() -> Kind| self.kind(kind(), depth + 1).map(Box::new);
        Ok(match kind {
            Kind::Unit => KindSchema::Unit,
            Kind::Bool => KindSchema::Bool,
            Kind::Char => KindSchema::Char,
            Kind::U8 => KindSchema::U8,
            Kind::U16 => KindSchema::U16,
            Kind::U32 => KindSchema::U32,
            Kind::U64 => KindSchema::U64,
            Kind::U128 => KindSchema::U128,
            Kind::I8 => KindSchema::I8,
            Kind::I16 => KindSchema::I16,
            Kind::I32 => KindSchema::I32,
            Kind::I64 => KindSchema::I64,
            Kind::I128 => KindSchema::I128,
            Kind::F32 => KindSchema::F32,
            Kind::F64 => KindSchema::F64,
            Kind::Text => KindSchema::Text,
            Kind::Option(part) => KindSchema::Option(inner(part)?),
            Kind::List(part) => KindSchema::List(inner(part)?),
            Kind::Set(part) => KindSchema::Set(inner(part)?),
            Kind::Map(key, value) => KindSchema::Map(Box::new((*inner(key)?, *inner(value)?))),
            Kind::Array(part, len) => KindSchema::Array(inner(part)?, len),
            Kind::Tuple(parts) => {
                let parts: Result<Vec<_>> = parts.iter().map(|part| Ok(*inner(*part)?)).collect();
                KindSchema::Tuple(parts?)
            }
            Kind::Class(class) => KindSchema::Class(self.class_index(class())?),
            Kind::Reference(reference) => KindSchema::Reference {
                holder: reference.holder,
                weak: reference.weak,
                class: self.class_of_kind((reference.target)(), reference.name)?,
            },
        })
    }

    fn class_index(&self, class: &Class) -> Result<usize> {
        self.by_type.get(&class.type_id()).map(|(index, _)| *index).ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "class {} ({}) is mentioned by a kind, but `reach` does not enter it",
                    class.name(),
                    class.type_name()
                ),
            )
        })
    }

    /// The class of a record that holds a value of this kind.
    pub(super) fn class_of_kind(&mut self, kind: Kind, name: fn() -> String) -> Result<usize> {
        if let Kind::Class(class) = kind {
            return self.class_index(class());
        }
        let name = name();
        let id = ClassId::of(&name);
        if let Some(index) = self.by_id.get(&id).copied() {
            // One name, one kind; a struct of that name is another class.
            if self.program.targets[index].is_none() {
                return Ok(index);
            }
            let schema = ClassSchema { id, name, version: 1, form: Form::Value(KindSchema::Unit) };
            return Err(self.same_id(index, &schema, "a bare value"));
        }
        let schema = ClassSchema { id, name, version: 1, form: Form::Value(KindSchema::Unit) };
        let index = self.push(schema, None);
        let kind = self.kind(kind, 0)?;
        self.program.classes[index].form = Form::Value(kind);
        Ok(index)
    }

    fn enter_object(&mut self, kind: ObjectType) -> Result<()> {
        if self.by_cell.contains_key(&kind.cell) {
            return Ok(());
        }
        let class = self.class_of_kind((kind.kind)(), kind.name)?;
        if self.object(class, kind.holder).is_some() {
            return Err(Error::new(
                ErrorKind::DuplicateId,
                format!(
                    "two types are saved as {} in {}; a `transparent` type and its field cannot both be objects",
                    self.program.classes[class].name,
                    kind.holder.around(false, "_")
                ),
            ));
        }
        self.by_cell.insert(kind.cell, self.objects.len());
        self.objects.push(ObjectEntry { kind, class, footprint: 0 });
        Ok(())
    }
}
