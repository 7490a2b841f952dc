//! What the compiler says of types that cannot be saved, in the user's terms.
//!
//! The expected output is that of the stable compiler; the derive's own errors have snapshots in `persist-derive`.
//! Each program of `ui` is compiled against the library that was built for the tests: a project of its own,
//! as trybuild makes one, would build it once more.

#![allow(clippy::unwrap_used, reason = "it is a test")]

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;

/// The builds of a library beside this program, each as an argument of rustc; the newest first.
fn builds(name: &str, deps: &Path) -> Vec<OsString> {
    let files = std::fs::read_dir(deps).unwrap().map(|entry| entry.unwrap());
    let start = format!("lib{name}-");
    let is_library = |name: &str| name.starts_with(&start) && name.ends_with(".rlib");
    let builds = files.filter(|file| is_library(&file.file_name().to_string_lossy()));
    let mut builds: Vec<_> = builds.collect();
    builds.sort_by_key(|file| std::cmp::Reverse(file.metadata().unwrap().modified().unwrap()));
    let argument = |path: &Path| {
        let mut argument = OsString::from(format!("{name}="));
        argument.push(path);
        argument
    };
    builds.iter().map(|file| argument(&file.path())).collect()
}

/// The newest build of the library, and the build of `bytemuck` that it was built with: features of others can make
/// another one.
fn libraries(deps: &Path) -> [OsString; 2] {
    let persist = builds("persist", deps).remove(0);
    let fits = |bytemuck: &OsString| {
        let libraries = [persist.clone(), bytemuck.clone()];
        rustc("derive/fits.rs", deps, &libraries).status.success()
    };
    let bytemuck = builds("bytemuck", deps).into_iter().find(fits);
    [persist.clone(), bytemuck.expect("the library was built for this test")]
}

fn rustc(program: &str, deps: &Path, libraries: &[OsString]) -> Output {
    Command::new("rustc")
        .args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "--color=never"])
        .args(["--out-dir", env!("CARGO_TARGET_TMPDIR")])
        .args(libraries.iter().flat_map(|library| [OsStr::new("--extern"), library]))
        .arg("-L")
        .arg(format!("dependency={}", deps.display()))
        .arg(program)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

/// What the compiler says, without what depends on the machine.
fn compiled(program: &str, deps: &Path, libraries: &[OsString]) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = rustc(&format!("derive/ui/{program}"), deps, libraries);
    assert!(!output.status.success(), "{program} compiles");
    let said = String::from_utf8(output.stderr).unwrap();
    let repository = package.parent().unwrap().display().to_string();
    let said = said.replace(&format!("{repository}/"), "");
    let lines = without_implementors(said.lines());
    lines.filter(|line| !line.contains("aborting due to")).map(settled).collect()
}

/// The lines without those that list types which are `Persist`: the features that others turn on add to them.
fn without_implementors<'l>(lines: impl Iterator<Item = &'l str>) -> impl Iterator<Item = &'l str> {
    let mut is_list = false;
    lines.filter(move |line| {
        let inner = line.trim_start();
        if inner.contains("help: the following other types implement trait")
            || inner.starts_with("= help: the following type")
            || inner.starts_with("help: the trait `Persist` is implemented for")
        {
            is_list = true;
        } else if inner.starts_with("help: ")
            || inner.starts_with("note: ")
            || inner.starts_with("= ") && !inner.starts_with("= note: `")
            || inner.starts_with("error")
            || inner.is_empty()
        {
            is_list = false;
        }
        // Where there is a list, the error has a shorter story of its macros.
        let is_of_names = inner.contains("full name for the type has been written")
            || inner.contains("to print the full type name");
        let is_of_macros = inner.starts_with("= note: this error originates in");
        // The name of this macro says what to write.
        let says_what_to_do = inner.contains("::a_string_is_the_path_");
        !is_list && !is_of_names && (!is_of_macros || says_what_to_do)
    })
}

/// The line with its newline, the same wherever the code of the library is in its file: without its place there, and
/// without the margin, which is as wide as the longest number.
fn settled(line: &str) -> String {
    let inner = line.trim_start();
    match inner.split_once(".rs:") {
        Some((file, _))
            if inner.trim_start_matches(['-', '>', ':', ' ']).starts_with("persist/") =>
        {
            format!(" {file}.rs\n")
        }
        _ if inner.starts_with(['-', '|', '=', ':']) => format!(" {inner}\n"),
        _ => format!("{line}\n"),
    }
}

#[test]
fn refusals_say_what_to_do() {
    let program = std::env::current_exe().unwrap();
    let deps = program.parent().unwrap();
    let libraries = libraries(deps);
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("derive/ui");
    let names = std::fs::read_dir(ui).unwrap().map(|entry| entry.unwrap().file_name());
    let mut programs: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    programs.sort();
    let said = Mutex::new(Vec::new());
    let waiting = Mutex::new(programs.clone());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(program) = waiting.lock().unwrap().pop() else { break };
                    let found = compiled(&program, deps, &libraries);
                    said.lock().unwrap().push((program, found));
                }
            });
        }
    });
    let mut said = said.into_inner().unwrap();
    said.sort();
    assert_eq!(said.len(), programs.len());
    for (program, said) in said {
        insta::assert_snapshot!(program.trim_end_matches(".rs"), said);
    }
}
