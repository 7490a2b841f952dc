//! Every pointer around every cell comes back as it was: one object stays one,
//! wherever its pointers stand.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::rc::{self, Rc};
use std::sync::{self, Arc, Mutex, OnceLock, RwLock};

use persist::save::{LoadEvent, SharedPointer};
use persist::{Persist, SaveManager, Saves};
use persist_tests::support::disarranged::check_objects;

#[derive(Persist, Debug, PartialEq, Clone)]
struct Hero {
    name: String,
    level: u32,
}

fn ada() -> Hero {
    Hero { name: "Ada".into(), level: 3 }
}

/// All places where a pointer may stand, each with the same target.
#[derive(Persist)]
#[persist(bound = "S: Persist, W: Persist")]
struct Places<S, W> {
    bare: S,
    maybe: [Option<S>; 2],
    list: Vec<S>,
    boxed: Box<S>,
    map: HashMap<String, S>,
    ordered: BTreeMap<u8, (S, u16)>,
    case: Vec<Case<S>>,
    cell: RefCell<Vec<S>>,
    once: OnceCell<S>,
    weak: W,
    weaks: Vec<Option<W>>,
}

#[derive(Persist)]
enum Case<S> {
    None,
    One(S),
    Two { left: S, right: S },
}

impl<S: Clone, W: Clone> Places<S, W> {
    fn new(strong: &S, weak: &W) -> Self {
        let one = || strong.clone();
        Self {
            bare: one(),
            maybe: [Some(one()), None],
            list: vec![one(), one()],
            boxed: Box::new(one()),
            map: ["x", "y"].map(|key| (key.to_owned(), one())).into(),
            ordered: [(1, (one(), 5))].into(),
            case: vec![Case::None, Case::One(one()), Case::Two { left: one(), right: one() }],
            cell: RefCell::new(vec![one()]),
            once: one().into(),
            weak: weak.clone(),
            weaks: vec![None, Some(weak.clone())],
        }
    }

    fn strong(&self) -> Vec<S> {
        let mut all = vec![self.bare.clone(), (*self.boxed).clone()];
        all.extend(self.maybe.iter().flatten().cloned());
        all.extend(self.list.iter().chain(self.map.values()).cloned());
        all.extend(self.ordered.values().map(|(one, _)| one.clone()));
        for case in &self.case {
            match case {
                Case::None => {}
                Case::One(one) => all.push(one.clone()),
                Case::Two { left, right } => all.extend([left.clone(), right.clone()]),
            }
        }
        all.extend(self.cell.borrow().iter().cloned());
        all.extend(self.once.get().cloned());
        all
    }

    fn weak(&self) -> Vec<W> {
        self.weaks.iter().flatten().chain([&self.weak]).cloned().collect()
    }
}

/// A few of them: every type in all places would take the compiler minutes.
#[derive(Persist)]
#[persist(bound = "S: Persist, W: Persist")]
struct Few<S, W> {
    weaks: [W; 2],
    pair: (S, Option<S>),
    list: Vec<S>,
}

impl<S: Clone, W: Clone> Few<S, W> {
    fn new(strong: &S, weak: &W) -> Self {
        let one = || strong.clone();
        Self {
            weaks: [weak.clone(), weak.clone()],
            pair: (one(), Some(one())),
            list: vec![one(), one()],
        }
    }

    fn strong(&self) -> Vec<S> {
        let all = [&self.pair.0].into_iter().chain(&self.pair.1).chain(&self.list);
        all.cloned().collect()
    }

    fn weak(&self) -> Vec<W> {
        self.weaks.to_vec()
    }
}

/// Saves pointers to one target in holders of three sorts, and compares.
macro_rules! check {
    ($places:ident: $strong:expr, $weak:path, $upgrade:path, $read:expr) => {{
        let strong = $strong;
        let weak = $weak(&strong);
        let read = $read;
        let expected = read(&strong);
        // A value of its own, an object in a cell, and one without.
        let original = $places::new(&strong, &weak);
        let save = persist::to_vec(&original).unwrap();
        assert_eq!(save, persist::to_vec(&$places::new(&strong, &weak)).unwrap());
        let loaded = persist::from_slice(&save).unwrap();
        let same = |loaded: &$places<_, _>| {
            let strong = loaded.strong();
            assert_eq!(strong.len(), original.strong().len());
            let weak = loaded.weak();
            assert_eq!(weak.len(), 2);
            (strong, weak)
        };
        let mut kept = vec![same(&loaded)];
        let in_cell = Rc::new(RefCell::new($places::new(&strong, &weak)));
        let back = round_trip(&in_cell);
        kept.push(same(&back.borrow()));
        let without = Arc::new($places::new(&strong, &weak));
        let back = round_trip(&without);
        kept.push(same(&back));
        for (strong, weak) in kept {
            assert_eq!(read(&strong[0]), expected);
            for other in &strong {
                assert!(addresses(other) == addresses(&strong[0]));
            }
            for weak in weak {
                let target = $upgrade(&weak).expect("its target is held");
                assert!(addresses(&target) == addresses(&strong[0]));
            }
            assert!(addresses(&strong[0]) != addresses(&original.strong()[0]));
        }
    }};
}

