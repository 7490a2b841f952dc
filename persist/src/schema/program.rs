//! [`Program`]: the classes of the program, described in the form of stored ones.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::pairing::{find_variant, pair};
use super::{ClassSchema, FieldSchema, Form, KindSchema, Reader, Stored};
use crate::Limits;
use crate::codec::class::SAMPLE;
use crate::codec::{Buffer, ClassAccess, Decoder, NoLinks};
use crate::env::Env;
use crate::reflect::{Class, ClassId, FieldRecord, Holder};
use crate::value::Value;

/// A field of a class: the class, the variant (0 for a struct) and the index.
pub type FieldPlace = (usize, usize, usize);

/// The program's classes: their schema, and how to reach their fields.
#[derive(Clone, Default)]
pub struct Program {
    /// The schemas of the classes.
    pub classes: Vec<ClassSchema>,
    /// For each class; classes of bare values have none.
    pub targets: Vec<Option<ProgramClass>>,
    /// The classes that are registered as objects, with their holders.
    pub(crate) objects: HashMap<usize, Vec<Holder>>,
    /// The names that `declare_removed_class` declared.
    pub(crate) removed: HashSet<String>,
    /// The classes of bare values that code of the program restores, `via` another type.
    pub(crate) restored: HashSet<usize>,
    /// The classes that are registered for a trait.
    pub(crate) implementors: HashSet<usize>,
    /// The names of the traits that have a stand-in for values of unknown classes.
    pub stand_ins: HashSet<&'static str>,
    /// By field: the kinds that the field's `convert` takes, in its order.
    pub old_kinds: HashMap<FieldPlace, Vec<KindSchema>>,
    /// The classes laid out, once that was asked for.
    layout: OnceLock<Arc<ProgramLayout>>,
}

/// The program's classes laid out.
struct ProgramLayout {
    stored: Arc<Stored>,
    /// The fields that name the kinds that they take, by their nodes.
    naming: HashMap<usize, FieldPlace>,
    /// The node of the first kind that the `convert` of each field takes; the others follow as classes of their own.
    old_kinds: HashMap<FieldPlace, usize>,
}

impl Program {
    /// The classes laid out, as if a save had all of them.
    pub fn layout(&self) -> &Arc<Stored> {
        &self.all_layout().stored
    }

    /// True for an option of a trait object whose trait has no stand-in.
    pub fn is_optional_dynamic(&self, kind: &KindSchema) -> bool {
        match kind {
            KindSchema::Option(part) => {
                matches!(&**part, KindSchema::Dynamic(of) if !self.stand_ins.contains(&**of))
            }
            _ => false,
        }
    }

    /// The field of a node, if it names the kinds that it takes.
    pub(super) fn naming_field(&self, node: usize) -> Option<FieldPlace> {
        self.all_layout().naming.get(&node).copied()
    }

    /// The node of a kind that the `convert` of a field takes, by its number.
    pub(super) fn old_node(&self, field: FieldPlace, number: usize) -> Option<usize> {
        let layout = self.all_layout();
        Some(layout.stored.first(layout.old_kinds.get(&field)? + number, 0))
    }

    /// Returns the value of a field's `sample`.
    pub fn sample(&self, field: FieldPlace) -> Option<Value> {
        let make = self.targets[field.0]?.access.make_field;
        let (limits, mut buffer) = (Limits::DEFAULT, Buffer::new());
        let mut links = NoLinks::default();
        let mut nothing = Decoder::new(&[], &Env::DEFAULT, &mut links);
        let bytes = buffer.encode_with(&Env::DEFAULT, &mut NoLinks::default(), |out| {
            make(field.1, field.2, Some((SAMPLE, &mut nothing)), out)
        });
        let (bytes, layout) = (bytes.ok()?, self.layout());
        let node = layout.first(field.0, field.1) + field.2;
        Reader::new(&limits, bytes.len() as u64).whole(layout, node, bytes, &limits).ok()
    }

    fn all_layout(&self) -> &ProgramLayout {
        self.layout.get_or_init(|| {
            let mut classes = self.classes.clone();
            let mut old_kinds = HashMap::new();
            for (field, kinds) in &self.old_kinds {
                old_kinds.insert(*field, classes.len());
                classes.extend(kinds.iter().map(|kind| ClassSchema {
                    id: ClassId::from_name(""),
                    name: String::new(),
                    version: 1,
                    since: None,
                    form: Form::Value(kind.clone()),
                }));
            }
            let stored = Arc::new(Stored::new(classes));
            let mut naming = HashMap::new();
            for class in 0..self.classes.len() {
                let variants = match &self.classes[class].form {
                    Form::Struct(_) => 1,
                    Form::Enum(variants) => variants.len(),
                    Form::Value(_) => 0,
                };
                for variant in 0..variants {
                    let (records, first) =
                        (self.expected(class, variant).records, stored.first(class, variant));
                    let fields = records.iter().enumerate();
                    let fields = fields.filter(|(_, record)| record.names_its_kinds());
                    naming.extend(fields.map(|(i, _)| (first + i, (class, variant, i))));
                }
            }
            Arc::new(ProgramLayout { stored, naming, old_kinds })
        })
    }

