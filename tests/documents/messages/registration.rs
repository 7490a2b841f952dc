//! What is wrong with types, found when they are registered.

#![allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;

use persist::__private::{Body, Migrate, MigrationSteps};
use persist::codec::{Decoder, Encoder, Fail, Prototypes, Reflect, Stop};
use persist::reflect::{Class, FieldRecord, Kind, VariantRecord};
use persist::save::Registry;
use persist::{Persist, SaveManager, Saves, Unknown};

use crate::messages::table::Table;

fn register<T: Persist>() -> persist::Result<()> {
    Registry::new().register::<T>()
}

type Shared<T> = Rc<RefCell<T>>;
type Register = fn(&mut Registry) -> persist::Result<()>;

#[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
#[persist(after_load = wake)]
struct Sleeper(u8);

fn wake(sleeper: &mut Sleeper) {
    sleeper.0 = 0;
}

fn slept(old: Sleeper) -> u8 {
    old.0
}

#[derive(Persist)]
struct KeyedByPointer {
    all: BTreeMap<Rc<u8>, u8>,
}

#[derive(Persist)]
struct SetOfPointers {
    all: BTreeSet<Rc<u8>>,
}

#[derive(Persist)]
struct HeapOfPointers {
    all: BinaryHeap<Rc<u8>>,
}

#[derive(Persist)]
struct RangeOfPointers {
    all: Range<Rc<u8>>,
}

#[derive(Persist)]
struct KeyedByHooks {
    all: BTreeMap<Sleeper, u8>,
}

#[derive(Persist)]
struct WithPointer {
    #[persist(with = by_pointer)]
    value: u8,
}

mod by_pointer {
    use std::rc::Rc;

    pub(super) type Stored = Rc<u8>;

    pub(super) fn store(value: &u8) -> Stored {
        Rc::new(*value)
    }

    pub(super) fn restore(stored: Stored) -> Result<u8, String> {
        Ok(*stored)
    }
}

#[derive(Persist)]
struct Woken {
    #[persist(convert = slept)]
    hours: u8,
}

#[derive(Persist)]
struct Linked {
    #[persist(convert = first)]
    next: Option<Shared<Linked>>,
}

fn first(mut old: Vec<Shared<Linked>>) -> Option<Shared<Linked>> {
    old.pop()
}

#[persist::dynamic]
trait Tool {}

#[derive(Persist)]
struct KeyedByTool {
    #[persist(with = by_tool)]
    value: u8,
}

mod by_tool {
    use super::{Hammer, Tool};

    pub(super) type Stored = Box<dyn Tool>;

    pub(super) fn store(value: &u8) -> Stored {
        Box::new(Hammer(*value))
    }

    pub(super) fn restore(_: Stored) -> Result<u8, String> {
        Ok(0)
    }
}

#[derive(Persist)]
struct Hammer(u8);

impl Tool for Hammer {}

#[test]
fn parts_that_no_load_connects() {
    let mut table = Table::new();
    table.add("a map by pointers", register::<KeyedByPointer>());
    table.add("a set of pointers", register::<SetOfPointers>());
    table.add("a heap of pointers", register::<HeapOfPointers>());
    table.add("a range of pointers", register::<RangeOfPointers>());
    table.add("a map by a class with hooks", register::<KeyedByHooks>());
    table.add("a pointer through a with module", register::<WithPointer>());
    table.add("a trait object through a with module", register::<KeyedByTool>());
    table.add("a convert of a class with hooks", register::<Woken>());
    table.add("a convert of pointers", register::<Linked>());
    insta::assert_snapshot!(table.text());
}

#[derive(Persist)]
struct Link {
    next: Next,
}

#[derive(Persist)]
enum Next {
    End,
    #[persist(empty)]
    More(Shared<Link>),
}

#[derive(Persist)]
struct NoTool {
    tool: Box<dyn Tool>,
}

#[test]
fn values_that_cannot_be_empty() {
    let mut table = Table::new();
    table.add("a link that has a link", register::<Link>());
    let mut manager = SaveManager::new();
    let tool = NoTool { tool: Box::new(Hammer(1)) };
    table.add(
        "no class of a trait",
        manager.add(&Rc::new(RefCell::new(tool))).and_then(|_| {
            let save = manager.to_vec()?;
            manager.from_slice(&save)
        }),
    );
    insta::assert_snapshot!(table.text());
}

mod one {
    use persist::Persist;

    #[derive(Persist)]
    #[persist(class = "game.Item")]
    pub(super) struct Item(pub(super) u8);

    #[persist::dynamic(name = "game.Trait")]
    pub(super) trait Of {}

    impl Of for Item {}
}

mod two {
    use persist::Persist;

    #[derive(Persist)]
    #[persist(class = "game.Item")]
    pub(super) struct Item(pub(super) u16);

    #[derive(Persist)]
    pub(super) struct Other(pub(super) u16);

    #[persist::dynamic(name = "game.Trait")]
    pub(super) trait Of {}

    impl Of for Other {}
}

#[derive(Persist)]
#[persist(class = "Vec<u8>")]
struct Bytes(Vec<u8>);

