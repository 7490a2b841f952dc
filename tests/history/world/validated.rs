//! `validate` functions of components, in edits, undos and redos.

use std::panic::{AssertUnwindSafe, catch_unwind};

use persist::history::Edit;
use persist::{Component, ErrorKind, Persist, Result, World};

use super::scene::{Span, Transform, text, transform, with};
use super::stage::{entries, fails, there_and_back};

fn span(low: i32, high: i32) -> Span {
    Span { low, high, steps: Vec::new() }
}

#[test]
fn what_a_component_refuses_is_refused_and_nothing_changes() -> Result<()> {
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
fn a_value_of_another_kind_is_refused_before_anything_changes() -> Result<()> {
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
    let drag = history.begin_drag("Drag");
    history.edit(&mut world, "", |edit| edit.set(ada, "Span:high", 30))?;
    history.edit(&mut world, "", |edit| {
        edit.set(ada, "Span:high", 31)?;
        edit.set(ada, "Span:low", 0)
    })?;
    history.edit(&mut world, "", |edit| edit.set(ada, "Span:high", 5))?;
    history.end_drag(drag);
    assert_eq!(history.entries().len(), 1);
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
fn an_undo_and_a_redo_to_what_a_component_refuses_by_now_are_refused() -> Result<()> {
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

/// Panics where others refuse.
#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(validate = Strict::check)]
struct Strict(u8);

impl Strict {
    fn check(&self) -> Result<(), String> {
        if self.0 > 9 {
            std::panic::resume_unwind(Box::new("too large"));
        }
        Ok(())
    }
}

impl Component for Strict {}

#[test]
fn a_component_that_panics_when_it_is_asked_is_as_it_was_and_so_are_all_others() -> Result<()> {
    let (mut world, mut history, ada) = with(Strict(1));
    let bob = world.spawn("Bob");
    for object in [ada, bob] {
        world.attach(object, transform(1.0, 1.0))?;
    }
    world.attach(bob, Strict(2))?;
    history.set(&mut world, ada, "Strict:0", 5)?;
    let all = |world: &World| {
        [ada, bob].map(|object| {
            (world.get::<Strict>(object).cloned(), world.get::<Transform>(object).cloned())
        })
    };
    let before = (all(&world), entries(&history));
    type Change<'c> = &'c dyn Fn(&mut Edit<'_>) -> Result<()>;
    let edits: [Change<'_>; 4] = [
        &|edit| edit.set(ada, "Strict:0", 10).map(drop),
        &|edit| {
            let mut strict = persist::Record::new("Strict");
            strict.set("0", 10_u8);
            edit.set(ada, "Strict", strict).map(drop)
        },
        &|edit| {
            edit.get_mut::<Transform>(ada)?.x = 7.0;
            edit.get_mut::<Strict>(ada)?.0 = 10;
            edit.get_mut::<Strict>(bob)?.0 = 3;
            edit.get_mut::<Transform>(bob)?.x = 7.0;
            Ok(())
        },
        &|edit| {
            edit.get_mut::<Strict>(bob)?.0 = 10;
            edit.get_mut::<Strict>(ada)?.0 = 11;
            edit.spawn("Eve").map(drop)
        },
    ];
    for edit in edits {
        let panicked =
            catch_unwind(AssertUnwindSafe(|| history.edit(&mut world, "", |it| edit(it))));
        assert!(panicked.is_err());
        assert_eq!(
            (all(&world), entries(&history), world.objects().len()),
            (before.0.clone(), before.1.clone(), 2)
        );
        assert!(history.poison().is_none());
    }
    // In an undo, it stays where it is.
    world.attach(ada, Strict(20))?;
    history.edit(&mut world, "", |edit| edit.set(ada, "Strict:0", 1))?;
    let before = (all(&world), entries(&history));
    let panicked = catch_unwind(AssertUnwindSafe(|| history.undo(&mut world)));
    assert!(panicked.is_err() && history.poison().is_none());
    assert_eq!((all(&world), entries(&history)), before);
    Ok(())
}

#[test]
fn an_edit_that_fails_is_taken_back_whatever_a_component_says_of_what_it_was() -> Result<()> {
    // It was attached so, which nobody asked about.
    let (mut world, mut history, ada) = with(span(5, 0));
    // A save would refuse it too, so that its state is compared without one.
    let before = entries(&history);
    let failed = history.edit(&mut world, "", |edit| {
        edit.set(ada, "Span:high", 5)?;
        edit.insert_element(ada, "Span:steps", 0, 5)?;
        edit.remove_element(ada, "Span:steps", 0)?;
        edit.get_mut::<Span>(ada)?.high = 9;
        edit.spawn("Bob")?;
        Err::<(), _>(persist::Error::new(ErrorKind::Refused, "no more"))
    });
    assert_eq!(failed.expect_err("it fails").message(), "no more");
    assert_eq!((world.get(ada), world.objects().len()), (Some(&span(5, 0)), 1));
    assert_eq!(entries(&history), before);
    assert!(history.poison().is_none());
    history.begin("Build")?;
    history.set(&mut world, ada, "Span:high", 5)?;
    history.rollback(&mut world)?;
    assert_eq!(world.get(ada), Some(&span(5, 0)));
    assert!(history.poison().is_none());
    Ok(())
}
