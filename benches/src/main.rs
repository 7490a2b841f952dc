//! Measures `persist` and its rivals, and writes the tables of the pages and the picture.

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
mod growth;
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

/// The name of a section, the number of processes that measure it, and the function that measures.
type Section = (&'static str, usize, fn(&mut Run) -> Result<(), String>);

/// The pages whose tables are made from the figures.
const PAGES: [&str; 2] = ["../docs/internals/performance.md", "../docs/internals/experiments.md"];

/// Where code and data lie in memory moves a row by up to 10 % from process to process. So the section whose
/// goals are a few per cent away is measured in three, and a figure is their median.
const SECTIONS: [Section; 14] = [
    ("values", 3, values::run),
    ("blocks", 1, blocks::run),
    ("files", 1, files::run),
    ("parts", 1, parts::run),
    ("first", 1, first::run),
    ("older", 1, older::run),
    ("graph", 1, graph_times::run),
    ("memory", 1, memory::run),
    ("stall", 1, stall::run),
    ("world", 1, world::run),
    ("history", 1, history::run),
    ("journal", 1, journal::run),
    ("growth", 1, growth::run),
    ("builds", 1, builds::run),
];

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(reason) => {
            let sections = SECTIONS.map(|(name, ..)| name).join(", ");
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

/// Measures each section, and writes its figures at once.
fn work(options: &Options) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stored = folder.join("figures.csv");
    let mut figures = Figures::parse(&read(&stored)?)?;
    for name in &options.sections {
        let is_known = SECTIONS.iter().any(|(section, ..)| section == name);
        is_known.then_some(()).ok_or(format!("there is no section {name}"))?;
    }
    let is_selected =
        |name| options.sections.is_empty() || options.sections.iter().any(|it| it == name);
    harness::steady_heap().map_err(|error| format!("the program cannot begin again: {error}"))?;
    for (name, processes, measure) in SECTIONS {
        if options.only_page || !is_selected(name) {
            continue;
        }
        let start = Instant::now();
        // A folder of its own, since its contents are removed.
        let folder = options.folder.join("persist-benches");
        let mut run = Run::new(name, options.is_quick, folder);
        if options.prints || options.is_quick || processes == 1 {
            measure(&mut run)?;
        } else {
            run.measure_in_processes(processes)?;
        }
        let (rounds, measured) = run.finish();
        if options.prints {
            println!("# {rounds}\n{measured}");
            continue;
        }
        let rounds = match (options.is_quick, processes) {
            (true, _) => format!("{rounds}, quick"),
            (false, 1) => rounds.to_string(),
            (false, _) => format!("{processes} x {rounds}"),
        };
        let condition = [name, &conditions::date(), &rounds, &conditions::machine()].join(" | ");
        figures.replace("rivals", format!("rivals | {}", conditions::rivals()), Figures::default());
        figures.replace(name, condition, measured);
        write(&stored, &figures.to_string())?;
        println!("{name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    if options.prints {
        return Ok(());
    }
    // As they are stored, to the last digit.
    let figures = Figures::parse(&figures.to_string())?;
    for page in PAGES {
        let page = folder.join(page);
        write(&page, &report::fill(&read(&page)?, &figures)?)?;
    }
    write(&folder.join("../docs/images/speed.svg"), &report::draw(&figures))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}
