//! What conversions make of the values of a save: texts that become variants of the program's enums, and classes that
//! become others by their place.

use std::collections::{HashMap, HashSet};

use super::conversion::{Conversion, Place};
use super::fields::given;
use super::layout::Shape;
use super::matching::find_variant;
use super::pairing::pair;
use super::plan::Plans;
use super::{ClassSchema, Form, KindSchema, Program, Stored};
use crate::LoadOptions;

/// The kinds of texts that load only if they are names of variants, by their addresses in the
/// classes, and the names.
pub(crate) type Texts = HashMap<usize, Vec<&'static str>>;

/// Finds the texts that the program asks for as variants.
pub(crate) fn texts_of_variants(classes: &[ClassSchema], program: &Program) -> Texts {
    let mut plans = Plans::new(classes.to_vec(), program, LoadOptions::default(), None);
    let wanted = plans.texts();
    let mut texts = Texts::new();
    plans.stored.each_kind(classes, &mut |kind, node| {
        if let Some(names) = wanted.get(&node).and_then(|class| names(program, *class)) {
            texts.insert(std::ptr::from_ref(kind).addr(), names);
        }
    });
    texts
}

/// The classes that the program does not have, and whose values become those of another one where they stand.
pub(crate) fn classes_by_place(classes: &[ClassSchema], program: &Program) -> HashSet<usize> {
    let mut plans = Plans::new(classes.to_vec(), program, LoadOptions::default(), None);
    let mut found = HashSet::new();
    plans.each_conversion(&mut |conversion| {
        if let Conversion::Class(class, _) = conversion {
            found.insert(class);
        }
    });
    found.retain(|class| plans.resolve(*class).is_none());
    found
}

/// The texts that load as variants of an enum; `None` if all do.
fn names(program: &Program, class: usize) -> Option<Vec<&'static str>> {
    let variants = program.targets[class]?.class.variants();
    if variants.iter().any(|variant| variant.other && variant.fields.is_empty()) {
        return None;
    }
    let units = variants.iter().filter(|variant| variant.fields.is_empty());
    let names: Vec<_> = units.map(|variant| variant.name).collect();
    Some(names).filter(|names| !names.is_empty())
}

impl Plans<'_> {
    /// The program's enum for each node of a text that becomes one, whether its class loads
    /// or not.
    fn texts(&mut self) -> HashMap<usize, usize> {
        let mut texts = HashMap::new();
        self.each_conversion(&mut |conversion| {
            if let Conversion::Variant { node, class, .. } = conversion {
                texts.insert(node, class);
            }
        });
        texts
    }

    /// Visits the conversions of all fields, in classes that are reached by others only, too.
    fn each_conversion(&mut self, visit: &mut dyn FnMut(Conversion)) {
        let resolved =
            (0..self.stored.len()).filter_map(|class| Some((class, self.resolve(class)?)));
        let mut next: Vec<(usize, usize)> = resolved.collect();
        let mut seen: HashSet<(usize, usize)> = next.iter().copied().collect();
        while let Some((class, target)) = next.pop() {
            let before = self.conversions.len();
            self.convert_fields(class, target);
            for conversion in &self.conversions[before..] {
                visit(*conversion);
                if let Conversion::Class(class, target) = *conversion
                    && seen.insert((class, target))
                {
                    next.push((class, target));
                }
            }
        }
    }

    /// Makes the conversions of the fields of a class, where there are any.
    fn convert_fields(&mut self, class: usize, target: usize) {
        let (all, program) = (self.stored.clone(), self.program);
        let records = program.targets[target].map(|target| target.class);
        let mut pairs = Vec::new();
        match (&all[class].form, &program.classes[target].form, records) {
            (Form::Struct(_), Form::Struct(_), Some(_)) => pairs.push((0, self.wanted(target, 0))),
            (Form::Enum(old), Form::Enum(_), Some(records)) => {
                let records = records.variants();
                for (i, old) in old.iter().enumerate() {
                    if let Some(variant) = find_variant(&old.name, records) {
                        pairs.push((i, self.wanted(target, variant)));
                    }
                }
            }
            (Form::Value(old), Form::Value(new), _) => {
                let place = Place { class: &all[class].name, field: "" };
                self.conversion(all.first(class, 0), old, new, &place);
            }
            _ => {}
        }
        let is_migrated = self.is_migrated(class, target);
        for (variant, wanted) in pairs {
            let given = given(&all, class, variant);
            let sources = pair(given.fields, wanted.records).sources;
            let is_free = |source: &usize| !sources.contains(&Some(*source));
            let free: Vec<usize> = (0..given.fields.len()).filter(is_free).collect();
            let pairs = sources.iter().enumerate().flat_map(|(field, source)| {
                // A migration may give a field any other name.
                let renamed = free.iter().filter(|_| is_migrated && source.is_none());
                source.iter().chain(renamed).map(move |source| (field, *source))
            });
            for (field, source) in pairs {
                let place = Place { class: given.class, field: &given.fields[source].name };
                let kind = &given.fields[source].kind;
                self.field_conversion(given.first + source, kind, &wanted, field, &place);
            }
        }
    }
}

impl Stored {
    /// Visits every kind in classes that are like those laid out, with its node.
    fn each_kind<'k>(
        &self,
        classes: &'k [ClassSchema],
        visit: &mut dyn FnMut(&'k KindSchema, usize),
    ) {
        for (class, schema) in classes.iter().enumerate() {
            let fields = |variant: usize| self.first(class, variant);
            match &schema.form {
                Form::Struct(list) => {
                    let kinds = list.iter().map(|field| &field.kind);
                    (fields(0)..).zip(kinds).for_each(|(node, kind)| self.kind(kind, node, visit));
                }
                Form::Enum(variants) => {
                    for (variant, schema) in variants.iter().enumerate() {
                        let kinds = schema.fields.iter().map(|field| &field.kind);
                        let nodes = fields(variant)..;
                        nodes.zip(kinds).for_each(|(node, kind)| self.kind(kind, node, visit));
                    }
                }
                Form::Value(kind) => self.kind(kind, fields(0), visit),
            }
        }
    }

    fn kind<'k>(
        &self,
        kind: &'k KindSchema,
        node: usize,
        visit: &mut dyn FnMut(&'k KindSchema, usize),
    ) {
        visit(kind, node);
        match (kind, self.node(node).shape) {
            (KindSchema::Option(part), Shape::Option(first))
            | (KindSchema::List(part) | KindSchema::Set(part), Shape::List(first))
            | (KindSchema::Array(part, _), Shape::Array(first, _)) => self.kind(part, first, visit),
            (KindSchema::Map(parts), Shape::Map(first)) => {
                self.kind(&parts.0, first, visit);
                self.kind(&parts.1, first + 1, visit);
            }
            (KindSchema::Tuple(parts), Shape::Tuple { first, .. }) => {
                (first..).zip(parts).for_each(|(node, part)| self.kind(part, node, visit));
            }
            _ => {}
        }
    }
}
