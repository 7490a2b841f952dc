//! Saves and loads the four data sets that other serialization crates are
//! measured with, and says how large the files are and how long it took.
//!
//! ```text
//! cargo run --release --example savedata
//! cargo run --release --example savedata --features lz4,zstd
//! ```
//!
//! The second does it with compression, too.

#![expect(
    clippy::disallowed_methods,
    reason = "an example runs where there are clocks and threads"
)]
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

mod data;
mod packed;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use persist::Persist;

/// The measurements of one data set.
struct Row {
    name: &'static str,
    generate: Duration,
    save: Duration,
    load: Duration,
    bytes: u64,
}

/// Generate, save, load and compare.
const STEPS: u64 = 4;

fn main() -> ExitCode {
    match run() {
        Ok((rows, packed)) => {
            print(&rows);
            packed::print(&packed);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("savedata: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(Vec<Row>, Vec<packed::Row>), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    // Drawn on stderr, and only if that is a terminal.
    let bar = ProgressBar::new(4 * STEPS)
        .with_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}")?);
    let folder = folder.path();
    let rows = vec![
        measure("log", data::log::generate, folder, &bar)?,
        measure("mesh", data::mesh::generate, folder, &bar)?,
        measure("minecraft", data::minecraft::generate, folder, &bar)?,
        measure("mk48", data::mk48::generate, folder, &bar)?,
    ];
    bar.finish_and_clear();
    let mut packed = packed::measure("log", &data::log::generate())?;
    packed.extend(packed::measure("mesh", &data::mesh::generate())?);
    packed.extend(packed::measure("minecraft", &data::minecraft::generate())?);
    packed.extend(packed::measure("mk48", &data::mk48::generate())?);
    Ok((rows, packed))
}

fn measure<T: Persist + PartialEq>(
    name: &'static str,
    generate: fn() -> T,
    folder: &Path,
    bar: &ProgressBar,
) -> Result<Row, Box<dyn Error>> {
    let path = folder.join(name).with_extension("sav");
    let step = |what: &str| bar.set_message(format!("{what} {name}"));

    step("generating");
    let (original, generate) = timed(generate);
    bar.inc(1);
    step("saving");
    let (saved, save) = timed(|| persist::save(&path, &original));
    saved?;
    bar.inc(1);
    step("loading");
    let (loaded, load) = timed(|| persist::load::<T>(&path));
    let loaded = loaded?;
    bar.inc(1);
    step("comparing");
    if loaded != original {
        return Err(format!("{name} did not come back as it was saved").into());
    }
    bar.inc(1);
    Ok(Row { name, generate, save, load, bytes: std::fs::metadata(&path)?.len() })
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = run();
    (result, start.elapsed())
}

/// Times include the file: written, flushed to disk and renamed; opened and read.
fn print(rows: &[Row]) {
    println!("data set    generate       save       load   file size  save MB/s  load MB/s");
    for Row { name, generate, save, load, bytes } in rows {
        let [generate, save, load] = [generate, save, load].map(Duration::as_secs_f64);
        // Far below 2^32 bytes.
        let size = f64::from(u32::try_from(*bytes).unwrap_or(u32::MAX));
        println!(
            "{name:<10}{:>7.2} ms {:>7.2} ms {:>7.2} ms {bytes:>11} {:>10.0} {:>10.0}",
            generate * 1e3,
            save * 1e3,
            load * 1e3,
            size / save / 1e6,
            size / load / 1e6,
        );
    }
}
