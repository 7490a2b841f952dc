//! Numbers of one width as those of another: exact, or not at all.

use byteorder::{ByteOrder, LittleEndian};

use super::KindSchema;
use crate::codec::compact::{unzigzag, zigzag};
use crate::codec::text::copy;
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

/// A number of any kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Natural(u128),
    /// Below zero.
    Negative(i128),
    /// By its bits, those of an `f32` widened.
    Float(u64),
}

/// How a number is in another kind.
pub(super) enum Fit {
    Exact,
    /// The nearest one has been written.
    Nearest,
}

impl KindSchema {
    /// True for two kinds of numbers if every number of this kind is one of the other, too.
    pub(crate) fn is_number_in(&self, other: &Self) -> bool {
        Width::of(self).zip(Width::of(other)).is_some_and(|(this, other)| this.fits(other))
    }
}

impl Width {
    pub(super) fn of(kind: &KindSchema) -> Option<Self> {
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

    /// True if [`widen`](Self::widen) makes numbers of this kind of the other's.
    pub(super) fn widens(self, from: Self) -> bool {
        match (from, self) {
            (Self::Unsigned(a), Self::Unsigned(b)) | (Self::Signed(a), Self::Signed(b)) => a <= b,
            (Self::Unsigned(a), Self::Signed(b)) => a < b,
            (Self::F32, Self::F64) => true,
            _ => false,
        }
    }

    /// Writes an integer of fewer bytes, or an `f32` as an `f64`; `wide` has as many as this kind.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "all bits of the sign are alike")]
    pub(super) fn widen(self, from: Self, bytes: &[u8], wide: &mut [u8]) {
        if let (Self::F32, Self::F64) = (from, self) {
            LittleEndian::write_u64(wide, widened(LittleEndian::read_u32(bytes)));
            return;
        }
        let is_negative = matches!(from, Self::Signed(_))
            && bytes.last().is_some_and(|highest| highest & 0x80 != 0);
        let sign = if is_negative { u64::MAX } else { 0 };
        // The next width is the usual one; a fill of few bytes is a call.
        match (bytes.len(), wide.len()) {
            (1, 2) => wide.copy_from_slice(&[bytes[0], sign.to_le_bytes()[0]]),
            (2, 4) => {
                let low = u32::from(LittleEndian::read_u16(bytes));
                LittleEndian::write_u32(wide, low | ((sign as u32) << 16));
            }
            (4, 8) => {
                let low = u64::from(LittleEndian::read_u32(bytes));
                LittleEndian::write_u64(wide, low | (sign << 32));
            }
            _ => {
                let (low, high) = wide.split_at_mut(bytes.len());
                copy(low, bytes);
                high.fill(sign.to_le_bytes()[0]);
            }
        }
    }

    /// Writes a number, or the nearest of this kind.
    pub(super) fn write(self, number: Number, out: &mut Vec<u8>) -> Fit {
        match self {
            Self::Unsigned(bytes) => {
                let most = u128::MAX >> (128 - 8 * bytes);
                let (nearest, exact) = match number {
                    Number::Natural(number) => (number.min(most), number <= most),
                    Number::Negative(_) => (0, false),
                    Number::Float(bits) => whole(f64::from_bits(bits), 0, most),
                };
                out.extend_from_slice(&nearest.to_le_bytes()[..bytes]);
                fit(exact)
            }
            Self::Signed(bytes) => {
                let most = u128::MAX >> (129 - 8 * bytes);
                let least = i128::MIN >> (128 - 8 * bytes);
                let (nearest, exact) = match number {
                    Number::Natural(number) => (number.min(most).cast_signed(), number <= most),
                    Number::Negative(number) => (number.max(least), number >= least),
                    Number::Float(bits) => {
                        let number = f64::from_bits(bits);
                        if number < 0.0 {
                            let (below, exact) = whole(-number, 0, least.unsigned_abs());
                            (below.wrapping_neg().cast_signed(), exact)
                        } else {
                            let (above, exact) = whole(number, 0, most);
                            (above.cast_signed(), exact)
                        }
                    }
                };
                out.extend_from_slice(&nearest.to_le_bytes()[..bytes]);
                fit(exact)
            }
            Self::F32 => {
                let (nearest, exact) = number.as_f32();
                out.extend_from_slice(&nearest.to_le_bytes());
                fit(exact)
            }
            Self::F64 => {
                let (nearest, exact) = number.as_f64();
                out.extend_from_slice(&nearest.to_le_bytes());
                fit(exact)
            }
            Self::Compact(integer) => {
                let start = out.len();
                let fit = self.plain().write(number, out);
                let count = if integer.is_signed() {
                    let bytes = &out[start..];
                    zigzag(LittleEndian::read_int(bytes, bytes.len()))
                } else {
                    let bytes = &out[start..];
                    LittleEndian::read_uint(bytes, bytes.len())
                };
                out.truncate(start);
                count::push(count, out);
                fit
            }
        }
    }
}

fn fit(exact: bool) -> Fit {
    if exact { Fit::Exact } else { Fit::Nearest }
}

/// The nearest whole number in a range; NaN is 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn whole(number: f64, least: u128, most: u128) -> (u128, bool) {
    let nearest = (number.round() as u128).clamp(least, most);
    let (back, exact) = Number::Natural(nearest).as_f64();
    (nearest, exact && back == number.to_bits())
}

