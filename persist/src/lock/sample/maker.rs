//! One value of a sample, from its schema and what is chosen in it.

use super::ends::Ends;
use super::scalars::{HANDLES, boundaries, plain};
use super::variations::{Choices, EQUAL, Site};
use crate::lock::section::{Section, address};
use crate::reflect::{Cell, Holder};
use crate::schema::{FieldSchema, Form, KindSchema, Texts, VariantSchema};
use crate::value::{Record, Value};
use crate::{Error, ErrorKind, ObjectId, Result};

/// The basic objects of a type.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Basic {
    /// With as little in it as can be.
    Small,
    /// With something everywhere.
    First,
    Second,
}

impl Basic {
    pub(super) const ALL: [Self; 3] = [Self::Small, Self::First, Self::Second];

    /// The id of this one of an object type.
    fn id(self, object: usize) -> u64 {
        (Self::ALL.len() * object + self as usize + 1) as u64
    }
}

/// True if references in the holder's cell are connected when all objects are there, so that
/// it may be part of a cycle.
fn is_open(holder: Holder) -> bool {
    let cell = holder.parts().map(|(_, cell)| cell);
    matches!(cell, Some(Cell::RefCell | Cell::Cell | Cell::Mutex | Cell::RwLock))
}

/// How much there is in a value.
#[derive(Clone, Copy, PartialEq)]
enum Size {
    /// Something everywhere.
    Full,
    /// Little, but for what is chosen.
    Small,
    /// As little as can be: the value is inside another one of its class.
    Least,
}

/// Parts of an object from which on it is as small as can be: classes that hold one another several times, through many
/// levels, make it large.
const FULL_PARTS: usize = 1 << 16;

/// The most parts of one object.
const MOST_PARTS: usize = 1 << 22;

/// Elements of a byte that count as one part.
const BYTES_IN_PART: usize = 16;

/// Levels of nesting.
const MOST_LEVELS: u32 = 220;

/// A value that is being made.
pub(super) struct Maker<'v> {
    pub(super) section: &'v Section,
    pub(super) ends: &'v Ends,
    pub(super) texts: &'v Texts,
    pub(super) choices: &'v Choices,
    pub(super) basic: Basic,
    /// True if the object's holder may be part of a cycle.
    in_cell: bool,
    /// The classes around.
    open: Vec<bool>,
    /// Which of several elements it is in.
    nth: u8,
    levels: u32,
    parts: usize,
}

