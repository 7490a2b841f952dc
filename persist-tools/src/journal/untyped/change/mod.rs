//! Changes of a journal, applied to the values of a save without the program's types.
//!
//! A journal has its own classes, which may differ from those of the save. So each value of the journal is *adopted*
//! before it is put into the save: its classes become classes of the save. Objects, components and resources that a
//! change takes out of the save are *held* by the change, so that an undo puts back the values themselves.

pub(in crate::journal) mod replay;

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use persist::__tools::{
    ClassSchema, ComponentPlace, Direction, PathStep, Reader as Values, Stored, TreePosition,
    place, scan, wrong,
};
use persist::history::Verb;
use persist::{Error, ErrorKind, FieldPath, Limits, ObjectId, Result, Value};

use super::{UntypedTree, UntypedWorld};
use crate::Document;
use crate::document::Adoption;
use crate::journal::listing::ListedStep;

/// The save that a replay changes.
struct ReplayTarget<'s> {
    save: &'s mut Document,
    adoption: Adoption,
    /// The value of the save, unless that is a world.
    root: Value,
    world: Option<UntypedWorld>,
    /// Reads the objects in the journal.
    values: Values,
    /// The classes of the journal that were used last, and their indices in the save.
    known: (Option<Arc<[ClassSchema]>>, HashMap<usize, usize>),
}

impl<'s> ReplayTarget<'s> {
    fn new(save: &'s mut Document, bytes: u64) -> Result<Self> {
        let Some(root) = save.root_mut() else {
            let message = "the save has several values, and is not that of a session";
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let is_world = root.as_record().is_some_and(|root| root.class() == "persist.World");
        let world = if is_world { UntypedWorld::new(root) } else { None };
        if is_world && world.is_none() {
            let message = "no program loads the world of the save; it is damaged or malicious";
            return Err(Error::new(ErrorKind::InvalidValue, message));
        }
        let root = mem::replace(root, Value::Unit);
        let adoption = Adoption::from_document(save);
        let values = Values::new(&Limits::DEFAULT, bytes);
        Ok(Self { save, adoption, root, world, values, known: (None, HashMap::new()) })
    }

    /// Puts the value back into the save.
    fn end(self) {
        self.adoption.end(self.save);
        if let Some(root) = self.save.root_mut() {
            *root = self.world.map_or(self.root, UntypedWorld::into_value);
        }
    }

    /// Makes the world give only ids above this one.
    fn reserve_ids(&mut self, id: u64) -> Result<()> {
        match &mut self.world {
            Some(world) => {
                world.continue_ids_after(id).ok_or_else(|| wrong("ids that no world gives"))
            }
            None => Ok(()),
        }
    }

    /// Converts a value of the journal to the classes of the save.
    fn adopted(&mut self, value: &Value, classes: &Arc<[ClassSchema]>) -> Result<Value> {
        let mut value = value.clone();
        // The changes between two definitions share their classes. To match the classes again for each change made a
        // journal with many classes take quadratic time.
        let (of, known) = &mut self.known;
        if !of.as_ref().is_some_and(|of| Arc::ptr_eq(of, classes)) {
            *of = Some(Arc::clone(classes));
            known.clear();
        }
        self.adoption.adopt(&mut value, classes, known)?;
        Ok(value)
    }

    /// Reads the objects of a fragment in the journal.
    fn tree(&mut self, root: ObjectId, save: &[u8], place: TreePosition) -> Result<UntypedTree> {
        let limits = &Limits::DEFAULT;
        let (scan, classes) = scan(save, limits)?;
        let stored = Stored::new(classes);
        // The reader remembers names by class number, and each fragment has numbers of its own.
        self.values.forget_classes();
        let Some(record) = scan.records.iter().next().filter(|_| scan.records.len() == 1) else {
            return Err(wrong("objects that are no world"));
        };
        let (class, payload) = (record.class as usize, record.payload(save));
        let mut value = self.values.payload(&stored, class, payload, limits)?;
        self.adoption.adopt(&mut value, &stored, &mut HashMap::new())?;
        let world = UntypedWorld::new(&mut value);
        let tree = world.and_then(|world| {
            let last = world.last_id()?;
            // The fragment has the last id of its whole world, so that no id is given twice.
            self.world.as_mut()?.continue_ids_after(last)?;
            world.into_tree(root, place)
        });
        tree.ok_or_else(|| wrong("objects that are not those that were named"))
    }

    /// The value at a path, in the component or resource that the path begins with.
    fn value(&mut self, object: Option<ObjectId>, path: &FieldPath) -> Option<&mut Value> {
        self.part(object, path.class(), path.steps())
    }

    fn part(
        &mut self,
        object: Option<ObjectId>,
        class: &str,
        steps: &[PathStep],
    ) -> Option<&mut Value> {
        let start = match &mut self.world {
            Some(world) => world.content_mut(object, class)?,
            None => &mut self.root,
        };
        steps.iter().try_fold(start, step_into)
    }
}

/// A change that is replayed, and the values that it holds outside the save.
struct ReplayedChange<'j> {
    step: &'j ListedStep,
    classes: &'j Arc<[ClassSchema]>,
    held: Option<Held>,
}

