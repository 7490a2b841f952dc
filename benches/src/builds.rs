//! The cost of building programs, measured by `build-cost/build_cost.py`.

use std::path::Path;
use std::process::Command;

use crate::memory::absorb;
use crate::run::Run;

/// Runs the script: all of its crates, or one that is quickly built.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("build-cost/build_cost.py");
    let mut command = Command::new("python3");
    command.arg(script).arg("--csv");
    if run.is_quick() {
        command.args(["--shape", "depth 4", "--rounds", "1"]);
        command.args(["--with", "persist", "--with", "serde + bincode", "--mode", "check"]);
    } else {
        // Of bitcode the release build of 200 structs takes longer.
        command.args(["--rounds", "1", "--timeout", "200"]);
    }
    run.one_round();
    absorb(run, command)
}
