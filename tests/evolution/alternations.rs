//! Programs that take turns with one save, for many turns: each finds what the last one that knew a field wrote, and
//! what is kept does not pile up.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::rc::Rc;

use persist::codec::Pointee;
use persist::{Component, Loaded, Persist, SaveManager, Saves, World};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// One of the programs; all have a class `Case`.
trait Program: Component + Persist + Pointee + Default {
    /// Which of the values it knows.
    const KNOWN: &'static [usize];

    fn values(&mut self) -> Vec<&mut u32>;
}

/// Loads, checks what is there, writes other values, and saves.
type Turn = fn(Place, Option<&[u8]>, &mut [u32], u32) -> Vec<u8>;

#[derive(Clone, Copy, Debug)]
enum Place {
    Object,
    Value,
    Component,
    /// In a class that the program holds by value.
    Inside,
}

#[derive(Persist, Default)]
struct Holder<T> {
    case: T,
}

macro_rules! programs {
    ($($name:ident { $($value:literal: $(#[$meta:meta])* $field:ident),* $(; $room:ident)? })*) => {
        $(mod $name {
            #[derive(persist::Persist, Default)]
            pub(super) struct Case {
                $($(#[$meta])* #[persist(default)] $field: u32,)*
                $(#[persist(unknown)] $room: persist::Unknown,)?
            }

            impl persist::Component for Case {}

            impl super::Program for Case {
                const KNOWN: &'static [usize] = &[$($value),*];

                fn values(&mut self) -> Vec<&mut u32> {
                    vec![$(&mut self.$field),*]
                }
            }
        })*

        /// The turn of each, and whether it has room for what is unknown.
        const TURNS: &[(Turn, bool)] = &[$((turn::<$name::Case>, false $(|| !stringify!($room).is_empty())?)),*];
    };
}

// The first value has other names in each, and no number; the second has a number, and names that are exchanged with
// those of the first; the third has one name.
programs! {
    first { 0: #[persist(alias = "health", alias = "life")] hp, 1: #[persist(id = 2)] mana, 2: luck }
    second { 0: #[persist(alias = "life", alias = "hp")] health, 2: luck }
    third { 1: #[persist(id = 2)] mp, 0: #[persist(alias = "hp", alias = "health")] life }
    fourth { 2: luck }
    fifth { 1: #[persist(id = 2)] magic, 2: luck, 0: #[persist(alias = "life", alias = "health")] hp; rest }
    sixth { 0: #[persist(alias = "hp", alias = "life")] health; rest }
    seventh { 3: other; rest }
    eighth { 3: #[persist(id = 4)] other, 1: #[persist(id = 2)] mana; rest }
}

fn turn<T: Program>(place: Place, save: Option<&[u8]>, values: &mut [u32], next: u32) -> Vec<u8> {
    let saves = Saves::new();
    saves.register_component::<T>().unwrap();
    let mut act = |case: &mut T| {
        for (known, value) in T::KNOWN.iter().zip(case.values()) {
            assert_eq!(*value, values[*known], "value {known} of {place:?}");
            *value = next + u32::try_from(*known).unwrap();
            values[*known] = *value;
        }
    };
    match place {
        Place::Object => {
            saves.register::<T>().unwrap();
            let Some(save) = save else {
                let case = Rc::new(RefCell::new(T::default()));
                act(&mut case.borrow_mut());
                let mut manager = saves.manager();
                manager.add(&case).unwrap();
                return manager.to_vec().unwrap();
            };
            let loaded = saves.from_slice::<SaveManager>(save).unwrap();
            act(&mut loaded.first::<T>().unwrap().borrow_mut());
            loaded.to_vec().unwrap()
        }
        Place::Value => {
            let mut case = match save {
                None => Loaded::from(T::default()),
                Some(save) => saves.from_slice::<T>(save).unwrap(),
            };
            act(&mut case);
            saves.to_vec(&case).unwrap()
        }
        Place::Inside => {
            let mut holder = match save {
                None => Holder::default(),
                Some(save) => persist::from_slice::<Holder<T>>(save).unwrap(),
            };
            act(&mut holder.case);
            persist::to_vec(&holder).unwrap()
        }
        Place::Component => {
            let mut world = match save {
                None => {
                    let mut world = World::new();
                    let object = world.spawn("it");
                    world.attach(object, T::default()).unwrap();
                    Loaded::from(world)
                }
                Some(save) => saves.from_slice::<World>(save).unwrap(),
            };
            let object = world.find("it").unwrap();
            act(world.get_mut::<T>(object).unwrap());
            saves.to_vec(&world).unwrap()
        }
    }
}

fn take_turns(seed: u64) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let places = [Place::Object, Place::Value, Place::Component, Place::Inside];
    let place = *places.choose(&mut rng).unwrap();
    // Inside of another value only those with room keep anything, and a component is inside of its world.
    let is_inside = matches!(place, Place::Inside | Place::Component);
    let turns: Vec<Turn> = TURNS
        .iter()
        .filter(|(_, has_room)| *has_room || !is_inside)
        .map(|(turn, _)| *turn)
        .collect();
    let mut values = [0; 4];
    let mut save: Option<Vec<u8>> = None;
    for _ in 0..40 {
        let next = rng.gen_range(1..u32::MAX - 9);
        save = Some(turns.choose(&mut rng).unwrap()(place, save.as_deref(), &mut values, next));
        // The four values once each, with their names and classes, in a world or without.
        let length = save.as_ref().map_or(0, Vec::len);
        let most = if matches!(place, Place::Component) { 800 } else { 520 };
        assert!(length < most, "{length} bytes of {place:?}");
    }
}

#[test]
fn each_program_finds_what_the_last_one_that_knew_it_wrote() {
    let count = if std::env::var_os("PERSIST_LONG_TESTS").is_some() { 20_000 } else { 100 };
    (0..count).for_each(take_turns);
}
