//! Saves that are made of schemas alone: what a version of the program may have written.
//!
//! Every object type has three *basic* objects: a small one, with as little in it as can be, and two
//! full ones, which refer to each other. Beside them there are *variations*, one for each choice
//! that a value leaves: a variant, the elements of a list, a boundary value of a number. These
//! are small but for the way to the choice. Worlds are empty; what a world may hold is in objects of their own.
//!
//! The choices are found while values are made. Each new site adds one variation for each of its options, with the
//! choices on the way to it. So every choice in every class that objects hold by value occurs several times. It occurs
//! once where the program reads it, once where it does not, and once in each field where the class is converted.

mod load;
mod maker;

use std::collections::{HashMap, HashSet, VecDeque};

use persist::__tools::{
    Env, FieldSchema, Form, KindSchema, Program, Sealer, Stored, Strict, Writer,
};
use persist::codec::Buffer;
use persist::save::{Compression, Header};
use persist::{Limits, Result, Value};

use self::maker::make;
use super::{PART, ProgramReads, Samples, Section};
use crate::classes::cell_of;

/// The values in a sample; see [`Lock::sample`](super::Lock::sample).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Values {
    /// Ordinary small ones, such as 1, 1.0 and "a", in every shape: each variant, each class of a
    /// trait, options with and without a value.
    Plain,
    /// The boundaries of each kind. These are 0, the smallest and the largest number, NaN and infinity; texts that are
    /// empty, long or not ASCII; lists without elements, with several and with equal ones; live and dead handles.
    Boundary,
}

/// Bytes of all variations; those beyond are left out.
const MAX_BYTES: usize = 64 << 20;

/// An object of a sample.
pub(super) struct SampleObject {
    /// Index of its type.
    of: usize,
    payload: Vec<u8>,
    /// The choice in which it differs from a basic object, or `None` for a basic object.
    varied: Option<Choice>,
    /// The classes in it that the program reads, itself among them, ascending.
    classes: Vec<usize>,
}

impl<'s> Samples<'s> {
    /// Samples without objects of the types in `skipped`, and what needs them; with boundary values or without.
    pub(super) fn new(
        section: &'s Section,
        reads: &ProgramReads,
        skipped: &HashSet<usize>,
        has_boundaries: bool,
    ) -> Result<Self> {
        let (stored, smallest) =
            (Stored::new(section.classes.clone()), SmallestValues::new(section, skipped));
        let context = SampleContext { section, stored: &stored, smallest: &smallest, reads };
        let limits = Limits::DEFAULT;
        let mut target = Strict::new(&stored, &limits, &|_, _| Ok(()));
        let mut found = SampleFindings::default();
        let mut this = Self {
            section,
            objects: Vec::new(),
            missing: Vec::new(),
            named: Vec::new(),
            classes: HashSet::new(),
            is_cut: false,
        };
        let basics = (0..section.objects.len())
            .flat_map(|of| Basic::ALL.map(|basic| (of, basic, Choices::new(), None)));
        let mut next: VecDeque<(usize, Basic, Choices, Option<Choice>)> = basics.collect();
        let mut bytes = 0;
        while let Some((of, basic, choices, varied)) = next.pop_front() {
            if bytes > MAX_BYTES {
                this.is_cut = true;
                break;
            }
            let mut payload = Vec::new();
            found.held.clear();
            if smallest.objects[of].is_some() {
                let value = make(&context, (of, basic), &choices, &mut found)?;
                target.write(section.objects[of].0, &value, &mut payload)?;
            } else if basic == Basic::Small {
                this.missing.push(of);
            }
            for choice in found.choices.drain(..) {
                if has_boundaries || choice.values != Some(Values::Boundary) {
                    let mut choices = choices.clone();
                    choices.insert(choice.site, choice.option);
                    next.push_back((of, Basic::Small, choices, Some(choice)));
                }
            }
            bytes += if varied.is_some() { payload.len() } else { 0 };
            let mut classes = std::mem::take(&mut found.held);
            classes.sort_unstable();
            classes.dedup();
            // A missing object has an id, too.
            this.objects.push(SampleObject { of, payload, varied, classes });
        }
        let mut inlined = vec![false; section.classes.len()];
        found.inlined.iter().for_each(|class| inlined[*class] = true);
        let inlined = section.inside(inlined);
        let ignored = found.ignored.into_iter().filter(|class| !inlined[*class]);
        this.classes.extend(found.read.into_iter().chain(ignored));
        this.named = found.named;
        Ok(this)
    }

    /// Returns the object with this id: its type, the varied value, and whether that is a boundary of its kind.
    fn subject(&self, id: u64) -> Option<(usize, Option<(&str, bool)>)> {
        let object = self.objects.get(usize::try_from(id.checked_sub(1)?).ok()?)?;
        let varied = object.varied.as_ref();
        let varied = varied.map(|it| (&*it.what, it.values == Some(Values::Boundary)));
        Some((object.of, varied))
    }

