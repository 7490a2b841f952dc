//! One value of a sample, from its schema and what is chosen in it.

use std::{mem, slice};

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
const MOST_LEVELS: usize = 400;

/// A value that others lie in, and that is not whole yet.
enum Open<'v> {
    /// A struct or a variant: its fields so far, the one that is being made, and those that are left.
    Record(OpenClass, Record, &'v str, slice::Iter<'v, FieldSchema>),
    /// A class that is one value without a name.
    Bare(OpenClass),
    Some,
    /// Two elements that are equal.
    Equal,
    Elements(Elements<'v>),
    /// Elements that are all as the first: how many, and how many parts there were before it.
    Array(usize, usize),
    Tuple(Vec<Value>, slice::Iter<'v, KindSchema>, Size),
}

/// A value of a class.
struct OpenClass {
    class: usize,
    size: Size,
    /// Whether a value of the class was around already.
    is_nested: bool,
    /// True if it is a trait object.
    is_dynamic: bool,
}

/// Keys with their values, or elements, which are keys without one. Equal ones are left out if they must differ.
struct Elements<'v> {
    done: Vec<(Value, Value)>,
    key: Option<Value>,
    left: u8,
    differ: bool,
    kinds: (&'v KindSchema, Option<&'v KindSchema>),
    size: Size,
    /// What `nth` was before them.
    nth: u8,
}

/// What comes next.
enum Next<'v> {
    /// A value is whole.
    Whole(Value),
    /// A part is to be made.
    Part(&'v KindSchema, Size),
}

/// A value that is being made.
pub(super) struct Maker<'v> {
    section: &'v Section,
    ends: &'v Ends,
    texts: &'v Texts,
    choices: &'v Choices,
    basic: Basic,
    /// True if the object's holder may be part of a cycle.
    in_cell: bool,
    /// The classes around.
    around: Vec<bool>,
    /// What is not whole, the innermost last.
    open: Vec<Open<'v>>,
    /// Which of several elements it is in.
    nth: u8,
    parts: usize,
}

impl<'v> Maker<'v> {
    pub(super) fn new(
        (section, ends, texts): (&'v Section, &'v Ends, &'v Texts),
        choices: &'v Choices,
        basic: Basic,
    ) -> Self {
        let around = vec![false; section.classes.len()];
        let (in_cell, open, nth, parts) = (false, Vec::new(), 0, 0);
        Self { section, ends, texts, choices, basic, in_cell, around, open, nth, parts }
    }

    /// An object of this type.
    pub(super) fn object(mut self, object: usize) -> Result<Value> {
        let (class, holder) = self.section.objects[object];
        self.in_cell = is_open(holder);
        let size = if self.basic == Basic::Small { Size::Small } else { Size::Full };
        self.all(class, size).map_err(|error| {
            let error = self.open.iter().rev().fold(error, |error, open| match open {
                Open::Record(_, _, field, _) => error.in_field(field),
                _ => error,
            });
            error.in_class(&*self.section.classes[class].name)
        })
    }

    fn all(&mut self, class: usize, size: Size) -> Result<Value> {
        let mut next = self.class(class, size, false);
        loop {
            next = match next {
                Next::Part(kind, size) => self.kind(kind, size)?,
                Next::Whole(value) => match self.open.pop() {
                    Some(open) => self.go_on(open, value)?,
                    None => return Ok(value),
                },
            }
        }
    }

    fn class(&mut self, class: usize, size: Size, is_dynamic: bool) -> Next<'v> {
        // Ids and names of objects must fit each other: a world is empty, and what it may hold is
        // in objects of its own.
        let is_least = self.around[class] || self.section.is_world(class);
        let size = if is_least { Size::Least } else { size };
        let is_nested = mem::replace(&mut self.around[class], true);
        let open = OpenClass { class, size, is_nested, is_dynamic };
        let section = self.section;
        let schema = &section.classes[class];
        match &schema.form {
            Form::Value(kind) => self.inside(Open::Bare(open), kind, size),
            Form::Struct(fields) => {
                self.next_field(open, Record::new(&*schema.name), fields.iter())
            }
            Form::Enum(variants) => {
                let variant = &variants[self.variant(class, variants, size)];
                let record = Record::of_variant(&*schema.name, &*variant.name);
                self.next_field(open, record, variant.fields.iter())
            }
        }
    }

