//! State that a program derives behind every change.

use std::sync::{Arc, Mutex};

use persist::{Component, History, Persist, Result, World};

use super::scene::{Speed, transform, with};

/// How many objects there are, and how fast they are in all: brought up to date behind every change.
#[derive(Persist, Debug, PartialEq)]
struct Sum {
    objects: usize,
    speed: f32,
}

impl Component for Sum {}

/// What each call has found.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<(usize, f32)>>>);

impl Calls {
    fn take(&self) -> Vec<(usize, f32)> {
        std::mem::take(&mut *self.0.lock().expect("nobody panicked"))
    }
}

/// A history that keeps the sum, and a log of its calls.
fn summing(world: &mut World) -> Result<(History, Calls)> {
    let sum = world.spawn("Sum");
    world.attach(sum, Sum { objects: 0, speed: 0.0 })?;
    let calls = Calls::default();
    let mut history = History::new(100);
    let log = calls.clone();
    history.subscribe_changes(move |world: &mut World, _| {
        let objects = world.objects().len();
        let speed = world.query::<&Speed>().map(|speed| speed.0).sum();
        if let Some(sum) = world.get_mut::<Sum>(sum) {
            *sum = Sum { objects, speed };
        }
        log.0.lock().expect("nobody panicked").push((objects, speed));
    });
    Ok((history, calls))
}

#[test]
fn the_hook_runs_behind_edit_undo_redo_and_rollback_alike_and_is_not_recorded() -> Result<()> {
    let (mut world, _, ada) = with(Speed(1.0));
    let (mut history, calls) = summing(&mut world)?;
    let taken = || calls.take();
    history.set(&mut world, ada, "Speed:0", 2.0)?;
    assert_eq!(taken(), [(2, 2.0)]);
    history.edit(&mut world, "", |edit| {
        let bob = edit.spawn("Bob")?;
        edit.attach(bob, Speed(5.0))
    })?;
    assert_eq!(taken(), [(3, 7.0)]);
    history.undo(&mut world)?;
    assert_eq!(taken(), [(2, 2.0)]);
    history.undo(&mut world)?;
    assert_eq!(taken(), [(2, 1.0)]);
    history.redo(&mut world)?;
    assert_eq!(taken(), [(2, 2.0)]);
    history.redo(&mut world)?;
    assert_eq!(taken(), [(3, 7.0)]);
    assert_eq!(history.entries().len(), 2, "it is no entry");
    let sum = world.find("Sum").and_then(|sum| world.get::<Sum>(sum));
    assert_eq!(sum, Some(&Sum { objects: 3, speed: 7.0 }));

    history.begin("Build")?;
    history.edit(&mut world, "", |edit| edit.attach(ada, Speed(9.0)))?;
    history.edit(&mut world, "", |edit| edit.attach(ada, transform(0.0, 0.0)))?;
    assert_eq!(taken(), [(3, 14.0), (3, 14.0)]);
    history.rollback(&mut world)?;
    assert_eq!(taken().last(), Some(&(3, 7.0)));

    // A drag of which each step is merged, and what changes nothing.
    let drag = history.begin_drag("");
    history.set(&mut world, ada, "Speed:0", 3.0)?;
    history.set(&mut world, ada, "Speed:0", 4.0)?;
    history.set(&mut world, ada, "Speed:0", 2.0)?;
    assert_eq!(taken(), [(3, 8.0), (3, 9.0), (3, 7.0)]);
    assert_eq!(history.entries().len(), 2);
    history.end_drag(drag);
    history.set(&mut world, ada, "Speed:0", 2.0)?;
    assert_eq!(taken(), []);
    history.go_to(&mut world, 0)?;
    assert_eq!(taken().last(), Some(&(2, 1.0)));
    Ok(())
}

#[test]
fn the_hook_sees_the_world_behind_an_edit_that_failed_as_it_was() -> Result<()> {
    let (mut world, _, ada) = with(Speed(1.0));
    let (mut history, calls) = summing(&mut world)?;
    let failed: Result<()> = history.edit(&mut world, "", |edit| {
        edit.get_mut::<Speed>(ada)?.0 = 50.0;
        edit.remove(ada)?;
        edit.remove(ada)
    });
    assert!(failed.is_err());
    assert!(calls.take().into_iter().all(|call| call == (2, 1.0)));
    Ok(())
}
