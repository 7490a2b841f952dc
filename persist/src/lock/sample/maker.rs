//! One value of a sample, from its schema and what is chosen in it.

use std::collections::{HashMap, HashSet};
use std::{mem, vec};

use super::ends::Ends;
use super::scalars::{HANDLES, boundaries, plain};
use super::{Reads, Values};
use crate::lock::section::Section;
use crate::reflect::{Cell, Holder};
use crate::schema::{Form, KindSchema, Stored};
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

/// What is chosen at a site: by its node, that of the class for the variant of an enum. It is the number of the elements
/// or [`EQUAL`], 1 for `Some`, the number of a boundary value, from 1, or of what a reference leads to, from 1; the index
/// of a variant or of a class.
pub(super) type Choices = HashMap<usize, usize>;

const PLAIN: Option<Values> = Some(Values::Plain);
const BOUNDARY: Option<Values> = Some(Values::Boundary);

/// A choice of a list: two elements that are equal.
const EQUAL: usize = usize::MAX;

/// Something that can be chosen.
pub(super) struct Choice {
    pub(super) site: usize,
    pub(super) option: usize,
    /// The place, and what stands in it.
    pub(super) what: String,
    /// Boundary values may be refused by the program although the schema allows them; `None` for what only leads to others.
    pub(super) values: Option<Values>,
}

/// What was found while values were made.
#[derive(Default)]
pub(super) struct Found {
    /// The sites that were met, in fields where classes become something else or elsewhere.
    seen: HashSet<(Option<usize>, usize)>,
    /// The choices that are new.
    pub(super) choices: Vec<Choice>,
    /// True if sites in fields that are not read count, too.
    pub(super) takes_all: bool,
    /// True if there were others.
    pub(super) has_more: bool,
    /// The places of texts that are to be names of variants.
    pub(super) named: Vec<String>,
    /// For each class the object type in which it was met.
    pub(super) classes: HashMap<usize, usize>,
    /// Classes whose objects the program may read as values.
    pub(super) inlined: HashSet<usize>,
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

/// A value that is to be made.
#[derive(Clone, Copy)]
struct Part {
    node: usize,
    size: Size,
    /// Which of several elements it is in.
    nth: u8,
    /// True if choices in it are noted.
    is_noted: bool,
    /// The field around in which classes become something else.
    apart: Option<usize>,
    is_unread: bool,
}

/// What the values of parts become.
enum Whole {
    Class {
        class: usize,
        variant: Option<usize>,
        /// Whether a value of the class was around already.
        is_nested: bool,
        /// True if it is a trait object.
        is_dynamic: bool,
        apart: Option<usize>,
    },
    Some,
    /// Two elements that are equal.
    Equal,
    /// Elements, which must differ in a set.
    List {
        differ: bool,
    },
    /// Keys, each with its value.
    Map,
    /// Elements that are all as the first: how many, and how many parts there were before it.
    Array(usize, usize),
    Tuple,
}

/// A value that is not whole yet, the parts that are left, and those that are made.
struct Open {
    whole: Whole,
    left: vec::IntoIter<Part>,
    made: Vec<Value>,
}

/// A value that is being made.
pub(super) struct Maker<'v> {
    section: &'v Section,
    stored: &'v Stored,
    ends: &'v Ends,
    reads: &'v Reads,
    choices: &'v Choices,
    basic: Basic,
    /// The type of the object.
    object: usize,
    found: Option<&'v mut Found>,
    /// The classes around.
    around: Vec<bool>,
    /// The innermost last.
    open: Vec<Open>,
    parts: usize,
}

impl<'v> Maker<'v> {
    pub(super) fn new(
        section: &'v Section,
        stored: &'v Stored,
        ends: &'v Ends,
        reads: &'v Reads,
        choices: &'v Choices,
        basic: Basic,
    ) -> Self {
        let around = vec![false; section.classes.len()];
        let (object, found, open, parts) = (0, None, Vec::new(), 0);
        Self { section, stored, ends, reads, choices, basic, object, found, around, open, parts }
    }

