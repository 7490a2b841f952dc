/// A value in serde's terms, as a save holds it.
///
/// It has no kinds for the widths of numbers: `u8` becomes `u32` in a later version of a type as in JSON.
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
    /// A map, in the order in which it was given.
    Map(Vec<(Any, Any)>),
    /// A struct, by the names of its fields.
    Struct(Vec<(String, Any)>),
    /// A variant of an enum without content.
    Variant(String),
    /// One with content: what it holds, a list of several or a struct.
    Content(String, Box<Any>),
}

impl Any {
    /// An integer in the variant that holds it.
    pub(super) fn integer(number: i128) -> Self {
        match (u64::try_from(number), i64::try_from(number)) {
            (Ok(number), _) => Self::Unsigned(number),
            (_, Ok(number)) => Self::Negative(number),
            _ => Self::Wide(number),
        }
    }
}
