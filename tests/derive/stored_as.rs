//! Fields and types that are stored as another type: `with` on its own and in containers, `with_iter` and `via`.

#![allow(
    clippy::box_collection,
    clippy::needless_pass_by_value,
    clippy::unnecessary_to_owned,
    clippy::unnecessary_wraps,
    clippy::unwrap_used,
    reason = "it is a test, with modules as they are called and containers of every sort"
)]

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::convert::Infallible;
use std::fmt::Debug;
use std::hash::BuildHasherDefault;

use persist::codec::{self, Buffer, Prototypes, Reflect};
use persist::{ErrorKind, Persist, SaveManager, Unknown, With, from_slice, to_vec};

/// Types of another crate.
mod foreign {
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub(super) struct Vec2 {
        pub(super) x: f32,
        pub(super) y: f32,
    }

    /// It has no `Default`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub(super) struct Id(pub(super) u32);

    /// Equal without regard to case.
    #[derive(Clone, Debug, Eq)]
    pub(super) struct Name(pub(super) String);

    impl PartialEq for Name {
        fn eq(&self, other: &Self) -> bool {
            self.0.eq_ignore_ascii_case(&other.0)
        }
    }

    impl PartialOrd for Name {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Name {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.to_ascii_lowercase().cmp(&other.0.to_ascii_lowercase())
        }
    }

    impl std::hash::Hash for Name {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.to_ascii_lowercase().hash(state);
        }
    }

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(super) struct Grid {
        pub(super) cells: Vec<u16>,
    }
}

use foreign::{Grid, Id, Name, Vec2};

mod vec2 {
    use super::Vec2;

    pub(super) type Stored = [f32; 2];

    pub(super) fn store(vec: &Vec2) -> Stored {
        [vec.x, vec.y]
    }

    pub(super) fn restore([x, y]: Stored) -> Result<Vec2, String> {
        if x.is_nan() { Err(format!("{x}, {y} is no place")) } else { Ok(Vec2 { x, y }) }
    }
}

mod id {
    use super::Id;

    pub(super) type Stored = u32;

    pub(super) fn store(id: &Id) -> Stored {
        id.0
    }

    pub(super) fn restore(stored: Stored) -> Result<Id, std::convert::Infallible> {
        Ok(Id(stored))
    }
}

mod name {
    use super::Name;

    pub(super) type Stored = String;

    // By reference: nothing is cloned for a save.
    pub(super) fn store(name: &Name) -> &Stored {
        &name.0
    }

    pub(super) fn restore(stored: Stored) -> Result<Name, std::convert::Infallible> {
        Ok(Name(stored))
    }
}

/// Cells, read over those that are there.
struct Cells;

impl With<Grid> for Cells {
    type Stored = Vec<u16>;
    type Error = Infallible;

    fn store(grid: &Grid) -> impl Borrow<Vec<u16>> {
        Cow::Borrowed(&grid.cells)
    }

    fn restore(cells: Vec<u16>) -> Result<Grid, Infallible> {
        Ok(Grid { cells })
    }

    fn restore_into(target: &mut Grid, cells: Vec<u16>) -> Result<(), Infallible> {
        target.cells.clear();
        target.cells.extend(cells);
        Ok(())
    }
}

mod runs {
    use super::Grid;

    pub(super) type Item = u16;

    pub(super) fn store(grid: &Grid) -> impl ExactSizeIterator<Item = &Item> {
        grid.cells.iter()
    }

    pub(super) fn restore(cells: Vec<Item>) -> Result<Grid, &'static str> {
        if cells.len() == 13 { Err("a grid of bad luck") } else { Ok(Grid { cells }) }
    }
}

