//! Changes of kinds that lose nothing, each a field, there and back.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};

use persist::Persist;
use persist::save::LoadEvent;

use super::harness::{Row, Shared, cases, shared};
use super::nest::{PLACES, everywhere};

mod old {
    use super::*;

    #[derive(Persist, Debug, Clone)]
    #[persist(class = "Gem")]
    pub(super) struct Gem {
        pub(super) carat: u16,
        pub(super) name: String,
    }

    #[derive(Persist, Debug, Clone)]
    #[persist(class = "Shape")]
    pub(super) enum Shape {
        Dot,
        Circle(u8),
        #[persist(alias = "Box")]
        Rect {
            wide: u8,
            high: u16,
            gem: Gem,
        },
    }
}

mod new {
    use super::*;

    #[derive(Persist, Debug, Clone)]
    #[persist(class = "Gem")]
    pub(super) struct Gem {
        pub(super) name: String,
        pub(super) carat: i64,
    }

    #[derive(Persist, Debug, Clone)]
    #[persist(class = "Shape")]
    pub(super) enum Shape {
        #[persist(alias = "Rect")]
        Box {
            gem: Gem,
            high: u16,
            wide: u32,
        },
        Dot,
        Circle(u16),
    }
}

#[derive(Persist, Debug, Clone)]
struct Level(u32);

#[derive(Persist, Debug, Clone)]
struct Rank(Level);

#[derive(Persist, Debug, Clone)]
struct Levels(Vec<u32>);

#[derive(Persist, Debug, Clone)]
struct Pair((u8, String));

#[derive(Persist, Debug, Clone)]
struct Wrapped(new::Gem);

#[derive(Persist, Debug, Clone)]
#[persist(transparent)]
struct Clear {
    inner: String,
}

#[derive(Persist, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    North,
    #[persist(alias = "South")]
    Down,
}

fn gem(i: u8) -> old::Gem {
    old::Gem { carat: 1000 + u16::from(i), name: format!("gem {i}") }
}

fn new_gem(i: u8) -> new::Gem {
    new::Gem { carat: 1000 + i64::from(i), name: format!("gem {i}") }
}

fn shape(i: u8) -> old::Shape {
    match i % 3 {
        0 => old::Shape::Dot,
        1 => old::Shape::Circle(i),
        _ => old::Shape::Rect { wide: i, high: 500, gem: gem(i) },
    }
}

fn new_shape(i: u8) -> new::Shape {
    match i % 3 {
        0 => new::Shape::Dot,
        1 => new::Shape::Circle(i.into()),
        _ => new::Shape::Box { gem: new_gem(i), high: 500, wide: i.into() },
    }
}

fn side(i: u8) -> Side {
    if i.is_multiple_of(2) { Side::North } else { Side::Down }
}

fn side_name(i: u8) -> String {
    if i.is_multiple_of(2) { "North" } else { "Down" }.to_owned()
}

fn once<T>(value: T) -> OnceCell<T> {
    let cell = OnceCell::new();
    let _ = cell.set(value);
    cell
}

