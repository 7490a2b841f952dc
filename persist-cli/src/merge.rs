//! Three-way merges of values.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use persist::{Record, Value};

use crate::path::{component_text, push_name};
use crate::values::{integer, key_text};
use crate::world;

/// The side whose value is taken where both sides changed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Theirs,
}

/// A part that the sides changed differently.
pub(crate) struct Conflict {
    pub(crate) at: String,
    pub(crate) base: Option<Value>,
    pub(crate) ours: Option<Value>,
    pub(crate) theirs: Option<Value>,
}

impl Conflict {
    /// Replaces the parents of an object by their ids. Their indices are not merged.
    fn show_parents(&mut self) {
        for side in [&mut self.base, &mut self.ours, &mut self.theirs] {
            *side = side.take().and_then(|parent| match parent {
                Value::Option(Some(parent)) => parent.as_record()?.get("object").cloned(),
                _ => None,
            });
        }
    }
}

/// Merges values, and notes conflicts.
pub(crate) struct Merge {
    pub(crate) prefer: Option<Side>,
    pub(crate) conflicts: Vec<Conflict>,
}

/// The values of base and theirs at a place; `None` where there is none.
pub(crate) type Others<'v> = [Option<&'v Value>; 2];

/// A list of values with their keys.
type Keyed<V> = Vec<(String, V)>;

impl Merge {
    /// Merges the changes of both sides into our value. Returns `None` if the value was removed.
    ///
    /// Each call is a level of a value. A save has at most 512 levels.
    pub(crate) fn value(
        &mut self,
        at: &str,
        [base, theirs]: Others<'_>,
        ours: Option<Value>,
    ) -> Option<Value> {
        if ours.as_ref() == theirs || base == theirs {
            return ours;
        }
        if base == ours.as_ref() {
            return theirs.cloned();
        }
        match (base, ours, theirs) {
            (
                Some(Value::Option(Some(base))),
                Some(Value::Option(Some(ours))),
                Some(Value::Option(Some(theirs))),
            ) => {
                let inner = self.value(at, [Some(base), Some(theirs)], Some(*ours));
                Some(Value::Option(inner.map(Box::new)))
            }
            (
                Some(Value::Struct(base) | Value::Enum(base)),
                Some(Value::Struct(ours) | Value::Enum(ours)),
                Some(Value::Struct(theirs) | Value::Enum(theirs)),
            ) if is_alike(base, &ours) && is_alike(&ours, theirs) => {
                Some(self.record(at, base, ours, theirs))
            }
            (Some(Value::Map(base)), Some(Value::Map(ours)), Some(Value::Map(theirs))) => {
                let mut keys: HashMap<String, Value> =
                    theirs.iter().map(|(key, _)| (key_text(key), key.clone())).collect();
                let (base, theirs) = (by_text(base), by_text(theirs));
                let mut own = Vec::with_capacity(ours.len());
                for (key, value) in ours {
                    let text = key_text(&key);
                    keys.insert(text.clone(), key);
                    own.push((text, value));
                }
                let merged = self.keyed(base, own, &theirs, |key| format!("{at}[{key}]"));
                let entry = |(key, value): (String, Value)| Some((keys.remove(&key)?, value));
                Some(Value::Map(merged.into_iter().filter_map(entry).collect()))
            }
            (
                Some(Value::Seq(base) | Value::Tuple(base)),
                Some(Value::Seq(ours)),
                Some(Value::Seq(theirs) | Value::Tuple(theirs)),
            ) if base.len() == ours.len() && ours.len() == theirs.len() => {
                Some(Value::Seq(self.items(at, base, ours, theirs)))
            }
            (
                Some(Value::Seq(base) | Value::Tuple(base)),
                Some(Value::Tuple(ours)),
                Some(Value::Seq(theirs) | Value::Tuple(theirs)),
            ) if base.len() == ours.len() && ours.len() == theirs.len() => {
                Some(Value::Tuple(self.items(at, base, ours, theirs)))
            }
            (base, ours, theirs) => self.conflict(at, [base, theirs], ours),
        }
    }

