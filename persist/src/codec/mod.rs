//! Encodes one value to bytes and decodes it, without a file around it.
//!
//! [`Buffer`], [`decode`] and [`decode_into`] are the bare codec: the bytes of one value, with no header, schema or
//! checksum around them. Use them for messages between two builds of one program. Use [`save`](crate::save()) or
//! [`to_vec`](crate::to_vec) for bytes that another version of the program must read.
//!
//! ```
//! use persist::Persist;
//! use persist::codec::{Buffer, decode};
//!
//! #[derive(Persist, Debug, PartialEq)]
//! struct Move { unit: u32, to: (i16, i16) }
//!
//! let order = Move { unit: 7, to: (3, -4) };
//! let mut buffer = Buffer::new();
//! let bytes = buffer.encode(&order)?;
//! assert_eq!(bytes.len(), 8);
//! assert_eq!(decode::<Move>(bytes)?, order);
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! | for an `impl Persist` by hand | |
//! | --- | --- |
//! | [`Persist`] | the trait; its page has a complete example |
//! | [`Encoder`], [`Stop`] | writes values; an error ends the encode |
//! | [`Decoder`], [`Fail`] | reads values; an error ends the decode |
//! | [`Prototypes`] | creates empty values |
//! | [`Parts`] | lists the values inside |
//! | [`Pointee`] | allows shared pointers to the type: `Rc<Colour>` |
//!
//! [`Reflect`] gives the tables of a type that derives `Persist`; [`reflect`](crate::reflect) describes them.
//!
//! # Map
//!
//! This section is for those who change the module. Names without links are private.
//!
//! | files | part |
//! | --- | --- |
//! | `persist`, `layout` | the trait, and the constants of a type, by which its values are placed |
//! | `row`, `index`, `field`, `value` | rows of fields, the code of a field, whole values in place or by a call |
//! | `encoder` with `buffer`, this file | the cursor that writes, and its memory, which grows by windows |
//! | `decoder`, `fail`, `boxed`, this file | the cursor that reads; values too large for the stack; limits of memory |
//! | `count`, `compact`, `text`, `pod` | counts, small integers, strings and blocks as bytes |
//! | `class`, `field_access`, `items`, `type_set`, `parts` | fields at run time; the types that a registration collects |
//! | `with`, `convert`, `skip` | adapters, older types of a field, elements that cannot be loaded |
//! | `object`, `pointer`, `content`, `trait_object`, `lock` | shared objects, boxes, trait objects, cells |
//! | `class_holder` | values that hold classes which their type does not name, as worlds do |
//! | `links`, `visitor` | the interface to a save and a load; the walk that connects pointers and runs hooks |
//! | `unknown` with `unknown_codec` | data that the program lacks, and its bytes |
//!
//! **Encode.** Derived code writes the fields of a *row* one after the other. The heads of neighbours lie in one
//! *segment*, which takes one bounds check. A field with a tail ends the segment. So this class has two segments:
//!
//! ```text
//! struct Hero { level: u32, name: String, hp: u16, luck: f32 }
//!
//!   first segment, 5 bytes             tail of name       second segment, 6 bytes
//! +-----------------+---------------+------------------+---------------+----------------+
//! | head of level   | head of name  | 41 64 61         | head of hp    | head of luck   |
//! | 03 00 00 00     | 03            | "Ada"            | 14 00         | 00 00 00 3f    |
//! +-----------------+---------------+------------------+---------------+----------------+
//!   put_head<_0>      put_head<_1>    put_rest<_1>       put_rest<_2>    put_rest<_3>
//! ```
//!
//! The head of a class is its first segment, so a class is itself a field with head and tail in the row around it.
//! A field whose code exceeds `BUDGET` has no head: it is encoded by a call. `Decoder` reads in the same order.
//!
//! **Links.** A shared pointer asks the `SaveLinks` of the save for the id of its target, and writes the id. The save
//! encodes each new target as an object of its own. In a load, the pointer passes the id to `LoadLinks` and gets a
//! placeholder of the right type. When all objects are decoded, a `Visitor` walks through them in the same order and
//! sets each pointer (a `ReferenceSlot`) to its target. Further walks run `validate` and `after_load`. The bare codec
//! has `NoLinks`, which refuses pointers.
//!
//! | trait | what it does |
//! | --- | --- |
//! | [`Pointee`] | marks a type that `Rc`, `Arc` and `Weak` may point at; `As` names the type that converts |
//! | `PointTo` | converts such pointers; implemented by `T` itself, `AsCell`, `AsLengthy` and `AsTrait` |
//! | `CellContent`, `BoxOf` | the same two roles for the content of a `Box` or of a cell |
//! | `Family` | covers the differences of `Rc` and `Arc` |
//! | `AnyObject` | an object without its type; a `Shared` is a counted pointer to one |
//! | `Unsized` | a pointee without a size: `str`, `[T]`, `dyn Trait`; its pointer is boxed as an `AnyObject` |
//! | `Lengthy` | `str` and `[T]`, with the growable type that a load fills |
//! | `OpenCell` | a cell whose value a load can still replace while it is shared |
//! | `Draft` | an object without such a cell: it is filled first and shared afterwards |
//! | `TraitObject`, `TraitCell` | a `dyn Trait` with its name in saves; that or a cell around one |
//! | `Dynamic`, `Portable` | the supertrait of dynamic traits, and the value's codec as a trait object |
//! | `Implements<T>` | turns a `T` into the trait object; a `Caster` is that for the registry |
//!
//! | word | meaning |
//! | --- | --- |
//! | row | the stored fields of a struct or of a variant |
//! | head, tail | the bytes of a value whose number its type fixes, and the other bytes |
//! | window | a piece of a buffer's memory; a value continues in the next one |
//! | read over | to decode into an existing value, which keeps its allocations |
//! | reach | to list the types that a type holds, without a value |
//! | visit | to walk through a value, for a phase such as connecting pointers |
//! | adapter | a type that stores a field as another type, for `with` and `via` |
//! | holder | the pointer and the cell around an object: `Rc<RefCell<_>>` |

