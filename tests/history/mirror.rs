//! Copies of a target that follow the reports of its history alone. A part that a report names may be read; nothing
//! else of the target is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use persist::codec::Reflect;
use persist::history::{Changed, ChangedField, ElementEdit};
use persist::world::Activity;
use persist::{FieldPath, History, ObjectId, Persist, Value, World};

/// A copy of a world.
#[derive(Debug, Default, PartialEq)]
struct Copied {
    objects: BTreeMap<ObjectId, CopiedObject>,
    resources: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq)]
struct CopiedObject {
    name: Option<String>,
    parent: Option<ObjectId>,
    children: Vec<ObjectId>,
    activity: Option<Activity>,
    components: BTreeMap<String, Value>,
}

fn value_of(world: &World, object: Option<ObjectId>, class: &str) -> Value {
    let value = world.get_field(object, FieldPath::new(class.to_owned()));
    in_parts(value.unwrap_or(Value::Unit))
}

/// A value whose bytes are elements like others, and whose maps are in the order of the texts of their keys.
fn in_parts(mut value: Value) -> Value {
    value.each_mut(&mut |part| match part {
        Value::Bytes(bytes) => {
            *part = Value::Seq(bytes.iter().copied().map(Value::U8).collect());
        }
        Value::Map(entries) => entries.sort_by_key(|(key, _)| key.to_string()),
        _ => {}
    });
    value
}

fn values_of(world: &World, object: Option<ObjectId>) -> BTreeMap<String, Value> {
    let classes = world.classes(object).into_iter();
    classes.map(|class| (class.clone(), value_of(world, object, &class))).collect()
}

impl CopiedObject {
    fn of(world: &World, object: ObjectId) -> Self {
        Self {
            name: world.name(object).map(str::to_owned),
            parent: world.parent(object),
            children: world.children(object).to_vec(),
            activity: world.activity(object),
            components: values_of(world, Some(object)),
        }
    }
}

impl Copied {
    fn of(world: &World) -> Self {
        let objects = world.objects().map(|object| (object, CopiedObject::of(world, object)));
        Self { objects: objects.collect(), resources: values_of(world, None) }
    }

    fn owner(&mut self, object: Option<ObjectId>) -> &mut BTreeMap<String, Value> {
        match object {
            None => &mut self.resources,
            Some(object) => &mut self.known(object).components,
        }
    }

    fn known(&mut self, object: ObjectId) -> &mut CopiedObject {
        self.objects.get_mut(&object).expect("a reported object is known")
    }

    /// Follows one report, and notes the parents whose children may have changed.
    fn follow(
        &mut self,
        world: &World,
        changed: &Changed<'_>,
        parents: &mut BTreeSet<Option<ObjectId>>,
    ) {
        match changed {
            Changed::All => *self = Self::of(world),
            Changed::Object(object) if world.contains(*object) => {
                let old = self.objects.insert(*object, CopiedObject::of(world, *object));
                parents.extend([old.and_then(|old| old.parent), world.parent(*object)]);
            }
            Changed::Object(object) => {
                parents.extend(self.objects.remove(object).map(|old| old.parent));
            }
            Changed::Spawned(object) => {
                let old = self.objects.insert(*object, CopiedObject::of(world, *object));
                assert!(old.is_none(), "{object} was there");
                parents.insert(world.parent(*object));
            }
            Changed::Removed(object) => {
                let old = self.objects.remove(object).expect("what is removed was there");
                parents.insert(old.parent);
            }
            Changed::Renamed(object) => {
                self.known(*object).name = world.name(*object).map(str::to_owned);
            }
            Changed::Moved(object) => {
                let known = self.known(*object);
                parents.extend([known.parent, world.parent(*object)]);
                known.parent = world.parent(*object);
            }
            Changed::Activity(object) => self.known(*object).activity = world.activity(*object),
            Changed::Attached { object, class } => {
                let value = value_of(world, *object, class);
                self.owner(*object).insert((*class).to_owned(), value);
            }
            Changed::Detached { object, class } => {
                self.owner(*object).remove(*class);
            }
            Changed::Field(field) => {
                let class = field.path().class();
                let value = self.owner(field.object()).get_mut(class);
                change(value.expect("the class of a reported field is known"), field);
            }
            other => panic!("{other:?} is no report of a world"),
        }
    }
}

/// Changes a value as a report says, and checks what it says of the old one.
pub(crate) fn change(whole: &mut Value, field: &ChangedField<'_>) {
    let text = field.path().to_string();
    let steps = text.split_once(':').map_or("", |(_, steps)| steps);
    let (old, new) = (field.old_value().map(in_parts), field.new_value().map(in_parts));
    if let Some(edit @ (ElementEdit::InsertKey | ElementEdit::RemoveKey)) = field.element_edit() {
        let (map, key) = steps.rsplit_once('[').expect("a key");
        let key = key.strip_suffix(']').expect("a bracket");
        let Value::Map(entries) = opened(part(whole, map)) else { panic!("{text} is no map") };
        let at = entries.iter().position(|(other, _)| is_key(other, key));
        match edit {
            ElementEdit::InsertKey => {
                assert_eq!((at, old), (None, None), "{text} is new");
                let key = key_of(key);
                let place =
                    entries.partition_point(|(other, _)| other.to_string() < key.to_string());
                entries.insert(place, (key, new.expect("it is new")));
            }
            _ => assert_eq!(old, Some(entries.remove(at.expect("it was there")).1), "{text}"),
        }
        return;
    }
    let part = part(whole, steps);
    match field.element_edit() {
        None => {
            assert_eq!(old.as_ref(), Some(&*part), "the old value of {text}");
            *part = new.expect("it was set");
        }
        Some(edit) => {
            let Value::Seq(elements) = opened(part) else { panic!("{text} is no list") };
            let at = |index: u64| usize::try_from(index).expect("an index");
            match edit {
                ElementEdit::Insert(index) => elements.insert(at(index), new.expect("it is new")),
                ElementEdit::Remove(index) => assert_eq!(Some(elements.remove(at(index))), old),
                ElementEdit::Move(from, to) => {
                    let moved = elements.remove(at(from));
                    elements.insert(at(to), moved);
                }
                ElementEdit::InsertKey | ElementEdit::RemoveKey => unreachable!(),
            }
        }
    }
}

