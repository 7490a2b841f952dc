//! The values of a save that a path leads to.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use persist::{ObjectId, Value};
use persist_tools::{Document, Entry};

use crate::exit::{Failure, Result};
use crate::path::{Child, Path, Start, Step, beginning, component_text, matching, push_name};
use crate::values::{Hop, is_same_key, parts};
use crate::world::{self, World, has_world};

/// The most values that a path may lead to.
const MAX_FOUND: usize = 4 << 20;

/// The most fields that a message names.
const MAX_NAMED: usize = 20;

/// A value that a path leads to.
#[derive(Clone)]
pub(crate) struct Found<'d> {
    /// The place of its object among the entries of the document.
    pub(crate) entry: usize,
    pub(crate) hops: Vec<Hop>,
    /// A path that leads to it alone.
    pub(crate) label: String,
    pub(crate) value: Cow<'d, Value>,
    /// The world that the value is, or is an object of, with the place of the object; `None` for the world itself.
    within: Option<(std::rc::Rc<World<'d>>, Option<usize>)>,
}

impl Path {
    /// Says that nothing is at the path, and which fields are there if a field is missing.
    pub(crate) fn missing(&self, text: &str, save: &Document) -> String {
        let nothing = format!("nothing is at {}", beginning(text));
        for steps in (0..self.steps.len()).rev() {
            let parent = Self { start: self.start.clone(), steps: self.steps[..steps].to_vec() };
            let found = parent.find(save).unwrap_or_default();
            let Some(first) = found.first() else { continue };
            let record = first.value.as_record().filter(|record| !record.is_empty());
            let (Step::Field(_), Some(record)) = (&self.steps[steps], record) else { break };
            let fields = record.fields().map(|(name, _)| name).take(MAX_NAMED);
            let fields = fields.collect::<Vec<_>>().join(", ");
            let rest = if record.len() > MAX_NAMED { ", .." } else { "" };
            let label = if first.label.is_empty() { "." } else { &first.label };
            return format!("{nothing}; {label} has the fields {fields}{rest}");
        }
        nothing
    }

    /// All that the path leads to, in the order of the save.
    pub(crate) fn find<'d>(&self, save: &'d Document) -> Result<Vec<Found<'d>>> {
        let mut all = Vec::new();
        self.each(save, |found| {
            all.push(found);
            true
        })?;
        Ok(all)
    }

    /// Calls `visit` with each value that the path leads to, in the order of the save, as long as it returns true.
    pub(crate) fn each<'d>(
        &self,
        save: &'d Document,
        mut visit: impl FnMut(Found<'d>) -> bool,
    ) -> Result<()> {
        let objects = objects(save);
        let start: Box<dyn Iterator<Item = Found<'d>> + '_> = match &self.start {
            Start::Root => Box::new(objects.filter(|(_, it)| is_root(it)).map(|(found, _)| found)),
            Start::Object(id) => {
                Box::new(objects.filter(|(_, it)| it.id() == *id).map(|(found, _)| found))
            }
            Start::Classes(classes, number) => {
                let of_class = objects.filter(|(_, it)| classes.contains(it.class()));
                let of_class = of_class.map(|(found, _)| found);
                match number {
                    Some(number) => Box::new(of_class.skip(*number).take(1)),
                    None => Box::new(of_class),
                }
            }
            Start::Worlds => Box::new(objects.flat_map(|(found, _)| worlds(found))),
        };
        let context = Context { save, places: OnceCell::new() };
        // There is one iterator for each step of the current branch, and a count of the values that each step led to.
        let (mut open, mut counts) = (vec![start], vec![0; self.steps.len() + 1]);
        while let Some(last) = open.last_mut() {
            let Some(found) = last.next() else {
                open.pop();
                continue;
            };
            let level = open.len() - 1;
            counts[level] += 1;
            // References in cycles can be followed as often as there are steps.
            if level > 0 && counts[level] > MAX_FOUND {
                return Err(Failure::new(format!(
                    "the path leads to more than {MAX_FOUND} values; say which"
                )));
            }
            match self.steps.get(level) {
                Some(step) => open.push(Box::new(step.take(found, &context).into_iter())),
                None if visit(found) => {}
                None => break,
            }
        }
        Ok(())
    }
}

/// All objects of a save.
pub(crate) fn all(save: &Document) -> Vec<Found<'_>> {
    objects(save).map(|(found, _)| found).collect()
}

