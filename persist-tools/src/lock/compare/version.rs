//! Compares one version with the program, and finds the effect on its saves.

use persist::__tools::{
    FieldSchema, Form, KindSchema, Plans, Program, ProgramFields, texts_and_classes_by_place,
};
use persist::reflect::Holder;
use persist::save::{LoadEvent, Registry, ReportRow};
use persist::{LoadOptions, World};

use super::code::later_on_dropped;
use super::judge::judge;
use super::{Finding, Moves, VersionComparison, Versions, type_name};
use crate::classes::cell_of;
use crate::lock::report::Verdict;
use crate::lock::sample::given;
use crate::lock::{Compared, Loads, NotTested, ProgramReads, Section};

/// Compares a version with the program, whose classes of worlds are objects in the second registry, as they are in
/// samples.
pub(in crate::lock) fn compare(
    section: &Section,
    (versions, version): (&Versions, usize),
    is_newest: bool,
    registry: &Registry,
    with_parts: &Registry,
) -> Compared {
    let program = registry.program();
    let then = &section.objects;
    let section = &section.with_parts();
    let mut plans = Plans::new(section.classes.clone(), program, LoadOptions::default(), None);
    let (texts, by_place) = texts_and_classes_by_place(&mut plans);
    let original: Vec<_> = (0..section.classes.len()).map(|class| plans.resolve(class)).collect();
    let mut comparison = VersionComparison {
        section,
        versions,
        version,
        program,
        registry,
        stored: plans.stored.clone(),
        plans,
        resolved: original.clone(),
        held: holders(section),
        migrated: Vec::new(),
        findings: Vec::new(),
        moves: Moves::default(),
    };
    comparison.dropped_classes(&by_place);
    comparison.known_classes();
    comparison.traits(&original);
    comparison.objects(&original, then);
    comparison.new_classes(is_newest);
    std::mem::take(&mut comparison.moves).report(&mut comparison);
    let reads = ProgramReads { texts, ..comparison.reads(&original, with_parts) };
    let VersionComparison { resolved, mut findings, .. } = comparison;
    let loads = Loads::new(section, with_parts, &reads);
    // A step reads records of a class that the program does not have, and did not ask for their version.
    let is_read = |row: &&ReportRow| row.event == LoadEvent::Migrated && row.field.is_none();
    for row in loads.rows.iter().filter(is_read) {
        let class = section.classes.iter().position(|class| class.name == row.class);
        let Some(class) = class.filter(|class| resolved[*class].is_none()) else { continue };
        let later = later_on_dropped(section, (versions, version), class, &|_| false);
        let Some((name, attribute, function)) = later else { continue };
        let step = row.detail.as_deref().unwrap_or("`migrate`");
        let change = format!(
            "{step} reads its records as they were stored, and {name} changed them by the {attribute} {function}: ask each record for its `version()`, and treat each version as what it is"
        );
        findings.push(Finding::new(&row.class, Verdict::Loses, change));
    }
    let today = |name: &str| {
        let class = section.classes.iter().position(|class| class.name == name);
        let today = class.and_then(|class| resolved[class]);
        today.map_or(name, |target| &*program.classes[target].name).to_owned()
    };
    // Findings inside of a library class or a bare value belong to the field that holds it.
    let is_own = |class: usize| {
        let class = &section.classes[class];
        !matches!(class.form, Form::Value(_)) && !is_of_library(program, &class.name)
    };
    let not_tested = loads.not_tested.iter().filter(|(class, _)| is_own(*class));
    let not_tested = not_tested.map(|(class, is_excused)| NotTested {
        class: today(&section.classes[*class].name),
        is_excused: *is_excused,
    });
    let not_tested = not_tested.collect();
    let is_in_library = |what: &str| {
        let mut names = section.classes.iter().map(|class| &*class.name);
        names.any(|name| {
            let rest = what.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['.', ' '])) && is_of_library(program, name)
        })
    };
    let notes = judge(&mut findings, loads, today, is_in_library);
    let differences = findings.into_iter().map(|finding| finding.of).collect();
    Compared { differences, notes, not_tested }
}

/// True for a class of a type that no program has: one of the library, or of the standard library.
fn is_of_library(program: &Program, name: &str) -> bool {
    let class = program.classes.iter().position(|class| class.name == name);
    let target = class.and_then(|class| program.targets[class]);
    name.starts_with("persist.")
        || target.is_some_and(|target| {
            let path = target.class.type_name();
            ["persist::", "core::", "alloc::", "std::"].iter().any(|of| path.starts_with(of))
        })
}

/// For each class of a version a place that holds it by value, if there is one: what the program does not know is kept
/// of objects alone.
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

