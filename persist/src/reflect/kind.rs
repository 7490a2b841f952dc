use std::any::TypeId;
use std::fmt;

use super::{Class, Holder};

/// The kind of a part: a function, so that types may contain themselves.
pub(crate) type Inner = fn() -> Kind;

/// What the bytes of a value mean.
///
/// A kind is what a save says about each field, so that it can be read without
/// the program that wrote it. Rust types that are stored alike share a kind:
/// `Vec<u8>` and `VecDeque<u8>` are both a list of `u8`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// No bytes.
    Unit,
    /// One byte, 0 or 1.
    Bool,
    /// A Unicode scalar value in 4 bytes.
    Char,
    /// 1 byte.
    U8,
    /// 2 bytes.
    U16,
    /// 4 bytes.
    U32,
    /// 8 bytes; `usize` too.
    U64,
    /// 16 bytes.
    U128,
    /// 1 byte.
    I8,
    /// 2 bytes.
    I16,
    /// 4 bytes.
    I32,
    /// 8 bytes; `isize` too.
    I64,
    /// 16 bytes.
    I128,
    /// 4 bytes, every bit kept.
    F32,
    /// 8 bytes, every bit kept.
    F64,
    /// A `u16`, `u32`, `u64`, `i16`, `i32` or `i64` in as few bytes as it needs; a signed one is zigzag first.
    /// [`Display`](fmt::Display) shows the type.
    Compact(#[doc(hidden)] Integer),
    /// A count of bytes, then UTF-8.
    Text,
    /// One byte, 0 or 1; the value follows a 1.
    Option(fn() -> Kind),
    /// A count, then the elements.
    List(fn() -> Kind),
    /// A count, then the elements, none of them twice.
    Set(fn() -> Kind),
    /// A count, then key and value of each entry, no key twice.
    Map(fn() -> Kind, fn() -> Kind),
    /// That many elements, one after the other.
    Array(fn() -> Kind, usize),
    /// The parts, one after the other.
    Tuple(&'static [fn() -> Kind]),
    /// A struct or an enum with field records of its own.
    Class(fn() -> &'static Class),
    /// The id of an object that has a record of its own. [`Display`](fmt::Display) shows the pointer.
    Reference(#[doc(hidden)] Reference),
    /// The number of a class, then a value of that class: what a `Box<dyn Trait>`
    /// owns. [`Display`](fmt::Display) shows the trait.
    Dynamic(#[doc(hidden)] TraitName),
    /// A byte that says whether it is null, live or dead, then 8 bytes: a
    /// [`Handle`](crate::Handle) into an arena of this name.
    Handle(&'static str),
    /// A count of parts that the program does not have, each the number of a class, then a
    /// value of that class: what an [`Unknown`](crate::Unknown) holds.
    Unknown,
}

/// An integer that has a compact form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integer {
    /// 2 bytes.
    U16,
    /// 4 bytes.
    U32,
    /// 8 bytes.
    U64,
    /// 2 bytes.
    I16,
    /// 4 bytes.
    I32,
    /// 8 bytes.
    I64,
}

impl Integer {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::U16, Self::U32, Self::U64, Self::I16, Self::I32, Self::I64];

    /// Bytes of a number that is not compact.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::U64 | Self::I64 => 8,
        }
    }

    /// True if it may be below zero.
    #[must_use]
    pub fn is_signed(self) -> bool {
        matches!(self, Self::I16 | Self::I32 | Self::I64)
    }

    /// Its name in Rust.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
        }
    }
}

/// What a stored reference may point at.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The pointer and cell around the target.
    pub holder: Holder,
    /// True where the reference does not keep its target alive.
    pub weak: bool,
    /// The target.
    pub target: Target,
}

/// What a reference leads to.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A value of one kind; the name is that of its class.
    Value {
        /// Kind of the value.
        kind: Inner,
        /// Name of its class.
        name: fn() -> String,
    },
    /// A value of any class that is registered for a trait.
    Trait(TraitName),
}

/// A trait whose trait objects can be saved.
#[derive(Clone, Copy, Debug)]
pub struct TraitName {
    /// The `dyn Trait`.
    pub id: fn() -> TypeId,
    /// Its name in a save.
    pub name: &'static str,
}

impl Reference {
    /// How a Rust programmer writes it.
    #[must_use]
    pub fn display(&self) -> String {
        match self.target {
            Target::Value { name, .. } => self.holder.around_class(self.weak, &name()),
            Target::Trait(of) => self.holder.around(self.weak, &format!("dyn {}", of.name)),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Self::Unit => "()",
            Self::Bool => "bool",
            Self::Char => "char",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::U128 => "u128",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::I128 => "i128",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Text => "String",
            Self::Unknown => "Unknown",
            Self::Compact(integer) => return write!(f, "compact {}", integer.name()),
            Self::Option(inner) => return write!(f, "Option<{}>", inner()),
            Self::List(inner) => return write!(f, "Vec<{}>", inner()),
            Self::Set(inner) => return write!(f, "Set<{}>", inner()),
            Self::Map(key, value) => return write!(f, "Map<{}, {}>", key(), value()),
            Self::Array(inner, len) => return write!(f, "[{}; {len}]", inner()),
            Self::Tuple(parts) => {
                f.write_str("(")?;
                for (i, part) in parts.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", part())?;
                }
                return f.write_str(if parts.len() == 1 { ",)" } else { ")" });
            }
            Self::Class(class) => return f.write_str(&class().name()),
            Self::Reference(to) => return f.write_str(&to.display()),
            Self::Dynamic(of) => return write!(f, "Box<dyn {}>", of.name),
            Self::Handle(arena) => return write!(f, "Handle<{arena}>"),
        };
        f.write_str(word)
    }
}