fn objects(save: &Document) -> impl Iterator<Item = (Found<'_>, &Entry)> {
    save.entries().enumerate().map(|(entry, it)| {
        let label = if is_root(it) { String::new() } else { it.id().to_string() };
        let value = Cow::Borrowed(&it.value);
        (Found { entry, hops: Vec::new(), label, value, within: None }, it)
    })
}

/// True for the object of a save of one value.
pub(crate) fn is_root(entry: &Entry) -> bool {
    entry.is_added() && entry.holder() == "_"
}

/// The worlds in a value.
pub(crate) fn worlds(from: Found<'_>) -> Vec<Found<'_>> {
    // Most values have none, and a walk that knows where it is takes longer.
    if !has_world(&from.value) {
        return Vec::new();
    }
    let (mut found, mut open) = (Vec::new(), vec![from]);
    while let Some(next) = open.pop() {
        if world::record_of(&next.value).is_some() {
            found.push(next);
        } else if let Cow::Borrowed(value) = next.value {
            let inner = parts(value).into_iter().filter(|(_, part)| may_hold_world(part));
            let inner = inner.map(|(hop, part)| next.at(hop, Cow::Borrowed(part)));
            open.extend(inner.collect::<Vec<_>>().into_iter().rev());
        }
    }
    found
}

fn may_hold_world(value: &Value) -> bool {
    matches!(
        value,
        Value::Option(Some(_))
            | Value::Seq(_)
            | Value::Tuple(_)
            | Value::Map(_)
            | Value::Struct(_)
            | Value::Enum(_)
    )
}

struct Context<'d> {
    save: &'d Document,
    /// The objects by their ids, built when the first reference is followed.
    places: OnceCell<HashMap<ObjectId, (usize, &'d Entry)>>,
}

impl<'d> Context<'d> {
    fn object(&self, id: ObjectId) -> Option<(usize, &'d Entry)> {
        let places = self.places.get_or_init(|| {
            let entries = self.save.entries().enumerate().filter(|(_, entry)| !entry.is_kept());
            entries.map(|(place, entry)| (entry.id(), (place, entry))).collect()
        });
        places.get(&id).copied()
    }
}

impl<'d> Found<'d> {
    /// A part of it.
    fn at(&self, hop: Hop, value: Cow<'d, Value>) -> Self {
        let mut label = self.label.clone();
        match &hop {
            Hop::Field(name) => push_name(&mut label, name),
            Hop::Some => {}
            Hop::Item(at) | Hop::Byte(at) => push_key(&mut label, at),
            Hop::Entry(at) => {
                if let Value::Map(entries) = &*self.value {
                    push_key(&mut label, &entries[*at].0);
                }
            }
        }
        let mut hops = self.hops.clone();
        hops.push(hop);
        Self { entry: self.entry, hops, label, value, within: None }
    }

    /// Follows options to their values, and references to their targets.
    fn inside(mut self, context: &Context<'d>) -> Self {
        loop {
            match &self.value {
                Cow::Borrowed(Value::Option(Some(inner))) => {
                    self = self.at(Hop::Some, Cow::Borrowed(inner));
                }
                Cow::Borrowed(Value::Ref(Some(id))) => {
                    let Some((place, entry)) = context.object(*id) else { return self };
                    let value = Cow::Borrowed(&entry.value);
                    let label = id.to_string();
                    return Self { entry: place, hops: Vec::new(), label, value, within: None };
                }
                _ => return self,
            }
        }
    }

    /// The object that a world has at a place.
    fn object(&self, world: &std::rc::Rc<World<'d>>, prefix: &str, place: usize) -> Self {
        let mut whole = self.hops.clone();
        // Removes the two hops that lead from the world to an object.
        if self.within.as_ref().is_some_and(|(_, place)| place.is_some()) {
            whole.truncate(whole.len().saturating_sub(2));
        }
        whole.extend([Hop::Field("objects".into()), Hop::Item(place)]);
        let label = format!("{prefix}{}", world.path(place));
        let within = Some((world.clone(), Some(place)));
        let value = Cow::Borrowed(world.objects[place].value);
        Self { entry: self.entry, hops: whole, label, value, within }
    }
}

fn push_key(label: &mut String, key: &impl std::fmt::Display) {
    label.extend(["[", &key.to_string(), "]"]);
}

impl Step {
    fn take<'d>(&self, from: Found<'d>, context: &Context<'d>) -> Vec<Found<'d>> {
        match self {
            Self::Below(child) => below(from, child, context),
            Self::Component(class) => components(from, class, context),
            _ => self.of_value(from.inside(context)),
        }
    }

    fn of_value<'d>(&self, from: Found<'d>) -> Vec<Found<'d>> {
        let Cow::Borrowed(value) = from.value else { return Vec::new() };
        let at = |hop: Hop, value: &'d Value| from.at(hop, Cow::Borrowed(value));
        match self {
            Self::Field(name) => {
                let field = value.as_record().and_then(|record| record.get(name));
                // Fields of tuples are named by their numbers.
                let item = || match value {
                    Value::Tuple(values) => Some((name.parse().ok()?, values)),
                    _ => None,
                };
                match (field, item()) {
                    (Some(field), _) => vec![at(Hop::Field(name.as_str().into()), field)],
                    (None, Some((item, values))) => values
                        .get(item)
                        .map(|value| at(Hop::Item(item), value))
                        .into_iter()
                        .collect(),
                    (None, None) => Vec::new(),
                }
            }
            Self::All => match value {
                Value::Bytes(bytes) => {
                    (0..bytes.len()).filter_map(|byte| from.byte(byte)).collect()
                }
                value => parts(value).into_iter().map(|(hop, part)| at(hop, part)).collect(),
            },
            Self::Key(key) => {
                let index = key.as_u64().and_then(|key| usize::try_from(key).ok());
                let found = match value {
                    Value::Map(entries) => {
                        let entry = entries.iter().position(|(known, _)| is_same_key(known, key));
                        entry.map(|entry| at(Hop::Entry(entry), &entries[entry].1))
                    }
                    Value::Seq(values) | Value::Tuple(values) => {
                        index.and_then(|index| Some(at(Hop::Item(index), values.get(index)?)))
                    }
                    Value::Bytes(_) => index.and_then(|index| from.byte(index)),
                    _ => None,
                };
                found.into_iter().collect()
            }
            Self::Variant(name) => {
                let is_it = value.as_record().is_some_and(|it| it.variant() == Some(name.as_str()));
                if is_it { vec![from] } else { Vec::new() }
            }
            Self::Below(_) | Self::Component(_) => Vec::new(),
        }
    }
}

