//! `rgb`: stored as red, green, blue and alpha, whatever their order in memory.

use rgb_0_8::{Bgr, Bgra, Rgb, Rgba};

use super::stored_as;
use crate::codec::Persist;

stored_as! {
    {T: Persist + Copy + Default} Rgb<T> as [T; 3]
        = Self::default(), |it| [it.r, it.g, it.b] => |[r, g, b]| Self { r, g, b };
    {T: Persist + Copy + Default} Bgr<T> as [T; 3]
        = Self::default(), |it| [it.r, it.g, it.b] => |[r, g, b]| Self { b, g, r };
    {T: Persist + Copy + Default} Rgba<T> as [T; 4]
        = Self::default(), |it| [it.r, it.g, it.b, it.a] => |[r, g, b, a]| Self { r, g, b, a };
    {T: Persist + Copy + Default} Bgra<T> as [T; 4]
        = Self::default(), |it| [it.r, it.g, it.b, it.a] => |[r, g, b, a]| Self { b, g, r, a };
}
