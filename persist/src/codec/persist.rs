use std::any::Any;

use super::{Decoder, Encoder, Fail, Order, OrderedFields, Prototypes, Stop, TypeSet, Visitor};
use crate::Result;
use crate::reflect::{Class, FieldRecord, Kind, VariantRecord};

/// A value that can be saved and loaded.
///
/// `#[derive(Persist)]` implements it. By hand, six items are enough, for a
/// type that must do its own saving:
///
/// ```
/// use persist::codec::{Decoder, Encoder, Fail, Prototypes, Stop};
/// use persist::reflect::Kind;
/// use persist::{Error, ErrorKind, Persist};
///
/// /// A colour that is stored as one word.
/// #[derive(Debug, PartialEq)]
/// struct Colour { red: u8, green: u8, blue: u8 }
///
/// impl Persist for Colour {
///     const MIN: usize = 4;
///
///     fn kind() -> Kind { Kind::U32 }
///
///     fn name() -> String { "Colour".into() }
///
///     fn prototype(_: &Prototypes<'_>) -> persist::Result<Self> {
///         Ok(Colour { red: 0, green: 0, blue: 0 })
///     }
///
///     fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
///         out.value(&u32::from_le_bytes([self.red, self.green, self.blue, 0]))
///     }
///
///     fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
///         match input.value::<u32>()?.to_le_bytes() {
///             [red, green, blue, 0] => Ok(Colour { red, green, blue }),
///             _ => Err(input.refuse(Error::new(ErrorKind::InvalidValue, "a colour has three bytes"))),
///         }
///     }
/// }
///
/// let teal = Colour { red: 0, green: 128, blue: 128 };
/// let save = persist::to_vec(&teal)?;
/// assert_eq!(persist::from_slice::<Colour>(&save)?, teal);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// The bytes must be those of the [`kind`](Persist::kind) that it states:
/// others read them by it. Encode and decode must be each other's inverse, and
/// an encode may run twice for one save, so it must not change anything.
///
/// # How a value is split
///
/// The first [`HEAD`](Persist::HEAD) bytes of a value are written and read as
/// part of a segment that it shares with its neighbours, behind one bounds
/// check; the tail follows on its own. A number is all head; a string's head is
/// the first byte of its length. The split changes speed, never bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be saved: it does not implement `Persist`",
    label = "not `Persist`",
    note = "if the type is yours, add `#[derive(Persist)]` to it",
    note = "if it is a field that need not be saved, mark it `#[persist(skip)]`; if its type is another crate's, `#[persist(with = module)]`"
)]
pub trait Persist: Sized + 'static {
    /// Bytes of a value that lie in the segment before it.
    const HEAD: usize = 0;

    /// True if the head is all there is.
    const FIXED: bool = false;

    /// The fewest bytes that a value can take; 0 is always true, more lets a
    /// loader refuse impossible counts earlier.
    const MIN: usize = Self::HEAD;

    /// True if no value can hold a reference or a class with hooks.
    const LEAF: bool = true;

    /// True if a value may be none that the program has, which an `Option` around it takes for
    /// `None`; see [`decode_some`](Persist::decode_some).
    const NULLABLE: bool = false;

    /// What the bytes mean.
    fn kind() -> Kind;

    /// The type's name, where it becomes part of a class's name.
    fn name() -> String {
        Self::kind().to_string()
    }

    /// Enters the classes and object types that this type reaches.
    fn reach(types: &mut TypeSet) {
        let _ = types;
    }

    /// An empty value, to be filled; `prototypes` makes those inside that are
    /// trait objects.
    ///
    /// # Errors
    ///
    /// If no class is registered for a trait whose trait object the value must hold.
    fn prototype(prototypes: &Prototypes<'_>) -> Result<Self>;

    /// Writes the head; `head` has [`HEAD`](Persist::HEAD) bytes.
    #[inline(always)]
    fn encode_head(&self, head: &mut [u8]) {
        let _ = head;
    }

    /// Writes the tail.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit, or after [`Encoder::refuse`].
    #[inline(always)]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let _ = out;
        Ok(())
    }

    /// Reads a value; `head` has [`HEAD`](Persist::HEAD) bytes, the tail is next in `input`.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a value.
    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail>;

    /// Reads what an `Option` holds: `None` if it is of a class that the program does not have, where it may be of any
    /// of several, which a decode says by [`Fail::Unregistered`] with the bytes read.
    ///
    /// # Errors
    ///
    /// As [`decode`](Persist::decode).
    #[inline(always)]
    fn decode_some(input: &mut Decoder<'_>) -> Result<Option<Self>, Fail> {
        match input.value() {
            Err(Fail::Unregistered) if Self::NULLABLE => {
                input.forgive();
                Ok(None)
            }
            result => result.map(Some),
        }
    }

    /// Reads a value that is all head. Instead of failing it sets `bad`, so
    /// that a loop over many can be one run of vector instructions.
    #[inline(always)]
    fn decode_fixed(head: &[u8], bad: &mut bool) -> Self {
        let _ = (head, bad);
        const { assert!(!Self::FIXED, "a type that is `FIXED` implements `decode_fixed`") };
        unreachable!("only types that are `FIXED` are decoded so")
    }

    /// Reads over an existing value, which keeps its allocations.
    ///
    /// # Errors
    ///
    /// As [`decode`](Persist::decode); the value then is a valid mixture.
    #[inline]
    fn decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        *self = Self::decode(head, input)?;
        Ok(())
    }

    /// Reads a value whole, with the fields and variants of the classes inside in another order.
    ///
    /// A type that holds classes and does not implement it fails, and is read by the slower way
    /// of records that are rewritten.
    ///
    /// # Errors
    ///
    /// As [`decode`](Persist::decode).
    #[inline]
    fn decode_ordered(order: Order<'_>, input: &mut Decoder<'_>) -> Result<Self, Fail> {
        if order.is_same() { input.value() } else { Err(Fail::Value) }
    }

    /// Reads the same over an existing value.
    ///
    /// # Errors
    ///
    /// As [`decode_into`](Persist::decode_into).
    #[inline]
    fn decode_ordered_into(
        &mut self,
        order: Order<'_>,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        if order.is_same() {
            return input.value_into(self);
        }
        *self = Self::decode_ordered(order, input)?;
        Ok(())
    }

    /// Visits the references and hooks inside.
    ///
    /// # Errors
    ///
    /// What the visitor or a hook returns.
    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        let _ = visitor;
        Ok(())
    }

    /// Visits what can be reached without `&mut`: what lies in cells, and
    /// `validate` functions. Where there is none, nothing.
    ///
    /// A type that implements [`visit`](Persist::visit) implements this too, and goes to
    /// the same parts in the same order.
    ///
    /// # Errors
    ///
    /// What the visitor or a hook returns, or that a cell is borrowed.
    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        let _ = visitor;
        Ok(())
    }

    /// Writes many values one after the other.
    ///
    /// # Errors
    ///
    /// As [`encode_tail`](Persist::encode_tail).
    #[inline]
    fn encode_slice(items: &[Self], out: &mut Encoder<'_>) -> Result<(), Stop> {
        super::list::encode_each(items, out)
    }

    /// Reads `count` values; the bytes that are left have been found enough.
    ///
    /// # Errors
    ///
    /// As [`decode`](Persist::decode).
    #[inline]
    fn decode_list(count: usize, input: &mut Decoder<'_>) -> Result<Vec<Self>, Fail> {
        super::list::decode_each(count, input)
    }
}

