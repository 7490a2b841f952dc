//! The data of a report: a save as columns, so that 100,000 objects are some megabytes of JSON.

use std::collections::HashMap;
use std::io::Cursor;

use persist::Limits;
use persist_tools::{Document, Usage, usage};
use serde::Serialize;
use serde_json::Value as Json;

use super::columns::{Column, columns};
use super::diff::Diff;
use super::journal::Timeline;
use super::sizes::size;
use super::value::Encoder;
use crate::compare::By;
use crate::exit::Result;
use crate::input::Input;
use crate::objects::Objects;
use crate::slot_info::ShownInfo;

/// The version of the form of the data.
const VERSION: u32 = 1;

/// All that the page knows.
#[derive(Serialize)]
pub(crate) struct Report {
    report: u32,
    pub(crate) saves: Vec<Save>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<Diff>,
    #[serde(skip_serializing_if = "Option::is_none")]
    journal: Option<Timeline>,
}

/// A save. Objects are numbers from 0, in the order of the save; strings and shapes are numbers, too.
#[derive(Serialize)]
pub(crate) struct Save {
    file: String,
    size: usize,
    /// Labels and texts: what the save says of itself.
    facts: Vec<(&'static str, String)>,
    /// The program's own value in the info of the save.
    value: Option<Json>,
    strings: Vec<String>,
    shapes: Vec<Shape>,
    classes: Vec<Class>,
    objects: Columns,
    references: References,
    /// Where the bytes of the file go.
    usage: Bytes,
    cycles: Vec<Vec<usize>>,
    unreferenced: Vec<usize>,
    /// The columns of each class. The page has them apart from the rest, and reads them when they are looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tables: Vec<Table>,
}

/// The fields that the records of a class or variant have.
#[derive(Serialize)]
pub(crate) struct Shape {
    class: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    fields: Vec<String>,
}

/// A class whose records are objects or components; the one with the most bytes is the first.
#[derive(Serialize)]
struct Class {
    name: String,
    bytes: u64,
    fields: Vec<Field>,
    /// The object of each record.
    objects: Vec<usize>,
}

#[derive(Serialize)]
struct Field {
    name: String,
    bytes: u64,
}

#[derive(Serialize)]
struct Columns {
    id: Vec<Json>,
    /// Strings; -1 for objects without a name.
    name: Vec<i64>,
    /// The class of the object; of one with components, the class that the fewest objects have.
    class: Vec<usize>,
    bytes: Vec<u64>,
    /// The world of each object, -1 for those of none; empty if the save has no worlds.
    world: Vec<i64>,
}

#[derive(Serialize)]
struct References {
    from: Vec<usize>,
    to: Vec<usize>,
    /// Strings: the paths of their fields.
    by: Vec<usize>,
    /// The places of those that are weak.
    weak: Vec<usize>,
}

/// Bytes of a class or a field in all its objects, with what is in them.
#[derive(Serialize)]
struct Bytes {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    kind: String,
    count: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Self>,
}

/// The records of a class.
#[derive(Serialize)]
pub(crate) struct Table {
    columns: Vec<Column>,
}

/// Strings and shapes, each once.
#[derive(Default)]
pub(crate) struct Pool {
    strings: Vec<String>,
    known: HashMap<String, usize>,
    shapes: Vec<Shape>,
    known_shapes: HashMap<(String, Option<String>, Vec<String>), usize>,
}

impl Pool {
    pub(crate) fn string(&mut self, text: &str) -> usize {
        if let Some(place) = self.known.get(text) {
            return *place;
        }
        self.known.insert(text.to_owned(), self.strings.len());
        self.strings.push(text.to_owned());
        self.strings.len() - 1
    }

