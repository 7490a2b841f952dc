//! Fields with `skip_failed`: elements that cannot be loaded are left out, with a row each.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::rc::Rc;

use persist::save::{LoadEvent, LoadReport};
use persist::world::{ExternalIds, Prefab};
use persist::{Component, ErrorKind, History, Persist, SaveManager, Saves, Session, World};
use persist_tests::support::shared;

mod even {
    #[allow(dead_code, reason = "the derive names it")]
    pub(super) type Stored = u32;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the derive calls it so")]
    pub(super) fn store(number: &u64) -> u32 {
        u32::try_from(*number).expect("it is small")
    }

    pub(super) fn restore(number: u32) -> Result<u64, String> {
        match number % 2 {
            0 => Ok(number.into()),
            _ => Err(format!("{number} is odd")),
        }
    }
}

mod old {
    use super::*;

    #[derive(Persist, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Clone, Copy)]
    #[persist(class = "Item")]
    pub(super) enum Item {
        Ore,
        Sword { power: u16 },
        Bow,
    }

    #[derive(Persist)]
    #[persist(class = "Bag")]
    pub(super) struct Bag {
        pub(super) list: Vec<Item>,
        pub(super) queue: VecDeque<(u8, Item)>,
        pub(super) linked: LinkedList<Option<Item>>,
        pub(super) one: Option<Item>,
        pub(super) keys: BTreeMap<Item, u8>,
        pub(super) values: HashMap<u8, Item>,
        pub(super) seen: BTreeSet<Item>,
        pub(super) known: HashSet<Item>,
        pub(super) numbers: Vec<u32>,
        pub(super) last: String,
    }
}

#[derive(Persist, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Clone, Copy)]
enum Item {
    Ore,
    Sword { power: u8 },
}

#[derive(Persist, Debug, PartialEq)]
struct Bag {
    #[persist(skip_failed)]
    list: Vec<Item>,
    #[persist(skip_failed)]
    queue: VecDeque<(u8, Item)>,
    #[persist(skip_failed)]
    linked: LinkedList<Option<Item>>,
    #[persist(skip_failed)]
    one: Option<Item>,
    #[persist(skip_failed)]
    keys: BTreeMap<Item, u8>,
    #[persist(skip_failed)]
    values: HashMap<u8, Item>,
    #[persist(skip_failed)]
    seen: BTreeSet<Item>,
    #[persist(skip_failed)]
    known: HashSet<Item>,
    #[persist(skip_failed, with = "Vec<even>")]
    numbers: Vec<u64>,
    last: String,
}

const ITEMS: [old::Item; 5] = [
    old::Item::Bow,
    old::Item::Ore,
    old::Item::Sword { power: 300 },
    old::Item::Sword { power: 3 },
    old::Item::Bow,
];

fn old_bag() -> old::Bag {
    old::Bag {
        list: ITEMS.into(),
        queue: (0..).zip(ITEMS).collect(),
        linked: ITEMS.into_iter().map(Some).chain([None]).collect(),
        one: Some(old::Item::Bow),
        keys: ITEMS.into_iter().zip(0..).collect(),
        values: (0..).zip(ITEMS).collect(),
        seen: ITEMS.into(),
        known: ITEMS.into(),
        numbers: vec![1, 2, 3, 4],
        last: String::from("last"),
    }
}

fn new_bag() -> Bag {
    let items = [Item::Ore, Item::Sword { power: 3 }];
    Bag {
        list: items.into(),
        queue: [(1, items[0]), (3, items[1])].into(),
        linked: [Some(items[0]), Some(items[1]), None].into(),
        one: None,
        keys: [(items[0], 1), (items[1], 3)].into(),
        values: [(1, items[0]), (3, items[1])].into(),
        seen: items.into(),
        known: items.into(),
        numbers: vec![2, 4],
        last: String::from("last"),
    }
}

fn skipped(report: &LoadReport) -> usize {
    report.rows().iter().filter(|row| row.event == LoadEvent::Skipped).count()
}

impl Component for old::Bag {}
impl Component for Bag {}

#[test]
fn elements_that_cannot_be_loaded_are_skipped_with_a_row_each() {
    let save = persist::to_vec(&old_bag()).unwrap();
    let loaded = Saves::new().from_slice::<Bag>(&save).unwrap();
    assert_eq!(*loaded, new_bag());
    insta::assert_snapshot!(loaded.report());
    assert_eq!(loaded.report().counts().lost, skipped(loaded.report()) as u64);
    // What is left is saved, and loads whole.
    let again = persist::to_vec(&*loaded).unwrap();
    let again = Saves::new().from_slice::<Bag>(&again).unwrap();
    assert_eq!(*again, new_bag());
    assert!(again.report().is_clean(), "{}", again.report());
}

