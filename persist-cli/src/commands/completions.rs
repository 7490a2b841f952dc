//! `persist completions`.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::completion::{BASH, FISH, ZSH};
use crate::exit::{Outcome, Result};
use crate::output::Out;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = "\
For bash:  persist completions bash > ~/.local/share/bash-completion/completions/persist
For zsh:   persist completions zsh > ~/.zfunc/_persist, with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
For fish:  persist completions fish > ~/.config/fish/completions/persist.fish

In bash, zsh and fish, paths and classes are completed from the save on the line.")]
pub(crate) struct Args {
    shell: Shell,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::Args::command(), "persist", &mut text);
    let more = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => {
            // The last lines give the function to the shell, which gets another one.
            let end = b"if [ \"$funcstack[1]\"";
            let last = text.windows(end.len()).rposition(|part| part == end);
            text.truncate(last.unwrap_or(text.len()));
            ZSH
        }
        Shell::Fish => FISH,
        _ => "",
    };
    out.write_all(&text)?;
    out.write_all(more.as_bytes())?;
    Ok(Outcome::Done)
}
