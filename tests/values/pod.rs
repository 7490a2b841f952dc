//! Types that are copied as one block have the bytes of those that are not.

#![allow(clippy::unwrap_used, reason = "it is a test")]

use std::collections::VecDeque;

use bytemuck::{AnyBitPattern, NoUninit, Pod, Zeroable};
use persist::codec::{Buffer, decode, decode_into};
use persist::{Component, Persist, Saves, World};
use proptest::prelude::*;

#[derive(Persist, Pod, Zeroable, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[persist(pod)]
struct Vertex {
    position: [f32; 3],
    colour: u32,
}

impl Component for Vertex {}

#[derive(Persist, Pod, Zeroable, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[persist(pod)]
struct Triangle {
    corners: [Vertex; 3],
    id: i64,
    flags: [u8; 8],
}

/// Like [`Triangle`], coded field by field.
mod plain {
    use persist::Persist;

    #[derive(Persist, Clone, Debug, PartialEq)]
    pub(super) struct Vertex {
        pub(super) position: [f32; 3],
        pub(super) colour: u32,
    }

    #[derive(Persist, Clone, Debug, PartialEq)]
    pub(super) struct Triangle {
        pub(super) corners: [Vertex; 3],
        pub(super) id: i64,
        pub(super) flags: [u8; 8],
    }
}

impl Triangle {
    fn plain(&self) -> plain::Triangle {
        let corners =
            self.corners.map(|Vertex { position, colour }| plain::Vertex { position, colour });
        plain::Triangle { corners, id: self.id, flags: self.flags }
    }
}

/// A type of one byte, whose lists are aligned wherever they are.
#[derive(Persist, NoUninit, AnyBitPattern, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[persist(pod)]
struct Tile(u8);

/// More than what is kept in place elsewhere.
#[derive(Persist, NoUninit, AnyBitPattern, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[persist(pod)]
struct Chunk {
    heights: [i16; 1024],
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Level {
    /// Moves what follows to any alignment.
    name: String,
    first: Triangle,
    triangles: Vec<Triangle>,
    queue: VecDeque<Vertex>,
    tiles: Vec<Tile>,
    boxed: Box<[Vertex]>,
    chunk: Option<Chunk>,
    numbers: Vec<u64>,
}

fn vertex() -> impl Strategy<Value = Vertex> {
    let float = any::<f32>().prop_map(|x| if x.is_nan() { 0.0 } else { x });
    (proptest::array::uniform3(float), any::<u32>())
        .prop_map(|(position, colour)| Vertex { position, colour })
}

fn triangle() -> impl Strategy<Value = Triangle> {
    (proptest::array::uniform3(vertex()), any::<i64>(), any::<[u8; 8]>())
        .prop_map(|(corners, id, flags)| Triangle { corners, id, flags })
}

prop_compose! {
    fn level()(
        name in "[a-z]{0,9}",
        first in triangle(),
        triangles in prop::collection::vec(triangle(), 0..150),
        queue in prop::collection::vec_deque(vertex(), 0..9),
        tiles in prop::collection::vec(any::<u8>().prop_map(Tile), 0..300),
        boxed in prop::collection::vec(vertex(), 0..70),
        height in any::<Option<i16>>(),
        numbers in prop::collection::vec(any::<u64>(), 0..9),
    ) -> Level {
        let chunk = height.map(|height| Chunk { heights: [height; 1024] });
        Level { name, first, triangles, queue, tiles, boxed: boxed.into(), chunk, numbers }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn values_come_back_at_any_alignment(level in level(), shift in 0..8_usize) {
        let mut buffer = Buffer::new();
        let bytes = buffer.encode(&level).unwrap();
        let mut moved = vec![0; shift];
        moved.extend_from_slice(bytes);
        prop_assert_eq!(&decode::<Level>(&moved[shift..]).unwrap(), &level);
        let save = persist::to_vec(&level).unwrap();
        prop_assert_eq!(&persist::from_slice::<Level>(&save).unwrap(), &level);
    }

    #[test]
    fn the_bytes_are_those_of_the_fields(triangles in prop::collection::vec(triangle(), 0..70)) {
        let fields: Vec<_> = triangles.iter().map(Triangle::plain).collect();
        let (mut block, mut plain) = (Buffer::new(), Buffer::new());
        prop_assert_eq!(block.encode(&triangles).unwrap(), plain.encode(&fields).unwrap());
        prop_assert_eq!(
            persist::from_slice::<Vec<plain::Triangle>>(&persist::to_vec(&triangles).unwrap()).unwrap(),
            fields
        );
    }

    #[test]
    fn an_existing_list_takes_over_shorter_and_longer_ones(
        old in prop::collection::vec(triangle(), 0..40),
        new in prop::collection::vec(triangle(), 0..40),
    ) {
        let mut buffer = Buffer::new();
        let bytes = buffer.encode(&new).unwrap();
        let mut list = old;
        decode_into(&mut list, bytes).unwrap();
        prop_assert_eq!(list, new);
    }

    #[test]
    fn bytes_that_are_cut_short_are_refused(
        triangles in prop::collection::vec(triangle(), 1..70),
        cut in 1..100_usize,
    ) {
        let mut buffer = Buffer::new();
        let bytes = buffer.encode(&triangles).unwrap();
        let end = bytes.len().saturating_sub(cut);
        prop_assert!(decode::<Vec<Triangle>>(&bytes[..end]).is_err());
        let mut list = triangles.clone();
        prop_assert!(decode_into(&mut list, &bytes[..end]).is_err());
    }
}

#[test]
fn a_count_beyond_the_bytes_allocates_nothing() {
    // 2^56 elements, said in nine bytes.
    let bytes = [254, 0, 0, 0, 0, 0, 0, 1];
    let info = allocation_counter::measure(|| assert!(decode::<Vec<Chunk>>(&bytes).is_err()));
    assert!(info.bytes_max < 4096, "{} bytes", info.bytes_max);
}

/// An older type of [`Vertex`]: other fields, of other kinds and in another order.
mod older {
    use persist::Persist;

    #[derive(Persist)]
    pub(super) struct Vertex {
        pub(super) colour: u16,
        pub(super) weight: u8,
        pub(super) position: [f32; 3],
    }
}

#[test]
fn older_saves_are_converted() {
    let old: Vec<_> = (0..100_u16)
        .map(|i| older::Vertex { colour: i, weight: 1, position: [f32::from(i); 3] })
        .collect();
    let new: Vec<Vertex> = persist::from_slice(&persist::to_vec(&old).unwrap()).unwrap();
    assert_eq!(new.len(), 100);
    assert_eq!(new[99], Vertex { position: [99.0; 3], colour: 99 });
}

#[test]
fn components_of_a_world_may_be_blocks() {
    let mut world = World::new();
    for i in 0..300_u16 {
        let id = world.spawn("Vertex");
        world.attach(id, Vertex { position: [f32::from(i); 3], colour: 7 }).unwrap();
    }
    let save = persist::to_vec(&world).unwrap();
    let saves = Saves::new();
    saves.register_component::<Vertex>().unwrap();
    let loaded = saves.from_slice::<World>(&save).unwrap().into_inner();
    let found: Vec<f32> = loaded.query::<&Vertex>().map(|vertex| vertex.position[2]).collect();
    assert_eq!(found, (0..300_u16).map(f32::from).collect::<Vec<_>>());
}
