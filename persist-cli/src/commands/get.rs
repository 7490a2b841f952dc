//! `persist get`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use persist::Value;
use persist::save::Entry;

use super::dump::{EXAMPLES, Match};
use crate::exit::{Outcome, Result};
use crate::input::Input;
use crate::output::{NAME, Out, note};
use crate::path::Path;

/// Show one value, or one of each object
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
    /// What to show.
    path: String,
    /// Print texts without quotes and escapes.
    #[arg(short, long)]
    raw: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let save = Input::read(&args.file)?.document()?;
    let path = Path::parse(&args.path, &save)?;
    let found = path.find(&save)?;
    if found.is_empty() {
        note(path.missing(&args.path, &save));
    }
    let entries: Vec<&Entry> = save.entries().collect();
    if out.is_json() {
        let matches: Vec<Match<'_>> =
            found.iter().map(|found| Match::of(found, entries[found.entry])).collect();
        out.json(&matches)?;
        return Ok(Outcome::found(found.is_empty()));
    }
    for match_of in &found {
        if found.len() > 1 && !args.raw {
            write!(out, "{} = ", out.styled(NAME, &match_of.label))?;
        }
        match &*match_of.value {
            // For a program as it is, for a terminal without what steers that.
            Value::Text(text) if args.raw && !io::stdout().is_terminal() => {
                out.write_all(text.as_bytes())?;
                writeln!(out)?;
            }
            Value::Text(text) if args.raw => writeln!(out, "{text}")?,
            value if found.len() > 1 => writeln!(out, "{value}")?,
            value => writeln!(out, "{value:#}")?,
        }
    }
    Ok(Outcome::found(found.is_empty()))
}
