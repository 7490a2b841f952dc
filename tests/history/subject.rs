//! A target with its history, in a session or not.

use std::any::Any;
use std::hash::Hash;

use persist::codec::Reflect;
use persist::history::{Capacity, Drag, Editable, Flush, Label, SessionOptions};
use persist::{FieldPath, History, Persist, Result, SaveOptions, Saves, Session, Value};
use persist_tests::support::disk::Disk;

const SAVE: &str = "target.sav";
const JOURNAL: &str = "target.journal";

/// Bytes of entries that a session keeps in memory: those of a few.
const MEMORY: usize = 3_000;

#[expect(clippy::large_enum_variant, reason = "there is one of them")]
pub(crate) enum Subject<T: 'static> {
    Plain(T, History<T>),
    Session(Option<Session<T>>, Disk),
}

/// A method of both, of which a history gets its target.
macro_rules! with_target {
    ($self:ident.$name:ident($($value:expr),*)) => {
        match $self {
            Self::Plain(target, history) => history.$name(target, $($value),*),
            Self::Session(session, _) => session.as_mut().unwrap().$name($($value),*),
        }
    };
}

macro_rules! alone {
    ($self:ident.$name:ident($($value:expr),*)) => {
        match $self {
            Self::Plain(_, history) => history.$name($($value),*),
            Self::Session(session, _) => session.as_mut().unwrap().$name($($value),*),
        }
    };
}

impl<T: Editable + Persist + Default> Subject<T> {
    /// A session that keeps few entries in memory, and begins with a save of the target.
    pub(crate) fn session(saves: Saves, target: &T, history: History<T>) -> Self {
        let disk = Disk::default();
        let saves = on(saves, &disk);
        saves.file(SAVE).save(target).expect("a save");
        let session = open(Session::with(saves, history));
        Self::Session(Some(session), disk)
    }

    /// Ends a session, and begins one where it was, without the time that a save would take.
    pub(crate) fn reopen(&mut self, saves: Saves, history: History<T>) {
        if let Self::Session(session, disk) = self {
            drop(session.take());
            *session = Some(open(Session::with(on(saves, disk), history)));
        }
    }

    pub(crate) fn target(&self) -> &T {
        match self {
            Self::Plain(target, _) => target,
            Self::Session(session, _) => session.as_ref().unwrap().target(),
        }
    }

    pub(crate) fn history(&self) -> &History<T> {
        match self {
            Self::Plain(_, history) => history,
            Self::Session(session, _) => session.as_ref().unwrap().history(),
        }
    }

    pub(crate) fn edit<R>(
        &mut self,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R> {
        with_target!(self.edit(label, edit))
    }

    pub(crate) fn edit_merging<R>(
        &mut self,
        key: impl Hash,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R> {
        with_target!(self.edit_merging(key, label, edit))
    }

    pub(crate) fn undo(&mut self) -> Result<bool> {
        with_target!(self.undo())
    }

    pub(crate) fn redo(&mut self) -> Result<bool> {
        with_target!(self.redo())
    }

    pub(crate) fn go_to(&mut self, position: usize) -> Result<()> {
        with_target!(self.go_to(position))
    }

    pub(crate) fn commit(&mut self) -> Result<()> {
        with_target!(self.commit())
    }

    pub(crate) fn rollback(&mut self) -> Result<()> {
        with_target!(self.rollback())
    }

    pub(crate) fn clear(&mut self) -> Result<()> {
        with_target!(self.clear())
    }

    pub(crate) fn set_capacity(&mut self, capacity: impl Into<Capacity>) {
        with_target!(self.set_capacity(capacity));
    }

    pub(crate) fn begin(&mut self, label: &str) -> Result<()> {
        alone!(self.begin(label))
    }

    pub(crate) fn begin_drag(&mut self, label: &str) -> Drag {
        alone!(self.begin_drag(label))
    }

    pub(crate) fn end_drag(&mut self, drag: Drag) {
        alone!(self.end_drag(drag));
    }

    /// Saves the target, or says so; or says that it is not saved.
    pub(crate) fn mark(&mut self, is_saved: bool) {
        match self {
            Self::Session(Some(session), _) if is_saved => drop(session.save().expect("a save")),
            _ => alone!(self.set_modified(!is_saved)).expect("no transaction is open"),
        }
    }

    /// What is done next is an entry of its own.
    pub(crate) fn apart(&mut self) {
        let drag = self.begin_drag("");
        self.end_drag(drag);
    }
}

impl<T: Reflect + Persist + Default> Subject<T> {
    pub(crate) fn set_field(&mut self, path: &str, value: impl Into<Value>) -> Result<Value> {
        with_target!(self.set_field(path, value))
    }

    pub(crate) fn edit_at<P: Any, R>(
        &mut self,
        path: FieldPath,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut P) -> Result<R>,
    ) -> Result<R> {
        with_target!(self.edit_at(path, label, edit))
    }
}

fn on(saves: Saves, disk: &Disk) -> Saves {
    saves.storage(disk.clone()).save_options(SaveOptions::new().wait(std::time::Duration::ZERO))
}

fn open<T: Persist + Default>(options: SessionOptions<T>) -> Session<T> {
    let options = options.flush(Flush::OnIdle).memory(MEMORY);
    let (session, recovered) = options.open(SAVE, JOURNAL).expect("a session");
    assert!(recovered.stopped.is_none() && recovered.kept.is_empty(), "{recovered}");
    session
}