#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod boxed;
pub(crate) mod class;
pub(crate) mod class_holder;
pub(crate) mod compact;
pub(crate) mod content;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod decoder;
pub(crate) mod encoder;
mod fail;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod field_access;
pub(crate) mod index;
mod items;
pub(crate) mod layout;
mod links;
mod lock;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod object;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
#[cfg_attr(not(feature = "world"), allow(dead_code, reason = "worlds have pages"))]
pub(crate) mod page_source;
#[cfg_attr(not(feature = "world"), allow(dead_code, reason = "worlds have pages"))]
pub(crate) mod pages;
mod parts;
pub(crate) mod persist;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod pod;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod pointer;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod row;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod skip;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod text;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod trait_object;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod type_set;
pub(crate) mod unknown;
mod value;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod visitor;
#[allow(clippy::missing_errors_doc, reason = "not for programs")]
pub(crate) mod with;

use std::fmt;

pub use class::Reflect;
pub use decoder::Decoder;
pub use encoder::{Buffer, Encoder, Stop, decode, decode_into};
pub use fail::Fail;
pub use field_access::EditableItems;
pub use items::{EditableList, EditableMap};
pub use links::Prototypes;
pub use pointer::Pointee;
// The root of the crate documents it.
pub(crate) use boxed::{boxed_with, is_bulky, on_stack, out_of_line, unboxed};
#[cfg(feature = "world")]
pub(crate) use content::BoxOf;
pub(crate) use content::CellContent;
pub(crate) use convert::CONVERTED;
pub(crate) use decoder::{
    FailedElement, Implementor, KeyLinks, Linked, LoadLinks, NoLinks, Pointing, Remapped,
    SkippingField, is_of_value,
};
pub(crate) use encoder::{SaveLinks, left_over};
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) use field_access::is_same_name;
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) use field_access::{FieldAccess, ListAccess, MapAccess, WalkAccess};
pub(crate) use field_access::{FieldNames, FieldStep, ListSplice};
pub(crate) use layout::Layout;
pub(crate) use links::{
    Factory, Link, Pointed, PrototypeTable, ReferenceSlot, Referent, Within, charge_empty,
};
pub(crate) use lock::LockCell;
pub(crate) use object::{AnyObject, Shared, WeakShared, put_shared, shared};
#[doc(hidden)]
pub use persist::Persist;
#[allow(unused_imports, reason = "lists of other crates need it")]
pub(crate) use persist::extend_fixed;
pub(crate) use persist::{Generic, bad_part, decode_vec};
pub(crate) use pointer::{
    ArcFamily, AsCell, AsLengthy, Family, Lengthy, OpenCell, PointTo, RcFamily, Unsized,
};
pub(crate) use text::{decode_text, decode_text_into};
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) use trait_object::Portable;
#[cfg(feature = "world")]
pub(crate) use trait_object::{AsTrait, TraitObject};
pub(crate) use trait_object::{
    Caster, Implements, not_registered, not_registered_yet, reach_holder, trait_name,
};
pub(crate) use type_set::{ADAPTED, ClassAccess, LoadedObject, ObjectType, StandInClass, TypeSet};
pub(crate) use unknown::{
    Unknown, UnknownAt, UnknownClass, UnknownPart, UnknownPartKind, UnknownPath, UnknownPiece,
    UnknownStep, UnknownTarget,
};
pub(crate) use visitor::{Phase, VisitLinks, Visitor};

