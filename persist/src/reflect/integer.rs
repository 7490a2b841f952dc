//! The integers that can be stored in as many bytes as their value needs.

/// The integer types that have a compact form.
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
    /// All integer types that have a compact form.
    pub const ALL: [Self; 6] = [Self::U16, Self::U32, Self::U64, Self::I16, Self::I32, Self::I64];

    /// Returns the size of a number that is not compact, in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::U64 | Self::I64 => 8,
        }
    }

    /// True if the type is signed.
    #[must_use]
    pub fn is_signed(self) -> bool {
        matches!(self, Self::I16 | Self::I32 | Self::I64)
    }

    /// Returns the name of the type in Rust.
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
