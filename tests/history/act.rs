//! The command of random calls.

use std::cell::RefCell;
use std::collections::BTreeSet;

use persist::history::{CommandEdit, FinalState, Label, Merge};
use persist::{Command, Result};

use super::document::{Document, ask, tell};
use super::steps::{Leaf, NAMES};

/// Bytes that each command says it holds, far more than what it takes besides.
pub(super) const WEIGHT: usize = 1_000_000;

thread_local! {
    pub(super) static FADED: RefCell<BTreeSet<usize>> = const { RefCell::new(BTreeSet::new()) };
}

/// A command that does what a leaf says.
pub(super) struct Act {
    id: usize,
    leaf: Leaf,
    old: Document,
    /// Whether it would change nothing.
    is_nothing: bool,
}

impl Act {
    pub(super) fn of(document: &Document, leaf: &Leaf, id: usize) -> Self {
        let is_nothing = match leaf {
            Leaf::Put(name, new) => document.number(NAMES[*name]) == *new,
            _ => false,
        };
        // It keeps all of the old document, so that it cannot but put it back.
        Self { id, leaf: leaf.clone(), old: document.clone(), is_nothing }
    }

    fn run(&self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        match &self.leaf {
            Leaf::Put(name, new) => edit.target().put(NAMES[*name], *new),
            Leaf::Plus(name, by) => {
                let sum = edit.number(NAMES[*name]) + by;
                edit.target().put(NAMES[*name], sum);
            }
            Leaf::Push => edit.target().words.push(self.id.to_string()),
            Leaf::Pick(pick) => edit.target().selected = *pick,
            Leaf::Fade => drop(edit.target()),
            Leaf::Pack(inner, is_direct) => {
                if *is_direct {
                    edit.target().words.push(self.id.to_string());
                }
                let mut id = self.id;
                for leaf in inner {
                    id += 1;
                    let act = Self::of(edit, leaf, id);
                    edit.apply(act).inspect_err(|_| {
                        // What it did directly it takes back itself, and before the others.
                        let own = self.id.to_string();
                        edit.target().words.retain(|word| !is_direct || *word != own);
                    })?;
                }
            }
        }
        Ok(())
    }
}

impl Command<Document> for Act {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        ask(&format!("apply {}", self.id))?;
        self.run(edit)
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        ask(&format!("undo {}", self.id))?;
        match &self.leaf {
            Leaf::Put(name, _) => document.put(NAMES[*name], self.old.number(NAMES[*name])),
            Leaf::Plus(name, by) => {
                document.put(NAMES[*name], document.number(NAMES[*name]) - by);
            }
            Leaf::Push | Leaf::Pack(..) => {
                assert_eq!(document.words.pop(), Some(self.id.to_string()), "in the wrong order");
            }
            Leaf::Pick(_) => document.selected = self.old.selected,
            Leaf::Fade => {}
        }
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        ask(&format!("redo {}", self.id))?;
        self.run(edit)
    }

    fn merge(&mut self, next: &Self) -> Result<Merge> {
        ask(&format!("merge {}", next.id))?;
        match (&mut self.leaf, &next.leaf) {
            (Leaf::Put(name, new), Leaf::Put(other, newer)) if name == other => {
                *new = *newer;
                let is_back = self.old.number(NAMES[*name]) == *new;
                Ok(if is_back { Merge::Annul } else { Merge::Yes })
            }
            (Leaf::Pick(pick), Leaf::Pick(other)) => {
                *pick = *other;
                Ok(Merge::Yes)
            }
            _ => Ok(Merge::No),
        }
    }

    fn label(&self) -> Label {
        let text = match &self.leaf {
            Leaf::Put(name, new) => format!("Put {} {new}", NAMES[*name]),
            Leaf::Plus(name, _) => format!("Plus {}", NAMES[*name]),
            Leaf::Push => format!("Push {}", self.id),
            Leaf::Pick(_) => "Pick".into(),
            Leaf::Fade => "Fade".into(),
            Leaf::Pack(..) => format!("Pack {}", self.id),
        };
        text.into()
    }

    fn is_significant(&self) -> bool {
        !matches!(self.leaf, Leaf::Pick(_) | Leaf::Pack(_, false))
    }

    fn is_obsolete(&self) -> bool {
        self.is_nothing || FADED.with_borrow(|faded| faded.contains(&self.id))
    }

    fn finalize(&mut self, _: &mut Document, end: FinalState) {
        tell(&format!("end {} {end:?}", self.id));
    }

    fn held_bytes(&self) -> usize {
        WEIGHT
    }
}
