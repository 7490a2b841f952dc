//! Small buttons, each with a name for tooltips and screen readers. Their signs are in every font.

use egui::accesskit::Role;
use egui::{Button, Response, Shape, Stroke, Ui, Vec2, WidgetInfo};

/// A button with a sign.
pub(crate) fn sign(ui: &mut Ui, text: &str, name: &str) -> Response {
    let button = ui.add(Button::new(text).small());
    named(ui, button, name)
}

/// Takes something away, or closes it.
pub(crate) fn remove(ui: &mut Ui, name: &str) -> bool {
    sign(ui, "×", name).clicked()
}

/// The width of a button with an arrow.
pub(crate) const ARROW_WIDTH: f32 = 20.0;

/// A button with an arrow.
pub(crate) fn arrow(ui: &mut Ui, towards: Vec2, name: &str, is_enabled: bool) -> Response {
    let button =
        ui.add_enabled(is_enabled, Button::new(" ").small().min_size(Vec2::new(ARROW_WIDTH, 0.0)));
    let color = ui.style().interact(&button).text_color();
    let (center, size) = (button.rect.center(), button.rect.height() * 0.25);
    let (ahead, aside) = (towards * size, towards.rot90() * size);
    let points = [ahead, aside - ahead, -aside - ahead].map(|point| center + point).to_vec();
    ui.painter().add(Shape::convex_polygon(points, color, Stroke::NONE));
    named(ui, button, name)
}

/// Gives a button a name that says what it does.
pub(crate) fn named(ui: &Ui, button: Response, name: &str) -> Response {
    let is_enabled = ui.is_enabled() && button.enabled();
    button.widget_info(|| WidgetInfo::labeled(Role::Button, is_enabled, name));
    button.on_hover_text(name)
}
