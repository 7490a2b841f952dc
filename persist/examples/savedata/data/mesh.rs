//! A triangle mesh: one long run of floats.

use persist::Persist;
use rand::Rng;
use rand_pcg::Lcg64Xsh32;

use super::all;

/// A whole mesh.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Mesh {
    pub triangles: Vec<Triangle>,
}

/// Three corners and the side that faces out. Not `repr(C)`, as in the suite.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Triangle {
    pub v0: Vector3,
    pub v1: Vector3,
    pub v2: Vector3,
    pub normal: Vector3,
}

/// A place or a direction.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Vector3 {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

/// Makes the 125 000 triangles.
pub fn generate() -> Mesh {
    let mut rng = super::rng();
    Mesh { triangles: all(&mut rng, 125_000, triangle) }
}

fn triangle(rng: &mut Lcg64Xsh32) -> Triangle {
    Triangle { v0: vector3(rng), v1: vector3(rng), v2: vector3(rng), normal: vector3(rng) }
}

fn vector3(rng: &mut Lcg64Xsh32) -> Vector3 {
    Vector3 { x: rng.r#gen(), y: rng.r#gen(), z: rng.r#gen() }
}