fn round_trip<Q: SharedPointer + Persist>(object: &Q) -> Q {
    let mut manager = SaveManager::new();
    manager.add(object).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = || {
        let manager = SaveManager::new();
        manager.saves().register_pointer::<Q>().unwrap();
        manager
    };
    check_objects(&save, 0, manager);
    let loaded = manager().from_slice(&save).unwrap();
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    assert_eq!(loaded.len(), 2);
    loaded.first_pointer().unwrap()
}

/// The address of the target.
fn addresses(pointer: &dyn Any) -> usize {
    macro_rules! of {
        ($($ty:ty)*) => {$(
            if let Some(pointer) = pointer.downcast_ref::<Rc<$ty>>() {
                return Rc::as_ptr(pointer).cast::<()>().addr();
            }
            if let Some(pointer) = pointer.downcast_ref::<Arc<$ty>>() {
                return Arc::as_ptr(pointer).cast::<()>().addr();
            }
        )*};
    }
    of! {
        Hero String str [Hero] [u16] RefCell<Hero> Cell<u64> Mutex<Hero> RwLock<Hero> OnceCell<Hero>
        OnceLock<Hero> Vec<u8> () u8 Option<u8> [u8; 3] Box<Hero>
    }
    panic!("a pointer of another type")
}

macro_rules! both {
    ($($name:ident: $value:expr, $read:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn behind_rc() {
                check!(Few: Rc::new($value), Rc::downgrade, rc::Weak::upgrade, |it: &Rc<_>| $read(&**it));
            }

            #[test]
            #[allow(clippy::arc_with_non_send_sync, reason = "nothing forbids it")]
            fn behind_arc() {
                check!(Few: Arc::new($value), Arc::downgrade, sync::Weak::upgrade, |it: &Arc<_>| $read(&**it));
            }
        }
    )*};
}

both! {
    a_ref_cell: RefCell::new(ada()), |cell: &RefCell<Hero>| cell.borrow().clone();
    a_cell: Cell::new(7_u64), |cell: &Cell<u64>| cell.get();
    a_mutex: Mutex::new(ada()), |cell: &Mutex<Hero>| cell.lock().unwrap().clone();
    a_rw_lock: RwLock::new(ada()), |cell: &RwLock<Hero>| cell.read().unwrap().clone();
    a_once_cell: OnceCell::from(ada()), |cell: &OnceCell<Hero>| cell.get().cloned();
    an_empty_once_cell: OnceCell::new(), |cell: &OnceCell<Hero>| cell.get().cloned();
    a_once_lock: OnceLock::from(ada()), |cell: &OnceLock<Hero>| cell.get().cloned();
    a_struct: ada(), Hero::clone;
    a_text: String::from("Ada"), String::clone;
    a_list: vec![1_u8, 2], Vec::<u8>::clone;
    a_number: 7_u8, u8::clone;
    a_unit: (), <()>::clone;
    an_option: Some(3_u8), Option::<u8>::clone;
    an_array: [1_u8, 2, 3], <[u8; 3]>::clone;
    a_box: Box::new(ada()), Box::<Hero>::clone;
}

#[test]
fn all_places() {
    let in_cell = Rc::new(RefCell::new(ada()));
    check!(Places: in_cell, Rc::downgrade, rc::Weak::upgrade, |it: &Rc<RefCell<Hero>>| it
        .borrow()
        .clone());
    let locked = Arc::new(Mutex::new(ada()));
    check!(Places: locked, Arc::downgrade, sync::Weak::upgrade, |it: &Arc<Mutex<Hero>>| it
        .lock()
        .unwrap()
        .clone());
    check!(Places: Rc::new(ada()), Rc::downgrade, rc::Weak::upgrade, |it: &Rc<Hero>| (**it).clone());
    let name = Arc::<str>::from("Ada");
    check!(Places: name, Arc::downgrade, sync::Weak::upgrade, |it: &Arc<str>| it.to_string());
}

#[test]
fn a_shared_str() {
    check!(Few: Rc::<str>::from("Ada"), Rc::downgrade, rc::Weak::upgrade, |it: &Rc<str>| it.to_string());
    check!(Few: Arc::<str>::from(""), Arc::downgrade, sync::Weak::upgrade, |it: &Arc<str>| it
        .to_string());
}

#[test]
fn a_shared_slice() {
    let heroes = || Rc::<[Hero]>::from([ada(), ada()]);
    check!(Few: heroes(), Rc::downgrade, rc::Weak::upgrade, |it: &Rc<[Hero]>| it.to_vec());
    let numbers = || Arc::<[u16]>::from(vec![1, 2, 3]);
    check!(Few: numbers(), Arc::downgrade, sync::Weak::upgrade, |it: &Arc<[u16]>| it.to_vec());
    let none = || Rc::<[u16]>::from([]);
    check!(Few: none(), Rc::downgrade, rc::Weak::upgrade, |it: &Rc<[u16]>| it.to_vec());
}

