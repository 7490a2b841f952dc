//! `persist man`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use crate::exit::{Failure, Outcome, Result};
use crate::output::Out;

/// Print the manual page, of all commands or of one
#[derive(clap::Args)]
#[command(after_help = "To read it: persist man | man -l -
To install it: persist man --install, then man persist-get")]
pub(crate) struct Args {
    /// The command.
    command: Option<String>,

    /// Write the pages of all commands to a folder, by default where `man` looks for those of the user.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, conflicts_with = "command")]
    #[expect(clippy::option_option, reason = "the option may stand without a folder")]
    install: Option<Option<PathBuf>>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut command = crate::args::Args::command();
    command.build();
    if let Some(folder) = &args.install {
        let folder = folder.clone().or_else(of_user).ok_or_else(|| {
            Failure::new("there is no home folder; give the folder as in `--install pages`")
        })?;
        let count = install(&command, &folder)?;
        writeln!(out, "{count} pages are in {}", folder.display())?;
        return Ok(Outcome::Done);
    }
    if let Some(name) = &args.command {
        let found = command.find_subcommand(name).cloned();
        let missing = || Failure::new(format!("there is no command `{name}`"));
        command = page_of(found.ok_or_else(missing)?);
    }
    out.write_all(&rendered(command)?)?;
    Ok(Outcome::Done)
}

/// Returns a command with the name and the version that its page shows.
fn page_of(command: Command) -> Command {
    let name: &str = format!("persist-{}", command.get_name()).leak();
    command.name(name).version(env!("CARGO_PKG_VERSION"))
}

fn rendered(command: Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(text)
}

/// Returns the folder in which `man` looks for pages of the user.
fn of_user() -> Option<PathBuf> {
    let home = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let data = home("XDG_DATA_HOME").or_else(|| Some(home("HOME")?.join(".local/share")))?;
    Some(data.join("man/man1"))
}

/// Writes the page of each command; returns their number.
fn install(command: &Command, folder: &Path) -> Result<usize> {
    let failed =
        |path: &Path, error| Failure::new(format!("cannot write {}: {error}", path.display()));
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let each = command.get_subcommands().cloned().map(page_of);
    let pages: Vec<Command> = std::iter::once(command.clone()).chain(each).collect();
    let count = pages.len();
    for page in pages {
        let path = folder.join(format!("{}.1", page.get_name()));
        fs::write(&path, rendered(page)?).map_err(|error| failed(&path, error))?;
    }
    Ok(count)
}
