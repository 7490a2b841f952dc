//! Syncs the save of one player on two machines that are not always online: it is pushed, pulled, diverged, and merged.
//!
//! ```sh
//! cargo run --example arcade --features object-store,postgres
//! cargo run --example arcade --features object-store,postgres -- postgres://game@127.0.0.1/saves
//! cargo run --example arcade --features object-store,postgres,object_store/aws -- s3://saves
//! ```
//!
//! Without an address, a folder replaces the service. For PostgreSQL, first create the table with
//! `migrations/1-saves.sql`. The keys of S3 are read from the environment, as `AWS_ACCESS_KEY_ID` and so on.

#![allow(clippy::print_stdout, reason = "it shows what happens")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use object_store::aws::AmazonS3Builder;
use persist::save::{Header, SlotInfo, Slots};
use persist::storage::{Files, SlotFolder, SlotStore};
use persist::{ErrorKind, Loaded, Persist, SaveOptions, Saves};
use persist_cloud::{Cloud, CloudOptions, Resolution, Sides, Synced};
use tokio_postgres::NoTls;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The name of the slot, both on the machines and in the service.
const SLOT: &str = "Ada";

#[derive(Persist, Clone, Debug, Default, PartialEq)]
struct Game {
    /// The best score of each level.
    best: BTreeMap<String, u32>,
    coins: u32,
}

/// The summary of a save for a menu, stored in its info.
#[derive(Persist)]
struct Shown {
    coins: u32,
    levels: u32,
}

/// A machine with its own folder.
struct Device {
    name: &'static str,
    slots: Slots,
    game: Loaded<Game>,
}

impl Device {
    fn new(name: &'static str, folder: &Path) -> Outcome<Self> {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)?;
        // A merge needs the last save that both machines had. It is found among the backups.
        let saves = Saves::new().device(name)?.save_options(SaveOptions::new().backups(8));
        Ok(Self { name, slots: saves.slots(folder), game: Game::default().into() })
    }

    /// Plays a level and saves, which needs no network.
    fn play(&mut self, level: &str, score: u32) -> Outcome<()> {
        let best = self.game.best.entry(level.into()).or_default();
        *best = score.max(*best);
        self.game.coins += score / 100;
        let Game { best, coins } = &*self.game;
        let shown = Shown { coins: *coins, levels: u32::try_from(best.len())? };
        self.slots.slot(SLOT).info(SlotInfo::new(level).value(&shown)?).save(&self.game)?;
        println!("{}: {score} points in {level}, {coins} coins", self.name);
        Ok(())
    }

    /// Syncs. A save that was pulled or merged is loaded, so that the next save continues it.
    fn sync(
        &mut self,
        service: &dyn SlotStore,
        resolve: impl FnMut(&Sides<'_>) -> persist::Result<Resolution>,
    ) -> Outcome<Synced> {
        let local = self.slots.as_store()?;
        let synced = Cloud::sync_with((&local, SLOT), (service, SLOT), resolve)?;
        if matches!(synced, Synced::Pulled | Synced::Resolved) {
            self.game = self.slots.slot(SLOT).load()?;
        }
        match &synced {
            Synced::Diverged { local, remote } => {
                println!("{}: diverged, {} here, {} there", self.name, shown(local), shown(remote));
            }
            synced => println!("{}: {synced:?}, {} coins", self.name, self.game.coins),
        }
        Ok(synced)
    }
}

fn shown(header: &Header) -> String {
    let shown = header.info().get::<Shown>().ok().flatten();
    shown.map_or("a save".into(), |Shown { coins, levels }| {
        format!("{coins} coins in {levels} levels")
    })
}

fn ask(_: &Sides<'_>) -> persist::Result<Resolution> {
    Ok(Resolution::Ask)
}

/// Merges two diverged saves: the best scores of both, and the coins that either has earned since they diverged.
fn merge(sides: &Sides<'_>) -> persist::Result<Resolution> {
    let Some(base) = sides.base else { return Ok(Resolution::Ask) };
    let base: Game = persist::from_slice(base)?;
    let mut merged: Game = persist::from_slice(sides.local)?;
    let other: Game = persist::from_slice(sides.remote)?;
    for (level, score) in other.best {
        let best = merged.best.entry(level).or_default();
        *best = score.max(*best);
    }
    merged.coins = (merged.coins + other.coins).saturating_sub(base.coins);
    persist::to_vec(&merged).map(Resolution::Merged)
}

/// Connects to the service of an address; without an address, uses a folder.
fn service(address: Option<&str>, folder: &Path) -> Outcome<Box<dyn SlotStore>> {
    let options = CloudOptions::new();
    let Some(address) = address else {
        let folder = folder.join("service");
        std::fs::create_dir_all(&folder)?;
        return Ok(Box::new(SlotFolder::new(Files, folder)));
    };
    let cloud = if let Some(bucket) = address.strip_prefix("s3://") {
        let bucket = AmazonS3Builder::from_env().with_bucket_name(bucket).build()?;
        Cloud::object_store(Arc::new(bucket), "arcade", options)?
    } else if address.starts_with("postgres://") {
        Cloud::postgres(address.parse()?, NoTls, options)?
    } else {
        return Err(
            format!("{address} is neither s3://BUCKET nor postgres://USER@HOST/DATABASE").into()
        );
    };
    Ok(Box::new(cloud.player("ada")?))
}

fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let address = std::env::args().nth(1);
    let service = service(address.as_deref(), folder.path())?;
    let service = &*service;
    // Delete the slot that an earlier run has left.
    if let Some((_, version)) = service.get(SLOT)? {
        service.delete(SLOT, &version)?;
    }
    let mut cabinet = Device::new("cabinet", folder.path())?;
    let mut phone = Device::new("phone", folder.path())?;

    println!("-- online");
    cabinet.play("Maze", 700)?;
    assert_eq!(cabinet.sync(service, ask)?, Synced::Pushed);
    assert_eq!(phone.sync(service, ask)?, Synced::Pulled);

    println!("-- both offline");
    cabinet.play("Maze", 900)?;
    phone.play("Tower", 500)?;
    phone.play("Tower", 1100)?;

    println!("-- online again");
    assert_eq!(cabinet.sync(service, ask)?, Synced::Pushed);
    assert!(matches!(phone.sync(service, ask)?, Synced::Diverged { .. }));
    assert_eq!(phone.sync(service, merge)?, Synced::Resolved);
    assert_eq!(cabinet.sync(service, ask)?, Synced::Pulled);

    println!("-- two servers write at once: one of them is told");
    let (save, version) = service.get(SLOT)?.ok_or("the slot is gone")?;
    let first = persist::to_vec(&Game { coins: 99, ..cabinet.game.clone() })?;
    let next = service.put_if(SLOT, Some(&version), &first)?;
    let late = service.put_if(SLOT, Some(&version), &save).err().ok_or("it was overwritten")?;
    assert_eq!(late.kind(), ErrorKind::Conflict);
    println!("{late}");
    service.put_if(SLOT, Some(&next), &save)?;

    assert_eq!(*cabinet.game, *phone.game);
    assert_eq!((phone.game.coins, phone.game.best["Maze"]), (7 + 9 + 5 + 11, 900));
    println!("both: {:?}", *phone.game);
    Ok(())
}
