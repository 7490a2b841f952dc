//! Saves that are made of schemas alone: what a version of the program may have written.
//!
//! Every object type has three *basic* objects: a small one, with as little in it as can be, and two
//! full ones, which refer to each other. Beside them there are *variations*, one for each choice
//! that a value leaves: a variant, the elements of a list, a boundary value of a number. These
//! are small but for the way to the choice. Worlds are empty; what a world may hold is in objects of their own.
//!
//! The choices are found while values are made: each that is met for the first time makes one more variation for each
//! of its options, with the choices on the way to it. So every choice in every class that objects hold by value is there
//! once where the program reads it, and once more in each field where the class becomes something else.

mod ends;
mod maker;
mod scalars;

use std::collections::{HashMap, HashSet, VecDeque};

use self::ends::Ends;
use self::maker::{Basic, Choice, Choices, Found, Maker};
use super::section::{PART, Section, cell_of};
use crate::codec::Buffer;
use crate::env::Env;
use crate::format::{Compression, Header, Sealer, Writer};
use crate::schema::{KindSchema, Stored, Strict, Texts, write_value};
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

/// Bytes of all variations; those beyond are left out.
const MOST_BYTES: usize = 64 << 20;

/// What the program reads of the values of a version. Without more: all, and each class as one of its own.
#[derive(Default)]
pub(super) struct Reads {
    /// The texts that are to be names of variants, by their nodes; others are anything.
    pub(super) texts: Texts,
    /// The object types that it does not have.
    pub(super) unknown: HashSet<usize>,
    /// The nodes of the fields that none of its fields has as its source.
    pub(super) unread: HashSet<usize>,
    /// Those of the fields in which classes become something else than anywhere else.
    pub(super) apart: HashSet<usize>,
}

/// An object of a sample.
struct Object {
    /// Index of its type.
    of: usize,
    payload: Vec<u8>,
    /// What it has other than usual; `None` of a basic object.
    varied: Option<Choice>,
}

/// The samples of one version.
pub(super) struct Samples<'s> {
    section: &'s Section,
    /// By their ids, from 1.
    objects: Vec<Object>,
    /// The object types without a sample: they have no value that ends, or need one that is skipped.
    pub(super) missing: Vec<usize>,
    /// The places of texts that are names of variants.
    pub(super) named: Vec<String>,
    /// For each class that is tested the object type in which it is.
    pub(super) classes: HashMap<usize, usize>,
    /// True if some variations would make the sample too large.
    pub(super) is_cut: bool,
}

