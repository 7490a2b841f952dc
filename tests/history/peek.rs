//! Reads of some elements of large containers, against a read of the whole field.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::ops::Range;

use persist::codec::Reflect;
use persist::reflect::{FieldRecord, Kind};
use persist::{
    Component, ErrorKind, FieldPath, History, Persist, Record, Result, Value, World, field,
};
use persist_tests::support::short_or_long;
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

use crate::maps::{Chain, Table};

/// A value with containers of every kind.
#[derive(Persist, Clone, Debug)]
struct Atlas {
    numbers: Vec<u32>,
    bytes: Vec<u8>,
    nested: Vec<Vec<u16>>,
    towns: Vec<Town>,
    names: VecDeque<String>,
    linked: LinkedList<u8>,
    boxed: Box<[u64]>,
    memory: [u8; 40],
    #[persist(empty = [[0; 3]; 30])]
    grid: [[u16; 3]; 30],
    by_name: BTreeMap<String, Vec<u32>>,
    by_number: BTreeMap<i32, Town>,
    by_place: BTreeMap<(u8, bool), Vec<u8>>,
    by_letter: BTreeMap<char, BTreeMap<u8, Vec<bool>>>,
    hashed: HashMap<String, Vec<u16>>,
    of_bytes: BTreeSet<Vec<u8>>,
    small: BTreeSet<u8>,
    hashed_set: HashSet<u32>,
    maybe: Option<Vec<u32>>,
    capital: Option<Box<Town>>,
    pair: (Vec<u16>, Option<BTreeMap<u8, u8>>),
    table: Table<Vec<u16>>,
    chain: Chain,
    #[persist(compact)]
    packed: Vec<u32>,
    titles: Titles,
}

#[derive(Persist, Clone, Debug)]
struct Town {
    name: String,
    streets: Vec<Street>,
    posts: BTreeMap<u8, String>,
}

#[derive(Persist, Clone, Debug)]
enum Street {
    Short,
    Long { houses: Vec<u8>, trees: Option<Vec<u16>> },
    Pair(u8, Vec<u32>),
}

#[derive(Persist, Clone, Debug)]
#[persist(transparent)]
struct Titles(Vec<String>);

impl Component for Atlas {}

/// Creates containers with up to `max` elements.
struct Maker(Lcg64Xsh32, usize);

impl Maker {
    fn many<T, C: FromIterator<T>>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> C {
        let len = self.0.gen_range(0..=self.1);
        (0..len).map(|_| make(self)).collect()
    }

    fn number<T: TryFrom<u32>>(&mut self) -> T {
        let number = self.0.gen_range(0..128_u32);
        T::try_from(number).unwrap_or_else(|_| unreachable!("a small number"))
    }

    fn word(&mut self) -> String {
        format!("word \"{}\"", self.number::<u8>())
    }

    fn numbers<T: TryFrom<u32>, C: FromIterator<T>>(&mut self) -> C {
        self.many(Self::number)
    }

    fn street(&mut self) -> Street {
        match self.number::<u8>() % 3 {
            0 => Street::Short,
            1 => Street::Long { houses: self.numbers(), trees: Some(self.numbers()) },
            _ => Street::Pair(3, self.numbers()),
        }
    }

    fn town(&mut self) -> Town {
        Town {
            name: self.word(),
            streets: self.many(Self::street),
            posts: self.many(|it| (it.number(), it.word())),
        }
    }