/// Visits the values inside a value, in the order in which they are decoded.
///
/// [`Persist::persist_parts`] lists them once. Registration, loading and hooks all use
/// that list.
pub struct Parts<'p, T>(PartsWalk<'p, T>);

// One list for all three. Connecting relies on the order in which a decode has read the references, which two lists
// would not keep.
enum PartsWalk<'p, T> {
    /// Lists the types, without a value.
    Types(&'p mut TypeSet),
    /// Visits the values through `&mut`.
    Exclusive(&'p mut T, Visitor<'p>),
    /// Visits the values through `&`.
    Shared(&'p T, Visitor<'p>),
}

impl<'p, T> Parts<'p, T> {
    fn types(types: &'p mut TypeSet) -> Self {
        Self(PartsWalk::Types(types))
    }

    fn exclusive(value: &'p mut T, visitor: &'p mut Visitor<'_>) -> Self {
        Self(PartsWalk::Exclusive(value, visitor.reborrow()))
    }

    fn shared(value: &'p T, visitor: &'p mut Visitor<'_>) -> Self {
        Self(PartsWalk::Shared(value, visitor.reborrow()))
    }
}

impl<T> fmt::Debug for Parts<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// Returns as how many elements an element without bytes counts: as one, and as one more for every 64 bytes of its
/// size. This bounds the memory that a few bytes of a save can request.
const fn weight<T>() -> usize {
    1 + size_of::<T>() / 64
}

/// Returns the memory of `count` elements in bytes, if they are large for at least `min` bytes each in a save. For
/// example, an absent `Option` of a large type is one byte.
#[inline(always)]
fn large<T>(count: usize, min: usize) -> Option<u64> {
    is_large_for::<T>(min).then(|| (count as u64).saturating_mul(size_of::<T>() as u64))
}

/// True if an element that takes at least `min` bytes in a save has more than 256 times as many in memory.
const fn is_large_for<T>(min: usize) -> bool {
    min > 0 && size_of::<T>() > 256 * min
}

/// Returns the memory of a value in a box, if that is large for the fewest bytes it can take. A box takes one byte at
/// least, or a list would refuse any number of boxes.
#[inline(always)]
fn large_box<T>(min: usize) -> Option<u64> {
    is_large_for::<T>(min.max(1)).then_some(size_of::<T>() as u64)
}

/// True if a value in a box, which takes at least `min` bytes, is not counted.
#[cfg(feature = "world")]
pub(crate) const fn is_light_box<T>(min: usize) -> bool {
    !is_large_for::<T>(if min > 1 { min } else { 1 })
}

/// Returns how many levels of nesting a value counts as, where a stack frame holds this many bytes of the type around
/// it. Large types use up a stack sooner.
#[expect(clippy::cast_possible_truncation, reason = "types are far smaller than 8 TiB")]
const fn levels(bytes: usize) -> u32 {
    1 + (bytes / 2048) as u32
}

/// More windows than a value can fill: see [`min_size`], and a record ends before 2^32 bytes.
const MAX_WINDOWS: usize = 64;

/// Bytes of the smallest window.
const SMALLEST: usize = 256;

/// Returns the smallest size of the window at this place of the table. A window is four times as large as the one
/// before, and from the sixth on a quarter larger. So a value needs few windows, however little of each is used.
fn min_size(place: usize) -> usize {
    let quadrupled = SMALLEST << (2 * place.min(4));
    (4..place).fold(quadrupled, |size, _| size.saturating_add(size / 4))
}

/// Size of a piece of rows that is cleared and then written: it stays in the first-level cache between the two. Longer
/// pieces are slower, since `memset` then uses `rep stosb`.
const PIECE: usize = 2048;

/// Size from which on an allocator gets memory from the system, which is already zero.
const FROM_SYSTEM: usize = 32 << 20;

