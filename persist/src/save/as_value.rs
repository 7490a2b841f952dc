//! A whole save as one value, and back.

use std::collections::{HashMap, HashSet};

use super::Document;
use super::document::Entry;
use crate::format::as_value::{ClassNames, ClassReader, Read, cell_of, holder, list, shown, text};
use crate::format::{Compression, Header};
use crate::reflect::Holder;
use crate::schema::{ClassSchema, Stored};
use crate::{ErrorKind, Limits, ObjectId, Result, Value};

/// The newest form of these values.
const FORM: u32 = 1;

impl Document {
    /// The whole save as one value: a map of texts, lists, numbers and the values of its objects.
    ///
    /// [`from_value`](Self::from_value) makes the same save of it. It is for tools that convert saves: its text parses
    /// back, and it holds what a save has besides its objects, such as definitions of classes.
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
    /// A class is named by its `name`, or by its `id` if others have the name too.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Document, Value};
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

    /// Like [`into_value`](Self::into_value), with the objects apart: each value is made as it is asked for, so that
    /// tools need not have those of a large save in memory twice. The first value has no `objects`.
    pub fn into_head_and_objects(self) -> (Value, impl Iterator<Item = Value> + use<>) {
        self.split(true)
    }

    /// Metadata in metadata stays bytes: a hostile save nests it deeper than calls may be.
    fn split(mut self, is_outer: bool) -> (Value, impl Iterator<Item = Value> + use<>) {
        let entries = self.take_entries();
        let classes = self.stored().classes();
        let (names, mentions) = (ClassNames::new(classes), mentions(classes));
        let mut save = vec![("save", Value::from(FORM))];
        save.extend(header_parts(self.header(), is_outer));
        let compression = compression_name(self.compression());
        save.extend(compression.map(|name| ("compression", name.into())));
        let class = |class: &ClassSchema| Value::from(names.definition(class)).to_string().into();
        save.push(("classes", Value::Seq(classes.iter().map(class).collect())));
        if self.defined().iter().any(|before| *before > 0) {
            let before = self.defined().iter().map(|before| Value::U64(*before as u64));
            save.push(("defined", Value::Seq(before.collect())));
        }
        let object = move |entry: Entry| {
            let holder = entry.held_by();
            let holder = (holder != Holder::VALUE).then(|| ("holder", cell_of(holder).into()));
            let mut object = vec![
                ("id", Value::U64(entry.id().get())),
                ("class", (&*mentions[entry.class_index()]).into()),
            ];
            object.extend(holder);
            object.extend([("added", entry.is_added().into()), ("value", entry.value)]);
            map(object)
        };
        (map(save), entries.map(object))
    }

    /// Makes a save of what [`into_value`](Self::into_value) returns, after a detour through some text or changed.
    ///
    /// Integers may be of any width, and a map may be a list of pairs, as texts have them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidValue`] with what is wrong outside the objects; for their values the errors of
    /// [`to_vec`](Self::to_vec).
    pub fn from_value(mut save: Value) -> Result<Self> {
        let objects = take_objects(&mut save);
        Self::of_value(&save, objects.map(Vec::into_iter))
    }

    /// Like [`from_value`](Self::from_value), with the objects apart, as
    /// [`into_head_and_objects`](Self::into_head_and_objects) returns them.
    ///
    /// # Errors
    ///
    /// Those of [`from_value`](Self::from_value).
    pub fn from_head_and_objects(
        head: &Value,
        objects: impl IntoIterator<Item = Value>,
    ) -> Result<Self> {
        Self::of_value(head, Some(objects.into_iter()))
    }

    fn of_value(head: &Value, objects: Option<impl Iterator<Item = Value>>) -> Result<Self> {
        let limits = Limits::DEFAULT;
        let document = read(head, objects, &limits)
            .map_err(|what| error!(ErrorKind::InvalidValue, "the value is no save: {what}"))?;
        let save = document.to_vec()?;
        // Its values take many times the memory of the save.
        drop(document);
        // What is malformed, a load finds; else this would be another way to do all it checks.
        Self::within(&save, &limits)
    }
}

/// All of a save as one value.
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
        // Such as a save whose classes are in no order that a document keeps.
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

