//! The window of the editor, with its menu, keys, clipboard and panels.

use std::mem;
use std::time::Duration;

use eframe::egui::{
    Button, CentralPanel, Context, Event, Frame, Id, Key, KeyboardShortcut, MenuBar, Modifiers,
    Panel, Ui, ViewportCommand,
};
use persist::history::Recovered;
use persist::world::{ExternalIds, Prefab};
use persist::{Error, ErrorKind, ObjectId, Result, Session};
use persist_egui::{Inspector, history_window, recovered_banner, title};

use crate::level::{Place, TEMPLATES, Template};
use crate::view::View;

/// The interval at which the journal is flushed to disk.
pub const FLUSHES: Duration = Duration::from_secs(1);

/// A level in a window.
pub struct Editor {
    session: Session,
    view: View,
    /// The inspector, which also holds the selection.
    inspector: Inspector,
    shows_history: bool,
    recovered: Option<Recovered>,
    /// The result of the last action.
    status: String,
    title: String,
    /// True if the user asked for a save while typing a text.
    is_to_save: bool,
}

/// An action of the menu or of a key.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Action {
    Save,
    Undo,
    Redo,
    Copy,
    Paste,
    Duplicate,
    Delete,
    Crash,
}

impl Action {
    /// The keys of actions. Copy and paste are missing: egui reports them as separate events.
    const KEYS: [(Action, KeyboardShortcut); 6] = [
        (Action::Redo, KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z)),
        (Action::Undo, KeyboardShortcut::new(Modifiers::COMMAND, Key::Z)),
        (Action::Redo, KeyboardShortcut::new(Modifiers::COMMAND, Key::Y)),
        (Action::Save, KeyboardShortcut::new(Modifiers::COMMAND, Key::S)),
        (Action::Duplicate, KeyboardShortcut::new(Modifiers::COMMAND, Key::D)),
        (Action::Delete, KeyboardShortcut::new(Modifiers::NONE, Key::Delete)),
    ];

    fn key(self) -> Option<KeyboardShortcut> {
        match self {
            Action::Copy => Some(KeyboardShortcut::new(Modifiers::COMMAND, Key::C)),
            Action::Paste => Some(KeyboardShortcut::new(Modifiers::COMMAND, Key::V)),
            _ => Self::KEYS.iter().find(|(action, _)| *action == self).map(|(_, key)| *key),
        }
    }
}

impl eframe::App for Editor {
    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        let context = ui.ctx().clone();
        let typing = self.keys(&context);
        Panel::top("menu").show(ui, |ui| MenuBar::new().ui(ui, |ui| self.menu(ui)));
        Panel::bottom("status").show(ui, |ui| ui.label(&self.status));
        if self.recovered.is_some() {
            Panel::top("recovered").show(ui, |ui| recovered_banner(ui, &mut self.recovered));
        }
        let selected = self.inspector.selected();
        Panel::right("inspector").default_size(390.0).show(ui, |ui| {
            self.inspector.show(ui, &mut self.session);
        });
        history_window(&context, &mut self.session, &mut self.shows_history);
        CentralPanel::default().frame(Frame::NONE).show(ui, |ui| {
            let shown = self.view.show(ui, &mut self.session, &mut self.inspector);
            self.report(shown);
        });

        if let Some(field) = typing {
            self.act(&context, Action::Save);
            context.memory_mut(|memory| memory.request_focus(field));
        }
        let ticked = self.session.tick();
        self.report(ticked);
        // The inspector was drawn before a click into the level changed the selection: draw another frame at once.
        let is_stale = self.inspector.selected() != selected;
        context.request_repaint_after(if is_stale { Duration::ZERO } else { FLUSHES });
        self.show_title(&context);
    }

    // The window closes without a question: the journal has the unsaved changes.
}

impl Editor {
    pub fn new(session: Session, recovered: Recovered) -> Self {
        Self {
            session,
            view: View::default(),
            inspector: Inspector::default(),
            shows_history: false,
            recovered: Some(recovered),
            status: String::from(
                "drag objects; move the level by another button, and zoom by the wheel",
            ),
            title: String::new(),
            is_to_save: false,
        }
    }

    /// Executes the actions of pressed keys.
    ///
    /// If a save was requested while a text field had the focus, takes the focus from the field and returns it. The
    /// save must wait until the inspector has applied the typed text.
    fn keys(&mut self, context: &Context) -> Option<Id> {
        // Text fields handle keys themselves.
        if context.text_edit_focused() {
            let key = Action::Save.key()?;
            self.is_to_save |= context.input_mut(|input| input.consume_shortcut(&key));
            // First let the field receive the text that was typed in the same frame.
            let is_typed = context.input(|input| input.events.iter().any(is_typing));
            if self.is_to_save && is_typed {
                context.request_repaint();
            }
            if !self.is_to_save || is_typed {
                return None;
            }
            self.is_to_save = false;
            return context.memory_mut(|memory| {
                let field = memory.focused()?;
                memory.surrender_focus(field);
                Some(field)
            });
        }
        if mem::take(&mut self.is_to_save) {
            self.act(context, Action::Save);
        }
        for (action, key) in Action::KEYS {
            if context.input_mut(|input| input.consume_shortcut(&key)) {
                self.act(context, action);
            }
        }
        for event in context.input(|input| input.events.clone()) {
            match event {
                Event::Copy => self.act(context, Action::Copy),
                Event::Paste(text) => {
                    let pasted = self.paste(&text);
                    self.report(pasted);
                }
                _ => {}
            }
        }
        None
    }

