//! References to the parts of a value, saved as the value that owns them.

use std::cell::RefCell;

use persist::save::{SaveOutcome, SlotInfo};
use persist::{ErrorKind, Persist, Saves};

use super::{Counting, places, refused};

#[derive(Persist, Debug, PartialEq)]
#[persist(validate = Self::check)]
struct Purse {
    gold: i64,
}

impl Purse {
    fn check(&self) -> Result<(), String> {
        if self.gold < 0 { Err(format!("{} gold", self.gold)) } else { Ok(()) }
    }
}

#[derive(Persist, Debug, PartialEq)]
struct Game {
    name: String,
    days: Vec<u32>,
    purse: Purse,
    purses: Vec<Purse>,
}

#[derive(Persist)]
#[persist(save_as = Game)]
struct GameRef<'a> {
    name: &'a str,
    days: &'a [u32],
    purse: &'a Purse,
    purses: &'a [Purse],
}

impl Game {
    fn new(gold: i64, others: i64) -> Self {
        let purses = vec![Purse { gold: 1 }, Purse { gold: others }];
        Self { name: "Ada".into(), days: vec![1, 2, 3], purse: Purse { gold }, purses }
    }

    fn parts(&self) -> GameRef<'_> {
        GameRef { name: &self.name, days: &self.days, purse: &self.purse, purses: &self.purses }
    }
}

#[test]
fn parts_are_saved_everywhere_as_the_whole() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    for (name, place) in places(&saves, &storage) {
        let first = Game::new(5, 6);
        place.save(&first.parts()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(*place.load::<Game>().expect("the whole"), first, "{name}");
        let second = Game::new(7, 8);
        let place = place.info(SlotInfo::new("The Mill"));
        let saving = place.save_in_background(&second.parts()).expect("a snapshot");
        let outcome = saving.wait().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(outcome, SaveOutcome::Saved, "{name}");
        let loaded = place.load::<Game>().expect("the whole");
        assert_eq!(*loaded, second, "{name}");
        assert_eq!(loaded.info().title, "The Mill");
    }
    let whole = Game::new(5, 6);
    let save = saves.to_vec(&whole.parts()).expect("a save");
    assert_eq!(save, saves.to_vec(&whole).expect("a save"));
}

#[test]
fn parts_that_validate_refuses_are_not_saved() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    for (gold, others, field) in [(-5, 1, "purse"), (1, -5, "purses[1]")] {
        let game = Game::new(gold, others);
        let parts = game.parts();
        for error in refused(&saves, &storage, true, || &parts) {
            assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
            assert_eq!((error.class(), error.field()), (Some("Game"), Some(field)));
        }
    }
}

#[test]
fn parts_with_a_hook_inside_that_would_change_them_are_not_saved() {
    #[derive(Persist)]
    #[persist(before_save = Self::count)]
    struct Clock {
        saves: u32,
    }

    impl Clock {
        fn count(&mut self) {
            self.saves += 1;
        }
    }

    #[derive(Persist)]
    struct Room {
        clocks: Vec<Clock>,
    }

    #[derive(Persist)]
    #[persist(save_as = Room)]
    struct RoomRef<'a> {
        clocks: &'a [Clock],
    }

    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let clocks = [Clock { saves: 0 }];
    let parts = RoomRef { clocks: &clocks };
    for error in refused(&saves, &storage, true, || &parts) {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.message().starts_with("Room holds a class with a `before_save` hook"));
    }
}

#[test]
fn a_part_that_refuses_is_named() {
    #[derive(Persist)]
    struct Town {
        name: String,
        gold: RefCell<i64>,
    }

    #[derive(Persist)]
    struct World {
        day: u32,
        town: Town,
        towns: Vec<Town>,
    }

    #[derive(Persist)]
    #[persist(save_as = World)]
    struct WorldRef<'a> {
        day: u32,
        town: &'a Town,
        towns: &'a [Town],
    }

    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let town = Town { name: "Aachen".into(), gold: RefCell::new(5) };
    let towns = [Town { name: "Bonn".into(), gold: RefCell::new(6) }];
    let parts = WorldRef { day: 3, town: &town, towns: &towns };
    for (cell, field) in [(&town.gold, "town.gold"), (&towns[0].gold, "towns")] {
        let borrow = cell.borrow_mut();
        for error in refused(&saves, &storage, false, || &parts) {
            assert_eq!(error.kind(), ErrorKind::Borrowed, "{error}");
            assert_eq!((error.class(), error.field()), (Some("World"), Some(field)));
        }
        drop(borrow);
    }
    assert!(saves.to_vec(&parts).is_ok());
}

/// There is no whole to ask, so what is to be saved is loaded first.
#[test]
fn parts_of_a_whole_that_its_validate_refuses_are_not_saved() {
    #[derive(Persist, Debug)]
    #[persist(validate = Self::check)]
    struct Budget {
        gold: u32,
        spent: u32,
    }

    impl Budget {
        fn check(&self) -> Result<(), String> {
            if self.spent > self.gold {
                Err(format!("{} of {}", self.spent, self.gold))
            } else {
                Ok(())
            }
        }
    }

    #[derive(Persist)]
    #[persist(save_as = Budget)]
    struct BudgetRef<'a> {
        gold: &'a u32,
        spent: u32,
    }

    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let parts = BudgetRef { gold: &3, spent: 4 };
    for error in refused(&saves, &storage, true, || &parts) {
        assert_eq!((error.kind(), error.class()), (ErrorKind::Refused, Some("Budget")), "{error}");
    }
    let save = saves.to_vec(&BudgetRef { gold: &4, spent: 3 }).expect("a save");
    assert_eq!(saves.from_slice::<Budget>(&save).expect("the whole").gold, 4);
}
