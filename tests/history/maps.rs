//! Keys of maps that come and go, in documents and in components.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};

use persist::codec::{
    Decoder, EditableItems, EditableList, EditableMap, Encoder, Fail, Prototypes, Stop,
};
use persist::reflect::Kind;
use persist::{
    Component, ErrorKind, FieldPath, History, Persist, Result, Saves, Session, Value, World, field,
    to_value,
};
use persist_tests::support::short_or_long;
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

use crate::mirror::{DocumentMirror, Mirror};

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct City {
    roads: BTreeMap<u32, Road>,
    names: HashMap<String, u32>,
    districts: BTreeMap<String, BTreeMap<u32, Vec<u16>>>,
    plan: Option<BTreeMap<u32, u8>>,
    tracks: Table<Road>,
    queue: Chain,
}

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Road {
    lanes: u8,
    stops: Vec<String>,
}

/// A map that a program has written.
#[derive(Default, Clone, Debug, PartialEq)]
pub(crate) struct Table<T>(pub(crate) BTreeMap<u32, T>);

/// A key that the table refuses.
const FULL: u32 = 99;

impl<T: Persist> Persist for Table<T> {
    const PERSIST_ITEMS: EditableItems = EditableItems::map::<Self>();

    fn persist_kind() -> Kind {
        Kind::Map(u32::persist_kind, T::persist_kind)
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self(BTreeMap::new()))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> std::result::Result<(), Stop> {
        out.value(&self.0)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> std::result::Result<Self, Fail> {
        input.value().map(Self)
    }
}

impl<T: Persist> EditableMap for Table<T> {
    type Key = u32;
    type Value = T;

    fn persist_get(&self, key: &u32) -> Option<&T> {
        self.0.get(key)
    }

    fn persist_get_mut(&mut self, key: &u32) -> Option<&mut T> {
        self.0.get_mut(key)
    }

    fn persist_insert(&mut self, key: u32, value: T) -> Result<()> {
        if key == FULL {
            return Err("the table is full".into());
        }
        self.0.insert(key, value);
        Ok(())
    }

    fn persist_remove(&mut self, key: &u32) -> Option<T> {
        self.0.remove(key)
    }

    fn persist_entries(&self) -> impl Iterator<Item = (impl Borrow<u32>, &T)> {
        self.0.iter()
    }
}

/// A list that a program has written.
#[derive(Default, Clone, Debug, PartialEq)]
pub(crate) struct Chain(pub(crate) Vec<u16>);

impl Persist for Chain {
    const PERSIST_ITEMS: EditableItems = EditableItems::list::<Self>();

    fn persist_kind() -> Kind {
        Kind::List(u16::persist_kind)
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self(Vec::new()))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> std::result::Result<(), Stop> {
        out.value(&self.0)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> std::result::Result<Self, Fail> {
        input.value().map(Self)
    }
}

impl EditableList for Chain {
    type Element = u16;

    fn persist_len(&self) -> usize {
        self.0.len()
    }

    fn persist_get(&self, index: usize) -> Option<&u16> {
        self.0.get(index)
    }

    fn persist_get_mut(&mut self, index: usize) -> Option<&mut u16> {
        self.0.get_mut(index)
    }

    fn persist_insert(&mut self, index: usize, element: u16) -> Result<()> {
        self.0.insert(index, element);
        Ok(())
    }

