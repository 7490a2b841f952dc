//! [`Inspector`], with its state, and the conversion of user actions into edits.

use std::sync::{Arc, Mutex, PoisonError};

use egui::{
    Align2, Area, Button, CursorIcon, Frame, Key, Order, RichText, ScrollArea, Sense,
    SurrenderFocusOn, Ui, Vec2,
};
use persist::codec::Reflect;
use persist::history::{Drag, Edit, Label};
use persist::save::Registry;
use persist::world::{ExternalIds, Prefab};
use persist::{Error, ErrorKind, FieldPath, ObjectId, Result, World};

use crate::change::{Change, ValueFields, WorldFields};
use crate::field::{FieldEdit, FieldsUi};
use crate::object::{self, ObjectAction};
use crate::objects::{Action, Objects, title};
use crate::picker::Picker;
use crate::{Edited, button};

/// An inspector with its state: the selection, the search and the open fields.
///
/// [`inspect`] keeps one in egui's memory. Keep one yourself if other views share the selection:
///
/// ```no_run
/// # fn ui(ui: &mut egui::Ui, session: &mut persist::Session, inspector: &mut persist_egui::Inspector) {
/// inspector.show(ui, session);
/// if let Some(object) = inspector.selected() {
///     // The program's own view draws a frame around it.
/// }
/// # }
/// ```
#[derive(Default)]
pub struct Inspector {
    selected: Option<ObjectId>,
    error: Option<String>,
    prefabs: Vec<(String, Prefab)>,
    objects: Objects,
    picker: Picker,
    gesture: Option<Gesture>,
    /// The height of the tree, if the user has dragged the border below it.
    height: Option<f32>,
    /// True after Escape until the mouse button is released: the rest of the cancelled drag is ignored.
    is_cancelled: bool,
}

/// A drag, or the typing of a text, whose edits become one entry.
struct Gesture {
    owner: Option<ObjectId>,
    source: FieldPath,
    /// The field that had the keyboard focus when the gesture began.
    focus: Option<FieldPath>,
    /// The state of the history when the gesture began.
    start: u64,
    drag: Drag,
}

impl Inspector {
    /// Shows the objects of a world, and below them the components of the selected object.
    ///
    /// The user can drag the border between them.
    pub fn show(&mut self, ui: &mut Ui, session: &mut impl Edited<Target = World>) {
        let room = ui.available_height();
        let (min, max) = (80.0, (room - 120.0).max(80.0));
        let height = self.height.unwrap_or_else(|| self.objects.height(ui).min(room * 0.4));
        let height = height.clamp(min, max);
        ui.push_id("objects", |ui| {
            ui.allocate_ui(Vec2::new(ui.available_width(), height), |ui| {
                ui.set_min_height(height);
                self.show_objects(ui, session);
            });
        });
        let border =
            ui.separator().interact(Sense::drag()).on_hover_cursor(CursorIcon::ResizeVertical);
        if border.dragged() {
            self.height = Some(height + border.drag_delta().y);
        }
        ui.push_id("selected", |ui| self.show_selected(ui, session));
    }

    /// Shows only the objects of a world: buttons to undo, redo and add objects, a search, and the tree.
    pub fn show_objects(&mut self, ui: &mut Ui, session: &mut impl Edited<Target = World>) {
        self.toolbar(ui, session);
        let state = session.history().state();
        let action = self.objects.show(ui, session.target(), state, self.selected);
        if let Some(action) = action {
            self.apply(session, action);
        }
    }

