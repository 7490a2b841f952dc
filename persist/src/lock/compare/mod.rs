//! What changed between a locked version and the program, and what that does to old saves.
//!
//! What changed is read from the two schemas. Whether it matters is asked of the library: of the
//! plans by which it would load the records of each class, and of loads of samples.

mod fields;
mod plans;
mod renames;

use std::rc::Rc;

use super::load::Loads;
use super::report::{Difference, Verdict};
use super::section::Section;
use super::text::cell_of;
use crate::reflect::Holder;
use crate::schema::{ClassSchema, Form, Plans, Program};
use crate::{ErrorKind, LoadOptions, Registry};

/// What was found out about one version.
pub(super) struct Findings {
    pub(super) differences: Vec<Difference>,
    pub(super) notes: Vec<String>,
}

/// A version against the program.
struct Comparison<'c> {
    section: &'c Section,
    /// The newest version, if it is another.
    newest: Option<&'c Section>,
    program: &'c Program,
    /// The classes of the version, by the new names of those that seem to have been renamed.
    stored: Rc<Vec<ClassSchema>>,
    /// The program's class for each.
    resolved: Vec<Option<usize>>,
    differences: Vec<Difference>,
    /// Those that matter only if a sample does not load, or if there is none.
    doubtful: Vec<usize>,
    /// Those that whoever locked a newer version knew of, and that matter only if a sample does
    /// not load.
    accepted: Vec<usize>,
}

/// Compares a version with the program; `newest` is the newest one that was locked, whose changes
/// since the version are known to whoever locked it.
pub(super) fn compare(section: &Section, registry: &Registry, newest: &Section) -> Findings {
    let program = registry.program();
    let is_newest = section.is_same(newest);
    let plans = Plans::new(section.classes.clone(), program, LoadOptions::default(), None);
    let original: Vec<_> = (0..section.classes.len()).map(|class| plans.resolve(class)).collect();
    let mut comparison = Comparison {
        section,
        newest: (!is_newest).then_some(newest),
        program,
        stored: Rc::new(section.classes.clone()),
        resolved: original.clone(),
        differences: Vec::new(),
        doubtful: Vec::new(),
        accepted: Vec::new(),
    };
    let is_accepted = |class: usize| {
        let id = section.classes[class].id;
        !is_newest && newest.classes.iter().all(|other| other.id != id)
    };
    comparison.gone_classes(&is_accepted);
    comparison.changed_classes();
    comparison.traits(registry, &original);
    let has = |class: usize, holder: Holder| {
        let id = section.classes[class].id;
        let class = newest.classes.iter().position(|other| other.id == id);
        class.is_some_and(|class| newest.objects.contains(&(class, holder)))
    };
    comparison.objects(registry, &original, &|class, holder| !is_newest && !has(class, holder));
    if is_newest {
        comparison.new_classes();
    }
    comparison.judge(Loads::new(section, registry))
}

