//! Tests of timers and stopwatches as fields.

use std::collections::HashMap;
use std::time::Duration;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_time::{Stopwatch, Timer, TimerMode};
use persist::{History, Persist};
use persist_bevy::{EditSession, PersistApp, PersistWorld, Saved, stopwatch, timer};

#[derive(Component, Persist, Clone, Debug, PartialEq)]
#[persist(component)]
#[require(Saved)]
struct Clocks {
    #[persist(with = timer)]
    attack: Timer,
    #[persist(with = "Option<timer>")]
    dash: Option<Timer>,
    #[persist(with = "Vec<timer>")]
    waves: Vec<Timer>,
    #[persist(with = "HashMap<_, timer>")]
    spells: HashMap<String, Timer>,
    #[persist(with = "Vec<(stopwatch, _)>")]
    laps: Vec<(Stopwatch, u8)>,
}

#[derive(Resource, Persist, Clone, Debug, PartialEq)]
struct Day {
    #[persist(with = timer)]
    left: Timer,
    #[persist(with = stopwatch)]
    total: Stopwatch,
}

fn app() -> App {
    let mut app = App::new();
    app.persist_component::<Clocks>().persist_resource::<Day>();
    app
}

/// Returns timers in many states.
fn timers() -> Vec<Timer> {
    let secs = Duration::from_secs_f64;
    let mut all = Vec::new();
    for mode in [TimerMode::Once, TimerMode::Repeating] {
        for duration in [0.0, 0.1, 2.0] {
            // Ticks of no time, of a part, of exactly one period, of several periods, and after the timer has finished.
            for ticks in [&[][..], &[0.05], &[0.1], &[2.0], &[2.0, 0.0], &[7.5], &[7.5, 0.3]] {
                let mut timer = Timer::new(secs(duration), mode);
                for tick in ticks {
                    timer.tick(secs(*tick));
                }
                all.push(timer.clone());
                timer.pause();
                all.push(timer.clone());
                timer.tick(secs(1.0));
                all.push(timer.clone());
                for other in [TimerMode::Once, TimerMode::Repeating] {
                    let mut timer = timer.clone();
                    timer.set_mode(other);
                    timer.set_duration(secs(0.7));
                    all.push(timer.clone());
                    timer.reset();
                    all.push(timer);
                }
            }
        }
    }
    all
}

#[test]
fn a_loaded_timer_is_equal_to_the_saved_one_and_continues_like_it() {
    for mut timer in timers() {
        let mut loaded = timer::restore(timer::store(&timer)).unwrap();
        assert_eq!(loaded, timer);
        for tick in [0.0, 0.3, 1.9, 0.0, 10.0] {
            assert_eq!(
                loaded.tick(Duration::from_secs_f64(tick)),
                timer.tick(Duration::from_secs_f64(tick))
            );
        }
        loaded.unpause();
        timer.unpause();
        assert_eq!(loaded.tick(Duration::from_secs(1)), timer.tick(Duration::from_secs(1)));
    }
}

#[test]
fn components_and_resources_have_timers_and_stopwatches_also_in_containers() {
    let all = timers();
    let mut watch = Stopwatch::new();
    watch.tick(Duration::from_millis(1500));
    let mut paused = watch.clone();
    paused.pause();
    let spells = all.iter().enumerate().map(|(at, timer)| (at.to_string(), timer.clone()));
    let clocks = Clocks {
        attack: all[3].clone(),
        dash: Some(all[5].clone()),
        waves: all.clone(),
        spells: spells.collect(),
        laps: vec![(watch.clone(), 1), (paused.clone(), 2), (Stopwatch::new(), 3)],
    };
    let day = Day { left: all[1].clone(), total: paused };
    let mut first = app();
    first.insert_resource(day.clone()).world_mut().spawn(clocks.clone());
    let save = first.world_mut().save_to_vec().unwrap();
    let mut next = app();
    let world = next.world_mut();
    assert!(world.load_from_slice(&save).unwrap().is_clean());
    assert_eq!(world.query::<&Clocks>().single(world).unwrap(), &clocks);
    assert_eq!(world.resource::<Day>(), &day);
    assert_eq!(world.save_to_vec().unwrap(), save);
}

#[test]
fn a_timer_is_undone_redone_and_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let (level, journal) = (folder.path().join("a.sav"), folder.path().join("a.journal"));
    let open = || {
        let mut app = app();
        let opened = EditSession::open(app.world_mut(), &level, &journal, History::new(100));
        (app, opened.unwrap().0)
    };
    let left = |app: &App| app.world().resource::<Day>().left.clone();
    let [old, new] = [60, 90].map(|secs| Timer::new(Duration::from_secs(secs), TimerMode::Once));
    let (mut app, mut session) = open();
    let world = app.world_mut();
    let day = Day { left: old.clone(), total: Stopwatch::new() };
    session
        .edit(world, "Add", |world| {
            world.insert_resource(day);
            Ok(())
        })
        .unwrap();
    session
        .edit(world, "Change", |world| {
            world.resource_mut::<Day>().left = new.clone();
            Ok(())
        })
        .unwrap();
    session.undo(world).unwrap();
    assert_eq!(left(&app), old);
    session.redo(app.world_mut()).unwrap();
    assert_eq!(left(&app), new);
    drop((app, session)); // a crash

    let (mut app, mut session) = open();
    assert_eq!(left(&app), new);
    session.undo(app.world_mut()).unwrap();
    assert_eq!(left(&app), old);
}
