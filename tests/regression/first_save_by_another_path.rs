//! The path of a file that was not there yet was another one than after its first save: a second save in
//! the background was not waited for, and one by a relative path went to where the current folder was by then.

use std::path::Path;

use persist::storage::{Files, Storage};

#[test]
fn a_relative_path_is_made_absolute_before_the_file_is_there() {
    let resolved = Files.resolve(Path::new("not_there_yet.sav")).unwrap();
    assert!(resolved.is_absolute(), "{}", resolved.display());
}

#[cfg(unix)]
#[test]
fn a_path_leads_to_the_same_before_a_first_save_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::create_dir(folder.join("real")).unwrap();
    std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
    let paths = ["real/a.sav", "link/a.sav", "real/../link/./a.sav"].map(|path| folder.join(path));
    let check = |when: &str| {
        for path in &paths {
            let resolved = Files.resolve(path).unwrap();
            assert_eq!(resolved, folder.join("real/a.sav"), "{} {when}", path.display());
        }
    };
    check("before");
    persist::save(&paths[1], &7_u8).unwrap();
    check("after");
}
