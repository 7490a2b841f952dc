//! The view of the level, in which the user pans, zooms, selects and drags.

use eframe::egui::accesskit::Role;
use eframe::egui::emath::TSTransform;
use eframe::egui::{
    Align2, Color32, FontId, PointerButton, Pos2, Rect, Response, Scene, Sense, Stroke, StrokeKind,
    Ui, Vec2, WidgetInfo, pos2, vec2,
};
use persist::history::Drag;
use persist::{ObjectId, Result, Session, World};
use persist_egui::Inspector;

use crate::level::{Door, Lamp, Patrol, Place, Settings, Sprite, position};

/// The camera, and the object that is being dragged.
#[derive(Default)]
pub struct View {
    /// The transform from the level to the window; `None` before the first frame, which centers the level.
    camera: Option<TSTransform>,
    area: Option<Rect>,
    dragged: Option<Dragged>,
}

struct Dragged {
    object: ObjectId,
    from: Place,
    /// The position in the level where the mouse was pressed.
    pressed: Pos2,
    /// The drag of the history: while it is open, all edits become one entry.
    drag: Drag,
}

impl View {
    /// Shows the level, and handles clicks and drags.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        session: &mut Session,
        inspector: &mut Inspector,
    ) -> Result<()> {
        let area = ui.available_rect_before_wrap();
        let mut background = ui.allocate_rect(area, Sense::click_and_drag());
        let middle = area.center().to_vec2();
        let mut camera = self.camera.unwrap_or(TSTransform::from_translation(middle));
        let scene = Scene::new().zoom_range(0.1..=8.0).scroll_zooms(true);
        scene.register_pan_and_zoom(ui, &mut background, &mut camera);
        (self.camera, self.area) = (Some(camera), Some(area));
        if background.clicked() {
            inspector.select(None);
        }
        let picture = Picture { ui, world: session.world(), camera };
        let responses = picture.show(area, inspector.selected());

        let mut moved = Ok(());
        for (object, response) in responses {
            if response.clicked() || response.drag_started_by(PointerButton::Primary) {
                inspector.select(Some(object));
            }
            if response.drag_started_by(PointerButton::Primary) {
                let pressed = ui.input(|input| input.pointer.press_origin());
                self.dragged =
                    pressed.and_then(|at| begin_drag(session, object, camera.inverse() * at));
            } else if response.dragged() && self.dragged.is_none() {
                // Other buttons move the level, even if they are pressed on an object.
                self.camera = Some(TSTransform::from_translation(response.drag_delta()) * camera);
            }
            if let (Some(dragged), Some(mouse)) = (&self.dragged, response.interact_pointer_pos()) {
                moved = dragged.go(session, camera.inverse() * mouse);
            }
        }
        // The drag ends even if the object was deleted meanwhile.
        let is_released = !ui.input(|input| input.pointer.any_down());
        if is_released && let Some(dragged) = self.dragged.take() {
            session.end_drag(dragged.drag);
        }
        moved
    }

    /// Returns the place in the middle of the view, for new objects.
    pub fn middle(&self, world: &World) -> Place {
        let (Some(camera), Some(area)) = (self.camera, self.area) else { return Place::default() };
        let middle = camera.inverse() * area.center();
        on_grid(world, Place { x: middle.x, y: middle.y })
    }
}

fn begin_drag(session: &mut Session, object: ObjectId, pressed: Pos2) -> Option<Dragged> {
    let from = *session.world().get::<Place>(object)?;
    let name = session.world().name(object).unwrap_or("object");
    let drag = session.begin_drag(format!("Move {name}"));
    Some(Dragged { object, from, pressed, drag })
}

impl Dragged {
    /// Moves the object to the position of the mouse, in each frame of a drag.
    fn go(&self, session: &mut Session, mouse: Pos2) -> Result<()> {
        let by = mouse - self.pressed;
        let to = Place { x: self.from.x + by.x, y: self.from.y + by.y };
        let to = on_grid(session.world(), to);
        session.edit("", |edit| {
            *edit.get_mut::<Place>(self.object)? = to;
            Ok(())
        })
    }
}

