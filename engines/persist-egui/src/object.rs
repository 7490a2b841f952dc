//! Shows an object, with its name, parent and components, and the resources of a world.

use egui::collapsing_header::CollapsingState;
use egui::{ComboBox, ScrollArea, Ui};
use persist::world::Activity;
use persist::{FieldPath, ObjectId, World};

use crate::button;
use crate::field::FieldsUi;
use crate::objects::title;
use crate::picker::Picked;
use crate::scalar;

/// An action of the user on the selected object.
pub(crate) enum ObjectAction {
    Rename(String),
    Activity(Activity),
    Move(Option<ObjectId>),
    Attach(String),
    Detach(String),
}

/// Shows an object; returns the action of the user, if there is one.
pub(crate) fn show(
    ui: &mut Ui,
    world: &World,
    object: ObjectId,
    fields: &mut FieldsUi<'_>,
) -> Option<ObjectAction> {
    let mut action = None;
    ui.horizontal(|ui| {
        let label = ui.label("Name");
        let (response, new) = scalar::committed(ui, world.name(object).unwrap_or_default());
        response.labelled_by(label.id);
        action = new.map(ObjectAction::Rename);
    });
    ui.horizontal(|ui| {
        let label = ui.label("Parent");
        let parent = world.parent(object);
        let text = parent.map_or_else(|| String::from("none"), |parent| title(world, parent));
        let (response, picked) = fields.picker.button(ui, world, &text, "none");
        response.labelled_by(label.id);
        match picked {
            Some(Picked::Nothing) => action = Some(ObjectAction::Move(None)),
            Some(Picked::Object(picked)) => action = Some(ObjectAction::Move(Some(picked))),
            None => {}
        }
        let activity = world.activity(object).unwrap_or_default();
        let text = format!("{activity:?}");
        let width = ui.available_width().clamp(20.0, ui.spacing().combo_width);
        let combo = ComboBox::from_id_salt("activity").width(width).truncate();
        let response = combo.selected_text(text).show_ui(ui, |ui| {
            for other in [Activity::Active, Activity::Paused] {
                let is_current = other == activity;
                if ui.selectable_label(is_current, format!("{other:?}")).clicked() && !is_current {
                    action = Some(ObjectAction::Activity(other));
                }
            }
        });
        response.response.on_hover_text("Activity");
    });
    let classes = world.classes(object);
    for class in &classes {
        let id = ui.make_persistent_id(("component", class));
        let header = CollapsingState::load_with_default_open(ui.ctx(), id, true);
        let header = header.show_header(ui, |ui| {
            ui.strong(class);
            // Components of unknown classes cannot be detached.
            let is_known = world.component_classes().binary_search(&&**class).is_ok();
            if is_known && button::remove(ui, &format!("Detach {class}")) {
                action = Some(ObjectAction::Detach(class.clone()));
            }
        });
        header.body(|ui| show_content(ui, world, class, fields));
    }
    let free: Vec<&str> = world
        .component_classes()
        .into_iter()
        .filter(|class| !classes.iter().any(|other| other == class))
        .collect();
    if !free.is_empty() {
        ui.menu_button("+ Component", |ui| {
            ScrollArea::vertical().max_height(300.0).show(ui, |ui| {
                for class in free {
                    if ui.button(class).clicked() {
                        action = Some(ObjectAction::Attach(class.to_owned()));
                        ui.close();
                    }
                }
            });
        });
    }
    action
}

/// Shows the resources of a world.
pub(crate) fn show_resources(ui: &mut Ui, world: &World, fields: &mut FieldsUi<'_>) {
    let classes = world.classes(None);
    if classes.is_empty() {
        ui.weak("No object is selected.");
        return;
    }
    for class in &classes {
        let id = ui.make_persistent_id(("resource", class));
        let header = CollapsingState::load_with_default_open(ui.ctx(), id, true);
        let header = header.show_header(ui, |ui| ui.strong(class));
        header.body(|ui| show_content(ui, world, class, fields));
    }
}

/// Shows the fields of a component or a resource.
fn show_content(ui: &mut Ui, world: &World, name: &str, fields: &mut FieldsUi<'_>) {
    let Some(class) = world.registry().class(name) else {
        ui.weak("The program does not have this class. What it holds is kept.");
        return;
    };
    let path = FieldPath::new(name.to_owned());
    let error = match fields.read(&path) {
        Ok(mut value) => {
            fields.whole(ui, class, &mut value, &path);
            return;
        }
        Err(error) => error,
    };
    // A field cannot be read as a value: show the others one by one.
    if class.fields().is_empty() {
        fields.unreadable(ui, name, error.message());
    }
    for field in class.fields().iter().filter(|field| !field.hints.is_hidden) {
        let label = field.hints.label.unwrap_or(field.name);
        match fields.read(&path.clone().field(field.name)) {
            Ok(mut value) => drop(fields.field(ui, field, &mut value, &path)),
            Err(error) => fields.unreadable(ui, label, error.message()),
        }
    }
}