    /// Merges lists of one length.
    fn items(
        &mut self,
        at: &str,
        base: &[Value],
        ours: Vec<Value>,
        theirs: &[Value],
    ) -> Vec<Value> {
        let parts = ours.into_iter().zip(base.iter().zip(theirs)).enumerate();
        let merged = parts.filter_map(|(place, (ours, (base, theirs)))| {
            self.value(&format!("{at}[{place}]"), [Some(base), Some(theirs)], Some(ours))
        });
        merged.collect()
    }

    fn conflict(
        &mut self,
        at: &str,
        [base, theirs]: Others<'_>,
        ours: Option<Value>,
    ) -> Option<Value> {
        let at = if at.is_empty() { "." } else { at }.to_owned();
        let conflict =
            Conflict { at, base: base.cloned(), ours: ours.clone(), theirs: theirs.cloned() };
        self.conflicts.push(conflict);
        match self.prefer {
            Some(Side::Theirs) => theirs.cloned(),
            _ => ours,
        }
    }

    fn record(&mut self, at: &str, base: &Record, mut ours: Record, theirs: &Record) -> Value {
        let is_world = ours.class() == world::CLASS;
        merge_fields(&mut ours, |name, value| {
            let (base, theirs) = (base.get(name), theirs.get(name));
            match (name, base, value, theirs) {
                ("objects", Some(Value::Seq(base)), Value::Seq(ours), Some(Value::Seq(theirs)))
                    if is_world =>
                {
                    let [old, new] = [base, theirs].map(|objects| by_id(objects));
                    let others =
                        |id| [&old, &new].map(|of| of.get(&id).copied().map(Cow::Borrowed));
                    Some(Value::Seq(self.objects(at, ours, new.keys().copied(), others)))
                }
                (
                    "resources",
                    Some(Value::Seq(base)),
                    Value::Seq(ours),
                    Some(Value::Seq(theirs)),
                ) if is_world => Some(self.by_class(at, base, ours, theirs)),
                // The last id that was given.
                ("last_id", _, ours, Some(theirs)) if is_world => Some(larger(ours, theirs)),
                (name, base, value, theirs) => {
                    let mut place = at.to_owned();
                    push_name(&mut place, name);
                    self.value(&place, [base, theirs], Some(value))
                }
            }
        });
        ours.into()
    }

    /// Merges values with keys. The order is ours, then theirs.
    fn keyed(
        &mut self,
        base: Keyed<&Value>,
        ours: Keyed<Value>,
        theirs: &[(String, &Value)],
        at: impl Fn(&str) -> String,
    ) -> Keyed<Value> {
        let base: HashMap<String, &Value> = base.into_iter().collect();
        let mut others: HashMap<&str, &Value> =
            theirs.iter().map(|(key, value)| (&**key, *value)).collect();
        let mut merged = Vec::with_capacity(ours.len());
        for (key, value) in ours {
            let theirs = others.remove(&*key);
            let value = self.value(&at(&key), [base.get(&key).copied(), theirs], Some(value));
            merged.extend(value.map(|value| (key, value)));
        }
        for (key, value) in theirs.iter().filter(|(key, _)| others.contains_key(&**key)) {
            let value = self.value(&at(key), [base.get(key).copied(), Some(value)], None);
            merged.extend(value.map(|value| (key.clone(), value)));
        }
        merged
    }

    /// Merges the objects of a world by their ids. The values of the others may be built on demand.
    pub(crate) fn objects<'v>(
        &mut self,
        at: &str,
        ours: Vec<Value>,
        their_ids: impl Iterator<Item = u64>,
        others: impl Fn(u64) -> [Option<Cow<'v, Value>>; 2],
    ) -> Vec<Value> {
        let mut own: BTreeMap<u64, Option<Value>> =
            ours.into_iter().filter_map(|it| Some((id_of(&it)?, Some(it)))).collect();
        for id in their_ids {
            own.entry(id).or_default();
        }
        let (mut merged, mut trees) = (Vec::with_capacity(own.len()), Trees::default());
        for (id, mut ours) in own {
            let [mut base, mut theirs] = others(id).map(|side| side.map(Cow::into_owned));
            let parents = trees.take_indices(id, [&mut base, &mut ours, &mut theirs]);
            let [base, theirs] = [base.as_ref(), theirs.as_ref()];
            let at = member_path(at, id, [base, ours.as_ref(), theirs]);
            let conflicts = self.conflicts.len();
            let object = match (base, ours, theirs) {
                (
                    Some(Value::Struct(base)),
                    Some(Value::Struct(ours)),
                    Some(Value::Struct(theirs)),
                ) if *base != ours && base != theirs => Some(self.object(&at, base, ours, theirs)),
                (base, ours, theirs) => self.value(&at, [base, theirs], ours),
            };
            if let Some(object) = object {
                merged.push(object);
                let has_conflict = self.conflicts.len() > conflicts;
                trees.members.push(Member { parents, has_conflict });
            }
        }
        let removed = trees.order_children(at, &mut merged);
        self.conflicts.extend(removed);
        merged
    }

