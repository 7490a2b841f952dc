//! Saving onto a pipe or a device put a file in its place.

use std::os::unix::fs::FileTypeExt;
use std::process::Command;

use persist::ErrorKind;

#[test]
fn a_pipe_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo is part of every unix");
    let error = persist::save(&pipe, &1_u8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().ends_with("it is not a file"), "{error}");
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
}
