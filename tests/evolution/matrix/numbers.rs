//! Every width of numbers as every other, at the bounds of each.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "what is lost is what is asked for"
)]

use persist::save::LoadEvent;
use persist::{ErrorKind, Persist};

use super::harness::{CLAMP, LENIENT, check, row, try_load};
use persist_tests::support::forge;

/// The kinds by their tags, `u8` to `f64`.
const NAMES: [&str; 12] =
    ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64"];

const TAGS: [u8; 12] = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];

/// A whole number: its sign, and what it is without it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Whole(bool, u128);

fn width(kind: usize) -> usize {
    [1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 8][kind]
}

fn is_signed(kind: usize) -> bool {
    (5..10).contains(&kind)
}

fn is_float(kind: usize) -> bool {
    kind >= 10
}

/// The largest number, and the size of the least.
fn bounds(kind: usize) -> (u128, u128) {
    let bits = 8 * width(kind);
    match (is_signed(kind), bits) {
        (false, 128) => (u128::MAX, 0),
        (false, bits) => ((1 << bits) - 1, 0),
        (true, bits) => ((1 << (bits - 1)) - 1, 1 << (bits - 1)),
    }
}

/// Whole numbers at the bounds of every kind, as far as this one has them.
fn wholes(kind: usize) -> Vec<Whole> {
    let mut found = vec![Whole(false, 0), Whole(true, 1), Whole(false, 1)];
    for shift in [7, 8, 15, 16, 24, 31, 32, 53, 63, 64, 127] {
        let edge = 1_u128 << shift;
        for number in
            [edge - 1, edge, edge + 1, edge.wrapping_mul(2).wrapping_sub(2), edge + edge / 2]
        {
            found.extend([Whole(false, number), Whole(true, number)]);
        }
    }
    found.extend([Whole(false, u128::MAX), Whole(false, u128::MAX - (1 << 103) + 1)]);
    let (most, least) = bounds(kind);
    found.retain(
        |Whole(negative, size)| {
            if *negative { *size > 0 && *size <= least } else { *size <= most }
        },
    );
    found
}

fn bytes_of(Whole(negative, size): Whole, width: usize) -> Vec<u8> {
    let bits = if negative { (!size).wrapping_add(1) } else { size };
    bits.to_le_bytes()[..width].to_vec()
}

/// The bytes of floats worth a look.
fn floats(kind: usize) -> Vec<Vec<u8>> {
    if kind == 10 {
        let bits = [
            0,
            1 << 31,
            1,
            0x007f_ffff,
            0x0080_0000,
            0x3f80_0000,
            0x7f7f_ffff,
            0xff7f_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x7f80_0001,
            0xffff_ffff,
            0x3dcc_cccd,
        ];
        return bits.iter().map(|bits: &u32| bits.to_le_bytes().to_vec()).collect();
    }
    let bits = [
        0,
        1 << 63,
        1,
        0x3ff0_0000_0000_0000,
        0x3fb9_9999_9999_999a, // 0.1
        0x7fef_ffff_ffff_ffff, // the largest
        0x47ef_ffff_e000_0000, // the largest f32
        0x47ef_ffff_f000_0000, // between it and what would be the next
        0xc7ef_ffff_e000_0001,
        0x36a0_0000_0000_0000, // the least f32
        0x3690_0000_0000_0000, // half of it
        0x36a8_0000_0000_0000, // one and a half
        0x380f_ffff_c000_0000, // the largest subnormal f32
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        0x7ff0_0000_2000_0000, // a NaN that an f32 has
        0x7ff0_0000_0000_0001, // one that no f32 has
        0xfff8_0000_3000_0000,
        0x4170_0000_0000_0000, // 2^24
        0x4170_0000_1000_0000, // 2^24 + 1
    ];
    bits.iter().map(|bits: &u64| bits.to_le_bytes().to_vec()).collect()
}

enum Fate {
    Exact(Vec<u8>),
    /// The nearest there is.
    Lossy(Vec<u8>),
    /// Any NaN is the nearest.
    LostNan,
    Refused,
}

fn whole_to(number: Whole, to: usize) -> Fate {
    let Whole(negative, size) = number;
    if is_float(to) {
        let bits = 128 - size.leading_zeros() - if size == 0 { 0 } else { size.trailing_zeros() };
        let sign = if negative { -1.0 } else { 1.0 };
        let (exact, bytes) = if to == 10 {
            let nearest = sign as f32 * (size as f32).min(f32::MAX);
            (size == 0 || bits <= 24, nearest.to_le_bytes().to_vec())
        } else {
            (size == 0 || bits <= 53, (sign * size as f64).to_le_bytes().to_vec())
        };
        return if exact { Fate::Exact(bytes) } else { Fate::Lossy(bytes) };
    }
    let (most, least) = bounds(to);
    let nearest = Whole(negative, size.min(if negative { least } else { most }));
    let bytes = bytes_of(nearest, width(to));
    if nearest == number { Fate::Exact(bytes) } else { Fate::Lossy(bytes) }
}

