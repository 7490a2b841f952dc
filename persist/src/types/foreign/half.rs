//! `half`: stored as an `f32`, which has every value of both types, so that a field may become wider. A load of an
//! `f32` as a `half` type rounds, and refuses a number that is too large.

use half::{bf16, f16};

use super::stored_as;

fn narrow<T>(wide: f32, narrow: T, is_finite: bool, name: &str) -> Result<T, String> {
    if wide.is_finite() && !is_finite {
        return Err(format!("{wide} is too large for a `{name}`; use `f32`"));
    }
    Ok(narrow)
}

stored_as! {
    f16 as f32 = f16::ZERO, |it| it.to_f32() =>? |wide| {
        let half = f16::from_f32(wide);
        narrow(wide, half, half.is_finite(), "f16")
    };
    bf16 as f32 = bf16::ZERO, |it| it.to_f32() =>? |wide| {
        let half = bf16::from_f32(wide);
        narrow(wide, half, half.is_finite(), "bf16")
    };
}
