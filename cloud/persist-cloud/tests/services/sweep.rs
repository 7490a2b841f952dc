//! Tests that a sweep removes the uploads that no pointer names, and no others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use object_store::{ObjectStore, ObjectStoreExt};
use persist::ErrorKind;
use persist_cloud::{Cloud, CloudOptions};

use crate::block_on;
use crate::proxy::{Fault, Proxy};
use crate::s3_server::Server;
use crate::slot_store::{read, save};

fn objects(store: &InMemory) -> Vec<Path> {
    block_on(store.list(None).map_ok(|meta| meta.location).try_collect()).unwrap()
}

#[test]
fn uploads_that_no_pointer_names_are_removed() {
    let store = Arc::new(InMemory::new());
    let cloud = Cloud::object_store(Arc::clone(&store) as Arc<_>, "game", CloudOptions::new());
    let cloud = cloud.unwrap();
    let ada = cloud.player("Größe 2").unwrap();
    let first = ada.put_if("50% off", None, save(1)).wait().unwrap();
    let second = ada.put_if("50% off", Some(&first), save(2)).wait().unwrap();
    let saved = objects(&store);
    let orphan = |player: &str, slot: &str, name: &str| {
        let at = Path::from("game").join(player).join("saves").join(slot).join(name);
        block_on(store.put(&at, save(3).into())).unwrap();
    };
    orphan("Größe 2", "50% off", "0000000001-abc");
    orphan("Größe 2", "50% off", "0000000002-abc");
    // The orphan of a slot whose first writer was killed.
    orphan("Bob", "new", "0000000001-abc");
    // Objects that do not belong to slots, or that have another prefix.
    for at in ["game/Bob/saves/new", "game/Bob/other/new/abc", "games/Bob/saves/new/abc"] {
        block_on(store.put(&Path::from(at), save(3).into())).unwrap();
    }

    let all = objects(&store);
    let swept = cloud.sweep(Duration::from_secs(3600)).wait().unwrap();
    assert_eq!((swept.objects, objects(&store)), (0, all), "they may be writes under way");

    let swept = cloud.sweep(Duration::ZERO).wait().unwrap();
    assert_eq!((swept.objects, swept.failed), (3, 0));
    assert_eq!(swept.bytes, 3 * save(3).len() as u64);
    let left = objects(&store);
    assert!(saved.iter().all(|path| left.contains(path)));
    assert_eq!(left.len(), saved.len() + 1 + 3, "the new slot has a pointer, which says nothing");
    assert_eq!(cloud.sweep(Duration::ZERO).wait().unwrap().objects, 0);

    // The saves and backups are unchanged, and the slots can be written.
    assert_eq!(read(&ada, "50% off"), Some((2, second)));
    assert_eq!(ada.backups("50% off").wait().unwrap(), [first]);
    ada.put_if("50% off", Some(&second), save(4)).wait().unwrap();
    let bob = cloud.player("Bob").unwrap();
    assert_eq!(bob.list().wait().unwrap(), []);
    bob.put_if("new", None, save(5)).wait().unwrap();
    assert_eq!(read(&bob, "new").unwrap().0, 5);
    assert_eq!(bob.list().wait().unwrap()[0].name, "new");
}

#[test]
fn a_slot_whose_pointer_is_damaged_is_not_swept() {
    let store = Arc::new(InMemory::new());
    let options = CloudOptions::new().attempts(1);
    let cloud = Cloud::object_store(Arc::clone(&store) as Arc<_>, "game", options).unwrap();
    cloud.player("7").unwrap().put_if("Ada", None, save(1)).wait().unwrap();
    let at = Path::from("game/7/slots/Ada");
    block_on(store.put(&at, "persist slot 1\nAda\n".into())).unwrap();
    let swept = cloud.sweep(Duration::ZERO).wait().unwrap();
    assert_eq!((swept.objects, swept.failed), (0, 1));
    assert_eq!(objects(&store).len(), 2);
}

/// Sweeps with age 0, so that uploads of running writes are candidates, while writers save.
fn no_sweep_loses_what_was_acknowledged(writer: &Cloud, sweeper: &Cloud, rounds: u32) {
    let (acknowledged, is_done) = ([0; 3].map(AtomicU32::new), AtomicBool::new(false));
    thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|number| {
                let acknowledged = &acknowledged[number % 3];
                let slots = writer.player(&(number % 3).to_string()).unwrap();
                scope.spawn(move || {
                    for _ in 0..rounds {
                        let found = slots.get("Ada").wait().unwrap();
                        let last = found.as_ref().map_or(0, |f| persist::from_slice(&f.0).unwrap());
                        let version = found.map(|(_, version)| version);
                        match slots.put_if("Ada", version.as_ref(), save(last + 1)).wait() {
                            Ok(_) => drop(acknowledged.fetch_add(1, Ordering::SeqCst)),
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                // `s3s-fs` fails to list a folder if a file in it is removed meanwhile.
                if let Err(error) = sweeper.sweep(Duration::ZERO).wait() {
                    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                }
            }
            sweeper.sweep(Duration::ZERO).wait().unwrap();
        });
        let ended: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::SeqCst);
        assert!(ended.iter().all(Result::is_ok));
    });
    for (player, acknowledged) in acknowledged.iter().enumerate() {
        let slots = sweeper.player(&player.to_string()).unwrap();
        let found = read(&slots, "Ada").map_or(0, |(number, _)| number);
        assert_eq!(found, acknowledged.load(Ordering::SeqCst), "each write adds one");
    }
}

#[test]
fn writers_at_work_lose_nothing_to_a_sweep() {
    let wait = Duration::from_millis(1);
    let config = ThrottleConfig { wait_put_per_call: wait, ..ThrottleConfig::default() };
    let store = Arc::new(ThrottledStore::new(InMemory::new(), config));
    let options = CloudOptions::new().attempts(20);
    let cloud = Cloud::object_store(store, "game", options).unwrap();
    no_sweep_loses_what_was_acknowledged(&cloud, &cloud, 100);
}

/// After a lost answer, the next attempt finds an upload that the sweep may be removing.
#[test]
fn writers_that_try_again_lose_nothing_to_a_sweep() {
    let server = Server::start();
    let cloud = |proxy: &Proxy| {
        let options = CloudOptions::new().attempts(20);
        Cloud::object_store(Arc::new(server.client(proxy)), "game", options).unwrap()
    };
    let faulty = Proxy::default();
    faulty.plan(&(1..3000).map(|n| (n * 4 + n % 3, Fault::DropAnswer)).collect::<Vec<_>>());
    no_sweep_loses_what_was_acknowledged(&cloud(&faulty), &cloud(&Proxy::default()), 12);
}
