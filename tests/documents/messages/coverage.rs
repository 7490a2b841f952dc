//! Nothing that the library can say is without a snapshot.

use std::fs;
use std::path::Path;

use crate::messages::sources::{Sentence, files_in, sentences};

/// Files whose sentences are no errors, and what they are.
const NO_ERRORS: &[(&str, &str)] = &[
    ("classes.rs", "the text of a lock, and of classes in the value of a save"),
    ("debug/", "the text of a value, of which persist-cli/tests/live.rs has snapshots"),
    ("history/label.rs", "what an entry is called"),
    ("lock/compare/", "differences in a lock's report"),
    ("lock/report.rs", "a lock's report"),
    ("lock/sample/", "samples in a lock's report"),
    ("lock/text.rs", "the text of a lock"),
    ("reflect/", "the names of types"),
    ("save/report.rs", "the report of a load"),
    ("storage/conformance/", "the message of a test that fails"),
    ("trace.rs", "what a subscriber of `tracing` is told"),
    ("value/text.rs", "the text of a value"),
];

const INVARIANT: &str = "it guards what the code around it makes sure of";
const IN_COMMAND: &str = "persist-cli/tests/replaying.rs has a snapshot of it";
const HUGE: &str = "it takes more objects, ids or bytes than a test can make";
const HARM: &str =
    "only a journal or a save written by hand has it; others of its kind are provoked";

