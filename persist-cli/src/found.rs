//! The values of a save that a path leads to.

use std::borrow::Cow;
use std::rc::Rc;

use persist::__private::read_name;
use persist::debug::label::{object_path, push_hop};
use persist::debug::print::worlds_in;
use persist::reflect::Holder;
use persist::{Record, Value};
use persist_tools::__private::Position;
use persist_tools::{ClassSchema, Entry, Form, KindSchema};

use crate::condition::{Condition, index};
use crate::exit::{Failure, Result};
use crate::input::Save;
use crate::paged::{self, OBJECTS, PAGES, PagedWorld};
use crate::path::{Child, Path, Start, Step, beginning, child_text, component_text};
use crate::pattern::{is_match, nearest};
use crate::values::{Hop, innermost, is_same_key, part, parts, words};
use crate::world::{self, Object, World};

/// The most values that a path may lead to, if the save has no more bytes.
const MAX_FOUND: u64 = 4 << 20;

/// The most fields that a message names.
const MAX_NAMED: usize = 20;

/// References to references that are followed in one step. No program nests them so, but a hostile save has cycles.
const MAX_REFERENCES: usize = 64;

/// A value that a path leads to.
#[derive(Clone)]
pub(crate) struct Found<'v> {
    /// The object that it is in.
    pub(crate) object: &'v Entry,
    /// The position of that object in the save.
    pub(crate) position: Position,
    pub(crate) hops: Vec<Hop>,
    /// A path that leads to it alone.
    pub(crate) label: String,
    pub(crate) value: Cow<'v, Value>,
    /// The world that the value is, or is an object of, with the place of the object; `None` for the world itself.
    within: Option<(Rc<World<'v>>, Option<usize>)>,
    /// The world whose objects lie in pages that the value is, or is a part of.
    paged: Option<(Rc<PagedWorld>, PagedPart)>,
}

/// A part of a world whose objects lie in pages.
#[derive(Clone, Copy)]
enum PagedPart {
    World,
    /// The list of its objects.
    Objects,
    /// The object at a place.
    Object(usize),
}

/// Whether to visit the next value.
pub(crate) type Visit<'f> = dyn FnMut(Found<'_>) -> Result<bool> + 'f;

/// Like [`Visit`], with the save.
pub(crate) type VisitOf<'f> = dyn FnMut(Found<'_>, &mut Save<'_>) -> Result<bool> + 'f;

impl Path {
    /// Says that nothing is at the path, and which fields are there if a field is missing.
    pub(crate) fn missing(&self, text: &str, save: &mut Save<'_>) -> String {
        let nothing = format!("nothing is at {}", beginning(text));
        for steps in (0..self.steps.len()).rev() {
            let parent = Self { start: self.start.clone(), steps: self.steps[..steps].to_vec() };
            let mut named = None;
            // An error is that of the path itself, which was returned.
            let _ = parent.each_head(save, &|_| false, &mut |first, _| {
                if let (Step::Key(key), Value::Map(entries)) =
                    (&self.steps[steps], innermost(&first.value))
                {
                    let known: Vec<String> =
                        entries.iter().filter_map(|(key, _)| words(key)).collect();
                    let near =
                        words(key).and_then(|key| nearest(&key, known.iter().map(String::as_str)));
                    named = Some(near.map(|near| format!("{nothing}; did you mean `{near}`?")));
                    return Ok(false);
                }
                let record = first.value.as_record().filter(|record| !record.is_empty());
                let fields = record.filter(|record| match &self.steps[steps] {
                    Step::Field(_) => true,
                    Step::Where(condition) => condition.lacks_field(record),
                    _ => false,
                });
                named = Some(fields.map(|record| {
                    let fields = record.fields().map(|(name, _)| name).take(MAX_NAMED);
                    let fields = fields.collect::<Vec<_>>().join(", ");
                    let rest = if record.len() > MAX_NAMED { ", .." } else { "" };
                    let label = if first.label.is_empty() { "." } else { &first.label };
                    format!("{nothing}; {label} has the fields {fields}{rest}")
                }));
                Ok(false)
            });
            match named {
                Some(Some(named)) => return named,
                Some(None) => {
                    return match self.near_object(steps, save) {
                        Some(near) => format!("{nothing}; did you mean `{near}`?"),
                        None => nothing,
                    };
                }
                None => {}
            }
        }
        nothing
    }

