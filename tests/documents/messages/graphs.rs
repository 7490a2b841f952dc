//! Graphs of objects: cycles, pointers, trait objects, handles, hooks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use persist::codec::{Decoder, Encoder, Fail, Parts, Prototypes, Stop};
use persist::reflect::Kind;
use persist::save::{Remap, UnmappedHandle};
use persist::{Arena, Handle, ObjectId, Persist, SaveManager, Saves, Unknown};

use crate::messages::table::Table;
use persist_tests::support::forge::{ADDED, MET, class, record, save as save_of, text};

type Shared<T> = Rc<RefCell<T>>;

fn shared<T>(value: T) -> Shared<T> {
    Rc::new(RefCell::new(value))
}

#[derive(Persist)]
struct Gadget {
    me: Weak<Gadget>,
    parts: Vec<Rc<Gadget>>,
}

#[derive(Persist)]
#[persist(before_save = Shy::hide)]
struct Shy {
    saves: u32,
}

impl Shy {
    fn hide(&mut self) {
        self.saves += 1;
    }
}

#[derive(Persist)]
#[persist(before_save = Bad::save, after_load = Bad::load, validate = Bad::check)]
struct Bad {
    why: u8,
}

impl Bad {
    fn save(&mut self) -> Result<(), &'static str> {
        if self.why == 1 { Err("not now") } else { Ok(()) }
    }

    fn load(&mut self) -> Result<(), &'static str> {
        if self.why == 2 { Err("not here") } else { Ok(()) }
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.why == 3 { Err("not so") } else { Ok(()) }
    }
}

thread_local! {
    static MANAGER: RefCell<Option<Rc<SaveManager>>> = const { RefCell::new(None) };
}

/// An object that saves its manager once more.
#[derive(Persist)]
#[persist(before_save = Self::save)]
struct Greedy;

impl Greedy {
    fn save(&mut self) -> persist::Result<()> {
        let manager = MANAGER.with_borrow(|manager| manager.clone().unwrap());
        manager.to_vec().map(drop)
    }
}

#[test]
fn objects_that_cannot_be_saved() {
    let mut table = Table::new();
    table.add("no objects", SaveManager::new().to_vec());
    let own = Rc::new_cyclic(|me| Gadget { me: me.clone(), parts: vec![] });
    let two = Rc::new_cyclic(|me: &Weak<Gadget>| Gadget {
        me: Weak::new(),
        parts: vec![Rc::new(Gadget { me: me.clone(), parts: vec![] })],
    });
    for (what, gadget) in [("a cycle of one", own), ("a cycle of two", two)] {
        let mut manager = SaveManager::new();
        manager.add(&gadget).unwrap();
        table.add(what, manager.to_vec());
    }
    let mut manager = SaveManager::new();
    manager.add(&shared(Greedy)).unwrap();
    MANAGER.set(Some(Rc::new(manager)));
    let manager = MANAGER.with_borrow(|manager| manager.clone().unwrap());
    table.add("a manager that a hook saves", manager.to_vec());
    MANAGER.set(None);
    let array = Rc::new([1_u8, 2, 3]);
    let slice: Rc<[u8]> = array.clone();
    table.add("an array and a slice", persist::to_vec(&(array, slice)));
    table.add("a hook without a cell", persist::to_vec(&Rc::new(Shy { saves: 0 })));
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(Shy { saves: 0 })).unwrap();
    table.add("a hook of an object without a cell", manager.to_vec());
    table.add("a hook of a value", persist::to_vec(&Shy { saves: 0 }));
    table.add("a hook that refuses", persist::to_vec(&shared(Bad { why: 1 })));
    let mut manager = SaveManager::new();
    let object = shared(Bad { why: 0 });
    manager.add(&object).unwrap();
    let borrow = object.borrow();
    table.add("an object that is borrowed", manager.to_vec());
    drop(borrow);
    let borrow = object.borrow_mut();
    table.add("an object that is mutably borrowed", manager.to_vec());
    drop(borrow);
    insta::assert_snapshot!(table.text());
}

/// The class of a program that does not know yet what is wrong.
mod unchecked {
    #[derive(persist::Persist)]
    pub(super) struct Bad {
        pub(super) why: u8,
    }
}

#[test]
fn objects_that_cannot_be_loaded() {
    let mut table = Table::new();
    for (what, why) in [("a hook that refuses", 2), ("a validation that refuses", 3)] {
        let mut manager = SaveManager::new();
        manager.add(&shared(unchecked::Bad { why })).unwrap();
        let save = manager.to_vec().unwrap();
        let manager = SaveManager::new();
        manager.register::<Bad>().unwrap();
        table.add(what, manager.from_slice(&save));
    }
    insta::assert_snapshot!(table.text());
}

#[derive(Persist)]
struct Hero {
    level: u8,
}

