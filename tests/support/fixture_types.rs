//! What the fixtures in `fixtures/v1` hold: the types, and the same state made anew.

pub mod pointers;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::time::{Duration, SystemTime};

use persist::{Persist, SaveManager, Saves};

/// The names of the fixtures.
pub const NAMES: [&str; 5] = ["players", "values", "graph", "pointers", "compact"];

/// Where a fixture lies.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/v1"))
        .join(name)
        .with_extension("sav")
}

/// The committed bytes.
pub fn read(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).expect("a fixture; `write_fixtures` in derive/golden.rs makes them")
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Player {
    pub level: i32,
    pub flag: u8,
}

/// A float that is equal to another with the same bits.
#[derive(Persist, Clone, Copy, Debug)]
#[persist(transparent)]
pub struct Bits(pub f32);

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "quest.Place", version = 2)]
pub struct Place {
    pub x: f32,
    pub y: f32,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub enum Shape {
    Point,
    Circle(f64),
    Named { name: String, corners: Vec<Place> },
    Pair(u8, Option<Box<Shape>>),
}

/// A field of every kind that a value can have.
#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(id = 0x7a1e5)]
pub struct Values {
    pub unit: (),
    pub on: bool,
    pub letter: char,
    pub unsigned: (u8, u16, u32, u64, u128),
    pub signed: (i8, i16, i32, i64, i128),
    pub signalling: Bits,
    pub double: f64,
    pub text: String,
    pub long_text: String,
    pub nothing: Option<u8>,
    pub something: Option<Option<String>>,
    pub list: Vec<u16>,
    pub ring: VecDeque<String>,
    pub nested: Vec<Vec<bool>>,
    pub set: BTreeSet<i8>,
    pub hash_set: HashSet<String>,
    pub map: HashMap<String, i32>,
    pub places: BTreeMap<u8, Place>,
    pub array: [u16; 3],
    pub names: [String; 2],
    pub empty: [String; 0],
    pub shapes: Vec<Shape>,
    pub outcome: Result<u8, String>,
    pub range: Range<i32>,
    pub lasting: Duration,
    pub before_1970: SystemTime,
    pub address: IpAddr,
    pub size: usize,
    pub boxed: Box<Option<Place>>,
}

/// Integers in as few bytes as they need, in every place where they may be.
#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(class = "quest.Stock", compact)]
pub struct Stock {
    pub unsigned: (u8, u16, u32, u64, u128),
    pub signed: (i8, i16, i32, i64, i128),
    pub list: Vec<u32>,
    pub maybe: [Option<i16>; 2],
    pub prices: BTreeMap<u16, (i64, String)>,
    pub sold: HashSet<i32>,
    pub name: String,
    pub place: Option<Corner>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "quest.Corner")]