impl<'s> Samples<'s> {
    /// Samples without objects of the types in `skipped`, and what needs them; with boundary values or without.
    pub(super) fn new(
        section: &'s Section,
        reads: &Reads,
        skipped: &HashSet<usize>,
        has_boundaries: bool,
    ) -> Result<Self> {
        let (stored, ends) = (Stored::new(section.classes.clone()), Ends::new(section, skipped));
        let limits = Limits::DEFAULT;
        let mut target = Strict::new(&section.classes, &limits, &|_, _| Ok(()));
        let mut payload = |of: usize, value: &Value| -> Result<Vec<u8>> {
            let (mut payload, kind) = (Vec::new(), KindSchema::Class(section.objects[of].0));
            write_value(&mut target, &section.classes, &kind, value, &mut payload)?;
            Ok(payload)
        };
        let mut found = Found::default();
        let (there, missing): (Vec<usize>, Vec<usize>) =
            (0..section.objects.len()).partition(|object| ends.objects[*object].is_some());
        let (mut objects, nothing) = (Vec::new(), Choices::new());
        for of in 0..section.objects.len() {
            for basic in Basic::ALL {
                let maker = Maker::new(section, &stored, &ends, reads, &nothing, basic);
                let is_there = ends.objects[of].is_some();
                let value = is_there.then(|| maker.object(of, None)).transpose()?;
                let payload = value.map(|value| payload(of, &value)).transpose()?;
                // What is missing has an id, too.
                objects.push(Object { of, payload: payload.unwrap_or_default(), varied: None });
            }
        }
        let (unknown, known): (Vec<usize>, Vec<usize>) =
            there.into_iter().partition(|object| reads.unknown.contains(object));
        let base = |of: usize| (of, Choices::new(), None);
        let mut read = HashSet::new();
        // What is not read comes last: its classes may be found nowhere else.
        let mut later: Vec<(usize, Choices, Option<Choice>)> = Vec::new();
        let (mut bytes, mut is_cut) = (0, false);
        for phase in 0..3 {
            let first: Vec<_> = match phase {
                0 => known.iter().copied().map(base).collect(),
                1 => std::mem::take(&mut later),
                _ => unknown.iter().copied().map(base).collect(),
            };
            found.takes_all = phase > 0;
            let mut next = VecDeque::from(first);
            while let Some((of, choices, varied)) = next.pop_front() {
                if bytes > MOST_BYTES {
                    is_cut = true;
                    break;
                }
                let maker = Maker::new(section, &stored, &ends, reads, &choices, Basic::Small);
                let value = maker.object(of, Some(&mut found))?;
                for choice in found.choices.drain(..) {
                    if has_boundaries || choice.values != Some(Values::Boundary) {
                        let mut choices = choices.clone();
                        choices.insert(choice.site, choice.option);
                        let varied = choice.values.is_some().then_some(choice);
                        next.push_back((of, choices, varied));
                    }
                }
                if std::mem::take(&mut found.has_more) {
                    later.push((of, choices, None));
                }
                if let Some(varied) = varied {
                    let payload = payload(of, &value)?;
                    bytes += payload.len();
                    objects.push(Object { of, payload, varied: Some(varied) });
                }
            }
            if phase == 0 {
                read.extend(found.classes.keys().copied());
            }
        }
        let mut inlined = vec![false; section.classes.len()];
        found.inlined.iter().for_each(|class| inlined[*class] = true);
        let inlined = section.inside(inlined);
        let Found { named, mut classes, .. } = found;
        classes.retain(|class, _| read.contains(class) || !inlined[*class]);
        Ok(Self { section, objects, missing, named, classes, is_cut })
    }

    /// What the object with this id is: its type, what is varied, and whether its value is a boundary of its kind.
    pub(super) fn subject(&self, id: u64) -> Option<(usize, Option<(&str, bool)>)> {
        let object = self.objects.get(usize::try_from(id.checked_sub(1)?).ok()?)?;
        Some((
            object.of,
            object.varied.as_ref().map(|it| (&*it.what, it.values == Some(Values::Boundary))),
        ))
    }

    /// How an object type is named in a report.
    pub(super) fn object(&self, object: usize) -> String {
        let (class, holder) = self.section.objects[object];
        match (&self.section.classes[class].name, holder) {
            (name, PART) => name.clone(),
            (name, holder) => format!("{name} in {}", cell_of(holder)),
        }
    }

    /// The save of basic objects and variations, of one sort or of both, but for those that have what is `refused`.
    pub(super) fn save(
        &self,
        values: Option<Values>,
        refused: &HashSet<String>,
    ) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let (mut buffer, limits) = (Buffer::new(), Limits::DEFAULT);
        let mut sealer = Sealer::new(&mut bytes, Compression::None, &limits);
        let mut writer = Writer::new(&mut sealer, &Header::default(), &Env::DEFAULT, &mut buffer)?;
        self.section.classes.iter().try_for_each(|class| writer.definition(class))?;
        for (id, object) in (1..).zip(&self.objects) {
            let is_there = match &object.varied {
                None => !self.missing.contains(&object.of),
                Some(varied) => {
                    values.is_none_or(|it| varied.values == Some(it))
                        && !refused.contains(&varied.what)
                }
            };
            if is_there {
                let (class, holder) = self.section.objects[object.of];
                writer.payload(class as u64 + 1, (holder, true), id, &object.payload)?;
            }
        }
        writer.finish(0)?;
        Ok(bytes)
    }
}