    fn object(&mut self, at: &str, base: &Record, mut ours: Record, theirs: &Record) -> Value {
        merge_fields(&mut ours, |name, value| {
            let (base, theirs) = (base.get(name), theirs.get(name));
            match (name, base, value, theirs) {
                (
                    "components",
                    Some(Value::Seq(base)),
                    Value::Seq(ours),
                    Some(Value::Seq(theirs)),
                ) => Some(self.by_class(at, base, ours, theirs)),
                ("parent", base, ours, theirs)
                    if base != Some(&ours) && base != theirs && theirs != Some(&ours) =>
                {
                    // The parent is one value: an id, here without the index.
                    let merged =
                        self.conflict(&format!("{at}.parent.object"), [base, theirs], Some(ours));
                    self.conflicts.last_mut().into_iter().for_each(Conflict::show_parents);
                    merged
                }
                // The number of components that have not been started.
                ("waiting", _, ours, Some(theirs)) => Some(larger(ours, theirs)),
                (name, base, value, theirs) => {
                    self.value(&format!("{at}.{name}"), [base, theirs], Some(value))
                }
            }
        });
        let count = ours.get("components").and_then(Value::as_seq).map_or(0, <[Value]>::len);
        let waiting = ours.get("waiting").and_then(Value::as_u64);
        if waiting.is_some_and(|waiting| waiting > count as u64) {
            ours.set("waiting", u32::try_from(count).unwrap_or(u32::MAX));
        }
        ours.into()
    }

    /// Merges components or resources, of each class one.
    fn by_class(&mut self, at: &str, base: &[Value], ours: Vec<Value>, theirs: &[Value]) -> Value {
        let class = |value: &Value| world::key_of(value).map(Cow::into_owned);
        let theirs: Keyed<&Value> =
            theirs.iter().filter_map(|value| Some((class(value)?, value))).collect();
        let base = base.iter().filter_map(|value| Some((class(value)?, value))).collect();
        let ours = ours.into_iter().filter_map(|value| Some((class(&value)?, value))).collect();
        let at = |class: &str| format!("{at}:{}", component_text(class));
        let merged = self.keyed(base, ours, &theirs, at);
        Value::Seq(merged.into_iter().map(|(_, value)| value).collect())
    }
}

/// Replaces each field of a record by its merged value, or removes it.
fn merge_fields(record: &mut Record, mut merge: impl FnMut(&str, Value) -> Option<Value>) {
    let mut removed = Vec::new();
    for (name, value) in record.fields_mut() {
        match merge(name, std::mem::replace(value, Value::Unit)) {
            Some(merged) => *value = merged,
            None => removed.push(name.to_owned()),
        }
    }
    for name in removed {
        record.take(&name);
    }
}

/// The larger one of two numbers.
fn larger(ours: Value, theirs: &Value) -> Value {
    if integer(theirs) > integer(&ours) { theirs.clone() } else { ours }
}

/// The id of an object of a world.
pub(crate) fn id_of(object: &Value) -> Option<u64> {
    object.as_record()?.get("id")?.as_u64()
}

fn by_id(objects: &[Value]) -> HashMap<u64, &Value> {
    objects.iter().filter_map(|object| Some((id_of(object)?, object))).collect()
}

/// The values of a map by the texts of their keys.
fn by_text(entries: &[(Value, Value)]) -> Keyed<&Value> {
    entries.iter().map(|(key, value)| (key_text(key), value)).collect()
}

/// The orders of children in the three worlds of a merge.
///
/// An index of a child changes when a sibling is removed, and then no side has changed the child. So objects are merged
/// without indices, and get new ones afterwards.
#[derive(Default)]
struct Trees {
    /// The children of each parent, with their indices: of the base, ours and theirs.
    sides: [HashMap<u64, Vec<(u64, u64)>>; 3],
    /// The merged objects, in their order.
    members: Vec<Member>,
}

