//! Saves that are made of schemas alone: what a version of the program may have written.
//!
//! Every object type has three *basic* objects: a small one, with as little in it as can be, and two
//! full ones, which refer to each other. Beside them there are *variations*, one for each choice
//! that a value leaves: a variant, the elements of a list, a boundary value of a number. These
//! are small but for the way to the choice. Worlds are empty; what a world may hold is in objects of their own.

mod ends;
mod maker;
mod scalars;
mod variations;

use std::collections::HashSet;

use self::ends::Ends;
use self::maker::{Basic, Maker};
pub(super) use self::variations::Reads;
use self::variations::{Choices, Varied};
use super::section::{PART, Section, cell_of};
use crate::codec::Buffer;
use crate::env::Env;
use crate::format::{Compression, Header, Sealer, Writer};
use crate::schema::{Stored, Strict, Texts, write_value};
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
    /// With all objects.
    whole: Ends,
    varied: Varied,
    /// The texts that are to be names of variants.
    texts: Texts,
    /// What the classes are called in reports.
    names: Vec<String>,
}

/// A sample, and what of the plan is not in it.
pub(super) struct Sample {
    pub(super) bytes: Vec<u8>,
    pub(super) left_out: usize,
}

/// What of a sample is not to be made.
#[derive(Default)]
pub(super) struct Skip {
    /// By index of the object type.
    pub(super) objects: HashSet<usize>,
    /// By index.
    pub(super) variations: HashSet<usize>,
}

/// What an object of a sample is.
pub(super) enum Subject<'p> {
    /// A basic object of this type.
    Basic(usize),
    /// By index; what is varied, and whether its value is a boundary of its kind.
    Variation(usize, &'p str, bool),
}

impl<'s> Samples<'s> {
    /// Samples whose texts are anything but for those in `texts`.
    pub(super) fn new(
        section: &'s Section,
        texts: Texts,
        names: Vec<String>,
        reads: &Reads,
    ) -> Self {
        let whole = Ends::new(section, &HashSet::new());
        let varied = variations::all(section, &names, &whole, &texts, reads);
        Self { section, whole, varied, texts, names }
    }

    /// What the object with this id is.
    pub(super) fn subject(&self, id: u64) -> Option<Subject<'_>> {
        let place = usize::try_from(id.checked_sub(1)?).ok()?;
        let basic = Basic::ALL.len() * self.section.objects.len();
        match place.checked_sub(basic) {
            None => Some(Subject::Basic(place / Basic::ALL.len())),
            Some(place) => {
                let variation = self.varied.variations.get(place)?;
                Some(Subject::Variation(place, &variation.what, variation.boundary))
            }
        }
    }

    /// The places of texts that are names of variants.
    pub(super) fn named(&self) -> &[String] {
        &self.varied.named
    }

    /// The classes that are tested.
    pub(super) fn classes(&self) -> impl Iterator<Item = usize> {
        self.varied.classes.keys().copied()
    }

    /// The classes that objects of these types test.
    pub(super) fn classes_in(&self, objects: &[usize]) -> impl Iterator<Item = usize> {
        let classes = self.varied.classes.iter();
        classes.filter(|(_, object)| objects.contains(object)).map(|(class, _)| *class)
    }

    /// How an object type is named in a report.
    pub(super) fn object(&self, object: usize) -> String {
        let (class, holder) = self.section.objects[object];
        match holder {
            PART => self.names[class].clone(),
            holder => format!("{} in {}", self.names[class], cell_of(holder)),
        }
    }

    /// The object types without a sample: they have no value that ends, or need
    /// one that is skipped.
    pub(super) fn missing(&self, skip: &Skip) -> Vec<usize> {
        let ends = Ends::new(self.section, &skip.objects);
        (0..self.section.objects.len()).filter(|object| ends.objects[*object].is_none()).collect()
    }

    /// Makes a sample.
    pub(super) fn make(&self, values: Values, skip: &Skip) -> Result<Sample> {
        let section = self.section;
        let less;
        let ends = if skip.objects.is_empty() {
            &self.whole
        } else {
            less = Ends::new(section, &skip.objects);
            &less
        };
        let mut bytes = Vec::new();
        let (mut buffer, limits) = (Buffer::new(), Limits::DEFAULT);
        let mut sealer = Sealer::new(&mut bytes, Compression::None, &limits);
        let mut writer = Writer::new(&mut sealer, &Header::default(), &Env::DEFAULT, &mut buffer)?;
        section.classes.iter().try_for_each(|class| writer.definition(class))?;
        let stored = Stored::new(section.classes.clone());
        let mut target = Strict::new(&stored, &limits, &|_, _| Ok(()));
        let mut payload = Vec::new();
        let nothing = Choices::new();
        let basics =
            (0..section.objects.len()).flat_map(|object| Basic::ALL.map(|it| (object, it)));
        let basics = basics.map(|(object, basic)| (object, basic, None));
        let varied = self.varied.variations.iter().enumerate();
        let varied = varied.map(|it| (it.1.object, Basic::Small, Some(it)));
        let (mut total, mut left_out) = (0, 0);
        for (id, (object, basic, varied)) in (1..).zip(basics.chain(varied)) {
            let is_left = varied.is_some_and(|(place, variation)| {
                variation.boundary != (values == Values::Boundary)
                    || skip.variations.contains(&place)
            });
            if is_left || ends.objects[object].is_none() {
                continue;
            }
            if varied.is_some() && total > MOST_BYTES {
                left_out += 1;
                continue;
            }
            let choices: Option<Choices> = varied.map(|it| it.1.choices.iter().copied().collect());
            let choices = choices.as_ref().unwrap_or(&nothing);
            let value = Maker::new((section, ends, &self.texts), choices, basic).object(object)?;
            let (class, holder) = section.objects[object];
            payload.clear();
            write_value(&mut target, &stored, class, &value, &mut payload)?;
            total += if varied.is_some() { payload.len() } else { 0 };
            writer.payload(class as u64 + 1, (holder, true), id, &payload)?;
        }
        writer.finish(0)?;
        Ok(Sample { bytes, left_out })
    }
}
