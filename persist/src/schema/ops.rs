//! The operations of a plan, which convert the records of one stored class.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use super::event::shortened;
use super::number::{Widening, Width};
use super::pairing::StoredField;
use super::{FieldPlace, Form, Stored, UnknownLocation};
use crate::reflect::Holder;
use crate::value::{Origin, Value};

/// How the records of one class become the program's.
#[derive(Clone)]
pub(super) enum Plan {
    Struct(Arc<RecordPlan>),
    /// By stored variant; the row of records of a newer version.
    Enum(Arc<[VariantPlan]>, Option<usize>),
    /// A conversion and its row.
    Value(usize, Option<usize>),
    /// Each record by the names of what it has: it is migrated, or what a program kept of it is to be looked through.
    Named,
}

pub(super) enum VariantPlan {
    Fields(Arc<RecordPlan>),
    /// The program's `other` variant.
    Other(Other),
    /// None of the program's.
    Removed,
}

/// The program's `other` variant for one that it does not have.
#[derive(Clone, Copy)]
pub(super) struct Other {
    pub(super) variant: usize,
    pub(super) field: OtherField,
    pub(super) row: usize,
}

/// The content of an `other` variant that stands for a stored variant.
#[derive(Clone, Copy)]
pub(super) enum OtherField {
    /// There is no field.
    None,
    /// Nothing: the program declares the stored variant `removed`.
    Empty,
    /// The variant, as a value of this class.
    Unknown(usize),
}

/// How a record becomes a struct or a variant of the program's.
pub(super) struct RecordPlan {
    /// The program's class and variant.
    pub(super) target: (usize, usize),
    /// The pieces of the record, in stored order.
    pub(super) pieces: Vec<Piece>,
    /// The program's fields, in its order.
    pub(super) sources: Vec<FieldSource>,
    /// The steps of the conversion, in order.
    pub(super) steps: Vec<RecordStep>,
    /// The unknown fields, each kept or dropped.
    pub(super) unknown: Vec<UnknownFieldStep>,
    /// True if the program's class has a field for what is unknown.
    pub(super) has_room: bool,
    /// True if unknown fields are kept and others are synthesized. Then copies of the synthesized values are kept, too,
    /// so that a later program sees whether they were changed.
    pub(super) marks: bool,
    /// The rows that each record adds to the report.
    pub(super) rows: Vec<usize>,
    /// By how many bytes each record grows, if records of it are rewritten in a loop of their own.
    pub(super) growth: Option<usize>,
}

impl RecordPlan {
    /// Notes which sources make up the value of a field.
    pub(super) fn mark(&mut self, synthesized: &[(usize, Range<usize>)]) {
        self.marks = true;
        for (field, sources) in synthesized.iter().rev() {
            self.sources.insert(sources.end, FieldSource::End);
            self.sources.insert(sources.start, FieldSource::Synthesized(*field));
        }
    }
}

/// A stored field, or several that are taken over or skipped together.
pub(super) struct Piece {
    /// The name of the first field in it.
    pub(super) name: Arc<str>,
    pub(super) nodes: Range<usize>,
    /// Its bytes, if all records have as many.
    pub(super) span: Option<usize>,
}

impl Piece {
    /// How many of these bytes it is; `None` if it is long or deep, or there are fewer.
    #[inline(always)]
    pub(super) fn length(&self, stored: &Stored, bytes: &[u8]) -> Option<usize> {
        self.span.or_else(|| stored.lengths(self.nodes.clone(), bytes))
    }
}

/// One step in the conversion of a record. Each piece is read once, in stored order.
pub(super) enum RecordStep {
    /// Takes pieces as they are.
    Take(Range<usize>),
    /// Converts the next piece, whose field is the next one.
    Convert(usize),
    /// Converts the next piece, whose field comes later.
    Early(usize),
    /// Writes fields of the program.
    Write(Range<usize>),
}

pub(super) struct UnknownFieldStep {
    pub(super) piece: usize,
    /// The class as which it is kept.
    pub(super) class: usize,
    /// The row if the field is kept. Data that was unknown to an earlier program, too, is reported as a value of its
    /// class.
    pub(super) retained_row: Option<usize>,
    /// The row if the field cannot be kept.
    pub(super) dropped_row: Option<usize>,
}

/// Where a field of the program comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FieldSource {
    /// A piece as it is.
    Copy(usize),
    Convert {
        piece: usize,
        conversion: usize,
    },
    /// A number of a piece; the wider kind has each value of its kind.
    Widen {
        piece: usize,
        by: Widening,
    },
    /// The n-th piece that was converted early.
    Early(usize),
    /// The default of this field.
    Default(usize),
    /// An empty value of it.
    Empty(usize),
    /// The unknown fields.
    Unknown,
    /// Marks the operations up to the next `End` as a default that is synthesized for this field.
    Synthesized(usize),
    End,
}