enum Held {
    Objects(UntypedTree),
    Content(Value, Option<ComponentPlace>),
}

/// Collects the changes of steps in their order. Returns an error for a command that changes its target directly.
fn flatten<'j>(
    steps: &'j [ListedStep],
    classes: &'j Arc<[ClassSchema]>,
    changes: &mut Vec<ReplayedChange<'j>>,
) -> Result<()> {
    for step in steps {
        match step {
            ListedStep::Command { class, is_direct: true, .. } => {
                let message = format!("only its program can run the command {class}");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            // The decoder of the journal has limited how deep commands are nested.
            ListedStep::Command { steps, .. } => flatten(steps, classes, changes)?,
            ListedStep::Change { .. } => changes.push(ReplayedChange { step, classes, held: None }),
        }
    }
    Ok(())
}

impl ReplayedChange<'_> {
    fn make(&mut self, target: &mut ReplayTarget<'_>, direction: Direction) -> Result<()> {
        let step = self.step;
        let ListedStep::Change { verb, object, name, path, index, old, new, whole } = step else {
            return Ok(());
        };
        let is_redo = direction == Direction::Redo;
        let (old, new) = if is_redo { (old, new) } else { (new, old) };
        let inserts = matches!(verb, Verb::Insert | Verb::Create | Verb::Attach) == is_redo;
        let (path, owner) = (path.as_ref(), *object);
        // A held value is put back itself, so the journal's form of it is not converted.
        let new = new.as_ref().filter(|_| self.held.is_none());
        let new = new.map(|new| target.adopted(new, self.classes)).transpose()?;
        let key = whole.key.as_ref().map(|key| target.adopted(key, self.classes)).transpose()?;
        // `None` if the change does not fit the save, which is then unchanged.
        let applied = match verb {
            Verb::Set if new.is_none() => return Err(self.refused()),
            Verb::Set => path.and_then(|path| {
                let (target, new) = (target.value(owner, path)?, new?);
                let are_lists =
                    [&*target, &new].map(|it| matches!(it, Value::Seq(_) | Value::Bytes(_)));
                // An empty list of bytes may be stored as a list without elements, so the two are interchangeable.
                let is_alike = are_lists == [true, true]
                    || mem::discriminant(&*target) == mem::discriminant(&new);
                // A value of a different form would give a save that no program loads.
                is_alike.then(|| *target = new)
            }),
            Verb::Insert | Verb::Remove if key.is_some() => path.and_then(|path| {
                let (key, (_, steps)) = (key?, path.steps().split_last()?);
                let Value::Map(entries) = opened(target.part(owner, path.class(), steps)?)? else {
                    return None;
                };
                let at = entries.iter().position(|(other, _)| *other == key);
                match (inserts, at) {
                    (true, None) => {
                        let place = entries.partition_point(|(other, _)| is_before(other, &key));
                        entries.insert(place, (key, new?));
                        Some(())
                    }
                    (false, Some(at)) => {
                        entries.remove(at);
                        Some(())
                    }
                    _ => None,
                }
            }),
            Verb::Insert | Verb::Remove => path.and_then(|path| {
                let list = opened(target.value(owner, path)?)?;
                match inserts {
                    true => insert(list, (*index)?, new?),
                    false => remove(list, (*index)?).map(drop),
                }
            }),
            Verb::Move => path.and_then(|path| {
                let list = opened(target.value(owner, path)?)?;
                let (from, to) = ((*index)?, old.as_ref().or(new.as_ref())?.as_u64()?);
                let (from, to) = if is_redo { (from, to) } else { (to, from) };
                let element = remove(list, from)?;
                // The element is put back if its new index does not exist.
                if insert(list, to, element.clone()).is_none() {
                    insert(list, from, element)?;
                    return None;
                }
                Some(())
            }),
            // All other changes need a world.
            _ if target.world.is_none() => None,
            Verb::Create | Verb::Delete if inserts => {
                let tree = match (self.held.take(), owner, &whole.fragment) {
                    (Some(Held::Objects(tree)), ..) => tree,
                    (_, Some(object), Some(fragment)) => match fragment.save() {
                        Some(save) => target.tree(object, save, fragment.place)?,
                        None => {
                            let name = name.as_deref().unwrap_or_default();
                            UntypedTree::bare(object, name, fragment.place)
                        }
                    },
                    _ => return Err(self.refused()),
                };
                target.world.as_mut().and_then(|world| world.put(tree))
            }
            Verb::Attach | Verb::Detach if inserts => {
                let content = match (self.held.take(), new) {
                    (Some(Held::Content(content, place)), _) => (content, place),
                    (_, Some(content)) => (content, whole.place),
                    _ => return Err(self.refused()),
                };
                target.world.as_mut().and_then(|world| world.attach(owner, content, self.classes))
            }
            verb => target.world.as_mut().and_then(|world| {
                let text = || new.as_ref()?.as_text();
                match verb {
                    Verb::Create | Verb::Delete => {
                        self.held = Some(Held::Objects(world.take(owner?)?));
                        Some(())
                    }
                    Verb::Attach | Verb::Detach => {
                        let (content, place) = world.detach(owner, path?.class())?;
                        self.held = Some(Held::Content(content, place));
                        Some(())
                    }
                    Verb::Rename => world.rename(owner?, text()?),
                    Verb::Pause | Verb::Resume => world.set_activity(owner?, text()?),
                    Verb::Reparent => {
                        let (from, to) =
                            (tree_position(old.as_ref()?)?, tree_position(new.as_ref()?)?);
                        world.set_parent(owner?, from.parent, to)
                    }
                    _ => None,
                }
            }),
        };
        applied.ok_or_else(|| self.lost())
    }

    /// Describes the change, for messages.
    fn place(&self) -> String {
        let ListedStep::Change { verb, object, path, .. } = self.step else {
            return String::new();
        };
        let object = object.map(|object| format!(" of object {object}")).unwrap_or_default();
        let verb = verb.to_string().to_lowercase();
        match path {
            Some(path) => format!("{verb} {path}{object}"),
            None => format!("{verb}{object}"),
        }
    }

    #[cold]
    fn refused(&self) -> Error {
        let message = format!("only its program can do this change: {}", self.place());
        Error::new(ErrorKind::Unsupported, message)
    }

    #[cold]
    fn lost(&self) -> Error {
        let place = self.place();
        let message = format!(
            "this change does not go with the save: {place}; let its program replay the journal"
        );
        Error::new(ErrorKind::Unsupported, message)
    }
}

