//! What the attributes for older saves cannot mean, in derived tables and in those written by
//! hand: found at registration.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]
#![allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use persist::__private::{Body, Migrate, MigrationSteps};
use persist::codec::{Decoder, Encoder, Fail, Prototypes, Reflect, Stop};
use persist::reflect::{Class, FieldRecord, Kind, VariantRecord};
use persist::save::Registry;
use persist::{Error, ErrorKind, Persist, Unknown};

fn refused<T: Persist>() -> Error {
    let error = Registry::new().register::<T>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    error
}

#[derive(Persist)]
struct Twice {
    #[persist(convert = doubled)]
    value: Vec<u32>,
}

fn doubled(old: std::collections::VecDeque<u32>) -> Vec<u32> {
    old.into_iter().map(|value| value * 2).collect()
}

#[test]
fn a_conversion_that_cannot_be_told_from_the_field_is_refused() {
    let error = refused::<Twice>();
    assert_eq!((error.class(), error.field()), (Some("Twice"), Some("value")));
    assert_eq!(
        error.message(),
        "`convert` takes Vec<u32>, which is stored as the field itself is, so that the two cannot be told apart; give the class a `version`, and the `convert` the last version that stored the older type: `convert(1 = doubled)`"
    );
}

#[derive(Persist)]
struct Linked {
    #[persist(convert = first)]
    next: Option<Rc<RefCell<Linked>>>,
}

fn first(mut old: Vec<Rc<RefCell<Linked>>>) -> Option<Rc<RefCell<Linked>>> {
    old.pop()
}

#[derive(Persist)]
struct Woken {
    #[persist(convert = slept)]
    hours: u8,
}

#[derive(Persist)]
#[persist(after_load = wake)]
struct Sleeper(u8);

fn wake(sleeper: &mut Sleeper) {
    sleeper.0 = 0;
}

fn slept(old: Sleeper) -> u8 {
    old.0
}

#[test]
fn a_conversion_of_pointers_or_hooks_is_refused() {
    let error = refused::<Linked>();
    assert!(error.message().contains("holds a shared pointer and cannot be taken by"), "{error}");
    let error = refused::<Woken>();
    assert_eq!(
        error.message(),
        "Sleeper holds a class with hooks and cannot be taken by a field's `convert`: an older value is not there to be connected or to run hooks; use `alias`, or `version` and `migrate`"
    );
}

#[derive(Persist)]
struct Bare {
    rest: Unknown,
}

#[derive(Persist)]
enum Inside {
    A,
    B { all: Vec<(u8, Option<Unknown>)> },
}

#[test]
fn an_unknown_that_no_load_fills_is_refused() {
    let error = refused::<Bare>();
    assert_eq!((error.class(), error.field()), (Some("Bare"), Some("rest")));
    let advice = "an `Unknown` is saved only in a field of its own marked `#[persist(unknown)]`";
    assert!(error.message().starts_with(advice), "{error}");
    let error = refused::<Inside>();
    assert_eq!((error.class(), error.field()), (Some("Inside"), Some("all")));
    assert!(error.message().starts_with(advice), "{error}");
}

#[test]
fn what_is_unknown_is_kept_in_an_unknown_only() {
    let error = refused::<Number>();
    assert_eq!((error.class(), error.field()), (Some("Number"), Some("rest")));
    assert_eq!(
        error.message(),
        "`unknown` keeps what the program does not have in a `persist::Unknown`, and the field is u8; change its type or remove `unknown`"
    );
    let error = refused::<Text>();
    assert_eq!((error.class(), error.field()), (Some("Text"), Some("0")));
    assert!(error.message().starts_with("`other` keeps what"), "{error}");
}

/// A class whose table is written by hand; nothing is ever saved of it.
macro_rules! by_hand {
    ($name:ident, $class:expr) => {
        struct $name;

        impl Persist for $name {
            fn persist_kind() -> Kind {
                Kind::Class(|| <$name as Reflect>::CLASS)
            }

            // Hidden, as all of a class's own entry is.
            fn __reach(types: &mut persist::__private::TypeSet) {
                types.class::<Self>();
            }

            fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
                Ok(Self)
            }

            fn persist_encode(&self, _: &mut Encoder<'_>) -> Result<(), Stop> {
                Ok(())
            }

            fn persist_decode(_: &mut Decoder<'_>) -> Result<Self, Fail> {
                Ok(Self)
            }
        }

        impl Reflect for $name {
            const CLASS: &'static Class = &$class;
            const FIELDS: &'static [FieldRecord] = &[];
            const VARIANTS: &'static [VariantRecord] = &[];
            // Hidden, as it is the derive's.
            const __ROWS: &'static [&'static [persist::__private::FieldCodec]] = &[];

            fn persist_field(&self, _: usize) -> Option<&dyn Any> {
                None
            }

            fn persist_field_mut(&mut self, _: usize) -> Option<&mut dyn Any> {
                None
            }
        }

        impl persist::codec::Pointee for $name {
            type As = Self;
        }
    };
}