/// A struct or an enum with field records of its own; the derive implements it.
///
/// The methods reach a field by its index in [`FIELDS`](Reflect::FIELDS), or
/// in the records of the value's variant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no field records: it does not derive `Persist`",
    note = "add `#[derive(Persist)]` to it; `transparent` types and std types have none of their own"
)]
pub trait Reflect: Persist {
    /// The class.
    const CLASS: &'static Class;

    /// The field records of a struct, in declaration order; none for an enum.
    const FIELDS: &'static [FieldRecord];

    /// The variants of an enum, in declaration order; none for a struct.
    const VARIANTS: &'static [VariantRecord];

    /// Index of the value's variant; 0 for a struct.
    fn variant(&self) -> usize;

    /// Writes one field.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit or is not there.
    fn encode_field(&self, field: usize, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads over fields, one after the other.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such fields; the value then is a valid mixture.
    fn decode_fields(
        &mut self,
        mut fields: OrderedFields<'_>,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        let _ = input;
        // It has none.
        if fields.next().is_some() { Err(Fail::Value) } else { Ok(()) }
    }

    /// Reads over one field.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a field.
    fn decode_field(&mut self, field: usize, input: &mut Decoder<'_>) -> Result<(), Fail> {
        OrderedFields::one(field, |fields| self.decode_fields(fields, input))
    }

    /// Writes the default of one field of a variant.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit or there is no default.
    fn encode_default(variant: usize, field: usize, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads a value of the type that the field's `convert` takes, and writes the field that
    /// it makes of it.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit, the bytes are not such a value, or the function refuses.
    fn convert_field(
        variant: usize,
        field: usize,
        input: &mut Decoder<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let _ = (variant, field, input);
        Err(out.no_field())
    }

    /// One field.
    fn field(&self, field: usize) -> Option<&dyn Any>;

    /// One field, to be changed.
    fn field_mut(&mut self, field: usize) -> Option<&mut dyn Any>;
}
