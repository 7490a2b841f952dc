//! Graphs that are saved while other threads lock their objects: the saver locks one
//! object at a time, so that it cannot be part of a deadlock.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use persist::codec::{Decoder, Encoder, Fail, Prototypes, Stop};
use persist::reflect::Kind;
use persist::{Limits, Persist, SaveManager, Saves};

const LONG: Duration = Duration::from_secs(60);

fn manager() -> SaveManager {
    let saves = Saves::new().limits(Limits::new().lock_wait(LONG));
    saves.register_as::<Place, dyn Spot>().unwrap();
    saves.manager()
}

/// One of a ring, both ways around.
#[derive(Persist)]
struct Place {
    number: u32,
    visits: u32,
    next: Option<Arc<Mutex<Place>>>,
    back: Weak<Mutex<Place>>,
    spots: Vec<Arc<Mutex<dyn Spot>>>,
    shelter: Option<Arc<RwLock<dyn Spot>>>,
}

#[persist::dynamic]
trait Spot: Send + Sync {
    fn visit(&mut self);
}

impl Spot for Place {
    fn visit(&mut self) {
        self.visits += 1;
    }
}

fn place(number: u32) -> Place {
    Place { number, visits: 0, next: None, back: Weak::new(), spots: Vec::new(), shelter: None }
}

fn ring(length: u32) -> Vec<Arc<Mutex<Place>>> {
    let places: Vec<_> = (0..length).map(|number| Arc::new(Mutex::new(place(number)))).collect();
    let around = places.iter().skip(1).chain(&places[..1]);
    for (place, next) in places.iter().zip(around) {
        place.lock().unwrap().next = Some(next.clone());
        next.lock().unwrap().back = Arc::downgrade(place);
        // The same objects as trait objects.
        let spot: Arc<Mutex<dyn Spot>> = next.clone();
        place.lock().unwrap().spots.push(spot);
    }
    places
}

fn cut(places: &[Arc<Mutex<Place>>]) {
    for place in places {
        let mut place = place.lock().unwrap();
        place.next = None;
        place.spots.clear();
    }
}

/// Runs until it is told to stop, and says how often. It returns after the first round.
fn meanwhile(
    is_over: &Arc<AtomicBool>,
    mut run: impl FnMut() + Send + 'static,
) -> thread::JoinHandle<u32> {
    let is_over = is_over.clone();
    let (begun, first_round) = mpsc::channel();
    let thread = thread::spawn(move || {
        let mut rounds = 0;
        while !is_over.load(Ordering::Relaxed) {
            run();
            rounds += 1;
            let _ = begun.send(());
            thread::yield_now();
        }
        rounds
    });
    first_round.recv().unwrap();
    thread
}

#[test]
fn a_ring_is_saved_while_others_lock_its_objects_in_both_orders() {
    let places = ring(12);
    let is_over = Arc::new(AtomicBool::new(false));
    // One thread holds an object while it waits for the next, to and fro. A saver that
    // held one while it waits for another would meet it.
    let held = places.clone();
    let pairs = meanwhile(&is_over, move || {
        for pair in held.windows(2).chain(held.windows(2).rev()) {
            let mut first = pair[0].lock().unwrap();
            pair[1].lock().unwrap().visits += 1;
            first.visits += 1;
        }
        for pair in held.windows(2).rev() {
            let mut last = pair[1].lock().unwrap();
            pair[0].lock().unwrap().visits += 1;
            last.visits += 1;
        }
    });
    // Another locks single ones, as trait objects, backwards.
    let single = places.clone();
    let singles = meanwhile(&is_over, move || {
        for place in single.iter().rev() {
            let spots = place.lock().unwrap().spots.clone();
            spots.iter().for_each(|spot| spot.lock().unwrap().visit());
        }
    });
    let mut manager = manager();
    manager.add(&places[3]).unwrap();
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < 200 && (rounds < 20 || start.elapsed() < Duration::from_secs(2)) {
        let save = manager.to_vec().unwrap();
        let loaded = manager.from_slice(&save).unwrap();
        assert_eq!(loaded.len(), places.len());
        let first = loaded.first_pointer::<Arc<Mutex<Place>>>().unwrap();
        assert_eq!(first.lock().unwrap().number, 3);
        let next = first.lock().unwrap().next.clone().unwrap();
        assert!(Arc::ptr_eq(&next.lock().unwrap().back.upgrade().unwrap(), &first));
        loaded.dismantle();
        rounds += 1;
    }
    assert!(start.elapsed() < LONG);
    is_over.store(true, Ordering::Relaxed);
    assert!(pairs.join().unwrap() > 0 && singles.join().unwrap() > 0);
    cut(&places);
}

