//! The command line.

use std::path::PathBuf;

pub(crate) const USAGE: &str = "\
usage: persist-benches [--quick] [--only SECTION]... [--folder PATH] [--page]
  --quick         few rounds: whether all works, not how fast it is
  --only SECTION  this section alone; the figures of the others stay
  --folder PATH   where files are written, on the disk to measure; target if not given
  --page          measures nothing: writes the page and the picture from the figures";

pub(crate) struct Options {
    pub(crate) is_quick: bool,
    pub(crate) only_page: bool,
    /// Only the rows of one section, on the standard output: for the program that takes the median of several.
    pub(crate) prints: bool,
    pub(crate) folder: PathBuf,
    /// All if it is empty.
    pub(crate) sections: Vec<String>,
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let folder = PathBuf::from("target");
        let mut options =
            Self { is_quick: false, only_page: false, prints: false, folder, sections: Vec::new() };
        while let Some(argument) = arguments.next() {
            let mut operand = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--quick" => options.is_quick = true,
                "--page" => options.only_page = true,
                "--print" => options.prints = true,
                "--folder" => options.folder = operand()?.into(),
                "--only" => options.sections.push(operand()?),
                _ => return Err(format!("{argument} is not an option")),
            }
        }
        Ok(options)
    }
}
