//! Measures `persist` and its rivals, and writes what a reader sees of it: the tables of the page, and the picture.

// Formatted where it lives.
#[rustfmt::skip]
#[path = "../../persist/examples/savedata/data/mod.rs"]
mod data;

mod added;
mod blocks;
mod builds;
mod codecs;
mod conditions;
mod files;
mod first;
mod graph;
mod graph_times;
mod harness;
mod history;
mod journal;
mod memory;
mod older;
mod options;
mod parts;
mod report;
mod run;
mod sets;
mod stall;
mod values;
mod world;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use options::{Options, USAGE};
use report::Figures;
use run::Run;

type Section = (&'static str, fn(&mut Run) -> Result<(), String>);

const SECTIONS: [Section; 13] = [
    ("values", values::run),
    ("blocks", blocks::run),
    ("files", files::run),
    ("parts", parts::run),
    ("first", first::run),
    ("older", older::run),
    ("graph", graph_times::run),
    ("memory", memory::run),
    ("stall", stall::run),
    ("world", world::run),
    ("history", history::run),
    ("journal", journal::run),
    ("builds", builds::run),
];

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(reason) => {
            let sections = SECTIONS.map(|(name, _)| name).join(", ");
            eprintln!("{reason}\n{USAGE}\nsections: {sections}");
            return ExitCode::FAILURE;
        }
    };
    match work(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Measures each section, and writes what was measured as soon as it is.
fn work(options: &Options) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stored = folder.join("figures.csv");
    let mut figures = Figures::parse(&read(&stored)?)?;
    for name in &options.sections {
        let is_known = SECTIONS.iter().any(|(section, _)| section == name);
        is_known.then_some(()).ok_or(format!("there is no section {name}"))?;
    }
    let is_wanted =
        |name| options.sections.is_empty() || options.sections.iter().any(|it| it == name);
    harness::steady_heap().map_err(|error| format!("the program cannot begin again: {error}"))?;
    for (name, measure) in SECTIONS {
        if options.only_page || !is_wanted(name) {
            continue;
        }
        let start = Instant::now();
        // Its own, since what is there is removed.
        let folder = options.folder.join("persist-benches");
        let mut run = Run::new(name, options.is_quick, folder);
        measure(&mut run)?;
        let (rounds, measured) = run.finish();
        let rounds = if options.is_quick { format!("{rounds}, quick") } else { rounds.to_string() };
        let condition = [name, &conditions::date(), &rounds, &conditions::machine()].join(" | ");
        figures.replace("rivals", format!("rivals | {}", conditions::rivals()), Figures::default());
        figures.replace(name, condition, measured);
        write(&stored, &figures.to_string())?;
        println!("{name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    let page = folder.join("../docs/internals/performance.md");
    write(&page, &report::fill(&read(&page)?, &figures)?)?;
    write(&folder.join("../docs/images/speed.svg"), &report::draw(&figures))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}
