//! The rivals: commands by hand, over a `Vec` of structs.

use std::ops::ControlFlow;

use undo::Merged;
use undo_2::Action;

use super::subject::{Document, Subject};

/// A record of `undo`, which notes the time of each edit, undo and redo.
pub(crate) struct OfUndo {
    document: Document,
    record: undo::Record<Set>,
}

/// Holds the value that is not in the document.
struct Set {
    object: usize,
    x: f32,
}

impl undo::Edit for Set {
    type Target = Document;
    type Output = ();

    fn edit(&mut self, document: &mut Document) {
        std::mem::swap(&mut document.objects[self.object].x, &mut self.x);
    }

    fn undo(&mut self, document: &mut Document) {
        self.edit(document);
    }

    fn merge(&mut self, next: Self) -> Merged<Self> {
        // This command holds the value from before both.
        if next.object == self.object { Merged::Yes } else { Merged::No(next) }
    }
}

impl OfUndo {
    pub(crate) fn new() -> Self {
        Self { document: Document::new(), record: undo::Record::new() }
    }
}

impl Subject for OfUndo {
    fn clear(&mut self) {
        self.record.clear();
    }

    fn set(&mut self, object: usize, x: f32) {
        self.record.edit(&mut self.document, Set { object, x });
    }

    fn undo(&mut self) -> bool {
        self.record.undo(&mut self.document).is_some()
    }

    fn redo(&mut self) -> bool {
        self.record.redo(&mut self.document).is_some()
    }

    fn x(&self, object: usize) -> f32 {
        self.document.objects[object].x
    }

    fn entries(&self) -> usize {
        self.record.len()
    }
}

/// Commands of `undo_2`, which tells the caller what to do.
pub(crate) struct OfUndo2 {
    document: Document,
    commands: undo_2::Commands<SetFromTo>,
}

#[derive(Clone, Copy)]
struct SetFromTo {
    object: usize,
    old: f32,
    new: f32,
}

impl OfUndo2 {
    pub(crate) fn new() -> Self {
        Self { document: Document::new(), commands: undo_2::Commands::new() }
    }
}

fn interpret<'c>(
    document: &mut Document,
    actions: impl Iterator<Item = (Action, &'c SetFromTo)>,
) -> bool {
    let mut is_any = false;
    for (action, command) in actions {
        is_any = true;
        document.objects[command.object].x = match action {
            Action::Do => command.new,
            Action::Undo => command.old,
        };
    }
    is_any
}

impl Subject for OfUndo2 {
    fn clear(&mut self) {
        self.commands.clear();
    }

    fn set(&mut self, object: usize, x: f32) {
        let old = std::mem::replace(&mut self.document.objects[object].x, x);
        self.commands.push(SetFromTo { object, old, new: x });
        self.commands.merge(|start| {
            let mut end = start.clone();
            match (end.next(), end.next()) {
                (Some(last), Some(before)) if last.object == before.object => {
                    let command = Some(SetFromTo { old: before.old, ..*last });
                    ControlFlow::Break(Some(undo_2::Merge { start, end, command }))
                }
                _ => ControlFlow::Break(None),
            }
        });
    }

    fn undo(&mut self) -> bool {
        interpret(&mut self.document, self.commands.undo())
    }

    fn redo(&mut self) -> bool {
        interpret(&mut self.document, self.commands.redo())
    }

    fn x(&self, object: usize) -> f32 {
        self.document.objects[object].x
    }

    fn entries(&self) -> usize {
        self.commands.iter().filter(|item| matches!(item, undo_2::CommandItem::Command(_))).count()
    }
}