/// The fields of a stored class or variant, or of one record.
pub(super) struct StoredFields<'a> {
    /// Name of the class.
    pub(super) class: &'a str,
    /// Name of the variant.
    pub(super) variant: Option<&'a str>,
    /// The version of the class that stored them; `None` for the parts of a tuple.
    pub(super) version: Option<u32>,
    pub(super) members: &'a [Member<'a>],
}

/// A stored value of a record that may become a field.
#[derive(Default)]
pub(super) struct Member<'a> {
    pub(super) name: Arc<str>,
    pub(super) number: Option<u32>,
    pub(super) origin: Origin,
    /// True if a program synthesized it, also if a migration has renamed it.
    pub(super) is_synthesized: bool,
    /// The version to which a migration came that made or renamed it; 0 if none has.
    pub(super) since: u32,
    /// Its node; `None` of what a migration has made.
    pub(super) stored: Option<usize>,
    /// The value, if a migration made it.
    pub(super) made: Cell<Option<Value>>,
    /// The class as which it can be kept.
    pub(super) unknown_class: Option<usize>,
    /// Its bytes in one record. `place` says where they stay if they are kept.
    pub(super) bytes: &'a [u8],
    pub(super) place: Option<UnknownLocation>,
}

impl StoredField for Member<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> Option<u32> {
        self.number
    }

    fn origin(&self) -> Origin {
        self.origin
    }
}

impl<'a> StoredFields<'a> {
    /// The fields of a stored class, of one variant if it is an enum.
    pub(super) fn new(
        all: &'a Stored,
        class: usize,
        variant: usize,
        members: &'a [Member<'a>],
    ) -> Self {
        let name = match &all[class].form {
            Form::Enum(variants) => Some(&*variants[variant].name),
            _ => None,
        };
        Self { class: &all[class].name, variant: name, version: Some(all[class].version), members }
    }

    /// A field's name, after that of its variant.
    pub(super) fn path(&self, field: &str) -> String {
        match self.variant {
            Some(variant) => format!("{}.{field}", shortened(variant)),
            None => field.to_owned(),
        }
    }
}

impl Stored {
    /// The fields of a struct (`variant` is 0) or of a variant, as what each record has.
    pub(super) fn members(&self, class: usize, variant: usize) -> Vec<Member<'_>> {
        let first = self.first(class, variant);
        let fields = self.fields(class, variant).iter().zip(first..);
        let members = fields.map(|(field, node)| Member {
            name: (&*field.name).into(),
            number: field.id,
            stored: Some(node),
            unknown_class: Some(self.unknown_field(node)),
            ..Member::default()
        });
        members.collect()
    }
}

/// How a stored value becomes one of the program's; others are named by their place in
/// the list of all.
#[derive(Clone, Copy)]
pub(super) enum Conversion {
    /// The value of a node as it is.
    Copy(usize),
    Number {
        from: Width,
        to: Width,
        /// The row of numbers that did not fit.
        clamped: usize,
    },
    Option(usize),
    /// A value to an option or a list of one.
    Some(usize),
    /// An option to its value, if it is there.
    Present(usize),
    /// A list, set or array to another; those of a fixed length have no count.
    Elements {
        min: u32,
        of: usize,
        from: Option<usize>,
        to: Option<usize>,
        /// True if several may become one: they are those of a set, and hold an enum with an `other` variant without a
        /// field.
        may_collide: bool,
    },
    /// An array to a longer one, whose other elements are those of the default of this field; the
    /// run of those.
    Longer {
        of: usize,
        from: usize,
        field: FieldPlace,
        row: usize,
    },
    /// The conversion of the key; that of the value follows it.
    Map {
        min: u32,
        key: usize,
        /// As of elements, of the keys.
        may_collide: bool,
    },
    /// A tuple: the conversion of its first part, which those of the others follow, and how many they are.
    Parts(usize, usize),
    /// A struct or an enum, by the plan of this place in the list of those.
    Class(usize),
    /// A tuple to a struct, by its place in the list of those.
    Struct(usize),
    Dynamic,
    /// A text to the variant of that name of the program's class, and back.
    Variant {
        /// The node of the text.
        node: usize,
        class: usize,
        /// The row of texts that became the `other` variant.
        lost: usize,
    },
    Name(usize),
    /// A value to an object of its own, of the program's class.
    Share {
        class: usize,
        holder: Holder,
        of: usize,
    },
    /// An object to a value; the row of those that were shared by several.
    Inline {
        class: usize,
        holder: Holder,
        of: usize,
        shared: usize,
    },
    /// A container of a field whose elements are skipped if they cannot be converted; the node of its first part, or
    /// that of the whole field if it is an option.
    Skipping {
        of: usize,
        node: usize,
        is_option: bool,
        field: FieldPlace,
    },
    /// To the type that the `convert` of a field takes, and by it to the field.
    Typed {
        of: usize,
        field: FieldPlace,
        /// The index of the function in the field's `convert`.
        number: usize,
    },
}

/// The field for which a conversion is made.
#[derive(Clone, Copy)]
pub(super) struct FieldName<'p> {
    pub(super) class: &'p str,
    pub(super) field: &'p str,
}
