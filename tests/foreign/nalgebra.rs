//! One set of tests for every version.

use crate::support::{golden, hostile, is_stored_as, refuses, round_trip, same_kind};

macro_rules! versions {
    ($($version:ident)*) => {$(
        mod $version {
            use super::*;
            use ::$version::*;

            #[test]
            fn vectors_and_points_are_their_parts() {
                golden(&Vector3::new(1_u8, 2, 3), &[1, 2, 3]);
                golden(&RowVector3::new(1_u8, 2, 3), &[1, 2, 3]);
                golden(&Point2::new(1.0_f32, -2.0), &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
                is_stored_as::<Vector2<f32>, [f32; 2]>(Vector2::from, |it| (*it).into());
                is_stored_as::<RowVector4<i16>, [i16; 4]>(RowVector4::from, |it| (*it).into());
                is_stored_as::<Point3<f64>, [f64; 3]>(Point3::from, |it| it.coords.into());
                is_stored_as::<Translation3<f32>, [f32; 3]>(Translation3::from, |it| it.vector.into());
                is_stored_as::<Scale2<f32>, [f32; 2]>(Scale2::from, |it| it.vector.into());
            }

            #[test]
            fn a_matrix_is_its_columns() {
                let matrix = Matrix2x3::new(1_u8, 2, 3, 4, 5, 6);
                golden(&matrix, &[1, 4, 2, 5, 3, 6]);
                same_kind(&matrix, &[[1_u8, 4], [2, 5], [3, 6]]);
                is_stored_as::<Matrix4<f32>, [[f32; 4]; 4]>(Matrix4::from, |it| (*it).into());
            }

            #[test]
            fn a_quaternion_is_x_y_z_w() {
                golden(&Quaternion::new(4_u8, 1, 2, 3), &[1, 2, 3, 4]);
                is_stored_as::<Quaternion<f32>, [f32; 4]>(
                    |[x, y, z, w]| Quaternion::new(w, x, y, z),
                    |it| it.coords.into(),
                );
                same_kind(&UnitQuaternion::<f32>::identity(), &[0.0_f32, 0.0, 0.0, 1.0]);
                same_kind(&UnitComplex::<f64>::identity(), &[1.0_f64, 0.0]);
                same_kind(&Vector2::<f32>::y_axis(), &[0.0_f32, 1.0]);
            }

            #[test]
            fn turns_come_back() {
                for angle in [0.0, 0.3, 1.0, 2.0, 3.1, -2.5] {
                    round_trip(&UnitQuaternion::<f32>::from_euler_angles(angle, -angle, 0.5));
                    round_trip(&UnitComplex::<f64>::new(angle.into()));
                    round_trip(&Rotation3::<f32>::from_euler_angles(angle, -angle, 0.5));
                    round_trip(&Rotation2::<f64>::new(angle.into()));
                    round_trip(&Unit::new_normalize(Vector3::new(angle, 1.0, 2.0)));
                    round_trip(&Isometry3::new(Vector3::new(1.0, 2.0, angle), Vector3::y()));
                    round_trip(&Isometry2::new(Vector2::new(1.0, 2.0), f64::from(angle)));
                    round_trip(&Similarity3::new(Vector3::x(), Vector3::y() * angle, 2.0));
                }
                hostile(&UnitQuaternion::<f32>::from_euler_angles(0.1, 0.2, 0.3));
                hostile(&Rotation3::<f32>::from_euler_angles(0.1, 0.2, 0.3));
                hostile(&Isometry3::new(Vector3::new(1.0_f32, 2.0, 3.0), Vector3::y()));
                hostile(&Similarity2::new(Vector2::new(1.0_f32, 2.0), 0.2, 3.0));
            }

            #[test]
            fn an_isometry_is_its_translation_and_its_turn() {
                let isometry = Isometry3::new(Vector3::new(1.0_f32, 2.0, 3.0), Vector3::zeros());
                same_kind(&isometry, &([1.0_f32, 2.0, 3.0], [0.0_f32, 0.0, 0.0, 1.0]));
                let matrix = IsometryMatrix2::from_parts([1.0_f32, 2.0].into(), Rotation2::identity());
                same_kind(&matrix, &([1.0_f32, 2.0], [[1.0_f32, 0.0], [0.0, 1.0]]));
                let similarity = Similarity2::new(Vector2::new(1.0_f32, 2.0), 0.0, 3.0);
                same_kind(&similarity, &([1.0_f32, 2.0], [1.0_f32, 0.0], 3.0_f32));
            }

            #[test]
            fn what_has_not_the_norm_1_is_refused() {
                refuses::<UnitQuaternion<f32>, _>(&[0.0_f32, 0.0, 0.0, 1.1], "a unit quaternion has not the norm 1");
                refuses::<UnitQuaternion<f32>, _>(&[f32::NAN, 0.0, 0.0, 1.0], "a unit quaternion");
                refuses::<UnitComplex<f64>, _>(&[0.0_f64, 0.0], "a unit complex number");
                refuses::<Unit<Vector2<f32>>, _>(&[0.5_f32, 0.5], "a unit vector has not the norm 1");
                let stretched = [[1.0_f32, 0.0], [0.0, 2.0]];
                refuses::<Rotation2<f32>, _>(&stretched, "the columns of a rotation are not");
                let mirrored = [[1.0_f32, 0.0], [0.0, -1.0]];
                refuses::<Rotation2<f32>, _>(&mirrored, "the columns of a rotation are not");
                let scaled = ([1.0_f32, 2.0], [1.0_f32, 0.0], 0.0_f32);
                refuses::<Similarity2<f32>, _>(&scaled, "a similarity cannot scale by 0");
            }

            /// What rounding adds up to in a long game is no reason to lose a save.
            #[test]
            fn a_norm_that_has_drifted_is_kept() {
                let drifted = [0.0_f32, 0.0, 0.0, 1.005];
                let save = persist::to_vec(&drifted).unwrap();
                let turn: UnitQuaternion<f32> = persist::from_slice(&save).unwrap();
                assert_eq!(turn.w, 1.005);
            }

            #[test]
            fn a_matrix_of_any_size_is_its_sizes_and_elements() {
                let matrix = DMatrix::from_row_slice(2, 3, &[1_u8, 2, 3, 4, 5, 6]);
                same_kind(&matrix, &(2_u64, 3_u64, vec![1_u8, 4, 2, 5, 3, 6]));
                let mut bytes = vec![2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0];
                bytes.extend([6, 1, 4, 2, 5, 3, 6]);
                golden(&matrix, &bytes);
                golden(&DVector::from_vec(vec![1_u8, 2]), &[2, 1, 2]);
                same_kind(&DVector::from_vec(vec![1_u8, 2]), &vec![1_u8, 2]);
                round_trip(&DMatrix::<f32>::zeros(0, 5));
                round_trip(&DVector::<f32>::from_fn(100, |at, _| at as f32));
                hostile(&matrix);
                hostile(&DVector::from_vec(vec![1_u16, 2]));
            }

            /// RUSTSEC-2021-0070: through serde such a matrix once read beyond its elements.
            #[test]
            fn a_matrix_of_another_size_than_its_elements_is_refused() {
                refuses::<DMatrix<u8>, _>(&(2_u64, 3_u64, vec![1_u8]), "2 rows and 3 columns cannot have 1 elements");
                refuses::<DMatrix<u8>, _>(&(1_u64 << 63, 2_u64, Vec::<u8>::new()), "cannot have 0 elements");
            }
        }
    )*};
}

versions! { nalgebra_0_33 nalgebra_0_34 nalgebra_0_35 }