#[test]
fn objects_and_components_skip_elements_too() {
    let mut manager = SaveManager::new();
    manager.add(&shared(old_bag())).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<Bag>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    assert_eq!(*loaded.first::<Bag>().unwrap().borrow(), new_bag());
    assert!(skipped(loaded.report()) > 0);

    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, old_bag()).unwrap();
    let saves = Saves::new();
    let save = saves.to_vec(&world).unwrap();
    let saves = Saves::new();
    saves.register_component::<Bag>().unwrap();
    let loaded = saves.from_slice::<World>(&save).unwrap();
    assert_eq!(*loaded.get::<Bag>(ada).unwrap(), new_bag());
    assert!(skipped(loaded.report()) > 0);

    // Under a journal, and in a prefab.
    let folder = tempfile::tempdir().unwrap();
    let [path, journal, prefab] =
        ["a.sav", "a.journal", "a.prefab"].map(|name| folder.path().join(name));
    std::fs::write(&path, &save).unwrap();
    Saves::new().file(&prefab).save(&world.prefab(ada).unwrap()).unwrap();
    let open = || {
        let session = Session::<World>::with(saves.clone(), History::new(8));
        session.open(&path, &journal).unwrap().0
    };
    let mut session = open();
    session.set(ada, "Bag:last", "first").unwrap();
    session.set(ada, "Bag:list[1].power", 4).unwrap();
    drop(session);
    let mut session = open();
    let mut expected = new_bag();
    expected.last = String::from("first");
    expected.list[1] = Item::Sword { power: 4 };
    assert_eq!(*session.world().get::<Bag>(ada).unwrap(), expected);
    session.undo().unwrap();
    session.undo().unwrap();
    assert_eq!(*session.world().get::<Bag>(ada).unwrap(), new_bag());
    let prefab = saves.file(&prefab).load::<Prefab>().unwrap();
    let mut world = World::new();
    let copy = world.instantiate(&prefab, ExternalIds::Keep).unwrap();
    assert_eq!(*world.get::<Bag>(copy).unwrap(), new_bag());
}

#[persist::dynamic]
trait Tool {
    fn weight(&self) -> u32;
}

#[derive(Persist)]
struct Axe(u32, Owner);

#[derive(Persist)]
struct Saw(String, Owner);

impl Tool for Axe {
    fn weight(&self) -> u32 {
        self.0
    }
}

impl Tool for Saw {
    fn weight(&self) -> u32 {
        0
    }
}

#[derive(Persist)]
struct Chest {
    #[persist(skip_failed)]
    tools: Vec<Box<dyn Tool>>,
    #[persist(skip_failed)]
    pairs: Vec<(u8, Box<dyn Tool>)>,
    owner: Owner,
}

#[test]
fn a_trait_object_of_a_class_that_is_not_registered_is_skipped() {
    let owner = shared(String::from("Ada"));
    let saw = || Box::new(Saw(String::from("long"), shared(String::from("Bob"))));
    let chest = Chest {
        tools: vec![saw(), Box::new(Axe(7, owner.clone())), saw()],
        pairs: vec![(1, Box::new(Axe(8, owner.clone()))), (2, saw())],
        owner: owner.clone(),
    };
    let saves = Saves::new();
    saves.register_as::<Axe, dyn Tool>().unwrap();
    saves.register_as::<Saw, dyn Tool>().unwrap();
    let save = saves.to_vec(&chest).unwrap();
    let saves = Saves::new();
    saves.register_as::<Axe, dyn Tool>().unwrap();
    let loaded = saves.from_slice::<Chest>(&save).unwrap();
    assert_eq!(loaded.tools.iter().map(|tool| tool.weight()).collect::<Vec<_>>(), [7]);
    assert_eq!(loaded.pairs.iter().map(|(_, tool)| tool.weight()).collect::<Vec<_>>(), [8]);
    assert_eq!((&**loaded.owner.borrow(), skipped(loaded.report())), ("Ada", 3));
    assert_eq!(Rc::strong_count(&loaded.owner), 3);
}

type Owner = Rc<RefCell<String>>;

#[derive(Persist)]
#[persist(class = "Room")]
struct OldRoom {
    doors: Vec<OldDoor>,
    keys: HashMap<u8, OldDoor>,
}

#[derive(Persist)]
#[persist(class = "Door")]
struct OldDoor {
    first: Owner,
    number: u32,
    last: Owner,
}

#[derive(Persist)]
struct Room {
    #[persist(skip_failed)]
    doors: Vec<Door>,
    #[persist(skip_failed)]
    keys: HashMap<u8, Door>,
}

#[derive(Persist)]
struct Door {
    first: Owner,
    #[persist(with = even)]
    number: u64,
    last: Owner,
}

#[test]
fn references_of_skipped_elements_are_forgotten_and_those_of_others_stay() {
    let owners: Vec<Owner> = (0..6).map(|i| shared(format!("owner {i}"))).collect();
    let door = |number: u32| OldDoor {
        first: owners[number as usize].clone(),
        number,
        last: owners[number as usize + 1].clone(),
    };
    let room = OldRoom {
        doors: (0..5).map(door).collect(),
        keys: (0..5).map(|number| (number, door(number.into()))).collect(),
    };
    let save = persist::to_vec(&room).unwrap();
    let room = Saves::new().from_slice::<Room>(&save).unwrap();
    assert_eq!(room.doors.len(), 3);
    for (door, number) in room.doors.iter().zip([0, 2, 4]) {
        assert_eq!(door.number, number);
        assert_eq!(*door.first.borrow(), format!("owner {number}"));
        assert_eq!(*door.last.borrow(), format!("owner {}", number + 1));
        let twin = &room.keys[&u8::try_from(number).unwrap()];
        assert!(Rc::ptr_eq(&door.first, &twin.first) && Rc::ptr_eq(&door.last, &twin.last));
    }
    assert_eq!((room.keys.len(), skipped(room.report())), (3, 4));
}

