//! The objects of a save and the references between them: what `graph` and `report` show.
//!
//! An object is an entry of the save, or an object of a world in it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use persist::reflect::HandleValue;
use persist::{ObjectId, Record, Value};
use persist_tools::{ClassSchema, Entry, FieldSchema, Form, KindSchema};

use crate::components::cycles;
use crate::paged::OBJECTS;
use crate::values::{Hop, part};
use crate::world::{CLASS, parent_of, record_of};

/// The arena of the objects of worlds: handles into it are ids of objects.
pub(crate) const ARENA: &str = "persist.objects";

/// The class of the parents of such objects.
const PARENT: &str = "persist.Parent";

/// Fields whose text serves as the name of an object, the best one first.
pub(crate) const NAMES: [&str; 3] = ["name", "title", "label"];

/// The objects of a save, or some of them.
#[derive(Default)]
pub(crate) struct Objects<'d> {
    pub(crate) objects: Vec<Object<'d>>,
    /// In the order of the objects that hold them.
    pub(crate) references: Vec<Reference>,
    /// Paths of fields in which references lie, without indices: `Hero:bag[]`.
    pub(crate) paths: Vec<String>,
    /// Worlds and their objects, by the addresses of their values.
    places: HashMap<*const Value, usize>,
    entries: HashMap<ObjectId, usize>,
    members: HashMap<(usize, u64), usize>,
    /// Handles into arenas of the program, by their addresses.
    program_handles: HashSet<*const Value>,
}

/// An object: one record, or several if it has components.
pub(crate) struct Object<'d> {
    pub(crate) id: u64,
    /// The world that it is in; `None` for an entry of the save, and for a world.
    pub(crate) world: Option<usize>,
    /// Empty if it has none.
    pub(crate) name: &'d str,
    /// True if the program added it itself, or if it is in a world, which holds it.
    pub(crate) is_held: bool,
    /// The class of the object. With components, it is the class of the component that the fewest objects have, since
    /// most have a position.
    pub(crate) class: &'d str,
    pub(crate) parts: Vec<Part<'d>>,
    /// The places of the children, if it is in a world.
    children: Vec<usize>,
    /// The id of the parent, if it is in a world and has one.
    pub(crate) parent: Option<u64>,
}

/// A record of an object.
pub(crate) struct Part<'d> {
    pub(crate) class: &'d str,
    /// One field without a name for a value that is no struct.
    pub(crate) fields: Vec<(&'d str, &'d Value)>,
}

/// The thing to which a value refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An entry of the save.
    Entry(u64),
    /// An object of the world that is at a place, by its id.
    Member(usize, u64),
    /// The object at a place: a world in a field.
    Place(usize),
}

/// A reference from one object to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The place of its path in [`Objects::paths`].
    pub(crate) path: usize,
    pub(crate) is_weak: bool,
}

impl<'d> Objects<'d> {
    pub(crate) fn of(
        classes: &'d [ClassSchema],
        entries: impl IntoIterator<Item = &'d Entry>,
    ) -> Self {
        let mut this = Self::default();
        for entry in entries {
            this.add_entry(entry);
        }
        this.name_classes();
        this.find_references(&Kinds::of(classes));
        this
    }

    /// Returns the objects of a page after their world, whose references are not looked for.
    pub(crate) fn of_page(world: u64, objects: &'d [Value]) -> Self {
        let mut this = Self::default();
        this.objects.push(Object {
            id: world,
            world: None,
            name: "World",
            is_held: true,
            class: CLASS,
            parts: Vec::new(),
            children: Vec::new(),
            parent: None,
        });
        this.add_members(0, objects);
        this
    }

    fn name_classes(&mut self) {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for part in self.objects.iter().flat_map(|object| &object.parts) {
            *counts.entry(part.class).or_default() += 1;
        }
        for object in self.objects.iter_mut().filter(|object| object.class.is_empty()) {
            // The record of the object itself follows the components.
            let components = &object.parts[..object.parts.len().saturating_sub(1).max(1)];
            let rarest = components.iter().min_by_key(|part| counts[part.class]);
            object.class = rarest.map_or("", |part| part.class);
        }
    }

    /// Adds an entry, whose references are not looked for.
    pub(crate) fn add_entry(&mut self, entry: &'d Entry) {
        let part = Part::of(entry.class(), &entry.value);
        // Unknown fields that a program kept of an object belong to that object.
        if entry.is_kept()
            && let Some(object) = self.entries.get(&entry.id())
        {
            self.objects[*object].parts.push(part);
            return;
        }
        let name = NAMES.iter().find_map(|name| part.text(name)).unwrap_or_default();
        let object = self.objects.len();
        self.entries.insert(entry.id(), object);
        self.objects.push(Object {
            id: entry.id().get(),
            world: None,
            name,
            is_held: entry.is_added(),
            class: entry.class(),
            parts: vec![part],
            children: Vec::new(),
            parent: None,
        });
        self.add_worlds(object, &entry.value);
    }