/// A place in the tree, from the list of parent and index that the listing has.
fn tree_position(value: &Value) -> Option<TreePosition> {
    let [parent, index] = value.as_seq()? else { return None };
    Some(TreePosition { parent: parent.as_object_id(), index: index.as_u64()? })
}

/// The value in an option. Paths pass through options without a step of their own.
fn opened(mut value: &mut Value) -> Option<&mut Value> {
    while let Value::Option(inner) = value {
        value = inner.as_deref_mut()?;
    }
    Some(value)
}

fn step_into<'v>(value: &'v mut Value, step: &PathStep) -> Option<&'v mut Value> {
    // A key may be stored signed or unsigned. Numbers of either kind are compared by value.
    let is_key = |known: &Value, key: &Value| {
        known == key || known.as_i64().is_some_and(|known| Some(known) == key.as_i64())
    };
    match (opened(value)?, step) {
        (Value::Struct(record) | Value::Enum(record), PathStep::Field(name)) => {
            record.get_mut(name)
        }
        (Value::Tuple(parts), PathStep::Field(name)) => parts.get_mut(name.parse::<usize>().ok()?),
        (Value::Seq(parts) | Value::Tuple(parts), PathStep::Index(index)) => {
            parts.get_mut(place(*index).ok()?)
        }
        (Value::Map(entries), step) => {
            let key = match step {
                PathStep::Index(index) => Value::U64(*index),
                PathStep::Key(text) => text.parse().ok()?,
                PathStep::Field(_) => return None,
            };
            let mut entries = entries.iter_mut();
            entries.find(|(known, _)| is_key(known, &key)).map(|(_, value)| value)
        }
        _ => None,
    }
}

/// True if a key comes before another one in an ordered map. A program that loads the save orders its keys itself.
fn is_before(key: &Value, other: &Value) -> bool {
    match (key.as_text(), other.as_text()) {
        (Some(key), Some(other)) => key < other,
        _ => match (key.as_i64(), other.as_i64()) {
            (Some(key), Some(other)) => key < other,
            _ => true,
        },
    }
}

fn insert(list: &mut Value, index: u64, element: Value) -> Option<()> {
    let index = place(index).ok()?;
    match list {
        Value::Seq(parts) if index <= parts.len() => parts.insert(index, element),
        Value::Bytes(bytes) if index <= bytes.len() => {
            bytes.insert(index, u8::try_from(element.as_u64()?).ok()?);
        }
        _ => return None,
    }
    Some(())
}

fn remove(list: &mut Value, index: u64) -> Option<Value> {
    let index = place(index).ok()?;
    match list {
        Value::Seq(parts) if index < parts.len() => Some(parts.remove(index)),
        Value::Bytes(bytes) if index < bytes.len() => Some(Value::U8(bytes.remove(index))),
        _ => None,
    }
}