type Hasher = BuildHasherDefault<std::collections::hash_map::DefaultHasher>;
type Positions = Vec<Option<Vec2>>;

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "Everything")]
struct Everything {
    #[persist(with = vec2)]
    plain: Vec2,
    #[persist(with = "Option<vec2>")]
    option: Option<Vec2>,
    #[persist(with = Vec<Option<vec2>>)]
    alias: Positions,
    #[persist(with = "VecDeque<id>")]
    deque: VecDeque<Id>,
    #[persist(with = "LinkedList<id>")]
    linked: LinkedList<Id>,
    #[persist(with = "Box<Vec<Box<id>>>")]
    boxes: Box<Vec<Box<Id>>>,
    #[persist(with = [vec2])]
    array: [Vec2; 3],
    #[persist(with = (_, vec2, id), default = (0, Vec2::default(), Id(0)))]
    tuple: (u8, Vec2, Id),
    #[persist(with = "HashMap<_, vec2>")]
    by_key: HashMap<u16, Vec2, Hasher>,
    #[persist(with = "HashMap<id, _>")]
    of_ids: HashMap<Id, String>,
    #[persist(with = "std::collections::BTreeMap<id, Vec<(id, _)>>")]
    tree: BTreeMap<Id, Vec<(Id, u8)>>,
    #[persist(with = "HashSet<id>")]
    set: HashSet<Id, Hasher>,
    #[persist(with = "BTreeSet<name>")]
    names: BTreeSet<Name>,
    #[persist(with = "Option<Cells>")]
    grid: Option<Grid>,
    #[persist(with_iter = runs)]
    runs: Grid,
    end: u8,
}

/// The same in types that `persist` knows.
#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "Everything")]
struct Known {
    plain: [f32; 2],
    option: Option<[f32; 2]>,
    alias: Vec<Option<[f32; 2]>>,
    deque: VecDeque<u32>,
    linked: Vec<u32>,
    boxes: Box<Vec<Box<u32>>>,
    array: [[f32; 2]; 3],
    tuple: (u8, [f32; 2], u32),
    by_key: HashMap<u16, [f32; 2]>,
    of_ids: HashMap<u32, String>,
    tree: BTreeMap<u32, Vec<(u32, u8)>>,
    set: HashSet<u32>,
    names: BTreeSet<String>,
    grid: Option<Vec<u16>>,
    runs: Vec<u16>,
    end: u8,
}

fn place(n: u8) -> Vec2 {
    Vec2 { x: f32::from(n), y: -f32::from(n) }
}

fn everything(n: u8) -> Everything {
    let id = |i: u8| Id(u32::from(n) * 300 + u32::from(i));
    let count = u16::from(n);
    Everything {
        plain: place(n),
        option: (n > 1).then(|| place(n)),
        alias: (0..n).map(|i| (i % 2 == 0).then(|| place(i))).collect(),
        deque: (0..n).map(id).collect(),
        linked: (0..n).map(id).collect(),
        boxes: Box::new((0..n).map(|i| Box::new(id(i))).collect()),
        array: [place(n), place(1), place(2)],
        tuple: (n, place(n), id(n)),
        by_key: (0..count).map(|i| (i * 200, place(n))).collect(),
        of_ids: (0..n).map(|i| (id(i), i.to_string())).collect(),
        tree: (0..n).map(|i| (id(i), vec![(id(i), i); usize::from(i)])).collect(),
        set: (0..n).map(id).collect(),
        names: (0..n).map(|i| Name(format!("name {i}"))).collect(),
        grid: (n > 2).then(|| Grid { cells: (0..count).collect() }),
        runs: Grid { cells: (0..count * 3).collect() },
        end: n,
    }
}

