//! The derive in surroundings that get in the way of careless code.

// A user may deny what they like; generated code is not theirs to mend.
#![deny(warnings, rust_2018_idioms, unused_qualifications, trivial_casts, clippy::all)]
#![allow(unreachable_pub)] // so that the types of the modules may be

use persist::Persist;
use persist::codec::{Buffer, Prototypes, Reflect, decode, decode_into};
use std::fmt::Debug;

fn empty<T: Persist>() -> T {
    T::persist_empty(&Prototypes::bare()).expect("an empty value")
}

/// The value comes back, by a fresh value and over an existing one.
fn round_trip<T: Persist + PartialEq + Debug>(value: &T) -> Vec<u8> {
    let mut buffer = Buffer::new();
    let bytes = buffer.encode(value).expect("it can be saved").to_vec();
    assert_eq!(&decode::<T>(&bytes).expect("it can be loaded"), value);
    let mut over = empty::<T>();
    decode_into(&mut over, &bytes).expect("it can be loaded");
    assert_eq!(&over, value);
    bytes
}

mod shadowed {
    //! Everything a derive could be tempted to call by its short name.
    #![allow(dead_code, non_camel_case_types, non_snake_case)]

    use persist::Persist;

    #[derive(Persist, Debug, PartialEq)]
    pub struct Option(pub ::std::primitive::u8);
    #[derive(Persist, Debug, PartialEq)]
    pub struct Result {
        pub option: Option,
    }
    #[derive(Persist, Debug, PartialEq)]
    pub enum Vec {
        Some(Result),
        None,
    }
    #[derive(Persist, Debug, PartialEq)]
    pub struct String;
    #[derive(Persist, Debug, PartialEq)]
    pub struct Box {
        pub vec: Vec,
        pub string: String,
        pub some: ::std::option::Option<::std::primitive::u8>,
    }

    #[derive(Persist, Debug, PartialEq)]
    pub struct std {
        pub u8: ::std::primitive::u8,
    }

    pub fn Ok() {}
    pub fn Err() {}
    pub trait Default {}
    pub trait Reflect {}
    pub struct u8;
    pub struct usize;
    pub struct bool;
}

#[test]
fn shadowed_names_are_not_in_the_way() {
    use shadowed::{Box, Option, Result, String, Vec};

    let value = Box { vec: Vec::Some(Result { option: Option(7) }), string: String, some: Some(3) };
    assert_eq!(round_trip(&value), [0, 7, 1, 3]);
    round_trip(&Vec::None);
    assert_eq!(round_trip(&shadowed::std { u8: 5 }), [5]);
}

mod bare {
    //! No prelude at all.
    #![no_implicit_prelude]

    /// What the hooks of a `Guild` get.
    pub struct Game;

    #[derive(::persist::Persist)]
    #[persist(
        context = Game,
        before_save = Guild::tidy,
        after_load = Guild::tidy,
        validate = Guild::check,
        version = 2,
        migrate(1 = Guild::migrate)
    )]
    pub struct Guild {
        pub members: u32,
    }

    impl Guild {
        fn tidy(&mut self, _: &Game) {}

        fn check(&self, _: &Game) {}

        fn migrate(_: &mut ::persist::Record, _: u32, _: &Game) {}
    }

    #[derive(::persist::Persist, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    #[persist(before_save = tidy, after_load = tidy, validate = check, version = 2)]
    pub struct Hero {
        pub name: ::std::string::String,
        #[persist(default = 3)]
        pub level: u32,
        pub next: ::std::option::Option<::std::boxed::Box<Hero>>,
        #[persist(with = minutes)]
        pub played: ::std::time::Duration,
        #[persist(skip)]
        pub cache: ::std::vec::Vec<u8>,
    }

    #[derive(::persist::Persist, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    pub enum Weather {
        Sun,
        Rain { strength: f32 },
    }

    #[derive(::persist::Persist, ::std::fmt::Debug, ::std::cmp::PartialEq)]
    #[persist(transparent)]
    pub struct Metres(pub f64);

    fn tidy(hero: &mut Hero) {
        hero.cache.clear();
    }

    fn check(hero: &Hero) -> ::std::result::Result<(), &'static str> {
        if hero.level > 99 {
            ::std::result::Result::Err("too high")
        } else {
            ::std::result::Result::Ok(())
        }
    }

    mod minutes {
        use ::std::option::Option;
        use ::std::result::Result;
        use ::std::time::Duration;

        pub type Stored = u64;

        pub fn store(value: &Duration) -> Stored {
            value.as_secs() / 60
        }

        pub fn restore(stored: Stored) -> Result<Duration, &'static str> {
            match stored.checked_mul(60) {
                Option::Some(seconds) => Result::Ok(Duration::from_secs(seconds)),
                Option::None => Result::Err("too long"),
            }
        }
    }
}

