use mint::*;

use crate::support::{golden, is_stored_as, same_kind};

#[test]
fn vectors_and_points_are_their_parts() {
    golden(&Vector3 { x: 1_u8, y: 2, z: 3 }, &[1, 2, 3]);
    golden(&Point2 { x: 1.0_f32, y: -2.0 }, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
    is_stored_as::<Vector2<f32>, [f32; 2]>(Vector2::from, |it| (*it).into());
    is_stored_as::<Vector3<f64>, [f64; 3]>(Vector3::from, |it| (*it).into());
    is_stored_as::<Vector4<i16>, [i16; 4]>(Vector4::from, |it| (*it).into());
    is_stored_as::<Point2<bool>, [bool; 2]>(Point2::from, |it| (*it).into());
    is_stored_as::<Point3<u64>, [u64; 3]>(Point3::from, |it| (*it).into());
}

#[test]
fn a_quaternion_is_x_y_z_w() {
    golden(&Quaternion { v: Vector3 { x: 1_u8, y: 2, z: 3 }, s: 4 }, &[1, 2, 3, 4]);
    is_stored_as::<Quaternion<f32>, [f32; 4]>(Quaternion::from, |it| (*it).into());
}

#[test]
fn angles_are_a_b_c() {
    golden(&EulerAngles::<u8, IntraXYZ>::from([1, 2, 3]), &[1, 2, 3]);
    is_stored_as::<EulerAngles<f32, ExtraZYX>, [f32; 3]>(EulerAngles::from, |it| {
        [it.a, it.b, it.c]
    });
}

/// Two rows of three, or three columns of two.
#[test]
fn a_matrix_is_its_columns_in_both_orders() {
    let rows = RowMatrix2x3::from([[1_u8, 2, 3], [4, 5, 6]]);
    golden(&rows, &[1, 4, 2, 5, 3, 6]);
    same_kind(&rows, &[[1_u8, 4], [2, 5], [3, 6]]);
    golden(&ColumnMatrix2x3::from(rows), &[1, 4, 2, 5, 3, 6]);
}

macro_rules! matrices {
    ($($columns:ident $rows:ident $plain:ty;)*) => {
        #[test]
        fn matrices_of_all_sizes() {
            $(
                is_stored_as::<$columns<_>, $plain>($columns::from, |it| (*it).into());
                is_stored_as::<$rows<_>, $plain>(
                    |columns| $columns::from(columns).into(),
                    |it| $columns::from(*it).into(),
                );
            )*
        }
    };
}

matrices! {
    ColumnMatrix2 RowMatrix2 [[f32; 2]; 2];
    ColumnMatrix2x3 RowMatrix2x3 [[f32; 2]; 3];
    ColumnMatrix2x4 RowMatrix2x4 [[f32; 2]; 4];
    ColumnMatrix3x2 RowMatrix3x2 [[f32; 3]; 2];
    ColumnMatrix3 RowMatrix3 [[f64; 3]; 3];
    ColumnMatrix3x4 RowMatrix3x4 [[u16; 3]; 4];
    ColumnMatrix4x2 RowMatrix4x2 [[f32; 4]; 2];
    ColumnMatrix4x3 RowMatrix4x3 [[i32; 4]; 3];
    ColumnMatrix4 RowMatrix4 [[f32; 4]; 4];
}
