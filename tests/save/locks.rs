//! Objects that are borrowed or locked while they are saved: a short lock is waited for, a
//! longer one is an error that names the object; nothing panics, and nothing waits for ever.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]
#![allow(clippy::arc_with_non_send_sync, reason = "nothing forbids it")]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use persist::save::SharedPointer;
use persist::{Error, ErrorKind, Limits, Persist, Result, Saves};

#[persist::dynamic]
trait Item: Send + Sync {}

#[derive(Persist, Default)]
struct Hero {
    level: u32,
}

impl Item for Hero {}

/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(40);

fn saves(wait: Duration) -> Saves {
    let saves = Saves::new().limits(Limits::new().lock_wait(wait));
    saves.register_as::<Hero, dyn Item>().unwrap();
    saves
}

/// Saves an object behind another one, as object 2.
fn save_as<Q: SharedPointer + Persist + Clone>(object: &Q, wait: Duration) -> Result<Vec<u8>> {
    let mut manager = saves(wait).manager();
    manager.add(&Rc::new(RefCell::new(vec![object.clone()])))?;
    manager.to_vec()
}

/// The error of a save of an object that stays locked.
fn refused<Q: SharedPointer + Persist + Clone>(object: &Q, class: &str) -> Error {
    let start = Instant::now();
    let error = save_as(object, SHORT).unwrap_err();
    assert!(start.elapsed() < LONG / 4);
    assert_eq!(error.kind(), ErrorKind::Borrowed, "{error}");
    assert_eq!((error.object(), error.class()), (Some(2), Some(class)), "{error}");
    error
}

#[test]
fn a_mutably_borrowed_object_is_an_error() {
    let rc = Rc::new(RefCell::new(Hero::default()));
    let arc = Arc::new(RefCell::new(Hero::default()));
    let (rc_guard, arc_guard) = (rc.borrow_mut(), arc.borrow_mut());
    for error in [refused(&rc, "Hero"), refused(&arc, "Hero")] {
        assert_eq!(error.message(), "a `RefCell` is mutably borrowed; end the borrow");
    }
    drop((rc_guard, arc_guard));
    let (_rc_guard, _arc_guard) = (rc.borrow(), arc.borrow());
    save_as(&rc, SHORT).unwrap();
    save_as(&arc, SHORT).unwrap();
}

#[test]
fn a_lock_of_the_saving_thread_itself_is_an_error() {
    let mutex = (Rc::new(Mutex::new(Hero::default())), Arc::new(Mutex::new(Hero::default())));
    let lock = (Rc::new(RwLock::new(Hero::default())), Arc::new(RwLock::new(Hero::default())));
    let guards = (mutex.0.lock().unwrap(), mutex.1.lock().unwrap());
    for error in [refused(&mutex.0, "Hero"), refused(&mutex.1, "Hero")] {
        assert!(error.message().starts_with("a `Mutex` stayed locked for 40 ms"), "{error}");
    }
    drop(guards);
    let guards = (lock.0.write().unwrap(), lock.1.write().unwrap());
    for error in [refused(&lock.0, "Hero"), refused(&lock.1, "Hero")] {
        assert!(error.message().starts_with("a `RwLock` stayed locked for 40 ms"), "{error}");
    }
    drop(guards);
    // Those who read do not mind one who reads.
    let _guards = (lock.0.read().unwrap(), lock.1.read().unwrap());
    save_as(&lock.0, SHORT).unwrap();
    save_as(&lock.1, SHORT).unwrap();
}

