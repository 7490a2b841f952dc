//! The naive twin: the rules of the format page, "Which field is which", one after the other.

use std::collections::BTreeMap;

use persist::ErrorKind;
use persist::save::LoadEvent;

use super::programs::{Op, Spec, Wanted};
use super::{Number, Stored};

/// What a value of a class stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the object itself, with which anything can be kept.
    Object,
    /// Fields, boxes and variants lead to it, so what is kept of it has a place that lasts.
    Lasting,
    /// It lies in another value, for example in a list.
    Inner,
}

/// What a load makes of one value.
#[derive(Debug)]
pub(super) enum Outcome {
    Loaded(Found),
    /// Any of these errors, each in a field.
    Refused(Vec<(ErrorKind, String)>),
}

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) values: Vec<u32>,
    pub(super) kept: Vec<Stored>,
    pub(super) rows: BTreeMap<(LoadEvent, String), u64>,
}

impl Found {
    fn report(&mut self, change: LoadEvent, field: &str) {
        *self.rows.entry((change, field.to_owned())).or_default() += 1;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The writer stored it itself.
    Written,
    /// The writer kept it.
    Kept,
    /// It was kept of another variant.
    Other,
    /// A migration made it.
    Made,
    /// The writer stored it itself, and it is what the writer made up for it.
    MadeUp,
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    stored: Stored,
    from: Source,
    /// Also if a migration has renamed it.
    is_made_up: bool,
}

impl Field {
    /// A field whose name a migration gave has no number.
    fn number(&self) -> Option<u32> {
        self.stored.number.filter(|_| self.from != Source::Made)
    }
}

/// How well a stored field fits one of the reader's; the least is the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// A migration gave it this name.
    Made,
    Number,
    Name,
    Alias,
}

/// Rules 1 and 2.
fn fit(field: &Field, wanted: &Wanted) -> Option<Fit> {
    if field.from == Source::Made && field.name == wanted.name {
        return Some(Fit::Made);
    }
    match (field.number(), wanted.number) {
        (Some(stored), Some(wanted)) => (stored == wanted).then_some(Fit::Number),
        _ if field.name == wanted.name => Some(Fit::Name),
        _ => wanted.aliases.contains(&&*field.name).then_some(Fit::Alias),
    }
}

/// For each of the reader's fields the index of its source, best fits first.
fn sources(fields: &[Field], wanted: &[Wanted]) -> Vec<Option<usize>> {
    let found = vec![None; wanted.len()];
    let found = more_sources(fields, wanted, &[Source::Written, Source::Made], found);
    // Nobody has chosen what was made up.
    more_sources(fields, wanted, &[Source::MadeUp], found)
}

fn more_sources(
    fields: &[Field],
    wanted: &[Wanted],
    of: &[Source],
    mut found: Vec<Option<usize>>,
) -> Vec<Option<usize>> {
    for rank in [Fit::Made, Fit::Number, Fit::Name, Fit::Alias] {
        for (w, wanted) in wanted.iter().enumerate() {
            for (f, field) in fields.iter().enumerate() {
                let is_free = found[w].is_none() && !found.contains(&Some(f));
                if is_free && of.contains(&field.from) && fit(field, wanted) == Some(rank) {
                    found[w] = Some(f);
                }
            }
        }
    }
    found
}

/// True if two stored fields are one field by rules 1 and 2.
fn is_same(a: &Field, b: &Field) -> bool {
    match (a.number(), b.number()) {
        (Some(a), Some(b)) => a == b,
        _ => a.name == b.name,
    }
}

/// Drops kept fields that the record stores, or that an earlier kept field is.
fn drop_copies(fields: &mut Vec<Field>, found: &mut Found) {
    let all = fields.clone();
    let mut place = 0;
    fields.retain(|field| {
        place += 1;
        let is_written = |a: &Field| matches!(a.from, Source::Written | Source::MadeUp);
        let is_written = all.iter().any(|a| is_written(a) && is_same(a, field));
        let mut earlier = all[..place - 1].iter().filter(|a| a.from == Source::Kept);
        let is_copy =
            field.from == Source::Kept && (is_written || earlier.any(|a| is_same(a, field)));
        if is_copy {
            found.report(LoadEvent::Superseded, &field.name);
        }
        !is_copy
    });
}

