//! Tests devices that share a slot against a naive model: the set of all earlier saves that each save continues.

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use object_store::memory::InMemory;
use persist::save::Keep;
use persist::storage::{
    Files, Memory, NewFile, SlotFolder, SlotStore, SlotVersion, Storage, StoredFile, StoredSlot,
};
use persist::{Error, ErrorKind, Loaded, Result, SaveOptions, Saves};
use persist_cloud::{Cloud, CloudOptions, Resolution, Synced};
use tokio_postgres::NoTls;

use crate::memory::slots_on;
use crate::proxy::Proxy;
use crate::slot_store::Store;
use crate::{postgres_server, s3_server};

const FOLDER: &str = "saves";
const LOCAL: &str = "Ada";
const REMOTE: &str = "Ada's farm";

/// A disk that fails after a number of changes, like a program that is killed.
#[derive(Clone, Default)]
struct Fragile {
    files: Memory,
    /// The number of changes left before the crash; below 0, nothing is written.
    left: Arc<AtomicI64>,
}

impl Fragile {
    fn change(&self) -> io::Result<()> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        if left > 0 { Ok(()) } else { Err(io::Error::other("the program was killed")) }
    }
}

impl Storage for Fragile {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        if self.left.load(Ordering::Relaxed) < 0 {
            return Err(io::Error::other("the program was killed"));
        }
        self.files.open(path)
    }
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.change()?;
        self.files.create(path, like)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change()?;
        self.files.rename(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change()?;
        self.files.link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        self.files.remove(path)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.change()?;
        self.files.sync_folder(folder)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.files.list(folder)
    }
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.files.lock(path)
    }
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.resolve(path)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Offline,
    /// The service executes the request, but the answer is lost.
    LostAnswer,
    /// The device gets an error, and the service executes the request later.
    Late,
}

/// A delayed write: the expected version, and the save.
type LateWrite = (Option<SlotVersion>, Vec<u8>);

/// The network to the service. A planned fault hits one write, after a number of others; `Offline` hits all requests.
struct Net {
    service: Store,
    fault: Mutex<Option<(Fault, u32)>>,
    late: Mutex<Vec<LateWrite>>,
}

impl Net {
    /// Returns the fault of this request, if there is one.
    fn fault(&self, is_write: bool) -> Option<Fault> {
        let mut planned = self.fault.lock().unwrap();
        match &mut *planned {
            Some((Fault::Offline, _)) => Some(Fault::Offline),
            Some((_, 0)) if is_write => planned.take().map(|(fault, _)| fault),
            Some((_, after)) if is_write => {
                *after -= 1;
                None
            }
            _ => None,
        }
    }

    fn arrive(&self) {
        for (version, save) in self.late.lock().unwrap().drain(..) {
            let _ = self.service.put_if(REMOTE, version.as_ref(), &save);
        }
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::Io, "the connection was lost")
}

impl SlotStore for Net {
    fn get(&self, slot: &str) -> Result<Option<(Vec<u8>, SlotVersion)>> {
        if self.fault(false).is_some() { Err(lost()) } else { self.service.get(slot) }
    }
    fn put_if(
        &self,
        slot: &str,
        version: Option<&SlotVersion>,
        save: &[u8],
    ) -> Result<SlotVersion> {
        match self.fault(true) {
            None => self.service.put_if(slot, version, save),
            Some(Fault::Offline) => Err(lost()),
            Some(Fault::LostAnswer) => {
                let _ = self.service.put_if(slot, version, save);
                Err(lost())
            }
            Some(Fault::Late) => {
                self.late.lock().unwrap().push((version.copied(), save.to_vec()));
                Err(lost())
            }
        }
    }
    fn list(&self) -> Result<Vec<StoredSlot>> {
        self.service.list()
    }
    fn delete(&self, slot: &str, version: &SlotVersion) -> Result<()> {
        self.service.delete(slot, version)
    }
}

/// A generator of pseudo-random numbers with a seed, so that runs can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as u32 % bound
    }
}

type Edits = BTreeSet<u32>;

struct Device {
    name: &'static str,
    disk: Fragile,
    saves: Saves,
    /// The loaded game, as the player sees it.
    game: Loaded<Edits>,
}

impl Device {
    fn new(name: &'static str) -> Self {
        let disk = Fragile::default();
        let saves = Saves::new();
        let mut device = Self { name, disk, saves, game: Edits::new().into() };
        device.restart();
        device
    }

    /// Restarts the program, normally or after a crash.
    fn restart(&mut self) {
        self.disk.left.store(i64::MAX, Ordering::Relaxed);
        let saves = Saves::new().storage(self.disk.clone()).device(self.name).unwrap();
        self.saves = saves.save_options(SaveOptions::new().backups(3));
        self.load();
    }

