//! Converting a whole save to one [`Value`], and back.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use persist::__tools::{
    ClassSchema, Entry, Env, KindSchema, RecordWriter, Sealer, Stored, Strict, WrittenObjects,
    page_entry, page_index,
};
use persist::codec::Buffer;
use persist::reflect::Holder;
use persist::save::{Compression, Header};
use persist::{Error, ErrorKind, Limits, ObjectId, Record, Result, Value};

use super::Document;
use crate::classes::{ClassNames, ClassReader, Read, cell_of, holder, list, shown, text};
use crate::records::{RecordReader, SavedIds, check_kind};

/// The newest version of the format of these values.
const FORM: u32 = 1;

impl Document {
    /// Converts the whole save to one value: a map with the header, the classes and the objects.
    ///
    /// [`from_value`](Self::from_value) converts it back to the same save. It is for tools that convert saves to other
    /// formats. The text of the value parses back, and the value holds all of the save, such as class definitions.
    ///
    /// | key | |
    /// | --- | --- |
    /// | `save` | 1 |
    /// | `application`, `version`, `generation`, `devices`, `metadata`, `fields` | of the header, if they are in it; `fields` are those that this library does not know |
    /// | `compression` | `"lz4"` or `"zstd"`, if it is compressed |
    /// | `classes` | each as a text, as in a lock |
    /// | `defined` | how many objects stand before the definition of each class, if not all classes come first |
    /// | `objects` | each a map of `id`, `class`, `holder` if it has one, `added`, and `value` |
    ///
    /// An object names its class by `name`, or by `id` if several classes have that name.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::Value;
    /// use persist_tools::Document;
    ///
    /// let save = persist::to_vec(&(3_u8, String::from("Ada")))?;
    /// let text = Document::from_slice(&save)?.into_value().to_string();
    /// let document = Document::from_value(text.parse()?)?;
    /// assert_eq!(document.to_vec()?, save);
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn into_value(self) -> Value {
        let (head, objects) = self.into_head_and_objects();
        with_objects(head, objects)
    }

    /// Converts the save like [`into_value`](Self::into_value), but returns the objects as an iterator.
    ///
    /// The first value is the map without `objects`. Each object is converted when the iterator reaches it, so that a
    /// tool does not hold a large save in memory twice.
    pub fn into_head_and_objects(self) -> (Value, impl Iterator<Item = Value> + use<>) {
        self.split(true)
    }

    /// Splits the document. Metadata inside metadata stays bytes, since a hostile save could nest it deep enough to
    /// overflow the stack.
    fn split(mut self, is_outer: bool) -> (Value, impl Iterator<Item = Value> + use<>) {
        let entries = self.take_entries();
        let classes = self.stored().classes();
        let head = head((self.header(), self.compression()), (classes, self.defined()), is_outer);
        let names = ObjectNames::new(classes);
        (head, entries.map(move |entry| names.object(entry)))
    }

    /// Converts a value from [`into_value`](Self::into_value) back to a save.
    ///
    /// The value may have been edited, or written as text and parsed. So integers may have any width, and a map may be
    /// a list of pairs.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidValue`] if something outside the objects is wrong, with a message that says what.
    /// For the objects, returns the same errors as [`to_vec`](Self::to_vec).
    pub fn from_value(mut save: Value) -> Result<Self> {
        let objects = take_objects(&mut save);
        Self::from_parts(&save, objects.map(Vec::into_iter))
    }

    /// Converts the result of [`into_head_and_objects`](Self::into_head_and_objects) back to a save.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`from_value`](Self::from_value).
    pub fn from_head_and_objects(
        head: &Value,
        objects: impl IntoIterator<Item = Value>,
    ) -> Result<Self> {
        Self::from_parts(head, Some(objects.into_iter()))
    }

    fn from_parts(head: &Value, objects: Option<impl Iterator<Item = Value>>) -> Result<Self> {
        let limits = Limits::DEFAULT;
        let document = read(head, objects, &limits).map_err(no_save)?;
        let save = document.to_vec()?;
        // The values take many times the memory of the encoded save.
        drop(document);
        // The encoded save is read again, which finds anything malformed. So there is one implementation of the checks.
        Self::within(&save, &limits)
    }
}

