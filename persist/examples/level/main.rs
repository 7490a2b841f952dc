//! A level that loads on another thread, while a menu with a progress bar runs.
//!
//! ```text
//! cargo run --release --example level [monsters]
//! ```
//!
//! The level lies in four files, one for each quarter. A thread loads one after the other, makes a prefab of each street,
//! and sends these to the game, which draws a bar and ticks meanwhile. A tick places as many streets as it has time for:
//! with new ids, and names that are free. A whole quarter in one tick would stop the bar for a quarter of a second. At the
//! end the program says how long the longest tick was, and what was placed.

#![expect(
    clippy::disallowed_methods,
    reason = "an example runs where there are clocks and threads"
)]
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use persist::world::{ExternalIds, Prefab};
use persist::{Component, ComponentScope, ObjectId, Persist, Result, Saves, World};

const QUARTERS: [&str; 4] = ["Harbour", "Market", "Castle", "Slums"];
const MONSTERS: u32 = 100_000;
/// The steps of the bar for a quarter.
const STEPS: usize = 100;
/// Few enough that one street takes a small part of a tick.
const MONSTERS_OF_A_STREET: u32 = 500;
const TICK: Duration = Duration::from_millis(16);
/// The part of a tick in which streets are placed; the rest is for the game.
const PLACING: Duration = Duration::from_millis(8);

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
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        self.degrees = (self.degrees + 90.0 * scope.step()) % 360.0;
    }
}

fn saves() -> Result<Saves> {
    let saves = Saves::new();
    saves.register_component::<Position>()?;
    saves.register_component::<Hunts>()?;
    Ok(saves)
}

/// A quarter: a square with a guard, and streets with many monsters, each hunting the previous one.
fn quarter(name: &str, monsters: u32) -> Result<World> {
    let mut world = World::new();
    let square = world.spawn_with(name, (Position { x: 0.0, y: 0.0 },))?;
    world.spawn_in(square, "Guard")?;
    let (mut street, mut prey) = (square, square);
    for n in 0..monsters {
        if n % MONSTERS_OF_A_STREET == 0 {
            street = world.spawn("Street");
            prey = street;
        }
        let at = Position { x: n as f32, y: 0.5 };
        let monster = world.spawn_in(street, "")?;
        world.attach(monster, at)?;
        world.attach(monster, Hunts { prey: Some(prey) })?;
        prey = monster;
    }
    Ok(world)
}

/// A street or square, and how much of the bar is done with it.
type Part = (Prefab, usize);

/// Loads the quarters one after the other; the first error is the last that comes.
fn load(paths: Vec<PathBuf>) -> Receiver<Result<Part>> {
    // A few streets ahead of the game: those that wait take memory.
    let (sender, loaded) = mpsc::sync_channel(64);
    thread::spawn(move || {
        for (index, path) in paths.iter().enumerate() {
            match send(path, index * STEPS, &sender) {
                Ok(true) => {}
                // The menu was closed.
                Ok(false) => return,
                Err(error) => return drop(sender.send(Err(error))),
            }
        }
    });
    loaded
}

/// Loads a quarter, and sends its parts; false if nobody takes them any more.
fn send(path: &Path, before: usize, sender: &SyncSender<Result<Part>>) -> Result<bool> {
    let quarter = saves()?.file(path).load::<World>()?;
    let roots: Vec<ObjectId> = quarter.roots().collect();
    for (index, root) in roots.iter().enumerate() {
        let part = (quarter.prefab(*root)?, before + (index + 1) * STEPS / roots.len());
        if sender.send(Ok(part)).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
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
    let bar = ProgressBar::new((paths.len() * STEPS) as u64);
    bar.set_style(ProgressStyle::with_template("{msg:<24} {wide_bar} {percent}%")?);
    let loading = load(paths);
    let (mut longest, mut ticks, before) = (Duration::ZERO, 0_u32, world.objects().len());
    loop {
        let start = Instant::now();
        world.update(TICK.as_secs_f64());
        ticks += 1;
        if let Some(title) = world.get::<Title>(title) {
            bar.set_message(format!("The title at {:.0} degrees", title.degrees));
        }
        let placing = Instant::now();
        let is_done = loop {
            match loading.try_recv() {
                Ok(part) => {
                    let (street, done) = part?;
                    world.instantiate(&street, ExternalIds::Clear)?;
                    bar.set_position(done as u64);
                }
                Err(ended) => break ended == TryRecvError::Disconnected,
            }
            if placing.elapsed() > PLACING {
                break false;
            }
        };
        longest = longest.max(start.elapsed());
        if is_done {
            break;
        }
        thread::sleep(TICK.saturating_sub(start.elapsed()));
    }
    bar.finish_and_clear();
    let placed = world.objects().len() - before;
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