impl<'v> Maker<'v> {
    pub(super) fn new(
        (section, ends, texts): (&'v Section, &'v Ends, &'v Texts),
        choices: &'v Choices,
        basic: Basic,
    ) -> Self {
        let open = vec![false; section.classes.len()];
        let (in_cell, nth, levels, parts) = (false, 0, 0, 0);
        Self { section, ends, texts, choices, basic, in_cell, open, nth, levels, parts }
    }

    /// An object of this type.
    pub(super) fn object(mut self, object: usize) -> Result<Value> {
        let (class, holder) = self.section.objects[object];
        self.in_cell = is_open(holder);
        let size = if self.basic == Basic::Small { Size::Small } else { Size::Full };
        self.class(class, size).map_err(|error| error.in_class(&*self.section.classes[class].name))
    }

    fn class(&mut self, class: usize, size: Size) -> Result<Value> {
        // Ids and names of objects must fit each other: a world is empty, and what it may hold is
        // in objects of its own.
        let is_least = self.open[class] || self.section.is_world(class);
        let size = if is_least { Size::Least } else { size };
        let before = std::mem::replace(&mut self.open[class], true);
        let section = self.section;
        let schema = &section.classes[class];
        let value = match &schema.form {
            Form::Value(kind) => self.kind(kind, size)?,
            Form::Struct(fields) => self.fields(Record::new(&*schema.name), fields, size)?,
            Form::Enum(variants) => {
                let variant = &variants[self.variant(class, variants, size)];
                let record = Record::of_variant(&*schema.name, &*variant.name);
                self.fields(record, &variant.fields, size)?
            }
        };
        self.open[class] = before;
        Ok(value)
    }

    fn variant(&self, class: usize, variants: &[VariantSchema], size: Size) -> usize {
        let is_there = |variant: &usize| {
            variants[*variant].fields.iter().all(|field| self.is_there(&field.kind))
        };
        let chosen = self.choice(Site::Class(class), size).filter(is_there);
        chosen.unwrap_or_else(|| match size {
            Size::Full => (0..variants.len()).find(is_there).unwrap_or(0),
            _ => self.ends.variants[class],
        })
    }

    fn fields(&mut self, mut record: Record, fields: &[FieldSchema], size: Size) -> Result<Value> {
        for field in fields {
            let value = self.kind(&field.kind, size);
            record.push(&*field.name, value.map_err(|error| error.in_field(&field.name))?);
        }
        Ok(record.into())
    }

    fn choice(&self, site: Site, size: Size) -> Option<usize> {
        if size == Size::Least { None } else { self.choices.get(&site).copied() }
    }

    fn is_there(&self, kind: &KindSchema) -> bool {
        self.ends.kind(self.section, kind).is_some()
    }

    fn kind(&mut self, kind: &KindSchema, size: Size) -> Result<Value> {
        if self.levels >= MOST_LEVELS {
            return Err(too_deep());
        }
        self.count(1)?;
        let size = if size == Size::Full && self.parts > FULL_PARTS { Size::Small } else { size };
        self.levels += 1;
        let value = self.part(kind, size);
        self.levels -= 1;
        value
    }

    fn count(&mut self, parts: usize) -> Result<()> {
        self.parts = self.parts.saturating_add(parts);
        if self.parts <= MOST_PARTS { Ok(()) } else { Err(too_large()) }
    }

    fn part(&mut self, kind: &KindSchema, size: Size) -> Result<Value> {
        let chosen = self.choice(Site::of(kind), size);
        let usual = usize::from(size == Size::Full);
        let count = chosen.unwrap_or(usual);
        match kind {
            KindSchema::Option(inner) if count > 0 && self.is_there(inner) => {
                Ok(Value::Option(Some(Box::new(self.kind(inner, size)?))))
            }
            KindSchema::Option(_) => Ok(Value::Option(None)),
            KindSchema::List(inner) if chosen == Some(EQUAL) => {
                let element = self.kind(inner, size)?;
                Ok(Value::Seq(vec![element.clone(), element]))
            }
            KindSchema::List(inner) | KindSchema::Set(inner) => {
                let count = if self.is_there(inner) { count } else { 0 };
                let differ = matches!(kind, KindSchema::Set(_));
                let elements = self.elements(count, differ, size, (inner, &KindSchema::Unit))?;
                Ok(Value::Seq(elements.into_iter().map(|(element, _)| element).collect()))
            }
            KindSchema::Map(parts) => {
                let is_there = self.is_there(&parts[0]) && self.is_there(&parts[1]);
                let count = if is_there { count } else { 0 };
                self.elements(count, true, size, (&parts[0], &parts[1])).map(Value::Map)
            }
            KindSchema::Array(inner, len) => self.array(inner, *len, size),
            KindSchema::Tuple(parts) => parts
                .iter()
                .map(|part| self.kind(part, size))
                .collect::<Result<_>>()
                .map(Value::Tuple),
            KindSchema::Class(class) => self.class(*class, size),
            KindSchema::Dynamic(name) => match self.implementor(name, chosen, size) {
                Some(class) => self.dynamic(class, size),
                None => Ok(Value::Unit),
            },
            leaf => Ok(self.leaf(leaf, chosen, size)),
        }
    }

    /// A trait object of a class.
    fn dynamic(&mut self, class: usize, size: Size) -> Result<Value> {
        let value = self.class(class, size)?;
        Ok(match value {
            Value::Struct(record) => Value::Struct(Record { origin: Some(class), ..record }),
            Value::Enum(record) => Value::Enum(Record { origin: Some(class), ..record }),
            value => {
                let mut record = Record::new(&*self.section.classes[class].name);
                record.push("", value);
                Value::Struct(Record { origin: Some(class), ..record })
            }
        })
    }

    /// The class of a trait object.
    fn implementor(&self, name: &str, chosen: Option<usize>, size: Size) -> Option<usize> {
        let classes = self.section.classes_of(name);
        let depth = |class: &&usize| self.ends.classes[**class];
        let mut there = classes.iter().filter(|class| depth(class).is_some());
        let chosen = chosen.and_then(|chosen| classes.get(chosen));
        let class = chosen.filter(|class| depth(class).is_some()).or_else(|| match size {
            Size::Full => there.next(),
            _ => there.min_by_key(depth),
        });
        class.copied()
    }

    /// A value that no others lie in. Apart from [`part`](Self::part), which is called for each level.
    #[inline(never)]
    fn leaf(&mut self, kind: &KindSchema, chosen: Option<usize>, size: Size) -> Value {
        let usual = usize::from(size == Size::Full);
        match kind {
            KindSchema::Reference { holder, weak, class } => {
                let objects = &self.section.objects;
                let object = objects.binary_search(&(*class, *holder)).ok();
                let wanted = !*weak || chosen.unwrap_or(usual) > 0;
                self.reference(object.filter(|_| wanted))
            }
            KindSchema::TraitReference { holder, weak, name } => {
                let mut objects = self.section.objects_of(name, *holder);
                let depth = |object: &usize| self.ends.objects[*object];
                let object = match chosen {
                    Some(0) if *weak => None,
                    None if *weak && size != Size::Full => None,
                    Some(chosen) if chosen > 0 => objects.nth(chosen - 1),
                    _ => objects.filter(|object| depth(object).is_some()).min_by_key(depth),
                };
                self.reference(object)
            }
            KindSchema::Handle(_) => Value::Handle(HANDLES[chosen.unwrap_or(0)].1),
            KindSchema::Unknown => Value::Seq(Vec::new()),
            KindSchema::Text if self.texts.contains_key(&address(kind)) => {
                let names = &self.texts[&address(kind)];
                let choice = chosen.and_then(|chosen| chosen.checked_sub(1));
                names[choice.unwrap_or(usize::from(self.nth)) % names.len()].into()
            }
            scalar => {
                let choice = chosen.and_then(|chosen| chosen.checked_sub(1));
                let boundary = choice.and_then(|choice| boundaries(scalar).into_iter().nth(choice));
                boundary.map_or_else(|| plain(scalar, self.nth), |(_, value)| value)
            }
        }
    }

    /// That many keys with their values, or fewer if the keys must differ and do not.
    fn elements(
        &mut self,
        count: usize,
        differ: bool,
        size: Size,
        (key, value): (&KindSchema, &KindSchema),
    ) -> Result<Vec<(Value, Value)>> {
        // Small ones would be equal.
        let size = if count > 1 && size == Size::Small { Size::Full } else { size };
        let before = self.nth;
        let mut elements: Vec<(Value, Value)> = Vec::new();
        for nth in 0..u8::try_from(count).unwrap_or(u8::MAX) {
            self.nth = before.wrapping_add(nth);
            let key = self.kind(key, size)?;
            if !differ || elements.iter().all(|(known, _)| *known != key) {
                elements.push((key, self.kind(value, size)?));
            }
        }
        self.nth = before;
        Ok(elements)
    }

    /// Elements that are all as the first.
    fn array(&mut self, inner: &KindSchema, len: usize, size: Size) -> Result<Value> {
        if len == 0 {
            return Ok(Value::Seq(Vec::new()));
        }
        let before = self.parts;
        let element = self.kind(inner, size)?;
        if let Value::U8(byte) = element {
            self.count(len / BYTES_IN_PART)?;
            return Ok(Value::Bytes(vec![byte; len]));
        }
        self.count((self.parts - before).saturating_mul(len - 1))?;
        Ok(Value::Seq(vec![element; len]))
    }

    /// A reference to a basic object of a type, or none.
    fn reference(&mut self, object: Option<usize>) -> Value {
        let object = object.filter(|object| self.ends.objects[*object].is_some());
        Value::Ref(object.and_then(|object| {
            let is_cycle_allowed = self.in_cell || is_open(self.section.objects[object].1);
            let target = match self.basic {
                Basic::First if is_cycle_allowed => Basic::Second,
                Basic::Second if is_cycle_allowed => Basic::First,
                // Those that are small refer to still smaller ones.
                _ => Basic::Small,
            };
            ObjectId::new(target.id(object))
        }))
    }
}

#[cold]
fn too_deep() -> Error {
    Error::new(
        ErrorKind::TooDeep,
        format!("a sample would be nested more than {MOST_LEVELS} levels deep"),
    )
}

#[cold]
fn too_large() -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!("a sample of the class would have over {MOST_PARTS} parts"),
    )
}