mod audio {
    use super::Persist;

    #[derive(Persist)]
    pub(super) struct Channel(u8);

    #[derive(Persist)]
    #[persist(id = 7)]
    pub(super) struct Bus(u8);

    #[derive(Persist)]
    pub(super) struct Timer(u8);
}

mod dma {
    pub(super) mod audio {
        use persist::Persist;

        #[derive(Persist)]
        pub(crate) struct Channel(u64);
    }

    use super::Persist;

    #[derive(Persist)]
    pub(super) struct Channel(u32);

    #[derive(Persist)]
    #[persist(id = 7)]
    pub(super) struct Port(u32);
}

/// An emulator whose parts each have a channel.
#[derive(Persist)]
struct Machine {
    sound: [audio::Channel; 4],
    copies: Vec<Shared<dma::Channel>>,
    sounds: Vec<Shared<audio::Channel>>,
    copied_sounds: dma::audio::Channel,
    bus: audio::Bus,
    port: dma::Port,
    timer: audio::Timer,
    pairs: [Pair<audio::Channel>; 2],
    other_pairs: Pair<dma::Channel>,
}

#[derive(Persist)]
struct Pair<T>(T, T);

trait Measured: 'static {
    type Unit: Persist;
}

enum Height {}
enum Weight {}

impl Measured for Height {
    type Unit = u16;
}

impl Measured for Weight {
    type Unit = f32;
}

/// What it stores depends on its parameter, which its name does not have.
#[derive(Persist)]
#[persist(bound = "T: Measured")]
struct Measure<T: Measured> {
    value: T::Unit,
}

#[derive(Persist)]
#[persist(transparent)]
struct Metres(f32);

#[derive(Persist)]
struct HoldsMetres {
    near: Shared<f32>,
    far: Shared<Metres>,
}

#[derive(Persist)]
#[persist(class = "quest.Wagon", alias = "quest.Cart")]
struct Wagon {
    wheels: u8,
}

#[derive(Persist)]
#[persist(class = "quest.Cart")]
struct Cart {
    wheels: u8,
}

type Deep8<T> = Option<Option<Option<Option<Option<Option<Option<Option<T>>>>>>>>;

#[derive(Persist)]
#[allow(clippy::type_complexity, reason = "it is to be too deep")]
struct Deep(Deep8<Deep8<Deep8<Deep8<Deep8<Deep8<Deep8<Deep8<u8>>>>>>>>);

#[derive(Persist)]
struct Id<T> {
    number: u32,
    of: PhantomData<T>,
}

impl<T: 'static> one::Of for Id<T> {}

#[test]
fn names_that_two_have() {
    let mut table = Table::new();
    let both = |first: Register, second: Register| {
        let mut registry = Registry::new();
        first(&mut registry).unwrap();
        second(&mut registry)
    };
    table.add(
        "one class name",
        both(Registry::register::<one::Item>, Registry::register::<two::Item>),
    );
    table.add("several class names in one type", register::<Machine>());
    table.add("one generic type of two forms", register::<(Measure<Height>, Measure<Weight>)>());
    table.add(
        "a class named as a kind",
        both(Registry::register::<Bytes>, Registry::register::<Vec<u8>>),
    );
    table.add(
        "a kind named as a class",
        both(Registry::register::<Vec<u8>>, Registry::register::<Bytes>),
    );
    table.add("a type and its field", register::<HoldsMetres>());
    table.add(
        "two objects of one class",
        both(Registry::register::<Id<Cart>>, Registry::register::<Id<Wagon>>),
    );
    table.add(
        "two implementors of one class",
        both(
            Registry::register_as::<Id<Cart>, dyn one::Of>,
            Registry::register_as::<Id<Wagon>, dyn one::Of>,
        ),
    );
    let saves = Saves::new();
    saves.to_vec(&Id::<Cart> { number: 1, of: PhantomData }).unwrap();
    table.add(
        "two whole values of one class",
        saves.to_vec(&Id::<Wagon> { number: 1, of: PhantomData }).map(drop),
    );
    table.add(
        "an alias of another class",
        both(Registry::register::<Cart>, Registry::register::<Wagon>),
    );
    table.add(
        "one trait name",
        both(
            Registry::register_as::<one::Item, dyn one::Of>,
            Registry::register_as::<two::Other, dyn two::Of>,
        ),
    );
    table.add(
        "a removed class",
        both(Registry::register::<Wagon>, |registry| registry.declare_removed_class("quest.Cart")),
    );
    table.add("a type too deep", register::<Deep>());
    insta::assert_snapshot!(table.text());
}

#[persist::dynamic(unknown = Lost)]
trait Item {}

#[derive(Persist)]
struct Lost {
    name: String,
    unknown: Unknown,
}

#[persist::dynamic(unknown = Gone)]
trait Thing {}

#[derive(Persist)]
#[persist(transparent)]
struct Gone(Unknown);

macro_rules! stands_in {
    ($name:ident, $of:ident, $field:tt, $make:expr) => {
        impl From<Unknown> for $name {
            fn from(unknown: Unknown) -> Self {
                $make(unknown)
            }
        }

        impl AsRef<Unknown> for $name {
            fn as_ref(&self) -> &Unknown {
                &self.$field
            }
        }

        impl $of for $name {}
    };
}

