//! Saves as tables, which `convert` writes: a table for each class, for the objects, and for lists and maps.
//!
//! `layout` finds the columns of the classes, this file writes the rows object by object, and `csv` and `sqlite` write
//! them to files.

mod csv;
mod layout;
#[cfg(feature = "sqlite")]
mod sqlite;

use persist::reflect::HandleValue;
use persist::{Record, Value};
use persist_tools::Entry;
use serde::Serialize;

use crate::exit::{Failure, Result};
use crate::found::{Found, holders, worlds};
use crate::input::{Bar, Save};
use crate::objects::NAMES;
use crate::paged::PagedWorld;
use crate::world::{self, Object, World, parent_of};
use layout::{Layout, Node, OBJECTS, Plan, Table, UNKNOWN};

pub(crate) use csv::Folder;
#[cfg(feature = "sqlite")]
pub(crate) use sqlite::Database;

/// Where rows go.
pub(crate) trait Sink {
    /// Begins a table, to whose rows others in `tables` refer.
    fn create(&mut self, table: usize, tables: &Tables) -> Result<()>;

    /// Adds a row to a table that has begun.
    fn row(&mut self, table: usize, cells: &[Cell]) -> Result<()>;
}

/// The tables of some saves.
pub(crate) struct Tables {
    layout: Layout,
    /// The number of rows of each table; `None` before it has begun.
    rows: Vec<Option<i64>>,
    /// The number that is added to the ids of the next objects.
    base: i64,
}

/// A value in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A table that was written.
#[derive(Serialize)]
pub(crate) struct Written {
    name: String,
    rows: i64,
}

impl Tables {
    pub(crate) fn new() -> Self {
        Self { layout: Layout::new(), rows: Vec::new(), base: 0 }
    }

    /// Adds the columns that the values of a save need, before the first row is written.
    pub(crate) fn plan(&mut self, save: &Save<'_>) {
        self.layout.plan(save.classes());
    }

    /// Writes the rows of a save, which was planned.
    pub(crate) fn write(
        &mut self,
        name: &str,
        save: &mut Save<'_>,
        sink: &mut dyn Sink,
        bar: &Bar,
    ) -> Result<()> {
        let plan = self.layout.plan(save.classes());
        self.rows.resize(self.layout.tables.len(), None);
        let spaces = Spaces::of(save, self.base)?;
        self.base = spaces.end;
        SaveWriter { tables: self, plan: &plan, name, spaces, worlds: 0, sink, bar }.write(save)
    }

    /// Returns the tables that were written.
    pub(crate) fn written(&self) -> Vec<Written> {
        let begun = self.layout.tables.iter().zip(&self.rows);
        begun
            .filter_map(|(table, rows)| Some(Written { name: table.name.clone(), rows: (*rows)? }))
            .collect()
    }
}

/// The numbers that are added to the ids of objects. Each save and each world counts its objects from 1, and a table
/// does not.
struct Spaces {
    of_save: i64,
    of_worlds: Vec<i64>,
    end: i64,
}

impl Spaces {
    /// Reads the highest ids of a save and of its worlds.
    fn of(save: &mut Save<'_>, base: i64) -> Result<Self> {
        let is_world: Vec<bool> =
            save.classes().iter().map(|class| class.name == world::CLASS).collect();
        let may_hold =
            if is_world.contains(&true) { holders(save.classes(), is_world) } else { is_world };
        let (mut last, mut last_of_worlds) = (0, Vec::new());
        save.rewind();
        while let Some(record) = save.next_record()? {
            let (position, class) = (record.position, record.location.class as usize);
            last = last.max(record.location.id);
            if !may_hold[class] {
                continue;
            }
            let Some(entry) = save.head_entry()? else { break };
            for world in worlds(Found::whole(&entry, position)) {
                let record = world.value.as_record();
                let last = record.and_then(|it| it.get("last_id")?.as_u64()).unwrap_or(0);
                last_of_worlds.push(last);
            }
        }
        let mut this = Self { of_save: base, of_worlds: Vec::new(), end: after(base, last)? };
        for last in last_of_worlds {
            this.of_worlds.push(this.end);
            this.end = after(this.end, last)?;
        }
        Ok(this)
    }
}

