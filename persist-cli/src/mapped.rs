//! Values as JSON and RON have them: `docs/reference/command.md` is the mapping.

use std::collections::HashSet;
use std::fmt;

use persist::{Record, Value};
use persist_tools::__private::{Feed, PageEntry, TakeObjects};
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Deserializer, Serialize, Serializer};

use crate::paged::{OBJECTS, PAGES, ReadPages};
use crate::streamed::{Elements, Streamed};
use crate::values::integer;
use crate::world::{self, World};

/// The key whose value is the text of a [`Value`].
const TEXT: &str = "$";
const CLASS: &str = "$class";
const VARIANT: &str = "$variant";
/// An option in an option.
const SOME: &str = "$some";

/// The integers that every reader of JSON takes as they are.
const EXACT: i128 = 1 << 53;

/// Levels of a text that is read. A map whose keys are not texts has two levels more.
const DEPTH: u32 = 2048;

/// A value that is written.
#[derive(Clone, Copy)]
pub(crate) struct Mapped<'v> {
    value: &'v Value,
    /// Worlds are written as objects with names and components, which is for looking at them.
    shows_worlds: bool,
    /// The objects of worlds that are in their pages.
    pages: Option<&'v dyn ReadPages>,
}

impl<'v> Mapped<'v> {
    /// Writes all stored content, so that it can be read again.
    pub(crate) fn exact(value: &'v Value) -> Self {
        Self { value, shows_worlds: false, pages: None }
    }

    /// Writes like [`exact`](Self::exact), and reads the objects of worlds that the value lacks.
    pub(crate) fn with_pages(value: &'v Value, pages: &'v dyn ReadPages) -> Self {
        Self { pages: Some(pages), ..Self::exact(value) }
    }

    /// Writes the form for programs that only read it.
    pub(crate) fn shown(value: &'v Value) -> Self {
        Self { value, shows_worlds: true, pages: None }
    }

    fn part<'p>(self, value: &'p Value) -> Mapped<'p>
    where
        'v: 'p,
    {
        Mapped { value, ..self }
    }
}

/// The objects of a world that are read from its pages as they are written.
struct PagedObjects<'v> {
    index: &'v [PageEntry],
    pages: &'v dyn ReadPages,
}

impl Serialize for PagedObjects<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let count = self.index.iter().map(|page| page.objects as usize).sum();
        let (mut list, mut written) = (to.serialize_seq(Some(count))?, Ok(()));
        let is_whole = self.pages.each(self.index, &mut |object| {
            written = list.serialize_element(&Mapped::exact(object));
            written.is_ok()
        });
        written?;
        if is_whole { list.end() } else { Err(S::Error::custom("an object cannot be read")) }
    }
}

impl Serialize for Mapped<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if let Some(world) = Some(self.value).filter(|_| self.shows_worlds).and_then(World::of) {
            return world_of(&world).serialize(to);
        }
        match self.value {
            Value::Bool(value) => to.serialize_bool(*value),
            Value::Text(text) => to.serialize_str(text),
            Value::F32(number) if number.is_finite() => to.serialize_f64((*number).into()),
            Value::F64(number) if number.is_finite() => to.serialize_f64(*number),
            Value::Option(None) => to.serialize_none(),
            Value::Option(Some(inner)) if matches!(**inner, Value::Option(_)) => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry(SOME, &self.part(inner))?;
                map.end()
            }
            Value::Option(Some(inner)) => self.part(inner).serialize(to),
            Value::Seq(values) | Value::Tuple(values) => {
                to.collect_seq(values.iter().map(|value| self.part(value)))
            }
            Value::Map(entries) if has_texts(entries) => {
                let mut map = to.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(
                        &Key(key.as_text().unwrap_or_default()),
                        &self.part(value),
                    )?;
                }
                map.end()
            }
            Value::Map(entries) => {
                let mut pairs = to.serialize_seq(Some(entries.len()))?;
                for (key, value) in entries {
                    pairs.serialize_element(&(self.part(key), self.part(value)))?;
                }
                pairs.end()
            }
            Value::Struct(record) | Value::Enum(record) => {
                let mut map = to.serialize_map(None)?;
                map.serialize_entry(CLASS, record.class())?;
                if let Some(variant) = record.variant() {
                    map.serialize_entry(VARIANT, variant)?;
                }
                let world = self.pages.and_then(|pages| Some((pages, pages.index(record)?)));
                for (name, value) in record.fields() {
                    match &world {
                        Some((pages, index)) if name == OBJECTS => {
                            let objects = PagedObjects { index, pages: *pages };
                            map.serialize_entry(name, &objects)?;
                        }
                        Some(_) if name == PAGES => map.serialize_entry(name, &[(); 0])?,
                        _ => map.serialize_entry(&Key(name), &self.part(value))?,
                    }
                }
                map.end()
            }
            value => match exact_integer(value) {
                Some(number) => to.serialize_i64(number),
                None => {
                    let mut map = to.serialize_map(Some(1))?;
                    map.serialize_entry(TEXT, &value.to_string())?;
                    map.end()
                }
            },
        }
    }
}

