//! Sessions that are driven, and what they are expected to be.

use persist::history::{Drag, Flush, Recovered, SessionOptions};
use persist::{History, Result, SaveOptions, Saves, Session};

use super::document::{Chapter, Document, Insert, Look, Remove, Rename, Type, history, session_of};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Disk, Image};

pub(crate) fn saves_on(disk: &Disk) -> Saves {
    let options = SaveOptions::new().wait(std::time::Duration::ZERO);
    Saves::new().storage(disk.clone()).save_options(options)
}

pub(crate) fn options(disk: &Disk) -> Result<SessionOptions<Document>> {
    session_of(saves_on(disk), history(None))
}

pub(crate) fn open(disk: &Disk) -> Result<(Session<Document>, Recovered)> {
    options(disk)?.open(SAVE, JOURNAL)
}

/// All that can be seen of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) document: Document,
    pub(crate) labels: Vec<String>,
    pub(crate) position: usize,
    pub(crate) state: u64,
    pub(crate) saved: Option<usize>,
    pub(crate) is_modified: bool,
    pub(crate) texts: (String, String),
    pub(crate) can_undo: bool,
}

impl Seen {
    pub(crate) fn of(document: &Document, history: &History<Document>) -> Self {
        Self {
            document: document.clone(),
            labels: history.entries().map(|entry| entry.label.to_string()).collect(),
            position: history.position(),
            state: history.state(),
            saved: history.saved_position(),
            is_modified: history.is_modified(),
            texts: (history.undo_text(), history.redo_text()),
            can_undo: history.can_undo(),
        }
    }
}

/// A session with a naive history of whole documents beside it.
pub(crate) struct Driver {
    pub(crate) session: Session<Document>,
    disk: Disk,
    /// The document at each position.
    documents: Vec<Document>,
    /// The files and what they lead to, behind each step.
    pub(crate) log: Vec<Logged>,
    /// What was before the outermost transaction that is open.
    before: Option<(Seen, Vec<Document>)>,
    depth: usize,
    drag: Option<Drag>,
}

/// What the files on a disk lead to.
#[derive(Clone)]
pub(crate) struct Logged {
    pub(crate) image: Image,
    pub(crate) seen: Seen,
    pub(crate) documents: Vec<Document>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    Rename(u32),
    Insert(u32),
    Remove,
    Type(u32),
    Barrier,
    Drag,
    Drop,
    Chapter(bool),
    Look,
    Undo,
    Redo,
    GoTo(usize),
    Begin,
    Commit,
    Rollback,
    Save,
    Unsave,
    Clear,
}

/// A session with all that can happen in it.
pub(crate) const SCRIPT: &[Action] = {
    use Action::*;
    &[
        Rename(1),
        Insert(2),
        Type(3),
        Type(4),
        Barrier,
        Type(5),
        Undo,
        Undo,
        Redo,
        Insert(6),
        Chapter(false),
        Undo,
        Redo,
        Chapter(true),
        Undo,
        Undo,
        Redo,
        Redo,
        Look,
        Begin,
        Insert(7),
        Begin,
        Type(8),
        Rollback,
        Rename(9),
        Commit,
        Undo,
        Redo,
        Begin,
        Insert(10),
        Commit,
        Save,
        Insert(11),
        Undo,
        Undo,
        Undo,
        Redo,
        Insert(12),
        Undo,
        Drag,
        Type(20),
        Insert(21),
        Insert(22),
        Save,
        Rename(23),
        Type(24),
        Undo,
        Insert(25),
        Insert(26),
        Drop,
        Insert(27),
        Undo,
        Undo,
        Undo,
        Remove,
        Undo,
        Undo,
        GoTo(1),
        GoTo(4),
        Unsave,
        Type(13),
        Begin,
        Type(14),
        Begin,
        Rename(15),
        Commit,
        Commit,
        Undo,
        Save,
        Undo,
        Remove,
        Clear,
        Insert(16),
        Begin,
        Rename(17),
        Begin,
        Insert(18),
    ]
};

impl Driver {
    pub(crate) fn new(disk: &Disk) -> Result<Self> {
        Self::with(disk, options(disk)?)
    }