impl<R: io::Read + io::Seek> RecordReader<R> {
    /// Converts the save to a value without its objects, as [`Document::into_head_and_objects`] does.
    pub fn head(&self) -> Value {
        let classes = (self.classes(), self.defined());
        head((self.header(), self.compression()), classes, true)
    }
}

/// Converts objects to values.
pub struct ObjectNames {
    /// The name or the id of each class.
    mentions: Vec<String>,
}

impl ObjectNames {
    /// Creates a converter for objects of these classes.
    pub fn new(classes: &[ClassSchema]) -> Self {
        Self { mentions: mentions(classes) }
    }

    /// Converts an object to a map.
    pub fn object(&self, entry: Entry) -> Value {
        let holder = entry.held_by();
        let holder = (holder != Holder::VALUE).then(|| ("holder", cell_of(holder).into()));
        let mut object = vec![
            ("id", Value::U64(entry.id().get())),
            ("class", (&*self.mentions[entry.class_index()]).into()),
        ];
        object.extend(holder);
        object.extend([("added", entry.is_added().into()), ("value", entry.value)]);
        map(object)
    }
}

/// Passes the objects of a save on, one after another.
pub type Feed<'f> = dyn FnMut(&mut dyn TakeObjects) -> Result<()> + 'f;

/// Takes the objects of a save.
///
/// The objects of a world may come one after another, before the object in which the world is.
pub trait TakeObjects {
    /// Takes an object of the save.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write_values`].
    fn take(&mut self, object: Value) -> Result<()>;

    /// Returns true if the values of a class may have objects of a world in their field `objects`, and the index of
    /// the pages in their field `pages`.
    fn is_world(&self, class: &str) -> bool;

    /// Takes an object of a world, which is in an object of this id and class. The first one begins a world.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write_values`].
    fn take_of_world(&mut self, holder: (u64, &str), object: Value) -> Result<()>;

    /// Ends a world. Returns the values of its fields `objects` and `pages`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write_values`].
    fn end_world(&mut self, holder: (u64, &str)) -> Result<(Vec<Value>, Value)>;
}

/// Writes the save of a value without its objects and of objects, which `feed` passes on one after another. Returns the
/// objects by their ids.
///
/// References are checked only if the objects are `known`, from an earlier call: they may lead to later objects.
///
/// # Errors
///
/// Returns the same errors as [`Document::from_value`], but for those about references and about several objects, which
/// [`verify`](crate::verify()) finds.
pub fn write_values(
    head: &Value,
    out: &mut dyn io::Write,
    known: Option<&SavedIds>,
    feed: &mut Feed<'_>,
) -> Result<SavedIds> {
    let limits = &Limits::DEFAULT;
    let head = Head::read(head, limits).map_err(no_save)?;
    let stored = Stored::new(head.classes.clone());
    let check_reference = |kind: &KindSchema, id: Option<ObjectId>| match known {
        Some(known) => check_kind(&stored, kind, (id, id.and_then(|id| known.object(id)))),
        None => Ok(()),
    };
    let mut buffer = Buffer::new();
    let mut sealer = Sealer::new(out, head.compression, limits);
    let env = Env::bare(limits);
    let classes = (&stored, &head.defined[..]);
    let mut writer = ObjectWriter {
        head: &head,
        stored: &stored,
        target: Strict::new(&stored, limits, &check_reference),
        writer: RecordWriter::new(&mut sealer, &head.header, classes, (&env, &mut buffer))?,
        ids: SavedIds::new(0),
        world: None,
    };
    feed(&mut writer)?;
    let ObjectWriter { writer, mut ids, .. } = writer;
    writer.finish()?;
    // The error is that of two objects with one id.
    let _ = ids.sort();
    Ok(ids)
}

#[cold]
#[expect(clippy::needless_pass_by_value, reason = "as `map_err` calls it")]
fn no_save(what: String) -> Error {
    error!(ErrorKind::InvalidValue, "the value is no save: {what}")
}

/// Writes the objects of a save from their values.
struct ObjectWriter<'w, 's> {
    head: &'w Head,
    stored: &'w Stored,
    target: Strict<'w>,
    writer: RecordWriter<'w, 's>,
    ids: SavedIds,
    /// The world whose objects come one after another, and those that are not in pages yet.
    world: Option<(WrittenObjects, Vec<Value>)>,
}

