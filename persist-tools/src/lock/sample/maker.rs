//! One value of a sample, from its schema and what is chosen in it.

use std::{iter, mem, vec};

use persist::__tools::{Cell, Form, KindSchema, WorldObjects};
use persist::reflect::{HandleValue, Holder};
use persist::{Arena as _, Error, ErrorKind, ObjectId, Record, Result, Value};

use super::{Basic, Choice, Choices, SampleContext, SampleFindings, Values};

impl Basic {
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

/// The options of a site: the text for a report, whose values it is in, and the choice.
type Options<T> = Vec<(String, Option<Values>, T)>;

const PLAIN: Option<Values> = Some(Values::Plain);
const BOUNDARY: Option<Values> = Some(Values::Boundary);

/// How much there is in a value.
#[derive(Clone, Copy, PartialEq)]
enum SampleSize {
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
const MAX_PARTS: usize = 1 << 22;

/// Elements of a byte that count as one part.
const BYTES_IN_PART: usize = 16;

/// Levels of nesting.
const MAX_LEVELS: usize = 400;

/// A value that is to be made.
#[derive(Clone, Copy)]
struct SamplePart {
    node: usize,
    size: SampleSize,
    /// The index of the element that it is in.
    element: u8,
    /// True if choices in it are noted.
    is_noted: bool,
    /// The field around in which classes become something else.
    separate: Option<usize>,
    is_unread: bool,
}

/// The value that finished parts become.
enum PartsInto {
    Class {
        class: usize,
        variant: Option<usize>,
        /// Whether a value of the class was around already.
        is_nested: bool,
        /// True if it is a trait object.
        is_dynamic: bool,
        separate: Option<usize>,
    },
    Some,
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
struct SampleFrame {
    whole: PartsInto,
    left: vec::IntoIter<SamplePart>,
    created: Vec<Value>,
}

/// A value that is being made.
struct Maker<'v> {
    context: &'v SampleContext<'v>,
    choices: &'v Choices,
    basic: Basic,
    /// The type of the object.
    object: usize,
    findings: &'v mut SampleFindings,
    /// The classes around.
    enclosing: Vec<bool>,
    /// The innermost last.
    open: Vec<SampleFrame>,
    parts: usize,
}

/// Makes an object of a type; notes what could be chosen in a small one.
pub(super) fn make(
    context: &SampleContext<'_>,
    (object, basic): (usize, Basic),
    choices: &Choices,
    findings: &mut SampleFindings,
) -> Result<Value> {
    let class = context.section.objects[object].0;
    let is_noted = basic == Basic::Small;
    let part = SamplePart {
        node: context.stored.root(class),
        size: if is_noted { SampleSize::Small } else { SampleSize::Full },
        element: 0,
        is_noted,
        separate: None,
        is_unread: context.reads.unknown.contains(&object),
    };
    let (enclosing, open) = (vec![false; context.section.classes.len()], Vec::new());
    let mut maker = Maker { context, choices, basic, object, findings, enclosing, open, parts: 0 };
    maker.all(part).map_err(|error| {
        let fields = maker.open.iter().rev().filter_map(|open| maker.field(open));
        fields.fold(error, Error::in_field).in_class(&*context.section.classes[class].name)
    })
}

impl<'v> Maker<'v> {
    fn all(&mut self, part: SamplePart) -> Result<Value> {
        let mut created = self.part(part)?;
        loop {
            match (created, self.open.last_mut()) {
                (Some(value), None) => return Ok(value),
                (Some(value), Some(open)) => open.created.push(value),
                (None, _) => {}
            }
            let next = self.open.last_mut().and_then(|open| open.left.next());
            created = match next {
                Some(part) => self.part(part)?,
                None => self.open.pop().map(|open| self.whole(open)).transpose()?,
            };
        }
    }

    /// The name of the field that is being made.
    fn field(&self, open: &SampleFrame) -> Option<&'v str> {
        let PartsInto::Class { class, variant, .. } = open.whole else { return None };
        let fields = self.context.stored.fields(class, variant.unwrap_or(0));
        fields.get(open.created.len()).map(|field| &*field.name)
    }

