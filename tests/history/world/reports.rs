//! What single calls report of a world.

use std::sync::{Arc, Mutex};

use persist::history::{Changed, CommandEdit};
use persist::{Command, History, ObjectId, Result, World};

use super::scene::{Pair, Speed};

#[derive(Default, Clone)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn by(history: &mut History) -> (Self, persist::history::Subscription) {
        let heard = Self::default();
        let log = heard.clone();
        let subscription = history.subscribe_changes(move |_, changes| {
            let mut log = log.0.lock().expect("nobody panicked");
            log.extend(changes.iter().map(|change| match change {
                Changed::Field(field) => format!(
                    "{} {:?} -> {:?}",
                    field.path(),
                    field.old_value().map(|value| value.to_string()).unwrap_or_default(),
                    field.new_value().map(|value| value.to_string()).unwrap_or_default(),
                ),
                other => format!("{other:?}"),
            }));
        });
        (heard, subscription)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("nobody panicked"))
    }
}

/// Two objects, in a history that has reported the whole world before.
fn scene() -> Result<(World, History, [ObjectId; 2])> {
    let (mut world, mut history) = (World::new(), History::new(100));
    let objects = history.edit(&mut world, "Build", |edit| {
        let ada = edit.spawn_with("Ada", (Speed(1.0), Pair(1, "one".into())))?;
        Ok([ada, edit.spawn_in(ada, "Bob")?])
    })?;
    Ok((world, history, objects))
}

/// Doubles a speed directly.
struct Double(Vec<ObjectId>);

impl Command for Double {
    fn apply(&mut self, edit: &mut CommandEdit<'_, World>) -> Result<()> {
        self.times(edit.target(), 2.0);
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        self.times(world, 0.5);
        Ok(())
    }

    fn objects(&self) -> Vec<ObjectId> {
        self.0.clone()
    }
}

impl Double {
    fn times(&self, world: &mut World, factor: f32) {
        for speed in world.query_mut::<&mut Speed>().expect("one borrow") {
            speed.0 *= factor;
        }
    }
}

#[test]
fn the_first_report_of_a_world_is_that_all_of_it_may_differ() -> Result<()> {
    let (mut world, mut history, [ada, _]) = scene()?;
    let (heard, _) = Heard::by(&mut history);
    history.set(&mut world, ada, "Speed:0", 2.0)?;
    assert_eq!(heard.take(), ["All"]);
    history.set(&mut world, ada, "Speed:0", 3.0)?;
    assert_eq!(heard.take(), ["Speed:0 \"2.0f32\" -> \"3.0f32\""]);
    history.undo(&mut world)?;
    assert_eq!(heard.take(), ["Speed:0 \"3.0f32\" -> \"2.0f32\""]);
    Ok(())
}

#[test]
fn an_object_that_comes_or_goes_is_reported_with_those_below_it_and_without_its_parts() -> Result<()>
{
    let (mut world, mut history, [ada, bob]) = scene()?;
    let (heard, _) = Heard::by(&mut history);
    history.set(&mut world, ada, "Speed:0", 2.0)?;
    heard.take();
    history.edit(&mut world, "Sell", |edit| {
        edit.set(ada, "Speed:0", 9.0)?;
        edit.rename(bob, "Bo")?;
        edit.remove(ada)
    })?;
    assert_eq!(heard.take(), [format!("Removed({bob:?})"), format!("Removed({ada:?})")]);
    history.undo(&mut world)?;
    assert_eq!(heard.take(), [format!("Spawned({ada:?})"), format!("Spawned({bob:?})")]);
    // What comes and goes in one call is not reported, nor is what is undone by its failure.
    history.edit(&mut world, "Nothing", |edit| {
        let brief = edit.spawn("Brief")?;
        edit.remove(brief)
    })?;
    let failed = history.edit(&mut world, "Fail", |edit| {
        edit.spawn("Brief")?;
        Err::<(), persist::Error>("enough".into())
    });
    assert!(failed.is_err());
    assert_eq!(heard.take(), [""; 0]);
    Ok(())
}

