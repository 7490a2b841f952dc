//! Pairs the fields of the program with stored fields. Identical, rewritten and migrated records, unknown fields and
//! the lock all use this pairing.
//!
//! 1. Where both fields have a number, the number decides. They are the same field if it is the same number,
//!    whatever their names are.
//! 2. Else the name decides, then the aliases.
//! 3. A value that the writing program stored itself wins over one that it kept for another program, unless it had
//!    synthesized the value.
//! 4. A kept value wins over one that a migration made. Among the others, the field that a migration renamed comes
//!    first; it has no number.
//!
//! A stored field is superseded if its field has another source: the next save would store that field beside it.

use std::collections::HashSet;

use super::FieldSchema;
use crate::reflect::{FieldRecord, VariantRecord};
use crate::value::{Field, Origin};
use crate::{Error, ErrorKind};

/// A field of the save, or what a migration has made of it.
pub trait StoredField {
    fn name(&self) -> &str;

    fn number(&self) -> Option<u32>;

    fn origin(&self) -> Origin {
        Origin::Written
    }
}

impl StoredField for FieldSchema {
    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> Option<u32> {
        self.id
    }
}

impl StoredField for &Field {
    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> Option<u32> {
        self.number
    }

    fn origin(&self) -> Origin {
        self.origin
    }
}

/// The stored fields, by the fields of the program that they become.
pub struct Pairing {
    /// For each field of the program its stored field. No stored field stands twice.
    pub sources: Vec<Option<usize>>,
    /// For each field of the program whose kept field is its source, what a migration or an older program made of it.
    pub(crate) made: Vec<Option<usize>>,
    /// For each stored field, whether it is dropped. Kept copies of another field are, and so are fields whose target
    /// has another source.
    pub is_superseded: Vec<bool>,
    clash: Option<Clash>,
}

/// Number and name say different things of a field.
enum Clash {
    /// A field of the program has one source by its number, and another by name or alias.
    TwoSources { field: usize, numbered: usize, named: usize },
    /// A stored field is one of the program's by its number, and another by name or alias.
    TwoFields { stored: usize, numbered: usize, named: usize },
}

/// Pairs the fields of a record with those of the program.
pub fn pair<F: StoredField>(stored: &[F], records: &[FieldRecord]) -> Pairing {
    // The passes were once compiled for three kinds of fields, seven times each.
    let stored: Vec<&dyn StoredField> = stored.iter().map(|field| field as _).collect();
    pair_fields(&stored, records)
}

/// Compiled once for what is stored and what a migration has made.
fn pair_fields(stored: &[&dyn StoredField], records: &[FieldRecord]) -> Pairing {
    let mut pairs = PairingBuilder {
        stored,
        records,
        copies: copies(stored),
        is_accepted: vec![false; stored.len()],
        sources: vec![None; records.len()],
    };
    // A field that a migration renamed has lost its number. It comes first, or a stored field would take its place by a
    // number or an old name.
    pairs.take(&|stored, field| stored.origin() == Origin::Created && stored.name() == field.name);
    pairs.take(&|stored, field| stored.origin() == Origin::Written && is_numbered(stored, field));
    pairs.take(&|stored, field| stored.origin() == Origin::Written && is_named(stored, field));
    pairs.take(&|stored, field| {
        matches!(stored.origin(), Origin::Written | Origin::Created) && is_alias(stored, field)
    });
    let is_synthesized = |stored: &dyn StoredField| stored.origin() == Origin::Synthesized;
    // After all fields that somebody chose. Only saves that an older program has written hold such values, so others
    // skip the three passes.
    if stored.iter().any(|stored| is_synthesized(*stored)) {
        pairs.take(&|stored, field| is_synthesized(stored) && is_numbered(stored, field));
        pairs.take(&|stored, field| is_synthesized(stored) && is_named(stored, field));
        pairs.take(&|stored, field| is_synthesized(stored) && is_alias(stored, field));
    }
    // Before kept fields become sources: a contradiction counts only between fields that one program has written.
    let clash = pairs.clash();
    // Kept ones take the place of what was made.
    let mut made = vec![None; records.len()];
    let written = pairs.sources.clone();
    for (source, made) in pairs.sources.iter_mut().zip(&mut made) {
        let origin = |source: usize| stored[source].origin();
        *made = source.take_if(|it| matches!(origin(*it), Origin::Created | Origin::Synthesized));
    }
    let is_unknown = |stored: &dyn StoredField| stored.origin() == Origin::Unknown;
    pairs.take(&|stored, field| is_unknown(stored) && is_numbered(stored, field));
    pairs.take(&|stored, field| is_unknown(stored) && is_named(stored, field));
    pairs.take(&|stored, field| is_unknown(stored) && is_alias(stored, field));
    for ((source, made), written) in pairs.sources.iter_mut().zip(&mut made).zip(written) {
        // No kept field took the place.
        if source.is_none() {
            (*source, *made) = (written, None);
        }
    }
    let is_superseded = pairs.superseded();
    Pairing { sources: pairs.sources, made, is_superseded, clash }
}