/// A whole save that is written: its map without the objects, and these as they are read.
pub(crate) struct MappedSave<'v, T> {
    pub(crate) head: &'v Value,
    pub(crate) objects: &'v Streamed<T>,
}

impl<T: Elements> Serialize for MappedSave<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Value::Map(entries) = self.head else { return Mapped::exact(self.head).serialize(to) };
        let mut map = to.serialize_map(Some(entries.len() + 1))?;
        for (key, value) in entries {
            let key = key.as_text().unwrap_or_default();
            map.serialize_entry(&Key(key), &Mapped::exact(value))?;
        }
        map.serialize_entry(&Key(OBJECTS), self.objects)?;
        map.end()
    }
}

/// An integer that every reader takes as it is.
fn exact_integer(value: &Value) -> Option<i64> {
    let number = integer(value).filter(|number| number.unsigned_abs() <= EXACT.unsigned_abs())?;
    i64::try_from(number).ok()
}

/// A world as `--json` shows it.
#[derive(Serialize)]
struct ShownWorld<'v> {
    #[serde(rename = "$class")]
    class: &'static str,
    objects: Vec<ShownObject<'v>>,
    resources: Vec<Mapped<'v>>,
}

#[derive(Serialize)]
struct ShownObject<'v> {
    id: u64,
    path: String,
    activity: &'v str,
    components: Vec<Mapped<'v>>,
}

fn world_of<'v>(world: &World<'v>) -> ShownWorld<'v> {
    let objects = world.objects.iter().enumerate().map(|(place, object)| ShownObject {
        id: object.id,
        path: world.path(place),
        activity: object.activity,
        components: object.components.iter().map(Mapped::shown).collect(),
    });
    ShownWorld {
        class: world::CLASS,
        objects: objects.collect(),
        resources: world.resources.iter().map(Mapped::shown).collect(),
    }
}

/// True if all keys are texts; keys that stand twice are the writer's to refuse.
fn has_texts(entries: &[(Value, Value)]) -> bool {
    entries.iter().all(|(key, _)| key.as_text().is_some())
}

/// A name of a field, or a key: one that begins with `$` has another before it.
struct Key<'k>(&'k str);

impl Serialize for Key<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0.starts_with('$') {
            to.collect_str(&format_args!("${}", self.0))
        } else {
            to.serialize_str(self.0)
        }
    }
}

/// Reads a value that [`Mapped`] wrote. Numbers have their widest kinds, a map of pairs is a list.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    Seed { depth: DEPTH, worlds: Worlds::Whole }.deserialize(from)
}

/// Reads a save that [`MappedSave`] wrote, without its objects in memory: the map without them goes to `write`, which
/// asks for the objects.
pub(crate) struct SaveSeed<'w> {
    pub(crate) write: &'w mut dyn FnMut(&Value, &mut Feed<'_>) -> persist::Result<()>,
    pub(crate) read: &'w mut SaveRead,
}

/// How far a save was read from a text.
#[derive(Default)]
pub(crate) struct SaveRead {
    /// The text is one of a save whose objects come last. Any other text is read whole.
    pub(crate) is_in_order: bool,
    /// The error of what was read, which fits the form of the text.
    pub(crate) error: Option<persist::Error>,
}

