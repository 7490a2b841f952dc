use std::path::Path;

use super::{Lock, LockReport, Verdict};
use crate::{Error, ErrorKind, Registry, Result};

/// The name of the file.
const FILE: &str = "persist.lock";

/// The variable that says what a check does.
const VARIABLE: &str = "PERSIST_LOCK";

/// What a check does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Finds out whether the saves of all locked versions load.
    #[default]
    Check,
    /// Makes the program's schemas those of its version first.
    Update,
    /// As [`Check`](Self::Check), and the program's schemas must be locked as its version.
    Locked,
}

impl Mode {
    /// The mode in the environment variable `PERSIST_LOCK`.
    fn of_environment() -> Result<Self> {
        let value = std::env::var_os(VARIABLE).unwrap_or_default();
        match value.to_str() {
            Some("" | "check") => Ok(Self::Check),
            Some("update") => Ok(Self::Update),
            Some("locked") => Ok(Self::Locked),
            _ => Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "{VARIABLE} is {}, which is none of `check`, `update`, `locked`",
                    value.display()
                ),
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
/// As [`check_file`].
pub fn check(folder: impl AsRef<Path>, version: &str, registry: &Registry) -> Result<LockReport> {
    check_file(folder.as_ref().join(FILE), version, registry, Mode::of_environment()?)
}

/// Checks a lock, whatever the environment says.
///
/// # Errors
///
/// If old saves do not load, the kind of error that they get first, with the whole report as its message.
/// [`ErrorKind::NotFound`] if there is no lock, or if it is not up to date under
/// [`Mode::Locked`]; what [`Lock::load`], [`Lock::update`] and [`Lock::save`] return.
///
/// # Example
///
/// ```
/// use persist::lock::{self, Mode};
/// use persist::{ErrorKind, Persist, Registry};
///
/// #[derive(Persist)]
/// struct Hero { name: String }
///
/// let mut registry = Registry::new();
/// registry.register::<Hero>()?;
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("persist.lock");
/// let error = lock::check_file(&path, "0.1.0", &registry, Mode::Check).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotFound);
///
/// lock::check_file(&path, "0.1.0", &registry, Mode::Update)?;
/// assert!(lock::check_file(&path, "0.1.0", &registry, Mode::Check)?.is_current());
/// # Ok::<(), persist::Error>(())
/// ```
pub fn check_file(
    path: impl AsRef<Path>,
    version: &str,
    registry: &Registry,
    mode: Mode,
) -> Result<LockReport> {
    let path = path.as_ref();
    let is_there = path.try_exists().map_err(|error| Error::io("look for", path, error))?;
    let mut lock = if is_there { Lock::load(path)? } else { Lock::new() };
    match mode {
        Mode::Update => {
            if lock.update(version, registry)? {
                lock.save(path)?;
            }
        }
        _ if !is_there => {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "there is no lock {}; run the test with {VARIABLE}=update to begin one, and check it in",
                    path.display()
                ),
            ));
        }
        Mode::Locked if !lock.is_current(version, registry) => {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "{} does not have the classes of version {version} as they are; run the test with {VARIABLE}=update, and check it in",
                    path.display()
                ),
            ));
        }
        Mode::Check | Mode::Locked => {}
    }
    let report = lock.compare(registry);
    let worst = report.differences().first();
    match worst.filter(|difference| difference.verdict != Verdict::Safe) {
        None => Ok(report),
        Some(worst) => Err(Error::new(worst.kind, report.to_string())),
    }
}

/// Tests that the saves of every version in `persist.lock`, beside the `Cargo.toml` of the crate in which
/// this stands, load with the classes of a [`Registry`].
///
/// It returns the [`LockReport`], with the changes that are safe. See [`lock`](crate::lock) for how the lock is begun and updated.
///
/// # Panics
///
/// With the whole report if old saves do not load, if there is no lock, or if it cannot be read or written.
///
/// # Example
///
/// ```no_run
/// # use persist::Persist;
/// # #[derive(Persist)] struct Hero { name: String }
/// let mut registry = persist::Registry::new();
/// registry.register::<Hero>().unwrap();
/// persist::assert_lock!(registry);
/// ```
#[macro_export]
macro_rules! assert_lock {
    ($registry:expr $(,)?) => {
        match $crate::lock::check(
            ::std::env!("CARGO_MANIFEST_DIR"),
            ::std::env!("CARGO_PKG_VERSION"),
            &$registry,
        ) {
            ::std::result::Result::Ok(report) => report,
            ::std::result::Result::Err(error) => ::std::panic!("{error}"),
        }
    };
}
