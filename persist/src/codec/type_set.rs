use std::any::{Any, TypeId};
use std::collections::HashSet;
use std::marker::PhantomData;
use std::time::Duration;

use super::{
    Decoder, Encoder, Fail, FieldMut, FieldRef, Prototypes, Reflect, Shared, StandInClass, Stop,
    TraitObject, Visitor, trait_name,
};
use crate::Result;
use crate::reflect::{Class, Holder, Inner, TraitName};

/// Collects the types that a type reaches through its fields.
///
/// A type lists what it reaches by types, not by values, so
/// each is met once, and recursive types end.
#[derive(Default)]
pub struct TypeSet {
    seen: HashSet<TypeId>,
    objects_seen: HashSet<(TypeId, Holder)>,
    pub(crate) classes: Vec<(&'static Class, &'static dyn ClassAccess)>,
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
    pub(crate) kind: Inner,
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
    pub kind: Inner,
    /// Name of the value's class.
    pub name: fn() -> String,
    /// Makes an empty object.
    pub make: fn(&Prototypes<'_>) -> Result<Made>,
    /// Reads over the value of an object in a cell.
    pub fill: fn(&Shared, &mut Decoder<'_>) -> Result<(), Fail>,
    /// Shows the value in a pointee, unless it is borrowed or locked.
    pub look: Look,
}

/// Shows the value in a pointee, unless it stays borrowed or locked for so long.
pub type Look = fn(&dyn Any, Duration, &mut dyn FnMut(&dyn Any));

/// An empty object.
pub enum Made {
    /// One in a cell: it can be filled where it is.
    Open(Shared),
    /// One that nobody can change when it is shared: it is made when it is whole.
    Draft(Box<dyn Draft>),
}

/// An object before it is shared.
pub trait Draft {
    /// Reads over the value.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a value.
    fn fill(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail>;

    /// Visits the value.
    ///
    /// # Errors
    ///
    /// What the visitor or a hook returns.
    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Shares the value.
    fn build(self: Box<Self>) -> Shared;
}

/// A program's own way to make an empty `T`.
pub struct Factory<T>(pub(crate) Box<dyn Fn() -> T>);

impl TypeSet {
    /// Enters a type; true the first time.
    pub(super) fn enter<T: 'static>(&mut self) -> bool {
        self.seen.insert(TypeId::of::<T>())
    }

    /// Enters a class; true the first time, and then its fields are to be reached.
    pub fn class<T: Reflect>(&mut self) -> bool {
        let first = self.enter::<T>();
        if first {
            self.classes.push((T::CLASS, const { &Access::<T>(PhantomData) }));
        }
        first
    }

    /// Enters an object type; true the first time, and then its value is to be reached.
    pub fn object(&mut self, object: ObjectType) -> bool {
        let first = self.objects_seen.insert((object.pointee, object.holder));
        if first {
            self.objects.push(object);
        }
        first
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.classes.is_empty() && self.objects.is_empty() && self.traits.is_empty()
    }

    /// Enters a trait, whose trait objects are in boxes (`holder` is `None`) or
    /// behind pointers.
    pub fn implementors<D: ?Sized + TraitObject>(&mut self, holder: Option<Holder>) {
        let of = trait_name::<D>();
        if self.traits.iter().any(|(seen, at)| (seen.id)() == (of.id)() && *at == holder) {
            return;
        }
        self.traits.push((of, holder));
        if let Some(stand_in) = D::stand_in() {
            // Its class comes along.
            (stand_in.class.enter)(self);
            self.stand_ins.push((of, stand_in.class));
        }
    }

    /// Notes that the values of a type are out of reach for a visit, so that
    /// they may hold neither references nor hooks; `place` says where they are.
    pub fn unvisited(&mut self, place: &'static str, kind: Inner, name: fn() -> String) {
        self.unvisited.push(Unvisited { place, kind, name });
    }
}

/// A class whose type is known at run time only.
pub trait ClassAccess: Sync {
    /// The class.
    fn class(&self) -> &'static Class;

    /// Index of the value's variant; 0 for a struct. `None` if it is another type.
    fn variant(&self, value: &dyn Any) -> Option<usize>;

    /// A field of the value's struct or variant.
    fn field<'v>(&self, value: &'v dyn Any, field: usize) -> Option<FieldRef<'v>>;

    /// A field of the value's struct or variant, to be changed.
    fn field_mut<'v>(&self, value: &'v mut dyn Any, field: usize) -> Option<FieldMut<'v>>;

