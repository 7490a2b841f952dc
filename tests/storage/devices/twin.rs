//! Random saves, copies, choices and losses on three devices, against a naive twin: the set of all saves that a save
//! comes after.

use std::collections::BTreeSet;

use persist::save::{Keep, Lineage};
use persist_tests::support::short_or_long;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::devices::{Device, LOCAL, REMOTE};

const NAMES: [&str; 3] = ["deck", "laptop", "phone"];
const BACKUP: &str = "saves/game.sav.bak";

#[derive(Clone, Copy, Debug)]
enum Step {
    Save(usize),
    /// A device gets the save of another, and one of the two is kept.
    Reconcile(usize, usize, Keep),
    /// The save is damaged, and loaded.
    Damage(usize, Damage),
    Delete(usize),
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip,
    Cut,
    Zeros,
}

fn step() -> impl Strategy<Value = Step> {
    let keep = prop_oneof![1 => Just(Keep::Local), 3 => Just(Keep::Remote)];
    let damage = prop_oneof![Just(Damage::Flip), Just(Damage::Cut), Just(Damage::Zeros)];
    prop_oneof![
        4 => (0..3_usize).prop_map(Step::Save),
        5 => (0..3_usize, 1..3_usize, keep).prop_map(|(device, other, keep)| {
            Step::Reconcile(device, (device + other) % 3, keep)
        }),
        1 => (0..3_usize, damage).prop_map(|(device, damage)| Step::Damage(device, damage)),
        1 => (0..3_usize).prop_map(Step::Delete),
    ]
}

/// A save: its number, all that it comes after with itself, and its content.
#[derive(Clone, Debug, PartialEq)]
struct Made {
    number: u32,
    after: BTreeSet<u32>,
    level: u32,
}

impl Made {
    fn lineage(&self, other: &Self) -> Lineage {
        match (self.after.is_superset(&other.after), other.after.is_superset(&self.after)) {
            _ if self.number == other.number => Lineage::Same,
            (true, _) => Lineage::Newer,
            (_, true) => Lineage::Older,
            _ => Lineage::Diverged,
        }
    }
}

#[derive(Default)]
struct Twin {
    save: Option<Made>,
    backup: Option<Made>,
}

impl Twin {
    fn replace(&mut self, save: Made) {
        if let Some(old) = self.save.replace(save) {
            self.backup = Some(old);
        }
    }
}

struct World {
    devices: [Device; 3],
    twins: [Twin; 3],
    last: u32,
}

impl World {
    fn new() -> Self {
        Self { devices: NAMES.map(Device::new), twins: Default::default(), last: 0 }
    }

    fn made(&mut self, level: u32, parents: &[&Made]) -> Made {
        self.last += 1;
        let mut after: BTreeSet<u32> =
            parents.iter().flat_map(|made| made.after.iter().copied()).collect();
        after.insert(self.last);
        Made { number: self.last, after, level }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Save(at) => {
                let level = self.last + 1;
                self.devices[at].save(level);
                let old = self.twins[at].save.clone();
                let made = self.made(level, &old.iter().collect::<Vec<_>>());
                self.twins[at].replace(made);
            }
            Step::Reconcile(at, other, keep) => self.reconcile(at, other, keep),
            Step::Damage(at, damage) => {
                let (device, twin) = (&mut self.devices[at], &mut self.twins[at]);
                let (Some(_), Some(backup)) = (&twin.save, &twin.backup) else { return };
                let mut bytes = device.read(LOCAL).unwrap();
                let (length, middle) = (bytes.len(), bytes.len() - 35);
                match damage {
                    Damage::Flip => bytes[middle] ^= 1,
                    Damage::Cut => bytes.truncate(length - 1),
                    Damage::Zeros => bytes.fill(0),
                }
                device.write(LOCAL, &bytes);
                assert_eq!(device.level(), backup.level);
                twin.save = twin.backup.clone();
            }
            Step::Delete(at) => {
                if self.twins[at].save.is_some() {
                    self.devices[at].saves.slots("saves").slot("game").delete().unwrap();
                    self.twins[at] = Twin::default();
                }
            }
        }
    }

    fn reconcile(&mut self, at: usize, other: usize, keep: Keep) {
        let Some(theirs) = self.twins[other].save.clone() else { return };
        let ours = self.twins[at].save.clone();
        if ours.is_none() && keep == Keep::Local {
            return;
        }
        let remote = self.devices[other].read(LOCAL).unwrap();
        let device = &mut self.devices[at];
        let local = device.read(LOCAL);
        device.write(REMOTE, &remote);
        device.saves.file(LOCAL).reconcile(REMOTE, keep).unwrap();
        let now = device.read(LOCAL);
        if now == local {
            let ours = ours.unwrap();
            assert!(ours.after.is_superset(&theirs.after), "the remote save was passed over");
            return;
        }
        assert!(local.is_none() || device.read(BACKUP) == local, "the local save is gone");
        if now == Some(remote) {
            let is_before = |ours: Made| theirs.after.is_superset(&ours.after);
            assert!(ours.is_none_or(is_before), "the local save was passed over");
            self.twins[at].replace(theirs);
        } else {
            let kept = if keep == Keep::Local { ours.as_ref().unwrap() } else { &theirs };
            let parents: Vec<&Made> = ours.iter().chain([&theirs]).collect();
            let made = self.made(kept.level, &parents);
            self.twins[at].replace(made);
        }
    }

    fn check(&mut self) {
        for at in 0..3 {
            let Some(ours) = self.twins[at].save.clone() else { continue };
            assert_eq!(self.devices[at].level(), ours.level);
            for other in 0..3 {
                let Some(theirs) = &self.twins[other].save else { continue };
                let lineage = self.devices[at].compare(&self.devices[other]);
                assert_eq!(lineage, ours.lineage(theirs), "{at} and {other}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: short_or_long(64, 256), failure_persistence: None, ..Default::default() })]

    #[test]
    fn comparisons_say_what_the_histories_say(steps in vec(step(), 1..40)) {
        let mut world = World::new();
        for step in steps {
            world.run(step);
            world.check();
        }
    }
}
