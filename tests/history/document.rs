//! A small document, commands that change it, and a log of what they were asked to do.

use persist_tests::support::bytes;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use persist::history::{self, CommandEdit, Edit, Editable, FinalState, Label, Merge};
use persist::{Command, Error, ErrorKind, History, Result};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) words: Vec<String>,
    pub(crate) numbers: BTreeMap<&'static str, i64>,
    pub(crate) selected: usize,
}

impl Editable for Document {
    type Edit<'e> = Edit<'e, Self>;

    fn persist_edit<'e, R>(
        edit: &mut Edit<'e, Self>,
        run: impl FnOnce(&mut Self::Edit<'e>) -> Result<R>,
    ) -> Result<R> {
        run(edit)
    }
}

impl Document {
    pub(crate) fn text(&self) -> String {
        self.words.join(" ")
    }

    pub(crate) fn number(&self, name: &str) -> i64 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn put(&mut self, name: &'static str, number: i64) {
        if number == 0 {
            self.numbers.remove(name);
        } else {
            self.numbers.insert(name, number);
        }
    }
}

/// What a command is to do instead of what it was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Refuse,
    Miss,
    Panic,
}

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static FAULTS: RefCell<Vec<(String, Fault)>> = const { RefCell::new(Vec::new()) };
}

/// What the commands of this thread were asked since the last time.
pub(crate) fn logged() -> Vec<String> {
    LOG.take()
}

/// How often each command ended, and how, of what was [logged].
pub(crate) fn ends(log: &[String]) -> Vec<&str> {
    log.iter().filter_map(|line| line.strip_prefix("end ")).collect()
}

/// Once, when this is asked, something else happens.
pub(crate) fn fault(line: &str, fault: Fault) {
    FAULTS.with_borrow_mut(|faults| faults.push((line.to_owned(), fault)));
}

/// Every fault has happened; there is none behind this.
pub(crate) fn no_fault_is_left() -> bool {
    FAULTS.take().is_empty()
}

/// A command was asked to do something.
pub(crate) fn ask(line: &str) -> Result<()> {
    let fault = FAULTS.with_borrow_mut(|faults| {
        let at = faults.iter().position(|(other, _)| other == line)?;
        Some(faults.remove(at).1)
    });
    let refusal = |kind| Err(Error::new(kind, format!("no {line} today")));
    LOG.with_borrow_mut(|log| log.push(line.to_owned()));
    match fault {
        None => Ok(()),
        Some(Fault::Refuse) => refusal(ErrorKind::Refused),
        Some(Fault::Miss) => refusal(ErrorKind::NotFound),
        // Without a message on the screen.
        Some(Fault::Panic) => std::panic::resume_unwind(Box::new("on purpose")),
    }
}

/// As [`ask`], where a command cannot refuse.
pub(crate) fn tell(line: &str) {
    assert!(ask(line).is_ok(), "this cannot be refused");
}

/// Appends a word; its undo takes the last one, and so works in the right order only.
pub(crate) struct Write(pub(crate) &'static str);

impl Command<Document> for Write {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        ask(&format!("apply {}", self.0))?;
        edit.target().words.push(self.0.to_owned());
        ask(&format!("half {}", self.0)).inspect_err(|_| {
            edit.target().words.pop();
        })
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        ask(&format!("undo {}", self.0))?;
        if document.words.last().is_none_or(|last| last != self.0) {
            return Err(Error::new(ErrorKind::NotFound, "the last word is another one"));
        }
        document.words.pop();
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        ask(&format!("redo {}", self.0))?;
        edit.target().words.push(self.0.to_owned());
        Ok(())
    }

    fn label(&self) -> Label {
        format!("Write {}", self.0).into()
    }

    fn finalize(&mut self, _: &mut Document, end: FinalState) {
        tell(&format!("end {} {end:?}", self.0));
    }
}

