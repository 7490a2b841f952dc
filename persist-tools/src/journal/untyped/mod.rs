//! [`UntypedWorld`]: the world of a save as values, whose objects and components are changed without the program's
//! types.
//!
//! The names of fields are those of `StoredWorld` in `persist`. An operation that returns `None` has
//! changed nothing. After each operation, a program can still load the world.

pub(super) mod change;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;

use persist::__tools::{Children, ClassSchema, ComponentPlace, LAST_ID, TreePosition};
use persist::world::Activity;
use persist::{ObjectId, Record, Value};

/// A world of a save, taken out of its value.
struct UntypedWorld {
    /// The record of the world, without the objects.
    record: Record,
    objects: BTreeMap<ObjectId, UntypedObject>,
    /// The names of the objects.
    names: HashSet<String>,
}

struct UntypedObject {
    /// The record of the object, without the parent.
    record: Record,
    children: Children,
    parent: Option<ObjectId>,
}

/// A detached object with its descendants, which come after it, and its place in the tree.
struct UntypedTree {
    objects: Vec<(ObjectId, UntypedObject)>,
    place: TreePosition,
}

impl UntypedWorld {
    /// Takes a world out of a value. Returns `None` if the value is not a world that a program can load. For example,
    /// two objects may not have the same name or index, and the tree may not have a cycle.
    fn new(root: &mut Value) -> Option<Self> {
        let Value::Struct(record) = root else { return None };
        record.get("resources")?.as_seq()?;
        let last_id = record.get("last_id")?.as_u64()?;
        let Value::Seq(objects) = record.get("objects")? else { return None };
        let (mut ids, mut names, mut parents) = (Vec::new(), HashSet::new(), HashMap::new());
        let mut families = BTreeMap::new();
        for object in objects {
            let Value::Struct(object) = object else { return None };
            let id = ObjectId::new(object.get("id")?.as_u64()?)?;
            let name = object.get("name")?.as_text()?;
            let is_next = ids.last().is_none_or(|last| *last < id) && id.get() <= last_id;
            if !is_next || (!name.is_empty() && !names.insert(name.to_owned())) {
                return None;
            }
            ids.push(id);
            if let Value::Option(Some(parent)) = object.get("parent")? {
                let parent = parent.as_record()?;
                let index = parent.get("index")?.as_u64()?;
                let parent = ObjectId::new(parent.get("object")?.as_u64()?)?;
                parents.insert(id, parent);
                let is_first = families.insert((parent, index), id).is_none();
                is_first.then_some(())?;
            }
        }
        let is_present = |parent: &ObjectId| ids.binary_search(parent).is_ok();
        if last_id > LAST_ID / 2 || !parents.values().all(is_present) || has_cycle(&ids, &parents) {
            return None;
        }
        let mut children: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for ((parent, index), child) in families {
            let children = children.entry(parent).or_default();
            (children.len() as u64 == index).then(|| children.push(child))?;
        }
        let Some(Value::Seq(objects)) = record.set("objects", Value::Unit) else { return None };
        let objects = ids.into_iter().zip(objects).filter_map(|(id, object)| match object {
            Value::Struct(mut record) => {
                record.set("parent", Value::Option(None));
                let children = children.remove(&id).unwrap_or_default().into();
                Some((id, UntypedObject { record, children, parent: parents.get(&id).copied() }))
            }
            _ => None,
        });
        let objects = objects.collect();
        let Value::Struct(record) = mem::replace(root, Value::Unit) else { return None };
        Some(Self { record, objects, names })
    }

    fn into_value(mut self) -> Value {
        let mut indices = HashMap::new();
        for object in self.objects.values() {
            indices.extend(object.children.list().iter().copied().zip(0_u32..));
        }
        let objects = self.objects.into_iter().map(|(id, mut object)| {
            if let Some((parent, index)) = object.parent.zip(indices.get(&id).copied()) {
                let mut place = Record::new("persist.Parent");
                place.push("object", Value::U64(parent.get()));
                place.push("index", Value::U32(index));
                object.record.set("parent", Value::Option(Some(Box::new(place.into()))));
            }
            Value::Struct(object.record)
        });
        self.record.set("objects", Value::Seq(objects.collect()));
        Value::Struct(self.record)
    }

    fn last_id(&self) -> Option<u64> {
        self.record.get("last_id")?.as_u64()
    }

    /// Continues the assignment of ids after this one. Returns `None` if the id is too large.
    fn continue_ids_after(&mut self, id: u64) -> Option<()> {
        let last = self.last_id()?.max(id);
        (last <= LAST_ID / 2).then(|| drop(self.record.set("last_id", last)))
    }