    /// Where the next part is: in the class around, or in the field in which classes become something else.
    fn place(&self, separate: Option<usize>) -> String {
        let is_start = |open: &SampleFrame| match open.whole {
            PartsInto::Class { separate: enclosing, .. } => {
                separate.is_none() || enclosing.is_none()
            }
            _ => false,
        };
        let start = self.open.iter().rposition(is_start).unwrap_or(0);
        let mut place = String::new();
        for (i, open) in self.open[start..].iter().enumerate() {
            match open.whole {
                PartsInto::Class { class, variant, .. } => {
                    if i == 0 {
                        place.push_str(&self.context.section.classes[class].name);
                    }
                    if let (Form::Enum(variants), Some(variant)) =
                        (&self.context.stored[class].form, variant)
                    {
                        // A part follows the name of its field.
                        place.push('.');
                        place.push_str(&variants[variant].name);
                    }
                    if let Some(field) = self.field(open) {
                        place.push('.');
                        place.push_str(field);
                    }
                }
                PartsInto::Tuple => place.push_str(&format!(".{}", open.created.len())),
                _ => {}
            }
        }
        place
    }

    /// Returns the choice at a site, and records the options of a new site.
    fn choose<T>(
        &mut self,
        part: SamplePart,
        site: usize,
        options: impl FnOnce(&Self) -> Options<T>,
    ) -> Option<T> {
        let is_new =
            part.is_noted && self.findings.seen.insert((part.is_unread, part.separate, site));
        let chosen = self.choices.get(&site).filter(|_| part.size != SampleSize::Least);
        if !is_new && chosen.is_none() {
            return None;
        }
        let mut options = options(self);
        if is_new {
            // The variant of a class that is as everywhere has no place but the class.
            let place = match self.context.section.classes.get(site) {
                Some(class) if part.separate.is_none() => class.name.clone(),
                _ => self.place(part.separate),
            };
            for (option, (what, values, _)) in options.iter().enumerate() {
                let what = format!("{place}{what}");
                self.findings.choices.push(Choice { site, option, what, values: *values });
            }
            let is_named = self.context.reads.texts.contains_key(&site);
            self.findings.named.extend(is_named.then_some(place));
        }
        chosen.map(|chosen| options.swap_remove(*chosen).2)
    }

    fn is_present(&self, kind: &KindSchema) -> bool {
        self.context.smallest.kind(self.context.section, kind).is_some()
    }

    /// Begins a part; returns it if no others are in it.
    fn part(&mut self, mut part: SamplePart) -> Result<Option<Value>> {
        if self.open.len() > MAX_LEVELS {
            let message = format!("a sample would be nested more than {MAX_LEVELS} levels deep");
            return Err(Error::new(ErrorKind::TooDeep, message));
        }
        self.count(1)?;
        if part.size == SampleSize::Full && self.parts > FULL_PARTS {
            part.size = SampleSize::Small;
        }
        let (stored, site) = (self.context.stored, part.node);
        if let Some(given) = self.context.reads.samples.get(&site) {
            return Ok(Some(given.clone()));
        }
        let (kind, first) = (&stored.node(site).kind, stored.node(site).first());
        let is_full = part.size == SampleSize::Full;
        let is_present = kind.parts().iter().all(|part| self.is_present(part));
        let inner = SamplePart { node: first, ..part };
        Ok(match kind {
            KindSchema::Option(_) => {
                let chosen = self.choose(part, site, |_| {
                    let with = is_present.then(|| (" with a value".to_owned(), PLAIN, true));
                    iter::once((" without a value".to_owned(), PLAIN, false)).chain(with).collect()
                });
                if chosen.unwrap_or(is_full && is_present) {
                    return Ok(self.open(PartsInto::Some, vec![inner]));
                }
                Some(Value::Option(None))
            }
            KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Map(_) => {
                let is_list = matches!(kind, KindSchema::List(_));
                let chosen = self.choose(part, site, |_| {
                    let all = [
                        (" without elements", BOUNDARY, (0, false)),
                        ("", None, (1, false)),
                        (" with several elements", BOUNDARY, (3, false)),
                        (" with equal elements", BOUNDARY, (2, true)),
                    ];
                    let len = if is_present { 3 + usize::from(is_list) } else { 1 };
                    let all = all.into_iter().take(len);
                    all.map(|(what, values, choice)| (what.to_owned(), values, choice)).collect()
                });
                let whole = match kind {
                    KindSchema::Map(_) => PartsInto::Map,
                    _ => PartsInto::List { differ: !is_list },
                };
                match chosen.unwrap_or((usize::from(is_full && is_present), false)) {
                    (count, true) => self.open(whole, vec![inner; count]),
                    (count, false) => self.elements(whole, count, kind.parts().len(), inner),
                }
            }
            KindSchema::Array(_, 0) => Some(Value::Seq(Vec::new())),
            KindSchema::Array(_, len) => self.open(PartsInto::Array(*len, self.parts), vec![inner]),
            KindSchema::Tuple(parts) => {
                let parts = (first..first + parts.len()).map(|node| SamplePart { node, ..part });
                self.open(PartsInto::Tuple, parts.collect())
            }
            KindSchema::Class(class) => self.class(*class, part, false),
            KindSchema::Dynamic(name) => match self.implementor(name, part) {
                Some(class) => self.class(class, part, true),
                None => Some(Value::Unit),
            },
            leaf => Some(self.leaf(leaf, part)),
        })
    }

