//! A file for each command: its arguments, and `run`.

mod completions;
mod convert;
mod diff;
mod dump;
mod edit;
pub(crate) mod find;
mod get;
mod graph;
mod info;
pub(crate) mod journal;
mod lock;
mod man;
mod merge;
mod repair;
mod report;
mod schema;
mod set;
mod stats;
mod verify;

use clap::Subcommand;

use crate::exit::{Failure, Outcome, Result};
use crate::output::Out;

#[derive(Subcommand)]
pub(crate) enum Command {
    Info(info::Args),
    Dump(dump::Args),
    Get(get::Args),
    Find(find::Args),
    Set(set::Args),
    Edit(edit::Args),
    Diff(diff::Args),
    Merge(merge::Args),
    Verify(verify::Args),
    Repair(repair::Args),
    Stats(stats::Args),
    Schema(schema::Args),
    Graph(graph::Args),
    Journal(journal::Args),
    Convert(convert::Args),
    Lock(lock::Args),
    Report(report::Args),
    Completions(completions::Args),
    Man(man::Args),
}

pub(crate) fn run(command: Command, out: &mut Out) -> Result<Outcome> {
    if out.is_json() && matches!(command, Command::Completions(_) | Command::Man(_)) {
        return Err(Failure::new("there is no JSON of that; leave `--json` out"));
    }
    match command {
        Command::Info(args) => info::run(&args, out),
        Command::Dump(args) => dump::run(&args, out),
        Command::Get(args) => get::run(&args, out),
        Command::Find(args) => find::run(&args, out),
        Command::Set(args) => set::run(&args, out),
        Command::Edit(args) => edit::run(&args, out),
        Command::Diff(args) => diff::run(&args, out),
        Command::Merge(args) => merge::run(&args, out),
        Command::Verify(args) => verify::run(&args, out),
        Command::Repair(args) => repair::run(&args, out),
        Command::Stats(args) => stats::run(&args, out),
        Command::Schema(args) => schema::run(&args, out),
        Command::Graph(args) => graph::run(&args, out),
        Command::Journal(args) => journal::run(&args, out),
        Command::Convert(args) => convert::run(&args, out),
        Command::Lock(args) => lock::run(&args, out),
        Command::Report(args) => report::run(&args, out),
        Command::Completions(args) => completions::run(&args, out),
        Command::Man(args) => man::run(&args, out),
    }
}
