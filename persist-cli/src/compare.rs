//! Compares two saves, object by object and field by field.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use persist::reflect::HandleValue;
use persist::{ObjectId, Value};
use persist_tools::{Document, Entry};

use crate::values::key_text;
use crate::world::{Object, World};

/// How objects of two saves are paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum By {
    /// By their ids.
    #[default]
    Id,
    /// By class and name. Ids change when a program rebuilds its objects.
    Name,
}

/// An added or removed object, or a pair of objects that differ.
pub(crate) struct Difference<'d> {
    pub(crate) old: Option<&'d Entry>,
    pub(crate) new: Option<&'d Entry>,
    /// The parts that differ; empty unless this is a pair.
    pub(crate) changes: Vec<Change<'d>>,
}

/// A part of two objects that is not alike.
pub(crate) struct Change<'d> {
    /// The path of the part after the object.
    pub(crate) at: String,
    /// The class of the component that it is in, if it is in one.
    pub(crate) component: Option<&'d str>,
    pub(crate) old: Option<&'d Value>,
    pub(crate) new: Option<&'d Value>,
}

/// Returns the differences of two saves: pairs in the order of the old save, then new objects.
pub(crate) fn compare<'d>(old: &'d Document, new: &'d Document, by: By) -> Vec<Difference<'d>> {
    let mut pairs = Pairs::new(old, new, by);
    let mut found = Vec::new();
    for (place, entry) in pairs.old.clone().into_iter().enumerate() {
        let Some(other) = pairs.partner[place] else {
            found.push(Difference { old: Some(entry), new: None, changes: Vec::new() });
            continue;
        };
        pairs.is_seen[other] = true;
        let other = pairs.new[other];
        let changes = if entry.class() == other.class() {
            changes(&entry.value, &other.value, &pairs.ids, by)
        } else {
            let (old, new) = (Some(&entry.value), Some(&other.value));
            vec![Change { at: String::new(), component: None, old, new }]
        };
        if !changes.is_empty() {
            found.push(Difference { old: Some(entry), new: Some(other), changes });
        }
    }
    let added = pairs.new.iter().zip(&pairs.is_seen).filter(|(_, is_seen)| !**is_seen);
    found.extend(added.map(|(entry, _)| Difference {
        old: None,
        new: Some(entry),
        changes: Vec::new(),
    }));
    found
}

/// The name that an object has in a field.
pub(crate) fn name(entry: &Entry) -> Option<&str> {
    entry.value.as_record()?.get("name")?.as_text()
}

/// The pairs of objects of two saves.
struct Pairs<'d> {
    old: Vec<&'d Entry>,
    new: Vec<&'d Entry>,
    /// The index of the new object, for each old one.
    partner: Vec<Option<usize>>,
    is_seen: Vec<bool>,
    /// Old ids whose partners have others.
    ids: HashMap<ObjectId, ObjectId>,
}

impl<'d> Pairs<'d> {
    fn new(old: &'d Document, new: &'d Document, by: By) -> Self {
        let (old, new): (Vec<&Entry>, Vec<&Entry>) =
            (old.entries().collect(), new.entries().collect());
        let mut partner = vec![None; old.len()];
        let mut is_free = vec![true; new.len()];
        if by == By::Name {
            // Objects with equal names are paired in their order.
            let key = |entry: &'d Entry| {
                Some((entry.class(), entry.is_kept(), name(entry).unwrap_or_default()))
            };
            pair(&old, &new, (&mut partner, &mut is_free), key);
        } else {
            let key = |entry: &'d Entry| Some((entry.id(), entry.is_kept(), entry.class()));
            pair(&old, &new, (&mut partner, &mut is_free), key);
            // The rest may have changed its class: unknown once, or rebuilt by the program.
            let key = |entry: &'d Entry| (!entry.is_kept()).then(|| entry.id());
            pair(&old, &new, (&mut partner, &mut is_free), key);
        }
        let ids = old.iter().zip(&partner).filter_map(|(entry, partner)| {
            let other = new[(*partner)?].id();
            (entry.id() != other && !entry.is_kept()).then(|| (entry.id(), other))
        });
        let ids = ids.collect();
        let is_seen = vec![false; new.len()];
        Self { old, new, partner, is_seen, ids }
    }
}

