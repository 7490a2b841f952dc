use std::fmt::{self, Write};
use std::slice;
use std::sync::Arc;

use crate::reflect::{ClassId, Holder, Integer};
use crate::types::{Arena as _, WorldObjects};

/// A class: what a definition in a save holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClassSchema {
    pub(crate) id: ClassId,
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) form: Form,
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
    /// Number of the field, if the program gave it one.
    pub(crate) id: Option<u32>,
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
    /// In as few bytes as it needs.
    Compact(Integer),
    Text,
    Option(Arc<KindSchema>),
    List(Arc<KindSchema>),
    Set(Arc<KindSchema>),
    Map(Arc<[KindSchema; 2]>),
    Array(Arc<KindSchema>, usize),
    Tuple(Arc<[KindSchema]>),
    Class(usize),
    Reference {
        holder: Holder,
        weak: bool,
        class: usize,
    },
    /// To a trait object of the trait of this name.
    TraitReference {
        holder: Holder,
        weak: bool,
        name: Arc<str>,
    },
    /// A trait object by value, of the trait of this name.
    Dynamic(Arc<str>),
    /// Into the arena of this name.
    Handle(Arc<str>),
    /// Parts that a program did not have.
    Unknown,
}

// A save of a megabyte may define a million kinds.
const _: () = assert!(size_of::<KindSchema>() <= 24);

/// The kind of the integers that are not compact.
impl From<Integer> for KindSchema {
    fn from(integer: Integer) -> Self {
        match integer {
            Integer::U16 => Self::U16,
            Integer::U32 => Self::U32,
            Integer::U64 => Self::U64,
            Integer::I16 => Self::I16,
            Integer::I32 => Self::I32,
            Integer::I64 => Self::I64,
        }
    }
}

impl KindSchema {
    /// The kinds right inside of this one.
    pub(crate) fn parts(&self) -> &[Self] {
        match self {
            Self::Option(part) | Self::List(part) | Self::Set(part) | Self::Array(part, _) => {
                slice::from_ref(part)
            }
            Self::Map(parts) => &parts[..],
            Self::Tuple(parts) => parts,
            _ => &[],
        }
    }

    /// Visits the kind and its parts, up to classes and pointers.
    pub(crate) fn visit<'k>(&'k self, meet: &mut dyn FnMut(&'k Self)) {
        meet(self);
        self.parts().iter().for_each(|part| part.visit(meet));
    }

    /// True for a kind with pointers or trait objects in it, which no `convert` takes.
    pub(crate) fn refers(&self) -> bool {
        matches!(self, Self::Reference { .. } | Self::TraitReference { .. } | Self::Dynamic(_))
            || self.parts().iter().any(Self::refers)
    }

    /// True if two kinds, of two lists of classes, are alike, and `are_same` of the classes that stand in the same
    /// place. The names of traits count if `by_name`.
    pub(crate) fn is_like(
        &self,
        other: &Self,
        by_name: bool,
        are_same: &mut dyn FnMut(usize, usize) -> bool,
    ) -> bool {
        let (these, others) = (self.parts(), other.parts());
        let is_like = match (self, other) {
            (Self::Option(_), Self::Option(_))
            | (Self::List(_), Self::List(_))
            | (Self::Set(_), Self::Set(_))
            | (Self::Map(_), Self::Map(_))
            | (Self::Tuple(_), Self::Tuple(_)) => these.len() == others.len(),
            (Self::Array(_, n), Self::Array(_, m)) => n == m,
            (Self::Class(a), Self::Class(b)) => are_same(*a, *b),
            (
                Self::Reference { holder, weak, class: a },
                Self::Reference { holder: holder_b, weak: weak_b, class: b },
            ) => holder == holder_b && weak == weak_b && are_same(*a, *b),
            (Self::Dynamic(_), Self::Dynamic(_)) if !by_name => true,
            (
                Self::TraitReference { holder, weak, .. },
                Self::TraitReference { holder: holder_b, weak: weak_b, .. },
            ) if !by_name => holder == holder_b && weak == weak_b,
            (a, b) => a == b,
        };
        is_like && these.iter().zip(others).all(|(a, b)| a.is_like(b, by_name, are_same))
    }

