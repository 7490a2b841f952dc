//! The tree of objects. Only its visible rows are laid out.

use std::collections::HashSet;

use egui::{Button, Key, ScrollArea, Sense, TextEdit, Ui, Vec2};
use persist::{ObjectId, World};

use crate::button;
use crate::search::Search;

/// The depth from which rows are not indented further.
const MAX_INDENT: u16 = 24;

/// The number of seconds after which the rows are rebuilt: changes that bypass the history are not reported.
const REFRESH: f64 = 1.0;

/// The tree of objects, with its search, its open objects and its rows.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) query: String,
    search: Option<(String, Search)>,
    /// The same search in the changed world, which replaces `search` when it is complete.
    renewed: Option<Search>,
    open: HashSet<ObjectId>,
    rows: Vec<Row>,
    /// The state of the history and the number of objects when the rows were built.
    source: Option<(u64, usize)>,
    /// The time when the rows were built.
    built_at: f64,
    /// The object to scroll to.
    pub(crate) scroll_to: Option<ObjectId>,
}

struct Row {
    object: ObjectId,
    depth: u16,
    has_children: bool,
}

/// An action of the user in the tree.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    Select(ObjectId),
    AddBelow(ObjectId),
    Duplicate(ObjectId),
    CopyAsPrefab(ObjectId),
    Remove(ObjectId),
    /// Moves an object to another parent, or to none.
    Move(ObjectId, Option<ObjectId>),
    /// Moves an object among its siblings, by a number of positions.
    Shift(ObjectId, isize),
}

impl Objects {
    /// Returns the height of all rows, the toolbar and the search.
    pub(crate) fn height(&self, ui: &Ui) -> f32 {
        let row = ui.spacing().interact_size.y + ui.spacing().item_spacing.y;
        let rows = self.search.as_ref().map_or(self.rows.len(), |_| usize::MAX);
        #[expect(clippy::cast_precision_loss, reason = "a pixel is enough")]
        let height = (rows.saturating_add(4)) as f32 * row;
        height.max(120.0)
    }

    /// Opens all ancestors of an object, and scrolls to it.
    pub(crate) fn reveal(&mut self, world: &World, object: ObjectId) {
        let mut ancestor = world.parent(object);
        while let Some(parent) = ancestor {
            self.open.insert(parent);
            ancestor = world.parent(parent);
        }
        (self.source, self.scroll_to) = (None, Some(object));
    }

    /// Shows the search and the tree; returns the action of the user, if there is one.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        world: &World,
        state: u64,
        selected: Option<ObjectId>,
    ) -> Option<Action> {
        let hint = "search: name, class, field=value";
        let edit =
            TextEdit::singleline(&mut self.query).hint_text(hint).desired_width(f32::INFINITY);
        let search = ui.add(edit).on_hover_text(
            "Search objects. Each word is a part of a name or a class, or a field and a part of its value: radius=5, =wood",
        );
        if search.lost_focus() && ui.input(|input| input.key_pressed(Key::Escape)) {
            self.query.clear();
        }
        if let Some(target) = self.scroll_to {
            self.reveal(world, target);
        }
        self.refresh(ui, world, state);
        let rows = match &self.search {
            Some((_, search)) => search.found.len(),
            None => self.rows.len(),
        };
        if self.search.as_ref().is_some_and(|(_, search)| search.is_vain()) {
            ui.weak("nothing found");
        }
        let height = ui.spacing().interact_size.y;
        let mut area = ScrollArea::vertical().auto_shrink([false, false]);
        if let Some(at) = self.scroll_to.take().and_then(|target| self.position(target)) {
            let row = height + ui.spacing().item_spacing.y;
            #[expect(clippy::cast_precision_loss, reason = "a pixel is enough")]
            let offset = at as f32 * row - ui.available_height() / 2.0;
            area = area.vertical_scroll_offset(offset.max(0.0));
        }
        let mut action = None;
        let (mut toggled, mut dropped) = (None, None);
        let output = area.show_rows(ui, height, rows, |ui, visible| {
            for at in visible {
                let row = match &self.search {
                    Some((_, search)) => search.found.get(at).map(|object| (*object, 0, false)),
                    None => self.rows.get(at).map(|it| (it.object, it.depth, it.has_children)),
                };
                let Some((object, depth, has_children)) = row else { continue };
                if !world.contains(object) {
                    ui.weak("(removed)");
                    continue;
                }
                ui.horizontal(|ui| {
                    ui.add_space(12.0 * f32::from(depth.min(MAX_INDENT)));
                    if has_children {
                        let is_open = self.open.contains(&object);
                        let towards = if is_open { Vec2::DOWN } else { Vec2::RIGHT };
                        let name = format!("Children of {}", title(world, object));
                        if button::arrow(ui, towards, &name, true).clicked() {
                            toggled = Some(object);
                        }
                    } else {
                        // Align the names of siblings.
                        ui.add_space(button::ARROW_WIDTH + ui.spacing().item_spacing.x);
                    }
                    if let Some(clicked) = row_of(ui, world, object, selected, &mut dropped) {
                        action = Some(clicked);
                    }
                });
            }
        });
        if let Some(object) = toggled {
            if !self.open.remove(&object) {
                self.open.insert(object);
            }
            self.source = None;
        }
        // An object that is dropped outside the rows moves to the top level.
        if dropped.is_none()
            && let Some(object) = egui::DragAndDrop::payload::<ObjectId>(ui.ctx())
            && ui.input(|input| input.pointer.any_released())
            && ui.rect_contains_pointer(output.inner_rect)
            && world.parent(*object).is_some()
        {
            action = Some(Action::Move(*object, None));
        }
        dropped.or(action)
    }

    fn position(&self, object: ObjectId) -> Option<usize> {
        match &self.search {
            Some((_, search)) => search.found.iter().position(|found| *found == object),
            None => self.rows.iter().position(|row| row.object == object),
        }
    }

    /// Rebuilds the rows if something has changed, or continues the search.
    fn refresh(&mut self, ui: &Ui, world: &World, state: u64) {
        let time = ui.input(|input| input.time);
        let source = (state, world.objects().len());
        let is_old = self.source != Some(source) || time - self.built_at > REFRESH;
        let query = self.query.trim();
        if query.is_empty() {
            (self.search, self.renewed) = (None, None);
            if is_old {
                self.rows = rows(world, &self.open);
            }
        } else {
            let is_other = self.search.as_ref().is_none_or(|(old, _)| old != query);
            if is_other {
                self.search = Some((query.to_owned(), Search::new(query, world)));
                self.renewed = None;
            } else if self.source != Some(source) {
                // The previous results stay until the new search is complete.
                self.renewed.get_or_insert_with(|| Search::new(query, world));
            }
            let mut is_busy = self.search.as_mut().is_some_and(|(_, search)| search.advance(world));
            match self.renewed.as_mut().map(|renewed| renewed.advance(world)) {
                Some(true) => is_busy = true,
                Some(false) if !is_busy => {
                    let renewed = self.renewed.take();
                    self.search = renewed.map(|renewed| (query.to_owned(), renewed));
                }
                _ => {}
            }
            if is_busy {
                ui.ctx().request_repaint();
            }
        }
        if is_old {
            (self.source, self.built_at) = (Some(source), time);
        }
    }
}

