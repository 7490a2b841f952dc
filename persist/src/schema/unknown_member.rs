//! Unknown fields and variants, which are kept as classes of their own.

use std::borrow::Cow;

use super::{ClassSchema, FieldSchema, Form, Stored, VariantSchema};
use crate::reflect::ClassId;

/// The bit of an index that says that the class is of a value that a program synthesized.
const SYNTHESIZED_BIT: usize = 1 << (usize::BITS - 1);

/// A part of a class that is kept as a class of its own.
pub(crate) enum UnknownMember<'s> {
    Field {
        class: &'s str,
        variant: Option<&'s str>,
        field: &'s FieldSchema,
        node: usize,
        /// True for the value that a program synthesized for the field.
        is_synthesized: bool,
    },
    Variant {
        class: &'s ClassSchema,
        variant: &'s VariantSchema,
        first: usize,
    },
}

impl UnknownMember<'_> {
    /// The class that it is.
    fn schema(&self) -> ClassSchema {
        let name = self.name();
        let form = match self {
            Self::Field { field, .. } => Form::Struct(vec![(*field).clone()]),
            Self::Variant { variant, .. } => Form::Enum(vec![(*variant).clone()]),
        };
        let (version, since) = match self {
            Self::Field { is_synthesized: false, .. } => (1, None),
            Self::Field { is_synthesized: true, .. } => (ClassSchema::SYNTHESIZED_VERSION, None),
            // It is migrated from there when a program knows it again.
            Self::Variant { class, .. } => (class.version, class.since),
        };
        ClassSchema { id: ClassId::from_name(&name), name, version, since, form }
    }

    /// Its name: that of the class with that of the part.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Field { class, variant: None, field, .. } => format!("{class}.{}", field.name),
            Self::Field { class, variant: Some(variant), field, .. } => {
                format!("{class}::{variant}.{}", field.name)
            }
            Self::Variant { class, variant, .. } => format!("{}::{}", class.name, variant.name),
        }
    }
}

impl Stored {
    /// The index of a field as a class of its own, a struct with this field alone: as
    /// such it is kept.
    pub(crate) fn unknown_field(&self, node: usize) -> usize {
        self.classes.len() + node
    }

    /// The index of a field as the class of the value that a program synthesized for it.
    pub(crate) fn synthesized_field(&self, node: usize) -> usize {
        SYNTHESIZED_BIT | self.unknown_field(node)
    }

    /// True for the index of such a class. The fields are those of the program, not of the save.
    pub(crate) fn is_synthesized(index: usize) -> bool {
        index & SYNTHESIZED_BIT != 0
    }

    /// The index of a variant as a class of its own, an enum with this variant alone.
    pub(crate) fn unknown_variant(&self, class: usize, variant: usize) -> usize {
        // The root of the class's variants, as no field has it.
        self.classes.len() + self.nodes.len() + (class << 16) + variant
    }

    /// Returns the unknown part that a class index stands for, or `None` for a class of the save.
    pub(crate) fn unknown_member(&self, index: usize) -> Option<UnknownMember<'_>> {
        let is_synthesized = Self::is_synthesized(index);
        let index = (index & !SYNTHESIZED_BIT).checked_sub(self.classes.len())?;
        if let Some(variant) = index.checked_sub(self.nodes.len()) {
            let (class, variant) = (variant >> 16, variant & 0xffff);
            let schema = self.classes.get(class)?;
            let Form::Enum(variants) = &schema.form else { return None };
            return Some(UnknownMember::Variant {
                class: schema,
                variant: variants.get(variant)?,
                first: self.first(class, variant),
            });
        }
        // The blocks of fields are in the order of classes; empty ones have the node of the next.
        let class = self.blocks.partition_point(|block| block[0] <= index).checked_sub(1)?;
        let variant = self.blocks[class].partition_point(|first| *first <= index).checked_sub(1)?;
        let (name, fields) = match &self.classes[class].form {
            Form::Struct(fields) => (None, fields),
            Form::Enum(variants) => (Some(&*variants[variant].name), &variants[variant].fields),
            Form::Value(_) => return None,
        };
        let field = fields.get(index - self.first(class, variant))?;
        let class = &*self.classes[class].name;
        Some(UnknownMember::Field { class, variant: name, field, node: index, is_synthesized })
    }

    /// A class of the save, or what is kept as one.
    pub(crate) fn schema(&self, index: usize) -> Option<Cow<'_, ClassSchema>> {
        match self.classes.get(index) {
            Some(class) => Some(Cow::Borrowed(class)),
            None => self.unknown_member(index).map(|member| Cow::Owned(member.schema())),
        }
    }
}
