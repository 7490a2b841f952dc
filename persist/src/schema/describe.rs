use std::fmt::{self, Write};

use crate::reflect::{ClassId, Holder};

/// A class: what a definition in a save holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClassSchema {
    pub(crate) id: ClassId,
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) form: Form,
    /// True if a value has no bytes; known of the classes of a save.
    pub(crate) empty: bool,
}

/// What the records of a class are made of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    Struct(Vec<FieldSchema>),
    Enum(Vec<VariantSchema>),
    /// A value that is neither, such as a `Vec` that is saved on its own.
    Value(KindSchema),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldSchema {
    pub(crate) name: String,
    pub(crate) kind: KindSchema,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VariantSchema {
    pub(crate) name: String,
    pub(crate) fields: Vec<FieldSchema>,
}

/// A [`Kind`](crate::reflect::Kind) as data; classes are indices into the list
/// of classes that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KindSchema {
    Unit,
    Bool,
    Char,
    U8,
    U16,
    U32,
    U64,
    U128,
    I8,
    I16,
    I32,
    I64,
    I128,
    F32,
    F64,
    Text,
    Option(Box<KindSchema>),
    List(Box<KindSchema>),
    Set(Box<KindSchema>),
    Map(Box<(KindSchema, KindSchema)>),
    Array(Box<KindSchema>, usize),
    Tuple(Vec<KindSchema>),
    Class(usize),
    Reference { holder: Holder, weak: bool, class: usize },
}

impl KindSchema {
    /// Bytes of a value, where all values have as many and every one is
    /// allowed; kinds whose bytes must be checked have none.
    pub(crate) fn free_width(&self) -> Option<usize> {
        Some(match self {
            Self::Unit => 0,
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
            Self::U128 | Self::I128 => 16,
            Self::Array(inner, len) => inner.free_width()?.checked_mul(*len)?,
            Self::Tuple(parts) => {
                parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.free_width()?))?
            }
            _ => return None,
        })
    }

    /// True if a value has no bytes, so that any number of them would fit.
    pub(crate) fn is_empty(&self, classes: &[ClassSchema]) -> bool {
        match self {
            Self::Unit | Self::Array(_, 0) => true,
            Self::Array(inner, _) => inner.is_empty(classes),
            Self::Tuple(parts) => parts.iter().all(|part| part.is_empty(classes)),
            Self::Class(class) => classes[*class].empty,
            _ => false,
        }
    }

    /// The kind as a Rust programmer would write it.
    pub(crate) fn display(&self, classes: &[ClassSchema]) -> String {
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        let _ = self.write(classes, &mut text);
        text
    }

    fn write(&self, classes: &[ClassSchema], out: &mut String) -> fmt::Result {
        let class_name = |index: usize| classes.get(index).map_or("?", |class| &*class.name);
        match self {
            Self::Unit => out.write_str("()"),
            Self::Text => out.write_str("String"),
            Self::Option(inner) => write!(out, "Option<{}>", inner.display(classes)),
            Self::List(inner) => write!(out, "Vec<{}>", inner.display(classes)),
            Self::Set(inner) => write!(out, "Set<{}>", inner.display(classes)),
            Self::Map(parts) => {
                write!(out, "Map<{}, {}>", parts.0.display(classes), parts.1.display(classes))
            }
            Self::Array(inner, len) => write!(out, "[{}; {len}]", inner.display(classes)),
            Self::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| part.display(classes)).collect();
                write!(out, "({})", parts.join(", "))
            }
            Self::Class(index) => out.write_str(class_name(*index)),
            Self::Reference { holder, weak, class } => {
                out.write_str(&holder.around(*weak, class_name(*class)))
            }
            scalar => write!(out, "{}", format!("{scalar:?}").to_lowercase()),
        }
    }
}

impl Form {
    /// Bytes of the tag before an enum's variant; 0 where there is none.
    pub(crate) fn tag_width(&self) -> usize {
        match self {
            Self::Enum(variants) if variants.len() > 256 => 2,
            Self::Enum(_) => 1,
            _ => 0,
        }
    }
}

impl ClassSchema {
    /// Every kind that the class mentions directly.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &KindSchema> {
        let (fields, variants, value): (&[FieldSchema], &[VariantSchema], _) = match &self.form {
            Form::Struct(fields) => (fields, &[], None),
            Form::Enum(variants) => (&[], variants, None),
            Form::Value(kind) => (&[], &[], Some(kind)),
        };
        let of_variants = variants.iter().flat_map(|variant| &variant.fields);
        fields.iter().chain(of_variants).map(|field| &field.kind).chain(value)
    }
}