impl TakeObjects for ObjectWriter<'_, '_> {
    fn take(&mut self, object: Value) -> Result<()> {
        let entry = self.head.entry(object).map_err(no_save)?;
        let (class, id, holder) = (entry.class_index(), entry.id().get(), entry.held_by());
        if !entry.is_kept() {
            // Two objects with one id are found in the save.
            self.ids.insert(id, u32::try_from(class).unwrap_or(u32::MAX), holder);
        }
        let of = (class, holder, entry.is_added(), id);
        self.writer.value(of, &entry.value, &mut self.target)
    }

    fn is_world(&self, class: &str) -> bool {
        page_index(&Record::new(class), self.stored).is_some()
    }

    fn take_of_world(&mut self, holder: (u64, &str), object: Value) -> Result<()> {
        let class = self.head.known.get(holder.1).copied().unwrap_or_default();
        self.target.highest = self.target.highest.max(class as u64 + 1);
        let (list, held) =
            self.world.get_or_insert_with(|| (WrittenObjects::new(self.stored), Vec::new()));
        let written = self.writer.object(list, holder.0, Some(&object), &mut self.target);
        written.map_err(|error| error.in_object(holder.0).in_class(&*self.head.names[class]))?;
        if list.index.is_empty() {
            held.push(object);
        } else {
            held.clear();
        }
        Ok(())
    }

    fn end_world(&mut self, holder: (u64, &str)) -> Result<(Vec<Value>, Value)> {
        let Some((mut list, held)) = self.world.take() else {
            return Ok((Vec::new(), Value::Seq(Vec::new())));
        };
        self.writer.object(&mut list, holder.0, None, &mut self.target)?;
        let held = if list.index.is_empty() { held } else { Vec::new() };
        let index = list.index.iter().map(|page| page_entry(self.stored, page)).collect();
        Ok((held, Value::Seq(index)))
    }
}

/// Converts a save to a value without its objects.
fn head(
    (header, compression): (&Header, Compression),
    (classes, defined): (&[ClassSchema], &[usize]),
    is_outer: bool,
) -> Value {
    let names = ClassNames::new(classes);
    let mut save = vec![("save", Value::from(FORM))];
    save.extend(header_parts(header, is_outer));
    save.extend(compression.name().map(|name| ("compression", name.into())));
    let class = |class: &ClassSchema| Value::from(names.definition(class)).to_string().into();
    save.push(("classes", Value::Seq(classes.iter().map(class).collect())));
    if defined.iter().any(|records| *records > 0) {
        let defined = defined.iter().map(|records| Value::U64(*records as u64));
        save.push(("defined", Value::Seq(defined.collect())));
    }
    map(save)
}

/// Adds the objects to the map of a save.
fn with_objects(mut head: Value, objects: impl Iterator<Item = Value>) -> Value {
    if let Value::Map(entries) = &mut head {
        entries.push(("objects".into(), Value::Seq(objects.collect())));
    }
    head
}

fn map(entries: Vec<(&str, Value)>) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

fn header_parts(header: &Header, is_outer: bool) -> impl Iterator<Item = (&'static str, Value)> {
    let text = |text: &Option<String>| text.as_deref().map(Value::from);
    let device = |(device, epoch, saves): (&str, u64, u64)| {
        Value::Tuple(vec![device.into(), epoch.into(), saves.into()])
    };
    let devices: Vec<Value> = header.counts().map(device).collect();
    let metadata = header.metadata.as_ref().map(|bytes| {
        // Metadata is shown as a document only if that writes the same bytes. It does not if, for example, a program
        // wrote the classes in an order that a document does not preserve.
        let document = is_outer.then(|| Document::from_slice(&bytes.0).ok()).flatten();
        let document = document.filter(|it| it.to_vec().is_ok_and(|again| again == *bytes.0));
        document.map_or_else(
            || Value::Bytes(bytes.0.to_vec()),
            |it| {
                let (head, objects) = it.split(false);
                with_objects(head, objects)
            },
        )
    });
    [
        ("application", text(&header.application)),
        ("version", text(&header.application_version)),
        ("generation", (header.generation > 0).then(|| header.generation.into())),
        ("devices", (!devices.is_empty()).then_some(Value::Seq(devices))),
        ("metadata", metadata),
        ("fields", (!header.unknown.is_empty()).then(|| Value::Bytes(header.unknown.clone()))),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)))
}

