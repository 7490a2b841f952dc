//! What a registration meets, and values of types that are known at run time only.

use std::any::{Any, TypeId};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::field::FieldAccess;
use super::links::Prototypes;
use super::object::Shared;
use super::unknown::Unknown;
use super::visitor::Visitor;
use crate::Result;
use crate::reflect::{Class, Holder, KindFn, TraitName};

/// Collects the types that a type reaches through its fields.
///
/// A type lists what it reaches by types, not by values, so
/// each is met once, and recursive types end.
#[derive(Default)]
pub struct TypeSet {
    seen: HashSet<TypeId>,
    objects_seen: HashSet<(TypeId, Holder)>,
    pub(crate) classes: Vec<(&'static Class, &'static ClassAccess)>,
    pub(crate) objects: Vec<ObjectType>,
    /// Traits, and the holders of the trait objects behind pointers.
    pub(crate) traits: Vec<(TraitName, Option<Holder>)>,
    /// What stands in for their unknown classes.
    pub(crate) stand_ins: Vec<(TraitName, StandInClass)>,
    pub(crate) unvisited: Vec<Unvisited>,
}

/// A type whose values no visit reaches, such as the keys of a map.
pub(crate) struct Unvisited {
    pub(crate) place: &'static str,
    pub(crate) kind: KindFn,
    pub(crate) name: fn() -> String,
}

/// A type of object: what is shared, and by which pointer.
#[derive(Clone, Copy)]
pub struct ObjectType {
    /// What the pointer leads to, cell included: `RefCell<Hero>`.
    pub pointee: TypeId,
    /// The value in the cell, such as `Hero`: the type of the program's factory.
    pub value: TypeId,
    /// Bytes of the pointee in memory.
    pub size: usize,
    /// The pointer and the cell.
    pub holder: Holder,
    /// Kind of the value.
    pub kind: KindFn,
    /// Name of the value's class.
    pub name: fn() -> String,
    /// Appends an empty object to others: where it stays, since each move of one costs as much as the rest.
    pub make: fn(&Prototypes<'_>, &mut Vec<LoadedObject>) -> Result<()>,
    /// Reads over the value of an object in a cell.
    pub fill: fn(&Shared, &mut Decoder<'_>) -> Result<(), Fail>,
    /// Shows the value in a pointee, unless it is borrowed or locked.
    pub look: ShowValue,
}

/// Shows the value in a pointee, unless it stays borrowed or locked for so long.
pub(crate) type ShowValue = fn(&dyn Any, Duration, &mut dyn FnMut(&dyn Any));

/// An object of a load.
pub enum LoadedObject {
    /// None: its record does not become one, or it has been freed.
    Nothing,
    /// One in a cell, which is filled where it is; or one that is whole.
    Shared(Shared),
    /// One that nobody can change when it is shared: it is shared when it is whole.
    Draft(Box<dyn Draft>),
}

// There is one for every object of a save.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<LoadedObject>() == 24);

impl LoadedObject {
    /// The object, if others can refer to it.
    #[inline]
    pub(crate) fn shared(&self) -> Option<&Shared> {
        match self {
            Self::Shared(shared) => Some(shared),
            Self::Nothing | Self::Draft(_) => None,
        }
    }

    /// Takes the object out, to be filled.
    pub(crate) fn take_draft(&mut self) -> Option<Box<dyn Draft>> {
        if !matches!(self, Self::Draft(_)) {
            return None;
        }
        match std::mem::replace(self, Self::Nothing) {
            Self::Draft(draft) => Some(draft),
            _ => None,
        }
    }

    /// The object as it is.
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

    /// Shares the value.
    fn build(self: Box<Self>) -> Shared;
}

impl TypeSet {
    /// Enters a type; true the first time.
    pub(super) fn enter<T: 'static>(&mut self) -> bool {
        self.seen.insert(TypeId::of::<T>())
    }

    /// Enters an object type; true the first time, and then its value is to be reached.
    pub fn object(&mut self, object: ObjectType) -> bool {
        let first = self.objects_seen.insert((object.pointee, object.holder));
        if first {
            self.objects.push(object);
        }
        first
    }

    /// Notes that the values of a type are out of reach for a visit, so that
    /// they may hold neither references nor hooks; `place` says where they are.
    pub fn unvisited(&mut self, place: &'static str, kind: KindFn, name: fn() -> String) {
        self.unvisited.push(Unvisited { place, kind, name });
    }
}

/// A class whose type is known at run time only.
pub(crate) struct ClassAccess {
    /// What is known of the fields of the struct, or of each variant.
    pub(super) rows: &'static [&'static [FieldCodec]],
    /// How a value of the class is written and read as a whole.
    pub(super) whole: FieldAccess,
    pub(super) open: fn(&dyn Any) -> Option<&dyn DynamicFields>,
    pub(super) open_mut: fn(&mut dyn Any) -> Option<&mut dyn DynamicFields>,
    /// Writes a field that a save does not have as it is; see [`Reflect`](super::Reflect).
    pub(crate) make_field: MakeField,
    /// Writes the empty value.
    pub(crate) encode_empty: fn(&Prototypes<'_>, &mut Encoder<'_>) -> Result<(), Stop>,
}

