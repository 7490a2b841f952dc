//! Power cuts: a file system of its own in a loop device is shut down between two system calls.

use std::fs;
use std::path::Path;
use std::process::Command;

use persist_tests::support::is_long;

use super::Ran;
use super::process::{
    Mount, SIZE, arguments, assert_no_strays, has, is_saved, is_superuser, load, save,
};
use super::trace::count;

/// Has the file system forget what is not on the disk (2), or write its journal before that (1).
const SHUTDOWN: &str = "
import fcntl, os, struct, sys
folder = os.open(sys.argv[1], os.O_RDONLY)
fcntl.ioctl(folder, 0x8004587d, struct.pack('I', int(sys.argv[2])))
";

/// What changes something on a disk.
const CALLS: [&str; 6] = ["openat", "write", "fsync", "linkat", "rename", "unlink"];

fn run(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// S2 and S6.
pub(crate) fn cuts() -> Ran {
    for program in ["strace", "python3", "mkfs.ext4", "mount"] {
        if !has(program) {
            return Ran::Skipped(format!("there is no {program}"));
        }
    }
    if !is_superuser() {
        return Ran::Skipped("only the superuser mounts".into());
    }
    let folder = tempfile::tempdir().unwrap();
    let (image, point) = (folder.path().join("disk"), folder.path().join("mount"));
    fs::File::create(&image).unwrap().set_len(8 << 20).unwrap();
    let image = image.to_str().unwrap();
    if !run("mkfs.ext4", &["-q", "-F", image]) {
        return Ran::Skipped("no file system can be made".into());
    }
    let mut cuts = 0;
    let mut found = [0; 2];
    for call in CALLS {
        // One more, so that it comes to its end.
        for number in 1..=count("save", call, &|path| save(path, 1)) + 1 {
            let flags = ["1", "2"];
            let one = &flags[number % 2..][..1];
            for flag in if is_long() { &flags[..] } else { one } {
                let Some(mount) = Mount::new(&point, &["-o", "loop", image]) else {
                    assert_eq!(cuts, 0, "it could be mounted before");
                    return Ran::Skipped("no loop device can be mounted here".into());
                };
                let path = mount.folder.join("game.sav");
                save(&path, 1);
                let is_over = !cut(call, number, &path);
                assert!(run("python3", &["-c", SHUTDOWN, point.to_str().unwrap(), flag]));
                drop(mount);
                let _mount = Mount::new(&point, &["-o", "loop", image]).unwrap();
                let what = format!("a cut at {call} {number}, flag {flag}");
                let level = load(&path, &what);
                assert!(level == 2 || level == 1 && !is_over, "{what}: level {level}");
                assert_no_strays(&path, &what);
                found[level as usize - 1] += 1;
                cuts += 1;
                // The next begins without backups.
                fs::read_dir(&point).unwrap().flatten().for_each(|entry| {
                    let _ = fs::remove_file(entry.path());
                });
            }
        }
    }
    assert!(found[0] > 5 && found[1] > 0, "{found:?}");
    Ran::Faults(cuts)
}

/// Saves level 2 and is killed at a call; false if it came to its end.
fn cut(call: &str, number: usize, path: &Path) -> bool {
    let inject = format!("inject={call}:signal=KILL:when={number}");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject]);
    let output = strace.args(arguments("save", path, 2, SIZE)).output().unwrap();
    !is_saved(&output)
}
