//! Registers classes and object types: a registration enters everything that a type reaches, or nothing.

use std::any::TypeId;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::known::{check_prototype, traits_of_kind};
use super::rules::{check_aliases, check_classes, check_removed_classes, check_unvisited};
use super::{ObjectEntry, Registry, Trait, TraitClass};
use crate::codec::{ObjectType, TypeSet};
use crate::reflect::{self, Body, Class, ClassId, FieldRecord, Holder, Kind, Reference, TraitName};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, ProgramClass, VariantSchema};
use crate::{Error, ErrorKind, Result};

/// A registration in progress. Unless it is [finished](Self::finish), its drop restores the registry.
pub(super) struct Entering<'r> {
    registry: &'r mut Registry,
    /// The numbers of classes and object types before the registration.
    classes: usize,
    objects: usize,
    /// Functions that remove the new entries from the other tables.
    undo: Vec<Undo>,
    /// Classes of traits with a holder that may contain them. They are still to be entered in that holder, where they
    /// reach further types.
    held: Vec<HeldClass>,
    /// Types that share a class id with another type, so that both cannot be saved.
    clashes: Vec<IdClash>,
    is_done: bool,
}

/// Two types with one class id. A bare value, which is neither a struct nor an enum, has no type name.
struct IdClash {
    id: ClassId,
    /// The name of the class and of its type, for both types.
    names: [(String, Option<&'static str>); 2],
    cure: Cure,
}

/// The attribute that resolves an [`IdClash`].
enum Cure {
    /// Write this class name on this type.
    Name(String, &'static str),
    /// Write this class number on this type, which gives its number itself.
    Number(ClassId, &'static str),
    /// No attribute helps: both are instances of one generic type under one name.
    OtherType,
}

impl fmt::Display for Cure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name, of) => write!(f, "write `#[persist(class = \"{name}\")]` on {of}"),
            Self::Number(id, of) => write!(f, "write `#[persist(id = {})]` on {of}", id.0),
            Self::OtherType => f.write_str(
                "they are one generic type, whose stored fields differ although its name does not; use another type in place of one of the two",
            ),
        }
    }
}

/// A holder, and the function that enters a class in it.
type HeldClass = (Holder, fn(Holder, &mut TypeSet));

type Undo = Box<dyn FnOnce(&mut Registry)>;

impl<'r> Entering<'r> {
    /// Begins a registration, and enters the types that a function reaches.
    pub(super) fn new(
        registry: &'r mut Registry,
        reach: &mut dyn FnMut(&mut TypeSet),
    ) -> Result<Self> {
        let (classes, objects) = (registry.program.classes.len(), registry.objects.len());
        let (undo, held, clashes, is_done) = (Vec::new(), Vec::new(), Vec::new(), false);
        let mut this = Self { registry, classes, objects, undo, held, clashes, is_done };
        let mut types = TypeSet::default();
        reach(&mut types);
        this.types(&types)?;
        Ok(this)
    }

    /// Enters the types that a type reaches.
    fn types(&mut self, types: &TypeSet) -> Result<()> {
        let mut new = Vec::new();
        for &(class, access) in &types.classes {
            new.extend(self.class(ProgramClass { class, access })?);
        }
        // Forms refer to classes by index, and all classes have an index now.
        for (index, class, is_first) in new {
            let form = self.form(index, class)?;
            let known = &mut self.registry.program.classes[index];
            if is_first {
                known.form = form;
            } else if known.form != form {
                self.clash(index, class.id(), class.name(), Some(class));
            }
        }
        for object in &types.objects {
            self.object(*object)?;
        }
        self.check_clashes()?;
        for (of, holder) in &types.traits {
            self.of_trait(*of)?;
            if let Some(holder) = holder {
                self.holder((of.id)(), *holder);
            }
        }
        for (of, stand_in) in &types.stand_ins {
            let Some(class) = self.class_of(stand_in.type_id) else {
                bail!(
                    ErrorKind::Unsupported,
                    "the stand-in for unknown classes of trait {} is no struct of its own; derive `Persist` for a struct with one field, an `Unknown`",
                    of.name
                );
            };
            let schema = &self.registry.program.classes[class];
            if !matches!(&schema.form, Form::Struct(fields) if fields.len() == 1) {
                bail!(
                    ErrorKind::Unsupported,
                    "{} stands in for unknown classes of trait {} and has other stored fields than its `Unknown`, which would be lost; mark them `#[persist(skip)]`",
                    schema.name,
                    of.name
                );
            }
            let (type_id, caster, reach) =
                (stand_in.type_id, stand_in.caster.clone(), stand_in.reach);
            self.implementor(*of, TraitClass { class, type_id, caster, reach })?;
            let (id, name) = ((of.id)(), of.name);
            if self.registry.program.stand_ins.insert(name) {
                self.undo(move |registry| {
                    registry.program.stand_ins.remove(name);
                });
            }
            if let Some(of) = self.registry.implementors.traits.get_mut(&id) {
                let previous = of.stand_in.replace((class, stand_in.clone()));
                self.undo_in(id, move |of| of.stand_in = previous);
            }
        }
        for unvisited in &types.unvisited {
            let kind = self.kind((unvisited.kind)(), 0)?;
            let Registry { program, implementors, .. } = &*self.registry;
            let traits = traits_of_kind(program, implementors, &kind);
            check_unvisited(unvisited.place, traits, unvisited.name)?;
        }
        Ok(())
    }