    /// Returns the name of an object of a world that is most like the one that a step names.
    fn near_object(&self, at: usize, save: &mut Save<'_>) -> Option<String> {
        let Step::Below(Child::Named(name)) = &self.steps[at] else { return None };
        let mut steps = self.steps[..at].to_vec();
        steps.push(Step::Below(Child::All));
        let (name, mut near) = (read_name(name).0, None::<(String, String)>);
        let siblings = Self { start: self.start.clone(), steps };
        // An error is that of the path itself, which was returned.
        let _ = siblings.each_head(save, &|_| false, &mut |found, _| {
            if let Some(object) = Object::of(&found.value) {
                let known = read_name(object.name).0;
                let so_far = near.as_ref().map(|(near, _)| &**near);
                if nearest(&name, so_far.into_iter().chain([&*known])) == Some(&*known) {
                    near = Some((known.into_owned(), child_text(object.name)));
                }
            }
            Ok(true)
        });
        near.map(|(_, text)| text)
    }

    /// Calls `visit` with each value that the path leads to, in the order of the save, as long as it returns true.
    pub(crate) fn each(&self, save: &mut Save<'_>, visit: &mut Visit<'_>) -> Result<()> {
        let mut whole = |found: Found<'_>, save: &mut Save<'_>| match found.has_pages(save) {
            true => found.with_objects(save, &mut |whole, _| visit(whole)),
            false => visit(found),
        };
        self.each_head(save, &|_| false, &mut whole)
    }

    /// Calls `visit` like [`each`](Self::each), but does not begin at objects that are to be skipped, and leaves the
    /// objects of worlds in their pages.
    pub(crate) fn each_head(
        &self,
        save: &mut Save<'_>,
        is_skipped: &dyn Fn(Position) -> bool,
        visit: &mut VisitOf<'_>,
    ) -> Result<()> {
        let start = &self.start;
        let is_of = |name: &str| match start {
            Start::Classes(classes, _) => classes.contains(name),
            _ => true,
        };
        let of_class: Vec<bool> = save.classes().iter().map(|class| is_of(&class.name)).collect();
        let of_class = match start {
            Start::Worlds => {
                let is_world = |class: &ClassSchema| class.name == world::CLASS;
                let worlds: Vec<bool> = save.classes().iter().map(is_world).collect();
                if worlds.contains(&true) { holders(save.classes(), worlds) } else { worlds }
            }
            _ => of_class,
        };
        let records = of_class.iter().zip(save.by_class()).filter(|(is_it, _)| **is_it);
        let records = records.map(|(_, count)| count.records).sum::<u64>();
        let some = match start {
            Start::Classes(_, Some(some)) => some.range(usize::try_from(records).unwrap_or(0)),
            _ => 0..usize::MAX,
        };
        let mut walk = PathWalk::new(&self.steps, visit);
        let mut number = 0;
        save.rewind();
        while let Some(record) = save.next_record()? {
            let (location, position) = (record.location, record.position);
            let is_start = match start {
                Start::Root => location.added && location.holder == Holder::VALUE,
                Start::Object(id) => location.id == id.get(),
                Start::Classes(..) | Start::Worlds => of_class[location.class as usize],
            };
            if !is_start || is_skipped(position) {
                continue;
            }
            number += 1;
            if number <= some.start {
                continue;
            }
            if number > some.end {
                break;
            }
            let Some(entry) = save.head_entry()? else { break };
            let found = Found::whole(&entry, position);
            let continues = match start {
                Start::Worlds => walk.all(worlds(found), 0, save)?,
                _ => walk.one(found, 0, save)?,
            };
            if !continues {
                break;
            }
        }
        Ok(())
    }
}

/// Calls `visit` with each object of a save, as long as it returns true.
pub(crate) fn each_object(save: &mut Save<'_>, visit: &mut Visit<'_>) -> Result<()> {
    save.rewind();
    while let Some(position) = save.next_record()?.map(|record| record.position) {
        let Some(entry) = save.entry()? else { break };
        if !visit(Found::whole(&entry, position))? {
            break;
        }
    }
    Ok(())
}

/// Calls `visit` with each world in a save, but for the objects that are to be skipped. The objects of worlds stay in
/// their pages, and those of classes that can hold no world are not read.
pub(crate) fn each_world(
    save: &mut Save<'_>,
    is_skipped: &dyn Fn(Position) -> bool,
    visit: &mut VisitOf<'_>,
) -> Result<()> {
    Path { start: Start::Worlds, steps: Vec::new() }.each_head(save, is_skipped, visit)
}

