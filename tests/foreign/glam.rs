//! One set of tests for every version.

use persist::Persist;
use persist::codec::decode;

use crate::support::{bytes_of, golden, is_stored_as, same_kind};

macro_rules! stored {
    ($to:ident $from:ident: $($foreign:ident $plain:ty,)*) => {$(
        is_stored_as::<$foreign, $plain>($foreign::$from, |it| it.$to());
    )*};
}

macro_rules! matrices {
    ($($foreign:ident $plain:ty,)*) => {$(
        is_stored_as::<$foreign, $plain>(
            |columns| $foreign::from_cols_array_2d(&columns),
            |it| it.to_cols_array_2d(),
        );
    )*};
}

macro_rules! newer {
    ($version:ident bytes) => {
        use ::$version::{I8Vec2, I8Vec3, I8Vec4, U8Vec2, U8Vec3, U8Vec4};
        stored!(to_array from_array: I8Vec2 [i8; 2], I8Vec3 [i8; 3], I8Vec4 [i8; 4],
            U8Vec2 [u8; 2], U8Vec3 [u8; 3], U8Vec4 [u8; 4],
        );
    };
    ($version:ident unsigned_sizes) => {
        use ::$version::{USizeVec2, USizeVec3, USizeVec4};
        stored!(to_array from_array: USizeVec2 [usize; 2], USizeVec3 [usize; 3], USizeVec4 [usize; 4],);
        same_kind(&USizeVec2::new(1, 2), &[1_u64, 2]);
    };
    ($version:ident signed_sizes) => {
        use ::$version::{Affine3, ISizeVec2, ISizeVec3, ISizeVec4};
        stored!(to_array from_array: ISizeVec2 [isize; 2], ISizeVec3 [isize; 3], ISizeVec4 [isize; 4],);
        matrices!(Affine3 [[f32; 3]; 4],);
    };
}