    /// Shows only the components of the selected object, or the resources if no object is selected.
    pub fn show_selected(&mut self, ui: &mut Ui, session: &mut impl Edited<Target = World>) {
        scroll_fields(ui, |ui| {
            let (world, owner) = (session.target(), self.selected);
            let registry = Some(world.registry());
            let mut read = |path: &FieldPath, range| world.peek_field(owner, path, range);
            let mut fields = FieldsUi::new(Some(world), registry, &mut self.picker, &mut read);
            let action = match self.selected {
                Some(object) if !world.contains(object) => {
                    ui.weak("The object is not there any more. An undo may bring it back.");
                    None
                }
                Some(object) => {
                    ui.push_id(object, |ui| object::show(ui, world, object, &mut fields)).inner
                }
                None => {
                    object::show_resources(ui, world, &mut fields);
                    None
                }
            };
            let FieldsUi { edit, focused, target, refused, .. } = fields;
            self.error = refused.or(self.error.take());
            if let Some(edit) = edit {
                let name = owner.map(|object| title(world, object));
                self.edit_field(session, (owner, name), &edit, focused.as_ref(), set_in_world);
            }
            if let (Some(action), Some(object)) = (action, owner) {
                self.apply_to_object(session, object, action);
            }
            self.end_frame(ui, session, focused.as_ref());
            if let Some(target) = target {
                self.select(Some(target));
                self.objects.reveal(session.target(), target);
            }
        });
        self.show_error(ui);
    }

    /// Shows a value that is not a world.
    pub fn show_value<T: Reflect>(&mut self, ui: &mut Ui, session: &mut impl Edited<Target = T>) {
        scroll_fields(ui, |ui| {
            let path = FieldPath::new(T::CLASS.name());
            let registry = registry_with::<T>(session);
            let mut read = |path: &FieldPath, range| session.peek_field(path.clone(), range);
            let mut fields = FieldsUi::new(None, registry.as_deref(), &mut self.picker, &mut read);
            match fields.read(&path) {
                Ok(mut value) => _ = fields.whole(ui, T::CLASS, &mut value, &path),
                Err(error) => {
                    ui.colored_label(ui.visuals().error_fg_color, error.to_string());
                    return;
                }
            }
            let FieldsUi { edit, focused, refused, .. } = fields;
            self.error = refused.or(self.error.take());
            if let Some(edit) = edit {
                self.edit_field(session, (None, None), &edit, focused.as_ref(), set_in_value);
            }
            self.end_frame(ui, session, focused.as_ref());
        });
        self.show_error(ui);
    }

    /// Returns the selected object, which may have been removed from the world.
    #[must_use]
    pub fn selected(&self) -> Option<ObjectId> {
        self.selected
    }

    /// Selects an object, or none. The tree scrolls to the object in the next frame.
    pub fn select(&mut self, object: Option<ObjectId>) {
        if self.selected != object {
            self.selected = object;
            self.objects.scroll_to = object;
        }
    }

    /// Returns the reason why the last edit was refused, until the user closes the message or another edit succeeds.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Adds a prefab that the user can place from the menu.
    pub fn add_prefab(&mut self, name: impl Into<String>, prefab: Prefab) {
        self.prefabs.push((name.into(), prefab));
    }

    /// Returns the prefabs that the user can place: those that were added, and copies of objects.
    #[must_use]
    pub fn prefabs(&self) -> &[(String, Prefab)] {
        &self.prefabs
    }
}

/// Executes actions of the user on objects.
impl Inspector {
    fn toolbar(&mut self, ui: &mut Ui, session: &mut impl Edited<Target = World>) {
        ui.horizontal_wrapped(|ui| {
            undo_buttons(ui, session, &mut self.error);
            let add = ui.button("+ Object");
            if button::named(ui, add, "Add an object").clicked() {
                let new = self.run(session, "Add object".into(), |edit| edit.spawn("Object"));
                self.reveal(session, new);
            }
            let mut placed = None;
            ui.menu_button("Prefabs", |ui| {
                if self.prefabs.is_empty() {
                    ui.weak("Copy an object as a prefab: its menu in the tree");
                }
                for (name, prefab) in &self.prefabs {
                    let objects = format!("{} objects", prefab.object_count());
                    let place = ui.button(name).on_hover_text(objects);
                    if button::named(ui, place, &format!("Place {name}")).clicked() {
                        placed = Some((name.clone(), prefab.clone()));
                    }
                }
            });
            if let Some((name, prefab)) = placed {
                let label = format!("Place {name}");
                let new = self.run(session, label.into(), |edit| {
                    edit.instantiate(&prefab, ExternalIds::Keep)
                });
                self.reveal(session, new);
            }
            if !session.target().classes(None).is_empty()
                && ui.selectable_label(self.selected.is_none(), "Resources").clicked()
            {
                self.select(None);
            }
        });
    }

