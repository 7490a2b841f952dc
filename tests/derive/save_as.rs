//! Structs of references that are saved as the struct which owns their targets.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::rc::Rc;

use persist::__private::{SaveAs, SavedPart};
use persist::codec::{Buffer, Decoder, Encoder, Fail, Prototypes, Reflect, Stop, decode};
use persist::reflect::Kind;
use persist::{Error, ErrorKind, Persist};

#[derive(Persist, Debug, PartialEq, Clone)]
#[persist(version = 2, migrate(1 = nothing), validate = Simulation::check)]
struct Simulation {
    world: Map,
    clock: Clock,
    tick: u64,
    #[persist(rename = "title")]
    name: String,
    tiles: Vec<u16>,
    units: Vec<Clock>,
    #[persist(skip)]
    cache: Vec<u8>,
    #[persist(compact)]
    coins: u64,
    #[persist(compact)]
    heights: Vec<u32>,
    #[persist(with = letter)]
    flag: char,
    #[persist(serde)]
    window: Window,
    next: Option<Box<Clock>>,
}

#[derive(Persist, Debug, PartialEq, Clone)]
struct Map {
    size: (u8, u8),
    names: HashMap<String, u32>,
}

#[derive(Persist, Debug, PartialEq, Clone)]
struct Clock {
    hour: u8,
    zone: String,
}

#[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq, Clone, Default)]
struct Window {
    width: u32,
}

mod letter {
    pub(super) type Stored = String;

    pub(super) fn store(letter: &char) -> String {
        letter.to_string()
    }

    #[expect(clippy::needless_pass_by_value, reason = "the signature of a `with` module")]
    pub(super) fn restore(text: String) -> Result<char, &'static str> {
        text.chars().next().ok_or("no letter")
    }
}

fn nothing(_: &mut persist::Record, _: u32) {}

impl Simulation {
    fn check(&self) -> Result<(), String> {
        if self.tick == 13 { Err("tick 13".into()) } else { Ok(()) }
    }
}

#[derive(Persist)]
#[persist(save_as = Simulation)]
struct SimulationRef<'a> {
    world: &'a Map,
    clock: &'a mut Clock,
    #[persist(skip)]
    drawn: &'a RefCell<u32>,
    tick: u64,
    name: &'a str,
    tiles: &'a [u16],
    units: &'a mut [Clock],
    coins: &'a u64,
    heights: &'a Vec<u32>,
    flag: char,
    window: &'a Window,
    next: &'a Option<Box<Clock>>,
}

#[derive(Persist)]
struct Slot<T> {
    item: T,
    others: Vec<T>,
}

#[derive(Persist)]
#[persist(save_as = Slot<T>)]
struct SlotRef<'a, T> {
    item: &'a T,
    others: &'a [T],
}

#[derive(Persist)]
struct Pair(u8, String);

#[derive(Persist)]
#[persist(save_as = Pair)]
struct PairRef<'a>(u8, &'a str);

fn simulation() -> Simulation {
    let clock = |hour| Clock { hour, zone: format!("zone {hour}") };
    Simulation {
        world: Map { size: (3, 4), names: [("Ada".to_owned(), 7)].into() },
        clock: clock(9),
        tick: 1 << 40,
        name: "first".into(),
        tiles: (0..1_000).collect(),
        units: (0..300_u32).map(|hour| clock(u8::try_from(hour % 256).unwrap_or(0))).collect(),
        cache: vec![1],
        coins: 300,
        heights: vec![1, 2, 3_000],
        flag: 'f',
        window: Window { width: 80 },
        next: Some(Box::new(clock(10))),
    }
}

fn with_parts<R>(whole: &mut Simulation, use_parts: impl FnOnce(&SimulationRef<'_>) -> R) -> R {
    let drawn = RefCell::new(0);
    let parts = SimulationRef {
        world: &whole.world,
        clock: &mut whole.clock,
        drawn: &drawn,
        tick: whole.tick,
        name: &whole.name,
        tiles: &whole.tiles,
        units: &mut whole.units,
        coins: &whole.coins,
        heights: &whole.heights,
        flag: whole.flag,
        window: &whole.window,
        next: &whole.next,
    };
    let result = use_parts(&parts);
    *parts.drawn.borrow_mut() += 1;
    result
}

/// Is encoded by a function.
struct By<F>(F);

impl<F: Fn(&mut Encoder<'_>) -> Result<(), Stop> + 'static> Persist for By<F> {
    fn persist_kind() -> Kind {
        Kind::Unit
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Err(Error::new(ErrorKind::Unsupported, "it is only saved"))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        (self.0)(out)
    }

    fn persist_decode(_: &mut Decoder<'_>) -> Result<Self, Fail> {
        Err(Fail::Value)
    }
}

fn bytes(value: &impl Persist) -> Vec<u8> {
    Buffer::new().encode(value).expect("it is encoded").to_vec()
}

#[test]
fn parts_have_the_bytes_of_the_whole() {
    let whole = simulation();
    let same = whole.clone();
    let encoded = bytes(&By(move |out: &mut Encoder<'_>| {
        with_parts(&mut same.clone(), |parts| parts.encode_parts(out))
    }));
    assert_eq!(encoded, bytes(&whole));
    let again: Simulation = decode(&encoded).expect("the bytes are a simulation");
    assert_eq!(again, Simulation { cache: vec![], ..whole });
}

#[test]
fn generic_and_nameless_parts_have_the_bytes_of_the_whole() {
    let parts =
        By(|out: &mut Encoder<'_>| SlotRef { item: &7_u32, others: &[1, 2, 3] }.encode_parts(out));
    assert_eq!(bytes(&parts), bytes(&Slot { item: 7_u32, others: vec![1, 2, 3] }));
    let parts = By(|out: &mut Encoder<'_>| PairRef(3, "Ada").encode_parts(out));
    assert_eq!(bytes(&parts), bytes(&Pair(3, "Ada".into())));
}

#[test]
fn parts_are_those_of_the_stored_fields() {
    with_parts(&mut simulation(), |parts| {
        let fields = <SimulationRef<'_> as SaveAs>::Owned::FIELDS;
        assert_eq!(fields[3].name, "title");
        assert!(matches!(parts.part(3), Some(SavedPart::Text("first"))));
        let Some(SavedPart::Value(window)) = parts.part(9) else { panic!("the window is a value") };
        assert_eq!(window.downcast_ref(), Some(&Window { width: 80 }));
        assert!(matches!(parts.part(4), Some(SavedPart::Items(_))));
        assert!(parts.part(fields.len()).is_none());
    });
}

#[test]
fn a_part_that_refuses_says_why() {
    #[derive(Persist)]
    struct Owned {
        shared: Rc<u8>,
    }

    #[derive(Persist)]
    #[persist(save_as = Owned)]
    struct Parts<'a> {
        shared: &'a Rc<u8>,
    }

    let refused = |value: &dyn Fn(&mut Buffer) -> persist::Result<()>| {
        value(&mut Buffer::new()).expect_err("the bare codec has no pointers").to_string()
    };
    let of_whole = refused(&|buffer| buffer.encode(&Owned { shared: Rc::new(1) }).map(drop));
    let parts = By(|out: &mut Encoder<'_>| Parts { shared: &Rc::new(1) }.encode_parts(out));
    let of_parts = refused(&|buffer| buffer.encode(&parts).map(drop));
    assert_eq!(of_parts, of_whole);
}
