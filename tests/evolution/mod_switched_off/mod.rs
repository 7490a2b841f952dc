//! A player's chest while a mod is switched off for a day: what the mod had is kept with its ids and
//! pointers, whatever the player does meanwhile, and is there when the mod is.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod types;
mod world;

use std::rc::Rc;

use persist::save::LoadPolicy;
use persist::{ErrorKind, LoadOptions, Loaded, ObjectId, SaveManager};
use types::common::{Item, Sword, alive};
use types::{is_missing, modded, plain, shared};
use world::{World, play, show, world};

/// The save of the game with the mod.
fn first_save() -> Vec<u8> {
    let world = world();
    let mut manager = modded::manager();
    world.add_to(&mut manager);
    let save = manager.to_vec().unwrap();
    world.end();
    save
}

/// What a load did, line by line.
fn report<T>(loaded: &Loaded<T>) -> Vec<String> {
    let findings = loaded.report().rows().iter();
    findings.map(ToString::to_string).collect()
}

/// The world that a load of the game with the mod has made.
fn modded_world(manager: &SaveManager) -> World {
    let charm = manager.get::<modded::Charm>(ObjectId::new(3).unwrap()).unwrap();
    World { heroes: manager.iter().collect(), charms: vec![charm] }
}

fn lines(world: &World) -> Vec<String> {
    show(&world.heroes, &world.charms)
}

fn assert_same(found: &[String], expected: &[String]) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

/// What the game without the mod says of the first save.
const FIRST_REPORT: [&str; 12] = [
    "kept as unknown: Hero.mana, 2 times, first in object #1",
    "kept as unknown: Hero.familiar, 2 times, first in object #1",
    "kept as unknown: Chest.charms, 2 times, first in object #6",
    "kept as unknown: Chest.by_rune, 2 times, first in object #6",
    "kept as unknown: Chest.aura, 2 times, first in object #6",
    "dropped: Slot.glow, mark a field of the class `#[persist(unknown)]` to keep it, 4 times, first in object #6",
    "kept as unknown: Tray.runes, 2 times, first in object #6",
    "kept as unknown: Tray.charm, 2 times, first in object #6",
    "kept as unknown: Lock.Cursed, Other, 1 times, first in object #6",
    "kept as unknown: Charm, 4 times, first in object #3",
    "kept as unknown: Gem, 2 times, first in object #8",
    "kept as unknown: Wand, 3 times, first in object #5",
];

/// What it says of its own.
const SECOND_REPORT: [&str; 11] = [
    "kept as unknown: Charm, 4 times, first in object #3",
    "kept as unknown: Chest.aura, 2 times, first in object #6",
    "kept as unknown: Chest.by_rune, 2 times, first in object #6",
    "kept as unknown: Chest.charms, 2 times, first in object #6",
    "kept as unknown: Gem, 2 times, first in object #8",
    "kept as unknown: Hero.familiar, 2 times, first in object #1",
    "kept as unknown: Hero.mana, 2 times, first in object #1",
    "kept as unknown: Lock::Cursed, 1 times, first in object #6",
    "kept as unknown: Tray.charm, 2 times, first in object #6",
    "kept as unknown: Tray.runes, 2 times, first in object #6",
    "kept as unknown: Wand, 3 times, first in object #5",
];

#[test]
fn a_day_on_which_nothing_is_done_changes_no_byte() {
    let first = first_save();
    let manager = plain::manager();
    let loaded = manager.from_slice(&first).unwrap();
    assert_eq!(report(&loaded), FIRST_REPORT);
    let summary = "the save was loaded, but 24 parts that this version does not know will be kept, 4 parts could not be kept";
    assert_eq!(loaded.report().summary(), summary);
    let second = loaded.to_vec().unwrap();
    drop(loaded);
    assert_eq!(alive(), 0);
    let loaded = manager.from_slice(&second).unwrap();
    assert_eq!(report(&loaded), SECOND_REPORT);
    let strict = LoadOptions::new().policy(LoadPolicy::Strict);
    let saves = manager.saves().clone().load_options(strict);
    let error = saves.from_slice::<SaveManager>(&second).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.message().starts_with("the program does not have the class, which `LoadPolicy"));
    assert_eq!((error.class(), error.object()), (Some("Hero.mana"), Some(1)));
    let summary = "the save was loaded, but 24 parts that this version does not know will be kept";
    assert_eq!(loaded.report().summary(), summary);
    assert!(loaded.to_vec().unwrap() == second);

    drop(loaded);
    assert_eq!(alive(), 0);
    let loaded = modded::manager().from_slice(&second).unwrap();
    assert_eq!(report(&loaded), ["defaulted: Slot.glow, 4 times, first in object #6"]);
    let (back, before) = (modded_world(&loaded), world());
    assert_same(&lines(&back), &lines(&before));
    assert!(loaded.to_vec().unwrap() == first);
    drop(loaded);
    back.end();
    before.end();
    assert_eq!(alive(), 0);
}

