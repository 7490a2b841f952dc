//! The attributes that bring older saves to the program's types, where names are shadowed and
//! where there are none at all; part of `hygiene`.

#![allow(unreachable_pub)] // so that the types of the modules may be

use persist::__private::convert;
use persist::codec::{Buffer, Reflect, decode};
use persist::save::Registry;
use persist::{Record, Unknown};

mod bare {
    //! No prelude, and other things by the names that a derive could be tempted to use.
    #![no_implicit_prelude]
    #![allow(dead_code, non_camel_case_types, non_upper_case_globals)]

    pub struct Result;
    pub struct Option;
    pub struct String;
    pub struct Kind;
    pub struct Unknown;
    pub struct Record;
    pub struct Migration;
    pub struct Conversion;
    pub struct u32;
    pub trait Outcome {}
    pub trait Reflect {}
    pub const record: u8 = 1;
    pub const from: u8 = 2;
    pub const variant: u8 = 3;
    pub const input: u8 = 4;
    pub const out: u8 = 5;

    #[derive(::persist::Persist)]
    #[persist(version = 3, migrate(1 = Self::to_2, 2 = to_3))]
    pub struct Hero {
        #[persist(id = 4, convert = number)]
        pub level: ::std::primitive::u32,
        #[persist(unknown)]
        pub rest: ::persist::Unknown,
    }

    #[derive(::persist::Persist)]
    #[persist(version = 2, migrate(1 = to_3))]
    #[persist(bound = "T: ::persist::Persist + ::std::convert::From<u8>")]
    pub enum Weather<T> {
        Sun {
            #[persist(convert = <T as ::std::convert::From<u8>>::from, id = 1)]
            strength: T,
        },
        #[persist(other)]
        Other(::persist::Unknown),
    }

    #[allow(clippy::needless_pass_by_value)] // a `convert` function owns what it gets
    fn number(
        text: ::std::string::String,
    ) -> ::std::result::Result<::std::primitive::u32, ::std::num::ParseIntError> {
        text.parse()
    }

    impl Hero {
        fn to_2(_: &mut ::persist::Record, _: ::std::primitive::u32) {}
    }

    fn to_3(
        _: &mut ::persist::Record,
        version: ::std::primitive::u32,
    ) -> ::std::result::Result<(), ::std::primitive::u32> {
        ::std::result::Result::Err(version)
    }
}

macro_rules! changed {
    ($name:ident: $field:ident: $ty:ty = $id:literal by $convert:path, $($from:literal = $step:path),*) => {
        #[derive(persist::Persist)]
        #[persist(version = 3, migrate($($from = $step),*))]
        struct $name {
            #[persist(id = $id, convert = $convert)]
            $field: $ty,
        }
    };
}

changed!(Made: size: u64 = 3 by widened, 1 = nothing, 2 = nothing);

fn widened(old: u16) -> u64 {
    old.into()
}

fn nothing(_: &mut Record, _: u32) {}

#[test]
fn attributes_for_older_saves_see_only_the_users_names() {
    let mut registry = Registry::new();
    registry.register::<bare::Hero>().unwrap();
    registry.register::<bare::Weather<f64>>().unwrap();
    registry.register::<Made>().unwrap();
    assert_eq!(convert::<bare::Hero>(0, 0, b"\x0242").unwrap(), [42, 0, 0, 0]);
    assert_eq!(convert::<bare::Weather<f64>>(0, 0, &[1]).unwrap(), 1.0_f64.to_le_bytes());
    assert_eq!(convert::<Made>(0, 0, &[1, 2]).unwrap(), 0x201_u64.to_le_bytes());
    assert_eq!(Made::FIELDS[0].id, Some(3));

    let mut buffer = Buffer::new();
    let hero = bare::Hero { level: 1, rest: Unknown::default() };
    let hero: bare::Hero = decode(buffer.encode(&hero).unwrap()).unwrap();
    assert!(hero.level == 1 && hero.rest.is_empty());
    let sun = bare::Weather::Sun { strength: 0.5_f32 };
    let bytes = buffer.encode(&sun).unwrap();
    assert!(matches!(decode(bytes), Ok(bare::Weather::Sun { strength: 0.5_f32 })));
    let other: bare::Weather<u8> = bare::Weather::Other(Unknown::default());
    assert_eq!(buffer.encode(&other).unwrap(), [1, 0]);
}