    /// The next field of a struct or a variant, or the whole value.
    fn next_field(
        &mut self,
        open: OpenClass,
        record: Record,
        mut left: slice::Iter<'v, FieldSchema>,
    ) -> Next<'v> {
        match left.next() {
            Some(field) => {
                let size = open.size;
                self.inside(Open::Record(open, record, &field.name, left), &field.kind, size)
            }
            None => self.end_class(&open, record.into()),
        }
    }

    fn end_class(&mut self, open: &OpenClass, value: Value) -> Next<'v> {
        self.around[open.class] = open.is_nested;
        if !open.is_dynamic {
            return Next::Whole(value);
        }
        let origin = Some(open.class);
        Next::Whole(match value {
            Value::Struct(record) => Value::Struct(Record { origin, ..record }),
            Value::Enum(record) => Value::Enum(Record { origin, ..record }),
            value => {
                let mut record = Record::new(&*self.section.classes[open.class].name);
                record.push("", value);
                Value::Struct(Record { origin, ..record })
            }
        })
    }

    /// Puts a value into what is open around it.
    fn go_on(&mut self, open: Open<'v>, value: Value) -> Result<Next<'v>> {
        Ok(match open {
            Open::Record(open, mut record, field, left) => {
                record.push(field, value);
                self.next_field(open, record, left)
            }
            Open::Bare(open) => self.end_class(&open, value),
            Open::Some => Next::Whole(Value::Option(Some(Box::new(value)))),
            Open::Equal => Next::Whole(Value::Seq(vec![value.clone(), value])),
            Open::Elements(mut elements) => {
                match (elements.key.take(), elements.kinds.1) {
                    (Some(key), _) => elements.done.push((key, value)),
                    (None, _) if elements.has(&value) => {}
                    (None, None) => elements.done.push((value, Value::Unit)),
                    (None, Some(kind)) => {
                        let size = elements.size;
                        elements.key = Some(value);
                        return Ok(self.inside(Open::Elements(elements), kind, size));
                    }
                }
                self.next_element(elements)
            }
            Open::Array(len, before) => {
                if let Value::U8(byte) = value {
                    self.count(len / BYTES_IN_PART)?;
                    return Ok(Next::Whole(Value::Bytes(vec![byte; len])));
                }
                self.count((self.parts - before).saturating_mul(len - 1))?;
                Next::Whole(Value::Seq(vec![value; len]))
            }
            Open::Tuple(mut done, left, size) => {
                done.push(value);
                self.next_part(done, left, size)
            }
        })
    }

    fn next_part(
        &mut self,
        done: Vec<Value>,
        mut left: slice::Iter<'v, KindSchema>,
        size: Size,
    ) -> Next<'v> {
        match left.next() {
            Some(part) => self.inside(Open::Tuple(done, left, size), part, size),
            None => Next::Whole(Value::Tuple(done)),
        }
    }

    fn elements(
        &mut self,
        count: usize,
        differ: bool,
        size: Size,
        kinds: (&'v KindSchema, Option<&'v KindSchema>),
    ) -> Next<'v> {
        // Small ones would be equal.
        let size = if count > 1 && size == Size::Small { Size::Full } else { size };
        let (done, key, nth) = (Vec::new(), None, self.nth);
        let left = u8::try_from(count).unwrap_or(u8::MAX);
        // The first is begun as all are, by one more than the one before.
        self.nth = nth.wrapping_sub(1);
        self.next_element(Elements { done, key, left, differ, kinds, size, nth })
    }

    fn next_element(&mut self, mut elements: Elements<'v>) -> Next<'v> {
        let Some(left) = elements.left.checked_sub(1) else {
            self.nth = elements.nth;
            return Next::Whole(match elements.kinds.1 {
                Some(_) => Value::Map(elements.done),
                None => Value::Seq(elements.done.into_iter().map(|(element, _)| element).collect()),
            });
        };
        (elements.left, self.nth) = (left, self.nth.wrapping_add(1));
        let (kind, size) = (elements.kinds.0, elements.size);
        self.inside(Open::Elements(elements), kind, size)
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

    fn choice(&self, site: Site, size: Size) -> Option<usize> {
        if size == Size::Least { None } else { self.choices.get(&site).copied() }
    }

    fn is_there(&self, kind: &KindSchema) -> bool {
        self.ends.kind(self.section, kind).is_some()
    }

    fn kind(&mut self, kind: &'v KindSchema, size: Size) -> Result<Next<'v>> {
        if self.open.len() > MOST_LEVELS {
            return Err(too_deep());
        }
        self.count(1)?;
        let size = if size == Size::Full && self.parts > FULL_PARTS { Size::Small } else { size };
        let chosen = self.choice(Site::of(kind), size);
        let usual = usize::from(size == Size::Full);
        let count = chosen.unwrap_or(usual);
        Ok(match kind {
            KindSchema::Option(inner) if count > 0 && self.is_there(inner) => {
                self.inside(Open::Some, inner, size)
            }
            KindSchema::Option(_) => Next::Whole(Value::Option(None)),
            KindSchema::List(inner) if chosen == Some(EQUAL) => {
                self.inside(Open::Equal, inner, size)
            }
            KindSchema::List(inner) | KindSchema::Set(inner) => {
                let count = if self.is_there(inner) { count } else { 0 };
                self.elements(count, matches!(kind, KindSchema::Set(_)), size, (inner, None))
            }
            KindSchema::Map(parts) => {
                let is_there = self.is_there(&parts[0]) && self.is_there(&parts[1]);
                let count = if is_there { count } else { 0 };
                self.elements(count, true, size, (&parts[0], Some(&parts[1])))
            }
            KindSchema::Array(_, 0) => Next::Whole(Value::Seq(Vec::new())),
            KindSchema::Array(inner, len) => {
                self.inside(Open::Array(*len, self.parts), inner, size)
            }
            KindSchema::Tuple(parts) => self.next_part(Vec::new(), parts.iter(), size),
            KindSchema::Class(class) => self.class(*class, size, false),
            KindSchema::Dynamic(name) => match self.implementor(name, chosen, size) {
                Some(class) => self.class(class, size, true),
                None => Next::Whole(Value::Unit),
            },
            leaf => Next::Whole(self.leaf(leaf, chosen, size)),
        })
    }

    fn inside(&mut self, open: Open<'v>, inner: &'v KindSchema, size: Size) -> Next<'v> {
        self.open.push(open);
        Next::Part(inner, size)
    }

    fn count(&mut self, parts: usize) -> Result<()> {
        self.parts = self.parts.saturating_add(parts);
        if self.parts <= MOST_PARTS { Ok(()) } else { Err(too_large()) }
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

    /// A value that no others lie in.
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

impl Elements<'_> {
    /// True if there is such a key already, and keys must differ.
    fn has(&self, key: &Value) -> bool {
        self.differ && self.done.iter().any(|(known, _)| known == key)
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