#[test]
fn what_the_player_does_meanwhile_is_there_with_the_mods_things() {
    let first = first_save();
    let manager = plain::manager();
    let mut loaded = manager.from_slice(&first).unwrap();
    let heroes: Vec<_> = loaded.iter::<plain::Hero>().collect();
    let carl = play!(&heroes, plain, loaded);
    let second = loaded.to_vec().unwrap();
    drop((heroes, carl, loaded));

    // Another day.
    let loaded = manager.from_slice(&second).unwrap();
    let heroes: Vec<_> = loaded.iter::<plain::Hero>().collect();
    assert_eq!(heroes.len(), 3);
    let chests = heroes[0].borrow().chests.clone();
    let missing = |chest: usize| {
        chests[chest].borrow().things.iter().map(|t| is_missing(&**t)).collect::<Vec<_>>()
    };
    assert_eq!(missing(0), [true]);
    assert_eq!(missing(1), [false]);
    drop((heroes, chests));
    let third = loaded.to_vec().unwrap();
    drop(loaded);
    assert!(second == third);

    // The same day in the game with the mod.
    let mut expected = world();
    let mut native = modded::manager();
    expected.add_to(&mut native);
    let carl = play!(&expected.heroes, modded, native);
    expected.heroes.push(carl);

    let loaded = modded::manager().from_slice(&third).unwrap();
    let back = modded_world(&loaded);
    assert_same(&lines(&back), &lines(&expected));
    // Of the hero who came meanwhile, and of the slots, which had no room for what is unknown.
    let defaulted = [
        "defaulted: Hero.mana, 1 times, first in object #16",
        "defaulted: Hero.familiar, 1 times, first in object #16",
        "defaulted: Slot.glow, 3 times, first in object #7",
    ];
    assert_eq!(report(&loaded), defaulted);
    assert_eq!(loaded.report().summary(), "everything was loaded");
    back.end();
    loaded.dismantle();
    expected.end();
    drop(native);
    assert_eq!(alive(), 0);
}

#[test]
fn a_save_that_is_only_looked_at_leaves_nothing() {
    let first = first_save();
    assert_eq!(alive(), 0);
    let manager = plain::manager();
    let loaded = manager.from_slice(&first).unwrap();
    assert!(alive() > 0);
    drop(loaded);
    assert_eq!(alive(), 0);
    manager.from_slice(&first).unwrap().dismantle();
    assert_eq!(alive(), 0);
    for end in (0..first.len()).step_by(13) {
        assert!(manager.from_slice(&first[..end]).is_err());
        assert_eq!(alive(), 0);
    }
}

#[test]
fn what_the_player_holds_keeps_the_mods_things_in_another_list() {
    let first = first_save();
    let loaded = plain::manager().from_slice(&first).unwrap();
    let heroes: Vec<_> = loaded.iter::<plain::Hero>().collect();
    // The loaded list is dropped before the save.
    drop(loaded);
    let mut manager = plain::manager();
    for hero in &heroes {
        manager.add(hero).unwrap();
    }
    let save = manager.to_vec().unwrap();
    let loaded = modded::manager().from_slice(&save).unwrap();
    let back: Vec<_> = loaded.iter::<modded::Hero>().collect();
    let (found, expected) = (show(&back, &[]), world());
    let expected_lines = show(&expected.heroes, &[]);
    // What stands in the heroes themselves is there; what was kept of the chests beside them is not.
    assert_eq!(back[0].borrow().mana, 7);
    assert_ne!(found, expected_lines);
    let chest = back[0].borrow().chests[0].clone();
    assert_eq!((chest.borrow().aura, chest.borrow().charms.len()), (0, 0));
    let chest = chest.borrow();
    let expected_chest = expected.heroes[0].borrow().chests[0].clone();
    assert_eq!(chest.things.len(), expected_chest.borrow().things.len());
    assert_eq!(back[0].borrow().familiar.as_ref().unwrap().borrow().power, 2);
    drop(chest);
    loaded.dismantle();
    expected.end();
    drop((back, expected_chest));
    drop(heroes);
}

