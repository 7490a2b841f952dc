//! Loading the samples of a version with the program as it is.
//!
//! A sample holds values that no program may have saved. So all samples first load without `validate` and `after_load`,
//! which shows the effect of schemas and conversions. Refusals by hooks are tried after that, and become notes.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use persist::__tools::{Trial, read_on_trial};
use persist::save::{Registry, ReportRow};
use persist::{Error, ErrorKind, Result, Saves};

use super::given;
use crate::lock::{Loads, ProgramReads, Samples, Section, text};

/// The most objects of one version that are reported as not loading.
const MAX_FAILURES: usize = 20;

/// The most samples of a class that are asked whether it refuses them all.
const MAX_PROBES: usize = 64;

/// Why samples do not load.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// Saves of players do not load, either.
    Failure,
    /// Code of the program refuses what the schema of a version allows.
    Refusal,
    /// Code of the program refuses what its own schema allows, too, whatever the version: it checks the content.
    Content,
}

/// Samples of one object type, or of one variation, that do not load.
struct Refusal {
    /// The object type, if its basic objects do not load.
    object: Option<usize>,
    classes: HashSet<usize>,
    cause: Cause,
    /// True if other samples of these classes are refused for the same reason.
    is_same: bool,
    error: Rc<Error>,
}

impl Refusal {
    /// True if the refusal does not depend on what is stored, as far as the samples show.
    fn is_for_good(&self, other: &Self) -> bool {
        self.cause == Cause::Refusal
            && self.error.kind() == ErrorKind::Refused
            && self.is_same
            && self.error.message() == other.error.message()
    }
}

impl Loads {
    pub(in crate::lock) fn new(
        section: &Section,
        registry: &Registry,
        reads: &ProgramReads,
    ) -> Self {
        let mut loads = Self::default();
        if let Err(error) = loads.load(section, registry, reads) {
            loads.fail("a sample cannot be made", &Rc::new(error));
        }
        loads
    }

    /// Loads the samples, without what is refused, until the rest loads.
    fn load(&mut self, section: &Section, registry: &Registry, reads: &ProgramReads) -> Result<()> {
        let saves = Saves::from(registry.clone());
        let mut samples = Trials::new(section, &saves, reads)?;
        self.reached.extend(&samples.created.classes);
        self.named = std::mem::take(&mut samples.created.named);
        let endless = samples.created.missing.clone();
        for object in &endless {
            let name = samples.created.object(*object);
            self.notes.push(format!(
                "there is no sample of {name}: a value of it would have no end, or need a trait that no class has"
            ));
        }
        let (mut refusals, mut own) = (Vec::new(), None);
        let is_whole = loop {
            let (of, classes, error) = match samples.next(Trial::WithoutHooks)? {
                Attempt::Loaded(rows) => {
                    self.rows = rows;
                    break true;
                }
                Attempt::Refused(of, classes, error) => (of, classes, Rc::new(error)),
                Attempt::Stuck(error) => {
                    self.fail("a sample does not load", &Rc::new(error));
                    break false;
                }
            };
            let is_own = matches!(error.kind(), ErrorKind::Refused | ErrorKind::WrongContext);
            let is_invalid = error.kind() == ErrorKind::InvalidValue;
            let is_boundary = matches!(of, Refused::Varied(_, true));
            let is_context = error.kind() == ErrorKind::WrongContext;
            let cause = match is_own || is_invalid {
                true if !is_context
                    && is_content(&error, own.get_or_insert_with(|| own_refusals(&saves))) =>
                {
                    Cause::Content
                }
                true if is_own || is_boundary => Cause::Refusal,
                _ => Cause::Failure,
            };
            let object = match &of {
                Refused::Object(object) => Some(*object),
                Refused::Varied(..) => None,
            };
            match of {
                Refused::Object(object) if cause == Cause::Failure => {
                    let name = samples.created.object(object);
                    self.fail(&format!("a sample of {name} does not load"), &error);
                }
                Refused::Varied(what, _) if cause == Cause::Failure => {
                    self.fail(&format!("a sample with {what} does not load"), &error);
                }
                Refused::Varied(what, _) => {
                    self.is_cut |= !is_boundary;
                    self.refused.push((what, error.message().to_owned()));
                }
                Refused::Object(_) => {}
            }
            refusals.push(Refusal { object, classes, cause, is_same: true, error });
            if self.failures.len() >= MAX_FAILURES {
                break false;
            }
        };
        let mut probed = HashSet::new();
        for refusal in &mut refusals {
            if let Some(object) = refusal.object.filter(|_| refusal.cause != Cause::Failure) {
                probed.extend(probe(&samples, object, refusal)?);
            }
        }
        if !is_whole {
            return Ok(());
        }
        self.is_cut |= samples.created.is_cut;
        if samples.created.is_cut {
            self.notes.push(String::from("some variations would make the sample too large"));
        }
        for object in &samples.created.missing {
            if !endless.contains(object) && !samples.skipped.contains(object) {
                let name = samples.created.object(*object);
                self.notes.push(format!(
                    "{name} is not tested by loads: it needs another object that is not"
                ));
            }
        }
        let mut loaded = samples.created.classes_without(&samples.refused);
        loaded.extend(probed);
        // A class that the program does not read has nothing that a load could show.
        let is_loaded = |class: &&usize| {
            loaded.contains(class) || !refusals.iter().any(|it| it.classes.contains(class))
        };
        self.tested.extend(self.reached.iter().filter(is_loaded));
        self.blind(section, &samples, &refusals);
        if registry.has_after_load() {
            self.hooks(&mut samples)?;
        }
        Ok(())
    }

