//! Numbers of one width as those of another: exact, or not at all.

use byteorder::{ByteOrder, LittleEndian};

use super::KindSchema;
use crate::codec::compact::{unzigzag, zigzag};
use crate::codec::{Decoder, Fail, count};
use crate::reflect::Integer;

/// A kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Unsigned, of this many bytes.
    Unsigned(usize),
    /// Signed, of this many bytes.
    Signed(usize),
    F32,
    F64,
    /// In as few bytes as it needs.
    Compact(Integer),
}

/// How integers of few bytes become integers of more, or `f32`s become `f64`s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Widening {
    from: u8,
    to: u8,
    fill: Fill,
}

/// The value of the bytes that widening adds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fill {
    Zeros,
    Sign,
    Float,
}

impl Widening {
    /// Bytes of each number as it is.
    pub(super) fn from(self) -> usize {
        self.from.into()
    }

    /// Bytes of each number when it is wide.
    #[inline]
    pub(super) fn to(self) -> usize {
        self.to.into()
    }

    /// The number that these bytes begin with, as the first bytes of what is returned.
    #[inline(always)]
    pub(super) fn widen(self, bytes: &[u8]) -> [u8; 16] {
        let low = match (self.from, bytes.first_chunk()) {
            (1..=8, Some(all)) => u64::from_le_bytes(*all),
            (1, _) => bytes[0].into(),
            (2, _) => LittleEndian::read_u16(bytes).into(),
            (4, _) => LittleEndian::read_u32(bytes).into(),
            _ => return bytes.first_chunk().copied().unwrap_or_default(),
        };
        let unused = 64 - 8 * u32::from(self.from);
        match self.fill {
            Fill::Zeros => u128::from((low << unused) >> unused).to_le_bytes(),
            Fill::Sign => i128::from((low << unused).cast_signed() >> unused).to_le_bytes(),
            Fill::Float => u128::from(widened(LittleEndian::read_u32(bytes))).to_le_bytes(),
        }
    }
}

/// A number of any kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Natural(u128),
    /// Below zero.
    Negative(i128),
    /// By its bits, those of an `f32` widened.
    Float(u64),
}

impl KindSchema {
    /// True for two kinds of numbers if every number of this kind is one of the other, too.
    pub fn is_number_in(&self, other: &Self) -> bool {
        Width::from_kind(self)
            .zip(Width::from_kind(other))
            .is_some_and(|(this, other)| this.fits(other))
    }
}

impl Width {
    pub(super) fn from_kind(kind: &KindSchema) -> Option<Self> {
        Some(match kind {
            KindSchema::U8
            | KindSchema::U16
            | KindSchema::U32
            | KindSchema::U64
            | KindSchema::U128 => Self::Unsigned(kind.width()),
            KindSchema::I8
            | KindSchema::I16
            | KindSchema::I32
            | KindSchema::I64
            | KindSchema::I128 => Self::Signed(kind.width()),
            KindSchema::F32 => Self::F32,
            KindSchema::F64 => Self::F64,
            KindSchema::Compact(integer) => Self::Compact(*integer),
            _ => return None,
        })
    }

    /// Bytes of each number, or of the same one where it is not compact.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) => bytes,
            Self::F32 => 4,
            Self::F64 => 8,
            Self::Compact(integer) => integer.bytes(),
        }
    }

    pub(super) fn is_compact(self) -> bool {
        matches!(self, Self::Compact(_))
    }

    /// The kind of the same numbers of a fixed width.
    fn plain(self) -> Self {
        match self {
            Self::Compact(integer) if integer.is_signed() => Self::Signed(integer.bytes()),
            Self::Compact(integer) => Self::Unsigned(integer.bytes()),
            plain => plain,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// True if every number of this kind is one of the other, too.
    pub(super) fn fits(self, other: Self) -> bool {
        match (self.plain(), other.plain()) {
            (Self::Unsigned(a), Self::Unsigned(b)) | (Self::Signed(a), Self::Signed(b)) => a <= b,
            (Self::Unsigned(a), Self::Signed(b)) => a < b,
            (Self::Unsigned(a) | Self::Signed(a), Self::F32) => a <= 2,
            (Self::Unsigned(a) | Self::Signed(a), Self::F64) => a <= 4,
            (Self::F32, Self::F32 | Self::F64) | (Self::F64, Self::F64) => true,
            _ => false,
        }
    }

    /// Takes a number.
    pub(super) fn take(self, input: &mut Decoder<'_>) -> Result<Number, Fail> {
        Ok(match self {
            Self::Compact(integer) if integer.is_signed() => {
                Number::from(i128::from(unzigzag(integer.count(input)?)))
            }
            Self::Compact(integer) => Number::Natural(integer.count(input)?.into()),
            plain => plain.read(input.take(plain.bytes())?),
        })
    }

    /// Reads a number of a fixed width; `bytes` has as many as the kind.
    pub(super) fn read(self, bytes: &[u8]) -> Number {
        match self.plain() {
            Self::Unsigned(_) => Number::Natural(LittleEndian::read_uint128(bytes, bytes.len())),
            Self::Signed(_) => Number::from(LittleEndian::read_int128(bytes, bytes.len())),
            Self::F32 => Number::Float(widened(LittleEndian::read_u32(bytes))),
            _ => Number::Float(LittleEndian::read_u64(bytes)),
        }
    }

    /// How numbers of a narrower kind become numbers of this one, if that takes their bits alone.
    pub(super) fn widening(self, from: Self) -> Option<Widening> {
        let fill = match (from, self) {
            (Self::Unsigned(a), Self::Unsigned(b)) if a <= b => Fill::Zeros,
            (Self::Unsigned(a), Self::Signed(b)) if a < b => Fill::Zeros,
            (Self::Signed(a), Self::Signed(b)) if a <= b => Fill::Sign,
            (Self::F32, Self::F64) => Fill::Float,
            _ => return None,
        };
        let bytes = |width: Self| u8::try_from(width.bytes()).unwrap_or(u8::MAX);
        Some(Widening { from: bytes(from), to: bytes(self), fill })
    }

    /// Writes a number, or the nearest of this kind; true if it is the same. A float is written as a float only.
    pub(super) fn write(self, number: Number, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Unsigned(bytes) => {
                let max = u128::MAX >> (128 - 8 * bytes);
                let (nearest, exact) = match number {
                    Number::Natural(number) => (number.min(max), number <= max),
                    _ => (0, false),
                };
                out.extend_from_slice(&nearest.to_le_bytes()[..bytes]);
                exact
            }
            Self::Signed(bytes) => {
                let max = u128::MAX >> (129 - 8 * bytes);
                let min = i128::MIN >> (128 - 8 * bytes);
                let (nearest, exact) = match number {
                    Number::Natural(number) => (number.min(max).cast_signed(), number <= max),
                    Number::Negative(number) => (number.max(min), number >= min),
                    Number::Float(_) => (0, false),
                };
                out.extend_from_slice(&nearest.to_le_bytes()[..bytes]);
                exact
            }
            Self::F32 => {
                let (nearest, exact) = number.as_f32();
                out.extend_from_slice(&nearest.to_le_bytes());
                exact
            }
            Self::F64 => {
                let (nearest, exact) = number.as_f64();
                out.extend_from_slice(&nearest.to_le_bytes());
                exact
            }
            Self::Compact(integer) => {
                let mut bytes = Vec::with_capacity(8);
                let exact = self.plain().write(number, &mut bytes);
                count::push(
                    match integer.is_signed() {
                        true => zigzag(LittleEndian::read_int(&bytes, bytes.len())),
                        false => LittleEndian::read_uint(&bytes, bytes.len()),
                    },
                    out,
                );
                exact
            }
        }
    }
}

