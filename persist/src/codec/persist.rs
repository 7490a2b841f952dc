use std::any::Any;
use std::mem::{needs_drop, swap};

use super::Parts;
use super::boxed::{boxed, is_bulky, out_of_line};
use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::field_access::EditableItems;
use super::layout::Layout;
use super::links::Prototypes;
use super::row::FieldCoder;
use super::type_set::TypeSet;
use super::visitor::Visitor;
use crate::Result;
use crate::reflect::{Kind, TypeCode};

/// A value that can be saved and loaded.
///
/// `#[derive(Persist)]` implements it. Implement it by hand for a type that must do its own saving. Four items are
/// required. Override the others for a type whose name is not that of its kind, that holds other values, or that can be
/// filled in place.
///
/// ```
/// use persist::codec::{Decoder, Encoder, Fail, Parts, Prototypes, Stop};
/// use persist::reflect::Kind;
/// use persist::{Error, ErrorKind, Persist};
///
/// /// A list that is never empty, stored as its first element and a list of the others.
/// #[derive(Debug, PartialEq)]
/// struct NonEmpty<T> { first: T, rest: Vec<T> }
///
/// impl<T: Persist> Persist for NonEmpty<T> {
///     fn persist_kind() -> Kind {
///         Kind::List(T::persist_kind)
///     }
///
///     fn persist_empty(prototypes: &Prototypes<'_>) -> persist::Result<Self> {
///         Ok(NonEmpty { first: T::persist_empty(prototypes)?, rest: Vec::new() })
///     }
///
///     fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
///         out.count(1 + self.rest.len())?;
///         out.value(&self.first)?;
///         self.rest.iter().try_for_each(|item| out.value(item))
///     }
///
///     fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
///         let mut items: Vec<T> = input.value()?;
///         if items.is_empty() {
///             return Err(input.refuse(Error::new(ErrorKind::InvalidValue, "the list is empty")));
///         }
///         Ok(NonEmpty { first: items.remove(0), rest: items })
///     }
///
///     // Only for generic classes: `Slot<NonEmpty<u8>>` is not `Slot<Vec<u8>>`.
///     fn persist_name() -> String {
///         format!("NonEmpty<{}>", T::persist_name())
///     }
///
///     // Only for a type that holds values of other types.
///     fn persist_parts(parts: &mut Parts<'_, Self>) -> persist::Result<()> {
///         parts.part("first", |list| &list.first, |list| &mut list.first)?;
///         parts.part("rest", |list| &list.rest, |list| &mut list.rest)
///     }
/// }
///
/// let list = NonEmpty { first: 1_u8, rest: vec![2, 3] };
/// let save = persist::to_vec(&list)?;
/// assert_eq!(persist::from_slice::<NonEmpty<u8>>(&save)?, list);
/// assert!(persist::from_slice::<NonEmpty<u8>>(&persist::to_vec(&Vec::<u8>::new())?).is_err());
/// # Ok::<(), persist::Error>(())
/// ```
///
/// The bytes must be those of the [`persist_kind`](Persist::persist_kind), since other programs read them by it.
/// Values one after the other are the bytes of a tuple: a grid that is stored as its width and then its cells has
/// the kind `<(u32, Vec<T>)>::persist_kind()`.
///
/// Encode and decode must be inverses of each other. An encode may run twice for one save, so it must not change
/// anything. Pass every [`Stop`] and [`Fail`] on. [`Fail::Value`] says that the bytes are not such a value; use
/// [`Decoder::refuse`] where you can give a reason.
///
/// Every name begins with `persist_`, so that none clashes with a method of your type or of another crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be saved: it does not implement `Persist`",
    label = "not `Persist`",
    note = "if the type is yours, add `#[derive(Persist)]` to it",
    note = "if it is a field that need not be saved, mark it `#[persist(skip)]`; if its type is another crate's, enable the feature of `persist` for that crate, or write `#[persist(with = module)]`; an `Entity` of Bevy or hecs has `with = entity` of `persist_bevy` or `persist_hecs`, and in an option `with = \"Option<entity>\"`"
)]
pub trait Persist: Sized + 'static {
    /// Returns the kind of the type, which says what its bytes mean.
    fn persist_kind() -> Kind;

    /// Creates an empty value, to be filled.
    ///
    /// `prototypes` creates the trait objects inside, and the objects for which the program gave a factory.
    ///
    /// # Errors
    ///
    /// Returns an error if the value must hold a trait object and no class is registered for its trait.
    fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self>;

    /// Writes the value.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the value exceeds a limit, or the `Stop` of [`Encoder::refuse`].
    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// Returns a [`Fail`] if the bytes are not such a value.
    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail>;

    /// Reads over an existing value, which can keep its allocations and the parts that are not stored.
    ///
    /// [`decode_into`](crate::codec::decode_into), undo and redo call it, and a load does for an object's
    /// [empty value](Self::persist_empty). By default, a new value replaces the old one.
    ///
    /// ```
    /// use persist::Persist;
    /// use persist::codec::{Buffer, Decoder, Encoder, Fail, Prototypes, Stop, decode_into};
    /// use persist::reflect::Kind;
    ///
    /// const ROM: usize = 4;
    ///
    /// /// ROM, which is not saved, and RAM after it.
    /// struct Memory { bytes: Box<[u8; 8]> }
    ///
    /// impl Persist for Memory {
    ///     fn persist_kind() -> Kind {
    ///         <[u8; 4]>::persist_kind()
    ///     }
    ///
    ///     fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
    ///         Ok(Memory { bytes: Box::default() })
    ///     }
    ///
    ///     // Written from where it is.
    ///     fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
    ///         out.bytes(&self.bytes[ROM..])
    ///     }
    ///
    ///     fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
    ///         let mut memory = Memory { bytes: Box::default() };
    ///         memory.persist_decode_into(input)?;
    ///         Ok(memory)
    ///     }
    ///
    ///     fn persist_decode_into(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
    ///         self.bytes[ROM..].copy_from_slice(input.take(4)?);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut memory = Memory { bytes: Box::new([1, 2, 3, 4, 5, 6, 7, 8]) };
    /// let mut buffer = Buffer::new();
    /// let state = buffer.encode(&memory)?;
    /// memory.bytes[ROM] = 0;
    /// decode_into(&mut memory, state)?;
    /// assert_eq!(*memory.bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns a [`Fail`] if the bytes are not such a value. The target must be a valid value then too.
    fn persist_decode_into(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        *self = Self::persist_decode(input)?;
        Ok(())
    }

    /// Returns the type's name, as part of the name of a generic class.
    fn persist_name() -> String {
        Self::persist_kind().to_string()
    }

    /// Lists the values inside, so that their references and hooks are found: [`Parts::part`] for a field,
    /// [`Parts::each`] for many values of one type.
    ///
    /// List every value that may hold a shared pointer or a class with hooks, in the order in which
    /// `persist_decode` reads them. Pointers of a value that is listed too early or too late are connected to each
    /// other's targets, and hooks of a value that is not listed do not run.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Parts::part`] and [`Parts::each`].
    fn persist_parts(parts: &mut Parts<'_, Self>) -> Result<()> {
        let _ = parts;
        Ok(())
    }

    /// The elements or keys inside, for a type that is a list or a map. It is then edited by them.
    ///
    /// Without it, a history records the value as a whole. See [`EditableMap`](crate::codec::EditableMap), which has an
    /// example, and [`EditableList`](crate::codec::EditableList).
    const PERSIST_ITEMS: EditableItems = EditableItems::NONE;

    // Hidden from here on. The items below change no byte of a save. They are for speed and for the derive, and an impl
    // by hand needs none of them.
    //
    // A value is split into a head and a tail. The head, whose length is in the layout, is written and read as part of a
    // segment that it shares with its neighbours, after one bounds check. The tail follows on its own. A number is all
    // head; a string's head is the first byte of its length.

    // The derive and other types read these constants. `__FIELD` is the same for all types.

    /// The code for a field of this type.
    #[doc(hidden)]
    const __FIELD: FieldCoder<Self> = FieldCoder::NEW;

    /// Number of bytes, cost and properties of a value.
    #[doc(hidden)]
    const __LAYOUT: Layout = Layout::new::<Self>().with_items(Self::PERSIST_ITEMS);

    // Not in the layout: a list has these from its elements, whose layout may need that of the list in them.

    /// The attributes whose code restores values of the type, such as `via`, anywhere in the type.
    #[doc(hidden)]
    const __CODE: &'static TypeCode = &TypeCode::None;

    /// The fewest bytes of the compact form; `None` if the type has only its usual form.
    #[doc(hidden)]
    const __COMPACT: Option<usize> = None;

    // Values by head and tail, and what is inside. The derive and nearly all types of the library override these.

    /// Adds the classes and object types that this type reaches.
    #[doc(hidden)]
    fn __reach(types: &mut TypeSet) {
        if types.enter::<Self>() {
            // An impl by hand may write anything.
            if !Self::__LAYOUT.leaf {
                types.interior_mutability();
            }
            // Types are listed, not visited, so nothing can fail.
            drop(Self::persist_parts(&mut Parts::types(types)));
        }
    }

    /// Writes the head; `head` has the layout's number of bytes.
    #[doc(hidden)]
    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        let _ = head;
    }

    /// Writes the tail.
    #[doc(hidden)]
    #[inline(always)]
    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        const {
            let has_tail = Self::HEAD > 0 && !Self::FIXED;
            assert!(!has_tail, "a type that has a head and a tail implements `__encode_tail`");
        }
        self.persist_encode(out)
    }

    /// Reads a value; `head` has the layout's number of bytes, the tail is next in `input`.
    #[doc(hidden)]
    #[inline(always)]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let _ = head;
        Self::persist_decode(input)
    }

    /// Reads a value that is all head. It sets `bad` instead of failing, so that a loop over many values can be one run
    /// of vector instructions.
    #[doc(hidden)]
    #[inline(always)]
    fn __decode_fixed(head: &[u8], bad: &mut bool) -> Self {
        let _ = (head, bad);
        const { assert!(!Self::FIXED, "a type that is fixed implements `__decode_fixed`") };
        unreachable!("only types that are fixed are decoded so")
    }

    /// Reads over an existing value, which keeps its allocations. After a [`Fail`] it is a valid mixture.
    #[doc(hidden)]
    #[inline]
    fn __decode_into(&mut self, head: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        if Self::HEAD == 0 {
            return self.persist_decode_into(input);
        }
        *self = Self::__decode(head, input)?;
        Ok(())
    }

    /// Takes over the fields that are not stored from the value that this one replaces. [`__decode_into`] leaves them
    /// where they are; this is for a newly decoded value, which takes less code.
    ///
    /// [`__decode_into`]: Persist::__decode_into
    #[doc(hidden)]
    #[inline]
    fn __keep_skipped(&mut self, old: &mut Self) {
        let _ = old;
    }

    /// Visits the references and hooks inside.
    #[doc(hidden)]
    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        Self::persist_parts(&mut Parts::exclusive(self, visitor))
    }

    /// Visits the parts that can be reached without `&mut`: the contents of cells, and `validate` functions. It visits
    /// the same parts as `__visit`, in the same order.
    #[doc(hidden)]
    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        Self::persist_parts(&mut Parts::shared(self, visitor))
    }

    // Values that are too large for the stack. Types that hold others in place override these.

    /// Reads a value that is too large for the stack into a box; `head` has the layout's number of bytes.
    #[doc(hidden)]
    #[inline(never)]
    fn __decode_boxed(head: &[u8], input: &mut Decoder<'_>) -> Result<Box<Self>, Fail> {
        boxed(Self::__decode(head, input))
    }

    /// Creates an empty value that is too large for the stack.
    #[doc(hidden)]
    fn __empty_boxed(prototypes: &Prototypes<'_>) -> Result<Box<Self>> {
        Self::persist_empty(prototypes).map(Box::new)
    }

    // Many values in a row. Types whose memory is their encoding override these.

    /// Writes many values one after the other.
    #[doc(hidden)]
    #[inline]
    fn __encode_slice(items: &[Self], out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_each(items, out)
    }

    /// Reads `count` values; the caller has checked that enough bytes are left.
    #[doc(hidden)]
    #[inline]
    fn __decode_list(count: usize, input: &mut Decoder<'_>) -> Result<Vec<Self>, Fail> {
        decode_each(count, input)
    }

    /// Reads `count` values that are all head over those of a list, which keeps its allocation.
    #[doc(hidden)]
    #[inline]
    fn __decode_list_into(
        list: &mut Vec<Self>,
        count: usize,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        decode_fixed_into(list, count, input)
    }

    // The compact form. Integers override these, and the types that hold other types.

    /// Returns the kind of the compact form.
    #[doc(hidden)]
    fn __compact_kind() -> Kind {
        Self::persist_kind()
    }

    /// Writes the value in its compact form.
    #[doc(hidden)]
    #[inline]
    fn __encode_compact(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(self)
    }

    /// Reads a value in its compact form.
    #[doc(hidden)]
    #[inline]
    fn __decode_compact(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.value()
    }

    // Values that cannot be loaded. Containers override the first, and ids of objects the second.

    /// Reads a value, and skips elements that cannot be loaded.
    #[doc(hidden)]
    #[inline]
    fn __decode_skipping(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.value()
    }

    /// Reads the content of an `Option`.
    ///
    /// The result is `None` if the value's class is one that the program lacks. A decode reports that by
    /// [`Fail::Unregistered`], after reading the bytes. Only types whose values may be of several classes do so.
    #[doc(hidden)]
    #[inline(always)]
    fn __decode_some(input: &mut Decoder<'_>) -> Result<Option<Self>, Fail> {
        match input.value() {
            Err(Fail::Unregistered) if Self::NULLABLE => {
                input.forgive();
                Ok(None)
            }
            result => result.map(Some),
        }
    }
}

