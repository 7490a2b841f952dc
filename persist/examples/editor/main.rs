//! A small editor in the terminal, which loses nothing when it crashes.
//!
//! ```text
//! cargo run --release --example editor [folder]
//! ```
//!
//! Type `help` for its commands. `crash` ends the process as a bug would, in the middle; the next start with the same folder has the
//! level again, with all that can be undone and redone.

#![expect(clippy::print_stdout, reason = "it is a program to look at")]
#![expect(unreachable_pub, reason = "a program has no outside")]

mod commands;
mod level;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use persist::{History, Result, Saves, Session};

use self::commands::Next;
use self::level::{Color, Place, Tags};

fn main() -> ExitCode {
    let folder = std::env::args().nth(1).map_or_else(|| PathBuf::from("level"), PathBuf::from);
    match edit(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("editor: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Opens the level in a folder, and does what is typed.
fn edit(folder: &std::path::Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let saves = Saves::new();
    saves.register_component::<Place>()?;
    saves.register_component::<Color>()?;
    saves.register_component::<Tags>()?;
    let options = Session::with(saves, History::new(1000)).register_command::<commands::Align>()?;

    let (save, journal) = (folder.join("level.sav"), folder.join("level.journal"));
    let (mut session, recovered) = options.open(&save, &journal)?;
    println!("{}; {recovered}", commands::objects(session.target().objects().len()));

    let input = io::stdin();
    loop {
        if input.is_terminal() {
            let mark = if session.history().is_modified() { "*" } else { "" };
            print!("{mark}> ");
            io::stdout().flush()?;
        }
        let mut line = String::new();
        if input.lock().read_line(&mut line)? == 0 {
            return Ok(());
        }
        match commands::run(&mut session, line.trim()) {
            Ok(Next::Line) => {}
            Ok(Next::Quit) => return Ok(()),
            Err(error) => println!("cannot: {error}"),
        }
    }
}