    fn undo(&mut self, undo: impl FnOnce(&mut Registry) + 'static) {
        self.undo.push(Box::new(undo));
    }

    /// Like [`undo`](Self::undo), for an entry of a trait.
    fn undo_in(&mut self, id: TypeId, undo: impl FnOnce(&mut Trait) + 'static) {
        self.undo(move |registry| {
            registry.implementors.traits.get_mut(&id).map(undo);
        });
    }

    /// Returns the index of the class of a type, if the type is a struct or an enum.
    pub(super) fn class_of(&self, of: TypeId) -> Option<usize> {
        self.registry.by_type.get(&of).map(|(class, _)| *class)
    }

    /// Enters a class as an implementor of a trait, registered by the program.
    pub(super) fn implementor_of(&mut self, of: TraitName, class: TraitClass) -> Result<()> {
        let index = class.class;
        if self.registry.program.implementors.insert(index) {
            self.undo(move |registry| {
                registry.program.implementors.remove(&index);
            });
        }
        self.implementor(of, class)
    }

    /// Enters the classes of traits in their holders, and runs the checks that need all new classes. A registration
    /// without new types is finished too.
    pub(super) fn finish(mut self) -> Result<()> {
        while !self.held.is_empty() {
            // Every class of a trait may be in every holder of its trait objects, and reach further classes there.
            let mut types = TypeSet::default();
            for (holder, reach) in std::mem::take(&mut self.held) {
                reach(holder, &mut types);
            }
            self.types(&types)?;
        }
        let first = self.classes;
        let Registry { program, implementors, aliases, objects, ends, .. } = &mut *self.registry;
        check_classes(program, implementors, first)?;
        check_removed_classes(program, first)?;
        check_aliases(program, first, aliases)?;
        ends.resize(program.classes.len(), false);
        for object in &objects[self.objects..] {
            // An object is created from its prototype, unless the program has a factory for it.
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
            self.undo(move |registry| {
                registry.implementors.traits.remove(&(of.id)());
            });
        }
        Ok(())
    }

    /// Enters a holder of the trait objects of a trait, for all its classes.
    fn holder(&mut self, id: TypeId, holder: Holder) {
        let Some(of) = self.registry.implementors.traits.get_mut(&id) else { return };
        if !of.holders.contains(&holder) {
            of.holders.push(holder);
            self.held.extend(of.classes.iter().map(|class| (holder, class.reach)));
            self.undo_in(id, |of| {
                of.holders.pop();
            });
        }
    }

    /// Enters a class for a trait, in all holders of its trait objects.
    fn implementor(&mut self, of: TraitName, class: TraitClass) -> Result<()> {
        self.of_trait(of)?;
        let id = (of.id)();
        let Some(of) = self.registry.implementors.traits.get_mut(&id) else { return Ok(()) };
        if let Some(known) = of.class(class.class) {
            if known.type_id != class.type_id {
                let (known, place) = (known.type_id, format!("as implementors of {}", of.name));
                return Err(self.one_class(known, class.type_id, &place));
            }
        } else {
            self.held.extend(of.holders.iter().map(|holder| (*holder, class.reach)));
            of.places.insert(class.class, of.classes.len());
            of.classes.push(class);
            self.undo_in(id, |of| {
                let class = of.classes.pop();
                class.and_then(|class| of.places.remove(&class.class));
            });
        }
        Ok(())
    }

