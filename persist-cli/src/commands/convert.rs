//! `persist convert`.

use std::path::PathBuf;

use crate::exit::{Failure, Outcome, Result};
use crate::output::Out;

/// Compress or decompress a save, or turn it into JSON and back.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
}

pub(crate) fn run(args: &Args, _out: &mut Out) -> Result<Outcome> {
    Err(Failure::new(format!("`convert` cannot read {} yet", args.file.display())))
}
