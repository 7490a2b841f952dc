//! A world of many classes behind one trait, tied to each other through it by every
//! sort of pointer; and the hooks of classes behind a trait.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]
#![allow(clippy::arc_with_non_send_sync, reason = "such pointers are saved, too")]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::{Rc, Weak};
use std::sync::{self, Arc, Mutex, RwLock};

use persist::{ErrorKind, Loaded, Persist, SaveManager};
use persist_tests::support::{Shared, shared};

#[persist::dynamic]
trait Beast {
    fn id(&self) -> u32;
    fn sort(&self) -> &'static str;
    fn ties(&self) -> &Ties;
    fn ties_mut(&mut self) -> &mut Ties;
    fn young(&self) -> Option<&dyn Beast>;
}

/// Pointers of every sort to beasts of any class.
#[derive(Persist, Clone, Default)]
struct Ties {
    cells: Vec<Shared<dyn Beast>>,
    mutexes: Vec<Arc<Mutex<dyn Beast>>>,
    locks: Vec<Arc<RwLock<dyn Beast>>>,
    bare: Vec<Rc<dyn Beast>>,
    weak_cells: Vec<Weak<RefCell<dyn Beast>>>,
    weak_mutexes: Vec<sync::Weak<Mutex<dyn Beast>>>,
    weak_locks: Vec<sync::Weak<RwLock<dyn Beast>>>,
    weak_bare: Vec<Option<Weak<dyn Beast>>>,
}

macro_rules! beasts {
    ($($name:ident { $($field:ident: $ty:ty = $value:expr),* })*) => {
        $(
            #[derive(Persist)]
            struct $name {
                $($field: $ty,)*
                young: Option<Box<dyn Beast>>,
                id: u32,
                ties: Ties,
            }

            impl $name {
                fn new(id: u32) -> Self {
                    Self { $($field: $value,)* young: None, id, ties: Ties::default() }
                }
            }

            impl Beast for $name {
                fn id(&self) -> u32 {
                    $(let $field: $ty = $value;)*
                    $(assert_eq!(self.$field, $field);)*
                    self.id
                }

                fn sort(&self) -> &'static str {
                    stringify!($name)
                }

                fn ties(&self) -> &Ties {
                    &self.ties
                }

                fn ties_mut(&mut self) -> &mut Ties {
                    &mut self.ties
                }

                fn young(&self) -> Option<&dyn Beast> {
                    self.young.as_deref()
                }
            }
        )*

        const SORTS: &[&str] = &[$(stringify!($name)),*];

        fn register(manager: &mut SaveManager) {
            $(manager.register_as::<$name, dyn Beast>().unwrap();)*
        }

        /// A beast in each sort of pointer, its class chosen by its number.
        fn cell(id: u32) -> Shared<dyn Beast> {
            let makers: &[fn(u32) -> Shared<dyn Beast>] =
                &[$(|id| shared($name { young: Some(Box::new($name::new(id + 1000))), ..$name::new(id) })),*];
            makers[id as usize % SORTS.len()](id)
        }

        fn mutex(id: u32) -> Arc<Mutex<dyn Beast>> {
            let makers: &[fn(u32) -> Arc<Mutex<dyn Beast>>] =
                &[$(|id| Arc::new(Mutex::new($name::new(id)))),*];
            makers[id as usize % SORTS.len()](id)
        }

        fn lock(id: u32) -> Arc<RwLock<dyn Beast>> {
            let makers: &[fn(u32) -> Arc<RwLock<dyn Beast>>] =
                &[$(|id| Arc::new(RwLock::new($name::new(id)))),*];
            makers[id as usize % SORTS.len()](id)
        }

        fn bare(id: u32, ties: Ties) -> Rc<dyn Beast> {
            let makers: &[fn(u32, Ties) -> Rc<dyn Beast>] =
                &[$(|id, ties| Rc::new($name { ties, ..$name::new(id) })),*];
            makers[id as usize % SORTS.len()](id, ties)
        }
    };
}

