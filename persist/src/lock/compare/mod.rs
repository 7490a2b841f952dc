//! What changed between a locked version and the program, and what that does to old saves.
//!
//! What changed is read from the two schemas. Whether it matters is asked of the library: of the
//! plans by which it would load the records of each class, and of loads of samples.

mod fields;
mod guesses;
mod held;
mod moves;
mod reads;
mod renames;
mod versions;

use std::sync::Arc;

use self::moves::{Came, Left};
use self::versions::Versions;
use super::load::Loads;
use super::report::{Difference, Verdict};
use super::section::{Section, cell_of};
use super::source;
use crate::graph::Registry;
use crate::reflect::Migration;
use crate::save::ReportRow;
use crate::schema::{ClassSchema, Form, LoadEvent, Plans, Program};
use crate::types::BITS_OF_NO_KEY;
use crate::{ErrorKind, LoadOptions, World};

/// What was found out about one version.
pub(super) struct Findings {
    pub(super) differences: Vec<Difference>,
    pub(super) notes: Vec<String>,
}

/// A version against the program.
struct Changes<'c> {
    section: &'c Section,
    versions: Versions<'c>,
    program: &'c Program,
    registry: &'c Registry,
    /// The classes of the version, by the new names of those that seem to have been renamed.
    stored: Arc<Vec<ClassSchema>>,
    /// The program's class for each.
    resolved: Vec<Option<usize>>,
    /// Where each is held by value.
    held: Vec<Option<String>>,
    /// True for those that are migrated, or are inside of others that are.
    migrated: Vec<bool>,
    differences: Vec<Difference>,
    /// Differences that matter only if a sample does not load, or if there is none.
    doubtful: Vec<usize>,
    /// The fields that went, and those that came.
    left: Vec<Left>,
    came: Vec<Came>,
}

/// Compares the version of this index with the program, whose classes of worlds are objects in the second registry,
/// as they are in samples.
pub(super) fn compare(
    sections: &[Section],
    at: usize,
    registry: &Registry,
    with_parts: &Registry,
) -> Findings {
    let program = registry.program();
    let versions = Versions { sections, at, program };
    let section = &versions.section().with_parts();
    let plans = Plans::new(section.classes.clone(), program, LoadOptions::default(), None);
    let original: Vec<_> = (0..section.classes.len()).map(|class| plans.resolve(class)).collect();
    let mut comparison = Changes {
        section,
        versions,
        program,
        registry,
        stored: Arc::new(section.classes.clone()),
        resolved: original.clone(),
        held: held::places(section),
        migrated: Vec::new(),
        differences: Vec::new(),
        doubtful: Vec::new(),
        left: Vec::new(),
        came: Vec::new(),
    };
    comparison.gone_classes();
    comparison.changed_classes();
    comparison.traits(&original);
    comparison.objects(&original);
    comparison.new_classes();
    comparison.moves();
    let names = comparison.names(&original);
    let reads = comparison.reads(&original, with_parts);
    comparison.judge(Loads::new(section, with_parts, names, &reads))
}

