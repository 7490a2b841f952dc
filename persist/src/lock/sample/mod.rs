//! Saves that are made of schemas alone: what a version of the program may have written.
//!
//! Every object type has three *basic* objects: a small one, with as little in it as can be, and two
//! full ones, which refer to each other. Beside them there are *variations*, one for each choice
//! that a value leaves: a variant, the elements of a list, a boundary value of a number. These
//! are small but for the way to the choice. Worlds are empty; what a world may hold is in objects of their own.

mod ends;
mod maker;

use std::collections::{HashMap, HashSet};

use self::ends::Ends;
pub(super) use self::maker::Reads;
use self::maker::{Basic, Maker};
use super::section::{PART, Section, cell_of};
use crate::codec::Buffer;
use crate::env::Env;
use crate::format::{Compression, Header, Sealer, Writer};
use crate::schema::{KindSchema, Strict, Texts, write_value};
use crate::value::Value;
use crate::{Limits, Result};

/// Which values are in a sample; see [`Lock::sample`](super::Lock::sample).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Values {
    /// Ordinary small ones, such as 1, 1.0 and "a", in every shape: each variant, each class of a
    /// trait, options with and without a value.
    Plain,
    /// The boundaries of what each kind can have: 0, the smallest and the largest number, NaN and
    /// infinity, texts that are empty, long or not ASCII, lists without elements, with several and with equal ones,
    /// handles that are live or dead.
    Boundary,
}

/// Bytes of all variations in one sample; those beyond are left out, and counted.
const MOST_BYTES: usize = 64 << 20;

/// The sample saves of one version.
pub(super) struct Samples<'s> {
    section: &'s Section,
    /// What the classes are called in reports.
    names: Vec<String>,
    /// By their ids, from 1.
    objects: Vec<Object>,
    /// For each class that is tested the object type in which it is.
    classes: HashMap<usize, usize>,
    /// The places of texts that are names of variants.
    pub(super) named: Vec<String>,
    /// Variations that would make the samples too large.
    pub(super) left_out: usize,
}

/// An object of a sample.
pub(super) struct Object {
    /// Index of its type.
    pub(super) of: usize,
    /// What is varied, and whether its value is a boundary of its kind; `None` for a basic object.
    pub(super) what: Option<(String, bool)>,
    /// `None` of one that would have no end.
    payload: Option<Vec<u8>>,
    /// The ids of those that it refers to.
    refers: Vec<u64>,
}

/// What of a sample is not to be made.
#[derive(Default)]
pub(super) struct Skip {
    /// By index of the object type.
    pub(super) types: HashSet<usize>,
    /// Variations, by id.
    pub(super) variations: HashSet<u64>,
}

impl<'s> Samples<'s> {
    /// Samples whose texts are anything but for those in `texts`.
    pub(super) fn new(
        section: &'s Section,
        texts: &Texts,
        names: Vec<String>,
        reads: &Reads,
    ) -> Result<Self> {
        let ends = Ends::new(section, &HashSet::new());
        let limits = Limits::DEFAULT;
        let mut target = Strict::new(&section.classes, &limits, &|_, _| Ok(()));
        let mut payload = |of: usize, value: &Value| -> Result<Vec<u8>> {
            let (mut payload, class) = (Vec::new(), section.objects[of].0);
            let kind = KindSchema::Class(class);
            write_value(&mut target, &section.classes, &kind, value, &mut payload)?;
            Ok(payload)
        };
        let mut maker = Maker::new((section, &names), &ends, texts, reads);
        let (mut objects, mut total, mut left_out) = (Vec::new(), 0, 0);
        for of in 0..section.objects.len() {
            for basic in Basic::ALL {
                let mut object = Object { of, what: None, payload: None, refers: Vec::new() };
                if ends.objects[of].is_some() {
                    let (value, refers) = maker.basic(of, basic)?;
                    object = Object { payload: Some(payload(of, &value)?), refers, ..object };
                }
                objects.push(object);
            }
        }
        maker.explore(&mut |task, value, refers| {
            if total > MOST_BYTES {
                left_out += 1;
                return Ok(());
            }
            let (of, what) = (task.object, task.what.clone());
            let payload = payload(of, &value)?;
            total += payload.len();
            objects.push(Object { of, what, payload: Some(payload), refers });
            Ok(())
        })?;
        let Maker { classes, named, .. } = maker;
        Ok(Self { section, names, objects, classes, named, left_out })
    }

    /// The object with this id.
    pub(super) fn object(&self, id: u64) -> Option<&Object> {
        self.objects.get(usize::try_from(id.checked_sub(1)?).ok()?)
    }

    /// The classes that are tested.
    pub(super) fn classes(&self) -> impl Iterator<Item = usize> {
        self.classes.keys().copied()
    }

    /// The classes that objects of these types test.
    pub(super) fn classes_in(&self, objects: &[usize]) -> impl Iterator<Item = usize> {
        let classes = self.classes.iter();
        classes.filter(|(_, object)| objects.contains(object)).map(|(class, _)| *class)
    }

    /// How an object type is named in a report.
    pub(super) fn name(&self, object: usize) -> String {
        let (class, holder) = self.section.objects[object];
        match holder {
            PART => self.names[class].clone(),
            holder => format!("{} in {}", self.names[class], cell_of(holder)),
        }
    }

    /// The object types without a sample: they have no value that ends, or need
    /// one that is skipped.
    pub(super) fn missing(&self, skip: &Skip) -> Vec<usize> {
        let ends = Ends::new(self.section, &skip.types);
        (0..self.section.objects.len()).filter(|object| ends.objects[*object].is_none()).collect()
    }

    /// Makes a sample.
    pub(super) fn make(&self, values: Values, skip: &Skip) -> Result<Vec<u8>> {
        let is_in = |(id, object): (u64, &Object)| {
            let is_of_values = |(_, boundary): &(String, bool)| {
                *boundary == (values == Values::Boundary) && !skip.variations.contains(&id)
            };
            let is_skipped = object.payload.is_none() || skip.types.contains(&object.of);
            !is_skipped && object.what.as_ref().is_none_or(is_of_values)
        };
        let mut there: Vec<bool> = (1..).zip(&self.objects).map(is_in).collect();
        // What refers to one that is not there cannot be, either.
        let mut is_open = true;
        while std::mem::take(&mut is_open) {
            for (at, object) in self.objects.iter().enumerate() {
                let is_lost = |id: &u64| !usize::try_from(id - 1).is_ok_and(|id| there[id]);
                if there[at] && object.refers.iter().any(is_lost) {
                    (there[at], is_open) = (false, true);
                }
            }
        }
        let mut bytes = Vec::new();
        let (mut buffer, limits) = (Buffer::new(), Limits::DEFAULT);
        let mut sealer = Sealer::new(&mut bytes, Compression::None, &limits);
        let mut writer = Writer::new(&mut sealer, &Header::default(), &Env::DEFAULT, &mut buffer)?;
        self.section.classes.iter().try_for_each(|class| writer.definition(class))?;
        for ((id, object), _) in (1..).zip(&self.objects).zip(there).filter(|(_, there)| *there) {
            let (class, holder) = self.section.objects[object.of];
            let payload = object.payload.as_deref().unwrap_or_default();
            writer.payload(class as u64 + 1, (holder, true), id, payload)?;
        }
        writer.finish(0)?;
        Ok(bytes)
    }
}
