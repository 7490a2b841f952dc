//! `persist verify`.

use std::path::PathBuf;

use crate::exit::{Failure, Outcome, Result};
use crate::output::Out;

/// Check every checksum, reference and rule of the format.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
}

pub(crate) fn run(args: &Args, _out: &mut Out) -> Result<Outcome> {
    Err(Failure::new(format!("`verify` cannot read {} yet", args.file.display())))
}
