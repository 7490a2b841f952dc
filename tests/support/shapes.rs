//! Types of every shape that a derive meets.

use std::collections::{BTreeMap, HashMap};

use persist::Persist;

#[derive(Persist, Clone, Debug, PartialEq)]
#[repr(C)]
pub struct Player {
    pub level: i32,
    pub flag: u8,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Fixed {
    pub on: bool,
    pub position: (f32, f32),
    pub letter: char,
    pub deep: [Player; 2],
}

/// Segments that begin and end in every way.
#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Mixed {
    pub a: String,
    pub b: u8,
    pub c: u16,
    pub d: Option<Player>,
    pub e: Vec<i64>,
    pub f: [u8; 3],
    pub g: HashMap<u8, String>,
    pub h: u128,
    pub i: [String; 2],
    pub j: BTreeMap<String, Vec<Player>>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Pair(pub String, pub u32);

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Nothing;

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Empty {}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Slot<T> {
    pub before: u8,
    pub item: T,
    pub after: u16,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Grid<const W: usize, const H: usize> {
    pub cells: [[u8; W]; H],
    pub name: String,
}

/// Stores a name as its length and back.
mod as_length {
    pub(crate) type Stored = u16;

    pub(crate) fn store(name: &str) -> u16 {
        u16::try_from(name.len()).unwrap_or(u16::MAX)
    }

    pub(crate) fn restore(length: u16) -> Result<String, String> {
        if length > 99 {
            Err(format!("{length} is too long"))
        } else {
            Ok("x".repeat(length.into()))
        }
    }
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(id = 77, version = 3)]
#[repr(C)]
pub struct Attributes {
    #[persist(rename = "hp", alias = "health")]
    pub health_points: u16,
    #[persist(skip)]
    pub cache: Vec<u8>,
    #[persist(with = as_length)]
    pub name: String,
    #[persist(default = 5)]
    pub lives: u8,
    #[persist(skip, default = 9)]
    pub frames: u64,
    pub last: Option<String>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub enum Shape {
    Point,
    Circle(f64),
    Named {
        name: String,
        corners: Vec<(i16, i16)>,
        closed: bool,
    },
    Inner(Player, Slot<String>, u8),
    Partly {
        kept: u32,
        #[persist(skip)]
        dropped: u64,
        #[persist(with = as_length)]
        length: String,
        end: u8,
    },
}

#[derive(Persist, Clone, Copy, Debug, PartialEq)]
pub enum Bare {
    Off,
    On,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Tree {
    pub name: String,
    pub children: Vec<Tree>,
    pub parent: Option<Box<Tree>>,
}

/// An enum of so many variants that its tag has two bytes.
macro_rules! wide {
    ($($name:ident)*) => {
        #[derive(Persist, Clone, Debug, PartialEq)]
        pub enum Wide {
            First,
            $($name,)*
            Last(u8, String),
        }
    };
}

wide! {
    X00 X01 X02 X03 X04 X05 X06 X07 X08 X09 X0a X0b X0c X0d X0e X0f
    X10 X11 X12 X13 X14 X15 X16 X17 X18 X19 X1a X1b X1c X1d X1e X1f
    X20 X21 X22 X23 X24 X25 X26 X27 X28 X29 X2a X2b X2c X2d X2e X2f
    X30 X31 X32 X33 X34 X35 X36 X37 X38 X39 X3a X3b X3c X3d X3e X3f
    X40 X41 X42 X43 X44 X45 X46 X47 X48 X49 X4a X4b X4c X4d X4e X4f
    X50 X51 X52 X53 X54 X55 X56 X57 X58 X59 X5a X5b X5c X5d X5e X5f
    X60 X61 X62 X63 X64 X65 X66 X67 X68 X69 X6a X6b X6c X6d X6e X6f
    X70 X71 X72 X73 X74 X75 X76 X77 X78 X79 X7a X7b X7c X7d X7e X7f
    X80 X81 X82 X83 X84 X85 X86 X87 X88 X89 X8a X8b X8c X8d X8e X8f
    X90 X91 X92 X93 X94 X95 X96 X97 X98 X99 X9a X9b X9c X9d X9e X9f
    Xa0 Xa1 Xa2 Xa3 Xa4 Xa5 Xa6 Xa7 Xa8 Xa9 Xaa Xab Xac Xad Xae Xaf
    Xb0 Xb1 Xb2 Xb3 Xb4 Xb5 Xb6 Xb7 Xb8 Xb9 Xba Xbb Xbc Xbd Xbe Xbf
    Xc0 Xc1 Xc2 Xc3 Xc4 Xc5 Xc6 Xc7 Xc8 Xc9 Xca Xcb Xcc Xcd Xce Xcf
    Xd0 Xd1 Xd2 Xd3 Xd4 Xd5 Xd6 Xd7 Xd8 Xd9 Xda Xdb Xdc Xdd Xde Xdf
    Xe0 Xe1 Xe2 Xe3 Xe4 Xe5 Xe6 Xe7 Xe8 Xe9 Xea Xeb Xec Xed Xee Xef
    Xf0 Xf1 Xf2 Xf3 Xf4 Xf5 Xf6 Xf7 Xf8 Xf9 Xfa Xfb Xfc Xfd Xfe Xff
}
