//! `persist verify`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use persist::{Error, ErrorKind};
use persist_tools::{Verified, verify};
use serde::Serialize;

use crate::exit::{Failure, Outcome, Result, commands_for};
use crate::input::{Bar, Source, failure_json};
use crate::output::{BAD, DIM, GOOD, NAME, Out, bytes};

/// Check every checksum, value and reference of saves; exit code 1 if one is damaged
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Saves, folders with saves, or `-` for standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Print nothing of saves that are whole.
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let (files, failures) = files_of(&args.files);
    let (mut checked, mut damaged, mut unread_files) = (Vec::new(), 0, failures.len());
    for (folder, failure) in failures {
        out.failed(&failure)?;
        checked.push(failure_json(&folder, &failure));
    }
    let bar = Bar::of(&files);
    for file in &files {
        let found = match Found::of(file, &bar) {
            Ok(found) => found,
            Err(failure) => {
                unread_files += 1;
                out.failed(&failure)?;
                checked.push(failure_json(file, &failure));
                continue;
            }
        };
        damaged += usize::from(found.damage.is_some());
        if out.is_json() {
            checked.push(serde_json::to_value(found)?);
        } else {
            bar.suspend(|| found.print(args.quiet, out))?;
        }
    }
    bar.clear();
    if out.is_json() {
        out.json(&checked)?;
    } else if files.len() > 1 && !(args.quiet && damaged + unread_files == 0) {
        let saves = files.len();
        if unread_files > 0 {
            writeln!(out, "{unread_files} could not be read")?;
        }
        match damaged {
            0 if unread_files > 0 => {}
            0 => writeln!(out, "{saves} saves are whole")?,
            1 => writeln!(out, "1 of {saves} saves is damaged")?,
            _ => writeln!(out, "{damaged} of {saves} saves are damaged")?,
        }
    } else if files.is_empty() && unread_files == 0 {
        writeln!(out, "there is no save")?;
    }
    Ok(if unread_files > 0 { Outcome::Unread } else { Outcome::found(damaged > 0) })
}

/// Returns the given files and the files of the given folders, and a failure for each folder that cannot be read.
pub(super) fn files_of(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<(PathBuf, Failure)>) {
    let (mut files, mut failure_json) = (Vec::new(), Vec::new());
    for path in paths {
        if path.is_dir() {
            failure_json.extend(saves_in(path, &mut files));
        } else {
            files.push(path.clone());
        }
    }
    (files, failure_json)
}

/// Adds the saves of a folder and its subfolders: the files that begin like a save, or have the name of one. Returns a
/// failure for each folder that cannot be read.
fn saves_in(folder: &Path, found: &mut Vec<PathBuf>) -> Vec<(PathBuf, Failure)> {
    let mut failure_json = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut inside = Vec::new();
        let mut search = || -> io::Result<()> {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let (path, kind) = (entry.path(), entry.file_type()?);
                if kind.is_dir() {
                    folders.push(path);
                // The target of a link may be the folder itself. A broken link with the name of a save is a lost save.
                } else if (kind.is_file() || kind.is_symlink() && !path.is_dir()) && is_save(&path)
                {
                    inside.push(path);
                }
            }
            Ok(())
        };
        if let Err(error) = search() {
            let failure = Failure::new(format!("cannot read {}: {error}", folder.display()));
            failure_json.push((folder, failure));
        }
        inside.sort();
        found.append(&mut inside);
        folders.sort_by(|a, b| b.cmp(a));
    }
    failure_json
}

fn is_save(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|name| name.eq_ignore_ascii_case("sav"));
    let is_begun = || {
        let mut start = [0; 4];
        let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
        is_read.is_ok() && start == *b"\x89PST"
    };
    // A pipe has no end.
    is_named || path.is_file() && is_begun()
}

/// The result of the check of a save.
#[derive(Serialize)]
struct Found {
    file: String,
    damage: Option<Damage>,
    #[serde(flatten)]
    counts: Option<Counts>,
}

#[derive(Serialize)]
struct Damage {
    kind: String,
    message: String,
    offset: Option<u64>,
    object: Option<u64>,
    class: Option<String>,
    field: Option<String>,
    #[serde(skip)]
    text: String,
}

#[derive(Serialize)]
struct Counts {
    bytes: u64,
    blocks: u64,
    compressed: u64,
    content: u64,
    classes: u64,
    objects: u64,
    kept: u64,
    references: u64,
    largest: u64,
}

impl Found {
    fn of(path: &Path, bar: &Bar) -> Result<Self> {
        let file = path.display().to_string();
        let result = Source::with(path, bar)?.read(|save, limits| verify(save, limits));
        match result {
            Ok(found) => Ok(Self { file, damage: None, counts: Some(Counts::of(&found)) }),
            Err(error) if [ErrorKind::Io, ErrorKind::Unsupported].contains(&error.kind()) => {
                Err(Failure::from(error).in_file(&file))
            }
            Err(error) => Ok(Self { file, damage: Some(Damage::of(&error)), counts: None }),
        }
    }

    fn print(&self, is_quiet: bool, out: &mut Out) -> Result<()> {
        let name = out.styled(NAME, &self.file);
        match (&self.damage, &self.counts) {
            (Some(damage), _) => {
                let text = out.styled(BAD, &damage.text);
                writeln!(out, "{name}: {text}")?;
            }
            (None, Some(counts)) if !is_quiet => {
                let whole = out.styled(GOOD, "whole");
                let rest = counts.to_string();
                let rest = out.styled(DIM, &rest);
                writeln!(out, "{name}: {whole}, {rest}")?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Damage {
    fn of(error: &Error) -> Self {
        Self {
            kind: format!("{:?}", error.kind()),
            message: error.message().to_owned(),
            offset: error.offset(),
            object: error.object(),
            class: error.class().map(str::to_owned),
            field: error.field().map(str::to_owned),
            text: format!("{error}{}", commands_for(error, false)),
        }
    }
}

impl Counts {
    fn of(found: &Verified) -> Self {
        let Verified { bytes, blocks, compressed, content, classes, .. } = *found;
        let Verified { objects, kept, references, largest, .. } = *found;
        Self { bytes, blocks, compressed, content, classes, objects, kept, references, largest }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |number: u64, one: &str, many: &str| {
            if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
        };
        let objects = count(self.objects, "object", "objects");
        let classes = count(self.classes, "class", "classes");
        let references = count(self.references, "reference", "references");
        write!(f, "{}: {objects}, {classes}, {references}", bytes(self.bytes))?;
        if self.kept > 0 {
            write!(f, ", {}", count(self.kept, "unknown value kept", "unknown values kept"))?;
        }
        if self.compressed > 0 {
            write!(f, ", {} without compression", bytes(self.content))?;
        }
        Ok(())
    }
}