/// Constants and functions of every [`Persist`] type, which no type overrides. Only the library uses them.
///
/// The functions would work as generic functions, too. As default functions of a trait, rustc compiles them in the
/// codegen unit of the type, where the code that drops its values already is.
pub(crate) trait Generic: Persist {
    // The fields of the layout by which code branches. Each is a constant of its own, since rustc drops a
    // branch on a constant `bool` before it compiles the inside. It does not on the field of a constant struct.

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

    // How a value is coded among its neighbours.

    /// True if values are encoded in place.
    const IN_PLACE: bool = Self::COST
        <= if Self::FIXED {
            FIXED_BUDGET
        } else if needs_drop::<Self>() {
            BUDGET
        } else {
            PLAIN_BUDGET
        };

    /// True if elements of a list are encoded in its loop, without a call.
    const IN_LIST: bool = Self::COST <= LIST_BUDGET;

    /// True if values are all head where they are encoded in place.
    const PLACED_FIXED: bool = Self::FIXED && Self::IN_PLACE;

    /// Number of bytes of a value in the segment that it shares with its neighbours.
    const PLACED_HEAD: usize = if Self::IN_PLACE { Self::HEAD } else { 0 };

    /// The cost of a value as part of another.
    const PLACED_COST: usize = if Self::IN_PLACE { Self::COST } else { CALL };

