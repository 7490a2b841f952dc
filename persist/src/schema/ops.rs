//! What the plans of a save are made of: how its records become the program's.

use std::ops::Range;
use std::sync::Arc;

use super::event::shortened;
use super::number::Width;
use super::quick::Quick;
use super::stored::Pass;
use super::{FieldSchema, Form, Stored};
use crate::reflect::{FieldRecord, Holder};

/// How the records of one class become the program's.
#[derive(Clone)]
pub(super) enum Plan {
    Struct(Arc<Fields>),
    /// By stored variant.
    Enum(Arc<[VariantPlan]>),
    /// A conversion and its run.
    Value(usize, usize),
    /// By the names of what is stored, value by value: it is migrated, or what a program
    /// kept of it is to be looked through.
    Named,
}

pub(super) enum VariantPlan {
    /// A variant of the program.
    Fields(usize, Arc<Fields>),
    /// The program's `other` variant, what its field holds, and the run.
    Other { variant: usize, field: OtherField, run: usize },
    /// None of the program's.
    Removed,
}

/// What the field of an `other` variant holds of the stored one for which it stands.
#[derive(Clone, Copy)]
pub(super) enum OtherField {
    /// There is no field.
    None,
    /// Nothing: the stored variant is gone for good.
    Empty,
    /// The variant, as a value of this class.
    Kept(usize),
}

/// The fields of the program in order, each from the save or from its default.
pub(super) struct Fields {
    /// The stored fields, in stored order; neighbours that are taken over or skipped
    /// together as one.
    pub(super) walk: Vec<Walked>,
    /// The program's fields, in its order.
    pub(super) steps: Vec<Step>,
    /// True if the steps take the walked fields in order.
    pub(super) ordered: bool,
    /// Where it is counted how often the plan ran: in all, as an object's own, inside.
    pub(super) runs: [usize; 3],
    /// True if the program's class has a field for what is unknown.
    pub(super) room: bool,
    /// How many of it are rewritten at once.
    pub(super) quick: Option<Quick>,
}

pub(super) struct Walked {
    /// Index of the stored field, of the first one if it is several.
    pub(super) field: usize,
    pub(super) action: Action,
    /// How its bytes are passed over, if they have no deep parts.
    pub(super) passes: Option<Box<[Pass]>>,
}

#[derive(Clone, Copy)]
pub(super) enum Action {
    /// Some nodes from the first, as they are.
    Copy {
        first: usize,
        nodes: usize,
    },
    Skip {
        first: usize,
        nodes: usize,
    },
    /// To be kept as a value of the class.
    Keep {
        node: usize,
        class: usize,
    },
    Convert {
        node: usize,
        conversion: usize,
    },
}

impl Action {
    /// The nodes of the fields.
    pub(super) fn nodes(&self) -> Range<usize> {
        match *self {
            Self::Copy { first, nodes, .. } | Self::Skip { first, nodes, .. } => {
                first..first + nodes
            }
            Self::Keep { node, .. } | Self::Convert { node, .. } => node..node + 1,
        }
    }

    /// Takes in what is done with the next field, if it is the same.
    pub(super) fn join(&mut self, next: &Self) -> bool {
        match (self, next) {
            (Self::Copy { nodes, .. }, Self::Copy { nodes: more, .. })
            | (Self::Skip { nodes, .. }, Self::Skip { nodes: more, .. }) => {
                *nodes += more;
                true
            }
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// What the walk has made of its stored field of this index.
    Take(usize),
    /// The default of the program's field.
    Default { variant: usize, field: usize },
    /// An empty value of it.
    Empty { variant: usize, field: usize },
    /// What is kept.
    Unknown,
}

/// The fields of a stored class or variant.
pub(super) struct Given<'a> {
    /// Name of the class.
    pub(super) class: &'a str,
    /// Name of the variant.
    pub(super) variant: Option<&'a str>,
    pub(super) fields: &'a [FieldSchema],
    /// Node of the first field.
    pub(super) first: usize,
    /// True for a tuple, which has no fields that could be kept.
    pub(super) is_tuple: bool,
}

impl<'a> Given<'a> {
    /// The fields of a stored class, of one variant if it is an enum.
    pub(super) fn of(all: &'a Stored, class: usize, variant: usize) -> Self {
        let name = match &all[class].form {
            Form::Enum(variants) => Some(&*variants[variant].name),
            _ => None,
        };
        let (fields, first) = (all.fields(class, variant), all.first(class, variant));
        Self { class: &all[class].name, variant: name, fields, first, is_tuple: false }
    }

    /// A class whose fields are found by their names.
    pub(super) fn named(class: &'a str) -> Self {
        Self { class, variant: None, fields: &[], first: 0, is_tuple: true }
    }

    /// A field's name, after that of its variant.
    pub(super) fn path(&self, field: &str) -> String {
        match self.variant {
            Some(variant) => format!("{}.{field}", shortened(variant)),
            None => field.to_owned(),
        }
    }
}

/// The program's fields of the same.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) class: usize,
    pub(super) variant: usize,
    pub(super) fields: &'a [FieldSchema],
    pub(super) records: &'a [FieldRecord],
    /// Names of stored fields that are gone for good.
    pub(super) removed: &'a [&'static str],
}

impl Wanted<'_> {
    /// True for a stored or kept field that is dropped and not kept, as the class says. It has been found to be
    /// none of the program's.
    pub(super) fn is_removed(&self, name: &str) -> bool {
        self.removed.contains(&name)
    }
}

/// How a stored value becomes one of the program's; others are named by their place in
/// the list of all.
#[derive(Clone, Copy)]
pub(super) enum Conversion {
    /// That many bytes, as they are.
    Bytes(usize),
    /// The value of a node as it is.
    Copy(usize),
    Number {
        from: Width,
        to: Width,
        /// The run of numbers that did not fit.
        clamped: usize,
    },
    Option(usize),
    /// A value to an option, and back if it is there.
    Some(usize),
    Present(usize),
    /// A list, set or array to another; those of a fixed length have no count.
    Elements {
        least: u32,
        of: usize,
        from: Option<usize>,
        to: Option<usize>,
    },
    /// An array to a longer one, whose other elements are those of the default of this field; the
    /// run of those.
    Longer {
        of: usize,
        from: usize,
        class: usize,
        variant: usize,
        field: usize,
        run: usize,
    },
    /// A value to a list.
    One(usize),
    /// The conversion of the key; that of the value follows it.
    Map {
        least: u32,
        key: usize,
    },
    /// A tuple: the conversion of its first part, which those of the others follow, and how many they are.
    Parts(usize, usize),
    /// A struct or an enum, by the plan of the two classes.
    Class(usize, usize),
    /// A tuple to a struct, by its place in the list of those.
    Struct(usize, usize),
    Dynamic,
    /// A text to the variant of that name of the program's class, and back.
    Variant {
        /// The node of the text.
        node: usize,
        class: usize,
        /// The run of texts that became the `other` variant.
        lost: usize,
    },
    Name(usize),
    /// A value to an object of its own, of the program's class.
    Share {
        class: usize,
        holder: Holder,
        of: usize,
    },
    /// An object to a value; the run of those that were shared by several.
    Inline {
        class: usize,
        holder: Holder,
        of: usize,
        shared: usize,
    },
    /// To the type that the `convert` of a field takes, and by it to the field.
    Typed {
        of: usize,
        class: usize,
        variant: usize,
        field: usize,
    },
}

/// The field for which a conversion is made.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) class: &'p str,
    pub(super) field: &'p str,
}
