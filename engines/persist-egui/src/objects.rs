//! The tree of objects, of which only the visible rows are laid out.

use std::collections::HashSet;

use egui::{Button, Key, ScrollArea, Sense, TextEdit, Ui, Vec2};
use persist::{ObjectId, World};

use crate::button;
use crate::search::Search;

/// Deeper rows are not indented further.
const MOST_INDENTED: u16 = 24;

/// Seconds after which changes by something other than the history are seen.
const REFRESH: f64 = 1.0;

/// The rows of the tree, and what is open in it.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) query: String,
    search: Option<(String, Search)>,
    /// The same search in the world as it is by now.
    renewed: Option<Search>,
    open: HashSet<ObjectId>,
    rows: Vec<Row>,
    /// What the rows were made of: the state of the history, the number of objects, and the time.
    of: Option<(u64, usize)>,
    made: f64,
    /// The row to scroll to.
    pub(crate) wanted: Option<ObjectId>,
}

struct Row {
    object: ObjectId,
    depth: u16,
    has_children: bool,
}

/// What the user asks for in the tree.
#[derive(Clone, Copy)]
pub(crate) enum Wish {
    Select(ObjectId),
    AddBelow(ObjectId),
    Duplicate(ObjectId),
    CopyAsPrefab(ObjectId),
    Remove(ObjectId),
    /// Below another one, or below none.
    Move(ObjectId, Option<ObjectId>),
    /// To another place among its siblings.
    Shift(ObjectId, isize),
}

impl Objects {
    /// The height that shows all rows, with the toolbar and the search.
    pub(crate) fn height(&self, ui: &Ui) -> f32 {
        let row = ui.spacing().interact_size.y + ui.spacing().item_spacing.y;
        let rows = self.search.as_ref().map_or(self.rows.len(), |_| usize::MAX);
        #[expect(clippy::cast_precision_loss, reason = "a pixel is enough")]
        let height = (rows.saturating_add(4)) as f32 * row;
        height.max(120.0)
    }

    /// Opens what is above an object, and scrolls to it.
    pub(crate) fn reveal(&mut self, world: &World, object: ObjectId) {
        let mut above = world.parent(object);
        while let Some(parent) = above {
            self.open.insert(parent);
            above = world.parent(parent);
        }
        (self.of, self.wanted) = (None, Some(object));
    }

