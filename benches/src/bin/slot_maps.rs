//! Slot maps of slotmap as fields of serde, beside bincode: time to save and to load, bytes, and the most memory.
//!
//! The same slots as a list of types of ours show what a store of the names once, or of none, would take.
#![forbid(unsafe_code)]
#![allow(deprecated, reason = "saves of programs with hop slot maps are to load")]

use std::hint::black_box;

use cpu_time::ThreadTime;
use peak_alloc::PeakAlloc;
use persist::codec::{Buffer, decode};
use persist::{Persist, Saves};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slotmap::{DefaultKey, DenseSlotMap, HopSlotMap, SlotMap};

/// Both contenders pay for the counters.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const ROUNDS: usize = 15;

#[derive(Serialize, Deserialize, Persist, Clone, PartialEq)]
enum Sort {
    House,
    Shop { goods: u16, is_open: bool },
    Factory(u32),
    Road,
}

#[derive(Serialize, Deserialize, Persist, Clone, PartialEq)]
struct Building {
    sort: Sort,
    position: [f32; 3],
    rotation: f32,
    health: u16,
    workers: u32,
    built: u64,
    name: String,
    next: Option<DefaultKey>,
    residents: Vec<DefaultKey>,
    is_powered: bool,
}

/// A slot as slotmap shows it to serde.
#[derive(Serialize, Deserialize, Persist)]
struct Slot {
    value: Option<Building>,
    version: u32,
}

#[derive(Serialize, Deserialize, Persist)]
struct Slots(Vec<Slot>);

impl PartialEq for Slots {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().map(|slot| &slot.value).eq(other.0.iter().map(|slot| &slot.value))
    }
}

/// A city with a slot map for each sort of building. One building in sixteen was removed.
macro_rules! city {
    ($($city:ident: $map:ident, $fill:ident;)*) => {$(
        #[derive(Serialize, Deserialize, Persist)]
        struct $city(#[persist(serde)] $map<DefaultKey, Building>);

        impl PartialEq for $city {
            fn eq(&self, other: &Self) -> bool {
                self.0.iter().eq(other.0.iter())
            }
        }

        fn $fill(count: u32) -> $city {
            let mut random = Pcg64Mcg::seed_from_u64(7);
            let (mut map, mut keys) = ($map::new(), Vec::new());
            for number in 0..count {
                let key = map.insert(building(number, &keys, &mut random));
                keys.push(key);
                if random.gen_ratio(1, 16) {
                    map.remove(keys[random.gen_range(0..keys.len())]);
                }
            }
            $city(map)
        }
    )*};
}

city! {
    Basic: SlotMap, basic;
    Hop: HopSlotMap, hop;
    Dense: DenseSlotMap, dense;
}

fn building(number: u32, keys: &[DefaultKey], random: &mut Pcg64Mcg) -> Building {
    let sort = match random.gen_range(0..4) {
        0 => Sort::House,
        1 => Sort::Shop { goods: random.r#gen(), is_open: random.r#gen() },
        2 => Sort::Factory(random.gen_range(0..1 << 23)),
        _ => Sort::Road,
    };
    Building {
        sort,
        position: [random.r#gen(), 1.5, random.r#gen()],
        rotation: 0.5,
        health: random.r#gen(),
        workers: random.gen_range(0..256),
        built: random.gen_range(0..1 << 42),
        name: format!("House {number}"),
        next: keys.last().copied(),
        residents: keys.iter().rev().take(random.gen_range(0..8)).copied().collect(),
        is_powered: random.r#gen(),
    }
}

fn time(run: impl FnOnce()) -> f64 {
    let start = ThreadTime::now();
    run();
    start.elapsed().as_secs_f64() * 1e3
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn peak<T>(run: impl FnOnce() -> T) -> f64 {
    HEAP.reset_peak_usage();
    let base = HEAP.current_usage();
    black_box(run());
    (HEAP.peak_usage() - base) as f64 / 1e6
}

fn row(name: &str, what: &str, [rival, codec, whole]: [f64; 3]) {
    let ratios = [codec, whole].map(|time| time / rival);
    println!(
        "{name:6} {what}: bincode {rival:6.1} ms, codec {codec:6.1} ms ({:.2}), whole save {whole:6.1} ms ({:.2})",
        ratios[0], ratios[1]
    );
}

fn measure<T: Persist + PartialEq + Serialize + DeserializeOwned>(name: &str, value: &T) {
    let config = bincode::config::standard();
    let saves = Saves::new();
    let (mut buffer, mut rival, mut whole) = (Buffer::new(), Vec::new(), Vec::new());
    let (mut save, mut load): ([Vec<f64>; 3], [Vec<f64>; 3]) = Default::default();
    let encode = || bincode::serde::encode_to_vec(value, config).expect("it can be encoded");
    for _ in 0..ROUNDS {
        save[0].push(time(|| rival = encode()));
        save[1].push(time(|| drop(black_box(buffer.encode(value)))));
        save[2].push(time(|| whole = saves.to_vec(value).expect("it can be saved")));
        let bytes = buffer.encode(value).expect("it can be encoded");
        let mut loaded = [const { None }; 3];
        load[0].push(time(|| {
            loaded[0] = bincode::serde::decode_from_slice(&rival, config).ok().map(|it| it.0);
        }));
        load[1].push(time(|| loaded[1] = decode::<T>(bytes).ok()));
        load[2].push(time(|| {
            loaded[2] = saves.from_slice::<T>(&whole).ok().map(persist::Loaded::into_inner);
        }));
        assert!(loaded.iter().all(|it| it.as_ref() == Some(value)), "it came back otherwise");
    }
    row(name, "save", save.map(median));
    row(name, "load", load.map(median));
    let memory = [
        peak(encode),
        peak(|| persist::to_vec(value)),
        peak(|| bincode::serde::decode_from_slice::<T, _>(&rival, config)),
        peak(|| persist::from_slice::<T>(&whole)),
    ];
    println!(
        "       MB: bincode {:.1} save, {:.1} load; persist {:.1} save, {:.1} load; bytes {:.1} and {:.1}",
        memory[0],
        memory[2],
        memory[1],
        memory[3],
        rival.len() as f64 / 1e6,
        whole.len() as f64 / 1e6
    );
}

fn main() {
    const COUNT: u32 = 200_000;
    measure("basic", &basic(COUNT));
    measure("hop", &hop(COUNT));
    measure("dense", &dense(COUNT));
    let slots =
        basic(COUNT).0.into_iter().map(|(_, value)| Slot { value: Some(value), version: 1 });
    measure("typed", &Slots(slots.collect()));
}