type MakeField =
    fn(usize, usize, Option<(usize, &mut Decoder<'_>)>, &mut Encoder<'_>) -> Result<(), Stop>;

/// A value whose class is known at run time only: what [`Reflect`](super::Reflect) has for each value.
pub(crate) trait DynamicFields {
    /// Index of the value's variant; 0 for a struct.
    fn variant(&self) -> usize;

    /// A field of the value's struct or variant.
    fn field(&self, field: usize) -> Option<&dyn Any>;

    /// A field of the value's struct or variant, to be changed.
    fn field_mut(&mut self, field: usize) -> Option<&mut dyn Any>;
}

impl ClassAccess {
    /// Index of the value's variant; 0 for a struct. `None` if it is another type.
    pub(crate) fn variant(&self, value: &dyn Any) -> Option<usize> {
        Some((self.open)(value)?.variant())
    }

    /// A field of the value's struct or variant.
    pub(crate) fn field<'v>(&self, value: &'v dyn Any, field: usize) -> Option<&'v dyn Any> {
        (self.open)(value)?.field(field)
    }

    /// A field of the value's struct or variant, to be changed.
    pub(crate) fn field_mut<'v>(
        &self,
        value: &'v mut dyn Any,
        field: usize,
    ) -> Option<&'v mut dyn Any> {
        (self.open_mut)(value)?.field_mut(field)
    }

    /// How a field of a variant is written and read.
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

    /// The first field of a struct that cannot be read, and the bytes where it could not be; it is what comes next
    /// then.
    pub(crate) fn find_bad_field<'i>(
        &self,
        class: &'static Class,
        input: &mut Decoder<'i>,
    ) -> Option<(usize, &'i [u8])> {
        let mut fields = self.rows.first()?.iter().enumerate();
        fields.find_map(|(i, field)| {
            if input.pass_default(class.type_id(), 0, i) {
                return None;
            }
            let before = input.rest();
            let decode = |input: &mut Decoder<'i>| field.access().decode(None, input);
            let result = match class.fields().get(i).is_some_and(|record| record.skips_failed) {
                true => input.in_skipping_field((class, 0, i), decode),
                false => decode(input),
            };
            result.is_err().then(|| (i, stopped(before, input)))
        })
    }

    /// The first of many values that cannot be read; it is what comes next then.
    pub(crate) fn find_bad_value(&self, count: usize, input: &mut Decoder<'_>) -> Option<usize> {
        (0..count).find(|_| bad(&self.whole, input).is_some())
    }
}

/// Passes the next value; if it cannot be read, the bytes where it could not be.
fn bad<'i>(access: &FieldAccess, input: &mut Decoder<'i>) -> Option<&'i [u8]> {
    let before = input.rest();
    access.decode(None, input).is_err().then(|| stopped(before, input))
}

/// Goes back to the beginning of what could not be read; the bytes where it could not be.
fn stopped<'i>(before: &'i [u8], input: &mut Decoder<'i>) -> &'i [u8] {
    let stopped = input.rest();
    input.go_back(before);
    stopped
}

/// A class that stands in for unknown classes of objects.
#[derive(Clone)]
pub(crate) struct StandInClass {
    pub(crate) type_id: TypeId,
    /// Enters its class.
    pub(crate) enter: fn(&mut TypeSet),
    /// Enters its object type in a holder.
    pub(crate) reach: fn(Holder, &mut TypeSet),
    /// What a stand-in holds.
    pub(crate) unknown: fn(&dyn Any) -> Option<&Unknown>,
    /// An object that holds it.
    pub(crate) make: fn(Holder, Unknown) -> LoadedObject,
    /// A `Caster` to the trait.
    pub(crate) caster: Arc<dyn Any + Send + Sync>,
}

/// What is known of a field's type: what the layout needs, and what reaches and codes it by itself.
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
    /// How the field is written and read by itself.
    #[must_use]
    pub fn access(&self) -> &'static FieldAccess {
        self.access
    }

    /// True if the field is stored as its own type, and not in its compact form.
    pub(crate) const fn is_plain(&self) -> bool {
        self.access.is_plain
    }
}

/// Goes to the values inside a value, in the order in which they are decoded.
///
/// [`Persist::persist_parts`](super::Persist::persist_parts) lists them once; what registration, loading and hooks need is made of that list.
pub struct Parts<'p, T>(pub(super) PartsWalk<'p, T>);

pub(super) enum PartsWalk<'p, T> {
    /// Over types, without a value.
    Types(&'p mut TypeSet),
    Exclusive(&'p mut T, Visitor<'p>),
    Shared(&'p T, Visitor<'p>),
}

impl<'p, T> Parts<'p, T> {
    pub(super) fn types(types: &'p mut TypeSet) -> Self {
        Self(PartsWalk::Types(types))
    }

    pub(super) fn exclusive(value: &'p mut T, visitor: &'p mut Visitor<'_>) -> Self {
        Self(PartsWalk::Exclusive(value, visitor.reborrow()))
    }

    pub(super) fn shared(value: &'p T, visitor: &'p mut Visitor<'_>) -> Self {
        Self(PartsWalk::Shared(value, visitor.reborrow()))
    }
}

impl<T> fmt::Debug for Parts<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}