    fn persist_remove(&mut self, index: usize) -> Option<u16> {
        (index < self.0.len()).then(|| self.0.remove(index))
    }
}

/// A small key, so that keys meet.
fn key(random: &mut Lcg64Xsh32) -> u32 {
    random.gen_range(0..12)
}

fn name(random: &mut Lcg64Xsh32) -> String {
    format!("street {}", key(random))
}

/// Changes a city by the methods of its maps.
fn change(city: &mut City, random: &mut Lcg64Xsh32) {
    for _ in 0..random.gen_range(1..6) {
        let (at, name, lanes) = (key(random), name(random), random.r#gen());
        match random.gen_range(0..12) {
            8 => _ = city.tracks.0.insert(at, Road { lanes, stops: vec![name] }),
            9 => _ = city.tracks.0.remove(&at),
            10 => city.queue.0.insert(random.gen_range(0..=city.queue.0.len()), u16::from(lanes)),
            11 => city.queue.0.truncate(random.gen_range(0..=city.queue.0.len())),
            0 => _ = city.roads.insert(at, Road { lanes, stops: vec![name] }),
            1 => _ = city.roads.remove(&at),
            2 => city.roads.values_mut().for_each(|road| road.lanes = road.lanes.wrapping_add(1)),
            3 => _ = city.names.insert(name, at),
            4 => _ = city.names.remove(&name),
            5 => {
                let district = city.districts.entry(name).or_default();
                district.entry(at).or_default().push(u16::from(lanes));
            }
            6 => _ = city.districts.remove(&name),
            _ => _ = city.plan.get_or_insert_default().insert(at, lanes),
        }
    }
}

/// Sets or removes one key by its path. Returns false if the path led nowhere.
fn change_key(session: &mut Session<City>, random: &mut Lcg64Xsh32) -> Result<bool> {
    let (at, name, lanes) = (key(random), name(random), random.gen_range(0..99_u8));
    let district = field!(City.districts[&name]);
    let tracks = field!(City.tracks).at(at);
    let result = match random.gen_range(0..11) {
        7 => session.set_field(tracks, to_value(&Road { lanes, stops: Vec::new() })?),
        8 => session.remove_key(tracks),
        9 => session.set_field(tracks.field("lanes"), lanes),
        10 => {
            let queue = field!(City.queue);
            let len = session.target().queue.0.len();
            match lanes % 3 {
                0 => session.insert_element(queue, at as usize % (len + 1), u16::from(lanes))?,
                _ if len == 0 => return Ok(false),
                1 => session.remove_element(queue, at as usize % len)?,
                _ => session.move_element(queue, at as usize % len, lanes as usize % len)?,
            }
            return Ok(true);
        }
        0 => session.set_field(field!(City.names[&name]), at),
        1 => session.remove_key(field!(City.names[&name])),
        2 => session.remove_key(field!(City.roads[&at])),
        3 => session.set_field(field!(City.roads[&at].lanes), lanes),
        4 => session.set_field(district, Value::Map(vec![(at.into(), Value::Seq(vec![]))])),
        5 => session.set_field(format!("City:districts[\"{name}\"][{at}]").as_str(), {
            Value::Seq(vec![u16::from(lanes).into()])
        }),
        _ => session.remove_key(district),
    };
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[test]
fn keys_come_and_go_as_in_a_plain_map() -> Result<()> {
    for seed in 0..short_or_long(10, 300) {
        let mut random = Lcg64Xsh32::seed_from_u64(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let paths = (folder.path().join("city.sav"), folder.path().join("city.journal"));
        let open = || {
            let mut history = History::new(None);
            let mirror = DocumentMirror::of(&City::default(), &mut history);
            let options = Session::<City>::with(Saves::new(), history).memory(2_000);
            options.open(&paths.0, &paths.1).map(|(session, _)| (session, mirror))
        };
        let (mut session, mut mirror) = open()?;
        let mut states = vec![City::default()];
        for step in 0..120 {
            let (position, before) = (session.history().position(), session.target().clone());
            match random.gen_range(0..10) {
                0..4 => session.edit("Build", |city| {
                    change(city, &mut random);
                    Ok(())
                })?,
                4..7 => {
                    if !change_key(&mut session, &mut random)? {
                        assert_eq!(*session.target(), before);
                    }
                }
                7 => session.go_to(random.gen_range(0..states.len()))?,
                8 => _ = session.undo()?,
                _ => {
                    if random.r#gen() {
                        session.save()?;
                    }
                    drop(session);
                    (session, mirror) = open()?;
                    assert_eq!(*session.target(), before, "seed {seed}, step {step}");
                }
            }
            let what = format!("seed {seed}, step {step}");
            let now = session.history().position();
            if now == position + 1 && !session.history().can_redo() && now == states.len() {
                states.push(session.target().clone());
            } else if now == position + 1 && !session.history().can_redo() {
                states.truncate(now);
                states.push(session.target().clone());
            }
            assert_eq!(*session.target(), states[now], "{what}");
            mirror.compare(session.target(), &what);
        }
    }
    Ok(())
}

impl Component for City {}

#[test]
fn keys_of_components_come_and_go_too() -> Result<()> {
    let mut random = Lcg64Xsh32::seed_from_u64(1);
    let (mut world, mut history) = (World::new(), History::new(None));
    let town = world.spawn_with("Town", (City::default(),))?;
    let mirror = Mirror::of(&world, &mut history);
    let mut states = vec![City::default()];
    for step in 0..300 {
        let what = format!("step {step}");
        let (at, name) = (key(&mut random), name(&mut random));
        let old = states[history.position()].clone();
        let position = history.position();
        match random.gen_range(0..5) {
            0 => history.edit(&mut world, "Name", |edit| {
                edit.set(town, field!(City.names[&name]), at).map(drop)
            })?,
            1 => {
                let removed = history.edit(&mut world, "Forget", |edit| {
                    edit.remove_key(town, field!(City.names[&name]))
                });
                assert_eq!(removed.ok(), old.names.get(&name).map(|value| Value::U32(*value)));
            }
            2 => history.edit(&mut world, "Build", |edit| {
                change(edit.get_mut::<City>(town)?, &mut random);
                Ok(())
            })?,
            3 => _ = history.redo(&mut world)?,
            _ => _ = history.undo(&mut world)?,
        }
        let city = world.get::<City>(town).expect("a city").clone();
        if history.position() > position && !history.can_redo() && city != old {
            states.truncate(position + 1);
            states.push(city.clone());
        }
        assert_eq!(city, states[history.position()], "{what}");
        mirror.compare(&world, &what);
    }
    Ok(())
}

#[test]
fn a_key_among_many_is_recorded_by_itself() -> Result<()> {
    let mut city = City {
        names: (0..20_000).map(|at| (format!("street {at}"), at)).collect(),
        roads: (0..20_000).map(|at| (at, Road { lanes: 2, stops: vec![] })).collect(),
        ..City::default()
    };
    let mut history = History::new(None);
    history.edit(&mut city, "Open", |city| {
        city.names.insert("street 1000 b".into(), 7);
        city.roads.remove(&12_345);
        city.roads.entry(77).or_default().lanes = 9;
        city.roads.insert(30_000, Road::default());
        Ok(())
    })?;
    history.set_field(&mut city, field!(City.roads[&40_000]), {
        let mut road = persist::Record::new("Road");
        road.push("lanes", Value::U8(1));
        road.push("stops", Value::Seq(vec![]));
        Value::Struct(road)
    })?;
    history.remove_key(&mut city, field!(City.names["street 5"]))?;
    let labels: Vec<_> = history.entries().map(|entry| entry.label.to_string()).collect();
    assert_eq!(labels, ["Open", "Insert City.roads[40000]", "Remove City.names[\"street 5\"]"]);
    let bytes: Vec<_> = history.entries().map(|entry| entry.bytes).collect();
    assert!(bytes.iter().all(|bytes| *bytes < 1_200), "{bytes:?}");
    let after = city.clone();
    history.go_to(&mut city, 0)?;
    assert_eq!((city.names.len(), city.roads.len(), city.roads[&77].lanes), (20_000, 20_000, 2));
    history.go_to(&mut city, 3)?;
    assert_eq!(city, after);
    Ok(())
}

#[test]
fn a_key_that_is_there_or_is_none_is_refused() -> Result<()> {
    let (mut city, mut history) = (City::default(), History::new(100));
    history.set_field(&mut city, field!(City.names["a"]), 1)?;
    history.remove_key(&mut city, field!(City.names["a"]))?;
    city.plan = Some(BTreeMap::from([(1, 2)]));
    // Beside the history, the key is back: an undo would replace its value.
    city.names.insert("a".into(), 5);
    let undone = history.undo(&mut city);
    assert_eq!(undone.as_ref().map_err(persist::Error::kind), Err(ErrorKind::AlreadyExists));
    insta::assert_snapshot!(undone.expect_err("the key is there"));
    assert_eq!(city.names["a"], 5);
    for (path, kind) in [
        ("City:names[\"b\"]", ErrorKind::NotFound),
        ("City:names[5]", ErrorKind::NotFound),
        ("City:names", ErrorKind::NotFound),
        ("City:roads[1].lanes", ErrorKind::NotFound),
        ("City:plan[1]", ErrorKind::Unsupported),
        ("City:plan[2]", ErrorKind::NotFound),
        ("City:roads", ErrorKind::NotFound),
        ("City:districts[\"a\"][1]", ErrorKind::NotFound),
    ] {
        let before = city.clone();
        let path: FieldPath = path.parse()?;
        let error = history.remove_key(&mut city, path.clone()).expect_err("there is no such key");
        assert_eq!(error.kind(), kind, "{path}: {error}");
        assert_eq!(city, before);
    }
    insta::assert_snapshot!(history.remove_key(&mut city, "City:names").expect_err("it is no key"));
    Ok(())
}

/// Valid while no name is empty. The sum is computed.
#[derive(Persist, Default, Clone, Debug, PartialEq)]
#[persist(validate = Ledger::check, after_load = Ledger::add_up)]
struct Ledger {
    accounts: BTreeMap<String, u32>,
    #[persist(skip)]
    sum: u32,
}

impl Ledger {
    fn check(&self) -> Result<(), String> {
        if self.accounts.contains_key("") {
            Err("an account without a name".into())
        } else {
            Ok(())
        }
    }

    fn add_up(&mut self) {
        self.sum = self.accounts.values().sum();
    }
}

#[test]
fn a_key_that_validate_refuses_leaves_the_map_as_it_was() -> Result<()> {
    let (mut ledger, mut history) = (Ledger::default(), History::new(100));
    history.set_field(&mut ledger, field!(Ledger.accounts["ada"]), 5)?;
    history.set_field(&mut ledger, field!(Ledger.accounts["bob"]), 7)?;
    assert_eq!(ledger.sum, 12);
    let error = history.set_field(&mut ledger, field!(Ledger.accounts[""]), 1);
    assert_eq!(error.expect_err("no name").kind(), ErrorKind::Refused);
    assert_eq!((ledger.accounts.len(), ledger.sum), (2, 12));
    history.remove_key(&mut ledger, field!(Ledger.accounts["ada"]))?;
    assert_eq!(ledger.sum, 7);
    history.undo(&mut ledger)?;
    assert_eq!((ledger.accounts.len(), ledger.sum), (2, 12));
    Ok(())
}

/// The city of a later program, which counts its roads.
#[derive(Persist, Default, Clone, Debug, PartialEq)]
#[persist(class = "City")]
struct LaterCity {
    #[persist(default)]
    mayor: String,
    roads: BTreeMap<u32, LaterRoad>,
    names: HashMap<String, u32>,
    districts: BTreeMap<String, BTreeMap<u32, Vec<u16>>>,
    plan: Option<BTreeMap<u32, u8>>,
    tracks: Table<LaterRoad>,
    queue: Chain,
}

#[derive(Persist, Default, Clone, Debug, PartialEq)]
#[persist(class = "Road")]
struct LaterRoad {
    stops: Vec<String>,
    lanes: u16,
}

impl From<City> for LaterCity {
    fn from(City { roads, names, districts, plan, tracks, queue }: City) -> Self {
        let later = |road: Road| LaterRoad { stops: road.stops, lanes: road.lanes.into() };
        let all = |roads: BTreeMap<u32, Road>| {
            roads.into_iter().map(|(at, road)| (at, later(road))).collect()
        };
        let (mayor, roads, tracks) = (String::new(), all(roads), Table(all(tracks.0)));
        Self { mayor, roads, names, districts, plan, tracks, queue }
    }
}

#[test]
fn a_later_program_replays_keys_that_came_and_went() -> Result<()> {
    for seed in 0..short_or_long(10, 300) {
        let mut random = Lcg64Xsh32::seed_from_u64(100 + seed);
        let folder = tempfile::tempdir().expect("a folder");
        let paths = (folder.path().join("city.sav"), folder.path().join("city.journal"));
        let options = Session::<City>::with(Saves::new(), History::new(None));
        let (mut session, _) = options.open(&paths.0, &paths.1)?;
        let mut states = vec![City::default()];
        for step in 0..30 {
            match random.gen_range(0..8) {
                0..3 => session.edit("Build", |city| {
                    change(city, &mut random);
                    Ok(())
                })?,
                3..6 => _ = change_key(&mut session, &mut random)?,
                6 => _ = session.undo()?,
                _ if step == 15 => _ = session.save()?,
                _ => _ = session.redo()?,
            }
            let now = session.history().position();
            states.truncate(session.history().entries().len() + 1);
            if now == states.len() {
                states.push(session.target().clone());
            } else if !session.history().can_redo() {
                states[now] = session.target().clone();
            }
        }
        let position = session.history().position();
        drop(session);
        let mut history = History::new(None);
        let mirror = DocumentMirror::of(&LaterCity::default(), &mut history);
        let options = Session::<LaterCity>::with(Saves::new(), history);
        let (mut session, recovered) = options.open(&paths.0, &paths.1)?;
        assert!(recovered.stopped.is_none() && recovered.skipped.is_empty(), "{recovered}");
        assert_eq!(session.history().position(), position);
        let count = session.history().entries().len();
        for position in (0..=count).rev().chain(0..=count) {
            session.go_to(position)?;
            let expected = LaterCity::from(states[position].clone());
            assert_eq!(*session.target(), expected, "seed {seed}, position {position}");
            mirror.compare(session.target(), "in a later program");
        }
    }
    Ok(())
}

#[derive(Persist, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Place {
    Nowhere,
    Square(i8, i8),
    Street { name: String, number: Option<u16> },
}

#[derive(Persist, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Id(u32);

#[derive(Persist, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[persist(transparent)]
struct Code {
    text: String,
}

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Keys {
    signed: BTreeMap<i8, u8>,
    huge: HashMap<u128, u8>,
    letters: BTreeMap<char, u8>,
    flags: BTreeMap<bool, u8>,
    texts: HashMap<String, u8>,
    pairs: BTreeMap<(u8, String), u8>,
    places: HashMap<Place, u8>,
    ids: BTreeMap<Id, u8>,
    codes: BTreeMap<Code, u8>,
    perhaps: BTreeMap<Option<i16>, u8>,
    bytes: BTreeMap<Vec<u8>, u8>,
    lists: BTreeMap<[i16; 2], u8>,
    lengths: BTreeMap<std::time::Duration, u8>,
    units: BTreeMap<(), u8>,
    empty: BTreeMap<u8, ()>,
}

#[test]
fn keys_of_every_kind_are_undone_and_redone() -> Result<()> {
    for seed in 0..short_or_long(6, 200) {
        let mut random = Lcg64Xsh32::seed_from_u64(200 + seed);
        let folder = tempfile::tempdir().expect("a folder");
        let paths = (folder.path().join("keys.sav"), folder.path().join("keys.journal"));
        let open = || {
            let options = Session::<Keys>::with(Saves::new(), History::new(None));
            options.open(&paths.0, &paths.1).map(|(session, _)| session)
        };
        let mut session = open()?;
        let mut states = vec![Keys::default()];
        for _ in 0..60 {
            session.edit("Keys", |keys| {
                for _ in 0..random.gen_range(1..4) {
                    let (at, value) = (random.gen_range(-3..3_i8), random.r#gen::<u8>());
                    let texts = ["", "a]b", "\"q\" \\ .x", "\n\t", "ü😀", "3", "some(1)"];
                    let text = texts[random.gen_range(0..texts.len())].to_owned();
                    let number = at.unsigned_abs();
                    macro_rules! turn {
                        ($map:expr, $key:expr) => {
                            match $map.remove(&$key) {
                                Some(old) if value % 2 == 0 => {
                                    _ = $map.insert($key, old.wrapping_add(1))
                                }
                                Some(_) => {}
                                None => _ = $map.insert($key, value),
                            }
                        };
                    }
                    match random.gen_range(0..15) {
                        0 => turn!(keys.signed, at),
                        1 => turn!(keys.huge, u128::MAX - u128::from(number)),
                        2 => turn!(
                            keys.letters,
                            ['a', '\'', '\n', ']', '\u{301}', '"'][number as usize]
                        ),
                        3 => turn!(keys.flags, at > 0),
                        4 => turn!(keys.texts, text.clone()),
                        5 => turn!(keys.pairs, (number, text.clone())),
                        6 => turn!(keys.places, Place::Square(at, -at)),
                        7 => turn!(
                            keys.places,
                            [
                                Place::Nowhere,
                                Place::Street { name: text.clone(), number: None },
                                Place::Street { name: text.clone(), number: Some(7) },
                            ][number as usize % 3]
                                .clone()
                        ),
                        8 => turn!(keys.ids, Id(number.into())),
                        9 => turn!(keys.codes, Code { text: text.clone() }),
                        10 => turn!(keys.perhaps, (at != 0).then_some(i16::from(at))),
                        11 => turn!(keys.bytes, vec![number; number as usize]),
                        12 => turn!(keys.lists, [i16::from(at), 2]),
                        13 => turn!(keys.lengths, std::time::Duration::from_millis(number.into())),
                        _ => {
                            turn!(keys.units, ());
                            if keys.empty.remove(&number).is_none() {
                                keys.empty.insert(number, ());
                            }
                        }
                    }
                }
                Ok(())
            })?;
            if session.history().position() == states.len() {
                states.push(session.target().clone());
            }
            if random.gen_ratio(1, 20) {
                drop(session);
                session = open()?;
            }
        }
        for _ in 0..60 {
            let position = random.gen_range(0..states.len());
            session.go_to(position)?;
            assert_eq!(*session.target(), states[position], "seed {seed}");
        }
    }
    Ok(())
}

#[test]
fn a_container_that_a_program_wrote_is_edited_by_its_keys_and_elements() -> Result<()> {
    let mut city = City::default();
    city.tracks.0 = (100..1_000).map(|key| (key, Road::default())).collect();
    city.queue.0 = vec![0; 10_000];
    let before = city.clone();
    let mut history = History::new(None);
    history.edit(&mut city, "Build", |city| {
        city.tracks.0.insert(2_000, Road { lanes: 3, stops: Vec::new() });
        city.tracks.0.remove(&700);
        if let Some(track) = city.tracks.0.get_mut(&900) {
            track.lanes = 4;
        }
        city.queue.0[5_000] = 1;
        city.queue.0.push(2);
        Ok(())
    })?;
    let after = city.clone();
    let bytes: usize = history.entries().map(|entry| entry.bytes).sum();
    assert!(bytes < 2_000, "{bytes} bytes for five changes");
    history.undo(&mut city)?;
    assert_eq!(city, before);
    history.redo(&mut city)?;
    assert_eq!(city, after);

    let full = field!(City.tracks).at(FULL);
    let position = history.position();
    let road = to_value(&Road::default())?;
    let error = history.set_field(&mut city, full, road).expect_err("the table refuses the key");
    insta::assert_snapshot!(error, @"the table is full (class City, field tracks[99])");
    assert_eq!((city, history.position()), (after, position));
    Ok(())
}