/// Says of each class whether it is one of some classes, or a value of one may be in its values.
pub(crate) fn holders(classes: &[ClassSchema], mut holders: Vec<bool>) -> Vec<bool> {
    let kinds = |class: &ClassSchema, is: &mut dyn FnMut(&KindSchema) -> bool| match &class.form {
        Form::Struct(fields) => fields.iter().any(|field| is(&field.kind)),
        Form::Enum(variants) => {
            variants.iter().flat_map(|variant| &variant.fields).any(|field| is(&field.kind))
        }
        Form::Value(kind) => is(kind),
    };
    // As often as classes lie in each other, which few do.
    loop {
        let mut has_changed = false;
        for (place, class) in classes.iter().enumerate() {
            if !holders[place] && kinds(class, &mut |kind| may_hold(kind, &holders)) {
                (holders[place], has_changed) = (true, true);
            }
        }
        if !has_changed {
            return holders;
        }
    }
}

/// True if a value of a kind may hold one of these classes. Kinds nest 64 levels at most.
fn may_hold(kind: &KindSchema, classes: &[bool]) -> bool {
    match kind {
        KindSchema::Class(class) => classes.get(*class).is_some_and(|is_holder| *is_holder),
        KindSchema::Option(part) | KindSchema::List(part) | KindSchema::Set(part) => {
            may_hold(part, classes)
        }
        KindSchema::Array(part, _) => may_hold(part, classes),
        KindSchema::Map(parts) => parts.iter().any(|part| may_hold(part, classes)),
        KindSchema::Tuple(parts) => parts.iter().any(|part| may_hold(part, classes)),
        KindSchema::Dynamic(_) | KindSchema::Unknown => true,
        _ => false,
    }
}

/// A walk along the steps of a path.
struct PathWalk<'p, 'f> {
    steps: &'p [Step],
    /// The number of values that each step led to.
    counts: Vec<usize>,
    visit: &'p mut VisitOf<'f>,
}

impl<'p, 'f> PathWalk<'p, 'f> {
    fn new(steps: &'p [Step], visit: &'p mut VisitOf<'f>) -> Self {
        Self { steps, counts: vec![0; steps.len() + 1], visit }
    }