/// True if the text of a step is that of this key. Whole numbers are written without their kind.
fn is_key(key: &Value, text: &str) -> bool {
    key.as_u64().map(|key| key.to_string()).unwrap_or_else(|| key.to_string()) == text
}

/// The key of a text. The maps of the tests have texts and `u32`s as keys.
fn key_of(text: &str) -> Value {
    match text.parse() {
        Ok(number) => Value::U32(number),
        Err(_) => text.parse().expect("a key"),
    }
}

/// The value in options, which paths pass through.
fn opened(mut value: &mut Value) -> &mut Value {
    while matches!(value, Value::Option(Some(_))) {
        let Value::Option(Some(inner)) = value else { unreachable!() };
        value = inner;
    }
    value
}

/// The part of a value that the text of a path leads to.
fn part<'v>(mut value: &'v mut Value, mut steps: &str) -> &'v mut Value {
    while !steps.is_empty() {
        value = opened(value);
        if let Some(rest) = steps.strip_prefix('[') {
            // A key in the tests has no bracket.
            let (step, rest) = rest.split_once(']').expect("a bracket");
            steps = rest;
            let index = step.parse::<usize>();
            value = match (value, index) {
                (Value::Seq(parts) | Value::Tuple(parts), Ok(index)) => &mut parts[index],
                (Value::Map(entries), _) => {
                    let mut found = entries.iter_mut().filter(|(other, _)| is_key(other, step));
                    &mut found.next().expect("the key is there").1
                }
                (other, _) => panic!("{other} has no [{step}]"),
            };
            continue;
        }
        let rest = steps.strip_prefix('.').unwrap_or(steps);
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        steps = rest;
        value = match value {
            Value::Struct(record) | Value::Enum(record) => {
                record.get_mut(name).unwrap_or_else(|| panic!("no field {name}"))
            }
            Value::Tuple(parts) => &mut parts[name.parse::<usize>().expect("an index")],
            other => panic!("{other} has no field {name}"),
        };
    }
    value
}

/// A copy of the world of a history.
pub(crate) struct Mirror(Arc<Mutex<Copied>>);

impl Mirror {
    /// Follows a history from the current state of its world on.
    pub(crate) fn of(world: &World, history: &mut History) -> Self {
        let copied = Arc::new(Mutex::new(Copied::of(world)));
        let shared = Arc::clone(&copied);
        history.subscribe_changes(move |world: &mut World, reports| {
            let mut copied = shared.lock().expect("nobody panicked");
            let mut parents = BTreeSet::new();
            reports.iter().for_each(|report| copied.follow(world, report, &mut parents));
            for parent in parents.into_iter().flatten() {
                if let Some(known) = copied.objects.get_mut(&parent) {
                    known.children = world.children(parent).to_vec();
                }
            }
        });
        Self(copied)
    }

    /// The world is what the reports say.
    #[track_caller]
    pub(crate) fn compare(&self, world: &World, what: &str) {
        let copied = self.0.lock().expect("nobody panicked");
        let expected = Copied::of(world);
        for (object, is) in &expected.objects {
            assert_eq!(copied.objects.get(object), Some(is), "object {object}, {what}");
        }
        assert_eq!(copied.objects.len(), expected.objects.len(), "{what}");
        assert_eq!(copied.resources, expected.resources, "{what}");
    }
}

/// A copy of the document of a history.
pub(crate) struct DocumentMirror<T: 'static> {
    value: Arc<Mutex<Value>>,
    whole: fn(&T) -> Value,
}

impl<T: Reflect + Persist> DocumentMirror<T> {
    pub(crate) fn of(document: &T, history: &mut History<T>) -> Self {
        let whole: fn(&T) -> Value = |document| {
            let path = FieldPath::new(T::persist_name());
            in_parts(History::<T>::new(0).get_field(document, path).expect("a document"))
        };
        let value = Arc::new(Mutex::new(whole(document)));
        let shared = Arc::clone(&value);
        history.subscribe_changes(move |document: &mut T, reports| {
            let mut value = shared.lock().expect("nobody panicked");
            for report in reports {
                match report {
                    Changed::All => *value = whole(document),
                    Changed::Field(field) => change(&mut value, field),
                    other => panic!("{other:?} is no report of a document"),
                }
            }
        });
        Self { value, whole }
    }

    /// The document is what the reports say.
    #[track_caller]
    pub(crate) fn compare(&self, document: &T, what: &str) {
        let value = self.value.lock().expect("nobody panicked");
        assert_eq!(*value, (self.whole)(document), "{what}");
    }
}