    fn open(&mut self, whole: PartsInto, parts: Vec<SamplePart>) -> Option<Value> {
        self.open.push(SampleFrame { whole, left: parts.into_iter(), created: Vec::new() });
        None
    }

    fn elements(
        &mut self,
        whole: PartsInto,
        count: usize,
        parts: usize,
        first: SamplePart,
    ) -> Option<Value> {
        // Several small ones would be equal; what is chosen in one is chosen by itself.
        let (size, is_noted) = match (count, first.size) {
            (2.., SampleSize::Small) => (SampleSize::Full, false),
            (_, size) => (size, first.is_noted),
        };
        let nths =
            (0..count).map(|i| first.element.wrapping_add(u8::try_from(i).unwrap_or(u8::MAX)));
        let elements = nths.flat_map(|element| {
            let nodes = first.node..first.node + parts;
            nodes.map(move |node| SamplePart { node, size, element, is_noted, ..first })
        });
        let elements = elements.collect();
        self.open(whole, elements)
    }

    fn class(&mut self, class: usize, mut part: SamplePart, is_dynamic: bool) -> Option<Value> {
        let found = &mut *self.findings;
        if !part.is_unread && !self.enclosing[class] {
            found.held.push(class);
        }
        if part.is_noted {
            if part.is_unread { &mut found.ignored } else { &mut found.read }.insert(class);
        }
        // Ids and names of objects must fit each other: a world is empty, and what it may hold is
        // in objects of its own.
        if self.enclosing[class] || self.context.section.is_world(class) {
            (part.size, part.is_noted) = (SampleSize::Least, false);
        }
        let is_nested = mem::replace(&mut self.enclosing[class], true);
        let stored = self.context.stored;
        let (variant, len) = match &stored[class].form {
            Form::Struct(fields) => (None, fields.len()),
            Form::Value(_) => (None, 1),
            Form::Enum(variants) => {
                let present = |this: &Self| {
                    let is_present = |variant: &usize| {
                        let mut fields = variants[*variant].fields.iter();
                        fields.all(|field| this.is_present(&field.kind))
                    };
                    (0..variants.len()).filter(is_present).collect::<Vec<_>>()
                };
                let chosen = self.choose(part, stored.root(class), |this| {
                    let name = |variant: usize| format!(".{}", variants[variant].name);
                    present(this)
                        .into_iter()
                        .map(|variant| (name(variant), PLAIN, variant))
                        .collect()
                });
                let variant = chosen.unwrap_or_else(|| match part.size {
                    SampleSize::Full => present(self).first().copied().unwrap_or(0),
                    _ => self.context.smallest.variants[class],
                });
                (Some(variant), variants[variant].fields.len())
            }
        };
        let first = stored.first(class, variant.unwrap_or(0));
        let reads = self.context.reads;
        let parts = (first..first + len).map(|node| SamplePart {
            node,
            separate: part.separate.or(reads.separate.contains(&node).then_some(node)),
            is_unread: part.is_unread || reads.ignored.contains(&node),
            ..part
        });
        let whole =
            PartsInto::Class { class, variant, is_nested, is_dynamic, separate: part.separate };
        self.open(whole, parts.collect())
    }

    /// Makes a value of its parts.
    fn whole(&mut self, open: SampleFrame) -> Result<Value> {
        let mut created = open.created.into_iter();
        Ok(match open.whole {
            PartsInto::Class { class, variant, is_nested, is_dynamic, .. } => {
                self.enclosing[class] = is_nested;
                let schema = &self.context.stored[class];
                let mut record = match (&schema.form, variant) {
                    (Form::Enum(variants), Some(variant)) => {
                        Record::with_variant(&*schema.name, &*variants[variant].name)
                    }
                    (Form::Value(_), _) if !is_dynamic => {
                        return Ok(created.next().unwrap_or(Value::Unit));
                    }
                    _ => Record::new(&*schema.name),
                };
                let fields = self.context.stored.fields(class, variant.unwrap_or(0));
                let names = fields.iter().map(|field| &*field.name).chain([""]);
                names.zip(created).for_each(|(name, value)| record.push(name, value));
                record.set_origin(is_dynamic.then_some(class));
                record.into()
            }
            PartsInto::Some => Value::Option(created.next().map(Box::new)),
            PartsInto::List { differ } => {
                let mut elements = Vec::new();
                for element in created {
                    if !differ || !elements.contains(&element) {
                        elements.push(element);
                    }
                }
                Value::Seq(elements)
            }
            PartsInto::Map => {
                let mut entries: Vec<(Value, Value)> = Vec::new();
                while let (Some(key), Some(value)) = (created.next(), created.next()) {
                    if entries.iter().all(|(known, _)| *known != key) {
                        entries.push((key, value));
                    }
                }
                Value::Map(entries)
            }
            PartsInto::Array(len, previous) => match created.next() {
                Some(Value::U8(byte)) => {
                    self.count(len / BYTES_IN_PART)?;
                    Value::Bytes(vec![byte; len])
                }
                value => {
                    self.count((self.parts - previous).saturating_mul(len - 1))?;
                    Value::Seq(vec![value.unwrap_or(Value::Unit); len])
                }
            },
            PartsInto::Tuple => Value::Tuple(created.collect()),
        })
    }

