//! Unknown fields of structs that lie inside of values and objects.
//!
//! The model: a program without some fields changes those that it has, under the names that it has for them. The next
//! program finds each value where it was, and each unknown field that it had, unless the program removed the value.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use persist::save::LoadEvent;
use persist::{Loaded, Persist, SaveManager, Saves};

/// The game with all mods.
mod full {
    use super::*;

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "Rune")]
    pub(super) struct Rune {
        pub(super) power: u8,
        #[persist(default)]
        pub(super) glow: String,
    }

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "Hero")]
    pub(super) struct Hero {
        pub(super) name: String,
        #[persist(default)]
        pub(super) mana: u32,
        pub(super) rune: Rune,
        pub(super) second: Option<Box<Rune>>,
    }

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "Game")]
    pub(super) struct Game {
        pub(super) day: u32,
        pub(super) weather: String,
        pub(super) hero: Hero,
        pub(super) guest: Option<Hero>,
        pub(super) party: BTreeMap<String, Hero>,
        pub(super) by_place: HashMap<(i32, i32), Hero>,
        pub(super) pair: (u8, Rune),
        pub(super) state: State,
        pub(super) list: Vec<Rune>,
    }

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "State")]
    pub(super) enum State {
        #[default]
        Idle,
        Casting {
            rune: Rune,
        },
        Resting {
            rune: Rune,
        },
    }
}

/// The game without mods.
mod plain {
    use super::*;

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "Rune")]
    pub(super) struct Rune {
        pub(super) power: u8,
    }

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "Hero")]
    pub(super) struct Hero {
        pub(super) name: String,
        pub(super) rune: Rune,
        pub(super) second: Option<Box<Rune>>,
    }

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "Game")]
    pub(super) struct Game {
        pub(super) day: u32,
        pub(super) hero: Hero,
        pub(super) guest: Option<Hero>,
        pub(super) party: BTreeMap<String, Hero>,
        pub(super) by_place: HashMap<(i32, i32), Hero>,
        pub(super) pair: (u8, Rune),
        pub(super) state: State,
        pub(super) list: Vec<Rune>,
    }

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "State")]
    pub(super) enum State {
        #[default]
        Idle,
        Casting {
            rune: Rune,
        },
        Resting {
            rune: Rune,
        },
    }
}

/// A later version of the game without mods: fields have other names, another order, and other kinds of keys.
mod later {
    use super::*;

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "Rune")]
    pub(super) struct Rune {
        #[persist(alias = "power")]
        pub(super) force: u16,
    }

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "Hero")]
    pub(super) struct Hero {
        pub(super) rune: Rune,
        #[persist(alias = "second")]
        pub(super) other: Option<Box<Rune>>,
        pub(super) name: String,
    }

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "Game")]
    pub(super) struct Game {
        pub(super) party: BTreeMap<String, Hero>,
        pub(super) by_place: HashMap<(i64, i64), Hero>,
        #[persist(alias = "hero")]
        pub(super) leader: Hero,
        pub(super) guest: Option<Hero>,
        pub(super) pair: (u32, Rune),
        pub(super) state: State,
        pub(super) list: Vec<Rune>,
        pub(super) day: u32,
    }

    #[derive(Persist, Debug, Clone, PartialEq, Default)]
    #[persist(class = "State")]
    pub(super) enum State {
        #[default]
        Idle,
        #[persist(alias = "Casting")]
        Spell {
            rune: Rune,
        },
        Resting {
            rune: Rune,
        },
    }
}

fn rune(power: u8, glow: &str) -> full::Rune {
    full::Rune { power, glow: glow.into() }
}

fn hero(name: &str, mana: u32) -> full::Hero {
    full::Hero {
        name: name.into(),
        mana,
        rune: rune(1, name),
        second: Some(Box::new(rune(2, "second"))),
    }
}

fn game() -> full::Game {
    full::Game {
        day: 3,
        weather: "rain".into(),
        hero: hero("Ada", 7),
        guest: Some(hero("Bob", 8)),
        party: [("c".into(), hero("Cleo", 9)), ("d".into(), hero("Dan", 10))].into(),
        by_place: [((1, -2), hero("Eve", 11)), ((3, 4), hero("Fay", 12))].into(),
        pair: (5, rune(6, "pair")),
        state: full::State::Casting { rune: rune(7, "cast") },
        list: vec![rune(8, "lost"), rune(9, "lost too")],
    }
}

