//! The objects of samples, and in how many ways each can be made.
//!
//! A value is made from its kind with as little in it as can be. Where it could be something else is a choice. What
//! makes a value enters each other choice as a task: to make the object again, with that choice. So whatever stands
//! only behind a choice is found when its task runs.

use std::collections::{HashMap, HashSet, VecDeque};

use super::ends::Ends;
use crate::lock::section::{Section, address};
use crate::reflect::{Cell, Holder};
use crate::schema::{FieldSchema, Form, KindSchema, Texts, VariantSchema};
use crate::value::{HandleValue, Record, Value};
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

/// What the program reads of the values of a version. Without more: all, and each class as one of its own.
#[derive(Default)]
pub(in crate::lock) struct Reads {
    /// The object types that it does not have.
    pub(in crate::lock) unknown: HashSet<usize>,
    /// The kinds of the fields that none of its fields has as its source, by their addresses.
    pub(in crate::lock) unread: HashSet<usize>,
    /// The fields in which classes become something else than anywhere else.
    pub(in crate::lock) apart: HashSet<usize>,
}

/// An object to be made, and where the choices in it are looked for.
#[derive(Clone)]
pub(super) struct Task {
    /// Index of its type.
    pub(super) object: usize,
    /// What is chosen, by the number of the part: how many elements or [`EQUAL`], 1 for `Some`, the number of a boundary
    /// value, from 1, or of what a reference leads to, from 1; the index of a variant or of a class.
    script: Vec<(usize, usize)>,
    /// The part in which choices are looked for; none of an object that is made for what is chosen alone.
    scope: Option<usize>,
    /// The place and what stands in it, and whether that is a boundary, which the program may refuse.
    pub(super) what: Option<(String, bool)>,
}

/// The number of the part that is the object itself.
const WHOLE: usize = 0;

/// A choice of a list: two elements that are equal.
const EQUAL: usize = usize::MAX;

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
const MOST_LEVELS: u32 = 400;

/// Makes values, and finds the choices in them: each choice in every class that objects hold by value, once where the
/// program reads the class, and once more in each field where it becomes something else.
pub(super) struct Maker<'v> {
    section: &'v Section,
    names: &'v [String],
    ends: &'v Ends,
    texts: &'v Texts,
    reads: &'v Reads,
    next: VecDeque<Task>,
    /// Fields that are not read, until it is their turn: their classes may be found nowhere else.
    later: Vec<Task>,
    is_late: bool,
    /// The classes that were met, in fields where they become something else or elsewhere.
    seen: HashSet<(Option<usize>, usize)>,
    /// Classes whose objects the program may read as values.
    inlined: Vec<bool>,
    /// For each class that is tested the object type in which it is.
    pub(super) classes: HashMap<usize, usize>,
    /// The places of texts that are to be names of variants.
    pub(super) named: Vec<String>,
    task: Task,
    basic: Basic,
    /// True if the object's holder may be part of a cycle.
    in_cell: bool,
    /// The classes around.
    open: Vec<bool>,
    /// True inside of the task's scope.
    explores: bool,
    /// The field around, by the address of its kind, if classes become something else there.
    apart: Option<usize>,
    place: String,
    /// Which of several elements it is in.
    nth: u8,
    levels: u32,
    /// The number of the next part, and how many there are, arrays in full.
    node: usize,
    parts: usize,
    /// The ids of the objects that this one refers to.
    refers: Vec<u64>,
}

impl<'v> Maker<'v> {
    pub(super) fn new(
        (section, names): (&'v Section, &'v [String]),
        ends: &'v Ends,
        texts: &'v Texts,
        reads: &'v Reads,
    ) -> Self {
        let count = section.classes.len();
        Self {
            section,
            names,
            ends,
            texts,
            reads,
            next: VecDeque::new(),
            later: Vec::new(),
            is_late: false,
            seen: HashSet::new(),
            inlined: vec![false; count],
            classes: HashMap::new(),
            named: Vec::new(),
            task: Task { object: 0, script: Vec::new(), scope: None, what: None },
            basic: Basic::Small,
            in_cell: false,
            open: vec![false; count],
            explores: false,
            apart: None,
            place: String::new(),
            nth: 0,
            levels: 0,
            node: WHOLE,
            parts: 0,
            refers: Vec::new(),
        }
    }

    /// A basic object of a type, and the ids of those that it refers to.
    pub(super) fn basic(&mut self, object: usize, basic: Basic) -> Result<(Value, Vec<u64>)> {
        self.basic = basic;
        self.run(Task { object, script: Vec::new(), scope: None, what: None })
    }

