//! Compiles if the builds of the two libraries are of each other: see compile_errors.rs.

use bytemuck::{Pod, Zeroable};
use persist::Persist;

#[derive(Persist, Pod, Zeroable, Clone, Copy)]
#[repr(C)]
#[persist(pod)]
struct Size {
    width: u32,
}

fn main() {}
