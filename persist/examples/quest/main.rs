//! A small game that one process saves and another process loads.
//!
//! ```text
//! cargo run --release --example quest [seed] [turns]
//! ```
//!
//! The world is full of pointers: heroes and their guild know each other, monsters hate heroes and
//! hunt others through a `Weak`, weapons are shared. The first process plays the game and saves it.
//! The second process plays the same game without saving, loads the save, and compares the two
//! worlds: every field and every pointer. Then it plays both worlds on and compares them again.
//!
//! `world` has the types, `play` the rules, `compare` the comparison.

#![expect(
    clippy::disallowed_methods,
    reason = "an example runs where there are clocks and threads"
)]
#![expect(clippy::print_stdout, reason = "it is a program to look at")]
#![expect(unreachable_pub, reason = "a program has no outside")]

mod compare;
mod play;
mod world;

use std::env;
use std::error::Error;
use std::process::{Command, ExitCode};
use std::time::Instant;

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use persist::{SaveManager, Saves};

use self::compare::compare;
use self::world::{World, shared};

const USAGE: &str = "usage: quest [seed] [turns]
       quest save <path> <seed> <turns>
       quest load <path> <seed> <turns>";

/// How many turns both worlds are played on after the load.
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
    println!("\nanother process: quest load {path} {seed} {turns}");
    let status = Command::new(env::current_exe()?).args(["load", path, &seed, &turns]).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the process that loads ended with {status}").into()),
    }
}

/// Plays a world and saves it.
fn save(path: &str, seed: u64, turns: u32) -> Done {
    let world = played(seed, turns)?;
    println!("played to {world}");

    let mut manager = Saves::new().application("quest", env!("CARGO_PKG_VERSION"))?.manager();
    manager.add(&shared(world))?;
    let (outcome, time) = timed(|| manager.save(path));
    outcome?;
    println!("saved the world and all it points to in {time}: {}", size_of_file(path)?);

    let registry = manager.saves().registry();
    let hero = registry.class("quest.Hero").ok_or("heroes are not registered")?;
    println!("\nthe field records that `#[derive(Persist)]` made for a hero:");
    print!("{hero}");
    Ok(())
}

/// Plays the same world, loads the save of it, and compares the two.
fn load(path: &str, seed: u64, turns: u32) -> Done {
    let expected = shared(played(seed, turns)?);

    let manager = SaveManager::new();
    manager.register::<World>()?;
    let (loaded, time) = timed(|| manager.load(path));
    let loaded = loaded?;
    let report = loaded.report();
    println!("loaded {} objects with {} references in {time}", loaded.len(), report.references());
    let objects: Vec<String> =
        report.objects().map(|(class, count)| format!("{count} {class}")).collect();
    println!("  {}", objects.join(", "));
    if !report.is_clean() {
        return Err(format!("the save did not come back as it was written:\n{report}").into());
    }

    let found = loaded.first::<World>()?;
    // `loaded` holds a pointer to every object, and the dead heroes are to be freed.
    drop(loaded);
    let same = compare(&expected, &found)?;
    println!(
        "compared with the same game, never saved: {} objects have equal fields;",
        same.objects
    );
    println!(
        "  {} pointers lead to the same objects, shared ones and cycles included",
        same.pointers
    );

    expected.borrow_mut().play(MORE_TURNS);
    found.borrow_mut().play(MORE_TURNS);
    compare(&expected, &found)?;
    println!("played both on, still equal at {}", found.borrow());
    println!("the worlds are equal");
    Ok(())
}

/// Plays a new world for some turns; shows a bar where a person waits for it.
fn played(seed: u64, turns: u32) -> Result<World, Box<dyn Error>> {
    const TURNS_PER_STEP: u32 = 100;
    let mut world = World::new(seed);
    let style = ProgressStyle::with_template("playing {bar:40} turn {pos} of {len}")?;
    // Draws nothing where stdout is no terminal.
    let target = ProgressDrawTarget::stdout();
    let bar = ProgressBar::with_draw_target(Some(turns.into()), target).with_style(style);
    let mut left = turns;
    while left > 0 {
        let step = left.min(TURNS_PER_STEP);
        world.play(step);
        left -= step;
        bar.inc(step.into());
    }
    bar.finish_and_clear();
    Ok(world)
}

fn size_of_file(path: &str) -> std::io::Result<HumanBytes> {
    Ok(HumanBytes(std::fs::metadata(path)?.len()))
}

/// Runs something and measures how long it took.
fn timed<T>(run: impl FnOnce() -> T) -> (T, String) {
    let start = Instant::now();
    let result = run();
    (result, format!("{:.1} ms", start.elapsed().as_secs_f64() * 1000.0))
}
