//! `persist convert`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use persist::save::Compression;
use persist::{ErrorKind, Value};
use persist_tools::__private::{Feed, ObjectNames, SavedIds, write_values};
use persist_tools::Document;
use serde::Serialize;
use serde::de::DeserializeSeed;

use super::info::write_over_with;
use crate::exit::{Failure, Outcome, Result};
use crate::indented;
use crate::input::{Bar, Damage, SAVE, Save, Source};
use crate::mapped::{Mapped, MappedSave, SaveRead, SaveSeed, read};
use crate::output::Out;
#[cfg(feature = "sqlite")]
use crate::output::place_file;
use crate::paged::PageObjects;
use crate::streamed::{ElementSink, Elements, Streamed};
#[cfg(feature = "sqlite")]
use crate::tables::Database;
use crate::tables::{Folder, Sink, Tables, Written as WrittenTable};

/// Compress or decompress a save, turn it into JSON, RON or text and back without loss, or into tables
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save, a text that this command wrote, or `-` for standard input; several for tables.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The file or the folder to write; standard output if it is left out, or `-`.
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,
    /// The form to write; by the ending of NEW if it is left out: .json, .ron, .txt, .sqlite, else a save.
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
    /// An SQLite database, to ask in SQL. It does not become a save again.
    Sqlite,
    /// A folder with a .csv file for each table.
    Csv,
}