/// What a program without fields for it cannot keep: the elements of a list.
fn without_list(mut game: full::Game) -> full::Game {
    game.list.iter_mut().for_each(|rune| rune.glow.clear());
    game
}

#[test]
fn unknown_fields_of_structs_in_a_value_come_back() {
    let saves = Saves::new();
    let save = persist::to_vec(&game()).unwrap();
    let mut loaded: Loaded<plain::Game> = saves.from_slice(&save).unwrap();
    loaded.day = 4;
    loaded.hero.name.push('!');
    loaded.hero.rune.power = 100;
    let save = saves.to_vec(&loaded).unwrap();

    let mut expected = without_list(game());
    expected.day = 4;
    expected.hero.name.push('!');
    expected.hero.rune.power = 100;
    assert_eq!(persist::from_slice::<full::Game>(&save).unwrap(), expected);
}

#[test]
fn they_come_back_through_any_number_of_programs_that_lack_them() {
    let saves = Saves::new();
    let mut save = persist::to_vec(&game()).unwrap();
    for round in 0..3 {
        let loaded: Loaded<plain::Game> = saves.from_slice(&save).unwrap();
        let again = saves.to_vec(&loaded).unwrap();
        assert!(round == 0 || again == save, "round {round}");
        save = again;
    }
    assert_eq!(persist::from_slice::<full::Game>(&save).unwrap(), without_list(game()));
}

#[test]
fn they_follow_renamed_fields_and_converted_keys() {
    let saves = Saves::new();
    let save = persist::to_vec(&game()).unwrap();
    let loaded: Loaded<plain::Game> = saves.from_slice(&save).unwrap();
    let save = saves.to_vec(&loaded).unwrap();
    let saves = Saves::new();
    let loaded: Loaded<later::Game> = saves.from_slice(&save).unwrap();
    assert_eq!(loaded.leader.name, "Ada");
    let save = saves.to_vec(&loaded).unwrap();

    /// The later game with the mods.
    mod modded {
        use super::*;

        #[derive(Persist, Debug, PartialEq)]
        #[persist(class = "Rune")]
        pub(super) struct Rune {
            pub(super) force: u16,
            #[persist(default)]
            pub(super) glow: String,
        }

        #[derive(Persist, Debug, PartialEq)]
        #[persist(class = "Hero")]
        pub(super) struct Hero {
            pub(super) rune: Rune,
            pub(super) other: Option<Box<Rune>>,
            pub(super) name: String,
            #[persist(default)]
            pub(super) mana: u32,
        }

        #[derive(Persist, Debug, PartialEq)]
        #[persist(class = "Game")]
        pub(super) struct Game {
            pub(super) party: BTreeMap<String, Hero>,
            pub(super) by_place: HashMap<(i64, i64), Hero>,
            pub(super) leader: Hero,
            pub(super) guest: Option<Hero>,
            pub(super) pair: (u32, Rune),
            pub(super) state: State,
            #[persist(default)]
            pub(super) weather: String,
        }

        #[derive(Persist, Debug, PartialEq)]
        #[persist(class = "State")]
        pub(super) enum State {
            Idle,
            Spell { rune: Rune },
            Resting { rune: Rune },
        }
    }

    let game: modded::Game = persist::from_slice(&save).unwrap();
    let glows = |hero: &modded::Hero| {
        (hero.mana, hero.rune.glow.clone(), hero.other.as_ref().unwrap().glow.clone())
    };
    let expected = |name: &str, mana: u32| (mana, name.to_owned(), "second".to_owned());
    assert_eq!(glows(&game.leader), expected("Ada", 7));
    assert_eq!(glows(game.guest.as_ref().unwrap()), expected("Bob", 8));
    assert_eq!(glows(&game.party["c"]), expected("Cleo", 9));
    assert_eq!(glows(&game.party["d"]), expected("Dan", 10));
    assert_eq!(glows(&game.by_place[&(1, -2)]), expected("Eve", 11));
    assert_eq!(glows(&game.by_place[&(3, 4)]), expected("Fay", 12));
    assert_eq!((game.pair.1.glow.as_str(), game.weather.as_str()), ("pair", "rain"));
    let modded::State::Spell { rune } = &game.state else { panic!("{:?}", game.state) };
    assert_eq!((rune.force, rune.glow.as_str()), (7, "cast"));
}