    /// Adds the worlds in an entry. One that is the whole entry is its object; others are objects of their own.
    fn add_worlds(&mut self, entry: usize, whole: &'d Value) {
        let mut open = vec![whole];
        while let Some(value) = open.pop() {
            let Some((record, objects)) = world(value) else {
                open.extend(inner(value));
                continue;
            };
            let world = if std::ptr::eq(value, whole) {
                self.objects[entry].name = "World";
                entry
            } else {
                self.objects.push(Object {
                    id: self.objects[entry].id,
                    world: None,
                    name: "World",
                    is_held: true,
                    class: record.class(),
                    parts: vec![Part::of(record.class(), value)],
                    children: Vec::new(),
                    parent: None,
                });
                self.objects.len() - 1
            };
            self.places.insert(value, world);
            let own = &mut self.objects[world].parts;
            own[0].fields.retain(|(name, _)| !matches!(*name, OBJECTS | "resources"));
            own.extend(list(record, "resources").iter().map(Part::of_component));
            self.add_members(world, objects);
        }
    }

    fn add_members(&mut self, world: usize, objects: &'d [Value]) {
        let mut children = Vec::new();
        for value in objects {
            let Some(member) = value.as_record() else { continue };
            let id = member.get("id").and_then(Value::as_u64).unwrap_or_default();
            let mut own = Part::of(member.class(), value);
            own.fields.retain(|(name, _)| matches!(*name, "activity" | "waiting"));
            let mut parts: Vec<_> =
                list(member, "components").iter().map(Part::of_component).collect();
            parts.push(own);
            self.members.insert((world, id), self.objects.len());
            self.places.insert(value, self.objects.len());
            let parent = parent_of(value);
            children.extend(parent.map(|(parent, index)| (parent, index, self.objects.len())));
            self.objects.push(Object {
                id,
                world: Some(world),
                name: member.get("name").and_then(Value::as_text).unwrap_or_default(),
                is_held: true,
                class: "",
                parts,
                children: Vec::new(),
                parent: parent.map(|(parent, _)| parent),
            });
        }
        children.sort_unstable();
        for (parent, _, child) in children {
            if let Some(parent) = self.members.get(&(world, parent)) {
                self.objects[*parent].children.push(child);
            }
        }
    }

    fn find_references(&mut self, kinds: &Kinds<'d>) {
        let mut known = HashMap::new();
        let mut found = Vec::new();
        let mut program_handles = HashSet::new();
        for from in 0..self.objects.len() {
            let object = &self.objects[from];
            self.each_reference(from, kinds, &mut |path, value, kind| {
                if is_program_handle(kind) {
                    program_handles.insert(std::ptr::from_ref(value));
                    return;
                }
                let Some(to) = self.target(from, value) else { return };
                let next = known.len();
                let path = *known.entry(path.to_owned()).or_insert(next);
                let is_weak = matches!(
                    kind,
                    Some(
                        KindSchema::Reference { weak: true, .. }
                            | KindSchema::TraitReference { weak: true, .. }
                    )
                );
                found.push(Reference { from, to, path, is_weak });
            });
            for to in object.children.iter().copied() {
                let next = known.len();
                let path = *known.entry("children[]".to_owned()).or_insert(next);
                found.push(Reference { from, to, path, is_weak: false });
            }
        }
        self.references = found;
        self.program_handles = program_handles;
        self.paths = vec![String::new(); known.len()];
        for (path, place) in known {
            self.paths[place] = path;
        }
    }