    /// Says why the samples of some classes all do not load: a refusal that does not depend on what is stored is one
    /// of old saves, too.
    fn blind(&mut self, section: &Section, samples: &Trials<'_>, refusals: &[Refusal]) {
        let mut classes: Vec<usize> = self.reached.difference(&self.tested).copied().collect();
        // The class whose code refuses is named first, and alone.
        let is_source = |class: &usize| {
            let name = Some(&*section.classes[*class].name);
            refusals.iter().any(|refusal| refusal.error.class() == name)
        };
        classes.sort_unstable_by_key(|class| (!is_source(class), *class));
        for class in classes {
            let of_it = refusals.iter().filter(|it| it.classes.contains(&class));
            let mut of_it: Vec<&Refusal> = of_it.collect();
            if let Some(first) =
                of_it.first().filter(|it| of_it.iter().all(|of| of.is_for_good(it)))
            {
                let name = &section.classes[class].name;
                self.fail(&format!("every sample with {name} in it is refused"), &first.error);
                continue;
            }
            if of_it.is_empty() {
                // An object that refers to a refused one is refused, too.
                of_it.extend(refusals);
            }
            if of_it.iter().all(|refusal| refusal.cause != Cause::Failure) {
                let is_content = of_it.iter().all(|refusal| refusal.cause == Cause::Content);
                self.not_tested.push((class, is_content));
            }
        }
        let is_failure = |refusal: &Refusal| {
            refusal.cause == Cause::Failure
                || self.failures.iter().any(|(_, known)| Rc::ptr_eq(known, &refusal.error))
        };
        let objects = refusals.iter().filter(|refusal| !is_failure(refusal));
        let objects = objects.filter_map(|refusal| Some((refusal.object?, refusal)));
        let notes = objects.map(|(object, refusal)| {
            let name = samples.created.object(object);
            let (as_own, cure) = match refusal.cause {
                Cause::Content => (
                    " as it does one of the program's own schema",
                    "; give the field that checks its content a `#[persist(sample = function)]`",
                ),
                _ => ("", ""),
            };
            let why = described(&refusal.error);
            format!("{name} is tested by few loads or none: the program refuses a plain sample{as_own}: {why}{cure}")
        });
        let notes: Vec<String> = notes.collect();
        self.notes.extend(notes);
    }

    /// Lets the hooks run on what loads without them: a note for each class whose hook refuses.
    fn hooks(&mut self, samples: &mut Trials<'_>) -> Result<()> {
        let mut known = HashSet::new();
        loop {
            let (of, error) = match samples.next(Trial::WithHooks)? {
                Attempt::Loaded(_) => return Ok(()),
                Attempt::Refused(of, _, error) => (of, error),
                Attempt::Stuck(error) => {
                    self.notes.push(format!("the hooks of the program are not tested: {error}"));
                    return Ok(());
                }
            };
            let class = error.class().unwrap_or_default().to_owned();
            let what = match &of {
                Refused::Object(object) => {
                    format!("the plainest sample of {}", samples.created.object(*object))
                }
                Refused::Varied(what, _) => format!("a sample with {what}"),
            };
            if !known.insert(class) {
                continue;
            }
            self.notes.push(format!("{what} loads, but for a hook: {}", described(&error)));
        }
    }

    fn fail(&mut self, what: &str, error: &Rc<Error>) {
        // One fault stops many objects.
        let is_known = |(_, known): &(String, Rc<Error>)| {
            known.class() == error.class() && known.message() == error.message()
        };
        if !self.failures.iter().any(is_known) {
            self.failures.push((what.to_owned(), error.clone()));
        }
    }
}