#[test]
fn a_module_without_prelude_can_derive() {
    let hero = bare::Hero {
        name: "Ann".into(),
        level: 4,
        next: None,
        played: std::time::Duration::from_secs(7 * 60),
        cache: Vec::new(),
    };
    let bytes = round_trip(&hero);
    assert_eq!(bytes, [3, b'A', b'n', b'n', 4, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    round_trip(&bare::Weather::Rain { strength: 0.5 });
    round_trip(&bare::Weather::Sun);
    assert_eq!(round_trip(&bare::Metres(1.0)).len(), 8);

    let saves = persist::Saves::new().context(std::sync::Arc::new(bare::Game));
    let mut manager = saves.manager();
    manager.add(&std::rc::Rc::new(std::cell::RefCell::new(bare::Guild { members: 3 }))).unwrap();
    let save = manager.to_vec().unwrap();
    manager.from_slice(&save).unwrap();
}

#[derive(Persist, Debug, PartialEq)]
struct r#Raw {
    r#type: u8,
    r#self_: String,
    r#match: Option<u16>,
}

#[derive(Persist, Debug, PartialEq)]
enum Keyword {
    r#Fn,
    r#Loop { r#while: u8 },
}

#[test]
fn raw_identifiers_lose_their_mark_in_the_save() {
    round_trip(&Raw { r#type: 1, r#self_: "x".into(), r#match: Some(2) });
    round_trip(&Keyword::Loop { r#while: 3 });
    round_trip(&Keyword::Fn);
    assert_eq!(Raw::CLASS.name(), "Raw");
    assert_eq!(Raw::FIELDS[0].name, "type");
    assert_eq!(Keyword::VARIANTS[0].name, "Fn");
    assert_eq!(Keyword::VARIANTS[1].fields[0].name, "while");
}

macro_rules! hero {
    ($name:ident { $($field:ident: $ty:ty = $default:expr),* }) => {
        #[derive(Persist, Debug, PartialEq)]
        struct $name {
            $(#[persist(default = $default)] $field: $ty,)*
            made: Option<u8>,
        }
    };
}

macro_rules! sorts {
    ($name:ident: $($variant:ident($ty:ty)),*) => {
        #[derive(Persist, Debug, PartialEq)]
        #[persist(class = "made.Sort", id = 12)]
        enum $name { Nothing, $($variant($ty)),* }
    };
}

hero!(Made { level: u32 = 3, name: String = "none".to_owned(), pet: Option<Box<Made>> = None });
sorts!(Sort: Number(u64), Text(String), Nested(Vec<Sort>));

#[test]
fn types_made_by_macros_can_derive() {
    round_trip(&Made { level: 1, name: "x".into(), pet: None, made: Some(1) });
    round_trip(&Sort::Nested(vec![Sort::Number(1), Sort::Text("y".into()), Sort::Nothing]));
    assert!(Made::FIELDS.iter().all(|field| field.has_default));
    assert_eq!(Sort::CLASS.id().0, 12);
    assert_eq!(empty::<Made>(), Made { level: 3, name: "none".into(), pet: None, made: None });
}

#[test]
fn a_type_inside_a_function_can_derive() {
    #[derive(Persist, Debug, PartialEq)]
    struct Local {
        a: u8,
    }
    assert_eq!(round_trip(&Local { a: 1 }), [1]);
}

#[allow(dead_code, non_upper_case_globals)]
mod constants {
    //! Constants with the names of a derive's likely local variables.

    pub const head: u8 = 1;
    pub const out: u8 = 2;
    pub const input: u8 = 3;
    pub const field: u8 = 4;
    pub const visitor: u8 = 5;
    pub const value: u8 = 6;
    pub const segment: u8 = 7;

    #[derive(persist::Persist, Debug, PartialEq)]
    pub struct Among {
        #[persist(default = head + out)]
        pub head: u8,
        pub segment: String,
        #[persist(skip, default = value)]
        pub value: u8,
    }
}

#[test]
fn default_expressions_see_only_the_users_names() {
    let value = empty::<constants::Among>();
    assert_eq!((value.head, value.value), (3, 6));
    round_trip(&value);
}

trait Biome {
    type Tile;
}

#[derive(Debug, PartialEq)]
struct Desert;

impl Biome for Desert {
    type Tile = u16;
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Grid<T: Clone, const WIDTH: usize, const TALL: bool = false>
where
    T: PartialEq,
{
    cells: [T; WIDTH],
    more: Vec<T>,
}

#[derive(Persist, Debug, PartialEq)]
struct Map<B: Biome, Mark> {
    tiles: Vec<B::Tile>,
    first: <B as Biome>::Tile,
    #[persist(skip)]
    mark: std::marker::PhantomData<Mark>,
    #[persist(skip)]
    seen: Vec<B::Tile>,
}

#[derive(Persist, Debug, PartialEq)]
enum Either<L, R> {
    Left(L),
    Right { right: R },
}

#[derive(Persist, Debug, PartialEq)]
#[persist(transparent)]
struct Shell<T>(T);

#[derive(Persist, Debug, PartialEq)]
#[persist(bound = "T: Persist + Ord")]
struct Sorted<T: Ord> {
    items: std::collections::BTreeSet<T>,
}

struct Unsaved;

#[test]
fn generic_types_are_named_with_their_arguments() {
    assert_eq!(Grid::<u8, 2>::CLASS.name(), "Grid<u8, 2, false>");
    assert_eq!(
        Grid::<Grid<String, 1, true>, 2>::CLASS.name(),
        "Grid<Grid<String, 1, true>, 2, false>"
    );
    assert_eq!(Either::<u8, Raw>::CLASS.name(), "Either<u8, Raw>");
    assert_eq!(Shell::<Raw>::persist_name(), "Raw");
    assert_eq!(Sorted::<u8>::CLASS.name(), "Sorted<u8>");
    assert_eq!(Map::<Desert, Unsaved>::CLASS.name(), "Map<u16, u16>");
}

#[test]
fn generic_types_come_back() {
    assert_eq!(round_trip(&Grid::<u8, 2> { cells: [1, 2], more: vec![3] }), [1, 2, 1, 3]);
    round_trip(&Grid::<String, 1, true> { cells: ["x".into()], more: vec![] });
    round_trip(&Either::<u8, String>::Right { right: "x".into() });
    round_trip(&Either::<u8, String>::Left(1));
    round_trip(&Shell(Shell("x".to_owned())));
    round_trip(&Sorted { items: [3, 1, 2].into() });
    let map = Map::<Desert, fn(Unsaved)> {
        tiles: vec![1, 2],
        first: 3,
        mark: std::marker::PhantomData,
        seen: vec![],
    };
    round_trip(&map);
}

#[derive(Persist, Debug, PartialEq)]
struct Node {
    value: u8,
    next: Option<Box<Self>>,
}

#[derive(Persist, Debug, PartialEq)]
enum Expr {
    Add(Box<Expr>, Box<Expr>),
    Literal(i64),
}

#[derive(Persist, Debug, PartialEq)]
struct Tree<T> {
    value: T,
    children: Vec<Tree<T>>,
}

#[derive(Persist, Debug, PartialEq)]
struct Hen {
    eggs: Vec<Egg>,
}

#[derive(Persist, Debug, PartialEq)]
enum Egg {
    Whole,
    Hatched { hen: Hen },
}

#[test]
fn recursive_types_come_back() {
    round_trip(&Node { value: 1, next: Some(Box::new(Node { value: 2, next: None })) });
    let one = || Box::new(Expr::Literal(1));
    round_trip(&Expr::Add(one(), Box::new(Expr::Add(one(), one()))));
    round_trip(&Tree {
        value: "x".to_owned(),
        children: vec![Tree { value: "y".to_owned(), children: vec![] }],
    });
    round_trip(&Hen { eggs: vec![Egg::Whole, Egg::Hatched { hen: Hen { eggs: vec![] } }] });
    assert_eq!(empty::<Expr>(), Expr::Literal(0));
}

#[derive(Persist, Debug, PartialEq)]
#[deprecated]
struct Old {
    #[deprecated]
    value: u8,
}

#[test]
#[allow(deprecated)]
fn deprecated_fields_cause_no_warnings() {
    round_trip(&Old { value: 1 });
}

/// The library under another name, as behind an engine's re-export.
mod engine {
    pub mod saving {
        pub use persist::*;
    }
}

#[derive(engine::saving::Persist, Debug, PartialEq)]
#[persist(crate = engine::saving)]
struct Elsewhere {
    name: String,
    level: u8,
}

#[test]
fn the_library_may_be_reached_by_another_path() {
    assert_eq!(round_trip(&Elsewhere { name: "x".into(), level: 1 }), [1, b'x', 1]);
}

mod methods_of_the_same_names {
    use persist::Persist;
    use persist::codec::Reflect;

    /// As other crates have them: Fyrox's `Visit`, the `Encode` and `Decode` of codecs, a name and a kind.
    trait Others {
        fn visit(&mut self) -> u8;
        fn reach(&self) -> u8;
        fn encode(&self) -> u8;
        fn decode(bytes: &[u8]) -> u8;
        fn prototype() -> u8;
        fn name() -> String;
        fn kind(&self) -> u8;
        fn field(&self, field: usize) -> usize;
    }

    #[derive(Persist)]
    struct Hero {
        level: u8,
    }

    impl Others for Hero {
        fn visit(&mut self) -> u8 {
            self.level
        }
        fn reach(&self) -> u8 {
            self.level + 1
        }
        fn encode(&self) -> u8 {
            self.level + 2
        }
        fn decode(bytes: &[u8]) -> u8 {
            bytes[0]
        }
        fn prototype() -> u8 {
            5
        }
        fn name() -> String {
            "Others".into()
        }
        fn kind(&self) -> u8 {
            6
        }
        fn field(&self, field: usize) -> usize {
            field
        }
    }

    #[test]
    fn are_not_ambiguous_beside_the_trait() {
        let mut hero = Hero { level: 1 };
        assert_eq!((hero.visit(), hero.reach(), hero.encode(), hero.kind()), (1, 2, 3, 6));
        assert_eq!((Hero::decode(&[4]), Hero::prototype(), hero.field(7)), (4, 5, 7));
        assert_eq!(Hero::name(), "Others");
        assert_eq!((Hero::persist_name().as_str(), hero.persist_variant()), ("Hero", 0));
    }
}

mod many {
    //! More fields and variants than there are short names for their indices.

    use super::round_trip;
    use persist::Persist;

    macro_rules! fields {
        ($($name:ident)*) => {
            #[derive(Debug, PartialEq, Persist)]
            struct Fields {
                $($name: u16,)*
                last: String,
            }

            fn numbered() -> Fields {
                let mut number = 0;
                Fields { $($name: { number += 1; number },)* last: "last".into() }
            }
        };
    }

    fields! {
        a0 a1 a2 a3 a4 a5 a6 a7 a8 a9
        b0 b1 b2 b3 b4 b5 b6 b7 b8 b9
        c0 c1 c2 c3 c4 c5 c6 c7 c8 c9
        d0 d1 d2 d3 d4 d5 d6 d7 d8 d9
        e0 e1 e2 e3 e4 e5 e6 e7 e8 e9
        f0 f1 f2 f3 f4 f5 f6 f7 f8 f9
        g0 g1 g2 g3 g4 g5 g6 g7 g8 g9
    }

    macro_rules! variants {
        ($($name:ident)*) => {
            #[derive(Debug, PartialEq, Persist)]
            enum Variants {
                $($name(u8, String),)*
            }

            fn every() -> Vec<Variants> {
                vec![$(Variants::$name(7, stringify!($name).into())),*]
            }
        };
    }

    variants! {
        A0 A1 A2 A3 A4 A5 A6 A7 A8 A9
        B0 B1 B2 B3 B4 B5 B6 B7 B8 B9
        C0 C1 C2 C3 C4 C5 C6 C7 C8 C9
        D0 D1 D2 D3 D4 D5 D6 D7 D8 D9
        E0 E1 E2 E3 E4 E5 E6 E7 E8 E9
        F0 F1 F2 F3 F4 F5 F6 F7 F8 F9
        G0 G1 G2 G3 G4 G5 G6 G7 G8 G9
    }

    #[test]
    fn seventy_fields_and_variants_come_back() {
        assert_eq!(round_trip(&numbered()).len(), 70 * 2 + 1 + 4);
        let variants = every();
        assert_eq!(variants.len(), 70);
        round_trip(&variants);
    }
}