stands_in!(Lost, Item, unknown, |unknown| Self { name: String::new(), unknown });
stands_in!(Gone, Thing, 0, Self);

#[derive(Persist)]
struct Sword(u8);

impl Item for Sword {}
impl Thing for Sword {}

impl Tool for u8 {}

/// A type by hand that does not say what is inside.
struct Silent(Hammer);

impl Persist for Silent {
    fn persist_kind() -> Kind {
        Kind::List(Hammer::persist_kind)
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> persist::Result<Self> {
        Hammer::persist_empty(prototypes).map(Self)
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(&self.0)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.value().map(Self)
    }
}

#[derive(Persist)]
struct HoldsSilent {
    inside: Silent,
}

#[test]
fn types_of_traits_and_types_by_hand() {
    let mut table = Table::new();
    let mut registry = Registry::new();
    table.add("a stand-in with more fields", registry.register_as::<Sword, dyn Item>());
    table.add("a stand-in that is none", registry.register_as::<Sword, dyn Thing>());
    table.add("a number as a trait object", registry.register_as::<u8, dyn Tool>());
    table.add("a type that does not list its parts", registry.register::<HoldsSilent>());
    insta::assert_snapshot!(table.text());
}

#[derive(Persist)]
struct Twice {
    #[persist(convert = doubled)]
    value: Vec<u32>,
}

fn doubled(old: VecDeque<u32>) -> Vec<u32> {
    old.into_iter().map(|value| value * 2).collect()
}

#[derive(Persist)]
struct Loose {
    rest: Unknown,
}

/// A class whose table is written by hand; nothing is ever saved of it.
macro_rules! by_hand {
    ($name:ident, $class:expr) => {
        struct $name;

        impl Persist for $name {
            fn persist_kind() -> Kind {
                Kind::Class(|| <$name as Reflect>::CLASS)
            }

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

by_hand!(First, class::<First>(1, &[(1, DONE)]));
by_hand!(Gap, class::<Gap>(4, &[(1, DONE), (3, DONE)]));
by_hand!(Beyond, class::<Beyond>(2, &[(1, DONE), (2, DONE)]));
by_hand!(Double, class::<Double>(3, &[(1, DONE), (1, DONE), (2, DONE)]));

const UNKNOWN: FieldRecord =
    FieldRecord::new::<Unknown>("rest", None, <Unknown as Persist>::persist_kind).keeps_unknown();

const fn variant(name: &'static str, fields: &'static [FieldRecord], other: bool) -> VariantRecord {
    VariantRecord { name, aliases: &[], fields, other, removed: &[] }
}

const LEVEL: FieldRecord = FieldRecord::new::<u8>("level", None, <u8 as Persist>::persist_kind);

/// Fields that keep what is unknown in something else, which the derive refuses.
const NUMBER: FieldRecord =
    FieldRecord::new::<u8>("rest", None, <u8 as Persist>::persist_kind).keeps_unknown();
const TEXT: FieldRecord =
    FieldRecord::new::<String>("0", None, <String as Persist>::persist_kind).keeps_unknown();

by_hand!(Number, Class::new::<Number>("Number", Body::Struct(&[NUMBER])));
by_hand!(Text, Class::new::<Text>("Text", Body::Enum(&[variant("Other", &[TEXT], true)])));

by_hand!(Keepers, Class::new::<Keepers>("ByHand", Body::Struct(&[UNKNOWN, UNKNOWN])));
by_hand!(
    Others,
    Class::new::<Others>(
        "ByHand",
        Body::Enum(&[variant("A", &[], true), variant("B", &[UNKNOWN], true)])
    )
);
by_hand!(
    Crowd,
    Class::new::<Crowd>("ByHand", Body::Enum(&[variant("A", &[UNKNOWN, UNKNOWN], true)]))
);
by_hand!(
    GoneField,
    Class::new::<GoneField>("ByHand", Body::Struct(&[LEVEL.aliases(&["rank"])])).removed(&["rank"])
);
by_hand!(
    GoneVariant,
    Class::new::<GoneVariant>("ByHand", Body::Enum(&[variant("A", &[], false)])).removed(&["B"])
);

#[test]
fn attributes_for_older_saves() {
    let mut table = Table::new();
    table.add("a convert from the same kind", register::<Twice>());
    table.add("an unknown that no load fills", register::<Loose>());
    table.add("an unknown that is a number", register::<Number>());
    table.add("another variant that is a text", register::<Text>());
    table.add("a migrate of version 1", register::<First>());
    table.add("a migrate with a gap", register::<Gap>());
    table.add("a migrate from the last version", register::<Beyond>());
    table.add("a migrate with a step twice", register::<Double>());
    table.add("two keepers", register::<Keepers>());
    table.add("two others", register::<Others>());
    table.add("a crowd of others", register::<Crowd>());
    table.add("a field that is removed and there", register::<GoneField>());
    table.add("a variant that is removed without another", register::<GoneVariant>());
    insta::assert_snapshot!(table.text());
}