#[test]
fn they_go_with_the_value_that_is_removed() {
    let saves = Saves::new();
    let save = persist::to_vec(&game()).unwrap();
    let mut loaded: Loaded<plain::Game> = saves.from_slice(&save).unwrap();
    loaded.guest = None;
    loaded.party.remove("c");
    loaded.party.insert("e".into(), plain::Hero::default());
    loaded.state = plain::State::Resting { rune: plain::Rune { power: 1 } };
    let save = saves.to_vec(&loaded).unwrap();

    // A program that has the fields, and one that does not, load the save.
    let loaded: Loaded<plain::Game> = saves.from_slice(&save).unwrap();
    for save in [&save, &saves.to_vec(&loaded).unwrap()] {
        let game: full::Game = persist::from_slice(save).unwrap();
        assert_eq!(game.guest, None);
        assert_eq!(game.party.keys().collect::<Vec<_>>(), ["d", "e"]);
        assert_eq!((game.party["d"].mana, game.party["e"].mana), (10, 0));
        assert_eq!(game.state, full::State::Resting { rune: rune(1, "") });
    }
}

#[test]
fn the_report_names_what_is_kept_and_what_needs_a_field() {
    let saves = Saves::new();
    let save = persist::to_vec(&game()).unwrap();
    let loaded: Loaded<plain::Game> = saves.from_slice(&save).unwrap();
    let rows = |event| {
        let rows = loaded.report().rows().iter().filter(move |row| row.event == event);
        rows.map(|row| (row.class.clone(), row.field.clone().unwrap_or_default(), row.count))
    };
    let kept: Vec<_> = rows(LoadEvent::Kept).collect();
    let row = |class: &str, field: &str, count| (class.to_owned(), field.to_owned(), count);
    assert_eq!(kept, [row("Game", "weather", 1), row("Hero", "mana", 6), row("Rune", "glow", 14)]);
    let dropped: Vec<_> = rows(LoadEvent::Dropped).collect();
    assert_eq!(dropped, [row("Rune", "glow", 2)]);
    let dropped =
        loaded.report().rows().iter().find(|row| row.event == LoadEvent::Dropped).unwrap();
    assert!(dropped.to_string().contains("`#[persist(unknown)]`"), "{dropped}");
}

#[test]
fn they_are_dropped_if_the_options_say_so() {
    let options = persist::LoadOptions::new().drop_unknown(true);
    let saves = Saves::new().load_options(options);
    let save = persist::to_vec(&game()).unwrap();
    let loaded: Loaded<plain::Game> = saves.from_slice(&save).unwrap();
    let save = saves.to_vec(&loaded).unwrap();
    let filled = Saves::new().load_options(persist::LoadOptions::new().fill(true));
    let again: Loaded<full::Game> = filled.from_slice(&save).unwrap();
    assert_eq!((again.hero.mana, again.hero.rune.glow.as_str()), (0, ""));
}

#[test]
fn unknown_fields_of_structs_in_an_object_come_back() {
    let mut manager = SaveManager::new();
    for number in 0..3 {
        let mut game = game();
        game.day = number;
        game.hero.mana = 100 + number;
        manager.add(&Rc::new(RefCell::new(game))).unwrap();
    }
    let save = manager.to_vec().unwrap();

    let manager = SaveManager::new();
    manager.register::<plain::Game>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    loaded.first::<plain::Game>().unwrap().borrow_mut().day = 50;
    let save = loaded.to_vec().unwrap();

    let manager = SaveManager::new();
    manager.register::<full::Game>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let games: Vec<_> = loaded.iter::<full::Game>().collect();
    assert_eq!(games.len(), 3);
    for (number, of) in (0..).zip(games) {
        let mut expected = without_list(game());
        expected.day = if number == 0 { 50 } else { number };
        expected.hero.mana = 100 + number;
        assert_eq!(*of.borrow(), expected);
    }
}

#[persist::dynamic]
trait Effect {
    fn strength(&self) -> u32;
}

#[derive(Persist, Debug, PartialEq)]
struct Poison {
    dose: u32,
}

/// Of the mod.
#[derive(Persist, Debug, PartialEq)]
struct Curse {
    words: Vec<String>,
    rune: full::Rune,
}