#[test]
fn a_trait_object_that_is_borrowed_or_locked_is_an_error() {
    let cell: Rc<RefCell<dyn Item>> = Rc::new(RefCell::new(Hero::default()));
    let mutex: Arc<Mutex<dyn Item>> = Arc::new(Mutex::new(Hero::default()));
    let lock: Arc<RwLock<dyn Item>> = Arc::new(RwLock::new(Hero::default()));
    let guards = (cell.borrow_mut(), mutex.lock().unwrap(), lock.write().unwrap());
    // Its class is not known: it is the cell that tells.
    let error = refused(&cell, "dyn Item");
    assert_eq!(error.message(), "a `RefCell` is mutably borrowed; end the borrow");
    let error = refused(&mutex, "dyn Item");
    assert!(error.message().starts_with("a `Mutex` stayed locked for 40 ms"), "{error}");
    let error = refused(&lock, "dyn Item");
    assert!(error.message().starts_with("a `RwLock` stayed locked for 40 ms"), "{error}");
    drop(guards);
    save_as(&cell, SHORT).unwrap();
    save_as(&mutex, SHORT).unwrap();
    save_as(&lock, SHORT).unwrap();
}

fn poison<G>(lock: impl FnOnce() -> G) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let _guard = lock();
        std::panic::resume_unwind(Box::new("on purpose"));
    }));
    assert!(result.is_err());
}

#[test]
fn a_poisoned_lock_is_an_error_until_it_is_cleared() {
    let mutex = Arc::new(Mutex::new(Hero::default()));
    let lock = Rc::new(RwLock::new(Hero::default()));
    let shared: Arc<Mutex<dyn Item>> = Arc::new(Mutex::new(Hero::default()));
    poison(|| mutex.lock().unwrap());
    poison(|| lock.write().unwrap());
    poison(|| shared.lock().unwrap());
    for error in [refused(&mutex, "Hero"), refused(&lock, "Hero"), refused(&shared, "dyn Item")] {
        assert!(error.message().contains("` is poisoned, a thread panicked while"), "{error}");
    }
    mutex.clear_poison();
    lock.clear_poison();
    shared.clear_poison();
    save_as(&mutex, SHORT).unwrap();
    save_as(&lock, SHORT).unwrap();
    save_as(&shared, SHORT).unwrap();
}

/// Saves an object which another thread keeps locked for a while.
fn is_waited_for<P: ?Sized + Send + Sync + 'static>(object: &Arc<P>, hold: fn(&P, &mut dyn FnMut()))
where
    Arc<P>: SharedPointer + Persist + Clone,
{
    let released = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = channel();
    let (other, is_released) = (object.clone(), released.clone());
    let holder = thread::spawn(move || {
        hold(&other, &mut || {
            sender.send(()).unwrap();
            thread::sleep(Duration::from_millis(120));
            is_released.store(true, Ordering::SeqCst);
        });
    });
    receiver.recv_timeout(LONG).unwrap();
    save_as(object, LONG).unwrap();
    assert!(released.load(Ordering::SeqCst));
    holder.join().unwrap();
}

#[test]
fn a_lock_that_is_released_in_time_is_waited_for() {
    is_waited_for(&Arc::new(Mutex::new(Hero::default())), |mutex, wait| {
        let _guard = mutex.lock().unwrap();
        wait();
    });
    is_waited_for(&Arc::new(RwLock::new(Hero::default())), |lock, wait| {
        let _guard = lock.write().unwrap();
        wait();
    });
}

#[test]
fn a_locked_trait_object_is_waited_for_too() {
    is_waited_for::<Mutex<dyn Item>>(
        &(Arc::new(Mutex::new(Hero::default())) as _),
        |mutex, wait| {
            let _guard = mutex.lock().unwrap();
            wait();
        },
    );
    is_waited_for::<RwLock<dyn Item>>(
        &(Arc::new(RwLock::new(Hero::default())) as _),
        |lock, wait| {
            let _guard = lock.write().unwrap();
            wait();
        },
    );
}

