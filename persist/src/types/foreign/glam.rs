//! `glam`: a vector is an array of its parts, a quaternion `[x, y, z, w]`, a matrix an array of its columns. An affine
//! map is an array of columns too; the last one is the translation. Types without padding are copied as a block, and
//! may be fields of `pod` structs.

use super::{block_as, stored_as};

macro_rules! vectors {
    ($glam:ident: $($name:ident [$part:ident; $len:literal])*) => {
        block_as! {$(
            $glam::$name as [$part; $len]
                = $glam::$name::default(), |it| it.to_array() => $glam::$name::from_array;
        )*}
    };
}

macro_rules! matrices {
    ($glam:ident: $($name:ident [$part:ident; $rows:literal; $columns:literal])*) => {
        block_as! {$(
            $glam::$name as [[$part; $rows]; $columns]
                = $glam::$name::IDENTITY, |it| it.to_cols_array_2d()
                => |columns| $glam::$name::from_cols_array_2d(&columns);
        )*}
    };
}

/// Like `vectors`, for types with padding in memory, or with other bytes than their memory.
macro_rules! apart {
    ($glam:ident: $($name:ident [$part:ident; $len:literal])*) => {
        stored_as! {$(
            $glam::$name as [$part; $len]
                = $glam::$name::default(), |it| (*it).into() => $glam::$name::from;
        )*}
    };
}

/// Like `matrices`, for types with padding in memory.
macro_rules! matrices_apart {
    ($glam:ident: $($name:ident [$part:ident; $rows:literal; $columns:literal])*) => {
        stored_as! {$(
            $glam::$name as [[$part; $rows]; $columns]
                = $glam::$name::IDENTITY, |it| it.to_cols_array_2d()
                => |columns| $glam::$name::from_cols_array_2d(&columns);
        )*}
    };
}

/// Implements the types of one version, with those that older versions lack.
macro_rules! glam {
    ($glam:ident $($more:ident)*) => {
        vectors! { $glam:
            Vec2 [f32; 2] Vec3 [f32; 3] Vec4 [f32; 4] Quat [f32; 4]
            DVec2 [f64; 2] DVec3 [f64; 3] DVec4 [f64; 4] DQuat [f64; 4]
            I16Vec2 [i16; 2] I16Vec3 [i16; 3] I16Vec4 [i16; 4]
            U16Vec2 [u16; 2] U16Vec3 [u16; 3] U16Vec4 [u16; 4]
            IVec2 [i32; 2] IVec3 [i32; 3] IVec4 [i32; 4]
            UVec2 [u32; 2] UVec3 [u32; 3] UVec4 [u32; 4]
            I64Vec2 [i64; 2] I64Vec3 [i64; 3] I64Vec4 [i64; 4]
            U64Vec2 [u64; 2] U64Vec3 [u64; 3] U64Vec4 [u64; 4]
        }
        matrices! { $glam:
            Mat2 [f32; 2; 2] Mat3 [f32; 3; 3] Mat4 [f32; 4; 4]
            DMat2 [f64; 2; 2] DMat3 [f64; 3; 3] DMat4 [f64; 4; 4]
        }
        apart! { $glam:
            Vec3A [f32; 3]
            BVec2 [bool; 2] BVec3 [bool; 3] BVec4 [bool; 4] BVec3A [bool; 3] BVec4A [bool; 4]
        }
        matrices_apart! { $glam:
            Mat3A [f32; 3; 3]
            Affine2 [f32; 2; 3] Affine3A [f32; 3; 4] DAffine2 [f64; 2; 3] DAffine3 [f64; 3; 4]
        }
        $($more!($glam);)*
    };
}

#[allow(unused_macros, reason = "not every version has them")]
macro_rules! bytes {
    ($glam:ident) => {
        vectors! { $glam:
            I8Vec2 [i8; 2] I8Vec3 [i8; 3] I8Vec4 [i8; 4]
            U8Vec2 [u8; 2] U8Vec3 [u8; 3] U8Vec4 [u8; 4]
        }
    };
}

#[allow(unused_macros, reason = "not every version has them")]
macro_rules! usizes {
    ($glam:ident) => {
        apart! { $glam: USizeVec2 [usize; 2] USizeVec3 [usize; 3] USizeVec4 [usize; 4] }
    };
}

#[allow(unused_macros, reason = "not every version has them")]
macro_rules! isizes {
    ($glam:ident) => {
        apart! { $glam: ISizeVec2 [isize; 2] ISizeVec3 [isize; 3] ISizeVec4 [isize; 4] }
        matrices_apart! { $glam: Affine3 [f32; 3; 4] }
    };
}

#[cfg(feature = "glam-0_27")]
glam!(glam_0_27);

#[cfg(feature = "glam-0_29")]
glam!(glam_0_29 bytes);

#[cfg(feature = "glam-0_30")]
glam!(glam_0_30 bytes usizes);

#[cfg(feature = "glam-0_32")]
glam!(glam_0_32 bytes usizes isizes);

#[cfg(feature = "glam-0_33")]
glam!(glam_0_33 bytes usizes isizes);

#[cfg(feature = "glam-0_34")]
glam!(glam_0_34 bytes usizes isizes);