const EXAMPLES: &str = "\
Examples:
  persist convert a.sav -o a.json         as JSON; `convert a.json -o b.sav` gives the save again
  persist convert a.sav --to zstd -o b.sav --level 19
  persist convert players/*.sav -o players.sqlite
                                          a table for each class, and rows of all these saves
  sqlite3 players.sqlite 'SELECT save, gold FROM Hero ORDER BY gold'
  persist convert a.sav --to csv -o tables/";

impl Form {
    /// Returns the form that the ending of a file stands for.
    fn of(path: &Path) -> Option<Self> {
        match &*path.extension()?.to_str()?.to_lowercase() {
            "json" => Some(Self::Json),
            "ron" => Some(Self::Ron),
            "txt" => Some(Self::Text),
            "sqlite" | "sqlite3" | "db" => Some(Self::Sqlite),
            _ => None,
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let form = args.to.or(output.and_then(Form::of));
    if let Some(form @ (Form::Sqlite | Form::Csv)) = form {
        return write_tables(args, form, out);
    }
    let [file] = &args.files[..] else {
        if let Some(new) = args.files.last().filter(|file| Form::of(file).is_some()) {
            let new = new.display();
            return Err(Failure::new(format!("give the new file by `-o`, as `-o {new}`")));
        }
        return Err(Failure::new(
            "several saves become tables alone; give `-o NEW.sqlite`, or `--to csv -o FOLDER`",
        ));
    };
    let bar = Bar::of([file]);
    let mut source = open(file, args, &bar)?;
    let size = source.size;
    let (mut save, read) = source.save(&args.damage)?;
    let form = match (form, output) {
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
    let is_text = matches!(form, Form::Json | Form::Ron | Form::Text);
    match output {
        Some(path) => {
            let mut bytes = 0;
            bar.read_until(1_000, size * if save.counts().pages > 0 { 2 } else { 1 });
            let written = write_over_with(path, args.force, |to| {
                bytes = write(&mut save, (form, args.level), to)?;
                Ok(())
            });
            bar.clear();
            written?;
            out.note_done(format!("{} is written", path.display()));
            if out.is_json() {
                let written = path.display().to_string();
                out.json(&Shown { written, bytes, tables: None })?;
            }
        }
        None if !is_text && io::stdout().is_terminal() => {
            return Err(Failure::new("a save is nothing for a terminal; give `-o NEW`"));
        }
        None => drop(write(&mut save, (form, args.level), out)?),
    }
    Ok(read)
}

/// Opens a save, or a text as a save.
fn open(file: &Path, args: &Args, bar: &Bar) -> Result<Source> {
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let mut source = Source::with(file, bar)?;
    let text = text_of(&mut source, args)?;
    if output.is_some() && args.files.len() == 1 {
        // A text takes longer than the check of a save.
        bar.until(if text.is_some() { 500 } else { 100 });
    }
    match text {
        Some(text) => from_text(source, text, output),
        None => Ok(source),
    }
}

/// Writes saves as tables.
fn write_tables(args: &Args, form: Form, out: &mut Out) -> Result<Outcome> {
    let Some(output) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        return Err(Failure::new(
            "tables need a place; give `-o NEW.sqlite`, or `--to csv -o FOLDER`",
        ));
    };
    if args.level.is_some() {
        return Err(Failure::new("`--level` is for zstd; give `--to zstd`"));
    }
    if args.files.len() > 1 && args.files.iter().any(|file| file == Path::new("-")) {
        return Err(Failure::new("`-` stands beside files, which are read twice; give it alone"));
    }
    let mut tables = Tables::new();
    let mut outcome = Outcome::Done;
    let bytes = if form == Form::Csv {
        let mut folder = Folder::create(output, args.force)?;
        outcome = outcome.and(fill(&mut tables, args, &mut folder, out)?);
        folder.finish()?
    } else {
        write_database(output, args.force, |database| {
            outcome = outcome.and(fill(&mut tables, args, database, out)?);
            Ok(())
        })?
    };
    out.note_done(format!("{} is written", output.display()));
    if out.is_json() {
        let (written, tables) = (output.display().to_string(), Some(tables.written()));
        out.json(&Shown { written, bytes, tables })?;
    }
    Ok(outcome)
}

/// Writes an SQLite database by a function that fills it. Returns the number of bytes.
#[cfg(feature = "sqlite")]
fn write_database(
    path: &Path,
    force: bool,
    fill: impl FnOnce(&mut dyn Sink) -> Result<()>,
) -> Result<u64> {
    let mut bytes = 0;
    place_file(path, force, |file| {
        let mut database = Database::create(file.path())?;
        fill(&mut database)?;
        database.finish()?;
        bytes = file.path().metadata()?.len();
        Ok(())
    })?;
    Ok(bytes)
}

#[cfg(not(feature = "sqlite"))]
fn write_database(_: &Path, _: bool, _: impl FnOnce(&mut dyn Sink) -> Result<()>) -> Result<u64> {
    Err(Failure::new(
        "this program was built without SQLite; install it by `cargo install --path persist-cli --features sqlite`, \
         or write a folder of CSV: `--to csv -o FOLDER`",
    ))
}

/// Writes the rows of all saves. Of several, those that cannot be read are reported and left out.
fn fill(tables: &mut Tables, args: &Args, sink: &mut dyn Sink, out: &mut Out) -> Result<Outcome> {
    let objects = |save: &Save<'_>| save.counts().objects + save.counts().world_objects;
    if let [file] = &args.files[..] {
        let bar = Bar::of([file]);
        let mut source = open(file, args, &bar)?;
        let name = source.name.clone();
        let (mut save, read) = source.save(&args.damage)?;
        tables.plan(&save);
        bar.write_until(1_000, objects(&save));
        let written = tables.write(&name, &mut save, sink, &bar);
        bar.clear();
        return written.map(|()| read);
    }
    let mut outcome = Outcome::Done;
    let (mut whole, mut all) = (Vec::new(), 0);
    let bar = Bar::of(&args.files);
    bar.until(100);
    for file in &args.files {
        bar.show();
        let planned = open(file, args, &bar).and_then(|mut source| {
            let (save, read) = source.save(&args.damage)?;
            tables.plan(&save);
            Ok((objects(&save), read))
        });
        match planned {
            Ok((objects, read)) => {
                all += objects;
                outcome = outcome.and(read);
                whole.push(file);
            }
            Err(failure) => {
                bar.suspend(|| out.failed(&failure))?;
                outcome = Outcome::Unread;
            }
        }
    }
    bar.write_until(1_000, all);
    for file in whole {
        let mut source = open(file, args, &bar)?;
        let name = source.name.clone();
        let (mut save, _) = source.save(&args.damage)?;
        bar.show();
        tables.write(&name, &mut save, sink, &bar)?;
    }
    bar.clear();
    Ok(outcome)
}

/// Writes a save in a form. Returns the number of bytes.
fn write(save: &mut Save<'_>, form: (Form, Option<i32>), to: &mut dyn Write) -> Result<u64> {
    let mut to = WatchedWriter { to, bytes: 0, failure: None };
    let written = write_form(save, form, &mut to);
    match to.failure {
        // Not every format passes it on.
        Some(error) => Err(Failure::Io(error)),
        None => written.map(|()| to.bytes),
    }
}

fn write_form(
    save: &mut Save<'_>,
    (form, level): (Form, Option<i32>),
    to: &mut WatchedWriter<'_>,
) -> Result<()> {
    let compression = match form {
        Form::Save => save.compression(),
        Form::Plain => Compression::None,
        Form::Lz4 => Compression::Lz4,
        Form::Zstd => Compression::Zstd(level.unwrap_or(3)),
        Form::Json => {
            let mut to = BufWriter::with_capacity(64 << 10, to);
            return with_objects(save, |save| {
                indented::to_writer(&mut to, save)?;
                writeln!(to)?;
                Ok(to.flush()?)
            });
        }
        Form::Ron => {
            return with_objects(save, |save| {
                let pretty = ron::ser::PrettyConfig::default();
                ron::Options::default()
                    .to_io_writer_pretty(&mut *to, save, pretty)
                    .map_err(|error| Failure::new(error.to_string()))?;
                Ok(writeln!(to)?)
            });
        }
        Form::Text => {
            // The text of a value is made of the whole value.
            let (mut head, mut objects) = (save.head(), Vec::new());
            Objects::of(save).each_value(&mut |object| {
                objects.push(object);
                true
            })?;
            if let Value::Map(entries) = &mut head {
                entries.push(("objects".into(), Value::Seq(objects)));
            }
            return Ok(writeln!(to, "{head:#}")?);
        }
        // `write_tables` writes them.
        Form::Sqlite | Form::Csv => return Ok(()),
    };
    let header = save.header().clone();
    Ok(save.write(to, (&header, compression), &HashMap::new())?)
}

/// Serializes a save whose objects are read as they are written.
fn with_objects(
    save: &mut Save<'_>,
    serialize: impl FnOnce(&MappedSave<'_, Objects<'_, '_>>) -> Result<()>,
) -> Result<()> {
    let head = save.head();
    let objects = Streamed::new(Objects::of(save));
    let written = serialize(&MappedSave { head: &head, objects: &objects });
    objects.result(written)
}

/// The objects of a save as values.
struct Objects<'o, 's> {
    save: &'o mut Save<'s>,
    names: ObjectNames,
}

impl<'o, 's> Objects<'o, 's> {
    fn of(save: &'o mut Save<'s>) -> Self {
        let names = ObjectNames::new(save.classes());
        Self { save, names }
    }

    fn each_value(&mut self, take: &mut dyn FnMut(Value) -> bool) -> Result<()> {
        self.save.rewind();
        while self.save.next_record()?.is_some() {
            let Some(entry) = self.save.entry()? else { break };
            if !take(self.names.object(entry)) {
                break;
            }
        }
        Ok(())
    }
}

impl Elements for Objects<'_, '_> {
    fn count(&self) -> Option<usize> {
        let found = self.save.counts();
        usize::try_from(found.objects + found.kept).ok()
    }

    fn each(&mut self, to: &mut impl ElementSink) -> Result<()> {
        self.save.rewind();
        while self.save.next_record()?.is_some() {
            let Some(entry) = self.save.head_entry()? else { break };
            let pages = PageObjects::new(entry.id(), self.save);
            let continues = to.put(&Mapped::with_pages(&self.names.object(entry), &pages));
            if let Some(failure) = pages.failure() {
                return Err(failure);
            }
            if !continues {
                break;
            }
        }
        Ok(())
    }
}

/// Counts the bytes that are written, and keeps the error if they cannot be.
struct WatchedWriter<'w> {
    to: &'w mut dyn Write,
    bytes: u64,
    failure: Option<io::Error>,
}

impl WatchedWriter<'_> {
    fn keep<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let copy = io::Error::from(error.kind());
            // The writer tries again after an interruption.
            if error.kind() != io::ErrorKind::Interrupted {
                self.failure.get_or_insert(error);
            }
            copy
        })
    }
}

impl Write for WatchedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        let written = self.keep(written)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.keep(flushed)
    }
}

#[derive(Serialize)]
struct Shown {
    written: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Vec<WrittenTable>>,
}

/// True for names as `a.sav` and `a`.
fn is_named_as_save(path: &Path) -> bool {
    path.extension().is_none_or(|ending| ending.eq_ignore_ascii_case("sav"))
}

/// The form of a text of a save.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextForm {
    Json,
    Ron,
    Text,
    /// Any of these.
    Any,
}

/// Returns the form of a text; `None` if it is a save.
fn text_of(source: &mut Source, args: &Args) -> Result<Option<TextForm>> {
    let by_name = source.path.as_deref().and_then(Form::of);
    let start = source.start()?;
    let is_save = start.starts_with(SAVE);
    Ok(match args.from.or(by_name.filter(|_| !is_save)) {
        Some(Form::Json) => Some(TextForm::Json),
        Some(Form::Ron) => Some(TextForm::Ron),
        Some(Form::Text) => Some(TextForm::Text),
        Some(Form::Sqlite | Form::Csv) if !is_save => {
            let name = &source.name;
            return Err(Failure::new(format!("{name}: tables do not become a save again")));
        }
        None if start.ends_with(b"{") && !is_save => Some(TextForm::Any),
        _ => None,
    })
}

/// Writes the save of a text to a temporary file, in the folder of the output.
fn from_text(mut source: Source, form: TextForm, output: Option<&Path>) -> Result<Source> {
    let name = source.name.clone();
    let bad = |what: String| Failure::new(format!("{name}: {what}"));
    let refused = |error: persist::Error| match (error.kind(), error.object()) {
        // The library would restore a backup.
        (ErrorKind::DuplicateId, Some(id)) => {
            bad(format!("two objects have the id {id}; give one of them another"))
        }
        _ => Failure::from(error).in_file(&name),
    };
    if matches!(form, TextForm::Json | TextForm::Any) {
        let mut file = temporary(output)?;
        let (result, read) = streamed(&mut source, None, &mut file);
        match (result, read) {
            (Ok(Some(ids)), _) => {
                let mut save = source.of_file(file)?;
                source.bar().read_until(600, save.size);
                let checked = save.checked().map(drop);
                let Err(error) = checked else { return Ok(save) };
                // A second pass names the field of a reference that leads nowhere. The check knows an offset in the
                // temporary file, which means nothing to the user.
                let (_, read) = streamed(&mut source, Some(&ids), &mut io::sink());
                return Err(refused(read.error.unwrap_or(error)));
            }
            (_, SaveRead { error: Some(error), .. }) => return Err(refused(error)),
            (Err(what), SaveRead { is_in_order: true, .. }) if form == TextForm::Json => {
                return Err(bad(what));
            }
            // It is no JSON, or the objects are not at its end: it is read whole.
            _ => {}
        }
    }
    let bytes = source.bytes()?;
    // Some editors of Windows begin a text with a mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| bad(error.to_string()))?;
    let value = match form {
        TextForm::Json => json(text).map_err(bad)?,
        TextForm::Ron => ron(text).map_err(bad)?,
        TextForm::Text => text.parse().map_err(|error: persist::Error| bad(error.to_string()))?,
        TextForm::Any => any(text).map_err(bad)?,
    };
    let save = Document::from_value(value).and_then(|save| save.to_vec()).map_err(refused)?;
    Ok(source.with_bytes(save))
}

/// Creates a temporary file, in the folder of the output if there is one: it has room for a save.
fn temporary(output: Option<&Path>) -> Result<File> {
    let folder = output.and_then(Path::parent).filter(|it| !it.as_os_str().is_empty());
    let file = match folder.or(output.map(|_| Path::new("."))) {
        Some(folder) => tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile()),
        None => tempfile::tempfile(),
    };
    file.map_err(|error| Failure::new(format!("cannot write a temporary file: {error}")))
}

/// Writes the save of a JSON text, object by object. References are checked if the objects are known.
fn streamed(
    source: &mut Source,
    known: Option<&SavedIds>,
    to: &mut dyn Write,
) -> (Result<Option<SavedIds>, String>, SaveRead) {
    let (mut ids, mut read) = (None, SaveRead::default());
    let mut to = BufWriter::with_capacity(256 << 10, to);
    let mut write = |head: &Value, feed: &mut Feed<'_>| {
        ids = Some(write_values(head, &mut to, known, feed)?);
        Ok(())
    };
    let result = source.read(|text, _| {
        text.rewind().map_err(|error| error.to_string())?;
        let mut text = BufReader::with_capacity(256 << 10, text);
        // Some editors of Windows begin a text with a mark.
        if text.fill_buf().is_ok_and(|start| start.starts_with("\u{feff}".as_bytes())) {
            text.consume("\u{feff}".len());
        }
        let mut from = serde_json::Deserializer::from_reader(text);
        // The seed counts the levels.
        from.disable_recursion_limit();
        let seed = SaveSeed { write: &mut write, read: &mut read };
        let result = seed.deserialize(&mut from).and_then(|()| from.end());
        result.map_err(|error| error.to_string())
    });
    (result.map(|()| ids), read)
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
