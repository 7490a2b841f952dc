//! Tests of states, which are saved, and entered by a transition after a load.

use std::path::Path;
use std::time::Duration;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_state::app::StatesPlugin;
use bevy_state::prelude::*;
use persist::{ErrorKind, History, Persist};
use persist_bevy::{
    EditSession, LoadFinished, LoadRequested, PersistApp, PersistPlugin, PersistWorld,
    SaveFinished, SaveProgress, SaveRequested, WorldSaves, entity,
};

use crate::saves::wait_for;
use crate::{Health, Score, app_in, healths, of_health, slot};

#[derive(States, Persist, Clone, PartialEq, Eq, Hash, Debug, Default)]
enum Stage {
    #[default]
    Menu,
    Village,
    Dungeon {
        floor: u32,
    },
    Talk(#[persist(with = entity)] Entity),
}

/// A sub state that exists outside of the menu.
#[derive(SubStates, Persist, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[source(InGame = InGame)]
enum Pace {
    #[default]
    Running,
    Paused,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct InGame;

impl ComputedStates for InGame {
    type SourceStates = Stage;

    fn compute(stage: Stage) -> Option<Self> {
        (stage != Stage::Menu).then_some(Self)
    }
}

/// The schedules that have run, with the number of saved entities that each has found.
#[derive(Resource, Default)]
struct Seen(Vec<String>);

fn see(label: &'static str) -> impl Fn(ResMut<Seen>, Query<&Health>) {
    move |mut seen, healths| seen.0.push(format!("{label}, {} entities", healths.iter().count()))
}

fn stages_in(folder: &Path) -> App {
    let mut app = app_in(folder);
    app.add_plugins(StatesPlugin)
        .init_state::<Stage>()
        .add_computed_state::<InGame>()
        .add_sub_state::<Pace>()
        .persist_state::<Stage>()
        .persist_state::<Pace>()
        .init_resource::<Seen>()
        .add_systems(OnExit(Stage::Menu), see("exit menu"))
        .add_systems(OnEnter(Stage::Menu), see("enter menu"))
        .add_systems(OnExit(Stage::Village), see("exit village"))
        .add_systems(OnEnter(Stage::Village), see("enter village"))
        .add_systems(OnEnter(Stage::Dungeon { floor: 2 }), see("enter dungeon"))
        .add_systems(OnEnter(Pace::Paused), see("enter pause"))
        .add_systems(OnEnter(Pace::Running), see("enter run"));
    app.update();
    app.world_mut().resource_mut::<Seen>().0.clear();
    app
}

fn stages() -> App {
    stages_in(Path::new("no saves are written here"))
}

fn seen(app: &mut App) -> Vec<String> {
    std::mem::take(&mut app.world_mut().resource_mut::<Seen>().0)
}

fn stage(app: &App) -> Stage {
    app.world().resource::<State<Stage>>().get().clone()
}

fn pace(app: &App) -> Option<Pace> {
    app.world().get_resource::<State<Pace>>().map(|pace| pace.get().clone())
}

fn enter<S: bevy_state::state::FreelyMutableState>(app: &mut App, state: S) {
    app.world_mut().resource_mut::<NextState<S>>().set(state);
    app.update();
    seen(app);
}

/// Returns a save in the dungeon, with one entity.
fn dungeon() -> Vec<u8> {
    let mut app = stages();
    app.world_mut().spawn(Health(1));
    enter(&mut app, Stage::Dungeon { floor: 2 });
    app.world_mut().save_to_vec().unwrap()
}

#[test]
fn a_load_enters_the_state_of_the_save_by_a_transition() {
    let save = dungeon();
    let mut app = stages();
    assert!(app.world_mut().load_from_slice(&save).unwrap().is_clean());
    assert_eq!((stage(&app), seen(&mut app)), (Stage::Menu, vec![]));
    assert_eq!(app.world_mut().save_to_vec().unwrap(), save, "before the transition");
    let mirrored = app.world_mut().mirrored(|mirror| mirror.resource::<Stage>().cloned());
    assert_eq!(mirrored.unwrap(), Some(Stage::Dungeon { floor: 2 }));
    app.update();
    assert_eq!(
        seen(&mut app),
        ["exit menu, 1 entities", "enter dungeon, 1 entities", "enter run, 1 entities"]
    );
    assert_eq!(stage(&app), Stage::Dungeon { floor: 2 });
    assert!(app.world().contains_resource::<State<InGame>>(), "it is computed");
    assert_eq!(app.world_mut().save_to_vec().unwrap(), save, "after the transition");
    app.update();
    assert!(seen(&mut app).is_empty());
}

#[test]
fn requested_saves_and_loads_have_the_state() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = stages_in(folder.path());
    app.world_mut().spawn(Health(1));
    enter(&mut app, Stage::Village);
    app.world_mut().write_message(SaveRequested::slot("a"));
    wait_for::<SaveFinished>(&mut app);
    for load in [LoadRequested::slot("a"), LoadRequested::slot("a").keeping_entities()] {
        enter(&mut app, Stage::Dungeon { floor: 2 });
        app.world_mut().write_message(load);
        wait_for::<LoadFinished>(&mut app);
        app.update();
        assert_eq!(
            (stage(&app), &*seen(&mut app)[0]),
            (Stage::Village, "enter village, 1 entities")
        );
    }
    let mut next = stages_in(folder.path());
    next.world_mut().write_message(LoadRequested::slot("a"));
    wait_for::<LoadFinished>(&mut next);
    next.update();
    assert_eq!(stage(&next), Stage::Village);
}

#[test]
fn a_load_in_the_state_of_the_save_runs_no_transition_and_withdraws_a_pending_one() {
    let mut app = stages();
    app.world_mut().spawn(Health(1));
    enter(&mut app, Stage::Village);
    let save = app.world_mut().save_to_vec().unwrap();
    app.world_mut().resource_mut::<NextState<Stage>>().set(Stage::Menu);
    app.world_mut().load_from_slice(&save).unwrap();
    app.update();
    assert_eq!((stage(&app), seen(&mut app)), (Stage::Village, vec![]));

    // A load of another state also replaces a pending transition.
    app.world_mut().resource_mut::<NextState<Stage>>().set(Stage::Menu);
    app.world_mut().load_from_slice(&dungeon()).unwrap();
    app.update();
    assert_eq!(stage(&app), Stage::Dungeon { floor: 2 });
}

#[test]
fn a_game_that_saves_and_leaves_to_its_menu_is_saved_as_it_was_played() {
    let mut app = stages();
    app.world_mut().spawn(Health(1));
    enter(&mut app, Stage::Village);
    let village = app.world_mut().save_to_vec().unwrap();
    for _ in 0..2 {
        app.world_mut().resource_mut::<NextState<Stage>>().set(Stage::Menu);
        assert_eq!(app.world_mut().save_to_vec().unwrap(), village);
        app.update();
        assert_eq!(stage(&app), Stage::Menu);
        assert_ne!(app.world_mut().save_to_vec().unwrap(), village);
        // In the second round, the last transition was requested by a load.
        app.world_mut().load_from_slice(&village).unwrap();
        app.update();
    }
}

#[test]
fn a_transition_that_the_game_calls_off_after_a_load_is_not_saved() {
    let mut app = stages();
    app.world_mut().load_from_slice(&dungeon()).unwrap();
    app.world_mut().resource_mut::<NextState<Stage>>().reset();
    let save = app.world_mut().save_to_vec().unwrap();
    let mut next = stages();
    next.world_mut().load_from_slice(&save).unwrap();
    next.update();
    assert_eq!((stage(&next), healths(next.world_mut())), (Stage::Menu, vec![1]));
}

#[test]
fn a_sub_state_is_saved_and_removed_with_its_source() {
    let mut app = stages();
    app.world_mut().spawn(Health(1));
    let menu = app.world_mut().save_to_vec().unwrap();
    enter(&mut app, Stage::Dungeon { floor: 2 });
    enter(&mut app, Pace::Paused);
    let paused = app.world_mut().save_to_vec().unwrap();

    let mut next = stages();
    next.world_mut().load_from_slice(&paused).unwrap();
    assert_eq!(next.world_mut().save_to_vec().unwrap(), paused, "before it exists");
    next.update();
    assert_eq!(pace(&next), Some(Pace::Paused));
    assert_eq!(
        seen(&mut next),
        ["exit menu, 1 entities", "enter dungeon, 1 entities", "enter pause, 1 entities"]
    );
    assert_eq!(next.world_mut().save_to_vec().unwrap(), paused);
    next.world_mut().load_from_slice(&menu).unwrap();
    next.update();
    assert_eq!((stage(&next), pace(&next)), (Stage::Menu, None));
    assert_eq!(next.world_mut().save_to_vec().unwrap(), menu, "what was removed is not saved");

    // A sub state that is not registered begins with its default.
    let mut without = app_in(Path::new("no saves are written here"));
    without.add_plugins(StatesPlugin).init_state::<Stage>().persist_state::<Stage>();
    without.add_computed_state::<InGame>().add_sub_state::<Pace>();
    without.world_mut().load_from_slice(&paused).unwrap();
    without.update();
    assert_eq!(
        (stage(&without), pace(&without)),
        (Stage::Dungeon { floor: 2 }, Some(Pace::Running))
    );
}

#[test]
fn an_app_keeps_its_state_if_a_save_has_none_or_is_refused() {
    let mut old = crate::app();
    old.world_mut().spawn(Health(7));
    let save = old.world_mut().save_to_vec().unwrap();
    let mut app = stages();
    enter(&mut app, Stage::Village);
    app.world_mut().load_from_slice(&save).unwrap();
    app.update();
    assert_eq!((stage(&app), healths(app.world_mut())), (Stage::Village, vec![7]));
    let mut next = stages();
    let village = app.world_mut().save_to_vec().unwrap();
    next.world_mut().load_from_slice(&village).unwrap();
    next.update();
    assert_eq!(stage(&next), Stage::Village, "it is in the next save");

    let mut dungeon = dungeon();
    let end = dungeon.len() - 3;
    dungeon[end] ^= 1;
    let error = app.world_mut().load_from_slice(&dungeon).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    app.world_mut().clear_saved();
    app.update();
    assert_eq!((stage(&app), seen(&mut app)), (Stage::Village, vec![]));
}

#[test]
fn a_state_is_entered_that_the_app_adds_after_the_load() {
    let mut app = App::new();
    app.add_plugins(StatesPlugin).persist_component::<Health>().persist_state::<Stage>();
    let save = dungeon();
    app.world_mut().load_from_slice(&save).unwrap();
    app.init_state::<Stage>().update();
    assert_eq!(stage(&app), Stage::Dungeon { floor: 2 });
}

#[test]
fn an_entity_in_a_state_is_that_of_the_loaded_world() {
    let mut app = stages();
    let world = app.world_mut();
    let [ada, camera] = [world.spawn(Health(1)).id(), world.spawn_empty().id()];
    enter(&mut app, Stage::Talk(ada));
    let save = app.world_mut().save_to_vec().unwrap();
    let mut next = stages();
    for _ in 0..3 {
        next.world_mut().spawn_empty();
    }
    assert!(next.world_mut().load_from_slice(&save).unwrap().is_clean());
    assert_eq!(next.world_mut().save_to_vec().unwrap(), save);
    next.update();
    assert_eq!(stage(&next), Stage::Talk(of_health(next.world_mut(), 1)));

    enter(&mut app, Stage::Talk(camera));
    let save = app.world_mut().save_to_vec().unwrap();
    assert_eq!(app.world().resource::<WorldSaves>().warnings().len(), 1);
    let report = next.world_mut().load_from_slice(&save).unwrap();
    assert_eq!(report.rows().len(), 1);
    assert_eq!(
        report.rows()[0].to_string(),
        "dangling weak reference: Stage, leads to an entity that is not saved, 1 times"
    );
}

#[test]
fn a_change_of_state_is_a_change_for_automatic_saves() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = App::new();
    app.add_plugins((StatesPlugin, PersistPlugin::new(folder.path()).autosave(Duration::ZERO, 2)))
        .persist_component::<Health>()
        .init_state::<Stage>()
        .persist_state::<Stage>();
    app.world_mut().spawn(Health(1));
    wait_for::<SaveFinished>(&mut app);
    for _ in 0..20 {
        app.update();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(app.world().resource::<SaveProgress>().saving, None, "nothing has changed");
    }
    app.world_mut().resource_mut::<NextState<Stage>>().set(Stage::Village);
    let saved: SaveFinished = wait_for(&mut app);
    let mut next = stages_in(folder.path());
    let slot = slot(next.world(), &saved.slot.unwrap());
    next.world_mut().load(&slot).unwrap();
    next.update();
    assert_eq!(stage(&next), Stage::Village);
}

