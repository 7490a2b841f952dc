//! How classes and object types get into the registry.

use std::sync::Arc;

use super::{ObjectEntry, Registry};
use crate::codec::{ObjectType, TypeSet};
use crate::reflect::{self, Body, Class, ClassId, FieldRecord, Kind, Reference};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, Target, VariantSchema};
use crate::{Error, ErrorKind, Result};

impl Registry {
    pub(super) fn enter(&mut self, types: &TypeSet) -> Result<()> {
        let mut next = self.clone();
        next.enter_types(types)?;
        next.complete()?;
        *self = next;
        Ok(())
    }

    pub(super) fn enter_types(&mut self, types: &TypeSet) -> Result<()> {
        for (class, access) in &types.classes {
            self.enter_class(Target { class, access: *access })?;
        }
        for target in self.program.targets.clone().iter().flatten() {
            let index = self.by_id[&target.class.id()];
            if matches!(self.program.classes[index].form, Form::Value(_)) {
                self.program.classes[index].form = self.form(target.class)?;
            }
        }
        for (class, _) in &types.classes {
            let index = self.class_index(class)?;
            self.enter_old_kinds(class, index)?;
            if self.form(class)? != self.program.classes[index].form {
                let schema = self.program.classes[index].clone();
                return Err(self.same_id(index, &schema, class.type_name()));
            }
            self.check_evolution(class)?;
        }
        for object in &types.objects {
            self.enter_object(*object)?;
        }
        for (of, holder) in &types.traits {
            let of = Arc::make_mut(&mut self.implementors).enter(*of)?;
            if let Some(holder) = holder
                && !of.holders.contains(holder)
            {
                of.holders.push(*holder);
            }
        }
        for (of, stand_in) in &types.stand_ins {
            let Some((class, _)) = self.by_type.get(&stand_in.type_id) else {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "the stand-in for unknown classes of trait {} is no struct of its own; derive `Persist` for a struct with one field, an `Unknown`",
                        of.name
                    ),
                ));
            };
            let class = *class;
            let schema = &self.program.classes[class];
            if !matches!(&schema.form, Form::Struct(fields) if fields.len() == 1) {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "{} stands in for unknown classes of trait {} and has other stored fields than its `Unknown`, which would be lost; mark them `#[persist(skip)]`",
                        schema.name, of.name
                    ),
                ));
            }
            Arc::make_mut(&mut self.implementors).enter_stand_in(*of, class, stand_in)?;
        }
        for unvisited in &types.unvisited {
            self.check_unvisited(unvisited.place, (unvisited.kind)(), unvisited.name)?;
        }
        Ok(())
    }

    /// Enters what the traits bring along, and works out what needs all classes.
    pub(super) fn complete(&mut self) -> Result<()> {
        loop {
            // Every class of a trait may stand in every holder of its trait objects,
            // and reach further classes there.
            let mut types = TypeSet::default();
            for of in self.implementors.iter() {
                for holder in &of.holders {
                    for class in &of.classes {
                        if self.entered.insert((of.name, *holder, class.type_id)) {
                            (class.reach)(*holder, &mut types);
                        }
                    }
                }
            }
            if types.is_empty() {
                return self.finish();
            }
            self.enter_types(&types)?;
        }
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
        self.by_name.entry_ref(&*schema.name).or_insert(index);
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
                Ok(FieldSchema {
                    name: record.name.to_owned(),
                    id: record.id,
                    kind: self.kind(record.kind(), 0)?,
                })
            })
            .collect()
    }

    /// Enters the kinds that the `convert` functions of a class take.
    fn enter_old_kinds(&mut self, class: &Class, index: usize) -> Result<()> {
        let variants = class.variants().iter().map(|variant| variant.fields);
        let lists: Vec<&[FieldRecord]> = match class.body {
            Body::Struct(fields) => vec![fields],
            Body::Enum(_) => variants.collect(),
        };
        for (variant, fields) in lists.into_iter().enumerate() {
            for (field, record) in fields.iter().enumerate() {
                if let Some(old) = record.convert {
                    let kind = self.kind(old(), 0)?;
                    self.program.old_kinds.insert((index, variant, field), kind);
                }
            }
        }
        Ok(())
    }

    pub(super) fn kind(&mut self, kind: Kind, depth: u32) -> Result<KindSchema> {
        if depth > 60 {
            return Err(Error::new(
                ErrorKind::TooDeep,
                "a field's type is nested more than 60 levels deep; give it a struct inside",
            ));
        }
        let mut part_of = |kind: fn() -> Kind| self.kind(kind(), depth + 1);
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
            Kind::Compact(integer) => KindSchema::Compact(integer),
            Kind::Text => KindSchema::Text,
            Kind::Option(part) => KindSchema::Option(Arc::new(part_of(part)?)),
            Kind::List(part) => KindSchema::List(Arc::new(part_of(part)?)),
            Kind::Set(part) => KindSchema::Set(Arc::new(part_of(part)?)),
            Kind::Map(key, value) => KindSchema::Map(Arc::new([part_of(key)?, part_of(value)?])),
            Kind::Array(part, len) => KindSchema::Array(Arc::new(part_of(part)?), len),
            Kind::Tuple(parts) => {
                KindSchema::Tuple(parts.iter().map(|part| part_of(*part)).collect::<Result<_>>()?)
            }
            Kind::Class(class) => KindSchema::Class(self.class_index(class())?),
            Kind::Reference(Reference {
                holder,
                weak,
                target: reflect::Target::Value { kind, name },
            }) => KindSchema::Reference { holder, weak, class: self.class_of_kind(kind(), name)? },
            Kind::Reference(Reference { holder, weak, target: reflect::Target::Trait(of) }) => {
                KindSchema::TraitReference { holder, weak, name: of.name.into() }
            }
            Kind::Dynamic(of) => KindSchema::Dynamic(of.name.into()),
            Kind::Handle(arena) => KindSchema::Handle(arena.into()),
            Kind::Unknown => KindSchema::Unknown,
        })
    }

    fn class_index(&self, class: &Class) -> Result<usize> {
        self.by_type.get(&class.type_id()).map(|(index, _)| *index).ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "class {} ({}) is inside a type whose `persist_parts` does not list it; a hand-written `Persist` must list every value inside",
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
        let Some((pointer, _)) = kind.holder.parts() else { return Ok(()) };
        if self.by_pointee.contains_key(&(pointer, kind.pointee)) {
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
        self.by_pointee.insert((pointer, kind.pointee), self.objects.len());
        self.program.objects.insert(class);
        self.objects.push(ObjectEntry { kind, class, footprint: 0 });
        Ok(())
    }
}
