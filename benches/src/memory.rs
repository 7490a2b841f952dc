//! Memory, which another program counts, since counting would slow down the measured code.

use std::process::{Command, Stdio};

use crate::run::Run;

/// Runs `probe memory`.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["run", "--release", "--quiet", "--bin", "probe", "--", "memory"]);
    command.arg(run.folder());
    run.one_round();
    absorb(run, command)
}

/// Takes the figures that a program prints.
pub(crate) fn absorb(run: &mut Run, mut command: Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed: {}", output.status));
    }
    run.absorb(&String::from_utf8_lossy(&output.stdout))
}
