//! Combines the findings of schemas with the loads of samples into verdicts.

use persist::__tools::BITS_OF_NO_KEY;
use persist::save::{LoadEvent, ReportRow};
use persist::{Error, ErrorKind};

use super::Finding;
use crate::lock::Loads;
use crate::lock::report::Verdict;

/// How the refusal of a 0 by a `NonZero` begins.
const NO_ZERO: &str = "0 is no NonZero";

impl Finding {
    fn refuse(&mut self, why: &str) {
        self.worsen(Verdict::Breaks, why);
        self.of.kind = ErrorKind::InvalidValue;
    }

    /// True if a report of a load is about it.
    fn is_of(&self, found: &ReportRow) -> bool {
        self.stored.as_ref().is_some_and(|(class, path)| {
            *class == found.class && *path == found.field.as_deref().unwrap_or_default()
        })
    }

    /// Returns the rest of a sample's description after the place of this converted field.
    fn within<'w>(&self, what: &'w str) -> Option<&'w str> {
        let (class, path) = self.stored.as_ref().filter(|_| self.is_converted)?;
        let rest = what.strip_prefix(class.as_str())?;
        let rest = match path.is_empty() {
            true => rest,
            false => rest.strip_prefix('.')?.strip_prefix(path.as_str())?,
        };
        (rest.is_empty() || rest.starts_with(['.', ' '])).then_some(rest)
    }
}

/// Puts together what the schemas and the samples say; returns notes. `today` is what a stored class is called
/// now, and the library has the classes in whose fields `is_of_library` finds a value.
pub(super) fn judge(
    findings: &mut Vec<Finding>,
    mut loads: Loads,
    today: impl Fn(&str) -> String,
    is_of_library: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut notes = std::mem::take(&mut loads.notes);
    let all_load = loads.failures.is_empty() && !loads.is_cut;
    let shows = |class: &usize| loads.tested.contains(class) || !loads.reached.contains(class);
    for finding in &mut *findings {
        if all_load && finding.doubt.as_ref().is_some_and(|doubt| doubt.iter().all(shows)) {
            finding.of.verdict = Verdict::Safe;
            (finding.of.attribute, finding.of.above) = (None, None);
        }
        if loads.named.iter().any(|named| finding.within(named).is_some()) {
            finding.refuse("a text that is the name of no variant does not load: give the field a `convert` that takes every text");
        }
    }
    for (what, why) in &loads.refused {
        let mut found = findings.iter_mut();
        match found.find_map(|finding| finding.within(what).zip(Some(finding))) {
            // The schema of a `NonZero` is that of its number, which has a 0 that was never stored.
            Some((_, finding)) if why.starts_with(NO_ZERO) => {
                let hint = "; 0 does not load, which no NonZero ever was: if the old type had a 0, give the field a `convert`";
                if !finding.of.change.contains(hint) {
                    finding.of.change.push_str(hint);
                }
            }
            Some((rest, finding)) if finding.of.verdict < Verdict::Breaks => {
                let value = match (rest.strip_prefix(" = "), rest.strip_prefix('.')) {
                    (Some(value), _) => value.to_owned(),
                    (_, Some(part)) => format!("one whose part {part}"),
                    _ => format!("one{rest}"),
                };
                let advice = match why.contains("`convert`") {
                    true => "",
                    false => "; keep the old type, or give the field a `convert`",
                };
                finding.refuse(&format!("{value} does not load: {why}{advice}"));
            }
            Some(_) => {}
            // The bits are made up: no arena has to have a key for them.
            None if why.contains(BITS_OF_NO_KEY) => {}
            // Users cannot change what a type of the library refuses.
            None if is_of_library(what) => {}
            None => notes.push(format!("the program refuses {what}: {why}")),
        }
    }
    for finding in &mut *findings {
        untested(finding, &loads);
    }
    // Nothing else could accept that objects become copies.
    let is_looked_at = |row: &ReportRow| {
        loads.rows.iter().any(|it| {
            it.event == LoadEvent::Migrated
                && it.field.is_some()
                && (&it.class, &it.field) == (&row.class, &row.field)
        })
    };
    let is_meant = |row: &&ReportRow| row.event == LoadEvent::Unshared && is_looked_at(row);
    for found in loads.rows.iter().filter(|row| !is_meant(row)) {
        reported(findings, &today, found);
    }
    for (what, error) in &loads.failures {
        failed(findings, &today, (what, error), &mut notes);
    }
    notes
}