    /// Enters a class without its form, which follows when all classes have an index. Returns the index, the class, and
    /// whether this is the first type of the class. Returns `None` if the type is registered already.
    fn class(&mut self, target: ProgramClass) -> Result<Option<(usize, &'static Class, bool)>> {
        let class = target.class;
        let type_id = class.type_id();
        if self.registry.by_type.contains_key(&type_id) {
            return Ok(None);
        }
        let (id, name) = (class.id(), class.name());
        let other = self.registry.by_id.get(&id).copied();
        let index = match other {
            Some(other) if self.is_same_generic(other, class) => other,
            Some(other) => {
                // The registration will end in an error that lists all clashes. Until then the type counts as the other
                // class, so that this clash causes no further ones.
                self.clash(other, id, name, Some(class));
                self.registry.by_type.insert(type_id, (other, target));
                self.undo(move |registry| {
                    registry.by_type.remove(&type_id);
                });
                return Ok(None);
            }
            None => self.push(id, name, class.version, Some(target)),
        };
        self.registry.by_type.insert(type_id, (index, target));
        self.undo(move |registry| {
            registry.by_type.remove(&type_id);
        });
        Ok(Some((index, class, other.is_none())))
    }

    /// Returns true if two classes are instances of one generic type whose arguments differ only where nothing is
    /// stored of them, such as the `T` of a `PhantomData<T>`.
    fn is_same_generic(&self, other: usize, class: &Class) -> bool {
        let generic = |class: &Class| class.type_name().split_once('<').map(|(name, _)| name);
        self.registry.program.targets[other].is_some_and(|ProgramClass { class: other, .. }| {
            generic(class).is_some_and(|name| !name.is_empty())
                && generic(class) == generic(other)
                && class.name() == other.name()
        })
    }

    /// Adds a class without its form.
    fn push(
        &mut self,
        id: ClassId,
        name: String,
        version: u32,
        target: Option<ProgramClass>,
    ) -> usize {
        let Registry { program, by_id, by_name, .. } = &mut *self.registry;
        let index = program.classes.len();
        by_id.insert(id, index);
        by_name.entry_ref(&*name).or_insert(index);
        program.classes.push(ClassSchema {
            id,
            name,
            version,
            since: target.and_then(|target| target.class.since),
            form: Form::Value(KindSchema::Unit),
        });
        program.targets.push(target);
        index
    }

    /// Records that a class, or a bare value without a class, has the id of another one.
    #[cold]
    fn clash(&mut self, other: usize, id: ClassId, name: String, class: Option<&'static Class>) {
        let Registry { program, by_id, .. } = &*self.registry;
        let old = program.targets[other].map(|target| target.class);
        let old_name = program.classes[other].name.clone();
        let cures = || self.clashes.iter().map(|clash| &clash.cure);
        // Both instances get the attribute that is written on the one type, even if the class name does not list the
        // parameters.
        let generic = |class: &'static Class| Some(class.type_name().split_once('<')?.0);
        let are_instances = class
            .zip(old)
            .is_some_and(|(new, old)| generic(new).is_some() && generic(new) == generic(old));
        // If one of the two is a bare value, only the class can get another name.
        let cure = match class.or(old) {
            Some(_) if are_instances => Cure::OtherType,
            Some(class) if class.has_given_id() => {
                let given = cures().filter_map(|cure| match cure {
                    Cure::Number(id, _) => Some(*id),
                    _ => None,
                });
                let given: HashSet<ClassId> = given.collect();
                let mut free = (1..).map(ClassId);
                let free = free.find(|id| !by_id.contains_key(id) && !given.contains(id));
                Cure::Number(free.unwrap_or(id), class.type_name())
            }
            Some(class) => {
                let new = another_name(class, |name| {
                    cures().any(|cure| matches!(cure, Cure::Name(given, _) if given == name))
                        || program.classes.iter().any(|class| class.name == name)
                });
                Cure::Name(new, class.type_name())
            }
            // Two bare values with one name have one kind, and do not clash.
            None => return,
        };
        let names = [(old_name, old.map(Class::type_name)), (name, class.map(Class::type_name))];
        self.clashes.push(IdClash { id, names, cure });
    }

