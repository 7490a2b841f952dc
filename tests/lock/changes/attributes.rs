//! Fields that convert by functions of the program, and versions of classes.

use persist::{Persist, Record};

use super::harness::changes;

/// Stores a percentage as it is.
mod percent {
    pub(super) type Stored = u8;

    pub(super) fn store(percent: &u8) -> Stored {
        *percent
    }

    pub(super) fn restore(stored: Stored) -> Result<u8, String> {
        Ok(stored)
    }
}

/// Stores a percentage as what is missing to 255.
mod missing {
    pub(super) type Stored = u8;

    pub(super) fn store(percent: &u8) -> Stored {
        u8::MAX - percent
    }

    pub(super) fn restore(stored: Stored) -> Result<u8, String> {
        Ok(u8::MAX - stored)
    }
}

/// Stores a percentage as a part of 1.
mod part {
    pub(super) type Stored = f32;

    pub(super) fn store(percent: &u8) -> Stored {
        f32::from(*percent) / 100.0
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a percentage"
    )]
    pub(super) fn restore(stored: Stored) -> Result<u8, String> {
        Ok((stored * 100.0).round() as u8)
    }
}

/// A percentage, which is stored as a `u8`.
#[derive(Debug, Default)]
pub(crate) struct Percent(u8);

impl From<&Percent> for u8 {
    fn from(percent: &Percent) -> Self {
        percent.0
    }
}

impl TryFrom<u8> for Percent {
    type Error = String;

    fn try_from(stored: u8) -> Result<Self, String> {
        if stored <= 100 { Ok(Self(stored)) } else { Err(format!("{stored} is over 100")) }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]
fn from_text(text: String) -> u8 {
    text.parse().unwrap_or(0)
}

#[allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]
fn from_digits(text: String) -> Result<u8, String> {
    if text.is_empty() { Ok(0) } else { text.parse().map_err(|_| format!("{text} is no number")) }
}

fn to_cents(gold: u64) -> u64 {
    gold.saturating_mul(100)
}

fn to_silver(hero: &mut Record, _from: u32) {
    let gold = hero.take("gold").and_then(|gold| gold.as_u64()).unwrap_or_default();
    hero.set("silver", gold.saturating_mul(20));
}

changes! {
    class with_added "`with` added, which stores the type of the field": (Hero pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { #[persist(with = percent)] pub hp: u8 })
        { "": Hero { hp: 70 } => Hero { hp: 70 }; }
    class with_another "`with` added, which stores another type": (Hero pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { #[persist(with = part)] pub hp: u8 })
        { "": Hero { hp: 70 } => Hero { hp: 70 }; }
    class with_changed "`with` that stores another type": (Hero pub struct Hero { #[persist(with = percent)] pub hp: u8 })
        => (Hero pub struct Hero { #[persist(with = part)] pub hp: u8 })
        { "": Hero { hp: 70 } => Hero { hp: 70 }; }
    class with_meaning "`with` that stores the same type for another value": (Hero pub struct Hero { #[persist(with = percent)] pub hp: u8 })
        => (Hero pub struct Hero { #[persist(with = missing)] pub hp: u8 })
        { "70 is loaded as 185": Hero { hp: 70 } => Hero { hp: 185 }; }
    class with_removed "`with` removed, which stored the type of the field": (Hero pub struct Hero { #[persist(with = percent)] pub hp: u8 })
        => (Hero pub struct Hero { pub hp: u8 })
        { "": Hero { hp: 70 } => Hero { hp: 70 }; }
    class with_removed_another "`with` removed, which stored another type": (Hero pub struct Hero { #[persist(with = part)] pub hp: u8 })
        => (Hero pub struct Hero { pub hp: u8 })
        { "": Hero { hp: 70 } => Hero { hp: 70 }; }
    class via_added "`via` added": (Hero pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { #[persist(via = u8)] pub hp: Percent })
        { "accepted": Hero { hp: 70 } => Hero { hp: Percent(70) }; "refused by `TryFrom`": Hero { hp: 170 }; }
    class via_wider "`via` added, from a narrower number": (Hero pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { #[persist(via = u16)] pub hp: Wide })
        { "": Hero { hp: 70 } => Hero { hp: Wide(70) }; }
    class via_removed "`via` removed": (Hero pub struct Hero { #[persist(via = u8)] pub hp: Percent })
        => (Hero pub struct Hero { pub hp: u8 })
        { "": Hero { hp: Percent(70) } => Hero { hp: 70 }; }
    class convert_missing "another type": (Hero pub struct Hero { pub hp: String })
        => (Hero pub struct Hero { pub hp: u8 })
        { "": Hero { hp: "70".into() } => Hero { hp: 70 }; }
    class convert "another type, with `convert`": (Hero pub struct Hero { pub hp: String })
        => (Hero pub struct Hero { #[persist(convert = from_text)] pub hp: u8 })
        { "": Hero { hp: "70".into() } => Hero { hp: 70 }; }
    class convert_digits "another type, with a `convert` that may refuse": (Hero pub struct Hero { pub hp: String })
        => (Hero pub struct Hero { #[persist(convert = from_digits)] pub hp: u8 })
        { "accepted": Hero { hp: "70".into() } => Hero { hp: 70 }; "refused": Hero { hp: "x".into() }; }
    class convert_other "another type, with a `convert` from a third": (Hero pub struct Hero { pub hp: u16 })
        => (Hero pub struct Hero { #[persist(convert = from_text)] pub hp: u8 })
        { "": Hero { hp: 70 } => Hero { hp: 70 }; }
    class convert_as "the same, with `as`": (Hero pub struct Hero { pub hp: u16 })
        => (Hero pub struct Hero { #[persist(convert(from_text, as u16))] pub hp: u8 })
        { "in range": Hero { hp: 70 } => Hero { hp: 70 }; "out of range": Hero { hp: 700 }; }
    class unit "another unit, by a `convert` of a version": (Hero pub struct Hero { pub money: u64 })
        => (Hero #[persist(version = 2)] pub struct Hero { #[persist(convert(1 = to_cents))] pub money: u64 })
        { "": Hero { money: 7 } => Hero { money: 700 } => Hero { money: 700 }; }
    class migrated "`migrate` added": (Hero pub struct Hero { pub gold: u32 })
        => (Hero #[persist(version = 2, migrate(1 = to_silver))] pub struct Hero { pub silver: u64 })
        { "": Hero { gold: 7 } => Hero { silver: 140 }; }
    class raised "`version` raised": (Hero pub struct Hero { pub hp: u8 })
        => (Hero #[persist(version = 2)] pub struct Hero { pub hp: u8 })
        { "": Hero { hp: 7 } => Hero { hp: 7 }; }
    class lowered "`version` lowered": (Hero #[persist(version = 2)] pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { pub hp: u8 })
        { "": Hero { hp: 7 } => Hero { hp: 7 }; }
}

/// A number of another width.
#[derive(Debug, Default)]
pub(crate) struct Wide(u16);

impl From<&Wide> for u16 {
    fn from(wide: &Wide) -> Self {
        wide.0
    }
}

impl From<u16> for Wide {
    fn from(stored: u16) -> Self {
        Self(stored)
    }
}