/// Enters a loss that the report of a load has, unless another finding covers it.
fn reported(findings: &mut Vec<Finding>, today: impl Fn(&str) -> String, found: &ReportRow) {
    if found.is_declared {
        return;
    }
    let lost = match found.event {
        LoadEvent::Dropped => "old values are dropped",
        LoadEvent::Superseded => "those of another field take the place of old values",
        LoadEvent::Replaced => {
            "old values become the `other` variant; keep them as variants, or give the class a `version` and a `migrate` that sets the field"
        }
        LoadEvent::Unshared => {
            "objects that several pointers share become copies; keep the pointer, or accept the copies by a `version` and a `migrate` that looks at the field, `let _ = record.get(..);`"
        }
        LoadEvent::Unregistered => {
            "in an `Option` they become `None`; keep `register_as` for its trait, or name a stand-in by `#[persist::dynamic(unknown = Type)]`"
        }
        _ => return,
    };
    if let Some(finding) = findings.iter_mut().find(|finding| finding.is_of(found)) {
        if !finding.is_accepted && finding.of.verdict <= Verdict::Untested {
            finding.worsen(Verdict::Loses, lost);
        }
        return;
    }
    let finding = Finding::new(&today(&found.class), Verdict::Loses, lost);
    findings.push(finding.in_field(found.field.as_deref()));
}

/// Enters a failed load, unless a finding has the same cause.
fn failed(
    findings: &mut Vec<Finding>,
    today: impl Fn(&str) -> String,
    (what, error): (&str, &Error),
    notes: &mut Vec<String>,
) {
    // A field that holds a renamed class asks for the alias that the class needs.
    let is_known = |finding: &Finding| {
        let aliases = finding.of.attribute.as_ref();
        let aliases = aliases.filter(|_| finding.of.verdict == Verdict::NeedsAlias);
        finding.cause.as_deref() == Some(error.message())
            || aliases.is_some_and(|it| error.message().ends_with(&format!("give it `{it}`")))
    };
    if findings.iter().any(is_known) {
        return;
    }
    let class = today(error.class().unwrap_or("the save"));
    let change = format!("{what}: {}", error.message());
    let is_of = |finding: &&mut Finding| {
        finding.shown_by.is_some()
            && finding.of.class == class
            && finding.of.field.as_deref() == error.field()
    };
    let is_reference_error = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WrongClass);
    if let Some(finding) = findings.iter_mut().find(is_of) {
        finding.worsen(Verdict::Breaks, &change);
        (finding.of.kind, finding.cause) = (error.kind(), Some(error.message().to_owned()));
    } else if is_reference_error && findings.iter().any(|finding| finding.doubt.is_some()) {
        // The load met what is doubtful for that reason.
        notes.push(change);
    } else {
        let finding = Finding::new(&class, Verdict::Breaks, change).because(error);
        findings.push(finding.in_field(error.field()));
    }
}

/// Adjusts a finding by the samples that were loaded.
fn untested(finding: &mut Finding, loads: &Loads) {
    let Some(class) = finding.shown_by else { return };
    if finding.may_narrow && !loads.reached.contains(&class) && finding.of.verdict < Verdict::Breaks
    {
        finding.refuse("the new kind does not take every old value, and there is no object of which a sample could show more; give the field a `convert`");
    }
    let is_tested = loads.tested.contains(&class);
    let (of, path) = finding.stored.as_ref().map_or(("", ""), |(of, path)| (of, path));
    let has = |event: LoadEvent| {
        let is_it = |found: &ReportRow| {
            let is_field = match (&found.field, event) {
                (None, LoadEvent::Migrated) => false,
                (field, _) => field.as_ref().is_none_or(|field| field == path),
            };
            found.event == event && found.class == of && is_field
        };
        loads.rows.iter().any(is_it)
    };
    let is_lost = has(LoadEvent::Dropped) || has(LoadEvent::Superseded);
    let is_unknown = has(LoadEvent::Kept);
    if finding.is_migrated && is_tested && !is_lost && (!is_unknown || has(LoadEvent::Migrated)) {
        finding.of.verdict = Verdict::Safe;
        finding.of.change = String::from(match is_unknown {
            true => "the field went; `migrate` looks at it, and its old values are kept as unknown",
            false => "the field went; `migrate` takes it",
        });
        (finding.of.attribute, finding.of.above, finding.of.code) = (None, None, None);
    }
    if finding.is_restored && is_tested && has(LoadEvent::Migrated) {
        finding.of.verdict = Verdict::Safe;
        finding.of.change = String::from(
            "the field is stored by other code, and `migrate` takes it or looks at it",
        );
        (finding.of.attribute, finding.of.above, finding.of.code) = (None, None, None);
    }
    // Such a finding is not safe even without a sample.
    let is_known = finding.of.verdict != Verdict::Safe && !finding.is_migrated;
    if !is_tested && !is_known {
        finding.of.verdict = Verdict::Untested;
    }
}