    fn reveal(&mut self, session: &impl Edited<Target = World>, object: Option<ObjectId>) {
        if let Some(object) = object {
            self.selected = Some(object);
            self.objects.reveal(session.target(), object);
        }
    }

    fn apply(&mut self, session: &mut impl Edited<Target = World>, action: Action) {
        let name = |object| title(session.target(), object);
        match action {
            Action::Select(object) => self.selected = Some(object),
            Action::AddBelow(parent) => {
                let label = format!("Add object to {}", name(parent));
                let new = self.run(session, label.into(), |edit| edit.spawn_in(parent, "Object"));
                self.reveal(session, new);
            }
            Action::Duplicate(object) => {
                let label = format!("Duplicate {}", name(object));
                let (prefab, parent) =
                    (session.target().prefab(object), session.target().parent(object));
                let Some(prefab) = self.checked(prefab) else { return };
                let new = self.run(session, label.into(), |edit| {
                    let new = edit.instantiate(&prefab, ExternalIds::Keep)?;
                    if parent.is_some() {
                        edit.set_parent(new, parent)?;
                    }
                    Ok(new)
                });
                self.reveal(session, new);
            }
            Action::CopyAsPrefab(object) => {
                let (name, prefab) = (name(object), session.target().prefab(object));
                if let Some(prefab) = self.checked(prefab) {
                    self.add_prefab(name, prefab);
                }
            }
            Action::Remove(object) => {
                let label = format!("Remove {}", name(object));
                self.run(session, label.into(), |edit| edit.remove(object));
            }
            Action::Move(object, parent) => {
                if session.target().parent(object) == parent {
                    return;
                }
                let label = match parent {
                    Some(parent) => format!("Move {} into {}", name(object), name(parent)),
                    None => format!("Move {} to the top level", name(object)),
                };
                self.run(session, label.into(), |edit| edit.set_parent(object, parent));
            }
            Action::Shift(object, by) => {
                let world = session.target();
                let Some(parent) = world.parent(object) else { return };
                let siblings = world.children(parent);
                let at = siblings.iter().position(|sibling| *sibling == object);
                let to = at.and_then(|at| at.checked_add_signed(by));
                let Some(to) = to.filter(|to| *to < siblings.len()) else { return };
                let label = format!("Move {} in {}", name(object), name(parent));
                self.run(session, label.into(), |edit| {
                    edit.set_parent_at(object, Some(parent), to)
                });
            }
        }
    }

    fn apply_to_object(
        &mut self,
        session: &mut impl Edited<Target = World>,
        object: ObjectId,
        action: ObjectAction,
    ) {
        let name = title(session.target(), object);
        match action {
            ObjectAction::Rename(new) => {
                let label = format!("Rename {name}");
                self.run(session, label.into(), |edit| edit.rename(object, &new).map(drop));
            }
            ObjectAction::Activity(activity) => {
                let label = format!("Make {name} {}", format!("{activity:?}").to_lowercase());
                self.run(session, label.into(), |edit| edit.set_activity(object, activity));
            }
            ObjectAction::Move(parent) => self.apply(session, Action::Move(object, parent)),
            ObjectAction::Attach(class) => {
                let label = format!("Attach {class} to {name}");
                self.run(session, label.into(), |edit| edit.attach_class(object, &class));
            }
            ObjectAction::Detach(class) => {
                let label = format!("Detach {class} from {name}");
                self.run(session, label.into(), |edit| edit.detach_class(object, &class));
            }
        }
    }