#[test]
fn an_edit_session_neither_records_nor_changes_states() {
    let folder = tempfile::tempdir().unwrap();
    let (level, journal) = (folder.path().join("a.sav"), folder.path().join("a.journal"));
    let mut game = stages_in(folder.path());
    game.world_mut().spawn(Health(1));
    enter(&mut game, Stage::Dungeon { floor: 2 });
    let file = game.world().resource::<WorldSaves>().saves().file(&level);
    game.world_mut().save(&file).unwrap();

    let open = || {
        let mut app = stages_in(folder.path());
        app.insert_resource(Score { points: 1, leader: None });
        let opened = EditSession::open(app.world_mut(), &level, &journal, History::new(100));
        (app, opened.unwrap().0)
    };
    let (mut app, mut session) = open();
    app.update();
    assert_eq!(stage(&app), Stage::Menu, "the level's state is not entered");
    for floor in [3, 4] {
        let world = app.world_mut();
        let edit = |world: &mut World| {
            world.resource_mut::<NextState<Stage>>().set(Stage::Dungeon { floor });
            world.spawn(Health(floor));
            Ok(())
        };
        session.edit(world, "Add", edit).unwrap();
        app.update();
    }
    assert_eq!(session.session().history().position(), 2);
    session.undo(app.world_mut()).unwrap();
    app.update();
    assert_eq!((stage(&app), healths(app.world_mut())), (Stage::Dungeon { floor: 4 }, vec![1, 3]));
    session.redo(app.world_mut()).unwrap();
    enter(&mut app, Stage::Village);
    let position = session.session().history().position();
    session.edit(app.world_mut(), "Look", |world| Ok(healths(world))).unwrap();
    assert_eq!(session.session().history().position(), position, "a new state is no edit");
    drop((app, session)); // a crash

    let (mut app, mut session) = open();
    app.update();
    assert_eq!((stage(&app), healths(app.world_mut())), (Stage::Menu, vec![1, 3, 4]));
    while session.undo(app.world_mut()).unwrap() {}
    app.update();
    assert_eq!((stage(&app), healths(app.world_mut())), (Stage::Menu, vec![1]));
    session.save().unwrap();
    drop((app, session));

    // The save still has the state with which the game saved it.
    let mut game = stages_in(folder.path());
    let file = game.world().resource::<WorldSaves>().saves().file(&level);
    game.world_mut().load(&file).unwrap();
    game.update();
    assert_eq!((stage(&game), healths(game.world_mut())), (Stage::Dungeon { floor: 2 }, vec![1]));
}

#[test]
fn a_state_and_a_resource_cannot_be_saved_as_one_class() {
    #[derive(Resource, States, Persist, Clone, PartialEq, Eq, Hash, Debug)]
    struct Both;

    let register = || {
        App::new().persist_resource::<Both>().persist_state::<Both>();
    };
    let panic = std::panic::catch_unwind(register).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("cannot be saved: class Both is that of `world::states::"),
        "{message}"
    );
}
