//! A village that continues: each run loads the save of the previous run, plays ten days, and saves.
//!
//! ```sh
//! cargo run --manifest-path engines/Cargo.toml -p village
//! cargo run --manifest-path engines/Cargo.toml -p village --features window
//! ```
//!
//! The window shows the village of the text. Each save then has a picture of it as its thumbnail.

#![allow(clippy::print_stdout, reason = "it is a game in text")]
#![allow(
    elided_lifetimes_in_paths,
    clippy::needless_pass_by_value,
    reason = "as systems of Bevy are written"
)]

#[cfg(feature = "window")]
mod window;

use std::thread;
use std::time::Duration;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use persist::save::SlotInfo;
use persist::{ErrorKind, Persist};
use persist_bevy::{
    LoadFailed, LoadFinished, LoadRequested, PersistApp, PersistPlugin, SaveFailed, SaveFinished,
    SaveRequested, Saved, entity,
};

/// A person who eats and works.
#[derive(Component, Persist, Clone)]
#[persist(component)]
#[require(Saved)]
struct Villager {
    age: u32,
    hunger: u32,
}

/// A house, the parent of its villagers in the hierarchy.
#[derive(Component, Persist, Clone)]
#[persist(component)]
#[require(Saved)]
struct House {
    beds: u32,
    grain: u32,
}

/// A relationship from a villager to another one whom they help.
#[derive(Component, Persist, Clone)]
#[persist(component)]
#[relationship(relationship_target = HelpedBy)]
struct Helps(#[persist(with = entity)] Entity);

/// The other side of [`Helps`]. Bevy maintains it, even after a load, so it is not saved.
#[derive(Component)]
#[relationship_target(relationship = Helps)]
struct HelpedBy(Vec<Entity>);

#[derive(Resource, Persist, Clone, Default)]
struct Calendar {
    day: u32,
    births: u32,
}

/// The current picture of the village: red, green and blue of each pixel; empty without a window.
#[derive(Resource, Default)]
struct Picture(Vec<u8>);

/// The number of frames in a day.
const FRAMES: u32 = if cfg!(feature = "window") { 20 } else { 1 };

fn main() -> AppExit {
    let mut app = App::new();
    #[cfg(feature = "window")]
    window::open(&mut app);
    app.add_plugins(PersistPlugin::new(std::env::temp_dir().join("persist-village")))
        .persist_component::<Villager>()
        .persist_component::<House>()
        .persist_component::<Helps>()
        .persist_resource::<Calendar>()
        .init_resource::<Calendar>()
        .init_resource::<Picture>()
        .add_systems(Startup, load)
        .add_systems(Update, (begin, (live, show, save).chain().run_if(is_new_day), end).chain())
        .set_runner(|mut app| {
            loop {
                app.update();
                thread::sleep(Duration::from_millis(if FRAMES == 1 { 50 } else { 16 }));
                if let Some(exit) = app.should_exit() {
                    return exit;
                }
            }
        })
        .run()
}

fn is_new_day(mut frame: Local<u32>) -> bool {
    *frame += 1;
    frame.is_multiple_of(FRAMES)
}

fn load(mut loads: MessageWriter<LoadRequested>) {
    loads.write(LoadRequested::slot("village"));
}

/// Waits for the load. If there is no save yet, founds the village.
fn begin(
    mut commands: Commands,
    mut loaded: MessageReader<LoadFinished>,
    mut failed: MessageReader<LoadFailed>,
    mut exit: MessageWriter<AppExit>,
    mut calendar: ResMut<Calendar>,
) {
    for LoadFinished { report, .. } in loaded.read() {
        println!("The village of the last run, day {}. {}", calendar.day, report.summary());
    }
    for LoadFailed { error, .. } in failed.read() {
        if error.kind() != ErrorKind::NotFound {
            println!("{error}"); // the save stays as it is
            exit.write(AppExit::error());
            continue;
        }
        println!("A village is founded.");
        let house = commands.spawn((House { beds: 4, grain: 30 }, Name::new("The mill"))).id();
        let villager = |age| (Villager { age, hunger: 0 }, ChildOf(house));
        let ada = commands.spawn((villager(30), Name::new("Ada"))).id();
        commands.spawn((villager(31), Name::new("Bob"), Helps(ada)));
        calendar.day = 1;
    }
}

/// Plays a day: villagers age, work and eat, and children are born where there is room.
fn live(
    mut commands: Commands,
    mut calendar: ResMut<Calendar>,
    mut houses: Query<(Entity, &mut House, &Children)>,
    mut villagers: Query<(&mut Villager, Option<&HelpedBy>)>,
) {
    if calendar.day == 0 {
        return; // nothing is loaded yet
    }
    for (home, mut house, inhabitants) in &mut houses {
        for inhabitant in inhabitants {
            let Ok((mut villager, helpers)) = villagers.get_mut(*inhabitant) else { continue };
            villager.age += 1;
            let helpers = helpers.map_or(0, |helpers| helpers.0.len());
            house.grain += 1 + u32::try_from(helpers).unwrap_or(0);
            if house.grain > 0 {
                house.grain -= 1;
                villager.hunger = 0;
            } else {
                villager.hunger += 1;
            }
        }
        let is_full = u32::try_from(inhabitants.len()).is_ok_and(|count| count >= house.beds);
        if !is_full && calendar.day.is_multiple_of(5) {
            calendar.births += 1;
            let name = Name::new(format!("Child {}", calendar.births));
            commands.spawn((Villager { age: 0, hunger: 0 }, name, ChildOf(home)));
        }
    }
    calendar.day += 1;
}

fn show(
    calendar: Res<Calendar>,
    houses: Query<(&Name, &House, &Children)>,
    villagers: Query<(&Name, &Villager)>,
) {
    for (name, house, inhabitants) in &houses {
        println!("Day {}: {name} has {} grain", calendar.day, house.grain);
        for (name, villager) in inhabitants.iter().filter_map(|one| villagers.get(one).ok()) {
            println!("  {name}, {} days old, hunger {}", villager.age, villager.hunger);
        }
    }
}

/// Saves the game on each tenth day.
fn save(calendar: Res<Calendar>, picture: Res<Picture>, mut saves: MessageWriter<SaveRequested>) {
    if calendar.day > 0 && calendar.day.is_multiple_of(10) {
        // A list of saves shows this info without a load.
        let info = SlotInfo::new(format!("Day {}", calendar.day)).thumbnail(&*picture.0);
        saves.write(SaveRequested::slot("village").info(info));
    }
}

/// Ends the game when the save is written.
fn end(
    mut finished: MessageReader<SaveFinished>,
    mut failed: MessageReader<SaveFailed>,
    mut exit: MessageWriter<AppExit>,
) {
    for SaveFinished { path, .. } in finished.read() {
        if let Some(path) = path {
            println!("Saved as {}.", path.display());
        }
        exit.write(AppExit::Success);
    }
    for SaveFailed { error, .. } in failed.read() {
        println!("{error}");
        exit.write(AppExit::error());
    }
}