fn float_to(bytes: &[u8], from: usize, to: usize) -> Fate {
    if from == to {
        return Fate::Exact(bytes.to_vec());
    }
    if !is_float(to) {
        return Fate::Refused;
    }
    if from == 10 {
        let bits = u32::from_le_bytes(bytes.try_into().unwrap());
        let number = f32::from_bits(bits);
        let wide = if number.is_nan() {
            // Sign, an exponent of ones, the same bits in front.
            u64::from(bits >> 31) << 63 | 0x7ff << 52 | u64::from(bits & 0x7f_ffff) << 29
        } else {
            f64::from(number).to_bits()
        };
        return Fate::Exact(wide.to_le_bytes().to_vec());
    }
    let bits = u64::from_le_bytes(bytes.try_into().unwrap());
    let number = f64::from_bits(bits);
    if number.is_nan() {
        if bits & 0x1fff_ffff != 0 {
            return Fate::LostNan;
        }
        let narrow = ((bits >> 63) as u32) << 31 | 0xff << 23 | (bits >> 29) as u32 & 0x7f_ffff;
        return Fate::Exact(narrow.to_le_bytes().to_vec());
    }
    let narrow = number as f32;
    let exact = f64::from(narrow).to_bits() == bits;
    let nearest = if number.is_finite() { narrow.clamp(-f32::MAX, f32::MAX) } else { narrow };
    let bytes = nearest.to_le_bytes().to_vec();
    if exact { Fate::Exact(bytes) } else { Fate::Lossy(bytes) }
}

macro_rules! kinds {
    ($($name:ident $ty:ident $tag:literal),*) => {$(
        #[derive(Persist)]
        #[persist(class = "Case")]
        struct $name {
            value: $ty,
            list: Vec<$ty>,
        }

        impl Numbers for $name {
            const KIND: usize = $tag;

            fn bytes(&self) -> (Vec<u8>, Vec<Vec<u8>>) {
                let list = self.list.iter().map(|number| number.to_le_bytes().to_vec()).collect();
                (self.value.to_le_bytes().to_vec(), list)
            }
        }
    )*};
}

trait Numbers: Persist {
    const KIND: usize;

    fn bytes(&self) -> (Vec<u8>, Vec<Vec<u8>>);
}

kinds!(OfU8 u8 0, OfU16 u16 1, OfU32 u32 2, OfU64 u64 3, OfU128 u128 4, OfI8 i8 5, OfI16 i16 6, OfI32 i32 7, OfI64 i64 8, OfI128 i128 9, OfF32 f32 10, OfF64 f64 11);

fn saved(from: usize, value: &[u8]) -> Vec<u8> {
    let kind = [TAGS[from]];
    let class = forge::class("Case", &[("value", &kind), ("list", &[0x11, kind[0]])]);
    let payload = [value, &[2], &vec![0; width(from)], value].concat();
    forge::save(&[class, forge::record(1, forge::ADDED, 1, &payload)])
}

fn compare<T: Numbers>() {
    let to = T::KIND;
    for (from, name) in NAMES.iter().enumerate() {
        let values: Vec<(Vec<u8>, Fate)> = if is_float(from) {
            let fate = |bytes: Vec<u8>| (bytes.clone(), float_to(&bytes, from, to));
            floats(from).into_iter().map(fate).collect()
        } else {
            let fate = |number| (bytes_of(number, width(from)), whole_to(number, to));
            wholes(from).into_iter().map(fate).collect()
        };
        for (value, fate) in values {
            let what = format!("{name} {value:?} to {}", NAMES[to]);
            let save = saved(from, &value);
            let strict = try_load::<T>(&save, LENIENT);
            let clamped = try_load::<T>(&save, CLAMP);
            let zero = vec![0; width(to)];
            match fate {
                Fate::Exact(expected) => {
                    for loaded in [strict, clamped] {
                        let (found, rows) = loaded.expect(&what);
                        let bytes = (expected.clone(), vec![zero.clone(), expected.clone()]);
                        assert_eq!(found.borrow().bytes(), bytes, "{what}");
                        let converted = |field| row(LoadEvent::Converted, "Case", field, 1);
                        let all = [converted("list"), converted("value")];
                        assert_eq!(rows, if from == to { &[][..] } else { &all }, "{what}");
                    }
                }
                Fate::Lossy(_) | Fate::LostNan => {
                    let error = strict.map(drop).expect_err(&what);
                    let to = NAMES[to];
                    check(&error, ErrorKind::InvalidValue, "value", &[*name, to, "convert"]);
                    let (found, rows) = clamped.expect(&what);
                    let (found, list) = found.borrow().bytes();
                    if let Fate::Lossy(expected) = &fate {
                        assert_eq!(found, *expected, "{what}");
                    } else {
                        let bits = u32::from_le_bytes(found[..].try_into().unwrap());
                        assert!(f32::from_bits(bits).is_nan(), "{what}");
                    }
                    assert_eq!(list, [zero, found], "{what}");
                    let expected = [
                        row(LoadEvent::Converted, "Case", "list", 1),
                        row(LoadEvent::Converted, "Case", "value", 1),
                        row(LoadEvent::Clamped, "Case", "list", 1),
                        row(LoadEvent::Clamped, "Case", "value", 1),
                    ];
                    assert_eq!(rows, expected, "{what}");
                }
                Fate::Refused => {
                    for loaded in [strict, clamped] {
                        let error = loaded.map(drop).expect_err(&what);
                        let words = [*name, NAMES[to], "#[persist(convert = "];
                        check(&error, ErrorKind::KindMismatch, "value", &words);
                    }
                }
            }
        }
    }
}

#[test]
fn numbers_are_what_they_were_or_refused_or_the_nearest() {
    compare::<OfU8>();
    compare::<OfU16>();
    compare::<OfU32>();
    compare::<OfU64>();
    compare::<OfU128>();
    compare::<OfI8>();
    compare::<OfI16>();
    compare::<OfI32>();
    compare::<OfI64>();
    compare::<OfI128>();
    compare::<OfF32>();
    compare::<OfF64>();
}
