//! What is refused, and what the error says.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use enum_map::{Enum, EnumMap, enum_map};
use fixedbitset::FixedBitSet;
use half::f16;
use mint::Vector2;
use nalgebra_0_35::{DMatrix, Rotation2, Similarity2, Unit, UnitComplex, UnitQuaternion};
use ordered_float::NotNan;
use persist::Persist;
use persist::codec::decode;
use persist::save::Registry;
use rand_chacha_0_10::ChaCha8Rng;
use rand_pcg::{Pcg32, Pcg64Mcg};
use rand_xoshiro_0_8::Xoshiro256PlusPlus;

use crate::support::bytes_of;

bitflags::bitflags! {
    struct Traits: u8 {
        const FLIES = 1;
    }
}

persist::bitflags!(Traits: u8);

fn refused<T: Persist>(stored: &impl Persist) -> String {
    decode::<T>(&bytes_of(stored)).err().unwrap().to_string()
}

#[derive(Persist, Clone, Copy, Default)]
#[persist(after_load = Hooked::loaded)]
struct Hooked(u8);

impl Hooked {
    fn loaded(&mut self) {}
}

#[derive(Persist)]
struct Holder {
    place: Vector2<Hooked>,
}

mod old {
    use super::*;

    #[derive(Persist, Enum, Clone, Copy)]
    pub(super) enum Slot {
        Hand,
    }

    #[derive(Persist)]
    pub(super) struct Hero {
        pub(super) wears: EnumMap<Slot, Rc<RefCell<u8>>>,
    }
}

#[derive(Persist, Enum, Clone, Copy)]
enum Slot {
    Hand,
    Head,
}

#[derive(Persist)]
struct Hero {
    wears: EnumMap<Slot, Rc<RefCell<u8>>>,
}

/// The default value of a new key holds a pointer.
fn new_key() -> String {
    let hero = old::Hero { wears: enum_map! { old::Slot::Hand => Rc::new(RefCell::new(7)) } };
    let save = persist::to_vec(&hero).unwrap();
    let loaded = persist::from_slice::<Hero>(&save);
    loaded.map(|hero| drop(hero.wears)).unwrap_err().to_string()
}

#[test]
fn messages() {
    let hooked = Registry::new().register::<Holder>().map(|_| ()).unwrap_err().to_string();
    let mut text = String::new();
    for message in [
        refused::<Traits>(&0x81_u8),
        refused::<FixedBitSet>(&(65_u64, vec![1_u64])),
        refused::<FixedBitSet>(&(3_u64, vec![9_u64])),
        refused::<f16>(&70_000.0_f32),
        refused::<NotNan<f32>>(&f32::NAN),
        refused::<UnitQuaternion<f32>>(&[0.0_f32; 4]),
        refused::<UnitComplex<f32>>(&[0.0_f32; 2]),
        refused::<Unit<nalgebra_0_35::Vector2<f32>>>(&[0.0_f32; 2]),
        refused::<Rotation2<f32>>(&[[1.0_f32; 2]; 2]),
        refused::<Similarity2<f32>>(&([0.0_f32; 2], [1.0_f32, 0.0], 0.0_f32)),
        refused::<DMatrix<u8>>(&(2_u64, 3_u64, vec![1_u8])),
        refused::<ChaCha8Rng>(&([0_u8; 32], 0_u64, 1_u128 << 68)),
        refused::<Pcg32>(&[1_u64, 2]),
        refused::<Pcg64Mcg>(&2_u128),
        refused::<Xoshiro256PlusPlus>(&[0_u64; 4]),
        hooked,
        new_key(),
    ] {
        writeln!(text, "{message}").unwrap();
    }
    insta::assert_snapshot!(text);
}