fn compression(name: &str) -> Read<Compression> {
    Compression::from_name(name).ok_or_else(|| format!("there is no compression {name:.60?}"))
}

/// Returns the name by which objects refer to each class. It is the id if several classes have the same name, or if the
/// name looks like an id.
fn mentions(classes: &[ClassSchema]) -> Vec<String> {
    let mut seen = HashSet::new();
    let names = classes.iter().map(|class| &*class.name);
    let odd: HashSet<&str> =
        names.filter(|name| !seen.insert(*name) || name.starts_with("0x")).collect();
    let mention = |class: &ClassSchema| match odd.contains(&*class.name) {
        true => class.id.to_string(),
        false => class.name.clone(),
    };
    classes.iter().map(mention).collect()
}

/// Returns the values of a map by these keys. Other keys are an error.
fn entries<'v, const N: usize>(
    value: &'v Value,
    what: &str,
    keys: [&str; N],
) -> Read<[Option<&'v Value>; N]> {
    let Value::Map(entries) = value else {
        return Err(format!("{} stands where {what} is expected, a map", shown(value)));
    };
    let mut found = [None; N];
    for (key, value) in entries {
        let place = keys.iter().position(|known| key.as_text() == Some(known));
        let place = place.ok_or_else(|| format!("{what} has no {}", shown(key)))?;
        if found[place].replace(value).is_some() {
            return Err(format!("{what} has {} twice", shown(key)));
        }
    }
    Ok(found)
}

/// Takes the list of objects out of the map of a save; `None` if there is none.
fn take_objects(save: &mut Value) -> Option<Vec<Value>> {
    let Value::Map(entries) = save else { return None };
    let (_, objects) = entries.iter_mut().find(|(key, _)| key.as_text() == Some("objects"))?;
    match objects {
        Value::Seq(objects) => Some(std::mem::take(objects)),
        _ => None,
    }
}

/// Reads a document from the map of a save and its objects, which were taken out of the map.
fn read(
    save: &Value,
    values: Option<impl Iterator<Item = Value>>,
    limits: &Limits,
) -> Read<Document> {
    let head = Head::read(save, limits)?;
    let Some(values) = values else {
        let [objects] = [("objects", save)].map(|(name, save)| match save {
            Value::Map(entries) => entries.iter().find(|(key, _)| key.as_text() == Some(name)),
            _ => None,
        });
        return Err(list(objects.map(|(_, objects)| objects), "objects").err().unwrap_or_default());
    };
    let objects = values.map(|object| head.entry(object)).collect::<Read<Vec<_>>>()?;
    Ok(Document::of_parts(
        (head.header, head.compression),
        (Stored::new(head.classes), head.defined),
        objects,
        limits,
    ))
}

/// A save without its objects.
struct Head {
    header: Header,
    compression: Compression,
    classes: Vec<ClassSchema>,
    /// The names of the classes, which their objects share.
    names: Vec<Arc<str>>,
    /// The classes by their ids, and by the names by which objects mention them.
    known: HashMap<String, usize>,
    /// The number of objects before the definition of each class.
    defined: Vec<usize>,
}

