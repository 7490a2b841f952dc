//! The operations of a plan, which convert the records of one stored class.

use std::ops::Range;
use std::sync::Arc;

use super::{Other, RecordPlan};
use crate::reflect::Holder;
use crate::schema::FieldPlace;
use crate::schema::number::{Widening, Width};

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
    /// An option of a trait object. A value of an unknown class is kept.
    OptionalDynamic(usize),
    /// A value to an option.
    Some(usize),
    /// A value to a list or set of one.
    One(usize),
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
    /// A list of components, each of its own class.
    Components {
        min: u32,
        of: usize,
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
        /// True if the entries become a list of pairs.
        is_list: bool,
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
