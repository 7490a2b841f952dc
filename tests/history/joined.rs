//! Edits that are joined: with a key, or in a drag; beside a naive history of snapshots.

use persist::history::Editable;
use persist::{Persist, Result};

use super::subject::Subject;
use super::world::naive::Naive;

/// What makes edits one entry.
pub(crate) enum Joined {
    Key(u8),
    Drag,
}

/// What is done among them, by chance.
pub(crate) enum Between {
    Nothing,
    Undo,
    Mark(bool),
}

/// Makes edits that are joined, as far as nothing comes between them; how many went into the entry before.
///
/// What of steps merges, and whether all of an entry does so to nothing, is not modelled. But then the target must be as it was before the
/// entry, and the entry be gone; and in any case an undo must lead back there.
pub(crate) fn join<T: Editable + Persist + Default>(
    subject: &mut Subject<T>,
    naive: &mut Naive,
    how: &Joined,
    count: u32,
    text: &mut dyn FnMut(&T) -> String,
    edit: &mut dyn FnMut(&mut T::Edit<'_>) -> Result<()>,
    between: &mut dyn FnMut() -> Between,
) -> u32 {
    let mut drag = None;
    match how {
        Joined::Drag => drag = Some(subject.begin_drag("Joined")),
        Joined::Key(_) => subject.apart(),
    }
    naive.last = None;
    let (mut joins, mut has_cut, mut joined, mut base) = (false, false, 0, 0);
    for _ in 0..count {
        match between() {
            Between::Nothing => {}
            Between::Undo => {
                let is_done = subject.undo().expect("it can be undone");
                assert_eq!(is_done, naive.position > 0);
                naive.go_to(naive.position.saturating_sub(1));
                joins &= !is_done;
            }
            Between::Mark(is_saved) => {
                subject.mark(is_saved);
                naive.mark(is_saved);
                joins &= !is_saved;
            }
        }
        let position = subject.history().position();
        let before = (subject.history().state(), position, subject.history().entries().len());
        let done = match how {
            Joined::Key(key) => subject.edit_merging(key, "Joined", &mut *edit),
            Joined::Drag => subject.edit("Step", &mut *edit),
        };
        let now = text(subject.target());
        let history = subject.history();
        let after = (history.state(), history.position(), history.entries().len());
        if after == before {
            assert_eq!(now, naive.text(), "it is not recorded");
            continue;
        }
        assert!(done.is_ok(), "what failed is not recorded");
        if !joins {
            (has_cut, base) = (naive.position < naive.len(), before.0);
            naive.edit(now, None);
            joins = naive.position > 0;
        } else if after.1 == position {
            joined += 1;
            naive.replace(now);
            if has_cut && naive.is_as_before() {
                // Perhaps all of it has gone, and it stays for those that it cut: nobody knows what joins it.
                naive.like_before(after.0 == base);
                break;
            }
        } else {
            naive.drop_last();
            assert_eq!(now, naive.text(), "what is gone did nothing");
            joins = false;
        }
    }
    match drag {
        Some(drag) => subject.end_drag(drag),
        None => subject.apart(),
    }
    joined
}