    /// Calls `visit` with each value of an object that may be a reference, its path without indices, and its kind.
    fn each_reference(
        &self,
        from: usize,
        kinds: &Kinds<'_>,
        visit: &mut impl FnMut(&str, &'d Value, Option<&KindSchema>),
    ) {
        let object = &self.objects[from];
        for part in &object.parts {
            let prefix = if object.parts.len() > 1 { short(part.class) } else { "" };
            for (field, value) in &part.fields {
                let kind = kinds.field(part.class, None, field);
                kinds.walk(prefix, field, (value, kind), visit);
            }
        }
    }

    /// Calls `visit` with each thing that an object refers to, whether it is among these objects or not.
    pub(crate) fn each_target(
        &self,
        from: usize,
        kinds: &Kinds<'_>,
        visit: &mut impl FnMut(Target),
    ) {
        self.each_reference(from, kinds, &mut |_, value, kind| {
            if !is_program_handle(kind)
                && let Some(target) = self.refers_to(from, value)
            {
                visit(target);
            }
        });
    }

    /// Finds out which handles lead into arenas of the program.
    pub(crate) fn find_program_handles(&mut self, kinds: &Kinds<'_>) {
        let mut found = HashSet::new();
        for object in 0..self.objects.len() {
            self.each_reference(object, kinds, &mut |_, value, kind| {
                if is_program_handle(kind) {
                    found.insert(std::ptr::from_ref(value));
                }
            });
        }
        self.program_handles = found;
    }

    /// The object that a value leads to from an object.
    pub(crate) fn target(&self, from: usize, value: &Value) -> Option<usize> {
        match self.refers_to(from, value)? {
            Target::Entry(id) => self.entries.get(&ObjectId::new(id)?).copied(),
            Target::Member(world, id) => self.members.get(&(world, id)).copied(),
            Target::Place(place) => Some(place),
        }
    }

    /// Returns the target of a value of an object, whether it is among these objects or not.
    pub(crate) fn refers_to(&self, from: usize, value: &Value) -> Option<Target> {
        match value {
            Value::Ref(id) => id.as_ref().map(|id| Target::Entry(id.get())),
            Value::Handle(HandleValue::Live(id))
                if !self.program_handles.contains(&std::ptr::from_ref(value)) =>
            {
                let world = self.objects.get(from)?.world.unwrap_or(from);
                Some(Target::Member(world, *id))
            }
            // The parent of an object of a world, with its index.
            Value::Struct(record) if record.class() == PARENT => {
                let world = self.objects.get(from)?.world?;
                Some(Target::Member(world, record.get("object")?.as_u64()?))
            }
            value => world(value).and_then(|_| self.place(value)).map(Target::Place),
        }
    }

    /// The object that a value in an entry is or refers to, or else the one that it is in.
    pub(crate) fn at(&self, entry: &Entry, hops: &[Hop]) -> Option<usize> {
        let (mut object, mut value) = (self.entries.get(&entry.id()).copied()?, &entry.value);
        for hop in hops {
            let Some(next) = part(value, std::slice::from_ref(hop)) else { break };
            object = self.place(next).unwrap_or(object);
            value = next;
        }
        while let Value::Option(Some(inner)) = value {
            value = inner;
        }
        self.target(object, value).or(Some(object))
    }

    /// The object that a value is.
    pub(crate) fn place(&self, value: &Value) -> Option<usize> {
        self.places.get(&std::ptr::from_ref(value)).copied()
    }

    /// Returns the path that leads to an object.
    pub(crate) fn path(&self, object: usize) -> String {
        let Object { id, world, .. } = self.objects[object];
        if world.is_some() { format!("World/#{id}") } else { format!("#{id}") }
    }

    /// The ranges of [`references`](Self::references) that objects hold.
    pub(crate) fn outgoing(&self) -> Vec<Range<usize>> {
        let mut ranges = Vec::with_capacity(self.objects.len());
        let mut start = 0;
        for object in 0..self.objects.len() {
            let held = self.references[start..].iter().take_while(|it| it.from == object).count();
            ranges.push(start..start + held);
            start += held;
        }
        ranges
    }

    /// The objects that no other one refers to.
    pub(crate) fn unreferenced(&self) -> Vec<usize> {
        let mut is_seen = vec![false; self.objects.len()];
        for reference in self.references.iter().filter(|it| it.from != it.to) {
            is_seen[reference.to] = true;
        }
        (0..self.objects.len()).filter(|object| !is_seen[*object]).collect()
    }

    /// Strongly connected components of more than one object, or of one that refers to itself; the largest first.
    pub(crate) fn cycles(&self) -> Vec<Vec<usize>> {
        let targets: Vec<usize> = self.references.iter().map(|reference| reference.to).collect();
        cycles(&self.outgoing(), &targets)
    }
}

impl<'d> Part<'d> {
    fn of(class: &'d str, value: &'d Value) -> Self {
        let fields = match value {
            Value::Struct(record) => record.fields().collect(),
            value => vec![("", value)],
        };
        Self { class, fields }
    }

    fn of_component(value: &'d Value) -> Self {
        let class = value.as_record().map_or("", Record::class);
        Self::of(class, value)
    }

    fn text(&self, name: &str) -> Option<&'d str> {
        let (_, value) = self.fields.iter().find(|(field, _)| *field == name)?;
        value.as_text().filter(|text| !text.is_empty())
    }
}

/// The kinds of the fields of a save, by class, variant and name.
pub(crate) struct Kinds<'d> {
    fields: HashMap<(&'d str, Option<&'d str>, &'d str), &'d KindSchema>,
}