fn known(n: u8) -> Known {
    let of = everything(n);
    let stored = |vec: Vec2| [vec.x, vec.y];
    Known {
        plain: stored(of.plain),
        option: of.option.map(stored),
        alias: of.alias.into_iter().map(|vec| vec.map(stored)).collect(),
        deque: of.deque.into_iter().map(|id| id.0).collect(),
        linked: of.linked.into_iter().map(|id| id.0).collect(),
        boxes: Box::new(of.boxes.into_iter().map(|id| Box::new(id.0)).collect()),
        array: of.array.map(stored),
        tuple: (of.tuple.0, stored(of.tuple.1), of.tuple.2.0),
        by_key: of.by_key.into_iter().map(|(key, vec)| (key, stored(vec))).collect(),
        of_ids: of.of_ids.into_iter().map(|(id, text)| (id.0, text)).collect(),
        tree: (of.tree.into_iter())
            .map(|(id, list)| (id.0, list.into_iter().map(|(id, n)| (id.0, n)).collect()))
            .collect(),
        set: of.set.into_iter().map(|id| id.0).collect(),
        names: of.names.into_iter().map(|name| name.0).collect(),
        grid: of.grid.map(|grid| grid.cells),
        runs: of.runs.cells,
        end: of.end,
    }
}

fn encoded<T: Persist>(value: &T) -> Vec<u8> {
    Buffer::new().encode(value).unwrap().to_vec()
}

fn round_trip<T: Persist + Debug + PartialEq>(value: &T) -> Vec<u8> {
    let bytes = encoded(value);
    assert_eq!(codec::decode::<T>(&bytes).unwrap(), *value);
    assert_eq!(from_slice::<T>(&to_vec(value).unwrap()).unwrap(), *value);
    bytes
}

#[test]
fn bytes_and_kinds_are_those_of_what_is_stored() {
    for n in [0, 1, 2, 3, 7, 20] {
        assert_eq!(round_trip(&everything(n)), encoded(&known(n)), "{n}");
    }
    let kinds = |fields: &[persist::reflect::FieldRecord]| {
        fields.iter().map(|field| (field.name, field.kind().to_string())).collect::<Vec<_>>()
    };
    assert_eq!(kinds(Everything::FIELDS), kinds(Known::FIELDS));
    let with = Everything::FIELDS.iter().filter(|field| field.has_module).count();
    assert_eq!(with, Everything::FIELDS.len() - 1);
}

#[test]
fn saves_of_what_is_stored_load_and_the_other_way_round() {
    for n in [0, 3, 7] {
        assert_eq!(from_slice::<Everything>(&to_vec(&known(n)).unwrap()).unwrap(), everything(n));
        assert_eq!(from_slice::<Known>(&to_vec(&everything(n)).unwrap()).unwrap(), known(n));
    }
}

