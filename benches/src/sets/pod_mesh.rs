//! The mesh, whose rows are copied as blocks of memory.

use bytemuck::{Pod, Zeroable};
use persist::Persist;

#[derive(Clone, Debug, PartialEq, Persist)]
pub(crate) struct Mesh {
    triangles: Vec<Triangle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Persist, Pod, Zeroable)]
#[repr(C)]
#[persist(pod)]
struct Triangle {
    v0: Vector3,
    v1: Vector3,
    v2: Vector3,
    normal: Vector3,
}

#[derive(Clone, Copy, Debug, PartialEq, Persist, Pod, Zeroable)]
#[repr(C)]
#[persist(pod)]
struct Vector3 {
    x: f32,
    y: f32,
    z: f32,
}