const DONE: Migrate = |_, _, _| Ok(Ok(()));

const fn class<T: 'static>(version: u32, migration: MigrationSteps) -> Class {
    Class::new::<T>("ByHand", Body::Struct(&[])).version(version).migration(migration)
}

by_hand!(Whole, class::<Whole>(3, &[(1, DONE), (2, DONE)]));
by_hand!(First, class::<First>(1, &[(1, DONE)]));
by_hand!(Gap, class::<Gap>(4, &[(1, DONE), (3, DONE)]));
by_hand!(Late, class::<Late>(3, &[(2, DONE)]));
by_hand!(Short, class::<Short>(4, &[(1, DONE), (2, DONE)]));
by_hand!(Beyond, class::<Beyond>(2, &[(1, DONE), (2, DONE)]));
by_hand!(Zero, class::<Zero>(2, &[(0, DONE), (1, DONE)]));
by_hand!(Double, class::<Double>(3, &[(1, DONE), (1, DONE), (2, DONE)]));

#[test]
fn a_gap_in_a_migration_is_found_at_registration() {
    Registry::new().register::<Whole>().unwrap();
    let none = "add one, which may do nothing if field names say enough";
    assert_eq!(
        refused::<First>().message(),
        "ByHand has a `migrate` and is in version 1, before which there is none; give it `version = 2` or more"
    );
    for (error, from) in [(refused::<Gap>(), 2), (refused::<Late>(), 1), (refused::<Short>(), 3)] {
        let to = from + 1;
        let message =
            format!("`migrate` of ByHand has no step from version {from} to {to}; {none}");
        assert_eq!(error.message(), message);
    }
}

#[test]
fn steps_that_lead_nowhere_are_found_at_registration() {
    for (error, from) in [(refused::<Beyond>(), 2), (refused::<Zero>(), 0)] {
        let message = format!(
            "`migrate` of ByHand has a step from version {from}; steps begin at versions 1 to 1, below that of the class"
        );
        assert_eq!(error.message(), message);
    }
    assert_eq!(
        refused::<Double>().message(),
        "`migrate` of ByHand has the step from version 1 after that from version 1; give one step for each version, in ascending order"
    );
}

const UNKNOWN: FieldRecord =
    FieldRecord::new::<Unknown>("rest", None, <Unknown as Persist>::persist_kind).keeps_unknown();

const fn other(name: &'static str, fields: &'static [FieldRecord]) -> VariantRecord {
    VariantRecord { name, aliases: &[], fields, other: true, removed: &[] }
}

/// Fields that keep what is unknown in something else, which the derive refuses.
const NUMBER: FieldRecord =
    FieldRecord::new::<u8>("rest", None, <u8 as Persist>::persist_kind).keeps_unknown();
const TEXT: FieldRecord =
    FieldRecord::new::<String>("0", None, <String as Persist>::persist_kind).keeps_unknown();

by_hand!(Number, Class::new::<Number>("Number", Body::Struct(&[NUMBER])));
by_hand!(Text, Class::new::<Text>("Text", Body::Enum(&[other("Other", &[TEXT])])));

by_hand!(Keepers, Class::new::<Keepers>("ByHand", Body::Struct(&[UNKNOWN, UNKNOWN])));
by_hand!(
    Others,
    Class::new::<Others>("ByHand", Body::Enum(&[other("A", &[]), other("B", &[UNKNOWN])]))
);
by_hand!(Crowd, Class::new::<Crowd>("ByHand", Body::Enum(&[other("A", &[UNKNOWN, UNKNOWN])])));

#[test]
fn several_places_for_what_is_unknown_are_found_at_registration() {
    let error = refused::<Keepers>();
    assert_eq!(error.message(), "`rest` holds all that is unknown already; remove one of the two");
    let error = refused::<Others>();
    assert_eq!(error.field(), Some("B"));
    assert!(error.message().starts_with("`A` stands for unknown variants already"), "{error}");
    let error = refused::<Crowd>();
    assert!(error.message().ends_with("this one has 2 fields; remove all but one"), "{error}");
}

const LEVEL: FieldRecord = FieldRecord::new::<u8>("level", None, <u8 as Persist>::persist_kind);

