//! A small game that is saved, and loaded by another process.
//!
//! ```text
//! cargo run --release --example quest [seed] [turns]
//! ```
//!
//! The world is full of pointers: heroes and their guild know each other,
//! monsters hate heroes and hunt others through a `Weak`, weapons are shared.
//! One process plays it for some turns and saves it. Another is told the path,
//! the seed and the number of turns: it plays them itself, loads the save, and looks
//! whether the two worlds are the same in every field and every pointer. Then
//! it plays on in both, and looks again.
//!
//! `world` is what there is, `play` the rules, `compare` the judge.

#![expect(clippy::print_stdout, reason = "it is a program to look at")]
#![expect(unreachable_pub, reason = "a program has no outside")]

mod compare;
mod play;
mod world;

use std::env;
use std::error::Error;
use std::process::{Command, ExitCode};
use std::time::Instant;

use persist::SaveManager;

use self::compare::compare;
use self::play::played;
use self::world::{World, shared};

const USAGE: &str = "usage: quest [seed] [turns]
       quest save <path> <seed> <turns>
       quest load <path> <seed> <turns>";

/// How long both worlds go on after the load.
const MORE_TURNS: u32 = 100;

type Done = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quest: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Done {
    match *args {
        ["save", path, seed, turns] => save(path, seed.parse()?, turns.parse()?),
        ["load", path, seed, turns] => load(path, seed.parse()?, turns.parse()?),
        [] => save_and_load(42, 3000),
        [seed] => save_and_load(seed.parse().map_err(|_| USAGE)?, 3000),
        [seed, turns] => {
            save_and_load(seed.parse().map_err(|_| USAGE)?, turns.parse().map_err(|_| USAGE)?)
        }
        _ => Err(USAGE.into()),
    }
}

/// Saves here, loads in another process of this program.
fn save_and_load(seed: u64, turns: u32) -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("quest.sav");
    let [seed, turns] = [seed.to_string(), turns.to_string()];
    let path = path.to_str().ok_or("the temporary folder's name is not Unicode")?;

    save(path, seed.parse()?, turns.parse()?)?;
    println!("\n  $ quest load {path} {seed} {turns}");
    let status = Command::new(env::current_exe()?).args(["load", path, &seed, &turns]).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the process that loads ended with {status}").into()),
    }
}

/// Plays a world and saves it.
fn save(path: &str, seed: u64, turns: u32) -> Done {
    let world = timed("played", || played(seed, turns));
    println!("{world}");

    let mut saves = SaveManager::new();
    saves.set_application("quest", env!("CARGO_PKG_VERSION"))?;
    saves.add(&shared(world))?;
    timed("saved", || saves.save(path))?;
    println!("{} bytes\n", std::fs::metadata(path)?.len());

    // What the library knows of a class, and all that it needs to.
    let hero = saves.registry().class("quest.Hero").ok_or("heroes are not registered")?;
    print!("{hero}");
    Ok(())
}

/// Plays the same world, loads what should be it, and compares.
fn load(path: &str, seed: u64, turns: u32) -> Done {
    let expected = shared(timed("played", || played(seed, turns)));

    let mut saves = SaveManager::new();
    saves.register::<World>()?;
    let loaded = timed("loaded", || saves.load(path))?;
    let report = loaded.report();
    let objects: Vec<String> =
        report.objects().map(|(class, count)| format!("{count} {class}")).collect();
    println!("{} objects: {}", loaded.len(), objects.join(", "));
    println!("{} references between them", report.references());
    if !report.is_clean() {
        return Err(format!("the save did not come back as it was written:\n{report}").into());
    }

    let found = loaded.first::<World>()?;
    // `loaded` holds on to every object; the dead are to be forgotten.
    drop(loaded);
    let same = timed("compared", || compare(&expected, &found))?;
    println!("{} objects and {} pointers are the same", same.objects, same.pointers);

    timed("played on", || {
        expected.borrow_mut().play(MORE_TURNS);
        found.borrow_mut().play(MORE_TURNS);
    });
    let same = timed("compared", || compare(&expected, &found))?;
    println!("{} objects and {} pointers are the same", same.objects, same.pointers);
    println!("{}", found.borrow());
    println!("the worlds are equal");
    Ok(())
}

/// Runs something and prints how long it took.
fn timed<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    println!("{what:<10}{:9.3} ms", start.elapsed().as_secs_f64() * 1000.0);
    result
}