cases! {
    CONVERTED widened: u8 = |i| i, u64 = i.into();
    CONVERTED signed: i16 = |i| -i16::from(i), i128 = -i128::from(i);
    CONVERTED crossed: u32 = |i| i.into(), i8 = i8::try_from(i).unwrap();
    CONVERTED float: f32 = |i| f32::from(i) / 4.0, f64 = f64::from(i) / 4.0;
    CONVERTED wide: u128 = |i| i.into(), i16 = i.into();
    CONVERTED size: usize = |i| i.into(), u32 = i.into();
    CONVERTED numbers: Vec<u8> = |i| vec![i; 3], Vec<i64> = vec![i.into(); 3];
    CONVERTED fewer: [u64; 2] = |i| [i.into(); 2], [u16; 2] = [i.into(); 2];
    CONVERTED optional: u16 = |i| i.into(), Option<u16> = Some(i.into());
    CONVERTED optional_gem: old::Gem = |i| gem(i), Option<new::Gem> = Some(new_gem(i));
    CONVERTED optional_box: u8 = |i| i, Option<Box<u64>> = Some(Box::new(i.into()));
    SAME boxed: old::Gem = |i| gem(i), Box<new::Gem> = Box::new(new_gem(i));
    CONVERTED newtype: u16 = |i| i.into(), Level = Level(i.into());
    CONVERTED newtype_tuple: (u8, String) = |i| (i, "a".into()), Pair = Pair((i, "a".into()));
    CONVERTED newtype_gem: old::Gem = |i| gem(i), Wrapped = Wrapped(new_gem(i));
    CONVERTED newtype_out: Level = |i| Level(i.into()), u16 = i.into();
    CONVERTED newtype_in_newtype: Level = |i| Level(i.into()), Rank = Rank(Level(i.into()));
    CONVERTED newtype_of_newtype: Rank = |i| Rank(Level(i.into())), Level = Level(i.into());
    CONVERTED newtype_of_newtype_out: Rank = |i| Rank(Level(i.into())), u64 = i.into();
    CONVERTED newtype_of_list: Levels = |i| Levels(vec![i.into()]),
        Vec<Level> = vec![Level(i.into())];
    CONVERTED newtypes: Vec<u8> = |i| vec![i], Vec<Level> = vec![Level(i.into())];
    SAME transparent: String = |i| i.to_string(), Clear = Clear { inner: i.to_string() };
    CONVERTED array: [u16; 3] = |i| [i.into(); 3], Vec<u16> = vec![i.into(); 3];
    CONVERTED array_of_gems: [old::Gem; 2] = |i| [gem(i), gem(3)],
        Vec<new::Gem> = vec![new_gem(i), new_gem(3)];
    CONVERTED array_of_text: [String; 1] = |i| [i.to_string()], Vec<String> = vec![i.to_string()];
    CONVERTED set: Vec<u8> = |i| vec![2, i + 2], BTreeSet<u16> = [2, u16::from(i) + 2].into();
    CONVERTED map: BTreeMap<String, u8> = |i| [("a".into(), 1), ("b".into(), i)].into(),
        Vec<(String, u16)> = vec![("a".into(), 1), ("b".into(), i.into())];
    CONVERTED map_of_gems: HashMap<u16, old::Gem> = |i| [(300, gem(i))].into(),
        Vec<(u16, new::Gem)> = vec![(300, new_gem(i))];
    CONVERTED map_keys: BTreeMap<u8, u8> = |i| [(1, i), (200, 3)].into(),
        BTreeMap<u16, Option<u8>> = [(1, Some(i)), (200, Some(3))].into();
    SAME containers: HashMap<u8, Vec<u8>> = |i| [(i, vec![1])].into(),
        BTreeMap<u8, std::collections::VecDeque<u8>> = [(i, [1].into())].into();
    CONVERTED name: String = |i| side_name(i), Side = side(i);
    CONVERTED names: BTreeSet<String> = |i| [side_name(i)].into(), BTreeSet<Side> = [side(i)].into();
    CONVERTED name_keys: BTreeMap<String, u8> = |i| [(side_name(i), i)].into(),
        BTreeMap<Side, u8> = [(side(i), i)].into();
    CONVERTED cell: old::Gem = |i| gem(i), Shared<new::Gem> = shared(new_gem(i));
    CONVERTED lock: old::Gem = |i| gem(i), Arc<Mutex<new::Gem>> = Arc::new(Mutex::new(new_gem(i)));
    CONVERTED rw_lock: u8 = |i| i, Rc<RwLock<u32>> = Rc::new(RwLock::new(i.into()));
    CONVERTED plain: old::Gem = |i| gem(i), Rc<new::Gem> = Rc::new(new_gem(i));
    CONVERTED arc: String = |i| i.to_string(), Arc<str> = i.to_string().into();
    CONVERTED slice: Vec<u8> = |i| vec![i], Rc<[u16]> = [u16::from(i)].into();
    CONVERTED copied: u32 = |i| i.into(), Rc<Cell<u32>> = Rc::new(Cell::new(i.into()));
    CONVERTED set_once: old::Gem = |i| gem(i), Rc<OnceCell<new::Gem>> = Rc::new(once(new_gem(i)));
    CONVERTED once_or_none: Option<u8> = |_i| None, Rc<OnceCell<u8>> = Rc::new(OnceCell::new());
    CONVERTED shared_none: Option<u8> = |_i| None, Shared<Option<u8>> = shared(None);
    CONVERTED shared_some: Option<u8> = |i| Some(i), Shared<Option<u16>> = shared(Some(i.into()));
    CONVERTED shared_list: Vec<u8> = |i| vec![i], Shared<Vec<u16>> = shared(vec![i.into()]);
    CONVERTED list_of_shared: Vec<old::Gem> = |i| vec![gem(i), gem(1)],
        Vec<Shared<new::Gem>> = vec![shared(new_gem(i)), shared(new_gem(1))];
    CONVERTED some_shared: Option<old::Gem> = |i| Some(gem(i)),
        Option<Shared<new::Gem>> = Some(shared(new_gem(i)));
    CONVERTED none_shared: Option<old::Gem> = |_i| None, Option<Shared<new::Gem>> = None;
    CONVERTED optional_shared: old::Gem = |i| gem(i),
        Option<Shared<new::Gem>> = Some(shared(new_gem(i)));
    CONVERTED shared_map: HashMap<u8, old::Gem> = |i| [(i, gem(i))].into(),
        HashMap<u8, Rc<new::Gem>> = [(i, Rc::new(new_gem(i)))].into();
    CONVERTED twice_shared: old::Gem = |i| gem(i),
        Shared<Shared<new::Gem>> = shared(shared(new_gem(i)));
    CONVERTED newtype_shared: Shared<u32> = |i| shared(i.into()), Level = Level(i.into());
    CONVERTED of_shape: old::Shape = |i| shape(i), Option<Rc<RefCell<new::Shape>>> =
        Some(shared(new_shape(i)));
    CONVERTED #[persist(id = 4)] numbered: u8 = |i| i, #[persist(id = 4)] u16 = i.into();
    SAME shape: old::Shape = |i| shape(i), new::Shape = new_shape(i);
    CONVERTED deep: Vec<Option<(u8, [old::Gem; 1])>> = |i| vec![None, Some((i, [gem(i)]))],
        Vec<Option<(i64, Vec<new::Gem>)>> = vec![None, Some((i.into(), vec![new_gem(i)]))];
}

#[test]
fn kinds_change_there() {
    let found = everywhere(old, new);
    let of_case: Vec<_> = found.iter().filter(|row| row.1 == "Case").cloned().collect();
    assert_eq!(of_case, expected(PLACES));
    assert_eq!(
        others(&found),
        [
            (LoadEvent::Converted, "Gem.carat".into()),
            (LoadEvent::Converted, "Shape.Circle.0".into()),
            (LoadEvent::Converted, "Shape.Rect.wide".into())
        ]
    );
}

#[test]
fn kinds_change_back() {
    let found = everywhere(new, old);
    let of_case: Vec<_> = found.iter().filter(|row| row.1 == "Case").cloned().collect();
    assert_eq!(of_case, expected(PLACES));
    assert_eq!(
        others(&found),
        [
            (LoadEvent::Converted, "Gem.carat".into()),
            (LoadEvent::Converted, "Shape.Box.wide".into()),
            (LoadEvent::Converted, "Shape.Circle.0".into())
        ]
    );
}

/// The findings about other classes.
fn others(found: &[Row]) -> Vec<(LoadEvent, String)> {
    let others = found.iter().filter(|row| row.1 != "Case");
    others.map(|(change, class, field, _)| (*change, format!("{class}.{field}"))).collect()
}
