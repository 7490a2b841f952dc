//! Resources that are changed, put in and taken out.

use persist::{ErrorKind, Result, Value, field};

use super::scene::{Score, Weather, empty, text};
use super::stage::{entries, fails, there_and_back};

fn score(points: u32) -> Score {
    Score { points, names: vec!["Ada".into()] }
}

#[test]
fn resources_are_put_in_replaced_changed_and_taken_out() -> Result<()> {
    let (mut world, mut history) = empty();
    let before = text(&world);
    there_and_back(&mut world, &mut history, |edit| edit.insert_resource(score(1)))?;
    there_and_back(&mut world, &mut history, |edit| {
        edit.resource_mut::<Score>()?.points += 1;
        assert_eq!(edit.resource::<Score>()?.points, 2);
        Ok(())
    })?;
    there_and_back(&mut world, &mut history, |edit| edit.set(None, "Score:points", 3))?;
    there_and_back(&mut world, &mut history, |edit| edit.set(None, field!(Score.names[0]), "Eve"))?;
    there_and_back(&mut world, &mut history, |edit| {
        edit.insert_resource(Weather(1.0))?;
        edit.insert_resource(score(9))
    })?;
    assert_eq!(world.resource(), Some(&score(9)));
    there_and_back(&mut world, &mut history, |edit| {
        edit.remove_resource::<Score>()?;
        edit.insert_resource(score(10))?;
        edit.remove_resource::<Score>()
    })?;
    assert_eq!(world.resource::<Score>(), None);
    for position in [0, 6, 2, 5, 1, 4, 0] {
        history.go_to(&mut world, position)?;
        let points = world.resource::<Score>().map(|score| score.points);
        assert_eq!(points, [None, Some(1), Some(2), Some(3), Some(3), Some(9), None][position]);
    }
    assert_eq!(text(&world), before);
    Ok(())
}

#[test]
fn a_resource_that_does_not_change_is_not_recorded() -> Result<()> {
    let (mut world, mut history) = empty();
    world.insert_resource(score(1))?;
    history.edit(&mut world, "", |edit| edit.set(None, "Score:points", 2))?;
    history.undo(&mut world)?;
    let before = entries(&history);
    history.edit(&mut world, "", |edit| {
        edit.resource_mut::<Score>()?.points = 5;
        edit.resource_mut::<Score>()?.points = 1;
        assert_eq!(edit.set(None, "Score:points", 1)?, Value::U32(1));
        Ok(())
    })?;
    assert_eq!(entries(&history), before);
    Ok(())
}

#[test]
fn a_drag_of_a_resource_is_one_entry() -> Result<()> {
    let (mut world, mut history) = empty();
    world.insert_resource(Weather(0.0))?;
    let drag = history.begin_drag("");
    for degrees in 1_u16..=500 {
        history.edit(&mut world, "", |edit| edit.set(None, "Weather:0", f32::from(degrees)))?;
    }
    history.end_drag(drag);
    assert_eq!((history.entries().len(), history.undo_text()), (1, "Undo Set Weather.0".into()));
    history.undo(&mut world)?;
    assert_eq!(world.resource(), Some(&Weather(0.0)));
    Ok(())
}

#[test]
fn what_is_not_there_or_does_not_fit_is_refused() -> Result<()> {
    let (mut world, mut history) = empty();
    world.insert_resource(score(1))?;
    for error in [
        fails(&mut world, &mut history, |edit| edit.resource::<Weather>().map(drop)),
        fails(&mut world, &mut history, |edit| edit.resource_mut::<Weather>().map(drop)),
        fails(&mut world, &mut history, |edit| edit.remove_resource::<Weather>()),
        fails(&mut world, &mut history, |edit| edit.set(None, "Weather:0", 1.0).map(drop)),
        fails(&mut world, &mut history, |edit| {
            edit.insert_resource(Weather(2.0))?;
            edit.resource_mut::<Score>()?.points = 7;
            edit.set(None, "Score:nothing", 1).map(drop)
        }),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    let error =
        fails(&mut world, &mut history, |edit| edit.set(None, "Score:points", -1).map(drop));
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    assert_eq!(world.resource::<Weather>(), None);
    Ok(())
}

#[test]
fn a_resource_that_is_gone_beside_the_history_is_an_error_of_the_undo() -> Result<()> {
    let (mut world, mut history) = empty();
    history.edit(&mut world, "", |edit| edit.insert_resource(score(1)))?;
    let score = world.remove_resource::<Score>().expect("it is there");
    let error = history.undo(&mut world).expect_err("it is gone");
    assert_eq!((error.kind(), history.position()), (ErrorKind::NotFound, 1));
    world.insert_resource(score)?;
    assert!(history.undo(&mut world)? && history.redo(&mut world)?);
    assert_eq!(world.resource(), Some(&self::score(1)));
    Ok(())
}