#[derive(Persist)]
struct Sword {
    power: u8,
}

#[test]
fn objects_that_are_not_in_a_load() {
    let mut table = Table::new();
    let mut manager = SaveManager::new();
    let id = manager.add(&shared(Hero { level: 1 })).unwrap();
    manager.add(&shared(Sword { power: 1 })).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    table.add("another class", loaded.get::<Sword>(id));
    table.add("no object", loaded.get::<Hero>(ObjectId::new(99).unwrap()));
    table.add("no object of a type", loaded.first::<u8>());
    let other = SaveManager::new();
    other.register::<Sword>().unwrap();
    let loaded = other.from_slice(&save).unwrap();
    table.add("a class that is not registered", loaded.first::<Hero>());
    insta::assert_snapshot!(table.text());
}

#[persist::dynamic(unknown = Absent)]
trait Item {}

#[derive(Persist)]
struct Absent {
    unknown: Unknown,
}

impl From<Unknown> for Absent {
    fn from(unknown: Unknown) -> Self {
        Self { unknown }
    }
}

impl AsRef<Unknown> for Absent {
    fn as_ref(&self) -> &Unknown {
        &self.unknown
    }
}

impl Item for Absent {}

#[derive(Persist)]
struct Coin(u8);

impl Item for Coin {}

#[derive(Persist)]
struct Purse {
    item: Box<dyn Item>,
}

#[derive(Persist)]
struct Chest {
    item: Shared<dyn Item>,
}

#[persist::dynamic]
trait Tool {}

impl Tool for Coin {}

#[derive(Persist)]
struct Belt {
    tool: Box<dyn Tool>,
}

#[derive(Persist)]
struct Strap {
    tool: Shared<dyn Tool>,
}

#[test]
fn trait_objects() {
    let mut table = Table::new();
    let mut manager = SaveManager::new();
    manager.register_as::<Coin, dyn Item>().unwrap();
    let unknown = Absent { unknown: Unknown::default() };
    manager.add(&shared(Purse { item: Box::new(unknown) })).unwrap();
    table.add("a stand-in that was not loaded", manager.to_vec());

    let mut manager = SaveManager::new();
    manager.register_as::<Coin, dyn Item>().unwrap();
    manager.add(&shared(Chest { item: shared(Coin(1)) })).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<Chest>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let chest = loaded.first::<Chest>().unwrap();
    let item = chest.borrow().item.clone();
    let borrow = item.borrow_mut();
    table.add("a stand-in that is borrowed", loaded.to_vec());
    drop(borrow);

    let mut manager = SaveManager::new();
    manager.add(&shared(Strap { tool: shared(Coin(1)) })).unwrap();
    table.add("a class behind a pointer to a trait", manager.to_vec());
    let mut manager = SaveManager::new();
    manager.register_as::<Coin, dyn Tool>().unwrap();
    manager.add(&shared(Belt { tool: Box::new(Coin(1)) })).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<Belt>().unwrap();
    table.add("a class that is not registered for its trait", manager.from_slice(&save));
    // A value of a class that nobody knows, with a value of a class that the save does not define.
    let kind = [&[0x18], &text("Item")[..]].concat();
    let of = |name: &str| class(name, &[("item", &kind)]);
    let hostile = save_of(&[of("Purse"), of("Lost"), record(1, ADDED, 1, &[2, 99])]);
    let manager = SaveManager::new();
    manager.register::<Purse>().unwrap();
    table.add("a class that is not defined", manager.from_slice(&hostile));
    insta::assert_snapshot!(table.text());
}

/// What an older program had in place of the unknown fields of an [`Owner`].
#[derive(Persist)]
#[persist(class = "Owner")]
struct OwnerThen {
    pet: Rc<RefCell<Coin>>,
}

#[derive(Persist)]
struct Owner {
    #[persist(unknown)]
    rest: Unknown,
}

#[test]
fn unknown_values_on_another_thread() {
    let mut table = Table::new();
    let save = persist::to_vec(&OwnerThen { pet: shared(Coin(1)) }).unwrap();
    let owner = persist::from_slice::<Owner>(&save).unwrap();
    persist::to_vec(&owner).unwrap();
    let saved = std::thread::spawn(move || persist::to_vec(&owner));
    table.add("an unknown field that refers to an object", saved.join().unwrap());
    insta::assert_snapshot!(table.text());
}

struct Monsters;

impl Arena for Monsters {
    type Key = u64;
    const NAME: &'static str = "monsters";

    fn to_bits(key: u64) -> u64 {
        key
    }

    fn from_bits(bits: u64) -> Option<u64> {
        Some(bits)
    }
}

/// An arena whose two functions are not each other's inverse.
struct Broken;

impl Arena for Broken {
    type Key = u64;
    const NAME: &'static str = "broken";

