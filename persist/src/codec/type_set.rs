//! The types that a registration collects, and access to values whose type is known at run time only.

use std::any::{Any, TypeId};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::field_access::FieldAccess;
use super::links::Prototypes;
use super::object::Shared;
use super::unknown::Unknown;
use super::visitor::Visitor;
use crate::Result;
use crate::reflect::{Class, Holder, KindFn, TraitName};

/// Collects the types that a type reaches through its fields.
///
/// A type lists the types that it reaches, not values. So each type is visited once, and recursive types end.
#[derive(Default)]
pub struct TypeSet {
    seen: HashSet<TypeId>,
    objects_seen: HashSet<(TypeId, Holder)>,
    pub(crate) classes: Vec<(&'static Class, &'static ClassAccess)>,
    pub(crate) objects: Vec<ObjectType>,
    /// Traits, and the holders of the trait objects behind pointers.
    pub(crate) traits: Vec<(TraitName, Option<Holder>)>,
    /// The stand-ins for unknown classes of these traits.
    pub(crate) stand_ins: Vec<(TraitName, StandInClass)>,
    pub(crate) unvisited: Vec<Unvisited>,
    has_interior_mutability: bool,
}

/// A type whose values no visit reaches, such as the type of a map's keys.
pub(crate) struct Unvisited {
    pub place: &'static str,
    pub kind: KindFn,
    pub name: fn() -> String,
}

