//! Edits that are undone and redone, with the whole world compared each time.

use persist::history::Edit;
use persist::{ErrorKind, History, Result, World};

use super::scene::text;

/// Edits a world; then an undo must lead back to what was, and a redo to what the edit made, twice.
pub(crate) fn there_and_back<R>(
    world: &mut World,
    history: &mut History,
    edit: impl FnOnce(&mut Edit<'_>) -> Result<R>,
) -> Result<R> {
    let before = text(world);
    let position = history.position();
    let value = history.edit(world, "", edit)?;
    let after = text(world);
    assert_eq!(history.position(), position + 1, "it is an entry");
    for _ in 0..2 {
        assert!(history.undo(world)?);
        assert_eq!(text(world), before, "behind the undo");
        assert!(history.redo(world)?);
        assert_eq!(text(world), after, "behind the redo");
    }
    Ok(value)
}

/// An edit that must fail, and leave the world and its history, with what could be redone, as they were.
#[track_caller]
pub(crate) fn fails<R>(
    world: &mut World,
    history: &mut History,
    edit: impl FnOnce(&mut Edit<'_>) -> Result<R>,
) -> persist::Error {
    let before = (text(world), entries(history));
    let Err(error) = history.edit(world, "", edit) else { panic!("it did not fail") };
    assert_eq!((text(world), entries(history)), before, "{error}");
    assert!(history.poison().is_none());
    error
}

/// What a history is, in words.
pub(crate) fn entries(history: &History) -> Vec<String> {
    let head =
        format!("{} of {}, {}", history.position(), history.entries().len(), history.state());
    let rest = history.entries().map(|entry| format!("{entry:?}"));
    [head].into_iter().chain(rest).collect()
}

#[track_caller]
pub(crate) fn kind<T>(result: Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("it did not fail"),
        Err(error) => error.kind(),
    }
}
