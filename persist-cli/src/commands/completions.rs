//! `persist completions`.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::exit::{Outcome, Result};
use crate::output::Out;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(
    after_help = "For bash: persist completions bash > ~/.local/share/bash-completion/completions/persist"
)]
pub(crate) struct Args {
    shell: Shell,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::Args::command(), "persist", &mut text);
    out.write_all(&text)?;
    Ok(Outcome::Done)
}