    fn count(&mut self, parts: usize) -> Result<()> {
        self.parts = self.parts.saturating_add(parts);
        if self.parts <= MAX_PARTS {
            return Ok(());
        }
        let message = format!("a sample of the class would have over {MAX_PARTS} parts");
        Err(Error::new(ErrorKind::TooLarge, message))
    }

    /// The class of a trait object.
    fn implementor(&mut self, name: &str, part: SamplePart) -> Option<usize> {
        let (section, smallest) = (self.context.section, self.context.smallest);
        let classes = section.classes_of(name).iter().copied();
        let present = classes.filter(|class| smallest.classes[*class].is_some());
        let chosen = self.choose(part, part.node, |_| {
            let name = |class: usize| format!(" as a {}", section.classes[class].name);
            present.clone().map(|class| (name(class), PLAIN, class)).collect()
        });
        chosen.or_else(|| match part.size {
            SampleSize::Full => present.clone().next(),
            _ => present.clone().min_by_key(|class| smallest.classes[*class]),
        })
    }

    /// A value that no others lie in.
    fn leaf(&mut self, kind: &KindSchema, part: SamplePart) -> Value {
        let (section, smallest, site) = (self.context.section, self.context.smallest, part.node);
        let is_full = part.size == SampleSize::Full;
        let nothing = || (" without a target".to_owned(), PLAIN, None);
        match kind {
            KindSchema::Reference { holder, weak, class } => {
                let object = section.objects.binary_search(&(*class, *holder)).ok();
                if *weak {
                    let something = || (" with a target".to_owned(), PLAIN, object);
                    let chosen = self.choose(part, site, |_| vec![nothing(), something()]);
                    return self.reference(chosen.unwrap_or(object.filter(|_| is_full)));
                }
                let unknown = &self.context.reads.unknown;
                if part.is_noted
                    && !part.is_unread
                    && object.is_some_and(|object| unknown.contains(&object))
                {
                    self.findings.inlined.insert(*class);
                }
                self.reference(object)
            }
            KindSchema::TraitReference { holder, weak, name } => {
                let objects = section.objects_of(name, *holder);
                let present: Vec<usize> =
                    objects.filter(|it| smallest.objects[*it].is_some()).collect();
                let chosen = self.choose(part, site, |_| {
                    let class = |object: usize| &section.classes[section.objects[object].0].name;
                    let to = |object: &usize| {
                        (format!(" to a {}", class(*object)), PLAIN, Some(*object))
                    };
                    weak.then(nothing).into_iter().chain(present.iter().map(to)).collect()
                });
                let min = present.iter().copied().min_by_key(|object| smallest.objects[*object]);
                self.reference(chosen.unwrap_or(min.filter(|_| is_full || !*weak)))
            }
            KindSchema::Handle(arena) => {
                // All bits are the id of no object of a world: a note on it would stand in each report.
                let is_of_world = **arena == *WorldObjects::NAME;
                let count = HANDLES.len() - usize::from(is_of_world);
                let chosen = self.choose(part, site, |_| {
                    let states = HANDLES[..count].iter().copied().skip(1);
                    states.map(|(name, state)| (format!(" as {name}"), BOUNDARY, state)).collect()
                });
                Value::Handle(chosen.unwrap_or(HANDLES[0].1))
            }
            KindSchema::Unknown => Value::Seq(Vec::new()),
            scalar => {
                let names =
                    self.context.reads.texts.get(&site).filter(|_| *kind == KindSchema::Text);
                let chosen = self.choose(part, site, |_| match names {
                    Some(names) => {
                        let value = |name: &&str| (format!(" = {name:?}"), PLAIN, (*name).into());
                        names.iter().map(value).collect()
                    }
                    None => {
                        let values = boundaries(scalar).into_iter();
                        values.map(|(name, it)| (format!(" = {name}"), BOUNDARY, it)).collect()
                    }
                });
                chosen.unwrap_or_else(|| match names {
                    Some(names) => names[usize::from(part.element) % names.len()].into(),
                    None => plain(scalar, part.element),
                })
            }
        }
    }

