//! `validate` functions of components, in edits, undos and redos.

use persist::{ErrorKind, Result};

use super::scene::{Span, text, with};
use super::stage::{fails, there_and_back};

fn span(low: i32, high: i32) -> Span {
    Span { low, high, steps: Vec::new() }
}

#[test]
fn j81_what_a_component_refuses_is_refused_and_nothing_changes() -> Result<()> {
    let (mut world, mut history, ada) = with(Span { steps: vec![2], ..span(0, 5) });
    history.set(&mut world, ada, "Span:high", 9)?;
    history.undo(&mut world)?;
    for error in [
        fails(&mut world, &mut history, |edit| edit.set(ada, "Span:low", 6)),
        fails(&mut world, &mut history, |edit| edit.set(ada, "Span:steps[0]", 6)),
        fails(&mut world, &mut history, |edit| edit.insert_element(ada, "Span:steps", 0, 7)),
        fails(&mut world, &mut history, |edit| {
            edit.spawn("Bob")?;
            let span = edit.get_mut::<Span>(ada)?;
            span.low = 6;
            span.steps.clear();
            Ok(())
        }),
        fails(&mut world, &mut history, |edit| {
            edit.get_mut::<Span>(ada)?.low = 6;
            // What is taken is compared before anything else is done.
            edit.spawn("Bob").map(drop)
        }),
    ] {
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert_eq!((error.object(), error.class()), (Some(ada.get()), Some("Span")));
    }
    assert!(history.can_redo());
    Ok(())
}

#[test]
fn j81_a_value_of_another_kind_is_refused_before_anything_changes() -> Result<()> {
    let (mut world, mut history, ada) = with(span(0, 5));
    for value in [
        persist::Value::from("text"),
        persist::Value::F64(0.5),
        persist::Value::I64(1 << 40),
        persist::Value::Option(None),
        persist::Record::new("Span").into(),
    ] {
        let error = fails(&mut world, &mut history, |edit| edit.set(ada, "Span:low", value));
        assert_eq!(error.kind(), ErrorKind::KindMismatch, "{error}");
    }
    // An edit may go on behind a refusal; what was refused is not in it.
    there_and_back(&mut world, &mut history, |edit| {
        assert!(edit.set(ada, "Span:low", "text").is_err());
        assert!(edit.set(ada, "Span:low", 100).is_err());
        edit.set(ada, "Span:low", 1)
    })?;
    assert_eq!(history.undo_text(), "Undo Set Span.low of Ada");
    Ok(())
}

#[test]
fn fields_that_are_only_valid_together_are_undone_and_redone_together() -> Result<()> {
    let (mut world, mut history, ada) = with(span(0, 5));
    for (low, high) in [(10, 20), (-20, -10), (100, 200), (0, 5), (7, 9)] {
        there_and_back(&mut world, &mut history, |edit| {
            let span = edit.get_mut::<Span>(ada)?;
            (span.low, span.high) = (low, high);
            Ok(())
        })?;
        history.set_barrier();
    }
    history.go_to(&mut world, 0)?;
    assert_eq!(world.get(ada), Some(&span(0, 5)));
    Ok(())
}

#[test]
fn a_drag_whose_steps_were_valid_is_valid_as_a_whole() -> Result<()> {
    let (mut world, mut history, ada) = with(span(10, 25));
    let before = text(&world);
    // The upper end moves first; then both do, down beyond where the lower one was.
    history.edit(&mut world, "Drag", |edit| edit.set(ada, "Span:high", 30))?;
    history.edit(&mut world, "Drag", |edit| {
        edit.set(ada, "Span:high", 31)?;
        edit.set(ada, "Span:low", 0)
    })?;
    history.edit(&mut world, "Drag", |edit| edit.set(ada, "Span:high", 5))?;
    assert_eq!(history.len(), 1);
    let after = text(&world);
    for _ in 0..2 {
        assert!(history.undo(&mut world)?);
        assert_eq!(text(&world), before);
        assert!(history.redo(&mut world)?);
        assert_eq!(text(&world), after);
    }
    Ok(())
}

#[test]
fn j81_an_undo_and_a_redo_to_what_a_component_refuses_by_now_are_refused() -> Result<()> {
    let (mut world, mut history, ada) = with(span(0, 5));
    history.edit(&mut world, "", |edit| {
        edit.set(ada, "Span:high", 50)?;
        edit.rename(ada, "Eve").map(drop)
    })?;
    // Behind the back of the history.
    world.get_mut::<Span>(ada).expect("it is there").steps.push(40);
    let now = text(&world);
    for _ in 0..2 {
        let error = history.undo(&mut world).expect_err("40 is not below 5");
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert_eq!((error.object(), error.class()), (Some(ada.get()), Some("Span")));
        assert_eq!((text(&world), history.position()), (now.clone(), 1));
        assert!(history.poison().is_none() && history.can_undo());
    }
    world.get_mut::<Span>(ada).expect("it is there").steps.clear();
    assert!(history.undo(&mut world)?);
    world.get_mut::<Span>(ada).expect("it is there").low = 3;
    assert!(history.redo(&mut world)?);
    assert!(history.undo(&mut world)?);

    history.edit(&mut world, "", |edit| edit.insert_element(ada, "Span:steps", 0, 4))?;
    history.undo(&mut world)?;
    world.get_mut::<Span>(ada).expect("it is there").low = 5;
    let now = text(&world);
    let error = history.redo(&mut world).expect_err("4 is below 5");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!((text(&world), history.position()), (now, 0));
    world.set_field(ada, "Span:low", 4)?;
    assert!(history.redo(&mut world)?);
    Ok(())
}

#[test]
fn an_edit_that_fails_is_taken_back_whatever_a_component_says_of_what_it_was() -> Result<()> {
    // It was attached so, which nobody asked about.
    let (mut world, mut history, ada) = with(span(5, 0));
    let error = fails(&mut world, &mut history, |edit| {
        edit.set(ada, "Span:high", 5)?;
        edit.insert_element(ada, "Span:steps", 0, 5)?;
        edit.remove_element(ada, "Span:steps", 0)?;
        edit.get_mut::<Span>(ada)?.high = 9;
        edit.spawn("Bob")?;
        Err::<(), _>(persist::Error::new(ErrorKind::Refused, "no more"))
    });
    assert_eq!(error.message(), "no more");
    history.begin("Build")?;
    history.set(&mut world, ada, "Span:high", 5)?;
    history.rollback(&mut world)?;
    assert_eq!(world.get(ada), Some(&span(5, 0)));
    assert!(history.poison().is_none());
    Ok(())
}