    /// Writes a field that a save does not have as it is; see [`Reflect::persist_make_field`].
    ///
    /// # Errors
    ///
    /// Returns what that returns.
    fn make_field(
        &self,
        variant: usize,
        field: usize,
        from: Option<&mut Decoder<'_>>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop>;

    /// The empty value of the class.
    ///
    /// # Errors
    ///
    /// Returns an error if there is none.
    fn empty(&self, prototypes: &Prototypes<'_>) -> Result<Box<dyn Any>>;

    /// Writes a value.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the value does not fit, refuses, or is of another class.
    fn encode(&self, value: &dyn Any, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads a value of the class and drops it.
    ///
    /// # Errors
    ///
    /// Returns a [`Fail`] if the bytes are not such a value.
    fn skip(&self, input: &mut Decoder<'_>) -> Result<(), Fail>;
}

impl dyn ClassAccess {
    /// Writes a field of the value.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the field does not fit or is not there.
    pub(crate) fn encode_field(
        &self,
        value: &dyn Any,
        field: usize,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        match self.field(value, field) {
            Some(field) => field.encode(out),
            None => Err(out.no_field()),
        }
    }

    /// Reads over a field of the value.
    ///
    /// # Errors
    ///
    /// Returns a [`Fail`] if the bytes are not such a field.
    pub(crate) fn decode_field(
        &self,
        value: &mut dyn Any,
        field: usize,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        self.field_mut(value, field).ok_or(Fail::Value)?.decode(input)
    }

    /// The first field of a struct that cannot be read; it is what comes next then.
    pub(crate) fn find_bad_field(
        &self,
        prototypes: &Prototypes<'_>,
        input: &mut Decoder<'_>,
    ) -> Option<usize> {
        let mut value = self.empty(prototypes).ok()?;
        (0..self.class().fields().len()).find(|field| {
            let before = input.rest();
            let is_bad = self.decode_field(&mut *value, *field, input).is_err();
            if is_bad {
                input.go_back(before);
            }
            is_bad
        })
    }
}

struct Access<T>(PhantomData<fn() -> T>);

impl<T: Reflect> ClassAccess for Access<T> {
    fn class(&self) -> &'static Class {
        T::CLASS
    }

    fn variant(&self, value: &dyn Any) -> Option<usize> {
        value.downcast_ref::<T>().map(T::persist_variant)
    }

    fn field<'v>(&self, value: &'v dyn Any, field: usize) -> Option<FieldRef<'v>> {
        value.downcast_ref::<T>()?.persist_field(field)
    }

    fn field_mut<'v>(&self, value: &'v mut dyn Any, field: usize) -> Option<FieldMut<'v>> {
        value.downcast_mut::<T>()?.persist_field_mut(field)
    }

    fn make_field(
        &self,
        variant: usize,
        field: usize,
        from: Option<&mut Decoder<'_>>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        T::persist_make_field(variant, field, from, out)
    }

    fn empty(&self, prototypes: &Prototypes<'_>) -> Result<Box<dyn Any>> {
        Ok(Box::new(T::persist_empty(prototypes)?))
    }

    fn encode(&self, value: &dyn Any, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match value.downcast_ref::<T>() {
            Some(value) => value.persist_encode(out),
            None => Err(out.no_field()),
        }
    }

    fn skip(&self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        T::persist_decode(input).map(drop)
    }
}
