//! `rand_pcg`: stored as the state and the increment of a generator, or its state alone. It continues where it was.

macro_rules! pcg {
    ($feature:literal $version:ident: $($name:ident $integer:ident)*) => {
        #[cfg(feature = $feature)]
        mod $version {
            use $version::{$($name,)* Mcg128Xsl64};

            use crate::types::foreign::integers::{field, generator};

            const EVEN: &str = "of a PCG generator is even, which none has";

            crate::types::foreign::stored_as! {
                $(
                    $name as [$integer; 2] = Self::new(0, 0), |it| {
                        let [state] = field(it, "state");
                        let [increment] = field(it, "increment");
                        [state, increment]
                    } =>? |[state, increment]| {
                        if increment % 2 == 0 {
                            return Err(format!("the increment {EVEN}"));
                        }
                        generator([("state", state), ("increment", increment)])
                            .map_err(|error| error.to_string())
                    };
                )*
                Mcg128Xsl64 as u128 = Self::new(0), |it| {
                    let [state] = field(it, "state");
                    state
                } =>? |state| {
                    if state % 2 == 0 {
                        return Err(format!("the state {EVEN}"));
                    }
                    generator([("state", state)]).map_err(|error| error.to_string())
                };
            }
        }
    };
}

pcg! { "rand_pcg-0_3" rand_pcg: Lcg64Xsh32 u64 Lcg128Xsl64 u128 }
pcg! { "rand_pcg-0_9" rand_pcg_0_9: Lcg64Xsh32 u64 Lcg128Xsl64 u128 Lcg128CmDxsm64 u128 }
pcg! { "rand_pcg-0_10" rand_pcg_0_10: Lcg64Xsh32 u64 Lcg128Xsl64 u128 Lcg128CmDxsm64 u128 }
