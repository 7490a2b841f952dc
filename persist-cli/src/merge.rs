//! Three-way merges of values.

use std::collections::{HashMap, HashSet};

use persist::reflect::HandleValue;
use persist::{Record, Value};

use crate::path::{component_text, push_name};
use crate::values::integer;
use crate::world;

/// Whose value counts where both sides changed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Theirs,
}

/// A part that both sides changed, each in its way.
pub(crate) struct Conflict {
    pub(crate) at: String,
    pub(crate) base: Option<Value>,
    pub(crate) ours: Option<Value>,
    pub(crate) theirs: Option<Value>,
}

/// Merges values, and notes conflicts.
pub(crate) struct Merge {
    pub(crate) prefer: Option<Side>,
    pub(crate) conflicts: Vec<Conflict>,
}

/// A part on each side; `None` where there is none.
type Sides<'v> = [Option<&'v Value>; 3];

impl Merge {
    /// The value that has the changes of both sides; `None` if it is gone.
    ///
    /// Each call is a level of a value, of which a save has at most 512.
    pub(crate) fn value(&mut self, at: &str, sides: Sides<'_>) -> Option<Value> {
        let [base, ours, theirs] = sides;
        if ours == theirs || base == theirs {
            return ours.cloned();
        }
        if base == ours {
            return theirs.cloned();
        }
        match (base, ours, theirs) {
            (
                Some(Value::Option(Some(base))),
                Some(Value::Option(Some(ours))),
                Some(Value::Option(Some(theirs))),
            ) => {
                let inner = self.value(at, [Some(base), Some(ours), Some(theirs)]);
                Some(Value::Option(inner.map(Box::new)))
            }
            (
                Some(Value::Struct(base) | Value::Enum(base)),
                Some(Value::Struct(ours) | Value::Enum(ours)),
                Some(Value::Struct(theirs) | Value::Enum(theirs)),
            ) if is_alike(base, ours) && is_alike(ours, theirs) => {
                Some(self.record(at, [base, ours, theirs]))
            }
            (Some(Value::Map(base)), Some(Value::Map(ours)), Some(Value::Map(theirs))) => {
                let keyed = |entries: &'_ [(Value, Value)]| -> Vec<(String, Value)> {
                    entries.iter().map(|(key, value)| (key_text(key), value.clone())).collect()
                };
                let keys: HashMap<String, &Value> = [base, ours, theirs]
                    .into_iter()
                    .flatten()
                    .map(|(key, _)| (key_text(key), key))
                    .collect();
                let (base, ours, theirs) = (keyed(base), keyed(ours), keyed(theirs));
                let at = |key: &String| format!("{at}[{key}]");
                let merged = self.keyed([&base, &ours, &theirs], at);
                let entries = merged
                    .into_iter()
                    .filter_map(|(key, value)| Some(((*keys.get(&key)?).clone(), value)));
                Some(Value::Map(entries.collect()))
            }
            (
                Some(Value::Seq(base) | Value::Tuple(base)),
                Some(Value::Seq(ours) | Value::Tuple(ours)),
                Some(Value::Seq(theirs) | Value::Tuple(theirs)),
            ) if base.len() == ours.len() && ours.len() == theirs.len() => {
                let parts = base.iter().zip(ours).zip(theirs).enumerate();
                let merged = parts.filter_map(|(place, ((base, ours), theirs))| {
                    self.value(&format!("{at}[{place}]"), [Some(base), Some(ours), Some(theirs)])
                });
                let merged = merged.collect();
                let is_tuple = matches!(sides[1], Some(Value::Tuple(_)));
                Some(if is_tuple { Value::Tuple(merged) } else { Value::Seq(merged) })
            }
            _ => self.conflict(at, sides),
        }
    }

    fn conflict(&mut self, at: &str, [base, ours, theirs]: Sides<'_>) -> Option<Value> {
        let at = if at.is_empty() { "." } else { at }.to_owned();
        let conflict =
            Conflict { at, base: base.cloned(), ours: ours.cloned(), theirs: theirs.cloned() };
        self.conflicts.push(conflict);
        match self.prefer {
            Some(Side::Theirs) => theirs.cloned(),
            _ => ours.cloned(),
        }
    }

    fn record(&mut self, at: &str, [base, ours, theirs]: [&Record; 3]) -> Value {
        let mut merged = match ours.variant() {
            Some(variant) => Record::of_variant(ours.class(), variant),
            None => Record::new(ours.class()),
        };
        let is_world = ours.class() == world::CLASS;
        for (name, value) in ours.fields() {
            let (base, theirs) = (base.get(name), theirs.get(name));
            let mut place = at.to_owned();
            push_name(&mut place, name);
            let parts = (base, value, theirs);
            let value = match (name, parts) {
                (
                    "objects",
                    (Some(Value::Seq(base)), Value::Seq(ours), Some(Value::Seq(theirs))),
                ) if is_world => Some(self.objects(at, [base, ours, theirs])),
                (
                    "resources",
                    (Some(Value::Seq(base)), Value::Seq(ours), Some(Value::Seq(theirs))),
                ) if is_world => Some(self.by_class(at, [base, ours, theirs])),
                // The ids that were given so far.
                ("last_id", (_, ours, Some(theirs))) if is_world => {
                    Some(if integer(theirs) > integer(ours) { theirs } else { ours }.clone())
                }
                _ => self.value(&place, [base, Some(value), theirs]),
            };
            if let Some(value) = value {
                merged.set(name, value);
            }
        }
        merged.into()
    }

    /// Merges what has keys: the order is ours, then theirs.
    fn keyed(
        &mut self,
        [base, ours, theirs]: [&Vec<(String, Value)>; 3],
        at: impl Fn(&String) -> String,
    ) -> Vec<(String, Value)> {
        let by_key =
            |of: &'_ [(String, Value)]| -> HashMap<String, Value> { of.iter().cloned().collect() };
        let (base, theirs_by) = (by_key(base), by_key(theirs));
        let ours_by: HashSet<&String> = ours.iter().map(|(key, _)| key).collect();
        let mut merged = Vec::new();
        for (key, value) in ours {
            let sides = [base.get(key), Some(value), theirs_by.get(key)];
            merged.extend(self.value(&at(key), sides).map(|value| (key.clone(), value)));
        }
        for (key, value) in theirs.iter().filter(|(key, _)| !ours_by.contains(key)) {
            let sides = [base.get(key), None, Some(value)];
            merged.extend(self.value(&at(key), sides).map(|value| (key.clone(), value)));
        }
        merged
    }

    /// Merges the objects of a world, by their ids.
    fn objects(&mut self, at: &str, sides: [&[Value]; 3]) -> Value {
        let keyed = sides.map(|objects| {
            let id = |object: &Value| object.as_record()?.get("id")?.as_u64();
            let keyed = objects.iter().filter_map(|it| Some((id(it)?.to_string(), it.clone())));
            keyed.collect::<Vec<(String, Value)>>()
        });
        let by_id = |side: &'_ [(String, Value)]| -> HashMap<String, Value> {
            side.iter().cloned().collect()
        };
        let [base, ours, theirs] = [by_id(&keyed[0]), by_id(&keyed[1]), by_id(&keyed[2])];
        let mut ids: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
        ids.sort_by_key(|id| (id.len(), *id));
        ids.dedup();
        let mut merged = Vec::new();
        for id in ids {
            let sides = [base.get(id), ours.get(id), theirs.get(id)];
            let name = sides.iter().flatten().find_map(|object| {
                object.as_record()?.get("name")?.as_text().filter(|name| !name.is_empty())
            });
            let at = name.map_or_else(|| format!("{at}/#{id}"), |name| format!("{at}/{name}"));
            let records = sides.map(|object| object.and_then(Value::as_record));
            merged.extend(match records {
                [Some(base), Some(ours), Some(theirs)] if base != ours && base != theirs => {
                    Some(self.object(&at, [base, ours, theirs]))
                }
                _ => self.value(&at, sides),
            });
        }
        Value::Seq(merged)
    }

    fn object(&mut self, at: &str, [base, ours, theirs]: [&Record; 3]) -> Value {
        let mut merged = Record::new(ours.class());
        for (name, value) in ours.fields() {
            let (base, theirs) = (base.get(name), theirs.get(name));
            let value = match (name, base, value, theirs) {
                (
                    "components",
                    Some(Value::Seq(base)),
                    Value::Seq(ours),
                    Some(Value::Seq(theirs)),
                ) => Some(self.by_class(at, [base, ours, theirs])),
                (
                    "children",
                    Some(Value::Seq(base)),
                    Value::Seq(ours),
                    Some(Value::Seq(theirs)),
                ) => Some(children([base, ours, theirs])),
                // How many components have not been started.
                ("waiting", _, ours, Some(theirs)) => {
                    Some(if integer(theirs) > integer(ours) { theirs } else { ours }.clone())
                }
                _ => self.value(&format!("{at}.{name}"), [base, Some(value), theirs]),
            };
            if let Some(value) = value {
                merged.set(name, value);
            }
        }
        let count = merged.get("components").and_then(Value::as_seq).map_or(0, <[Value]>::len);
        let waiting = merged.get("waiting").and_then(Value::as_u64);
        if waiting.is_some_and(|waiting| waiting > count as u64) {
            merged.set("waiting", u32::try_from(count).unwrap_or(u32::MAX));
        }
        merged.into()
    }

    /// Merges components or resources, of each class one.
    fn by_class(&mut self, at: &str, sides: [&[Value]; 3]) -> Value {
        let keyed = sides.map(|values| {
            let class = |value: &Value| Some(value.as_record()?.class().to_owned());
            let keyed = values.iter().filter_map(|value| Some((class(value)?, value.clone())));
            keyed.collect::<Vec<(String, Value)>>()
        });
        let at = |class: &String| format!("{at}:{}", component_text(class));
        let merged = self.keyed([&keyed[0], &keyed[1], &keyed[2]], at);
        Value::Seq(merged.into_iter().map(|(_, value)| value).collect())
    }
}

/// Ours, without those that they took out, and with those that they added.
fn children([base, ours, theirs]: [&[Value]; 3]) -> Value {
    let id = |child: &Value| match child {
        Value::Handle(HandleValue::Live(id)) => Some(*id),
        _ => None,
    };
    let ids = |of: &[Value]| -> HashSet<u64> { of.iter().filter_map(id).collect() };
    let (old, own, other) = (ids(base), ids(ours), ids(theirs));
    let stays = |child: &&Value| {
        id(child).is_none_or(|child| !old.contains(&child) || other.contains(&child))
    };
    let comes = |child: &&Value| {
        id(child).is_some_and(|child| !old.contains(&child) && !own.contains(&child))
    };
    let stayed = ours.iter().filter(stays);
    Value::Seq(stayed.chain(theirs.iter().filter(comes)).cloned().collect())
}

fn is_alike(one: &Record, other: &Record) -> bool {
    one.class() == other.class() && one.variant() == other.variant()
}

fn key_text(key: &Value) -> String {
    match integer(key) {
        Some(number) => number.to_string(),
        None => key.to_string(),
    }
}
