//! The data of a report: a save as columns, so that 100,000 objects are some megabytes of JSON.

use std::collections::HashMap;
use std::hash::RandomState;

use persist::save::Header;
use persist_tools::Usage;
use serde::Serialize;
use serde_json::Value as Json;

use super::columns::{Column, columns};
use super::diff::{Diff, Difference};
use super::index::Index;
use super::journal::Timeline;
use super::sample::{Extent, Sample, is_small, places};
use super::value::Encoder;
use crate::commands::find::each_found;
use crate::compare::By;
use crate::exit::Result;
use crate::input::{Save, Source};
use crate::objects::Objects;
use crate::slot_info::ShownInfo;

/// The version of the form of the data.
const VERSION: u32 = 2;

/// The bytes of a page, unless a page of all objects is asked for.
const MAX_PAGE: usize = 20_000_000;

/// All that the page knows.
#[derive(Serialize)]
pub(crate) struct Report {
    report: u32,
    pub(crate) saves: Vec<SaveData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<Diff>,
    #[serde(skip_serializing_if = "Option::is_none")]
    journal: Option<Timeline>,
}

/// A save. Objects are numbers from 0, in the order of the save; strings and shapes are numbers, too.
#[derive(Serialize)]
pub(crate) struct SaveData {
    file: String,
    size: u64,
    totals: Totals,
    #[serde(skip_serializing_if = "Option::is_none")]
    find: Option<Find>,
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
    cycles: Vec<Cycle>,
    unreferenced: Vec<usize>,
    /// The columns of each class. The page has them apart from the rest, and reads them when they are looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tables: Vec<Table>,
}

/// How many there are in the save, whether the page has them or not.
#[derive(Serialize)]
struct Totals {
    objects: usize,
    references: usize,
    cycles: usize,
    unreferenced: usize,
}

/// The objects in which a text is.
#[derive(Serialize)]
struct Find {
    text: String,
    values: u64,
    /// How many objects there are in the save.
    total: u64,
    objects: Vec<usize>,
    /// For each object the path of a value in it.
    paths: Vec<String>,
}

/// Objects that lead to each other.
#[derive(Serialize)]
struct Cycle {
    /// How many objects it has in the save.
    size: usize,
    objects: Vec<usize>,
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
    /// How many there are in the save.
    records: u64,
    fields: Vec<Field>,
    /// The object of each record that the page has.
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
    /// How many references each object has, and how many lead to it; empty if the page has all of them.
    to: Vec<usize>,
    from: Vec<usize>,
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

/// A save that is read part by part, with what is known of all of it.
pub(crate) struct WholeSave<'s> {
    file: String,
    size: u64,
    usage: Usage,
    save: Save<'s>,
    index: Index,
    found: Option<Found>,
}

/// The objects in which a text is.
struct Found {
    text: String,
    values: u64,
    objects: u64,
    /// The first of them, each with the path of a value.
    first: Vec<(usize, String)>,
}

/// The most objects found that are remembered.
const MAX_FOUND: usize = 20_000;