/// Pairs objects with equal keys, the first with the first.
fn pair<'d, K: std::hash::Hash + Eq>(
    old: &[&'d Entry],
    new: &[&'d Entry],
    (partner, is_free): (&mut [Option<usize>], &mut [bool]),
    key: impl Fn(&'d Entry) -> Option<K>,
) {
    let mut by_key: HashMap<K, VecDeque<usize>> = HashMap::new();
    for (place, entry) in new.iter().enumerate().filter(|(place, _)| is_free[*place]) {
        if let Some(key) = key(entry) {
            by_key.entry(key).or_default().push_back(place);
        }
    }
    for (entry, partner) in old.iter().zip(partner).filter(|(_, partner)| partner.is_none()) {
        let found = key(entry).and_then(|key| by_key.get_mut(&key)?.pop_front());
        if let Some(place) = found {
            is_free[place] = false;
            *partner = Some(place);
        }
    }
}

/// Two values that are to be compared, and where they are.
struct Open<'d> {
    at: String,
    component: Option<&'d str>,
    old: Option<&'d Value>,
    new: Option<&'d Value>,
    /// The old ids of the world that they are in, with the new ones.
    world: Option<std::rc::Rc<HashMap<u64, u64>>>,
}

/// The parts of two values of one save that are not alike.
pub(crate) fn parts<'d>(old: &'d Value, new: &'d Value) -> Vec<Change<'d>> {
    changes(old, new, &HashMap::new(), By::Id)
}

/// The parts of two values that are not alike, but for these ids.
fn changes<'d>(
    old: &'d Value,
    new: &'d Value,
    ids: &HashMap<ObjectId, ObjectId>,
    by: By,
) -> Vec<Change<'d>> {
    let mut found = Vec::new();
    let (old, new) = (Some(old), Some(new));
    let mut open = vec![Open { at: String::new(), component: None, old, new, world: None }];
    while let Some(next) = open.pop() {
        let (Some(old), Some(new)) = (next.old, next.new) else {
            found.push(next.change());
            continue;
        };
        if is_same(old, new, ids, next.world.as_deref()) {
            continue;
        }
        let start = open.len();
        if !next.parts(old, new, (ids, by), &mut open) {
            found.push(next.change());
        }
        open[start..].reverse();
    }
    found
}