beasts! {
    Ant {}
    Bat { wings: u8 = 2 }
    Cat { name: String = "Tom".into(), lives: u8 = 9 }
    Dog { tricks: Vec<String> = vec!["sit".into(), "roll".into()] }
    Eel { volts: f64 = 0.5 }
    Fox { den: Option<(i32, i32)> = Some((-3, 4)) }
    Gnu { horns: [u16; 2] = [30, 31] }
    Hen { eggs: BTreeMap<u8, bool> = BTreeMap::from([(1, true), (2, false)]) }
    Imp { tail: Box<Option<char>> = Box::new(Some('x')), odd: bool = true }
    Jay { song: Rc<str> = "chirp".into() }
    Kid { owner: Shared<u64> = shared(1 << 40) }
    Lynx { steps: u128 = 1 << 100 }
}

const EACH: usize = 36;

/// All beasts, by pointer.
struct World {
    cells: Vec<Shared<dyn Beast>>,
    mutexes: Vec<Arc<Mutex<dyn Beast>>>,
    locks: Vec<Arc<RwLock<dyn Beast>>>,
    bare: Vec<Rc<dyn Beast>>,
}

fn world() -> World {
    let ids = |from: usize| (from..from + EACH).map(|id| u32::try_from(id).unwrap());
    let mut world = World {
        cells: ids(0).map(cell).collect(),
        mutexes: ids(EACH).map(mutex).collect(),
        locks: ids(2 * EACH).map(lock).collect(),
        bare: Vec::new(),
    };
    for id in ids(3 * EACH) {
        // They hold those that were made before, and beasts in cells hold them.
        let ties = ties(&world, id as usize);
        world.bare.push(bare(id, ties));
    }
    for at in 0..EACH {
        *world.cells[at].borrow_mut().ties_mut() = ties(&world, at);
        *world.mutexes[at].lock().unwrap().ties_mut() = ties(&world, at * 5 + 1);
        *world.locks[at].write().unwrap().ties_mut() = ties(&world, at * 11 + 2);
    }
    world
}

fn ties(world: &World, seed: usize) -> Ties {
    let at = |step: usize| (seed * step + 1) % EACH;
    let bare = (!world.bare.is_empty()).then(|| world.bare[at(13) % world.bare.len()].clone());
    Ties {
        cells: vec![world.cells[at(1)].clone(), world.cells[at(7)].clone()],
        mutexes: vec![world.mutexes[at(3)].clone()],
        locks: vec![world.locks[at(5)].clone(), world.locks[at(5)].clone()],
        bare: bare.iter().cloned().collect(),
        weak_cells: vec![Rc::downgrade(&world.cells[at(17)])],
        weak_mutexes: vec![Arc::downgrade(&world.mutexes[at(19)])],
        weak_locks: vec![Arc::downgrade(&world.locks[at(23)])],
        weak_bare: vec![bare.as_ref().map(Rc::downgrade), None],
    }
}

/// What a beast is and whom it is tied to; each object is found at one address only.
fn describe(beast: &dyn Beast, text: &mut String) -> Ties {
    let young = beast.young().map_or(0, Beast::id);
    *text = format!("{} {} {young}:", beast.sort(), beast.id());
    beast.ties().clone()
}