impl Effect for Poison {
    fn strength(&self) -> u32 {
        self.dose
    }
}

impl Effect for Curse {
    fn strength(&self) -> u32 {
        u32::try_from(self.words.len()).expect("a few words")
    }
}

#[derive(Persist)]
struct Cup {
    size: u8,
    effect: Option<Box<dyn Effect>>,
    by_name: BTreeMap<String, Slot>,
}

#[derive(Persist)]
struct Slot {
    effect: Option<Box<dyn Effect>>,
}

fn with_mod() -> Saves {
    let saves = without_mod();
    saves.register_as::<Curse, dyn Effect>().expect("a class");
    saves
}

fn without_mod() -> Saves {
    let saves = Saves::new();
    saves.register_as::<Poison, dyn Effect>().expect("a class");
    saves
}

fn cup() -> Cup {
    let curse = |power| {
        let words = vec!["be".to_owned(); usize::from(power)];
        Some(Box::new(Curse { words, rune: rune(power, "curse") }) as Box<dyn Effect>)
    };
    let slots = [("a", curse(3)), ("b", curse(4)), ("c", Some(Box::new(Poison { dose: 5 }) as _))];
    let by_name = slots.into_iter().map(|(name, effect)| (name.to_owned(), Slot { effect }));
    Cup { size: 1, effect: curse(2), by_name: by_name.collect() }
}

#[test]
fn a_trait_object_of_an_unknown_class_comes_back_into_its_option() {
    let mut save = with_mod().to_vec(&cup()).unwrap();
    for round in 0..3 {
        let saves = without_mod();
        let mut cup: Loaded<Cup> = saves.from_slice(&save).unwrap();
        assert!(cup.effect.is_none() && cup.by_name["a"].effect.is_none(), "round {round}");
        assert_eq!(cup.by_name["c"].effect.as_ref().unwrap().strength(), 5);
        cup.size += 1;
        // Another value takes the place.
        cup.by_name.get_mut("b").unwrap().effect = Some(Box::new(Poison { dose: 9 }));
        save = saves.to_vec(&cup).unwrap();
    }
    let cup: Cup = with_mod().from_slice::<Cup>(&save).unwrap().into_inner();
    let strength = |effect: &Option<Box<dyn Effect>>| effect.as_ref().map(|it| it.strength());
    assert_eq!((cup.size, strength(&cup.effect)), (4, Some(2)));
    let slots: Vec<_> = cup.by_name.values().map(|slot| strength(&slot.effect)).collect();
    assert_eq!(slots, [Some(3), Some(9), Some(5)]);
}

#[test]
fn a_trait_object_of_an_unknown_class_does_not_come_back_after_another_one_was_removed() {
    let save = with_mod().to_vec(&cup()).unwrap();
    let saves = without_mod();
    let mut cup: Loaded<Cup> = saves.from_slice(&save).unwrap();
    cup.effect = Some(Box::new(Poison { dose: 9 }));
    let save = saves.to_vec(&cup).unwrap();
    let mut cup: Loaded<Cup> = saves.from_slice(&save).unwrap();
    cup.effect = None;
    let save = saves.to_vec(&cup).unwrap();
    assert!(with_mod().from_slice::<Cup>(&save).unwrap().effect.is_none());
}

#[test]
fn below_a_very_long_key_they_are_dropped_with_a_row() {
    let mut game = game();
    game.party = [("k".repeat(1000), hero("Cleo", 9)), ("k".repeat(1025), hero("Dan", 10))].into();
    let saves = Saves::new();
    let loaded: Loaded<plain::Game> = saves.from_slice(&persist::to_vec(&game).unwrap()).unwrap();
    let dropped = loaded.report().rows().iter().filter(|row| row.event == LoadEvent::Dropped);
    let dropped: Vec<_> = dropped.map(|row| (row.field.as_deref(), row.count)).collect();
    // One hero with two runes, and the two runes of the list.
    assert_eq!(dropped, [(Some("mana"), 1), (Some("glow"), 4)]);
    let again: full::Game = persist::from_slice(&saves.to_vec(&loaded).unwrap()).unwrap();
    let mana: Vec<u32> = again.party.values().map(|hero| hero.mana).collect();
    assert_eq!(mana, [9, 0]);
}