impl Pairing {
    /// True if each field of the program is the stored one of its place.
    pub(super) fn is_in_order(&self) -> bool {
        let mut sources = self.sources.iter().enumerate();
        self.clash.is_none() && sources.all(|(i, source)| *source == Some(i))
    }

    /// The error for a record in which number and name say different things of a field.
    pub(crate) fn check<F: StoredField>(
        &self,
        class: &str,
        stored: &[F],
        records: &[FieldRecord],
    ) -> Result<(), Error> {
        let number = |field: usize| records[field].id.unwrap_or_default();
        let (field, message) = match self.clash {
            None => return Ok(()),
            Some(Clash::TwoSources { field, numbered, named }) => (
                field,
                format!(
                    "field {} of {class} is number {}, which the save has as {}, and the save has {} too, without a number, by whose name the field is known; give the class a `version` and a `migrate` that renames one of the two",
                    records[field].name,
                    number(field),
                    stored[numbered].name(),
                    stored[named].name(),
                ),
            ),
            Some(Clash::TwoFields { stored: of, numbered, named }) => (
                named,
                format!(
                    "{} of the save is two fields of {class}: {} by its number {}, and {} by its name; give {} a number of its own, `#[persist(id = n)]`",
                    stored[of].name(),
                    records[numbered].name,
                    number(numbered),
                    records[named].name,
                    records[named].name,
                ),
            ),
        };
        Err(Error::new(ErrorKind::Unsupported, message).in_field(records[field].name))
    }
}

impl FieldRecord {
    /// True if a stored field may be this one.
    pub fn may_be(&self, stored: &dyn StoredField) -> bool {
        is_numbered(stored, self) || is_named(stored, self) || is_alias(stored, self)
    }
}

/// A pairing that is being made.
struct PairingBuilder<'a> {
    stored: &'a [&'a dyn StoredField],
    records: &'a [FieldRecord],
    /// Kept fields that are copies of another.
    copies: Vec<bool>,
    is_accepted: Vec<bool>,
    sources: Vec<Option<usize>>,
}

impl PairingBuilder<'_> {
    /// Gives each field without a source the first free stored field that it is.
    fn take(&mut self, is: &dyn Fn(&dyn StoredField, &FieldRecord) -> bool) {
        for (source, record) in self.sources.iter_mut().zip(self.records) {
            if source.is_some() {
                continue;
            }
            let free = |i: &usize| !self.is_accepted[*i] && !self.copies[*i];
            *source =
                (0..self.stored.len()).filter(free).find(|stored| is(self.stored[*stored], record));
            source.iter().for_each(|source| self.is_accepted[*source] = true);
        }
    }

    fn clash(&self) -> Option<Clash> {
        let written = |i: &usize| self.stored[*i].origin() == Origin::Written;
        for (field, (source, record)) in self.sources.iter().zip(self.records).enumerate() {
            let by_name = |i: &usize| {
                written(i)
                    && (is_named(self.stored[*i], record) || is_alias(self.stored[*i], record))
            };
            let by_number = source
                .filter(|source| written(source) && is_numbered(self.stored[*source], record));
            if let Some(numbered) = by_number {
                let mut free = (0..self.stored.len()).filter(|i| !self.is_accepted[*i]);
                if let Some(named) = free.find(by_name) {
                    return Some(Clash::TwoSources { field, numbered, named });
                }
            } else if source.is_none() && record.id.is_none() {
                for (numbered, source) in self.sources.iter().enumerate() {
                    let consumed = source.filter(|source| {
                        by_name(source)
                            && is_numbered(self.stored[*source], &self.records[numbered])
                    });
                    if let Some(stored) = consumed {
                        return Some(Clash::TwoFields { stored, numbered, named: field });
                    }
                }
            }
        }
        None
    }

    /// For each stored field, whether it lost its place to another.
    fn superseded(&self) -> Vec<bool> {
        let is_source = |stored: &dyn StoredField| {
            let mut sources = self.sources.iter().zip(self.records);
            sources.any(|(source, record)| source.is_some() && record.may_be(stored))
        };
        let lost = |(i, stored): (usize, &&dyn StoredField)| {
            matches!(stored.origin(), Origin::Written | Origin::Unknown | Origin::Synthesized)
                && !self.is_accepted[i]
                && (self.copies[i] || is_source(*stored))
        };
        self.stored.iter().enumerate().map(lost).collect()
    }
}