    fn atlas(&mut self) -> Atlas {
        Atlas {
            numbers: self.numbers(),
            bytes: self.numbers(),
            nested: self.many(Self::numbers),
            towns: self.many(Self::town),
            names: self.many(Self::word),
            linked: self.numbers(),
            boxed: self.numbers(),
            memory: [self.number(); 40],
            grid: [[self.number(), 2, 3]; 30],
            by_name: self.many(|it| (it.word(), it.numbers())),
            by_number: self.many(|it| (i32::from(it.number::<u8>()) - 60, it.town())),
            by_place: self.many(|it| ((it.number(), it.0.r#gen()), it.numbers())),
            by_letter: self.many(|it| {
                (char::from(it.number::<u8>()), it.many(|it| (it.number(), it.many(|_| true))))
            }),
            hashed: self.many(|it| (it.word(), it.numbers())),
            of_bytes: self.many(Self::numbers),
            small: self.numbers(),
            hashed_set: self.numbers(),
            maybe: self.0.r#gen::<bool>().then(|| self.numbers()),
            capital: self.0.r#gen::<bool>().then(|| Box::new(self.town())),
            pair: (self.numbers(), Some(self.many(|it| (it.number(), 7)))),
            table: Table(self.many(|it| (it.number(), it.numbers()))),
            chain: Chain(self.numbers()),
            packed: self.numbers(),
            titles: Titles(self.many(Self::word)),
        }
    }
}

/// Cuts the containers of a value that was read whole.
struct Naive<'n> {
    world: &'n World,
    town: persist::ObjectId,
    range: Option<Range<usize>>,
    max: usize,
    cut: Vec<(FieldPath, usize)>,
}

impl Naive<'_> {
    fn select(&mut self, path: &FieldPath, len: usize) -> Range<usize> {
        let range = match self.range.take() {
            Some(range) => range.start.min(len)..range.end.min(len),
            None if len > self.max => 0..0,
            None => 0..len,
        };
        if range.len() < len {
            self.cut.push((path.clone(), len));
        }
        range
    }

    fn fields(&mut self, fields: &[FieldRecord], record: &mut Record, path: &FieldPath) {
        self.range = None;
        for field in fields {
            let value = record.get_mut(field.name).unwrap();
            self.cut(field.kind(), value, path.clone().field(field.name));
        }
    }

    fn cut(&mut self, kind: Kind, value: &mut Value, path: FieldPath) {
        match (kind, &mut *value) {
            (Kind::Option(kind), Value::Option(Some(value))) => self.cut(kind(), value, path),
            (Kind::Class(class), Value::Struct(record) | Value::Enum(record)) => {
                let variant = record.variant().unwrap_or_default();
                let variant = class().variants().iter().find(|it| it.name == variant);
                let fields = variant.map_or(class().fields(), |it| it.fields);
                self.fields(fields, record, &path);
            }
            (Kind::Tuple(kinds), Value::Tuple(parts)) => {
                self.range = None;
                for (index, (kind, part)) in kinds.iter().zip(parts).enumerate() {
                    self.cut(kind(), part, path.clone().at(index as u64));
                }
            }
            (Kind::List(_) | Kind::Set(_) | Kind::Array(..), Value::Bytes(bytes)) => {
                let bytes = bytes[self.select(&path, bytes.len())].to_vec();
                *value = if bytes.is_empty() { Value::Seq(vec![]) } else { Value::Bytes(bytes) };
            }
            (Kind::Set(_), Value::Seq(elements)) => {
                *elements = elements[self.select(&path, elements.len())].to_vec();
            }
            (Kind::List(kind) | Kind::Array(kind, _), Value::Seq(elements)) => {
                let range = self.select(&path, elements.len());
                *elements = elements[range.clone()].to_vec();
                for (index, element) in range.zip(elements) {
                    self.cut(kind(), element, path.clone().at(index as u64));
                }
            }
            (Kind::Map(_, kind), Value::Map(entries)) => {
                *entries = entries[self.select(&path, entries.len())].to_vec();
                for (key, value) in entries {
                    let path = path.clone().at(key.clone());
                    if self.world.get_field(self.town, &path).is_ok() {
                        self.cut(kind(), value, path);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Follows random steps to a part of a value.
fn descend(
    random: &mut Lcg64Xsh32,
    mut kind: Kind,
    mut value: &Value,
    mut path: FieldPath,
) -> (Kind, FieldPath) {
    while random.gen_range(0..4) > 0 {
        while let (Kind::Option(inner), Value::Option(Some(content))) = (kind, value) {
            (kind, value) = (inner(), content);
        }
        match (kind, value) {
            (Kind::Class(class), Value::Struct(record) | Value::Enum(record))
                if !record.is_empty() =>
            {
                let (name, inner) = record.fields().nth(random.gen_range(0..record.len())).unwrap();
                let is_field = |it: &&FieldRecord| it.name == name;
                kind = class().all_fields().find(is_field).unwrap().kind();
                (path, value) = (path.field(name.to_owned()), inner);
            }
            (Kind::List(inner) | Kind::Array(inner, _), Value::Seq(parts)) if !parts.is_empty() => {
                let index = random.gen_range(0..parts.len());
                (path, kind, value) = (path.at(index as u64), inner(), &parts[index]);
            }
            (Kind::Tuple(kinds), Value::Tuple(parts)) => {
                let index = random.gen_range(0..parts.len());
                (path, kind, value) = (path.at(index as u64), kinds[index](), &parts[index]);
            }
            (Kind::Map(_, inner), Value::Map(entries)) if !entries.is_empty() => {
                let (key, part) = &entries[random.gen_range(0..entries.len())];
                (path, kind, value) = (path.at(key.clone()), inner(), part);
            }
            _ => break,
        }
    }
    (kind, path)
}

#[test]
fn a_peek_reads_the_elements_of_a_range_that_a_whole_read_has() -> Result<()> {
    let mut cuts = 0;
    for seed in 0..short_or_long(40, 1_000) {
        let mut make = Maker(Lcg64Xsh32::seed_from_u64(seed), 12);
        let atlas = make.atlas();
        let mut random = make.0;
        let (mut world, mut history) = (World::new(), History::new(100));
        let town = world.spawn_with("Town", (atlas.clone(),))?;
        for _ in 0..60 {
            let whole = world.get_field(town, "Atlas")?;
            let path = FieldPath::new("Atlas");
            let (kind, path) = descend(&mut random, Kind::Class(|| Atlas::CLASS), &whole, path);
            let start = random.gen_range(0..8_usize);
            let range = start..start + random.gen_range(0..8_usize);
            let what = format!("seed {seed}: {path} {range:?}");
            let Ok(mut expected) = world.get_field(town, &path) else {
                assert!(world.peek_field(town, &path, range).is_err(), "{what}");
                continue;
            };
            let (max, range) = (range.len(), Some(range));
            let mut naive = Naive { world: &world, town, range: range.clone(), max, cut: vec![] };
            naive.cut(kind, &mut expected, path.clone());
            let range = range.unwrap();
            let peek = world.peek_field(town, &path, range.clone())?;
            cuts += peek.cut.len();
            // Of a hashed map or set, another part may be read.
            let is_hashed = path.steps().len() == 1 && path.to_string().contains("hashed");
            if !is_hashed || naive.cut.is_empty() {
                assert_eq!((&peek.value, &peek.cut), (&expected, &naive.cut), "{what}");
                let document = history.peek_field(&atlas, &path, range)?;
                assert_eq!((document.value, document.cut), (expected, naive.cut), "{what}");
            }
            // The paths of what is missing lead there.
            for (path, len) in peek.cut {
                assert_eq!(len_of(&world.get_field(town, &path)?), len, "{what}: {path}");
                let rest = world.peek_field(town, &path, 0..len)?;
                assert!(rest.cut.iter().all(|(inner, _)| *inner != path), "{what}: {path}");
            }
        }
        // A whole read and a peek at more than there is are the same.
        let path = field!(Atlas.towns);
        let peek = history.peek_field(&atlas, &path, 0..usize::MAX)?;
        assert_eq!(peek.value, history.get_field(&atlas, path)?);
        assert!(peek.cut.is_empty());
    }
    assert!(cuts > 1_000, "{cuts}");
    Ok(())
}

fn len_of(value: &Value) -> usize {
    match value {
        Value::Option(Some(value)) => len_of(value),
        Value::Map(entries) => entries.len(),
        Value::Bytes(bytes) => bytes.len(),
        value => value.as_seq().map_or(0, <[_]>::len),
    }
}

#[test]
fn the_pages_of_a_hashed_map_and_set_have_each_entry_once() -> Result<()> {
    let mut make = Maker(Lcg64Xsh32::seed_from_u64(3), 3);
    let mut atlas = make.atlas();
    atlas.hashed = (0..95).map(|number| (format!("{number}"), vec![number; 12])).collect();
    atlas.hashed_set = (0..95).collect();
    let mut history = History::new(100);
    let (mut entries, mut elements) = (Vec::new(), Vec::new());
    for start in (0..100).step_by(10) {
        let peek = history.peek_field(&atlas, field!(Atlas.hashed), start..start + 10)?;
        let Value::Map(page) = peek.value else { panic!("no map") };
        assert_eq!(page.len(), 10.min(95 - start));
        // The value of each key has more elements than the page.
        assert_eq!(peek.cut.len(), page.len() + 1);
        for (key, value) in page {
            assert_eq!(value, Value::Seq(vec![]));
            let path = field!(Atlas.hashed).at(key.clone());
            entries.push((key, history.get_field(&atlas, path)?));
        }
        let peek = history.peek_field(&atlas, field!(Atlas.hashed_set), start..start + 10)?;
        elements.extend(peek.value.as_seq().unwrap().to_vec());
    }
    entries.sort_by_key(|(key, _)| key.to_string());
    let Value::Map(mut whole) = history.get_field(&atlas, field!(Atlas.hashed))? else { panic!() };
    whole.sort_by_key(|(key, _)| key.to_string());
    assert_eq!(entries, whole);
    elements.sort_by_key(|element| element.as_u64());
    let whole = history.get_field(&atlas, field!(Atlas.hashed_set))?;
    let mut whole = whole.as_seq().unwrap().to_vec();
    whole.sort_by_key(|element| element.as_u64());
    assert_eq!(elements, whole);
    Ok(())
}

#[test]
fn a_peek_that_leads_nowhere_fails_like_a_read() {
    let atlas = Maker(Lcg64Xsh32::seed_from_u64(5), 3).atlas();
    let mut history = History::new(100);
    for path in ["Atlas:none", "Atlas:numbers[99]", "Atlas:by_name[\"none\"]", "Other"] {
        let read = history.get_field(&atlas, path).unwrap_err();
        let peek = history.peek_field(&atlas, path, 0..10).unwrap_err();
        assert_eq!(peek.to_string(), read.to_string());
        assert_ne!(peek.kind(), ErrorKind::Unsupported);
    }
}