impl VersionComparison<'_> {
    /// Enters the findings about classes that the program has.
    fn known_classes(&mut self) {
        let is_migrated = |class: usize| {
            self.resolved[class].is_some_and(|target| self.plans.is_migrated(class, target))
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
            // A removed class is reported as such.
            for (class, target) in classes.iter().filter_map(|it| Some((*it, resolved[*it]?))) {
                if has(target) {
                    continue;
                }
                let today = &self.program.classes[target].name;
                let change = format!("{today} is not registered for it any more");
                let of = format!("trait {name}");
                // A program without components does not have their trait.
                let becomes_unknown =
                    World::TRAITS.contains(&&**name) || self.registry.has_stand_in(name);
                self.findings.push(if becomes_unknown {
                    let change = format!("{change}; values of it are kept as unknown");
                    Finding::new(&of, Verdict::Safe, change)
                } else {
                    let rust = type_name(self.program, target);
                    let change = format!("{change}; keep `register_as::<{rust}, dyn {name}>()`");
                    let finding = Finding::new(&of, Verdict::Breaks, change);
                    let finding = finding.stored(&self.section.classes[class].name, "");
                    Finding { doubt: Some(self.holders_of(name)), ..finding }
                });
            }
        }
    }

    /// The classes of the version that hold trait objects of a trait, or refer to some.
    fn holders_of(&self, of: &str) -> Vec<usize> {
        let is_of = |kind: &KindSchema| match kind {
            KindSchema::Dynamic(name) | KindSchema::TraitReference { name, .. } => **name == *of,
            _ => false,
        };
        let holds = |class: &usize| {
            let mut found = false;
            let kinds = self.section.classes[*class].named_kinds();
            kinds.for_each(|(_, kind)| kind.visit(&mut |kind| found |= is_of(kind)));
            found
        };
        (0..self.section.classes.len()).filter(holds).collect()
    }

    /// Objects that the program does not have in their holder any more.
    fn objects(&mut self, resolved: &[Option<usize>], then: &[(usize, Holder)]) {
        let now: Vec<_> = self.registry.object_types().collect();
        for (class, holder) in then {
            let Some(target) = resolved[*class] else { continue };
            let held = self.plans.holder(*class, *holder);
            if now.contains(&(target, held)) {
                if held != *holder {
                    let change =
                        format!("objects in {} are in {} now", cell_of(*holder), cell_of(held));
                    let class = &self.program.classes[target].name;
                    self.findings.push(Finding::new(class, Verdict::Safe, change));
                }
                continue;
            }
            let is_new =
                |(of, holder): &&(usize, _)| *of == target && !then.contains(&(*class, *holder));
            let mut change = format!(
                "objects in {} are kept as unknown: they are not registered any more",
                cell_of(*holder)
            );
            let came = now.iter().find(is_new);
            if let Some((_, came)) = came {
                let previous = holder.type_name(false, type_name(self.program, target));
                let came = cell_of(*came);
                change.push_str(&format!(
                    ", and now are in {came}; keep `register_pointer::<{previous}>()`"
                ));
            }
            let verdict = if came.is_some() { Verdict::Breaks } else { Verdict::Safe };
            self.findings.push(Finding::new(&self.program.classes[target].name, verdict, change));
        }
    }

    /// Returns the places that samples must cover.
    ///
    /// `resolved` are the classes that a load finds. The registry has the classes of worlds as objects.
    fn reads(&self, resolved: &[Option<usize>], registry: &Registry) -> ProgramReads {
        let (section, program) = (self.section, self.program);
        let now: Vec<_> = registry.object_types().collect();
        let is_known = |(class, holder): &(usize, _)| {
            let held = self.plans.holder(*class, *holder);
            resolved[*class].is_some_and(|target| now.contains(&(target, held)))
        };
        let unknown = section.objects.iter().enumerate().filter(|(_, object)| !is_known(object));
        let unknown = unknown.map(|(object, _)| object).collect();
        let samples = given(section, program, |class| resolved[class]);
        let mut reads = ProgramReads { unknown, samples, ..ProgramReads::default() };
        for (class, target) in resolved.iter().enumerate() {
            let Some(target) = *target else { continue };
            let sides = program.sides(&section.classes[class], target);
            for (variant, sides) in sides.into_iter().enumerate() {
                let (sources, first) = (sides.sources(), self.stored.first(class, variant));
                for (i, field) in sides.old.iter().enumerate() {
                    let source = sources.iter().position(|source| *source == Some(i));
                    let is_same = |(new, expected): (usize, ProgramFields<'_>)| {
                        expected.records[new].converts.is_empty()
                            && is_one(resolved, field, &expected.fields[new])
                    };
                    match source.zip(sides.new) {
                        Some(it) if is_same(it) => {}
                        // A migration may put it anywhere.
                        None if !self.migrated[class] => drop(reads.ignored.insert(first + i)),
                        None if sides.new.is_none() => {}
                        _ => drop(reads.separate.insert(first + i)),
                    }
                }
            }
        }
        reads
    }
}

/// True if all classes that a field holds by value become those that they are by name.
fn is_one(resolved: &[Option<usize>], old: &FieldSchema, new: &FieldSchema) -> bool {
    let mut expected = new.kind.classes();
    old.kind.classes().into_iter().all(|class| {
        let found = expected.iter().position(|expected| resolved[class] == Some(*expected));
        found.map(|found| expected.swap_remove(found)).is_some()
    })
}
