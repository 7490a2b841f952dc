//! [`conformance`]: tests a storage against the contract in the documentation of [`Storage`].
//!
//! `rules` has one check for each rule that can be seen from outside. `whole_saves` runs random saves, slots and
//! sessions on the storage, beside a naive twin.

mod rules;
mod whole_saves;

use std::fmt::{Debug, Write as _};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{NewFile, Patient, Storage, StoredFile};
use crate::sorting::sort;

/// Tests a storage of your own: whether it keeps its [contract](Storage#contract), and whether saves work on it.
///
/// `new` returns an empty storage. It is called for each of about thirty checks.
///
/// ```
/// use persist::storage::{Memory, conformance};
///
/// // In a test, with your storage instead of `Memory`:
/// conformance(|| Memory::default());
/// ```
///
/// All paths are names such as `a` or `./a.sav`, in the folder `.`. One check creates a file in the folder `folder`,
/// unless the storage refuses. If a storage expects other paths, wrap it in one that puts them below a folder.
///
/// Calls are repeated after errors that may pass, as in a save. If files cannot be read and written as they should, the
/// test ends. If no rule is broken, random saves, loads, backups and
/// slots follow, also in the background, and with the feature `history` sessions with a journal.
///
/// # What is not tested
///
/// - Power cuts cannot be seen from outside: rules 4, 9 and 25. A `sync` that does nothing is found only if another `open`
///   shows it.
/// - A second program is not started. Locks are tested between threads of this one.
/// - Devices that fail are not simulated. A call may always return an error.
///
/// # Panics
///
/// Panics if a rule is broken. The message lists each broken rule with its number, what was expected, and what was
/// found.
#[track_caller]
pub fn conformance<S: Storage + 'static>(new: impl Fn() -> S) {
    let probe = || Probe { storage: Patient::new(new(), WAIT) };
    let mut broken: Vec<Breach> = Vec::new();
    let basic = rules::BASIC.iter().try_for_each(|check| check(&probe()));
    let is_basic = basic.is_err();
    match basic {
        // All other checks would repeat it.
        Err(breach) => broken.push(breach),
        Ok(()) => broken.extend(rules::CHECKS.iter().filter_map(|check| check(&probe()).err())),
    }
    if broken.is_empty() {
        broken.extend(whole_saves::check(&probe).err());
    }
    // A wrong list says nothing about the files.
    if broken.iter().any(|breach| breach.rule == LIST) {
        broken.retain(|breach| breach.rule == LIST || !breach.is_in_list);
    }
    broken.sort_by_key(|breach| breach.rule);
    broken.dedup_by_key(|breach| breach.rule);
    assert!(broken.is_empty(), "{}", report(&broken, is_basic));
}

/// How long a call is repeated while another program holds a file.
const WAIT: Duration = Duration::from_secs(1);

/// The number of the rule of `list`.
const LIST: usize = 14;

/// The rules, as the documentation of `Storage` lists them.
const CONTRACT: &str = include_str!("../contract.md");

/// A rule that a storage breaks, or 0 for a save that fails although all rules hold.
struct Breach {
    rule: usize,
    found: String,
    /// Whether only the list of a folder shows it.
    is_in_list: bool,
}

type Checked<T = ()> = Result<T, Breach>;

/// Returns the message of a panic. After a basic breach, no other rule was tested.
fn report(broken: &[Breach], is_basic: bool) -> String {
    let mut report =
        String::from("the storage breaks its contract, see `persist::storage::Storage`");
    for Breach { rule, found, .. } in broken {
        let text = match rule {
            0 => String::from("saves, although no rule is broken:"),
            _ => format!("rule {rule}: {}", text_of(*rule)),
        };
        let _ = write!(report, "\n\n{text}\n    {found}");
    }
    if is_basic {
        report.push_str("\n\nother rules were not tested, since their checks need this one");
    }
    report
}

/// Returns the text of a rule in one line.
fn text_of(rule: usize) -> String {
    let start = format!("{rule}. ");
    let mut lines = CONTRACT.lines().skip_while(|line| !line.starts_with(&start));
    let first = lines.next().unwrap_or_default().trim_start_matches(&start);
    let rest = lines.take_while(|line| line.starts_with(' ')).map(str::trim);
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ")
}

/// A storage that is tested, with calls that name the rule they expect to hold.
struct Probe {
    storage: Patient<Arc<dyn Storage>>,
}

