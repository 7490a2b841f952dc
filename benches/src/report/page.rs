//! The pages: their prose is written by hand, and the tables between the marks come from the figures.

use super::figures::Figures;
use super::{goals, tables, wrapped};

const START: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->";

/// Returns the page with its tables rebuilt from the figures, or an error that names a table that does not exist.
pub(crate) fn fill(page: &str, figures: &Figures) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), page);
    while let Some((before, after)) = rest.split_once(START) {
        let (name, after) = after.split_once(" -->\n").ok_or("a mark has no end")?;
        let (_, after) = after.split_once(END).ok_or(format!("no end of {name}"))?;
        let table = match name {
            "conditions" => conditions(figures),
            _ => match goals::render(name, figures) {
                Some(table) => table,
                None => tables::render(name, figures)?,
            },
        };
        filled += &format!("{before}{START}{name} -->\n\n{}\n\n{END}", table.trim());
        rest = after;
    }
    Ok(filled + rest)
}

fn paragraph(text: &str) -> String {
    let lines = wrapped(text, 120);
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    format!("{}\n\n", lines.join("\n"))
}

/// When, where and by what each section was measured, and how far the rivals' rounds lay apart.
fn conditions(figures: &Figures) -> String {
    let mut lines = String::new();
    let mut machines: Vec<&str> = Vec::new();
    for line in figures.conditions() {
        match line[..] {
            ["rivals", versions] => lines += &paragraph(&format!("Rivals: {versions}.")),
            [_, _, _, machine] if !machines.contains(&machine) => machines.push(machine),
            _ => {}
        }
    }
    for (letter, machine) in ('A'..).zip(&machines) {
        lines += &paragraph(&format!("Machine {letter}: {machine}."));
    }
    lines += "| section | date | rounds | machine | spread of the rivals: median | most |\n";
    lines += "|---|---|---|---|---|---|\n";
    for line in figures.conditions() {
        let [section, date, rounds, machine] = line[..] else { continue };
        let spreads = figures.spreads(section);
        let percent =
            |at: usize| spreads.get(at).map_or("-".into(), |it| format!("{:.0} %", it * 100.0));
        let letter = ('A'..).zip(&machines).find(|(_, it)| **it == machine).map_or('A', |it| it.0);
        let (median, most) = (percent(spreads.len() / 2), percent(spreads.len().wrapping_sub(1)));
        lines += &format!("| {section} | {date} | {rounds} | {letter} | {median} | {most} |\n");
    }
    lines
}