/// Rules 3 and 4: for each of the reader's fields its source, and what a migration made that this
/// source wins over.
fn pairs(fields: &[Field], wanted: &[Wanted]) -> Vec<(Option<usize>, Option<usize>)> {
    let first = sources(fields, wanted);
    let is_made = |f: usize| matches!(fields[f].from, Source::Made | Source::MadeUp);
    let open: Vec<usize> = (0..wanted.len()).filter(|w| first[*w].is_none_or(is_made)).collect();
    // Kept fields are left for those that have no stored source.
    let mut kept = vec![None; wanted.len()];
    for rank in [Fit::Number, Fit::Name, Fit::Alias] {
        for w in &open {
            for (f, field) in fields.iter().enumerate() {
                let is_free = kept[*w].is_none() && !kept.contains(&Some(f));
                let fits = fit(field, &wanted[*w]) == Some(rank);
                if is_free && field.from == Source::Kept && fits {
                    kept[*w] = Some(f);
                }
            }
        }
    }
    let both = first.into_iter().zip(kept);
    both.map(|(first, kept)| match kept {
        Some(kept) => (Some(kept), first),
        None => (first, None),
    })
    .collect()
}

/// Drops those of these fields that a rule makes the source of a field that has one already.
fn drop_superseded(
    (fields, of): (&[Field], &[Source]),
    wanted: &[Wanted],
    sources: &[Option<usize>],
    found: &mut Found,
) -> Vec<usize> {
    let lost = fields.iter().enumerate().filter(|(f, field)| {
        let mut taken = wanted.iter().zip(sources).filter(|(_, source)| source.is_some());
        of.contains(&field.from)
            && !sources.contains(&Some(*f))
            && taken.any(|(wanted, _)| fit(field, wanted).is_some())
    });
    let lost: Vec<usize> = lost.map(|(f, _)| f).collect();
    for f in lost.iter().filter(|f| fields[**f].from != Source::MadeUp) {
        found.report(LoadEvent::Superseded, &fields[*f].name);
    }
    lost
}

/// Number and name say different things of a field.
fn clashes(fields: &[Field], wanted: &[Wanted]) -> Vec<(ErrorKind, String)> {
    let first = sources(fields, wanted);
    let mut errors = Vec::new();
    for (w, field) in wanted.iter().enumerate() {
        let is_name = |name: &str| name == field.name || field.aliases.contains(&name);
        let numbered = first[w].filter(|f| {
            fields[*f].from == Source::Written && fit(&fields[*f], field) == Some(Fit::Number)
        });
        let two_sources = numbered.is_some()
            && fields.iter().enumerate().any(|(f, stored)| {
                let is_free = !first.contains(&Some(f));
                is_free
                    && stored.from == Source::Written
                    && stored.number().is_none()
                    && is_name(&stored.name)
            });
        let two_fields = first[w].is_none()
            && field.number.is_none()
            && wanted.iter().zip(&first).any(|(other, source)| {
                source.is_some_and(|f| {
                    let stored = &fields[f];
                    stored.from == Source::Written
                        && fit(stored, other) == Some(Fit::Number)
                        && is_name(&stored.name)
                })
            });
        if two_sources || two_fields {
            errors.push((ErrorKind::Unsupported, field.name.to_owned()));
        }
    }
    errors
}

/// What a migration makes of the fields that it sees.
fn migrate(mut fields: Vec<Field>, steps: &[Op]) -> Vec<Field> {
    let made = |name: &str, number: Number| Field {
        name: name.to_owned(),
        stored: Stored {
            name: "made",
            number: None,
            value: number,
            is_other: false,
            is_made_up: false,
        },
        from: Source::Made,
        is_made_up: false,
    };
    let set = |fields: &mut Vec<Field>, new: Field| match fields
        .iter_mut()
        .find(|field| field.name == new.name)
    {
        Some(field) => *field = new,
        None => fields.push(new),
    };
    for step in steps {
        let find = |fields: &[Field], name: &str| fields.iter().position(|f| f.name == name);
        match *step {
            Op::Rename(from, to) => {
                if let Some(i) = find(&fields, from) {
                    let renamed =
                        Field { name: to.into(), from: Source::Made, ..fields[i].clone() };
                    fields[i] = renamed.clone();
                    let mut place = 0;
                    fields.retain(|field| {
                        place += 1;
                        place - 1 == i || field.name != to
                    });
                }
            }
            Op::Move(from, to) => {
                if let Some(i) = find(&fields, from) {
                    let value = fields.remove(i).stored.value;
                    set(&mut fields, made(to, value));
                }
            }
            Op::Set(name, value) => set(&mut fields, made(name, Number::U32(value))),
            Op::Take(name) => {
                if let Some(i) = find(&fields, name) {
                    fields.remove(i);
                }
            }
        }
    }
    fields
}

