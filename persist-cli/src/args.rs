//! The command line.

use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};

use crate::commands::Command;
use crate::output::Colour;

/// Looks into saves of any program that uses the library persist: shows, changes, compares, checks and repairs them.
///
/// A save is a file, compressed or not, or `-` for standard input.
#[derive(Parser)]
#[command(name = "persist", version, about, max_term_width = 100)]
#[command(after_help = "\
Questions:
  what is in it?            persist info a.sav
  where is the sword?       persist find a.sav sword
  who owns it?              persist get a.sav 'Hero[bag[*].name ~ sword].name'
                            persist get a.sav 'Hero[weapon == #2012].name'
  who is nearly dead?       persist get a.sav '*[health < 5].name'
                            persist get a.sav '/**:Health[current < 5]'   in a world
  how many potions?         persist get a.sav 'Hero[*].bag[name ~ potion]' --count
  what has changed?         persist diff a.sav b.sav --field Gold
  what takes most bytes?    persist stats a.sav
  sums, groups, joins       persist convert a.sav -o a.json, for jq; for SQL --to csv -o tables

Exit codes: 0 done, 1 found something (they differ, it is damaged, nothing is there), 2 failed.")]
pub(crate) struct Args {
    /// Print JSON, for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// When to use colours.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    #[arg(help = "When to use colours: auto, always or never")]
    pub(crate) color: Colour,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads the command line. If it is wrong, prints the error in the requested colours and exits.
pub(crate) fn read() -> Args {
    let words: Vec<_> = std::env::args_os().collect();
    let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
    let after = |at: usize| words.get(at + 1).copied();
    let asked = words.iter().enumerate().find_map(|(at, word)| {
        word.strip_prefix("--color=").or_else(|| after(at).filter(|_| *word == "--color"))
    });
    let colour = asked.and_then(|asked| Colour::from_str(asked, false).ok());
    let mut command = Args::command();
    if let Some(colour) = colour {
        command = command.color(match colour {
            Colour::Auto => clap::ColorChoice::Auto,
            Colour::Always => clap::ColorChoice::Always,
            Colour::Never => clap::ColorChoice::Never,
        });
    }
    Args::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}