impl<'d> Kinds<'d> {
    pub(crate) fn of(classes: &'d [ClassSchema]) -> Self {
        let mut kinds = Self { fields: HashMap::new() };
        for class in classes {
            let name = &*class.name;
            match &class.form {
                Form::Struct(fields) => kinds.add(name, None, fields),
                Form::Enum(variants) => {
                    for variant in variants {
                        kinds.add(name, Some(&variant.name), &variant.fields);
                    }
                }
                Form::Value(kind) => drop(kinds.fields.insert((name, None, ""), kind)),
            }
        }
        kinds
    }

    fn add(&mut self, class: &'d str, variant: Option<&'d str>, fields: &'d [FieldSchema]) {
        self.fields
            .extend(fields.iter().map(|field| ((class, variant, &*field.name), &field.kind)));
    }

    fn field(&self, class: &str, variant: Option<&str>, name: &str) -> Option<&'d KindSchema> {
        self.fields.get(&(class, variant, name)).copied()
    }

    /// Calls `visit` with each reference in a field, its path without indices, and its kind. The walk uses a list as
    /// its stack.
    fn walk<'v>(
        &self,
        class: &str,
        field: &str,
        (value, kind): (&'v Value, Option<&'d KindSchema>),
        visit: &mut impl FnMut(&str, &'v Value, Option<&KindSchema>),
    ) {
        let mut path = String::from(class);
        if !class.is_empty() {
            path.push(':');
        }
        path.push_str(field);
        let mut open = vec![(value, kind, path.len(), "")];
        while let Some((value, kind, length, step)) = open.pop() {
            path.truncate(length);
            path.push_str(step);
            let length = path.len();
            match value {
                Value::Ref(_) | Value::Handle(_) => visit(&path, value, kind),
                Value::Struct(_) if world(value).is_some() => visit(&path, value, kind),
                Value::Struct(record) | Value::Enum(record) => {
                    // The dot is part of the path up to here; names follow it.
                    path.push('.');
                    let fields: Vec<_> = record.fields().collect();
                    open.extend(fields.into_iter().rev().map(|(name, value)| {
                        let kind = self.field(record.class(), record.variant(), name);
                        (value, kind, length + 1, name)
                    }));
                }
                Value::Option(Some(inner)) => {
                    let kind = match kind {
                        Some(KindSchema::Option(kind)) => Some(&**kind),
                        _ => None,
                    };
                    open.push((inner, kind, length, ""));
                }
                Value::Seq(values) => {
                    let kind = match kind {
                        Some(
                            KindSchema::List(kind)
                            | KindSchema::Set(kind)
                            | KindSchema::Array(kind, _),
                        ) => Some(&**kind),
                        _ => None,
                    };
                    open.extend(values.iter().rev().map(|value| (value, kind, length, "[]")));
                }
                Value::Tuple(values) => {
                    let kinds = match kind {
                        Some(KindSchema::Tuple(kinds)) => &**kinds,
                        _ => &[],
                    };
                    let parts = values.iter().enumerate().rev();
                    open.extend(parts.map(|(at, value)| (value, kinds.get(at), length, "[]")));
                }
                Value::Map(entries) => {
                    let (key_kind, value_kind) = match kind {
                        Some(KindSchema::Map(kinds)) => (Some(&kinds[0]), Some(&kinds[1])),
                        _ => (None, None),
                    };
                    for (key, value) in entries.iter().rev() {
                        open.push((value, value_kind, length, "[]"));
                        open.push((key, key_kind, length, "[]"));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns whether handles of a kind lead into an arena of the program.
fn is_program_handle(kind: Option<&KindSchema>) -> bool {
    matches!(kind, Some(KindSchema::Handle(arena)) if **arena != *ARENA)
}

/// The record of a world, and its objects.
fn world(value: &Value) -> Option<(&Record, &[Value])> {
    let record = record_of(value)?;
    Some((record, record.get(OBJECTS)?.as_seq()?))
}

fn list<'d>(record: &'d Record, field: &str) -> &'d [Value] {
    record.get(field).and_then(Value::as_seq).unwrap_or_default()
}

/// The values right inside of a value, the last one first.
fn inner(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Option(Some(value)) => Box::new(std::iter::once(&**value)),
        Value::Seq(values) | Value::Tuple(values) => Box::new(values.iter().rev()),
        Value::Map(entries) => Box::new(entries.iter().rev().map(|(_, value)| value)),
        Value::Struct(record) | Value::Enum(record) => {
            let values: Vec<_> = record.fields().map(|(_, value)| value).collect();
            Box::new(values.into_iter().rev())
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// The name of a class without its modules.
pub(crate) fn short(class: &str) -> &str {
    let end = class.find(['<', '(', '[', ' ']).unwrap_or(class.len());
    let start = class[..end].rfind(['.', ':']).map_or(0, |at| at + 1);
    &class[start..]
}
