//! The programs that read the random saves: a fixed few, which differ in numbers, aliases, room for unknown
//! fields, and migrations.

use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;

use persist::codec::Pointee;
use persist::{Persist, Record, Unknown, Value};

/// What a program says of its class, for the twin.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) version: u32,
    pub(super) migration: &'static [Op],
    pub(super) has_room: bool,
    pub(super) fields: &'static [Wanted],
}

#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) name: &'static str,
    pub(super) number: Option<u32>,
    pub(super) aliases: &'static [&'static str],
    pub(super) default: u32,
}

/// A step of a migration.
#[derive(Debug, Clone, Copy)]
pub(super) enum Op {
    Rename(&'static str, &'static str),
    /// Takes a field, and sets another to its value.
    Move(&'static str, &'static str),
    Set(&'static str, u32),
    Take(&'static str),
}

fn apply(record: &mut Record, steps: &[Op]) {
    for step in steps {
        match *step {
            Op::Rename(from, to) => drop(record.rename(from, to)),
            Op::Move(from, to) => {
                if let Some(value) = record.take(from) {
                    record.set(to, value);
                }
            }
            Op::Set(name, value) => drop(record.set(name, value)),
            Op::Take(name) => drop(record.take(name)),
        }
    }
}

#[persist::dynamic]
pub(super) trait Thing {
    fn values(&self) -> Vec<u32>;
}

/// A program's class.
pub(super) trait Program: Persist + Pointee + Thing + Debug {
    const SPEC: Spec;
}

/// Something that holds values of a program's class.
pub(super) trait Holder: Persist + Pointee {
    fn all(&self) -> Vec<Vec<u32>>;
}

#[derive(Persist)]
pub(super) struct Inside<T> {
    case: T,
}

#[derive(Persist)]
pub(super) struct Many<T> {
    cases: Vec<T>,
}

#[derive(Persist)]
pub(super) struct Boxed<T> {
    case: Box<T>,
}

#[derive(Persist)]
pub(super) enum Choice<T> {
    #[allow(dead_code, reason = "not in these saves")]
    #[persist(empty)]
    Nothing,
    One(T),
}

#[derive(Persist)]
pub(super) struct Dynamic {
    case: Box<dyn Thing>,
}

#[derive(Persist)]
#[persist(bound = "T: Program")]
pub(super) struct Shared<T: Program> {
    case: Rc<RefCell<T>>,
}

/// Version 1 has one case, version 2 a list.
#[derive(Persist)]
#[persist(version = 2, migrate(1 = gather))]
pub(super) struct Moved<T> {
    all: Vec<T>,
}

fn gather(moved: &mut Record, _: u32) {
    let case: Vec<Value> = moved.take("case").into_iter().collect();
    moved.set("all", Value::Seq(case));
}

impl<T: Program> Holder for Inside<T> {
    fn all(&self) -> Vec<Vec<u32>> {
        vec![self.case.values()]
    }
}

impl<T: Program> Holder for Many<T> {
    fn all(&self) -> Vec<Vec<u32>> {
        self.cases.iter().map(Thing::values).collect()
    }
}

impl<T: Program> Holder for Boxed<T> {
    fn all(&self) -> Vec<Vec<u32>> {
        vec![self.case.values()]
    }
}

impl<T: Program> Holder for Choice<T> {
    fn all(&self) -> Vec<Vec<u32>> {
        match self {
            Self::Nothing => Vec::new(),
            Self::One(case) => vec![case.values()],
        }
    }
}

impl Holder for Dynamic {
    fn all(&self) -> Vec<Vec<u32>> {
        vec![self.case.values()]
    }
}

impl<T: Program> Holder for Shared<T> {
    fn all(&self) -> Vec<Vec<u32>> {
        vec![self.case.borrow().values()]
    }
}

impl<T: Program> Holder for Moved<T> {
    fn all(&self) -> Vec<Vec<u32>> {
        self.all.iter().map(Thing::values).collect()
    }
}

macro_rules! programs {
    ($($name:ident: $version:literal $(by $migrate:ident)? $(keeps $rest:ident)? {
        $($field:ident $(# $number:literal)? $(| $alias:literal)* = $default:literal;)*
    })*) => {
        $(
            pub(super) mod $name {
                use super::*;

                $(
                    fn migrate(record: &mut Record, _: u32) {
                        apply(record, $migrate);
                    }
                )?

                #[derive(Persist, Debug)]
                #[persist(class = "Case", version = $version)]
                $(#[persist(migrate(1 = migrate))] #[doc = stringify!($migrate)])?
                pub(crate) struct Case {
                    $(
                        $(#[persist(id = $number)])?
                        $(#[persist(alias = $alias)])*
                        #[persist(default = $default)]
                        pub(crate) $field: u32,
                    )*
                    $(#[persist(unknown)] pub(crate) $rest: Unknown,)?
                }

                /// The same fields in a variant.
                #[derive(Persist, Debug)]
                #[persist(class = "Choice", version = $version)]
                $(#[persist(migrate(1 = migrate))] #[doc = stringify!($migrate)])?
                pub(crate) enum Variant {
                    #[persist(empty)]
                    Nothing,
                    V {
                        $(
                            $(#[persist(id = $number)])?
                            $(#[persist(alias = $alias)])*
                            #[persist(default = $default)]
                            $field: u32,
                        )*
                        $(#[persist(unknown)] $rest: Unknown,)?
                    },
                }

                const FIELDS: &[Wanted] = &[
                    $(Wanted {
                        name: stringify!($field),
                        number: [$(Some($number),)? None][0],
                        aliases: &[$($alias),*],
                        default: $default,
                    }),*
                ];

                impl Thing for Case {
                    fn values(&self) -> Vec<u32> {
                        vec![$(self.$field),*]
                    }
                }

                impl Thing for Variant {
                    fn values(&self) -> Vec<u32> {
                        match self {
                            Self::Nothing => Vec::new(),
                            Self::V { $($field,)* .. } => vec![$(*$field),*],
                        }
                    }
                }

                impl Program for Case {
                    const SPEC: Spec = Spec {
                        name: stringify!($name),
                        version: $version,
                        migration: [$($migrate,)? &[]][0],
                        has_room: [$(!stringify!($rest).is_empty(),)? false][0],
                        fields: FIELDS,
                    };
                }

                impl Program for Variant {
                    const SPEC: Spec = <Case as Program>::SPEC;
                }

                impl Holder for Case {
                    fn all(&self) -> Vec<Vec<u32>> {
                        vec![self.values()]
                    }
                }

                impl Holder for Variant {
                    fn all(&self) -> Vec<Vec<u32>> {
                        vec![self.values()]
                    }
                }
            }
        )*

        /// What each program is, and how a save is compared.
        pub(super) const PROGRAMS: &[(&Spec, fn(&super::Save))] = &[
            $((&<$name::Case as Program>::SPEC, super::compare::<$name::Case, $name::Variant>),)*
        ];
    };
}

const RENAMES: &[Op] = &[Op::Rename("b", "a")];
const MOVES: &[Op] = &[Op::Move("b", "a")];
const SETS: &[Op] = &[Op::Set("a", 777)];
const SETS_AN_ALIAS: &[Op] = &[Op::Set("c", 778)];
const SWAPS: &[Op] = &[Op::Rename("a", "t"), Op::Rename("b", "a"), Op::Rename("t", "b")];
const LEAVES: &[Op] = &[Op::Move("b", "e"), Op::Rename("c", "d"), Op::Take("a")];
const NOTHING: &[Op] = &[];

programs! {
    names: 1 {
        a = 901; b = 902; extra = 999;
    }
    names_and_room: 1 keeps rest {
        a = 901; c = 902; extra = 999;
    }
    numbers: 1 {
        a #1 = 901; b #2 = 902; extra = 999;
    }
    numbers_and_room: 1 keeps rest {
        b #1 = 901; a #3 = 902; extra #9 = 999;
    }
    aliases: 1 {
        a | "b" | "c" = 901; d = 902; extra = 999;
    }
    aliases_and_room: 1 keeps rest {
        extra = 999; a | "b" = 901; d | "c" | "e" = 902;
    }
    all: 1 keeps rest {
        a #1 | "b" = 901; c #2 | "d" = 902; e = 903; extra = 999;
    }
    half: 1 {
        a #1 = 901; b = 902; c | "d" = 903; extra = 999;
    }
    renames: 2 by RENAMES keeps rest {
        a = 901; c = 902; extra = 999;
    }
    moves: 2 by MOVES {
        a #1 = 901; c | "d" = 902; extra = 999;
    }
    sets: 2 by SETS keeps rest {
        a = 901; b #2 = 902; extra = 999;
    }
    sets_an_alias: 2 by SETS_AN_ALIAS {
        a #1 | "c" = 901; b | "d" = 902; extra = 999;
    }
    swaps: 2 by SWAPS keeps rest {
        a #1 = 901; b #2 | "c" = 902; extra = 999;
    }
    leaves: 2 by LEAVES keeps rest {
        a = 901; b #2 = 902; extra = 999;
    }
    leaves_without_room: 2 by LEAVES {
        a #1 = 901; d #3 = 902; extra = 999;
    }
    migrates_nothing: 2 by NOTHING keeps rest {
        a #1 = 901; b | "c" = 902; extra = 999;
    }
}
