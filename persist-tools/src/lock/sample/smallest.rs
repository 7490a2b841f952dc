//! The smallest value of each class, by which samples end.

use std::collections::HashSet;

use persist::__tools::{FieldSchema, Form, KindSchema};

use super::SmallestValues;
use crate::lock::Section;

impl SmallestValues {
    /// Without objects of the types in `skipped`, and what needs them.
    pub(super) fn new(section: &Section, skipped: &HashSet<usize>) -> Self {
        let classes = section.classes.len();
        let mut ends = Self {
            classes: vec![None; classes],
            objects: vec![None; section.objects.len()],
            variants: vec![0; classes],
        };
        let mut found = true;
        while std::mem::take(&mut found) {
            for (class, schema) in section.classes.iter().enumerate() {
                if ends.classes[class].is_some() {
                    continue;
                }
                let depth = match &schema.form {
                    Form::Struct(fields) => ends.fields(section, fields),
                    Form::Value(kind) => ends.kind(section, kind),
                    Form::Enum(variants) => {
                        let depths = variants.iter().enumerate().filter_map(|(variant, schema)| {
                            Some((ends.fields(section, &schema.fields)?, variant))
                        });
                        let min = depths.min();
                        ends.variants[class] = min.map_or(0, |(_, variant)| variant);
                        min.map(|(depth, _)| depth)
                    }
                };
                ends.classes[class] = depth.map(|depth| depth + 1);
                found |= depth.is_some();
            }
            for (object, (class, _)) in section.objects.iter().enumerate() {
                if ends.objects[object].is_none() && !skipped.contains(&object) {
                    ends.objects[object] = ends.classes[*class].map(|depth| depth + 1);
                    found |= ends.objects[object].is_some();
                }
            }
        }
        ends
    }

    fn fields(&self, section: &Section, fields: &[FieldSchema]) -> Option<u32> {
        fields.iter().try_fold(0, |most, field| Some(self.kind(section, &field.kind)?.max(most)))
    }

    /// How deep the smallest value is, if there is one.
    pub(super) fn kind(&self, section: &Section, kind: &KindSchema) -> Option<u32> {
        match kind {
            KindSchema::Array(part, len) if *len > 0 => self.kind(section, part),
            KindSchema::Tuple(parts) => {
                parts.iter().try_fold(0, |most, part| Some(self.kind(section, part)?.max(most)))
            }
            KindSchema::Class(class) => self.classes[*class],
            KindSchema::Reference { weak: false, class, holder } => {
                let object = section.objects.binary_search(&(*class, *holder)).ok()?;
                self.objects[object]
            }
            KindSchema::TraitReference { weak: false, name, holder } => {
                let depths = section.objects_of(name, *holder).filter_map(|i| self.objects[i]);
                depths.min()
            }
            KindSchema::Dynamic(name) => {
                section.classes_of(name).iter().filter_map(|class| self.classes[*class]).min()
            }
            _ => Some(0),
        }
    }
}