impl Changes<'_> {
    fn tell(&mut self, difference: Difference) {
        self.differences.push(difference);
    }

    /// Reports a difference that matters if a sample does not load, or if there is none.
    fn doubt(&mut self, difference: Difference) {
        self.doubtful.push(self.differences.len());
        self.differences.push(difference);
    }

    /// What the classes of the version are called today, in reports.
    fn names(&self, resolved: &[Option<usize>]) -> Vec<String> {
        let name = |(class, target): (&ClassSchema, &Option<usize>)| {
            let is_value = matches!(class.form, Form::Value(_));
            let today = target.filter(|_| !is_value).map(|target| &self.program.classes[target]);
            today.unwrap_or(class).name.clone()
        };
        self.section.classes.iter().zip(resolved).map(name).collect()
    }

    /// How a class of the program begins in its source.
    fn head(&self, target: usize) -> String {
        let class = self.program.targets[target].map(|target| target.class);
        class.map_or_else(|| self.program.classes[target].name.clone(), source::head)
    }

    /// A class of the program, as a type in its source.
    fn type_name(&self, target: usize) -> String {
        let class = self.program.targets[target].map(|target| target.class);
        let name = class.map(|class| source::type_name(class).to_owned());
        name.unwrap_or_else(|| self.program.classes[target].name.clone())
    }

    fn changed_classes(&mut self) {
        let mut plans =
            Plans::new(self.stored.to_vec(), self.program, LoadOptions::default(), None);
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
            let Some(target) = self.resolved[class] else { continue };
            let loads = plans.check(class).is_ok();
            let (old, new) = (&self.section.classes[class], &self.program.classes[target]);
            let name = &*new.name;
            let is_known = self.program.find(old) == Some(target);
            let is_own = !matches!(new.form, Form::Value(_));
            if old.name != *name && is_known && is_own {
                let change = format!("the class was {}", old.name);
                let row = Difference::new(name, Verdict::Safe, change);
                self.tell(match self.merged_with(class, target) {
                    Some(other) => self.merged(class, target, row, other),
                    None => row,
                });
            } else if let Some(change) = self.reused_class(class, target).filter(|_| is_own) {
                let attribute = format!("#[persist(class = \"new.{name}\")]");
                let row = Difference::new(name, Verdict::Loses, change);
                self.tell(row.paste(attribute, self.head(target)));
            }
            let change = format!("version {} became {}", old.version, new.version);
            if old.version < new.version {
                self.tell(Difference::new(name, Verdict::Safe, change).shown_by(class));
            } else if old.version > new.version {
                let change = format!(
                    "{change}: records of version {} are newer than the program and are never migrated again; a version only rises",
                    old.version
                );
                let difference = Difference::new(name, Verdict::Breaks, change)
                    .paste(format!("#[persist(version = {})]", old.version), self.head(target));
                self.tell(Difference { kind: ErrorKind::Unsupported, ..difference });
            }
            self.fields(class, target, loads);
        }
    }

    /// Classes that are registered for their traits no more.
    fn traits(&mut self, resolved: &[Option<usize>]) {
        for (name, classes) in &self.section.traits {
            let now = self.registry.trait_classes().find(|(now, _)| now == name);
            for class in classes {
                let has =
                    |target: &usize| now.as_ref().is_some_and(|(_, now)| now.contains(target));
                // A class that is gone is told as such.
                if let Some(target) = resolved[*class].filter(|target| !has(target)) {
                    let rust = self.type_name(target);
                    let of = format!("trait {name}");
                    let change = format!(
                        "{} is not registered for it any more",
                        self.program.classes[target].name
                    );
                    // A program without components does not have their trait.
                    let is_of_worlds = World::TRAITS.contains(&&**name);
                    if is_of_worlds || self.registry.has_stand_in(name) {
                        let change = format!("{change}; values of it are kept as unknown");
                        self.tell(Difference::new(&of, Verdict::Safe, change));
                        continue;
                    }
                    let change = format!("{change}; keep `register_as::<{rust}, dyn {name}>()`");
                    let difference = Difference::new(&of, Verdict::Breaks, change);
                    let stored = self.section.classes[*class].name.clone();
                    self.doubt(Difference { unregistered: Some(stored), ..difference });
                }
            }
        }
    }

    /// Objects that the program does not have in their holder any more.
    fn objects(&mut self, resolved: &[Option<usize>]) {
        let now: Vec<_> = self.registry.object_types().collect();
        let then = &self.versions.section().objects;
        for (class, holder) in then {
            let Some(target) = resolved[*class].filter(|target| !now.contains(&(*target, *holder)))
            else {
                continue;
            };
            let had = |holder| then.contains(&(*class, holder));
            let of_class = now.iter().filter(|(class, _)| *class == target);
            let came = of_class.map(|(_, holder)| *holder).find(|holder| !had(*holder));
            let old = cell_of(*holder);
            let kept = holder.around(false, &self.type_name(target));
            let moved = came.map_or_else(String::new, |came| {
                format!(", and now are in {}; keep `register_pointer::<{kept}>()`", cell_of(came))
            });
            let verdict = if came.is_some() { Verdict::Breaks } else { Verdict::Safe };
            let change = format!(
                "objects in {old} are kept as unknown: they are not registered any more{moved}"
            );
            self.tell(Difference::new(&self.program.classes[target].name, verdict, change));
        }
    }

    fn new_classes(&mut self) {
        for (class, schema) in self.program.classes.iter().enumerate() {
            if !self.resolved.contains(&Some(class)) && !matches!(schema.form, Form::Value(_)) {
                if let Form::Struct(fields) = &schema.form {
                    self.came.extend((0..fields.len()).map(|field| Came { class, field }));
                }
                if self.versions.is_newest() {
                    let change = String::from("the class came");
                    self.differences.push(Difference::new(&schema.name, Verdict::Safe, change));
                }
            }
        }
    }

    /// Puts together what the schemas and the samples say.
    fn judge(mut self, mut loads: Loads) -> Findings {
        for failure in &mut loads.failures {
            let classes = &self.section.classes;
            let class = classes.iter().position(|class| class.name == failure.class);
            if let Some(target) = class.and_then(|class| self.resolved[class]) {
                failure.class.clone_from(&self.program.classes[target].name);
            }
        }
        if loads.failures.is_empty() && loads.is_whole {
            for place in std::mem::take(&mut self.doubtful) {
                self.differences[place].verdict = Verdict::Safe;
                self.differences[place].attribute = None;
                self.differences[place].above = None;
            }
        }
        let mut notes = std::mem::take(&mut loads.notes);
        self.refused(&mut loads, &mut notes);
        self.untested(&loads);
        self.reported(&loads);
        let is_doubtful = !self.doubtful.is_empty();
        let is_met = |failure: &Difference| {
            matches!(failure.kind, ErrorKind::NotFound | ErrorKind::WrongClass)
        };
        for failure in loads.failures {
            // What the plans have said is said once.
            let known = |known: &Difference| known.cause == failure.cause;
            if self.differences.iter().any(known) {
                continue;
            }
            let is_of = |known: &&mut Difference| {
                known.shown_by.is_some()
                    && (&known.class, &known.field) == (&failure.class, &failure.field)
            };
            if let Some(known) = self.differences.iter_mut().find(is_of) {
                known.verdict = Verdict::Breaks;
                (known.kind, known.cause) = (failure.kind, failure.cause);
                known.change.push_str(&format!("; {}", failure.change));
                continue;
            }
            // The load met what is doubtful for that reason.
            if is_doubtful && is_met(&failure) {
                notes.push(failure.change);
            } else {
                self.differences.push(failure);
            }
        }
        Findings { differences: self.differences, notes }
    }

    /// What of the samples the program refuses: values that fit the old kind and not the new one are lost.
    fn refused(&mut self, loads: &mut Loads, notes: &mut Vec<String>) {
        // What follows the place of a field.
        fn within<'w>(converted: Option<&String>, what: &'w str) -> Option<&'w str> {
            let rest = what.strip_prefix(converted?.as_str())?;
            (rest.is_empty() || rest.starts_with(['.', ' '])).then_some(rest)
        }
        for difference in &mut self.differences {
            let mut named = loads.named.iter();
            if named.any(|named| within(difference.converted.as_ref(), named).is_some()) {
                difference.verdict = difference.verdict.max(Verdict::Breaks);
                difference.kind = ErrorKind::InvalidValue;
                difference.change.push_str(
                    "; a text that is the name of no variant does not load: give the field a `convert` that takes every text",
                );
            }
        }
        for (what, why) in std::mem::take(&mut loads.refused) {
            let mut found = self.differences.iter_mut();
            let found = found.find_map(|found| {
                within(found.converted.as_ref(), &what).map(str::to_owned).zip(Some(found))
            });
            match found {
                Some((rest, difference)) if difference.verdict < Verdict::Breaks => {
                    let value = match (rest.strip_prefix(" = "), rest.strip_prefix('.')) {
                        (Some(value), _) => value.to_owned(),
                        (_, Some(part)) => format!("one whose part {part}"),
                        _ => format!("one{rest}"),
                    };
                    difference.verdict = Verdict::Breaks;
                    difference.kind = ErrorKind::InvalidValue;
                    difference.change.push_str(&format!("; {value} does not load: {why}"));
                    if !why.contains("`convert`") {
                        difference
                            .change
                            .push_str("; keep the old type, or give the field a `convert`");
                    }
                }
                Some(_) => {}
                // The bits are made up: no arena has to have a key for them.
                None if why.contains(BITS_OF_NO_KEY) => {}
                None => notes.push(format!("the program refuses {what}: {why}")),
            }
        }
    }

    /// What no sample has shown.
    fn untested(&mut self, loads: &Loads) {
        for difference in &mut self.differences {
            let Some(class) = difference.shown_by else { continue };
            if difference.may_narrow
                && loads.unreached.contains(&class)
                && difference.verdict < Verdict::Breaks
            {
                difference.verdict = Verdict::Breaks;
                difference.kind = ErrorKind::InvalidValue;
                difference.change.push_str(
                    "; the new kind does not take every old value, and there is no object of which a sample could show more; give the field a `convert`",
                );
            }
            let is_untested = loads.untested.contains(&class);
            let is_taken = difference.migrated.as_ref().is_some_and(|(class, path)| {
                let lost = |found: &&ReportRow| {
                    matches!(
                        found.event,
                        LoadEvent::Kept | LoadEvent::Dropped | LoadEvent::Superseded
                    ) && found.class == *class
                        && found.field.as_ref().is_none_or(|field| field == path)
                };
                !loads.rows.iter().any(|found| lost(&found))
            });
            if is_taken && !is_untested {
                difference.verdict = Verdict::Safe;
                difference.change = String::from("the field went; `migrate` takes it");
                (difference.attribute, difference.above) = (None, None);
                difference.code = None;
            }
            let is_shown = difference.verdict != Verdict::Safe && difference.migrated.is_none();
            if is_untested && !is_shown {
                difference.verdict = Verdict::Untested;
            }
        }
    }

    /// What the reports of the loads say is lost, and nothing else has said.
    fn reported(&mut self, loads: &Loads) {
        for found in &loads.rows {
            let lost = match found.event {
                LoadEvent::Dropped => "old values are dropped",
                LoadEvent::Superseded => "those of another field take the place of old values",
                LoadEvent::Replaced => "old values become the `other` variant",
                LoadEvent::Unshared => {
                    "objects that several pointers share become copies; keep the pointer, or give the class a `version` and a `migrate`"
                }
                LoadEvent::Unregistered => "in an `Option` they become `None`",
                _ => continue,
            };
            let is_of = |known: &&mut Difference| match (&known.stored, &found.field) {
                (Some((class, path)), Some(field)) => *class == found.class && path == field,
                _ => known.unregistered.as_ref() == Some(&found.class) && found.field.is_none(),
            };
            if let Some(known) = self.differences.iter_mut().find(is_of) {
                if !known.is_accepted && known.verdict <= Verdict::Untested {
                    known.verdict = Verdict::Loses;
                    known.change.push_str(&format!("; {lost}"));
                }
                continue;
            }
            let stored = &self.section.classes;
            let class = stored.iter().position(|class| class.name == found.class);
            let today = class.and_then(|class| self.resolved[class]);
            let name = today.map_or(&*found.class, |target| &*self.program.classes[target].name);
            let difference = Difference::new(name, Verdict::Loses, lost.to_owned());
            self.differences.push(Difference { field: found.field.clone(), ..difference });
        }
    }
}
