//! [`Generic`]: what the library knows and does with a value of any type.

use std::any::Any;
use std::mem::swap;

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::field::Inline;
use super::index::Index;
use super::links::Prototypes;
use super::persist::{Persist, decode_items};
use super::row::{At, Row, cut};
use super::type_set::FieldCodec;
use super::visitor::Visitor;
use crate::Result;

/// Constants and functions of every [`Persist`] type, which no type overrides. Only the library uses them.
///
/// The functions that drop a value are default functions of a trait, as generic functions beside it would do the same.
/// rustc compiles a default function in the codegen unit of the type, where the code that drops its values already is.
pub(crate) trait Generic: Persist {
    // The fields of the layout that code branches on. Each is a constant of its own because rustc leaves out a branch
    // on a constant number before it compiles what is inside, but does not inspect a struct.

    /// Like [`Layout::head`](super::layout::Layout::head).
    const HEAD: usize = Self::__LAYOUT.head;

    /// Like [`Layout::fixed`](super::layout::Layout::fixed).
    const FIXED: bool = Self::__LAYOUT.fixed;

    /// Like [`Layout::min`](super::layout::Layout::min).
    const MIN: usize = Self::__LAYOUT.min;

    /// Like [`Layout::leaf`](super::layout::Layout::leaf).
    const LEAF: bool = Self::__LAYOUT.leaf;

    /// Like [`Layout::cost`](super::layout::Layout::cost).
    const COST: usize = Self::__LAYOUT.cost;

    /// Like [`Layout::on_stack`](super::layout::Layout::on_stack).
    const ON_STACK: usize = Self::__LAYOUT.on_stack;

    /// Like [`Layout::nullable`](super::layout::Layout::nullable).
    const NULLABLE: bool = Self::__LAYOUT.nullable;

    /// True if [`__encode_compact`](Persist::__encode_compact) writes a form of its own.
    const COMPACT: bool = Self::__COMPACT.is_some();

    /// The fewest bytes that `__encode_compact` writes.
    const COMPACT_MIN: usize = match Self::__COMPACT {
        Some(min) => min,
        None => Self::MIN,
    };

    /// Describes a field of this type, for a layout.
    const PART: FieldCodec = FieldCodec::new::<Self>();

    /// Reads field `I` of a row into a box, for a row that is too large for the stack.
    #[inline(never)]
    fn get_boxed<'s, 'i: 's, R: Row<V>, V, I: Index>(
        segment: &mut &'s [u8],
        input: &mut Decoder<'i>,
    ) -> Result<Box<Self>, Fail> {
        if At::<R, V, I>::BEGINS {
            *segment = input.take(At::<R, V, I>::SEGMENT)?;
        }
        input.tail_boxed(cut(segment, Inline::<Self>::HEAD))
    }

    /// Visits a part of a value, and names it in an error.
    fn visit_named(&mut self, name: &str, visitor: &mut Visitor<'_>) -> Result<()> {
        if Self::LEAF {
            return Ok(());
        }
        visited(self.__visit(visitor), name)
    }

    /// Visits a part of a value through `&`, and names it in an error.
    fn visit_named_shared(&self, name: &str, visitor: &mut Visitor<'_>) -> Result<()> {
        if Self::LEAF {
            return Ok(());
        }
        visited(self.__visit_shared(visitor), name)
    }

    /// Writes a value whose type is known at run time only.
    fn encode_field(field: &dyn Any, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match field.downcast_ref::<Self>() {
            Some(field) => field.persist_encode(out),
            None => Err(out.no_field()),
        }
    }

    /// Reads over a value whose type is known at run time only. Without one, the value is read and dropped.
    #[expect(clippy::question_mark, reason = "its traits are code for each type")]
    fn decode_field(field: Option<&mut dyn Any>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        let mut value = match Self::persist_decode(input) {
            Ok(value) => value,
            Err(fail) => return Err(fail),
        };
        let Some(field) = field else { return Ok(()) };
        let Some(field) = field.downcast_mut::<Self>() else { return Err(Fail::Value) };
        // Swapped rather than assigned, so that `value` is dropped at one place.
        swap(field, &mut value);
        field.__keep_skipped(&mut value);
        Ok(())
    }

    /// Writes the empty value.
    fn encode_empty(prototypes: &Prototypes<'_>, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match Self::persist_empty(prototypes) {
            Ok(value) => value.persist_encode(out),
            Err(error) => Err(out.refuse(error)),
        }
    }

    /// Reads a list whole. Compiled once for each type of element, however many lists of it there are.
    #[inline(never)]
    fn decode_called(head: &[u8], input: &mut Decoder<'_>) -> Result<Vec<Self>, Fail> {
        decode_items(head, input)
    }
}

impl<T: Persist> Generic for T {}

/// Names a part of a value in the error of its visit. Compiled once.
fn visited(result: Result<()>, name: &str) -> Result<()> {
    result.map_err(|error| error.in_field(name))
}