impl<'s> WholeSave<'s> {
    /// Reads a save whose bytes go where `usage` says. Names are hashed by `hasher`.
    pub(crate) fn of(source: &'s mut Source, usage: Usage, hasher: &RandomState) -> Result<Self> {
        let name = source.path.as_ref().and_then(|path| path.file_name());
        // Without its folders: a page is shown to others.
        let file = name.map_or_else(
            || "standard input".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        let size = source.size;
        let mut save = source.whole()?;
        let index = Index::of(&mut save, hasher)?;
        Ok(Self { file, size, usage, save, index, found: None })
    }

    /// Finds the objects in which a text is, like `persist find`.
    pub(crate) fn find(&mut self, text: &str) -> Result<()> {
        let Self { save, index, .. } = self;
        let mut is_found = vec![false; index.objects.len()];
        let mut found = Found { text: text.to_owned(), values: 0, objects: 0, first: Vec::new() };
        each_found(text, save, &mut |value| {
            found.values += 1;
            if let Some(number) = index.at(&value)
                && !std::mem::replace(&mut is_found[number], true)
            {
                found.objects += 1;
                if found.first.len() < MAX_FOUND {
                    found.first.push((number, value.label));
                }
            }
            Ok(true)
        })?;
        self.found = Some(found);
        Ok(())
    }
}

impl Report {
    /// Makes the data and the page of one or two saves. Unless the page is to be whole, it has as many objects as fit.
    pub(crate) fn of(
        saves: &mut [WholeSave<'_>],
        by: By,
        journal: Option<Timeline>,
        is_whole: bool,
        hasher: &RandomState,
    ) -> Result<(Self, String)> {
        let difference = match saves {
            [old, new] => {
                let (old, new) = ((&mut old.save, &old.index), (&mut new.save, &new.index));
                Some(Difference::of(old, new, by, hasher)?)
            }
            _ => None,
        };
        let mut extents = Vec::from(Extent::SAMPLES);
        if is_whole || saves.iter().all(|save| is_small(&save.index)) {
            extents.insert(0, Extent::ALL);
        }
        let mut report = Self { report: VERSION, saves: Vec::new(), diff: None, journal };
        let mut page = String::new();
        for extent in extents {
            report.choose(saves, difference.as_ref(), extent)?;
            page = super::page::page(&mut report)?;
            if is_whole || page.len() <= MAX_PAGE {
                break;
            }
        }
        Ok((report, page))
    }

    /// Replaces the saves by their data, with as many objects as the extent says.
    fn choose(
        &mut self,
        saves: &mut [WholeSave<'_>],
        difference: Option<&Difference>,
        extent: Extent,
    ) -> Result<()> {
        let mut places = Vec::new();
        self.saves.clear();
        let objects = extent.objects.map(|objects| objects / saves.len().max(1));
        for (number, whole) in saves.iter_mut().enumerate() {
            let mut first = match (difference, objects) {
                (Some(difference), Some(objects)) => difference.first(number == 0, objects / 2),
                _ => Vec::new(),
            };
            first.extend(whole.found.iter().flat_map(|it| &it.first).map(|(number, _)| *number));
            let index = &whole.index;
            let sample = match objects {
                Some(objects) => Sample::of(index, &first, objects),
                None => Sample::all(index),
            };
            let entries = sample.read(&mut whole.save)?;
            let classes = whole.save.classes().to_vec();
            let mut objects = Objects::of(&classes, &entries);
            let numbers = index.numbers(&objects);
            for (object, number) in objects.objects.iter_mut().zip(&numbers) {
                object.class = &index.classes[index.class(*number)].name;
            }
            let encoder =
                Encoder { objects: &objects, index, numbers: &numbers, max_parts: extent.parts };
            let data = SaveData::of(whole, &encoder);
            places.push(super::sample::places(&numbers));
            self.saves.push(data);
        }
        if let (Some(difference), [a, b]) = (difference, &places[..]) {
            self.diff = Some(difference.shown(a, b));
        }
        Ok(())
    }
}

impl SaveData {
    fn of(whole: &WholeSave<'_>, encoder: &Encoder<'_, '_>) -> Self {
        let mut pool = Pool::default();
        let (objects, index, numbers) = (encoder.objects, encoder.index, encoder.numbers);
        let places = places(numbers);
        let (classes, tables) = classes(encoder, &whole.usage, &mut pool);
        let is_sample = numbers.len() < index.objects.len();
        let of_sample = |measure: &dyn Fn(usize) -> usize| match is_sample {
            true => numbers.iter().map(|number| measure(*number)).collect(),
            false => Vec::new(),
        };
        let columns = Columns {
            id: objects
                .objects
                .iter()
                .map(|object| super::value::integer(object.id.into()))
                .collect(),
            name: objects.objects.iter().map(|object| name(object.name, &mut pool)).collect(),
            class: numbers.iter().map(|number| index.class(*number)).collect(),
            bytes: numbers.iter().map(|number| index.objects[*number].bytes).collect(),
            world: worlds(objects),
            to: of_sample(&|number| index.targets(number).len()),
            from: of_sample(&|number| index.incoming(number) as usize),
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
        let header = whole.save.header();
        let info = ShownInfo::of(header);
        let value = info.as_ref().and_then(|info| info.value().ok().flatten());
        let value = value.map(|value| encoder.value(0, value, &mut pool));
        let shown = |numbers: &[usize]| {
            let mut shown: Vec<usize> =
                numbers.iter().filter_map(|number| places.get(number).copied()).collect();
            shown.sort_unstable();
            shown
        };
        let cycles =
            index.cycles.iter().map(|cycle| Cycle { size: cycle.len(), objects: shown(cycle) });
        let find = whole.found.as_ref().map(|found| {
            let first = found.first.iter();
            let first = first.filter_map(|(it, path)| Some((*places.get(it)?, path.clone())));
            let (objects, paths) = first.unzip();
            Find {
                text: found.text.clone(),
                values: found.values,
                total: found.objects,
                objects,
                paths,
            }
        });
        Self {
            file: whole.file.clone(),
            size: whole.size,
            totals: Totals {
                objects: index.objects.len(),
                references: index.references(),
                cycles: index.cycles.len(),
                unreferenced: index.unreferenced.len(),
            },
            find,
            facts: facts(header),
            value,
            strings: pool.strings,
            shapes: pool.shapes,
            classes,
            objects: columns,
            references,
            usage: Bytes::of(&whole.usage, whole.usage.bytes / SMALLEST_SHARE, LEVELS),
            cycles: cycles.filter(|cycle| !cycle.objects.is_empty()).collect(),
            unreferenced: shown(&index.unreferenced),
            tables,
        }
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

fn facts(header: &Header) -> Vec<(&'static str, String)> {
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
fn classes(encoder: &Encoder<'_, '_>, usage: &Usage, pool: &mut Pool) -> (Vec<Class>, Vec<Table>) {
    let mut of_class: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (number, object) in encoder.objects.objects.iter().enumerate() {
        for (part, record) in object.parts.iter().enumerate() {
            of_class.entry(record.class).or_default().push((number, part));
        }
    }
    let classes = encoder.index.classes.iter().map(|total| {
        let records = of_class.remove(&*total.name).unwrap_or_default();
        let fields = total.fields.iter();
        let fields = fields.map(|(name, bytes)| Field { name: name.clone(), bytes: *bytes });
        let mut class = Class {
            name: total.name.clone(),
            bytes: total.bytes(),
            records: total.records,
            fields: fields.collect(),
            objects: records.iter().map(|(object, _)| *object).collect(),
        };
        let names: Vec<&str> = class.fields.iter().map(|field| &*field.name).collect();
        let columns = columns(&names, &records, encoder, pool);
        class.measure(usage);
        (class, Table { columns })
    });
    classes.unzip()
}
