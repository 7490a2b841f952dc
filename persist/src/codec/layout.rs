//! [`Layout`]: the constants of a type, by which the codec places its values among others.

use super::boxed::on_stack;
use super::class_holder::HolderAccess;
use super::field_access::{EditableItems, ListAccess, MapAccess, WalkAccess};
use super::type_set::FieldCodec;

/// How the values of a type, or the fields of a row, lie in a save, and how the library reaches what is in them.
///
/// The constants of a type are one struct, so that an impl states those in which its type differs, and takes the others
/// from one of the functions here.
#[derive(Clone, Copy)]
#[must_use]
pub struct Layout {
    /// Number of bytes in the segment that a value shares with its neighbours; the first segment of a row.
    pub head: usize,
    /// True if the value has no tail; if no field of a row has one.
    pub fixed: bool,
    /// The fewest bytes that a value can take, by which a load refuses impossible counts. An encode checks it.
    pub min: usize,
    /// True if no value can hold a reference or a class with hooks.
    pub leaf: bool,
    /// The amount of code of an encode in place: 1 for a number. A type whose cost exceeds a budget is encoded by a call
    /// instead.
    pub cost: usize,
    /// Number of bytes of a value that are on the stack while [`__decode_boxed`](super::Persist::__decode_boxed) reads
    /// its parts; the largest such number of a row's fields.
    pub on_stack: usize,
    /// True if a value's class may be one that the program lacks; an `Option` around the value then becomes `None`.
    pub nullable: bool,
    /// True if the memory of a value is its encoding, where [`IS_BLOCK`](super::pod::IS_BLOCK) says so.
    pub pod: bool,
    /// True for a container that can skip elements which cannot be loaded.
    pub skips: bool,
    /// Access to the elements, for a list.
    pub list: Option<&'static dyn ListAccess>,
    /// Access to the values, for a map.
    pub map: Option<&'static dyn MapAccess>,
    /// Access to the entries or elements, for a map, a set or an array.
    pub walk: Option<&'static dyn WalkAccess>,
    /// Access to a value that holds values of classes which its type does not name.
    pub class_holder: Option<HolderAccess>,
}

impl Layout {
    /// The layout of a type about which nothing is known: it has no head, and is encoded by a call.
    pub const fn new<T>() -> Self {
        Self {
            head: 0,
            fixed: false,
            min: if size_of::<T>() == 0 { 0 } else { 1 },
            leaf: false,
            cost: usize::MAX,
            on_stack: size_of::<T>(),
            nullable: false,
            pod: false,
            skips: false,
            list: None,
            map: None,
            walk: None,
            class_holder: None,
        }
    }

    /// The layout with the elements or keys of the type.
    pub const fn with_items(self, items: EditableItems) -> Self {
        Self { list: items.list, map: items.map, walk: items.walk, ..self }
    }

    /// The layout of a type like `u32`, whose values take `bytes` bytes.
    pub const fn number<T>(bytes: usize) -> Self {
        Self { head: bytes, fixed: true, min: bytes, leaf: true, cost: 1, ..Self::new::<T>() }
    }

    /// The layout of a text: the first byte of its length is the head.
    pub const fn text<T>() -> Self {
        Self { head: 1, leaf: true, cost: 3, ..Self::new::<T>() }
    }

    /// The layout of a collection: the first byte of its count is the head.
    ///
    /// It depends on no element type, so that a type may hold a collection of itself.
    pub const fn collection<T>() -> Self {
        Self { head: 1, ..Self::new::<T>() }
    }

    /// The layout of a key or an id: a byte for its state, and eight bytes.
    ///
    /// Such a value is all head, but not fixed, because the load decides about its final state.
    pub const fn handle<T>() -> Self {
        Self { head: 9, min: 9, leaf: true, cost: 3, ..Self::new::<T>() }
    }

    /// The layout of a thin wrapper `T` around a value of this layout. It gives no access to what is in the value.
    pub const fn wrapped<T>(self) -> Self {
        Self {
            on_stack: on_stack::<T>(&[self.on_stack]),
            pod: false,
            skips: false,
            list: None,
            map: None,
            walk: None,
            class_holder: None,
            ..self
        }
    }

    /// The layout of a `transparent` struct `T` whose field has this layout.
    pub const fn transparent<T>(self) -> Self {
        Self { pod: self.pod && size_of::<T>() == self.head, ..self.wrapped::<T>() }
    }

    /// The layout of a `T` that is stored as a value of this layout, and holds neither references nor hooks.
    pub const fn stored_for<T>(self) -> Self {
        let Self { head, fixed, min, cost, .. } = self;
        Self { head, fixed, min, leaf: true, cost, ..Self::new::<T>() }
    }

    /// The layout of a struct `T`, from that of its row.
    pub const fn of_struct<T>(row: Self) -> Self {
        Self { cost: row.cost.saturating_add(1), on_stack: on_stack::<T>(&[row.on_stack]), ..row }
    }

    /// The layout of an enum whose tag takes `tag` bytes, from the rows of those variants that have fields.
    pub const fn of_enum<T>(tag: usize, rows: &[Self]) -> Self {
        let mut layout = Self {
            head: tag,
            fixed: rows.is_empty(),
            min: tag,
            leaf: true,
            cost: 2,
            ..Self::new::<T>()
        };
        let mut on_stack_of_row = 0;
        let mut i = 0;
        while i < rows.len() {
            layout.leaf &= rows[i].leaf;
            layout.cost = layout.cost.saturating_add(1).saturating_add(rows[i].cost);
            if rows[i].on_stack > on_stack_of_row {
                on_stack_of_row = rows[i].on_stack;
            }
            i += 1;
        }
        if !rows.is_empty() {
            layout.on_stack = on_stack::<T>(&[on_stack_of_row]);
        }
        layout
    }

    /// The sums over the fields of a row.
    pub const fn of_row(parts: &[FieldCodec]) -> Self {
        let mut layout =
            Self { fixed: true, min: 0, leaf: true, cost: 0, on_stack: 0, ..Self::new::<()>() };
        // A `const fn` cannot loop over an iterator.
        let mut i = 0;
        while i < parts.len() {
            // The head is added before `fixed` changes: the first field with a tail has its head in this segment, too.
            if layout.fixed {
                layout.head += parts[i].head;
            }
            layout.fixed &= parts[i].fixed;
            layout.leaf &= parts[i].leaf;
            layout.min += parts[i].min;
            if parts[i].on_stack > layout.on_stack {
                layout.on_stack = parts[i].on_stack;
            }
            layout.cost = layout.cost.saturating_add(parts[i].cost);
            i += 1;
        }
        layout
    }

    /// Returns the layout of a type with hooks.
    pub const fn with_hooks(self) -> Self {
        Self { leaf: false, ..self }
    }

    /// Returns the layout of a type whose memory is its encoding.
    pub const fn pod(self) -> Self {
        Self { pod: true, ..self }
    }

    /// Returns the layout of a type that is copied as one block, which costs as much as a number.
    pub const fn block(self) -> Self {
        Self { cost: 1, ..self.pod() }
    }
}