    /// Says that classes came in.
    pub(crate) fn changed(&mut self) {
        self.layout.take();
    }

    /// Kind of a field of a struct (`variant` is 0) or of a variant.
    pub(crate) fn field_kind(
        &self,
        class: usize,
        variant: usize,
        field: usize,
    ) -> Option<&KindSchema> {
        self.expected(class, variant).fields.get(field).map(|field| &field.kind)
    }

    /// The fields of a struct (`variant` is 0) or of a variant.
    pub(super) fn expected(&self, class: usize, variant: usize) -> ProgramFields<'_> {
        let target = self.targets[class].map(|target| target.class);
        let (fields, records, removed) = match (&self.classes[class].form, target) {
            (Form::Struct(fields), Some(target)) => (&fields[..], target.fields(), target.removed),
            (Form::Enum(variants), Some(target)) if variant < variants.len() => {
                let record = &target.variants()[variant];
                (&variants[variant].fields[..], record.fields, record.removed)
            }
            _ => (&[][..], &[][..], &[][..]),
        };
        ProgramFields { class, variant, fields, records, removed }
    }

    /// The fields of a stored struct, or of each of its variants, with those that they become; of bare values, and
    /// where a struct is an enum now, none.
    pub fn sides<'s>(&'s self, stored: &'s ClassSchema, target: usize) -> Vec<Sides<'s>> {
        let described = self.targets[target].map(|target| target.class);
        match (&stored.form, &self.classes[target].form, described) {
            (Form::Struct(old), Form::Struct(_), Some(_)) => {
                vec![Sides { old, new: Some(self.expected(target, 0)) }]
            }
            (Form::Enum(old), Form::Enum(_), Some(class)) => {
                let sides = old.iter().map(|old| {
                    let found = find_variant(&old.name, class.variants());
                    let new = found.map(|variant| self.expected(target, variant));
                    Sides { old: &old.fields, new }
                });
                sides.collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The program's fields of a struct or a variant.
#[derive(Clone, Copy)]
pub struct ProgramFields<'a> {
    /// Index of the class.
    pub class: usize,
    /// Index of the variant; 0 for a struct.
    pub variant: usize,
    /// The schemas of the fields.
    pub fields: &'a [FieldSchema],
    /// The records of the fields, in the same order.
    pub records: &'a [FieldRecord],
    /// The names that `removed` declares.
    pub removed: &'a [&'static str],
}

/// The fields of a stored struct or variant, and those of the program's, if it has it.
#[derive(Clone, Copy)]
pub struct Sides<'s> {
    pub old: &'s [FieldSchema],
    pub new: Option<ProgramFields<'s>>,
}

impl ProgramFields<'_> {
    pub(super) fn place(&self, field: usize) -> FieldPlace {
        (self.class, self.variant, field)
    }
}

impl<'s> Sides<'s> {
    /// For each of the program's fields its stored one.
    pub fn sources(self) -> Vec<Option<usize>> {
        self.new.map_or_else(Vec::new, |new| pair(self.old, new.records).sources)
    }

    /// The kinds of the fields that both sides have: the stored one, and the program's.
    pub(super) fn kinds(self) -> impl Iterator<Item = (&'s KindSchema, &'s KindSchema)> {
        let new = self.new.map_or(&[][..], |new| new.fields);
        let sources = self.sources().into_iter().zip(new);
        sources.filter_map(move |(source, new)| Some((&self.old[source?].kind, &new.kind)))
    }

    /// The kinds of the stored fields that the program does not have.
    pub(super) fn unknown(self) -> impl Iterator<Item = &'s KindSchema> {
        let sources: HashSet<_> = self.sources().into_iter().flatten().collect();
        let fields = self.old.iter().enumerate();
        fields.filter(move |(i, _)| !sources.contains(i)).map(|(_, field)| &field.kind)
    }
}

#[derive(Clone, Copy)]
pub struct ProgramClass {
    pub class: &'static Class,
    pub(crate) access: &'static ClassAccess,
}

impl ProgramClass {
    /// The records of the struct or variant of a value of the class.
    pub(crate) fn fields_of(&self, value: &dyn Any) -> &'static [FieldRecord] {
        let variant = self.access.variant(value);
        let variant = variant.and_then(|variant| self.class.variants().get(variant));
        variant.map_or(self.class.fields(), |variant| variant.fields)
    }
}