#[test]
fn damage_and_limits_are_errors_also_where_elements_are_skipped() {
    let save = persist::to_vec(&old_bag()).unwrap();
    for length in 0..save.len() {
        persist::from_slice::<Bag>(&save[..length]).unwrap_err();
    }
    // Elsewhere an element that cannot be loaded is an error.
    let list = persist::to_vec(&ITEMS.to_vec()).unwrap();
    let error = persist::from_slice::<Vec<Item>>(&list).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn the_message_of_a_module_in_a_list_has_the_index() {
    #[derive(Persist, Debug)]
    #[persist(class = "Lists")]
    struct Lists {
        name: String,
        #[persist(with = "Vec<even>")]
        numbers: Vec<u64>,
        #[persist(with = "Vec<Option<VecDeque<even>>>")]
        nested: Vec<Option<VecDeque<u64>>>,
    }
    let mut list = Lists { name: "a".into(), numbers: vec![2, 4, 3], nested: vec![] };
    let error = persist::from_slice::<Lists>(&persist::to_vec(&list).unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Refused, Some("numbers[2]")));
    list = Lists { name: "a".into(), numbers: vec![], nested: vec![None, Some([2, 1].into())] };
    let error = persist::from_slice::<Lists>(&persist::to_vec(&list).unwrap()).unwrap_err();
    assert_eq!(error.field(), Some("nested[1][1]"));
    insta::assert_snapshot!(error);
}

#[test]
fn elements_of_containers_that_the_older_program_did_not_have_are_skipped_too() {
    mod older {
        use super::*;

        #[derive(Persist)]
        #[persist(class = "Shelf")]
        pub(super) struct Shelf {
            pub(super) item: super::old::Item,
            pub(super) odd: u32,
            pub(super) number: u16,
            pub(super) boxed: Rc<RefCell<Option<super::old::Item>>>,
            pub(super) shared: Rc<RefCell<Vec<u16>>>,
            pub(super) keys: Rc<RefCell<HashMap<u16, super::old::Item>>>,
            pub(super) array: [u16; 3],
            pub(super) set: BTreeSet<u16>,
            pub(super) last: String,
        }
    }

    #[derive(Persist, Debug, PartialEq)]
    struct Shelf {
        #[persist(skip_failed)]
        item: Option<Item>,
        #[persist(skip_failed, with = "Option<even>", convert(as u32))]
        odd: Option<u64>,
        #[persist(skip_failed)]
        number: Option<u8>,
        #[persist(skip_failed)]
        boxed: Option<Item>,
        #[persist(skip_failed)]
        shared: Vec<u8>,
        #[persist(skip_failed)]
        keys: BTreeMap<u8, Item>,
        #[persist(skip_failed)]
        array: Vec<u8>,
        #[persist(skip_failed)]
        set: Vec<u8>,
        last: String,
    }

    let [bow, sword] = [old::Item::Bow, old::Item::Sword { power: 3 }];
    let shelf = |item, odd, number| older::Shelf {
        item,
        odd,
        number,
        boxed: shared(Some(item)),
        shared: shared(vec![300, 1, number]),
        keys: shared([(300, sword), (1, item), (2, sword)].into()),
        array: [number, 301, 5],
        set: [300, 7].into(),
        last: "end".into(),
    };
    let sword = Item::Sword { power: 3 };
    let first = Shelf {
        item: None,
        odd: None,
        number: None,
        boxed: None,
        shared: vec![1],
        keys: [(2, sword)].into(),
        array: vec![5],
        set: vec![7],
        last: "end".into(),
    };
    let second = Shelf {
        item: Some(sword),
        odd: Some(4),
        number: Some(9),
        boxed: Some(sword),
        shared: vec![1, 9],
        keys: [(1, sword), (2, sword)].into(),
        array: vec![9, 5],
        set: vec![7],
        last: "end".into(),
    };
    let bad = shelf(bow, 3, 400);
    let good = shelf(old::Item::Sword { power: 3 }, 4, 9);
    for (stored, expected, rows) in [(bad, first, 11), (good, second, 4)] {
        let save = persist::to_vec(&stored).unwrap();
        let loaded = Saves::new().from_slice::<Shelf>(&save).unwrap();
        assert_eq!(*loaded, expected);
        assert_eq!(skipped(loaded.report()), rows, "{}", loaded.report());

        let mut manager = SaveManager::new();
        manager.add(&shared(stored)).unwrap();
        let save = manager.to_vec().unwrap();
        let manager = SaveManager::new();
        manager.register::<Shelf>().unwrap();
        let loaded = manager.from_slice(&save).unwrap();
        assert_eq!(*loaded.first::<Shelf>().unwrap().borrow(), expected);
    }
}
