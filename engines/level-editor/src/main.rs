//! A small level editor in a window, with undo, copy and paste, and crash recovery.
//!
//! ```text
//! cargo run --release --manifest-path engines/Cargo.toml -p level-editor [level.sav]
//! ```
//!
//! `level.rs` has the components, `view.rs` the view of the level, and `editor.rs` the window around it.

#![expect(unreachable_pub, reason = "a program has no outside")]

mod editor;
mod level;
mod view;
mod widgets;

use std::path::PathBuf;

use eframe::NativeOptions;
use eframe::egui::ViewportBuilder;
use persist::history::Flush;
use persist::{History, Result, Session, World};

use self::editor::Editor;

fn main() -> eframe::Result {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("level.sav"), PathBuf::from);
    let editor = match open(path) {
        Ok(editor) => editor,
        Err(error) => {
            eprintln!("level-editor: {error}");
            std::process::exit(1);
        }
    };
    let viewport = ViewportBuilder::default().with_inner_size([1100.0, 700.0]);
    eframe::run_native(
        "level-editor",
        NativeOptions { viewport, ..NativeOptions::default() },
        Box::new(|creation| {
            widgets::report_if_asked(&creation.egui_ctx);
            Ok(Box::new(editor))
        }),
    )
}

/// Opens a level with its journal, which recovers the edits since the last save.
fn open(path: PathBuf) -> Result<Editor> {
    // A drag makes an edit in each frame, so they are flushed once a second. A crash of the program loses no edits, and
    // a power failure loses those of the last second.
    let flush = Flush::Every(editor::FLUSHES);
    let options = Session::<World>::with(level::saves()?, History::new(1000)).flush(flush);
    let journal = path.with_extension("journal");
    let (mut session, recovered) = options.open(path, journal)?;
    if recovered.report.is_none() && recovered.entries == 0 {
        session.edit("New level", level::sample)?;
    }
    Ok(Editor::new(session, recovered))
}
