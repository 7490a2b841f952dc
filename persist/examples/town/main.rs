//! A town that lives on in another process as if it had never been saved.
//!
//! ```text
//! cargo run --release --example town [days]
//! cargo run --release --example town save <path> <days>
//! ```
//!
//! Objects made of components, with a resource beside them: people walk, work, buy bread, have children and die, a
//! cart brings the grain, lanterns burn at night. One town lives through all days. Another is saved in the middle of one,
//! and another process loads it and lives through the rest. Both must end as one, to the last byte.

#![expect(clippy::print_stdout, reason = "it is a program to look at")]
#![expect(unreachable_pub, reason = "a program has no outside")]

mod people;
mod places;
mod town;

use std::env;
use std::process::{Command, ExitCode};

use persist::World;

use self::town::{Chronicle, Done, TICKS_PER_DAY, saves};

const DAYS: u64 = 40;

const USAGE: &str = "usage: town [days]\n       town save <path> <days>";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().map_err(|_| USAGE.into());
    let result = match *args {
        ["continue", from, ticks, to] => number(ticks).and_then(|ticks| go_on(from, ticks, to)),
        ["save", path, days] => number(days).and_then(|days| save(path, days)),
        [] => compare(DAYS),
        [days] => number(days).and_then(compare),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("town: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Lets a town live with and without a save, and compares the two.
fn compare(days: u64) -> Done {
    let folder = tempfile::tempdir()?;
    let (saved, ended) = (folder.path().join("town.sav"), folder.path().join("ended.sav"));
    let ticks = days * TICKS_PER_DAY;
    // Not at the end of a day: carts are on their way, and a component may not have started.
    let half = ticks / 2 + TICKS_PER_DAY / 3;

    let mut world = town::found()?;
    for _ in 0..half {
        world.update(1.0);
    }
    let saves = saves()?;
    saves.file(&saved).save(&world)?;
    println!(
        "saved on tick {half}, {} objects, {} bytes",
        world.objects().len(),
        saved.metadata()?.len()
    );
    for _ in half..ticks {
        world.update(1.0);
    }

    let rest = (ticks - half).to_string();
    let mut other = Command::new(env::current_exe()?);
    let status = other.arg("continue").arg(&saved).arg(rest).arg(&ended).status()?;
    if !status.success() {
        return Err("the other process failed".into());
    }
    print_chronicle(&world);
    if saves.to_vec(&world)? != std::fs::read(&ended)? {
        return Err("the town that was saved has become another one".into());
    }
    println!("the town that was saved, loaded and went on has become the same, to the last byte");
    Ok(())
}

/// Lets a town live and saves it, for those who want to look into the save.
fn save(path: &str, days: u64) -> Done {
    let mut world = town::found()?;
    for _ in 0..days * TICKS_PER_DAY {
        world.update(1.0);
    }
    saves()?.file(path).save(&world)?;
    Ok(())
}

/// Continues a saved town, in the other process.
fn go_on(from: &str, ticks: u64, to: &str) -> Done {
    let saves = saves()?;
    let mut world = saves.file(from).load::<World>()?;
    println!("{}, in another process", world.report().summary());
    for _ in 0..ticks {
        world.update(1.0);
    }
    std::fs::write(to, saves.to_vec(&world)?)?;
    Ok(())
}

fn print_chronicle(world: &World) {
    let Some(chronicle) = world.resource::<Chronicle>() else { return };
    println!("day {}: {} objects", chronicle.day(), world.objects().len());
    for line in chronicle.last(6) {
        println!("  {line}");
    }
}