impl<'de> DeserializeSeed<'de> for SaveSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for SaveSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a save")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        let odd = || <A::Error as de::Error>::custom("the keys of the save are in another order");
        let mut head: Vec<(Value, Value)> = Vec::new();
        loop {
            let key = from.next_key::<String>()?.filter(|key| !key.starts_with('$'));
            let key = key.ok_or_else(odd)?;
            if key != OBJECTS {
                let seed = Seed { depth: DEPTH - 1, worlds: Worlds::Whole };
                head.push((key.into(), from.next_value_seed(seed)?));
                continue;
            }
            if !head.iter().any(|(key, _)| key.as_text() == Some("classes")) {
                return Err(odd());
            }
            break;
        }
        self.read.is_in_order = true;
        let (mut malformed, mut is_read) = (None, false);
        let written = (self.write)(&Value::Map(head), &mut |take| {
            is_read = true;
            let mut refused = None;
            let result = from.next_value_seed(ObjectsSeed { take, refused: &mut refused });
            result.map_err(|error| match refused {
                Some(refused) => refused,
                None => {
                    let what = error.to_string();
                    malformed = Some(error);
                    persist::Error::new(persist::ErrorKind::InvalidValue, what)
                }
            })
        });
        match (malformed, written) {
            (Some(error), _) => return Err(error),
            (None, Err(error)) => {
                // The map may lack what comes after the objects.
                if !is_read {
                    from.next_value::<IgnoredAny>()?;
                    self.read.is_in_order = from.next_key::<String>()?.is_none();
                }
                if !self.read.is_in_order {
                    return Err(odd());
                }
                let what = error.to_string();
                self.read.error = Some(error);
                return Err(<A::Error as de::Error>::custom(what));
            }
            (None, Ok(())) => {}
        }
        if from.next_key::<String>()?.is_some() {
            self.read.is_in_order = false;
            return Err(odd());
        }
        Ok(())
    }
}

/// Passes the objects of a save on.
struct ObjectsSeed<'t> {
    take: &'t mut dyn TakeObjects,
    /// The error of `take`.
    refused: &'t mut Option<persist::Error>,
}

impl<'de> DeserializeSeed<'de> for ObjectsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ObjectsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut from: A) -> Result<(), A::Error> {
        // The map of the save and the list are two levels.
        while let Some(object) =
            from.next_element_seed(Seed { depth: DEPTH - 2, worlds: Worlds::Object(&mut self) })?
        {
            let taken = self.take.take(object);
            self.refuse(taken)?;
        }
        Ok(())
    }
}

impl ObjectsSeed<'_> {
    /// Keeps the error of the object that was taken.
    fn refuse<T, E: de::Error>(&mut self, taken: persist::Result<T>) -> Result<T, E> {
        taken.map_err(|error| {
            let what = error.to_string();
            *self.refused = Some(error);
            E::custom(what)
        })
    }
}

