//! The writer of disarranged saves: what it does to bytes.

use persist::Persist;
use persist_tests::support::disarranged::{Change, disarrange};
use persist_tools::Document;

#[derive(Persist)]
struct Hero {
    level: u32,
    flag: bool,
    health: i16,
    speed: f64,
}

fn save() -> Vec<u8> {
    persist::to_vec(&Hero { level: 300, flag: true, health: -5, speed: 2.0 }).unwrap()
}

#[test]
fn fields_and_values_are_those_of_the_original() {
    let shown: Vec<String> = Change::ALL
        .iter()
        .map(|change| {
            let made = disarrange(&save(), *change, 5);
            let document = Document::from_slice(&made.save).unwrap();
            format!("{change:?}, {} moved, {:?}\n{document}", made.moved, made.converted)
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn each_seed_makes_another_save_and_one_seed_the_same() {
    for change in Change::ALL {
        let made = |seed| disarrange(&save(), change, seed).save;
        assert_eq!(made(1), made(1));
        let mut all: Vec<_> = (0..40).map(made).collect();
        all.sort();
        all.dedup();
        // Four fields stand in 23 other orders.
        assert!(all.len() > 15, "{change:?}: {}", all.len());
        assert!(!all.contains(&save()));
    }
}

#[test]
fn the_reader_of_the_format_takes_what_it_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.sav");
    let reader = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/reader.py");
    for change in Change::ALL {
        std::fs::write(&path, disarrange(&save(), change, 3).save).unwrap();
        let mut python = std::process::Command::new("python3");
        match python.args([reader, "--check"]).arg(&path).output() {
            Ok(output) => assert!(output.status.success(), "{output:?}"),
            Err(error) => return eprintln!("no python3: {error}"),
        }
    }
}
