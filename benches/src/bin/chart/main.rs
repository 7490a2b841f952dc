//! Draws the picture of speed from the figures that the benchmarks wrote.
#![forbid(unsafe_code)]

mod draw;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (figures, picture) = (folder.join("figures.csv"), folder.join("../docs/images/speed.svg"));
    let drawn = fs::read_to_string(&figures)
        .map_err(|error| format!("{} cannot be read: {error}", figures.display()))
        .and_then(|figures| draw::draw(&figures))
        .and_then(|svg| {
            fs::write(&picture, svg)
                .map_err(|error| format!("{} cannot be written: {error}", picture.display()))
        });
    if let Err(reason) = drawn {
        eprintln!("{reason}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
