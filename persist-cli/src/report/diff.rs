//! The differences between two saves, for the page.
//!
//! Both are read part by part: a digest of each field is all that is held of their values.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use persist::Value;
use serde::Serialize;

use super::index::{Index, each_part};
use crate::compare::By;
use crate::exit::Result;
use crate::input::Save;
use crate::objects::{Kinds, Target};

/// The objects of two saves that differ, by their numbers in each.
pub(crate) struct Difference {
    /// Classes and fields.
    names: Vec<(String, String)>,
    /// In the order of the first save, with the fields that differ.
    pub(crate) changed: Vec<(usize, usize, Vec<usize>)>,
    pub(crate) gone: Vec<usize>,
    pub(crate) added: Vec<usize>,
}

/// The objects of the page that differ. Objects of the first save are in `a`, those of the second in `b`.
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
    /// How many objects differ, whether the page has them or not.
    totals: Totals,
}

#[derive(Serialize)]
struct Totals {
    changed: usize,
    gone: usize,
    added: usize,
}

impl Difference {
    pub(crate) fn of(
        (a, a_index): (&mut Save<'_>, &Index),
        (b, b_index): (&mut Save<'_>, &Index),
        by: By,
        hasher: &RandomState,
    ) -> Result<Self> {
        let pairs = Pairs::of(a_index, b_index, by, hasher);
        let mut names = FieldNames::default();
        let old = digests(a, a_index, &pairs.tokens(), &mut names, hasher)?;
        let new = digests(b, b_index, &pairs.other_tokens(), &mut names, hasher)?;
        let mut differing: HashMap<u64, Vec<u32>> = HashMap::new();
        let key = |it: &(u64, u32, u64)| (it.0, it.1);
        let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let (token, field) = match (old.peek(), new.peek()) {
                (Some(one), Some(other)) => key(one).min(key(other)),
                (Some(one), None) | (None, Some(one)) => key(one),
                (None, None) => break,
            };
            let is_it = |it: &&(u64, u32, u64)| key(it) == (token, field);
            if old.next_if(is_it) != new.next_if(is_it) {
                differing.entry(token).or_default().push(field);
            }
        }
        Ok(Self::sorted(&pairs, &names, &differing))
    }

    /// Brings what differs into the order of the first save, and fields into that of their names.
    fn sorted(pairs: &Pairs, fields: &FieldNames, differing: &HashMap<u64, Vec<u32>>) -> Self {
        let mut known = HashMap::new();
        let mut names = Vec::new();
        let mut changed = Vec::new();
        for (place, other) in pairs.others.iter().enumerate() {
            let (Some(other), Some(found)) = (other, differing.get(&(place as u64))) else {
                continue;
            };
            let mut found: Vec<_> = found.iter().map(|it| &fields.names[*it as usize]).collect();
            found.sort();
            let found = found.into_iter().map(|name| {
                *known.entry(name).or_insert_with(|| {
                    names.push(name.clone());
                    names.len() - 1
                })
            });
            changed.push((place, *other, found.collect()));
        }
        let gone = (0..pairs.others.len()).filter(|place| pairs.others[*place].is_none());
        let added = (0..pairs.sources.len()).filter(|place| pairs.sources[*place].is_none());
        Self { names, changed, gone: gone.collect(), added: added.collect() }
    }

    /// Returns that many objects of the first or the second save: as many of those that changed, and of those that only
    /// this save has.
    pub(crate) fn first(&self, is_first: bool, count: usize) -> Vec<usize> {
        let (only, changed) = match is_first {
            true => (&self.gone, self.changed.iter().map(|it| it.0).collect::<Vec<_>>()),
            false => (&self.added, self.changed.iter().map(|it| it.1).collect()),
        };
        changed.iter().take(count / 2).chain(only.iter().take(count / 2)).copied().collect()
    }

    /// Returns the part of it whose objects the page has. The maps have the places in the page of numbers.
    pub(crate) fn shown(&self, a: &HashMap<usize, usize>, b: &HashMap<usize, usize>) -> Diff {
        let shown = |numbers: &[usize], map: &HashMap<usize, usize>| {
            let mut places: Vec<usize> =
                numbers.iter().filter_map(|it| map.get(it).copied()).collect();
            places.sort_unstable();
            places
        };
        let totals =
            Totals { changed: self.changed.len(), gone: self.gone.len(), added: self.added.len() };
        let mut diff = Diff {
            names: self.names.clone(),
            a: Vec::new(),
            b: Vec::new(),
            fields: Vec::new(),
            gone: shown(&self.gone, a),
            added: shown(&self.added, b),
            totals,
        };
        for (old, new, fields) in &self.changed {
            if let (Some(old), Some(new)) = (a.get(old), b.get(new)) {
                diff.a.push(*old);
                diff.b.push(*new);
                diff.fields.push(fields.clone());
            }
        }
        diff
    }
}

/// The objects of two saves that are the same ones.
struct Pairs {
    /// For each object of the first save that of the second.
    others: Vec<Option<usize>>,
    /// For each object of the second save that of the first.
    sources: Vec<Option<usize>>,
}

impl Pairs {
    /// Pairs by a name that no other object of the class has, if asked for, and what is left by id.
    fn of(a: &Index, b: &Index, by: By, hasher: &RandomState) -> Self {
        let mut this =
            Self { others: vec![None; a.objects.len()], sources: vec![None; b.objects.len()] };
        let class = |index: &Index, number: usize| {
            hasher.hash_one(&index.classes[index.class(number)].name)
        };
        if by == By::Name {
            let key = |index: &Index, number: usize| {
                let name = index.objects[number].name;
                (name != 0).then(|| hasher.hash_one((class(index, number), name)))
            };
            this.pair(&unique(a, key), &unique(b, key));
        }
        let key = |index: &Index, number: usize| {
            let is_member = index.world(number).is_some();
            let id = index.objects[number].id;
            Some(hasher.hash_one((is_member, class(index, number), id)))
        };
        this.pair(&unique(a, key), &unique(b, key));
        this
    }