/// True for each kept field that was stored too, or kept before: the other is newer.
fn copies(stored: &[&dyn StoredField]) -> Vec<bool> {
    let mut copies = vec![false; stored.len()];
    let of = |origin| stored.iter().enumerate().filter(move |(_, field)| field.origin() == origin);
    if of(Origin::Unknown).next().is_none() {
        return copies;
    }
    // A save may have any number of kept fields. Comparing each with all others made a load quadratic.
    let mut known = StoredNames::default();
    for (i, field) in of(Origin::Written).chain(of(Origin::Synthesized)).chain(of(Origin::Unknown))
    {
        let is_known = known.has(field.number(), field.name());
        copies[i] = is_known && field.origin() == Origin::Unknown;
        known.insert(*field);
    }
    copies
}

/// Stored fields by number and name. A save may have any number of them, and asks of each whether it is another.
#[derive(Default)]
pub(super) struct StoredNames<'s> {
    numbers: HashSet<u32>,
    names: HashSet<&'s str>,
    /// Of those without a number.
    unnumbered: HashSet<&'s str>,
}

impl<'s> StoredNames<'s> {
    pub(super) fn insert(&mut self, field: &'s dyn StoredField) {
        self.names.insert(field.name());
        match field.number() {
            Some(number) => self.numbers.insert(number),
            None => self.unnumbered.insert(field.name()),
        };
    }

    /// True if one of them is the field of this number and name.
    pub(super) fn has(&self, number: Option<u32>, name: &str) -> bool {
        match number {
            // A field may have got its number later, so a stored one without a number is found by its name. Two
            // different numbers are two fields, whatever their names.
            Some(number) => self.numbers.contains(&number) || self.unnumbered.contains(name),
            None => self.names.contains(name),
        }
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// True if one of them may be this field of the program.
    pub(super) fn may_be(&self, field: &FieldRecord) -> bool {
        let mut names = field.aliases.iter().chain([&field.name]);
        names.any(|name| self.has(field.id, name))
    }
}

fn is_numbered(stored: &dyn StoredField, field: &FieldRecord) -> bool {
    stored.number().is_some() && stored.number() == field.id
}

/// True if the name may decide.
fn is_unnumbered(stored: &dyn StoredField, field: &FieldRecord) -> bool {
    stored.number().is_none() || field.id.is_none()
}

fn is_named(stored: &dyn StoredField, field: &FieldRecord) -> bool {
    is_unnumbered(stored, field) && stored.name() == field.name
}

fn is_alias(stored: &dyn StoredField, field: &FieldRecord) -> bool {
    is_unnumbered(stored, field) && field.aliases.contains(&stored.name())
}

/// The program's variant for a stored one.
pub fn find_variant(name: &str, variants: &[VariantRecord]) -> Option<usize> {
    variants
        .iter()
        // All names before all aliases: a variant may have the former name of another one, and a stored name means the
        // variant that has it now.
        .position(|variant| variant.name == name)
        .or_else(|| variants.iter().position(|variant| variant.aliases.contains(&name)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A field that counts how often it is asked what it is.
    struct CountedField<'c> {
        name: &'static str,
        origin: Origin,
        steps: &'c Cell<usize>,
    }

    impl CountedField<'_> {
        fn step(&self) {
            self.steps.set(self.steps.get() + 1);
        }
    }

    impl StoredField for CountedField<'_> {
        fn name(&self) -> &str {
            self.step();
            self.name
        }

        fn number(&self) -> Option<u32> {
            self.step();
            None
        }

        fn origin(&self) -> Origin {
            self.step();
            self.origin
        }
    }

    #[test]
    fn twice_as_many_stored_fields_take_twice_the_steps() {
        const NAMES: [&str; 3] = ["lost", "old", "other"];
        let steps_for = |count: usize, origin: Origin| {
            let steps = Cell::new(0);
            let field = |i| CountedField { name: NAMES[i % NAMES.len()], origin, steps: &steps };
            let fields: Vec<_> = (0..count).map(field).collect();
            let pairing = pair(&fields, &[]);
            assert_eq!(pairing.is_superseded.len(), count);
            let names = fields.iter().fold(StoredNames::default(), |mut names, field| {
                names.insert(field);
                names
            });
            assert!(fields.iter().all(|field| names.has(None, field.name)));
            steps.get()
        };
        for origin in [Origin::Written, Origin::Unknown, Origin::Created] {
            let (once, duplicate) = (steps_for(1_000, origin), steps_for(2_000, origin));
            assert!(duplicate <= 2 * once + 100, "{origin:?}: {once} and {duplicate} steps");
        }
    }
}
