//! The command line.

use clap::Parser;

use crate::commands::Command;
use crate::output::Colour;

/// Looks into saves of any program that uses the library persist: shows, changes, compares, checks and repairs them.
///
/// A save is a file, compressed or not, or `-` for standard input.
#[derive(Parser)]
#[command(name = "persist", version, about, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 found something (they differ, it is damaged, nothing is there), 2 failed."
)]
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