    /// Bytes of a unit or a number of a fixed width; 0 for kinds of another sort.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
            Self::U128 | Self::I128 => 16,
            _ => 0,
        }
    }

    /// True if values of it may have others inside.
    pub(crate) fn has_parts(&self) -> bool {
        matches!(
            self,
            Self::Option(_)
                | Self::List(_)
                | Self::Set(_)
                | Self::Map(_)
                | Self::Array(..)
                | Self::Tuple(_)
                | Self::Class(_)
                | Self::Dynamic(_)
                | Self::Unknown
        )
    }

    /// The kind as a Rust programmer would write it; of a long one the beginning.
    pub(crate) fn display(&self, classes: &[ClassSchema]) -> String {
        let mut text = Short(String::new());
        // Writing fails where the text is long enough.
        if self.write(classes, &mut text).is_err() {
            text.0.push_str("...");
        }
        text.0
    }

    fn write(&self, classes: &[ClassSchema], out: &mut Short) -> fmt::Result {
        let class_name = |index: usize| classes.get(index).map_or("?", |class| &*class.name);
        let part = |before: &str, part: &Self, out: &mut Short| {
            out.write_str(before)?;
            part.write(classes, out)
        };
        match self {
            Self::Unit => out.write_str("()"),
            Self::Text => out.write_str("String"),
            Self::Unknown => out.write_str("Unknown"),
            Self::Option(inner) => part("Option<", inner, out).and_then(|()| out.write_str(">")),
            Self::List(inner) => part("Vec<", inner, out).and_then(|()| out.write_str(">")),
            Self::Set(inner) => part("Set<", inner, out).and_then(|()| out.write_str(">")),
            Self::Map(parts) => {
                part("Map<", &parts[0], out)?;
                part(", ", &parts[1], out)?;
                out.write_str(">")
            }
            Self::Array(inner, len) => {
                part("[", inner, out)?;
                write!(out, "; {len}]")
            }
            Self::Tuple(parts) => {
                out.write_str("(")?;
                for (i, kind) in parts.iter().enumerate() {
                    part(if i == 0 { "" } else { ", " }, kind, out)?;
                }
                out.write_str(if parts.len() == 1 { ",)" } else { ")" })
            }
            Self::Class(index) => out.write_str(class_name(*index)),
            Self::Reference { holder, weak, class } => {
                out.write_str(&holder.around_class(*weak, class_name(*class)))
            }
            Self::TraitReference { holder, weak, name } => {
                out.write_str(&holder.around(*weak, &format!("dyn {name}")))
            }
            // What is unknown may be of any trait.
            Self::Dynamic(name) if name.is_empty() => out.write_str("Unknown"),
            Self::Dynamic(name) => write!(out, "Box<dyn {name}>"),
            Self::Handle(name) if **name == *WorldObjects::NAME => out.write_str("ObjectId"),
            Self::Handle(name) => write!(out, "Handle<{name}>"),
            Self::Compact(integer) => write!(out, "compact {}", integer.name()),
            scalar => write!(out, "{}", format!("{scalar:?}").to_lowercase()),
        }
    }
}

/// A text that is cut short, as a save may describe kinds of any length.
struct Short(String);

impl Short {
    const LONGEST: usize = 300;
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let free = Self::LONGEST.saturating_sub(self.0.len());
        let cut = (0..=free.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        self.0.push_str(&text[..cut.unwrap_or(0)]);
        if text.len() > free { Err(fmt::Error) } else { Ok(()) }
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
    /// The name of the owner, and the field, of a class of what was kept of another.
    pub(super) fn kept_field(&self) -> Option<(&str, &FieldSchema)> {
        let Form::Struct(fields) = &self.form else { return None };
        let [field] = &fields[..] else { return None };
        Some((self.name.strip_suffix(&field.name)?.strip_suffix('.')?, field))
    }

    /// The variant of such a class.
    pub(super) fn kept_variant(&self) -> Option<&VariantSchema> {
        let Form::Enum(variants) = &self.form else { return None };
        let [variant] = &variants[..] else { return None };
        self.name.strip_suffix(&variant.name)?.ends_with("::").then_some(variant)
    }

    /// Every kind that the class mentions directly.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &KindSchema> {
        self.named_kinds().map(|(_, kind)| kind)
    }

    /// Like [`kinds`](Self::kinds), with the names of the fields.
    pub(crate) fn named_kinds(&self) -> impl Iterator<Item = (&str, &KindSchema)> {
        let (fields, variants, value): (&[FieldSchema], &[VariantSchema], _) = match &self.form {
            Form::Struct(fields) => (fields, &[], None),
            Form::Enum(variants) => (&[], variants, None),
            Form::Value(kind) => (&[], &[], Some(kind)),
        };
        let of_variants = variants.iter().flat_map(|variant| &variant.fields);
        let fields = fields.iter().chain(of_variants);
        fields.map(|field| (&*field.name, &field.kind)).chain(value.map(|kind| ("", kind)))
    }
}
