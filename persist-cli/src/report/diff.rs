//! The differences between two saves, for the page.

use std::collections::{BTreeSet, HashMap};

use persist::Value;
use serde::Serialize;

use crate::compare::By;
use crate::objects::{Object, Objects};

/// The objects that differ. Objects of the first save are in `a`, those of the second in `b`.
#[derive(Serialize)]
pub(crate) struct Diff {
    /// Classes and fields, which `fields` counts.
    names: Vec<(String, String)>,
    a: Vec<usize>,
    b: Vec<usize>,
    /// The fields that differ, for each pair of objects.
    fields: Vec<Vec<usize>>,
    gone: Vec<usize>,
    added: Vec<usize>,
}

/// The fields of an object, by class and name.
type Fields<'d> = HashMap<(&'d str, &'d str), &'d Value>;

impl Diff {
    pub(crate) fn of(a: &Objects<'_>, b: &Objects<'_>, by: By) -> Self {
        let pairs = Pairs::of(a, b, by);
        let mut names = HashMap::new();
        let mut diff = Self {
            names: Vec::new(),
            a: Vec::new(),
            b: Vec::new(),
            fields: Vec::new(),
            gone: Vec::new(),
            added: Vec::new(),
        };
        for (place, other) in pairs.others.iter().enumerate() {
            let Some(other) = *other else {
                diff.gone.push(place);
                continue;
            };
            let differing = pairs.differing(place, other);
            if differing.is_empty() {
                continue;
            }
            let fields = differing.into_iter().map(|(class, field)| {
                *names.entry((class, field)).or_insert_with(|| {
                    diff.names.push((class.to_owned(), field.to_owned()));
                    diff.names.len() - 1
                })
            });
            diff.fields.push(fields.collect());
            diff.a.push(place);
            diff.b.push(other);
        }
        diff.added = (0..b.objects.len()).filter(|place| !pairs.is_seen[*place]).collect();
        diff
    }
}

/// The objects of two saves that are the same ones.
struct Pairs<'o, 'd> {
    a: &'o Objects<'d>,
    b: &'o Objects<'d>,
    /// For each object of `a` that of `b`.
    others: Vec<Option<usize>>,
    /// The objects of `b` that are others.
    is_seen: Vec<bool>,
}

impl<'o, 'd> Pairs<'o, 'd> {
    /// Pairs by a name that no other object of the class has, if asked for, and what is left by id.
    fn of(a: &'o Objects<'d>, b: &'o Objects<'d>, by: By) -> Self {
        let others = vec![None; a.objects.len()];
        let mut this = Self { a, b, others, is_seen: vec![false; b.objects.len()] };
        if by == By::Name {
            this.pair(
                |objects| unique(objects, |object| (object.class, object.name)),
                |object| !object.name.is_empty(),
            );
        }
        this.pair(
            |objects| unique(objects, |object| (object.world.is_some(), object.class, object.id)),
            |_| true,
        );
        this
    }

    /// Pairs objects that have no other yet by a key.
    fn pair<K: Eq + std::hash::Hash>(
        &mut self,
        keys: impl Fn(&'o [Object<'d>]) -> HashMap<K, Option<usize>>,
        has_key: impl Fn(&Object<'d>) -> bool,
    ) {
        let known = keys(&self.b.objects);
        for (key, place) in keys(&self.a.objects) {
            let Some(place) = place.filter(|place| self.others[*place].is_none()) else { continue };
            let Some(Some(other)) = known.get(&key) else { continue };
            if has_key(&self.a.objects[place])
                && !std::mem::replace(&mut self.is_seen[*other], true)
            {
                self.others[place] = Some(*other);
            }
        }
    }

    /// Classes and names of the fields that differ.
    fn differing(&self, a: usize, b: usize) -> BTreeSet<(&'d str, &'d str)> {
        let (old, new) = (fields(&self.a.objects[a]), fields(&self.b.objects[b]));
        let is_same = |key: &(&str, &str)| match (old.get(key), new.get(key)) {
            (Some(old), Some(new)) => self.is_same((a, old), (b, new)),
            _ => false,
        };
        old.keys().chain(new.keys()).filter(|key| !is_same(key)).copied().collect()
    }

    /// Returns whether two values of objects are equal. References are compared by their targets. Their parts are a
    /// list, however deep they are.
    fn is_same(&self, (a, old): (usize, &Value), (b, new): (usize, &Value)) -> bool {
        let mut open = vec![(old, new)];
        while let Some((old, new)) = open.pop() {
            if let Some(target) = self.a.target(a, old) {
                if self.others[target].is_none() || self.others[target] != self.b.target(b, new) {
                    return false;
                }
                continue;
            }
            match (old, new) {
                (Value::Option(Some(old)), Value::Option(Some(new))) => open.push((old, new)),
                (Value::Seq(old), Value::Seq(new)) | (Value::Tuple(old), Value::Tuple(new))
                    if old.len() == new.len() =>
                {
                    open.extend(old.iter().zip(new));
                }
                (Value::Map(old), Value::Map(new)) if old.len() == new.len() => {
                    let pairs = old.iter().zip(new);
                    open.extend(pairs.flat_map(|(old, new)| [(&old.0, &new.0), (&old.1, &new.1)]));
                }
                (Value::Struct(old), Value::Struct(new)) | (Value::Enum(old), Value::Enum(new)) => {
                    if old.class() != new.class()
                        || old.variant() != new.variant()
                        || old.len() != new.len()
                    {
                        return false;
                    }
                    if old.fields().zip(new.fields()).any(|((old, _), (new, _))| old != new) {
                        return false;
                    }
                    open.extend(
                        old.fields().zip(new.fields()).map(|((_, old), (_, new))| (old, new)),
                    );
                }
                (old, new) if old == new => {}
                _ => return false,
            }
        }
        true
    }
}

/// Objects by a key; `None` for keys that several have.
fn unique<'o, 'd, K: Eq + std::hash::Hash>(
    objects: &'o [Object<'d>],
    key: impl Fn(&'o Object<'d>) -> K,
) -> HashMap<K, Option<usize>> {
    let mut known = HashMap::new();
    for (place, object) in objects.iter().enumerate() {
        known.entry(key(object)).and_modify(|known| *known = None).or_insert(Some(place));
    }
    known
}

fn fields<'d>(object: &Object<'d>) -> Fields<'d> {
    let fields = object
        .parts
        .iter()
        .flat_map(|part| part.fields.iter().map(|(name, value)| ((part.class, *name), *value)));
    fields.collect()
}