/// A type of shared object, and the pointer that shares it.
#[derive(Clone, Copy)]
pub struct ObjectType {
    /// The target of the pointer, cell included: `RefCell<Hero>`.
    pub pointee: TypeId,
    /// The value in the cell, such as `Hero`: the type of the program's factory.
    pub value: TypeId,
    /// Size of the pointee in memory, in bytes.
    pub size: usize,
    /// The pointer and the cell.
    pub holder: Holder,
    /// Kind of the value.
    pub kind: KindFn,
    /// Name of the value's class.
    pub name: fn() -> String,
    /// Appends an empty object to others. It is created where it stays, since each move of an object costs as much as
    /// the rest of its creation.
    pub make: fn(&Prototypes<'_>, &mut Vec<LoadedObject>) -> Result<()>,
    /// Reads over the value of an object in a cell.
    pub fill: fn(&Shared, &mut Decoder<'_>) -> Result<(), Fail>,
    /// Passes the value in a pointee to a function, unless it is borrowed or locked.
    pub inspect: ShowValue,
}

/// Passes the value in a pointee to a function, unless it stays borrowed or locked for that time.
pub(crate) type ShowValue = fn(&dyn Any, Duration, &mut dyn FnMut(&dyn Any));

/// An object of a load.
pub enum LoadedObject {
    /// No object: its record does not become one, or it was freed.
    Nothing,
    /// A shared object: one in a cell, which is filled through the pointer, or one that is already filled.
    Shared(Shared),
    /// An object that nobody can change after it is shared, so it is shared after it is filled.
    Draft(Box<dyn Draft>),
}

// A load has one of these for every object. It once took 32 bytes. With a record of 32, and 48 for an object of the
// result, the tables of a load took 156 bytes for each object, and take 63 now.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<LoadedObject>() == 24);

impl LoadedObject {
    /// Returns the object, if others can refer to it.
    #[inline]
    pub(crate) fn shared(&self) -> Option<&Shared> {
        match self {
            Self::Shared(shared) => Some(shared),
            Self::Nothing | Self::Draft(_) => None,
        }
    }

    /// Takes the draft out, to be filled.
    pub(crate) fn take_draft(&mut self) -> Option<Box<dyn Draft>> {
        if !matches!(self, Self::Draft(_)) {
            return None;
        }
        match std::mem::replace(self, Self::Nothing) {
            Self::Draft(draft) => Some(draft),
            _ => None,
        }
    }

    /// Returns the object in its current state.
    pub(crate) fn build(self) -> Option<Shared> {
        match self {
            Self::Nothing => None,
            Self::Shared(shared) => Some(shared),
            Self::Draft(draft) => Some(draft.build()),
        }
    }
}

/// An object before it is shared.
pub trait Draft {
    /// Reads over the value.
    fn fill(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail>;

    /// Visits the value.
    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Moves the value into its shared pointer.
    fn build(self: Box<Self>) -> Shared;
}

/// The place of a value that a field stores instead of its own, for an error message.
pub(crate) const ADAPTED: &str = "stored through `with` or `via`";

impl TypeSet {
    /// Adds a type; returns true the first time.
    pub(super) fn enter<T: 'static>(&mut self) -> bool {
        self.seen.insert(TypeId::of::<T>())
    }

    /// Adds an object type. Returns true the first time; then the caller adds the type of its value.
    pub fn object(&mut self, object: ObjectType) -> bool {
        // By both: an `Rc` and an `Arc` of one pointee are different objects.
        let first = self.objects_seen.insert((object.pointee, object.holder));
        if first {
            self.objects.push(object);
        }
        first
    }

    /// Notes that a value may change through a shared reference, or be written differently without a change.
    pub(crate) fn interior_mutability(&mut self) {
        self.has_interior_mutability = true;
    }

    /// Returns true if values change through `&mut` alone, as far as the types tell: the bytes of a value that was not
    /// handed out mutably stay the same.
    #[cfg(feature = "world")]
    pub(crate) fn is_frozen(&self) -> bool {
        // The code of an adapter decides about its bytes. Types behind trait objects and pointers are not known here.
        let mut unvisited = self.unvisited.iter();
        !self.has_interior_mutability
            && self.objects.is_empty()
            && self.traits.is_empty()
            && !unvisited.any(|it| it.place == ADAPTED)
    }

    /// Notes that no visit reaches the values of a type, so that they may hold neither references nor hooks. `place`
    /// says where the values are, for an error.
    pub fn unvisited(&mut self, place: &'static str, kind: KindFn, name: fn() -> String) {
        self.unvisited.push(Unvisited { place, kind, name });
    }
}

/// A class whose type is known at run time only.
pub(crate) struct ClassAccess {
    // Values and functions instead of type parameters: the code that uses them is compiled once, and not for each class
    // of a program.
    /// Codecs of the fields: one row for a struct, one for each variant of an enum.
    pub(super) rows: &'static [&'static [FieldCodec]],
    /// Writes and reads a value of the class as a whole.
    pub(super) whole: FieldAccess,
    pub(super) open: fn(&dyn Any) -> Option<&dyn DynamicFields>,
    #[cfg_attr(
        not(any(feature = "history", feature = "world")),
        allow(dead_code, reason = "only an edit of fields asks for it")
    )]
    pub(super) open_mut: fn(&mut dyn Any) -> Option<&mut dyn DynamicFields>,
    /// Writes a field that a save lacks or holds as an older type; see [`Reflect`](super::Reflect).
    pub make_field: MakeField,
    /// Writes the empty value.
    pub encode_empty: fn(&Prototypes<'_>, &mut Encoder<'_>) -> Result<(), Stop>,
}

