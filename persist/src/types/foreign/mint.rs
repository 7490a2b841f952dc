//! `mint`: vectors, points and angles are arrays of their parts, a quaternion `[x, y, z, w]`, and a matrix an array of
//! its columns, whatever its order in memory.
//!
//! The basis of Euler angles is part of their type alone.

use mint_0_5::*;

use super::stored_as;
use crate::codec::Persist;

macro_rules! vectors {
    ($($name:ident $len:literal)*) => {
        stored_as! {$(
            {T: Persist + Copy + Default} $name<T> as [T; $len]
                = Self::from([T::default(); $len]), |it| (*it).into() => Self::from;
        )*}
    };
}

vectors! { Vector2 2 Vector3 3 Vector4 4 Point2 2 Point3 3 Quaternion 4 }

stored_as! {
    {T: Persist + Copy + Default, B: 'static} EulerAngles<T, B> as [T; 3]
        = Self::from([T::default(); 3]), |it| [it.a, it.b, it.c] => Self::from;
}

macro_rules! matrices {
    ($($columns:ident $rows:ident [$height:literal; $width:literal])*) => {
        stored_as! {
            $(
                {T: Persist + Copy + Default} $columns<T> as [[T; $height]; $width]
                    = Self::from([[T::default(); $height]; $width]), |it| (*it).into() => Self::from;
                {T: Persist + Copy + Default} $rows<T> as [[T; $height]; $width]
                    = Self::from([[T::default(); $width]; $height]), |it| $columns::from(*it).into()
                    => |columns| $columns::from(columns).into();
            )*
        }
    };
}

matrices! {
    ColumnMatrix2 RowMatrix2 [2; 2]
    ColumnMatrix2x3 RowMatrix2x3 [2; 3]
    ColumnMatrix2x4 RowMatrix2x4 [2; 4]
    ColumnMatrix3x2 RowMatrix3x2 [3; 2]
    ColumnMatrix3 RowMatrix3 [3; 3]
    ColumnMatrix3x4 RowMatrix3x4 [3; 4]
    ColumnMatrix4x2 RowMatrix4x2 [4; 2]
    ColumnMatrix4x3 RowMatrix4x3 [4; 3]
    ColumnMatrix4 RowMatrix4 [4; 4]
}
