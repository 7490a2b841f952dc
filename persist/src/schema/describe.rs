use std::fmt::{self, Write};
use std::slice;
use std::sync::Arc;

use crate::codec::UnknownAt;
use crate::reflect::{ClassId, Holder, Integer};
use crate::types::{Arena as _, WorldObjects};
use crate::{ErrorKind, Result};

/// A class as a save defines it: its name, its version, and what its values are made of.
///
/// `Document::classes` of `persist-tools` has those of a save. Classes mention one another by their indices there.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSchema {
    /// The number by which programs and other saves know it.
    pub id: ClassId,
    /// Its name; several classes may have one name.
    pub name: String,
    /// Its own version, for migrations.
    pub version: u32,
    /// The lowest version of the class that may read it, if the program that wrote it said so.
    pub since: Option<u32>,
    /// The form of its values: fields, variants, or one bare value.
    pub form: Form,
}

/// The form of the values of a class.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Fields, in the order of their bytes; those of a tuple have their indices as names.
    Struct(Vec<FieldSchema>),
    /// The tag of a variant, then the fields of that variant.
    Enum(Vec<VariantSchema>),
    /// A value that is neither, such as a `Vec` that is saved on its own.
    Value(KindSchema),
}

/// A field of a class that a save defines.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSchema {
    /// Its name.
    pub name: String,
    /// Number of the field, if the program gave it one.
    pub id: Option<u32>,
    /// The meaning of its bytes.
    pub kind: KindSchema,
}

/// A variant of an enum that a save defines.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantSchema {
    /// Its name.
    pub name: String,
    /// Its fields; those of a tuple have their indices as names.
    pub fields: Vec<FieldSchema>,
}

