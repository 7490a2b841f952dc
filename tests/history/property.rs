//! Random calls, of a history and of a naive one that keeps whole documents.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use persist::ErrorKind;
use persist::history::Capacity;
use persist_tests::support::{bytes, short_or_long};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use proptest::sample;

use super::act::{Act, FADED, WEIGHT};
use super::calls::{Call, How, call};
use super::document::{Fault, HistoryEvent, ends, fault, logged, no_fault_is_left, refused};
use super::model::Model;
use super::pair::{Pair, values};

impl Pair {
    fn call(&mut self, call: &Call) {
        let Self { editor, model, .. } = self;
        match call {
            Call::Apply(leaf, how) => self.apply(leaf, *how),
            Call::ApplyApart(leaf) => {
                let edited = self.perform(std::slice::from_ref(leaf), How::Well);
                fault(&format!("merge {}", edited.ids[0]), Fault::Refuse);
                let act = Act::of(&self.editor.document, leaf, edited.ids[0]);
                self.editor.apply(act).unwrap();
                // There may be nothing to merge it with.
                no_fault_is_left();
                self.model.enter("", edited.steps, true);
            }
            Call::Edit(key, label, leaves, how) => self.edit(*key, label, leaves, *how),
            Call::Undo => self.step(false, None),
            Call::Redo => self.step(true, None),
            Call::FailingUndo(fails) => self.step(false, Some(*fails)),
            Call::FailingRedo(fails) => self.step(true, Some(*fails)),
            Call::Break(is_cleared) => self.break_undo(*is_cleared),
            Call::GoTo(to, fails) => self.go_to(*to, *fails),
            Call::Begin(label) => {
                editor.history.begin(*label).unwrap();
                model.begin(label);
            }
            Call::Commit | Call::Rollback if !model.is_open() => {
                refused(editor.commit(), ErrorKind::OpenTransaction);
                refused(editor.rollback(), ErrorKind::OpenTransaction);
            }
            Call::Commit => {
                editor.commit().unwrap();
                model.commit();
            }
            Call::Rollback => {
                editor.rollback().unwrap();
                model.rollback();
            }
            Call::Scope(label, leaves, is_committed) => self.scope(label, leaves, *is_committed),
            Call::Drag(label) => {
                self.drag = Some(editor.history.begin_drag(*label));
                model.begin_drag(label);
            }
            Call::EndDrag => {
                if let Some(drag) = self.drag.take() {
                    editor.history.end_drag(drag);
                    model.end_drag();
                }
            }
            Call::ForgetDrag => {
                self.drag = None;
                model.forget_drag();
            }
            Call::Saved(_) | Call::Clear if model.is_open() => {
                refused(editor.history.set_modified(false), ErrorKind::OpenTransaction);
                refused(editor.history.set_modified(true), ErrorKind::OpenTransaction);
                let clear = editor.history.clear(&mut editor.document);
                refused(clear, ErrorKind::OpenTransaction);
            }
            Call::Saved(is_saved) => {
                let history = &mut editor.history;
                history.set_modified(!is_saved).unwrap();
                model.mark_saved(*is_saved);
            }
            Call::Capacity(capacity) => {
                model.capacity = *capacity;
                editor.history.set_capacity(&mut editor.document, limits(model));
                model.trim();
            }
            Call::Budget(budget) => {
                model.budget = *budget;
                editor.history.set_capacity(&mut editor.document, limits(model));
                model.trim();
            }
            Call::Window(window) => {
                editor.history.set_merge_window(window.map(Duration::from_millis));
                model.set_window(*window);
            }
            Call::Wait(time) => {
                self.time.fetch_add(*time, Ordering::Relaxed);
                model.time += time;
            }
            Call::Fade(which) => {
                let steps = model.entries.iter_mut().flat_map(|entry| &mut entry.steps);
                let mut fading: Vec<_> = steps.filter(|step| step.may_fade()).collect();
                if !fading.is_empty() {
                    let at = which.index(fading.len());
                    fading[at].is_faded = true;
                    FADED.with_borrow_mut(|faded| faded.insert(fading[at].id));
                }
            }
            Call::Clear => {
                editor.history.clear(&mut editor.document).unwrap();
                model.clear(false);
            }
        }
    }

