//! What changed between a locked version and the program, and what that does to old saves.
//!
//! The plans by which a load would make the version's records the program's say what changed. What they leave open,
//! loads of samples show.

mod classes;
mod fields;
mod history;
mod judge;
mod kinds;
mod moves;

use std::sync::Arc;

use self::fields::pairs;
pub(super) use self::history::History;
use self::judge::Row;
pub(super) use self::kinds::{Fit, fit};
use self::moves::{Came, Left};
use super::load::Loads;
use super::report::{Difference, Verdict};
use super::sample::Reads;
use super::section::Section;
use super::source;
use crate::format::as_value::cell_of;
use crate::graph::Registry;
use crate::reflect::{Holder, Migration};
use crate::schema::{
    FieldSchema, Form, KindSchema, Plans, Program, Stored, find_variant, texts_and_classes_by_place,
};
use crate::{LoadOptions, World};

/// A version against the program.
struct Comparison<'c> {
    section: &'c Section,
    history: &'c History,
    /// Its index in the history.
    version: usize,
    program: &'c Program,
    registry: &'c Registry,
    /// Plans for the classes of the version, by the new names of those that seem to have been renamed.
    plans: Plans<'c>,
    stored: Arc<Stored>,
    /// The program's class for each.
    resolved: Vec<Option<usize>>,
    /// Where each is held by value.
    held: Vec<Option<String>>,
    /// True for those that are migrated, or are inside of others that are.
    migrated: Vec<bool>,
    rows: Vec<Row>,
    /// The fields that went, and those that came.
    left: Vec<Left>,
    came: Vec<Came>,
}

/// Compares a version with the program, whose classes of worlds are objects in the second registry, as they are in
/// samples; returns differences and notes.
pub(super) fn compare(
    section: &Section,
    (history, version): (&History, usize),
    is_newest: bool,
    registry: &Registry,
    with_parts: &Registry,
) -> (Vec<Difference>, Vec<String>) {
    let program = registry.program();
    let then = &section.objects;
    let section = &section.with_parts();
    let mut plans = Plans::new(section.classes.clone(), program, LoadOptions::default(), None);
    let (texts, by_place) = texts_and_classes_by_place(&mut plans);
    let original: Vec<_> = (0..section.classes.len()).map(|class| plans.resolve(class)).collect();
    let mut comparison = Comparison {
        section,
        history,
        version,
        program,
        registry,
        stored: plans.stored.clone(),
        plans,
        resolved: original.clone(),
        held: holders(section),
        migrated: Vec::new(),
        rows: Vec::new(),
        left: Vec::new(),
        came: Vec::new(),
    };
    comparison.gone_classes(&by_place);
    comparison.known_classes();
    comparison.traits(&original);
    comparison.objects(&original, then);
    comparison.new_classes(is_newest);
    comparison.moves();
    let reads = Reads { texts, ..comparison.reads(&original, with_parts) };
    let notes = comparison.judge(Loads::new(section, with_parts, &reads));
    (comparison.rows.into_iter().map(|row| row.of).collect(), notes)
}

/// For each class of a version a place that holds it by value, if there is one: what the program does not know is kept of
/// objects alone.
fn holders(section: &Section) -> Vec<Option<String>> {
    let mut places = vec![None; section.classes.len()];
    for (class, schema) in section.classes.iter().enumerate() {
        for (field, held) in section.held_by(class) {
            let place = format!("{}.{field}", schema.name);
            places[held].get_or_insert_with(|| place.trim_end_matches('.').to_owned());
        }
    }
    for of in World::TRAITS {
        for class in section.classes_of(of) {
            places[*class].get_or_insert_with(|| format!("dyn {of}"));
        }
    }
    places
}

