//! `persist get`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use persist::Value;

use super::dump::{EXAMPLES, Match};
use crate::exit::{Outcome, Result};
use crate::input::{Damage, Save, Source};
use crate::output::{NAME, Out, note};
use crate::path::Path;
use crate::streamed::{ElementSink, Elements, Streamed};
use crate::values::integer;

/// Show one value, or one of each object
#[derive(clap::Args)]
#[command(after_help = format!("{GET_EXAMPLES}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
    /// The path of the values to show.
    path: String,
    /// Print texts without quotes and escapes, and numbers without their types.
    #[arg(short, long)]
    raw: bool,
    /// Print the number of values alone.
    #[arg(short, long, conflicts_with = "raw")]
    count: bool,
    #[command(flatten)]
    damage: Damage,
}

const GET_EXAMPLES: &str = "\
Examples:
  persist get autumn.sav 'Hero[*].name' --raw               the names alone
  persist get autumn.sav 'Hero[bag[*].name ~ sword].name'   whose bag has a name with `sword` in it
  persist get autumn.sav 'Hero[weapon == #2012].name'       who refers to an object
  persist get town.sav '/**[:Health.current < 5].name'      objects with a component
  persist get town.sav '/**:Health[current < 5]' --count

Conditions compare by ==, !=, <, <=, > and >=. `~` holds if a text has another one in it, with the same capitals.";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut source = Source::open(&args.file)?;
    let (mut save, read) = source.save(&args.damage)?;
    let path = Path::parse(&args.path, &mut save)?;
    let is_found = if args.count {
        let mut count = 0_u64;
        path.each(&mut save, &mut |_| {
            count += 1;
            Ok(true)
        })?;
        out.count(count)?;
        count > 0
    } else if out.is_json() {
        let matches = Matches { path: &path, save: &mut save, is_found: false };
        let matches = Streamed::new(matches);
        matches.result(out.json(&matches))?;
        matches.into_elements().is_found
    } else {
        print_all(&path, &mut save, args.raw, out)?
    };
    if !is_found {
        note(path.missing(&args.path, &mut save));
    }
    Ok(Outcome::found(!is_found).and(read))
}

/// Prints the values that a path leads to, as they are found: they may be too many to hold all in memory. Returns
/// whether there is one.
fn print_all(path: &Path, save: &mut Save<'_>, is_raw: bool, out: &mut Out) -> Result<bool> {
    // A single value is printed without its path, and on several lines.
    let mut first: Option<(String, Value)> = None;
    let mut is_found = false;
    path.each(save, &mut |found| {
        if !is_found {
            is_found = true;
            first = Some((found.label, found.value.into_owned()));
            return Ok(true);
        }
        if let Some((label, value)) = first.take() {
            print(&label, &value, is_raw, false, out)?;
        }
        print(&found.label, &found.value, is_raw, false, out)?;
        Ok(true)
    })?;
    if let Some((label, value)) = first {
        print(&label, &value, is_raw, true, out)?;
    }
    Ok(is_found)
}

/// The values that a path leads to.
struct Matches<'m, 's> {
    path: &'m Path,
    save: &'m mut Save<'s>,
    is_found: bool,
}

impl Elements for Matches<'_, '_> {
    fn each(&mut self, to: &mut impl ElementSink) -> Result<()> {
        self.path.each(self.save, &mut |found| {
            self.is_found = true;
            Ok(to.put(&Match::of(&found, false)))
        })
    }
}

/// A number without its type, as `awk` and `sort -n` know it.
fn bare_number(value: &Value) -> Option<String> {
    match value {
        Value::U128(number) => Some(number.to_string()),
        Value::F32(number) => Some(number.to_string()),
        Value::F64(number) => Some(number.to_string()),
        _ => integer(value).map(|number| number.to_string()),
    }
}

fn print(label: &str, value: &Value, is_raw: bool, is_single: bool, out: &mut Out) -> Result<()> {
    if !is_single && !is_raw {
        write!(out, "{} = ", out.styled(NAME, label))?;
    }
    if let Some(number) = bare_number(value).filter(|_| is_raw) {
        writeln!(out, "{number}")?;
        return Ok(());
    }
    match value {
        // A program gets the text as it is. For a terminal, control characters are escaped.
        Value::Text(text) if is_raw && !io::stdout().is_terminal() => {
            out.write_all(text.as_bytes())?;
            writeln!(out)?;
        }
        Value::Text(text) if is_raw => writeln!(out, "{text}")?,
        value if is_single => writeln!(out, "{value:#}")?,
        value => writeln!(out, "{value}")?,
    }
    Ok(())
}