    /// Returns an error that lists all types that share a class id.
    fn check_clashes(&mut self) -> Result<()> {
        let clashes = std::mem::take(&mut self.clashes);
        let lines = clashes.iter().map(|clash| {
            let [(old, old_type), (new, new_type)] = &clash.names;
            let [old_type, new_type] = [old_type, new_type].map(|it| it.unwrap_or("a bare value"));
            format!(
                "class id {} is claimed by {old} ({old_type}) and by {new} ({new_type}); {}",
                clash.id, clash.cure
            )
        });
        let lines: Vec<String> = lines.collect();
        match &*lines {
            [] => Ok(()),
            [line] => Err(Error::new(ErrorKind::DuplicateId, line)),
            lines => Err(error!(
                ErrorKind::DuplicateId,
                "{} types have the class id of another:\n- {}",
                lines.len(),
                lines.join("\n- ")
            )),
        }
    }

    /// Returns an error if another type of the same class is saved on its own too.
    pub(super) fn check_value(&self, type_id: TypeId, class: usize) -> Result<()> {
        let values = self.registry.values.iter().filter(|(_, known)| **known == class);
        self.check_one_type(type_id, values.map(|(known, _)| *known), "as whole values")
    }

    /// Returns an error if one of the `known` types has the same class and a field table of its own. The class alone
    /// then could not select the type.
    ///
    /// A type without a table, such as a `Box<Hero>` or a `transparent` type, has the class of the value that it is
    /// stored as.
    fn check_one_type(
        &self,
        type_id: TypeId,
        mut known: impl Iterator<Item = TypeId>,
        place: &str,
    ) -> Result<()> {
        if self.class_of(type_id).is_none() {
            return Ok(());
        }
        match known.find(|known| *known != type_id && self.class_of(*known).is_some()) {
            Some(known) => Err(self.one_class(known, type_id, place)),
            None => Ok(()),
        }
    }

    #[cold]
    fn one_class(&self, known: TypeId, new: TypeId, place: &str) -> Error {
        let class = |of: TypeId| self.registry.by_type.get(&of).map(|(_, target)| target.class);
        let type_name = |of: TypeId| class(of).map_or("another type", Class::type_name);
        error!(
            ErrorKind::DuplicateId,
            "{} and {} have one class, {}, and {place} a save could not tell them apart; if they differ in a marker alone, give the type `#[persist(name_markers)]`, which puts the marker into the class name, else give one of them a struct of its own",
            type_name(known),
            type_name(new),
            class(new).map_or_else(String::new, Class::name)
        )
    }

    /// Returns the form of a class, and enters the kinds that its `convert` functions take.
    fn form(&mut self, index: usize, class: &Class) -> Result<Form> {
        Ok(match class.body {
            Body::Struct(fields) => Form::Struct(self.fields(index, 0, fields)?),
            Body::Enum(variants) => {
                let variants = variants.iter().enumerate().map(|(i, variant)| {
                    let fields = self.fields(index, i, variant.fields)?;
                    Ok(VariantSchema { name: variant.name.to_owned(), fields })
                });
                Form::Enum(variants.collect::<Result<_>>()?)
            }
        })
    }

    fn fields(
        &mut self,
        class: usize,
        variant: usize,
        records: &[FieldRecord],
    ) -> Result<Vec<FieldSchema>> {
        let mut fields = Vec::with_capacity(records.len());
        for (field, record) in records.iter().enumerate() {
            if !record.converts.is_empty() {
                let kinds = record.converts.iter().map(|old| self.kind((old.kind)(), 0));
                let kinds = kinds.collect::<Result<_>>()?;
                self.registry.program.old_kinds.insert((class, variant, field), kinds);
            }
            let (name, kind) = (record.name.to_owned(), self.kind(record.kind(), 0)?);
            fields.push(FieldSchema { name, id: record.id, kind });
        }
        Ok(fields)
    }