fn on_grid(world: &World, place: Place) -> Place {
    let grid = world.resource::<Settings>().map_or(0.0, |settings| settings.grid);
    let round = |at: f32| if grid > 0.0 { (at / grid).round() * grid } else { at };
    Place { x: round(place.x), y: round(place.y) }
}

/// The drawing of the level in one frame.
struct Picture<'p> {
    ui: &'p Ui,
    world: &'p World,
    camera: TSTransform,
}

impl Picture<'_> {
    /// Draws the level; returns the objects and their responses.
    fn show(&self, area: Rect, selected: Option<ObjectId>) -> Vec<(ObjectId, Response)> {
        let settings = self.world.resource::<Settings>();
        let background = settings.map_or(Color32::BLACK, |settings| color(settings.background));
        self.ui.painter().rect_filled(area, 0.0, background);

        let mut responses = Vec::new();
        for object in self.world.roots().flat_map(|root| self.world.subtree(root)) {
            if self.world.get::<Place>(object).is_some() {
                responses.push((object, self.object(object, selected == Some(object))));
            }
        }
        // Lights and references are drawn last, over all objects.
        for (object, lamp) in self.world.query::<(ObjectId, &Lamp)>() {
            self.lamp(object, lamp);
        }
        if let Some(object) = selected {
            self.references(object);
        }
        responses
    }

    fn object(&self, object: ObjectId, is_selected: bool) -> Response {
        let at = self.at(position(self.world, object));
        let sprite = self.world.get::<Sprite>(object);
        // An object without a sprite is shown as a small square that can be clicked.
        let size = sprite.map_or(Vec2::splat(12.0), |sprite| vec2(sprite.width, sprite.height));
        let rect = Rect::from_center_size(at, size * self.camera.scaling);
        let name = self.world.name(object).unwrap_or("object");
        let response =
            self.ui.interact(rect, self.ui.scope_id().with(object), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::GraphicsObject, true, name));

        let painter = self.ui.painter();
        match sprite {
            Some(sprite) => painter.rect_filled(rect, 2.0, color(sprite.color)),
            None => painter.rect_stroke(rect, 2.0, (1.0, Color32::GRAY), StrokeKind::Middle),
        };
        if is_selected || response.hovered() {
            let stroke = Stroke::new(if is_selected { 2.0 } else { 1.0 }, Color32::WHITE);
            painter.rect_stroke(rect, 2.0, stroke, StrokeKind::Outside);
            let (below, font) = (rect.center_bottom() + vec2(0.0, 4.0), FontId::proportional(12.0));
            painter.text(below, Align2::CENTER_TOP, name, font, Color32::WHITE);
        }
        response
    }

    fn lamp(&self, object: ObjectId, lamp: &Lamp) {
        let at = self.at(position(self.world, object));
        let (radius, color) = (lamp.radius * self.camera.scaling, color(lamp.color));
        if lamp.is_on {
            self.ui.painter().circle_filled(at, radius, color.gamma_multiply(0.15));
        }
        self.ui.painter().circle_stroke(at, radius, (1.0, color.gamma_multiply(0.4)));
    }

    /// Draws an arrow to the target of a door, and the path of a guard.
    fn references(&self, object: ObjectId) {
        let stroke = Stroke::new(1.5, Color32::WHITE);
        let target = self.world.get::<Door>(object).and_then(|door| door.leads_to);
        if let Some(target) = target.filter(|target| self.world.contains(*target)) {
            let from = self.at(position(self.world, object));
            let to = self.at(position(self.world, target));
            self.ui.painter().arrow(from, to - from, stroke);
        }
        if let Some(patrol) = self.world.get::<Patrol>(object) {
            let parent = self.world.parent(object);
            let origin = parent.map_or(Place::default(), |parent| position(self.world, parent));
            let point =
                |point: &Place| self.at(Place { x: origin.x + point.x, y: origin.y + point.y });
            self.ui.painter().line(patrol.points.iter().map(point).collect(), stroke);
        }
    }

    fn at(&self, place: Place) -> Pos2 {
        self.camera * pos2(place.x, place.y)
    }
}

fn color([red, green, blue]: [u8; 3]) -> Color32 {
    Color32::from_rgb(red, green, blue)
}