    // The compact form.

    /// True if [`__encode_compact`](Persist::__encode_compact) writes a form of its own.
    const COMPACT: bool = Self::__COMPACT.is_some();

    /// The fewest bytes that `__encode_compact` writes.
    const COMPACT_MIN: usize = match Self::__COMPACT {
        Some(min) => min,
        None => Self::MIN,
    };

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

/// The largest cost of a value that is encoded in place. Measured on a crate of 200 structs, and by the instructions of
/// the public data sets: 12 and 32 took longer to build and saved nothing.
const BUDGET: usize = 6;

/// The budget for values of fixed width. They are plain moves, so that a triangle of twelve numbers is copied as one
/// block.
const FIXED_BUDGET: usize = 32;

/// The budget for values without memory of their own: enums of numbers. A failed decode has nothing to drop in them,
/// and a call would take longer than the work itself. 1.2 million such values are a fourth of the data set `game`.
const PLAIN_BUDGET: usize = 16;

/// The budget for the elements of lists: the one loop of each type takes most of the time. With 16, the data set `mk48`
/// took 8 % more instructions to decode.
const LIST_BUDGET: usize = 32;

/// The cost of a call.
pub(super) const CALL: usize = 2;

/// Decodes a value of fixed width on its own.
#[inline(always)]
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub fn checked<T: Persist>(head: &[u8]) -> Result<T, Fail> {
    let mut bad = false;
    let value = T::__decode_fixed(head, &mut bad);
    if bad { Err(Fail::Value) } else { Ok(value) }
}

/// Writes a value whole, inlined into the caller.
#[inline(always)]
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub fn encode_row<T: Persist>(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
    value.__encode_head(out.take(T::HEAD)?);
    if T::FIXED { Ok(()) } else { value.__encode_tail(out) }
}

/// Reads a value whole, inlined into the caller.
#[inline(always)]
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub fn decode_row<T: Persist>(input: &mut Decoder<'_>) -> Result<T, Fail> {
    T::__decode(input.take(T::HEAD)?, input)
}

/// Writes the items; those of fixed width in one segment.
#[inline(always)]
pub(super) fn encode_each<T: Persist>(items: &[T], out: &mut Encoder<'_>) -> Result<(), Stop> {
    if const { T::PLACED_FIXED && T::HEAD > 0 } {
        // A length that overflows does not fit either.
        let len = items.len().saturating_mul(T::HEAD);
        out.rows(len, T::HEAD, |offset, rows| {
            let items = &items[offset / T::HEAD..];
            for (item, head) in items.iter().zip(rows.chunks_exact_mut(T::HEAD)) {
                item.__encode_head(head);
            }
        })?;
    } else {
        out.fork(|out| {
            items.iter().try_for_each(|item| {
                if T::IN_LIST { encode_row(item, out) } else { out.value(item) }
            })
        })?;
    }
    Ok(())
}

/// Reads the rest of a list after its head.
#[inline(always)]
pub(crate) fn decode_vec<T: Persist>(head: &[u8], input: &mut Decoder<'_>) -> Result<Vec<T>, Fail> {
    if T::PLACED_FIXED { decode_items(head, input) } else { T::decode_called(head, input) }
}

/// Reads the elements of a list into a `Vec`. [`decode_vec`] may call or inline this function.
#[inline(always)]
fn decode_items<T: Persist>(head: &[u8], input: &mut Decoder<'_>) -> Result<Vec<T>, Fail> {
    let count = input.elements::<T>(head)?;
    if T::LEAF {
        T::__decode_list(count, input)
    } else {
        input.nested_in::<T, _>(|input| T::__decode_list(count, input))
    }
}

/// Reads `count` items; those of fixed width in one segment.
#[inline(always)]
pub(crate) fn decode_each<T: Persist>(
    count: usize,
    input: &mut Decoder<'_>,
) -> Result<Vec<T>, Fail> {
    if const { T::PLACED_FIXED && T::HEAD > 0 && !is_bulky::<T>() } {
        let start = input.rest();
        let segment = input.take(count.checked_mul(T::HEAD).ok_or(Fail::End)?)?;
        let mut bad = false;
        // Not by `extend`, which first reserves more room than needed.
        let items =
            segment.chunks_exact(T::HEAD).map(|head| T::__decode_fixed(head, &mut bad)).collect();
        return if bad { Err(bad_item::<T>(start, count, input)) } else { Ok(items) };
    }
    let mut items = Vec::new();
    items.try_reserve_exact(count).map_err(|_| Fail::Limit)?;
    for _ in 0..count {
        // This never happens. It lets the compiler leave out the growth in `push` and build the item in its place.
        if items.len() == items.capacity() {
            return Err(Fail::Count);
        }
        if const { is_bulky::<T>() } {
            let item = input.boxed()?;
            out_of_line(|| items.push(*item));
            continue;
        }
        items.push(if T::IN_LIST { decode_row(input)? } else { input.value()? });
    }
    Ok(items)
}

/// Reads `count` items of fixed width over those of a list.
#[inline(always)]
pub(super) fn decode_fixed_into<T: Persist>(
    items: &mut Vec<T>,
    count: usize,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    items.clear();
    extend_fixed(items, count, input)
}

/// Reads `count` items of fixed width to the end of a list.
#[inline(always)]
pub(crate) fn extend_fixed<T: Persist>(
    items: &mut impl Extend<T>,
    count: usize,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    let start = input.rest();
    let segment = input.take(count.checked_mul(T::HEAD).ok_or(Fail::End)?)?;
    let mut bad = false;
    items.extend(segment.chunks_exact(T::HEAD).map(|head| T::__decode_fixed(head, &mut bad)));
    if bad { Err(bad_item::<T>(start, count, input)) } else { Ok(()) }
}

/// Finds why one of many values of fixed width cannot be read, by reading them one by one. The decoder then stands at
/// the first bad value.
#[cold]
#[inline(never)]
fn bad_item<'a, T: Persist>(items: &'a [u8], count: usize, input: &mut Decoder<'a>) -> Fail {
    input.go_back(items);
    for _ in 0..count {
        let start = input.rest();
        if let Err(fail) = input.value::<T>() {
            input.go_back(start);
            return fail;
        }
    }
    Fail::Value
}

/// Finds the fault in the parts of a value that is all head.
#[cold]
#[inline(never)]
pub(crate) fn bad_part<T: Persist>(parts: &[u8], input: &mut Decoder<'_>) -> Fail {
    let mut parts = parts.chunks_exact(T::HEAD.max(1));
    parts.find_map(|part| input.tail::<T>(part).err()).unwrap_or(Fail::Value)
}
