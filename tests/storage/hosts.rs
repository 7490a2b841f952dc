//! What every host does alike.

use std::path::Path;

use persist::storage::{Files, Memory};
use persist_tests::support::disk::{Disk, Image};
use persist_tests::support::host;

#[test]
fn the_disk_does_what_a_program_asks_of_a_host() {
    let folder = tempfile::tempdir().unwrap();
    host::check(&Files, folder.path());
}

#[test]
fn memory_does_what_a_program_asks_of_a_host() {
    host::check(&Memory::default(), Path::new("saves"));
}

#[test]
fn the_disk_that_fails_does_what_a_program_asks_of_a_host_while_it_does_not_fail() {
    host::check(&Disk::new(Image::new()), Path::new(""));
}
