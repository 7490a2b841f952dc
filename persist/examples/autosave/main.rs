//! A game that ticks on while it is saved, and is killed in the middle of a save.
//!
//! ```text
//! cargo run --release --example autosave [regions]
//! ```
//!
//! A process plays: 60 ticks a second, an auto save in the background every 60, with a bar, and the
//! longest time that a tick had to wait for one. In the middle of a save it kills itself. Another
//! process loads what is there, compares it with a world that was played so far without a save, and
//! plays on. At last the save is damaged, and loaded once more.

#![expect(
    clippy::disallowed_methods,
    reason = "an example runs where there are clocks and threads"
)]
#![expect(clippy::print_stdout, reason = "it is a program to look at")]
#![expect(unreachable_pub, reason = "a program has no outside")]

mod world;

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use persist::SaveManager;
use persist::save::BackgroundSave;

use self::world::World;

const TICK: Duration = Duration::from_nanos(1_000_000_000 / 60);
const TICKS_PER_SAVE: u64 = 60;
/// The save in whose middle the game is killed.
const LAST_SAVE: u64 = 4;
const REGIONS: usize = 400;

type Done = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("autosave: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Done {
    match *args {
        ["play", path, regions] => play(Path::new(path), regions.parse()?),
        [] => watch(REGIONS),
        [regions] => watch(regions.parse()?),
        _ => Err("usage: autosave [regions]".into()),
    }
}

/// Starts a process that plays until it kills itself, and continues from its last save.
fn watch(regions: usize) -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("auto.sav");
    let mut game = Command::new(env::current_exe()?);
    let status = game.arg("play").arg(&path).arg(regions.to_string()).status()?;
    if status.success() {
        return Err("the game was to be killed".into());
    }
    println!("\nthe game was killed in the middle of save {LAST_SAVE}");
    println!("the save of tick {} is there, whole", load(&path, regions)?);

    // As a bad disk would.
    let save = std::fs::read(&path)?;
    std::fs::write(&path, &save[..save.len() / 2])?;
    println!("so is that of tick {}", load(&path, regions)?);
    Ok(())
}

/// Loads a world and compares it with one that was never saved; returns its tick.
fn load(path: &Path, regions: usize) -> Result<u64, Box<dyn Error>> {
    let manager = SaveManager::new();
    World::register(&manager)?;
    let loaded = manager.load(path)?;
    println!("{}", loaded.report().summary());
    let mut world = World::of(&loaded)?;
    let mut played = World::new(regions);
    while played.ticks() < world.ticks() {
        played.tick();
    }
    let loaded_at = world.ticks();
    if played != world {
        return Err(format!("the world of tick {loaded_at} is another one").into());
    }
    // Both continue alike.
    for _ in 0..TICKS_PER_SAVE {
        played.tick();
        world.tick();
    }
    if played != world {
        return Err("the world goes on as another one".into());
    }
    Ok(loaded_at)
}

/// Plays, and is killed in the middle of a save.
fn play(path: &Path, regions: usize) -> Done {
    let mut world = World::new(regions);
    let mut manager = SaveManager::new();
    world.add_to(&mut manager)?;
    let file = manager.saves().file(path);
    let style = ProgressStyle::with_template("{msg:8} {bar:40} {bytes}/{total_bytes}")?;
    let bar = ProgressBar::new(0).with_style(style);
    let mut running: Option<BackgroundSave> = None;
    let mut longest = Duration::ZERO;
    let mut next = Instant::now() + TICK;
    loop {
        world.tick();
        if let Some(save) = &running {
            let progress = save.progress();
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        }
        if world.ticks().is_multiple_of(TICKS_PER_SAVE) {
            if let Some(save) = running.take() {
                save.wait()?;
            }
            let number = world.ticks() / TICKS_PER_SAVE;
            bar.set_message(format!("save {number}"));
            let start = Instant::now();
            let save = file.save_in_background(&manager)?;
            let stall = start.elapsed();
            longest = longest.max(stall);
            let (tick, size) = (world.ticks(), save.progress().total / 1_000);
            bar.suspend(|| {
                println!("tick {tick}: {size} kB, the game waited {} us", stall.as_micros());
            });
            if number == LAST_SAVE {
                while save.progress().fraction() < 0.3 {
                    std::hint::spin_loop();
                }
                bar.abandon();
                println!("the longest stall of the game: {} us", longest.as_micros());
                std::process::abort();
            }
            running = Some(save);
        }
        if world.ticks() == TICKS_PER_SAVE * LAST_SAVE - TICKS_PER_SAVE / 2 {
            // The cost for a game that waits for the save.
            let start = Instant::now();
            manager.save(path.with_extension("waited.sav"))?;
            let waited = start.elapsed().as_micros();
            bar.suspend(|| println!("a save in the foreground: {waited} us"));
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += TICK;
    }
}