/// An object of a world that was merged.
struct Member {
    /// Its parents in the base, ours and theirs.
    parents: [Option<u64>; 3],
    has_conflict: bool,
}

/// Returns true if two lists have their common elements in another order.
fn is_reordered(old: &[u64], new: &[u64]) -> bool {
    let [in_old, in_new] = [old, new].map(|list| list.iter().collect::<HashSet<_>>());
    let stayed = old.iter().filter(|child| in_new.contains(child));
    !stayed.eq(new.iter().filter(|child| in_old.contains(child)))
}

/// Returns the path of an object of a world, which has the name of the first side that has one.
fn member_path(at: &str, id: u64, sides: [Option<&Value>; 3]) -> String {
    let name = sides.iter().flatten().find_map(|object| {
        object.as_record()?.get("name")?.as_text().filter(|name| !name.is_empty())
    });
    name.map_or_else(|| format!("{at}/#{id}"), |name| format!("{at}/{name}"))
}

impl Trees {
    /// Takes the indices out of the three values of an object, and returns their parents.
    fn take_indices(&mut self, id: u64, objects: [&mut Option<Value>; 3]) -> [Option<u64>; 3] {
        let mut parents = [None; 3];
        for ((side, object), of) in self.sides.iter_mut().zip(objects).zip(&mut parents) {
            let Some(object) = object else { continue };
            if let Some((parent, index)) = world::parent_of(object) {
                side.entry(parent).or_default().push((index, id));
                world::set_index(object, 0);
                *of = Some(parent);
            }
        }
        parents
    }

    /// Numbers the children of each merged object. The order is ours, unless they alone changed it. Children that only
    /// the other side has come last. Returns a conflict for each object whose parent the other side removed; such an object
    /// loses its parent.
    fn order_children(mut self, at: &str, merged: &mut [Value]) -> Vec<Conflict> {
        self.sides
            .iter_mut()
            .flat_map(HashMap::values_mut)
            .for_each(|family| family.sort_unstable());
        let places: HashMap<u64, usize> =
            merged.iter().enumerate().filter_map(|(place, it)| Some((id_of(it)?, place))).collect();
        let mut families: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        let mut removed = Vec::new();
        for (place, (object, member)) in merged.iter_mut().zip(&self.members).enumerate() {
            let Some((parent, _)) = world::parent_of(object) else { continue };
            if places.contains_key(&parent) {
                families.entry(parent).or_default().push(place);
                continue;
            }
            let at = id_of(object).map(|id| member_path(at, id, [Some(object), None, None]));
            let Some(record) = object.as_record_mut() else { continue };
            let old = record.set("parent", Value::Option(None));
            if let Some(at) = at.filter(|_| !member.has_conflict) {
                let side = |of: Option<u64>| old.clone().filter(|_| of == Some(parent));
                let [base, ours, theirs] = member.parents.map(side);
                let mut conflict =
                    Conflict { at: format!("{at}.parent.object"), base, ours, theirs };
                conflict.show_parents();
                removed.push(conflict);
            }
        }
        for (parent, children) in families {
            let [base, ours, theirs] = self.sides.each_ref().map(|side| {
                let children = side.get(&parent).into_iter().flatten();
                children.map(|(_, child)| *child).collect::<Vec<u64>>()
            });
            let is_theirs = !is_reordered(&base, &ours) && is_reordered(&base, &theirs);
            let [first, rest] = if is_theirs { [theirs, ours] } else { [ours, theirs] };
            let mut ranks = HashMap::new();
            for child in first.into_iter().chain(rest) {
                let next = ranks.len();
                ranks.entry(child).or_insert(next);
            }
            let mut children: Vec<(Option<usize>, usize)> = children
                .into_iter()
                .map(|place| (id_of(&merged[place]).and_then(|id| ranks.get(&id).copied()), place))
                .collect();
            children.sort_unstable();
            for (index, (_, place)) in children.into_iter().enumerate() {
                world::set_index(&mut merged[place], index);
            }
        }
        removed
    }
}

fn is_alike(one: &Record, other: &Record) -> bool {
    one.class() == other.class() && one.variant() == other.variant()
}
