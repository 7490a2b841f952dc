//! A window with the history, the mark of unsaved changes, and what was recovered.

use egui::{Context, Ui};
use persist::History;
use persist::history::Recovered;

use crate::Edited;

/// Shows a window with the history: undo and redo, save, and all entries, of which a click goes to one.
///
/// Returns the error of what was clicked, which the window shows too.
pub fn history_window(ctx: &Context, session: &mut impl Edited, open: &mut bool) {
    let _ = (ctx, session, open);
}

/// Shows what [`history_window`] does, without a window around it.
pub fn history_panel(ui: &mut Ui, session: &mut impl Edited) {
    let _ = (ui, session);
}

/// A title with a mark if there are unsaved changes: `level.sav *`.
pub fn title<T: 'static>(name: &str, history: &History<T>) -> String {
    if history.is_modified() { format!("{name} *") } else { name.to_owned() }
}

/// Shows what was recovered when the session was opened, until the user closes it; `recovered` is `None` then.
///
/// Nothing is shown if nothing was recovered or lost.
pub fn recovered_banner(ui: &mut Ui, recovered: &mut Option<Recovered>) {
    let _ = (ui, recovered);
}