impl Found<'_> {
    /// Returns a byte of a list of bytes.
    fn byte(&self, at: usize) -> Option<Self> {
        let Value::Bytes(bytes) = &*self.value else { return None };
        Some(self.at(Hop::Byte(at), Cow::Owned(Value::U8(*bytes.get(at)?))))
    }
}

/// The world that a value is, or that an object is of, with what its path begins with.
fn world_of<'d>(from: &Found<'d>) -> Option<(std::rc::Rc<World<'d>>, Option<usize>, String)> {
    match (&from.within, &from.value) {
        (Some((world, place)), _) => {
            let path = place.map_or_else(String::new, |place| world.path(place));
            let prefix = from.label.strip_suffix(&*path).unwrap_or(&from.label).to_owned();
            Some((world.clone(), *place, prefix))
        }
        (None, Cow::Borrowed(value)) => {
            let world = World::of(value)?;
            Some((std::rc::Rc::new(world), None, from.label.clone()))
        }
        _ => None,
    }
}

fn below<'d>(from: Found<'d>, child: &Child, context: &Context<'d>) -> Vec<Found<'d>> {
    let from = from.inside(context);
    let Some((world, parent, prefix)) = world_of(&from) else { return Vec::new() };
    let places: Vec<usize> = match child {
        Child::All => world.below(parent).collect(),
        Child::Deep => world.all_below(parent),
        Child::Id(id) => world.place(*id).into_iter().collect(),
        Child::Named(name) => {
            world.below(parent).filter(|place| world.objects[*place].name == name).collect()
        }
    };
    places.into_iter().map(|place| from.object(&world, &prefix, place)).collect()
}

fn components<'d>(from: Found<'d>, class: &str, context: &Context<'d>) -> Vec<Found<'d>> {
    let from = from.inside(context);
    let Some((world, place, _)) = world_of(&from) else {
        // As in the path of a field of a component, the class of an object may have a colon after it.
        return Step::Field(class.to_owned()).of_value(from);
    };
    let (field, values) = match place {
        Some(place) => ("components", world.objects[place].components),
        None => ("resources", world.resources),
    };
    let names: BTreeSet<&str> =
        values.iter().filter_map(Value::as_record).map(|it| it.class()).collect();
    let Some(matched) = matching(class, &names) else { return Vec::new() };
    let components = values.iter().enumerate().filter_map(|(at, value)| {
        let name = value.as_record()?.class();
        let mut found = from.at(Hop::Field(field.into()), Cow::Borrowed(value));
        found.hops.push(Hop::Item(at));
        found.label = format!("{}:{}", from.label, component_text(name));
        matched.contains(name).then_some(found)
    });
    components.collect()
}
