//! The tables of saves: which columns the values of each class have.

use std::collections::{HashMap, HashSet};

use persist_tools::{ClassSchema, FieldSchema, Form, KindSchema};

use crate::objects::{ARENA, short};
use crate::world;

/// The most columns of a table. SQLite has 2,000 at most; a class with more is one column of text.
const MAX_COLUMNS: usize = 500;

/// The most tables. Lists beyond are text.
const MAX_TABLES: usize = 2_000;

/// The most classes that lie in each other in one row. Values below are text.
const MAX_LEVELS: usize = 16;

/// The most fields that are looked at for the tables of one save, whose classes may hold each other in many ways.
const MAX_FIELDS: usize = 200_000;

/// The longest array whose elements are columns.
const MAX_ARRAY: usize = 4;

/// The longest name of a column or a table, in characters.
const MAX_NAME: usize = 100;

/// The table of the objects.
pub(super) const OBJECTS: usize = 0;

/// The table of the values whose class the save does not define.
pub(super) const UNKNOWN: usize = 1;

/// All tables of some saves.
pub(super) struct Layout {
    pub(super) tables: Vec<Table>,
    by_source: HashMap<Source, usize>,
    names: Names,
}

pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// The tables of the lists and maps in its rows.
    pub(super) children: Vec<usize>,
    by_path: HashMap<Vec<String>, usize>,
    names: Names,
}

pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// The number of the row, by which others refer to it.
    Key,
    Integer,
    Real,
    Text,
    Bytes,
    /// Values of several kinds, and integers that may not fit into 64 bits with a sign.
    Any,
    /// The id of an object.
    Object,
    /// The row of a table.
    Row(usize),
}

/// The values that a table has.
#[derive(PartialEq, Eq, Hash)]
enum Source {
    Class(String),
    /// A list or a map at a path in the rows of a table.
    Child(usize, Vec<String>),
}

/// Where the parts of a value go.
pub(super) enum Node {
    /// Nowhere: it has no parts, or it is a world, whose objects have rows of their own.
    Nothing,
    Value(usize),
    /// The text of the value.
    Text(usize),
    Reference(usize),
    /// A reference to an object of the same world.
    Member(usize),
    /// An option of a value without columns: whether there is one.
    Presence(usize, Box<Node>),
    /// A value of any class: the name of the class, and the row in its table.
    Dynamic(usize, usize),
    Struct(Vec<(String, Node)>),
    Enum(usize, HashMap<String, Vec<(String, Node)>>),
    Tuple(Vec<Node>),
    List(usize, Box<Node>),
    Map(usize, Box<[Node; 2]>),
}

/// Where the values of the classes of one save go.
pub(super) struct Plan {
    /// The table of each class, and the parts of its values.
    pub(super) classes: Vec<(usize, Node)>,
    by_name: HashMap<String, usize>,
}

impl Plan {
    /// Returns the table of a class by its name.
    pub(super) fn class(&self, name: &str) -> Option<&(usize, Node)> {
        self.by_name.get(name).map(|class| &self.classes[*class])
    }
}

impl Layout {
    pub(super) fn new() -> Self {
        use ColumnKind::{Integer, Key, Object, Text};
        let mut this =
            Self { tables: Vec::new(), by_source: HashMap::new(), names: Names::default() };
        let of_objects = [
            ("id", Key),
            ("save", Text),
            ("world", Object),
            ("number", Integer),
            ("class", Text),
            ("name", Text),
            ("parent", Object),
            ("position", Integer),
            ("activity", Text),
            ("path", Text),
        ];
        this.push("objects", &of_objects);
        let of_unknown =
            [("row", Key), ("object", Object), ("save", Text), ("class", Text), ("value", Text)];
        this.push("unknown", &of_unknown);
        this
    }

    /// Adds the columns for the classes of a save, and returns where their values go.
    pub(super) fn plan(&mut self, classes: &[ClassSchema]) -> Plan {
        let mut planner = Planner { layout: self, classes, open: Vec::new(), rest: MAX_FIELDS };
        let planned = (0..classes.len()).map(|class| planner.of_class(class)).collect();
        let named = classes.iter().enumerate().map(|(at, class)| (class.name.clone(), at));
        Plan { classes: planned, by_name: named.collect() }
    }

    fn push(&mut self, name: &str, fixed: &[(&str, ColumnKind)]) -> usize {
        let mut table = Table {
            name: self.names.unique(name),
            columns: Vec::new(),
            children: Vec::new(),
            by_path: HashMap::new(),
            names: Names::default(),
        };
        for (name, kind) in fixed {
            table.columns.push(Column { name: table.names.unique(name), kind: *kind });
        }
        self.tables.push(table);
        self.tables.len() - 1
    }

