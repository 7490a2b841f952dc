//! `half`, `fixed` and `ordered-float`.

use fixed::types::extra::{U4, U8, U16};
use fixed::{FixedI16, FixedI32, FixedU8, FixedU64};
use half::{bf16, f16};
use ordered_float::{NotNan, OrderedFloat};
use persist::codec::decode;
use proptest::prelude::*;

use crate::support::{bytes_of, golden, hostile, refuses, round_trip, round_trip_by, same_kind};

#[test]
fn a_half_is_stored_as_a_whole_float() {
    golden(&f16::from_f32(1.5), &[0, 0, 0xc0, 0x3f]);
    golden(&bf16::from_f32(-2.0), &[0, 0, 0, 0xc0]);
    same_kind(&f16::from_f32(1.5), &1.5_f32);
    hostile(&f16::from_f32(1.5));
    hostile(&bf16::from_f32(1.5));
}

#[test]
fn a_float_is_rounded_to_a_half_and_refused_beyond() {
    assert_eq!(decode::<f16>(&bytes_of(&0.1_f32)).unwrap(), f16::from_f32(0.1));
    assert_eq!(decode::<f16>(&bytes_of(&f32::INFINITY)).unwrap(), f16::INFINITY);
    assert!(decode::<f16>(&bytes_of(&f32::NAN)).unwrap().is_nan());
    refuses::<f16, _>(&70_000.0_f32, "70000 is too large for a `f16`; use `f32`");
    refuses::<bf16, _>(&f32::MAX, "is too large for a `bf16`");
}

#[test]
fn all_halves_come_back() {
    for bits in 0..=u16::MAX {
        let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
        let found: (f16, bf16) = decode(&bytes_of(&(half, brain))).unwrap();
        assert!(found.0 == half || half.is_nan() && found.0.is_nan(), "{bits:#x}");
        assert!(found.1 == brain || brain.is_nan() && found.1.is_nan(), "{bits:#x}");
    }
}

#[test]
fn a_fixed_number_is_its_bits() {
    golden(&FixedI32::<U16>::from_num(1.5), &[0, 0x80, 1, 0]);
    golden(&FixedU8::<U4>::from_num(2.25), &[0x24]);
    golden(&FixedI16::<U8>::from_num(-1), &[0, 0xff]);
    hostile(&FixedI32::<U16>::from_num(1.5));
    hostile(&FixedU64::<U16>::from_num(1.5));
}

/// The bits mean another number then.
#[test]
fn a_fixed_number_of_another_precision_is_refused() {
    let save = persist::to_vec(&FixedI32::<U16>::from_num(1.5)).unwrap();
    let error = persist::from_slice::<FixedI32<U8>>(&save).unwrap_err();
    assert!(error.to_string().contains("I16F16"), "{error}");
}

#[test]
fn an_ordered_float_is_its_float() {
    golden(&OrderedFloat(1.0_f32), &[0, 0, 0x80, 0x3f]);
    golden(&NotNan::new(-2.0_f64).unwrap(), &[0, 0, 0, 0, 0, 0, 0, 0xc0]);
    same_kind(&OrderedFloat(1.0_f64), &1.0_f64);
    round_trip(&OrderedFloat(f64::NAN));
    hostile(&OrderedFloat(1.0_f32));
    hostile(&OrderedFloat(1.0_f64));
    hostile(&NotNan::new(1.0_f32).unwrap());
    hostile(&NotNan::new(1.0_f64).unwrap());
}

#[test]
fn not_nan_refuses_nan() {
    refuses::<NotNan<f32>, _>(&f32::NAN, "NaN is no `NotNan`; use `OrderedFloat`");
    refuses::<NotNan<f64>, _>(&f64::NAN, "NaN is no `NotNan`; use `OrderedFloat`");
}

/// Such numbers are keys.
#[test]
fn ordered_floats_are_keys() {
    use std::collections::BTreeMap;
    let map = BTreeMap::from([(OrderedFloat(2.0_f32), 'b'), (OrderedFloat(-1.0), 'a')]);
    round_trip(&map);
}

proptest! {
    #[test]
    fn numbers_come_back(bits: i32, wide: u64, float: f64) {
        round_trip(&FixedI32::<U16>::from_bits(bits));
        round_trip(&FixedU64::<U16>::from_bits(wide));
        round_trip(&OrderedFloat(float));
        if let Ok(float) = NotNan::new(float) {
            round_trip_by(&float, |a, b| assert_eq!(a.to_bits(), b.to_bits()));
        }
    }
}
