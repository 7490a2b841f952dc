//! Random calls, of a history and of a naive one that keeps whole documents.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use persist::{Edit, End, Error, ErrorKind, HistoryEvent, Result};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::{option, sample};

use super::act::{Act, FADED, WEIGHT};
use super::document::{
    Document, Editor, Events, Fault, ends, fault, logged, no_fault_is_left, panics, refused,
};
use super::model::{Leaf, Model, NAMES, Step};

/// How an edit goes.
#[derive(Clone, Copy, Debug)]
enum How {
    Well,
    /// The last of its commands is refused.
    Refused,
    /// The last of its commands panics before it has done something.
    Panics,
    /// All but its first command is a part of it that fails, and it goes on without.
    Parted,
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Commit,
    Rollback,
    Drop,
    Panic,
}

#[derive(Clone, Debug)]
enum Call {
    Apply(Leaf, How),
    /// Whose merge is refused, if there is one.
    ApplyApart(Leaf),
    Edit(&'static str, Vec<Leaf>, How),
    Undo,
    Redo,
    FailingUndo(sample::Index),
    FailingRedo(sample::Index),
    /// An undo that cannot be put back, and whether the history is cleared then.
    Break(bool),
    GoTo(usize, Option<sample::Index>),
    Begin(&'static str),
    Commit,
    Rollback,
    Scope(&'static str, Vec<Leaf>, Ending),
    Barrier,
    Saved(bool),
    Floor,
    Lift,
    ClearFloors,
    Capacity(Option<usize>),
    Budget(Option<usize>),
    Window(Option<u64>),
    Wait(u64),
    Fade(sample::Index),
    Clear,
}

fn leaf() -> impl Strategy<Value = Leaf> {
    let simple = prop_oneof![
        4 => (0..NAMES.len(), 0..3i64).prop_map(|(name, new)| Leaf::Put(name, new)),
        2 => (0..NAMES.len(), 1..3i64).prop_map(|(name, by)| Leaf::Plus(name, by)),
        2 => Just(Leaf::Push),
        1 => (0..4usize).prop_map(Leaf::Pick),
    ];
    let simple = simple.boxed();
    let inner = simple.clone();
    prop_oneof![
        8 => simple,
        1 => Just(Leaf::Fade),
        1 => (vec(inner, 0..4), any::<bool>()).prop_map(|(inner, own)| Leaf::Pack(inner, own)),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let label = sample::select(vec!["", "", "", "A", "B"]).boxed();
    let how = prop_oneof![
        6 => Just(How::Well),
        1 => Just(How::Refused),
        1 => Just(How::Panics),
        1 => Just(How::Parted),
    ];
    let how = how.boxed();
    let ending = sample::select(vec![
        Ending::Commit,
        Ending::Commit,
        Ending::Rollback,
        Ending::Drop,
        Ending::Panic,
    ]);
    let index = any::<sample::Index>();
    let edits = prop_oneof![
        12 => (leaf(), how.clone()).prop_map(|(leaf, how)| Call::Apply(leaf, how)),
        1 => leaf().prop_map(Call::ApplyApart),
        5 => (label.clone(), vec(leaf(), 0..5), how)
            .prop_map(|(label, leaves, how)| Call::Edit(label, leaves, how)),
        2 => (label.clone(), vec(leaf(), 0..5), ending)
            .prop_map(|(label, leaves, ending)| Call::Scope(label, leaves, ending)),
        2 => label.prop_map(Call::Begin),
        2 => Just(Call::Commit),
        1 => Just(Call::Rollback),
        1 => Just(Call::Barrier),
    ];
    let moves = prop_oneof![
        8 => Just(Call::Undo),
        6 => Just(Call::Redo),
        2 => index.clone().prop_map(Call::FailingUndo),
        2 => index.clone().prop_map(Call::FailingRedo),
        1 => any::<bool>().prop_map(Call::Break),
        4 => (0..12usize, option::weighted(0.3, index.clone()))
            .prop_map(|(to, fails)| Call::GoTo(to, fails)),
        2 => index.prop_map(Call::Fade),
    ];
    let others = prop_oneof![
        4 => any::<bool>().prop_map(Call::Saved),
        2 => Just(Call::Floor),
        2 => Just(Call::Lift),
        1 => Just(Call::ClearFloors),
        2 => option::of(0..12usize).prop_map(Call::Capacity),
        1 => option::of(0..20usize).prop_map(Call::Budget),
        1 => option::of(0..100u64).prop_map(Call::Window),
        2 => (0..100u64).prop_map(Call::Wait),
        1 => Just(Call::Clear),
    ];
    prop_oneof![5 => edits, 4 => moves, 2 => others]
}

/// A history beside its naive twin.
struct Pair {
    editor: Editor,
    model: Model,
    last_id: usize,
    time: Rc<Cell<u64>>,
    events: Events,
    /// The values that were told last.
    told: Vec<HistoryEvent>,
    states: BTreeMap<usize, u64>,
    ended: BTreeSet<String>,
}

/// What came of an edit in the model.
struct Edited {
    steps: Vec<Step>,
    /// The number of each command.
    ids: Vec<usize>,
    fails: bool,
}

impl Pair {
    fn new(capacity: Option<usize>) -> Self {
        let mut editor = capacity.map_or_else(Editor::new, Editor::of);
        let (time, events) = (Rc::new(Cell::new(0)), editor.listen());
        let clock = Rc::clone(&time);
        editor.history.set_clock(move || Duration::from_millis(clock.get()));
        FADED.take();
        Self {
            told: values(&editor),
            editor,
            model: Model::new(capacity),
            last_id: 0,
            time,
            events,
            states: BTreeMap::new(),
            ended: BTreeSet::new(),
        }
    }

    /// Does commands in the model.
    fn perform(&mut self, leaves: &[Leaf], how: How) -> Edited {
        let before = self.model.document.clone();
        let (mut steps, mut ids, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        let kept = if let How::Parted = how { 1 } else { leaves.len() };
        let mut parted = None;
        for (at, leaf) in leaves.iter().enumerate() {
            if at == kept {
                parted = Some(self.model.document.clone());
            }
            // Nothing is asked of a command that does nothing, so that it cannot fail.
            let is_asked = !self.model.is_nothing(leaf);
            ids.push(self.last_id + 1);
            let step = self.model.perform(leaf, &mut self.last_id);
            let is_last = at + 1 == leaves.len();
            if is_last && is_asked && matches!(how, How::Refused | How::Panics) {
                self.model.end(&steps, End::Undone);
                self.model.forget(&step);
                self.model.document = before;
                return Edited { steps: vec![], ids, fails: true };
            }
            if at < kept { steps.extend(step) } else { lost.extend(step) }
        }
        self.model.end(&lost, End::Undone);
        if let Some(parted) = parted {
            self.model.document = parted;
        }
        Edited { steps, ids, fails: false }
    }

    fn apply(&mut self, leaf: &Leaf, how: How) {
        let leaves = std::slice::from_ref(leaf);
        let how = if let How::Parted = how { How::Well } else { how };
        let edited = self.perform(leaves, how);
        self.run_edit(&edited, how, |editor| {
            let act = Act::of(&editor.document, leaf, edited.ids[0]);
            editor.apply(act)
        });
        self.model.enter("", edited.steps, false);
    }

    fn edit(&mut self, label: &str, leaves: &[Leaf], how: How) {
        let edited = self.perform(leaves, how);
        let ids = &edited.ids;
        self.run_edit(&edited, how, |editor| {
            editor.history.edit(&mut editor.document, label, |edit| {
                let kept = if let How::Parted = how { 1.min(leaves.len()) } else { leaves.len() };
                act_all(edit, &leaves[..kept], ids)?;
                if kept < leaves.len() {
                    let part = edit.part(|part| {
                        act_all(part, &leaves[kept..], &ids[kept..])?;
                        Err::<(), _>(Error::new(ErrorKind::Refused, "the part"))
                    });
                    refused(part, ErrorKind::Refused);
                }
                Ok(())
            })
        });
        self.model.enter(label, edited.steps, false);
    }

    fn run_edit(
        &mut self,
        edited: &Edited,
        how: How,
        edit: impl FnOnce(&mut Editor) -> Result<()>,
    ) {
        let line = edited.ids.last().map(|id| format!("apply {id}")).unwrap_or_default();
        match how {
            How::Refused if edited.fails => {
                fault(&line, Fault::Refuse);
                refused(edit(&mut self.editor), ErrorKind::Refused);
            }
            How::Panics if edited.fails => {
                fault(&line, Fault::Panic);
                panics(|| edit(&mut self.editor).unwrap());
            }
            _ => edit(&mut self.editor).unwrap(),
        }
    }

    fn step(&mut self, is_redo: bool, fails: Option<sample::Index>) {
        if self.model.is_open() {
            let step = if is_redo { self.editor.redo() } else { self.editor.undo() };
            refused(step, ErrorKind::OpenTransaction);
            return;
        }
        let next = self.model.next(is_redo);
        let fails = next.and_then(|index| Some((index, fails?)));
        if let Some((index, fails)) = fails {
            self.fault_in(index, is_redo, fails);
        }
        let step = if is_redo { self.editor.redo() } else { self.editor.undo() };
        match fails {
            Some(_) => drop(refused(step, ErrorKind::Refused)),
            None => assert_eq!(step.unwrap(), next.is_some()),
        }
        self.model.run(is_redo, fails.is_some());
    }

    /// One of the commands of an entry will be refused.
    fn fault_in(&self, index: usize, is_redo: bool, which: sample::Index) {
        let steps = &self.model.entries[index].steps;
        let running: Vec<_> = steps.iter().flat_map(Step::running).collect();
        let verb = if is_redo { "redo" } else { "undo" };
        fault(&format!("{verb} {}", which.get(&running)), Fault::Refuse);
    }

    fn go_to(&mut self, to: usize, fails: Option<sample::Index>) {
        let (from, model) = (self.model.position, &self.model);
        if model.is_open() || to > model.entries.len() || to < model.floor() {
            let kind =
                if model.is_open() { ErrorKind::OpenTransaction } else { ErrorKind::NotFound };
            refused(self.editor.go_to(to), kind);
            return;
        }
        let is_redo = to > from;
        let path: Vec<_> = if is_redo { (from..to).collect() } else { (to..from).rev().collect() };
        let fails =
            fails.filter(|_| !path.is_empty()).map(|fails| (fails.index(path.len()), fails));
        if let Some((at, fails)) = fails {
            self.fault_in(path[at], is_redo, fails);
        }
        let gone = self.editor.go_to(to);
        assert_eq!(gone.is_err(), fails.is_some(), "{gone:?}");
        for at in 0..path.len() {
            let is_last = fails.is_some_and(|(last, _)| at == last);
            self.model.run(is_redo, is_last);
            if is_last {
                break;
            }
        }
    }

    /// An undo that fails, and is not done again either.
    fn break_undo(&mut self, is_cleared: bool) {
        let Some(index) = self.model.next(false) else { return };
        let steps = &self.model.entries[index].steps;
        let ([first, .., last], false) = (&**steps, steps.iter().any(Step::is_pack)) else {
            return;
        };
        let done = steps.len() - 1;
        fault(&format!("undo {}", first.id), Fault::Refuse);
        fault(&format!("redo {}", last.id), Fault::Refuse);
        refused(self.editor.undo(), ErrorKind::Refused);
        let Editor { history, document } = &mut self.editor;
        let poison = history.poison().expect("a poison");
        assert_eq!((poison.entry, poison.step), (Some(index), done));
        assert!(history.is_modified() && !history.can_undo() && !history.can_redo());
        refused(history.undo(document), ErrorKind::Poisoned);
        // What can be redone was done to a document with what is skipped.
        if is_cleared || history.next_index().is_some() {
            history.clear(document).unwrap();
            self.model.clear_broken(index, done);
        } else {
            history.skip_entry(document).unwrap();
            self.model.skip(index, done);
        }
        self.editor.document = self.model.document.clone();
    }

    fn scope(&mut self, label: &str, leaves: &[Leaf], ending: Ending) {
        let middle = leaves.len() / 2;
        self.model.begin(label);
        let mut ids = Vec::new();
        for (at, leaf) in leaves.iter().enumerate() {
            if at == middle {
                self.model.begin("");
            }
            let edited = self.perform(std::slice::from_ref(leaf), How::Well);
            ids.extend(edited.ids);
            self.model.enter("", edited.steps, false);
        }
        if !leaves.is_empty() {
            self.model.commit();
        }
        match ending {
            Ending::Commit => self.model.commit(),
            _ => self.model.rollback(),
        }
        let Editor { history, document } = &mut self.editor;
        let scope = catch_unwind(AssertUnwindSafe(|| {
            let mut scope = history.transaction(document, label)?;
            let acts = leaves.iter().zip(&ids);
            for (leaf, id) in acts.clone().take(middle) {
                let act = Act::of(scope.target(), leaf, *id);
                scope.apply(act)?;
            }
            let mut inner = scope.transaction("")?;
            for (leaf, id) in acts.skip(middle) {
                let act = Act::of(inner.target(), leaf, *id);
                inner.apply(act)?;
            }
            inner.commit()?;
            match ending {
                Ending::Commit => scope.commit(),
                Ending::Rollback => scope.rollback(),
                Ending::Drop => Ok(()),
                Ending::Panic => resume_unwind(Box::new("on purpose")),
            }
        }));
        assert_eq!(scope.is_err(), matches!(ending, Ending::Panic));
        scope.into_iter().for_each(|result| result.unwrap());
    }

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
            Call::Edit(label, leaves, how) => self.edit(label, leaves, *how),
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
            Call::Scope(label, leaves, ending) => self.scope(label, leaves, *ending),
            Call::Barrier => {
                editor.history.set_barrier();
                model.set_barrier();
            }
            Call::Saved(true) | Call::Floor | Call::Clear if model.is_open() => {
                refused(editor.history.mark_saved(), ErrorKind::OpenTransaction);
                refused(editor.history.set_floor(), ErrorKind::OpenTransaction);
                let clear = editor.history.clear(&mut editor.document);
                refused(clear, ErrorKind::OpenTransaction);
            }
            Call::Saved(is_saved) => {
                let history = &mut editor.history;
                let marked = if *is_saved { history.mark_saved() } else { history.mark_unsaved() };
                marked.unwrap();
                model.mark_saved(*is_saved);
            }
            Call::Floor => {
                editor.history.set_floor().unwrap();
                model.set_floor();
            }
            Call::Lift => assert_eq!(editor.history.lift_floor().unwrap(), model.lift_floor()),
            Call::ClearFloors => {
                editor.history.clear_floors().unwrap();
                model.clear_floors();
            }
            Call::Capacity(capacity) => {
                editor.history.set_capacity(&mut editor.document, *capacity);
                model.capacity = *capacity;
                model.trim();
            }
            Call::Budget(budget) => {
                // The half is for what the entries take themselves.
                let bytes = budget.map(|budget| budget * WEIGHT + WEIGHT / 2);
                editor.history.set_max_bytes(&mut editor.document, bytes);
                model.budget = *budget;
                model.trim();
            }
            Call::Window(window) => {
                editor.history.set_merge_window(window.map(Duration::from_millis));
                model.window = *window;
            }
            Call::Wait(time) => {
                self.time.set(self.time.get() + time);
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
        assert_eq!(history.capacity(), model.capacity);
        assert_eq!(history.is_open(), model.is_open());
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
        assert_eq!(history.bytes() / WEIGHT, model.weight());
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

/// Does commands with these numbers.
fn act_all(edit: &mut Edit<'_, Document>, leaves: &[Leaf], ids: &[usize]) -> Result<()> {
    leaves.iter().zip(ids).try_for_each(|(leaf, id)| {
        let act = Act::of(edit, leaf, *id);
        edit.apply(act)
    })
}

/// What events tell of.
fn values(editor: &Editor) -> Vec<HistoryEvent> {
    let history = &editor.history;
    vec![
        HistoryEvent::Position(history.position()),
        HistoryEvent::State(history.state()),
        HistoryEvent::CanUndo(history.can_undo()),
        HistoryEvent::UndoText(history.undo_text()),
        HistoryEvent::CanRedo(history.can_redo()),
        HistoryEvent::RedoText(history.redo_text()),
        HistoryEvent::Modified(history.is_modified()),
    ]
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
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c30_random_calls_lead_where_those_of_a_naive_history_lead(
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
