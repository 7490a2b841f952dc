//! `persist info`.

use std::path::PathBuf;

use crate::exit::{Failure, Outcome, Result};
use crate::output::Out;

/// Show what saves say of themselves, and what is beside them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
}

pub(crate) fn run(args: &Args, _out: &mut Out) -> Result<Outcome> {
    Err(Failure::new(format!("`info` cannot read {} yet", args.file.display())))
}
