//! A level that loads on another thread, while a menu with a progress bar runs.
//!
//! ```text
//! cargo run --release --example level [monsters]
//! ```
//!
//! The level lies in four files, one for each quarter. A thread loads one after the other and sends the worlds to the
//! game, which draws a bar and ticks meanwhile. Each quarter is put into the running world as soon as it is there: with
//! new ids, and names that are free. At the end the program says how long the longest tick was, and what was placed.

#![expect(
    clippy::disallowed_methods,
    reason = "an example runs where there are clocks and threads"
)]
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use persist::{Component, Context, Loaded, ObjectId, Persist, Result, Saves, World};

const QUARTERS: [&str; 4] = ["Harbour", "Market", "Castle", "Slums"];
const MONSTERS: u32 = 100_000;
const TICK: Duration = Duration::from_millis(16);

#[derive(Persist)]
#[persist(component)]
struct Position {
    x: f32,
    y: f32,
}

/// Goes to its prey, by its id.
#[derive(Persist)]
#[persist(component)]
struct Hunts {
    prey: Option<ObjectId>,
}

/// The menu's title, which turns while the level loads.
#[derive(Persist)]
struct Title {
    degrees: f64,
}

impl Component for Title {
    fn on_update(&mut self, context: &mut Context<'_>) {
        self.degrees = (self.degrees + 90.0 * context.step()) % 360.0;
    }
}

fn saves() -> Result<Saves> {
    let saves = Saves::new();
    saves.register_component::<Position>()?;
    saves.register_component::<Hunts>()?;
    Ok(saves)
}

/// A quarter with many monsters, each of which hunts the one before.
fn quarter(name: &str, monsters: u32) -> Result<World> {
    let mut world = World::new();
    let square = world.spawn_with(name, (Position { x: 0.0, y: 0.0 },))?;
    let guard = world.spawn_in(square, "Guard")?;
    let mut prey = Some(guard);
    for n in 0..monsters {
        let at = Position { x: n as f32, y: 0.5 };
        prey = Some(world.spawn_with("", (at, Hunts { prey }))?);
    }
    Ok(world)
}

/// Loads the quarters one after the other; the first error is the last that comes.
fn load(paths: Vec<PathBuf>) -> Receiver<Result<World>> {
    let (sender, loaded) = mpsc::channel();
    thread::spawn(move || {
        for path in paths {
            let quarter = saves().and_then(|saves| saves.file(&path).load::<World>());
            // The menu may have been closed.
            if sender.send(quarter.map(Loaded::into_inner)).is_err() {
                return;
            }
        }
    });
    loaded
}

fn play(folder: &Path, monsters: u32) -> std::result::Result<(), Box<dyn Error>> {
    let mut paths = Vec::new();
    for name in QUARTERS {
        let path = folder.join(name).with_extension("sav");
        saves()?.file(&path).save(&quarter(name, monsters)?)?;
        paths.push(path);
    }

    let mut world = World::new();
    let title = world.spawn_with("Title", (Title { degrees: 0.0 },))?;
    let bar = ProgressBar::new(paths.len() as u64);
    bar.set_style(ProgressStyle::with_template("{msg:<24} {wide_bar} {pos}/{len}")?);
    let loading = load(paths);
    let (mut longest, mut ticks, mut placed) = (Duration::ZERO, 0_u32, 0);
    loop {
        let start = Instant::now();
        world.update(TICK.as_secs_f64());
        ticks += 1;
        if let Some(title) = world.get::<Title>(title) {
            bar.set_message(format!("The title at {:.0} degrees", title.degrees));
        }
        match loading.try_recv() {
            Ok(quarter) => {
                placed += world.instantiate_level(&quarter?)?.len();
                bar.inc(1);
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => break,
        }
        longest = longest.max(start.elapsed());
        thread::sleep(TICK.saturating_sub(start.elapsed()));
    }
    bar.finish_and_clear();
    world.remove(title);

    println!(
        "{placed} objects were placed during {ticks} ticks; the longest tick took {longest:.1?}"
    );
    for name in QUARTERS.map(|name| world.find(name)) {
        let square = name.ok_or("a quarter is missing")?;
        let guards: Vec<&str> =
            world.children(square).iter().filter_map(|guard| world.name(*guard)).collect();
        println!("{}: {}", world.name(square).unwrap_or_default(), guards.join(", "));
    }
    let strays =
        world.query::<&Hunts>().filter(|hunts| hunts.prey.is_none_or(|prey| !world.contains(prey)));
    match strays.count() {
        0 => println!("every monster hunts somebody of its own quarter"),
        strays => return Err(format!("{strays} monsters lost their prey").into()),
    }
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let monsters = env::args().nth(1).map_or(Ok(MONSTERS), |count| count.parse())?;
    let folder = env::temp_dir().join(format!("persist-level-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let played = play(&folder, monsters);
    std::fs::remove_dir_all(&folder)?;
    played
}
