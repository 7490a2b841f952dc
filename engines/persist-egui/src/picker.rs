//! [`Picker`], a list from which the user picks an object for a reference.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{Key, PopupCloseBehavior, Response, ScrollArea, TextEdit, Ui};
use persist::reflect::HandleValue;
use persist::{ObjectId, Value, World};

use crate::button;
use crate::field::{FieldsUi, Part};
use crate::objects::title;

/// The list of objects, with the state of its search.
#[derive(Default)]
pub(crate) struct Picker {
    query: String,
    found: Vec<ObjectId>,
    /// The query and the number of objects of the last search.
    source: Option<(String, usize)>,
    /// The last frame in which the list was shown.
    shown: u64,
}

/// The object that the user picked, or none.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Picked {
    Nothing,
    Object(ObjectId),
}

impl Picker {
    /// Shows a button that opens the list; returns its response, and what the user picked.
    pub(crate) fn button(
        &mut self,
        ui: &mut Ui,
        world: &World,
        text: &str,
        nothing: &str,
    ) -> (Response, Option<Picked>) {
        let mut picked = None;
        let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        let (response, _) = MenuButton::new(text).config(config).ui(ui, |ui| {
            picked = self.list(ui, world, nothing);
            if picked.is_some() {
                ui.close();
            }
        });
        (response, picked)
    }

    fn list(&mut self, ui: &mut Ui, world: &World, nothing: &str) -> Option<Picked> {
        let frame = ui.ctx().cumulative_frame_nr();
        let is_opened = frame > self.shown + 1;
        if is_opened {
            (self.query, self.source) = (String::new(), None);
        }
        self.shown = frame;
        ui.set_min_width(160.0);
        let edit = TextEdit::singleline(&mut self.query).hint_text("search by name");
        let search = ui.add(edit).on_hover_text("Search by name");
        if is_opened {
            search.request_focus();
        }
        self.find(world);
        let mut picked = None;
        let is_entered = search.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if let ([only], true) = (&*self.found, is_entered && !self.query.is_empty()) {
            picked = Some(Picked::Object(*only));
        }
        if self.query.is_empty() && ui.selectable_label(false, nothing).clicked() {
            picked = Some(Picked::Nothing);
        }
        let height = ui.spacing().interact_size.y;
        ScrollArea::vertical().max_height(240.0).show_rows(
            ui,
            height,
            self.found.len(),
            |ui, rows| {
                for object in &self.found[rows] {
                    // The search only notices another number of objects: an object may have replaced this one.
                    if !world.contains(*object) {
                        ui.weak("(removed)");
                        continue;
                    }
                    if ui.selectable_label(false, title(world, *object)).clicked() {
                        picked = Some(Picked::Object(*object));
                    }
                }
            },
        );
        picked
    }

    /// Searches for objects, unless neither the query nor the number of objects has changed.
    fn find(&mut self, world: &World) {
        let source = (self.query.clone(), world.objects().len());
        if self.source.as_ref() == Some(&source) {
            return;
        }
        let query = self.query.to_lowercase();
        let is_named = |object: &ObjectId| {
            query.is_empty() || title(world, *object).to_lowercase().contains(&query)
        };
        self.found = world.objects().filter(is_named).collect();
        self.source = Some(source);
    }
}

impl FieldsUi<'_> {
    /// Shows a reference to an object, or an option of one; returns true if the user changed it.
    pub(crate) fn reference(
        &mut self,
        ui: &mut Ui,
        part: &mut Part<'_>,
        label: Option<&Response>,
    ) -> bool {
        let Some(world) = self.world else { return false };
        let target = part.value.as_object_id();
        let text = match target {
            Some(target) if world.contains(target) => title(world, target),
            Some(target) => format!("object {} (removed)", target.get()),
            None => String::from("nothing"),
        };
        let (response, picked) = self.picker.button(ui, world, &text, "nothing");
        // The text is the value for screen readers, since the label of the button is the label of the field.
        ui.ctx().accesskit_node_builder(response.id, |node| node.set_value(text.clone()));
        if let Some(label) = label {
            response.labelled_by(label.id);
        }
        if let Some(target) = target.filter(|target| world.contains(*target))
            && button::sign(ui, "›", &format!("Select {text}")).clicked()
        {
            self.target = Some(target);
        }
        let new = match picked {
            None => return false,
            Some(Picked::Nothing) => None,
            Some(Picked::Object(object)) => Some(object),
        };
        if new == target {
            return false;
        }
        let handle = |object: ObjectId| Value::Handle(HandleValue::Live(object.get()));
        *part.value = match (&*part.value, new) {
            (Value::Option(_), new) => Value::Option(new.map(handle).map(Box::new)),
            (_, Some(object)) => handle(object),
            (_, None) => Value::Handle(HandleValue::Null),
        };
        self.set(ui, part)
    }
}
