use std::any::{Any, TypeId};
use std::collections::HashSet;
use std::marker::PhantomData;

use super::{Decoder, Encoder, Fail, Reflect, Shared, Stop};
use crate::reflect::{Class, Holder, Inner};

/// Collects the types that a type reaches through its fields.
///
/// [`Persist::reach`](super::Persist::reach) walks over types, not values, so
/// each is met once, and recursive types end.
#[derive(Default)]
pub struct TypeSet {
    seen: HashSet<TypeId>,
    pub(crate) classes: Vec<(&'static Class, &'static dyn ClassAccess)>,
    pub(crate) objects: Vec<ObjectType>,
    pub(crate) unvisited: Vec<Unvisited>,
}

/// A type whose values no visit reaches, such as the keys of a map.
pub(crate) struct Unvisited {
    pub(crate) place: &'static str,
    pub(crate) kind: Inner,
    pub(crate) name: fn() -> String,
}

/// A type of object: what is shared, and by which pointer.
#[derive(Clone, Copy)]
pub struct ObjectType {
    /// The cell, such as `RefCell<Hero>`.
    pub cell: TypeId,
    /// The value in the cell, such as `Hero`.
    pub value: TypeId,
    /// Bytes of the cell in memory.
    pub size: usize,
    /// The pointer and the cell.
    pub holder: Holder,
    /// Kind of the value.
    pub kind: Inner,
    /// Name of the value's class.
    pub name: fn() -> String,
    /// Makes an empty object, by the program's own [`Factory`] if there is one.
    pub make: fn(Option<&dyn Any>) -> Shared,
}

/// A program's own way to make an empty `T`.
pub struct Factory<T>(pub(crate) Box<dyn Fn() -> T>);

impl TypeSet {
    /// Enters a class; true the first time, and then its fields are to be reached.
    pub fn class<T: Reflect>(&mut self) -> bool {
        let first = self.seen.insert(TypeId::of::<T>());
        if first {
            self.classes.push((T::CLASS, const { &Access::<T>(PhantomData) }));
        }
        first
    }

    /// Enters an object type; true the first time, and then its value is to be reached.
    pub fn object(&mut self, object: ObjectType) -> bool {
        let first = self.seen.insert(object.cell);
        if first {
            self.objects.push(object);
        }
        first
    }

    /// Notes that the values of a type are out of reach for a visit, so that
    /// they may hold neither references nor hooks; `place` says where they are.
    pub fn unvisited(&mut self, place: &'static str, kind: Inner, name: fn() -> String) {
        self.unvisited.push(Unvisited { place, kind, name });
    }
}

/// The fields of a class whose type is known at run time only.
pub trait ClassAccess: Sync {
    /// Index of the value's variant; 0 for a struct. `None` if it is another type.
    fn variant(&self, value: &dyn Any) -> Option<usize>;

    /// A field of the value's struct or variant.
    fn field<'v>(&self, value: &'v dyn Any, field: usize) -> Option<&'v dyn Any>;

    /// A field of the value's struct or variant, to be changed.
    fn field_mut<'v>(&self, value: &'v mut dyn Any, field: usize) -> Option<&'v mut dyn Any>;

    /// Writes the default of a field, where it has one.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit or there is no default.
    fn encode_default(
        &self,
        variant: usize,
        field: usize,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop>;

    /// Writes a field of the value.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit or is not there.
    fn encode_field(
        &self,
        value: &dyn Any,
        field: usize,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop>;

    /// Reads over a field of the value.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a field.
    fn decode_field(
        &self,
        value: &mut dyn Any,
        field: usize,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail>;
}

struct Access<T>(PhantomData<fn() -> T>);

impl<T: Reflect> ClassAccess for Access<T> {
    fn variant(&self, value: &dyn Any) -> Option<usize> {
        value.downcast_ref::<T>().map(T::variant)
    }

    fn field<'v>(&self, value: &'v dyn Any, field: usize) -> Option<&'v dyn Any> {
        value.downcast_ref::<T>()?.field(field)
    }

    fn field_mut<'v>(&self, value: &'v mut dyn Any, field: usize) -> Option<&'v mut dyn Any> {
        value.downcast_mut::<T>()?.field_mut(field)
    }

    fn encode_default(
        &self,
        variant: usize,
        field: usize,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        T::encode_default(variant, field, out)
    }

    fn encode_field(
        &self,
        value: &dyn Any,
        field: usize,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        match value.downcast_ref::<T>() {
            Some(value) => value.encode_field(field, out),
            None => Err(out.no_field()),
        }
    }

    fn decode_field(
        &self,
        value: &mut dyn Any,
        field: usize,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        value.downcast_mut::<T>().ok_or(Fail::Value)?.decode_field(field, input)
    }
}
