//! A document of lines, and commands that change it in all the ways there are.

use std::time::Duration;

use persist::history::{CommandEdit, Label, Merge, SessionOptions};
use persist::{Command, Error, ErrorKind, History, Persist, Result, Saves, Session};

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub(crate) struct Document {
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
}

fn gone() -> Error {
    Error::new(ErrorKind::NotFound, "there is no such line")
}

/// Takes itself back by a swap: what it holds depends on whether it is done.
#[derive(Persist)]
pub(crate) struct Rename {
    pub(crate) title: String,
}

impl Rename {
    fn swap(&mut self, document: &mut Document) {
        std::mem::swap(&mut document.title, &mut self.title);
    }
}

impl Command<Document> for Rename {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        self.swap(edit.target());
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        self.swap(document);
        Ok(())
    }

    fn label(&self) -> Label {
        "Rename".into()
    }
}

/// Holds the same, done or not.
#[derive(Persist)]
pub(crate) struct Insert {
    pub(crate) at: u32,
    pub(crate) line: String,
}

impl Command<Document> for Insert {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        if self.at as usize > edit.lines.len() {
            return Err(gone());
        }
        edit.target().lines.insert(self.at as usize, self.line.clone());
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        if self.at as usize >= document.lines.len() {
            return Err(gone());
        }
        document.lines.remove(self.at as usize);
        Ok(())
    }

    fn label(&self) -> Label {
        Label::from(format!("Insert {}", self.line)).action("Insert")
    }
}

/// Takes up what it needs to be taken back when it is done first.
#[derive(Persist)]
pub(crate) struct Remove {
    pub(crate) at: u32,
    pub(crate) removed: Option<String>,
}

impl Command<Document> for Remove {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        if self.at as usize >= edit.lines.len() {
            return Err(gone());
        }
        self.removed = Some(edit.target().lines.remove(self.at as usize));
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        if self.at as usize > document.lines.len() {
            return Err(gone());
        }
        document.lines.insert(self.at as usize, self.removed.clone().unwrap_or_default());
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        if self.at as usize >= edit.lines.len() {
            return Err(gone());
        }
        edit.target().lines.remove(self.at as usize);
        Ok(())
    }
}

/// Typing, of which many are one.
#[derive(Persist)]
pub(crate) struct Type {
    pub(crate) text: String,
}

impl Command<Document> for Type {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().title.push_str(&self.text);
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        let rest = document.title.strip_suffix(&self.text).ok_or_else(gone)?;
        document.title.truncate(rest.len());
        Ok(())
    }

    fn merge(&mut self, next: &Self) -> Result<Merge> {
        self.text.push_str(&next.text);
        Ok(Merge::Yes)
    }
}

/// Does what others do.
#[derive(Persist)]
pub(crate) struct Chapter {
    pub(crate) name: String,
    /// Whether it changes the document itself as well.
    pub(crate) is_direct: bool,
}

impl Command<Document> for Chapter {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.apply(Rename { title: self.name.clone() })?;
        if self.is_direct {
            edit.target().lines.push(String::from("direct"));
        }
        edit.apply(Insert { at: 0, line: self.name.clone() })
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.lines.pop();
        Ok(())
    }

    fn label(&self) -> Label {
        "Begin chapter".into()
    }
}

/// Changes nothing that is saved.
#[derive(Persist)]
pub(crate) struct Look;

impl Command<Document> for Look {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        let _ = edit.target();
        Ok(())
    }

    fn undo(&mut self, _: &mut Document) -> Result<()> {
        Ok(())
    }

    fn is_significant(&self) -> bool {
        false
    }
}

pub(crate) fn history(capacity: Option<usize>) -> History<Document> {
    let mut history = History::new(capacity);
    history.set_merge_window(Some(Duration::MAX));
    history
}

/// A session that is to be opened, with all commands of documents.
pub(crate) fn session_of(
    saves: Saves,
    history: History<Document>,
) -> Result<SessionOptions<Document>> {
    Session::with(saves, history)
        .register_command::<Rename>()?
        .register_command::<Insert>()?
        .register_command::<Remove>()?
        .register_command::<Type>()?
        .register_command::<Chapter>()?
        .register_command::<Look>()
}
