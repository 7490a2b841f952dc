//! Tables as a folder of CSV files, as RFC 4180 describes them.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::layout::Names;
use super::{Cell, Sink, Tables};
use crate::exit::{Failure, Result};

/// Bytes of a table that wait for others. No file stays open: there may be more tables than a process may open files.
const BUFFER: usize = 16 << 10;

/// A folder of CSV files.
pub(crate) struct Folder {
    path: PathBuf,
    /// True if the folder was created here.
    is_new: bool,
    /// The files that are written, until all are whole.
    files: TempDir,
    names: Names,
    tables: Vec<Option<File>>,
}

struct File {
    name: String,
    buffer: String,
}

impl Folder {
    /// Creates a folder, or takes an empty one. With `force` it may have files; those of the same names are replaced.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self> {
        let failed = |error: io::Error| failure(path, &error);
        let is_new = !path.exists();
        if is_new {
            fs::create_dir(path).map_err(failed)?;
        } else if !force && fs::read_dir(path).map_err(failed)?.next().is_some() {
            let path = path.display();
            return Err(Failure::new(format!(
                "the folder {path} is not empty; use another name, or `--force`"
            )));
        }
        let files = tempfile::Builder::new().prefix(".persist-").tempdir_in(path);
        let files = files.map_err(failed)?;
        let (path, names, tables) = (path.to_owned(), Names::default(), Vec::new());
        Ok(Self { path, is_new, files, names, tables })
    }

    /// Writes what is left. Returns the number of bytes.
    pub(crate) fn finish(mut self) -> Result<u64> {
        let mut bytes = 0;
        for table in 0..self.tables.len() {
            self.flush(table)?;
        }
        for File { name, .. } in self.tables.iter().flatten() {
            let from = self.files.path().join(name);
            bytes += from.metadata().map_err(|error| failure(&self.path, &error))?.len();
            let to = self.path.join(name);
            fs::rename(&from, &to).map_err(|error| failure(&to, &error))?;
        }
        self.is_new = false;
        Ok(bytes)
    }

    fn flush(&mut self, table: usize) -> Result<()> {
        let Some(Some(File { name, buffer })) = self.tables.get_mut(table) else { return Ok(()) };
        let path = self.files.path().join(name);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(buffer.as_bytes()));
        buffer.clear();
        written.map_err(|error| failure(&self.path, &error))
    }

    fn line(&mut self, table: usize, cells: impl Iterator<Item = Cell>) -> Result<()> {
        let Some(Some(File { buffer, .. })) = self.tables.get_mut(table) else { return Ok(()) };
        for (at, cell) in cells.enumerate() {
            if at > 0 {
                buffer.push(',');
            }
            write_cell(&cell, buffer);
        }
        buffer.push_str("\r\n");
        if buffer.len() >= BUFFER { self.flush(table) } else { Ok(()) }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_new {
            // It was not finished.
            let _ = fs::remove_dir_all(self.files.path());
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl Sink for Folder {
    fn create(&mut self, table: usize, tables: &Tables) -> Result<()> {
        let of = tables.table(table);
        if self.tables.len() <= table {
            self.tables.resize_with(table + 1, || None);
        }
        let name = format!("{}.csv", self.names.unique(&file_name(&of.name)));
        self.tables[table] = Some(File { name, buffer: String::new() });
        self.line(table, of.columns.iter().map(|column| Cell::Text(column.name.clone())))
    }

    fn row(&mut self, table: usize, cells: &[Cell]) -> Result<()> {
        self.line(table, cells.iter().cloned())
    }
}

/// Returns the name of a table as that of a file, which may have neither slashes nor colons.
fn file_name(table: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String = table.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let is_device = |prefix: &str| {
        let number = stem.strip_prefix(prefix);
        number.is_some_and(|number| number.len() == 1 && number.as_bytes()[0].is_ascii_digit())
    };
    // Names of devices in Windows, with any ending.
    let is_reserved = matches!(&*stem, "con" | "prn" | "aux" | "nul");
    if name.starts_with('.') || is_reserved || is_device("com") || is_device("lpt") {
        return format!("_{name}");
    }
    name
}

fn write_cell(cell: &Cell, to: &mut String) {
    // Writing to a text does not fail.
    let _ = match cell {
        Cell::Null => Ok(()),
        Cell::Bool(bool) => write!(to, "{bool}"),
        Cell::Integer(number) => write!(to, "{number}"),
        Cell::Real(number) if number.is_nan() => write!(to, "nan"),
        Cell::Real(number) => write!(to, "{number:?}"),
        Cell::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(to, "{byte:02x}")),
        // An empty text is no empty cell.
        Cell::Text(text) if text.is_empty() || text.contains(['"', ',', '\r', '\n']) => {
            write!(to, "\"{}\"", text.replace('"', "\"\""))
        }
        Cell::Text(text) => write!(to, "{text}"),
    };
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}