impl<'d> Open<'d> {
    fn change(self) -> Change<'d> {
        Change { at: self.at, component: self.component, old: self.old, new: self.new }
    }

    fn part(&self, at: String, old: Option<&'d Value>, new: Option<&'d Value>) -> Self {
        Self { at, old, new, component: self.component, world: self.world.clone() }
    }

    /// Adds the parts of two values; false if they are compared as wholes.
    fn parts(
        &self,
        old: &'d Value,
        new: &'d Value,
        (ids, by): (&HashMap<ObjectId, ObjectId>, By),
        open: &mut Vec<Self>,
    ) -> bool {
        match (old, new) {
            (Value::Option(Some(old)), Value::Option(Some(new))) => {
                open.push(self.part(self.at.clone(), Some(old), Some(new)));
            }
            (Value::Struct(one), Value::Struct(other)) if one.class() == other.class() => {
                match (World::of(old), World::of(new)) {
                    (Some(one), Some(other)) => self.worlds(&one, &other, by, open),
                    _ => self.fields(one, other, open),
                }
            }
            (Value::Enum(one), Value::Enum(other))
                if one.class() == other.class() && one.variant() == other.variant() =>
            {
                self.fields(one, other, open);
            }
            (Value::Map(one), Value::Map(other)) => self.entries(one, other, open),
            (Value::Seq(one), Value::Seq(other)) | (Value::Tuple(one), Value::Tuple(other)) => {
                self.items(one, other, ids, open);
            }
            _ => return false,
        }
        true
    }

    fn fields(&self, old: &'d persist::Record, new: &'d persist::Record, open: &mut Vec<Self>) {
        let at = |name: &str| {
            let mut at = self.at.clone();
            crate::path::push_name(&mut at, name);
            at
        };
        open.extend(
            old.fields().map(|(name, value)| self.part(at(name), Some(value), new.get(name))),
        );
        let is_new = |(name, _): &(&str, &Value)| old.get(name).is_none();
        let added = new.fields().filter(is_new);
        open.extend(added.map(|(name, value)| self.part(at(name), None, Some(value))));
    }

    fn entries(&self, old: &'d [(Value, Value)], new: &'d [(Value, Value)], open: &mut Vec<Self>) {
        let mut by_key: BTreeMap<String, &'d Value> =
            new.iter().map(|(key, value)| (key_text(key), value)).collect();
        for (key, value) in old {
            let other = by_key.remove(&key_text(key));
            open.push(self.part(format!("{}[{key}]", self.at), Some(value), other));
        }
        let is_added = |key: &Value| by_key.contains_key(&key_text(key));
        let added = new.iter().filter(|(key, _)| is_added(key));
        open.extend(
            added.map(|(key, value)| self.part(format!("{}[{key}]", self.at), None, Some(value))),
        );
    }

    /// Pairs the elements of two lists: those that both begin and end with, then the others in their order.
    fn items(
        &self,
        old: &'d [Value],
        new: &'d [Value],
        ids: &HashMap<ObjectId, ObjectId>,
        open: &mut Vec<Self>,
    ) {
        let same =
            |(one, other): &(&Value, &Value)| is_same(one, other, ids, self.world.as_deref());
        let start = old.iter().zip(new).take_while(same).count();
        let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = if old.len() == new.len() { 0 } else { ends.take_while(same).count() };
        let (old_end, new_end) = (old.len() - end, new.len() - end);
        for at in start..old_end.max(new_end) {
            let old = old[..old_end].get(at);
            open.push(self.part(format!("{}[{at}]", self.at), old, new[..new_end].get(at)));
        }
    }

    /// Pairs objects of two worlds by their ids or names, components and resources by their classes.
    fn worlds(&self, old: &World<'d>, new: &World<'d>, by: By, open: &mut Vec<Self>) {
        let paths: HashMap<String, usize> = match by {
            By::Name => (0..new.objects.len()).map(|place| (new.path(place), place)).collect(),
            By::Id => HashMap::new(),
        };
        let partner = |place: usize| match by {
            By::Id => new.place(old.objects[place].id),
            By::Name => paths.get(&old.path(place)).copied(),
        };
        let partners: Vec<Option<usize>> = (0..old.objects.len()).map(partner).collect();
        let pairs = old.objects.iter().zip(&partners);
        let moved: HashMap<u64, u64> = pairs
            .filter_map(|(object, partner)| Some((object.id, new.objects[(*partner)?].id)))
            .filter(|(old, new)| old != new)
            .collect();
        let inside = Self {
            world: (!moved.is_empty()).then(|| std::rc::Rc::new(moved)),
            ..self.part(self.at.clone(), None, None)
        };
        // Added and removed objects are reported by themselves. Among the others, a move is another parent or another
        // place there.
        let is_shared: HashSet<u64> =
            partners.iter().flatten().map(|partner| new.objects[*partner].id).collect();
        let has_moved = |one: &Object<'_>, other: &Object<'_>| {
            let partner = |child: &u64| Some(new.objects[partners[old.place(*child)?]?].id);
            let stayed = one.children.iter().filter_map(partner);
            !stayed.eq(other.children.iter().copied().filter(|child| is_shared.contains(child)))
        };
        let mut is_seen = vec![false; new.objects.len()];
        for (place, (object, partner)) in old.objects.iter().zip(&partners).enumerate() {
            let Some(partner) = *partner else {
                let at = format!("{}{}", self.at, old.path(place));
                open.push(inside.part(at, Some(object.value), None));
                continue;
            };
            is_seen[partner] = true;
            // The path in the new world.
            let (old_path, at) = (old.path(place), new.path(partner));
            let at = format!("{}{at}", self.at);
            let other = &new.objects[partner];
            let (one, two) = (object.value.as_record(), other.value.as_record());
            if let (Some(one), Some(two)) = (one, two) {
                for name in ["name", "activity"] {
                    open.push(inside.part(format!("{at}.{name}"), one.get(name), two.get(name)));
                }
                let children = |record: &'d persist::Record| record.get("children");
                if old_path != new.path(partner)
                    || object.children.len() == other.children.len()
                    || has_moved(object, other)
                {
                    let at = format!("{at}.children");
                    open.push(inside.part(at, children(one), children(two)));
                }
            }
            inside.by_class(&at, object.components, other.components, open);
        }
        for (place, object) in new.objects.iter().enumerate().filter(|(place, _)| !is_seen[*place])
        {
            let at = format!("{}{}", self.at, new.path(place));
            open.push(inside.part(at, None, Some(object.value)));
        }
        inside.by_class(&self.at, old.resources, new.resources, open);
    }

    fn by_class(&self, at: &str, old: &'d [Value], new: &'d [Value], open: &mut Vec<Self>) {
        let class = |value: &'d Value| value.as_record().map_or("", |record| record.class());
        let part = |value: &'d Value, old, new| {
            let class = class(value);
            let at = format!("{at}:{}", crate::path::component_text(class));
            Self { component: Some(class), ..self.part(at, old, new) }
        };
        let mut others: HashMap<&str, &'d Value> = new.iter().map(|it| (class(it), it)).collect();
        for value in old {
            open.push(part(value, Some(value), others.remove(class(value))));
        }
        let added = new.iter().filter(|value| others.contains_key(class(value)));
        open.extend(added.map(|value| part(value, None, Some(value))));
    }
}