    fn of_class(&mut self, class: &str) -> usize {
        let source = Source::Class(class.to_owned());
        if let Some(table) = self.by_source.get(&source) {
            return *table;
        }
        let name = if self.names.is_free(short(class)) { short(class) } else { class };
        let fixed =
            [("row", ColumnKind::Key), ("object", ColumnKind::Object), ("save", ColumnKind::Text)];
        let table = self.push(name, &fixed);
        self.by_source.insert(source, table);
        table
    }

    /// Returns the table of the lists or maps at a path; `None` if there are too many tables.
    fn of_child(&mut self, parent: usize, path: &[String], is_map: bool) -> Option<usize> {
        let source = Source::Child(parent, path.to_vec());
        if let Some(table) = self.by_source.get(&source) {
            return Some(*table);
        }
        if self.tables.len() >= MAX_TABLES {
            return None;
        }
        let name = format!("{}_{}", self.tables[parent].name, name_of(path));
        let fixed = [
            ("row", ColumnKind::Key),
            ("parent", ColumnKind::Row(parent)),
            ("position", ColumnKind::Integer),
        ];
        // The keys of maps have columns like their values.
        let table = self.push(&name, if is_map { &fixed[..2] } else { &fixed });
        self.by_source.insert(source, table);
        self.tables[parent].children.push(table);
        Some(table)
    }

    /// Removes the columns and tables from these on.
    fn roll_back(&mut self, table: usize, columns: usize, tables: usize) {
        for removed in self.tables.drain(tables..) {
            self.names.remove(&removed.name);
        }
        self.by_source.retain(|_, table| *table < tables);
        self.tables.iter_mut().for_each(|table| table.children.retain(|child| *child < tables));
        let table = &mut self.tables[table];
        for removed in table.columns.drain(columns..) {
            table.names.remove(&removed.name);
        }
        table.by_path.retain(|_, column| *column < columns);
    }
}

impl Table {
    /// Returns the column of the values at a path. If saves have several kinds there, it takes all of them.
    fn column(&mut self, path: &[String], kind: ColumnKind) -> usize {
        if let Some(column) = self.by_path.get(path) {
            let known = &mut self.columns[*column].kind;
            if *known != kind {
                *known = ColumnKind::Any;
            }
            return *column;
        }
        self.columns.push(Column { name: self.names.unique(&name_of(path)), kind });
        self.by_path.insert(path.to_vec(), self.columns.len() - 1);
        self.columns.len() - 1
    }
}

/// Returns the name of a column: the names of the fields that lead to it. One that would be a number in SQL follows a
/// word.
fn name_of(path: &[String]) -> String {
    let name = path.join("_");
    match name.chars().next() {
        None => String::from("value"),
        Some(first) if first.is_ascii_digit() => format!("value_{name}"),
        Some(_) => name,
    }
}

/// Finds where the values of the classes of a save go.
struct Planner<'l> {
    layout: &'l mut Layout,
    classes: &'l [ClassSchema],
    /// The classes that the next value lies in.
    open: Vec<usize>,
    /// The number of fields that may be looked at.
    rest: usize,
}

