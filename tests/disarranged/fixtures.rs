//! All saves in `fixtures`.

#[path = "../evolution_game/mod.rs"]
#[expect(dead_code, reason = "shared with the tests that compare states")]
mod game;
#[path = "../fixture_types.rs"]
#[expect(dead_code, reason = "shared with the golden tests, which make them")]
mod types;

use std::path::{Path, PathBuf};

use game::{Version, v1, v2, v3, v4, v5};
use persist_tests::disarranged::{Tally, check, check_objects, check_value};
use types::{Values, manager};

fn read(path: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    std::fs::read(folder.join(path)).expect("a fixture")
}

#[test]
fn the_fixtures_come_back() {
    for seed in 0..8 {
        for name in ["players", "graph", "pointers"] {
            let tally = check_objects(&read(&format!("v1/{name}.sav")), seed, || manager(name, false));
            println!("{name} {tally:?}");
        }
        let tally = check_value::<Values>(&read("v1/values.sav"), seed);
        println!("{tally:?}");
    }
}