/// Loads the samples of an object type whose basic one is refused, each by itself; returns the classes in those
/// that load.
fn probe(trials: &Trials<'_>, object: usize, refusal: &mut Refusal) -> Result<HashSet<usize>> {
    let mut skipped = trials.skipped.clone();
    skipped.remove(&object);
    let samples = Samples::new(trials.section, trials.reads, &skipped, true)?;
    let mut loaded = HashSet::new();
    for probe in samples.probes(object).take(MAX_PROBES) {
        let (id, classes, save) = probe?;
        match read_on_trial(trials.saves, &save, Trial::WithoutHooks) {
            Ok(manager) => {
                manager.dismantle();
                loaded.extend(classes);
            }
            Err(error) => {
                let is_it = error.object() == Some(id);
                refusal.is_same &= is_it && error.message() == refusal.error.message();
            }
        }
    }
    refusal.classes.retain(|class| !loaded.contains(class));
    Ok(loaded)
}

/// An error without the place in a sample, which nobody can look at.
fn described(error: &Error) -> String {
    let message = error.message();
    let what = match error.kind() {
        ErrorKind::WrongContext => {
            let needed = message.split_once("; call").map_or(message, |(needed, _)| needed);
            format!(
                "{needed}; give the registry of the test its context, `registry.set_context(..)`"
            )
        }
        _ => message.to_owned(),
    };
    match error.field().filter(|field| !field.is_empty()) {
        Some(field) => format!("{what} (field {field})"),
        None => what,
    }
}

/// The outcome of a load of samples.
enum Attempt {
    Loaded(Vec<ReportRow>),
    /// A sample does not load, with the classes in it; the next attempt is without it.
    Refused(Refused, HashSet<usize>, Error),
    /// It is not known which sample does not load.
    Stuck(Error),
}

enum Refused {
    /// A basic object of this type: all of them are left out, with what needs them.
    Object(usize),
    /// The description of the varied value, and whether it is a boundary value.
    Varied(String, bool),
}

/// Samples, loaded again and again without those that do not load.
struct Trials<'t> {
    section: &'t Section,
    saves: &'t Saves,
    reads: &'t ProgramReads,
    created: Samples<'t>,
    skipped: HashSet<usize>,
    refused: HashSet<String>,
}

impl<'t> Trials<'t> {
    fn new(section: &'t Section, saves: &'t Saves, reads: &'t ProgramReads) -> Result<Self> {
        let (skipped, refused) = (HashSet::new(), HashSet::new());
        let created = Samples::new(section, reads, &skipped, true)?;
        Ok(Self { section, saves, reads, created, skipped, refused })
    }

    fn next(&mut self, trial: Trial) -> Result<Attempt> {
        let save = self.created.save(None, &self.refused)?;
        let error = match read_on_trial(self.saves, &save, trial) {
            Ok(loaded) => {
                let rows = loaded.report().rows().to_vec();
                loaded.dismantle();
                return Ok(Attempt::Loaded(rows));
            }
            Err(error) => error,
        };
        Ok(match error.object().and_then(|id| self.created.subject(id)) {
            Some((object, None)) if self.skipped.insert(object) => {
                let classes = self.created.classes_of(object, None);
                self.created = Samples::new(self.section, self.reads, &self.skipped, true)?;
                Attempt::Refused(Refused::Object(object), classes, error)
            }
            Some((object, Some((what, is_boundary)))) if self.refused.insert(what.to_owned()) => {
                let classes = self.created.classes_of(object, Some(what));
                Attempt::Refused(Refused::Varied(what.to_owned(), is_boundary), classes, error)
            }
            _ => Attempt::Stuck(error),
        })
    }
}

/// The errors of samples of the program's own schemas: what its types refuse, whatever the version.
fn own_refusals(saves: &Saves) -> Vec<Error> {
    let refusals = || {
        let section = text::section("", BTreeSet::new(), text::entries(&saves.registry())).ok()?;
        let registry = saves.registry();
        let program = registry.program();
        let samples = given(&section, program, |class| program.find(&section.classes[class]));
        let reads = ProgramReads { samples, ..ProgramReads::default() };
        let mut trials = Trials::new(&section, saves, &reads).ok()?;
        let mut errors = Vec::new();
        while let Ok(Attempt::Refused(_, _, error)) = trials.next(Trial::WithoutHooks) {
            errors.push(error);
        }
        Some(errors)
    };
    refusals().unwrap_or_default()
}

/// True if the program refuses a sample of its own for the same reason.
fn is_content(error: &Error, own: &[Error]) -> bool {
    let is_in_field = error.field().is_some_and(|field| !field.is_empty());
    own.iter().any(|own| {
        let is_present = own.class() == error.class() && own.field() == error.field();
        own.kind() == error.kind()
            && (own.message() == error.message() || is_in_field && is_present)
    })
}