    /// Runs every task that comes of these, and gives what it makes.
    pub(super) fn explore(
        &mut self,
        each: &mut dyn FnMut(&Task, Value, Vec<u64>) -> Result<()>,
    ) -> Result<()> {
        self.basic = Basic::Small;
        let there = (0..self.section.objects.len()).filter(|it| self.ends.objects[*it].is_some());
        let whole = |object| Task { object, script: Vec::new(), scope: Some(WHOLE), what: None };
        let (unknown, known): (Vec<Task>, Vec<Task>) =
            there.map(whole).partition(|task| self.reads.unknown.contains(&task.object));
        self.drain(known, each)?;
        let read: HashSet<usize> = self.classes.keys().copied().collect();
        self.is_late = true;
        let later = std::mem::take(&mut self.later);
        self.drain(later, each)?;
        self.drain(unknown, each)?;
        let inlined = self.section.inside(std::mem::take(&mut self.inlined));
        self.classes.retain(|class, _| read.contains(class) || !inlined[*class]);
        Ok(())
    }

    fn drain(
        &mut self,
        tasks: Vec<Task>,
        each: &mut dyn FnMut(&Task, Value, Vec<u64>) -> Result<()>,
    ) -> Result<()> {
        for first in tasks {
            self.next.push_back(first);
            while let Some(task) = self.next.pop_front() {
                let (value, refers) = self.run(task)?;
                if self.task.what.is_some() {
                    each(&self.task, value, refers)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the object of a task.
    fn run(&mut self, task: Task) -> Result<(Value, Vec<u64>)> {
        let (class, holder) = self.section.objects[task.object];
        self.task = task;
        self.in_cell = is_open(holder);
        self.open.fill(false);
        (self.explores, self.apart, self.nth) = (false, None, 0);
        (self.levels, self.node, self.parts) = (0, WHOLE, 0);
        self.place.clone_from(&self.names[class]);
        let size = if self.basic == Basic::Small { Size::Small } else { Size::Full };
        let value = self.within(WHOLE, |this| this.class(class, size));
        let value = value.map_err(|error| error.in_class(&*self.section.classes[class].name))?;
        Ok((value, std::mem::take(&mut self.refers)))
    }

    /// Makes a part; if it is the task's scope, its choices are looked for.
    fn within<T>(&mut self, node: usize, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.explores;
        self.explores |= self.task.scope == Some(node);
        let made = make(self);
        self.explores = before;
        made
    }

    fn class(&mut self, class: usize, size: Size) -> Result<Value> {
        let node = self.node;
        self.node += 1;
        // Ids and names of objects must fit each other: a world is empty, and what it may hold is
        // in objects of its own.
        let is_least = self.open[class] || self.section.is_world(class);
        let size = if is_least { Size::Least } else { size };
        let explored = self.explores;
        // One whose variant is the task's was met before.
        if explored && !self.is_chosen(node) {
            let is_new = self.seen.insert((self.apart, class));
            if is_new {
                self.classes.entry(class).or_insert(self.task.object);
            }
            self.explores = is_new && !is_least;
        }
        let before = std::mem::replace(&mut self.open[class], true);
        let length = self.place.len();
        let around = (self.apart.is_none()).then(|| self.names[class].clone());
        let around = around.map(|name| std::mem::replace(&mut self.place, name));
        let section = self.section;
        let schema = &section.classes[class];
        let value = match &schema.form {
            Form::Value(kind) => self.kind(kind, size)?,
            Form::Struct(fields) => self.fields(Record::new(&*schema.name), fields, size)?,
            Form::Enum(variants) => self.within(node, |this| {
                let variant = &variants[this.variant(node, class, variants, size)];
                let colons = if this.apart.is_some() { "." } else { "::" };
                this.place.extend([colons, &variant.name]);
                let record = Record::of_variant(&*schema.name, &*variant.name);
                this.fields(record, &variant.fields, size)
            })?,
        };
        match around {
            Some(around) => self.place = around,
            None => self.place.truncate(length),
        }
        self.open[class] = before;
        self.explores = explored;
        Ok(value)
    }

    /// True for a part whose choice is the task's.
    fn is_chosen(&self, node: usize) -> bool {
        self.task.script.iter().any(|(chosen, _)| *chosen == node)
    }

    /// What the task chooses for a part; what else could be is entered, if choices are looked for.
    fn choose(
        &mut self,
        node: usize,
        size: Size,
        others: impl FnOnce(&Self) -> Vec<Other>,
    ) -> Option<usize> {
        if size == Size::Least {
            return None;
        }
        let chosen = self.task.script.iter().find(|(chosen, _)| *chosen == node);
        if chosen.is_none() && self.explores {
            for Other { choice, what, boundary, opens } in others(self) {
                let mut script = self.task.script.clone();
                script.push((node, choice));
                let scope = opens.then_some(node);
                let what = Some((what, boundary));
                self.next.push_back(Task { object: self.task.object, script, scope, what });
            }
        }
        chosen.map(|(_, choice)| *choice)
    }

    fn variant(
        &mut self,
        node: usize,
        class: usize,
        variants: &[VariantSchema],
        size: Size,
    ) -> usize {
        let ends = (self.section, self.ends);
        let is_there = |variant: &usize| {
            let fields = &variants[*variant].fields;
            fields.iter().all(|field| ends.1.kind(ends.0, &field.kind).is_some())
        };
        let least = self.ends.variants[class];
        let colons = if self.apart.is_some() { "." } else { "::" };
        let chosen = self.choose(node, size, |this| {
            let others = (0..variants.len()).filter(|it| *it != least && is_there(it));
            let what = |it: usize| format!("{}{colons}{}", this.place, variants[it].name);
            others.map(|it| Other::new(it, what(it)).opening()).collect()
        });
        chosen.unwrap_or_else(|| match size {
            Size::Full => (0..variants.len()).find(is_there).unwrap_or(0),
            _ => least,
        })
    }

    fn fields(&mut self, mut record: Record, fields: &[FieldSchema], size: Size) -> Result<Value> {
        let (around, length, explored) = (self.apart, self.place.len(), self.explores);
        for field in fields {
            let at = address(&field.kind);
            if self.explores && !self.is_late && self.reads.unread.contains(&at) {
                let Task { object, script, .. } = self.task.clone();
                self.later.push(Task { object, script, scope: Some(self.node), what: None });
                self.explores = false;
            }
            self.apart = around.or(Some(at).filter(|at| self.reads.apart.contains(at)));
            self.place.extend([".", &field.name]);
            let value = self.kind(&field.kind, size);
            record.push(&*field.name, value.map_err(|error| error.in_field(&field.name))?);
            self.place.truncate(length);
            (self.apart, self.explores) = (around, explored);
        }
        Ok(record.into())
    }

    fn is_there(&self, kind: &KindSchema) -> bool {
        self.ends.kind(self.section, kind).is_some()
    }

    fn kind(&mut self, kind: &KindSchema, size: Size) -> Result<Value> {
        if self.levels >= MOST_LEVELS {
            return Err(too_deep());
        }
        let node = self.node;
        self.node += 1;
        self.count(1)?;
        let size = if size == Size::Full && self.parts > FULL_PARTS { Size::Small } else { size };
        self.levels += 1;
        let value = self.within(node, |this| this.part(node, kind, size));
        self.levels -= 1;
        value
    }

    fn count(&mut self, parts: usize) -> Result<()> {
        self.parts = self.parts.saturating_add(parts);
        if self.parts <= MOST_PARTS { Ok(()) } else { Err(too_large()) }
    }

    /// What may be chosen of a kind, the usual aside.
    fn others(&self, kind: &KindSchema) -> Vec<Other> {
        let (section, place) = (self.section, &self.place);
        let count = |choice, what: &str| Other::new(choice, format!("{place} {what}"));
        let elements = |is_there: bool| {
            let several = is_there.then(|| count(3, "with several elements").boundary());
            let one = is_there.then(|| count(1, "with one element").opening().boundary());
            one.into_iter().chain(several).collect::<Vec<_>>()
        };
        match kind {
            KindSchema::Option(inner) if self.is_there(inner) => {
                vec![count(1, "with a value").opening()]
            }
            KindSchema::List(inner) => {
                let equal = self.is_there(inner).then(|| count(EQUAL, "with equal elements"));
                let all = elements(self.is_there(inner)).into_iter();
                all.chain(equal.map(Other::boundary)).collect()
            }
            KindSchema::Set(inner) => elements(self.is_there(inner)),
            KindSchema::Map(parts) => {
                elements(self.is_there(&parts[0]) && self.is_there(&parts[1]))
            }
            KindSchema::Reference { weak: true, .. } => vec![count(1, "with a target")],
            KindSchema::TraitReference { name, holder, .. } => {
                let objects = section.objects_of(name, *holder).enumerate();
                let there = objects.filter(|(_, object)| self.ends.objects[*object].is_some());
                let to = |(i, object): (usize, usize)| {
                    let class = &self.names[section.objects[object].0];
                    Other::new(i + 1, format!("{place} to a {class}"))
                };
                there.map(to).collect()
            }
            KindSchema::Dynamic(name) => {
                let classes = section.classes_of(name).iter().enumerate();
                let there = classes.filter(|(_, class)| self.ends.classes[**class].is_some());
                let of = |(i, class): (usize, &usize)| {
                    Other::new(i, format!("{place} as a {}", self.names[*class])).opening()
                };
                there.map(of).collect()
            }
            KindSchema::Handle(_) => {
                let states = HANDLES.iter().enumerate().skip(1);
                states.map(|(i, (name, _))| count(i, &format!("as {name}")).boundary()).collect()
            }
            KindSchema::Text if self.texts.contains_key(&address(kind)) => {
                let names = self.texts[&address(kind)].iter().enumerate();
                names.map(|(i, name)| Other::new(i + 1, format!("{place} = {name:?}"))).collect()
            }
            scalar => {
                let values = boundaries(scalar).into_iter().enumerate();
                let other = |(i, (name, _))| Other::new(i + 1, format!("{place} = {name}"));
                values.map(|it| other(it).boundary()).collect()
            }
        }
    }

    fn part(&mut self, node: usize, kind: &KindSchema, size: Size) -> Result<Value> {
        let chosen = self.choose(node, size, |this| this.others(kind));
        let count = chosen.unwrap_or(usize::from(size == Size::Full));
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
                let elements = self.elements(count, differ, size, (inner, None))?;
                Ok(Value::Seq(elements.into_iter().map(|(element, _)| element).collect()))
            }
            KindSchema::Map(parts) => {
                let is_there = self.is_there(&parts[0]) && self.is_there(&parts[1]);
                let count = if is_there { count } else { 0 };
                self.elements(count, true, size, (&parts[0], Some(&parts[1]))).map(Value::Map)
            }
            KindSchema::Array(inner, len) => self.array(inner, *len, size),
            KindSchema::Tuple(parts) => self.tuple(parts, size),
            KindSchema::Class(class) => self.class(*class, size),
            KindSchema::Dynamic(name) => match self.implementor(name, chosen, size) {
                Some(class) => self.dynamic(class, size),
                None => Ok(Value::Unit),
            },
            leaf => Ok(self.leaf(leaf, chosen, size)),
        }
    }

    fn tuple(&mut self, parts: &[KindSchema], size: Size) -> Result<Value> {
        let length = self.place.len();
        let mut values = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            self.place.push_str(&format!(".{i}"));
            values.push(self.kind(part, size)?);
            self.place.truncate(length);
        }
        Ok(Value::Tuple(values))
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
                let is_unknown = object.is_some_and(|object| self.reads.unknown.contains(&object));
                self.inlined[*class] |= self.explores && !self.is_late && !*weak && is_unknown;
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
                if self.explores && chosen.is_none() {
                    self.named.push(self.place.clone());
                }
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
        (key, value): (&KindSchema, Option<&KindSchema>),
    ) -> Result<Vec<(Value, Value)>> {
        // Small ones would be equal.
        let size = if count > 1 && size == Size::Small { Size::Full } else { size };
        let before = self.nth;
        let mut elements: Vec<(Value, Value)> = Vec::new();
        for nth in 0..u8::try_from(count).unwrap_or(u8::MAX) {
            self.nth = before.wrapping_add(nth);
            let key = self.kind(key, size)?;
            if !differ || elements.iter().all(|(known, _)| *known != key) {
                let value = value.map_or(Ok(Value::Unit), |value| self.kind(value, size));
                elements.push((key, value?));
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
            self.refers.push(target.id(object));
            ObjectId::new(target.id(object))
        }))
    }
}