/// Sentences that no test provokes: the file, how they begin, and why.
const UNPROVOKED: &[(&str, &str, &str)] = &[
    (
        "schema/plan/fields.rs",
        "mark a field of the class",
        "it is a detail in the report of a load",
    ),
    ("history/journal/spill.rs", "an entry without a file", INVARIANT),
    (
        "storage/files.rs",
        "no file of Windows has this name",
        "tests/storage/windows.rs shows it there",
    ),
    ("storage/files.rs", "the file is read-only", "tests/storage/windows.rs shows it there"),
    ("codec/fail.rs", "a value is of a class that is not registered for its trait", INVARIANT),
    ("codec/unknown/mod.rs", "Unknown({}", "its debug text is no error"),
    ("codec/encoder/mod.rs", "the class has no field of this index", INVARIANT),
    ("codec/encoder/mod.rs", "a collection of {count} elements", INVARIANT),
    ("fields/mod.rs", "its class is not registered", INVARIANT),
    ("fields/mod.rs", "the class has no such field", INVARIANT),
    (
        "lib.rs",
        "`field!` needs the feature",
        "the compiler says it, in a build without the feature",
    ),
    ("graph/save/pages.rs", "the class of pages is not registered", INVARIANT),
    ("world/objects/saving.rs", "a world was registered in no registry", INVARIANT),
    ("format/records.rs", "there are too many classes", HUGE),
    ("serde/read.rs", "the bytes are damaged", "the fault of the bytes takes its place"),
    ("serde/write.rs", "the bytes were refused", "the reason of the encoder takes its place"),
    (
        "format/mod.rs",
        "the save is compressed by",
        "it takes a build without the feature; compression_off.rs looks at it",
    ),
    ("format/definition.rs", "{class} record of {length} bytes", HUGE),
    ("graph/load/mod.rs", "a save has at most", HUGE),
    ("graph/load/unknown.rs", "what is kept is of class number", HARM),
    ("graph/load/unknown.rs", "a {name} stands for a trait", HARM),
    ("graph/save/mod.rs", "the object ids are used up", HUGE),
    ("lock/mod.rs", "the program cannot be locked", INVARIANT),
    ("graph/save/mod.rs", "the class of a kept value is lost", INVARIANT),
    ("graph/load/rewrite.rs", "a {name} is not registered", INVARIANT),
    ("graph/load/rewrite.rs", "the save did not come back whole", INVARIANT),
    ("graph/mod.rs", "a save has at most", HUGE),
    ("history/journal/evolution/mod.rs", "a change without the value", HARM),
    ("history/journal/evolution/mod.rs", "the name of a class", HARM),
    ("history/journal/evolution/mod.rs", "a change of a class that its program", HARM),
    ("history/journal/frame.rs", "an edit of {} bytes", HUGE),
    ("history/journal/spill.rs", "a large entry", HUGE),
    (
        "history/journal/writer/exchange/recorder/open.rs",
        "the save {} was replaced meanwhile",
        "it takes another program in the middle of a call",
    ),
    (
        "history/journal/writer/exchange/recorder/mod.rs",
        "as it cannot hold the history",
        "journal/ looks at it",
    ),
    ("history/journal/recovered.rs", "the rest could not be recovered", "journal/ looks at it"),
    ("history/journal/recovered.rs", "the whole of a journal", "journal/ looks at it"),
    (
        "history/journal/evolution/replay.rs",
        "a command panicked",
        "histories.rs has the twin of an undo",
    ),
    (
        "history/journal/writer/exchange/recorder/session.rs",
        "the session has no journal",
        INVARIANT,
    ),
    ("journal/untyped/change/mod.rs", "no program loads the world", IN_COMMAND),
    ("journal/untyped/change/mod.rs", "objects that are", HARM),
    ("journal/untyped/change/mod.rs", "only its program", IN_COMMAND),
    ("journal/untyped/change/mod.rs", "the save has", IN_COMMAND),
    ("journal/untyped/change/mod.rs", "this change does not go", IN_COMMAND),
    ("journal/untyped/change/replay.rs", "an event that is not possible", HARM),
    ("journal/untyped/change/replay.rs", "only its program", IN_COMMAND),
    ("journal/untyped/change/replay.rs", "the journal has {count} events", IN_COMMAND),
    ("history/journal/spill.rs", "a command of no class", HARM),
    ("history/journal/spill.rs", "move entries", "it is not returned: the entries stay in memory"),
    ("history/journal/stored.rs", "an index", "it takes a computer of 32 bits"),
    ("history/journal/writer/exchange/mod.rs", "the journal before", "journal/ looks at it"),
    ("history/change/mod.rs", "the journal has a step of a world", HARM),
    ("history/support.rs", "the component is not there", INVARIANT),
    ("history/support.rs", "the type of the target has no field records", INVARIANT),
    ("history/world/edits.rs", "the component is not there", INVARIANT),
    ("save/background.rs", "the save was cancelled", INVARIANT),
    ("save/background.rs", "persist saves", "the name of a thread"),
    ("document/adoption.rs", "the save has another form", IN_COMMAND),
    ("document/mod.rs", "has kept ", "the text of a document is no error"),
    ("document/mod.rs", "thumbnail of", "the text of a document is no error"),
    ("save/objects/mod.rs", "the object ids are used up", HUGE),
    ("save/slots.rs", "the user has no home folder", "it takes a user without a home"),
    ("schema/event.rs", "as `removed` says", "a detail in a load report"),
    ("schema/event.rs", "in place of a default", "a detail in a load report"),
    ("schema/plan/fields.rs", "elements {from} to {}", "a detail in a load report"),
    (
        "schema/plan/due/migrate.rs",
        "the save holds version",
        "a class without the step is refused when it is registered",
    ),
    ("schema/plan/transcode/mod.rs", "the program does not have this class", INVARIANT),
    ("types/array.rs", "an element has no empty value", INVARIANT),
    (
        "types/save_as.rs",
        "the parts are not the stored fields",
        "it takes names so long that the message is cut within a character",
    ),
    ("types/foreign/integers.rs", "the generator is no struct", INVARIANT),
    (
        "types/foreign/calendar/jiff.rs",
        "the time zone has no name",
        "it takes a system without a name for it",
    ),
    ("world/objects/detached/change.rs", "a step of an object", HARM),
    ("world/objects/detached/change.rs", "an object without a name", HARM),
    ("world/objects/detached/mod.rs", "{class} is in its place", INVARIANT),
    (
        "world/objects/detached/mod.rs",
        "what it holds",
        "it is not returned: the step stays in memory",
    ),
    ("world/objects/prefab.rs", "the ids of a world", HUGE),
    ("world/objects/public.rs", "the prefab has no object at its top", INVARIANT),
];

