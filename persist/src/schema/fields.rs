//! The fields of a class: which stored one becomes which of the program's.

use super::event::{REMOVED, shortened};
use super::ops::{Action, Conversion, Fields, Given, Place, Step, Walked, Wanted};
use super::pairing::{Pairing, pair};
use super::plan::Plans;
use super::quick::{Part, Quick};
use super::stored::Pass;
use super::{FieldSchema, KindSchema, LoadEvent, Target};
use crate::reflect::FieldRecord;
use crate::{Error, ErrorKind, Result};

impl Plans<'_> {
    /// Plans the fields of a struct or a variant.
    pub(super) fn fields(&mut self, old: &Given<'_>, new: &Wanted<'_>) -> Result<Fields> {
        let runs = [self.events.run(), self.events.run(), self.events.run()];
        let pairing = pair(old.fields, new.records);
        pairing
            .check(old.class, old.fields, new.records)
            .map_err(|error| error.in_field(old.variant.unwrap_or_default()))?;
        let Pairing { sources, superseded, .. } = pairing;
        let mut targets = vec![None; old.fields.len()];
        let mut actions = vec![None; old.fields.len()];
        let mut steps = Vec::new();
        let has_room = new.records.iter().any(|record| record.keeps_unknown);
        let mut keeps = false;
        for (field, wanted) in new.fields.iter().enumerate() {
            let Some(source) = sources[field] else {
                let (step, event) = self.without_source(old, new, field)?;
                if let Some(event) = event {
                    let path = old.path(&wanted.name);
                    self.events.enter(runs[0], event, old.class, &path, "");
                }
                steps.push(step);
                continue;
            };
            let conversion = self.taken(old, source, new, field)?;
            let path = old.path(&old.fields[source].name);
            let place = Place { class: old.class, field: &path };
            let kind = &old.fields[source].kind;
            targets[source] = Some(steps.len());
            if !self.is_identical_kind(kind, &wanted.kind) {
                let node = old.first + source;
                actions[source] = Some(Action::Convert { node, conversion });
                self.note_converted(kind, &wanted.kind, &place, runs[0]);
            }
            // Its place in the walk is not known yet.
            steps.push(Step::Take(source));
        }
        let mut walk: Vec<Walked> = Vec::new();
        let mut places = vec![0; old.fields.len()];
        let mut last_target = None;
        for (field, schema) in old.fields.iter().enumerate() {
            let first = old.first + field;
            let kept = (!old.is_tuple).then(|| self.stored.field_alone(first));
            let action = match (targets[field], actions[field]) {
                (_, Some(action)) => action,
                (Some(_), None) => Action::Copy { first, nodes: 1 },
                (None, _) if superseded.contains(&field) => {
                    let path = old.path(&schema.name);
                    self.events.enter(runs[0], LoadEvent::Superseded, old.class, &path, "");
                    Action::Skip { first, nodes: 1 }
                }
                (None, _) => {
                    let is_removed = new.is_removed(&schema.name);
                    let kept = kept.filter(|_| !self.options.drop_unknown && !is_removed);
                    let path = old.path(&schema.name);
                    match kept {
                        Some(class) if has_room => {
                            self.events.enter(runs[0], LoadEvent::Kept, old.class, &path, "");
                            keeps = true;
                            Action::Keep { node: first, class }
                        }
                        Some(class) => {
                            // Of an object it can be kept, else not.
                            self.events.enter(runs[1], LoadEvent::Kept, old.class, &path, "");
                            self.events.enter(runs[2], LoadEvent::Dropped, old.class, &path, "");
                            Action::Keep { node: first, class }
                        }
                        None => {
                            let detail = if is_removed { REMOVED } else { "" };
                            self.events.enter(
                                runs[0],
                                LoadEvent::Dropped,
                                old.class,
                                &path,
                                detail,
                            );
                            Action::Skip { first, nodes: 1 }
                        }
                    }
                }
            };
            let follows = match (targets[field], last_target) {
                (Some(target), Some(last)) => target == last + 1,
                (target, last) => target.is_none() && last.is_none(),
            };
            last_target = targets[field];
            let joined = follows && walk.last_mut().is_some_and(|last| last.action.join(&action));
            if !joined {
                walk.push(Walked { field, action, passes: None });
            }
            places[field] = walk.len() - 1;
        }
        for walked in &mut walk {
            walked.passes = self.stored.passes(walked.action.nodes());
        }
        for step in &mut steps {
            if let Step::Take(source) = step {
                *step = Step::Take(places[*source]);
            }
        }
        // Neighbours are taken at once.
        steps.dedup();
        let takes = steps.iter().filter_map(|step| match step {
            Step::Take(place) => Some(*place),
            _ => None,
        });
        let ordered = takes.is_sorted_by(|a, b| a < b) && !keeps;
        let quick = self.quick(&walk, &steps);
        Ok(Fields { walk, steps, ordered, runs, room: has_room, quick })
    }

    /// The quick way of a plan, if it has one.
    fn quick(&self, walk: &[Walked], steps: &[Step]) -> Option<Quick> {
        let mut pieces = Vec::new();
        // For each place of the walk the first of its pieces, and how many they are.
        let mut places = Vec::new();
        for walked in walk {
            if let Action::Keep { .. } = walked.action {
                return None;
            }
            let first = pieces.len();
            for pass in walked.passes.as_deref()? {
                if let Pass::Flat(_) = pass {
                    return None;
                }
                pieces.push(*pass);
            }
            places.push(first..pieces.len());
        }
        let mut parts = Vec::new();
        for step in steps {
            let Step::Take(place) = *step else { return None };
            match walk[place].action {
                Action::Copy { .. } => parts.extend(places[place].clone().map(Part::Copy)),
                Action::Convert { conversion, .. } => match self.conversions[conversion] {
                    Conversion::Number { from, to, .. } if to.widens(from) => {
                        parts.push(Part::Widen(places[place].start, from, to));
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
        Quick::new(pieces, parts)
    }

    /// The conversion of a stored field to one of the program.
    fn taken(
        &mut self,
        old: &Given<'_>,
        source: usize,
        new: &Wanted<'_>,
        field: usize,
    ) -> Result<usize> {
        let stored = &old.fields[source];
        let path = old.path(&stored.name);
        let place = Place { class: old.class, field: &path };
        let found = self.field_conversion(old.first + source, &stored.kind, new, field, &place);
        found.ok_or_else(|| {
            let (wanted, record) = (&new.fields[field], &new.records[field]);
            let at = (new.class, new.variant, field);
            let error = self.field_mismatch(old.class, &stored.kind, wanted, record, at);
            error.in_field(&old.path(&wanted.name))
        })
    }

    /// Checks that a field of the program's struct or variant gets what the save has as its source, or a default.
    pub(crate) fn check_field(
        &mut self,
        (class, old): (usize, usize),
        source: Option<usize>,
        (target, new): (usize, usize),
        field: usize,
    ) -> Result<()> {
        let all = self.stored.clone();
        let (old, new) = (Given::of(&all, class, old), self.wanted(target, new));
        match source {
            Some(source) => self.taken(&old, source, &new, field).map(drop),
            None => self.without_source(&old, &new, field).map(drop),
        }
    }

    /// The conversion of a stored value to a field of the program.
    pub(super) fn field_conversion(
        &mut self,
        node: usize,
        kind: &KindSchema,
        new: &Wanted<'_>,
        field: usize,
        place: &Place<'_>,
    ) -> Option<usize> {
        let program = self.program;
        let wanted = &new.fields[field].kind;
        let old = program.old_kinds.get(&(new.class, new.variant, field));
        let old = old.filter(|_| !self.matched.is_compatible(kind, wanted));
        let typed = |this: &mut Self, old: &KindSchema| {
            let of = this.conversion(node, kind, old, place)?;
            Some(this.typed(of, new.class, new.variant, field))
        };
        // What is older still becomes what the `convert` takes.
        let typed = old.and_then(|old| typed(self, old));
        typed
            .or_else(|| self.conversion(node, kind, wanted, place))
            .or_else(|| self.longer(node, kind, new, field, place))
    }

    /// The conversion of an array to a longer one, if the field has a default.
    fn longer(
        &mut self,
        node: usize,
        kind: &KindSchema,
        new: &Wanted<'_>,
        field: usize,
        place: &Place<'_>,
    ) -> Option<usize> {
        let wanted = &new.fields[field].kind;
        let (KindSchema::Array(_, from), KindSchema::Array(part, to)) = (kind, wanted) else {
            return None;
        };
        if from >= to || !new.records[field].has_default {
            return None;
        }
        let short = KindSchema::Array(part.clone(), *from);
        let of = self.conversion(node, kind, &short, place)?;
        let run = self.events.run();
        let detail = format!("elements {from} to {}", to - 1);
        self.events.enter(run, LoadEvent::Defaulted, place.class, place.field, &detail);
        let (from, class, variant) = (*from, new.class, new.variant);
        Some(self.enter(Conversion::Longer { of, from, class, variant, field, run }))
    }

    /// What a field gets that the save does not have, and what to report of it.
    pub(super) fn without_source(
        &self,
        old: &Given<'_>,
        new: &Wanted<'_>,
        field: usize,
    ) -> Result<(Step, Option<LoadEvent>)> {
        let (name, record) = (&new.fields[field].name, &new.records[field]);
        if record.keeps_unknown {
            return Ok((Step::Unknown, None));
        }
        if record.has_default {
            return Ok((Step::Default { variant: new.variant, field }, Some(LoadEvent::Defaulted)));
        }
        if self.options.fill {
            return Ok((Step::Empty { variant: new.variant, field }, Some(LoadEvent::Filled)));
        }
        let path = old.path(name);
        Err(Error::new(
            ErrorKind::MissingField,
            format!(
                "the save does not have field {name} of {}; give it `#[persist(default)]`, or `#[persist(alias = \"old name\")]` if it was renamed",
                old.class
            ),
        )
        .in_field(&path))
    }

    /// Notes that a field is converted.
    pub(super) fn note_converted(
        &mut self,
        kind: &KindSchema,
        wanted: &KindSchema,
        place: &Place<'_>,
        run: usize,
    ) {
        if !self.matched.is_compatible(kind, wanted) {
            let detail = self.both_kinds(kind, wanted);
            self.events.enter(run, LoadEvent::Converted, place.class, place.field, &detail);
        }
    }

    /// Two kinds, for a report.
    pub(super) fn both_kinds(&self, stored: &KindSchema, wanted: &KindSchema) -> String {
        let (stored, wanted) =
            (stored.display(&self.stored), wanted.display(&self.program.classes));
        format!("{} to {}", shortened(&stored), shortened(&wanted))
    }

    /// The error for a field that cannot become what the program has.
    pub(super) fn field_mismatch(
        &self,
        class: &str,
        stored: &KindSchema,
        wanted: &FieldSchema,
        record: &FieldRecord,
        place: (usize, usize, usize),
    ) -> Error {
        let name = &wanted.name;
        let Some(old) = self.program.old_kinds.get(&place).filter(|_| record.convert.is_some())
        else {
            return self.mismatch(&format!("field {name} of {class}"), stored, &wanted.kind);
        };
        let (stored, classes) = (stored.display(&self.stored), &self.program.classes);
        let (old, new) = (old.display(classes), wanted.kind.display(classes));
        Error::new(
            ErrorKind::KindMismatch,
            format!(
                "the save holds {stored} where field {name} of {class} is {new}, and its `convert` takes {old}; give it a function that takes what is stored, where a struct or an enum has the name that it had, `#[persist(class = \"...\")]`"
            ),
        )
    }

    /// The error for a value that cannot become what the program has.
    pub(super) fn mismatch(&self, what: &str, stored: &KindSchema, wanted: &KindSchema) -> Error {
        let names =
            |(old, new): (usize, usize)| (&self.stored[old].name, &self.program.classes[new].name);
        let is_std =
            |class: usize| self.program.targets[class].is_some_and(|target| target.class.is_std());
        let differing = self.differing_classes(stored, wanted).filter(|(_, new)| !is_std(*new));
        let instances: Vec<&str> = differing
            .filter(|(old, new)| self.matched.is_related(*old, self.program, *new))
            .into_iter()
            .flat_map(|(old, _)| self.program.candidates(&self.stored[old]))
            .map(|class| &*self.program.classes[class].name)
            .collect();
        let is_own = |name: &str| {
            let mut targets = self.program.targets.iter().flatten();
            targets.any(|Target { class, .. }| class.base_name() == name && !class.is_std())
        };
        // Of what is known only the arguments differ.
        let is_unknown = |name: &str| {
            let mut classes = self.stored.iter().enumerate();
            classes.any(|(i, class)| class.name == name && self.resolve(i).is_none())
        };
        let renamed = differing.map(names).map(|(old, new)| renamed_part(old, new));
        // The class of what `#[persist(serde)]` stores.
        let is_of_serde = |kind: &KindSchema, classes: &[crate::schema::ClassSchema]| matches!(kind, KindSchema::Class(class) if classes[*class].name == "persist.Any");
        let advice = match renamed.filter(|(_, new)| is_own(new.split('<').next().unwrap_or(new))) {
            _ if is_of_serde(stored, &self.stored)
                || is_of_serde(wanted, &self.program.classes) =>
            {
                String::from(
                    "keep `#[persist(serde)]` as it was, or give the field `#[persist(convert = function)]`, where a transparent newtype around a field with `serde` stands for that form",
                )
            }
            _ if instances.len() > 1 => format!(
                "an object of it could become any of {}; register one of these alone, or keep the old type",
                instances.join(", ")
            ),
            Some((old, new)) if instances.is_empty() || is_unknown(old) => {
                format!("if {new} is what {old} was, give it `#[persist(alias = \"{old}\")]`")
            }
            _ if stored.refers() || wanted.refers() => String::from(
                "give the class that holds it `#[persist(version = 2, migrate = function)]`, or keep the old type",
            ),
            _ if matches!(
                (stored, wanted),
                (KindSchema::Tuple(_), KindSchema::Class(class)) if !is_std(*class)
            ) =>
            {
                String::from(
                    "to take a tuple by position, give the fields `#[persist(alias = \"0\")]`, `#[persist(alias = \"1\")]` and so on",
                )
            }
            _ => String::from(
                "give the field `#[persist(convert = function)]`, a function from the old type to the new one, or keep the old type",
            ),
        };
        Error::new(
            ErrorKind::KindMismatch,
            format!(
                "the save holds {} where {what} is {}; {advice}",
                stored.display(&self.stored),
                wanted.display(&self.program.classes)
            ),
        )
    }

    /// The classes by which two kinds of one shape differ: a stored one and one
    /// of the program.
    fn differing_classes(
        &self,
        stored: &KindSchema,
        wanted: &KindSchema,
    ) -> Option<(usize, usize)> {
        use KindSchema as K;
        match (stored, wanted) {
            (K::Option(_), K::Option(_))
            | (K::List(_), K::List(_))
            | (K::Set(_), K::Set(_))
            | (K::Map(_), K::Map(_))
            | (K::Array(..), K::Array(..))
            | (K::Tuple(_), K::Tuple(_)) => {
                let mut parts = stored.parts().iter().zip(wanted.parts());
                parts.find_map(|(a, b)| self.differing_classes(a, b))
            }
            (K::Class(a), K::Class(b))
            | (K::Reference { class: a, .. }, K::Reference { class: b, .. }) => {
                (self.resolve(*a) != Some(*b)).then_some((*a, *b))
            }
            _ => None,
        }
    }
}

/// The argument by which two names of one generic class differ, if it is one; else the names.
fn renamed_part<'n>(old: &'n str, new: &'n str) -> (&'n str, &'n str) {
    let is_part = |letter: char| !"<>()[],; &".contains(letter);
    let split = |name: &'n str| name.split(move |letter| !is_part(letter)).collect::<Vec<_>>();
    let (olds, news) = (split(old), split(new));
    let mut differ = olds.iter().zip(&news).filter(|(old, new)| old != new);
    match (differ.next(), differ.next()) {
        (Some((old, new)), None) if olds.len() == news.len() && olds.len() > 1 => (old, new),
        _ => (old, new),
    }
}