impl Probe {
    fn open(&self, name: &str) -> io::Result<Box<dyn StoredFile>> {
        self.storage.open(Path::new(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        self.storage.create(Path::new(name), Path::new(name))
    }

    fn append(&self, name: &str, length: u64) -> io::Result<Box<dyn NewFile>> {
        self.storage.append(Path::new(name), length)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.storage.rename(Path::new(from), Path::new(to))
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        self.storage.link(Path::new(from), Path::new(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.storage.remove(Path::new(name))
    }

    /// Creates a file with this content.
    fn put(&self, name: &str, content: &[u8]) -> Checked {
        let of = quoted(name);
        let mut file = succeeds(1, format!("create {of}"), self.create(name))?;
        succeeds(3, format!("write to {of}"), file.write_all(content))?;
        succeeds(4, format!("sync {of}"), file.sync())
    }

    /// Expects a file with this content.
    fn has(&self, rule: usize, when: &str, name: &str, content: &[u8]) -> Checked {
        let what = format!("{when}: read {}", quoted(name));
        let mut found = Vec::new();
        let read = self.open(name).and_then(|mut file| file.read_to_end(&mut found));
        succeeds(rule, &what, read)?;
        is_content(rule, &what, content, &found)
    }

    /// Expects that no file has this name.
    fn has_none(&self, rule: usize, when: &str, name: &str) -> Checked {
        let what = format!("{when}: open {}", quoted(name));
        fails(rule, what, self.open(name), io::ErrorKind::NotFound)
    }

    /// Expects the folder of the storage to have exactly these files.
    fn lists(&self, rule: usize, when: &str, names: &[&str]) -> Checked {
        let what = format!("{when}: list \".\"");
        let found = succeeds(rule, &what, self.storage.list(Path::new(".")))?;
        let names: Vec<_> = names.iter().map(PathBuf::from).collect();
        is_list(rule, &what, &names, &found)
    }
}

/// Expects these names, in any order.
fn is_list(rule: usize, what: &str, expected: &[PathBuf], found: &[PathBuf]) -> Checked {
    let mut rest = found.to_vec();
    let mut missing = expected.to_vec();
    missing.retain(|name| match rest.iter().position(|other| other == name) {
        Some(at) => {
            rest.remove(at);
            false
        }
        None => true,
    });
    if missing.is_empty() && rest.is_empty() {
        return Ok(());
    }
    let shown = |mut names: Vec<PathBuf>, what: &str| {
        const SHOWN: usize = 4;
        sort(&mut names);
        let more = names.len().saturating_sub(SHOWN);
        names.truncate(SHOWN);
        let names: Vec<_> = names.iter().map(|name| quoted(&name.to_string_lossy())).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        if names.is_empty() { None } else { Some(format!("{what} {}{more}", names.join(", "))) }
    };
    let (count, other) = (expected.len(), found.len());
    let parts = [shown(missing, "without"), shown(rest, "with")];
    let differences = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let found = format!("{what}: expected {count} names, found {other}, {differences}");
    Err(Breach { rule, found, is_in_list: true })
}

fn breach<T>(rule: usize, found: impl Into<String>) -> Checked<T> {
    Err(Breach { rule, found: found.into(), is_in_list: false })
}

/// Expects `Ok`.
fn succeeds<T>(rule: usize, what: impl AsRef<str>, result: io::Result<T>) -> Checked<T> {
    result.or_else(|error| {
        let rule = if error.kind() == io::ErrorKind::InvalidData { 24 } else { rule };
        breach(rule, format!("{}: expected Ok, found {}", what.as_ref(), shown(&error)))
    })
}

/// Expects an error of this kind.
fn fails<T>(
    rule: usize,
    what: impl AsRef<str>,
    result: io::Result<T>,
    kind: io::ErrorKind,
) -> Checked {
    match result {
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => {
            breach(rule, format!("{}: expected {kind:?}, found {}", what.as_ref(), shown(&error)))
        }
        Ok(_) => breach(rule, format!("{}: expected {kind:?}, found Ok", what.as_ref())),
    }
}

/// Expects `Ok`, or the error of a storage that lacks the call, for which it returns `None`.
fn may_lack<T>(rule: usize, what: impl AsRef<str>, result: io::Result<T>) -> Checked<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        result => succeeds(rule, what, result).map(Some),
    }
}

/// Expects a value.
fn is<T: PartialEq + Debug>(
    rule: usize,
    what: impl AsRef<str>,
    expected: &T,
    found: &T,
) -> Checked {
    if expected == found {
        return Ok(());
    }
    breach(rule, format!("{}: expected {expected:?}, found {found:?}", what.as_ref()))
}

/// Expects the bytes of a file.
fn is_content(rule: usize, what: &str, expected: &[u8], found: &[u8]) -> Checked {
    const SHOWN: usize = 40;
    if expected == found {
        return Ok(());
    }
    if expected.len() <= SHOWN && found.len() <= SHOWN {
        let (expected, found) = (expected.escape_ascii(), found.escape_ascii());
        return breach(rule, format!("{what}: expected \"{expected}\", found \"{found}\""));
    }
    let same = expected.iter().zip(found).take_while(|(one, other)| one == other).count();
    let (expected, found) = (expected.len(), found.len());
    breach(
        rule,
        format!(
            "{what}: expected {expected} bytes, found {found}, which differ from byte {same} on"
        ),
    )
}

/// Returns a name in quotes, cut if it is long.
fn quoted(name: &str) -> String {
    const SHOWN: usize = 40;
    if name.len() <= SHOWN {
        return format!("{name:?}");
    }
    let start: String = name.chars().take(SHOWN / 4).collect();
    format!("\"{start}...\" ({} bytes)", name.len())
}

fn shown(error: &io::Error) -> String {
    format!("{:?} ({error})", error.kind())
}