impl Comparison<'_> {
    /// What is said of the classes that the program has.
    fn known_classes(&mut self) {
        let is_migrated = |class: usize| {
            let target = self.resolved[class].and_then(|target| self.program.targets[target]);
            target.is_some_and(|target| {
                self.stored[class].version < target.class.version
                    && !matches!(target.class.migration, Migration::None)
            })
        };
        let migrated = (0..self.stored.len()).map(is_migrated).collect();
        self.migrated = self.section.inside(migrated);
        for class in 0..self.stored.len() {
            if let Some(target) = self.resolved[class] {
                self.known_class(class, target);
                self.fields(class, target);
                self.variants(class, target);
            }
        }
    }

    /// Classes that are registered for their traits no more.
    fn traits(&mut self, resolved: &[Option<usize>]) {
        for (name, classes) in &self.section.traits {
            let now = self.registry.trait_classes().find(|(now, _)| now == name);
            let has = |target: usize| now.as_ref().is_some_and(|(_, now)| now.contains(&target));
            // A class that is gone is told as such.
            for (class, target) in classes.iter().filter_map(|it| Some((*it, resolved[*it]?))) {
                if has(target) {
                    continue;
                }
                let today = &self.program.classes[target].name;
                let change = format!("{today} is not registered for it any more");
                let of = format!("trait {name}");
                // A program without components does not have their trait.
                let is_kept = World::TRAITS.contains(&&**name) || self.registry.has_stand_in(name);
                self.rows.push(if is_kept {
                    let change = format!("{change}; values of it are kept as unknown");
                    Row::new(&of, Verdict::Safe, change)
                } else {
                    let rust = source::type_name(self.program, target);
                    let change = format!("{change}; keep `register_as::<{rust}, dyn {name}>()`");
                    let row = Row::new(&of, Verdict::Breaks, change);
                    let row = row.stored(&self.section.classes[class].name, "");
                    Row { is_doubtful: true, ..row }
                });
            }
        }
    }

    /// Objects that the program does not have in their holder any more.
    fn objects(&mut self, resolved: &[Option<usize>], then: &[(usize, Holder)]) {
        let now: Vec<_> = self.registry.object_types().collect();
        for (class, holder) in then {
            let target = resolved[*class].filter(|target| !now.contains(&(*target, *holder)));
            let Some(target) = target else { continue };
            let is_new =
                |(of, holder): &&(usize, _)| *of == target && !then.contains(&(*class, *holder));
            let mut change = format!(
                "objects in {} are kept as unknown: they are not registered any more",
                cell_of(*holder)
            );
            let came = now.iter().find(is_new);
            if let Some((_, came)) = came {
                let kept = holder.around(false, source::type_name(self.program, target));
                let came = cell_of(*came);
                change.push_str(&format!(
                    ", and now are in {came}; keep `register_pointer::<{kept}>()`"
                ));
            }
            let verdict = if came.is_some() { Verdict::Breaks } else { Verdict::Safe };
            self.rows.push(Row::new(&self.program.classes[target].name, verdict, change));
        }
    }

    /// What samples must show. `resolved` are the classes that a load finds, and the registry has those of worlds as
    /// objects.
    fn reads(&self, resolved: &[Option<usize>], registry: &Registry) -> Reads {
        let (section, program) = (self.section, self.program);
        let now: Vec<_> = registry.object_types().collect();
        let is_known = |(class, holder): &(usize, _)| {
            resolved[*class].is_some_and(|target| now.contains(&(target, *holder)))
        };
        let unknown = section.objects.iter().enumerate().filter(|(_, object)| !is_known(object));
        let unknown = unknown.map(|(object, _)| object).collect();
        let mut reads = Reads { unknown, ..Reads::default() };
        for (class, target) in resolved.iter().enumerate() {
            let Some(target) = *target else { continue };
            let old = &section.classes[class];
            for pair in pairs((class, old), (target, program)) {
                for (node, (i, field)) in
                    (self.stored.first(class, pair.stored.1)..).zip(pair.old.iter().enumerate())
                {
                    let new = pair.sources().iter().position(|source| *source == Some(i));
                    let is_same = |new: usize| {
                        pair.records[new].convert.is_none()
                            && is_one(resolved, field, &pair.new[new])
                    };
                    match new {
                        Some(new) if is_same(new) => {}
                        // A migration may put it anywhere.
                        None if !self.migrated[class] => drop(reads.unread.insert(node)),
                        _ => drop(reads.apart.insert(node)),
                    }
                }
            }
            if let (Form::Enum(variants), Some(described), false) =
                (&old.form, program.targets[target], self.migrated[class])
            {
                for (i, variant) in variants.iter().enumerate() {
                    if find_variant(&variant.name, described.class.variants()).is_none() {
                        let first = self.stored.first(class, i);
                        reads.unread.extend(first..first + variant.fields.len());
                    }
                }
            }
        }
        reads
    }
}

/// True if all classes that a field holds by value become those that they are by name.
fn is_one(resolved: &[Option<usize>], old: &FieldSchema, new: &FieldSchema) -> bool {
    let classes = |kind: &KindSchema| {
        let mut classes = Vec::new();
        kind.visit(&mut |kind| {
            if let KindSchema::Class(class) = kind {
                classes.push(*class);
            }
        });
        classes
    };
    let mut wanted = classes(&new.kind);
    classes(&old.kind).into_iter().all(|class| {
        let found = wanted.iter().position(|wanted| resolved[class] == Some(*wanted));
        found.map(|found| wanted.swap_remove(found)).is_some()
    })
}