    /// Compares all that can be asked.
    fn compare(&mut self) {
        let Self { editor, model, .. } = self;
        let history = &editor.history;
        assert!(no_fault_is_left());
        assert_eq!(editor.document, model.document);
        assert_eq!(editor.place(), (model.len(), model.position));
        assert_eq!(history.is_modified(), model.is_modified());
        assert_eq!(history.saved_position(), model.saved_position());
        assert_eq!((history.can_undo(), history.can_redo()), (model.can_undo(), model.can_redo()));
        let text = |verb: &str, is_redo| {
            let index = model.next(is_redo);
            index.map(|index| format!("{verb} {}", model.entries[index].text())).unwrap_or_default()
        };
        assert_eq!(history.undo_text(), text("Undo", false));
        assert_eq!(history.redo_text(), text("Redo", true));
        let texts = model.entries.iter().map(|entry| entry.text());
        assert_eq!(editor.labels(), texts.take(model.len()).collect::<Vec<_>>());
        if !model.is_open() {
            assert_eq!(bytes(history) / WEIGHT, model.weight());
        }
        assert!(history.poison().is_none());

        let states = history.entries().map(|entry| (entry.index + 1, entry.state));
        for (position, state) in states.chain([(history.position(), history.state())]) {
            let own = model.state_at(position);
            assert_eq!(self.states.entry(own).or_insert(state), &state, "two numbers of a state");
        }
        let numbers: BTreeSet<_> = self.states.values().collect();
        assert_eq!(numbers.len(), self.states.len(), "two states of one number");

        for event in self.events.take() {
            let kind = std::mem::discriminant(&event);
            let same = |other: &&mut HistoryEvent| std::mem::discriminant(*other) == kind;
            let told = self.told.iter_mut().find(same).expect("an event of a value");
            assert_ne!(*told, event, "told without a change");
            *told = event;
        }
        assert_eq!(self.told, values(editor), "not all was told");
        self.compare_ends();
    }

    fn compare_ends(&mut self) {
        let log = logged();
        let mut ended: Vec<_> = ends(&log).into_iter().map(String::from).collect();
        let mut expected: Vec<_> = std::mem::take(&mut self.model.ends)
            .into_iter()
            .map(|(id, end)| format!("{id} {end:?}"))
            .collect();
        ended.sort();
        expected.sort();
        assert_eq!(ended, expected);
        for line in ended {
            let id = line.split(' ').next().unwrap_or_default().to_owned();
            assert!(self.ended.insert(id), "{line}, a second time");
        }
    }
}

/// Makes the calls, and ends all commands at the end.
fn run(capacity: Option<usize>, calls: &[Call]) {
    let mut pair = Pair::new(capacity);
    logged();
    for call in calls {
        pair.call(call);
        pair.compare();
    }
    while pair.model.is_open() {
        pair.call(&Call::Rollback);
        pair.compare();
    }
    pair.call(&Call::Clear);
    pair.compare();
    let done = pair.model.done.difference(&pair.ended).count();
    assert_eq!(done, 0, "commands that were done and never ended");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: short_or_long(150, 600), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_calls_lead_where_those_of_a_naive_history_lead(
        capacity in prop_oneof![
            6 => (1..10usize).prop_map(Some),
            2 => sample::select(vec![11, 13, 23]).prop_map(Some),
            1 => Just(Some(0)),
            1 => Just(None),
        ],
        calls in vec(call(), 0..120),
    ) {
        run(capacity, &calls);
    }
}

/// The limits of a model.
fn limits(model: &Model) -> Capacity {
    // The half is for what the entries take themselves.
    let bytes = model.budget.map(|budget| budget * WEIGHT + WEIGHT / 2);
    Capacity { entries: model.capacity, bytes }
}