thread_local! {
    static MOST_LOCKED: AtomicU32 = const { AtomicU32::new(0) };
}

/// Counts, when it is saved, how many of these are locked.
#[derive(Default)]
struct Probe(Vec<Weak<Mutex<Watched>>>);

impl Persist for Probe {
    fn persist_kind() -> Kind {
        Kind::Unit
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self::default())
    }

    fn persist_encode(&self, _: &mut Encoder<'_>) -> Result<(), Stop> {
        let targets = self.0.iter().filter_map(Weak::upgrade);
        let locked = targets.filter(|target| target.try_lock().is_err()).count();
        MOST_LOCKED.with(|most| most.fetch_max(u32::try_from(locked).unwrap(), Ordering::Relaxed));
        Ok(())
    }

    fn persist_decode(_: &mut Decoder<'_>) -> Result<Self, Fail> {
        Ok(Self::default())
    }
}

#[derive(Persist)]
struct Watched {
    next: Option<Arc<Mutex<Watched>>>,
    probe: Probe,
    also: Vec<Arc<Mutex<Watched>>>,
}

#[test]
fn one_object_is_locked_at_a_time() {
    let watched = || Watched { next: None, probe: Probe::default(), also: Vec::new() };
    let all: Vec<_> = (0..10).map(|_| Arc::new(Mutex::new(watched()))).collect();
    for (i, one) in all.iter().enumerate() {
        let mut one = one.lock().unwrap();
        one.next = Some(all[(i + 1) % all.len()].clone());
        one.probe = Probe(all.iter().map(Arc::downgrade).collect());
        one.also = all.clone();
    }
    let mut manager = manager();
    manager.add(&all[0]).unwrap();
    let save = manager.to_vec().unwrap();
    // The one that is being written.
    assert_eq!(MOST_LOCKED.with(|most| most.load(Ordering::Relaxed)), 1);
    let loaded = manager.from_slice(&save).unwrap();
    assert_eq!(loaded.len(), 10);
    loaded.dismantle();
    for one in &all {
        let mut one = one.lock().unwrap();
        one.next = None;
        one.also.clear();
    }
}

#[test]
fn trait_objects_are_saved_while_others_lock_them() {
    let town = Arc::new(Mutex::new(place(0)));
    let shelter: Arc<RwLock<dyn Spot>> = Arc::new(RwLock::new(place(1)));
    let spots: Vec<Arc<Mutex<dyn Spot>>> =
        (2..8).map(|number| Arc::new(Mutex::new(place(number))) as _).collect();
    town.lock().unwrap().shelter = Some(shelter.clone());
    town.lock().unwrap().spots = spots.iter().chain(spots.iter().rev()).cloned().collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = [false, true]
        .map(|backwards| {
            let (mut spots, shelter) = (spots.clone(), shelter.clone());
            if backwards {
                spots.reverse();
            }
            meanwhile(&is_over, move || {
                spots.iter().for_each(|spot| spot.lock().unwrap().visit());
                shelter.write().unwrap().visit();
            })
        })
        .into();
    let mut manager = manager();
    manager.add(&town).unwrap();
    for _ in 0..50 {
        let save = manager.to_vec().unwrap();
        let loaded = manager.from_slice(&save).unwrap();
        assert_eq!(loaded.len(), 8);
        let town = loaded.first_pointer::<Arc<Mutex<Place>>>().unwrap();
        let town = town.lock().unwrap();
        assert!(Arc::ptr_eq(&town.spots[0], &town.spots[11]));
    }
    is_over.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() > 0));
}

#[test]
fn what_is_locked_when_a_graph_is_taken_apart_stays_as_it_is() {
    let mut manager = manager();
    let places = ring(4);
    manager.add(&places[0]).unwrap();
    let save = manager.to_vec().unwrap();
    cut(&places);
    let loaded = manager.from_slice(&save).unwrap();
    let first = loaded.first_pointer::<Arc<Mutex<Place>>>().unwrap();
    let guard = first.lock().unwrap();
    let start = Instant::now();
    loaded.dismantle();
    assert!(start.elapsed() < LONG);
    // What is behind it was emptied.
    let next = guard.next.as_ref().unwrap();
    assert!(next.lock().unwrap().next.is_none());
    assert_eq!(guard.number, 0);
}