    /// How an object type is named in a report.
    fn object(&self, object: usize) -> String {
        let (class, holder) = self.section.objects[object];
        match (&self.section.classes[class].name, holder) {
            (name, PART) => name.clone(),
            (name, holder) => format!("{name} in {}", cell_of(holder)),
        }
    }

    /// True if a save without what is `refused` has the object.
    fn is_in(
        &self,
        object: &SampleObject,
        values: Option<Values>,
        refused: &HashSet<String>,
    ) -> bool {
        match &object.varied {
            None => !self.missing.contains(&object.of),
            // An object that only leads to others varies nothing itself.
            Some(varied) => {
                varied.values.is_some_and(|it| values.is_none_or(|values| it == values))
                    && !refused.contains(&varied.what)
            }
        }
    }

    /// The classes in the objects that a save without what is `refused` has.
    fn classes_without(&self, refused: &HashSet<String>) -> HashSet<usize> {
        let present = self.objects.iter().filter(|object| self.is_in(object, None, refused));
        present.flat_map(|object| object.classes.iter().copied()).collect()
    }

    /// The classes in the objects of a type, or in those of it that have something varied so.
    fn classes_of(&self, object: usize, varied: Option<&str>) -> HashSet<usize> {
        let is_it = |it: &&SampleObject| {
            let what = it.varied.as_ref().map(|varied| &*varied.what);
            it.of == object && (varied.is_none() || what == varied)
        };
        self.objects.iter().filter(is_it).flat_map(|it| it.classes.iter().copied()).collect()
    }

    /// Saves of the small objects of all types, the first as they are, each other one with a variation in place of the
    /// small one of this type; with the id of that object, and the classes in it.
    fn probes(
        &self,
        object: usize,
    ) -> impl Iterator<Item = Result<(u64, &[usize], Vec<u8>)>> + use<'_, 's> {
        let small = object * Basic::ALL.len();
        let basic = self.objects.get(small);
        let varied = self.objects.iter().filter(move |it| {
            it.of == object && it.varied.as_ref().is_some_and(|varied| varied.values.is_some())
        });
        basic.into_iter().chain(varied).map(move |varied| {
            let basics = self.objects.iter().enumerate().filter(|(at, it)| {
                it.varied.is_none()
                    && at.is_multiple_of(Basic::ALL.len())
                    && !self.missing.contains(&it.of)
            });
            let objects =
                basics.map(|(at, it)| (at as u64 + 1, if at == small { varied } else { it }));
            Ok((small as u64 + 1, &*varied.classes, self.written(objects)?))
        })
    }

    /// The save of basic objects and variations, of one sort or of both, but for those that have what is `refused`.
    pub(super) fn save(
        &self,
        values: Option<Values>,
        refused: &HashSet<String>,
    ) -> Result<Vec<u8>> {
        let objects = (1..).zip(&self.objects);
        self.written(objects.filter(|(_, object)| self.is_in(object, values, refused)))
    }

    fn written<'o>(
        &self,
        objects: impl Iterator<Item = (u64, &'o SampleObject)>,
    ) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let (mut buffer, limits) = (Buffer::new(), Limits::DEFAULT);
        let mut sealer = Sealer::new(&mut bytes, Compression::None, &limits);
        let mut writer = Writer::new(&mut sealer, &Header::default(), &Env::DEFAULT, &mut buffer)?;
        self.section.classes.iter().try_for_each(|class| writer.definition(class))?;
        for (id, object) in objects {
            let (class, holder) = self.section.objects[object.of];
            writer.payload(class as u64 + 1, (holder, true), id, &object.payload)?;
        }
        writer.finish(0)?;
        Ok(bytes)
    }
}

/// The basic objects of a type.
#[derive(Clone, Copy, PartialEq)]
enum Basic {
    /// With as little in it as can be.
    Small,
    /// With something everywhere.
    First,
    Second,
}

impl Basic {
    const ALL: [Self; 3] = [Self::Small, Self::First, Self::Second];
}

/// The chosen option at each site, by its node. The site of an enum's variant is the node of its class.
type Choices = HashMap<usize, usize>;

/// Something that can be chosen.
struct Choice {
    site: usize,
    option: usize,
    /// The place, and what stands in it.
    what: String,
    /// Boundary values may be refused by the program although the schema allows them; `None` for what only leads to
    /// others.
    values: Option<Values>,
}

