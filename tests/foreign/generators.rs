//! Random generators continue where they were.

use std::fmt::Debug;

use persist::Persist;

use crate::support::{bytes_of, golden, hostile, refuses, round_trip_by};

/// A generator that has given some numbers gives the same next ones after a load.
fn continues<G, N>(mut generator: G, next: fn(&mut G) -> N)
where
    G: Persist + Clone,
    N: Debug + PartialEq,
{
    for taken in 0..70 {
        round_trip_by(&generator, |found, saved| {
            let (mut found, mut saved) = (found.clone(), saved.clone());
            for _ in 0..70 {
                assert_eq!(next(&mut found), next(&mut saved), "after {taken} numbers");
            }
        });
        next(&mut generator);
    }
    hostile(&generator);
}

#[test]
fn fastrand_continues() {
    golden(&fastrand::Rng::with_seed(7), &[7, 0, 0, 0, 0, 0, 0, 0]);
    continues(fastrand::Rng::with_seed(7), |it| it.u64(..));
}

macro_rules! chacha {
    ($($version:ident $core:ident)*) => {$(
        mod $version {
            use super::*;
            use ::$version::rand_core::{$core, SeedableRng};
            use ::$version::{ChaCha8Rng, ChaCha12Rng, ChaCha20Rng};

            #[test]
            fn it_continues() {
                continues(ChaCha8Rng::seed_from_u64(1), |it| it.next_u32());
                continues(ChaCha12Rng::seed_from_u64(1), |it| (it.next_u32(), it.next_u64()));
                let mut generator = ChaCha20Rng::seed_from_u64(1);
                generator.set_stream(9);
                continues(generator, |it| it.next_u64());
            }

            #[test]
            fn it_is_seed_stream_and_position() {
                let mut generator = ChaCha8Rng::from_seed([3; 32]);
                generator.set_stream(2);
                generator.set_word_pos(0x105);
                let mut bytes = vec![3; 32];
                bytes.extend([2, 0, 0, 0, 0, 0, 0, 0]);
                bytes.extend([5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                assert_eq!(bytes_of(&generator), bytes);
                let beyond = ([0_u8; 32], 0_u64, 1_u128 << 68);
                refuses::<ChaCha8Rng, _>(&beyond, "a ChaCha stream has 2^68 words");
            }
        }
    )*};
}

chacha! { rand_chacha_0_3 RngCore rand_chacha_0_9 RngCore rand_chacha_0_10 Rng }

macro_rules! pcg {
    ($($version:ident $core_of:ident $core:ident $($dxsm:ident)?;)*) => {$(
        mod $version {
            use super::*;
            use ::$core_of::rand_core::$core;
            use ::$version::{Pcg32, Pcg64, Pcg64Mcg};

            #[test]
            fn it_continues() {
                continues(Pcg32::new(1, 2), |it| it.next_u32());
                continues(Pcg64::new(1, 2), |it| it.next_u64());
                continues(Pcg64Mcg::new(1), |it| it.next_u64());
                $(continues(::$version::$dxsm::new(1, 2), |it| it.next_u64());)?
            }

            #[test]
            fn it_is_state_and_increment() {
                // The steps of the reference implementation.
                let increment = (2_u64 << 1) | 1;
                let state = 1_u64.wrapping_add(increment)
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(increment);
                golden(&Pcg32::new(1, 2), &bytes_of(&[state, increment]));
                assert_eq!(bytes_of(&Pcg64::new(1, 2)).len(), 32);
                golden(&Pcg64Mcg::new(4), &bytes_of(&5_u128));
                refuses::<Pcg32, _>(&[1_u64, 2], "the increment of a PCG generator is even");
                refuses::<Pcg64, _>(&[1_u128, 2], "the increment of a PCG generator is even");
                refuses::<Pcg64Mcg, _>(&2_u128, "the state of a PCG generator is even");
            }
        }
    )*};
}

pcg! {
    rand_pcg_0_3 rand_chacha_0_3 RngCore;
    rand_pcg rand_pcg RngCore Lcg128CmDxsm64;
    rand_pcg_0_10 rand_pcg_0_10 Rng Lcg128CmDxsm64;
}

macro_rules! xoshiro {
    ($($version:ident $core:ident)*) => {$(
        mod $version {
            use super::*;
            use ::$version::rand_core::{$core, SeedableRng};
            use ::$version::*;

            #[test]
            fn it_continues() {
                continues(SplitMix64::seed_from_u64(1), |it| it.next_u64());
                continues(Xoroshiro64Star::seed_from_u64(1), |it| it.next_u64());
                continues(Xoroshiro64StarStar::seed_from_u64(1), |it| it.next_u64());
                continues(Xoroshiro128Plus::seed_from_u64(1), |it| it.next_u64());
                continues(Xoroshiro128PlusPlus::seed_from_u64(1), |it| it.next_u64());
                continues(Xoroshiro128StarStar::seed_from_u64(1), |it| it.next_u64());
                continues(Xoshiro128Plus::seed_from_u64(1), |it| it.next_u64());
                continues(Xoshiro128PlusPlus::seed_from_u64(1), |it| it.next_u64());
                continues(Xoshiro128StarStar::seed_from_u64(1), |it| it.next_u64());
                continues(Xoshiro256Plus::seed_from_u64(1), |it| it.next_u64());
                continues(Xoshiro256PlusPlus::seed_from_u64(1), |it| it.next_u64());
                continues(Xoshiro256StarStar::seed_from_u64(1), |it| it.next_u64());
                continues(Xoshiro512Plus::seed_from_u64(1), |it| it.next_u64());
                continues(Xoshiro512PlusPlus::seed_from_u64(1), |it| it.next_u64());
                continues(Xoshiro512StarStar::seed_from_u64(1), |it| it.next_u64());
            }

            /// The words of the seed, in their order.
            #[test]
            fn it_is_its_words() {
                let seed: [u8; 32] = std::array::from_fn(|at| at as u8);
                assert_eq!(bytes_of(&Xoshiro256PlusPlus::from_seed(seed)), seed);
                let seed: [u8; 16] = std::array::from_fn(|at| at as u8);
                assert_eq!(bytes_of(&Xoshiro128PlusPlus::from_seed(seed)), seed);
                assert_eq!(bytes_of(&Xoroshiro128PlusPlus::from_seed(seed)), seed);
                let seed: [u8; 64] = std::array::from_fn(|at| at as u8);
                assert_eq!(bytes_of(&Xoshiro512PlusPlus::from_seed(Seed512(seed))), seed);
                let seed = [1, 2, 3, 4, 5, 6, 7, 8];
                assert_eq!(bytes_of(&Xoroshiro64Star::from_seed(seed)), seed);
                assert_eq!(bytes_of(&SplitMix64::from_seed(seed)), seed);
                refuses::<Xoshiro256PlusPlus, _>(&[0_u64; 4], "is all zeros, which none has");
                refuses::<Xoroshiro64Star, _>(&[0_u32; 2], "is all zeros, which none has");
            }
        }
    )*};
}

xoshiro! { rand_xoshiro_0_6 RngCore rand_xoshiro_0_7 RngCore rand_xoshiro_0_8 Rng }