    fn load(&mut self) {
        match self.saves.slots(FOLDER).slot(LOCAL).load() {
            Ok(game) => self.game = game,
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
    }

    fn store(&self) -> SlotFolder {
        self.saves.slots(FOLDER).as_store().unwrap()
    }

    fn version(&self) -> Option<SlotVersion> {
        self.store().get(LOCAL).unwrap().map(|(_, version)| version)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Player {
    Merges,
    Chooses,
    /// Leaves saves diverged until the end of the run, and then chooses one.
    Waits,
}

struct World {
    random: Random,
    devices: Vec<Device>,
    net: Net,
    player: Player,
    /// The numbers of all saves that each save continues, itself included.
    after: HashMap<SlotVersion, BTreeSet<u32>>,
    saves: u32,
    /// The edits whose save was acknowledged, without those that the player has discarded.
    acknowledged: Edits,
    counts: HashMap<&'static str, u32>,
}

fn edits(save: &[u8]) -> Edits {
    persist::from_slice(save).unwrap()
}

impl World {
    fn remote(&self) -> Option<(Vec<u8>, SlotVersion)> {
        self.net.service.get(REMOTE).unwrap()
    }

    fn after(&self, version: Option<&SlotVersion>) -> BTreeSet<u32> {
        version.map(|version| self.after[version].clone()).unwrap_or_default()
    }

    /// Records the current save of a device if it is a new one.
    fn note(&mut self, device: usize, comes_after: [BTreeSet<u32>; 2]) {
        let Some(version) = self.devices[device].version() else { return };
        if !self.after.contains_key(&version) {
            self.saves += 1;
            let [mut all, more] = comes_after;
            all.extend(more);
            all.insert(self.saves);
            self.after.insert(version, all);
        }
    }

    fn edit(&mut self, device: usize) {
        let previous = self.devices[device].version();
        let edit = self.random.0 as u32;
        self.random.below(1);
        let this = &mut self.devices[device];
        this.game.insert(edit);
        let saved = this.saves.slots(FOLDER).slot(LOCAL).save(&this.game);
        if saved.is_ok() {
            self.acknowledged.insert(edit);
        }
        self.devices[device].restart();
        let previous = self.after(previous.as_ref());
        self.note(device, [previous, BTreeSet::new()]);
    }

    fn sync(&mut self, device: usize, player: Player, is_clean: bool) -> Option<Synced> {
        let (ours, theirs) = (self.devices[device].version(), self.remote());
        let theirs = theirs.map(|(_, version)| version);
        let histories = [ours, theirs].map(|version| self.after(version.as_ref()));
        let store = self.devices[device].store();
        let chosen = if self.random.below(2) == 0 { Keep::Local } else { Keep::Remote };
        let mut given_up = Edits::new();
        let mut sides_were = None;
        let synced = Cloud::sync_with((&store, LOCAL), (&self.net, REMOTE), |sides| {
            if let Some(base) = sides.base {
                let base = &self.after[&SlotVersion::from_save(base)];
                assert!(histories.iter().all(|history| base.is_subset(history)));
            }
            let (ours, theirs) = (edits(sides.local), edits(sides.remote));
            sides_were = Some([ours.clone(), theirs.clone()]);
            Ok(match (player, chosen) {
                (Player::Waits, _) => Resolution::Ask,
                (Player::Merges, _) => {
                    let merged: Edits = ours.union(&theirs).copied().collect();
                    Resolution::Merged(persist::to_vec(&merged)?)
                }
                (_, Keep::Local) => {
                    given_up = theirs.difference(&ours).copied().collect();
                    Resolution::Keep(chosen)
                }
                (_, Keep::Remote) => {
                    given_up = ours.difference(&theirs).copied().collect();
                    Resolution::Keep(chosen)
                }
            })
        });
        self.devices[device].restart();
        self.acknowledged.retain(|edit| !given_up.contains(edit));
        let [our_history, their_history] = histories.clone();
        self.note(device, histories);
        if let (Ok(Synced::Resolved), Some(sides)) = (&synced, &sides_were) {
            // Both saves are still backups, whichever was chosen.
            let store = self.devices[device].store();
            let (now, _) = store.get(LOCAL).unwrap().unwrap();
            let mut backups: Vec<_> =
                store.backups(LOCAL).unwrap().iter().map(|save| edits(save)).collect();
            backups.push(edits(&now));
            assert!(sides.iter().all(|side| backups.contains(side)), "{sides:?} in {backups:?}");
        }
        if is_clean {
            let expected = match (ours, theirs) {
                (None, None) => "Nothing",
                (ours, theirs) if ours == theirs => "Same",
                (_, None) => "Pushed",
                (None, _) => "Pulled",
                _ if our_history.is_superset(&their_history) => "Pushed",
                _ if their_history.is_superset(&our_history) => "Pulled",
                _ if player == Player::Waits => "Diverged",
                _ => "Resolved",
            };
            let found = format!("{:?}", synced.as_ref().unwrap());
            assert!(found.starts_with(expected), "{found}, not {expected}");
            *self.counts.entry(expected).or_default() += 1;
            if !["Diverged", "Nothing"].contains(&expected) {
                let remote = self.remote().map(|(_, version)| version);
                assert_eq!(self.devices[device].version(), remote, "both sides have one save");
            }
        }
        synced.ok()
    }

    fn step(&mut self) {
        let device = self.random.below(self.devices.len() as u32) as usize;
        let (player, crash) = (self.player, i64::from(self.random.below(24)));
        match self.random.below(12) {
            0..=3 => self.edit(device),
            4..=6 => drop(self.sync(device, player, true)),
            7 => {
                self.devices[device].disk.left.store(crash, Ordering::Relaxed);
                self.edit(device);
            }
            8 => self.crash_in_a_sync(device, crash),
            9 => self.net.arrive(),
            _ => {
                let fault =
                    [Fault::Offline, Fault::LostAnswer, Fault::Late][self.random.below(3) as usize];
                *self.net.fault.lock().unwrap() = Some((fault, self.random.below(2)));
                self.sync(device, player, false);
                *self.net.fault.lock().unwrap() = None;
            }
        }
    }

    fn crash_in_a_sync(&mut self, device: usize, changes: i64) {
        let ours = self.devices[device].version();
        let theirs = self.remote().map(|(_, version)| version);
        let histories = [ours, theirs].map(|version| self.after(version.as_ref()));
        let store = self.devices[device].store();
        self.devices[device].disk.left.store(changes, Ordering::Relaxed);
        let merges = self.player == Player::Merges;
        let _ = Cloud::sync_with((&store, LOCAL), (&self.net, REMOTE), |sides| {
            let merged: Edits = edits(sides.local).union(&edits(sides.remote)).copied().collect();
            Ok(if merges { Resolution::Merged(persist::to_vec(&merged)?) } else { Resolution::Ask })
        });
        self.devices[device].restart();
        self.note(device, histories);
    }

    /// Brings all devices online, and syncs until all are equal.
    fn end(&mut self) {
        self.net.arrive();
        let player = if self.player == Player::Merges { Player::Merges } else { Player::Chooses };
        for round in 0.. {
            let all = 0..self.devices.len();
            let synced: Vec<_> = all.map(|device| self.sync(device, player, true)).collect();
            let is_done =
                |synced: &Option<Synced>| matches!(synced, Some(Synced::Same | Synced::Nothing));
            if synced.iter().all(is_done) {
                break;
            }
            assert!(round < 4, "{synced:?}");
        }
        let remote = self.remote();
        let found = remote.as_ref().map(|(save, _)| edits(save)).unwrap_or_default();
        assert!(found.is_superset(&self.acknowledged), "{found:?}, {:?}", self.acknowledged);
        for device in &mut self.devices {
            assert_eq!(device.store().get(LOCAL).unwrap(), remote, "all have one save");
            assert_eq!(*device.game, found);
        }
    }
}

/// Runs random edits, syncs, crashes and network faults, each run on an empty service.
fn twin(empty: &mut dyn FnMut() -> Store, runs: u32, steps: u32) {
    let mut counts: HashMap<&'static str, u32> = HashMap::new();
    for run in 0..runs {
        let net = Net { service: empty(), fault: Mutex::default(), late: Mutex::default() };
        let names = ["deck", "laptop", "phone"];
        let devices = names[..2 + (run % 2) as usize].iter().map(|name| Device::new(name));
        let mut world = World {
            random: Random(u64::from(run) << 32 | 7),
            devices: devices.collect(),
            net,
            player: [Player::Merges, Player::Chooses, Player::Waits][(run % 3) as usize],
            after: HashMap::new(),
            saves: 0,
            acknowledged: Edits::new(),
            counts: HashMap::new(),
        };
        for _ in 0..steps {
            world.step();
        }
        world.end();
        for (what, count) in world.counts {
            *counts.entry(what).or_default() += count;
        }
    }
    for what in ["Same", "Pushed", "Pulled", "Resolved"] {
        assert!(counts.contains_key(what), "{counts:?}");
    }
}

#[test]
fn devices_agree_and_lose_nothing_on_a_service_in_memory() {
    twin(&mut || Arc::new(slots_on(InMemory::new(), CloudOptions::new())), 120, 40);
}

#[test]
fn devices_agree_and_lose_nothing_on_a_folder() {
    twin(&mut || Arc::new(SlotFolder::new(Memory::default(), "remote")), 240, 40);
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    let mut empty = || -> Store {
        number += 1;
        let folder = folder.path().join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        Arc::new(SlotFolder::new(Files, folder))
    };
    twin(&mut empty, 6, 40);
}

#[test]
fn devices_agree_and_lose_nothing_on_s3() {
    let server = s3_server::Server::start();
    let store = Arc::new(server.patient_client(&Proxy::default()));
    let cloud = Cloud::object_store(store, "game", CloudOptions::new()).unwrap();
    let mut player = 0;
    let mut empty = || -> Store {
        player += 1;
        Arc::new(cloud.player(&player.to_string()).unwrap())
    };
    twin(&mut empty, 12, 40);
}

#[test]
fn devices_agree_and_lose_nothing_on_postgres() {
    let Some(server) = postgres_server::Server::shared() else { return };
    let config = postgres_server::Server::config(server.port());
    let cloud = Cloud::postgres(config, NoTls, CloudOptions::new()).unwrap();
    let mut player = 0;
    let mut empty = || -> Store {
        player += 1;
        Arc::new(cloud.player(&format!("sync {player}")).unwrap())
    };
    twin(&mut empty, 12, 40);
}
