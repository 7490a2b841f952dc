//! Tables as an SQLite database.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::layout::{Column, ColumnKind};
use super::{Cell, Sink, Tables};
use crate::exit::{Failure, Result};

/// Statements that stay prepared: tables that take turns.
const PREPARED: usize = 256;

/// An SQLite database.
pub(crate) struct Database {
    connection: Connection,
    /// How to add a row to each table that has begun.
    inserts: Vec<String>,
    /// How to add the removed objects that the columns of the tables refer to.
    removed: Vec<String>,
}

impl Database {
    /// Creates a database in an empty file.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        // The file gets its name once it is whole. References to later rows are right in the end.
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN",
        )?;
        Ok(Self { connection, inserts: Vec::new(), removed: Vec::new() })
    }

    /// Writes what is left.
    pub(crate) fn finish(self) -> Result<()> {
        for removed in &self.removed {
            self.connection.execute(removed, ())?;
        }
        self.connection.execute_batch("COMMIT")?;
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

impl Sink for Database {
    fn create(&mut self, table: usize, tables: &Tables) -> Result<()> {
        let of = tables.table(table);
        let name = quoted(&of.name);
        let column = |column: &Column| {
            let kind = match column.kind {
                ColumnKind::Key => " INTEGER PRIMARY KEY",
                ColumnKind::Integer => " INTEGER",
                ColumnKind::Real => " REAL",
                ColumnKind::Text => " TEXT",
                ColumnKind::Bytes => " BLOB",
                // Without a type, SQLite makes no rounded number of the text of a large one.
                ColumnKind::Any => "",
                ColumnKind::Object => " INTEGER REFERENCES objects (id)",
                ColumnKind::Row(parent) => {
                    let parent = quoted(&tables.table(parent).name);
                    return format!(
                        "{} INTEGER REFERENCES {parent} (\"row\")",
                        quoted(&column.name)
                    );
                }
            };
            quoted(&column.name) + kind
        };
        let columns: Vec<String> = of.columns.iter().map(column).collect();
        self.connection.execute(&format!("CREATE TABLE {name} ({})", columns.join(", ")), ())?;
        for column in of.columns.iter().filter(|column| column.kind == ColumnKind::Object) {
            let column = quoted(&column.name);
            self.removed.push(format!(
                "INSERT OR IGNORE INTO objects (id) SELECT {column} FROM {name} WHERE {column} IS NOT NULL"
            ));
        }
        if self.inserts.len() <= table {
            self.inserts.resize(table + 1, String::new());
        }
        let marks = vec!["?"; of.columns.len()].join(", ");
        self.inserts[table] = format!("INSERT INTO {name} VALUES ({marks})");
        Ok(())
    }

    fn row(&mut self, table: usize, cells: &[Cell]) -> Result<()> {
        let mut insert = self.connection.prepare_cached(&self.inserts[table])?;
        insert.execute(params_from_iter(cells))?;
        Ok(())
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Bool(bool) => ValueRef::Integer((*bool).into()),
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(format!("cannot write the database: {error}"))
    }
}
