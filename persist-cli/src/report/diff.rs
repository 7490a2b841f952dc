//! What differs between two saves, by the paths of their objects.

use std::collections::{BTreeSet, HashMap};

use persist::Value;
use serde::Serialize;

use crate::objects::{Object, Objects};

/// The objects that differ. Those of the first save are in `a`, those of the second in `b`.
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
    pub(crate) fn of(a: &Objects<'_>, b: &Objects<'_>) -> Self {
        let key = |object: &Object<'_>| (object.world.is_some(), object.id);
        let places: HashMap<_, _> =
            b.objects.iter().enumerate().map(|(place, object)| (key(object), place)).collect();
        let mut is_met = vec![false; b.objects.len()];
        let mut names = HashMap::new();
        let mut diff = Self {
            names: Vec::new(),
            a: Vec::new(),
            b: Vec::new(),
            fields: Vec::new(),
            gone: Vec::new(),
            added: Vec::new(),
        };
        for (place, object) in a.objects.iter().enumerate() {
            let Some(other) = places.get(&key(object)) else {
                diff.gone.push(place);
                continue;
            };
            is_met[*other] = true;
            let differing = differing(object, &b.objects[*other]);
            if differing.is_empty() {
                continue;
            }
            let fields = differing.into_iter().map(|(class, field)| {
                *names.entry((class.to_owned(), field.to_owned())).or_insert_with(|| {
                    diff.names.push((class.to_owned(), field.to_owned()));
                    diff.names.len() - 1
                })
            });
            diff.fields.push(fields.collect());
            diff.a.push(place);
            diff.b.push(*other);
        }
        diff.added = (0..b.objects.len()).filter(|place| !is_met[*place]).collect();
        diff
    }
}

/// Classes and names of the fields that differ.
fn differing<'d>(a: &Object<'d>, b: &Object<'d>) -> BTreeSet<(&'d str, &'d str)> {
    let (a, b) = (fields(a), fields(b));
    let of_one = a.keys().chain(b.keys());
    of_one.filter(|key| a.get(*key) != b.get(*key)).copied().collect()
}

fn fields<'d>(object: &Object<'d>) -> Fields<'d> {
    let fields = object.parts.iter().flat_map(|part| {
        part.fields.iter().map(|(name, value)| ((part.class, *name), *value))
    });
    fields.collect()
}