macro_rules! versions {
    ($($version:ident: $($newer:ident)*;)*) => {$(
        mod $version {
            use super::*;
            // Not all: it has modules that are called like the numbers.
            use ::$version::{
                Affine2, Affine3A, BVec2, BVec3, BVec3A, BVec4, BVec4A, DAffine2, DAffine3, DMat2, DMat3,
                DMat4, DQuat, DVec2, DVec3, DVec4, I16Vec2, I16Vec3, I16Vec4, I64Vec2, I64Vec3, I64Vec4,
                IVec2, IVec3, IVec4, Mat2, Mat3, Mat3A, Mat4, Quat, U16Vec2, U16Vec3, U16Vec4, U64Vec2,
                U64Vec3, U64Vec4, UVec2, UVec3, UVec4, Vec2, Vec3, Vec3A, Vec4,
            };

            #[test]
            fn vectors_are_their_parts() {
                golden(&Vec3::new(1.0, -2.0, 0.5), &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f]);
                golden(&IVec2::new(1, -2), &[1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
                golden(&U16Vec3::new(1, 2, 0x0304), &[1, 0, 2, 0, 4, 3]);
                golden(&DVec2::new(1.0, 2.0), &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x40]);
                golden(&BVec3::new(true, false, true), &[1, 0, 1]);
                golden(&BVec4A::new(true, false, true, true), &[1, 0, 1, 1]);
                stored!(to_array from_array: Vec2 [f32; 2], Vec3 [f32; 3], Vec3A [f32; 3], Vec4 [f32; 4],
                    DVec2 [f64; 2], DVec3 [f64; 3], DVec4 [f64; 4],
                    I16Vec2 [i16; 2], I16Vec3 [i16; 3], I16Vec4 [i16; 4],
                    U16Vec2 [u16; 2], U16Vec3 [u16; 3], U16Vec4 [u16; 4],
                    IVec2 [i32; 2], IVec3 [i32; 3], IVec4 [i32; 4],
                    UVec2 [u32; 2], UVec3 [u32; 3], UVec4 [u32; 4],
                    I64Vec2 [i64; 2], I64Vec3 [i64; 3], I64Vec4 [i64; 4],
                    U64Vec2 [u64; 2], U64Vec3 [u64; 3], U64Vec4 [u64; 4],
                );
                is_stored_as::<BVec2, [bool; 2]>(BVec2::from, |it| (*it).into());
                is_stored_as::<BVec3, [bool; 3]>(BVec3::from, |it| (*it).into());
                is_stored_as::<BVec4, [bool; 4]>(BVec4::from, |it| (*it).into());
                is_stored_as::<BVec3A, [bool; 3]>(BVec3A::from, |it| (*it).into());
                is_stored_as::<BVec4A, [bool; 4]>(BVec4A::from, |it| (*it).into());
                $(newer!($version $newer);)*
            }

            #[test]
            fn a_quaternion_is_x_y_z_w() {
                let turn = Quat::from_xyzw(0.0, 0.0, 0.6, 0.8);
                same_kind(&turn, &[0.0_f32, 0.0, 0.6, 0.8]);
                golden(&Quat::IDENTITY, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f]);
                stored!(to_array from_array: Quat [f32; 4], DQuat [f64; 4],);
            }

            #[test]
            fn a_matrix_is_its_columns() {
                same_kind(
                    &Mat2::from_cols(Vec2::new(1.0, 2.0), Vec2::new(3.0, 4.0)),
                    &[[1.0_f32, 2.0], [3.0, 4.0]],
                );
                same_kind(
                    &Affine2::from_translation(Vec2::new(5.0, 6.0)),
                    &[[1.0_f32, 0.0], [0.0, 1.0], [5.0, 6.0]],
                );
                let matrix = Mat4::from_translation(Vec3::new(7.0, 8.0, 9.0));
                let mut bytes = [[0_u8; 4]; 16];
                for one in [0, 5, 10, 15] {
                    bytes[one] = [0, 0, 0x80, 0x3f];
                }
                [bytes[12], bytes[13], bytes[14]] = [7.0_f32, 8.0, 9.0].map(f32::to_le_bytes);
                golden(&matrix, bytes.as_flattened());
                matrices!(Mat2 [[f32; 2]; 2], Mat3 [[f32; 3]; 3], Mat3A [[f32; 3]; 3], Mat4 [[f32; 4]; 4],
                    DMat2 [[f64; 2]; 2], DMat3 [[f64; 3]; 3], DMat4 [[f64; 4]; 4],
                    Affine2 [[f32; 2]; 3], Affine3A [[f32; 3]; 4], DAffine2 [[f64; 2]; 3], DAffine3 [[f64; 3]; 4],
                );
            }

            #[test]
            fn a_pod_struct_may_hold_them() {
                #[derive(Persist, Clone, Copy, Debug, PartialEq, bytemuck::NoUninit, bytemuck::AnyBitPattern)]
                #[repr(C)]
                #[persist(pod)]
                struct Particle {
                    position: Vec3,
                    velocity: [Vec3; 2],
                    cell: IVec2,
                    age: f32,
                }

                let particle = Particle {
                    position: Vec3::X,
                    velocity: [Vec3::Y, Vec3::NEG_Z],
                    cell: IVec2::new(3, -4),
                    age: 0.5,
                };
                let bytes = bytes_of(&vec![particle; 3]);
                assert_eq!(bytes.len(), 1 + 3 * 48);
                assert_eq!(decode::<Vec<Particle>>(&bytes).unwrap(), [particle; 3]);
                assert_eq!(bytes[1..13], bytes_of(&[1.0_f32, 0.0, 0.0]));
            }
        }
    )*};
}

versions! {
    glam_0_27: ;
    glam_0_29: bytes;
    glam: bytes unsigned_sizes;
    glam_0_32: bytes unsigned_sizes signed_sizes;
    glam_0_33: bytes unsigned_sizes signed_sizes;
    glam_0_34: bytes unsigned_sizes signed_sizes;
}
