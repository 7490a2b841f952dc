//! Small buttons, each with a name for tooltips and screen readers. All fonts have the characters on them.

use egui::accesskit::Role;
use egui::{Button, Response, Shape, Stroke, Ui, Vec2, WidgetInfo};

/// Shows a button with a character.
pub(crate) fn sign(ui: &mut Ui, text: &str, name: &str) -> Response {
    let button = ui.add(Button::new(text).small());
    named(ui, button, name)
}

/// Shows a button that removes or closes something; returns true if it was clicked.
pub(crate) fn remove(ui: &mut Ui, name: &str) -> bool {
    sign(ui, "×", name).clicked()
}

/// The minimum width of a button with an arrow.
pub(crate) const ARROW_WIDTH: f32 = 20.0;

/// Shows a button with an arrow, drawn as a triangle.
pub(crate) fn arrow(ui: &mut Ui, towards: Vec2, name: &str, is_enabled: bool) -> Response {
    let button =
        ui.add_enabled(is_enabled, Button::new(" ").small().min_size(Vec2::new(ARROW_WIDTH, 0.0)));
    let color = ui.style().interact(&button).text_color();
    let (center, size) = (button.rect.center(), button.rect.height() * 0.25);
    let (tip, side) = (towards * size, towards.rot90() * size);
    let points = [tip, side - tip, -side - tip].map(|point| center + point).to_vec();
    ui.painter().add(Shape::convex_polygon(points, color, Stroke::NONE));
    named(ui, button, name)
}

/// Names a button, for its tooltip and for screen readers.
pub(crate) fn named(ui: &Ui, button: Response, name: &str) -> Response {
    let is_enabled = ui.is_enabled() && button.enabled();
    button.widget_info(|| WidgetInfo::labeled(Role::Button, is_enabled, name));
    button.on_hover_text(name)
}