    /// Executes an edit as its own entry; returns `None` and shows the reason if it is refused.
    fn run<R>(
        &mut self,
        session: &mut impl Edited<Target = World>,
        label: Label,
        edit: impl FnOnce(&mut Edit<'_, World>) -> Result<R>,
    ) -> Option<R> {
        self.end_gesture(session);
        let done = session.edit(label, edit);
        self.checked(done)
    }

    fn checked<R>(&mut self, result: Result<R>) -> Option<R> {
        match result {
            Ok(done) => {
                self.error = None;
                Some(done)
            }
            Err(error) => {
                self.error = Some(error.to_string());
                None
            }
        }
    }

    /// Shows why the last edit was refused, over the last fields: a row above the fields would move them under the
    /// mouse.
    fn show_error(&mut self, ui: &Ui) {
        let Some(error) = &self.error else { return };
        let room = ui.max_rect().intersect(ui.clip_rect());
        let area = Area::new(ui.scope_id().with("error")).order(Order::Foreground);
        let shown =
            area.pivot(Align2::LEFT_BOTTOM).fixed_pos(room.left_bottom()).show(ui.ctx(), |ui| {
                Frame::popup(ui.style())
                    .show(ui, |ui| {
                        ui.set_max_width((room.width() - 16.0).max(100.0));
                        ui.horizontal_wrapped(|ui| {
                            let close = button::remove(ui, "Close the message");
                            ui.label(RichText::new(error).color(ui.visuals().error_fg_color));
                            close
                        })
                        .inner
                    })
                    .inner
            });
        if shown.inner {
            self.error = None;
        }
    }
}

/// Executes edits of fields, and groups them into gestures.
impl Inspector {
    /// Executes the user's edit of a field, in the entry of its gesture.
    fn edit_field<S: Edited>(
        &mut self,
        session: &mut S,
        (owner, name): (Option<ObjectId>, Option<String>),
        edit: &FieldEdit,
        focused: Option<&FieldPath>,
        make: impl Fn(&mut S, Label, Option<ObjectId>, &FieldPath, &Change) -> Result<()>,
    ) {
        if self.is_cancelled {
            return;
        }
        let mut label = format!("{} {}", edit.change.verb(), edit.name);
        if let Some(name) = name {
            label = format!("{label} of {name}");
        }
        let is_same = |gesture: &Gesture| gesture.owner == owner && gesture.source == edit.source;
        if !self.gesture.as_ref().is_some_and(is_same) {
            self.end_gesture(session);
            if edit.is_gesture {
                let start = session.history().state();
                let drag = session.begin_drag(label.as_str().into());
                let (source, focus) = (edit.source.clone(), focused.cloned());
                self.gesture = Some(Gesture { owner, source, focus, start, drag });
            }
        }
        let label = if self.gesture.is_some() { Label::None } else { label.into() };
        let mut done = make(session, label.clone(), owner, &edit.path, &edit.change);
        let is_refused =
            |error: &Error| matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::Refused);
        if done.as_ref().is_err_and(is_refused)
            && let Some(other) = &edit.other
        {
            done = make(session, label, owner, &edit.path, other);
        }
        self.checked(done);
    }

    /// Ends a gesture when the mouse button was released, or when its field lost the focus.
    fn end_frame(&mut self, ui: &Ui, session: &mut impl Edited, focused: Option<&FieldPath>) {
        let is_down = ui.input(|input| input.pointer.any_down());
        self.is_cancelled &= is_down;
        if is_down && ui.input(|input| input.key_pressed(Key::Escape)) {
            self.cancel(session);
        }
        let Some(gesture) = &self.gesture else { return };
        // Typing ends when the mouse is pressed elsewhere: that click is not part of the gesture.
        let continues = match &gesture.focus {
            Some(typed) => focused == Some(typed),
            None => is_down,
        };
        if !continues {
            self.end_gesture(session);
        }
    }

    /// Cancels a drag, and rolls back its edits.
    fn cancel(&mut self, session: &mut impl Edited) {
        let Some(gesture) = self.gesture.take_if(|gesture| gesture.focus.is_none()) else { return };
        session.end_drag(gesture.drag);
        self.is_cancelled = true;
        if session.history().state() != gesture.start {
            let undone = session.undo();
            self.checked(undone);
        }
    }

    fn end_gesture(&mut self, session: &mut impl Edited) {
        if let Some(gesture) = self.gesture.take() {
            session.end_drag(gesture.drag);
        }
    }
}