#[test]
fn a_replaced_component_is_reported_as_attached_without_its_fields() -> Result<()> {
    let (mut world, mut history, [ada, _]) = scene()?;
    let (heard, _) = Heard::by(&mut history);
    history.set(&mut world, ada, "Speed:0", 2.0)?;
    heard.take();
    history.edit(&mut world, "Replace", |edit| {
        edit.attach(ada, Speed(5.0))?;
        edit.set(ada, "Speed:0", 6.0)?;
        edit.set(ada, "Pair:1", "two")?;
        edit.detach::<Pair>(ada)
    })?;
    let of =
        |what: &str, class: &str| format!("{what} {{ object: Some({ada:?}), class: {class:?} }}");
    assert_eq!(heard.take(), [of("Attached", "Speed"), of("Detached", "Pair")]);
    history.undo(&mut world)?;
    assert_eq!(heard.take(), [of("Attached", "Pair"), of("Attached", "Speed")]);
    Ok(())
}

#[test]
fn an_object_that_loses_its_name_to_one_that_comes_back_is_reported() -> Result<()> {
    let (mut world, mut history, [ada, bob]) = scene()?;
    history.edit(&mut world, "Remove", |edit| edit.remove(bob))?;
    let (heard, _) = Heard::by(&mut history);
    history.set(&mut world, ada, "Speed:0", 2.0)?;
    heard.take();
    history.undo(&mut world)?;
    world.rename(ada, "Bob")?;
    heard.take();
    history.undo(&mut world)?;
    assert_eq!(world.name(ada), Some("Bob1"));
    assert_eq!(heard.take(), [format!("Renamed({ada:?})"), format!("Spawned({bob:?})")]);
    Ok(())
}

#[test]
fn a_command_is_reported_by_the_objects_that_it_names_or_as_anything() -> Result<()> {
    let (mut world, mut history, [ada, bob]) = scene()?;
    let (heard, subscription) = Heard::by(&mut history);
    history.set(&mut world, ada, "Speed:0", 2.0)?;
    heard.take();
    history.apply(&mut world, Double(vec![ada]))?;
    history.undo(&mut world)?;
    assert_eq!(heard.take(), [format!("Object({ada:?})"), format!("Object({ada:?})")]);
    history.edit(&mut world, "Both", |edit| {
        edit.rename(bob, "Bo")?;
        edit.apply(Double(Vec::new()))
    })?;
    assert_eq!(heard.take(), ["All"]);
    subscription.end();
    history.undo(&mut world)?;
    assert_eq!(heard.take(), [""; 0]);
    Ok(())
}

#[test]
fn a_removal_of_all_objects_is_reported_by_each_and_countless_changes_beside_the_history_as_all()
-> Result<()> {
    let (mut world, mut history) = (World::new(), History::new(100));
    let reports = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&reports);
    history.subscribe_changes(move |_, changes| {
        let is_all = matches!(changes, [Changed::All]);
        heard.lock().expect("nobody panicked").push((is_all, changes.len()));
    });
    let count = 20_000;
    let root = history.edit(&mut world, "Build", |edit| {
        let root = edit.spawn("")?;
        (1..count).try_for_each(|_| edit.spawn_in(root, "").map(drop))?;
        Ok(root)
    })?;
    history.edit(&mut world, "Remove", |edit| edit.remove(root))?;
    history.undo(&mut world)?;
    // A game that moves its objects for hours, and an edit at last.
    let child = world.children(root)[0];
    for _ in 0..100_000 {
        world.set_parent_at(child, Some(root), 0)?;
    }
    history.edit(&mut world, "Rename", |edit| edit.rename(root, "Root").map(drop))?;
    history.edit(&mut world, "Rename", |edit| edit.rename(root, "Roots").map(drop))?;
    let expected = [(true, 1), (false, count), (false, count), (true, 1), (false, 1)];
    assert_eq!(*reports.lock().expect("nobody panicked"), expected);
    Ok(())
}
