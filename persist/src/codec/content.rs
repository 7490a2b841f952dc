//! What may stand in a box or in a cell: a value, or a trait object.

use std::cell::RefCell;
use std::sync::{Mutex, RwLock};

use super::{
    AsCell, Decoder, Encoder, Fail, Order, Persist, PointTo, Prototypes, Stop, TypeSet, Visitor,
};
use crate::Result;
use crate::reflect::Kind;

/// What may stand in a `Box`, and in a cell behind a shared pointer: every
/// [`Persist`] type, and the trait objects of `#[persist::dynamic]` traits.
#[diagnostic::on_unimplemented(
    message = "a boxed or shared `{Self}` cannot be saved",
    label = "neither `Persist` nor a trait object that `persist` knows",
    note = "if the type is yours, add `#[derive(Persist)]` to it, or `#[persist::dynamic]` to its trait"
)]
pub trait Content: 'static {
    /// How it stands there.
    type As: BoxOf<Self> + PointTo<RefCell<Self>> + PointTo<Mutex<Self>> + PointTo<RwLock<Self>>;
}

// What is missing may be on a trait, not `Persist`.
#[diagnostic::do_not_recommend]
impl<T: Persist> Content for T {
    type As = AsCell;
}

/// How a `Box<C>` is stored. The library implements it; see [`Content`].
pub trait BoxOf<C: ?Sized> {
    /// As [`Persist::MIN`].
    const MIN: usize;

    /// As [`Persist::NULLABLE`].
    const NULLABLE: bool;

    /// As [`Persist::kind`].
    fn kind() -> Kind;

    /// The name of the content.
    fn name() -> String;

    /// As [`Persist::reach`].
    fn reach(types: &mut TypeSet);

    /// As [`Persist::prototype`].
    ///
    /// # Errors
    ///
    /// As there.
    fn prototype(prototypes: &Prototypes<'_>) -> Result<Box<C>>;

    /// Writes the content.
    ///
    /// # Errors
    ///
    /// As [`Persist::encode_tail`].
    fn encode(content: &C, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// As [`Persist::decode`].
    ///
    /// # Errors
    ///
    /// As there.
    fn decode(input: &mut Decoder<'_>) -> Result<Box<C>, Fail>;

    /// As [`Persist::decode_into`].
    ///
    /// # Errors
    ///
    /// As there.
    fn decode_into(content: &mut Box<C>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        *content = Self::decode(input)?;
        Ok(())
    }

    /// As [`Persist::decode_ordered`].
    ///
    /// # Errors
    ///
    /// As there.
    fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Box<C>, Fail> {
        if order.is_same() { Self::decode(input) } else { Err(Fail::Value) }
    }

    /// As [`Persist::decode_ordered_into`].
    ///
    /// # Errors
    ///
    /// As there.
    fn decode_ordered_into(
        content: &mut Box<C>,
        order: Order<'_>,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        if order.is_same() {
            return Self::decode_into(content, input);
        }
        *content = Self::decode_ordered(order, input)?;
        Ok(())
    }

    /// As [`Persist::visit`].
    ///
    /// # Errors
    ///
    /// As there.
    fn visit(content: &mut C, visitor: &mut Visitor<'_>) -> Result<()>;

    /// As [`Persist::visit_shared`].
    ///
    /// # Errors
    ///
    /// As there.
    fn visit_shared(content: &C, visitor: &mut Visitor<'_>) -> Result<()>;
}

/// A box is a level of nesting; its consts do not look inside, so that a type
/// may box itself.
impl<T: Persist> BoxOf<T> for AsCell {
    // A type without size has no bytes; of others, a list checks it when it is
    // saved.
    const MIN: usize = if size_of::<T>() == 0 { 0 } else { 1 };
    const NULLABLE: bool = false;

    fn kind() -> Kind {
        T::kind()
    }

    fn name() -> String {
        T::name()
    }

    fn reach(types: &mut TypeSet) {
        T::reach(types);
    }

    fn prototype(prototypes: &Prototypes<'_>) -> Result<Box<T>> {
        T::prototype(prototypes).map(Box::new)
    }

    #[inline]
    fn encode(content: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.count_box::<T>();
        out.nested_in::<T>(|out| out.value(content))
    }

    #[inline]
    fn decode(input: &mut Decoder<'_>) -> Result<Box<T>, Fail> {
        input.charge_box::<T>()?;
        input.nested_in::<T, _>(|input| input.value().map(Box::new))
    }

    #[inline]
    fn decode_into(content: &mut Box<T>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.nested_in::<T, _>(|input| input.value_into(&mut **content))
    }

    #[inline]
    fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Box<T>, Fail> {
        input.charge_box::<T>()?;
        input.nested_in::<T, _>(|input| T::decode_ordered(order, input).map(Box::new))
    }

    #[inline]
    fn decode_ordered_into(
        content: &mut Box<T>,
        order: Order<'_>,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        // Not the box's own method, which is this one.
        input.nested_in::<T, _>(|input| T::decode_ordered_into(content, order, input))
    }

    fn visit(content: &mut T, visitor: &mut Visitor<'_>) -> Result<()> {
        if T::LEAF { Ok(()) } else { visitor.nested(|visitor| content.visit(visitor)) }
    }

    fn visit_shared(content: &T, visitor: &mut Visitor<'_>) -> Result<()> {
        if T::LEAF { Ok(()) } else { visitor.nested(|visitor| content.visit_shared(visitor)) }
    }
}

impl<C: ?Sized + Content> Persist for Box<C> {
    const MIN: usize = <C::As as BoxOf<C>>::MIN;
    const LEAF: bool = false;
    const NULLABLE: bool = <C::As as BoxOf<C>>::NULLABLE;

    fn kind() -> Kind {
        <C::As as BoxOf<C>>::kind()
    }

    fn name() -> String {
        format!("Box<{}>", <C::As as BoxOf<C>>::name())
    }

    fn reach(types: &mut TypeSet) {
        <C::As as BoxOf<C>>::reach(types);
    }

    fn prototype(prototypes: &Prototypes<'_>) -> Result<Self> {
        <C::As as BoxOf<C>>::prototype(prototypes)
    }

    #[inline]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        <C::As as BoxOf<C>>::encode(self, out)
    }

    #[inline]
    fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        <C::As as BoxOf<C>>::decode(input)
    }

    #[inline]
    fn decode_into(&mut self, _: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        <C::As as BoxOf<C>>::decode_into(self, input)
    }

    #[inline]
    fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
        <C::As as BoxOf<C>>::decode_ordered(order, input)
    }

    #[inline]
    fn decode_ordered_into(
        &mut self,
        order: Order<'_>,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        <C::As as BoxOf<C>>::decode_ordered_into(self, order, input)
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        <C::As as BoxOf<C>>::visit(self, visitor)
    }

    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        <C::As as BoxOf<C>>::visit_shared(self, visitor)
    }
}