/// Shows fields in a scroll area, where a field loses the focus as soon as the mouse is pressed elsewhere.
///
/// So the typed text is applied before that click has an effect: a click on undo undoes it, and a click on another
/// object does not discard it.
fn scroll_fields(ui: &mut Ui, show: impl FnOnce(&mut Ui)) {
    let context = ui.ctx().clone();
    let surrender = |on| {
        context.options_mut(|options| {
            std::mem::replace(&mut options.input_options.surrender_focus_on, on)
        })
    };
    let previous = surrender(SurrenderFocusOn::Presses);
    ScrollArea::vertical().id_salt("fields").auto_shrink([false, false]).show(ui, show);
    surrender(previous);
}

fn set_in_world<S: Edited<Target = World>>(
    session: &mut S,
    label: Label,
    owner: Option<ObjectId>,
    path: &FieldPath,
    change: &Change,
) -> Result<()> {
    session.edit(label, |edit| change.make(&mut WorldFields { edit, owner }, path))
}

fn set_in_value<S: Edited<Target: Reflect>>(
    session: &mut S,
    label: Label,
    _: Option<ObjectId>,
    path: &FieldPath,
    change: &Change,
) -> Result<()> {
    if label.is_none() {
        return change.make(&mut ValueFields(session), path);
    }
    // `set_field` has no label: a drag with this one edit gives the entry its label.
    let drag = session.begin_drag(label);
    let done = change.make(&mut ValueFields(session), path);
    session.end_drag(drag);
    done
}

/// Returns the classes of the session; if they lack the class of the value, returns the classes of the value.
fn registry_with<T: Reflect>(session: &impl Edited<Target = T>) -> Option<Arc<Registry>> {
    let known = session.registry();
    if known.as_ref().is_some_and(|known| known.class(&T::CLASS.name()).is_some()) {
        return known;
    }
    let mut registry = Registry::new();
    registry.register::<T>().ok().map(|()| Arc::new(registry)).or(known)
}

/// Shows buttons to undo and redo, with the label of the entry as their name.
pub(crate) fn undo_buttons(ui: &mut Ui, session: &mut impl Edited, error: &mut Option<String>) {
    let history = session.history();
    let (undo, redo) = (history.undo_text(), history.redo_text());
    let (can_undo, can_redo) = (history.can_undo(), history.can_redo());
    let is_clicked = |ui: &mut Ui, text: &str, name: &str, is_enabled: bool| {
        let name = if name.is_empty() { text } else { name };
        let response = ui.add_enabled(is_enabled, Button::new(text));
        button::named(ui, response, name).clicked()
    };
    let done = if is_clicked(ui, "Undo", &undo, can_undo) {
        session.undo()
    } else if is_clicked(ui, "Redo", &redo, can_redo) {
        session.redo()
    } else {
        return;
    };
    *error = done.err().map(|error| error.to_string());
}

/// Shows an inspector of a world: its objects, components and fields, with undo.
///
/// The state of the inspector is in egui's memory. Two inspectors in one `Ui` share it: wrap one of them in
/// [`Ui::push_id`] to separate them.
pub fn inspect(ui: &mut Ui, session: &mut impl Edited<Target = World>) {
    with_state(ui, |inspector, ui| inspector.show(ui, session));
}

/// Shows an inspector of a value that is not a world: its fields, with undo.
///
/// The state is in egui's memory, like that of [`inspect`].
pub fn inspect_value<T: Reflect>(ui: &mut Ui, session: &mut impl Edited<Target = T>) {
    with_state(ui, |inspector, ui| inspector.show_value(ui, session));
}

fn with_state(ui: &mut Ui, show: impl FnOnce(&mut Inspector, &mut Ui)) {
    let id = ui.make_persistent_id("persist-egui");
    let state =
        ui.data_mut(|data| Arc::clone(data.get_temp_mut_or_default::<Arc<Mutex<Inspector>>>(id)));
    let mut inspector = state.lock().unwrap_or_else(PoisonError::into_inner);
    ui.push_id("persist-egui", |ui| show(&mut inspector, ui));
}
