//! The picture of speed shows the figures that were measured.

#![allow(clippy::unwrap_used, reason = "the helper is part of the tests")]

use std::fs;
use std::path::Path;

// It has no dependencies, unlike the rest of the benches.
#[path = "../../benches/src/bin/chart/draw/mod.rs"]
mod draw;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn the_picture_is_drawn_from_the_figures_beside_it() {
    let drawn = draw::draw(&read("benches/figures.csv")).unwrap();
    assert!(
        drawn == read("docs/images/speed.svg"),
        "docs/images/speed.svg does not show benches/figures.csv: run `cargo run --release --bin chart` in benches"
    );
}

#[test]
fn a_figure_that_was_not_measured_is_named() {
    let figures = read("benches/figures.csv");
    let line = figures
        .lines()
        .find(|line| line.starts_with("\"world, load and drop, ms\",\"persist\""))
        .unwrap();
    let missing = draw::draw(&figures.replace(&format!("{line}\n"), "")).unwrap_err();
    assert_eq!(missing, "\"world, load and drop, ms\" has no \"persist\" of 1000000");
}