/// The findings while values were made.
#[derive(Default)]
struct SampleFindings {
    /// The sites that were met: whether the program reads them, and the field in which classes become something else.
    seen: HashSet<(bool, Option<usize>, usize)>,
    /// The choices that are new.
    choices: Vec<Choice>,
    /// The places of texts that are to be names of variants.
    named: Vec<String>,
    /// The classes that were met where the program reads them, and those that were elsewhere.
    read: HashSet<usize>,
    ignored: HashSet<usize>,
    /// The classes of the object that is made, where the program reads them.
    held: Vec<usize>,
    /// Classes whose objects the program may read as values.
    inlined: HashSet<usize>,
}

/// The inputs for the objects of a sample.
struct SampleContext<'v> {
    section: &'v Section,
    stored: &'v Stored,
    smallest: &'v SmallestValues,
    reads: &'v ProgramReads,
}

/// The depth of the smallest value of each class and object; `None` if every value is infinite.
struct SmallestValues {
    classes: Vec<Option<u32>>,
    objects: Vec<Option<u32>>,
    /// The variant of the smallest value of each enum.
    variants: Vec<usize>,
}

impl SmallestValues {
    /// Without objects of the types in `skipped`, and what needs them.
    fn new(section: &Section, skipped: &HashSet<usize>) -> Self {
        let classes = section.classes.len();
        let mut ends = Self {
            classes: vec![None; classes],
            objects: vec![None; section.objects.len()],
            variants: vec![0; classes],
        };
        let mut found = true;
        while std::mem::take(&mut found) {
            for (class, schema) in section.classes.iter().enumerate() {
                if ends.classes[class].is_some() {
                    continue;
                }
                let depth = match &schema.form {
                    Form::Struct(fields) => ends.fields(section, fields),
                    Form::Value(kind) => ends.kind(section, kind),
                    Form::Enum(variants) => {
                        let depths = variants.iter().enumerate().filter_map(|(variant, schema)| {
                            Some((ends.fields(section, &schema.fields)?, variant))
                        });
                        let min = depths.min();
                        ends.variants[class] = min.map_or(0, |(_, variant)| variant);
                        min.map(|(depth, _)| depth)
                    }
                };
                ends.classes[class] = depth.map(|depth| depth + 1);
                found |= depth.is_some();
            }
            for (object, (class, _)) in section.objects.iter().enumerate() {
                if ends.objects[object].is_none() && !skipped.contains(&object) {
                    ends.objects[object] = ends.classes[*class].map(|depth| depth + 1);
                    found |= ends.objects[object].is_some();
                }
            }
        }
        ends
    }

    fn fields(&self, section: &Section, fields: &[FieldSchema]) -> Option<u32> {
        fields.iter().try_fold(0, |most, field| Some(self.kind(section, &field.kind)?.max(most)))
    }

    /// How deep the smallest value is, if there is one.
    fn kind(&self, section: &Section, kind: &KindSchema) -> Option<u32> {
        match kind {
            KindSchema::Array(part, len) if *len > 0 => self.kind(section, part),
            KindSchema::Tuple(parts) => {
                parts.iter().try_fold(0, |most, part| Some(self.kind(section, part)?.max(most)))
            }
            KindSchema::Class(class) => self.classes[*class],
            KindSchema::Reference { weak: false, class, holder } => {
                let object = section.objects.binary_search(&(*class, *holder)).ok()?;
                self.objects[object]
            }
            KindSchema::TraitReference { weak: false, name, holder } => {
                let depths = section.objects_of(name, *holder).filter_map(|i| self.objects[i]);
                depths.min()
            }
            KindSchema::Dynamic(name) => {
                section.classes_of(name).iter().filter_map(|class| self.classes[*class]).min()
            }
            _ => Some(0),
        }
    }
}

/// The samples of the fields of a version that have the kind that they have today, by their nodes; `resolved` has the
/// program's class for each of the version's. Of types that check their content, the library makes up none.
pub(super) fn given(
    section: &Section,
    program: &Program,
    resolved: impl Fn(usize) -> Option<usize>,
) -> HashMap<usize, Value> {
    let stored = Stored::new(section.classes.clone());
    let mut found = HashMap::new();
    for (class, schema) in section.classes.iter().enumerate() {
        let Some(target) = resolved(class) else { continue };
        for (variant, sides) in program.sides(schema, target).into_iter().enumerate() {
            let (sources, first) = (sides.sources(), stored.first(class, variant));
            let Some(new) = sides.new else { continue };
            for (field, source) in sources.into_iter().enumerate() {
                let Some(source) = source else { continue };
                // A value of classes or with references would not fit what else is in a sample.
                let kind = &sides.old[source].kind;
                let is_plain = |kind: &KindSchema| kind.classes().is_empty() && !kind.refers();
                if *kind == new.fields[field].kind && is_plain(kind) {
                    let value = program.sample((new.class, new.variant, field));
                    found.extend(value.map(|value| (first + source, value)));
                }
            }
        }
    }
    found
}
