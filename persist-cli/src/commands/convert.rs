//! `persist convert`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use persist::save::Compression;
use persist::{ErrorKind, Value};
use persist_tools::Document;
use serde::Serialize;

use super::info::write_over;
use crate::exit::{Failure, Outcome, Result};
use crate::input::{Damage, Input};
use crate::mapped::{Mapped, read};
use crate::output::Out;

/// Compress or decompress a save, or turn it into JSON, RON or text and back, without loss
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A save, a text that this command wrote, or `-` for standard input.
    file: PathBuf,
    /// The file to write; standard output if it is left out, or `-`.
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,
    /// The form to write; by the ending of NEW if it is left out: .json, .ron, .txt, else a save.
    #[arg(long, value_enum)]
    to: Option<Form>,
    /// The form of FILE, unless its beginning or its ending shows that.
    #[arg(long, value_enum)]
    from: Option<Form>,
    /// From 1, fast, to 22, small, for zstd; 3 by default.
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..=22))]
    level: Option<i32>,
    /// Replace NEW if it exists.
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    damage: Damage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A save, compressed as it was.
    Save,
    /// A save without compression.
    Plain,
    /// A save, compressed by LZ4.
    Lz4,
    /// A save, compressed by Zstandard.
    Zstd,
    Json,
    Ron,
    /// The text of a value, as in a dump.
    Text,
}

impl Form {
    /// Returns the form that the ending of a file stands for.
    fn of(path: &Path) -> Option<Self> {
        match &*path.extension()?.to_str()?.to_lowercase() {
            "json" => Some(Self::Json),
            "ron" => Some(Self::Ron),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let input = Input::read(&args.file)?;
    let (mut save, read) = document(&input, args)?;
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let form = match (args.to.or(output.and_then(Form::of)), output) {
        (Some(form), _) => form,
        (None, Some(new)) if !is_named_as_save(new) => {
            return Err(Failure::new(format!(
                "the ending of {} does not say what to write; give `--to`, as `--to save`",
                new.display()
            )));
        }
        (None, _) => Form::Save,
    };
    if out.is_json() && output.is_none() {
        return Err(Failure::new(
            "`--json` shows what is written by `-o NEW`; for the save as JSON give `--to json`",
        ));
    }
    if args.level.is_some() && form != Form::Zstd {
        return Err(Failure::new("`--level` is for zstd; give `--to zstd`"));
    }
    match form {
        Form::Plain => save.set_compression(Compression::None),
        Form::Lz4 => save.set_compression(Compression::Lz4),
        Form::Zstd => save.set_compression(Compression::Zstd(args.level.unwrap_or(3))),
        Form::Save | Form::Json | Form::Ron | Form::Text => {}
    }
    let bytes = match form {
        Form::Save | Form::Plain | Form::Lz4 | Form::Zstd => save.to_vec()?,
        Form::Json => {
            let mut text = serde_json::to_vec_pretty(&Mapped::exact(&save.into_value()))?;
            text.push(b'\n');
            text
        }
        Form::Ron => {
            let pretty = ron::ser::PrettyConfig::default();
            let text = ron::ser::to_string_pretty(&Mapped::exact(&save.into_value()), pretty);
            let text = text.map_err(|error| Failure::new(error.to_string()))?;
            format!("{text}\n").into_bytes()
        }
        Form::Text => format!("{:#}\n", save.into_value()).into_bytes(),
    };
    let is_text = matches!(form, Form::Json | Form::Ron | Form::Text);
    match output {
        Some(path) => {
            write_over(path, &bytes, args.force)?;
            out.note_done(format!("{} is written", path.display()));
            if out.is_json() {
                let written = path.display().to_string();
                out.json(&Shown { written, bytes: bytes.len() as u64 })?;
            }
        }
        None if !is_text && io::stdout().is_terminal() => {
            return Err(Failure::new("a save is nothing for a terminal; give `-o NEW`"));
        }
        None => out.write_all(&bytes)?,
    }
    Ok(read)
}

#[derive(Serialize)]
struct Shown {
    written: String,
    bytes: u64,
}

/// True for names as `a.sav` and `a`.
fn is_named_as_save(path: &Path) -> bool {
    path.extension().is_none_or(|ending| ending.eq_ignore_ascii_case("sav"))
}

/// Reads a save, or the text of one.
fn document(input: &Input, args: &Args) -> Result<(Document, Outcome)> {
    let by_name = input.path.as_deref().and_then(Form::of);
    let is_save = input.bytes.starts_with(b"\x89PST");
    let form = args.from.or(by_name.filter(|_| !is_save));
    // Some editors of Windows begin a text with a mark.
    let bytes = input.bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&input.bytes);
    let is_text = bytes.trim_ascii_start().starts_with(b"{");
    let bad = |what: String| Failure::new(format!("{}: {what}", input.name));
    let text = || std::str::from_utf8(bytes).map_err(|error| bad(error.to_string()));
    let value = match form {
        Some(Form::Json) => json(text()?).map_err(bad)?,
        Some(Form::Ron) => ron(text()?).map_err(bad)?,
        Some(Form::Text) => {
            text()?.parse().map_err(|error: persist::Error| bad(error.to_string()))?
        }
        None if is_text && !is_save => any(text()?).map_err(bad)?,
        _ => return input.open(&args.damage),
    };
    let document =
        Document::from_value(value).map_err(|error| match (error.kind(), error.object()) {
            // The library would restore a backup.
            (ErrorKind::DuplicateId, Some(id)) => {
                bad(format!("two objects have the id {id}; give one of them another"))
            }
            _ => input.failure(error),
        })?;
    Ok((document, Outcome::Done))
}

/// Reads a text whose form is not given: JSON, RON or the text of a value.
fn any(text: &str) -> Result<Value, String> {
    let found = json(text).or_else(|error| ron(text).or_else(|_| text.parse()).map_err(|_| error));
    found.map_err(|error| {
        format!("it is neither JSON, RON nor the text of a value; as JSON: {error}")
    })
}

fn json(text: &str) -> Result<Value, String> {
    let mut from = serde_json::Deserializer::from_str(text);
    // `read` counts the levels.
    from.disable_recursion_limit();
    let value = read(&mut from).map_err(|error| error.to_string())?;
    from.end().map_err(|error| error.to_string())?;
    Ok(value)
}

fn ron(text: &str) -> Result<Value, String> {
    let options = ron::Options::default().without_recursion_limit();
    let mut from = ron::Deserializer::from_str_with_options(text, &options)
        .map_err(|error| error.to_string())?;
    let value = read(&mut from).map_err(|error| error.to_string())?;
    from.end().map_err(|error| error.to_string())?;
    Ok(value)
}
