use bytemuck::{Pod, Zeroable};
use persist::Persist;

#[derive(Persist, Pod, Zeroable, Clone, Copy)]
#[repr(C)]
#[persist(pod)]
struct Sizes {
    width: u64,
    length: usize,
}

#[derive(Persist, Pod, Zeroable, Clone, Copy)]
#[repr(C)]
struct Plain(u32);

#[derive(Persist, Pod, Zeroable, Clone, Copy)]
#[repr(C)]
#[persist(pod)]
struct Nested {
    inner: [Plain; 2],
}

#[derive(Persist, Pod, Zeroable, Clone, Copy)]
#[repr(C)]
#[persist(pod)]
struct Empty {
    nothing: [u32; 0],
}

fn main() {}