    pub(crate) fn with(disk: &Disk, options: SessionOptions<Document>) -> Result<Self> {
        let (session, _) = options.open(SAVE, JOURNAL)?;
        let documents = vec![session.target().clone()];
        let disk = disk.clone();
        let (log, before, depth, drag) = (Vec::new(), None, 0, None);
        let mut driver = Self { session, disk, documents, log, before, depth, drag };
        driver.note();
        Ok(driver)
    }

    /// A whole script.
    pub(crate) fn run(disk: &Disk, script: &[Action]) -> Result<Self> {
        let mut driver = Self::new(disk)?;
        script.iter().try_for_each(|action| driver.act(*action))?;
        Ok(driver)
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen::of(self.session.target(), self.session.history())
    }

    fn note(&mut self) {
        let now = (self.seen(), self.documents.clone());
        let (seen, documents) = self.before.clone().unwrap_or(now);
        self.log.push(Logged { image: self.disk.image(), seen, documents });
    }

    pub(crate) fn act(&mut self, action: Action) -> Result<()> {
        let before = (self.seen(), self.documents.clone());
        let session = &mut self.session;
        match action {
            Action::Rename(to) => session.apply(Rename { title: format!("title {to}") })?,
            Action::Insert(line) => {
                {
                    // Some are longer than a sector.
                    let more = "x".repeat(if line % 4 == 2 { 700 } else { 0 });
                    session.apply(Insert { at: 0, line: format!("line {line}{more}") })?;
                }
            }
            Action::Remove => session.apply(Remove { at: 0, removed: None })?,
            Action::Type(text) => session.apply(Type { text: format!("{text} ") })?,
            Action::Barrier => {
                let drag = session.begin_drag("");
                session.end_drag(drag);
            }
            Action::Drag => self.drag = Some(session.begin_drag("Drag")),
            Action::Drop => self.drag = None,
            Action::Chapter(is_direct) => {
                session.apply(Chapter { name: String::from("chapter"), is_direct })?;
            }
            Action::Look => session.apply(Look)?,
            Action::Undo => assert!(session.undo()? || !session.history().can_undo()),
            Action::Redo => assert!(session.redo()? || !session.history().can_redo()),
            Action::GoTo(position) => session.go_to(position)?,
            Action::Begin => {
                session.begin("Group")?;
                self.depth += 1;
                self.before.get_or_insert(before);
            }
            Action::Commit | Action::Rollback => {
                if action == Action::Commit {
                    session.commit()?;
                } else {
                    session.rollback()?;
                }
                self.depth -= 1;
                if self.depth == 0 {
                    self.before = None;
                }
            }
            Action::Save => drop(session.save()?),
            Action::Unsave => session.set_modified(true)?,
            Action::Clear => session.clear()?,
        }
        let (position, len) = (session.history().position(), session.history().entries().len());
        if self.depth == 0 {
            if action == Action::Clear {
                self.documents.clear();
            }
            // What is done last is at the end.
            self.documents.truncate(len + 1);
            let document = session.target().clone();
            if self.documents.len() <= position {
                assert_eq!(self.documents.len(), position);
                self.documents.push(document);
            } else {
                self.documents[position] = document;
            }
        }
        self.note();
        Ok(())
    }
}

/// Opens what is on a disk, and compares it with what is expected there, undone and redone as well.
pub(crate) fn check(image: &Image, logged: &Logged, what: &str) -> Recovered {
    let disk = Disk::new(image.clone());
    let opened =
        options(&disk).and_then(|options| options.flush(Flush::OnIdle).open(SAVE, JOURNAL));
    let (mut session, recovered) = opened.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(Seen::of(session.target(), session.history()), logged.seen, "{what}");
    for position in
        (0..=session.history().entries().len()).rev().chain(0..=session.history().entries().len())
    {
        session.go_to(position).unwrap();
        assert_eq!(*session.target(), logged.documents[position], "{what}, position {position}");
    }
    recovered
}

impl Driver {
    /// Another session on the same disk.
    pub(crate) fn go_on(disk: &Disk, logged: Logged) -> Result<Self> {
        let mut driver = Self::new(disk)?;
        driver.documents = logged.documents;
        driver.log.clear();
        driver.note();
        assert_eq!(driver.log[0].seen, logged.seen);
        Ok(driver)
    }
}