/// Returns the rows of all objects whose parents are open.
fn rows(world: &World, open: &HashSet<ObjectId>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut rest = Vec::new();
    for root in world.roots() {
        rest.push((root, 0_u16));
        while let Some((object, depth)) = rest.pop() {
            let children = world.children(object);
            rows.push(Row { object, depth, has_children: !children.is_empty() });
            if open.contains(&object) {
                let below = depth.saturating_add(1);
                rest.extend(children.iter().rev().map(|child| (*child, below)));
            }
        }
    }
    rows
}

/// Shows the row of an object, which can be clicked and dragged onto another one, and which has a menu.
fn row_of(
    ui: &mut Ui,
    world: &World,
    object: ObjectId,
    selected: Option<ObjectId>,
    dropped: &mut Option<Action>,
) -> Option<Action> {
    let button = Button::selectable(selected == Some(object), title(world, object));
    let response = ui.add(button.sense(Sense::click_and_drag()).truncate());
    response.dnd_set_drag_payload(object);
    if let Some(child) = response.dnd_release_payload::<ObjectId>() {
        *dropped = (*child != object).then_some(Action::Move(*child, Some(object)));
    } else if response.dnd_hover_payload::<ObjectId>().is_some_and(|child| *child != object) {
        let stroke = ui.visuals().selection.stroke;
        ui.painter().rect_stroke(response.rect, 2.0, stroke, egui::StrokeKind::Inside);
    }
    let mut action = response.clicked().then_some(Action::Select(object));
    response.context_menu(|ui| {
        let has_parent = world.parent(object).is_some();
        let mut entry = |ui: &mut Ui, text: &str, is_enabled: bool, clicked: Action| {
            if ui.add_enabled(is_enabled, Button::new(text)).clicked() {
                action = Some(clicked);
            }
        };
        entry(ui, "Add object below", true, Action::AddBelow(object));
        entry(ui, "Duplicate", true, Action::Duplicate(object));
        entry(ui, "Copy as prefab", true, Action::CopyAsPrefab(object));
        entry(ui, "Move up", has_parent, Action::Shift(object, -1));
        entry(ui, "Move down", has_parent, Action::Shift(object, 1));
        entry(ui, "Move to the top level", has_parent, Action::Move(object, None));
        entry(ui, "Remove", true, Action::Remove(object));
    });
    action
}

/// Returns the name of an object, or its id if it has no name.
pub(crate) fn title(world: &World, object: ObjectId) -> String {
    match world.name(object) {
        Some(name) => crate::field::shortened(name),
        None => format!("object {}", object.get()),
    }
}