by_hand!(
    GoneField,
    Class::new::<GoneField>("ByHand", Body::Struct(&[LEVEL.aliases(&["rank"])])).removed(&["rank"])
);
by_hand!(
    GoneVariant,
    Class::new::<GoneVariant>(
        "ByHand",
        Body::Enum(&[VariantRecord {
            name: "A",
            aliases: &[],
            fields: &[],
            other: false,
            removed: &[]
        }])
    )
    .removed(&["B"])
);

#[test]
fn what_is_removed_and_there_is_found_at_registration() {
    let error = refused::<GoneField>();
    assert_eq!(error.field(), Some("level"));
    assert_eq!(error.message(), "`rank` is `removed` and there at once; remove one of the two");
    let error = refused::<GoneVariant>();
    assert_eq!(error.message(), "a stored `B` must become some variant; mark one as `other`");
}

#[derive(Persist)]
#[persist(class = "quest.Wagon", alias = "quest.Cart")]
struct Wagon {
    wheels: u8,
}

#[test]
fn a_class_that_is_there_is_not_gone_for_good() {
    for name in ["quest.Cart", "quest.Wagon"] {
        let mut registry = Registry::new();
        registry.declare_removed_class(name).unwrap();
        let error = registry.register::<Wagon>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let message = format!(
            "`declare_removed_class` says that {name} is gone, and quest.Wagon is registered, which has that name or had it; remove one of the two"
        );
        assert_eq!(error.message(), message);
        assert_eq!(registry.classes().count(), 0);

        let mut registry = Registry::new();
        registry.register::<Wagon>().unwrap();
        let error = registry.declare_removed_class(name).unwrap_err();
        assert_eq!(error.message(), message);
        registry.declare_removed_class("quest.Cartwright").unwrap();
    }
}

/// Classes of one name and another's alias, registered in both orders.
fn both_orders<A: Persist, B: Persist>() -> String {
    let refuse = |first: fn(&mut Registry) -> persist::Result<()>,
                  second: fn(&mut Registry) -> persist::Result<()>| {
        let mut registry = Registry::new();
        first(&mut registry).unwrap();
        let before: Vec<String> = registry.classes().map(Class::name).collect();
        let error = second(&mut registry).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateId, "{error}");
        let after: Vec<String> = registry.classes().map(Class::name).collect();
        assert_eq!(after, before);
        error.message().replace("evolution::registration::", "")
    };
    let messages = [
        refuse(Registry::register::<A>, Registry::register::<B>),
        refuse(Registry::register::<B>, Registry::register::<A>),
    ];
    messages.join("\n")
}

mod renamed {
    use super::*;

    #[derive(Persist)]
    pub(super) struct Sword(pub(super) u8);

    #[derive(Persist)]
    #[persist(alias = "Sword")]
    pub(super) struct Blade(pub(super) u8);

    #[derive(Persist)]
    #[persist(alias = "Club", alias = "Sword")]
    pub(super) enum Weapon {
        Blunt,
    }

    #[derive(Persist)]
    pub(super) struct Slot<T>(T);

    #[derive(Persist)]
    #[persist(alias = "Slot")]
    pub(super) struct Pocket<T>(T);

    #[derive(Persist)]
    #[persist(alias = "Slot<u8>")]
    pub(super) struct ByteSlot(u8);

    #[derive(Persist)]
    #[persist(alias = "Vec<u8>")]
    pub(super) struct Bytes(Vec<u8>);
}

use renamed::{Blade, ByteSlot, Bytes, Pocket, Slot, Sword, Weapon};

#[test]
fn an_alias_that_is_another_class_is_refused() {
    let messages = [
        both_orders::<Sword, Blade>(),
        both_orders::<Blade, Weapon>(),
        both_orders::<Slot<u8>, Pocket<u16>>(),
        both_orders::<Slot<u8>, ByteSlot>(),
        both_orders::<Vec<u8>, Bytes>(),
    ];
    insta::assert_snapshot!(
        "aliases_of_two_classes",
        messages.join(
            "
"
        )
    );
}

#[test]
fn instances_of_a_generic_class_share_its_aliases() {
    let mut registry = Registry::new();
    registry.register::<Pocket<u8>>().unwrap();
    registry.register::<Pocket<u16>>().unwrap();
}

#[persist::dynamic]
trait Item {}

impl Item for Sword {}
impl Item for Blade {}

#[test]
fn an_alias_that_is_another_class_of_a_trait_is_refused() {
    let mut registry = Registry::new();
    registry.register_as::<Sword, dyn Item>().unwrap();
    let error = registry.register_as::<Blade, dyn Item>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateId, "{error}");
    assert_eq!(registry.classes().count(), 1);
    let mut registry = Registry::new();
    registry.register_as::<Blade, dyn Item>().unwrap();
    registry.register_as::<Sword, dyn Item>().unwrap_err();
}