impl Head {
    fn read(save: &Value, limits: &Limits) -> Read<Self> {
        let keys =
            ["save", "application", "version", "generation", "devices", "metadata", "fields"];
        let more = ["compression", "classes", "defined", "objects"];
        let keys: [&str; 11] = std::array::from_fn(|i| if i < 7 { keys[i] } else { more[i - 7] });
        let [
            form,
            application,
            version,
            generation,
            devices,
            metadata,
            fields,
            packed,
            classes,
            defined,
            _,
        ] = entries(save, "the save", keys)?;
        match form.and_then(Value::as_u64) {
            Some(form) if form == u64::from(FORM) => {}
            Some(form) if form > u64::from(FORM) => {
                return Err(format!("it has form {form}, this library reads up to {FORM}"));
            }
            _ => return Err(String::from("it has no `save: 1`")),
        }
        let owned = |value: Option<&Value>, name| {
            value.map(|value| text(Some(value), name).map(str::to_owned)).transpose()
        };
        let generation = generation.map(|it| number(Some(it), "generation")).transpose()?;
        let mut header = Header::default();
        header.application = owned(application, "application")?;
        header.application_version = owned(version, "version")?;
        header.generation = generation.unwrap_or_default();
        if let Some(devices) = devices {
            let counts =
                list(Some(devices), "devices")?.iter().map(device).collect::<Read<Vec<_>>>()?;
            header.set_counts(counts).ok_or("`devices` are malformed, or several are alike")?;
        }
        header.metadata = match metadata {
            None => None,
            Some(Value::Bytes(bytes)) => Some(bytes.clone().into()),
            Some(save) => {
                // This recursion is no deeper than the nesting of the value itself.
                let mut save = save.clone();
                let objects = take_objects(&mut save).map(Vec::into_iter);
                let objects: Option<Box<dyn Iterator<Item = Value>>> =
                    objects.map(|objects| Box::new(objects) as _);
                let document =
                    read(&save, objects, limits).map_err(|what| format!("its metadata: {what}"))?;
                let bytes = document.to_vec().map_err(|error| format!("its metadata: {error}"))?;
                Some(bytes.into())
            }
        };
        if let Some(fields) = fields {
            let Value::Bytes(fields) = fields else {
                return Err(String::from("`fields` are no bytes"));
            };
            header.unknown.clone_from(fields);
        }
        let packed =
            packed.map(|name| compression(text(Some(name), "compression")?)).transpose()?;
        let parse = |class: &Value| {
            let text = text(Some(class), "classes")?;
            text.parse::<Value>().map_err(|error| error.to_string())
        };
        let classes = list(classes, "classes")?.iter().map(parse).collect::<Read<Vec<Value>>>()?;
        let classes = ClassReader::default().classes(classes.iter())?;
        let ids = classes.iter().map(|class| class.id.to_string()).zip(0..);
        let known: HashMap<String, usize> =
            ids.chain(mentions(&classes).into_iter().zip(0..)).collect();
        let mut preceding = vec![0; classes.len()];
        if let Some(defined) = defined {
            let defined = list(Some(defined), "defined")?;
            if defined.len() != classes.len() {
                return Err(format!("`defined` is not as long as `classes`, {}", classes.len()));
            }
            for (records, value) in preceding.iter_mut().zip(defined) {
                *records = usize::try_from(number(Some(value), "defined")?).unwrap_or(usize::MAX);
            }
        }
        let names = classes.iter().map(|class| (&*class.name).into()).collect();
        let (compression, defined) = (packed.unwrap_or_default(), preceding);
        Ok(Self { header, compression, classes, names, known, defined })
    }

    /// Reads an object.
    fn entry(&self, mut object: Value) -> Read<Entry> {
        let mut value = None;
        if let Value::Map(parts) = &mut object {
            let part = parts.iter_mut().find(|(key, _)| key.as_text() == Some("value"));
            value = part.map(|(_, value)| std::mem::replace(value, Value::Unit));
        }
        let [id, class, held, added, _] =
            entries(&object, "an object", ["id", "class", "holder", "added", "value"])?;
        let id = number(id, "id")?;
        let object = ObjectId::new(id).ok_or_else(|| format!("no object has the id {id}"))?;
        let class = text(class, "class")?;
        let class =
            *self.known.get(class).ok_or_else(|| format!("object {id}: no class {class:.60?}"))?;
        let held = held.map_or(Ok(Holder::VALUE), |held| holder(Some(held)))?;
        let added = added.and_then(Value::as_bool);
        let (Some(added), Some(value)) = (added, value) else {
            return Err(format!("object {id} has no `added`, true or false, or no `value`"));
        };
        Ok(Entry::new((object, value), (class, self.names[class].clone()), (held, added)))
    }
}

fn number(value: Option<&Value>, name: &str) -> Read<u64> {
    value.and_then(Value::as_u64).ok_or_else(|| format!("`{name}` has no number from 0 on"))
}

fn device(device: &Value) -> Read<(String, u64, u64)> {
    match device.as_seq() {
        Some([name, epoch, saves]) => {
            let name = text(Some(name), "devices")?.to_owned();
            Ok((name, number(Some(epoch), "devices")?, number(Some(saves), "devices")?))
        }
        _ => Err(format!("{} is no name of a device with two numbers", shown(device))),
    }
}
