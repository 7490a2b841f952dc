//! Values of every kind.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use persist::Persist;
use persist::codec::Buffer;
use rand::Rng;

use crate::random;

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Everything {
    is_on: bool,
    letter: char,
    unsigned: (u8, u16, u32, u64, u128),
    signed: (i8, i16, i32, i64, i128),
    bits: (u32, u64),
    text: String,
    list: Vec<Part>,
    bytes: Vec<u8>,
    line: VecDeque<i32>,
    maybe: Option<Box<Everything>>,
    by_name: BTreeMap<String, Part>,
    by_number: HashMap<u32, Vec<u16>>,
    set: HashSet<i64>,
    array: [f64; 3],
    time: Duration,
    #[persist(compact)]
    compact: (u64, i64, Vec<u32>),
    size: usize,
}

#[derive(Persist, Clone, Debug, PartialEq)]
enum Part {
    None,
    Place(f32, f32),
    Named { name: String, number: i16 },
}

fn text(random: &mut impl Rng) -> String {
    (0..random.gen_range(0..12)).map(|_| random.r#gen::<char>()).collect()
}

fn part(random: &mut impl Rng) -> Part {
    match random.gen_range(0..3) {
        0 => Part::None,
        1 => Part::Place(random.r#gen(), random.r#gen()),
        _ => Part::Named { name: text(random), number: random.r#gen() },
    }
}

fn many<R: Rng, T>(
    random: &mut R,
    make: fn(&mut R) -> T,
) -> impl Iterator<Item = T> + use<'_, R, T> {
    let count = random.gen_range(0..6);
    (0..count).map(move |_| make(random))
}

pub(crate) fn everything<R: Rng>(random: &mut R, depth: u32) -> Everything {
    let is_deeper = depth > 0 && random.r#gen();
    Everything {
        is_on: random.r#gen(),
        letter: random.r#gen(),
        unsigned: random.r#gen(),
        signed: random.r#gen(),
        bits: random.r#gen(),
        text: text(random),
        list: many(random, part).collect(),
        bytes: many(random, R::r#gen).collect(),
        line: many(random, R::r#gen).collect(),
        maybe: is_deeper.then(|| Box::new(everything(random, depth - 1))),
        by_name: many(random, |random| (text(random), part(random))).collect(),
        by_number: many(random, |random| (random.r#gen(), many(random, R::r#gen).collect()))
            .collect(),
        set: many(random, R::r#gen).collect(),
        array: random.r#gen(),
        time: Duration::new(random.r#gen(), random.gen_range(0..1_000_000_000)),
        compact: (random.r#gen(), random.r#gen(), many(random, R::r#gen).collect()),
        size: random.r#gen::<u32>() as usize,
    }
}

pub(crate) fn random_values_come_back() {
    let mut random = random(1);
    let mut buffer = Buffer::new();
    for _ in 0..300 {
        let value = everything(&mut random, 3);
        let save = persist::to_vec(&value).unwrap();
        assert_eq!(persist::from_slice::<Everything>(&save).unwrap(), value);
        let row = buffer.encode(&value).unwrap();
        let mut decoded = everything(&mut random, 1);
        persist::codec::decode_into(&mut decoded, row).unwrap();
        assert_eq!(decoded, value);
    }
}

pub(crate) fn numbers_are_little_endian() {
    let mut buffer = Buffer::new();
    assert_eq!(buffer.encode(&(0x0102_u16, 0x0304_0506_u32)).unwrap(), [2, 1, 6, 5, 4, 3]);
    assert_eq!(
        buffer.encode(&(-2_i64, 1.0_f32)).unwrap(),
        [0xfe, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0x80, 0x3f]
    );
    assert_eq!(buffer.encode(&vec![1_u16, 2]).unwrap(), [2, 1, 0, 2, 0]);
}
