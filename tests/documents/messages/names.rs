//! What kinds of errors, saves that are compared and outcomes of saves are called.

use persist::ErrorKind;
use persist::save::{Lineage, SaveOutcome};

use crate::messages::table::Table;

#[test]
fn kinds_of_errors() {
    let mut table = Table::new();
    for kind in [
        ErrorKind::NotASave,
        ErrorKind::NewerFormat,
        ErrorKind::Truncated,
        ErrorKind::Damaged,
        ErrorKind::UnknownKind,
        ErrorKind::DuplicateId,
        ErrorKind::WrongClass,
        ErrorKind::MissingObject,
        ErrorKind::TooDeep,
        ErrorKind::TooLarge,
        ErrorKind::InvalidValue,
        ErrorKind::MissingField,
        ErrorKind::KindMismatch,
        ErrorKind::NotFound,
        ErrorKind::AlreadyExists,
        ErrorKind::Unsupported,
        ErrorKind::Borrowed,
        ErrorKind::Circular,
        ErrorKind::WrongContext,
        ErrorKind::Refused,
        ErrorKind::NoContent,
        ErrorKind::Io,
        ErrorKind::NoSpace,
        ErrorKind::InUse,
        ErrorKind::Conflict,
        ErrorKind::Cancelled,
        ErrorKind::Poisoned,
        ErrorKind::NotInverse,
        ErrorKind::OpenTransaction,
        ErrorKind::WrongTarget,
    ] {
        table.line(&format!("{kind:?}"), &kind.to_string());
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn lineages_and_outcomes() {
    let mut table = Table::new();
    for lineage in [Lineage::Same, Lineage::Newer, Lineage::Older, Lineage::Diverged] {
        table.line(&format!("{lineage:?}"), &lineage.to_string());
    }
    for outcome in [
        SaveOutcome::Saved,
        SaveOutcome::SavedUnlocked,
        SaveOutcome::SavedUnjournaled,
        SaveOutcome::Superseded,
        SaveOutcome::Cancelled,
    ] {
        table.line(&format!("{outcome:?}"), &outcome.to_string());
    }
    insta::assert_snapshot!(table.text());
}
