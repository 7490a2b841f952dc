//! Compares `persist` with other codecs on the data sets of its example, and
//! with what carries graphs on graphs.
#![forbid(unsafe_code)]

// Formatted where it lives.
#[rustfmt::skip]
#[path = "../../persist/examples/savedata/data/mod.rs"]
mod data;

mod added;
mod codecs;
mod conditions;
mod first;
mod graph;
mod graph_times;
mod harness;
mod older;
mod options;
mod savedata;

use std::process::ExitCode;

use options::Options;
use savedata::{Row, Rows};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(reason) => {
            eprintln!("{reason}\n{}", options::USAGE);
            return ExitCode::FAILURE;
        }
    };
    let rounds = options.rounds.unwrap_or(31);
    harness::steady_heap();
    let results: Vec<(&str, Rows)> = options
        .sets
        .iter()
        .filter_map(|&set| {
            let rows = match set {
                "log" => savedata::run(&data::log::generate(), rounds),
                "mesh" => savedata::run(&data::mesh::generate(), rounds),
                "minecraft_savedata" => savedata::run(&data::minecraft::generate(), rounds),
                "mk48" => savedata::run(&data::mk48::generate(), rounds),
                // It has tables of its own.
                _ => return None,
            };
            Some((set, rows))
        })
        .collect();
    if options.csv {
        conditions::lines().iter().for_each(|line| println!("# {line}"));
        println!("table,row,set,figure,ratio");
    }
    if !results.is_empty() {
        table(&options, "encode, us", &results, |rows| &rows.encode);
        table(&options, "decode and drop, us", &results, |rows| &rows.decode);
        table(&options, "size, bytes", &results, |rows| &rows.size);
    }
    if options.sets.contains(&"added") {
        let rows = added::run(&data::minecraft::generate(), rounds);
        let title = "load a save from before a field was added, us";
        table(&options, title, &[("minecraft_savedata", rows)], |rows| rows);
    }
    if options.sets.contains(&"older") {
        older(&older::run(&data::minecraft::generate(), rounds), options.csv);
    }
    if options.sets.contains(&"first") {
        first(&first::run(options.rounds.unwrap_or(11)), options.csv);
    }
    if options.sets.contains(&"graph") {
        graph_times::run(options.rounds.unwrap_or(11), options.csv);
    }
    ExitCode::SUCCESS
}

fn table<R>(options: &Options, title: &str, results: &[(&str, R)], rows: fn(&R) -> &[Row]) {
    let print = if options.csv { csv } else { markdown };
    print(title, results, rows);
}

fn first(rows: &[first::Row], csv: bool) {
    if !csv {
        println!("| save, ms | bytes | first | second | ratio |");
        println!("|---|---|---|---|---|");
    }
    for first::Row { name, size, first, second } in rows {
        let ratio = first / second;
        if csv {
            println!("\"first save, ms\",\"{name}\",{size},{first:.3},{ratio:.4}");
        } else {
            println!("| {name} | {size} | {first:.1} | {second:.1} | {ratio:.2} |");
        }
    }
}

fn older(rows: &[older::Row], csv: bool) {
    if !csv {
        println!(
            "| load of an older save of minecraft_savedata, us | its own schema | older | ratio |"
        );
        println!("|---|---|---|---|");
    }
    for older::Row { name, own, older } in rows {
        let ratio = older / own;
        if csv {
            println!(
                "\"load of an older save, us\",\"{name}\",minecraft_savedata,{older:.3},{ratio:.4}"
            );
        } else {
            println!("| {name} | {own:.0} | {older:.0} | {ratio:.2} |");
        }
    }
    if !csv {
        println!();
    }
}

fn csv<R>(title: &str, results: &[(&str, R)], table: fn(&R) -> &[Row]) {
    for (set, rows) in results {
        for Row { name, figure, ratio } in table(rows) {
            println!("\"{title}\",\"{name}\",{set},{figure:.3},{ratio:.4}");
        }
    }
}

fn markdown<R>(title: &str, results: &[(&str, R)], table: fn(&R) -> &[Row]) {
    let columns: Vec<&[Row]> = results.iter().map(|(_, rows)| table(rows)).collect();
    print!("| {title} (x best rival) |");
    results.iter().for_each(|(set, _)| print!(" {set} |"));
    println!("\n|---|{}", "---|".repeat(columns.len()));
    for (line, row) in columns.first().into_iter().flat_map(|rows| rows.iter().enumerate()) {
        print!("| {} |", row.name);
        for column in &columns {
            let Row { figure, ratio, .. } = &column[line];
            print!(" {figure:.0} ({ratio:.2}) |");
        }
        println!();
    }
    println!();
}
