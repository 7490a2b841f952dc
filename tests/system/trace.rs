//! Faults at system calls, by `strace`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use super::Ran;
use super::process::{SIZE, arguments, assert_no_strays, has, is_saved, load, save};

/// What a save calls, and a load that recovers.
const CALLS: [&str; 14] = [
    "openat", "write", "read", "lseek", "fsync", "rename", "linkat", "unlink", "flock", "close",
    "fstat", "statx", "readlink", "getcwd",
];

/// What changes no file and asks for none: memory, threads, the end.
const HARMLESS: [&str; 12] = [
    "brk",
    "mmap",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "futex",
    "sigaltstack",
    "getrandom",
    "fcntl",
    "exit_group",
    "sched_yield",
];

/// Nothing that a save calls, from the first look at its file on, is missing from the list.
fn assert_all_calls_are_known(what: &str, prepare: &impl Fn(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let (path, log) = (folder.path().join("game.sav"), folder.path().join("log"));
    prepare(&path);
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-o"]).arg(&log).args(arguments(what, &path, 2, SIZE));
    assert!(is_saved(&strace.output().unwrap()));
    let log = fs::read_to_string(&log).unwrap();
    let calls: Vec<&str> = log
        .lines()
        .skip_while(|line| line.starts_with("execve") || !line.contains("game.sav"))
        .filter_map(|line| line.split_once('('))
        .map(|(call, _)| call)
        .collect();
    assert!(calls.contains(&"openat") && calls.len() > 10, "{calls:?}");
    let is_known = |call: &&str| CALLS.contains(call) || HARMLESS.contains(call);
    assert!(calls.iter().all(is_known), "not all of {calls:?} are known");
}

fn traced(fault: &str, command: &[String]) -> Output {
    let inject = format!("inject={fault}");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject]).args(command);
    strace.output().unwrap()
}

fn cannot_trace() -> Option<Ran> {
    if !has("strace") {
        return Some(Ran::Skipped("there is no strace".into()));
    }
    let works = traced("getppid:error=EIO", &["true".into()]).status.success();
    (!works).then(|| Ran::Skipped("strace may not trace here".into()))
}

/// Runs a save of level 2 over level 1 with a fault at each call in turn; `check` gets the path, what
/// became of the program, and words for the fault.
fn at_every_call(
    what: &str,
    calls: &[&str],
    fault: &str,
    prepare: impl Fn(&Path),
    check: impl Fn(&Path, &Output, &str),
) -> usize {
    let mut faults = 0;
    for call in calls {
        for number in 1..=count(what, call, &prepare) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("game.sav");
            prepare(&path);
            let fault = format!("{call}:{}", fault.replace('#', &number.to_string()));
            let output = traced(&fault, &arguments(what, &path, 2, SIZE));
            check(&path, &output, &fault);
            faults += 1;
        }
    }
    faults
}

/// How often a program makes a call, its start included.
pub(crate) fn count(what: &str, call: &str, prepare: &impl Fn(&Path)) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let (path, log) = (folder.path().join("game.sav"), folder.path().join("log"));
    prepare(&path);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", &format!("trace={call}"), "-o"]).arg(&log);
    assert!(is_saved(&strace.args(arguments(what, &path, 2, SIZE)).output().unwrap()));
    fs::read_to_string(&log).unwrap().lines().filter(|line| line.contains(call)).count()
}

/// S1.
pub(crate) fn kills() -> Ran {
    cannot_trace().unwrap_or_else(|| {
        let check = |path: &Path, output: &Output, what: &str| {
            let level = load(path, what);
            assert!(level == 2 || level == 1 && !is_saved(output), "{what}: level {level}");
            assert_no_strays(path, what);
        };
        assert_all_calls_are_known("save", &|path| save(path, 1));
        let fault = "signal=KILL:when=#";
        let faults = at_every_call("save", &CALLS, fault, |path| save(path, 1), check);
        assert!(faults > 30, "{faults} kills");
        Ran::Faults(faults)
    })
}

/// S14.
pub(crate) fn kills_in_a_recovery() -> Ran {
    cannot_trace().unwrap_or_else(|| {
        let prepare = |path: &Path| {
            save(path, 1);
            save(path, 2);
            let save = fs::read(path).unwrap();
            fs::write(path, &save[..save.len() / 2]).unwrap();
        };
        let check = |path: &Path, _: &Output, what: &str| {
            assert_eq!(load(path, what), 1, "{what}");
            assert_no_strays(path, what);
        };
        assert_all_calls_are_known("load", &prepare);
        let faults = at_every_call("load", &CALLS, "signal=KILL:when=#", prepare, check);
        assert!(faults > 30, "{faults} kills");
        Ran::Faults(faults)
    })
}

/// S8 and S9, one-shot and sticky.
pub(crate) fn errors() -> Ran {
    cannot_trace().unwrap_or_else(|| {
        let check = |path: &Path, output: &Output, what: &str| {
            let level = load(path, what);
            let told = String::from_utf8_lossy(&output.stdout);
            // If it could not even say what it did, the fault was behind the save.
            let may_be_new = is_saved(output) || told.contains("in place") || told.is_empty();
            assert!(level == 2 || level == 1 && !is_saved(output), "{what}: level {level}, {told}");
            assert!(level == 1 || may_be_new, "{what}: an error, and level {level}: {told}");
            assert_no_strays(path, what);
        };
        let mut faults = 0;
        for fault in ["error=EIO:when=#", "error=ENOSPC:when=#", "error=EIO:when=#+"] {
            faults += at_every_call("save", &CALLS, fault, |path| save(path, 1), check);
        }
        assert!(faults > 100, "{faults} errors");
        Ran::Faults(faults)
    })
}

/// F6: a network drive that neither locks nor changes permissions, in each of the ways in which they refuse.
pub(crate) fn refusals() -> Ran {
    cannot_trace().unwrap_or_else(|| {
        let prepare = |path: &Path| {
            save(path, 1);
            // More than the user's mask leaves to a new file.
            fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        };
        let check = |path: &Path, output: &Output, what: &str| {
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(is_saved(output), "{what}: {told}");
            assert_no_strays(path, what);
            assert_eq!(load(path, what), 2, "{what}");
        };
        let mut faults = 0;
        for error in ["ENOLCK", "EINVAL", "EACCES", "EPERM", "ENOSYS"] {
            let fault = format!("error={error}:when=#+");
            faults += at_every_call("save", &["flock"], &fault, prepare, check);
        }
        for error in ["EPERM", "EROFS"] {
            let fault = format!("error={error}:when=#+");
            faults += at_every_call("save", &["fchmod"], &fault, prepare, check);
        }
        assert!(faults >= 7, "{faults} refusals");
        Ran::Faults(faults)
    })
}

/// S7: a write that says it took ten bytes and took none.
pub(crate) fn lies() -> Ran {
    cannot_trace().unwrap_or_else(|| {
        let check = |path: &Path, output: &Output, what: &str| {
            let level = load(path, what);
            assert!(level == 2 || level == 1 && !is_saved(output), "{what}: level {level}");
        };
        let fault = "retval=10:when=#";
        Ran::Faults(at_every_call("verify", &["write"], fault, |path| save(path, 1), check))
    })
}