/// True if two values are alike but for ids that are not the same in both saves.
fn is_same(
    old: &Value,
    new: &Value,
    ids: &HashMap<ObjectId, ObjectId>,
    world: Option<&HashMap<u64, u64>>,
) -> bool {
    if ids.is_empty() && world.is_none() {
        return old == new;
    }
    let mut open = vec![(old, new)];
    while let Some((old, new)) = open.pop() {
        let is_same = match (old, new) {
            (Value::Ref(Some(old)), Value::Ref(Some(new))) => ids.get(old).unwrap_or(old) == new,
            (Value::Handle(HandleValue::Live(old)), Value::Handle(HandleValue::Live(new))) => {
                world.and_then(|world| world.get(old)).unwrap_or(old) == new
            }
            (Value::Option(Some(old)), Value::Option(Some(new))) => {
                open.push((old, new));
                true
            }
            (Value::Seq(old), Value::Seq(new)) | (Value::Tuple(old), Value::Tuple(new)) => {
                open.extend(old.iter().zip(new));
                old.len() == new.len()
            }
            (Value::Map(old), Value::Map(new)) => {
                let pairs = old.iter().zip(new);
                open.extend(pairs.flat_map(|((a, b), (c, d))| [(a, c), (b, d)]));
                old.len() == new.len()
            }
            (Value::Struct(old), Value::Struct(new)) | (Value::Enum(old), Value::Enum(new)) => {
                let pairs = old.fields().zip(new.fields());
                let is_same = |((one, _), (other, _)): ((&str, _), (&str, _))| one == other;
                let has_same_names = old.fields().zip(new.fields()).all(is_same);
                open.extend(pairs.map(|((_, old), (_, new))| (old, new)));
                old.class() == new.class()
                    && old.variant() == new.variant()
                    && old.len() == new.len()
                    && has_same_names
            }
            (old, new) => old == new,
        };
        if !is_same {
            return false;
        }
    }
    true
}