/// A manager that keeps nothing.
fn dropping() -> SaveManager {
    let options = LoadOptions::new().drop_unknown(true);
    plain::manager().saves().clone().load_options(options).manager()
}

#[test]
fn what_is_dropped_is_gone_and_reported() {
    let first = first_save();
    let second = plain::manager().from_slice(&first).unwrap().to_vec().unwrap();
    // Both the save of the mod, and one that has been without the mod for a day.
    for (save, slots, lock) in [(&first, 4, "Lock.Cursed, Other"), (&second, 0, "Lock::Cursed")] {
        let manager = dropping();
        let loaded = manager.from_slice(save).unwrap();
        let mut found = report(&loaded);
        if slots > 0 {
            let place = found.iter().position(|line| line.contains("Slot")).unwrap();
            assert_eq!(found.remove(place), "dropped: Slot.glow, 4 times, first in object #6");
        }
        found.retain(|line| !line.contains("Lock"));
        assert_eq!(found, DROPPED);
        let lock = format!("kept as unknown: {lock}, 1 times, first in object #6");
        assert!(report(&loaded).contains(&lock), "{}", loaded.report());
        let summary = format!(
            "the save was loaded, but 9 parts that this version does not know will be kept, {} parts could not be kept",
            15 + slots
        );
        assert_eq!(loaded.report().summary(), summary);
        let save = loaded.to_vec().unwrap();
        drop(loaded);
        let loaded = manager.from_slice(&save).unwrap();
        let dropped = report(&loaded).iter().filter(|line| line.starts_with("dropped")).count();
        assert_eq!(dropped, 0, "{}", loaded.report());
        drop(loaded);
        assert_eq!(alive(), 0);

        let loaded = modded::manager().from_slice(&save).unwrap();
        let heroes: Vec<_> = loaded.iter::<modded::Hero>().collect();
        let oak = heroes[0].borrow().chests[0].clone();
        assert!(heroes[0].borrow().familiar.is_none());
        assert_eq!((heroes[0].borrow().mana, oak.borrow().aura), (100, 0));
        assert!(oak.borrow().charms.is_empty() && oak.borrow().by_rune.is_empty());
        assert!(oak.borrow().trays.iter().all(|tray| tray.runes.is_empty()));
        assert!(oak.borrow().trays.iter().all(|tray| tray.charm.is_none()));
        // Stand-ins and the lock kept what they stood for, with what it leads to.
        let lines = show(&heroes, &[]).join("\n");
        for part in ["is wand 77", "wand 400 7 [sword 2, wand 1 7 []] charm #", "cursed by #"] {
            assert!(lines.contains(part), "{lines}");
        }
        assert!(loaded.get::<modded::Charm>(ObjectId::new(3).unwrap()).is_err());
        drop((heroes, oak));
        loaded.dismantle();
        assert_eq!(alive(), 0);
    }
}

/// What is dropped of both saves, and what stand-ins keep.
const DROPPED: [&str; 11] = [
    "dropped: Hero.mana, 2 times, first in object #1",
    "dropped: Hero.familiar, 2 times, first in object #1",
    "dropped: Chest.charms, 2 times, first in object #6",
    "dropped: Chest.by_rune, 2 times, first in object #6",
    "dropped: Chest.aura, 2 times, first in object #6",
    "dropped: Tray.runes, 2 times, first in object #6",
    "dropped: Tray.charm, 2 times, first in object #6",
    "skipped, not registered: Charm, 1 times, first in object #3",
    "kept as unknown: Charm, 3 times, first in object #4",
    "kept as unknown: Gem, 2 times, first in object #8",
    "kept as unknown: Wand, 3 times, first in object #5",
];

