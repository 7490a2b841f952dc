//! `nalgebra`: vectors, points and translations are arrays of their parts, quaternions `[x, y, z, w]`, complex numbers
//! `[re, im]`, and matrices arrays of their columns. An isometry is its translation and its rotation. Vectors and
//! matrices whose size is known at run time are lists; a matrix also has its numbers of rows and columns first.
//!
//! A value that must have the norm 1 is refused if the norm is off by one percent, which no sum of rounding errors
//! reaches.

use crate::codec::{Decoder, Fail};
use crate::{Error, ErrorKind};

/// Largest deviation from 1 of the square of a norm, and from 0 of a number that must be 0.
const TOLERANCE: f64 = 0.02;

fn no_unit(what: &str) -> String {
    format!("{what} has not the norm 1; normalize it before it is saved")
}

#[cold]
fn refuse_size(rows: usize, columns: usize, len: usize, input: &mut Decoder<'_>) -> Fail {
    let message =
        format!("a matrix of {rows} rows and {columns} columns cannot have {len} elements");
    input.refuse(Error::new(ErrorKind::InvalidValue, message))
}

macro_rules! nalgebra {
    ($($feature:literal $version:ident;)*) => {$(
        #[cfg(feature = $feature)]
        mod $version {
            use $version::*;

            use super::{TOLERANCE, no_unit, refuse_size};
            use crate::codec::{
                Decoder, Encoder, Fail, Generic, Layout, Persist, Pointee, Prototypes, Stop,
                TypeSet,
            };
            use crate::reflect::Kind;
            use crate::types::foreign::{
                StoredAs, persist_through, reach_stored, stored_as,
            };
            use crate::types::sequence;

            /// True if a number is within the tolerance; a NaN is not.
            fn is_near<T: RealField>(number: T, other: T) -> bool {
                (number - other).abs() <= convert(TOLERANCE)
            }

            /// Returns the kind of a matrix; for a single row or column that of a vector.
            fn kind<const R: usize, const C: usize>(
                part: fn() -> Kind,
                column: fn() -> Kind,
            ) -> Kind {
                if C == 1 {
                    Kind::Array(part, R)
                } else if R == 1 {
                    Kind::Array(part, C)
                } else {
                    Kind::Array(column, C)
                }
            }

            fn rotation<T: RealField + Copy, const D: usize>(
                columns: [[T; D]; D],
                determinant: fn(&SMatrix<T, D, D>) -> T,
            ) -> Result<Rotation<T, D>, &'static str> {
                let matrix = SMatrix::from_array_storage(ArrayStorage(columns));
                let product = matrix.transpose() * matrix;
                let expected = SMatrix::<T, D, D>::identity();
                let mut pairs = product.iter().zip(&expected);
                if !pairs.all(|(a, b)| is_near(*a, *b)) || determinant(&matrix) < T::zero() {
                    return Err("the columns of a rotation are not at right angles and of length 1, or mirror");
                }
                Ok(Rotation::from_matrix_unchecked(matrix))
            }

            impl<T, const R: usize, const C: usize> StoredAs for SMatrix<T, R, C>
            where
                T: Persist + Scalar + Copy + Default,
            {
                type Stored = [[T; R]; C];

                fn kind() -> Kind {
                    kind::<R, C>(T::persist_kind, <[T; R]>::persist_kind)
                }

                fn compact_kind() -> Kind {
                    kind::<R, C>(T::__compact_kind, <[T; R]>::__compact_kind)
                }

                fn empty() -> Self {
                    Self::from_element(T::default())
                }

                #[inline(always)]
                fn store(&self) -> [[T; R]; C] {
                    self.data.0
                }

                #[inline(always)]
                fn restore(
                    columns: [[T; R]; C],
                ) -> Result<Self, impl std::fmt::Display> {
                    Ok::<_, std::convert::Infallible>(Self::from_array_storage(ArrayStorage(columns)))
                }
            }

            persist_through! {
                {T: Persist + Scalar + Copy + Default, const R: usize, const C: usize} SMatrix<T, R, C>;
            }

            stored_as! {
                {T: Persist + Scalar + Copy + Default, const D: usize} OPoint<T, Const<D>> as [T; D]
                    = Self::from([T::default(); D]), |it| it.coords.into() => Self::from;
                {T: Persist + Scalar + Copy + Default, const D: usize} Translation<T, D> as [T; D]
                    = Self::from([T::default(); D]), |it| it.vector.into() => Self::from;
                {T: Persist + Scalar + Copy + Default, const D: usize} Scale<T, D> as [T; D]
                    = Self::from([T::default(); D]), |it| it.vector.into() => Self::from;
                {T: Persist + Scalar + Copy + Default} Quaternion<T> as [T; 4]
                    = Quaternion { coords: [T::default(); 4].into() }, |it| it.coords.into()
                    => |parts| Quaternion { coords: parts.into() };

                {T: Persist + RealField + Copy} UnitComplex<T> as [T; 2]
                    = Self::identity(), |it| [it.re, it.im] =>? |[re, im]| {
                        let complex = Complex { re, im };
                        if is_near(re * re + im * im, T::one()) {
                            Ok(Unit::new_unchecked(complex))
                        } else {
                            Err(no_unit("a unit complex number"))
                        }
                    };
                {T: Persist + RealField + Copy + Default} UnitQuaternion<T> as [T; 4]
                    = Self::identity(), |it| it.coords.into() =>? |parts| {
                        let quaternion = Quaternion { coords: parts.into() };
                        if is_near(quaternion.coords.norm_squared(), T::one()) {
                            Ok(Unit::new_unchecked(quaternion))
                        } else {
                            Err(no_unit("a unit quaternion"))
                        }
                    };
                {T: Persist + RealField + Copy + Default, const D: usize} Unit<SVector<T, D>> as [T; D]
                    = {
                        let mut axis = SVector::from_element(T::zero());
                        if D > 0 {
                            axis[0] = T::one();
                        }
                        Unit::new_unchecked(axis)
                    }, |it| it.into_inner().into() =>? |parts| {
                        let vector = SVector::from(parts);
                        if is_near(vector.norm_squared(), T::one()) {
                            Ok(Unit::new_unchecked(vector))
                        } else {
                            Err(no_unit("a unit vector"))
                        }
                    };
                {T: Persist + RealField + Copy + Default} Rotation2<T> as [[T; 2]; 2]
                    = Self::identity(), |it| it.matrix().data.0
                    =>? |columns| rotation(columns, Matrix2::determinant);
                {T: Persist + RealField + Copy + Default} Rotation3<T> as [[T; 3]; 3]
                    = Self::identity(), |it| it.matrix().data.0
                    =>? |columns| rotation(columns, Matrix3::determinant);
                {
                    T: Persist + RealField + Copy + Default,
                    R: Persist + AbstractRotation<T, D> + Copy,
                    const D: usize,
                } Isometry<T, R, D> as ([T; D], R)
                    = Self::identity(), |it| (it.translation.vector.into(), it.rotation)
                    => |(translation, rotation)| Self::from_parts(translation.into(), rotation);
                {
                    T: Persist + RealField + Copy + Default,
                    R: Persist + AbstractRotation<T, D> + Copy,
                    const D: usize,
                } Similarity<T, R, D> as ([T; D], R, T)
                    = Self::identity(),
                    |it| (it.isometry.translation.vector.into(), it.isometry.rotation, it.scaling())
                    =>? |(translation, rotation, scaling)| {
                        if scaling == T::zero() {
                            return Err("a similarity cannot scale by 0");
                        }
                        Ok(Self::from_parts(translation.into(), rotation, scaling))
                    };
            }

            #[diagnostic::do_not_recommend]
            impl<T: Persist + Scalar> Persist for DVector<T> {
                const __LAYOUT: Layout = Layout { leaf: true, ..Layout::new::<Self>() };

                fn persist_kind() -> Kind {
                    Kind::List(T::persist_kind)
                }

                fn __reach(types: &mut TypeSet) {
                    reach_stored::<T>(types);
                }

                fn persist_empty(_: &Prototypes<'_>) -> crate::Result<Self> {
                    Ok(Self::from_vec(Vec::new()))
                }

                fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                    sequence::encode(self.as_slice(), out)
                }

                fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
                    input.value().map(Self::from_vec)
                }
            }

            impl<T: Persist + Scalar> Pointee for DVector<T> {
                type As = Self;
            }

            #[diagnostic::do_not_recommend]
            impl<T: Persist + Scalar> Persist for DMatrix<T> {
                const __LAYOUT: Layout = Layout {
                    min: <(usize, usize, Vec<T>)>::MIN,
                    leaf: true,
                    ..Layout::new::<Self>()
                };

                fn persist_kind() -> Kind {
                    <(usize, usize, Vec<T>)>::persist_kind()
                }

                fn __reach(types: &mut TypeSet) {
                    reach_stored::<T>(types);
                }

                fn persist_empty(_: &Prototypes<'_>) -> crate::Result<Self> {
                    Ok(Self::from_vec(0, 0, Vec::new()))
                }

                fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                    out.value(&self.nrows())?;
                    out.value(&self.ncols())?;
                    sequence::encode(self.as_slice(), out)
                }

                fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
                    let (rows, columns, items): (usize, usize, Vec<T>) = input.value()?;
                    if rows.checked_mul(columns) != Some(items.len()) {
                        return Err(refuse_size(rows, columns, items.len(), input));
                    }
                    Ok(Self::from_vec(rows, columns, items))
                }
            }

            impl<T: Persist + Scalar> Pointee for DMatrix<T> {
                type As = Self;
            }
        }
    )*};
}

nalgebra! {
    "nalgebra-0_33" nalgebra_0_33;
    "nalgebra-0_34" nalgebra_0_34;
    "nalgebra-0_35" nalgebra_0_35;
}