/// Sets a number; merges with another one of the same number, and is nothing if both lead back.
#[derive(Clone)]
pub(crate) struct Set {
    name: &'static str,
    old: i64,
    new: i64,
}

impl Set {
    pub(crate) fn of(document: &Document, name: &'static str, new: i64) -> Self {
        Self { name, old: document.number(name), new }
    }
}

impl Command<Document> for Set {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        ask(&format!("apply {}={}", self.name, self.new))?;
        edit.target().put(self.name, self.new);
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        ask(&format!("undo {}={}", self.name, self.new))?;
        document.put(self.name, self.old);
        Ok(())
    }

    fn merge(&mut self, next: &Self) -> Result<Merge> {
        if self.name != next.name {
            return Ok(Merge::No);
        }
        ask(&format!("merge {}={}", next.name, next.new))?;
        self.new = next.new;
        Ok(if self.old == self.new { Merge::Annul } else { Merge::Yes })
    }

    fn label(&self) -> Label {
        format!("Set {} to {}", self.name, self.new).into()
    }

    fn is_obsolete(&self) -> bool {
        self.old == self.new
    }

    fn finalize(&mut self, _: &mut Document, end: FinalState) {
        tell(&format!("end {}={} {end:?}", self.name, self.new));
    }
}

/// Adds to a number.
pub(crate) struct Add(pub(crate) &'static str, pub(crate) i64);

impl Command<Document> for Add {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        ask(&format!("apply {}+{}", self.0, self.1))?;
        let sum = edit.number(self.0) + self.1;
        edit.target().put(self.0, sum);
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        ask(&format!("undo {}+{}", self.0, self.1))?;
        document.put(self.0, document.number(self.0) - self.1);
        Ok(())
    }

    fn finalize(&mut self, _: &mut Document, end: FinalState) {
        tell(&format!("end {}+{} {end:?}", self.0, self.1));
    }
}

/// Selects something, which is no change of the document.
pub(crate) struct Select {
    old: usize,
    new: usize,
}

impl Select {
    pub(crate) fn of(document: &Document, new: usize) -> Self {
        Self { old: document.selected, new }
    }
}

impl Command<Document> for Select {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().selected = self.new;
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.selected = self.old;
        Ok(())
    }

    fn merge(&mut self, next: &Self) -> Result<Merge> {
        self.new = next.new;
        Ok(Merge::Yes)
    }

    fn label(&self) -> Label {
        "Select".into()
    }

    fn is_significant(&self) -> bool {
        false
    }
}

/// A document with its history, for tests in which both are there from the start to the end.
#[derive(Debug)]
pub(crate) struct Editor {
    pub(crate) document: Document,
    pub(crate) history: History<Document>,
}

impl Editor {
    pub(crate) fn new() -> Self {
        Self::with(History::new(None))
    }

    pub(crate) fn of(capacity: usize) -> Self {
        Self::with(History::new(capacity))
    }

    /// Whose edits are merged if they go together, whenever they come.
    pub(crate) fn with(mut history: History<Document>) -> Self {
        history.set_merge_window(Some(Duration::MAX));
        Self { document: Document::default(), history }
    }

    /// What is done next is an entry of its own.
    pub(crate) fn apart(&mut self) {
        apart(&mut self.history);
    }

    pub(crate) fn apply(&mut self, command: impl Command<Document>) -> Result<()> {
        self.history.apply(&mut self.document, command)
    }

    pub(crate) fn write(&mut self, words: &str) -> Result<()> {
        for word in words.split(' ') {
            let word = ["a", "b", "c", "d", "e", "f"].into_iter().find(|other| *other == word);
            self.apply(Write(word.expect("a word of one of the first letters")))?;
        }
        Ok(())
    }

    pub(crate) fn set(&mut self, name: &'static str, new: i64) -> Result<()> {
        self.apply(Set::of(&self.document, name, new))
    }

    pub(crate) fn select(&mut self, new: usize) -> Result<()> {
        self.apply(Select::of(&self.document, new))
    }