    pub(crate) fn shape(&mut self, record: &persist::Record) -> usize {
        let (class, variant) = (record.class().to_owned(), record.variant().map(str::to_owned));
        let fields: Vec<String> = record.fields().map(|(name, _)| name.to_owned()).collect();
        let key = (class, variant, fields);
        if let Some(place) = self.known_shapes.get(&key) {
            return *place;
        }
        let (class, variant, fields) = key.clone();
        self.known_shapes.insert(key, self.shapes.len());
        self.shapes.push(Shape { class, variant, fields });
        self.shapes.len() - 1
    }
}

impl Report {
    pub(crate) fn of(
        save: &Input,
        other: Option<(&Input, By)>,
        journal: Option<Timeline>,
    ) -> Result<Self> {
        let document = save.document()?;
        let objects = Objects::of(&document);
        let mut saves = vec![Save::of(save, &document, &objects)?];
        let mut diff = None;
        if let Some((other, by)) = other {
            let document = other.document()?;
            let others = Objects::of(&document);
            diff = Some(Diff::of(&objects, &others, by));
            saves.push(Save::of(other, &document, &others)?);
        }
        Ok(Self { report: VERSION, saves, diff, journal })
    }
}

impl Save {
    fn of(input: &Input, document: &Document, objects: &Objects<'_>) -> Result<Self> {
        let mut pool = Pool::default();
        let encoder = Encoder { objects };
        let usage = usage(Cursor::new(&input.bytes), &Limits::DEFAULT)
            .map_err(|error| input.failure(error))?;
        let (mut classes, tables) = classes(objects, &encoder, &mut pool);
        for class in &mut classes {
            class.measure(&usage.whole);
        }
        let ranks: HashMap<&str, usize> =
            classes.iter().enumerate().map(|(rank, class)| (&*class.name, rank)).collect();
        let columns = Columns {
            id: objects
                .objects
                .iter()
                .map(|object| super::value::integer(object.id.into()))
                .collect(),
            name: objects.objects.iter().map(|object| name(object.name, &mut pool)).collect(),
            class: objects.objects.iter().map(|object| ranks[object.class]).collect(),
            bytes: objects
                .objects
                .iter()
                .map(|object| {
                    let fields = object.parts.iter().flat_map(|part| &part.fields);
                    fields.map(|(_, value)| size(value)).sum()
                })
                .collect(),
            world: worlds(objects),
        };
        let by: Vec<usize> = objects.paths.iter().map(|path| pool.string(path)).collect();
        let references = References {
            from: objects.references.iter().map(|reference| reference.from).collect(),
            to: objects.references.iter().map(|reference| reference.to).collect(),
            by: objects.references.iter().map(|reference| by[reference.path]).collect(),
            weak: (0..objects.references.len())
                .filter(|place| objects.references[*place].is_weak)
                .collect(),
        };
        let info = ShownInfo::of(document.header());
        let value = info.as_ref().and_then(|info| info.value().ok().flatten());
        let value = value.map(|value| encoder.value(0, value, &mut pool));
        Ok(Self {
            file: file_name(input),
            size: input.bytes.len(),
            facts: facts(document),
            value,
            strings: pool.strings,
            shapes: pool.shapes,
            classes,
            objects: columns,
            references,
            usage: Bytes::of(&usage.whole, usage.whole.bytes / SMALLEST_SHARE, LEVELS),
            cycles: objects.cycles(),
            unreferenced: objects.unreferenced(),
            tables,
        })
    }
}

/// Adds a name to the strings, cut after 200 characters.
fn name(name: &str, pool: &mut Pool) -> i64 {
    const MAX: usize = 200;
    let name = name.char_indices().nth(MAX).map_or(name, |(end, _)| &name[..end]);
    if name.is_empty() { -1 } else { i64::try_from(pool.string(name)).unwrap_or(-1) }
}

/// Parts with less than the bytes of the save divided by this number are not shown on their own.
const SMALLEST_SHARE: u64 = 5000;
/// Levels of fields in fields: a class that holds itself may have hundreds.
const LEVELS: u32 = 16;

impl Bytes {
    /// Returns the larger parts of a tree. The remaining bytes are counts, tags, and small parts.
    fn of(usage: &Usage, min: u64, levels: u32) -> Self {
        let parts = usage.parts.iter().filter(|part| levels > 0 && part.bytes > min);
        Self {
            name: usage.name.clone(),
            kind: usage.kind.clone(),
            count: usage.count,
            bytes: usage.bytes,
            parts: parts.map(|part| Self::of(part, min, levels - 1)).collect(),
        }
    }
}

impl Class {
    /// Takes the bytes that the save has for the class, if it has records of its own. Components have those of their
    /// values.
    fn measure(&mut self, save: &Usage) {
        let Some(usage) = save.parts.iter().find(|part| part.name == self.name) else { return };
        for field in &mut self.fields {
            let part = usage.parts.iter().find(|part| part.name == field.name);
            field.bytes = part.map_or(field.bytes, |part| part.bytes);
        }
        // The bytes of a world include those of its objects, so the fields are summed instead.
        self.bytes = self.fields.iter().map(|field| field.bytes).sum();
    }
}

fn worlds(objects: &Objects<'_>) -> Vec<i64> {
    if objects.objects.iter().all(|object| object.world.is_none()) {
        return Vec::new();
    }
    let worlds = objects.objects.iter().map(|object| object.world);
    worlds.map(|world| world.map_or(-1, |world| i64::try_from(world).unwrap_or(-1))).collect()
}

/// The name without its folders: a page is shown to others.
fn file_name(input: &Input) -> String {
    let name = input.path.as_ref().and_then(|path| path.file_name());
    name.map_or_else(|| "standard input".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn facts(document: &Document) -> Vec<(&'static str, String)> {
    let header = document.header();
    let mut facts = Vec::new();
    facts.extend(header.application.clone().map(|program| ("program", program)));
    facts.extend(header.application_version.clone().map(|version| ("version", version)));
    facts.push(("format", header.format.to_string()));
    if header.generation > 0 {
        facts.push(("generation", header.generation.to_string()));
    }
    for (device, saves) in header.devices() {
        facts.push(("device", format!("{device}: {saves}")));
    }
    facts.extend(ShownInfo::of(header).iter().flat_map(ShownInfo::facts));
    facts
}

/// The classes, the one with the most bytes first, and their tables.
fn classes(
    objects: &Objects<'_>,
    encoder: &Encoder<'_, '_>,
    pool: &mut Pool,
) -> (Vec<Class>, Vec<Table>) {
    let mut of_class: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (number, object) in objects.objects.iter().enumerate() {
        for (part, record) in object.parts.iter().enumerate() {
            of_class.entry(record.class).or_default().push((number, part));
        }
    }
    let mut classes: Vec<_> = of_class
        .into_iter()
        .map(|(name, records)| {
            let mut fields: Vec<Field> = Vec::new();
            let mut places = HashMap::new();
            for (object, part) in &records {
                for (name, value) in &objects.objects[*object].parts[*part].fields {
                    let place = *places.entry(*name).or_insert_with(|| {
                        fields.push(Field { name: (*name).to_owned(), bytes: 0 });
                        fields.len() - 1
                    });
                    fields[place].bytes += size(value);
                }
            }
            let bytes = fields.iter().map(|field| field.bytes).sum();
            let objects = records.iter().map(|(object, _)| *object).collect();
            (Class { name: name.to_owned(), bytes, fields, objects }, records)
        })
        .collect();
    classes.sort_by(|(a, _), (b, _)| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    classes
        .into_iter()
        .map(|(class, records)| {
            let names: Vec<&str> = class.fields.iter().map(|field| &*field.name).collect();
            let columns = columns(&names, &records, encoder, pool);
            (class, Table { columns })
        })
        .unzip()
}
