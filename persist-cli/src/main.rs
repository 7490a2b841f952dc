//! The command `persist`: looks into saves of any program, changes, compares, checks and repairs them.
//!
//! `args` has the command line, `commands` a file for each command, `input` reads what they work on, `output` is where
//! they print, `exit` has their results.

mod args;
mod commands;
mod exit;
mod input;
mod objects;
mod output;
mod report;

use std::process::ExitCode;

use clap::Parser;

use args::Args;
use exit::{Failure, Outcome};
use output::Out;

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = Out::of_stdout(args.color, args.json);
    let result = commands::run(args.command, &mut out).and_then(|outcome| {
        out.finish()?;
        Ok(outcome)
    });
    match result {
        Ok(outcome) => outcome.into(),
        // Whoever read has seen enough.
        Err(failure) if failure.is_closed_pipe() => Outcome::Done.into(),
        Err(failure) => {
            // What was printed before it stays printed.
            drop(out.finish());
            output::print_failure(args.color, &failure);
            Failure::exit_code()
        }
    }
}