#[test]
fn an_older_form_of_what_is_stored_is_converted_inside_of_lifts() {
    #[derive(Persist)]
    #[persist(class = "Party")]
    struct Old {
        ids: Vec<u8>,
        by_name: BTreeMap<String, [u8; 2]>,
        gone: u64,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Party")]
    struct Party {
        #[persist(with = "Vec<id>", convert(as Vec<u8>))]
        ids: Vec<Id>,
        #[persist(with = "HashMap<name, vec2>", convert(as BTreeMap<String, [u8; 2]>))]
        by_name: HashMap<Name, Vec2>,
        #[persist(with = "Option<Vec<id>>")]
        added: Option<Vec<Id>>,
        #[persist(with = "Vec<Cells>", default = vec![Grid { cells: vec![7] }])]
        grids: Vec<Grid>,
        #[persist(unknown)]
        rest: Unknown,
    }

    let old = Old { ids: vec![1, 2], by_name: [("a".to_owned(), [3, 4])].into(), gone: 9 };
    let save = to_vec(&old).unwrap();
    let party: Party = from_slice(&save).unwrap();
    assert_eq!(party.ids, [Id(1), Id(2)]);
    assert_eq!(party.by_name, [(Name("A".into()), Vec2 { x: 3.0, y: 4.0 })].into());
    assert_eq!((&party.added, &party.grids), (&None, &vec![Grid { cells: vec![7] }]));
    assert_eq!(party.rest.names().collect::<Vec<_>>(), ["Party.gone"]);
    let again: Party = from_slice(&to_vec(&party).unwrap()).unwrap();
    assert_eq!((again.ids, again.by_name, again.grids), (party.ids, party.by_name, party.grids));
    assert_eq!(again.rest.names().collect::<Vec<_>>(), ["Party.gone"]);
}

#[test]
fn values_are_read_over_those_that_are_there() {
    for (from, to) in [(7, 3), (3, 7), (0, 5), (5, 0), (4, 4)] {
        let mut target = everything(from);
        let cells = target.grid.as_ref().map(|grid| grid.cells.as_ptr());
        codec::decode_into(&mut target, &encoded(&everything(to))).unwrap();
        assert_eq!(target, everything(to), "{from} to {to}");
        if let (Some(before), Some(grid), true) = (cells, &target.grid, to <= from) {
            assert_eq!(before, grid.cells.as_ptr(), "`restore_into` keeps the allocation");
        }
    }
}

#[test]
fn fields_are_reached_by_index() {
    let mut value = everything(3);
    let option: &Option<Vec2> = value.persist_field(1).unwrap().downcast_ref().unwrap();
    assert_eq!(*option, Some(place(3)));
    *value.persist_field_mut(3).unwrap().downcast_mut().unwrap() = VecDeque::from([Id(1)]);
    assert_eq!(value.deque, [Id(1)]);
}

#[test]
fn no_bytes_make_a_load_panic() {
    let bytes = encoded(&everything(3));
    for end in 0..bytes.len() {
        assert!(codec::decode::<Everything>(&bytes[..end]).is_err(), "{end} bytes");
    }
    let mut target = everything(2);
    for at in 0..bytes.len() {
        for value in [0, 1, 2, 127, 248, 255, bytes[at] ^ 1] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let fresh = codec::decode::<Everything>(&changed);
            let over = codec::decode_into(&mut target, &changed);
            assert_eq!(fresh.is_ok(), over.is_ok(), "byte {at} is {value}");
            if let Ok(value) = fresh {
                // A NaN is not equal to itself; its bytes are.
                assert_eq!(encoded(&value), encoded(&target));
            }
        }
    }
    #[derive(Persist, Debug)]
    struct Lists {
        #[persist(with = "Vec<Vec<id>>")]
        lists: Vec<Vec<Id>>,
    }
    assert!(codec::decode::<Lists>(&[255; 9]).is_err());
    assert!(codec::decode::<Lists>(&[253, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).is_err());
}

#[derive(Persist, Debug)]
struct Town {
    #[persist(with = "HashMap<name, _>")]
    people: HashMap<Name, u8>,
    #[persist(with = "BTreeMap<name, Vec<vec2>>")]
    ways: BTreeMap<Name, Vec<Vec2>>,
    #[persist(with = "HashSet<(name, _)>")]
    pairs: HashSet<(Name, u8)>,
    #[persist(with = "BTreeSet<Option<name>>")]
    names: BTreeSet<Option<Name>>,
    #[persist(with = "HashMap<_, id>")]
    by_key: HashMap<u8, Id>,
}

/// What a [`Town`] is stored as.
#[derive(Persist, Default)]
#[persist(class = "Town")]
struct Towns {
    people: BTreeMap<String, u8>,
    ways: BTreeMap<String, Vec<[f32; 2]>>,
    pairs: BTreeSet<(String, u8)>,
    names: BTreeSet<Option<String>>,
    by_key: BTreeMap<u8, u32>,
}

#[test]
fn keys_that_become_equal_and_values_that_are_refused_are_errors() {
    let text = |text: &str| text.to_owned();
    let people = [(text("A"), 1), (text("B"), 2), (text("a"), 3)].into();
    let ways = |y: f32| [(text("A"), vec![]), (text("b"), vec![[0.0; 2], [y, 1.0]])].into();
    let faults = [
        Towns { people, ..Towns::default() },
        Towns { ways: [(text("a"), vec![]), (text("A"), vec![])].into(), ..Towns::default() },
        Towns { ways: ways(f32::NAN), ..Towns::default() },
        Towns { pairs: [(text("a"), 1), (text("A"), 1)].into(), ..Towns::default() },
        Towns { names: [None, Some(text("a")), Some(text("A"))].into(), ..Towns::default() },
    ];
    let mut said = String::new();
    for fault in &faults {
        let error = from_slice::<Town>(&to_vec(fault).unwrap()).unwrap_err();
        said.push_str(&format!("{:?}: {error}\n", error.kind()));
    }
    // A key that stands there twice is no module's doing.
    let error = codec::decode::<Town>(&[0, 0, 0, 0, 2, 5, 0, 0, 0, 0, 5, 0, 0, 0, 0]).unwrap_err();
    said.push_str(&format!("{:?}: {error}\n", error.kind()));
    insta::assert_snapshot!("adapters_that_refuse", said);
    let fine = Towns { ways: ways(2.0), ..Towns::default() };
    let town: Town = from_slice(&to_vec(&fine).unwrap()).unwrap();
    assert_eq!(town.ways.len(), 2);
}

#[test]
fn keys_that_are_stored_alike_are_not_saved() {
    mod tens {
        pub(super) type Stored = u32;

        pub(super) fn store(id: &super::Id) -> Stored {
            id.0 / 10
        }

        pub(super) fn restore(stored: Stored) -> Result<super::Id, String> {
            Ok(super::Id(stored * 10))
        }
    }

    #[derive(Persist)]
    struct Rough {
        #[persist(with = "HashSet<tens>")]
        ids: HashSet<Id>,
    }

    let error = to_vec(&Rough { ids: [Id(1), Id(2)].into() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    insta::assert_snapshot!("keys_that_are_stored_alike", error);
}

#[derive(Persist, Clone, Debug, PartialEq)]
enum Goal {
    #[persist(empty)]
    None,
    Walk(#[persist(with = vec2)] Vec2, u8),
    Patrol {
        #[persist(with = "Vec<vec2>", default)]
        way: Vec<Vec2>,
        #[persist(via = "u32")]
        speed: Speed,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Speed(u32);

impl From<&Speed> for u32 {
    fn from(speed: &Speed) -> Self {
        speed.0
    }
}

impl TryFrom<u32> for Speed {
    type Error = String;

    fn try_from(speed: u32) -> Result<Self, String> {
        if speed < 1000 { Ok(Self(speed)) } else { Err(format!("{speed} is faster than light")) }
    }
}

/// Stored as the list of its cells' runs.
#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(via = "Vec<(u8, u16)>")]
struct Runs {
    cells: Vec<u8>,
}

impl From<&Runs> for Vec<(u8, u16)> {
    fn from(runs: &Runs) -> Self {
        let runs = runs.cells.chunk_by(|a, b| a == b);
        runs.map(|run| (run[0], u16::try_from(run.len()).unwrap())).collect()
    }
}

impl From<Vec<(u8, u16)>> for Runs {
    fn from(runs: Vec<(u8, u16)>) -> Self {
        let cells = runs.into_iter().flat_map(|(cell, count)| vec![cell; usize::from(count)]);
        Self { cells: cells.collect() }
    }
}

/// Stored as text, of which the empty one is no colour.
#[derive(Persist, Clone, Copy, Debug, PartialEq)]
#[persist(via = String, empty = Colour::Red)]
enum Colour {
    Red,
    Other(char),
}

impl From<&Colour> for String {
    fn from(colour: &Colour) -> Self {
        match colour {
            Colour::Red => "red".to_owned(),
            Colour::Other(letter) => letter.to_string(),
        }
    }
}

impl TryFrom<String> for Colour {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        match text.chars().next() {
            _ if text == "red" => Ok(Self::Red),
            Some(letter) if text.len() == letter.len_utf8() => Ok(Self::Other(letter)),
            _ => Err("no colour"),
        }
    }
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(transparent)]
struct Path(#[persist(with = "Vec<vec2>")] Vec<Vec2>, #[persist(skip)] u8);

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(transparent)]
struct Owner {
    #[persist(with = id, empty = Id(0))]
    id: Id,
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Level {
    goals: Vec<Goal>,
    runs: Runs,
    colours: BTreeMap<u8, Option<Colour>>,
    path: Path,
    owners: Vec<Owner>,
}

fn level() -> Level {
    let way = vec![place(1), place(2)];
    Level {
        goals: vec![
            Goal::None,
            Goal::Walk(place(3), 4),
            Goal::Patrol { way: way.clone(), speed: Speed(5) },
        ],
        runs: Runs { cells: vec![1, 1, 1, 2] },
        colours: [(1, Some(Colour::Red)), (2, None), (3, Some(Colour::Other('é')))].into(),
        path: Path(way, 0),
        owners: vec![Owner { id: Id(1) }, Owner { id: Id(2) }],
    }
}

#[test]
fn types_of_every_sort_are_stored_as_another() {
    round_trip(&level());
    assert_eq!(encoded(&level().runs), encoded(&vec![(1_u8, 3_u16), (2, 1)]));
    assert_eq!(encoded(&level().path), encoded(&vec![[1.0_f32, -1.0], [2.0, -2.0]]));
    assert_eq!(encoded(&level().owners), encoded(&vec![1_u32, 2]));
    assert_eq!(Runs::persist_kind().to_string(), Vec::<(u8, u16)>::persist_kind().to_string());
    assert_eq!(Owner::persist_name(), "u32");
    let mut path = Path(vec![place(9); 5], 7);
    codec::decode_into(&mut path, &encoded(&level().path)).unwrap();
    assert_eq!(path, Path(level().path.0, 7), "what is skipped stays");
    let fast = Goal::Patrol { way: Vec::new(), speed: Speed(1000) };
    let error = from_slice::<Goal>(&to_vec(&fast).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    insta::assert_snapshot!("via_that_refuses", error);
}

#[test]
fn empty_values_are_those_that_are_given() {
    #[derive(Persist, Debug, PartialEq)]
    struct Hero {
        #[persist(with = id, empty = Id(7))]
        id: Id,
        #[persist(empty = 3)]
        lives: u8,
        #[persist(with = "Option<id>")]
        mount: Option<Id>,
        #[persist(default = "nobody", empty = "Name_::empty")]
        name: Name_,
        #[persist(skip, default = "Vec::new")]
        cache: Vec<u8>,
        owner: Owner,
        colour: Colour,
        runs: Runs,
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(transparent)]
    struct Name_(String);

    impl Name_ {
        fn empty() -> Self {
            Self("empty".into())
        }
    }

    fn nobody() -> Name_ {
        Name_("nobody".into())
    }

    let empty = Hero::persist_empty(&Prototypes::bare()).unwrap();
    let expected = Hero {
        id: Id(7),
        lives: 3,
        mount: None,
        name: Name_::empty(),
        cache: Vec::new(),
        owner: Owner { id: Id(0) },
        colour: Colour::Red,
        runs: Runs { cells: Vec::new() },
    };
    assert_eq!(empty, expected);

    // A field that is missing is no error where it has a default, but for an `empty` alone it is.
    mod older {
        use super::*;

        #[derive(Persist)]
        pub(super) struct Hero {
            #[persist(with = id, empty = Id(0))]
            pub(super) id: Id,
            pub(super) lives: u8,
            pub(super) owner: Owner,
            pub(super) colour: Colour,
            pub(super) runs: Runs,
        }
    }
    let older = older::Hero {
        id: Id(1),
        lives: 2,
        owner: Owner { id: Id(3) },
        colour: Colour::Red,
        runs: Runs { cells: Vec::new() },
    };
    let hero: Hero = from_slice(&to_vec(&older).unwrap()).unwrap();
    assert_eq!(hero, Hero { id: Id(1), lives: 2, name: nobody(), owner: older.owner, ..expected });

    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Nameless {
        lives: u8,
    }
    let error = from_slice::<Hero>(&to_vec(&Nameless { lives: 1 }).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingField);
}

#[test]
fn a_module_may_have_the_empty_value_of_its_fields() {
    mod entity {
        use super::Id;

        pub(super) use super::id::{Stored, restore, store};

        pub(super) fn empty() -> Id {
            Id(u32::MAX)
        }
    }

    mod level {
        pub(super) type Stored = u8;

        pub(super) fn store(level: &u8) -> Stored {
            *level
        }

        pub(super) fn restore(stored: Stored) -> Result<u8, std::convert::Infallible> {
            Ok(stored)
        }

        pub(super) const fn empty() -> u8 {
            1
        }
    }

    #[derive(Persist, Debug, PartialEq)]
    struct Hunter<T> {
        #[persist(with = entity)]
        prey: Id,
        #[persist(with = entity, empty = Id(7))]
        den: Id,
        #[persist(with = entity, default = Id(8))]
        rival: Id,
        #[persist(with = "Option<entity>")]
        mate: Option<Id>,
        #[persist(with = level)] // instead of that of `Default`
        level: u8,
        rest: T,
    }

    let empty = Hunter::<u8>::persist_empty(&Prototypes::bare()).unwrap();
    let [prey, den, rival] = [u32::MAX, 7, 8].map(Id);
    assert_eq!(empty, Hunter { prey, den, rival, mate: None, level: 1, rest: 0 });
    round_trip(&Hunter { prey: Id(3), level: 2, rest: 4_u8, ..empty });

    #[derive(Persist)]
    #[persist(class = "Hunter")]
    struct Older<T> {
        level: u8,
        rest: T,
    }
    let older = to_vec(&Older { level: 2, rest: 3_u8 }).unwrap();
    let error = from_slice::<Hunter<u8>>(&older).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingField, "it is no default");
}

#[test]
fn the_empty_value_of_a_type_with_via_may_be_refused() {
    #[derive(Persist, Debug)]
    #[persist(via = u8)]
    struct Positive(u8);

    impl From<&Positive> for u8 {
        fn from(positive: &Positive) -> Self {
            positive.0
        }
    }

    impl TryFrom<u8> for Positive {
        type Error = String;

        fn try_from(stored: u8) -> Result<Self, String> {
            if stored == 0 { Err("0 is not positive".into()) } else { Ok(Self(stored)) }
        }
    }

    let error = Positive::persist_empty(&Prototypes::bare()).unwrap_err();
    insta::assert_snapshot!("no_empty_value_of_a_type_with_via", error);
    assert_eq!(codec::decode::<Positive>(&[3]).unwrap().0, 3);
}

#[test]
fn iterators_that_miscount_are_refused() {
    mod short {
        pub(super) type Item = u8;

        struct Liar(std::vec::IntoIter<u8>);

        impl Iterator for Liar {
            type Item = u8;

            fn next(&mut self) -> Option<u8> {
                self.0.next()
            }
        }

        impl ExactSizeIterator for Liar {
            fn len(&self) -> usize {
                2
            }
        }

        pub(super) fn store(list: &[u8]) -> impl ExactSizeIterator<Item = u8> {
            Liar(list.to_vec().into_iter())
        }

        pub(super) fn restore(list: Vec<u8>) -> Result<Vec<u8>, String> {
            Ok(list)
        }
    }

    #[derive(Persist)]
    struct Holder {
        #[persist(with_iter = short)]
        list: Vec<u8>,
    }

    for count in 0..4 {
        let result = to_vec(&Holder { list: vec![7; count] });
        assert_eq!(result.is_ok(), count == 2, "{count}");
    }
    let error = to_vec(&Holder { list: vec![] }).unwrap_err();
    insta::assert_snapshot!("an_iterator_that_miscounts", error);
}

#[derive(Debug, PartialEq)]
struct Whole<T>(T);

mod whole {
    pub(super) type Stored = u8;

    pub(super) fn store<T>(_: &super::Whole<T>) -> Stored {
        unreachable!("there is none")
    }

    pub(super) fn restore<T>(_: Stored) -> Result<super::Whole<T>, &'static str> {
        Err("there is none")
    }
}

#[test]
fn generic_types_take_lifts_of_their_parameters() {
    #[derive(Persist, Debug, PartialEq)]
    struct Slot<T, const N: usize> {
        #[persist(with = "Vec<(_, vec2)>")]
        items: Vec<(T, Vec2)>,
        #[persist(with = "[Option<id>]", empty = [None; N])]
        ids: [Option<Id>; N],
        #[persist(with = "Option<Box<whole>>")]
        next: Option<Box<Whole<Self>>>,
    }

    let slot =
        Slot { items: vec![("a".to_owned(), place(1))], ids: [None, Some(Id(3))], next: None };
    round_trip(&slot);
    assert_eq!(Slot::<String, 2>::CLASS.name(), "Slot<String, 2>");
    round_trip(&Slot::<u8, 0> { items: vec![(1, place(2))], ids: [], next: None });
}

#[test]
fn fields_of_fixed_width_are_stored_without_an_allocation() {
    #[derive(Persist)]
    struct Unit {
        #[persist(with = vec2)]
        position: Vec2,
        #[persist(with = "Vec<Option<vec2>>")]
        way: Vec<Option<Vec2>>,
        #[persist(with = "Option<name>")]
        name: Option<Name>,
        #[persist(with = Cells)]
        grid: Grid,
        #[persist(with_iter = runs)]
        runs: Grid,
    }

    let unit = Unit {
        position: place(1),
        way: vec![Some(place(2)); 100],
        name: Some(Name("Ada".into())),
        grid: Grid { cells: vec![1; 100] },
        runs: Grid { cells: vec![1; 100] },
    };
    let mut buffer = Buffer::new();
    buffer.encode(&unit).unwrap();
    let counted = allocation_counter::measure(|| {
        buffer.encode(&unit).unwrap();
    });
    assert_eq!(counted.count_total, 0);
}

/// The drop of a load frees cycles, for which it lists references: no function of the program runs for that.
#[test]
fn what_was_loaded_is_dropped_without_a_call_of_store() {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    mod counted {
        pub(super) type Stored = u32;

        pub(super) fn store(value: &char) -> Stored {
            crate::stored_as::STORES_OF_DROPS.with(|stores| stores.set(stores.get() + 1));
            u32::from(*value)
        }

        pub(super) fn restore(value: Stored) -> Result<char, String> {
            char::from_u32(value).ok_or_else(|| format!("{value} is no character"))
        }
    }

    #[derive(Persist)]
    struct Node {
        #[persist(with = counted)]
        name: char,
        #[persist(with = "Vec<Option<counted>>")]
        names: Vec<Option<char>>,
        next: Option<Rc<RefCell<Node>>>,
    }

    let node = |next| Rc::new(RefCell::new(Node { name: 'x', names: vec![Some('y'), None], next }));
    let last = node(None);
    let first = node(Some(last.clone()));
    last.borrow_mut().next = Some(first.clone());
    let mut manager = SaveManager::new();
    manager.add(&first).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let before = STORES_OF_DROPS.with(Cell::get);
    assert!(before >= 4, "a save calls `store`");
    drop(loaded);
    assert_eq!(STORES_OF_DROPS.with(Cell::get), before);
    first.borrow_mut().next = None;
}

thread_local!(static STORES_OF_DROPS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
