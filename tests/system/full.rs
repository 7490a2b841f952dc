//! Disks that are full or cannot be written, and two programs at once.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use persist::storage::{Files, Storage};

use super::Ran;
use super::process::{
    Mount, SIZE, arguments, assert_no_strays, has, is_saved, is_superuser, load, save,
};

fn mounted(options: &str, check: impl FnOnce(&Path) -> usize) -> Ran {
    if !is_superuser() {
        return Ran::Skipped("only the superuser mounts".into());
    }
    let folder = tempfile::tempdir().unwrap();
    match Mount::new(folder.path(), &["-t", "tmpfs", "-o", options, "none"]) {
        Some(mount) => Ran::Faults(check(&mount.folder)),
        None => Ran::Skipped("nothing can be mounted here".into()),
    }
}

fn run(what: &str, path: &Path, level: u32, size: usize) -> std::process::Output {
    let command = arguments(what, path, level, size);
    Command::new(&command[0]).args(&command[1..]).output().unwrap()
}

/// S8.
pub(crate) fn disk() -> Ran {
    mounted("size=512k", |folder| {
        let path = folder.join("game.sav");
        save(&path, 1);
        for size in [430_000, 450_000, 500_000, 2_000_000] {
            let output = run("save", &path, 2, size);
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(told.starts_with("cannot write the save: No space left"), "{told}");
            assert_no_strays(&path, "a full disk");
            assert_eq!(load(&path, "a full disk"), 1);
        }
        // It is usable again when there is room.
        assert!(is_saved(&run("save", &path, 2, SIZE)));
        assert_eq!(load(&path, "after a full disk"), 2);
        4
    })
}

/// S8, by the limit of a process; a write is short before it fails.
pub(crate) fn file_size() -> Ran {
    if !has("sh") {
        return Ran::Skipped("there is no sh".into());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sav");
    save(&path, 1);
    let mut faults = 0;
    for blocks in [1, 20, 100, 150] {
        // The signal would kill it, which is another row.
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &limited, "sh"]).args(arguments("save", &path, 2, SIZE));
        let output = shell.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!is_saved(&output) && told.contains("File too large"), "{blocks}: {told}");
        assert_eq!(load(&path, "a file that may not grow"), 1);
        assert_no_strays(&path, "a file that may not grow");
        faults += 1;
    }
    Ran::Faults(faults)
}

/// S10.
pub(crate) fn read_only() -> Ran {
    mounted("size=8m", |folder| {
        let path = folder.join("game.sav");
        save(&path, 1);
        let remount = |mode: &str| {
            let options = format!("remount,{mode}");
            let status = Command::new("mount").args(["-o", &options]).arg(folder).status();
            assert!(status.unwrap().success());
        };
        remount("ro");
        let output = run("save", &path, 2, SIZE);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!is_saved(&output) && told.contains("Read-only"), "{told}");
        assert_eq!(load(&path, "a read-only disk"), 1);
        remount("rw");
        // A damaged save cannot be moved there, and is recovered all the same.
        save(&path, 2);
        fs::write(&path, "").unwrap();
        remount("ro");
        assert_eq!(load(&path, "a damaged save on a read-only disk"), 1);
        assert!(fs::read(&path).unwrap().is_empty());
        remount("rw");
        2
    })
}

/// S13, of a program that would rather not save than wait.
pub(crate) fn in_use() -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sav");
    save(&path, 1);
    let lock = Files.lock(&folder.path().join(".game.sav.lock")).unwrap();
    assert!(lock.is_some());
    let output = run("hasty", &path, 2, SIZE);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!is_saved(&output) && told.contains("game.sav is in use"), "{told}");
    assert_eq!(load(&path, "in use"), 1);
    // It is as free as it was as soon as the other is done.
    drop(lock);
    assert!(is_saved(&run("hasty", &path, 2, SIZE)));
    assert_eq!(load(&path, "free again"), 2);
    assert_no_strays(&path, "a program that did not wait");
    Ran::Faults(1)
}

/// S13.
pub(crate) fn two_programs() -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sav");
    save(&path, 1);
    let mut children = Vec::new();
    for level in 2..10 {
        let command = arguments("save", &path, level, SIZE);
        let mut child = Command::new(&command[0]);
        children.push(child.args(&command[1..]).stdout(Stdio::piped()).spawn().unwrap());
    }
    // Who reads meanwhile sees a whole save.
    for _ in 0..20 {
        load(&path, "several programs");
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(is_saved(&output), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert!(load(&path, "several programs") > 1);
    assert_no_strays(&path, "several programs");
    Ran::Faults(8)
}