#[derive(Persist)]
struct Weaks {
    plain: rc::Weak<Hero>,
    text: rc::Weak<str>,
    list: sync::Weak<[Hero]>,
    cell: rc::Weak<Cell<u8>>,
    lock: sync::Weak<RwLock<Hero>>,
    mutex: sync::Weak<Mutex<Hero>>,
    once: rc::Weak<OnceCell<Hero>>,
}

#[test]
fn a_weak_pointer_does_not_make_its_target_part_of_a_save() {
    let targets = (
        Rc::new(ada()),
        Rc::<str>::from("x"),
        Arc::<[Hero]>::from([ada()]),
        Rc::new(Cell::new(1_u8)),
        Arc::new(RwLock::new(ada())),
        Arc::new(Mutex::new(ada())),
        Rc::new(OnceCell::from(ada())),
    );
    let weaks = Weaks {
        plain: Rc::downgrade(&targets.0),
        text: Rc::downgrade(&targets.1),
        list: Arc::downgrade(&targets.2),
        cell: Rc::downgrade(&targets.3),
        lock: Arc::downgrade(&targets.4),
        mutex: Arc::downgrade(&targets.5),
        once: Rc::downgrade(&targets.6),
    };
    let gone = |weaks: &Weaks| {
        assert!(weaks.plain.upgrade().is_none() && weaks.text.upgrade().is_none());
        assert!(weaks.list.upgrade().is_none() && weaks.cell.upgrade().is_none());
        assert!(weaks.lock.upgrade().is_none() && weaks.mutex.upgrade().is_none());
        assert!(weaks.once.upgrade().is_none());
    };
    let saves = Saves::new();
    let save = saves.to_vec(&weaks).unwrap();
    let loaded = saves.from_slice::<Weaks>(&save).unwrap();
    gone(&loaded);
    assert_eq!(loaded.report().objects().count(), 0);
    let [finding] = loaded.report().rows() else { panic!("{}", loaded.report()) };
    assert_eq!((finding.event, finding.count), (LoadEvent::Dangling, 7));
    // Of what is gone already there is nothing to report.
    drop(targets);
    let save = saves.to_vec(&weaks).unwrap();
    let loaded = saves.from_slice::<Weaks>(&save).unwrap();
    gone(&loaded);
    assert!(loaded.report().is_clean());
}

#[test]
fn what_is_seen_as_an_array_and_as_a_slice_is_refused() {
    let array = Rc::new([1_u8, 2, 3]);
    let slice: Rc<[u8]> = array.clone();
    for save in [
        persist::to_vec(&(array.clone(), slice.clone())),
        persist::to_vec(&(slice.clone(), array.clone())),
    ] {
        let error = save.unwrap_err();
        assert_eq!(error.kind(), persist::ErrorKind::WrongClass);
        assert!(error.message().contains("is pointed at as two types"), "{error}");
    }
}

#[derive(Persist, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key(Rc<str>);

#[test]
fn a_pointer_without_a_cell_is_no_key_either() {
    let saves = Saves::new();
    let error = saves.register::<HashMap<Key, u8>>().unwrap_err();
    assert!(error.message().starts_with("Key holds a shared pointer and cannot be"), "{error}");
    let error = saves.register::<std::collections::BTreeSet<Rc<u8>>>().unwrap_err();
    assert!(error.message().starts_with("Rc<u8> holds a shared pointer"), "{error}");
}

#[test]
fn ids_do_not_depend_on_addresses() {
    let make = |order: &[usize]| {
        let mut made: Vec<Option<Rc<str>>> = vec![None; order.len()];
        for i in order {
            made[*i] = Some(Rc::from(format!("text {i}")));
        }
        let made: Vec<Rc<str>> = made.into_iter().flatten().collect();
        [&made[..], &made[..2]].concat()
    };
    let saves = [[0, 1, 2, 3], [3, 1, 0, 2]].map(|order| persist::to_vec(&make(&order)).unwrap());
    assert_eq!(saves[0], saves[1]);
}

fn assert_debug<T: Debug>(_: &T) {}

#[test]
fn objects_keep_their_ids_in_the_next_save() {
    let hero = Arc::new(Mutex::new(ada()));
    let text: Rc<str> = "kept".into();
    let mut manager = SaveManager::new();
    manager.add(&text).unwrap();
    manager.add(&hero).unwrap();
    let first = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&first).unwrap();
    assert_debug(&loaded);
    let text = loaded.first_pointer::<Rc<str>>().unwrap();
    assert_eq!(&*text, "kept");
    assert_eq!(loaded.to_vec().unwrap(), first);
}
