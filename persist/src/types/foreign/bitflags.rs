//! `bitflags`, version 1 or 2: a macro implements `Persist` for the program's own flag types.

use std::fmt::LowerHex;

/// Implements [`Persist`](crate::Persist) for flags that were defined with `bitflags` 1 or 2, given with their integer
/// type.
///
/// Flags are stored as that integer. An unknown bit is an error of the load, because its meaning would be lost.
/// `unknown = truncate` drops unknown bits instead, and `unknown = retain` keeps them, which `bitflags` 2 supports.
///
/// ```
/// # mod bitflags_of_this_example { // stands for `bitflags::bitflags!`
/// # #[derive(Clone, Copy, Debug, PartialEq)]
/// # pub struct Traits(u8);
/// # impl Traits {
/// #     pub const FLIES: Self = Self(1);
/// #     pub const fn empty() -> Self { Self(0) }
/// #     pub const fn bits(&self) -> u8 { self.0 }
/// #     pub const fn from_bits(bits: u8) -> Option<Self> { if bits < 4 { Some(Self(bits)) } else { None } }
/// #     pub const fn from_bits_truncate(bits: u8) -> Self { Self(bits & 3) }
/// # }
/// # }
/// # use bitflags_of_this_example::Traits;
/// persist::bitflags!(Traits: u8);
///
/// let save = persist::to_vec(&Traits::FLIES)?;
/// assert_eq!(persist::from_slice::<Traits>(&save)?, Traits::FLIES);
/// assert!(persist::from_slice::<Traits>(&persist::to_vec(&0x80_u8)?).is_err());
/// # Ok::<(), persist::Error>(())
/// ```
#[macro_export]
macro_rules! bitflags {
    ($flags:ty: $bits:ty $(, unknown = refuse)? $(,)?) => {
        $crate::__stored_as! {
            $flags as $bits = <$flags>::empty(), |flags| flags.bits() =>? |bits| {
                <$flags>::from_bits(bits).ok_or_else(|| {
                    let known = <$flags>::from_bits_truncate(bits).bits();
                    $crate::__private::unknown_bits(
                        &(bits & !known),
                        $crate::__private::std::stringify!($flags),
                    )
                })
            };
        }
    };
    ($flags:ty: $bits:ty, unknown = truncate $(,)?) => {
        $crate::__stored_as! {
            $flags as $bits
                = <$flags>::empty(), |flags| flags.bits() => <$flags>::from_bits_truncate;
        }
    };
    ($flags:ty: $bits:ty, unknown = retain $(,)?) => {
        $crate::__stored_as! {
            $flags as $bits = <$flags>::empty(), |flags| flags.bits() => <$flags>::from_bits_retain;
        }
    };
}

/// Returns the message about unknown bits.
#[cold]
#[must_use]
pub fn unknown_bits(unknown: &dyn LowerHex, flags: &str) -> String {
    format!(
        "the bits {unknown:#x} are no flags of `{flags}`; declare them, or say `unknown = truncate` or `unknown = retain`"
    )
}
