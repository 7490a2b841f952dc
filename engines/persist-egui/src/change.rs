//! [`Change`]: an edit of a field by the user, and how it is made in the target.

use persist::codec::Reflect;
use persist::history::Edit;
use persist::{ErrorKind, FieldPath, ObjectId, Result, Value, World};

use crate::Edited;

/// A change of a field, of an element of a list or a set, or of an entry of a map.
#[derive(Clone)]
pub(crate) enum Change {
    Set(Value),
    Insert(usize, Value),
    Remove(usize),
    Move(usize, usize),
    /// Inserts a new key with its value.
    InsertKey(Value, Value),
    RemoveKey(Value),
    /// Replaces a key by a new one, which has its value.
    Rename(Value, Value),
    /// Sets the value of a key that cannot be in a path.
    SetEntry(Value, Value),
    /// Inserts an element into a set.
    Add(Value),
    /// Removes an element from a set.
    Drop(Value),
    /// Replaces an element of a set by another one.
    Replace(Value, Value),
}

impl Change {
    /// Returns the verb in the label of the edit.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Insert(..) | Self::InsertKey(..) | Self::Add(_) => "Insert into",
            Self::Remove(_) | Self::RemoveKey(_) | Self::Drop(_) => "Remove from",
            Self::Move(..) => "Move in",
            Self::Set(_) | Self::Rename(..) | Self::SetEntry(..) | Self::Replace(..) => "Set",
        }
    }

    /// Makes the change in a value that was read whole.
    pub(crate) fn apply_to(&self, value: &mut Value) {
        spread(value);
        match (self, content_mut(value)) {
            (Self::Set(new), value) => value.clone_from(new),
            (Self::Insert(at, new), Value::Seq(elements)) if *at <= elements.len() => {
                elements.insert(*at, new.clone());
            }
            (Self::Remove(at), Value::Seq(elements)) if *at < elements.len() => {
                elements.remove(*at);
            }
            (Self::Move(from, to), Value::Seq(elements)) if *from.max(to) < elements.len() => {
                let element = elements.remove(*from);
                elements.insert(*to, element);
            }
            (Self::Add(new), Value::Seq(elements)) => elements.push(new.clone()),
            (Self::Drop(old), Value::Seq(elements)) => elements.retain(|element| element != old),
            (Self::Replace(old, new), Value::Seq(elements)) => {
                let element = elements.iter_mut().find(|element| *element == old);
                element.into_iter().for_each(|element| element.clone_from(new));
            }
            (Self::InsertKey(key, new), Value::Map(entries)) => {
                entries.push((key.clone(), new.clone()));
            }
            (Self::RemoveKey(key), Value::Map(entries)) => entries.retain(|(it, _)| it != key),
            (Self::Rename(old, new), Value::Map(entries)) => {
                let entry = entries.iter_mut().find(|(key, _)| key == old);
                entry.into_iter().for_each(|(key, _)| key.clone_from(new));
            }
            (Self::SetEntry(key, new), Value::Map(entries)) => {
                let entry = entries.iter_mut().find(|(it, _)| it == key);
                entry.into_iter().for_each(|(_, value)| value.clone_from(new));
            }
            _ => {}
        }
    }

    /// Makes the change of the field at a path.
    pub(crate) fn make(&self, fields: &mut impl Fields, path: &FieldPath) -> Result<()> {
        let at = |key: &Value| path.clone().at(key.clone());
        let made = match self {
            Self::Set(value) => return fields.set(path.clone(), value.clone()),
            Self::Insert(index, new) => return fields.insert(path.clone(), *index, new.clone()),
            Self::Remove(index) => return fields.remove(path.clone(), *index),
            Self::Move(from, to) => return fields.shift(path.clone(), *from, *to),
            Self::InsertKey(key, value) => fields.set(at(key), value.clone()),
            Self::RemoveKey(key) => fields.remove_key(at(key)),
            // A key that is there is refused by the whole map, with its reason.
            Self::Rename(_, new) if fields.get(at(new)).is_ok() => self.make_whole(fields, path),
            Self::Rename(old, new) => fields.get(at(old)).and_then(|value| {
                fields.set(at(new), value)?;
                fields.remove_key(at(old)).inspect_err(|_| drop(fields.remove_key(at(new))))
            }),
            _ => return self.make_whole(fields, path),
        };
        match made {
            // The keys of some maps are edited with the whole map, such as those of an `IndexMap`.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => {
                self.make_whole(fields, path)
            }
            made => made,
        }
    }

    fn make_whole(&self, fields: &mut impl Fields, path: &FieldPath) -> Result<()> {
        let mut whole = fields.get(path.clone())?;
        self.apply_to(&mut whole);
        fields.set(path.clone(), whole)
    }
}

