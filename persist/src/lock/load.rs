//! Loading the samples of a version with the program as it is.

use std::collections::HashSet;

use super::sample::{ProgramReads, Samples};
use super::section::Section;
use crate::graph::Registry;
use crate::save::ReportRow;
use crate::{Error, ErrorKind, Result, SaveManager, Saves};

/// The most objects of one version that are reported as not loading.
const MOST_FAILURES: usize = 20;

/// What the samples of a version show.
#[derive(Default)]
pub(super) struct Loads {
    /// What does not load, and the error.
    pub(super) failures: Vec<(String, Error)>,
    pub(super) notes: Vec<String>,
    /// True if not all values were loaded.
    pub(super) is_cut: bool,
    /// The boundary values that the program refuses, and why.
    pub(super) refused: Vec<(String, String)>,
    /// The places of texts that were names of variants, as they must be.
    pub(super) named: Vec<String>,
    /// The classes whose values were all loaded.
    pub(super) tested: HashSet<usize>,
    /// The classes that have samples; no object holds the others.
    pub(super) reached: HashSet<usize>,
    /// What the loads report.
    pub(super) rows: Vec<ReportRow>,
}

impl Loads {
    pub(super) fn new(section: &Section, registry: &Registry, reads: &ProgramReads) -> Self {
        let mut loads = Self::default();
        if let Err(error) = loads.load(section, registry, reads) {
            loads.fail("a sample cannot be made", error);
        }
        loads
    }

    /// Loads the samples, without what is refused, until the rest loads.
    fn load(&mut self, section: &Section, registry: &Registry, reads: &ProgramReads) -> Result<()> {
        let saves = Saves::from(registry.clone());
        let (mut skipped, mut refused) = (HashSet::new(), HashSet::new());
        let mut samples = Samples::new(section, reads, &skipped, true)?;
        self.reached.extend(&samples.classes);
        self.named = std::mem::take(&mut samples.named);
        let endless = samples.missing.clone();
        for object in &endless {
            let name = samples.object(*object);
            self.notes.push(format!(
                "there is no sample of {name}: a value of it would have no end, or need a trait that no class has"
            ));
        }
        loop {
            let error = match saves.from_slice::<SaveManager>(&samples.save(None, &refused)?) {
                Ok(loaded) => {
                    self.rows.extend(loaded.report().rows().iter().cloned());
                    loaded.dismantle();
                    break;
                }
                Err(error) => error,
            };
            let is_own = matches!(error.kind(), ErrorKind::Refused | ErrorKind::WrongContext);
            match error.object().and_then(|id| samples.subject(id)) {
                Some((object, None)) if skipped.insert(object) => {
                    self.is_cut = true;
                    let name = samples.object(object);
                    if is_own {
                        self.notes.push(format!(
                            "{name} is not tested by loads: the program refuses its plainest sample, {error}"
                        ));
                    } else {
                        self.fail(&format!("a sample of {name} does not load"), error);
                    }
                    samples = Samples::new(section, reads, &skipped, true)?;
                }
                Some((_, Some((what, is_boundary)))) if refused.insert(what.to_owned()) => {
                    if is_own || (is_boundary && error.kind() == ErrorKind::InvalidValue) {
                        // A hook refuses the rest of the object, too.
                        self.is_cut |= !is_boundary;
                        self.refused.push((what.to_owned(), error.message().to_owned()));
                    } else {
                        self.fail(&format!("a sample with {what} does not load"), error);
                    }
                }
                _ => {
                    self.fail("a sample does not load", error);
                    return Ok(());
                }
            }
            if self.failures.len() >= MOST_FAILURES {
                return Ok(());
            }
        }
        self.is_cut |= samples.is_cut;
        if samples.is_cut {
            self.notes.push(String::from("some variations would make the sample too large"));
        }
        for object in &samples.missing {
            if !endless.contains(object) && !skipped.contains(object) {
                let name = samples.object(*object);
                self.notes.push(format!(
                    "{name} is not tested by loads: it needs another object that is not"
                ));
            }
        }
        self.tested.extend(&samples.classes);
        Ok(())
    }

    fn fail(&mut self, what: &str, error: Error) {
        // One fault stops many objects.
        let is_known = |(_, known): &(String, Error)| {
            known.class() == error.class() && known.message() == error.message()
        };
        if !self.failures.iter().any(is_known) {
            self.failures.push((what.to_owned(), error));
        }
    }
}