/// Every snapshot of the tests.
pub(crate) fn snapshots() -> String {
    let mut files = Vec::new();
    files_in(Path::new(env!("CARGO_MANIFEST_DIR")), "snap", &mut files);
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// True if a line has all of these parts, in order.
pub(crate) fn is_said(parts: &[impl AsRef<str>], snapshots: &str) -> bool {
    let Some((first, others)) = parts.split_first() else { return true };
    snapshots.match_indices(first.as_ref()).any(|(at, found)| {
        let rest = &snapshots[at + found.len()..];
        let mut line = rest.split('\n').next().unwrap_or_default();
        others.iter().all(|part| match line.find(part.as_ref()) {
            Some(at) => {
                line = &line[at + part.as_ref().len()..];
                true
            }
            None => false,
        })
    })
}

/// The reports of the cases whose cures `tests/lock/cures` applies.
const CURES: &str =
    include_str!("../../lock/cures/snapshots/lock__cures__the_reports_of_the_cases.snap");

/// Messages of the lock that name code, and have no cure that a test applies: how they begin, and why.
const WITHOUT_CURE: &[(&str, &str)] = &[
    ("the field is stored by other code, and `migrate`", ACCEPTED),
    ("it is refused by name, `since", ACCEPTED),
    ("a {is} is read as {kind}", "tests/lock/downgrades.rs applies the `since` that is printed"),
    ("was `validate = {then}`", "whether a check takes old values is a question"),
    ("came, `validate = {check}`", "whether a check takes old values is a question"),
    (", which was `{was}` in {name}", "which default is right is a question"),
    ("is `removed`; values of it become", ACCEPTED),
    ("the field is `removed`; its old values", ACCEPTED),
    ("what `migrate` makes", ACCEPTED),
    ("the field went; `migrate` looks at it", ACCEPTED),
    ("the field went; `migrate` takes it", ACCEPTED),
    (
        "{branch}, of another branch, made records",
        "tests/lock/branches.rs applies the `migrate` that is printed",
    ),
];

const ACCEPTED: &str = "it says that the program has the cure";

fn is_error(sentence: &Sentence) -> bool {
    !NO_ERRORS.iter().any(|(file, _)| sentence.file.starts_with(file))
}

fn is_excused(sentence: &Sentence, excuse: &(&str, &str, &str)) -> bool {
    sentence.file == excuse.0 && sentence.text.starts_with(excuse.1)
}

#[test]
fn every_sentence_of_the_library_is_in_a_snapshot() {
    let snapshots = snapshots();
    let missing: Vec<String> = sentences()
        .iter()
        .filter(|sentence| is_error(sentence))
        .filter(|sentence| !UNPROVOKED.iter().any(|excuse| is_excused(sentence, excuse)))
        .filter(|sentence| !is_said(&sentence.pieces, &snapshots))
        .map(Sentence::report)
        .collect();
    assert!(
        missing.is_empty(),
        "{} sentences are in no snapshot; provoke each, or say in UNPROVOKED why it cannot be:\n{}",
        missing.len(),
        missing.join("\n"),
    );
}

#[test]
fn what_is_said_to_be_unprovoked_is() {
    let (snapshots, sentences) = (snapshots(), sentences());
    for excuse in UNPROVOKED {
        let mut meant = sentences.iter().filter(|sentence| is_excused(sentence, excuse)).peekable();
        assert!(meant.peek().is_some(), "the library does not say {:?} in {}", excuse.1, excuse.0);
        let is_shown = meant.all(|sentence| is_said(&sentence.pieces, &snapshots));
        assert!(!is_shown, "{:?} of {} is in a snapshot; remove it here", excuse.1, excuse.0);
    }
    for (file, _) in NO_ERRORS {
        let is_there = sentences.iter().any(|sentence| sentence.file.starts_with(file));
        assert!(is_there, "{file} says nothing");
    }
}

#[test]
fn sentences_are_lower_case_and_without_a_full_stop() {
    for sentence in sentences().iter().filter(|sentence| is_error(sentence)) {
        let (text, report) = (&sentence.text, sentence.report());
        let is_name = |word: &str| word.chars().skip(1).any(char::is_uppercase);
        let is_capital = text.starts_with(char::is_uppercase)
            && !text.split(' ').next().is_some_and(is_name)
            && !text.contains('(');
        assert!(!is_capital, "{report}");
        assert!(!text.ends_with('.') || text.ends_with("..."), "{report}");
    }
}

#[test]
fn every_cure_of_the_lock_is_applied_by_a_test() {
    let sentences = sentences();
    let named: Vec<&Sentence> = sentences
        .iter()
        .filter(|sentence| sentence.file.starts_with("lock/compare/"))
        .filter(|sentence| sentence.text.contains('`'))
        .collect();
    assert!(named.len() > 30, "{}", named.len());
    let is_excused =
        |it: &Sentence| WITHOUT_CURE.iter().any(|(start, _)| it.text.starts_with(start));
    let missing: Vec<String> = named
        .iter()
        .filter(|sentence| !is_excused(sentence) && !is_said(&sentence.pieces, CURES))
        .map(|sentence| sentence.report())
        .collect();
    assert!(
        missing.is_empty(),
        "no case of tests/lock/cures has these, so that nothing shows that their cures help:\n{}",
        missing.join("\n"),
    );
    for (start, why) in WITHOUT_CURE {
        let mut meant = named.iter().filter(|it| it.text.starts_with(start)).peekable();
        assert!(meant.peek().is_some(), "the lock does not say {start:?} ({why})");
        let is_shown = meant.all(|sentence| is_said(&sentence.pieces, CURES));
        assert!(!is_shown, "a case has {start:?}; remove it here");
    }
}
