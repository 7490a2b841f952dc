//! `rand_chacha`: stored as seed, stream and the position in words. The generators continue where they were.

macro_rules! chacha {
    ($feature:literal $version:ident: $($name:ident)*) => {
        #[cfg(feature = $feature)]
        mod $version {
            use $version::rand_core::SeedableRng;
            use $version::{$($name),*};

            crate::types::foreign::stored_as! {$(
                $name as ([u8; 32], u64, u128)
                    = Self::from_seed([0; 32]), |it| (it.get_seed(), it.get_stream(), it.get_word_pos())
                    =>? |(seed, stream, position)| {
                        // The counter of blocks of 16 words has 64 bits.
                        if position >> 68 != 0 {
                            return Err("a ChaCha stream has 2^68 words; the position is beyond");
                        }
                        let mut generator = $name::from_seed(seed);
                        generator.set_stream(stream);
                        generator.set_word_pos(position);
                        Ok(generator)
                    };
            )*}
        }
    };
}

chacha! { "rand_chacha-0_3" rand_chacha_0_3: ChaCha8Rng ChaCha12Rng ChaCha20Rng }
chacha! { "rand_chacha-0_9" rand_chacha_0_9: ChaCha8Rng ChaCha12Rng ChaCha20Rng }
chacha! { "rand_chacha-0_10" rand_chacha_0_10: ChaCha8Rng ChaCha12Rng ChaCha20Rng }
