//! `persist lock`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use persist::lock::Lock;
use serde::Serialize;

use crate::exit::{Failure, Outcome, Result};
use crate::input::Input;
use crate::output::{BAD, GOOD, NAME, Out, WARNING};

/// Check a lock file against saves
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say which released versions may have written saves, and so which load; exit code 1 if one is of none.
    Check {
        /// The lock file of the program.
        lock: PathBuf,
        /// Saves, or folders of them.
        #[arg(required = true)]
        saves: Vec<PathBuf>,
    },
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let Command::Check { lock: path, saves } = &args.command;
    let name = path.display().to_string();
    let lock = Lock::load(path).map_err(|error| Failure::from(error).in_file(&name))?;
    let mut checked = Vec::new();
    for path in saves {
        if path.is_dir() {
            let mut files = files_in(path)?;
            files.sort();
            checked.extend(files.iter().filter_map(|file| check(&lock, file, true).transpose()));
        } else {
            checked.extend(check(&lock, path, false).transpose());
        }
    }
    let checked = checked.into_iter().collect::<Result<Vec<Checked>>>()?;
    let is_bad = checked.iter().any(|it| it.versions.is_empty());
    if out.is_json() {
        out.json(&checked)?;
        return Ok(Outcome::found(is_bad));
    }
    for Checked { file, versions, damage, unlike, nearest } in &checked {
        let file = out.styled(NAME, file);
        if let Some(damage) = damage {
            writeln!(out, "{file}: {}", out.styled(BAD, damage))?;
        } else if versions.is_empty() {
            let unlike = unlike.join(", ");
            let nearest = nearest.as_deref().map_or_else(
                || String::from("the lock has no versions"),
                |nearest| {
                    format!(
                        "no version has its classes; the nearest, {nearest}, differs in {unlike}"
                    )
                },
            );
            writeln!(out, "{file}: {} {nearest}", out.styled(WARNING, "unknown:"))?;
        } else {
            writeln!(out, "{file}: {} {}", out.styled(GOOD, "known:"), versions.join(", "))?;
        }
    }
    Ok(Outcome::found(is_bad))
}

#[derive(Serialize)]
struct Checked {
    file: String,
    /// Those that may have written it.
    versions: Vec<String>,
    damage: Option<String>,
    /// The version that is most like it, and the classes that are not.
    nearest: Option<String>,
    unlike: Vec<String>,
}

/// Compares a save with a lock; `None` for a file of a folder that is no save.
fn check(lock: &Lock, file: &Path, is_found: bool) -> Result<Option<Checked>> {
    let input = Input::read(file)?;
    let mut checked = Checked {
        file: input.name.clone(),
        versions: Vec::new(),
        damage: None,
        nearest: None,
        unlike: Vec::new(),
    };
    let save = match persist::Document::from_slice(&input.bytes) {
        Ok(save) => save,
        Err(error) if error.kind() == persist::ErrorKind::NotASave && is_found => return Ok(None),
        Err(error) => {
            checked.damage = Some(error.to_string());
            return Ok(Some(checked));
        }
    };
    let compared = lock.compare_save(&save);
    // Of equal ones the newest.
    let nearest = compared.iter().rev().min_by_key(|(_, unlike)| unlike.len());
    if let Some((version, unlike)) = nearest {
        checked.nearest = Some((*version).to_owned());
        checked.unlike = unlike.iter().map(|class| (*class).to_owned()).collect();
    }
    let known = compared.iter().filter(|(_, unlike)| unlike.is_empty());
    checked.versions = known.map(|(version, _)| (*version).to_owned()).collect();
    Ok(Some(checked))
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| Failure::new(format!("cannot list {}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}