impl Comparison<'_> {
    fn tell(&mut self, difference: Difference) {
        self.differences.push(difference);
    }

    /// Tells something that matters if a sample does not load, or is not there.
    fn doubt(&mut self, difference: Difference) {
        self.doubtful.push(self.differences.len());
        self.differences.push(difference);
    }

    fn changed_classes(&mut self) {
        let mut plans =
            Plans::new(self.stored.to_vec(), self.program, LoadOptions::default(), None);
        for class in 0..self.stored.len() {
            let Some(target) = self.resolved[class] else { continue };
            let loads = plans.check(class).is_ok();
            let (old, new) = (&self.section.classes[class], &self.program.classes[target]);
            let name = &*new.name;
            if self.stored[class].name != *name
                && matches!(new.form, Form::Struct(_) | Form::Enum(_))
            {
                let change = format!("the class was {}", old.name);
                self.tell(Difference::new(name, Verdict::Safe, change));
            }
            if old.version != new.version {
                let change = format!("version {} became {}", old.version, new.version);
                self.tell(Difference::new(name, Verdict::Safe, change).shown_by(class));
            }
            self.fields(class, target, loads);
        }
    }

    /// Classes that are registered for their traits no more.
    fn traits(&mut self, registry: &Registry, resolved: &[Option<usize>]) {
        for (name, classes) in &self.section.traits {
            let now = registry.trait_classes().find(|(now, _)| now == name);
            for class in classes {
                let has =
                    |target: &usize| now.as_ref().is_some_and(|(_, now)| now.contains(target));
                // A class that is gone is told as such.
                if let Some(target) = resolved[*class].filter(|target| !has(target)) {
                    let class = &self.program.classes[target].name;
                    let change = format!(
                        "{class} is not registered for it any more; keep `register_as::<{class}, dyn {name}>()`"
                    );
                    self.doubt(Difference::new(&format!("trait {name}"), Verdict::Breaks, change));
                }
            }
        }
    }

    /// Objects that the program does not have in their holder any more.
    fn objects(
        &mut self,
        registry: &Registry,
        resolved: &[Option<usize>],
        is_accepted: &dyn Fn(usize, Holder) -> bool,
    ) {
        let now: Vec<_> = registry.object_types().collect();
        for (class, holder) in &self.section.objects {
            let Some(target) = resolved[*class].filter(|target| !now.contains(&(*target, *holder)))
            else {
                continue;
            };
            let had = |holder: &Holder| self.section.objects.contains(&(*class, *holder));
            let of_class = now.iter().filter(|(class, _)| *class == target);
            let came = of_class.map(|(_, holder)| *holder).find(|holder| !had(holder));
            let name = self.program.classes[target].name.clone();
            let old = cell_of(*holder);
            let kept = holder.around(false, &name);
            let moved = came.map_or_else(String::new, |came| {
                format!(", and now are in {}; keep `register_pointer::<{kept}>()`", cell_of(came))
            });
            let verdict = match came {
                Some(_) if !is_accepted(*class, *holder) => Verdict::Breaks,
                _ => Verdict::Safe,
            };
            let change = format!(
                "objects in {old} are kept as unknown: they are not registered any more{moved}"
            );
            self.tell(Difference::new(&name, verdict, change));
        }
    }

    fn new_classes(&mut self) {
        for (class, schema) in self.program.classes.iter().enumerate() {
            if !self.resolved.contains(&Some(class)) && !matches!(schema.form, Form::Value(_)) {
                let change = String::from("the class came");
                self.differences.push(Difference::new(&schema.name, Verdict::Safe, change));
            }
        }
    }

    /// Puts together what the schemas and the samples say.
    fn judge(mut self, loads: Loads) -> Findings {
        let is_met = |failure: &Difference| {
            matches!(failure.kind, ErrorKind::NotFound | ErrorKind::WrongClass)
        };
        let mut safe = Vec::new();
        if loads.failures.is_empty() && loads.is_whole {
            safe.append(&mut self.doubtful);
        }
        if !loads.failures.iter().any(is_met) {
            safe.append(&mut self.accepted);
        }
        for place in safe {
            self.differences[place].verdict = Verdict::Safe;
            self.differences[place].attribute = None;
            self.differences[place].above = None;
        }
        for difference in &mut self.differences {
            let Some(place) = &difference.converted else { continue };
            let is_in = |named: &String| {
                named
                    .strip_prefix(place.as_str())
                    .is_some_and(|r| r.is_empty() || r.starts_with('.'))
            };
            if loads.named.iter().any(is_in) {
                difference.change.push_str("; a text that is the name of no variant does not load");
            }
        }
        let mut notes = loads.notes;
        for (what, why) in loads.refused {
            // Values that fit the old kind and not the new one are lost.
            let is_of = |difference: &&mut Difference| {
                let place = difference.converted.as_deref();
                place.is_some_and(|place| {
                    what.strip_prefix(place).is_some_and(|rest| rest.starts_with(" = "))
                })
            };
            match self.differences.iter_mut().find(is_of) {
                Some(difference) if difference.verdict == Verdict::Safe => {
                    difference.verdict = Verdict::Breaks;
                    difference.kind = ErrorKind::InvalidValue;
                    difference.change.push_str(&format!("; {what} does not load: {why}"));
                }
                Some(_) => {}
                None => notes.push(format!("the program refuses {what}: {why}")),
            }
        }
        for difference in &mut self.differences {
            let is_untested =
                difference.shown_by.is_some_and(|class| loads.untested.contains(&class));
            if is_untested && difference.verdict == Verdict::Safe {
                difference.verdict = Verdict::Untested;
            }
        }
        let is_doubtful = !(self.doubtful.is_empty() && self.accepted.is_empty());
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
}