fn lines(world: &World) -> Vec<String> {
    let mut found: HashMap<u32, usize> = HashMap::new();
    let mut lines = Vec::new();
    let mut add = |look: &dyn Fn(&mut String) -> Ties| {
        let mut text = String::new();
        // The beast is not borrowed any more when those that it is tied to are.
        let ties = look(&mut text);
        let mut see = |tie: &str, id: u32, address: usize| {
            assert_eq!(*found.entry(id).or_insert(address), address, "{tie} {id}");
            text += &format!(" {tie}{id}");
        };
        let weak = ties.weak_cells.iter().map(|weak| weak.upgrade().unwrap());
        for cell in ties.cells.iter().cloned().chain(weak) {
            see("c", cell.borrow().id(), Rc::as_ptr(&cell).cast::<()>().addr());
        }
        let weak = ties.weak_mutexes.iter().map(|weak| weak.upgrade().unwrap());
        for mutex in ties.mutexes.iter().cloned().chain(weak) {
            see("m", mutex.lock().unwrap().id(), Arc::as_ptr(&mutex).cast::<()>().addr());
        }
        let weak = ties.weak_locks.iter().map(|weak| weak.upgrade().unwrap());
        for lock in ties.locks.iter().cloned().chain(weak) {
            see("l", lock.read().unwrap().id(), Arc::as_ptr(&lock).cast::<()>().addr());
        }
        let weak = ties.weak_bare.iter().flatten().map(|weak| weak.upgrade().unwrap());
        for bare in ties.bare.iter().cloned().chain(weak) {
            see("b", bare.id(), Rc::as_ptr(&bare).cast::<()>().addr());
        }
        lines.push(text);
    };
    world.cells.iter().for_each(|beast| add(&|text| describe(&*beast.borrow(), text)));
    world.mutexes.iter().for_each(|beast| add(&|text| describe(&*beast.lock().unwrap(), text)));
    world.locks.iter().for_each(|beast| add(&|text| describe(&*beast.read().unwrap(), text)));
    world.bare.iter().for_each(|beast| add(&|text| describe(&**beast, text)));
    lines.sort();
    lines
}

fn loaded_world(loaded: &Loaded<SaveManager>) -> World {
    World {
        cells: loaded.pointers().collect(),
        mutexes: loaded.pointers().collect(),
        locks: loaded.pointers().collect(),
        bare: loaded.pointers().collect(),
    }
}

fn cut(world: &World) {
    world.cells.iter().for_each(|beast| *beast.borrow_mut().ties_mut() = Ties::default());
    world.mutexes.iter().for_each(|beast| *beast.lock().unwrap().ties_mut() = Ties::default());
    world.locks.iter().for_each(|beast| *beast.write().unwrap().ties_mut() = Ties::default());
}

#[test]
fn twelve_classes_tied_in_circles_by_all_pointers_come_back() {
    assert_eq!(SORTS.len(), 12);
    let world = world();
    let mut manager = SaveManager::new();
    // The pointers may be known before the classes or after.
    manager.add(&world.cells[0]).unwrap();
    register(&mut manager);
    manager.add(&world.bare[EACH - 1]).unwrap();
    for at in 0..EACH {
        // Some are held by weak pointers alone.
        manager.add(&world.cells[at]).unwrap();
        manager.add(&world.mutexes[at]).unwrap();
        manager.add(&world.locks[at]).unwrap();
        manager.add(&world.bare[at]).unwrap();
    }
    let save = manager.to_vec().unwrap();

    let mut manager = SaveManager::new();
    register(&mut manager);
    manager.saves().register_pointer::<Shared<dyn Beast>>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    let again = loaded_world(&loaded);
    assert_eq!(again.cells.len() + again.mutexes.len() + again.locks.len(), 3 * EACH);
    let expected = lines(&world);
    assert_eq!(expected.len(), 4 * EACH);
    assert_eq!(lines(&again), expected);
    let counts: BTreeMap<_, _> = loaded.report().objects().collect();
    assert!(SORTS.iter().all(|sort| counts[sort] == 4 * EACH as u64 / 12), "{counts:?}");

    cut(&world);
    drop(again);
    let alive = loaded.pointers::<Shared<dyn Beast>>().map(|beast| Rc::downgrade(&beast));
    let alive: Vec<_> = alive.collect();
    loaded.dismantle();
    assert!(alive.iter().all(|beast| beast.upgrade().is_none()));
}

thread_local! {
    /// What hooks have done in this thread.
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// The id that is refused.
    static UNLUCKY: Cell<u32> = const { Cell::new(13) };
}