fn compression_name(compression: Compression) -> Option<&'static str> {
    match compression {
        Compression::None => None,
        #[cfg(feature = "lz4")]
        Compression::Lz4 => Some("lz4"),
        #[cfg(feature = "zstd")]
        Compression::Zstd(_) => Some("zstd"),
    }
}

fn compression(name: &str) -> Read<Compression> {
    match name {
        #[cfg(feature = "lz4")]
        "lz4" => Ok(Compression::Lz4),
        #[cfg(feature = "zstd")]
        "zstd" => Ok(Compression::Zstd(3)),
        _ => Err(format!("there is no compression {name:.60?}")),
    }
}

/// How objects name each class: by its id, if several classes have its name or the name looks like an id.
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

/// The values of a map by their keys; there must be no others.
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

/// Takes the list of objects out of a save; `None` if there is none.
fn take_objects(save: &mut Value) -> Option<Vec<Value>> {
    let Value::Map(entries) = save else { return None };
    let (_, objects) = entries.iter_mut().find(|(key, _)| key.as_text() == Some("objects"))?;
    match objects {
        Value::Seq(objects) => Some(std::mem::take(objects)),
        _ => None,
    }
}

/// Reads a save whose objects stand beside it, if it has some.
fn read(
    save: &Value,
    values: Option<impl Iterator<Item = Value>>,
    limits: &Limits,
) -> Read<Document> {
    let keys = ["save", "application", "version", "generation", "devices", "metadata", "fields"];
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
        objects,
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
    let mut header = Header {
        application: owned(application, "application")?,
        application_version: owned(version, "version")?,
        generation: generation.unwrap_or_default(),
        ..Header::default()
    };
    if let Some(devices) = devices {
        let counts =
            list(Some(devices), "devices")?.iter().map(device).collect::<Read<Vec<_>>>()?;
        header.set_counts(counts).ok_or("`devices` are malformed, or several are alike")?;
    }
    header.metadata = match metadata {
        None => None,
        Some(Value::Bytes(bytes)) => Some(bytes.clone().into()),
        Some(save) => {
            // Metadata in metadata goes no deeper than values.
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
    let packed = packed.map(|name| compression(text(Some(name), "compression")?)).transpose()?;
    let parse = |class: &Value| {
        let text = text(Some(class), "classes")?;
        text.parse::<Value>().map_err(|error| error.to_string())
    };
    let classes = list(classes, "classes")?.iter().map(parse).collect::<Read<Vec<Value>>>()?;
    let classes = ClassReader::default().classes(classes.iter())?;
    let ids = classes.iter().map(|class| class.id.to_string()).zip(0..);
    let known: HashMap<String, usize> =
        ids.chain(mentions(&classes).into_iter().zip(0..)).collect();
    let Some(values) = values else {
        return Err(list(objects, "objects").err().unwrap_or_default());
    };
    let objects = values.map(|object| entry(object, &classes, &known)).collect::<Read<Vec<_>>>()?;
    let mut before = vec![0; classes.len()];
    if let Some(defined) = defined {
        let defined = list(Some(defined), "defined")?;
        if defined.len() != classes.len() {
            return Err(format!("`defined` is not as long as `classes`, {}", classes.len()));
        }
        for (before, number_of) in before.iter_mut().zip(defined) {
            *before = usize::try_from(number(Some(number_of), "defined")?).unwrap_or(usize::MAX);
        }
    }
    Ok(Document::of_parts(
        (header, packed.unwrap_or_default()),
        (Stored::new(classes), before),
        objects,
        limits,
    ))
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

fn entry(
    mut object: Value,
    classes: &[ClassSchema],
    known: &HashMap<String, usize>,
) -> Read<Entry> {
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
    let class = *known.get(class).ok_or_else(|| format!("object {id}: no class {class:.60?}"))?;
    let held = held.map_or(Ok(Holder::VALUE), |held| holder(Some(held)))?;
    let added = added.and_then(Value::as_bool);
    let (Some(added), Some(value)) = (added, value) else {
        return Err(format!("object {id} has no `added`, true or false, or no `value`"));
    };
    Ok(Entry::new((object, value), (class, &classes[class].name), (held, added)))
}
