//! `ordered-float`: stored as the float.

use ordered_float::{NotNan, OrderedFloat};

use super::stored_as;

const NAN: &str = "NaN is no `NotNan`; use `OrderedFloat`, or the float itself";

stored_as! {
    OrderedFloat<f32> as f32 = Self(0.0), |it| it.0 => OrderedFloat;
    OrderedFloat<f64> as f64 = Self(0.0), |it| it.0 => OrderedFloat;
    NotNan<f32> as f32 = Self::default(), |it| it.into_inner() =>? |it| NotNan::new(it).map_err(|_| NAN);
    NotNan<f64> as f64 = Self::default(), |it| it.into_inner() =>? |it| NotNan::new(it).map_err(|_| NAN);
}