    fn kind(&mut self, kind: Kind, depth: u32) -> Result<KindSchema> {
        if depth > 60 {
            bail!(
                ErrorKind::TooDeep,
                "a field's type is nested more than 60 levels deep; give it a struct inside"
            );
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
            error!(
                ErrorKind::Unsupported,
                "class {} ({}) is inside a type whose `persist_parts` does not list it; a hand-written `Persist` must list every value inside",
                class.name(), class.type_name()
            )
        })
    }

    /// Returns the class of a record that holds a value of this kind.
    pub(super) fn class_of_kind(&mut self, kind: Kind, name: fn() -> String) -> Result<usize> {
        if let Kind::Class(class) = kind {
            return self.class_index(class());
        }
        let name = name();
        let id = ClassId::from_name(&name);
        if let Some(index) = self.registry.by_id.get(&id).copied() {
            // Bare values with one name have one kind. A struct with that name is another class.
            return match self.registry.program.targets[index] {
                None => Ok(index),
                Some(_) => {
                    self.clash(index, id, name, None);
                    Ok(index)
                }
            };
        }
        let index = self.push(id, name, 1, None);
        let kind = self.kind(kind, 0)?;
        self.registry.program.classes[index].form = Form::Value(kind);
        Ok(index)
    }

    /// Says that code of the program restores the bare value of a class.
    pub(super) fn restored(&mut self, class: usize) {
        self.registry.program.restored.insert(class);
    }

    fn object(&mut self, kind: ObjectType) -> Result<()> {
        let Some((pointer, _)) = kind.holder.parts() else { return Ok(()) };
        if self.registry.by_pointee.contains_key(&(pointer, kind.pointee)) {
            return Ok(());
        }
        let class = self.class_of_kind((kind.kind)(), kind.name)?;
        if !self.clashes.is_empty() {
            // The registration will end with the clashes. Until then, a type that clashes counts as the other class,
            // which would cause wrong errors here.
            return Ok(());
        }
        let objects = self.registry.objects.iter().filter(|object| object.class == class);
        self.check_one_type(kind.value, objects.map(|object| object.kind.value), "as objects")?;
        if self.registry.object(class, kind.holder).is_some() {
            bail!(
                ErrorKind::DuplicateId,
                "two types are saved as {} in {}; a `transparent` type and its field cannot both be objects",
                self.registry.program.classes[class].name,
                kind.holder.type_name(false, "_")
            );
        }
        self.registry.by_pointee.insert((pointer, kind.pointee), self.registry.objects.len());
        self.registry.program.objects.entry(class).or_default().push(kind.holder);
        self.registry.objects.push(ObjectEntry { kind, class });
        Ok(())
    }
}

/// Returns a free name for a class whose name is taken: its name after as many modules of its path as needed.
fn another_name(class: &Class, is_taken: impl Fn(&str) -> bool) -> String {
    let path = class.type_name().split('<').next().unwrap_or_default();
    // The path of a type in a function also has parts for closures and implementations, which are no names.
    let parts = path.split("::").filter(|part| !part.contains(['{', '}', ' ', '&']));
    let parts: Vec<&str> = parts.collect();
    let base = class.base_name().rsplit('.').next().unwrap_or_default();
    let modules = parts.get(..parts.len().saturating_sub(1)).unwrap_or_default();
    let mut names = (1..=modules.len()).rev().map(|from| {
        let mut name = modules[from - 1..].join(".");
        name.push('.');
        name.push_str(base);
        name
    });
    let fallback = format!("another.{base}");
    names.find(|name| !is_taken(name)).unwrap_or(fallback)
}

/// Removes all new entries, unless the registration was finished.
impl Drop for Entering<'_> {
    fn drop(&mut self) {
        let (registry, classes, objects) = (&mut *self.registry, self.classes, self.objects);
        let is_same = registry.program.classes.len() == classes
            && registry.objects.len() == objects
            && self.undo.is_empty();
        if is_same {
            return;
        }
        registry.changed();
        if self.is_done {
            return;
        }
        self.undo.drain(..).rev().for_each(|undo| undo(registry));
        registry.program.classes.truncate(classes);
        registry.program.targets.truncate(classes);
        registry.program.old_kinds.retain(|(class, ..), _| *class < classes);
        registry.objects.truncate(objects);
        registry.program.objects.clear();
        for object in &registry.objects {
            registry.program.objects.entry(object.class).or_default().push(object.kind.holder);
        }
        registry.by_id.retain(|_, class| *class < classes);
        registry.by_name.retain(|_, class| *class < classes);
        registry.by_pointee.retain(|_, object| *object < objects);
        registry.aliases.retain(|_, class| *class < classes);
        registry.ends.truncate(classes);
    }
}
