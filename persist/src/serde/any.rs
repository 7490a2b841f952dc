/// A value of serde's data model, as a save holds it.
///
/// It has no kinds for the widths of numbers. So a `u8` may become a `u32` in a later version of a type, as in JSON.
///
/// [`write`](super::write) and [`read`](super::read) convert between values and its bytes directly. As a value in
/// memory it would own the name of every field.
#[derive(crate::Persist, Clone, Debug, Default)]
#[persist(crate = crate, class = "persist.Any")]
pub(super) enum Any {
    #[default]
    Unit,
    Bool(bool),
    /// An integer of 0 or more.
    Unsigned(#[persist(compact)] u64),
    /// An integer below 0.
    Negative(#[persist(compact)] i64),
    /// An integer that no other variant holds.
    Wide(i128),
    Huge(u128),
    F32(f32),
    F64(f64),
    Char(char),
    Text(String),
    Bytes(Vec<u8>),
    None,
    Some(Box<Any>),
    /// A list, a tuple or a tuple struct.
    List(Vec<Any>),
    /// A map, in the order in which the type gave its entries.
    Map(Vec<(Any, Any)>),
    /// A struct: names and values of its fields.
    Struct(Vec<(String, Any)>),
    /// A variant of an enum without content.
    Variant(String),
    /// A variant with content: its value, a list of several or a struct.
    Content(String, Box<Any>),
}

/// The first byte of each variant.
pub(super) mod tag {
    pub(in super::super) const UNIT: u8 = 0;
    pub(in super::super) const BOOL: u8 = 1;
    pub(in super::super) const UNSIGNED: u8 = 2;
    pub(in super::super) const NEGATIVE: u8 = 3;
    pub(in super::super) const WIDE: u8 = 4;
    pub(in super::super) const HUGE: u8 = 5;
    pub(in super::super) const F32: u8 = 6;
    pub(in super::super) const F64: u8 = 7;
    pub(in super::super) const CHAR: u8 = 8;
    pub(in super::super) const TEXT: u8 = 9;
    pub(in super::super) const BYTES: u8 = 10;
    pub(in super::super) const NONE: u8 = 11;
    pub(in super::super) const SOME: u8 = 12;
    pub(in super::super) const LIST: u8 = 13;
    pub(in super::super) const MAP: u8 = 14;
    pub(in super::super) const STRUCT: u8 = 15;
    pub(in super::super) const VARIANT: u8 = 16;
    pub(in super::super) const CONTENT: u8 = 17;
}