/// The meaning of the bytes of a value in a save: a [`Kind`](crate::reflect::Kind) as data.
///
/// Classes are indices into `Document::classes`.
#[derive(Clone, Debug, PartialEq)]
pub enum KindSchema {
    /// No bytes.
    Unit,
    /// One byte, 0 or 1.
    Bool,
    /// A Unicode scalar value in 4 bytes.
    Char,
    /// 1 byte.
    U8,
    /// 2 bytes.
    U16,
    /// 4 bytes.
    U32,
    /// 8 bytes.
    U64,
    /// 16 bytes.
    U128,
    /// 1 byte.
    I8,
    /// 2 bytes.
    I16,
    /// 4 bytes.
    I32,
    /// 8 bytes.
    I64,
    /// 16 bytes.
    I128,
    /// 4 bytes, every bit kept.
    F32,
    /// 8 bytes, every bit kept.
    F64,
    /// An integer in as few bytes as it needs; [`display`](Self::display) shows the type.
    Compact(#[doc(hidden)] Integer),
    /// A count of bytes, then UTF-8.
    Text,
    /// One byte, 0 or 1; the value follows a 1.
    Option(Arc<KindSchema>),
    /// A count, then the elements.
    List(Arc<KindSchema>),
    /// A count, then the elements, none of them twice.
    Set(Arc<KindSchema>),
    /// A count, then key and value of each entry, no key twice.
    Map(Arc<[KindSchema; 2]>),
    /// That many elements, one after the other.
    Array(Arc<KindSchema>, usize),
    /// The parts, one after the other.
    Tuple(Arc<[KindSchema]>),
    /// A value of the class with this index.
    Class(usize),
    /// The id of an object that has a record of its own.
    Reference {
        /// The pointer and the cell that hold it.
        holder: Holder,
        /// True if it may lead nowhere.
        weak: bool,
        /// Index of its class.
        class: usize,
    },
    /// The id of an object of any class that has a trait.
    TraitReference {
        /// The pointer and the cell that hold it.
        holder: Holder,
        /// True if it may lead nowhere.
        weak: bool,
        /// Name of the trait.
        name: Arc<str>,
    },
    /// The number of a class, then a value of that class: a `Box<dyn Trait>` of the trait of this name.
    Dynamic(Arc<str>),
    /// A handle into the arena of this name.
    Handle(Arc<str>),
    /// Unknown data: any number of parts, each the number of a class, followed by a value of that class.
    Unknown,
}

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
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Option(part) | Self::List(part) | Self::Set(part) | Self::Array(part, _) => {
                slice::from_ref(part)
            }
            Self::Map(parts) => &parts[..],
            Self::Tuple(parts) => parts,
            _ => &[],
        }
    }

    /// Returns true for numbers of a fixed size and `bool`. Zeros are a value of each.
    pub fn is_number(&self) -> bool {
        use KindSchema::*;
        let is_signed = matches!(self, I8 | I16 | I32 | I64 | I128);
        is_signed || matches!(self, Bool | U8 | U16 | U32 | U64 | U128 | F32 | F64)
    }

    /// Visits the kind and its parts, up to classes and pointers.
    pub fn visit<'k>(&'k self, visit: &mut dyn FnMut(&'k Self)) {
        visit(self);
        self.parts().iter().for_each(|part| part.visit(visit));
    }

    /// The classes whose values lie in those of the kind.
    pub fn classes(&self) -> Vec<usize> {
        let mut classes = Vec::new();
        self.visit(&mut |kind| {
            if let Self::Class(class) = kind {
                classes.push(*class);
            }
        });
        classes
    }

    /// The class whose value or object the kind leads to.
    pub(super) fn target(&self) -> Option<usize> {
        match self {
            Self::Class(class) | Self::Reference { class, .. } => Some(*class),
            _ => None,
        }
    }

    /// True for a kind with pointers or trait objects in it, which no `convert` takes.
    pub fn refers(&self) -> bool {
        matches!(self, Self::Reference { .. } | Self::TraitReference { .. } | Self::Dynamic(_))
            || self.parts().iter().any(Self::refers)
    }

    /// True if two kinds, of two lists of classes, are alike, and `are_same` of the classes that stand in the same
    /// place. The names of traits count if `by_name`.
    pub fn is_like(
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

    /// This kind with the indices that its classes have in another list.
    fn renumbered(&self, index: &dyn Fn(usize) -> usize) -> Self {
        self.mapped(&|kind| match kind {
            Self::Class(class) => Self::Class(index(*class)),
            Self::Reference { holder, weak, class } => {
                Self::Reference { holder: *holder, weak: *weak, class: index(*class) }
            }
            kind => kind.clone(),
        })
    }

    /// This kind with pointers in other holders: those to a class, or to a trait.
    pub(super) fn with_holders(&self, holder: &dyn Fn(Option<usize>, Holder) -> Holder) -> Self {
        self.mapped(&|kind| match kind {
            Self::Reference { holder: of, weak, class } => {
                Self::Reference { holder: holder(Some(*class), *of), weak: *weak, class: *class }
            }
            Self::TraitReference { holder: of, weak, name } => {
                Self::TraitReference { holder: holder(None, *of), weak: *weak, name: name.clone() }
            }
            kind => kind.clone(),
        })
    }

    /// This kind with others in place of the kinds inside that have no parts.
    pub(super) fn mapped(&self, map: &dyn Fn(&Self) -> Self) -> Self {
        let mapped = |part: &Self| part.mapped(map);
        match self {
            Self::Option(part) => Self::Option(mapped(part).into()),
            Self::List(part) => Self::List(mapped(part).into()),
            Self::Set(part) => Self::Set(mapped(part).into()),
            Self::Map(parts) => Self::Map(parts.each_ref().map(mapped).into()),
            Self::Array(part, len) => Self::Array(mapped(part).into(), *len),
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(mapped).collect()),
            kind => map(kind),
        }
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
    pub fn has_parts(&self) -> bool {
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
    ///
    /// `classes` are those of its save.
    #[must_use]
    pub fn display(&self, classes: &[ClassSchema]) -> String {
        let mut text = Short(String::new());
        // Writing fails where the text is long enough.
        if self.write(classes, &mut text).is_err() {
            text.0.push_str("...");
        }
        text.0
    }

    fn write(&self, classes: &[ClassSchema], out: &mut Short) -> fmt::Result {
        let class_name = |index: usize| classes.get(index).map_or("?", |class| &*class.name);
        let part = |prefix: &str, part: &Self, out: &mut Short| {
            out.write_str(prefix)?;
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
                out.write_str(&holder.class_type_name(*weak, class_name(*class)))
            }
            Self::TraitReference { holder, weak, name } => {
                out.write_str(&holder.type_name(*weak, &format!("dyn {name}")))
            }
            // Unknown data may belong to any trait.
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
    /// Returns the kind inside of a newtype, a struct of one unnamed field; `None` for other classes.
    pub(super) fn newtype(&self) -> Option<&KindSchema> {
        match &self.form {
            Form::Struct(fields) => match &fields[..] {
                [FieldSchema { name, kind, .. }] if name == "0" => Some(kind),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name of the owner, and the field, of a class of what was kept of another.
    pub fn unknown_field(&self) -> Option<(&str, &FieldSchema)> {
        let Form::Struct(fields) = &self.form else { return None };
        let [field] = &fields[..] else { return None };
        Some((self.name.strip_suffix(&field.name)?.strip_suffix('.')?, field))
    }

    /// The version of the class of a value that a program synthesized for a field that it did not find. Classes of kept
    /// fields have version 1.
    pub(crate) const SYNTHESIZED_VERSION: u32 = 2;

    /// True for the class of such a value, among those of what was kept.
    pub(crate) fn is_synthesized(&self) -> bool {
        self.version == Self::SYNTHESIZED_VERSION && self.unknown_field().is_some()
    }

    /// True for the class of what was kept of a part of an object.
    pub fn is_unknown_at(&self) -> bool {
        self.name == UnknownAt::CLASS
            && matches!(&self.form, Form::Struct(fields) if fields.len() == 2)
    }

    /// Checks the class of a record that was kept of an object: one field of an object, or of the value, of the save.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not.
    pub fn check_unknown(&self, id: u64, is_present: bool) -> Result<()> {
        let is_field = matches!(&self.form, Form::Struct(fields) if fields.len() == 1);
        if (is_field || self.is_unknown_at()) && is_present {
            return Ok(());
        }
        Err(error!(
            ErrorKind::Damaged,
            "what is kept of object #{id} is not one field of an object of the save; it is damaged or malicious"
        )
        .in_class(&*self.name))
    }

    /// The variant of such a class.
    pub fn unknown_variant(&self) -> Option<&VariantSchema> {
        let Form::Enum(variants) = &self.form else { return None };
        let [variant] = &variants[..] else { return None };
        self.name.strip_suffix(&variant.name)?.ends_with("::").then_some(variant)
    }

    /// This class with the indices that those it mentions have in another list.
    pub fn renumbered(&self, index: &dyn Fn(usize) -> usize) -> Self {
        let fields = |fields: &[FieldSchema]| {
            let renumbered = |field: &FieldSchema| FieldSchema {
                kind: field.kind.renumbered(index),
                ..field.clone()
            };
            fields.iter().map(renumbered).collect()
        };
        let form = match &self.form {
            Form::Struct(list) => Form::Struct(fields(list)),
            Form::Enum(variants) => {
                let renumbered = |variant: &VariantSchema| VariantSchema {
                    name: variant.name.clone(),
                    fields: fields(&variant.fields),
                };
                Form::Enum(variants.iter().map(renumbered).collect())
            }
            Form::Value(kind) => Form::Value(kind.renumbered(index)),
        };
        Self { form, name: self.name.clone(), ..*self }
    }

    /// Every kind that the class mentions directly.
    pub fn kinds(&self) -> impl Iterator<Item = &KindSchema> {
        self.named_kinds().map(|(_, kind)| kind)
    }

    /// Like [`kinds`](Self::kinds), with the names of the fields.
    pub fn named_kinds(&self) -> impl Iterator<Item = (&str, &KindSchema)> {
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

/// A kind by the type that is most usual for it, from how messages show it. How compact its numbers are is no part of a
/// type.
pub fn rust_type(kind: &str) -> String {
    let (mut source, kind) = (String::new(), kind.replace("compact ", ""));
    for (at, letter) in kind.char_indices() {
        let is_inside = source.ends_with(|prefix: char| prefix.is_alphanumeric() || prefix == '_');
        let is_collection = ["Map<", "Set<"].iter().any(|word| kind[at..].starts_with(word));
        if is_collection && !is_inside {
            source.push_str("Hash");
        }
        source.push(letter);
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_takes_24_bytes() {
        // A save of a megabyte may define a million of them.
        assert!(size_of::<KindSchema>() <= 24);
    }
}
