//! Reports the widgets of the window, for the script that tests it.

use std::collections::HashMap;
use std::io::Write;

use eframe::egui::accesskit::{Node, NodeId};
use eframe::egui::{Context, FullOutput, Plugin};

/// Writes the widgets of each frame to standard output if the environment variable `LEVEL_EDITOR_WIDGETS` is set.
///
/// The widgets are those that a screen reader receives, one per line. The first line is the pointer, and the last one
/// is empty.
pub fn report_if_asked(context: &Context) {
    if std::env::var_os("LEVEL_EDITOR_WIDGETS").is_some() {
        context.enable_accesskit();
        context.add_plugin(Report::default());
    }
}

#[derive(Default)]
struct Report {
    last: String,
}

impl Plugin for Report {
    fn debug_name(&self) -> &'static str {
        "report of widgets"
    }

    fn output_hook(&mut self, context: &Context, output: &mut FullOutput) {
        let Some(update) = output.platform_output.accesskit_update.take() else { return };
        let nodes: HashMap<NodeId, &Node> =
            update.nodes.iter().map(|(id, node)| (*id, node)).collect();
        let pointer = context.input(|input| input.pointer.clone());
        let at = pointer.latest_pos().unwrap_or_default();
        let button = if pointer.any_down() { "down" } else { "up" };
        let mut report = format!("Pointer\t{button}\t\t{0} {1} {0} {1}\t\n", at.x, at.y);
        for (id, node) in &update.nodes {
            let Some(bounds) = node.bounds() else { continue };
            let clean = |text: &str| text.replace(['\t', '\n'], " ");
            let text_of = |id| nodes.get(id).and_then(|node: &&Node| node.label().or(node.value()));
            let label = node.label().or(node.labelled_by().last().and_then(text_of));
            let label = clean(label.unwrap_or_default());
            let value = node.value().map(clean);
            let value = value.or(node.numeric_value().map(|value| value.to_string()));
            let (role, value) = (node.role(), value.unwrap_or_default());
            let place = format!("{} {} {} {}", bounds.x0, bounds.y0, bounds.x1, bounds.y1);
            let focus = if *id == update.focus { "focus" } else { "" };
            report += &format!("{role:?}\t{label}\t{value}\t{place}\t{focus}\n");
        }
        if report != self.last {
            // An error is ignored: the reading program may have ended.
            let _ = writeln!(std::io::stdout(), "{report}");
            self.last = report;
        }
    }
}