    fn menu(&mut self, ui: &mut Ui) {
        let (undo, redo) = (self.session.history().undo_text(), self.session.history().redo_text());
        let (can_undo, can_redo) =
            (self.session.history().can_undo(), self.session.history().can_redo());
        let is_selected = self.selected().is_some();
        ui.menu_button("File", |ui| {
            self.item(ui, "Save", Action::Save, true);
            ui.separator();
            self.item(ui, "Crash", Action::Crash, true);
        });
        ui.menu_button("Edit", |ui| {
            self.item(ui, &undo, Action::Undo, can_undo);
            self.item(ui, &redo, Action::Redo, can_redo);
            ui.separator();
            self.item(ui, "Copy", Action::Copy, is_selected);
            self.item(ui, "Paste", Action::Paste, true);
            self.item(ui, "Duplicate", Action::Duplicate, is_selected);
            self.item(ui, "Delete", Action::Delete, is_selected);
            ui.separator();
            ui.toggle_value(&mut self.shows_history, "History");
        });
        ui.menu_button("Add", |ui| {
            for template in TEMPLATES {
                if ui.button(template.0).clicked() {
                    let added = self.add(template);
                    self.report(added);
                }
            }
        });
    }

    fn item(&mut self, ui: &mut Ui, text: &str, action: Action, is_enabled: bool) {
        // The text is empty if there is nothing to undo.
        let text = if text.is_empty() { format!("{action:?}") } else { text.to_owned() };
        let button = match action.key() {
            Some(key) => Button::new(text).shortcut_text(ui.ctx().format_shortcut(&key)),
            None => Button::new(text),
        };
        if ui.add_enabled(is_enabled, button).clicked() {
            self.act(&ui.ctx().clone(), action);
        }
    }

    fn act(&mut self, context: &Context, action: Action) {
        let done = match action {
            Action::Save => self.session.save().map(|_| self.status = String::from("saved")),
            Action::Undo => {
                let text = self.session.history().undo_text();
                self.session.undo().map(|_| self.status = text)
            }
            Action::Redo => {
                let text = self.session.history().redo_text();
                self.session.redo().map(|_| self.status = text)
            }
            Action::Copy => self.copy(context),
            Action::Paste => {
                context.send_viewport_cmd(ViewportCommand::RequestPaste);
                Ok(())
            }
            Action::Duplicate => self.duplicate(),
            Action::Delete => self.delete(),
            // Like a crash by a bug, this saves nothing and runs no destructors.
            Action::Crash => std::process::abort(),
        };
        self.report(done);
    }

    /// Shows an error. The edit that caused it was rolled back.
    fn report(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.status = error.to_string();
        }
    }

    fn add(&mut self, (name, make): Template) -> Result<()> {
        let place = self.view.middle(self.session.world());
        let object = self.session.edit(format!("Add {name}"), |edit| make(edit, place))?;
        self.inspector.select(Some(object));
        Ok(())
    }

    /// Copies the selected object to the clipboard, as a prefab in hexadecimal text.
    fn copy(&mut self, context: &Context) -> Result<()> {
        let Some(object) = self.selected() else { return Ok(()) };
        let prefab = self.session.world().prefab(object)?;
        context.copy_text(prefab.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect());
        self.status = format!("copied {}", self.name(object));
        Ok(())
    }

    fn paste(&mut self, text: &str) -> Result<()> {
        let byte =
            |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
        let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(byte).collect();
        let bytes =
            bytes.ok_or_else(|| Error::new(ErrorKind::NotASave, "the clipboard has no object"))?;
        let prefab = self.session.saves().from_slice::<Prefab>(&bytes)?;
        let place = self.view.middle(self.session.world());
        let object = self.session.edit("Paste", |edit| {
            // References to objects outside of the prefab are cleared: their ids belong to other objects in another
            // level.
            let object = edit.instantiate(&prefab, ExternalIds::Clear)?;
            edit.attach(object, place)?;
            Ok(object)
        })?;
        self.inspector.select(Some(object));
        self.status = format!("pasted {}", self.name(object));
        Ok(())
    }

    fn duplicate(&mut self) -> Result<()> {
        let Some(object) = self.selected() else { return Ok(()) };
        let world = self.session.world();
        let (prefab, parent) = (world.prefab(object)?, world.parent(object));
        let place = world.get::<Place>(object).copied().unwrap_or_default();
        let copy = self.session.edit(format!("Duplicate {}", self.name(object)), |edit| {
            let copy = edit.instantiate(&prefab, ExternalIds::Keep)?;
            edit.set_parent(copy, parent)?;
            edit.attach(copy, Place { x: place.x + 16.0, y: place.y + 16.0 })?;
            Ok(copy)
        })?;
        self.inspector.select(Some(copy));
        Ok(())
    }

    fn delete(&mut self) -> Result<()> {
        let Some(object) = self.selected() else { return Ok(()) };
        self.session.edit(format!("Delete {}", self.name(object)), |edit| edit.remove(object))
    }

    /// Returns the selected object, unless it was removed, for example by an undo.
    fn selected(&self) -> Option<ObjectId> {
        self.inspector.selected().filter(|object| self.session.world().contains(*object))
    }

    fn name(&self, object: ObjectId) -> String {
        String::from(self.session.world().name(object).unwrap_or("object"))
    }

    /// Shows the name of the file in the title, with a mark if there are unsaved changes.
    fn show_title(&mut self, context: &Context) {
        let file = self.session.save_path().file_name().unwrap_or_default().to_string_lossy();
        let title = title(&file, self.session.history());
        if title != self.title {
            context.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }
}

fn is_typing(event: &Event) -> bool {
    matches!(event, Event::Text(_) | Event::Ime(_) | Event::Key { pressed: true, .. })
}
