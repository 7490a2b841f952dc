//! How classes and object types get into a registry: all that a type reaches, or nothing.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;

use super::implementors::TraitClass;
use super::known::{check_prototype, traits_of_kind};
use super::rules::{
    check_aliases, check_evolution, check_removed_classes, check_unknown, check_unvisited,
};
use super::{ObjectEntry, Registry};
use crate::codec::{ObjectType, TypeSet};
use crate::reflect::{self, Body, Class, ClassId, FieldRecord, Holder, Kind, Reference, TraitName};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, Target, VariantSchema};
use crate::{Error, ErrorKind, Result};

/// A registration. Unless it is [finished](Self::finish), the registry is as it was before.
pub(super) struct Entering<'r> {
    registry: &'r mut Registry,
    /// How many classes and objects there were.
    classes: usize,
    objects: usize,
    /// What has come into the tables whose entries do not tell how old they are.
    entered: Vec<Entered>,
    /// Classes of traits that may stand in holders, and reach further types there.
    held: Vec<Held>,
    is_done: bool,
}

/// A holder, and what enters a class in it.
type Held = (Holder, fn(Holder, &mut TypeSet));

enum Entered {
    Type(TypeId),
    Trait(TypeId),
    /// The last class of a trait.
    Class(TypeId),
    /// The last holder of a trait.
    Holder(TypeId),
    StandIn(TypeId, usize, Option<usize>),
    Implementor(usize),
}

impl<'r> Entering<'r> {
    pub(super) fn new(registry: &'r mut Registry) -> Self {
        let (classes, objects) = (registry.program.classes.len(), registry.objects.len());
        let (entered, held) = (Vec::new(), Vec::new());
        Self { registry, classes, objects, entered, held, is_done: false }
    }