    /// Pairs objects that have no other yet by a key.
    fn pair(&mut self, a: &HashMap<u64, Option<usize>>, b: &HashMap<u64, Option<usize>>) {
        for (key, place) in a {
            let Some(place) = place.filter(|place| self.others[*place].is_none()) else { continue };
            let Some(Some(other)) = b.get(key) else { continue };
            if self.sources[*other].is_none() {
                (self.others[place], self.sources[*other]) = (Some(*other), Some(place));
            }
        }
    }

    /// Returns a number for each object of the first save, which the same object of the second has, too.
    fn tokens(&self) -> Vec<u64> {
        let token = |(place, other): (u64, &Option<usize>)| match other {
            Some(_) => place,
            None => place | ONLY_IN_FIRST,
        };
        (0..).zip(&self.others).map(token).collect()
    }

    fn other_tokens(&self) -> Vec<u64> {
        let token = |(place, source): (u64, &Option<usize>)| match source {
            Some(source) => *source as u64,
            None => place | ONLY_IN_SECOND,
        };
        (0..).zip(&self.sources).map(token).collect()
    }
}

const ONLY_IN_FIRST: u64 = 1 << 62;
const ONLY_IN_SECOND: u64 = 1 << 63;

/// Objects by a key; `None` for keys that several have.
fn unique(
    index: &Index,
    key: impl Fn(&Index, usize) -> Option<u64>,
) -> HashMap<u64, Option<usize>> {
    let mut known = HashMap::new();
    for place in 0..index.objects.len() {
        if let Some(key) = key(index, place) {
            known.entry(key).and_modify(|known| *known = None).or_insert(Some(place));
        }
    }
    known
}

/// Numbers of classes and fields.
#[derive(Default)]
struct FieldNames {
    names: Vec<(String, String)>,
    known: HashMap<String, HashMap<String, u32>>,
}

impl FieldNames {
    fn number(&mut self, class: &str, field: &str) -> u32 {
        if let Some(number) = self.known.get(class).and_then(|fields| fields.get(field)) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push((class.to_owned(), field.to_owned()));
        self.known.entry(class.to_owned()).or_default().insert(field.to_owned(), number);
        number
    }
}

/// Returns the token of the object, the number and the digest of each field, sorted.
fn digests(
    save: &mut Save<'_>,
    index: &Index,
    tokens: &[u64],
    names: &mut FieldNames,
    hasher: &RandomState,
) -> Result<Vec<(u64, u32, u64)>> {
    let classes = save.classes().to_vec();
    let kinds = Kinds::of(&classes);
    let mut fields = Vec::new();
    each_part(save, &mut |objects, numbers| {
        objects.find_program_handles(&kinds);
        for (place, number) in numbers.iter().enumerate() {
            let token = |value: &Value| {
                let number = match objects.refers_to(place, value)? {
                    Target::Entry(id) => index.entry(id),
                    Target::Member(world, id) => index.member(numbers[world] as usize, id),
                    Target::Place(place) => Some(numbers[place] as usize),
                };
                number.map(|number| tokens[number])
            };
            for part in &objects.objects[place].parts {
                for (name, value) in &part.fields {
                    let digest = digest(value, &token, hasher);
                    let field = names.number(part.class, name);
                    fields.push((tokens[*number as usize], field, digest));
                }
            }
        }
    })?;
    fields.sort_unstable();
    Ok(fields)
}

/// Returns a digest of a value, in which objects are their tokens. Its parts are a list, however deep they are.
fn digest(value: &Value, token: &dyn Fn(&Value) -> Option<u64>, hasher: &RandomState) -> u64 {
    let mut text = HashedText(hasher.build_hasher());
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if let Some(token) = token(value) {
            (0_u8, token).hash(&mut text.0);
            continue;
        }
        match value {
            Value::Option(Some(inner)) => {
                1_u8.hash(&mut text.0);
                open.push(inner);
            }
            Value::Seq(values) | Value::Tuple(values) => {
                (2_u8, values.len()).hash(&mut text.0);
                open.extend(values);
            }
            Value::Map(entries) => {
                (3_u8, entries.len()).hash(&mut text.0);
                open.extend(entries.iter().flat_map(|(key, value)| [key, value]));
            }
            Value::Struct(record) | Value::Enum(record) => {
                (4_u8, record.class(), record.variant(), record.len()).hash(&mut text.0);
                for (name, value) in record.fields() {
                    name.hash(&mut text.0);
                    open.push(value);
                }
            }
            Value::Text(value) => (5_u8, value).hash(&mut text.0),
            Value::Bytes(bytes) => (6_u8, bytes).hash(&mut text.0),
            // Its text has the kind, too. Hashing does not fail.
            value => drop(write!(text, "{value}")),
        }
    }
    text.0.finish()
}

/// Hashes what is written.
struct HashedText<H>(H);

impl<H: Hasher> fmt::Write for HashedText<H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.hash(&mut self.0);
        Ok(())
    }
}
