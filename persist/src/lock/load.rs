//! Loading the samples of a version with the program as it is.

use std::collections::HashSet;

use super::report::{Difference, Verdict};
use super::sample::{Reads, Samples, Skip, Subject, Values};
use super::section::Section;
use crate::graph::Registry;
use crate::save::ReportRow;
use crate::schema::texts_of_variants;
use crate::{Error, ErrorKind, SaveManager};

/// The most objects of one version that are reported as not loading.
const MOST_FAILURES: usize = 20;

/// What the samples of a version show.
#[derive(Default)]
pub(super) struct Loads {
    pub(super) failures: Vec<Difference>,
    pub(super) notes: Vec<String>,
    /// True if every value of the plan was loaded.
    pub(super) is_whole: bool,
    /// The boundary values that the program refuses, and why.
    pub(super) refused: Vec<(String, String)>,
    /// The places of texts that were names of variants, as they must be.
    pub(super) named: Vec<String>,
    /// The classes whose values were not all loaded, since something else does not load, or
    /// because there is no sample.
    pub(super) untested: HashSet<usize>,
    /// The classes without a sample: no object holds them.
    pub(super) unreached: HashSet<usize>,
    /// What the loads report.
    pub(super) rows: Vec<ReportRow>,
}

impl Loads {
    /// `names` are those by which reports call the classes.
    pub(super) fn new(
        section: &Section,
        registry: &Registry,
        names: Vec<String>,
        reads: &Reads,
    ) -> Self {
        let mut saves = SaveManager::new();
        saves.registry_mut().clone_from(registry);
        let texts = texts_of_variants(&section.classes, registry.program());
        let samples = Samples::new(section, texts, names, reads);
        let named = samples.named().to_vec();
        let mut loads = Self { is_whole: true, named, ..Self::default() };
        let tested: HashSet<usize> = samples.classes().collect();
        loads.unreached = (0..section.classes.len()).filter(|it| !tested.contains(it)).collect();
        loads.untested.clone_from(&loads.unreached);
        for object in samples.missing(&Skip::default()) {
            let name = samples.object(object);
            loads.notes.push(format!(
                "there is no sample of {name}: a value of it would have no end, or need a trait that no class has"
            ));
        }
        for values in [Values::Plain, Values::Boundary] {
            loads.load(&saves, &samples, values);
        }
        loads
    }

    /// Loads a sample, without what is refused.
    fn load(&mut self, saves: &SaveManager, samples: &Samples<'_>, values: Values) {
        let mut skip = Skip::default();
        if !self.load_rest(saves, samples, values, &mut skip) {
            self.untested.extend(samples.classes());
            return;
        }
        let before = samples.missing(&Skip::default());
        let missing = samples.missing(&skip);
        self.untested.extend(samples.classes_in(&missing));
        for object in missing {
            if !before.contains(&object) && !skip.objects.contains(&object) {
                let name = samples.object(object);
                self.note(format!(
                    "{name} is not tested by loads: it needs another object that is not"
                ));
            }
        }
    }

    /// Skips what is refused until the rest loads; false if that has no end.
    fn load_rest(
        &mut self,
        saves: &SaveManager,
        samples: &Samples<'_>,
        values: Values,
        skip: &mut Skip,
    ) -> bool {
        loop {
            let sample = match samples.make(values, skip) {
                Ok(sample) => sample,
                Err(error) => {
                    self.fail("a sample cannot be made", &error);
                    return false;
                }
            };
            let error = match saves.from_slice(&sample.bytes) {
                Ok(loaded) => {
                    self.rows.extend(loaded.report().rows().iter().cloned());
                    loaded.dismantle();
                    if sample.left_out > 0 {
                        self.is_whole = false;
                        let count = sample.left_out;
                        self.note(format!("{count} variations would make the sample too large"));
                    }
                    return true;
                }
                Err(error) => error,
            };
            let is_own = matches!(error.kind(), ErrorKind::Refused | ErrorKind::WrongContext);
            match error.object().and_then(|id| samples.subject(id)) {
                Some(Subject::Basic(object)) if skip.objects.insert(object) => {
                    self.is_whole = false;
                    let name = samples.object(object);
                    if is_own {
                        self.note(format!(
                            "{name} is not tested by loads: the program refuses its plainest sample, {error}"
                        ));
                    } else {
                        self.fail(&format!("a sample of {name} does not load"), &error);
                    }
                }
                Some(Subject::Variation(place, what, boundary))
                    if skip.variations.insert(place) =>
                {
                    if is_own || (boundary && error.kind() == ErrorKind::InvalidValue) {
                        // A hook refuses the rest of the object, too.
                        self.is_whole &= boundary;
                        self.refused.push((what.to_owned(), error.message().to_owned()));
                    } else {
                        self.fail(&format!("a sample with {what} does not load"), &error);
                    }
                }
                _ => {
                    self.fail("a sample does not load", &error);
                    return false;
                }
            }
            if self.failures.len() >= MOST_FAILURES {
                return false;
            }
        }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn fail(&mut self, what: &str, error: &Error) {
        let class = error.class().unwrap_or("the save").to_owned();
        // One fault stops many objects.
        let known =
            |known: &Difference| known.class == class && known.change.ends_with(error.message());
        if self.failures.iter().any(known) {
            return;
        }
        let change = format!("{what}: {}", error.message());
        let failure = Difference::new(&class, Verdict::Breaks, change).because(error);
        self.failures.push(match error.field() {
            Some(field) => failure.in_field(field.to_owned()),
            None => failure,
        });
    }
}
