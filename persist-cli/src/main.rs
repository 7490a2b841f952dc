//! The command `persist` inspects, changes, compares, checks and repairs saves of any program.
//!
//! `args` has the command line, and `commands` has a file for each command. `input` reads their files, `output` prints,
//! and `exit` has their results.

mod args;
mod commands;
mod compare;
mod completion;
mod components;
mod condition;
mod exit;
mod found;
mod indented;
mod input;
mod json_schema;
mod kinds;
mod mapped;
mod merge;
mod misfit;
mod objects;
mod output;
mod paged;
mod path;
mod pattern;
mod report;
mod rust;
mod shown;
mod slot_info;
mod streamed;
mod tables;
mod values;
mod world;

use std::process::ExitCode;

use args::Args;
use exit::{Failure, Outcome};
use output::Out;

/// Bytes of stack. Dropping a value or serializing it takes some for each of its levels.
const STACK: usize = 64 << 20;

fn main() -> ExitCode {
    if let Some(done) = completion::run() {
        return done;
    }
    let args = args::read();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(|| run(args));
    // A thread that panicked has said why.
    thread.map_or(Failure::exit_code(), |thread| thread.join().unwrap_or(Failure::exit_code()))
}

fn run(args: Args) -> ExitCode {
    let mut out = Out::of_stdout(args.color, args.json);
    let result = commands::run(args.command, &mut out).and_then(|outcome| {
        out.finish()?;
        Ok(outcome)
    });
    match result {
        Ok(outcome) => outcome.into(),
        // The reader of the output, such as `head`, has closed it.
        Err(failure) if failure.is_closed_pipe() => Outcome::Done.into(),
        Err(failure) => {
            // Output from before the failure is printed.
            drop(out.finish());
            let failure = out.explain(failure);
            output::print_failure(args.color, &failure);
            Failure::exit_code()
        }
    }
}