/// Loads a value: of these fields, and these that were kept of it.
pub(super) fn load(
    (written, kept): (&[Stored], &[Stored]),
    version: u32,
    spec: &Spec,
    place: Place,
    drop_unknown: bool,
) -> Outcome {
    let mut found = Found::default();
    let (copies, kept): (Vec<&Stored>, Vec<&Stored>) = kept.iter().partition(|it| it.is_made_up);
    let field = |stored: &Stored, from| Field {
        name: stored.name.into(),
        stored: stored.clone(),
        from,
        is_made_up: from == Source::MadeUp,
    };
    let from_writer = |stored: &Stored| {
        let is_it = |copy: &&Stored| Stored { is_made_up: false, ..(**copy).clone() } == *stored;
        if copies.iter().any(is_it) { Source::MadeUp } else { Source::Written }
    };
    let from = |stored: &Stored| if stored.is_other { Source::Other } else { Source::Kept };
    let written = written.iter().map(|stored| field(stored, from_writer(stored)));
    let mut fields: Vec<Field> =
        written.chain(kept.iter().map(|stored| field(stored, from(stored)))).collect();
    drop_copies(&mut fields, &mut found);
    if version < spec.version {
        let sources: Vec<Option<usize>> =
            pairs(&fields, spec.fields).into_iter().map(|(source, _)| source).collect();
        // A migration sees every stored field.
        let of = [Source::Kept];
        let lost = drop_superseded((&fields, &of), spec.fields, &sources, &mut found);
        let (mut seen, mut unseen) = (Vec::new(), Vec::new());
        for (f, field) in fields.into_iter().enumerate() {
            let is_known = field.from == Source::Kept && sources.contains(&Some(f));
            if is_known || field.from == Source::Other {
                unseen.push(field);
            } else if !lost.contains(&f) {
                seen.push(field);
            }
        }
        fields = migrate(seen, spec.migration);
        fields.extend(unseen);
        found.report(LoadEvent::Migrated, "");
    }
    let mut errors = clashes(&fields, spec.fields);
    if !errors.is_empty() {
        return Outcome::Refused(errors);
    }
    let pairs = pairs(&fields, spec.fields);
    let sources: Vec<Option<usize>> = pairs.iter().map(|(source, _)| *source).collect();
    let of = [Source::Written, Source::Kept, Source::MadeUp];
    let mut made_up = Vec::new();
    let mut gone = drop_superseded((&fields, &of), spec.fields, &sources, &mut found);
    for (wanted, (source, made)) in spec.fields.iter().zip(pairs) {
        let Some(source) = source else {
            found.report(LoadEvent::Defaulted, wanted.name);
            found.values.push(wanted.default);
            made_up.push((wanted, wanted.default));
            continue;
        };
        gone.push(source);
        let (of, value) = (&fields[source], fields[source].stored.value.number());
        let mut is_made_up = of.is_made_up;
        let value = match (made, value) {
            (None, value) => value,
            (Some(_), Some(value)) => {
                found.report(LoadEvent::Restored, &of.name);
                gone.extend(made);
                Some(value)
            }
            (Some(made), None) => {
                found.report(LoadEvent::Superseded, &of.name);
                gone.push(made);
                is_made_up = fields[made].is_made_up;
                fields[made].stored.value.number()
            }
        };
        match value {
            Some(value) => {
                found.values.push(value);
                made_up.extend(is_made_up.then_some((wanted, value)));
            }
            None => errors.push((ErrorKind::KindMismatch, wanted.name.to_owned())),
        }
    }
    if !errors.is_empty() {
        return Outcome::Refused(errors);
    }
    for (f, field) in fields.iter().enumerate() {
        if gone.contains(&f) || field.from == Source::MadeUp {
            continue;
        }
        let has_room = spec.has_room || matches!(place, Place::Object | Place::Lasting);
        if has_room && field.from != Source::Made && !drop_unknown {
            found.report(LoadEvent::Kept, &field.name);
            found.kept.push(field.stored.clone());
        } else {
            found.report(LoadEvent::Dropped, &field.name);
        }
    }
    if !found.kept.is_empty() {
        // A later program sees by a copy whether it was changed.
        found.kept.extend(made_up.into_iter().map(|(wanted, value)| Stored {
            name: wanted.name,
            number: wanted.number,
            value: Number::U32(value),
            is_other: false,
            is_made_up: true,
        }));
    }
    Outcome::Loaded(found)
}