    /// Takes the steps from `level` on from these values. Returns false if no more are to be visited.
    fn all(&mut self, found: Vec<Found<'_>>, level: usize, save: &mut Save<'_>) -> Result<bool> {
        for found in found {
            if !self.one(found, level, save)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn one(&mut self, found: Found<'_>, level: usize, save: &mut Save<'_>) -> Result<bool> {
        self.counts[level] += 1;
        // References in cycles can be followed as often as there are steps. Without them, a step leads to no more
        // values than the save has bytes.
        if level > 0 && self.counts[level] as u64 > MAX_FOUND.max(save.counts().content) {
            return Err(Failure::new(format!(
                "the path leads to more than {} values, some of them several times; say which",
                MAX_FOUND.max(save.counts().content)
            )));
        }
        match self.steps.get(level) {
            Some(_) => self.step(found, level, MAX_REFERENCES, save),
            None => (self.visit)(found, save),
        }
    }

    /// Takes a step from a value, or from what it refers to.
    fn step(
        &mut self,
        found: Found<'_>,
        level: usize,
        references: usize,
        save: &mut Save<'_>,
    ) -> Result<bool> {
        let found = found.inside_options();
        if let Value::Ref(Some(id)) = *found.value
            && references > 0
            && let Some(position) = save.position(id)?
            && let Some(entry) = save.head_entry_at(position)?
        {
            return self.step(Found::whole(&entry, position), level, references - 1, save);
        }
        let Some((world, part)) = found.paged(save) else {
            return match &self.steps[level] {
                Step::Where(condition) => self.filter(condition, found, level, save),
                step => self.all(step.take(found), level + 1, save),
            };
        };
        let places = match (&self.steps[level], part) {
            (Step::Below(_), _) if world.tree(save)?.is_none() => {
                let mut read = |whole: Found<'_>, save: &mut Save<'_>| {
                    self.all(self.steps[level].take(whole), level + 1, save)
                };
                return found.with_objects(save, &mut read);
            }
            (Step::Below(child), PagedPart::World) => world.below(None, child, save)?,
            (Step::Below(child), PagedPart::Object(place)) => {
                world.below(Some(place), child, save)?
            }
            (Step::Key(key), PagedPart::Objects) => index(key, world.len()).into_iter().collect(),
            (Step::Slice(slice), PagedPart::Objects) => slice.range(world.len()).collect(),
            (Step::All | Step::Where(_), PagedPart::Objects) => (0..world.len()).collect(),
            (Step::Where(condition), _) => return self.filter(condition, found, level, save),
            (step, PagedPart::World) => {
                let mut found_parts = step.take(found);
                for part in &mut found_parts {
                    part.leave_pages(&world);
                }
                return self.all(found_parts, level + 1, save);
            }
            (step, _) => return self.all(step.take(found), level + 1, save),
        };
        let prefix = found.prefix(&world, save)?;
        for place in places {
            let Some((page, at)) = world.page(place, save)? else { continue };
            let object = found.paged_object(&page[at], (&world, place), prefix.as_deref(), save)?;
            if let Step::Where(condition) = &self.steps[level]
                && !condition.holds_for(&object, save)?
            {
                continue;
            }
            if !self.one(object, level + 1, save)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Continues with the elements of a list or map for which a condition holds, or with any other value itself.
    fn filter(
        &mut self,
        condition: &Condition,
        found: Found<'_>,
        level: usize,
        save: &mut Save<'_>,
    ) -> Result<bool> {
        let is_list = matches!(&*found.value, Value::Seq(_) | Value::Tuple(_) | Value::Map(_));
        let tested = if is_list { Step::All.take(found) } else { vec![found] };
        for found in tested {
            if condition.holds_for(&found, save)? && !self.one(found, level + 1, save)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Condition {
    /// Returns whether a comparison begins at a field that a record does not have.
    fn lacks_field(&self, record: &Record) -> bool {
        self.any.iter().flatten().any(|comparison| {
            matches!(comparison.left.first(), Some(Step::Field(name)) if record.get(name).is_none())
        })
    }

    /// Returns whether it holds for a value: each comparison for one value that its path leads to.
    fn holds_for(&self, found: &Found<'_>, save: &mut Save<'_>) -> Result<bool> {
        for all in &self.any {
            let mut holds = true;
            for comparison in all {
                let mut is_true = false;
                let mut visit = |left: Found<'_>, _: &mut Save<'_>| {
                    is_true = comparison.holds_for(&left.value);
                    Ok(!is_true)
                };
                PathWalk::new(&comparison.left, &mut visit).one(found.clone(), 0, save)?;
                holds &= is_true;
                if !holds {
                    break;
                }
            }
            if holds {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The worlds in a value.
pub(crate) fn worlds(from: Found<'_>) -> Vec<Found<'_>> {
    match &worlds_in(&from.value)[..] {
        [] => Vec::new(),
        [hops] if hops.is_empty() => vec![from],
        all => all.iter().filter_map(|hops| from.inside(hops)).collect(),
    }
}

impl<'d> Found<'d> {
    /// A whole object.
    pub(crate) fn whole(object: &'d Entry, position: Position) -> Self {
        let label = object_path(object);
        let value = Cow::Borrowed(&object.value);
        Self { object, position, hops: Vec::new(), label, value, within: None, paged: None }
    }

    /// Returns whether it is an object of a world.
    pub(crate) fn is_world_object(&self) -> bool {
        matches!(self.paged, Some((_, PagedPart::Object(_))))
            || matches!(self.within, Some((_, Some(_))))
    }

    /// Calls `visit` with each value that some steps lead to from this one, as long as it returns true. Returns false
    /// if it did not.
    pub(crate) fn each_after(
        &self,
        steps: &[Step],
        save: &mut Save<'_>,
        visit: &mut VisitOf<'_>,
    ) -> Result<bool> {
        PathWalk::new(steps, visit).one(self.clone(), 0, save)
    }

    /// The part at the end of some hops; `None` if they lead nowhere.
    pub(crate) fn inside(&self, hops: &[Hop]) -> Option<Self> {
        hops.iter().try_fold(self.clone(), |found, hop| {
            let Cow::Borrowed(value) = found.value else { return None };
            Some(found.at(hop.clone(), Cow::Borrowed(part(value, std::slice::from_ref(hop))?)))
        })
    }

    /// Returns the world in pages that it is, or is a part of.
    fn paged(&self, save: &Save<'_>) -> Option<(Rc<PagedWorld>, PagedPart)> {
        let id = self.object.id();
        if self.paged.is_some() || self.object.is_kept() || !save.has_pages(id) {
            return self.paged.clone();
        }
        let world = PagedWorld::of(&self.value, id, save)?;
        Some((Rc::new(world), PagedPart::World))
    }

    /// Returns true if objects that belong to it lie in pages.
    fn has_pages(&self, save: &Save<'_>) -> bool {
        !self.object.is_kept()
            && save.has_pages(self.object.id())
            && (matches!(self.paged, Some((_, PagedPart::Objects)))
                || paged::has_pages(&self.value, save))
    }

    /// Passes the value with all its objects to `visit`.
    fn with_objects(
        &self,
        save: &mut Save<'_>,
        visit: &mut dyn FnMut(Found<'_>, &mut Save<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let Some(object) = save.entry_at(self.position)? else { return Ok(true) };
        let Some(value) = part(&object.value, &self.hops) else { return Ok(true) };
        let (position, hops, label) = (self.position, self.hops.clone(), self.label.clone());
        let value = Cow::Borrowed(value);
        visit(
            Found { object: &object, position, hops, label, value, within: None, paged: None },
            save,
        )
    }

    /// Notes that this part of a world is the list of its objects, or its index, which is empty for those who read all.
    fn leave_pages(&mut self, world: &Rc<PagedWorld>) {
        match self.hops.last() {
            Some(Hop::Field(name)) if **name == *OBJECTS => {
                self.paged = Some((world.clone(), PagedPart::Objects));
            }
            Some(Hop::Field(name)) if **name == *PAGES => {
                self.value = Cow::Owned(Value::Seq(Vec::new()));
            }
            _ => {}
        }
    }

    /// Returns the label of the world, with which the path of an object begins; `None` for elements of its list.
    fn prefix(&self, world: &PagedWorld, save: &mut Save<'_>) -> Result<Option<String>> {
        Ok(match self.paged {
            None | Some((_, PagedPart::World)) => Some(self.label.clone()),
            Some((_, PagedPart::Objects)) => None,
            Some((_, PagedPart::Object(place))) => {
                let path = world.tree(save)?.map(|tree| world.path(tree, place));
                let path = path.unwrap_or_default();
                Some(self.label.strip_suffix(&*path).unwrap_or(&self.label).to_owned())
            }
        })
    }

    /// The object of a world in pages at a place: a child, or an element of the list of objects.
    fn paged_object<'p>(
        &'p self,
        value: &'p Value,
        (world, place): (&Rc<PagedWorld>, usize),
        prefix: Option<&str>,
        save: &mut Save<'_>,
    ) -> Result<Found<'p>> {
        let list = Found { value: Cow::Owned(Value::Unit), ..self.clone() };
        let Some(prefix) = prefix else {
            return Ok(list.at(Hop::Item(place), Cow::Borrowed(value)));
        };
        let mut hops = self.hops.clone();
        // Removes the two hops that lead from the world to an object.
        if let Some((_, PagedPart::Object(_))) = self.paged {
            hops.truncate(hops.len().saturating_sub(2));
        }
        hops.extend([Hop::Field(OBJECTS.into()), Hop::Item(place)]);
        let path = world.tree(save)?.map(|tree| world.path(tree, place)).unwrap_or_default();
        let paged = Some((world.clone(), PagedPart::Object(place)));
        let (object, position) = (self.object, self.position);
        let (label, value) = (format!("{prefix}{path}"), Cow::Borrowed(value));
        Ok(Found { object, position, hops, label, value, within: None, paged })
    }

    /// A part of it.
    fn at(&self, hop: Hop, value: Cow<'d, Value>) -> Self {
        let mut label = self.label.clone();
        push_hop(&mut label, &self.value, &hop);
        let mut hops = self.hops.clone();
        hops.push(hop);
        let (object, position) = (self.object, self.position);
        Self { object, position, hops, label, value, within: None, paged: None }
    }

    /// Follows options to their values.
    fn inside_options(mut self) -> Self {
        while let Cow::Borrowed(Value::Option(Some(inner))) = &self.value {
            self = self.at(Hop::Some, Cow::Borrowed(inner));
        }
        self
    }

    /// The object that a world has at a place.
    fn object(&self, world: &Rc<World<'d>>, prefix: &str, place: usize) -> Self {
        let mut whole = self.hops.clone();
        // Removes the two hops that lead from the world to an object.
        if self.within.as_ref().is_some_and(|(_, place)| place.is_some()) {
            whole.truncate(whole.len().saturating_sub(2));
        }
        whole.extend([Hop::Field("objects".into()), Hop::Item(place)]);
        let label = format!("{prefix}{}", world.path(place));
        let within = Some((world.clone(), Some(place)));
        let value = Cow::Borrowed(world.objects[place].value);
        let (object, position) = (self.object, self.position);
        Self { object, position, hops: whole, label, value, within, paged: None }
    }
}

impl Step {
    /// Takes the step from a value that is no option with another value in it.
    fn take<'d>(&self, from: Found<'d>) -> Vec<Found<'d>> {
        match self {
            Self::Below(child) => below(&from, child),
            Self::Component(class) => components(from, class),
            _ => self.of_value(from),
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
                let found = match value {
                    Value::Map(entries) => {
                        let entry = entries.iter().position(|(known, _)| is_same_key(known, key));
                        entry.map(|entry| at(Hop::Entry(entry), &entries[entry].1))
                    }
                    Value::Seq(values) | Value::Tuple(values) => {
                        index(key, values.len()).map(|item| at(Hop::Item(item), &values[item]))
                    }
                    Value::Bytes(bytes) => index(key, bytes.len()).and_then(|item| from.byte(item)),
                    _ => None,
                };
                found.into_iter().collect()
            }
            Self::Slice(slice) => match value {
                Value::Seq(values) | Value::Tuple(values) => {
                    let items = slice.range(values.len());
                    items.map(|item| at(Hop::Item(item), &values[item])).collect()
                }
                Value::Bytes(bytes) => {
                    slice.range(bytes.len()).filter_map(|byte| from.byte(byte)).collect()
                }
                _ => Vec::new(),
            },
            Self::Variant(name) => {
                let is_it = value.as_record().is_some_and(|it| it.variant() == Some(name.as_str()));
                if is_it { vec![from] } else { Vec::new() }
            }
            Self::Below(_) | Self::Component(_) | Self::Where(_) => Vec::new(),
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
fn world_of<'d>(from: &Found<'d>) -> Option<(Rc<World<'d>>, Option<usize>, String)> {
    match (&from.within, &from.value) {
        (Some((world, place)), _) => {
            let path = place.map_or_else(String::new, |place| world.path(place));
            let prefix = from.label.strip_suffix(&*path).unwrap_or(&from.label).to_owned();
            Some((world.clone(), *place, prefix))
        }
        (None, Cow::Borrowed(value)) => {
            let world = World::of(value)?;
            Some((Rc::new(world), None, from.label.clone()))
        }
        _ => None,
    }
}

fn below<'d>(from: &Found<'d>, child: &Child) -> Vec<Found<'d>> {
    let Some((world, parent, prefix)) = world_of(from) else { return Vec::new() };
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

fn components<'d>(from: Found<'d>, class: &str) -> Vec<Found<'d>> {
    let object = match (&from.paged, &from.value) {
        (Some((_, PagedPart::Object(_))), Cow::Borrowed(value)) => Object::of(value),
        _ => None,
    };
    let (field, values) = match (object, world_of(&from)) {
        (Some(object), _) => ("components", object.components),
        (None, Some((world, Some(place), _))) => ("components", world.objects[place].components),
        (None, Some((world, None, _))) => ("resources", world.resources),
        // As in the path of a field of a component, the class of an object may have a colon after it.
        (None, None) => return Step::Field(class.to_owned()).of_value(from),
    };
    let names = || values.iter().filter_map(Value::as_record).map(Record::class);
    let is_exact = names().any(|name| name == class);
    let components = values.iter().enumerate().filter_map(|(at, value)| {
        let name = value.as_record()?.class();
        if !is_match(class, name, is_exact) {
            return None;
        }
        let mut hops = Vec::with_capacity(from.hops.len() + 2);
        hops.extend_from_slice(&from.hops);
        hops.extend([Hop::Field(field.into()), Hop::Item(at)]);
        let label = format!("{}:{}", from.label, component_text(name));
        let (object, position, value) = (from.object, from.position, Cow::Borrowed(value));
        Some(Found { object, position, hops, label, value, within: None, paged: None })
    });
    components.collect()
}
