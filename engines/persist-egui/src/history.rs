//! A window with the history, the mark of unsaved changes, and the banner after a recovery.

use egui::{Button, Context, Frame, Id, RichText, ScrollArea, Ui, Vec2, Window};
use persist::History;
use persist::history::Recovered;

use crate::inspector::undo_buttons;
use crate::{Edited, button};

/// How the list of entries was scrolled in the last frame.
#[derive(Clone, Copy)]
struct View {
    /// The current entry, and the number of rows.
    state: (usize, usize),
    frame: u64,
    offset: f32,
    height: f32,
}

/// Shows a window with the history: buttons to undo, redo and save, and a list of all entries.
///
/// A click on an entry goes to it. The title ends with a `*` while there are unsaved changes. Errors are shown in the
/// window. It opens at the bottom right; use [`history_panel`] to show its content in a panel of your own.
pub fn history_window(ctx: &Context, session: &mut impl Edited, open: &mut bool) {
    let title = title("History", session.history());
    // The bottom right, since panels and menus are usually at the top and the left.
    let (size, room) = (Vec2::new(220.0, 300.0), ctx.content_rect());
    let at = room.right_bottom() - size - Vec2::new(40.0, 80.0);
    Window::new(title)
        .id(Id::unique("persist-egui history"))
        .open(open)
        .default_pos(at.max(room.min))
        .default_size(size)
        .show(ctx, |ui| history_panel(ui, session));
}

/// Shows the content of [`history_window`] without a window.
pub fn history_panel(ui: &mut Ui, session: &mut impl Edited) {
    let id = ui.make_persistent_id("persist-egui history");
    let mut error = ui.data_mut(|data| data.remove_temp::<String>(id));
    ui.horizontal_wrapped(|ui| {
        undo_buttons(ui, session, &mut error);
        if session.can_save() {
            let is_modified = session.history().is_modified();
            if ui.add_enabled(is_modified, Button::new("Save")).clicked() {
                error = session.save().err().map(|error| error.to_string());
            }
        }
    });
    let poison = session.history().poison().map(|poison| {
        format!("An entry cannot be undone, and nothing can be edited: {}", poison.why)
    });
    for trouble in [session.journal_broken(), poison].into_iter().flatten() {
        ui.label(RichText::new(trouble).color(ui.visuals().warn_fg_color));
    }
    if let Some(text) = &error {
        ui.label(RichText::new(text).color(ui.visuals().error_fg_color));
    }
    let history = session.history();
    let (position, saved) = (history.position(), history.saved_position());
    let height = ui.spacing().interact_size.y;
    let mut clicked = None;
    // The first row is the state before all entries.
    let rows = history.entries().len() + 1;
    let mut area = ScrollArea::vertical().auto_shrink([false, true]).max_height(400.0);
    // The scroll position of the last frame.
    let view_id = id.with("view");
    let view = ui.data(|data| data.get_temp::<View>(view_id));
    let frame = ui.ctx().cumulative_frame_nr();
    let state = (position, rows);
    let seen = view.filter(|view| view.frame + 1 >= frame);
    if seen.is_none_or(|view| view.state != state) {
        let row = height + ui.spacing().item_spacing.y;
        #[expect(clippy::cast_precision_loss, reason = "a pixel is enough")]
        let top = position as f32 * row;
        // Scroll only as far as needed to show the current entry: a clicked row stays under the mouse.
        let offset = match seen {
            Some(view) => view.offset.min(top).max(top + height - view.height),
            None => top - 4.0 * row,
        };
        area = area.vertical_scroll_offset(offset.max(0.0));
    }
    let output = area.show_rows(ui, height, rows, |ui, visible| {
        for at in visible {
            let label = match at.checked_sub(1) {
                None => String::from("(beginning)"),
                Some(index) => {
                    let entry = history.entries().nth(index);
                    entry.map_or_else(String::new, |entry| entry.label.to_string())
                }
            };
            let mark = if saved == Some(at) { "  (saved)" } else { "" };
            let text = RichText::new(format!("{label}{mark}"));
            // Undone entries, which can be redone, are greyed out.
            let text = if at > position { text.weak() } else { text };
            let button = Button::selectable(at == position, text).truncate();
            if ui.add(button).clicked() && at != position {
                clicked = Some(at);
            }
        }
    });
    let (offset, height) = (output.state.clamped_offset().y, output.inner_rect.height());
    ui.data_mut(|data| data.insert_temp(view_id, View { state, frame, offset, height }));
    if let Some(position) = clicked {
        error = session.go_to(position).err().map(|error| error.to_string());
    }
    if let Some(error) = error {
        ui.data_mut(|data| data.insert_temp(id, error));
    }
}

/// Returns a title that ends with a `*` if there are unsaved changes: `level.sav *`.
pub fn title<T: 'static>(name: &str, history: &History<T>) -> String {
    if history.is_modified() { format!("{name} *") } else { name.to_owned() }
}

/// Shows a banner about the recovery when a session was opened, until the user closes it.
///
/// `recovered` becomes `None` when the user closes the banner, or at once if there was nothing to recover.
pub fn recovered_banner(ui: &mut Ui, recovered: &mut Option<Recovered>) {
    let Some(found) = recovered else { return };
    let is_quiet = found.replayed == 0
        && found.torn.is_none()
        && found.stopped.is_none()
        && found.rolled_back == 0
        && found.kept.is_empty();
    if is_quiet && found.report.as_ref().is_none_or(|report| report.recovery().is_none()) {
        *recovered = None;
        return;
    }
    let title = match found.replayed {
        0 => String::from("The last session did not end well"),
        1 => String::from("Recovered 1 edit"),
        count => format!("Recovered {count} edits"),
    };
    let mut is_closed = false;
    Frame::group(ui.style()).fill(ui.visuals().extreme_bg_color).show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.strong(title);
            is_closed = button::remove(ui, "Close the message");
        });
        ui.label(found.to_string());
    });
    if is_closed {
        *recovered = None;
    }
}