#[test]
fn a_lock_that_is_kept_is_given_up_after_the_time_of_the_limits() {
    let hero = Arc::new(Mutex::new(Hero::default()));
    let item: Arc<Mutex<dyn Item>> = hero.clone();
    let (sender, receiver) = channel();
    let (end, wait_for_end) = channel::<()>();
    let other = hero.clone();
    let holder = thread::spawn(move || {
        let _guard = other.lock().unwrap();
        sender.send(()).unwrap();
        let _ = wait_for_end.recv_timeout(LONG);
    });
    receiver.recv_timeout(LONG).unwrap();
    for wait in [Duration::ZERO, Duration::from_millis(10), Duration::from_millis(150)] {
        for as_item in [false, true] {
            let start = Instant::now();
            let result = if as_item { save_as(&item, wait) } else { save_as(&hero, wait) };
            let error = result.unwrap_err();
            assert!(start.elapsed() >= wait && start.elapsed() < LONG / 4);
            assert_eq!((error.kind(), error.object()), (ErrorKind::Borrowed, Some(2)));
            let time = format!("a `Mutex` stayed locked for {} ms", wait.as_millis());
            assert!(error.message().starts_with(&time), "{error}");
        }
    }
    end.send(()).unwrap();
    holder.join().unwrap();
    save_as(&item, LONG).unwrap();
}

/// Locks of its own, at several depths.
#[derive(Persist, Default)]
struct Town {
    name: String,
    mayor: Mutex<Hero>,
    streets: Vec<Street>,
}

#[derive(Persist, Default)]
struct Street {
    houses: RwLock<Vec<u32>>,
    plan: RefCell<Option<Hero>>,
    lamp: Box<Mutex<Option<u8>>>,
}

/// Locks each of them in turn, and saves.
fn each_lock(town: &Town, save: &dyn Fn() -> Error, check: &dyn Fn(&Error, &str)) {
    let guard = town.mayor.lock().unwrap();
    check(&save(), "mayor");
    drop(guard);
    let street = &town.streets[1];
    let guard = street.houses.write().unwrap();
    check(&save(), "streets");
    drop(guard);
    let guard = street.plan.borrow_mut();
    check(&save(), "streets");
    drop(guard);
    let guard = street.lamp.lock().unwrap();
    check(&save(), "streets");
    drop(guard);
    poison(|| town.mayor.lock().unwrap());
    check(&save(), "mayor");
    town.mayor.clear_poison();
}

fn town() -> Town {
    Town { streets: vec![Street::default(), Street::default()], ..Town::default() }
}

#[test]
fn a_lock_in_a_field_is_an_error_with_the_field() {
    let shared = Arc::new(town());
    each_lock(&shared, &|| refused(&shared, "Town"), &|error, field| {
        assert_eq!(error.field(), Some(field), "{error}");
    });
    save_as(&shared, SHORT).unwrap();
    let in_cell = Rc::new(RefCell::new(town()));
    each_lock(&in_cell.borrow(), &|| refused(&in_cell, "Town"), &|error, field| {
        assert_eq!(error.field(), Some(field), "{error}");
    });
    save_as(&in_cell, SHORT).unwrap();
}

#[test]
fn a_lock_in_a_value_of_its_own_is_an_error_with_the_field() {
    let value = town();
    let save = || saves(SHORT).to_vec(&value).unwrap_err();
    each_lock(&value, &save, &|error, field| {
        assert_eq!(error.kind(), ErrorKind::Borrowed);
        assert_eq!((error.class(), error.field()), (Some("Town"), Some(field)), "{error}");
    });
    saves(SHORT).to_vec(&value).unwrap();
}

#[derive(Persist, Default)]
#[persist(before_save = Tidy::tidy)]
struct Tidy {
    runs: u32,
}

impl Tidy {
    fn tidy(&mut self) {
        self.runs += 1;
    }
}

#[test]
fn a_hook_that_changes_an_object_needs_it_alone() {
    let lock = Arc::new(RwLock::new(Tidy::default()));
    let cell = Rc::new(RefCell::new(Tidy::default()));
    let guards = (lock.read().unwrap(), cell.borrow());
    let error = refused(&lock, "Tidy");
    assert!(error.message().starts_with("a `RwLock` stayed locked"), "{error}");
    let error = refused(&cell, "Tidy");
    assert_eq!(error.message(), "a `RefCell` is borrowed; end the borrow");
    drop(guards);
    save_as(&lock, SHORT).unwrap();
    assert_eq!(lock.read().unwrap().runs, 1);
}
