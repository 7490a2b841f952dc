//! `persist dump`.

use std::io::Write;
use std::path::PathBuf;

use crate::exit::{Outcome, Result};
use crate::input::Input;
use crate::output::Out;

/// Show values as text that parses back.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let save = Input::read(&args.file)?.document()?;
    write!(out, "{save}")?;
    Ok(Outcome::Done)
}