    fn object_mut(&mut self, id: ObjectId) -> Option<&mut Record> {
        Some(&mut self.objects.get_mut(&id)?.record)
    }

    fn children_mut(&mut self, id: ObjectId) -> Option<&mut Children> {
        Some(&mut self.objects.get_mut(&id)?.children)
    }

    /// Returns the components of an object, or the resources.
    fn contents_mut(&mut self, owner: Option<ObjectId>) -> Option<&mut Vec<Value>> {
        list(match owner {
            Some(object) => self.object_mut(object)?.get_mut("components")?,
            None => self.record.get_mut("resources")?,
        })
    }

    /// Returns a component of an object, or a resource, to change it.
    fn content_mut(&mut self, owner: Option<ObjectId>, class: &str) -> Option<&mut Value> {
        self.contents_mut(owner)?.iter_mut().find(|content| is_of(content, class))
    }

    /// Converts the world to one tree. Returns `None` unless all other objects are descendants of `root`.
    fn into_tree(self, root: ObjectId, place: TreePosition) -> Option<UntypedTree> {
        let is_below =
            |(id, object): (&ObjectId, &UntypedObject)| object.parent.is_some() != (*id == root);
        let is_tree = self.objects.contains_key(&root) && self.objects.iter().all(is_below);
        let mut objects: Vec<_> = self.objects.into_iter().filter(|_| is_tree).collect();
        let at = objects.iter().position(|(id, _)| *id == root)?;
        objects.swap(0, at);
        Some(UntypedTree { objects, place })
    }

    /// Adds the objects of a tree. Returns `None` if an id or a name is in use.
    fn put(&mut self, tree: UntypedTree) -> Option<()> {
        let UntypedTree { mut objects, place: TreePosition { parent, index } } = tree;
        let is_new = |(id, object): &(ObjectId, UntypedObject)| {
            !self.objects.contains_key(id) && !self.names.contains(object.name())
        };
        let last = objects.iter().map(|(id, _)| id.get()).max()?;
        if !objects.iter().all(is_new) || last > LAST_ID / 2 {
            return None;
        }
        let (root, object) = objects.first_mut()?;
        object.parent = parent;
        if let Some(parent) = parent {
            insert_child(self.children_mut(parent)?, index, *root);
        }
        self.continue_ids_after(last)?;
        let names = objects.iter().map(|(_, object)| object.name().to_owned());
        self.names.extend(names.filter(|name| !name.is_empty()));
        self.objects.extend(objects);
        Some(())
    }

    /// Removes an object and its descendants.
    fn take(&mut self, root: ObjectId) -> Option<UntypedTree> {
        let parent = self.objects.get(&root)?.parent;
        let index = match parent {
            Some(parent) => leave(self.children_mut(parent)?, root)?,
            None => 0,
        };
        let (mut objects, mut open) = (Vec::new(), vec![root]);
        while let Some(id) = open.pop() {
            let Some(object) = self.objects.remove(&id) else { continue };
            self.names.remove(object.name());
            open.extend(object.children.list());
            objects.push((id, object));
        }
        Some(UntypedTree { objects, place: TreePosition { parent, index } })
    }

    /// Moves an object from one parent to a place among the children of another. Returns `None` if it has another
    /// parent, or the move would make a cycle.
    fn set_parent(
        &mut self,
        object: ObjectId,
        from: Option<ObjectId>,
        TreePosition { parent, index }: TreePosition,
    ) -> Option<()> {
        if self.objects.get(&object)?.parent != from {
            return None;
        }
        let mut above = parent;
        while let Some(id) = above {
            above = self.objects.get(&id).filter(|_| id != object)?.parent;
        }
        if let Some(from) = from {
            leave(self.children_mut(from)?, object)?;
        }
        if let Some(parent) = parent {
            insert_child(self.children_mut(parent)?, index, object);
        }
        self.objects.get_mut(&object)?.parent = parent;
        Some(())
    }

    /// Renames an object. Returns `None` if another object has the name.
    fn rename(&mut self, object: ObjectId, name: &str) -> Option<()> {
        let found = self.objects.get_mut(&object)?;
        if found.name() == name {
            return Some(());
        }
        if self.names.contains(name) {
            return None;
        }
        self.names.remove(found.name());
        if !name.is_empty() {
            self.names.insert(name.to_owned());
        }
        found.record.set("name", name);
        Some(())
    }

    fn set_activity(&mut self, object: ObjectId, activity: &str) -> Option<()> {
        let Value::Enum(stored) = self.object_mut(object)?.get_mut("activity")? else {
            return None;
        };
        stored.set_variant(activity);
        Some(())
    }

