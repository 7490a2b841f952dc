//! What a load would refuse is not saved.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use persist::save::SlotInfo;
use persist::{Component, Error, ErrorKind, History, Loaded, Persist, Saves, Session, World};

use super::{Counting, refused};

#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(validate = Self::check)]
struct Purse {
    gold: i64,
}

impl Purse {
    fn check(&self) -> Result<(), String> {
        if self.gold < 0 { Err(format!("{} gold", self.gold)) } else { Ok(()) }
    }
}

#[derive(Persist, Clone, Debug, Default)]
struct Game {
    day: u32,
    purses: Vec<Option<Purse>>,
}

#[derive(Persist, Default)]
struct Party {
    purse: Purse,
    friends: Vec<Rc<RefCell<Party>>>,
}

impl Component for Purse {}

fn bad_game() -> Game {
    Game { day: 1, purses: vec![None, Some(Purse { gold: -5 })] }
}

fn checked(errors: Vec<Error>) {
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        let text = error.to_string();
        assert!(text.contains("`validate` of Purse refused: -5 gold"), "{text}");
    }
}

#[test]
fn a_value_that_validate_refuses_is_not_saved() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let game = bad_game();
    checked(refused(&saves, &storage, true, || &game));
    let (mut first, mut games) = (bad_game(), Vec::new());
    games.resize_with(20, bad_game);
    let mut games = games.iter_mut();
    checked(refused(&saves, &storage, true, || games.next().expect("enough of them")));
    let loaded = Loaded::from(game);
    checked(refused(&saves, &storage, true, || &loaded));
    first.purses.clear();
    saves.file("saves/path.sav").save(&mut first).expect("a good one");
}

#[test]
fn an_error_names_the_place_of_what_is_refused() {
    let error = persist::to_vec(&bad_game()).expect_err("a debt");
    assert_eq!(error.class(), Some("Game"));
    assert_eq!(error.field(), Some("purses[1]"));
}

#[test]
fn objects_that_validate_refuses_are_not_saved() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let debtor = Rc::new(RefCell::new(Party { purse: Purse { gold: -5 }, ..Party::default() }));
    let leader = Party { friends: vec![debtor], ..Party::default() };
    let mut manager = saves.manager();
    let id = manager.add(&Rc::new(RefCell::new(leader))).expect("a party");
    let errors = refused(&saves, &storage, false, || &manager);
    for error in &errors {
        assert_eq!(error.class(), Some("Party"));
        assert_ne!(error.object(), Some(id.get()), "the leader has no debts");
    }
    checked(errors);
}

#[test]
fn objects_behind_every_pointer_are_validated() {
    let bad = || Purse { gold: -5 };
    let mut manager = Saves::new().manager();
    manager.add(&Rc::new(bad())).expect("a purse without a cell");
    checked(vec![manager.to_vec().expect_err("a debt")]);
    let mut manager = Saves::new().manager();
    manager.add(&Arc::new(Mutex::new(bad()))).expect("a purse");
    checked(vec![manager.to_vec().expect_err("a debt")]);
}

#[test]
fn a_value_may_lead_to_what_is_refused() {
    let value = Party {
        friends: vec![Rc::new(RefCell::new(Party { purse: Purse { gold: -5 }, friends: vec![] }))],
        ..Party::default()
    };
    checked(vec![persist::to_vec(&value).expect_err("a debt")]);
}

#[test]
fn an_object_that_is_borrowed_is_validated_and_saved() {
    let party = Rc::new(RefCell::new(Party::default()));
    let mut manager = Saves::new().manager();
    manager.add(&party).expect("a party");
    let borrowed = party.borrow();
    manager.to_vec().expect("a shared borrow keeps nothing from being saved");
    drop(borrowed);
}

#[test]
fn components_and_resources_that_validate_refuses_are_not_saved() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, Purse { gold: 5 }).expect("a purse");
    saves.to_vec(&world).expect("a good world");
    world.get_mut::<Purse>(ada).expect("the purse").gold = -5;
    checked(refused(&saves, &storage, true, || &world));
    world.get_mut::<Purse>(ada).expect("the purse").gold = 5;
    world.insert_resource(Purse { gold: -5 }).expect("a resource");
    checked(refused(&saves, &storage, true, || &world));
}

#[test]
fn a_prefab_that_validate_refuses_is_not_saved() {
    let storage = Counting::default();
    let loads = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&loads);
    let saves = Saves::new().storage(storage.clone()).watch_loads(move |_| {
        seen.fetch_add(1, Ordering::Relaxed);
    });
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, Purse { gold: -5 }).expect("a purse");
    let prefab = world.prefab(ada).expect("a copy");
    checked(refused(&saves, &storage, true, || &prefab));
    world.get_mut::<Purse>(ada).expect("the purse").gold = 5;
    let prefab = world.prefab(ada).expect("a copy");
    saves.to_vec(&prefab).expect("a good prefab");
    assert_eq!(loads.load(Ordering::Relaxed), 0, "the program has loaded nothing");
}

#[test]
fn a_world_with_other_components_is_saved_while_they_are_good() {
    let mut world = World::new();
    for gold in 0..100 {
        let hero = world.spawn("hero");
        world.attach(hero, Purse { gold }).expect("a purse");
    }
    let save = Saves::new().to_vec(&world).expect("a good world");
    let saves = Saves::new();
    saves.register_component::<Purse>().expect("a component");
    assert_eq!(saves.from_slice::<World>(&save).expect("the world").objects().count(), 100);
}

/// A command that changes the target directly: no field is set that the history could validate.
#[derive(Persist)]
struct Rob;

impl persist::Command<Game> for Rob {
    fn apply(&mut self, edit: &mut persist::history::CommandEdit<'_, Game>) -> persist::Result<()> {
        edit.target().purses.push(Some(Purse { gold: -5 }));
        Ok(())
    }

    fn undo(&mut self, game: &mut Game) -> persist::Result<()> {
        game.purses.pop();
        Ok(())
    }
}

#[test]
fn a_session_saves_nothing_that_validate_refuses() {
    let storage = Counting::default();
    let open = || {
        let saves = Saves::new().storage(storage.clone());
        let options = Session::<Game>::with(saves, History::new(8)).register_command::<Rob>();
        options.expect("a command").open("saves/a.sav", "saves/a.journal").expect("a session").0
    };
    let mut session = open();
    session.set_field(persist::field!(Game.day), 1_u32).expect("an edit");
    session.save().expect("a good game");
    session.apply(Rob).expect("the command");
    let before = storage.snapshot();
    checked(vec![session.save().expect_err("a debt")]);
    checked(vec![session.save_with_info(SlotInfo::new("The Mill")).expect_err("a debt")]);
    assert_eq!(storage.snapshot(), before);
    session.undo().expect("the undo");
    session.save().expect("a good game again");
    drop(session);
    assert_eq!(open().target().day, 1);
}