impl From<i128> for Number {
    fn from(number: i128) -> Self {
        if number < 0 { Self::Negative(number) } else { Self::Natural(number.unsigned_abs()) }
    }
}

impl Number {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(from: Width, bytes: &[u8], to: Width) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let exact = matches!(to.write(from.read(bytes), &mut out), Fit::Exact);
        (out, exact)
    }

    #[test]
    fn what_does_not_fit_becomes_the_nearest() {
        let (u8, i8) = (Width::Unsigned(1), Width::Signed(1));
        let from = |number: i64| number.to_le_bytes();
        let wide = Width::Signed(8);
        for (number, unsigned, signed) in
            [(0, 0, 0), (127, 127, 127), (128, 128, 127), (255, 255, 127), (256, 255, 127)]
        {
            assert_eq!(convert(wide, &from(number), u8), (vec![unsigned], number < 256));
            assert_eq!(convert(wide, &from(number), i8), (vec![signed], number < 128));
        }
        assert_eq!(convert(wide, &from(-1), u8), (vec![0], false));
        assert_eq!(convert(wide, &from(-128), i8), (vec![0x80], true));
        assert_eq!(convert(wide, &from(-129), i8), (vec![0x80], false));
        let (u128, i128) = (Width::Unsigned(16), Width::Signed(16));
        assert_eq!(
            convert(u128, &u128::MAX.to_le_bytes(), i128),
            (i128::MAX.to_le_bytes().into(), false)
        );
        assert_eq!(
            convert(i128, &i128::MIN.to_le_bytes(), i128),
            (i128::MIN.to_le_bytes().into(), true)
        );
    }

    #[test]
    fn floats_are_exact_or_said_not_to_be() {
        let f64 = |number: f64| (number.to_le_bytes().to_vec(), Width::F64);
        let f32 = |number: f32| (number.to_le_bytes().to_vec(), Width::F32);
        for (from, to, exact) in [
            (f64(0.5), f32(0.5), true),
            (f64(-0.0), f32(-0.0), true),
            (f64(0.1), f32(0.1), false),
            (f64(1e300), f32(f32::MAX), false),
            (f64(f64::NEG_INFINITY), f32(f32::NEG_INFINITY), true),
            (f32(0.1), f64(f64::from(0.1_f32)), true),
        ] {
            assert_eq!(convert(from.1, &from.0, to.1), (to.0, exact));
        }
        let integers = Width::Unsigned(16);
        for (number, exact) in [(1 << 24, true), ((1 << 24) + 1, false), (u128::MAX, false)] {
            let (_, found) = convert(integers, &u128::to_le_bytes(number), Width::F32);
            assert_eq!(found, exact, "{number}");
        }
        for (number, exact) in [(1 << 53, true), ((1 << 53) + 1, false), (u128::MAX, false)] {
            let (_, found) = convert(integers, &u128::to_le_bytes(number), Width::F64);
            assert_eq!(found, exact, "{number}");
        }
    }

    #[test]
    fn every_nan_keeps_its_bits_there_and_back() {
        for bits in [0x7fc0_0000_u32, 0x7f80_0001, 0xffff_ffff, 0xff80_1234] {
            let (wide, exact) = convert(Width::F32, &bits.to_le_bytes(), Width::F64);
            assert!(exact);
            assert_eq!(convert(Width::F64, &wide, Width::F32), (bits.to_le_bytes().into(), true));
        }
        let (narrow, exact) =
            convert(Width::F64, &0x7ff0_0000_0000_0001_u64.to_le_bytes(), Width::F32);
        assert!(!exact);
        assert!(f32::from_bits(LittleEndian::read_u32(&narrow)).is_nan());
    }
}