type MakeField =
    fn(usize, usize, Option<(usize, &mut Decoder<'_>)>, &mut Encoder<'_>) -> Result<(), Stop>;

/// A value whose class is known at run time only: [`Reflect`](super::Reflect) as an object-safe trait.
pub(crate) trait DynamicFields {
    /// Returns the index of the value's variant; 0 for a struct.
    fn variant(&self) -> usize;

    /// Returns a field of the value's struct or variant.
    fn field(&self, field: usize) -> Option<&dyn Any>;

    /// Returns a field of the value's struct or variant mutably.
    #[cfg(any(feature = "history", feature = "world"))]
    fn field_mut(&mut self, field: usize) -> Option<&mut dyn Any>;
}

impl ClassAccess {
    /// Returns the index of the value's variant; 0 for a struct, and `None` for a value of another type.
    pub(crate) fn variant(&self, value: &dyn Any) -> Option<usize> {
        Some((self.open)(value)?.variant())
    }

    /// Returns a field of the value's struct or variant.
    pub(crate) fn field<'v>(&self, value: &'v dyn Any, field: usize) -> Option<&'v dyn Any> {
        (self.open)(value)?.field(field)
    }

    /// Returns a field of the value's struct or variant mutably.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn field_mut<'v>(
        &self,
        value: &'v mut dyn Any,
        field: usize,
    ) -> Option<&'v mut dyn Any> {
        (self.open_mut)(value)?.field_mut(field)
    }

    /// Returns how a field of a variant is written and read.
    pub(crate) fn access(&self, variant: usize, field: usize) -> Option<&'static FieldAccess> {
        Some(self.rows.get(variant)?.get(field)?.access())
    }

    /// Writes a field of the value.
    pub(crate) fn encode_field(
        &self,
        value: &dyn Any,
        field: usize,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let found = (self.open)(value)
            .and_then(|value| Some((self.access(value.variant(), field)?, value.field(field)?)));
        match found {
            Some((access, field)) => access.encode(field, out),
            None => Err(out.no_field()),
        }
    }

    /// Finds the first field of a struct that cannot be read, and the bytes at which its decode failed. The decoder
    /// then stands at the beginning of that field.
    pub(crate) fn find_bad_field<'i>(
        &self,
        class: &'static Class,
        input: &mut Decoder<'i>,
    ) -> Option<(usize, &'i [u8])> {
        let mut fields = self.rows.first()?.iter().enumerate();
        fields.find_map(|(i, field)| {
            // The load skipped these bytes, so they are not the fault.
            if input.pass_default(class.type_id(), 0, i) {
                return None;
            }
            let start = input.rest();
            let decode = |input: &mut Decoder<'i>| field.access().decode(None, input);
            // As in the load, which leaves bad elements of such a field out instead of failing.
            let result = match class.fields().get(i).is_some_and(|record| record.skips_failed) {
                true => input.in_skipping_field(class, 0, i, decode),
                false => decode(input),
            };
            result.is_err().then(|| (i, stopped(start, input)))
        })
    }

    /// Finds the first of many values that cannot be read. The decoder then stands at its beginning.
    pub(crate) fn find_bad_value(&self, count: usize, input: &mut Decoder<'_>) -> Option<usize> {
        (0..count).find(|_| bad(&self.whole, input).is_some())
    }
}

/// Skips the next value. If it cannot be read, returns the bytes at which its decode failed.
fn bad<'i>(access: &FieldAccess, input: &mut Decoder<'i>) -> Option<&'i [u8]> {
    let start = input.rest();
    access.decode(None, input).is_err().then(|| stopped(start, input))
}

/// Goes back to the beginning of a value that could not be read, and returns the bytes at which its decode failed.
fn stopped<'i>(start: &'i [u8], input: &mut Decoder<'i>) -> &'i [u8] {
    let stopped = input.rest();
    // The caller may look for the fault inside this value, by another decode of it.
    input.go_back(start);
    stopped
}

/// A stand-in for unknown classes of a trait, for objects.
#[derive(Clone)]
pub(crate) struct StandInClass {
    pub type_id: TypeId,
    /// Adds its class.
    pub enter: fn(&mut TypeSet),
    /// Adds its object type in a holder.
    pub reach: fn(Holder, &mut TypeSet),
    /// Returns the unknown content of a value, if it is a stand-in.
    pub unknown: fn(&dyn Any) -> Option<&Unknown>,
    /// Creates an object that holds unknown content.
    pub make: fn(Holder, Unknown) -> LoadedObject,
    // Erased: a `Caster<D>` has the trait as a parameter, and the stand-ins of all traits share a list.
    /// A `Caster` to the trait.
    pub caster: Arc<dyn Any + Send + Sync>,
}

/// Describes the type of a field: sizes for the layout, and functions that register, write and read the field by
/// itself.
#[derive(Clone, Copy)]
pub struct FieldCodec {
    pub(super) head: usize,
    pub(super) fixed: bool,
    pub(super) min: usize,
    pub(super) leaf: bool,
    pub(super) cost: usize,
    pub(super) on_stack: usize,
    pub(super) reach: fn(&mut TypeSet),
    pub(super) access: &'static FieldAccess,
}

impl FieldCodec {
    /// Returns how the field is written and read by itself.
    #[must_use]
    pub fn access(&self) -> &'static FieldAccess {
        self.access
    }

    /// True if the field is stored as its own type, and not in its compact form.
    pub(crate) const fn is_plain(&self) -> bool {
        self.access.is_plain
    }
}