    /// A reference to a basic object of a type, or none.
    fn reference(&self, object: Option<usize>) -> Value {
        let object = object.filter(|object| self.context.smallest.objects[*object].is_some());
        Value::Ref(object.and_then(|object| {
            let holder = |object: usize| self.context.section.objects[object].1;
            let is_cycle_allowed = is_open(holder(self.object)) || is_open(holder(object));
            let target = match self.basic {
                Basic::First if is_cycle_allowed => Basic::Second,
                Basic::Second if is_cycle_allowed => Basic::First,
                // Small objects refer to smaller ones.
                _ => Basic::Small,
            };
            ObjectId::new(target.id(object))
        }))
    }
}

/// The states of a handle, and what a report calls them.
const HANDLES: [(&str, HandleValue); 4] = [
    ("a null handle", HandleValue::Null),
    ("a live handle", HandleValue::Live(1)),
    ("a dead handle", HandleValue::Dead(1)),
    ("a live handle with all bits", HandleValue::Live(u64::MAX)),
];

/// An ordinary small value; others have different ones, as far as the kind allows.
fn plain(kind: &KindSchema, element: u8) -> Value {
    match kind {
        KindSchema::Unit => Value::Unit,
        KindSchema::Bool => Value::Bool(element.is_multiple_of(2)),
        KindSchema::Char => {
            Value::Char(char::from_u32(u32::from(b'a') + u32::from(element)).unwrap_or('a'))
        }
        KindSchema::F32 => Value::F32(f32::from(element) + 1.0),
        KindSchema::F64 => Value::F64(f64::from(element) + 1.0),
        KindSchema::Text => char::from(b'a' + element % 26).to_string().into(),
        // Written as what the kind is.
        KindSchema::U8 | KindSchema::I8 => Value::U8(element.wrapping_add(1)),
        _ => Value::U16(u16::from(element) + 1),
    }
}

/// The boundary values, and what a report calls them.
fn boundaries(kind: &KindSchema) -> Vec<(String, Value)> {
    fn named<T: std::fmt::Debug + Into<Value>, const N: usize>(
        values: [T; N],
    ) -> Vec<(String, Value)> {
        values.into_iter().map(|value| (format!("{value:?}"), value.into())).collect()
    }
    macro_rules! floats {
        ($type:ident) => {
            named([
                0.0,
                -0.0,
                $type::NAN,
                $type::INFINITY,
                $type::NEG_INFINITY,
                $type::MIN,
                $type::MAX,
                $type::MIN_POSITIVE,
                // A signalling NaN, and the smallest number at all.
                $type::from_bits($type::INFINITY.to_bits() + 1),
                $type::from_bits(1),
            ])
        };
    }
    match kind {
        KindSchema::Bool => named([false]),
        KindSchema::Char => named(['\0', '\u{e9}', '\u{d7ff}', '\u{e000}', char::MAX]),
        KindSchema::U8 => named([0, u8::MAX]),
        KindSchema::U16 => named([0, u16::MAX]),
        KindSchema::U32 => named([0, u32::MAX]),
        KindSchema::U64 => named([0, u64::MAX]),
        KindSchema::U128 => named([0, u128::MAX]),
        KindSchema::I8 => named([0, -1, i8::MIN, i8::MAX]),
        KindSchema::I16 => named([0, -1, i16::MIN, i16::MAX]),
        KindSchema::I32 => named([0, -1, i32::MIN, i32::MAX]),
        KindSchema::I64 => named([0, -1, i64::MIN, i64::MAX]),
        KindSchema::I128 => named([0, -1, i128::MIN, i128::MAX]),
        KindSchema::F32 => floats!(f32),
        KindSchema::F64 => floats!(f64),
        KindSchema::Compact(integer) => boundaries(&(*integer).into()),
        KindSchema::Text => vec![
            (String::from("\"\""), "".into()),
            (String::from("a text that is not ASCII"), "Gr\u{fc}\u{df}e \u{1f980} \0\n\"".into()),
            (String::from("a text of 400 bytes"), "0123456789".repeat(40).into()),
        ],
        _ => Vec::new(),
    }
}
