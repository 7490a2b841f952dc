//! The content of a box or a cell: a value or a trait object.

use std::cell::RefCell;
use std::sync::{Mutex, RwLock};

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::layout::Layout;
use super::links::Prototypes;
use super::persist::Generic;
use super::persist::Persist;
use super::pointer::{AsCell, PointTo};
use super::type_set::TypeSet;
use super::value::empty_box;
use super::visitor::Visitor;
use crate::Result;
use crate::reflect::{Kind, TypeCode};

/// Marks the types that a `Box`, or a cell behind a shared pointer, may hold: every [`Persist`] type, and the trait
/// objects of `#[persist::dynamic]` traits.
#[diagnostic::on_unimplemented(
    message = "a boxed or shared `{Self}` cannot be saved",
    label = "neither `Persist` nor a trait object that `persist` knows",
    note = "if the type is yours, add `#[derive(Persist)]` to it, or `#[persist::dynamic]` to its trait"
)]
pub trait CellContent: 'static {
    /// The marker whose impls store the content: `AsCell` for a value, `AsTrait` for a trait object.
    type As: BoxOf<Self> + PointTo<RefCell<Self>> + PointTo<Mutex<Self>> + PointTo<RwLock<Self>>;
}

// The missing impl may be one of a trait, not of `Persist`.
#[diagnostic::do_not_recommend]
impl<T: Persist> CellContent for T {
    type As = AsCell;
}

/// Stores a `Box<C>`. The library implements it; see [`CellContent`].
pub trait BoxOf<C: ?Sized> {
    /// Like [`Layout::min`].
    const MIN: usize;

    /// Like [`Layout::nullable`].
    const NULLABLE: bool;

    /// Like [`Persist::__CODE`].
    const CODE: &'static TypeCode = &TypeCode::None;

    /// Like [`Persist::persist_kind`].
    fn kind() -> Kind;

    /// Returns the name of the content.
    fn name() -> String;

    /// Like [`Persist::__reach`].
    fn reach(types: &mut TypeSet);

    /// Like [`Persist::persist_empty`].
    fn empty(prototypes: &Prototypes<'_>) -> Result<Box<C>>;

    /// Writes the content.
    fn encode(content: &C, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Like [`Persist::persist_decode`].
    fn decode(input: &mut Decoder<'_>) -> Result<Box<C>, Fail>;

    /// Like [`Persist::__decode_into`].
    fn decode_into(content: &mut Box<C>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        *content = Self::decode(input)?;
        Ok(())
    }

    /// Like [`Persist::__keep_skipped`].
    fn keep_skipped(content: &mut C, old: &mut C) {
        let _ = (content, old);
    }

    /// Like [`Persist::__visit`].
    fn visit(content: &mut C, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Like [`Persist::__visit_shared`].
    fn visit_shared(content: &C, visitor: &mut Visitor<'_>) -> Result<()>;
}

/// A box is a level of nesting. Its consts do not inspect the content, so that a type may box itself.
impl<T: Persist> BoxOf<T> for AsCell {
    // A type without size has no bytes. For other types, a list checks this minimum when it is saved.
    const MIN: usize = if size_of::<T>() == 0 { 0 } else { 1 };
    const NULLABLE: bool = false;
    const CODE: &'static TypeCode = T::__CODE;

    fn kind() -> Kind {
        T::persist_kind()
    }

    fn name() -> String {
        T::persist_name()
    }

    fn reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    fn empty(prototypes: &Prototypes<'_>) -> Result<Box<T>> {
        empty_box(prototypes)
    }

    #[inline]
    fn encode(content: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.count_box::<T>(T::MIN);
        out.in_box::<T>(|out| out.value(content))
    }

    #[inline]
    fn decode(input: &mut Decoder<'_>) -> Result<Box<T>, Fail> {
        input.charge_box::<T>(T::MIN)?;
        input.in_box::<T, _>(Decoder::boxed)
    }

    #[inline]
    fn decode_into(content: &mut Box<T>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.in_box::<T, _>(|input| input.value_into(&mut **content))
    }

    #[inline]
    fn keep_skipped(content: &mut T, old: &mut T) {
        content.__keep_skipped(old);
    }

    fn visit(content: &mut T, visitor: &mut Visitor<'_>) -> Result<()> {
        if T::LEAF { Ok(()) } else { visitor.nested(|visitor| content.__visit(visitor)) }
    }

    fn visit_shared(content: &T, visitor: &mut Visitor<'_>) -> Result<()> {
        if T::LEAF { Ok(()) } else { visitor.nested(|visitor| content.__visit_shared(visitor)) }
    }
}

impl<C: ?Sized + CellContent> Persist for Box<C> {
    const __LAYOUT: Layout = Layout {
        min: <C::As as BoxOf<C>>::MIN,
        nullable: <C::As as BoxOf<C>>::NULLABLE,
        ..Layout::new::<Self>()
    };
    const __CODE: &'static TypeCode = <C::As as BoxOf<C>>::CODE;

    fn persist_kind() -> Kind {
        <C::As as BoxOf<C>>::kind()
    }

    fn persist_name() -> String {
        format!("Box<{}>", <C::As as BoxOf<C>>::name())
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
        <C::As as BoxOf<C>>::empty(prototypes)
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        <C::As as BoxOf<C>>::encode(self, out)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        <C::As as BoxOf<C>>::decode(input)
    }

    fn __reach(types: &mut TypeSet) {
        <C::As as BoxOf<C>>::reach(types);
    }

    fn __decode_into(&mut self, _: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        <C::As as BoxOf<C>>::decode_into(self, input)
    }

    fn __keep_skipped(&mut self, old: &mut Self) {
        <C::As as BoxOf<C>>::keep_skipped(self, old);
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        <C::As as BoxOf<C>>::visit(self, visitor)
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        <C::As as BoxOf<C>>::visit_shared(self, visitor)
    }
}