/// Returns the content of an option, which has the same path, or the value itself.
pub(crate) fn content_mut(value: &mut Value) -> &mut Value {
    match value {
        Value::Option(Some(content)) => content_mut(content),
        value => value,
    }
}

/// Converts bytes to a sequence, so that each is an element.
pub(crate) fn spread(value: &mut Value) {
    let value = content_mut(value);
    if let Value::Bytes(bytes) = value {
        *value = Value::Seq(bytes.iter().map(|byte| Value::U8(*byte)).collect());
    }
}

/// The fields in which a change is made.
pub(crate) trait Fields {
    fn get(&mut self, path: FieldPath) -> Result<Value>;
    fn set(&mut self, path: FieldPath, value: Value) -> Result<()>;
    fn insert(&mut self, list: FieldPath, index: usize, value: Value) -> Result<()>;
    fn remove(&mut self, list: FieldPath, index: usize) -> Result<()>;
    fn shift(&mut self, list: FieldPath, from: usize, to: usize) -> Result<()>;
    fn remove_key(&mut self, key: FieldPath) -> Result<()>;
}

/// The fields of an object, or of the resources.
pub(crate) struct WorldFields<'e, 'w> {
    pub(crate) edit: &'e mut Edit<'w, World>,
    pub(crate) owner: Option<ObjectId>,
}

impl Fields for WorldFields<'_, '_> {
    fn get(&mut self, path: FieldPath) -> Result<Value> {
        self.edit.get_field(self.owner, path)
    }

    fn set(&mut self, path: FieldPath, value: Value) -> Result<()> {
        self.edit.set(self.owner, path, value).map(drop)
    }

    fn insert(&mut self, list: FieldPath, index: usize, value: Value) -> Result<()> {
        self.edit.insert_element(self.owner, list, index, value)
    }

    fn remove(&mut self, list: FieldPath, index: usize) -> Result<()> {
        self.edit.remove_element(self.owner, list, index)
    }

    fn shift(&mut self, list: FieldPath, from: usize, to: usize) -> Result<()> {
        self.edit.move_element(self.owner, list, from, to)
    }

    fn remove_key(&mut self, key: FieldPath) -> Result<()> {
        self.edit.remove_key(self.owner, key).map(drop)
    }
}

/// The fields of a target that is not a world.
pub(crate) struct ValueFields<'s, S>(pub(crate) &'s mut S);

impl<S: Edited<Target: Reflect>> Fields for ValueFields<'_, S> {
    fn get(&mut self, path: FieldPath) -> Result<Value> {
        self.0.peek_field(path, 0..usize::MAX).map(|peek| peek.value)
    }

    fn set(&mut self, path: FieldPath, value: Value) -> Result<()> {
        self.0.set_field(path, value).map(drop)
    }

    fn insert(&mut self, list: FieldPath, index: usize, value: Value) -> Result<()> {
        self.0.insert_element(list, index, value)
    }

    fn remove(&mut self, list: FieldPath, index: usize) -> Result<()> {
        self.0.remove_element(list, index)
    }

    fn shift(&mut self, list: FieldPath, from: usize, to: usize) -> Result<()> {
        self.0.move_element(list, from, to)
    }

    fn remove_key(&mut self, key: FieldPath) -> Result<()> {
        self.0.remove_key(key).map(drop)
    }
}