/// Returns the next multiple of a thousand after the ids up to `last`, so that an id still shows its number.
fn after(base: i64, last: u64) -> Result<i64> {
    let last = i64::try_from(last).ok().and_then(|last| base.checked_add(last));
    let next = last.and_then(|last| (last / 1_000 + 1).checked_mul(1_000));
    next.ok_or_else(|| Failure::new("the ids of the objects are too high for a table"))
}

/// Writes the rows of one save.
struct SaveWriter<'w> {
    tables: &'w mut Tables,
    plan: &'w Plan,
    name: &'w str,
    spaces: Spaces,
    /// The number of worlds whose objects were written.
    worlds: usize,
    sink: &'w mut dyn Sink,
    bar: &'w Bar,
}

/// Where a value is.
#[derive(Clone, Copy)]
struct Owner {
    /// The id of the object.
    object: i64,
    /// The number that is added to the ids of objects of the same world; `None` without a world.
    members: Option<i64>,
}

impl SaveWriter<'_> {
    fn write(&mut self, save: &mut Save<'_>) -> Result<()> {
        self.begin(OBJECTS)?;
        save.rewind();
        while let Some(record) = save.next_record()? {
            let (position, class) = (record.position, record.location.class as usize);
            let Some(entry) = save.head_entry()? else { break };
            let found = worlds(Found::whole(&entry, position));
            // A reference to an object of a world that is not in a world means the next one, or the first.
            let next = if found.is_empty() { 0 } else { self.worlds };
            let owner = Owner {
                object: id_of(self.spaces.of_save, entry.id().get()),
                members: self.spaces.of_worlds.get(next).copied(),
            };
            // Content that a program did not know belongs to an object that has a row.
            if !entry.is_kept() {
                self.object_of_save(&entry, owner)?;
            }
            if entry.class() != world::CLASS {
                let (table, node) = &self.plan.classes[class];
                self.class_row(*table, node, &entry.value, owner)?;
            }
            for world in found {
                self.world(&entry, &world, owner, save)?;
            }
        }
        Ok(())
    }

    fn object_of_save(&mut self, entry: &Entry, owner: Owner) -> Result<()> {
        let id = entry.id();
        let record = entry.value.as_record();
        let name = record
            .and_then(|record| NAMES.iter().find_map(|name| record.get(name)?.as_text()))
            .filter(|name| !name.is_empty());
        let path = if entry.is_root() { String::from(".") } else { id.to_string() };
        self.object(&[
            Cell::Integer(owner.object),
            self.name.into(),
            Cell::Null,
            integer(id.get()),
            entry.class().into(),
            name.map_or(Cell::Null, Cell::from),
            Cell::Null,
            Cell::Null,
            Cell::Null,
            path.as_str().into(),
        ])
    }

    /// Writes the resources and the objects of a world.
    fn world(
        &mut self,
        entry: &Entry,
        world: &Found<'_>,
        owner: Owner,
        save: &mut Save<'_>,
    ) -> Result<()> {
        let base = self.spaces.of_worlds.get(self.worlds).copied();
        self.worlds += 1;
        let of_world = Owner { members: base, ..owner };
        let resources = world.value.as_record().and_then(|it| it.get("resources")?.as_seq());
        for resource in resources.unwrap_or_default() {
            self.dynamic(resource, of_world)?;
        }
        let unknown =
            || Failure::new(format!("the world of object {} is of an unknown form", entry.id()));
        if let Some(paged) = PagedWorld::of(&world.value, entry.id(), save) {
            for place in 0..paged.len() {
                let tree = paged.tree(save)?;
                let path = tree.map(|tree| paged.path(tree, place)).unwrap_or_default();
                let Some((page, at)) = paged.page(place, save)? else { break };
                let object = Object::of(&page[at]).ok_or_else(unknown)?;
                self.member(&object, &format!("{}{path}", world.label), of_world)?;
            }
            return Ok(());
        }
        let whole = World::of(&world.value).ok_or_else(unknown)?;
        for (place, object) in whole.objects.iter().enumerate() {
            self.member(object, &format!("{}{}", world.label, whole.path(place)), of_world)?;
        }
        Ok(())
    }

    /// Writes an object of a world, and its components.
    fn member(&mut self, object: &Object<'_>, path: &str, world: Owner) -> Result<()> {
        let base = world.members.unwrap_or(world.object);
        let id = id_of(base, object.id);
        let parent = parent_of(object.value);
        self.object(&[
            Cell::Integer(id),
            self.name.into(),
            Cell::Integer(world.object),
            integer(object.id),
            Cell::Null,
            if object.name.is_empty() { Cell::Null } else { object.name.into() },
            parent.map_or(Cell::Null, |(parent, _)| Cell::Integer(id_of(base, parent))),
            parent.map_or(Cell::Null, |(_, index)| integer(index)),
            object.activity.into(),
            path.into(),
        ])?;
        for component in object.components {
            self.dynamic(component, Owner { object: id, ..world })?;
        }
        Ok(())
    }

    fn object(&mut self, cells: &[Cell; 10]) -> Result<()> {
        self.bar.object();
        self.count(OBJECTS)?;
        self.sink.row(OBJECTS, cells)
    }

    /// Writes a value of any class. Returns the class and the row in its table.
    fn dynamic(&mut self, value: &Value, owner: Owner) -> Result<(Cell, i64)> {
        let class = value.as_record().map(Record::class);
        let (plan, class_name) = (self.plan, class.map_or(Cell::Null, Cell::from));
        if let Some((table, node)) = class.and_then(|class| plan.class(class)) {
            return Ok((class_name, self.class_row(*table, node, value, owner)?));
        }
        let row = self.count(UNKNOWN)?;
        let cells = [
            Cell::Integer(row),
            Cell::Integer(owner.object),
            self.name.into(),
            class_name.clone(),
            value.to_string().as_str().into(),
        ];
        self.sink.row(UNKNOWN, &cells)?;
        Ok((class_name, row))
    }

    fn class_row(&mut self, table: usize, node: &Node, value: &Value, owner: Owner) -> Result<i64> {
        let fixed = [Cell::Integer(owner.object), self.name.into()];
        self.row(table, &fixed, &[(node, value)], owner)
    }

    /// Writes a row with these values and, before it, the rows of their lists and maps.
    fn row(
        &mut self,
        table: usize,
        fixed: &[Cell],
        values: &[(&Node, &Value)],
        owner: Owner,
    ) -> Result<i64> {
        let row = self.count(table)?;
        let mut cells = vec![Cell::Null; self.tables.layout.tables[table].columns.len()];
        cells[0] = Cell::Integer(row);
        cells[1..=fixed.len()].clone_from_slice(fixed);
        for (node, value) in values {
            self.put(node, value, &mut cells, row, owner)?;
        }
        self.sink.row(table, &cells)?;
        Ok(row)
    }

    /// Puts the parts of a value into the cells of a row.
    fn put(
        &mut self,
        node: &Node,
        value: &Value,
        cells: &mut [Cell],
        row: i64,
        owner: Owner,
    ) -> Result<()> {
        match (node, value) {
            (_, Value::Option(None)) => {}
            (Node::Presence(column, node), Value::Option(Some(value))) => {
                cells[*column] = Cell::Bool(true);
                self.put(node, value, cells, row, owner)?;
            }
            (Node::Text(column), Value::Seq(parts)) if parts.is_empty() => {
                cells[*column] = Cell::Null;
            }
            (Node::Text(column), value) => cells[*column] = value.to_string().as_str().into(),
            (node, Value::Option(Some(value))) => self.put(node, value, cells, row, owner)?,
            (Node::Value(column), value) => cells[*column] = Cell::of(value),
            (Node::Reference(column), Value::Ref(Some(id))) => {
                cells[*column] = Cell::Integer(id_of(self.spaces.of_save, id.get()));
            }
            (
                Node::Member(column),
                Value::Handle(HandleValue::Live(id) | HandleValue::Dead(id)),
            ) => {
                let id = owner.members.map(|base| id_of(base, *id));
                cells[*column] = id.map_or(Cell::Null, Cell::Integer);
            }
            (Node::Dynamic(class, row), value) => {
                let (name, number) = self.dynamic(value, owner)?;
                (cells[*class], cells[*row]) = (name, Cell::Integer(number));
            }
            (Node::Struct(fields), Value::Struct(record)) => {
                self.put_fields(fields, record, cells, row, owner)?;
            }
            (Node::Enum(tag, variants), Value::Enum(record)) => {
                let variant = record.variant().unwrap_or_default();
                cells[*tag] = variant.into();
                let fields = variants.get(variant).map_or(&[][..], |fields| fields);
                self.put_fields(fields, record, cells, row, owner)?;
            }
            (Node::Tuple(nodes), Value::Tuple(values) | Value::Seq(values)) => {
                for (node, value) in nodes.iter().zip(values) {
                    self.put(node, value, cells, row, owner)?;
                }
            }
            (Node::List(table, node), Value::Tuple(values) | Value::Seq(values)) => {
                for (position, value) in (0..).zip(values) {
                    let fixed = [Cell::Integer(row), Cell::Integer(position)];
                    self.row(*table, &fixed, &[(node, value)], owner)?;
                }
            }
            (Node::Map(table, nodes), Value::Map(entries)) => {
                let [key_node, value_node] = &**nodes;
                for (key, value) in entries {
                    let parts = [(key_node, key), (value_node, value)];
                    self.row(*table, &[Cell::Integer(row)], &parts, owner)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn put_fields(
        &mut self,
        fields: &[(String, Node)],
        record: &Record,
        cells: &mut [Cell],
        row: i64,
        owner: Owner,
    ) -> Result<()> {
        for (name, node) in fields {
            if let Some(value) = record.get(name) {
                self.put(node, value, cells, row, owner)?;
            }
        }
        Ok(())
    }

    /// Returns the number of the next row of a table.
    fn count(&mut self, table: usize) -> Result<i64> {
        self.begin(table)?;
        let rows = self.tables.rows[table].get_or_insert(0);
        *rows += 1;
        Ok(*rows)
    }

    /// Begins a table, and those of its lists and maps, so that queries find them even if all are empty.
    fn begin(&mut self, table: usize) -> Result<()> {
        let mut open = vec![table];
        while let Some(table) = open.pop() {
            if self.tables.rows[table].is_none() {
                self.tables.rows[table] = Some(0);
                self.sink.create(table, self.tables)?;
                open.extend(self.tables.table(table).children.iter().rev());
            }
        }
        Ok(())
    }
}

impl Tables {
    fn table(&self, table: usize) -> &Table {
        &self.layout.tables[table]
    }
}

/// Returns the id that an object has in the tables.
fn id_of(base: i64, id: u64) -> i64 {
    // The highest id of the objects fits; one that leads to no object may not.
    i64::try_from(id).ok().and_then(|id| base.checked_add(id)).unwrap_or(i64::MAX)
}

/// Returns an integer, or its text if it is too large for a table.
fn integer(number: u64) -> Cell {
    i64::try_from(number).map_or_else(|_| Cell::Text(number.to_string()), Cell::Integer)
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Cell {
    fn of(value: &Value) -> Self {
        let wide = |fits: Option<i64>, text: String| fits.map_or(Self::Text(text), Self::Integer);
        match value {
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Char(char) => Self::Text(char.to_string()),
            Value::U8(number) => Self::Integer((*number).into()),
            Value::U16(number) => Self::Integer((*number).into()),
            Value::U32(number) => Self::Integer((*number).into()),
            Value::U64(number) => integer(*number),
            Value::U128(number) => wide(i64::try_from(*number).ok(), number.to_string()),
            Value::I8(number) => Self::Integer((*number).into()),
            Value::I16(number) => Self::Integer((*number).into()),
            Value::I32(number) => Self::Integer((*number).into()),
            Value::I64(number) => Self::Integer(*number),
            Value::I128(number) => wide(i64::try_from(*number).ok(), number.to_string()),
            // 0.1 of 32 bits is 0.1 of 64 bits, and not 0.10000000149.
            Value::F32(number) => {
                Self::Real(number.to_string().parse().unwrap_or_else(|_| (*number).into()))
            }
            Value::F64(number) => Self::Real(*number),
            Value::Text(text) => Self::Text(text.clone()),
            Value::Bytes(bytes) => Self::Bytes(bytes.clone()),
            other => Self::Text(other.to_string()),
        }
    }
}