/// A part of a buffer's memory, in which a value continues when the previous window is full.
#[derive(Debug, Default)]
struct Window {
    bytes: Vec<u8>,
    /// Number of bytes of the value before this window.
    start: usize,
    /// Number of bytes of the memory before those of the value: none, or as many as the value has before this window.
    /// In the second case those can be copied there.
    room: usize,
    /// Size of the memory that was moved out of the window: the next value is about as large.
    expected: usize,
    /// True if further bytes can be appended to the window, until another one follows.
    grows: bool,
}

/// A run of many bytes that are written at once.
enum ByteRun<'r> {
    Bytes(&'r [u8]),
    /// `len` bytes of rows that have `row` bytes each. The function writes whole rows, beginning at an offset.
    Rows {
        len: usize,
        row: usize,
        write: &'r dyn Fn(usize, &mut [u8]),
    },
}

impl ByteRun<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Rows { len, .. } => *len,
        }
    }

    fn write(&self, to: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => to.copy_from_slice(bytes),
            Self::Rows { write, .. } => write(0, to),
        }
    }

    fn append(&self, to: &mut Vec<u8>) {
        let (len, row, write) = match self {
            Self::Bytes(bytes) => return to.extend_from_slice(bytes),
            Self::Rows { len, row, write } => (*len, *row, write),
        };
        let piece = (PIECE / row).max(1) * row;
        for offset in (0..len).step_by(piece) {
            let at = to.len();
            to.resize(at + piece.min(len - offset), 0);
            write(offset, &mut to[at..]);
        }
    }
}

/// The windows that are free for an encode.
///
/// They lie in a table of fixed length, so that an encode can borrow the following windows while it writes to the
/// previous ones.
enum RemainingWindows<'a> {
    /// All windows; the table is created when the first one is requested.
    All(&'a mut Vec<Window>),
    Rest(&'a mut [Window]),
}

impl Default for RemainingWindows<'_> {
    fn default() -> Self {
        Self::Rest(&mut [])
    }
}

impl<'a> RemainingWindows<'a> {
    /// Returns the next window, its place in the table, and the windows after it.
    fn next(self) -> Option<(usize, &'a mut Window, Self)> {
        let windows = match self {
            Self::All(table) => {
                table.resize_with(MAX_WINDOWS, Window::default);
                &mut table[..]
            }
            Self::Rest(windows) => windows,
        };
        let place = MAX_WINDOWS.checked_sub(windows.len())?;
        let (window, rest) = windows.split_first_mut()?;
        Some((place, window, Self::Rest(rest)))
    }

    /// Returns a window of at least `len` bytes, and the windows after it. `start` bytes of the value lie before it.
    /// The window begins with the run, which has `len` bytes.
    fn window(
        self,
        start: usize,
        len: usize,
        run: Option<&ByteRun<'_>>,
    ) -> Option<(&'a mut [u8], Self)> {
        let (place, window, rest) = self.next()?;
        (window.start, window.room, window.grows) = (start, 0, false);
        let min = min_size(place);
        let is_small = window.bytes.len() < len;
        if is_small {
            // Freed before the larger one is allocated.
            window.bytes = Vec::new();
        }
        match run {
            // A long run fills a window, which then is not cleared first. If most of the value lies there, the other
            // bytes can be put around it.
            Some(run) if is_small && len >= min => {
                window.room = if len >= start { start } else { 0 };
                let room = window.room;
                // The end of the save follows: at least a sum for each 64 KiB, and the definitions.
                let whole = room + len + 4 * SMALLEST + len / (16 << 10);
                if matches!(run, ByteRun::Rows { .. }) && whole > FROM_SYSTEM {
                    window.bytes = vec![0; whole];
                    run.write(&mut window.bytes[room..room + len]);
                } else {
                    window.bytes.reserve_exact(whole);
                    window.bytes.resize(room, 0);
                    run.append(&mut window.bytes);
                    window.bytes.resize(whole, 0);
                }
            }
            _ => {
                if is_small {
                    // The window is cleared first, which costs time for bytes that stay unused, so it is not much
                    // larger than needed. It is still in the cache when it is written.
                    window.bytes = vec![0; (start / 4).max(min).max(len)];
                }
                if let Some(run) = run {
                    run.write(&mut window.bytes[..len]);
                }
            }
        }
        Some((&mut window.bytes[window.room..], rest))
    }

    /// Returns the number of windows, if the table exists.
    fn len(&self) -> Option<usize> {
        match self {
            Self::All(_) => None,
            Self::Rest(windows) => Some(windows.len()),
        }
    }
}
