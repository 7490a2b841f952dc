//! `rand_xoshiro`: stored as the words of a generator's state. It continues where it was.

use serde::Serialize;
use serde::de::value::{Error, SeqDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

use super::integers::{field, generator};

/// A word of a state.
trait Word: Copy + PartialEq + Default + TryFrom<u128> + IntoDeserializer<'static, Error> {}

impl Word for u32 {}
impl Word for u64 {}

/// Refuses a state of zeros alone, which never changes.
fn checked<W: Word, const N: usize>(words: [W; N]) -> Result<[W; N], String> {
    if words == [W::default(); N] {
        return Err(String::from("the state of a xoshiro generator is all zeros, which none has"));
    }
    Ok(words)
}

/// Returns the words of a generator that has them in two fields.
fn pair<W: Word>(it: &impl Serialize) -> [W; 2] {
    let ([first], [second]) = (field(it, "s0"), field(it, "s1"));
    [first, second]
}

fn from_pair<W: Word, G: DeserializeOwned>(words: [W; 2]) -> Result<G, String> {
    let [first, second] = checked(words)?;
    generator([("s0", first), ("s1", second)]).map_err(|error| error.to_string())
}

/// Returns the words of a generator that has them in an array.
fn array<W: Word, const N: usize>(it: &impl Serialize) -> [W; N] {
    field(it, "s")
}

fn from_array<W: Word, G: DeserializeOwned, const N: usize>(words: [W; N]) -> Result<G, String> {
    let words = SeqDeserializer::new(checked(words)?.into_iter());
    generator([("s", words)]).map_err(|error| error.to_string())
}

macro_rules! xoshiro {
    ($($feature:literal $version:ident;)*) => {$(
        #[cfg(feature = $feature)]
        mod $version {
            use super::{array, field, from_array, from_pair, generator, pair};
            use crate::types::foreign::stored_as;

            use $version::rand_core::SeedableRng;
            use $version::*;

            stored_as! {
                SplitMix64 as u64 = Self::seed_from_u64(0), |it| {
                    let [word] = field(it, "x");
                    word
                } =>? |word| generator([("x", word)]);
                Xoroshiro64Star as [u32; 2] = Self::seed_from_u64(0), pair =>? from_pair;
                Xoroshiro64StarStar as [u32; 2] = Self::seed_from_u64(0), pair =>? from_pair;
                Xoroshiro128Plus as [u64; 2] = Self::seed_from_u64(0), pair =>? from_pair;
                Xoroshiro128PlusPlus as [u64; 2] = Self::seed_from_u64(0), pair =>? from_pair;
                Xoroshiro128StarStar as [u64; 2] = Self::seed_from_u64(0), pair =>? from_pair;
                Xoshiro128Plus as [u32; 4] = Self::seed_from_u64(0), array =>? from_array;
                Xoshiro128PlusPlus as [u32; 4] = Self::seed_from_u64(0), array =>? from_array;
                Xoshiro128StarStar as [u32; 4] = Self::seed_from_u64(0), array =>? from_array;
                Xoshiro256Plus as [u64; 4] = Self::seed_from_u64(0), array =>? from_array;
                Xoshiro256PlusPlus as [u64; 4] = Self::seed_from_u64(0), array =>? from_array;
                Xoshiro256StarStar as [u64; 4] = Self::seed_from_u64(0), array =>? from_array;
                Xoshiro512Plus as [u64; 8] = Self::seed_from_u64(0), array =>? from_array;
                Xoshiro512PlusPlus as [u64; 8] = Self::seed_from_u64(0), array =>? from_array;
                Xoshiro512StarStar as [u64; 8] = Self::seed_from_u64(0), array =>? from_array;
            }
        }
    )*};
}

xoshiro! {
    "rand_xoshiro-0_6" rand_xoshiro_0_6;
    "rand_xoshiro-0_7" rand_xoshiro_0_7;
    "rand_xoshiro-0_8" rand_xoshiro_0_8;
}