    /// Attaches a component, without a place at the end. Or inserts a resource: known resources are in the order of
    /// their class names, and come before those whose class `program` does not have. Returns `None` if there is one of
    /// the class.
    fn attach(
        &mut self,
        owner: Option<ObjectId>,
        (content, place): (Value, Option<ComponentPlace>),
        program: &[ClassSchema],
    ) -> Option<()> {
        let class = content.as_record()?.class().to_owned();
        let waiting = self.waiting(owner);
        let contents = self.contents_mut(owner)?;
        if contents.iter().any(|other| is_of(other, &class)) {
            return None;
        }
        let Some(object) = owner else {
            let is_known = |name: &str| program.iter().any(|class| class.name == name);
            let is_after = |name: &str| *name > *class || !is_known(name);
            let mut names = contents.iter().map(|it| it.as_record().map_or("", Record::class));
            let index = names.position(is_after);
            contents.insert(index.unwrap_or(contents.len()), content);
            return Some(());
        };
        let (index, is_started) = place.unwrap_or((u64::MAX, false));
        let started = (contents.len() as u64).saturating_sub(waiting?);
        // Started components come first.
        insert(contents, if is_started { index.min(started) } else { index.max(started) }, content);
        self.set_waiting(object, waiting? + u64::from(!is_started))
    }

    /// Detaches a component and returns it with its place, or removes a resource.
    fn detach(
        &mut self,
        owner: Option<ObjectId>,
        class: &str,
    ) -> Option<(Value, Option<ComponentPlace>)> {
        let waiting = self.waiting(owner);
        let contents = self.contents_mut(owner)?;
        let index = contents.iter().position(|content| is_of(content, class))?;
        let Some(object) = owner else { return Some((contents.remove(index), None)) };
        let is_started = (index as u64) < (contents.len() as u64).saturating_sub(waiting?);
        let content = contents.remove(index);
        self.set_waiting(object, waiting?.saturating_sub(u64::from(!is_started)))?;
        Some((content, Some((index as u64, is_started))))
    }

    /// Returns the number of components of an object that have not been started. They are the last ones.
    fn waiting(&self, object: Option<ObjectId>) -> Option<u64> {
        self.objects.get(&object?)?.record.get("waiting")?.as_u64()
    }

    fn set_waiting(&mut self, object: ObjectId, waiting: u64) -> Option<()> {
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        self.object_mut(object)?.set("waiting", waiting).map(drop)
    }
}

impl UntypedObject {
    /// Returns the name; empty if the object has none.
    fn name(&self) -> &str {
        self.record.get("name").and_then(Value::as_text).unwrap_or_default()
    }
}

impl UntypedTree {
    /// Creates an object without components.
    fn bare(id: ObjectId, name: &str, place: TreePosition) -> Self {
        let activity = format!("{:?}", Activity::default());
        let mut record = Record::new("persist.Object");
        record.push("id", Value::U64(id.get()));
        record.push("name", name.into());
        record.push("parent", Value::Option(None));
        record.push("activity", Record::with_variant("persist.Activity", activity).into());
        record.push("waiting", Value::U32(0));
        record.push("components", Value::Seq(Vec::new()));
        let object = UntypedObject { record, children: Children::default(), parent: None };
        Self { objects: vec![(id, object)], place }
    }
}

/// Returns true if the parents form a cycle.
fn has_cycle(ids: &[ObjectId], parents: &HashMap<ObjectId, ObjectId>) -> bool {
    // The walk up stops at a visited object, which is known to lead to a root. So each object is visited once.
    let mut visited = HashSet::new();
    ids.iter().any(|id| {
        let mut above = Some(id);
        let mut path = Vec::new();
        while let Some(id) = above.filter(|id| !visited.contains(*id)) {
            if path.len() > parents.len() {
                return true;
            }
            path.push(*id);
            above = parents.get(id);
        }
        visited.extend(path);
        false
    })
}

fn is_of(content: &Value, class: &str) -> bool {
    content.as_record().is_some_and(|record| record.class() == class)
}

fn list(value: &mut Value) -> Option<&mut Vec<Value>> {
    match value {
        Value::Seq(values) => Some(values),
        _ => None,
    }
}

/// Inserts a value at an index; an index that is too large means the end.
fn insert(values: &mut Vec<Value>, index: u64, value: Value) {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    values.insert(index.min(values.len()), value);
}

fn insert_child(children: &mut Children, index: u64, object: ObjectId) {
    children.insert(usize::try_from(index).unwrap_or(usize::MAX), object);
}

/// Removes a child, and returns its index.
fn leave(children: &mut Children, object: ObjectId) -> Option<u64> {
    let index = children.position(object)?;
    children.remove(object);
    Some(index as u64)
}