    /// Enters what a type reaches.
    pub(super) fn types(&mut self, types: &TypeSet) -> Result<()> {
        let first = self.registry.program.classes.len();
        let mut new = Vec::new();
        for &(class, access) in &types.classes {
            if self.class(Target { class, access })? {
                new.push(class);
            }
        }
        for index in first..self.registry.program.classes.len() {
            if let Some(target) = self.registry.program.targets[index] {
                self.registry.program.classes[index].form = self.form(target.class)?;
            }
        }
        for class in new {
            let index = self.class_index(class)?;
            self.old_kinds(class, index)?;
            if self.form(class)? != self.registry.program.classes[index].form {
                let schema = self.registry.program.classes[index].clone();
                return Err(self.same_id(index, &schema, class.type_name()));
            }
            check_evolution(class, &mut |record| {
                let old = record.convert.map(|old| self.kind(old(), 0));
                Ok((self.kind(record.kind(), 0)?, old.transpose()?))
            })?;
        }
        for object in &types.objects {
            self.object(*object)?;
        }
        for (of, holder) in &types.traits {
            self.of_trait(*of)?;
            if let Some(holder) = holder {
                self.holder((of.id)(), *holder);
            }
        }
        for (of, stand_in) in &types.stand_ins {
            let Some((class, _)) = self.registry.by_type.get(&stand_in.type_id) else {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "the stand-in for unknown classes of trait {} is no struct of its own; derive `Persist` for a struct with one field, an `Unknown`",
                        of.name
                    ),
                ));
            };
            let class = *class;
            let schema = &self.registry.program.classes[class];
            if !matches!(&schema.form, Form::Struct(fields) if fields.len() == 1) {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "{} stands in for unknown classes of trait {} and has other stored fields than its `Unknown`, which would be lost; mark them `#[persist(skip)]`",
                        schema.name, of.name
                    ),
                ));
            }
            let (caster, reach) = (stand_in.caster.clone(), stand_in.reach);
            self.implementor(*of, TraitClass { class, caster, reach })?;
            let id = (of.id)();
            let before = self.registry.implementors.set_stand_in(id, class, stand_in);
            self.entered.push(Entered::StandIn(id, class, before));
        }
        for unvisited in &types.unvisited {
            let kind = self.kind((unvisited.kind)(), 0)?;
            let Registry { program, implementors, .. } = &*self.registry;
            let traits = traits_of_kind(program, implementors, &kind);
            check_unvisited(unvisited.place, traits, unvisited.name)?;
        }
        Ok(())
    }

    /// Index of the class of a type, if it is a struct or an enum.
    pub(super) fn class_of(&self, of: TypeId) -> Option<usize> {
        self.registry.by_type.get(&of).map(|(class, _)| *class)
    }

    /// Enters a class as an object of a trait.
    pub(super) fn implementor_of(&mut self, of: TraitName, class: TraitClass) -> Result<()> {
        if self.registry.program.implementors.insert(class.class) {
            self.entered.push(Entered::Implementor(class.class));
        }
        self.implementor(of, class)
    }

    /// Enters what the traits bring along, and checks what needs all new classes. A registration without new types
    /// is finished, too.
    pub(super) fn finish(mut self) -> Result<()> {
        while !self.held.is_empty() {
            // Every class of a trait may stand in every holder of its trait objects,
            // and reach further classes there.
            let mut types = TypeSet::default();
            for (holder, reach) in std::mem::take(&mut self.held) {
                reach(holder, &mut types);
            }
            self.types(&types)?;
        }
        let first = self.classes;
        let Registry { program, implementors, aliases, objects, ends, .. } = &mut *self.registry;
        check_unknown(program, implementors, first)?;
        check_removed_classes(program, first)?;
        check_aliases(program, first, aliases)?;
        ends.resize(program.classes.len(), false);
        for object in &objects[self.objects..] {
            // A prototype is made for objects, unless the program has a factory.
            if !implementors.factories.contains_key(&object.kind.value) {
                check_prototype(program, object.class, &mut Vec::new(), ends)?;
            }
        }
        self.is_done = true;
        Ok(())
    }

    /// Enters a trait.
    fn of_trait(&mut self, of: TraitName) -> Result<()> {
        if self.registry.implementors.enter(of)? {
            self.entered.push(Entered::Trait((of.id)()));
        }
        Ok(())
    }

    /// Enters a holder of the trait objects of a trait.
    fn holder(&mut self, of: TypeId, holder: Holder) {
        let Some(found) = self.registry.implementors.get_mut(of) else { return };
        if !found.holders.contains(&holder) {
            found.holders.push(holder);
            self.held.extend(found.classes.iter().map(|class| (holder, class.reach)));
            self.entered.push(Entered::Holder(of));
        }
    }

    /// Enters a class for a trait.
    fn implementor(&mut self, of: TraitName, class: TraitClass) -> Result<()> {
        self.of_trait(of)?;
        let id = (of.id)();
        let Some(of) = self.registry.implementors.get_mut(id) else { return Ok(()) };
        if !of.places.contains_key(&class.class) {
            self.held.extend(of.holders.iter().map(|holder| (*holder, class.reach)));
            of.places.insert(class.class, of.classes.len());
            of.classes.push(class);
            self.entered.push(Entered::Class(id));
        }
        Ok(())
    }

    /// Enters a class, whose form follows when all classes have an index; false if it is there.
    fn class(&mut self, target: Target) -> Result<bool> {
        let class = target.class;
        if self.registry.by_type.contains_key(&class.type_id()) {
            return Ok(false);
        }
        let schema = ClassSchema {
            id: class.id(),
            name: class.name(),
            version: class.version,
            form: Form::Value(KindSchema::Unit),
        };
        let index = match self.registry.by_id.get(&schema.id).copied() {
            Some(other) if self.is_same_generic(other, class) => other,
            Some(other) => return Err(self.same_id(other, &schema, class.type_name())),
            None => self.push(schema, Some(target)),
        };
        self.registry.by_type.insert(class.type_id(), (index, target));
        self.entered.push(Entered::Type(class.type_id()));
        Ok(true)
    }

    /// True if a class is of the same generic type, with arguments that differ
    /// only where nothing is stored of them, such as the `T` of a
    /// `PhantomData<T>`.
    fn is_same_generic(&self, other: usize, class: &Class) -> bool {
        let generic = |class: &Class| {
            let (name, _) = class.type_name().split_once('<')?;
            (!name.is_empty()).then_some(name)
        };
        let Some(other) = self.registry.program.targets[other].map(|target| target.class) else {
            return false;
        };
        generic(class).is_some() && generic(class) == generic(other) && class.name() == other.name()
    }

    fn push(&mut self, schema: ClassSchema, target: Option<Target>) -> usize {
        let Registry { program, by_id, by_name, .. } = &mut *self.registry;
        let index = program.classes.len();
        by_id.insert(schema.id, index);
        by_name.entry_ref(&*schema.name).or_insert(index);
        program.classes.push(schema);
        program.targets.push(target);
        index
    }

    #[cold]
    fn same_id(&self, other: usize, schema: &ClassSchema, type_name: &str) -> Error {
        let old = &self.registry.program.classes[other];
        let old_type = self.registry.program.targets[other]
            .map_or("a bare value", |target| target.class.type_name());
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
    fn old_kinds(&mut self, class: &Class, index: usize) -> Result<()> {
        let variants = class.variants().iter().map(|variant| variant.fields);
        let lists: Vec<&[FieldRecord]> = match class.body {
            Body::Struct(fields) => vec![fields],
            Body::Enum(_) => variants.collect(),
        };
        for (variant, fields) in lists.into_iter().enumerate() {
            for (field, record) in fields.iter().enumerate() {
                if let Some(old) = record.convert {
                    let kind = self.kind(old(), 0)?;
                    self.registry.program.old_kinds.insert((index, variant, field), kind);
                }
            }
        }
        Ok(())
    }

    fn kind(&mut self, kind: Kind, depth: u32) -> Result<KindSchema> {
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
        self.registry.by_type.get(&class.type_id()).map(|(index, _)| *index).ok_or_else(|| {
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
        if let Some(index) = self.registry.by_id.get(&id).copied() {
            // One name, one kind; a struct of that name is another class.
            if self.registry.program.targets[index].is_none() {
                return Ok(index);
            }
            let schema = ClassSchema { id, name, version: 1, form: Form::Value(KindSchema::Unit) };
            return Err(self.same_id(index, &schema, "a bare value"));
        }
        let schema = ClassSchema { id, name, version: 1, form: Form::Value(KindSchema::Unit) };
        let index = self.push(schema, None);
        let kind = self.kind(kind, 0)?;
        self.registry.program.classes[index].form = Form::Value(kind);
        Ok(index)
    }

    fn object(&mut self, kind: ObjectType) -> Result<()> {
        let Some((pointer, _)) = kind.holder.parts() else { return Ok(()) };
        if self.registry.by_pointee.contains_key(&(pointer, kind.pointee)) {
            return Ok(());
        }
        let class = self.class_of_kind((kind.kind)(), kind.name)?;
        if self.registry.object(class, kind.holder).is_some() {
            return Err(Error::new(
                ErrorKind::DuplicateId,
                format!(
                    "two types are saved as {} in {}; a `transparent` type and its field cannot both be objects",
                    self.registry.program.classes[class].name,
                    kind.holder.around(false, "_")
                ),
            ));
        }
        self.registry.by_pointee.insert((pointer, kind.pointee), self.registry.objects.len());
        self.registry.program.objects.insert(class);
        self.registry.objects.push(ObjectEntry { kind, class });
        Ok(())
    }
}

/// Takes everything out again, unless the registration was finished.
impl Drop for Entering<'_> {
    fn drop(&mut self) {
        let registry = &mut *self.registry;
        let is_same = registry.program.classes.len() == self.classes
            && registry.objects.len() == self.objects
            && self.entered.is_empty();
        if is_same {
            return;
        }
        registry.changed();
        if self.is_done {
            return;
        }
        while let Some(entered) = self.entered.pop() {
            let implementors = &mut registry.implementors;
            match entered {
                Entered::Type(id) => drop(registry.by_type.remove(&id)),
                Entered::Trait(id) => implementors.remove(id),
                Entered::Class(id) => {
                    if let Some(of) = implementors.get_mut(id)
                        && let Some(class) = of.classes.pop()
                    {
                        of.places.remove(&class.class);
                    }
                }
                Entered::Holder(id) => {
                    implementors.get_mut(id).and_then(|of| of.holders.pop());
                }
                Entered::StandIn(id, class, before) => {
                    implementors.remove_stand_in(id, class, before);
                }
                Entered::Implementor(class) => {
                    registry.program.implementors.remove(&class);
                }
            }
        }
        let classes = self.classes;
        registry.program.classes.truncate(classes);
        registry.program.targets.truncate(classes);
        registry.program.old_kinds.retain(|(class, ..), _| *class < classes);
        registry.objects.truncate(self.objects);
        registry.program.objects = registry.objects.iter().map(|object| object.class).collect();
        registry.by_id.retain(|_, class| *class < classes);
        registry.by_name.retain(|_, class| *class < classes);
        registry.by_pointee.retain(|_, object| *object < self.objects);
        registry.ends.truncate(classes);
        let left = registry.program.targets.iter().flatten().map(|target| target.class);
        let aliases = left.flat_map(|class| class.aliases.iter().map(move |alias| (*alias, class)));
        registry.aliases = aliases.collect::<HashMap<_, _>>();
    }
}
