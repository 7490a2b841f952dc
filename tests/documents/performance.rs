//! The pages and the picture of speed show the figures that were measured.

#![allow(clippy::unwrap_used, reason = "the helper is part of the tests")]

use std::fs;
use std::path::Path;

// It has no dependencies, unlike the rest of the benches.
#[allow(dead_code, reason = "the benches also write figures")]
#[path = "../../benches/src/report/mod.rs"]
mod report;

use report::{Figures, draw, fill};

const PAGES: [&str; 2] = ["docs/internals/performance.md", "docs/internals/experiments.md"];

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join(path)).unwrap()
}

fn figures() -> Figures {
    Figures::parse(&read("benches/figures.csv")).unwrap()
}

#[test]
fn the_picture_is_drawn_from_the_figures_in_the_benches() {
    assert!(
        draw(&figures()) == read("docs/images/speed.svg"),
        "docs/images/speed.svg does not show benches/figures.csv: run `cargo run --release -- --page` in benches"
    );
}

#[test]
fn the_tables_of_the_pages_are_made_from_the_figures_in_the_benches() {
    for path in PAGES {
        let page = read(path);
        assert!(
            fill(&page, &figures()).unwrap() == page,
            "{path} does not show benches/figures.csv: run `cargo run --release -- --page` in benches"
        );
    }
}

#[test]
fn figures_are_read_as_they_are_written() {
    assert_eq!(figures().to_string(), read("benches/figures.csv"));
}

#[test]
fn a_section_that_is_measured_again_stays_at_its_place() {
    let text = |date: &str, figure: &str| {
        format!(
            "# values | {date}\n# world | old\ntable,row,set,role,figure,spread\n\
             \"values: encode, us\",\"persist\",\"log\",ours,{figure},\n\
             \"world: size, kB\",\"persist\",\"1000000\",ours,3.0000,\n"
        )
    };
    let mut figures = Figures::parse(&text("old", "1.0000")).unwrap();
    let line = "\"values: encode, us\",\"persist\",\"log\",ours,2.0000,";
    figures.replace("values", "values | new".to_owned(), Figures::parse(line).unwrap());
    assert_eq!(figures.to_string(), text("new", "2.0000"));
}

#[test]
fn a_job_that_was_not_measured_is_left_out_of_the_picture() {
    let lines = read("benches/figures.csv");
    let line = "\"world: load and drop, ms\",\"persist\"";
    let without: String = lines.split_inclusive('\n').filter(|it| !it.starts_with(line)).collect();
    assert!(draw(&figures()).contains("World of objects"));
    assert!(!draw(&Figures::parse(&without).unwrap()).contains("World of objects"));
}

#[test]
fn a_table_that_does_not_exist_is_named() {
    let page = "<!-- figures: speed of light -->\n<!-- end of figures -->\n";
    assert_eq!(fill(page, &figures()).unwrap_err(), "there is no table \"speed of light\"");
    let page = "<!-- figures: encode -->\n";
    assert_eq!(fill(page, &figures()).unwrap_err(), "no end of encode");
}

#[test]
fn a_line_without_a_figure_is_named() {
    let line = "\"values: encode, us\",\"persist\",\"log\",ours,fast,";
    let Err(reason) = Figures::parse(line) else { panic!("it has no figure") };
    assert_eq!(reason, format!("this line has no figure: {line}"));
}