/// What a value could be instead.
struct Other {
    choice: usize,
    /// The place, and what stands in it.
    what: String,
    /// True if the program may refuse the value although the schema allows it.
    boundary: bool,
    /// True if there may be choices inside.
    opens: bool,
}

impl Other {
    fn new(choice: usize, what: String) -> Self {
        Self { choice, what, boundary: false, opens: false }
    }

    fn boundary(self) -> Self {
        Self { boundary: true, ..self }
    }

    fn opening(self) -> Self {
        Self { opens: true, ..self }
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
fn plain(kind: &KindSchema, nth: u8) -> Value {
    match kind {
        KindSchema::Unit => Value::Unit,
        KindSchema::Bool => Value::Bool(nth.is_multiple_of(2)),
        KindSchema::Char => {
            Value::Char(char::from_u32(u32::from(b'a') + u32::from(nth)).unwrap_or('a'))
        }
        KindSchema::F32 => Value::F32(f32::from(nth) + 1.0),
        KindSchema::F64 => Value::F64(f64::from(nth) + 1.0),
        KindSchema::Text => char::from(b'a' + nth % 26).to_string().into(),
        // Written as what the kind is.
        KindSchema::U8 | KindSchema::I8 => Value::U8(nth.wrapping_add(1)),
        _ => Value::U16(u16::from(nth) + 1),
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