    pub(crate) fn undo(&mut self) -> Result<bool> {
        self.history.undo(&mut self.document)
    }

    pub(crate) fn redo(&mut self) -> Result<bool> {
        self.history.redo(&mut self.document)
    }

    pub(crate) fn go_to(&mut self, position: usize) -> Result<()> {
        self.history.go_to(&mut self.document, position)
    }

    pub(crate) fn commit(&mut self) -> Result<()> {
        self.history.commit(&mut self.document)
    }

    pub(crate) fn rollback(&mut self) -> Result<()> {
        self.history.rollback(&mut self.document)
    }

    pub(crate) fn text(&self) -> String {
        self.document.text()
    }

    /// Length and position.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.history.entries().len(), self.history.position())
    }

    /// What the entries are called.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.history.entries().map(|entry| entry.label.to_string()).collect()
    }

    /// All that can be asked of the history, for comparison.
    pub(crate) fn state(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let history = &self.history;
        let texts = (history.undo_text(), history.redo_text());
        let able = (history.can_undo(), history.can_redo(), history.is_modified());
        let numbers = (history.state(), history.saved_position(), bytes(history));
        let entries: Vec<_> = history.entries().collect();
        (self.document.clone(), self.place(), texts, able, numbers, entries)
    }

    /// Keeps the events from now on.
    pub(crate) fn listen(&mut self) -> Events {
        let events = Events::default();
        let heard = events.clone();
        self.history
            .subscribe(move |event, history| heard.push(HistoryEvent::heard(event, history)));
        events
    }
}

/// What is done next is an entry of its own.
pub(crate) fn apart<T>(history: &mut History<T>) {
    let drag = history.begin_drag("");
    history.end_drag(drag);
}

/// Writes three words as one entry.
pub(crate) fn build(editor: &mut Editor) -> Result<()> {
    editor.history.edit(&mut editor.document, "Build", |edit| {
        edit.apply(Write("a"))?;
        edit.apply(Write("b"))?;
        edit.apply(Write("c"))
    })
}

/// What a listener hears, with the texts that it asks for then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HistoryEvent {
    Position(usize),
    State(u64),
    CanUndo(bool),
    UndoText(String),
    CanRedo(bool),
    RedoText(String),
    Modified(bool),
}

impl HistoryEvent {
    pub(crate) fn heard<T>(event: &history::HistoryEvent, history: &History<T>) -> Self {
        match event {
            history::HistoryEvent::Position(position) => Self::Position(*position),
            history::HistoryEvent::State(state) => Self::State(*state),
            history::HistoryEvent::CanUndo(can_undo) => Self::CanUndo(*can_undo),
            history::HistoryEvent::UndoText => Self::UndoText(history.undo_text()),
            history::HistoryEvent::CanRedo(can_redo) => Self::CanRedo(*can_redo),
            history::HistoryEvent::RedoText => Self::RedoText(history.redo_text()),
            history::HistoryEvent::Modified(is_modified) => Self::Modified(*is_modified),
            other => panic!("{other:?}"),
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<HistoryEvent>>>);

impl Events {
    pub(crate) fn push(&self, event: HistoryEvent) {
        self.0.lock().expect("nobody panicked").push(event);
    }

    pub(crate) fn take(&self) -> Vec<HistoryEvent> {
        std::mem::take(&mut *self.0.lock().expect("nobody panicked"))
    }
}

/// Runs what panics on purpose.
pub(crate) fn panics(run: impl FnOnce()) {
    let run = std::panic::AssertUnwindSafe(run);
    let panic = std::panic::catch_unwind(run).expect_err("a panic");
    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
}

/// What is refused, of this kind.
pub(crate) fn refused<R: std::fmt::Debug>(result: Result<R>, kind: ErrorKind) -> String {
    let error = result.expect_err("an error");
    assert_eq!(error.kind(), kind, "{error}");
    error.to_string()
}