    /// An object of this type; notes what could be chosen in it.
    pub(super) fn object(mut self, object: usize, found: Option<&'v mut Found>) -> Result<Value> {
        let (class, _) = self.section.objects[object];
        let size = if self.basic == Basic::Small { Size::Small } else { Size::Full };
        (self.object, self.found) = (object, found);
        let is_noted = self.found.is_some();
        let node = self.stored.root(class);
        let part = Part { node, size, nth: 0, is_noted, apart: None, is_unread: false };
        self.all(part).map_err(|error| {
            let fields = self.open.iter().rev().filter_map(|open| self.field(open));
            let error = fields.fold(error, Error::in_field);
            error.in_class(&*self.section.classes[class].name)
        })
    }

    fn all(&mut self, part: Part) -> Result<Value> {
        let mut made = self.part(part)?;
        loop {
            match (made, self.open.last_mut()) {
                (Some(value), None) => return Ok(value),
                (Some(value), Some(open)) => open.made.push(value),
                (None, _) => {}
            }
            let next = self.open.last_mut().and_then(|open| open.left.next());
            made = match next {
                Some(part) => self.part(part)?,
                None => self.open.pop().map(|open| self.whole(open)).transpose()?,
            };
        }
    }

    /// The name of the field that is being made.
    fn field(&self, open: &Open) -> Option<&'v str> {
        let Whole::Class { class, variant, .. } = open.whole else { return None };
        let fields = self.stored.fields(class, variant.unwrap_or(0));
        fields.get(open.made.len()).map(|field| &*field.name)
    }

    /// Where the next part is: in the class around, or in the field in which classes become something else.
    fn place(&self, apart: Option<usize>) -> String {
        let is_start = |open: &Open| match open.whole {
            Whole::Class { apart: around, .. } => apart.is_none() || around.is_none(),
            _ => false,
        };
        let start = self.open.iter().rposition(is_start).unwrap_or(0);
        let mut place = String::new();
        for (i, open) in self.open[start..].iter().enumerate() {
            match open.whole {
                Whole::Class { class, variant, .. } => {
                    if i == 0 {
                        place.push_str(&self.section.classes[class].name);
                    }
                    if let (Form::Enum(variants), Some(variant)) =
                        (&self.stored[class].form, variant)
                    {
                        // What stands behind the name of a field is a part.
                        place.push('.');
                        place.push_str(&variants[variant].name);
                    }
                    if let Some(field) = self.field(open) {
                        place.push('.');
                        place.push_str(field);
                    }
                }
                Whole::Tuple => place.push_str(&format!(".{}", open.made.len())),
                _ => {}
            }
        }
        place
    }

    /// What is chosen at a site; notes its options, each with what a report says of it.
    fn choose(
        &mut self,
        part: Part,
        site: usize,
        options: impl FnOnce(&Self) -> Vec<(usize, String, Option<Values>)>,
    ) -> Option<usize> {
        if part.is_noted
            && let Some(found) = &mut self.found
            && !found.seen.contains(&(part.apart, site))
        {
            if part.is_unread && !found.takes_all {
                found.has_more = true;
            } else {
                found.seen.insert((part.apart, site));
                // The variant of a class that is as everywhere has no place but the class.
                let place = match site < self.section.classes.len() && part.apart.is_none() {
                    true => self.section.classes[site].name.clone(),
                    false => self.place(part.apart),
                };
                let options = options(self);
                let is_named = self.reads.texts.contains_key(&site);
                if let Some(found) = &mut self.found {
                    found.choices.extend(options.into_iter().map(|(option, what, values)| {
                        Choice { site, option, what: format!("{place}{what}"), values }
                    }));
                    found.named.extend(is_named.then_some(place));
                }
            }
        }
        if part.size == Size::Least { None } else { self.choices.get(&site).copied() }
    }

    fn is_there(&self, kind: &KindSchema) -> bool {
        self.ends.kind(self.section, kind).is_some()
    }

    /// Begins a part; returns it if no others are in it.
    fn part(&mut self, mut part: Part) -> Result<Option<Value>> {
        if self.open.len() > MOST_LEVELS {
            return Err(too_deep());
        }
        self.count(1)?;
        if part.size == Size::Full && self.parts > FULL_PARTS {
            part.size = Size::Small;
        }
        let (stored, site) = (self.stored, part.node);
        let (kind, first) = (&stored.node(site).kind, stored.node(site).first());
        let usual = usize::from(part.size == Size::Full);
        let is_there = kind.parts().iter().all(|part| self.is_there(part));
        let inner = Part { node: first, ..part };
        Ok(match kind {
            KindSchema::Option(_) => {
                let chosen = self.choose(part, site, |_| {
                    let mut options = vec![(0, String::from(" without a value"), PLAIN)];
                    options.extend(is_there.then(|| (1, String::from(" with a value"), PLAIN)));
                    options
                });
                if is_there && chosen.unwrap_or(usual) > 0 {
                    return Ok(self.open(Whole::Some, vec![inner]));
                }
                Some(Value::Option(None))
            }
            KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Map(_) => {
                let is_list = matches!(kind, KindSchema::List(_));
                let chosen = self.choose(part, site, |_| {
                    let mut options = vec![(0, String::from(" without elements"), BOUNDARY)];
                    if is_there {
                        options.push((1, String::new(), None));
                        options.push((3, String::from(" with several elements"), BOUNDARY));
                        let equal = || (EQUAL, String::from(" with equal elements"), BOUNDARY);
                        options.extend(is_list.then(equal));
                    }
                    options
                });
                match chosen.unwrap_or(usual) {
                    EQUAL => self.open(Whole::Equal, vec![inner]),
                    count => {
                        let count = if is_there { count } else { 0 };
                        let whole = match kind {
                            KindSchema::Map(_) => Whole::Map,
                            _ => Whole::List { differ: !is_list },
                        };
                        self.elements(whole, count, kind.parts().len(), inner)
                    }
                }
            }
            KindSchema::Array(_, 0) => Some(Value::Seq(Vec::new())),
            KindSchema::Array(_, len) => self.open(Whole::Array(*len, self.parts), vec![inner]),
            KindSchema::Tuple(parts) => {
                let parts = (first..first + parts.len()).map(|node| Part { node, ..part });
                self.open(Whole::Tuple, parts.collect())
            }
            KindSchema::Class(class) => self.class(*class, part, false),
            KindSchema::Dynamic(name) => match self.implementor(name, part) {
                Some(class) => self.class(class, part, true),
                None => Some(Value::Unit),
            },
            leaf => Some(self.leaf(leaf, part)),
        })
    }

    fn open(&mut self, whole: Whole, parts: Vec<Part>) -> Option<Value> {
        self.open.push(Open { whole, left: parts.into_iter(), made: Vec::new() });
        None
    }

    fn elements(&mut self, whole: Whole, count: usize, parts: usize, first: Part) -> Option<Value> {
        // Several small ones would be equal; what is chosen in one is chosen by itself.
        let (size, is_noted) = match (count, first.size) {
            (2.., Size::Small) => (Size::Full, false),
            (_, size) => (size, first.is_noted),
        };
        let nths = (0..count).map(|i| first.nth.wrapping_add(u8::try_from(i).unwrap_or(u8::MAX)));
        let elements = nths.flat_map(|nth| {
            let nodes = first.node..first.node + parts;
            nodes.map(move |node| Part { node, size, nth, is_noted, ..first })
        });
        let elements = elements.collect();
        self.open(whole, elements)
    }

    fn class(&mut self, class: usize, mut part: Part, is_dynamic: bool) -> Option<Value> {
        if part.is_noted
            && let Some(found) = &mut self.found
            && (found.takes_all || !part.is_unread)
        {
            found.classes.entry(class).or_insert(self.object);
        }
        // Ids and names of objects must fit each other: a world is empty, and what it may hold is
        // in objects of its own.
        if self.around[class] || self.section.is_world(class) {
            (part.size, part.is_noted) = (Size::Least, false);
        }
        let is_nested = mem::replace(&mut self.around[class], true);
        let stored = self.stored;
        let (variant, len) = match &stored[class].form {
            Form::Struct(fields) => (None, fields.len()),
            Form::Value(_) => (None, 1),
            Form::Enum(variants) => {
                let is_there = |this: &Self, variant: usize| {
                    variants[variant].fields.iter().all(|field| this.is_there(&field.kind))
                };
                let chosen = self.choose(part, stored.root(class), |this| {
                    let there = (0..variants.len()).filter(|variant| is_there(this, *variant));

                    let name = |variant: usize| format!(".{}", variants[variant].name);
                    there.map(|variant| (variant, name(variant), PLAIN)).collect()
                });
                let chosen = chosen.filter(|variant| is_there(self, *variant));
                let variant = chosen.unwrap_or_else(|| match part.size {
                    Size::Full => (0..variants.len()).find(|it| is_there(self, *it)).unwrap_or(0),
                    _ => self.ends.variants[class],
                });
                (Some(variant), variants[variant].fields.len())
            }
        };
        let first = stored.first(class, variant.unwrap_or(0));
        let reads = self.reads;
        let parts = (first..first + len).map(|node| Part {
            node,
            apart: part.apart.or(reads.apart.contains(&node).then_some(node)),
            is_unread: part.is_unread || reads.unread.contains(&node),
            ..part
        });
        let whole = Whole::Class { class, variant, is_nested, is_dynamic, apart: part.apart };
        self.open(whole, parts.collect())
    }

    /// Makes a value of its parts.
    fn whole(&mut self, open: Open) -> Result<Value> {
        let mut made = open.made.into_iter();
        Ok(match open.whole {
            Whole::Class { class, variant, is_nested, is_dynamic, .. } => {
                self.around[class] = is_nested;
                let schema = &self.stored[class];
                let mut record = match (&schema.form, variant) {
                    (Form::Enum(variants), Some(variant)) => {
                        Record::of_variant(&*schema.name, &*variants[variant].name)
                    }
                    (Form::Value(_), _) if !is_dynamic => {
                        return Ok(made.next().unwrap_or(Value::Unit));
                    }
                    _ => Record::new(&*schema.name),
                };
                let fields = self.stored.fields(class, variant.unwrap_or(0));
                let names = fields.iter().map(|field| &*field.name).chain([""]);
                names.zip(made).for_each(|(name, value)| record.push(name, value));
                record.origin = is_dynamic.then_some(class);
                record.into()
            }
            Whole::Some => Value::Option(made.next().map(Box::new)),
            Whole::Equal => Value::Seq(made.flat_map(|value| [value.clone(), value]).collect()),
            Whole::List { differ } => {
                let mut elements = Vec::new();
                for element in made {
                    if !differ || !elements.contains(&element) {
                        elements.push(element);
                    }
                }
                Value::Seq(elements)
            }
            Whole::Map => {
                let mut entries: Vec<(Value, Value)> = Vec::new();
                while let (Some(key), Some(value)) = (made.next(), made.next()) {
                    if entries.iter().all(|(known, _)| *known != key) {
                        entries.push((key, value));
                    }
                }
                Value::Map(entries)
            }
            Whole::Array(len, before) => match made.next() {
                Some(Value::U8(byte)) => {
                    self.count(len / BYTES_IN_PART)?;
                    Value::Bytes(vec![byte; len])
                }
                value => {
                    self.count((self.parts - before).saturating_mul(len - 1))?;
                    Value::Seq(vec![value.unwrap_or(Value::Unit); len])
                }
            },
            Whole::Tuple => Value::Tuple(made.collect()),
        })
    }

    fn count(&mut self, parts: usize) -> Result<()> {
        self.parts = self.parts.saturating_add(parts);
        if self.parts <= MOST_PARTS { Ok(()) } else { Err(too_large()) }
    }

    /// The class of a trait object.
    fn implementor(&mut self, name: &str, part: Part) -> Option<usize> {
        let (section, ends) = (self.section, self.ends);
        let classes = section.classes_of(name);
        let there = || classes.iter().enumerate().filter(|(_, it)| ends.classes[**it].is_some());
        let chosen = self.choose(part, part.node, |_| {
            let name = |class: usize| format!(" as a {}", section.classes[class].name);
            there().map(|(i, class)| (i, name(*class), PLAIN)).collect()
        });
        let chosen = there().find(|(i, _)| chosen == Some(*i));
        let class = chosen.or_else(|| match part.size {
            Size::Full => there().next(),
            _ => there().min_by_key(|(_, class)| ends.classes[**class]),
        });
        class.map(|(_, class)| *class)
    }

    /// A value that no others lie in.
    fn leaf(&mut self, kind: &KindSchema, part: Part) -> Value {
        let (section, ends, site) = (self.section, self.ends, part.node);
        let usual = usize::from(part.size == Size::Full);
        let nothing = || (0, String::from(" without a target"), PLAIN);
        match kind {
            KindSchema::Reference { holder, weak, class } => {
                let object = section.objects.binary_search(&(*class, *holder)).ok();
                if *weak {
                    let something = || (1, String::from(" with a target"), PLAIN);
                    let chosen = self.choose(part, site, |_| vec![nothing(), something()]);
                    return self.reference(object.filter(|_| chosen.unwrap_or(usual) > 0));
                }
                let unknown = &self.reads.unknown;
                if part.is_noted
                    && !part.is_unread
                    && !unknown.contains(&self.object)
                    && object.is_some_and(|object| unknown.contains(&object))
                    && let Some(found) = &mut self.found
                {
                    found.inlined.insert(*class);
                }
                self.reference(object)
            }
            KindSchema::TraitReference { holder, weak, name } => {
                let there = || {
                    let objects = section.objects_of(name, *holder).enumerate();
                    objects.filter(|(_, object)| ends.objects[*object].is_some())
                };
                let chosen = self.choose(part, site, |_| {
                    let to = |object: usize| {
                        format!(" to a {}", section.classes[section.objects[object].0].name)
                    };
                    let options = there().map(|(i, object)| (i + 1, to(object), PLAIN));
                    weak.then(nothing).into_iter().chain(options).collect()
                });
                let least = || there().map(|(_, object)| object).min_by_key(|it| ends.objects[*it]);
                self.reference(match chosen {
                    Some(0) if *weak => None,
                    None if *weak && part.size != Size::Full => None,
                    Some(chosen @ 1..) => {
                        there().find(|(i, _)| i + 1 == chosen).map(|(_, object)| object)
                    }
                    _ => least(),
                })
            }
            KindSchema::Handle(_) => {
                let chosen = self.choose(part, site, |_| {
                    let states = HANDLES.into_iter().enumerate().skip(1);
                    states.map(|(i, (name, _))| (i, format!(" as {name}"), BOUNDARY)).collect()
                });
                Value::Handle(HANDLES[chosen.unwrap_or(0)].1)
            }
            KindSchema::Unknown => Value::Seq(Vec::new()),
            scalar => {
                let names = self.reads.texts.get(&site).filter(|_| *kind == KindSchema::Text);
                let values = || match names {
                    Some(names) => {
                        let value = |name: &&str| (format!("{name:?}"), Value::from(*name));
                        names.iter().map(value).collect()
                    }
                    None => boundaries(scalar),
                };
                let chosen = self.choose(part, site, |_| {
                    let values = values().into_iter().enumerate();
                    values
                        .map(|(i, (name, _))| {
                            (
                                i + 1,
                                format!(" = {name}"),
                                if names.is_some() { PLAIN } else { BOUNDARY },
                            )
                        })
                        .collect()
                });
                let chosen =
                    chosen.and_then(|chosen| values().into_iter().nth(chosen.checked_sub(1)?));
                match (chosen, names) {
                    (Some((_, value)), _) => value,
                    (None, Some(names)) => names[usize::from(part.nth) % names.len()].into(),
                    (None, None) => plain(scalar, part.nth),
                }
            }
        }
    }

    /// A reference to a basic object of a type, or none.
    fn reference(&self, object: Option<usize>) -> Value {
        let object = object.filter(|object| self.ends.objects[*object].is_some());
        Value::Ref(object.and_then(|object| {
            let holder = |object: usize| self.section.objects[object].1;
            let is_cycle_allowed = is_open(holder(self.object)) || is_open(holder(object));
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
