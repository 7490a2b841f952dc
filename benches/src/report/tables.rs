//! The tables of the page: which figures each shows, and what they are compared with.

use super::figures::{Figures, Role};

/// A table as Markdown.
struct Table {
    /// The name in the marks of the page; `title` is the first cell.
    name: &'static str,
    title: &'static str,
    cells: Cells,
    /// The ratios in brackets.
    ratios: &'static [Base],
}

enum Cells {
    /// A row for each contender; columns are a heading, a table of figures and a set.
    Contenders(&'static [(&'static str, &'static str, &'static str)]),
    /// A row for each name, table and contender; columns are sets.
    Sets {
        rows: &'static [(&'static str, &'static str, &'static str)],
        columns: &'static [&'static str],
    },
}

/// The figure that another one is divided by.
enum Base {
    BestRival,
    /// Another contender.
    Row(&'static str),
    /// The same contender's figure of another set.
    Set(&'static str),
}

macro_rules! columns {
    ($table:literal: $($set:literal)*) => { Cells::Contenders(&[$(($set, $table, $set)),*]) };
    ($set:literal of $($heading:literal: $table:literal),* $(,)?) => {
        Cells::Contenders(&[$(($heading, $table, $set)),*])
    };
}

macro_rules! values {
    ($table:literal) => {
        columns!($table: "log" "mesh" "minecraft_savedata" "mk48" "chat" "game")
    };
}

macro_rules! graphs {
    ($table:literal) => {
        columns!($table: "random 1000000" "local 1000000" "earlier 1000000" "random 10000" "local 10000" "random 1000")
    };
}

const SIZES: &[&str] = &["random 1000", "random 10000", "random 100000", "random 1000000"];

const TABLES: &[Table] = &[
    Table {
        name: "encode",
        title: "encode, us (x best rival)",
        cells: values!("values: encode, us"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "decode",
        title: "decode and drop, us (x best rival)",
        cells: values!("values: decode and drop, us"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "blocks saved",
        title: "encode, us (x savefile)",
        cells: columns!("blocks: encode, us": "480 kB" "6 MB" "60 MB"),
        ratios: &[Base::Row("savefile")],
    },
    Table {
        name: "blocks loaded",
        title: "decode and drop, us (x savefile)",
        cells: columns!("blocks: decode and drop, us": "480 kB" "6 MB" "60 MB"),
        ratios: &[Base::Row("savefile")],
    },
    Table {
        name: "size",
        title: "size, kB (x best rival)",
        cells: values!("values: size, kB"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "lz4",
        title: "by LZ4, kB (x best rival)",
        cells: values!("values: by LZ4, kB"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "zstandard",
        title: "by Zstandard 3, kB (x best rival)",
        cells: values!("values: by Zstandard 3, kB"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "file save",
        title: "save into a file, ms (x best rival)",
        cells: values!("files: save, ms"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "file load",
        title: "load from a file, ms (x best rival)",
        cells: values!("files: load, ms"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "file size",
        title: "file, kB (x best rival)",
        cells: values!("files: size, kB"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "first",
        title: "save, ms (x second)",
        cells: columns!("first: save, ms": "first" "second"),
        ratios: &[Base::Set("second")],
    },
    Table {
        name: "parts",
        title: "300 parts of a game (x postcard)",
        cells: columns!("game" of
            "save, ms": "parts: save, ms",
            "load, ms": "parts: load, ms",
            "size, kB": "parts: size, kB"),
        ratios: &[Base::Row("postcard")],
    },
    Table {
        name: "older",
        title: "load of an older save, us (x its own)",
        cells: columns!("older: load, us": "own schema" "older schema"),
        ratios: &[Base::Set("own schema")],
    },
    Table {
        name: "added",
        title: "load after a field was added, us (x rival)",
        cells: columns!("older: a field added, us": "minecraft_savedata"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "graph save",
        title: "save, ns per object (x deep copy, x best rival)",
        cells: graphs!("graph: save, ns per object"),
        ratios: &[Base::Row("deep copy"), Base::BestRival],
    },
    Table {
        name: "graph load",
        title: "load, ns per object (x deep copy, x best rival)",
        cells: graphs!("graph: load, ns per object"),
        ratios: &[Base::Row("deep copy"), Base::BestRival],
    },
    Table {
        name: "graph free",
        title: "free, ns per object (x deep copy, x best rival)",
        cells: graphs!("graph: free, ns per object"),
        ratios: &[Base::Row("deep copy"), Base::BestRival],
    },
    Table {
        name: "graph size",
        title: "bytes per object (x best rival)",
        cells: graphs!("graph: size, bytes per object"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "graph memory",
        title: "bytes per object (x deep copy)",
        cells: Cells::Contenders(&[
            ("earlier 1000000: save", "memory: save, bytes per object", "earlier 1000000"),
            ("load", "memory: load, bytes per object", "earlier 1000000"),
            ("stays", "memory: stays, bytes per object", "earlier 1000000"),
            ("random 10000: save", "memory: save, bytes per object", "random 10000"),
            ("load", "memory: load, bytes per object", "random 10000"),
            ("stays", "memory: stays, bytes per object", "random 10000"),
        ]),
        ratios: &[Base::Row("deep copy")],
    },
    Table {
        name: "small graphs",
        title: "us of a whole graph (x best rival)",
        cells: Cells::Contenders(&[
            ("1 object: save", "graph: small, save, us", "1"),
            ("load and free", "graph: small, load and free, us", "1"),
            ("100 objects: save", "graph: small, save, us", "100"),
            ("load and free", "graph: small, load and free, us", "100"),
        ]),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "growth",
        title: "persist, x 1000 objects",
        cells: Cells::Sets {
            rows: &[
                ("save, ns per object", "graph: save, ns per object", "persist"),
                ("load, ns per object", "graph: load, ns per object", "persist"),
                ("deep copy, ns per object", "graph: load, ns per object", "deep copy"),
                ("save, bytes per object", "memory: save, bytes per object", "persist"),
                ("load, bytes per object", "memory: load, bytes per object", "persist"),
                ("stays, bytes per object", "memory: stays, bytes per object", "persist"),
                ("tables of a save", "memory: tables of a save, bytes per object", "persist"),
                ("tables of a load", "memory: tables of a load, bytes per object", "persist"),
            ],
            columns: SIZES,
        },
        ratios: &[Base::Set("random 1000")],
    },
    Table {
        name: "stall",
        title: "call of a save in the background, ms",
        cells: Cells::Sets {
            rows: &[
                ("graph, p50", "stall: p50, ms", "graph"),
                ("graph, p99", "stall: p99, ms", "graph"),
                ("graph, until written", "stall: until written, ms", "graph"),
                ("world, p50", "stall: p50, ms", "world"),
                ("world, p99", "stall: p99, ms", "world"),
                ("world, until written", "stall: until written, ms", "world"),
                ("world, one object changed, p50", "stall: p50, ms", "world, one changed"),
                ("world, one object changed, p99", "stall: p99, ms", "world, one changed"),
                (
                    "world, one object changed, until written",
                    "stall: until written, ms",
                    "world, one changed",
                ),
            ],
            columns: &["10000", "100000", "1000000"],
        },
        ratios: &[],
    },
    Table {
        name: "world",
        title: "ms (x hecs)",
        cells: columns!("1000000" of
            "spawn and drop": "world: spawn and drop, ms",
            "query, two, 30,000": "world: query of two components of 30,000 objects, one changed, ms",
            "query, two": "world: query of two components, one changed, ms",
            "query, three": "world: query of three components, ms",
            "save": "world: save into memory, ms",
            "load and drop": "world: load and drop, ms",
            "size, kB": "world: size, kB"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "history",
        title: "ns each, 3 fields (x best rival)",
        cells: columns!("3 fields" of
            "apply": "history: apply, ns",
            "undo": "history: undo, ns",
            "redo": "history: redo, ns",
            "drag": "history: drag, ns",
            "bytes of an entry": "memory: bytes of an entry"),
        ratios: &[Base::BestRival],
    },
    Table {
        name: "history of 20 fields",
        title: "ns each, 20 fields",
        cells: columns!("20 fields" of
            "apply": "history: apply, ns",
            "undo": "history: undo, ns",
            "redo": "history: redo, ns",
            "drag": "history: drag, ns",
            "bytes of an entry": "memory: bytes of an entry"),
        ratios: &[],
    },
    Table {
        name: "journal",
        title: "journal",
        cells: columns!("edits" of
            "edits a second": "journal: edits a second",
            "bytes of an edit": "journal: bytes of an edit"),
        ratios: &[],
    },
    Table {
        name: "growth of worlds",
        title: "ns each, or bytes (x that of 1,000)",
        cells: columns!("growth: ns each": "1000" "10000" "100000" "1000000"),
        ratios: &[Base::Set("1000")],
    },
    Table {
        name: "documents",
        title: "us (x that of 1,000)",
        cells: columns!("history: documents, us": "1000" "10000" "100000" "1000000"),
        ratios: &[Base::Set("1000")],
    },
    Table {
        name: "journals of documents",
        title: "bytes of the journal (x that of 1,000)",
        cells: columns!("history: documents, bytes of the journal": "1000" "10000" "100000" "1000000"),
        ratios: &[Base::Set("1000")],
    },
    Table {
        name: "recovery",
        title: "a long journal",
        cells: columns!("entries" of
            "ns each": "journal: ns of an entry",
            "bytes each": "journal: bytes of an entry"),
        ratios: &[],
    },
    builds("builds", "200 structs (x serde + bincode)", &BUILDS_200),
    builds("builds of a port", "port (x serde + bincode)", &BUILDS_PORT),
    Table {
        name: "builds of nested types",
        title: "release build, s (x serde + bincode)",
        cells: Cells::Contenders(&[
            ("depth 4", "builds: depth 4", "release"),
            ("depth 6", "builds: depth 6", "release"),
            ("depth 8", "builds: depth 8", "release"),
        ]),
        ratios: &[Base::Row("serde + bincode")],
    },
];

macro_rules! build_columns {
    ($table:literal) => {
        [
            ("check, first", $table, "check, first"),
            ("check", $table, "check"),
            ("debug, first", $table, "debug, first"),
            ("debug", $table, "debug"),
            ("release", $table, "release"),
            ("memory, MiB", $table, "memory"),
            ("size, KiB", $table, "size"),
        ]
    };
}

type Column = (&'static str, &'static str, &'static str);

const BUILDS_200: [Column; 7] = build_columns!("builds: 200 structs");
const BUILDS_PORT: [Column; 7] = build_columns!("builds: port");

const fn builds(name: &'static str, title: &'static str, columns: &'static [Column]) -> Table {
    let ratios = &[Base::Row("serde + bincode")];
    Table { name, title, cells: Cells::Contenders(columns), ratios }
}

/// The table of that name; an empty one if nothing of it was measured.
pub(super) fn render(name: &str, figures: &Figures) -> Result<String, String> {
    let table = TABLES.iter().find(|table| table.name == name);
    let table = table.ok_or(format!("there is no table \"{name}\""))?;
    let (headings, lines) = table.lines(figures);
    let mut text = format!("| {} | {} |\n", table.title, headings.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(headings.len()));
    for (name, cells) in lines {
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    Ok(text)
}

impl Table {
    fn lines<'f>(&self, figures: &'f Figures) -> (Vec<&'static str>, Vec<(&'f str, Vec<String>)>) {
        match &self.cells {
            Cells::Contenders(columns) => {
                let mut names: Vec<(&str, Role)> = Vec::new();
                for (_, table, set) in *columns {
                    for row in figures.of(table, set) {
                        if names.iter().all(|(name, _)| *name != row.name) {
                            names.push((&row.name, row.role));
                        }
                    }
                }
                names.sort_by_key(|(_, role)| *role == Role::Ours);
                let cell =
                    |name: &str, (_, table, set): &Column| self.cell(figures, table, name, set);
                let line =
                    |(name, _)| (name, columns.iter().map(|column| cell(name, column)).collect());
                (
                    columns.iter().map(|column| column.0).collect(),
                    names.into_iter().map(line).collect(),
                )
            }
            Cells::Sets { rows, columns } => {
                let line = |(label, table, name): &Column| {
                    let cell = |set: &&str| self.cell(figures, table, name, set);
                    (*label, columns.iter().map(cell).collect())
                };
                (columns.to_vec(), rows.iter().map(line).collect())
            }
        }
    }

    /// The figure, and its ratios to what the table compares with; a figure is not compared with itself.
    fn cell(&self, figures: &Figures, table: &str, name: &str, set: &str) -> String {
        let Some(figure) = figures.find(table, name, set) else { return String::new() };
        if self.ratios.iter().any(|base| matches!(base, Base::Row(row) if *row == name)) {
            return number(figure);
        }
        let ratio = |base: &Base| {
            let base = match base {
                Base::BestRival => figures.best(table, set).map(|row| row.figure),
                Base::Row(row) => figures.find(table, row, set),
                Base::Set(other) if *other == set => None,
                Base::Set(other) => figures.find(table, name, other),
            };
            base.map(|base| format!("{:.2}", figure / base))
        };
        let ratios: Vec<String> = self.ratios.iter().filter_map(ratio).collect();
        let number = number(figure);
        if ratios.is_empty() { number } else { format!("{number} ({})", ratios.join(", ")) }
    }
}

/// Three digits that count, or more before the point.
pub(super) fn number(figure: f64) -> String {
    match figure {
        ..10.0 => format!("{figure:.2}"),
        10.0..100.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}