impl Planner<'_> {
    fn of_class(&mut self, class: usize) -> (usize, Node) {
        let table = self.layout.of_class(&self.classes[class].name);
        (table, self.node(table, &mut Vec::new(), &KindSchema::Class(class)))
    }

    fn node(&mut self, table: usize, path: &mut Vec<String>, kind: &KindSchema) -> Node {
        self.rest = self.rest.saturating_sub(1);
        if self.rest == 0 || self.open.len() > MAX_LEVELS {
            return Node::Text(self.column(table, path, ColumnKind::Text));
        }
        let (columns, tables) = (self.layout.tables[table].columns.len(), self.layout.tables.len());
        let node = self.node_of(table, path, kind);
        let now = self.layout.tables[table].columns.len();
        if now > MAX_COLUMNS && now - columns > 1 {
            self.layout.roll_back(table, columns, tables);
            return Node::Text(self.column(table, path, ColumnKind::Text));
        }
        node
    }

    fn node_of(&mut self, table: usize, path: &mut Vec<String>, kind: &KindSchema) -> Node {
        use KindSchema::*;
        let of = match kind {
            Unit => return Node::Nothing,
            Compact(integer) => return self.node_of(table, path, &KindSchema::from(*integer)),
            Bool | U8 | U16 | U32 | I8 | I16 | I32 | I64 => ColumnKind::Integer,
            U64 | U128 | I128 => ColumnKind::Any,
            F32 | F64 => ColumnKind::Real,
            Char | Text => ColumnKind::Text,
            List(part) | Array(part, _) if **part == U8 => ColumnKind::Bytes,
            Option(part) => {
                let node = self.node(table, path, part);
                if node.has_columns() {
                    return node;
                }
                let column = self.column(table, path, ColumnKind::Integer);
                return Node::Presence(column, Box::new(node));
            }
            Tuple(parts) => return self.tuple(table, path, parts.iter()),
            Array(part, length) if *length <= MAX_ARRAY => {
                return self.tuple(table, path, std::iter::repeat_n(&**part, *length));
            }
            List(part) | Set(part) | Array(part, _) => {
                let Some(child) = self.layout.of_child(table, path, false) else {
                    return Node::Text(self.column(table, path, ColumnKind::Text));
                };
                return Node::List(child, Box::new(self.node(child, &mut Vec::new(), part)));
            }
            Map(parts) => {
                let Some(child) = self.layout.of_child(table, path, true) else {
                    return Node::Text(self.column(table, path, ColumnKind::Text));
                };
                let key = self.node(child, &mut vec![String::from("key")], &parts[0]);
                let value = self.node(child, &mut vec![String::from("value")], &parts[1]);
                return Node::Map(child, Box::new([key, value]));
            }
            Class(class) => return self.class(table, path, *class),
            Reference { .. } | TraitReference { .. } => {
                return Node::Reference(self.column(table, path, ColumnKind::Object));
            }
            Handle(arena) if **arena == *ARENA => {
                return Node::Member(self.column(table, path, ColumnKind::Object));
            }
            Dynamic(_) => {
                let class = self.column(table, path, ColumnKind::Text);
                path.push(String::from("row"));
                let row = self.column(table, path, ColumnKind::Integer);
                path.pop();
                return Node::Dynamic(class, row);
            }
            _ => return Node::Text(self.column(table, path, ColumnKind::Text)),
        };
        Node::Value(self.column(table, path, of))
    }

    fn class(&mut self, table: usize, path: &mut Vec<String>, class: usize) -> Node {
        let classes = self.classes;
        let Some(schema) = classes.get(class).filter(|_| !self.open.contains(&class)) else {
            return Node::Text(self.column(table, path, ColumnKind::Text));
        };
        if schema.name == world::CLASS {
            return Node::Nothing;
        }
        self.open.push(class);
        let node = match &schema.form {
            Form::Struct(fields) => Node::Struct(self.fields(table, path, fields)),
            Form::Enum(variants) => {
                let own = [String::from("variant")];
                let tag = if path.is_empty() { &own } else { &path[..] };
                let tag = self.layout.tables[table].column(tag, ColumnKind::Text);
                let mut nodes = HashMap::new();
                for variant in variants {
                    path.push(variant.name.clone());
                    nodes.insert(variant.name.clone(), self.fields(table, path, &variant.fields));
                    path.pop();
                }
                Node::Enum(tag, nodes)
            }
            Form::Value(kind) => self.node(table, path, kind),
        };
        self.open.pop();
        node
    }

    fn fields(
        &mut self,
        table: usize,
        path: &mut Vec<String>,
        fields: &[FieldSchema],
    ) -> Vec<(String, Node)> {
        // A struct around one value is that value.
        if let [field] = fields
            && field.name == "0"
        {
            return vec![(field.name.clone(), self.node(table, path, &field.kind))];
        }
        let mut nodes = Vec::new();
        for field in fields {
            path.push(field.name.clone());
            nodes.push((field.name.clone(), self.node(table, path, &field.kind)));
            path.pop();
        }
        nodes
    }

    fn tuple<'k>(
        &mut self,
        table: usize,
        path: &mut Vec<String>,
        parts: impl Iterator<Item = &'k KindSchema>,
    ) -> Node {
        let mut nodes = Vec::new();
        for (at, part) in parts.enumerate() {
            path.push(at.to_string());
            nodes.push(self.node(table, path, part));
            path.pop();
        }
        Node::Tuple(nodes)
    }

    fn column(&mut self, table: usize, path: &[String], kind: ColumnKind) -> usize {
        self.layout.tables[table].column(path, kind)
    }
}

impl Node {
    /// Returns whether a value has columns in the row that it is in.
    fn has_columns(&self) -> bool {
        match self {
            Self::Nothing | Self::List(..) | Self::Map(..) => false,
            Self::Struct(fields) => fields.iter().any(|(_, node)| node.has_columns()),
            Self::Tuple(nodes) => nodes.iter().any(Self::has_columns),
            _ => true,
        }
    }
}

/// Names that differ by more than case, which neither SQLite nor all file systems tell apart.
#[derive(Default)]
pub(super) struct Names {
    used: HashSet<String>,
}

impl Names {
    fn is_free(&self, name: &str) -> bool {
        !self.used.contains(&name.to_lowercase())
    }

    /// Returns a name that no other has: with a number if it is used already.
    pub(super) fn unique(&mut self, name: &str) -> String {
        // A text in SQL ends at the first zero.
        let mut name: String = name.replace('\0', "\u{fffd}").chars().take(MAX_NAME).collect();
        if name.is_empty() || name.to_lowercase().starts_with("sqlite_") {
            name.insert(0, '_');
        }
        let mut numbered = name.clone();
        for number in 2_usize.. {
            if self.used.insert(numbered.to_lowercase()) {
                break;
            }
            numbered = format!("{name}_{number}");
        }
        numbered
    }

    fn remove(&mut self, name: &str) {
        self.used.remove(&name.to_lowercase());
    }
}