pub enum Corner {
    Plain(u32),
    Compact(#[persist(compact)] u32, f32),
}

/// The state of the fixture `compact`.
pub fn stocks() -> [Stock; 3] {
    let largest = Stock {
        unsigned: (u8::MAX, u16::MAX, u32::MAX, u64::MAX, u128::MAX),
        signed: (i8::MIN, i16::MIN, i32::MIN, i64::MIN, i128::MIN),
        list: vec![0, 247, 248, 255, 256, 65_535, 65_536],
        maybe: [None, Some(-124)],
        prices: [(1, (-1, "one".into())), (300, (300, "many".into()))].into(),
        sold: [-1, 1, 70_000].into(),
        name: "largest".into(),
        place: Some(Corner::Compact(300, 0.5)),
    };
    let small = Stock {
        unsigned: (1, 2, 3, 4, 5),
        signed: (-1, -2, -3, -4, -5),
        place: Some(Corner::Plain(300)),
        ..Stock::default()
    };
    [largest, small, Stock::default()]
}

#[derive(Persist, Debug)]
#[persist(class = "quest.Hero")]
pub struct Hero {
    pub name: String,
    pub level: u32,
    pub sword: Option<Rc<RefCell<Item>>>,
    pub spare: Option<Rc<RefCell<Item>>>,
    pub pets: Vec<Rc<RefCell<Monster>>>,
    pub rivals: HashMap<String, Rc<RefCell<Hero>>>,
    pub state: State,
    pub last_seen: BTreeMap<i16, Weak<RefCell<Monster>>>,
}

#[derive(Persist, Debug)]
#[persist(class = "quest.Item")]
pub struct Item {
    pub name: String,
    pub owner: Weak<RefCell<Hero>>,
}

#[derive(Persist, Debug)]
#[persist(class = "quest.Monster")]
pub struct Monster {
    pub name: String,
    pub hp: i16,
    pub target: Option<Rc<RefCell<Hero>>>,
    pub friend: Weak<RefCell<Monster>>,
}

#[derive(Persist, Debug)]
#[persist(class = "quest.State")]
pub enum State {
    Idle,
    Walking { x: f32, y: f32 },
    Fighting(Rc<RefCell<Monster>>, u8),
}

/// The two players of the article.
pub fn players() -> [Player; 2] {
    [Player { level: 1, flag: 16 }, Player { level: 6, flag: 32 }]
}

pub fn values() -> Values {
    let place = |x, y| Place { x, y };
    let text = |text: &str| String::from(text);
    let named = Shape::Named { name: text("Dreieck \u{25b3}"), corners: vec![place(0.0, 1.5)] };
    Values {
        unit: (),
        on: true,
        letter: '\u{1f980}',
        unsigned: (0xff, 0x1234, 0x1234_5678, u64::MAX, 1 << 100),
        signed: (-1, -2, -3, i64::MIN, -(1 << 100)),
        signalling: Bits(f32::from_bits(0x7f80_0001)),
        double: -0.0,
        text: text("Gr\u{fc}\u{df}e"),
        long_text: "0123456789".repeat(25),
        nothing: None,
        something: Some(Some(text("deep"))),
        list: vec![1, 2, 0xffff],
        ring: [text("a"), text(""), text("c")].into(),
        nested: vec![vec![], vec![true, false]],
        set: [3, -1, 0].into(),
        hash_set: [text("zebra"), text("ant"), text("bee")].into(),
        map: [(text("two"), 2), (text("minus one"), -1), (text(""), 0)].into(),
        places: [(9, place(9.0, -9.0)), (1, place(f32::INFINITY, 0.25))].into(),
        array: [1, 2, 3],
        names: [text("Ada"), text("Bob")],
        empty: [],
        shapes: vec![
            Shape::Point,
            Shape::Circle(2.5),
            Shape::Pair(7, Some(Box::new(named.clone()))),
            named,
            Shape::Pair(8, None),
        ],
        outcome: Err(text("no")),
        range: -5..5,
        lasting: Duration::new(90, 500),
        before_1970: SystemTime::UNIX_EPOCH - Duration::from_millis(1_250),
        address: IpAddr::from([127, 0, 0, 1]),
        size: 4_000_000_000,
        boxed: Box::new(Some(place(0.5, 0.5))),
    }
}

/// Two heroes who know each other, with a shared sword and pets that hunt them.
pub fn graph() -> Rc<RefCell<Hero>> {
    let hero = |name: &str, level| {
        Rc::new(RefCell::new(Hero {
            name: name.into(),
            level,
            sword: None,
            spare: None,
            pets: Vec::new(),
            rivals: HashMap::new(),
            state: State::Idle,
            last_seen: BTreeMap::new(),
        }))
    };
    let monster = |name: &str, hp| {
        let (target, friend) = (None, Weak::new());
        Rc::new(RefCell::new(Monster { name: name.into(), hp, target, friend }))
    };
    let (ada, bob) = (hero("Ada", 7), hero("Bob", 3));
    let (wolf, bear) = (monster("wolf", 12), monster("bear", -1));
    let sword = Item { name: "Sting".into(), owner: Rc::downgrade(&ada) };
    let sword = Rc::new(RefCell::new(sword));
    wolf.borrow_mut().target = Some(ada.clone());
    wolf.borrow_mut().friend = Rc::downgrade(&bear);
    bear.borrow_mut().friend = Rc::downgrade(&wolf);
    {
        let mut ada = ada.borrow_mut();
        ada.sword = Some(sword.clone());
        ada.spare = Some(sword);
        ada.pets = vec![wolf.clone(), bear.clone(), wolf.clone()];
        ada.state = State::Fighting(bear.clone(), 9);
        ada.last_seen =
            [(5, Rc::downgrade(&bear)), (-5, Rc::downgrade(&wolf)), (0, Weak::new())].into();
    }
    bob.borrow_mut().state = State::Walking { x: 1.5, y: -2.0 };
    bob.borrow_mut().rivals = [("first".into(), ada.clone())].into();
    let rivals = [("Bob".into(), bob), ("Ada herself".into(), ada.clone())];
    ada.borrow_mut().rivals = rivals.into();
    ada
}

/// A manager that knows the classes of a fixture, with or without its objects.
pub fn manager(name: &str, filled: bool) -> SaveManager {
    let mut saves = Saves::new().manager();
    if name == "players" {
        saves.register::<Player>().expect("the class");
        for player in players().into_iter().filter(|_| filled) {
            saves.add(&Rc::new(RefCell::new(player))).expect("a player");
        }
    } else if name == "compact" {
        saves.register::<Stock>().expect("the class");
        for stock in stocks().into_iter().filter(|_| filled) {
            saves.add(&Rc::new(RefCell::new(stock))).expect("a stock");
        }
    } else if name == "pointers" {
        pointers::prepare(&mut saves, filled).expect("every pointer");
    } else {
        saves = Saves::new().application("Quest", "1.0.2").expect("short names").manager();
        saves.register::<Hero>().expect("the classes");
        if filled {
            saves.add(&graph()).expect("a hero");
        }
    }
    saves
}

/// The bytes of a fixture, made anew.
pub fn make(name: &str) -> Vec<u8> {
    match name {
        "values" => persist::to_vec(&values()).expect("values"),
        _ => manager(name, true).to_vec().expect("objects"),
    }
}

/// Loads a save of the same classes as a fixture and saves what came back.
pub fn load_and_save(name: &str, save: &[u8]) -> persist::Result<Vec<u8>> {
    if name == "values" {
        return persist::to_vec(&persist::from_slice::<Values>(save)?);
    }
    manager(name, false).from_slice(save)?.to_vec()
}