/// Passes the objects of a world on, in an object of this id and class. Its value is the lists of the world: the objects
/// that are not in pages, and the index of the pages.
struct WorldSeed<'t, 'o> {
    depth: u32,
    to: &'t mut ObjectsSeed<'o>,
    holder: (u64, &'t str),
}

impl<'de> DeserializeSeed<'de> for WorldSeed<'_, '_> {
    type Value = (Vec<Value>, Value);

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for WorldSeed<'_, '_> {
    type Value = (Vec<Value>, Value);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let Self { depth, to, holder } = self;
        let depth = Seed { depth, worlds: Worlds::Whole }.inner()?;
        while let Some(object) = from.next_element_seed(Seed { depth, worlds: Worlds::Whole })? {
            let taken = to.take.take_of_world(holder, object);
            to.refuse(taken)?;
        }
        let ended = to.take.end_world(holder);
        to.refuse(ended)
    }
}

/// Reads one value that nests no deeper than the given number of levels.
struct Seed<'t, 'o> {
    depth: u32,
    worlds: Worlds<'t, 'o>,
}

/// Says where the objects of worlds go that are in a value.
enum Worlds<'t, 'o> {
    /// They stay in it.
    Whole,
    /// The value is an object of a save.
    Object(&'t mut ObjectsSeed<'o>),
    /// The value is in an object of this id and class. The objects of worlds are passed on.
    Passed(&'t mut ObjectsSeed<'o>, (u64, &'t str)),
}

impl<'o> Worlds<'_, 'o> {
    /// Returns where those in a part of the value go.
    fn of_part(&mut self) -> Worlds<'_, 'o> {
        match self {
            Self::Passed(to, holder) => Worlds::Passed(to, *holder),
            Self::Whole | Self::Object(_) => Worlds::Whole,
        }
    }
}

impl Seed<'_, '_> {
    /// Returns the number of levels of the parts.
    fn inner<E: de::Error>(&self) -> Result<u32, E> {
        let too_deep = || E::custom(format!("the text is nested deeper than {DEPTH} levels"));
        self.depth.checked_sub(1).ok_or_else(too_deep)
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a save")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(value.into(), Into::into))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Option(None))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Option(None))
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        let seed = Self { depth: self.inner()?, ..self };
        Ok(Value::Option(Some(Box::new(seed.deserialize(from)?))))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut from: A) -> Result<Value, A::Error> {
        let depth = self.inner()?;
        let mut values = Vec::new();
        while let Some(value) =
            from.next_element_seed(Seed { depth, worlds: self.worlds.of_part() })?
        {
            values.push(value);
        }
        Ok(Value::Seq(values))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut from: A) -> Result<Value, A::Error> {
        let depth = self.inner()?;
        let mut entries: Vec<(String, Value)> = Vec::new();
        let (mut class, mut variant): (Option<String>, Option<String>) = (None, None);
        // The index of the pages of the world that this map is.
        let mut index = None;
        while let Some(key) = from.next_key::<String>()? {
            match &*key {
                TEXT => {
                    let value = from.next_value::<String>()?.parse();
                    return end(from, value.map_err(<A::Error as de::Error>::custom)?);
                }
                SOME => {
                    let seed = Seed { depth, worlds: self.worlds.of_part() };
                    let value = from.next_value_seed(seed)?;
                    return end(from, Value::Option(Some(Box::new(value))));
                }
                CLASS => class = Some(from.next_value::<String>()?),
                VARIANT => variant = Some(from.next_value::<String>()?),
                _ => {
                    let mut value = match (&mut self.worlds, class.as_deref()) {
                        (Worlds::Passed(to, holder), Some(class))
                            if key == OBJECTS && to.take.is_world(class) =>
                        {
                            let seed = WorldSeed { depth, to, holder: *holder };
                            let (objects, pages) = from.next_value_seed(seed)?;
                            index = Some(pages);
                            // The worlds in a world have no pages.
                            self.worlds = Worlds::Whole;
                            Value::Seq(objects)
                        }
                        (Worlds::Object(to), _) if key == "value" => {
                            let holder = holder_of(&entries);
                            let worlds = holder.map_or(Worlds::Whole, |it| Worlds::Passed(to, it));
                            from.next_value_seed(Seed { depth, worlds })?
                        }
                        (worlds, _) => {
                            from.next_value_seed(Seed { depth, worlds: worlds.of_part() })?
                        }
                    };
                    if key == PAGES
                        && let Some(index) = index.take()
                    {
                        value = index;
                    }
                    let key = match key.strip_prefix('$') {
                        Some(rest) if rest.starts_with('$') => rest.to_owned(),
                        Some(_) => {
                            let what =
                                "the key {key:.60?} has no meaning; a key of a save has `$$` there";
                            return Err(<A::Error as de::Error>::custom(
                                what.replace("{key:.60?}", &key),
                            ));
                        }
                        None => key,
                    };
                    entries.push((key, value));
                }
            }
        }
        let mut record = match (class, variant) {
            (None, None) => {
                let entries = entries.into_iter().map(|(key, value)| (key.into(), value));
                return Ok(Value::Map(entries.collect()));
            }
            (None, Some(variant)) => {
                return Err(<A::Error as de::Error>::custom(format!(
                    "variant {variant:.60?} has no `$class`"
                )));
            }
            (Some(class), None) => Record::new(class),
            (Some(class), Some(variant)) => Record::with_variant(class, variant),
        };
        if let Some(name) = duplicate(&entries) {
            return Err(<A::Error as de::Error>::custom(format!(
                "the field {name:.60?} stands twice"
            )));
        }
        for (name, value) in entries {
            record.push(name, value);
        }
        Ok(record.into())
    }
}

/// Returns a name that two of the entries have.
fn duplicate(entries: &[(String, Value)]) -> Option<&str> {
    // Nearly all records have fewer. Two tables of names for each record took a fifth of the time that a `convert` takes
    // from JSON.
    const FEW: usize = 16;
    if entries.len() <= FEW {
        let names = |range: &[(String, Value)], of: &str| range.iter().any(|(name, _)| name == of);
        let mut known = entries.iter().enumerate();
        return known.find_map(|(at, (name, _))| names(&entries[..at], name).then_some(&**name));
    }
    let mut names = HashSet::new();
    entries.iter().find_map(|(name, _)| (!names.insert(&**name)).then_some(&**name))
}

/// The id and the class of the object of a save that these entries begin, if there may be pages before it.
fn holder_of(entries: &[(String, Value)]) -> Option<(u64, &str)> {
    let part = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let is_object = part("holder").is_some() || part("added")?.as_bool()?;
    Some((part("id")?.as_u64()?, part("class")?.as_text()?)).filter(|_| is_object)
}

/// The value of a map that has one key.
fn end<'de, A: MapAccess<'de>>(mut map: A, value: Value) -> Result<Value, A::Error> {
    match map.next_key::<String>()? {
        None => Ok(value),
        Some(key) => Err(<A::Error as de::Error>::custom(format!(
            "{key:.60?} stands beside a key that is alone"
        ))),
    }
}
