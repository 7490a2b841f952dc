//! `persist man`.

use std::io::Write;

use clap::CommandFactory;

use crate::exit::{Outcome, Result};
use crate::output::Out;

/// Print the manual page, of all commands or of one
#[derive(clap::Args)]
#[command(after_help = "To read it: persist man | man -l -")]
pub(crate) struct Args {
    /// The command.
    command: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut command = crate::args::Args::command();
    command.build();
    if let Some(name) = &args.command {
        let found = command.find_subcommand(name).cloned();
        let missing = || crate::exit::Failure::new(format!("there is no command `{name}`"));
        command = found.ok_or_else(missing)?.name(format!("persist-{name}").leak() as &str);
        command = command.version(env!("CARGO_PKG_VERSION"));
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    out.write_all(&text)?;
    Ok(Outcome::Done)
}
