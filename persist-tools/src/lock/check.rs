//! The test of a lock: [`assert_lock!`](crate::assert_lock).

use std::path::Path;

use persist::save::Registry;
use persist::{Error, ErrorKind, Result};

use super::{Lock, LockReport};

/// The name of the folder.
const FOLDER: &str = "persist.lock";

/// The variable that says what a check does.
const VARIABLE: &str = "PERSIST_LOCK";

const NOT_UPDATED: &str = "the lock was not updated: ";

/// The mode of a check: compare alone, or also write the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Finds out whether the saves of all locked versions load.
    #[default]
    Check,
    /// Adds the program's schemas as those of its version.
    Update,
    /// Like [`Update`](Self::Update), but replaces the schemas of a version that is not released yet.
    Replace,
    /// Like [`Check`](Self::Check), and the program's schemas must be locked as its version.
    Locked,
}

impl Mode {
    /// The mode in the environment variable `PERSIST_LOCK`.
    fn of_environment() -> Result<Self> {
        let value = std::env::var_os(VARIABLE).unwrap_or_default();
        match value.to_str() {
            Some("" | "check") => Ok(Self::Check),
            Some("update") => Ok(Self::Update),
            Some("replace") => Ok(Self::Replace),
            Some("locked") => Ok(Self::Locked),
            _ => Err(error!(
                ErrorKind::NotFound,
                "{VARIABLE} is {}, which is none of `check`, `update`, `replace`, `locked`; set one of these, or none",
                value.display()
            )),
        }
    }
}

/// Checks `persist.lock` in a folder, as the environment variable `PERSIST_LOCK` says: whether the saves of
/// all versions in it load with the program as it is.
///
/// [`assert_lock!`](crate::assert_lock) calls it with folder and version of the crate in which it stands.
///
/// # Errors
///
/// Returns the same errors as [`check_file`].
pub fn check(folder: impl AsRef<Path>, version: &str, registry: &Registry) -> Result<LockReport> {
    check_file(folder.as_ref().join(FOLDER), version, registry, Mode::of_environment()?)
}

/// Like [`check`], and checks whether the programs of all versions refuse what this one writes, or read it, but guess
/// nothing.
///
/// # Errors
///
/// Returns the same errors as [`check_file`], and [`ErrorKind::NewerFormat`] if an older program would guess. The
/// message is the whole report.
pub fn check_downgrades(
    folder: impl AsRef<Path>,
    version: &str,
    registry: &Registry,
) -> Result<LockReport> {
    let mut report = check(&folder, version, registry)?;
    let lock = Lock::load(folder.as_ref().join(FOLDER))?;
    lock.add_downgrades(&mut report, registry);
    match report.may_downgrade() {
        true => Ok(report),
        false => Err(Error::new(ErrorKind::NewerFormat, report.to_string())),
    }
}

/// Checks a lock, whatever the environment says.
///
/// # Errors
///
/// If old saves do not load, or lose something: the kind of error that they get first, with the whole report as its
/// message; [`ErrorKind::NotFound`] where they get none. [`ErrorKind::NotFound`] if there is no lock, or if it is not
/// up to date under [`Mode::Locked`]; [`ErrorKind::Unsupported`] if [`Mode::Update`] would change the schemas of a
/// version that is there; what [`Lock::load`], [`Lock::update`] and [`Lock::save`] return. With an error, the file
/// stays as it was.
pub fn check_file(
    path: impl AsRef<Path>,
    version: &str,
    registry: &Registry,
    mode: Mode,
) -> Result<LockReport> {
    let path = path.as_ref();
    let is_present = path.try_exists().map_err(|error| Error::io("look for", path, error))?;
    let mut lock = if is_present { Lock::load(path)? } else { Lock::new() };
    let check = |lock: &Lock, previous: &str| {
        let report = lock.compare(registry);
        match broken(&report) {
            None => Ok(report),
            Some(kind) => Err(Error::new(kind, format!("{previous}{report}"))),
        }
    };
    match mode {
        Mode::Update | Mode::Replace => {
            let is_newest = lock.newest().any(|newest| newest.version == version);
            if mode == Mode::Update && is_newest && !lock.is_current(version, registry) {
                let report = lock.compare(registry);
                // After a released version is replaced, no test reports any more that its saves do not load.
                let kind = broken(&report).unwrap_or(ErrorKind::Unsupported);
                return Err(Error::new(
                    kind,
                    format!(
                        "the lock was not updated: it has version {version} with other schemas; if that version is released, raise the version in `Cargo.toml` and update again; if it is not, run the test with {VARIABLE}=replace\n\n{report}"
                    ),
                ));
            }
            let mut previous = lock.clone();
            if mode == Mode::Replace && is_newest && !lock.is_current(version, registry) {
                previous.sections.retain(|known| known.version != version);
            }
            // Nothing is written before it is known that all loads that was locked, and that is locked now.
            let report = check(&previous, NOT_UPDATED)?;
            if !lock.update(version, registry)? {
                return Ok(report);
            }
            let report = check(&lock, NOT_UPDATED)?;
            lock.save(path)?;
            Ok(report)
        }
        _ if lock.sections.is_empty() => Err(error!(
            ErrorKind::NotFound,
            "there is no lock {}, or no version in it; run the test with {VARIABLE}=update to begin one, and check it in",
            path.display()
        )),
        Mode::Locked if !lock.is_current(version, registry) => Err(error!(
            ErrorKind::NotFound,
            "{} does not have the classes of version {version} as they are; run the test with {VARIABLE}=update, and check it in",
            path.display()
        )),
        Mode::Check | Mode::Locked => check(&lock, ""),
    }
}

/// The error that old saves get first.
fn broken(report: &LockReport) -> Option<ErrorKind> {
    let worst = report.differences().first().filter(|worst| worst.verdict.is_bad());
    // The program refused all samples.
    (!report.loads()).then(|| worst.map_or(ErrorKind::Refused, |worst| worst.kind))
}

/// Tests that the saves of every version in `persist.lock`, beside the `Cargo.toml` of the crate in which
/// this stands, load with the classes of a [`Registry`].
///
/// It returns the [`LockReport`], with the changes that are safe, and prints it if there are any. See
/// [`lock`](crate::lock) for how the lock is begun and updated.
///
/// `assert_lock!(registry, downgrades)` also tests the way back: whether the program of each locked version refuses
/// what this one writes, or reads it as what it is. Of those it knows what is in the lock.
///
/// # Panics
///
/// With the whole report if old saves do not load, if an older program would guess, if there is no lock, or if it
/// cannot be read or written.
///
/// # Example
///
/// ```no_run
/// # use persist::Persist;
/// # #[derive(Persist)] struct Hero { name: String }
/// let mut registry = persist::save::Registry::new();
/// registry.register::<Hero>().unwrap();
/// persist_tools::assert_lock!(registry);
/// ```
#[macro_export]
macro_rules! assert_lock {
    (@ $check:ident, $registry:expr) => {
        match $crate::__private::$check(
            ::std::env!("CARGO_MANIFEST_DIR"),
            ::std::env!("CARGO_PKG_VERSION"),
            &$registry,
        ) {
            ::std::result::Result::Ok(report) => {
                if !report.is_current() {
                    ::std::eprintln!("{report}");
                }
                report
            }
            ::std::result::Result::Err(error) => ::std::panic!("{error}"),
        }
    };
    ($registry:expr $(,)?) => {
        $crate::assert_lock!(@ check, $registry)
    };
    ($registry:expr, downgrades $(,)?) => {
        $crate::assert_lock!(@ check_downgrades, $registry)
    };
}