fn log(line: String) {
    LOG.with_borrow_mut(|log| log.push(line));
}

/// What hooks have done, in the order of the ids.
fn logged(what: &str) -> Vec<String> {
    let mut log = LOG.take();
    log.retain(|line| line.starts_with(what));
    log.sort();
    log
}

#[persist::dynamic]
trait Agent {
    fn id(&self) -> u32;
}

#[derive(Persist)]
#[persist(before_save = Spy::hide, validate = Spy::check, after_load = Spy::wake)]
struct Spy {
    id: u32,
    aide: Option<Box<dyn Agent>>,
}

impl Spy {
    fn new(id: u32) -> Self {
        Self { id, aide: None }
    }

    fn hide(&mut self) {
        log(format!("hide {}", self.id));
    }

    fn check(&self) -> Result<(), String> {
        log(format!("check {}", self.id));
        if self.id == UNLUCKY.get() { Err("it is unlucky".into()) } else { Ok(()) }
    }

    fn wake(&mut self) {
        log(format!("wake {}", self.id));
    }
}

impl Agent for Spy {
    fn id(&self) -> u32 {
        self.id
    }
}

type Squad = (Vec<Box<dyn Agent>>, Vec<Shared<dyn Agent>>, Shared<Spy>, Arc<Mutex<dyn Agent>>);

fn squad(first: u32) -> SaveManager {
    let mut manager = SaveManager::new();
    manager.register_as::<Spy, dyn Agent>().unwrap();
    let one = shared(Spy { id: 3, aide: Some(Box::new(Spy::new(4))) });
    let boxed: Vec<Box<dyn Agent>> =
        vec![Box::new(Spy { id: first, aide: Some(Box::new(Spy::new(2))) })];
    let squad: Squad =
        (boxed, vec![one.clone(), one.clone()], one, Arc::new(Mutex::new(Spy::new(5))));
    manager.add(&shared(squad)).unwrap();
    manager
}

#[test]
fn hooks_behind_a_trait_run_once_for_each_value() {
    let save = squad(1).to_vec().unwrap();
    let log = LOG.with_borrow(Clone::clone);
    assert_eq!(log.len(), 10, "{log:?}");
    for id in 1..=5 {
        let place = |what| log.iter().position(|line| *line == format!("{what} {id}")).unwrap();
        assert!(place("hide") < place("check"), "what is saved is checked: {log:?}");
    }
    LOG.take();
    let loaded = squad(1).from_slice(&save).unwrap();
    let log = LOG.with_borrow(Clone::clone);
    assert_eq!(logged("check"), ["check 1", "check 2", "check 3", "check 4", "check 5"]);
    // Inner ones first, and none before all are checked.
    assert!(log[..5].iter().all(|line| line.starts_with("check")), "{log:?}");
    assert_eq!(log[5..], ["wake 2", "wake 1", "wake 4", "wake 3", "wake 5"]);
    let ids: Vec<u32> =
        loaded.pointers::<Shared<dyn Agent>>().map(|agent| agent.borrow().id()).collect();
    assert_eq!(ids, [3]);
}

#[test]
fn a_refusal_behind_a_trait_says_where() {
    UNLUCKY.set(0);
    let save = squad(13).to_vec().unwrap();
    UNLUCKY.set(13);
    for refused in [squad(1).from_slice(&save).map(drop), squad(13).to_vec().map(drop)] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(error.message(), "`validate` of Spy refused: it is unlucky");
        assert_eq!(error.object(), Some(1));
    }
}

#[test]
fn before_save_behind_a_pointer_without_a_cell_is_refused_with_advice() {
    let mut manager = squad(1);
    manager.add(&(Rc::new(Spy::new(6)) as Rc<dyn Agent>)).unwrap();
    let error = manager.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().starts_with("`before_save` of Spy needs `&mut`"), "{error}");
}