    fn to_bits(key: u64) -> u64 {
        key + 1
    }

    fn from_bits(bits: u64) -> Option<u64> {
        Some(bits)
    }
}

#[test]
fn handles() {
    let mut table = Table::new();
    let one: Handle<Monsters> = Handle::new(1);
    let save = persist::to_vec(&one).unwrap();
    let saves = Saves::new();
    let mut remap = Remap::new();
    remap.arena::<Monsters>(UnmappedHandle::Error, |_| None);
    table.add("an id without an object", remap.from_slice::<Handle<Monsters>>(&saves, &save));
    let map: HashMap<Handle<Monsters>, u8> = [(one, 1), (Handle::new(2), 2)].into();
    let save = persist::to_vec(&map).unwrap();
    let mut remap = Remap::new();
    remap.arena::<Monsters>(UnmappedHandle::Error, |_| Some(7));
    table.add(
        "two keys that become one",
        remap.from_slice::<HashMap<Handle<Monsters>, u8>>(&saves, &save),
    );
    let save = persist::to_vec(&Handle::<Broken>::new(1)).unwrap();
    table.add("an arena that does not find its keys", persist::from_slice::<Handle<Broken>>(&save));
    let save = persist::to_vec(&ObjectId::new(1).unwrap()).unwrap();
    let mut forged = persist_tests::support::forge::Forged::parse(&save);
    let payload = forged.items.last_mut().unwrap().content();
    payload[1..9].fill(0xff);
    table.add("an id that is none", persist::from_slice::<ObjectId>(&forged.build()));
    insta::assert_snapshot!(table.text());
}

/// A pair that visits its parts in another order than it decodes them.
struct Pair(Shared<Hero>, Shared<Sword>);

impl Persist for Pair {
    fn persist_kind() -> Kind {
        Kind::Tuple(&[<Shared<Hero>>::persist_kind, <Shared<Sword>>::persist_kind])
    }

    fn persist_parts(parts: &mut Parts<'_, Self>) -> persist::Result<()> {
        parts.part("1", |pair| &pair.1, |pair| &mut pair.1)?;
        parts.part("0", |pair| &pair.0, |pair| &mut pair.0)
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self(Shared::persist_empty(prototypes)?, Shared::persist_empty(prototypes)?))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(&self.0)?;
        out.value(&self.1)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Ok(Self(input.value()?, input.value()?))
    }
}

/// A pair of one type, visited once more than it is decoded.
struct Same(Shared<Hero>, Shared<Hero>);

impl Persist for Same {
    fn persist_kind() -> Kind {
        Kind::Tuple(&[<Shared<Hero>>::persist_kind, <Shared<Hero>>::persist_kind])
    }

    fn persist_parts(parts: &mut Parts<'_, Self>) -> persist::Result<()> {
        parts.part("0", |pair| &pair.0, |pair| &mut pair.0)?;
        parts.part("1", |pair| &pair.1, |pair| &mut pair.1)?;
        parts.part("0", |pair| &pair.0, |pair| &mut pair.0)
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self(Shared::persist_empty(prototypes)?, Shared::persist_empty(prototypes)?))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(&self.0)?;
        out.value(&self.1)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Ok(Self(input.value()?, input.value()?))
    }
}

#[test]
fn parts_that_are_listed_wrongly() {
    fn load<P: Persist>(pair: P) -> persist::Result<()> {
        let mut manager = SaveManager::new();
        manager.add(&shared(pair))?;
        let save = manager.to_vec()?;
        manager.from_slice(&save).map(drop)
    }
    let (hero, sword) = (|| shared(Hero { level: 1 }), || shared(Sword { power: 1 }));
    let mut table = Table::new();
    table.add("another order", load(Pair(hero(), sword())));
    table.add("one part once more", load(Same(hero(), hero())));
    insta::assert_snapshot!(table.text());
}

#[test]
fn references_that_lead_where_they_must_not() {
    let mut table = Table::new();
    let classes = || [class("Hero", &[("level", &[3])]), class("Sword", &[("power", &[3])])];
    let kind: &[u8] = &[0x17, 0x11, 2];
    let root = class("Root", &[("to", kind)]);
    let load = |to: u8| {
        let items =
            [&classes()[..], &[root.clone(), record(3, ADDED, 1, &[to]), record(1, MET, 2, &[7])]]
                .concat();
        let manager = SaveManager::new();
        manager.register::<Root>().unwrap();
        manager.register::<Hero>().unwrap();
        manager.from_slice(&save_of(&items))
    };
    table.add("to another class", load(2));
    table.add("to nobody", load(9));
    table.add("to none", load(0));
    insta::assert_snapshot!(table.text());
}

#[derive(Persist)]
struct Root {
    to: Shared<Sword>,
}