    /// Shows the search and the tree.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        world: &World,
        state: u64,
        selected: Option<ObjectId>,
    ) -> Option<Wish> {
        let hint = "search: name, class, field=value";
        let edit =
            TextEdit::singleline(&mut self.query).hint_text(hint).desired_width(f32::INFINITY);
        let search = ui.add(edit).on_hover_text(
            "Search objects. Each word is a part of a name or a class, or a field and a part of its value: radius=5, =wood",
        );
        if search.lost_focus() && ui.input(|input| input.key_pressed(Key::Escape)) {
            self.query.clear();
        }
        if let Some(wanted) = self.wanted {
            self.reveal(world, wanted);
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
        if let Some(at) = self.wanted.take().and_then(|wanted| self.position(wanted)) {
            let row = height + ui.spacing().item_spacing.y;
            #[expect(clippy::cast_precision_loss, reason = "a pixel is enough")]
            let offset = at as f32 * row - ui.available_height() / 2.0;
            area = area.vertical_scroll_offset(offset.max(0.0));
        }
        let mut wish = None;
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
                    ui.add_space(12.0 * f32::from(depth.min(MOST_INDENTED)));
                    if has_children {
                        let is_open = self.open.contains(&object);
                        let towards = if is_open { Vec2::DOWN } else { Vec2::RIGHT };
                        let name = format!("Children of {}", title(world, object));
                        if button::arrow(ui, towards, &name, true).clicked() {
                            toggled = Some(object);
                        }
                    } else {
                        // Names of siblings stand below each other.
                        ui.add_space(button::ARROW_WIDTH + ui.spacing().item_spacing.x);
                    }
                    if let Some(asked) = row_of(ui, world, object, selected, &mut dropped) {
                        wish = Some(asked);
                    }
                });
            }
        });
        if let Some(object) = toggled {
            if !self.open.remove(&object) {
                self.open.insert(object);
            }
            self.of = None;
        }
        // An object that is dropped beside the rows is below none.
        if dropped.is_none()
            && let Some(object) = egui::DragAndDrop::payload::<ObjectId>(ui.ctx())
            && ui.input(|input| input.pointer.any_released())
            && ui.rect_contains_pointer(output.inner_rect)
            && world.parent(*object).is_some()
        {
            wish = Some(Wish::Move(*object, None));
        }
        dropped.or(wish)
    }

    fn position(&self, object: ObjectId) -> Option<usize> {
        match &self.search {
            Some((_, search)) => search.found.iter().position(|found| *found == object),
            None => self.rows.iter().position(|row| row.object == object),
        }
    }

    /// Makes the rows again, or goes on with the search, if something has changed.
    fn refresh(&mut self, ui: &Ui, world: &World, state: u64) {
        let time = ui.input(|input| input.time);
        let of = (state, world.objects().len());
        let is_old = self.of != Some(of) || time - self.made > REFRESH;
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
            } else if self.of != Some(of) {
                // What was found before stays until that is done.
                self.renewed.get_or_insert_with(|| Search::new(query, world));
            }
            let mut goes_on = self.search.as_mut().is_some_and(|(_, search)| search.go_on(world));
            match self.renewed.as_mut().map(|renewed| renewed.go_on(world)) {
                Some(true) => goes_on = true,
                Some(false) if !goes_on => {
                    let renewed = self.renewed.take();
                    self.search = renewed.map(|renewed| (query.to_owned(), renewed));
                }
                _ => {}
            }
            if goes_on {
                ui.ctx().request_repaint();
            }
        }
        if is_old {
            (self.of, self.made) = (Some(of), time);
        }
    }
}

/// The rows of all objects whose parents are open.
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

/// The row of an object, which can be clicked, dragged onto another one, and has a menu.
fn row_of(
    ui: &mut Ui,
    world: &World,
    object: ObjectId,
    selected: Option<ObjectId>,
    dropped: &mut Option<Wish>,
) -> Option<Wish> {
    let button = Button::selectable(selected == Some(object), title(world, object));
    let response = ui.add(button.sense(Sense::click_and_drag()).truncate());
    response.dnd_set_drag_payload(object);
    if let Some(child) = response.dnd_release_payload::<ObjectId>() {
        *dropped = (*child != object).then_some(Wish::Move(*child, Some(object)));
    } else if response.dnd_hover_payload::<ObjectId>().is_some_and(|child| *child != object) {
        let stroke = ui.visuals().selection.stroke;
        ui.painter().rect_stroke(response.rect, 2.0, stroke, egui::StrokeKind::Inside);
    }
    let mut wish = response.clicked().then_some(Wish::Select(object));
    response.context_menu(|ui| {
        let has_parent = world.parent(object).is_some();
        let mut entry = |ui: &mut Ui, text: &str, is_enabled: bool, asked: Wish| {
            if ui.add_enabled(is_enabled, Button::new(text)).clicked() {
                wish = Some(asked);
            }
        };
        entry(ui, "Add object below", true, Wish::AddBelow(object));
        entry(ui, "Duplicate", true, Wish::Duplicate(object));
        entry(ui, "Copy as prefab", true, Wish::CopyAsPrefab(object));
        entry(ui, "Move up", has_parent, Wish::Shift(object, -1));
        entry(ui, "Move down", has_parent, Wish::Shift(object, 1));
        entry(ui, "Move to the top level", has_parent, Wish::Move(object, None));
        entry(ui, "Remove", true, Wish::Remove(object));
    });
    wish
}

/// What people call an object.
pub(crate) fn title(world: &World, object: ObjectId) -> String {
    match world.name(object) {
        Some(name) => crate::field::shortened(name),
        None => format!("object {}", object.get()),
    }
}