impl From<i128> for Number {
    fn from(number: i128) -> Self {
        if number < 0 { Self::Negative(number) } else { Self::Natural(number.unsigned_abs()) }
    }
}

impl Number {
    /// A float as the integer that it is, if it is one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is lost shows when it is turned back"
    )]
    pub(super) fn whole(self) -> Self {
        let Self::Float(bits) = self else { return self };
        let number = f64::from_bits(bits);
        let whole = match number < 0.0 {
            true => Self::Negative(number as i128),
            false => Self::Natural(number as u128),
        };
        if whole.as_f64() == (bits, true) { whole } else { self }
    }

    fn magnitude(self) -> (bool, u128) {
        match self {
            Self::Natural(number) => (false, number),
            Self::Negative(number) => (true, number.unsigned_abs()),
            Self::Float(_) => (false, 0),
        }
    }

    /// Bits of the nearest `f64`, and whether it is the same number.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is lost is what is asked for"
    )]
    fn as_f64(self) -> (u64, bool) {
        if let Self::Float(bits) = self {
            return (bits, true);
        }
        let (negative, magnitude) = self.magnitude();
        let nearest = magnitude as f64;
        // 2^128 saturates to the largest of the integers, which it is not.
        let exact = nearest < 2_f64.powi(128) && nearest as u128 == magnitude;
        let nearest = if negative { -nearest } else { nearest };
        (nearest.to_bits(), exact)
    }

    /// The nearest `f32`, and whether it is exact; finite numbers stay finite.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is lost is what is asked for"
    )]
    fn as_f32(self) -> (u32, bool) {
        let Self::Float(bits) = self else {
            let (negative, magnitude) = self.magnitude();
            let nearest = (magnitude as f32).min(f32::MAX);
            let exact = nearest as u128 == magnitude;
            let nearest = if negative { -nearest } else { nearest };
            return (nearest.to_bits(), exact);
        };
        let number = f64::from_bits(bits);
        if number.is_nan() {
            let sign = ((bits >> 63) as u32) << 31;
            let payload = ((bits >> 29) as u32) & 0x007f_ffff;
            // One that had all its bits in what is cut off is still no number.
            let quiet = if payload == 0 { 0x0040_0000 } else { 0 };
            let is_whole = bits.trailing_zeros() >= 29;
            return (sign | 0x7f80_0000 | payload | quiet, is_whole);
        }
        let mut nearest = number as f32;
        if number.is_finite() {
            nearest = nearest.clamp(f32::MIN, f32::MAX);
        }
        (nearest.to_bits(), f64::from(nearest).to_bits() == bits)
    }
}

/// An `f32` as an `f64`, bit by bit where it is no number.
fn widened(bits: u32) -> u64 {
    let number = f32::from_bits(bits);
    if !number.is_nan() {
        return f64::from(number).to_bits();
    }
    let sign = u64::from(bits >> 31) << 63;
    sign | 0x7ff0_0000_0000_0000 | u64::from(bits & 0x007f_ffff) << 29
}

impl std::fmt::Display for Width {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsigned(bytes) => write!(f, "a u{}", 8 * bytes),
            Self::Signed(bytes) => write!(f, "an i{}", 8 * bytes),
            Self::F32 => f.write_str("an f32"),
            Self::F64 => f.write_str("an f64"),
            Self::Compact(integer) => write!(f, "a compact {}", integer.name()),
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Natural(number) => write!(f, "{number}"),
            Self::Negative(number) => write!(f, "{number}"),
            Self::Float(bits) => write!(f, "{:?}", f64::from_bits(*bits)),
        }
    }
}