/// The world as one value.
fn game() -> modded::Game {
    let World { heroes, charms } = world();
    let stash: Vec<Box<dyn Item>> = vec![Box::new(modded::wand(5)), Box::new(Sword::new(4))];
    modded::Game { season: "mist".into(), heroes, charms, stash, day: 1 }
}

/// All of it, and its end.
fn end(game: modded::Game) -> Vec<String> {
    let mut lines = show(&game.heroes, &game.charms);
    let stash: Vec<String> = game.stash.iter().map(|item| item.show(&mut |_, _| {})).collect();
    lines.push(format!("{} {} {stash:?}", game.season, game.day));
    World { heroes: game.heroes, charms: game.charms }.end();
    lines
}

#[test]
fn a_game_that_is_one_value_gets_everything_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slot.sav");
    let with_mod = game();
    modded::manager().saves().file(&path).save(&with_mod).unwrap();
    end(with_mod);

    // A day without the mod.
    let manager = plain::manager();
    let file = manager.saves().file(&path);
    let mut game = file.load::<plain::Game>().unwrap();
    let found = report(&game);
    let of_game = ["Game.season", "Game.charms"];
    let of_game = of_game.map(|f| format!("kept as unknown: {f}, 1 times, first in object #1"));
    assert_eq!((&found[..2], found.len()), (&of_game[..], 14));
    let summary = "the save was loaded, but 27 parts that this version does not know will be kept, 4 parts could not be kept";
    assert_eq!(game.report().summary(), summary);
    let carl = play!(&game.heroes, plain, plain::manager());
    game.heroes.push(carl);
    game.stash.swap(0, 1);
    game.day = 2;
    file.save(&game).unwrap();
    drop(game);
    assert_eq!(alive(), 0);
    // Another day, by another manager.
    let manager = plain::manager();
    let file = manager.saves().file(&path);
    let game = file.load::<plain::Game>().unwrap();
    file.save(&game).unwrap();
    let third = std::fs::read(&path).unwrap();
    // But for the info and the generation in the header, and the length in the trailer.
    let content = |save: &[u8]| {
        let fields = u32::from_le_bytes(save[12..16].try_into().unwrap()) as usize;
        save[16 + fields + 4..save.len() - 12].to_vec()
    };
    assert!(content(&manager.saves().to_vec(&game).unwrap()) == content(&third));
    drop(game);

    // The same day with the mod.
    let mut expected = self::game();
    let carl = play!(&expected.heroes, modded, modded::manager());
    expected.heroes.push(carl);
    expected.stash.swap(0, 1);
    expected.day = 2;

    let game = modded::manager().saves().file(&path).load::<modded::Game>().unwrap();
    assert_same(&end(game.into_inner()), &end(expected));
    assert_eq!(alive(), 0);
}

#[test]
fn a_long_chain_of_the_mod_is_kept_and_freed_flat() {
    const LENGTH: u32 = 50_000;
    let links: Vec<_> = (0..LENGTH).map(modded::charm).collect();
    for (link, next) in links.iter().zip(&links[1..]) {
        link.borrow_mut().twin = Some(next.clone());
    }
    let ada = modded::hero("Ada");
    ada.borrow_mut().familiar = Some(links[0].clone());
    let mut manager = modded::manager();
    manager.add(&ada).unwrap();
    let first = manager.to_vec().unwrap();
    drop((ada, manager));
    // From the end, each while the one before holds it.
    links.into_iter().rev().for_each(|link| drop(link.borrow_mut().twin.take()));
    assert_eq!(alive(), 0);

    let manager = plain::manager();
    drop(manager.from_slice(&first).unwrap());
    assert_eq!(alive(), 0);
    let loaded = manager.from_slice(&first).unwrap();
    let ada = loaded.first::<plain::Hero>().unwrap();
    let second = loaded.to_vec().unwrap();
    assert_eq!(manager.from_slice(&second).unwrap().len(), LENGTH as usize + 1);
    // The hero holds the chain now, and goes last.
    drop(loaded);
    drop(ada);
    assert_eq!(alive(), 0);
}
