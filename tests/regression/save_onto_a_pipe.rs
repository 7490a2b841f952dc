//! Saving onto a pipe or a device put a file in its place, and a list of slots waited for somebody to write into it.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::Command;

use persist::{ErrorKind, Saves};

fn make_pipe(pipe: &Path) {
    let made = Command::new("mkfifo").arg(pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo is part of every unix");
}

#[test]
fn what_is_no_file_is_no_slot() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_pipe(&folder.join("pipe.sav"));
    std::fs::create_dir(folder.join("folder.sav")).unwrap();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
    link("pipe.sav", "pipe behind a link.sav");
    link("folder.sav", "folder behind a link.sav");
    link("nothing", "nothing behind a link.sav");
    persist::save(folder.join("folder.sav/game"), &1_u8).unwrap();
    link("folder.sav/game", "save behind a link.sav");
    let slots = Saves::new().slots(folder).list().unwrap();
    let names: Vec<_> = slots.iter().map(|slot| &*slot.name).collect();
    assert_eq!(names, ["save behind a link"]);
}

#[test]
fn a_pipe_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    make_pipe(&pipe);
    let error = persist::save(&pipe, &1_u8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().ends_with("not a file; move it away"), "{error}");
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
}
